# SPDX-License-Identifier: Apache-2.0
"""A stream-ordered memory pool through the C functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.codes import OK

from ascend_rt import Stream

MIB = 1 << 20
PAGE = 2 * MIB  # the granularity of pools
FOLLOW_EVENTS, OPPORTUNISTIC, INTERNAL_DEPENDENCIES = 1, 2, 3
THRESHOLD, RESERVED, RESERVED_HIGH, USED, USED_HIGH = 4, 5, 6, 7, 8
FLAGS = (FOLLOW_EVENTS, OPPORTUNISTIC, INTERNAL_DEPENDENCIES)


class Pool:
    """A pool through the C API; a method returns the return code unless it says otherwise."""

    def __init__(self, lib: Any, ffi: Any, size: int = 0) -> None:
        self.lib, self.ffi = lib, ffi
        out = ffi.new("aclrtMemPool *")
        assert lib.aclrtMemPoolCreate(out, properties(ffi, maxSize=size)) == OK
        self.handle = out[0]
        for flag in FLAGS:
            assert self.set(flag, 0) == OK  # each test turns on the reuse that it is about

    def get(self, attribute: int) -> int:
        """Return the attribute's value."""
        out = self.ffi.new("uint32_t *" if attribute in FLAGS else "uint64_t *")
        assert self.lib.aclrtMemPoolGetAttr(self.handle, attribute, out) == OK
        return int(out[0])

    def set(self, attribute: int, value: int) -> int:
        out = self.ffi.new("uint32_t *" if attribute in FLAGS else "uint64_t *", value)
        return int(self.lib.aclrtMemPoolSetAttr(self.handle, attribute, out))

    def counts(self) -> tuple[int, int]:
        """Return what is reserved and what is used, in pages."""
        return self.get(RESERVED) // PAGE, self.get(USED) // PAGE

    def malloc(self, pages: float, stream: Stream) -> int:
        """Return the address of a block."""
        out = self.ffi.new("void **")
        size = int(pages * PAGE)
        code = self.lib.aclrtMemPoolMallocAsync(out, size, self.handle, self.ffi.cast("void *", stream.handle))
        assert code == OK, self.ffi.string(self.lib.aclGetRecentErrMsg())
        return int(self.ffi.cast("uintptr_t", out[0]))

    def refused(self, pages: float, stream: Stream) -> int:
        out = self.ffi.new("void **")
        size = int(pages * PAGE)
        return int(self.lib.aclrtMemPoolMallocAsync(out, size, self.handle, self.ffi.cast("void *", stream.handle)))

    def free(self, address: int, stream: Stream) -> int:
        return free(self.lib, self.ffi, address, stream)

    def trim(self, pages: float) -> int:
        return int(self.lib.aclrtMemPoolTrimTo(self.handle, int(pages * PAGE)))

    def destroy(self) -> int:
        return int(self.lib.aclrtMemPoolDestroy(self.handle))


MakePool = Callable[..., Pool]


def free(lib: Any, ffi: Any, address: int, stream: Stream) -> int:
    return int(lib.aclrtMemPoolFreeAsync(ffi.cast("void *", address), ffi.cast("void *", stream.handle)))


def properties(ffi: Any, **changes: Any) -> Any:
    props = ffi.new("aclrtMemPoolProps *")
    props.location.type = 1
    for name, value in changes.items():
        if name == "location_id":
            props.location.id = value
        elif name == "location_type":
            props.location.type = value
        elif name == "reserved":
            props.reserved[value] = 1
        else:
            setattr(props, name, value)
    return props
