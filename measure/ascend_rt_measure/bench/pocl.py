# SPDX-License-Identifier: Apache-2.0
"""A peer: PoCL, an OpenCL whose device is the processor, through pyopencl."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import repeat
from time import perf_counter
from typing import Any

import numpy as np

from ascend_rt._startup.install_hint import install_hint
from ascend_rt_measure.bench import timing
from ascend_rt_measure.bench.timing import KIB, MIB, Timed

_PLATFORM = "Portable Computing Language"


def missing() -> str:
    """Return why PoCL cannot be measured; "" if it can."""
    try:
        _platform()
    except (ImportError, LookupError) as error:
        return f"{error}; {install_hint('peers')}"
    return ""


def version() -> str:
    """Return what PoCL and pyopencl call themselves."""
    import pyopencl

    return f"{_platform().version.strip()}; pyopencl {pyopencl.VERSION_TEXT}"


def _platform() -> Any:
    import pyopencl

    try:
        return next(platform for platform in pyopencl.get_platforms() if platform.name == _PLATFORM)
    except (StopIteration, pyopencl.LogicError) as error:  # the latter if there is no platform at all
        raise LookupError("OpenCL has no platform of PoCL") from error


def _queues() -> tuple[Any, Any, Any]:
    """Return a context and two queues, which keep their order."""
    import pyopencl

    context = pyopencl.Context(_platform().get_devices())
    return context, pyopencl.CommandQueue(context), pyopencl.CommandQueue(context)


@contextmanager
def record_wait_synchronize() -> Iterator[Timed]:
    from pyopencl import enqueue_marker

    def timed(loops: int) -> float:
        finish = b.finish
        begin = perf_counter()
        for _ in repeat(None, loops):
            enqueue_marker(b, wait_for=[enqueue_marker(a)])
            finish()
        return perf_counter() - begin

    _, a, b = _queues()
    timed(1)
    yield timed


@contextmanager
def copy_async(size: int) -> Iterator[Timed]:
    from pyopencl import Buffer, enqueue_copy, mem_flags

    def timed(loops: int) -> float:
        finish = queue.finish
        begin = perf_counter()
        for _ in repeat(None, loops):
            enqueue_copy(queue, device, host, is_blocking=False)
            finish()
        return perf_counter() - begin

    context, queue, _ = _queues()
    device, host = Buffer(context, mem_flags.READ_WRITE, size), np.ones(size, np.uint8)
    timed(1)  # the pages of the destination are there from now on
    yield timed


BENCHMARKS: dict[str, timing.Benchmark] = {
    "record_wait_synchronize": record_wait_synchronize,
    "copy_async_4KiB": partial(copy_async, 4 * KIB),
    "copy_async_1MiB": partial(copy_async, MIB),
    "copy_async_64MiB": partial(copy_async, 64 * MIB),
}

if __name__ == "__main__":
    timing.main("pocl", BENCHMARKS)
