# SPDX-License-Identifier: Apache-2.0
"""A peer: streams as they are first thought of, each a thread with a queue and a condition variable."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import repeat
from threading import Condition, Thread
from time import perf_counter

import numpy as np

from ascend_rt_measure.bench import timing
from ascend_rt_measure.bench.timing import KIB, MIB, Timed

_Task = Callable[[], object]


class _Stream:
    def __init__(self) -> None:
        self._changed = Condition()
        self._tasks: deque[_Task | None] = deque()  # None ends the thread
        self._thread = Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self.submit(None)
        self._thread.join()

    def submit(self, task: _Task | None) -> None:
        with self._changed:
            self._tasks.append(task)
            self._changed.notify_all()

    def synchronize(self) -> None:
        with self._changed:
            while self._tasks:  # the one that runs is there until it is done
                self._changed.wait()

    def _run(self) -> None:
        while task := self._next():
            task()
            with self._changed:
                self._tasks.popleft()
                self._changed.notify_all()

    def _next(self) -> _Task | None:
        with self._changed:
            while not self._tasks:
                self._changed.wait()
            return self._tasks[0]


class _Event:
    """A wait is for the newest record at the time of the call, as in CANN."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._recorded = self._complete = 0

    def record(self, stream: _Stream) -> None:
        self._recorded += 1
        stream.submit(partial(self._reach, self._recorded))

    def wait_on(self, stream: _Stream) -> None:
        stream.submit(partial(self._wait, self._recorded))

    def _reach(self, number: int) -> None:
        with self._changed:
            self._complete = number
            self._changed.notify_all()

    def _wait(self, number: int) -> None:
        with self._changed:
            while self._complete < number:
                self._changed.wait()


@contextmanager
def _stream() -> Iterator[_Stream]:
    stream = _Stream()
    try:
        yield stream
    finally:
        stream.close()


@contextmanager
def record_wait_synchronize() -> Iterator[Timed]:
    def timed(loops: int) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            event.record(a)
            event.wait_on(b)
            b.synchronize()
        return perf_counter() - begin

    event = _Event()
    with _stream() as a, _stream() as b:
        yield timed


def _submitted(stream: _Stream, task: _Task) -> Timed:
    def timed(loops: int) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            stream.submit(task)
            stream.synchronize()
        return perf_counter() - begin

    return timed


def _do_nothing() -> None:
    pass


@contextmanager
def host_func_round_trip() -> Iterator[Timed]:
    with _stream() as stream:
        yield _submitted(stream, _do_nothing)


@contextmanager
def copy_async(size: int) -> Iterator[Timed]:
    source, copy = (np.ones(size, np.uint8) for _ in range(2))  # both written: their pages are there
    with _stream() as stream:
        yield _submitted(stream, partial(np.copyto, copy, source))


BENCHMARKS: dict[str, timing.Benchmark] = {
    "record_wait_synchronize": record_wait_synchronize,
    "host_func_round_trip": host_func_round_trip,
    "copy_async_4KiB": partial(copy_async, 4 * KIB),
    "copy_async_1MiB": partial(copy_async, MIB),
    "copy_async_64MiB": partial(copy_async, 64 * MIB),
}

if __name__ == "__main__":
    timing.main("threads_python", BENCHMARKS)
