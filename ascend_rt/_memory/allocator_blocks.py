# SPDX-License-Identifier: Apache-2.0
"""Blocks that the runtime takes from an allocator in Python, and the entries from C for that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, cast

from ascend_rt._runtime.driver import address, ffi
from ascend_rt._runtime.report import name_of, report

if TYPE_CHECKING:
    from collections.abc import Callable


class Blocks(ABC):
    """The blocks that the runtime holds from the functions of an allocator, and the calls that allocate and free."""

    def __init__(self) -> None:
        self.handle = ffi.new_handle(self)

    @abstractmethod
    def take(self, nbytes: int, near: int | None) -> int:
        """Return the address of a new block, if possible next to the address ``near``."""

    @abstractmethod
    def give_back(self, address: int) -> None:
        """Free a block."""

    @property
    @abstractmethod
    def functions(self) -> tuple[Callable[..., object], Callable[..., object], Callable[..., object]]:
        """The functions that allocate, allocate nearby, and free, for the report of what they raise."""


@ffi.def_extern(error=ffi.NULL)  # type: ignore[untyped-decorator, unused-ignore]
def ascend_rt_python_allocate(allocator: Any, nbytes: int, wish: Any) -> Any:
    """Enter Python for an allocation; NULL means that it failed."""
    blocks = cast(Blocks, ffi.from_handle(allocator))
    try:
        return ffi.cast("void *", blocks.take(nbytes, None if wish == ffi.NULL else address(wish)))
    except BaseException as error:
        _report(error, blocks.functions[wish != ffi.NULL])
        return ffi.NULL


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def ascend_rt_python_free(allocator: Any, block: Any) -> None:
    """Enter Python for giving memory back."""
    blocks = cast(Blocks, ffi.from_handle(allocator))
    try:
        blocks.give_back(address(block))
    except BaseException as error:
        _report(error, blocks.functions[2])


def _report(error: BaseException, function: Callable[..., object]) -> None:
    report(error, function, f"function {name_of(function)} of an allocator")
