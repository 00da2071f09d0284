# SPDX-License-Identifier: Apache-2.0
"""Virtual memory in Python: buffers that grow, memory that has several addresses, and every order of letting go."""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.codes import DRIVER, NOT_PERMITTED

from ascend_rt import (
    Buffer,
    Device,
    MappedBuffer,
    PhysicalMemory,
    Stream,
    VirtualMemory,
    copy,
    copy_async,
    fill,
    fill_async,
)
from ascend_rt.errors import AclError, AclWarning, ClosedError, InvalidArgument, OutOfMemory
from ascend_rt.testing import Latch

HUGE = 2 << 20

pytestmark = pytest.mark.usefixtures("no_device_memory_is_left", "no_shared_memory_is_left")


def content(buffer: Buffer) -> list[int]:
    """Return the values that a buffer has, without repetitions of neighbours."""
    host = np.empty(buffer.nbytes, np.uint8)
    copy(host, buffer)
    return [value for value, _ in itertools.groupby(host.tolist())]


# --- mapping ---------------------------------------------------------------------------------------------------------


def test_a_buffer_grows_and_keeps_its_content(device: Device) -> None:
    virtual = VirtualMemory(8 * HUGE)
    pieces, address = [virtual.map(PhysicalMemory(HUGE, device))], 0
    for value in range(1, 4):
        fill(pieces[-1], value)
        grown = virtual.buffer(value * HUGE)
        assert content(grown) == list(range(1, value + 1))
        assert address in (0, grown.handle)
        address = grown.handle
        pieces.append(virtual.map(PhysicalMemory(HUGE, device), value * HUGE))


def test_neighbouring_mappings_are_one_piece(device: Device, stream: Stream) -> None:
    with VirtualMemory(3 * HUGE) as virtual:
        pieces = [virtual.map(PhysicalMemory(size * HUGE, device), at * HUGE) for at, size in ((0, 1), (1, 2))]
        assert [(it.nbytes, it.handle - virtual.handle) for it in pieces] == [(HUGE, 0), (2 * HUGE, HUGE)]
        with Latch(stream):
            fill_async(virtual.buffer(3 * HUGE), 1, stream)
            fill_async(virtual.buffer(2 * 4096, HUGE - 4096), 2, stream)
        stream.synchronize()
        assert content(virtual.buffer(3 * HUGE)) == [1, 2, 1]
        assert [content(it) for it in pieces] == [[1, 2], [2, 1]]
        for piece in pieces:
            piece.close()


def test_a_view_keeps_what_it_sees_alive(device: Device) -> None:
    virtual = VirtualMemory(4 * HUGE)
    pieces = [virtual.map(PhysicalMemory(HUGE, device), at * HUGE) for at in range(4)]
    free = device.memory_info.free
    view = virtual.buffer(HUGE, HUGE + 4096)[4096:]
    del pieces, virtual
    gc.collect()
    assert device.memory_info.free == free + 2 * HUGE  # the second and the third are still there
    fill(view, 7)
    assert content(view) == [7]


@pytest.mark.parametrize(
    ("nbytes", "offset", "text"),
    [
        (2 * HUGE, 0, f"only {HUGE} of the {2 * HUGE} bytes at offset 0"),
        (HUGE, HUGE, f"only 0 of the {HUGE} bytes"),
        (1, 3 * HUGE, "only 0 of the 1 bytes"),
        (4 * HUGE, 0, "only 4194304 of the 8388608 bytes"),
        (4 * HUGE + 1, 0, "exceed the 8388608 reserved bytes"),
        (1, 4 * HUGE, "exceed the 8388608 reserved bytes"),
        (1, -1, "exceed the 8388608 reserved bytes"),
        (0, 0, "exceed the 8388608 reserved bytes"),
        (-1, 4096, "exceed the 8388608 reserved bytes"),
    ],
)
def test_a_view_is_of_addresses_that_have_memory(nbytes: int, offset: int, text: str, device: Device) -> None:
    virtual = VirtualMemory(4 * HUGE)
    pieces = [virtual.map(PhysicalMemory(HUGE, device), at * HUGE) for at in (0, 2)]
    with pytest.raises(ValueError, match=text):
        virtual.buffer(nbytes, offset)
    assert [virtual.buffer(HUGE, at * HUGE).handle for at in (0, 2)] == [it.handle for it in pieces]


