# SPDX-License-Identifier: Apache-2.0
"""Pools in Python: memory in the order of streams, what is counted, and every order of letting go."""

from __future__ import annotations

import gc
import itertools
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.codes import INTERNAL, STREAM_CONTEXT

from ascend_rt import Buffer, Device, MemoryPool, PinnedBuffer, Stream, copy, copy_async, fill, fill_async
from ascend_rt.errors import AclError, ClosedError, InvalidArgument
from ascend_rt.testing import Latch

PAGE = 2 << 20  # the unit of pools

pytestmark = [
    pytest.mark.simulator(
        "unspecified", "the vendor's pools do not reuse memory yet, and give it back only when they are trimmed"
    ),
    pytest.mark.usefixtures("no_device_memory_is_left"),
]


@pytest.fixture
def pool(device: Device) -> Iterator[MemoryPool]:
    with MemoryPool(device, max_nbytes=8 * PAGE) as pool:
        yield pool


def used(pool: MemoryPool) -> int:
    return pool.statistics.used // PAGE


# --- allocating ------------------------------------------------------------------------------------------------------


def test_a_buffer_in_the_order_of_a_stream(pool: MemoryPool, stream: Stream) -> None:
    host = PinnedBuffer(3 * 64)
    with Latch(stream):
        for i in range(3):
            with pool.allocate(64, stream) as buffer:
                fill_async(buffer, i + 1, stream)
                copy_async(host[i * 64 : (i + 1) * 64], buffer, stream)
        assert pool.statistics == (PAGE, PAGE, 0, PAGE)  # all three were the same memory
        assert not stream.is_done
    stream.synchronize()
    assert host.reshape(3, 64).tolist() == [[i + 1] * 64 for i in range(3)]


def test_it_is_a_buffer(pool: MemoryPool, device: Device, stream: Stream) -> None:
    buffer = pool.allocate(1000, stream)
    assert isinstance(buffer, Buffer)
    assert (buffer.nbytes, len(buffer), buffer.device, buffer.base) == (1000, 1000, device, None)
    stream.synchronize()  # the memory is there in the order of the stream
    fill(buffer, 1)
    copy(buffer[100:200], np.full(100, 2, np.uint8))
    view = buffer[100:]
    assert (view.base, view.offset) == (buffer, 100)
    host = np.empty(900, np.uint8)
    copy(host, view)
    assert host.tolist() == [2] * 100 + [1] * 800
    assert repr(buffer) == f"<ascend_rt.PoolBuffer {buffer.handle:#x} on device 0, 1000 bytes>"
    buffer.close()
    buffer.close()
    with pytest.raises(ClosedError, match="this pool buffer is closed"):
        copy(host, buffer)


def test_memory_is_used_again_without_reserving_more(pool: MemoryPool, stream: Stream) -> None:
    pool.release_threshold = 8 * PAGE
    first = pool.allocate(3 * PAGE, stream)
    address = first.handle
    first.close()
    for size in (3 * PAGE, 2 * PAGE, 5):
        with pool.allocate(size, stream) as buffer:
            assert buffer.handle == address
        stream.synchronize()
    assert pool.statistics == (3 * PAGE, 3 * PAGE, 0, 3 * PAGE)
    pool.trim()
    assert pool.statistics == (0, 3 * PAGE, 0, 3 * PAGE)


@pytest.mark.parametrize("nbytes", [0, -1])
def test_a_size_is_positive(nbytes: int, pool: MemoryPool, stream: Stream) -> None:
    with pytest.raises(ValueError, match=f"must be greater than 0, got {nbytes}"):
        pool.allocate(nbytes, stream)


def test_an_exhausted_pool_says_how_much_there_is(pool: MemoryPool, stream: Stream) -> None:
    kept = pool.allocate(3 * PAGE, stream)
    with pytest.raises(AclError) as caught:
        pool.allocate(6 * PAGE, stream)
    assert caught.value.code == INTERNAL
    for number in (6 * PAGE, 3 * PAGE, 8 * PAGE):
        assert str(number) in str(caught.value)
    assert "the pool is exhausted" in str(caught.value)
    assert used(pool) == 3
    kept.close()
    pool.allocate(6 * PAGE, stream).close()


