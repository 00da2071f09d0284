# SPDX-License-Identifier: Apache-2.0
"""Constants of the copy functions, and casts for their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_rt import Buffer, Stream, copy

H2H, H2D, D2H, D2D, DEFAULT, BUFFERED, INNER = range(7)  # aclrtMemcpyKind
HOST, DEVICE, UNREGISTERED, NUMA = 0, 1, 2, 4  # aclrtMemLocationType
NONE, UNTOUCHED = 2**64 - 1, 77  # failIndex: no copy has failed; the value before the call
SIZE = 4096
GIB = 1 << 30


def at(ffi: Any, memory: Any, offset: int = 0) -> Any:
    return ffi.cast("void *", memory.handle + offset)


def raw(ffi: Any, stream: Stream) -> Any:
    return ffi.cast("aclrtStream", stream.handle)


def read(memory: Buffer) -> np.ndarray:
    found = np.empty(memory.nbytes, np.uint8)
    copy(found, memory)
    return found
