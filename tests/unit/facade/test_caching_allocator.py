# SPDX-License-Identifier: Apache-2.0
"""``CachingAllocator``: sizes, limit, statistics, and what is reused."""

from __future__ import annotations

from typing import Any

import pytest

from ascend_rt import Buffer, CachingAllocator, Device, Stream, sim
from ascend_rt.errors import ClosedError, OutOfMemory
from ascend_rt.testing import Latch

pytestmark = pytest.mark.usefixtures("no_allocator_is_left")


MIB = 1 << 20


@pytest.mark.parametrize(
    ("nbytes", "size"),
    [
        (1, 512),
        (512, 512),
        (513, 1024),
        (MIB - 1, MIB),
        (MIB, MIB),
        (MIB + 1, 2 * MIB),
        (2 * MIB, 2 * MIB),
        (2 * MIB + 1, 4 * MIB),
    ],
)
def test_sizes_are_rounded(nbytes: int, size: int) -> None:
    allocator = CachingAllocator()
    buffer = allocator.allocate(nbytes)
    assert buffer.nbytes == size
    assert allocator.statistics == (size, size, size, size, 0, 1)
    allocator.free(buffer)
    assert allocator.statistics == (0, size, size, size, 0, 1)


@pytest.mark.parametrize("nbytes", [0, -1])
def test_a_size_is_positive(nbytes: int) -> None:
    with pytest.raises(ValueError, match=f"must be greater than 0, got {nbytes}"):
        CachingAllocator().allocate(nbytes)


def test_freed_memory_is_reused() -> None:
    allocator = CachingAllocator()
    small, large = allocator.allocate(1024), allocator.allocate(4096)
    allocator.free(large)
    allocator.free(small)
    assert allocator.allocate(1000) is small  # the smallest that is large enough
    again = allocator.allocate(2048)
    assert again is large  # at most half of a block may be wasted
    allocator.free(again)
    missed = allocator.allocate(1536)
    assert missed is not large
    assert allocator.statistics._asdict() == {
        "used": 1024 + 1536,
        "used_peak": 1024 + 4096,
        "reserved": 1024 + 4096 + 1536,
        "reserved_peak": 1024 + 4096 + 1536,
        "hits": 2,
        "misses": 3,
    }


def test_the_limit_empties_the_cache_first(device: Device) -> None:
    allocator = CachingAllocator(8 * MIB)
    cached, used = allocator.allocate(2 * MIB), allocator.allocate(2 * MIB)
    allocator.free(cached)
    kept = allocator.allocate(6 * MIB)
    assert cached.is_closed
    assert allocator.statistics[:4] == (8 * MIB, 8 * MIB, 8 * MIB, 8 * MIB)
    with pytest.raises(OutOfMemory, match="512 more bytes exceed the limit of 8388608; 8388608 are in use"):
        allocator.allocate(1)
    allocator.free(kept)
    with pytest.raises(OutOfMemory):
        allocator.allocate(8 * MIB)
    assert (kept.is_closed, used.is_closed) == (True, False)
    assert allocator.statistics == (2 * MIB, 8 * MIB, 2 * MIB, 8 * MIB, 0, 3)


@pytest.mark.simulator("kernels")
def test_an_exhausted_device_empties_the_cache_first(device: Device) -> None:
    allocator = CachingAllocator()
    with sim.faults():
        sim.limit("memory", sum(usage.current for usage in device.memory_usage()) + 8 * MIB)
        cached = allocator.allocate(4 * MIB)
        allocator.free(cached)
        needed = allocator.allocate(6 * MIB)
        assert cached.is_closed
        with pytest.raises(OutOfMemory):
            allocator.allocate(6 * MIB)
        assert allocator.statistics == (6 * MIB, 6 * MIB, 6 * MIB, 6 * MIB, 0, 2)
        allocator.free(needed)


def test_only_what_is_in_use_is_freed() -> None:
    allocator, foreign = CachingAllocator(), Buffer(512)
    buffer = allocator.allocate(512)
    allocator.free(buffer)
    for wrong in (buffer, foreign):
        with pytest.raises(ValueError, match="was not allocated by this allocator, or is freed already"):
            allocator.free(wrong)
    assert allocator.statistics == (0, 512, 512, 512, 0, 1)
    allocator.empty_cache()
    with pytest.raises(ClosedError):
        allocator.free(buffer)


def test_emptying_the_cache(device: Device) -> None:
    allocator = CachingAllocator()
    allocator.empty_cache()
    buffers = [allocator.allocate(size) for size in (512, 512, 4096)]
    free = device.memory_info.free
    for buffer in buffers[1:]:
        allocator.free(buffer)
    allocator.empty_cache()
    allocator.empty_cache()
    assert [buffer.is_closed for buffer in buffers] == [False, True, True]
    assert allocator.statistics[:3] == (512, 512 + 512 + 4096, 512)
    allocator.free(buffers[0])
    allocator.empty_cache()
    assert allocator.statistics.reserved == 0
    assert device.memory_info.free >= free


@pytest.mark.simulator("kernels")
def test_operators_hit_the_cache(stream: Stream) -> None:
    allocator = CachingAllocator()
    allocator.register(stream)
    with Latch(stream):
        for nbytes in (4096, 4000, 3000, 4096):
            sim.run_operator(stream, nbytes)
    stream.synchronize()
    assert allocator.statistics == (0, 4096, 4096, 4096, 3, 1)


@pytest.mark.simulator("kernels")
def test_a_limit_fails_the_operator(stream: Stream, unraisable: list[Any]) -> None:
    allocator = CachingAllocator(MIB)
    allocator.register(stream)
    with pytest.raises(OutOfMemory):
        sim.run_operator(stream, 2 * MIB)
    assert "exceed the limit of 1048576" in str(unraisable[0].exc_value)
    sim.run_operator(stream, MIB)


def test_each_device_has_its_own_cache(device: Device) -> None:
    last = Device(Device.count() - 1)
    if last == device:
        pytest.skip("needs a second device")
    allocator = CachingAllocator()
    here = allocator.allocate(4096)
    allocator.free(here)
    with last:
        there = allocator.allocate(4096)
        assert there.device == last
        allocator.free(there)
    assert allocator.allocate(4096) is here
    allocator.empty_cache()
    assert (here.is_closed, there.is_closed) == (False, True)
    last.reset()  # other tests want to be the only ones that have set it


def test_memory_of_before_a_reset_is_not_reused(child: Any) -> None:
    script = """
        from ascend_rt import CachingAllocator, Device, Stream, copy
        device, allocator = Device(0), CachingAllocator(8192)
        device.set_current()
        stream = Stream()
        allocator.register(stream)
        allocator.free(allocator.allocate(4096))
        device.reset()
        device.set_current()
        memory = allocator.allocate(4096)
        copy(memory[:5], b"stays")
        allocator.free(memory)
        allocator.unregister(stream)
        allocator.empty_cache()
        reported(allocator.statistics)
    """
    assert child(script) == [0, 4096, 0, 8192, 0, 2]


def test_the_allocator_notices_that_a_buffer_was_closed(device: Device) -> None:
    allocator = CachingAllocator()
    with allocator.allocate(4096):
        cached = allocator.allocate(512)
        allocator.free(cached)
    assert allocator.statistics[::2] == (0, 512, 0)
    cached.close()
    assert allocator.allocate(512) is not cached
    assert allocator.statistics.reserved == 0  # it was discarded at once