def test_other_objects_and_closed_ones(pool: MemoryPool, device: Device, stream: Stream) -> None:
    with Stream() as closed:
        pass
    with pytest.raises(ClosedError, match="this stream is closed"):
        pool.allocate(64, closed)
    with MemoryPool(device) as closed_pool:
        pass
    for use in (lambda: closed_pool.allocate(64, stream), lambda: closed_pool.statistics, closed_pool.trim):
        with pytest.raises(ClosedError, match="this memory pool is closed"):
            use()
    with pytest.raises(InvalidArgument, match="99"):
        MemoryPool(Device(99))
    with pytest.raises(ValueError, match="must not be negative"):
        MemoryPool(device, max_nbytes=-1)
    with pytest.raises(InvalidArgument, match="larger than the device"):
        MemoryPool(device, max_nbytes=1 << 60)


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_statistics_and_peaks(pool: MemoryPool, stream: Stream) -> None:
    assert pool.statistics == (0, 0, 0, 0)
    first, second = pool.allocate(1, stream), pool.allocate(2 * PAGE, stream)
    assert pool.statistics._asdict() == {
        "reserved": 3 * PAGE,
        "reserved_peak": 3 * PAGE,
        "used": 3 * PAGE,
        "used_peak": 3 * PAGE,
    }
    second.close()
    assert pool.statistics == (3 * PAGE, 3 * PAGE, PAGE, 3 * PAGE)
    pool.reset_peaks()
    assert pool.statistics == (3 * PAGE, 3 * PAGE, PAGE, PAGE)
    stream.synchronize()
    pool.reset_peaks()
    assert pool.statistics == (PAGE, PAGE, PAGE, PAGE)
    first.close()


def test_the_threshold_is_what_a_synchronization_leaves(pool: MemoryPool, device: Device, stream: Stream) -> None:
    free = device.memory_info.free
    assert pool.release_threshold == 0
    for threshold in (2 * PAGE, 0):
        pool.release_threshold = threshold
        assert pool.release_threshold == threshold
        for buffer in [pool.allocate(PAGE, stream) for _ in range(4)]:
            buffer.close()
        stream.synchronize()
        assert pool.statistics.reserved == threshold
        assert device.memory_info.free == free - threshold


def test_trimming(pool: MemoryPool, stream: Stream) -> None:
    pool.release_threshold = 8 * PAGE
    buffers = [pool.allocate(PAGE, stream) for _ in range(6)]
    for buffer in buffers[2:]:
        buffer.close()
    stream.synchronize()
    pool.trim(4 * PAGE)
    assert pool.statistics[:3:2] == (4 * PAGE, 2 * PAGE)
    with pytest.raises(AclError, match="are not between the used 4194304 and the pool's 16777216"):
        pool.trim()  # less than is used
    pool.trim(2 * PAGE)
    assert pool.statistics[:3:2] == (2 * PAGE, 2 * PAGE)
    for buffer in buffers[:2]:
        buffer.close()


def test_bad_numbers(pool: MemoryPool) -> None:
    for bad in (-1, 9 * PAGE):
        with pytest.raises((ValueError, AclError)):
            pool.release_threshold = bad
        with pytest.raises((ValueError, AclError)):
            pool.trim(bad)
    assert (pool.release_threshold, pool.statistics) == (0, (0, 0, 0, 0))


# --- letting go ------------------------------------------------------------------------------------------------------


def test_a_buffer_keeps_its_pool(device: Device, stream: Stream) -> None:
    free = device.memory_info.free
    buffer = MemoryPool(device).allocate(PAGE, stream)
    view = buffer[:100]
    del buffer
    gc.collect()
    assert device.memory_info.free == free - PAGE
    fill_async(view, 1, stream)
    stream.synchronize()
    del view
    gc.collect()
    assert device.memory_info.free == free


def test_a_pool_that_is_closed_takes_its_buffers_memory(device: Device, stream: Stream) -> None:
    free = device.memory_info.free
    with MemoryPool(device) as pool:
        buffer, other = pool.allocate(PAGE, stream), pool.allocate(PAGE, stream)
    assert device.memory_info.free == free
    with pytest.raises(InvalidArgument):
        fill(buffer, 1)
    buffer.close()
    del other
    stream.synchronize()  # memory that is gone is not freed once more


def test_work_keeps_what_it_uses(pool: MemoryPool, stream: Stream, other: Stream) -> None:
    with Latch(stream):
        fill_async(pool.allocate(64, stream), 1, stream)
        assert used(pool) == 1
    stream.synchronize()
    assert used(pool) == 0
    with Latch(other):  # another stream, which was made to come after the allocation
        buffer = pool.allocate(64, stream)
        other.wait(stream)
        fill_async(buffer, 2, other)
        del buffer
        stream.synchronize()
        assert used(pool) == 1
    other.synchronize()
    assert used(pool) == 0


