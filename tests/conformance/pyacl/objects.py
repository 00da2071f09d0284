# SPDX-License-Identifier: Apache-2.0
"""Objects and states that groups of calls begin with."""

from __future__ import annotations

import ctypes
from typing import Any


def ready(acl):
    acl("init")
    acl("rt.set_device", 0)


def stream_of(acl):
    return acl("rt.create_stream")[0]


def host(size: int = 64) -> int:
    """Pageable host memory that lives as long as the process."""
    KEEP.append(ctypes.create_string_buffer(size))
    return ctypes.addressof(KEEP[-1])


KEEP: list[Any] = []