def test_memory_at_two_addresses(device: Device, stream: Stream) -> None:
    memory = PhysicalMemory(HUGE, device)
    first, second = (VirtualMemory(HUGE).map(memory) for _ in range(2))
    assert first.handle != second.handle
    fill(first, 1)
    assert content(second) == [1]
    copy_async(second[:4096], np.full(4096, 2, np.uint8), stream)
    stream.synchronize()
    assert content(first) == [2, 1]
    first.close()
    assert content(second) == [2, 1]


def test_what_is_mapped_anew_has_its_bytes(device: Device) -> None:
    memory, virtual = PhysicalMemory(HUGE, device), VirtualMemory(2 * HUGE)
    with virtual.map(memory) as here:
        fill(here, 5)
    with virtual.map(memory, HUGE) as there:
        assert there.handle == virtual.handle + HUGE
        assert content(there) == [5]


def test_another_device_is_allowed(device: Device, lib: Any, ffi: Any) -> None:
    if Device.count() < 2:
        pytest.skip("needs two devices")
    mapped = VirtualMemory(HUGE).map(PhysicalMemory(HUGE, device))
    assert mapped.device == device
    where = ffi.new("aclrtMemLocation *", {"type": lib.ACL_MEM_LOCATION_TYPE_DEVICE, "id": 1})
    access = ffi.new("uint64_t *")

    def may_access() -> bool:
        assert lib.aclrtMemGetAccess(ffi.cast("void *", mapped.handle), where, access) == 0
        return bool(access[0] == lib.ACL_RT_MEM_ACCESS_FLAGS_READWRITE)

    assert not may_access()
    for _ in range(2):
        mapped.allow(Device(1))
        assert may_access()
    with Device(1), Stream() as stream:
        fill_async(mapped, 3, stream)
        stream.synchronize()
    assert content(mapped) == [3]
    with pytest.raises(InvalidArgument, match="device 99"):
        mapped.allow(Device(99))


def test_memory_of_the_host(device: Device) -> None:
    free = device.memory_info.free
    memory = PhysicalMemory(PhysicalMemory.granularity())
    assert device.memory_info.free == free
    virtual = VirtualMemory(memory.nbytes)
    mapped = virtual.map(memory)
    mapped.allow(device)
    fill(mapped, 6)
    assert content(virtual.buffer(memory.nbytes)) == [6]
    for ask in (lambda: mapped.device, mapped.__dlpack_device__, mapped.__dlpack__):
        with pytest.raises(ValueError, match="is not on a device; the runtime reports HOST"):
            ask()


def test_a_view_is_closed_with_what_is_behind_it(device: Device) -> None:
    virtual = VirtualMemory(2 * HUGE)
    pieces = [virtual.map(PhysicalMemory(HUGE, device), at) for at in (0, HUGE)]
    both, first = virtual.buffer(2 * HUGE), virtual.buffer(HUGE)
    part = both[:64]
    pieces[1].close()
    assert (both.is_closed, part.is_closed, first.is_closed) == (True, True, False)


def test_a_block_that_fails_says_why(device: Device) -> None:
    def fail() -> None:
        with VirtualMemory(2 * HUGE) as virtual:
            left.extend((virtual.map(PhysicalMemory(HUGE, device)), virtual))
            raise KeyError("why")

    left: list[Any] = []
    with pytest.raises(KeyError, match="why"), pytest.warns(AclWarning, match="1 mappings are left"):
        fail()
    for it in left:
        it.close()


# --- what is refused -------------------------------------------------------------------------------------------------


def test_sizes() -> None:
    device = Device(0)
    step = PhysicalMemory.granularity(device)
    assert PhysicalMemory(3 * step, device).nbytes == 3 * step
    assert step % PhysicalMemory.granularity(device, minimum=True) == 0
    assert [VirtualMemory(nbytes).nbytes for nbytes in (3 * HUGE, HUGE + 4096, 1)] == [3 * HUGE, HUGE + 4096, 1]
    mapped = VirtualMemory(2 * HUGE).map(PhysicalMemory(HUGE, device), np.int32(HUGE))
    assert mapped._virtual.buffer(np.int16(64), np.int32(HUGE)).handle == mapped.handle
    refused: list[tuple[Callable[[int], object], list[int]]] = [
        (VirtualMemory, [0]),
        (lambda nbytes: PhysicalMemory(nbytes, device), [0, 1, step - 1, step + 4096]),
    ]
    for make, sizes in refused:
        for nbytes in sizes:
            with pytest.raises(InvalidArgument):
                make(nbytes)
        with pytest.raises(ValueError, match="must not be negative"):
            make(-step)
        with pytest.raises(OutOfMemory):
            make(1 << 50)
    with pytest.raises(InvalidArgument, match="device 99"):
        PhysicalMemory(step, Device(99))
    with pytest.raises(InvalidArgument):
        PhysicalMemory(step, device, attribute=9999)


