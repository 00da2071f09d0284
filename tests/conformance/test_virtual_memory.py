# SPDX-License-Identifier: Apache-2.0
"""Virtual memory: addresses that are reserved, memory that is mapped there, and access to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.codes import (
    DRIVER,
    INVALID_DEVICE,
    INVALID_HANDLE,
    INVALID_PARAM,
    OK,
    OUT_OF_MEMORY,
    PRODUCTS,
    RT_PARAM,
    UNSUPPORTED,
)
from support.virtual_memory import DEVICE, GIB, HOST, HUGE, MIB, NEVER_GRANTED, NUMA, READ_WRITE, TIB, prop

from ascend_rt import Buffer, fill
from ascend_rt.testing import Latch


class Virtual:
    """The functions as Python has them: what they give, or an assertion."""

    def __init__(self, lib: Any, ffi: Any) -> None:
        self.lib, self.ffi = lib, ffi

    def reserve(self, size: int = HUGE, wish: int = 0, flags: int = 1) -> Any:
        out = self.ffi.new("void **")
        assert self.lib.aclrtReserveMemAddress(out, size, 0, self.ffi.cast("void *", wish), flags) == OK
        return out[0]

    def allocate(self, size: int = HUGE, **properties: Any) -> Any:
        out = self.ffi.new("aclrtDrvMemHandle *")
        properties = properties or prop()
        assert self.lib.aclrtMallocPhysical(out, size, self.ffi.new("aclrtPhysicalMemProp *", properties), 0) == OK
        return out[0]

    def mapped(self, size: int = HUGE) -> tuple[Any, Any]:
        """Return addresses and the memory that is mapped there."""
        address, memory = self.reserve(size), self.allocate(size)
        assert self.lib.aclrtMapMem(address, size, 0, memory, 0) == OK
        return address, memory

    def give_back(self, address: Any, *memories: Any) -> None:
        assert self.lib.aclrtUnmapMem(address) == OK
        assert self.lib.aclrtReleaseMemAddress(address) == OK
        for memory in memories:
            assert self.lib.aclrtFreePhysical(memory) == OK

    def write(self, address: Any, data: bytes) -> int:
        return int(self.lib.aclrtMemcpy(address, len(data), data, len(data), 4))

    def read(self, address: Any, count: int) -> bytes:
        out = self.ffi.new("char[]", count)
        assert self.lib.aclrtMemcpy(out, count, address, count, 4) == OK
        return bytes(self.ffi.buffer(out))


@pytest.fixture
def virtual(lib: Any, ffi: Any, device: Any) -> Iterator[Virtual]:
    free = device.memory_info
    yield Virtual(lib, ffi)
    assert device.memory_info == free  # every test gives back what it takes


def number(ffi: Any, address: Any) -> int:
    return int(ffi.cast("uintptr_t", address))


# --- the flow --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [HUGE, 6 * MIB, GIB])
def test_copies_through_mapped_memory(size: int, virtual: Virtual, lib: Any, ffi: Any, device: Any) -> None:
    free = device.memory_info.free
    address, memory = virtual.mapped(size)
    assert free - device.memory_info.free == size
    assert virtual.write(address + size - 5, b"hello") == OK
    assert virtual.read(address + size - 5, 5) == b"hello"
    assert virtual.read(address, 8) == bytes(8)  # no other allocation's bytes
    attributes, base, found = ffi.new("aclrtPtrAttributes *"), ffi.new("void **"), ffi.new("size_t *")
    assert lib.aclrtPointerGetAttributes(address + 77, attributes) == OK
    assert (attributes.location.type, attributes.location.id, attributes.pageSize) == (DEVICE, 0, HUGE)
    assert lib.aclrtMemGetAddressRange(address + 77, base, found) == OK
    assert (base[0], found[0]) == (address, size)
    virtual.give_back(address, memory)


def test_new_memory_has_nobody_elses_bytes(virtual: Virtual, device: Any) -> None:
    blocks = [Buffer(MIB // 2) for _ in range(32)]
    for block in blocks:
        fill(block, 7)
    for block in blocks:
        block.close()  # small blocks keep their pages for the next ones
    address, memory = virtual.mapped(6 * MIB)
    assert virtual.read(address, 6 * MIB) == bytes(6 * MIB)
    virtual.give_back(address, memory)


def test_tasks_use_mapped_memory(virtual: Virtual, stream: Any, lib: Any, ffi: Any) -> None:
    raw = ffi.cast("aclrtStream", stream.handle)
    address, memory = virtual.mapped()
    pinned = ffi.new("void **")
    assert lib.aclrtMallocHost(pinned, HUGE) == OK
    seen = ffi.cast("char *", pinned[0])
    seen[HUGE - 1] = b"\0"
    with Latch(stream):
        assert lib.aclrtMemsetAsync(address, HUGE, 7, HUGE, raw) == OK
        assert lib.aclrtMemcpyAsync(pinned[0], HUGE, address, HUGE, 2, raw) == OK
        assert seen[HUGE - 1] == b"\0"
    stream.synchronize()
    assert seen[0] == seen[HUGE - 1] == b"\x07"
    assert lib.aclrtFreeHost(pinned[0]) == OK
    virtual.give_back(address, memory)


def test_two_mappings_show_the_same_bytes(virtual: Virtual, lib: Any) -> None:
    first, memory = virtual.mapped()
    second = virtual.reserve(2 * HUGE)
    assert lib.aclrtMapMem(second + HUGE, HUGE, 0, memory, 0) == OK  # anywhere inside a reservation
    assert virtual.write(first + 100, b"from the first") == OK
    assert virtual.read(second + HUGE + 100, 14) == b"from the first"
    assert virtual.write(second + HUGE, b"back") == OK
    assert virtual.read(first, 4) == b"back"
    assert lib.aclrtUnmapMem(second + HUGE) == OK
    assert lib.aclrtReleaseMemAddress(second) == OK
    assert virtual.read(first, 4) == b"back"
    virtual.give_back(first, memory)


def test_bytes_stay_with_the_memory(virtual: Virtual, lib: Any) -> None:
    address, memory = virtual.mapped()
    assert virtual.write(address, b"kept") == OK
    assert lib.aclrtUnmapMem(address) == OK
    other = virtual.allocate()
    assert lib.aclrtMapMem(address, HUGE, 0, other, 0) == OK
    assert virtual.read(address, 4) == bytes(4)
    assert lib.aclrtUnmapMem(address) == OK
    assert lib.aclrtMapMem(address, HUGE, 0, memory, 0) == OK
    assert virtual.read(address, 4) == b"kept"
    virtual.give_back(address, memory, other)


def test_host_memory_can_be_mapped(virtual: Virtual, lib: Any, ffi: Any) -> None:
    address, memory = virtual.reserve(), virtual.allocate(**prop(12, 0, HOST))
    assert lib.aclrtMapMem(address, HUGE, 0, memory, 0) == OK
    ffi.memmove(address, b"host", 4)
    assert virtual.read(address, 4) == b"host"
    attributes = ffi.new("aclrtPtrAttributes *")
    assert lib.aclrtPointerGetAttributes(address, attributes) == OK
    assert attributes.location.type == HOST
    virtual.give_back(address, memory)


def test_pages_of_1_gib(virtual: Virtual, lib: Any, ffi: Any) -> None:
    address, memory = virtual.reserve(GIB), virtual.allocate(GIB, **prop(10))
    other = virtual.reserve(2 * GIB)
    assert lib.aclrtMapMem(other + HUGE, GIB, 0, memory, 0) == RT_PARAM  # not aligned to the page
    assert lib.aclrtMapMem(address, GIB, 0, memory, 0) == OK
    attributes = ffi.new("aclrtPtrAttributes *")
    assert lib.aclrtPointerGetAttributes(address, attributes) == OK
    assert attributes.pageSize == GIB
    assert lib.aclrtReleaseMemAddress(other) == OK
    virtual.give_back(address, memory)
    properties = ffi.new("aclrtPhysicalMemProp *", prop(10))
    assert lib.aclrtMallocPhysical(ffi.new("aclrtDrvMemHandle *"), HUGE, properties, 0) == RT_PARAM


# --- access ----------------------------------------------------------------------------------------------------------


def access(virtual: Virtual, address: Any, kind: int = DEVICE, identity: int = 0) -> int:
    location, flag = (
        virtual.ffi.new("aclrtMemLocation *", {"id": identity, "type": kind}),
        virtual.ffi.new("uint64_t *"),
    )
    assert virtual.lib.aclrtMemGetAccess(address, location, flag) == OK
    return int(flag[0])


def test_no_access_until_it_is_granted(virtual: Virtual, lib: Any, ffi: Any) -> None:
    address, memory = virtual.reserve(), virtual.allocate()
    assert lib.aclrtMemMapNoAccess(address, HUGE, 0, memory, 0) == OK
    assert virtual.write(address, b"x") == RT_PARAM
    assert lib.aclrtMemset(address, 1, 0, 1) == RT_PARAM
    assert access(virtual, address) == NEVER_GRANTED
    wanted = ffi.new("aclrtMemAccessDesc[1]", [{"flags": READ_WRITE, "location": {"id": 0, "type": DEVICE}}])
    assert lib.aclrtMemSetAccess(address, HUGE, wanted, 1) == OK
    assert access(virtual, address) == READ_WRITE
    assert virtual.write(address, b"x") == OK
    virtual.give_back(address, memory)


def test_access_of_several_locations(virtual: Virtual, lib: Any, ffi: Any) -> None:
    address, memory = virtual.mapped()
    locations = [(DEVICE, 0), (DEVICE, 1), (HOST, 0)]
    assert [access(virtual, address, *it) for it in locations] == [READ_WRITE, NEVER_GRANTED, NEVER_GRANTED]
    wanted = ffi.new("aclrtMemAccessDesc[1]", [{"flags": READ_WRITE, "location": {"id": 0, "type": HOST}}])
    for _ in range(2):
        assert lib.aclrtMemSetAccess(address, HUGE, wanted, 1) == OK
    assert [access(virtual, address, *it) for it in locations] == [READ_WRITE, NEVER_GRANTED, READ_WRITE]
    virtual.give_back(address, memory)


@pytest.mark.parametrize(
    ("second", "code"),
    [
        ((READ_WRITE, HOST, 0), OK),
        ((READ_WRITE, DEVICE, 99), INVALID_DEVICE),
        ((READ_WRITE, HOST, 1), RT_PARAM),
        ((1, HOST, 0), RT_PARAM),
        ((1, DEVICE, 0), DRIVER),  # it has other access already
    ],
)
def test_access_is_granted_to_all_or_none(
    second: tuple[int, int, int], code: int, virtual: Virtual, lib: Any, ffi: Any
) -> None:
    address, memory = virtual.mapped()
    rows = [(READ_WRITE, DEVICE, 1), second]
    wanted = [{"flags": flags, "location": {"type": kind, "id": identity}} for flags, kind, identity in rows]
    assert lib.aclrtMemSetAccess(address, HUGE, ffi.new("aclrtMemAccessDesc[2]", wanted), 2) == code
    assert access(virtual, address, DEVICE, 1) == (READ_WRITE if code == OK else NEVER_GRANTED)
    virtual.give_back(address, memory)


# --- ranges that copies refuse ---------------------------------------------------------------------------------------


def test_ranges_that_are_not_mapped_are_refused(virtual: Virtual, stream: Any, lib: Any, ffi: Any) -> None:
    raw = ffi.cast("aclrtStream", stream.handle)
    address, memories = virtual.reserve(4 * HUGE), [virtual.allocate(), virtual.allocate()]
    assert virtual.write(address, b"x") == RT_PARAM
    for at, memory in enumerate(memories):
        assert lib.aclrtMapMem(address + at * HUGE, HUGE, 0, memory, 0) == OK
    assert virtual.write(address + HUGE - 4, b"neighbour") == OK  # two mappings side by side are one piece of memory
    assert virtual.read(address + HUGE - 4, 9) == b"neighbour"
    assert virtual.write(address + 2 * HUGE - 4, b"half") == OK
    assert virtual.write(address + 2 * HUGE - 3, b"half") == RT_PARAM
    assert lib.aclrtMemcpyAsync(address + HUGE, 2 * HUGE, address, HUGE + 1, 3, raw) == RT_PARAM
    assert lib.aclrtMemsetAsync(address, 3 * HUGE, 0, 2 * HUGE + 1, raw) == RT_PARAM
    assert lib.aclrtUnmapMem(address) == OK
    assert virtual.write(address + HUGE - 1, b"half") == RT_PARAM
    assert virtual.write(address + HUGE, b"half") == OK
    virtual.lib.aclrtUnmapMem(address + HUGE)
    assert lib.aclrtReleaseMemAddress(address) == OK
    for memory in memories:
        assert lib.aclrtFreePhysical(memory) == OK


@pytest.mark.simulator("deadly")
def test_an_old_address_does_not_reach_physical_memory(virtual: Virtual, lib: Any, ffi: Any) -> None:
    out = ffi.new("void **")
    assert lib.aclrtMalloc(out, HUGE - 32, 1) == OK
    assert lib.aclrtFree(out[0]) == OK
    address, memory = virtual.mapped()  # may be the same pages
    assert virtual.write(out[0], b"x") == RT_PARAM
    assert lib.aclrtFree(out[0]) == RT_PARAM
    assert lib.aclrtIpcMemGetExportKey(out[0], HUGE, ffi.new("char[65]"), 65, 0) == RT_PARAM
    assert lib.aclrtFree(address) == RT_PARAM
    assert lib.aclrtIpcMemGetExportKey(address, HUGE, ffi.new("char[65]"), 65, 0) == RT_PARAM
    virtual.give_back(address, memory)


# --- handles ---------------------------------------------------------------------------------------------------------


def test_memory_lives_until_the_last_mapping_is_gone(virtual: Virtual, lib: Any, device: Any) -> None:
    free = device.memory_info.free
    address, memory = virtual.mapped()
    assert lib.aclrtFreePhysical(memory) == OK
    assert lib.aclrtFreePhysical(memory) == INVALID_HANDLE
    assert device.memory_info.free == free - HUGE
    assert virtual.write(address, b"alive") == OK
    virtual.give_back(address)
    assert device.memory_info.free == free


def test_a_handle_is_freed_as_often_as_it_was_retained(virtual: Virtual, lib: Any, ffi: Any) -> None:
    address, memory = virtual.mapped()
    again = ffi.new("aclrtDrvMemHandle *")
    assert lib.aclrtMemRetainAllocationHandle(address + 4711, again) == OK
    assert again[0] == memory
    virtual.give_back(address)
    assert lib.aclrtFreePhysical(memory) == OK
    assert lib.aclrtFreePhysical(memory) == OK
    assert lib.aclrtFreePhysical(memory) == INVALID_HANDLE


def test_a_mapping_gives_a_handle_after_the_last_was_freed(virtual: Virtual, lib: Any, ffi: Any) -> None:
    address, memory = virtual.mapped()
    assert lib.aclrtFreePhysical(memory) == OK
    again = ffi.new("aclrtDrvMemHandle *")
    assert lib.aclrtMemRetainAllocationHandle(address, again) == OK
    second = virtual.reserve()
    assert lib.aclrtMapMem(second, HUGE, 0, again[0], 0) == OK
    assert virtual.write(second, b"same") == OK
    assert virtual.read(address, 4) == b"same"
    virtual.give_back(second)
    virtual.give_back(address, again[0])


# The attribute to ask for, on a device and on the host, and its values there. None: it cannot be had.
PROPERTIES = {
    0: (None, None),
    1: (None, None),
    2: (None, 13),
    3: (None, 12),
    4: (4, 13),
    5: (5, 12),
    6: (None, 16),
    7: (None, 7),
    8: (None, None),
    9: (None, None),
    11: (None, None),
    12: (5, 12),
    13: (4, 13),
    15: (15, 7),
    16: (16, 16),
    18: (None, None),
    99: (None, None),
}


@pytest.mark.parametrize("kind", [DEVICE, HOST, NUMA, 9])
def test_properties(kind: int, virtual: Virtual, lib: Any, ffi: Any) -> None:
    for attribute, reported in PROPERTIES.items():
        properties, out = ffi.new("aclrtPhysicalMemProp *", prop(attribute, 0, kind)), ffi.new("aclrtDrvMemHandle *")
        expected = reported[0 if kind == DEVICE else 1]
        code = lib.aclrtMallocPhysical(out, HUGE, properties, 0)
        granularity = ffi.new("size_t *")
        assert lib.aclrtMemGetAllocationGranularity(properties, 7, granularity) == code
        assert code == (INVALID_PARAM if expected is None else OK), attribute
        if expected is None:
            continue
        assert granularity[0] == HUGE
        found = ffi.new("aclrtPhysicalMemProp *")
        assert lib.aclrtMemGetAllocationPropertiesFromHandle(out[0], found) == OK
        assert found.memAttr == expected, attribute
        assert (found.location.type, found.location.id, found.handleType, found.allocationType) == (kind, 0, 0, 0)
        assert lib.aclrtFreePhysical(out[0]) == OK


GIANTS = {10: {"910B", "910C", "950"}, 14: {"910B", "910C"}, 17: {"910C"}}


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_memory_that_a_product_has(product: str, calls: Callable[..., list[Any]]) -> None:
    rows = [(["aclrtMallocPhysical", "out", GIB, prop(it), 0], product in those) for it, those in GIANTS.items()]
    rows += [(["aclrtMallocPhysical", "out", GIB, prop(it, 0, HOST), 0], False) for it in GIANTS]
    rows += [(["aclrtMallocPhysical", "out", HUGE, prop(it), 0], product != "310B") for it in (15, 16)]
    rows += [(["aclrtMallocPhysical", "out", HUGE, prop(it), 0], True) for it in (4, 5, 12, 13)]
    rows += [(["aclrtReserveMemAddress", "out", HUGE, 0, 20 * TIB, 0], product != "950")]
    rows += [(["aclrtReserveMemAddressNoUCMemory", "out", GIB, 0, 48 * TIB, 0], product == "910C")]
    for (call, has), (code, _) in zip(
        rows, calls([call for call, _ in rows], ASCEND_RT_SIM_PRODUCT=product), strict=True
    ):
        assert code == (OK if has else UNSUPPORTED), call


def test_granularity(calls: Callable[..., list[Any]]) -> None:
    rows = [
        ["aclrtMemGetAllocationGranularity", prop(it), option, "out"] for it in (5, 10) for option in (0, 1, 0xFFFF)
    ]
    assert calls(rows) == [[OK, [HUGE]]] * 3 + [[OK, [GIB]]] * 3


# --- addresses -------------------------------------------------------------------------------------------------------


def test_wished_addresses(virtual: Virtual, lib: Any, ffi: Any) -> None:
    wish, out = 17 * TIB, ffi.new("void **")
    assert number(ffi, virtual.reserve(2 * HUGE, wish)) == wish
    rows = [
        (wish, HUGE, OUT_OF_MEMORY),
        (wish + HUGE, HUGE, OUT_OF_MEMORY),  # taken
        (wish - HUGE, 2 * HUGE, OUT_OF_MEMORY),
        (16 * TIB - HUGE, HUGE, RT_PARAM),
        (24 * TIB - HUGE, 2 * HUGE, RT_PARAM),
        (24 * TIB, HUGE, RT_PARAM),
        (18 * TIB + MIB, HUGE, RT_PARAM),
        (18 * TIB + HUGE, GIB + HUGE, RT_PARAM),  # above 1 GiB the wish is aligned to 1 GiB
        (18 * TIB + HUGE, GIB, OK),
        (24 * TIB - HUGE, HUGE, OK),
        (16 * TIB, HUGE, OK),
    ]
    for address, size, code in rows:
        assert lib.aclrtReserveMemAddress(out, size, 0, ffi.cast("void *", address), 1) == code, (address, size)
        assert code != OK or number(ffi, out[0]) == address
        assert code != OK or lib.aclrtReleaseMemAddress(out[0]) == OK
    memory, start = virtual.allocate(), ffi.cast("char *", wish)
    assert lib.aclrtMapMem(start + HUGE, HUGE, 0, memory, 0) == OK
    assert virtual.write(start + HUGE, b"there") == OK
    assert virtual.write(start, b"not here") == RT_PARAM
    assert lib.aclrtUnmapMem(start + HUGE) == OK
    assert lib.aclrtReleaseMemAddress(start) == OK
    assert lib.aclrtFreePhysical(memory) == OK
    assert number(ffi, virtual.reserve(HUGE, wish)) == wish  # free again
    assert lib.aclrtReleaseMemAddress(start) == OK


def test_released_addresses_can_be_wished_in_other_pieces(virtual: Virtual, lib: Any, ffi: Any) -> None:
    begin, out = 18 * TIB, ffi.new("void **")
    pieces = [(0, 2), (4, 2), (0, 8), (1, 1), (3, 4), (7, 3), (0, 10)]  # in pages, each released before the next
    for offset, pages in pieces:
        address = virtual.reserve(pages * HUGE, begin + offset * HUGE)
        assert number(ffi, address) == begin + offset * HUGE
        for inside in {0, pages - 1}:
            wish = address + inside * HUGE
            assert lib.aclrtReserveMemAddress(out, HUGE, 0, wish, 1) == OUT_OF_MEMORY, (offset, pages, inside)
        memory = virtual.allocate()
        assert lib.aclrtMapMem(address, HUGE, 0, memory, 0) == OK
        assert virtual.read(address, 4) == bytes(4)
        assert virtual.write(address, b"mine") == OK
        virtual.give_back(address, memory)
        assert virtual.write(address, b"late") == RT_PARAM


@pytest.mark.parametrize("wish", [0, 19 * TIB])
@pytest.mark.simulator("held tasks")
def test_a_task_outlives_its_addresses(wish: int, calls: Callable[..., list[Any]]) -> None:
    rows = [
        (["aclrtSetDevice", 0], OK),
        (["aclrtCreateStream", "out:stream"], OK),
        (["aclrtReserveMemAddress", "out:address", HUGE, 0, wish, 1], OK),
        (["aclrtMallocPhysical", "out:memory", HUGE, prop(), 0], OK),
        (["aclrtMapMem", "@address", HUGE, 0, "@memory", 0], OK),
        (["aclsimHold", 1], OK),
        (["aclrtMemsetAsync", "@address", HUGE, 1, HUGE, "@stream"], OK),
        (["aclrtUnmapMem", "@address"], OK),
        (["aclrtReleaseMemAddress", "@address"], OK),
        (["aclsimHold", 0], OK),
        (["aclrtSynchronizeStream", "@stream"], OK),
        (["aclrtReserveMemAddress", "out:again", HUGE, 0, wish, 1], OK),
        (["aclrtMapMem", "@again", HUGE, 0, "@memory", 0], OK),
        (["aclrtMemset", "@again", HUGE, 1, HUGE], OK),
    ]
    assert [code for code, _ in calls([row for row, _ in rows])] == [code for _, code in rows]


def test_addresses_are_distinct_and_come_back(virtual: Virtual, lib: Any, ffi: Any) -> None:
    sizes = [HUGE, 3 * HUGE, GIB, 5 * GIB]
    taken = [(number(ffi, virtual.reserve(size)), size) for size in sizes * 8]
    for begin, size in taken:
        assert begin % (GIB if size >= GIB else HUGE) == 0
        assert not any(begin < other + length and other < begin + size for other, length in taken if other != begin)
    for begin, _ in taken:
        assert lib.aclrtReleaseMemAddress(ffi.cast("void *", begin)) == OK
    huge = virtual.reserve(3 * TIB)
    assert lib.aclrtReleaseMemAddress(huge) == OK


def test_what_is_mapped_is_not_released(virtual: Virtual, lib: Any) -> None:
    address, memory = virtual.mapped()
    assert lib.aclrtReleaseMemAddress(address) == DRIVER
    assert virtual.write(address, b"alive") == OK
    virtual.give_back(address, memory)
    assert lib.aclrtReleaseMemAddress(address) == RT_PARAM
    assert lib.aclrtUnmapMem(address) == RT_PARAM


def test_exhaustion(virtual: Virtual, lib: Any, ffi: Any) -> None:
    out = ffi.new("aclrtDrvMemHandle *", ffi.cast("void *", 7))
    for properties, size in [(prop(), TIB), (prop(), 2**64 - HUGE), (prop(12, 0, HOST), 2**64 - HUGE)]:
        assert lib.aclrtMallocPhysical(out, size, ffi.new("aclrtPhysicalMemProp *", properties), 0) == OUT_OF_MEMORY
    address = ffi.new("void **", ffi.cast("void *", 7))
    for size in (16 * TIB, 2**64 - HUGE):
        assert lib.aclrtReserveMemAddress(address, size, 0, ffi.NULL, 1) == OUT_OF_MEMORY
    assert (number(ffi, out[0]), number(ffi, address[0])) == (7, 7)


def test_memory_of_the_host_is_exhausted_too(virtual: Virtual, lib: Any, ffi: Any) -> None:
    out = ffi.new("aclrtDrvMemHandle *")
    properties = ffi.new("aclrtPhysicalMemProp *", prop(12, 0, HOST))
    assert lib.aclrtMallocPhysical(out, 32 * TIB, properties, 0) == OUT_OF_MEMORY
    taken = virtual.allocate(120 * GIB, **prop(12, 0, HOST))
    assert lib.aclrtMallocPhysical(out, 81 * GIB, properties, 0) == OUT_OF_MEMORY
    pinned = ffi.new("void **")
    assert lib.aclrtMallocHost(pinned, 81 * GIB) == OUT_OF_MEMORY  # it is the same memory
    assert lib.aclrtFreePhysical(taken) == OK
    assert lib.aclrtMallocHost(pinned, 81 * GIB) == OK
    assert lib.aclrtFreeHost(pinned[0]) == OK
