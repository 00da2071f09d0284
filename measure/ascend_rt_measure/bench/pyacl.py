# SPDX-License-Identifier: Apache-2.0
"""The benchmarks through pyACL: the functions of the vendor's module ``acl``, which take and return numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import repeat
from time import perf_counter
from typing import Any

from ascend_rt import pyacl as acl
from ascend_rt_measure.bench import timing
from ascend_rt_measure.bench.timing import KIB, MIB, Timed

_SYNC = 1
_HOST_TO_DEVICE = 1
_HUGE_FIRST = 0
_COMPLETE = 1


# Loops look at no return code, as in the raw layer; one call before them shows that the code is zero.


def ok(*results: Any) -> Any:
    assert results[-1] == 0, results
    return results[0]


@contextmanager
def _device() -> Iterator[None]:
    ok(acl.init())
    ok(acl.rt.set_device(0))
    try:
        yield
    finally:
        ok(acl.rt.reset_device(0))
        ok(acl.finalize())


@contextmanager
def _streams() -> Iterator[tuple[int, int]]:
    with _device():
        pair = [ok(*acl.rt.create_stream_with_config(0, 0)) for _ in range(2)]
        try:
            yield pair[0], pair[1]
        finally:
            for stream in pair:
                ok(acl.rt.destroy_stream(stream))


@contextmanager
def _event() -> Iterator[tuple[int, int, int]]:
    """Two streams, and an event that is recorded on the first and complete."""
    with _streams() as (a, b):
        event = ok(*acl.rt.create_event_ex_with_flag(_SYNC))
        try:
            ok(acl.rt.record_event(event, a))
            ok(acl.rt.synchronize_event(event))
            yield event, a, b
        finally:
            ok(acl.rt.destroy_event(event))


@contextmanager
def event_create_destroy() -> Iterator[Timed]:
    create, destroy = acl.rt.create_event_ex_with_flag, acl.rt.destroy_event

    def timed(loops: int, create: Any = create, destroy: Any = destroy) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            event, _ = create(_SYNC)
            destroy(event)
        return perf_counter() - begin

    with _device():
        yield timed


@contextmanager
def event_record() -> Iterator[Timed]:
    with _event() as (event, a, _):
        yield timing.loop2(acl.rt.record_event, event, a)


@contextmanager
def stream_wait_event() -> Iterator[Timed]:
    with _event() as (event, _, b):
        ok(acl.rt.stream_wait_event(b, event))
        yield timing.loop2(acl.rt.stream_wait_event, b, event)


@contextmanager
def event_query_complete() -> Iterator[Timed]:
    with _event() as (event, _, _):
        assert acl.rt.query_event_status(event) == (_COMPLETE, 0)
        yield timing.loop1(acl.rt.query_event_status, event)


@contextmanager
def event_synchronize_complete() -> Iterator[Timed]:
    with _event() as (event, _, _):
        yield timing.loop1(acl.rt.synchronize_event, event)


@contextmanager
def record_wait_synchronize() -> Iterator[Timed]:
    record, wait, synchronize = acl.rt.record_event, acl.rt.stream_wait_event, acl.rt.synchronize_stream

    def timed(loops: int, record: Any = record, wait: Any = wait, synchronize: Any = synchronize) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            record(event, a)
            wait(b, event)
            synchronize(b)
        return perf_counter() - begin

    with _event() as (event, a, b):
        yield timed


@contextmanager
def copy_async(size: int) -> Iterator[Timed]:
    copy, synchronize = acl.rt.memcpy_async, acl.rt.synchronize_stream

    def timed(loops: int, copy: Any = copy, synchronize: Any = synchronize) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            copy(device, size, pinned, size, _HOST_TO_DEVICE, a)
            synchronize(a)
        return perf_counter() - begin

    with _streams() as (a, _):
        pinned = ok(*acl.rt.malloc_host(size))
        device = ok(*acl.rt.malloc(size, _HUGE_FIRST))
        try:
            ok(acl.rt.memcpy_async(device, size, pinned, size, _HOST_TO_DEVICE, a))
            ok(acl.rt.synchronize_stream(a))
            yield timed
        finally:
            ok(acl.rt.free(device))
            ok(acl.rt.free_host(pinned))


@contextmanager
def malloc_free(size: int) -> Iterator[Timed]:
    malloc, free = acl.rt.malloc, acl.rt.free

    def timed(loops: int, malloc: Any = malloc, free: Any = free) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            memory, _ = malloc(size, _HUGE_FIRST)
            free(memory)
        return perf_counter() - begin

    with _device():
        ok(acl.rt.free(ok(*acl.rt.malloc(size, _HUGE_FIRST))))
        yield timed


BENCHMARKS: dict[str, timing.Benchmark] = {
    "event_create_destroy": event_create_destroy,
    "event_record": event_record,
    "stream_wait_event": stream_wait_event,
    "event_query_complete": event_query_complete,
    "event_synchronize_complete": event_synchronize_complete,
    "record_wait_synchronize": record_wait_synchronize,
    "copy_async_4KiB": partial(copy_async, 4 * KIB),
    "copy_async_1MiB": partial(copy_async, MIB),
    "malloc_free_4KiB": partial(malloc_free, 4 * KIB),
    "malloc_free_4MiB": partial(malloc_free, 4 * MIB),
}

if __name__ == "__main__":
    timing.main("pyacl", BENCHMARKS)
