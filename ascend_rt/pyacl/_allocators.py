# SPDX-License-Identifier: Apache-2.0
"""Allocators of pyACL: four functions and a number that is passed to them, set in a descriptor one by one.

The runtime calls the C functions of :mod:`ascend_rt._memory.allocator_blocks`, which identify a block by the address of
its memory. Here a block is the object that the program's function returns. Its address is queried when it is allocated,
and the block is looked up by the address when it is freed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ascend_rt._memory.allocator_blocks import Blocks
from ascend_rt._runtime.driver import ffi, lib
from ascend_rt.pyacl._raw import call, create, pointer


class _Allocator(Blocks):
    """The content of a descriptor; the runtime has its handle."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.allocate: Callable[[int, int], Any] = _not_set
        self.allocate_near: Callable[[int, int, int], Any] = _not_set
        self.free: Callable[[int, Any], object] = _not_set
        self.address_of: Callable[[Any], int] = _not_set
        self._blocks: dict[int, Any] = {}  # by address

    @property
    def functions(self) -> tuple[Callable[..., object], Callable[..., object], Callable[..., object]]:
        return self.allocate, self.allocate_near, self.free

    def take(self, nbytes: int, near: int | None) -> int:
        block = self.allocate(self.number, nbytes) if near is None else self.allocate_near(self.number, nbytes, near)
        memory = self.address_of(block) if block else 0
        if memory:
            self._blocks[memory] = block
            _in_use.add(self)
        return memory

    def give_back(self, address: int) -> None:
        block = self._blocks.pop(address)
        if not self._blocks:
            _in_use.discard(self)
        self.free(self.number, block)


def _not_set(*arguments: object) -> Any:
    raise RuntimeError("the function was not set in the descriptor of the allocator")


# Functions that the runtime may call: through a descriptor, for a stream, and to free blocks that it still has.
_descriptors: dict[int, _Allocator] = {}
_streams: dict[int, _Allocator] = {}
_in_use: set[_Allocator] = set()


def allocator_create_desc() -> int:
    desc = create("aclrtAllocatorCreateDesc")
    if desc:
        _descriptors[desc] = _Allocator()
    return desc


def allocator_destroy_desc(desc: int) -> int:
    ret = call("aclrtAllocatorDestroyDesc", pointer(desc))
    if not ret:
        _descriptors.pop(desc, None)
    return ret


def _set(function: str, entry: Any, desc: int, attribute: str, value: object) -> int:
    ret = call(function, pointer(desc), entry)
    if not ret and desc in _descriptors:
        setattr(_descriptors[desc], attribute, value)
    return ret


def allocator_set_obj_to_desc(desc: int, allocator: int) -> int:
    handle = _descriptors[desc].handle if desc in _descriptors else ffi.NULL
    return _set("aclrtAllocatorSetObjToDesc", handle, desc, "number", allocator)


def allocator_set_alloc_func_to_desc(desc: int, fn: Callable[[int, int], int]) -> int:
    return _set("aclrtAllocatorSetAllocFuncToDesc", lib.ascend_rt_allocate_entry, desc, "allocate", fn)


def allocator_set_free_func_to_desc(desc: int, fn: Callable[[int, int], object]) -> int:
    return _set("aclrtAllocatorSetFreeFuncToDesc", lib.ascend_rt_free_entry, desc, "free", fn)


def allocator_set_alloc_advise_func_to_desc(desc: int, fn: Callable[[int, int, int], int]) -> int:
    entry = lib.ascend_rt_allocate_near_entry
    return _set("aclrtAllocatorSetAllocAdviseFuncToDesc", entry, desc, "allocate_near", fn)


def allocator_set_get_addr_from_block_func_to_desc(desc: int, fn: Callable[[int], int]) -> int:
    entry = lib.ascend_rt_address_entry
    return _set("aclrtAllocatorSetGetAddrFromBlockFuncToDesc", entry, desc, "address_of", fn)


def allocator_register(stream: int, desc: int) -> int:
    ret = call("aclrtAllocatorRegister", pointer(stream), pointer(desc))
    if not ret and desc in _descriptors:
        _streams[stream] = _descriptors[desc]
    return ret


def allocator_unregister(stream: int) -> int:
    ret = call("aclrtAllocatorUnregister", pointer(stream))
    if not ret:
        _streams.pop(stream, None)
    return ret
