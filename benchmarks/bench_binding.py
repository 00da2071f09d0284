# SPDX-License-Identifier: Apache-2.0
"""The contestants of ``binding.py``, timed in turns: ``bench_binding.py DIRECTORY VALUES SAMPLE_MS ID...``.

Every contestant calls the do-nothing functions of the libraries in the directory. A line of the output is a JSON
object: of one contestant and one id with its loops and times, or of a contestant that is skipped, with the reason.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from itertools import repeat
from pathlib import Path
from time import perf_counter
from typing import Any

from building import ACL, API_MODULE, CUDA, DECLARED, FLOOR, FLOOR_MODULE

from ascend_rt_measure.bench.quiet import PATIENCE, Watch
from ascend_rt_measure.bench.timing import Timed, loop0, loop1, loop2

Timings = dict[str, Timed]  # by id

# Calls of one C function with pointers, and their arguments: for contestants without objects.
PLAIN = {
    "event_record": ("aclrtRecordEvent", 2),
    "stream_wait_event": ("aclrtStreamWaitEvent", 2),
    "event_query_complete": ("aclrtQueryEventStatus", 2),
    "stream_synchronize": ("aclrtSynchronizeStream", 1),
    "graph_launch": ("aclmdlRIExecuteAsync", 2),
}


def plain(library: Any, pointer: Any) -> Timings:
    """Time functions that take one or two pointers."""
    loops: dict[int, Callable[[Any], Timed]] = {
        1: lambda function: loop1(function, pointer),
        2: lambda function: loop2(function, pointer, pointer),
    }
    return {name: loops[count](getattr(library, function)) for name, (function, count) in PLAIN.items()}


def c(directory: Path) -> Timings:
    floor = ctypes.CDLL(str(directory / FLOOR))

    def timed(function: Any) -> Timed:
        function.argtypes, function.restype = [ctypes.c_size_t], None

        def run(loops: int) -> float:
            begin = perf_counter()
            function(loops)
            return perf_counter() - begin

        return run

    return {name: timed(getattr(floor, name)) for name in IDS}


def gil(directory: Path) -> Timings:
    release = module(directory, FLOOR_MODULE).release_gil
    return {name: loop1(release, None) for name in PLAIN}


def with_ctypes(directory: Path) -> Timings:
    library, memory = ctypes.CDLL(str(directory / ACL)), ctypes.create_string_buffer(8)
    for function, count in PLAIN.values():
        getattr(library, function).argtypes = [ctypes.c_void_p] * count
    return plain(library, ctypes.cast(memory, ctypes.c_void_p))


def cffi_abi(directory: Path) -> Timings:
    from cffi import FFI

    ffi = FFI()
    ffi.cdef(DECLARED)
    return plain(ffi.dlopen(str(directory / ACL)), ffi.new("char[8]") + 0)


def cffi_api(directory: Path) -> Timings:
    compiled = module(directory, API_MODULE)
    return plain(compiled.lib, compiled.ffi.new("char[8]") + 0)


def module(directory: Path, name: str) -> Any:
    """Import a module that was compiled for the benchmark."""
    sys.path.insert(0, str(directory))
    try:
        return import_module(name)
    finally:
        sys.path.remove(str(directory))


def raw(directory: Path) -> Timings:
    from ascend_rt import ffi, lib

    lib.aclInit(b"")  # loads the library
    status, anything = ffi.new("aclrtEventRecordedStatus *"), ffi.new("char[8]") + 0
    graph = ffi.cast("aclmdlRI", anything)
    return plain(lib, anything) | {
        "event_query_complete": loop2(lib.aclrtQueryEventStatus, anything, status),
        "graph_launch": loop2(lib.aclmdlRIExecuteAsync, graph, anything),
        "host_func": raw_host_func(),
    }


def raw_host_func() -> Timed:
    from ascend_rt import ffi, lib

    function = ffi.callback("void(void *)", lambda argument: None)

    def timed(loops: int) -> float:
        launch, stream, nothing = lib.aclrtLaunchHostFunc, ffi.NULL, ffi.NULL
        begin = perf_counter()
        for _ in repeat(None, loops):
            launch(stream, function, nothing)
        return perf_counter() - begin

    return timed


def facade(directory: Path) -> Timings:
    from ascend_rt import Buffer, Device, Event, PinnedBuffer, Stream, copy_async

    Device().set_current()
    stream, other, event = Stream(), Stream(), Event()
    memory, pinned = Buffer(64), PinnedBuffer(64)
    with stream.capture() as graph:
        pass
    objects.extend((stream, other, event, memory, pinned, graph))

    def create(loops: int) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            Event().close()
        return perf_counter() - begin

    def allocate(loops: int) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            Buffer(64).close()
        return perf_counter() - begin

    def copy(loops: int) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            copy_async(memory, pinned, stream)
        passed = perf_counter() - begin
        stream.synchronize()
        return passed

    def launch(loops: int) -> float:
        launch = graph.launch
        begin = perf_counter()
        for _ in repeat(None, loops):
            launch(stream)
        passed = perf_counter() - begin
        stream.synchronize()
        return passed

    return {
        "event_record": loop1(event.record, stream),
        "stream_record_event": loop1(stream.record, event),
        "stream_wait_event": loop1(stream.wait, event),
        "event_query_complete": is_done(event),
        "stream_synchronize": loop0(stream.synchronize),
        "stream_wait_stream": loop1(stream.wait, other),
        "event_create_destroy": create,
        "copy_async": copy,
        "malloc_free": allocate,
        "graph_launch": launch,
        "host_func": loop1(stream.launch_host_func, do_nothing),
    }


def cuda_core(directory: Path) -> Timings:
    ctypes.CDLL(str(directory / CUDA), ctypes.RTLD_GLOBAL)  # any later load of libcuda.so.1 gets this one
    from cuda.core import Device

    device = Device()
    device.set_current()
    stream, other = device.create_stream(), device.create_stream()
    event = stream.record()
    objects.extend((stream, other, event))
    return {
        "stream_record_event": loop1(stream.record, event),
        "stream_wait_event": loop1(stream.wait, event),
        "event_query_complete": is_done(event),
        "stream_synchronize": loop0(stream.sync),
        "stream_wait_stream": loop1(stream.wait, other),
    }


def do_nothing() -> None:
    pass


def is_done(event: Any) -> Timed:
    def timed(loops: int) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            event.is_done  # noqa: B018  (the property is what is measured)
        return perf_counter() - begin

    return timed


CONTESTANTS: dict[str, Callable[[Path], Timings]] = {
    "c": c,
    "gil": gil,
    "ctypes": with_ctypes,
    "cffi_abi": cffi_abi,
    "cffi_api": cffi_api,
    "raw": raw,
    "facade": facade,
    "cuda_core": cuda_core,
}

# The C calls of an iteration; the facade may make more for itself.
IDS = {
    "event_record": "aclrtRecordEvent",
    "stream_record_event": "the same, as a method of the stream",
    "stream_wait_event": "aclrtStreamWaitEvent",
    "event_query_complete": "aclrtQueryEventStatus",
    "stream_synchronize": "aclrtSynchronizeStream",
    "stream_wait_stream": "aclrtRecordEvent, aclrtStreamWaitEvent",
    "event_create_destroy": "aclrtCreateEventExWithFlag, aclrtDestroyEvent",
    "copy_async": "aclrtMemcpyAsync of 64 bytes from pinned to device memory",
    "malloc_free": "aclrtMalloc, aclrtFree",
    "graph_launch": "aclmdlRIExecuteAsync",
    "host_func": "aclrtLaunchHostFunc of an empty function, which is called at once",
}

objects: list[object] = []  # keeps objects of the contestants alive until the end


def calibrated(timed: Timed, sample_s: float) -> int:
    """Return how many loops take as long as a sample."""
    loops = 1
    while sample_s and timed(loops) < sample_s:
        loops *= 2
    return loops


def main(directory: Path, values: int, sample_ms: float, ids: list[str]) -> Iterator[dict[str, Any]]:
    timings: dict[str, Timings] = {}
    for layer, prepare in CONTESTANTS.items():
        try:
            timings[layer] = prepare(directory)
        except ImportError as error:  # cuda.core is not everywhere
            yield {"layer": layer, "skipped": str(error)}
    for name in ids:
        timed = {layer: found[name] for layer, found in timings.items() if name in found}
        loops = {layer: calibrated(run, sample_ms / 1000) for layer, run in timed.items()}
        seconds: dict[str, list[float]] = {layer: [] for layer in timed}
        watch = Watch(PATIENCE * len(timed) if sample_ms else 0)
        for _ in range(values):  # in turns, because others use the machine too
            for layer, run in timed.items():
                seconds[layer].append(watch.sample(partial(run, loops[layer])) / loops[layer])
        for layer in timed:
            yield {"layer": layer, "id": name, "loops": loops[layer], "seconds": seconds[layer]}


if __name__ == "__main__":
    for line in main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]):
        print(json.dumps(line))