@pytest.mark.parametrize("offset", [-HUGE, 1 - HUGE, HUGE + 1, 2 * HUGE, 1 << 60, -(1 << 60)])
def test_memory_is_mapped_inside_the_reservation(offset: int, device: Device) -> None:
    around = [VirtualMemory(2 * HUGE) for _ in range(3)]  # reservations that may be neighbours
    memory = PhysicalMemory(HUGE, device)
    for virtual in around:
        with pytest.raises(ValueError, match="exceed the 4194304 reserved bytes"):
            virtual.map(memory, offset)


def test_a_place_is_taken_once(device: Device) -> None:
    virtual, memory = VirtualMemory(4 * HUGE), PhysicalMemory(2 * HUGE, device)
    mapped = virtual.map(memory, HUGE)
    for offset, error, code in ((HUGE, AclError, DRIVER), (2 * HUGE, AclError, DRIVER), (4096, InvalidArgument, None)):
        with pytest.raises(error) as caught:
            virtual.map(memory, offset)
        assert code in (None, caught.value.code)
    mapped.close()
    virtual.map(memory, 2 * HUGE).close()


def test_memory_of_two_devices_is_not_mixed(device: Device) -> None:
    if Device.count() < 2:
        pytest.skip("needs two devices")
    virtual = VirtualMemory(2 * HUGE)
    mapped = virtual.map(PhysicalMemory(HUGE, device))
    with pytest.raises(InvalidArgument):
        virtual.map(PhysicalMemory(HUGE, Device(1)), HUGE)
    assert virtual.buffer(HUGE).handle == mapped.handle


# --- letting go ------------------------------------------------------------------------------------------------------


def test_a_reservation_is_not_closed_before_its_mappings(device: Device) -> None:
    virtual = VirtualMemory(2 * HUGE)
    mapped = virtual.map(PhysicalMemory(HUGE, device))
    for _ in range(2):
        with pytest.raises(AclError, match="1 mappings are left") as caught:
            virtual.close()
        assert caught.value.code == DRIVER
    assert not virtual.is_closed
    fill(mapped, 9)
    other = virtual.map(PhysicalMemory(HUGE, device), HUGE)
    mapped.close()
    other.close()
    virtual.close()
    virtual.close()
    assert virtual.is_closed
    for use in (lambda: virtual.map(PhysicalMemory(HUGE, device)), lambda: virtual.buffer(HUGE), lambda: other.handle):
        with pytest.raises(ClosedError):
            use()


def test_memory_that_is_closed_while_it_is_mapped_goes_with_the_mapping(device: Device) -> None:
    memory, virtual = PhysicalMemory(HUGE, device), VirtualMemory(HUGE)
    mapped = virtual.map(memory)
    free = device.memory_info.free
    memory.close()
    fill(mapped, 1)
    assert content(mapped) == [1]
    assert device.memory_info.free == free
    mapped.close()
    assert device.memory_info.free == free + HUGE
    with pytest.raises(ClosedError):
        virtual.map(memory)


def test_work_keeps_what_it_uses_mapped(device: Device, stream: Stream) -> None:
    mapped = VirtualMemory(HUGE).map(PhysicalMemory(HUGE, device))
    free, host = device.memory_info.free, np.zeros(HUGE, np.uint8)
    with Latch(stream):
        fill_async(mapped, 4, stream)
        del mapped
        gc.collect()
        assert device.memory_info.free == free
    copy(host, Buffer(HUGE))  # takes other memory
    stream.synchronize()
    assert device.memory_info.free == free + HUGE


def test_objects_may_be_dropped_in_any_order(device: Device) -> None:
    free = device.memory_info.free
    for order in itertools.permutations(range(5)):
        virtual, memory = VirtualMemory(2 * HUGE), PhysicalMemory(HUGE, device)
        mappings = [virtual.map(memory, at * HUGE) for at in range(2)]
        kept: list[Any] = [virtual, memory, *mappings, virtual.buffer(2 * HUGE)]
        del virtual, memory, mappings
        for i in order:
            kept[i] = None
        assert device.memory_info.free == free, order


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_objects_of_a_cycle_may_be_discarded_in_any_order(order: tuple[int, ...], device: Device) -> None:
    # The collector calls the finalizers of a cycle in an arbitrary order, each while all objects are still there.
    free = device.memory_info.free
    virtual, memory = VirtualMemory(2 * HUGE), PhysicalMemory(HUGE, device)
    cycle: list[Any] = [virtual, memory, *(virtual.map(memory, at * HUGE) for at in range(2))]
    del virtual, memory
    for i in order:
        cycle[i].__del__()
    cycle.append(cycle)
    assert device.memory_info.free == free


