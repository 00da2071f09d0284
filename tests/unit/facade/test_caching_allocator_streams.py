# SPDX-License-Identifier: Apache-2.0
"""``CachingAllocator``: streams and threads that use its memory while the cache is emptied."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from support.codes import AICORE_EXCEPTION
from support.interruptions import Interruption
from support.threads import in_threads

from ascend_rt import Buffer, CachingAllocator, Context, Device, Event, Stream, sim
from ascend_rt.errors import AclError
from ascend_rt.testing import Latch

pytestmark = pytest.mark.usefixtures("no_allocator_is_left")

MIB = 1 << 20


@pytest.mark.simulator("kernels")
def test_an_interrupted_emptying_frees_nothing(stream: Stream, lib: Any) -> None:
    allocator = CachingAllocator()
    allocator.register(stream)

    def interrupted(*arguments: Any) -> int:
        raise Interruption

    with Latch(stream):
        sim.run_operator(stream, 4096)
        with pytest.raises(Interruption), lib.override("aclrtSynchronizeStream", interrupted):
            allocator.empty_cache()
        gc.collect()
        assert allocator.statistics.reserved == 4096
    allocator.empty_cache()
    assert allocator.statistics.reserved == 0
    allocator.unregister(stream)


@pytest.mark.simulator("kernels")
def test_emptying_waits_for_the_streams(device: Device, stream: Stream, other: Stream) -> None:
    allocator = CachingAllocator()
    allocator.register(stream)
    latch = Latch(stream)
    sim.run_operator(stream, 4096)
    Latch(other)  # a stream that has another allocator, or none, is not waited for
    started = threading.Event()

    def empty() -> None:
        device.set_current()
        started.set()
        allocator.empty_cache()
        device.reset()

    thread = threading.Thread(target=empty)
    thread.start()
    started.wait()
    assert allocator.live_buffers == 0
    assert not stream.is_done
    latch.release()
    thread.join(60)
    assert not thread.is_alive()
    assert stream.is_done
    stream.synchronize()  # no task failed: its memory was still allocated
    assert allocator.statistics.reserved == 0
    other.abort()


def test_a_host_function_may_free_while_emptying_waits(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    from ascend_rt import allocator as module

    def about_to_wait(*arguments: Any) -> None:
        waits.set()
        through(*arguments)

    def free_late() -> None:
        waits.wait()
        allocator.free(late)

    waits, through, allocator = threading.Event(), module.call, CachingAllocator()
    allocator.register(stream)
    cached, late = allocator.allocate(512), allocator.allocate(4096)
    allocator.free(cached)
    monkeypatch.setattr(module, "call", about_to_wait)
    stream.launch_host_func(free_late)
    allocator.empty_cache()
    assert (cached.is_closed, late.is_closed) == (True, False)
    assert allocator.statistics[::2] == (0, 4096, 0)
    assert allocator.allocate(4096) is late
    allocator.free(late)


@pytest.mark.simulator("kernels")
def test_a_failed_stream_leaves_the_cache_as_it_is(stream: Stream) -> None:
    allocator = CachingAllocator()
    allocator.register(stream)
    cached = allocator.allocate(512)
    allocator.free(cached)
    with sim.faults():
        sim.fail_task(AICORE_EXCEPTION, stream)
        sim.run_operator(stream, 0)
        with pytest.raises(AclError) as caught:
            allocator.empty_cache()
    assert caught.value.code == AICORE_EXCEPTION
    assert allocator.statistics == (0, 512, 512, 512, 0, 1)
    assert allocator.allocate(512) is cached
    allocator.free(cached)
    allocator.empty_cache()
    assert cached.is_closed


def test_threads_share_an_allocator(device: Device) -> None:
    allocator = CachingAllocator()
    threads, rounds = 4, 150
    together = threading.Barrier(threads)

    def work(number: int) -> set[int]:
        device.set_current()
        together.wait(60)
        held: list[Buffer] = []
        for i in range(rounds):
            held.append(allocator.allocate(512 * (1 + (i * 7 + number) % 5)))
            if i % 3 == 2:
                allocator.free(held.pop(i % len(held)))
            if i % 50 == 49:
                allocator.empty_cache()
        addresses = {buffer.handle for buffer in held}
        assert len(addresses) == len(held)
        together.wait(60)
        for buffer in held:
            allocator.free(buffer)
        device.reset()
        return addresses

    addresses = in_threads(*(partial(work, i) for i in range(threads)))
    assert sum(map(len, addresses)) == len(set().union(*addresses))  # no two threads had the same memory
    statistics = allocator.statistics
    assert statistics.hits + statistics.misses == threads * rounds
    assert statistics.used == 0
    assert statistics.used_peak <= statistics.reserved_peak
    allocator.empty_cache()
    assert allocator.statistics.reserved == 0


class ObservedLock:
    """A lock that calls a function with each thread that is about to take it."""

    def __init__(self, lock: Any, arrived: Callable[[threading.Thread], object]) -> None:
        self._lock, self._arrived = lock, arrived

    def __enter__(self) -> None:
        self._arrived(threading.current_thread())
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


def test_the_limit_is_not_reached_while_another_thread_empties_the_cache(
    device: Device, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ascend_rt import allocator as module

    def about_to_wait(*arguments: Any) -> None:
        second.start()
        moved.wait()
        through(*arguments)

    def allocate() -> None:
        device.set_current()
        try:
            made.append(allocator.allocate(2 * MIB))
        finally:
            moved.set()
            device.reset()

    through, moved, made = module.call, threading.Event(), list[Buffer]()
    second = threading.Thread(target=allocate)
    allocator = CachingAllocator(8 * MIB)
    allocator._emptying = ObservedLock(threading.RLock(), lambda who: moved.set() if who is second else None)  # type: ignore
    allocator.register(stream)
    allocator.free(allocator.allocate(8 * MIB))
    monkeypatch.setattr(module, "call", about_to_wait)
    made.append(allocator.allocate(2 * MIB))
    monkeypatch.undo()
    second.join()
    assert len(made) == 2
    assert allocator.statistics.reserved == 4 * MIB


LEAVING = {
    "unregistered": lambda allocator, stream: allocator.unregister(stream),
    "replaced": lambda allocator, stream: CachingAllocator().register(stream),
    "unregistered in another context": lambda allocator, stream: elsewhere(lambda: allocator.unregister(stream)),
}


def elsewhere(function: Callable[[], object]) -> None:
    with Context(0):
        function()


@pytest.mark.simulator("kernels")
@pytest.mark.parametrize("leave", LEAVING.values(), ids=LEAVING.keys())
def test_a_stream_that_is_not_registered_any_more_still_uses_the_memory(
    leave: Any, device: Device, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(event: Event) -> None:
        moved.set()
        through(event)

    def empty() -> None:
        device.set_current()
        try:
            allocator.empty_cache()
        finally:
            moved.set()
            device.reset()

    through, moved, allocator = Event.synchronize, threading.Event(), CachingAllocator()
    allocator.register(stream)
    with Latch(stream):
        sim.run_operator(stream, 4096)
        leave(allocator, stream)
        monkeypatch.setattr(Event, "synchronize", wait)
        thread = threading.Thread(target=empty)
        thread.start()
        moved.wait()
        assert allocator.statistics.reserved == 4096
    thread.join()
    assert allocator.statistics.reserved == 0
    stream.synchronize()


@pytest.mark.simulator("kernels")
def test_memory_that_a_stream_uses_outlives_its_allocator(stream: Stream) -> None:
    allocator = CachingAllocator()
    allocator.register(stream)
    alive = weakref.ref(allocator)
    with Latch(stream):
        sim.run_operator(stream, 4096)
        allocator.unregister(stream)
        del allocator
        gc.collect()
        assert alive() is not None
    stream.synchronize()
    gc.collect()
    assert alive() is None


@pytest.mark.simulator("kernels")
def test_a_stream_of_another_context(device: Device) -> None:
    allocator = CachingAllocator()
    with Context(0) as context:
        stream = Stream()
        allocator.register(stream)
        sim.run_operator(stream, 64)
        device.set_current()
        allocator.empty_cache()  # waits for a stream of another context too
        assert allocator.statistics.reserved == 0
        context.set_current()
        stream.synchronize()
        stream.close()
        device.set_current()
