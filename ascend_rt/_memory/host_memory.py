# SPDX-License-Identifier: Apache-2.0
"""Memory of the host that callers give, as C takes it, and the texts of what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ascend_rt._runtime.driver import ffi

if TYPE_CHECKING:
    from ascend_rt.memory import HostMemory

PINNED_IS_CLOSED = "this pinned buffer is closed"
HAS_OBJECTS = "an array of Python objects has addresses for content; convert it to numbers"


def bytes_of(operand: HostMemory, role: str, cure: str, *, writable: bool) -> Any:
    """Return host memory, which must be contiguous, for C; the role and the cure are for the error message."""
    try:
        return ffi.from_buffer("char[]", operand, writable)  # raises for what has no buffer
    except TypeError:
        if has_buffer(operand):
            raise
        raise TypeError(
            f"expected a Buffer or a bytes-like object as the {role}, got {type(operand).__name__}"
        ) from None
    except (ValueError, BufferError) as error:
        layout = getattr(operand, "flags", operand)  # an array's, or a memoryview itself
        if not getattr(layout, "c_contiguous", True):
            raise type(error)(f"the {role} is not C-contiguous; {cure}") from error
        if writable:
            ffi.from_buffer("char[]", operand)  # raises the error if there is another one
            raise type(error)(f"the {role} ({type(operand).__name__}) is read-only") from error
        raise


def has_buffer(operand: object) -> bool:
    """Return False for an object without memory of the host."""
    try:
        memoryview(operand).release()  # type: ignore[arg-type]
    except TypeError:
        return False
    except (ValueError, BufferError):  # it is closed, or cannot be exported as it is
        return True
    return True