def test_the_collector_finds_a_cycle(device: Device) -> None:
    virtual, memory = VirtualMemory(2 * HUGE), PhysicalMemory(HUGE, device)
    cycle: list[Any] = [virtual, memory, virtual.map(memory), virtual.map(memory, HUGE), virtual.buffer(2 * HUGE)]
    cycle.append(cycle)
    mapped = device.memory_info.free
    del virtual, memory, cycle
    gc.collect()
    assert device.memory_info.free == mapped + HUGE


def test_texts(device: Device) -> None:
    virtual, memory = VirtualMemory(HUGE), PhysicalMemory(HUGE, device)
    mapped = virtual.map(memory)
    assert repr(mapped) == f"<ascend_rt.MappedBuffer {virtual.handle:#x} on device 0, {HUGE} bytes>"
    assert isinstance(mapped, MappedBuffer)
    assert mapped.base is None
    mapped.close()
    for closed, what in ((mapped, "mapped buffer"), (memory, "physical memory"), (virtual, "virtual memory")):
        closed.close()
        assert "closed" in repr(closed)
        with pytest.raises(ClosedError, match=f"this {what} is closed"):
            closed.handle  # noqa: B018


# --- between processes -----------------------------------------------------------------------------------------------

IMPORT = "(memory := rt.PhysicalMemory.from_shareable({number}, {nbytes}, Device(0))) and None"
MAP = "(mapped := rt.VirtualMemory(memory.nbytes).map(memory)) and None"
READ = "[rt.copy(b := bytearray(5), mapped[{at}:{at} + 5]), bytes(b)][1]"
WRITE = "rt.copy(mapped[{at}:], {data!r})"


def test_processes_share_memory(device: Device, process: Callable[[str], str]) -> None:
    memory = PhysicalMemory(2 * HUGE, device)
    mapped = VirtualMemory(2 * HUGE).map(memory)
    copy(mapped, b"hello")
    number = memory.export()
    assert process(IMPORT.format(number=number, nbytes=2 * HUGE)) == process(MAP) == "None"
    assert process(READ.format(at=0)) == "b'hello'"
    assert process(WRITE.format(at=2 * HUGE - 5, data=b"there")) == "None"
    there = bytearray(5)
    copy(there, mapped[-5:])
    assert there == b"there"
    assert process("[mapped.close(), memory.close()]") == "[None, None]"
    assert content(mapped[:5]) == list(b"helo")


def test_only_named_processes_take_memory(device: Device, process: Any) -> None:
    take = "code_of(rt.PhysicalMemory.from_shareable, {}, 1 << 21, Device(0))"
    pid = int(process("rt.ffi.new('int32_t *') and (lib.aclrtDeviceGetBareTgid(p := ffi.new('int32_t *')), p[0])[1]"))
    for processes, code in (([os.getpid()], NOT_PERMITTED), ([1, pid], 0), (iter([pid]), 0), (None, 0)):
        memory = PhysicalMemory(HUGE, device)
        assert process(take.format(memory.export(processes))) == str(code)


def test_memory_is_exported_once(device: Device) -> None:
    memory = PhysicalMemory(HUGE, device)
    with pytest.raises(ValueError, match="pass None to allow every process"):
        memory.export([])
    with pytest.raises(OverflowError):
        memory.export([1 << 40])
    assert memory.export([os.getpid()])  # the failed attempts have cost nothing
    with pytest.raises(InvalidArgument):
        memory.export()


def test_what_nobody_exports_is_not_taken(device: Device) -> None:
    memory = PhysicalMemory(HUGE, device)
    for number in (1, memory.export()):  # the exporter itself has the memory
        with pytest.raises(InvalidArgument):
            PhysicalMemory.from_shareable(number, HUGE, device)


def test_addresses_are_reserved_where_the_host_gives_few(run: Any) -> None:
    script = f"from ascend_rt import VirtualMemory; VirtualMemory({HUGE}).close(); print('reserved')"
    one_tebibyte = ("sh", "-c", 'ulimit -v 1073741824; exec "$@"', "sh")
    done = run("-c", script, before=one_tebibyte, ASCEND_RT_BACKEND="sim")
    assert done.stdout == "reserved\n", done.stderr