def test_a_buffer_is_freed_in_the_order_of_the_stream_that_used_it_last(
    pool: MemoryPool, stream: Stream, other: Stream
) -> None:
    pool.release_threshold = 8 * PAGE
    with Latch(other):
        buffer = pool.allocate(64, stream)
        address = buffer.handle
        buffer.close(other)
        stream.synchronize()
        with pool.allocate(64, stream) as not_yet_free:
            assert not_yet_free.handle != address
        buffer.close(stream)  # it is closed already
    other.synchronize()
    with pool.allocate(64, other) as free:
        assert free.handle == address


def test_a_buffer_outlives_its_stream(pool: MemoryPool) -> None:
    stream = Stream()
    buffers = [pool.allocate(64, stream) for _ in range(2)]
    stream.close()
    fill(buffers[0], 1)
    buffers.pop().close()
    assert used(pool) == 1
    del buffers
    gc.collect()
    assert used(pool) == 0


def test_a_borrowed_stream_goes_on_when_its_object_is_closed(pool: MemoryPool, stream: Stream) -> None:
    pool.release_threshold = 8 * PAGE
    with Latch(stream):
        with Stream.from_handle(stream.handle) as borrowed:
            buffer = pool.allocate(64, borrowed)
        address = buffer.handle
        buffer.close()  # still in the order of the stream
        with Stream() as other, pool.allocate(64, other) as not_yet_free:
            assert not_yet_free.handle != address
    stream.synchronize()


def test_a_stream_that_somebody_else_destroyed(pool: MemoryPool, stream: Stream) -> None:
    destroyed = Stream()
    borrowed = Stream.from_handle(destroyed.handle)
    buffers = [pool.allocate(64, borrowed), pool.allocate(64, stream)]
    destroyed.close()
    buffers[0].close()
    buffers[1].close(borrowed)
    assert used(pool) == 0


def test_the_default_stream(pool: MemoryPool, device: Device) -> None:
    with pool.allocate(64, device.default_stream) as buffer:
        fill_async(buffer, 3, device.default_stream)
    device.synchronize()
    assert used(pool) == 0


@pytest.mark.parametrize("borrows", [False, True])
@pytest.mark.parametrize("has_context", [False, True])
def test_a_buffer_that_another_thread_discards(
    borrows: bool, has_context: bool, pool: MemoryPool, stream: Stream
) -> None:
    buffers = [pool.allocate(64, Stream.from_handle(stream.handle) if borrows else stream)]

    def discard() -> None:
        if has_context:
            Device(Device.count() - 1).set_current()
        buffers.pop().close()

    thread = threading.Thread(target=discard)
    thread.start()
    thread.join()
    assert (buffers, used(pool)) == ([], 0)
    if has_context:
        Device(Device.count() - 1).reset()


@pytest.mark.filterwarnings("ignore:.*was discarded; it is destroyed when its work is done:ResourceWarning")
@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_objects_of_a_cycle_may_be_discarded_in_any_order(
    order: tuple[int, ...], device: Device, stream: Stream
) -> None:
    # The collector calls the finalizers of a cycle in an arbitrary order, each while all objects are still there.
    pool, short = MemoryPool(device), Stream()
    cycle: list[Any] = [pool, short, pool.allocate(64, short), pool.allocate(64, stream)]
    fill_async(cycle[2], 1, short)
    for i in order:
        cycle[i].__del__()
    stream.synchronize()
    if not short.is_closed:  # it was busy
        short.synchronize()
        Stream().close()  # a new stream destroys those that were discarded and are done
    assert all(it.is_closed for it in cycle)


def test_the_collector_finds_a_cycle(pool: MemoryPool, stream: Stream) -> None:
    cycle: list[Any] = [pool.allocate(64, stream)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert used(pool) == 0


def test_streams_of_another_context_are_refused(pool: MemoryPool, device: Device) -> None:
    from ascend_rt import Context

    with Context(0) as context:
        with context, Stream() as foreign:
            device.set_current()
            with pytest.raises(AclError) as caught:
                pool.allocate(64, foreign)
            assert caught.value.code == STREAM_CONTEXT
        device.set_current()


# --- products --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("product", ["910C", "310B", "310P", "910", "950"])
def test_products_without_pools(product: str, child: Any) -> None:
    script = """
        from ascend_rt import Device, MemoryPool, errors
        Device(0).set_current()
        try:
            MemoryPool(Device(0))
        except errors.NotSupported as error:
            reported([error.code, str(error)])
    """
    code, text = child(script, ASCEND_RT_SIM_PRODUCT=product)
    assert code == 207000
    assert "aclrtMemPoolCreate" in text


def test_a_pool_needs_a_context(child: Any) -> None:
    script = """
        from ascend_rt import Device, MemoryPool, errors
        try:
            MemoryPool(Device(0))
        except errors.NoContext as error:
            reported(error.code)
    """
    assert child(script) == 107002
