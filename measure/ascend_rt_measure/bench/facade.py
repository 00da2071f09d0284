# SPDX-License-Identifier: Apache-2.0
"""The benchmarks through the facade: what a user writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import repeat
from time import perf_counter
from timeit import Timer
from typing import Any

import numpy as np

import ascend_rt
from ascend_rt import Binary, Buffer, Channel, Device, Event, Kernel, MemoryPool, PinnedBuffer, Queue, Stream, profiling
from ascend_rt._runtime.driver import pointer
from ascend_rt.testing import Latch
from ascend_rt_measure.bench import building, raw, timing
from ascend_rt_measure.bench.ids import CHECKED, PAIRS, TASKS
from ascend_rt_measure.bench.spellings import SPELLINGS
from ascend_rt_measure.bench.timing import KIB, MIB, Timed


@contextmanager
def _event() -> Iterator[tuple[Event, Stream, Stream]]:
    """Two streams, and an event that is recorded on the first and complete."""
    with Device(), Stream() as a, Stream() as b, Event() as event:
        event.record(a)
        event.synchronize()
        yield event, a, b


@contextmanager
def event_create_destroy() -> Iterator[Timed]:
    def timed(loops: int, create: type[Event] = Event) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            create().close()
        return perf_counter() - begin

    with Device():
        yield timed


@contextmanager
def event_record() -> Iterator[Timed]:
    with _event() as (event, a, _):
        yield timing.loop1(event.record, a)


@contextmanager
def stream_wait_event() -> Iterator[Timed]:
    with _event() as (event, _, b):
        yield timing.loop1(b.wait, event)


def _query(event: Event, expected: bool) -> Timed:
    def timed(loops: int) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            event.is_done  # noqa: B018  (the property is what is measured)
        return perf_counter() - begin

    assert event.is_done is expected
    return timed


@contextmanager
def event_query_complete() -> Iterator[Timed]:
    with _event() as (event, _, _):
        yield _query(event, True)


@contextmanager
def event_query_pending() -> Iterator[Timed]:
    with _event() as (event, a, _), Latch(a):
        event.record(a)
        yield _query(event, False)


@contextmanager
def event_synchronize_complete() -> Iterator[Timed]:
    with _event() as (event, _, _):
        yield timing.loop0(event.synchronize)


@contextmanager
def record_wait_synchronize() -> Iterator[Timed]:
    def timed(loops: int) -> float:
        record, wait, synchronize = event.record, b.wait, b.synchronize
        begin = perf_counter()
        for _ in repeat(None, loops):
            record(a)
            wait(event)
            synchronize()
        return perf_counter() - begin

    with _event() as (event, a, b):
        yield timed


def _do_nothing() -> None:
    pass


@contextmanager
def host_func_round_trip() -> Iterator[Timed]:
    def timed(loops: int, function: Callable[[], object] = _do_nothing) -> float:
        launch, synchronize = stream.launch_host_func, stream.synchronize
        begin = perf_counter()
        for _ in repeat(None, loops):
            launch(function)
            synchronize()
        return perf_counter() - begin

    with Device(), Stream() as stream:
        yield timed


# --- kernels and graphs ----------------------------------------------------------------------------------------------


@contextmanager
def _kernel() -> Iterator[Kernel]:
    with Binary(building.empty_kernel()) as binary:
        yield binary["empty"]


@contextmanager
def launch_kernel_with_host_args() -> Iterator[Timed]:
    def timed(loops: int) -> float:
        launch, synchronize = kernel.launch, stream.synchronize
        begin = perf_counter()
        for _ in repeat(None, loops):
            launch(stream, 1, memory)
            synchronize()
        return perf_counter() - begin

    with Device(), Stream() as stream, Buffer(8) as memory, _kernel() as kernel:
        timed(1)
        yield timed


Work = Callable[[], AbstractContextManager[tuple[Callable[[], None], Stream]]]  # submits tasks to a stream


@contextmanager
def pairs(count: int) -> Iterator[tuple[Callable[[], None], Stream]]:
    def submit() -> None:
        record, wait = event.record, b.wait
        for _ in repeat(None, count):
            record(a)
            wait(event)
        joined.record(b)
        a.wait(joined)

    with _event() as (event, a, b), Event() as joined:
        yield submit, a


@contextmanager
def tasks(count: int) -> Iterator[tuple[Callable[[], None], Stream]]:
    def submit() -> None:
        fill = ascend_rt.fill_async
        for _ in repeat(None, count):
            fill(memory, 1, stream)

    with Device(), Stream() as stream, Buffer(1) as memory:
        yield submit, stream


@contextmanager
def submitted(work: Work) -> Iterator[Timed]:
    def timed(loops: int) -> float:
        synchronize = stream.synchronize
        begin = perf_counter()
        for _ in repeat(None, loops):
            submit()
            synchronize()
        return perf_counter() - begin

    with work() as (submit, stream):
        timed(1)
        yield timed


@contextmanager
def captured(work: Work) -> Iterator[Timed]:
    def timed(loops: int) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            with stream.capture() as graph:
                submit()
            graph.close()
        return perf_counter() - begin

    with work() as (submit, stream):
        timed(1)
        yield timed


@contextmanager
def range_push_pop() -> Iterator[Timed]:
    def timed(loops: int) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            with part:
                pass
        return perf_counter() - begin

    part = profiling.range("range")
    with Device(), ascend_rt.profile(calls=False):
        yield timed


@contextmanager
def replayed(work: Work, around: Callable[[Any], AbstractContextManager[None]] = nullcontext) -> Iterator[Timed]:
    def timed(loops: int) -> float:
        launch, synchronize = graph.launch, stream.synchronize
        begin = perf_counter()
        for _ in repeat(None, loops):
            launch(stream)
            synchronize()
        return perf_counter() - begin

    with work() as (submit, stream):
        with stream.capture() as graph:
            submit()
        with graph, around(pointer(graph.handle)):
            timed(1)
            yield timed


# --- memory ----------------------------------------------------------------------------------------------------------


@contextmanager
def copy_async(size: int) -> Iterator[Timed]:
    def timed(loops: int) -> float:
        copy, synchronize = ascend_rt.copy_async, stream.synchronize
        begin = perf_counter()
        for _ in repeat(None, loops):
            copy(device, pinned, stream)
            synchronize()
        return perf_counter() - begin

    with Device(), Stream() as stream, Buffer(size) as device, PinnedBuffer(size) as pinned:
        pinned[:] = 1
        timed(1)  # the pages of the destination are there from now on
        yield timed


@contextmanager
def memcpy(size: int) -> Iterator[Timed]:
    source, copy = (np.ones(size, np.uint8) for _ in range(2))  # both written: their pages are there
    yield timing.loop2(np.copyto, copy, source)


@contextmanager
def malloc_free(size: int) -> Iterator[Timed]:
    def timed(loops: int, allocate: type[Buffer] = Buffer) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            allocate(size).close()
        return perf_counter() - begin

    with Device():
        yield timed


@contextmanager
def pool_malloc_free(size: int) -> Iterator[Timed]:
    def timed(loops: int) -> float:
        allocate = pool.allocate
        begin = perf_counter()
        for _ in repeat(None, loops):
            allocate(size, stream).close()
        return perf_counter() - begin

    with Device() as device, Stream() as stream, MemoryPool(device) as pool:
        yield timed
        stream.synchronize()


def _queue_loop(to: Queue, back: Queue) -> Timed:
    def timed(loops: int) -> float:
        put, get = to.put, back.get
        begin = perf_counter()
        for _ in repeat(None, loops):
            put(data)
            get()
        return perf_counter() - begin

    data = np.zeros(64, np.uint8)
    timed(1)
    return timed


@contextmanager
def queue_round_trip() -> Iterator[Timed]:
    with Device(), Queue() as queue:
        yield _queue_loop(queue, queue)


@contextmanager
def queue_round_trip_2_processes() -> Iterator[Timed]:
    with Device(), Queue() as to, Queue() as back, raw.other_process(to.number, back.number):
        yield _queue_loop(to, back)


# --- spellings -------------------------------------------------------------------------------------------------------

_AT_ONCE = 500  # loops whose tasks fit into the queue of a stream


@contextmanager
def spelled(code: str) -> Iterator[Timed]:
    def timed(loops: int) -> float:
        seconds = 0.0
        for done in range(0, loops, _AT_ONCE):
            seconds += timer.timeit(min(_AT_ONCE, loops - done))
            device.synchronize()
        return seconds

    with _event() as (event, a, b), Buffer(4 * KIB) as buffer, PinnedBuffer(4 * KIB) as pinned:
        device = Device.current()
        names = {"event": event, "a": a, "b": b, "buffer": buffer, "pinned": pinned}
        names |= {"part": buffer[64:128], "pinned_part": pinned[64:128]}
        names |= {"copy_async": ascend_rt.copy_async, "fill_async": ascend_rt.fill_async}
        timer = Timer(code, globals=names)
        timed(1)
        yield timed


@contextmanager
def send_receive(size: int) -> Iterator[Timed]:
    def timed(loops: int) -> float:
        send, receive = channel.send, channel.receive
        begin = perf_counter()
        for _ in repeat(None, loops):
            send(content)
            receive()
        return perf_counter() - begin

    content = np.zeros(size, np.uint8)
    with Device(), Channel("bench", 2) as channel:
        yield timed


BENCHMARKS: dict[str, timing.Benchmark] = {
    "event_create_destroy": event_create_destroy,
    "event_record": event_record,
    "stream_wait_event": stream_wait_event,
    "event_query_complete": event_query_complete,
    "event_query_pending": event_query_pending,
    "event_synchronize_complete": event_synchronize_complete,
    "record_wait_synchronize": record_wait_synchronize,
    "host_func_round_trip": host_func_round_trip,
    "launch_kernel_with_host_args": launch_kernel_with_host_args,
    **{f"submit_pairs_{n}": partial(submitted, partial(pairs, n)) for n in PAIRS},
    **{f"capture_pairs_{n}": partial(captured, partial(pairs, n)) for n in PAIRS},
    **{f"replay_pairs_{n}": partial(replayed, partial(pairs, n)) for n in PAIRS},
    "submit_tasks_1000": partial(submitted, partial(tasks, TASKS)),
    "replay_tasks_1000": partial(replayed, partial(tasks, TASKS)),
    "replay_tasks_1000_subscribed": partial(replayed, partial(tasks, TASKS), raw.subscription),
    "range_push_pop": range_push_pop,
    "copy_async_4KiB": partial(copy_async, 4 * KIB),
    "copy_async_1MiB": partial(copy_async, MIB),
    "copy_async_64MiB": partial(copy_async, 64 * MIB),
    "memcpy_1MiB": partial(memcpy, MIB),
    "memcpy_64MiB": partial(memcpy, 64 * MIB),
    "malloc_free_4KiB": partial(malloc_free, 4 * KIB),
    "malloc_free_4MiB": partial(malloc_free, 4 * MIB),
    "pool_malloc_free_4MiB": partial(pool_malloc_free, 4 * MIB),
    "send_receive_4KiB": partial(send_receive, 4 * KIB),
    "queue_round_trip": queue_round_trip,
    "queue_round_trip_2_processes": queue_round_trip_2_processes,
    **{each.id: partial(spelled, each.code) for each in SPELLINGS},
}
BENCHMARKS |= {name: BENCHMARKS[plain] for name, plain in CHECKED.items()}

if __name__ == "__main__":
    timing.main("facade", BENCHMARKS)
