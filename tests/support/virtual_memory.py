# SPDX-License-Identifier: Apache-2.0
"""Constants of virtual memory, and the properties of physical memory."""

from __future__ import annotations

from typing import Any

MIB, GIB, TIB = 1 << 20, 1 << 30, 1 << 40
HUGE = 2 * MIB
READ_WRITE, NEVER_GRANTED = 3, 0x7FFFFFFF
HOST, DEVICE, UNREGISTERED, MANAGED, NUMA = range(5)


def prop(attribute: int = 4, device: int = 0, kind: int = DEVICE, **more: int) -> dict[str, Any]:
    return {"memAttr": attribute, "location": {"id": device, "type": kind}, **more}
