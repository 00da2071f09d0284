# SPDX-License-Identifier: Apache-2.0
"""Buffers and copies through the facade."""

from __future__ import annotations

import gc
import os
import sys
from typing import Any

import numpy as np
import pytest
from support.memory import pattern

from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy, copy_async, fill, fill_async
from ascend_rt.errors import ClosedError, InvalidArgument, NotSupported, OutOfMemory
from ascend_rt.testing import Latch


@pytest.mark.parametrize("n", [1, 31, 4096, (1 << 20) + 1])
def test_bytes_come_back(n: int, device: Device) -> None:
    sent, received = pattern(n), np.zeros(n, np.uint8)
    with Buffer(n) as first, Buffer(n) as second:
        copy(first, sent)
        copy(second, first)
        copy(received, second)
    assert np.array_equal(sent, received)


@pytest.mark.parametrize("n", [1, 4096, (1 << 20) + 1])
def test_bytes_come_back_in_the_order_of_a_stream(n: int, stream: Stream) -> None:
    with PinnedBuffer(n) as sent, PinnedBuffer(n) as received, Buffer(n) as first, Buffer(n) as second:
        sent[:] = pattern(n)
        copy_async(first, sent, stream)
        copy_async(second, first, stream)
        copy_async(received, second, stream)
        stream.synchronize()
        assert np.array_equal(sent, received)


def test_arrays_of_any_shape_and_type(device: Device) -> None:
    sent = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    received = np.empty_like(sent)
    with Buffer(sent.nbytes) as memory:
        copy(memory, sent)
        copy(received, memory)
    assert np.array_equal(sent, received)


def test_bytes_like_objects(device: Device) -> None:
    received = bytearray(5)
    with Buffer(5) as memory:
        copy(memory, b"hello")
        copy(received, memory)
    assert received == b"hello"


def test_slices_are_views(device: Device) -> None:
    received = bytearray(8)
    with Buffer(8) as memory:
        copy(memory, b"abcdefgh")
        copy(memory[2:4], b"XY")
        assert memory[2:4].handle == memory.handle + 2
        copy(received, memory)
    assert received == b"abXYefgh"


def test_a_view_keeps_the_memory(device: Device) -> None:
    view = Buffer(64)[32:]
    gc.collect()
    received = bytearray(32)
    copy(view, b"x" * 32)
    copy(received, view)
    assert received == b"x" * 32


@pytest.mark.parametrize("part", [slice(4, 4), slice(6, 2), slice(0, 8, 2)])
def test_refused_slices(part: slice, device: Device) -> None:
    with Buffer(8) as memory, pytest.raises(ValueError, match="non-empty range"):
        memory[part]


def test_the_host_cannot_read_device_memory(device: Device) -> None:
    with Buffer(8) as memory, pytest.raises(TypeError, match="cannot be read from the host"):
        memory[0]  # type: ignore[index]


def test_pageable_memory_waits_for_the_stream(stream: Stream) -> None:
    received = np.zeros(4096, np.uint8)
    with Buffer(4096) as memory:
        fill_async(memory, 7, stream)
        copy_async(received, memory, stream)
        assert np.all(received == 7)  # no synchronization: the runtime did it


def test_pinned_memory_does_not(stream: Stream) -> None:
    with PinnedBuffer(4096) as received, Buffer(4096) as memory:
        received[:] = 0
        fill(memory, 7)
        with Latch(stream):
            copy_async(received, memory, stream)
            assert np.all(received == 0)
        stream.synchronize()
        assert np.all(received == 7)


def test_operands_live_until_the_copy_is_done(stream: Stream, other: Stream) -> None:
    free = Device(0).memory_info.free
    with PinnedBuffer(1 << 20) as received:
        with Latch(stream):
            memory = Buffer(1 << 20)
            fill(memory, 9)
            copy_async(received, memory, stream)
            del memory
            gc.collect()
            assert Device(0).memory_info.free < free
        stream.synchronize()
        assert np.all(received == 9)
    gc.collect()
    assert Device(0).memory_info.free == free


@pytest.mark.parametrize("close", [False, True])
def test_operands_outlive_a_borrowed_stream_object(close: bool, stream: Stream) -> None:
    free = Device(0).memory_info.free
    with PinnedBuffer(1 << 20) as received:
        with Latch(stream):
            borrowed = Stream.from_handle(stream.handle)
            memory = Buffer(1 << 20)
            fill(memory, 9)
            copy_async(received, memory, borrowed)
            if close:
                borrowed.close()
            del memory, borrowed
            gc.collect()
            assert Device(0).memory_info.free < free
        stream.synchronize()
        assert np.all(received == 9)
    copy_async(bytearray(1), Buffer(1), Stream.from_handle(stream.handle))  # the next one lets go of what is done
    gc.collect()
    assert Device(0).memory_info.free >= free - (1 << 20) + 1


