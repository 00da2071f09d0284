# SPDX-License-Identifier: Apache-2.0
"""Memory of devices that callers give, as C takes it."""

from __future__ import annotations

from typing import Any

from ascend_rt.memory import Buffer


def on_device(operand: Buffer) -> Any:
    """Return the address of a buffer; TypeError if the operand is not a Buffer."""
    if not isinstance(operand, Buffer):
        raise TypeError(f"expected a Buffer (memory of a device), got {type(operand).__name__}")
    return operand._handle
