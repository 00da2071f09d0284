# SPDX-License-Identifier: Apache-2.0
"""The benchmarks through the facade: what a user writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import repeat
from time import perf_counter

import numpy as np
import timing
from timing import KIB, MIB, Timed

import ascend_rt
from ascend_rt import Buffer, Device, Event, MemoryPool, PinnedBuffer, Stream
from ascend_rt.testing import Latch


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
    def timed(loops: int, function: object = _do_nothing) -> float:
        launch, synchronize = stream.launch_host_func, stream.synchronize
        begin = perf_counter()
        for _ in repeat(None, loops):
            launch(function)
            synchronize()
        return perf_counter() - begin

    with Device(), Stream() as stream:
        yield timed


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
def memcpy_64MiB() -> Iterator[Timed]:
    source, copy = (np.ones(64 * MIB, np.uint8) for _ in range(2))  # both written: their pages are there
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


BENCHMARKS: dict[str, timing.Benchmark] = {
    "event_create_destroy": event_create_destroy,
    "event_record": event_record,
    "stream_wait_event": stream_wait_event,
    "event_query_complete": event_query_complete,
    "event_query_pending": event_query_pending,
    "event_synchronize_complete": event_synchronize_complete,
    "record_wait_synchronize": record_wait_synchronize,
    "host_func_round_trip": host_func_round_trip,
    "copy_async_4KiB": partial(copy_async, 4 * KIB),
    "copy_async_1MiB": partial(copy_async, MIB),
    "copy_async_64MiB": partial(copy_async, 64 * MIB),
    "memcpy_64MiB": memcpy_64MiB,
    "malloc_free_4KiB": partial(malloc_free, 4 * KIB),
    "malloc_free_4MiB": partial(malloc_free, 4 * MIB),
    "pool_malloc_free_4MiB": partial(pool_malloc_free, 4 * MIB),
}

if __name__ == "__main__":
    timing.main("facade", BENCHMARKS)