def test_many_copies_do_not_pile_up(stream: Stream) -> None:
    with PinnedBuffer(64) as host, Buffer(64) as memory:
        for _ in range(2000):
            copy_async(memory, host, stream)
        stream.record().synchronize()
        for _ in range(300):
            copy_async(memory, host, stream)
        assert len(stream._retention) < 2000
        stream.synchronize()
        assert len(stream._retention) == 0


def test_a_pinned_buffer_is_an_array_with_the_buffer_protocol(device: Device) -> None:
    with PinnedBuffer(16) as pinned:
        pinned[:] = range(16)
        assert bytes(memoryview(pinned)) == bytes(range(16))
        assert pinned.view(np.uint32).shape == (4,)
        assert type(pinned + 1) is np.ndarray


def test_views_of_a_closed_pinned_buffer_stay_valid(device: Device) -> None:
    pinned = PinnedBuffer(16)
    pinned[:] = 5
    view = pinned[4:8]
    pinned.close()
    pinned.close()
    assert pinned.is_closed
    assert list(view) == [5, 5, 5, 5]


@pytest.mark.simulator("deadly")
def test_pinned_memory_is_given_back(device: Device, lib: Any, ffi: Any) -> None:
    attributes = ffi.new("aclrtPtrAttributes *")
    pinned = PinnedBuffer(4096)
    address = ffi.cast("void *", pinned.handle)
    assert lib.aclrtPointerGetAttributes(address, attributes) == 0
    pinned.close()
    del pinned
    assert lib.aclrtFreeHost(address) == 107000  # freed already


def test_memory_is_counted(device: Device) -> None:
    before = device.memory_info
    with Buffer(64 << 20):
        assert before.free - device.memory_info.free >= 64 << 20
    assert device.memory_info == before


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="counts pages the Linux way")
@pytest.mark.simulator("alone")
def test_all_memory_of_a_device_costs_only_what_is_touched(device: Device) -> None:
    page = 2 << 20  # the last one is for the padding
    before, nbytes = resident_bytes(), (device.memory_info.free // page - 1) * page
    with Buffer(nbytes) as everything:
        assert device.memory_info.free < page
        for part in (everything[: 1 << 20], everything[-(1 << 20) :]):
            fill(part, 1)
            back = np.zeros(1 << 20, np.uint8)
            copy(back, part)
            assert back.all()
        assert resident_bytes() - before < 64 << 20 < nbytes
        with pytest.raises(OutOfMemory):
            Buffer(page)
    assert device.memory_info.free >= nbytes


def test_exhaustion_says_what_is_free(device: Device) -> None:
    with pytest.raises(OutOfMemory, match="bytes are free"):
        Buffer(1 << 50)
    with pytest.raises(MemoryError):
        Buffer(1 << 50)


def test_a_simulated_device_can_be_allocated_without_having_its_memory(device: Device) -> None:
    free = device.memory_info.free
    with Buffer(free - (1 << 30)) as memory:
        assert memory.nbytes > 1 << 30


@pytest.mark.parametrize("nbytes", [0, -1])
def test_refused_sizes(nbytes: int, device: Device) -> None:
    for kind in (Buffer, PinnedBuffer):
        with pytest.raises(ValueError, match=r"size|negative"):
            kind(nbytes)


def test_a_copy_must_fit(device: Device, stream: Stream) -> None:
    with Buffer(8) as memory, PinnedBuffer(16) as pinned:
        with pytest.raises(InvalidArgument):
            copy(memory, bytes(16))
        with pytest.raises(InvalidArgument):
            copy_async(memory, pinned, stream)


def test_freed_memory_is_refused(device: Device) -> None:
    memory = Buffer(4096)
    borrowed = Buffer.from_handle(memory.handle, 4096)
    memory.close()
    with pytest.raises(ClosedError, match="this buffer is closed"):
        copy(memory, bytes(8))
    with pytest.raises(InvalidArgument, match="live allocation"):
        copy(borrowed, bytes(8))


def test_host_to_host_in_a_stream_is_not_supported(stream: Stream) -> None:
    with PinnedBuffer(8) as a, PinnedBuffer(8) as b, pytest.raises(NotSupported):
        copy_async(a, b, stream)


def test_operands_that_are_no_buffers(device: Device) -> None:
    with Buffer(8) as memory:
        with pytest.raises(TypeError):
            copy(memory, 5)  # type: ignore[arg-type]
        with pytest.raises((TypeError, BufferError)):
            copy(b"12345678", memory)  # read-only
        with pytest.raises(ValueError, match="contiguous"):
            copy(memory, np.zeros((4, 4), np.uint8)[:, :2])


@pytest.mark.parametrize("value", [-1, 256])
def test_refused_fill_values(value: int, device: Device) -> None:
    with Buffer(8) as memory, pytest.raises(ValueError, match="0 to 255"):
        fill(memory, value)
