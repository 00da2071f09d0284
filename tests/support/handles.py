# SPDX-License-Identifier: Apache-2.0
"""Arguments of the C functions for objects of the package."""

from __future__ import annotations

from typing import Any

from ascend_rt import Buffer, PinnedBuffer, Stream


def raw(ffi: Any, stream: Stream) -> Any:
    """Return the stream as ``aclrtStream``."""
    return ffi.cast("aclrtStream", stream.handle)


def at(ffi: Any, memory: Buffer | PinnedBuffer, offset: int = 0) -> Any:
    """Return an address inside the memory as ``void *``."""
    return ffi.cast("void *", memory.handle + offset)
