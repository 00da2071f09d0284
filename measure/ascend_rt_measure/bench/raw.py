# SPDX-License-Identifier: Apache-2.0
"""The benchmarks through the raw layer: the C functions as cffi calls them, nothing around them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import repeat
from time import perf_counter
from typing import Any, NamedTuple

from ascend_rt._runtime.driver import check, ffi, lib
from ascend_rt.backends import python_program
from ascend_rt_measure.bench import building, timing
from ascend_rt_measure.bench.ids import CHECKED, PAIRS, TASKS
from ascend_rt_measure.bench.timing import KIB, MIB, Timed

_SYNC = lib.ACL_EVENT_SYNC
_NOT_READY = lib.ACL_EVENT_RECORDED_STATUS_NOT_READY
_COMPLETE = lib.ACL_EVENT_RECORDED_STATUS_COMPLETE


# Loops look at no return code, as C would; one call before them shows that the code is zero.


def ok(function: Callable[..., int], *arguments: Any) -> None:
    check(function(*arguments), getattr(function, "__name__", "?"))


def made(kind: str, create: Callable[..., int], *arguments: Any) -> Any:
    out = ffi.new(f"{kind} *")
    ok(create, out, *arguments)
    return out[0]


@contextmanager
def _device() -> Iterator[None]:
    ok(lib.aclInit, ffi.NULL)
    ok(lib.aclrtSetDevice, 0)
    try:
        yield
    finally:
        ok(lib.aclrtResetDevice, 0)
        ok(lib.aclFinalize)


@contextmanager
def _streams() -> Iterator[tuple[Any, Any]]:
    with _device():
        pair = [made("aclrtStream", lib.aclrtCreateStreamWithConfig, 0, 0) for _ in range(2)]
        try:
            yield pair[0], pair[1]
        finally:
            for stream in pair:
                ok(lib.aclrtDestroyStream, stream)


@contextmanager
def _event() -> Iterator[tuple[Any, Any, Any]]:
    """Two streams, and an event that is recorded on the first and complete."""
    with _streams() as (a, b):
        event = made("aclrtEvent", lib.aclrtCreateEventExWithFlag, _SYNC)
        try:
            ok(lib.aclrtRecordEvent, event, a)
            ok(lib.aclrtSynchronizeEvent, event)
            yield event, a, b
        finally:
            ok(lib.aclrtDestroyEvent, event)


@contextmanager
def event_create_destroy() -> Iterator[Timed]:
    def timed(loops: int, create: Any = lib.aclrtCreateEventExWithFlag, destroy: Any = lib.aclrtDestroyEvent) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            create(out, _SYNC)
            destroy(out[0])
        return perf_counter() - begin

    with _device():
        out = ffi.new("aclrtEvent *")
        yield timed


@contextmanager
def event_record() -> Iterator[Timed]:
    with _event() as (event, a, _):
        yield timing.loop2(lib.aclrtRecordEvent, event, a)


@contextmanager
def stream_wait_event() -> Iterator[Timed]:
    with _event() as (event, _, b):
        ok(lib.aclrtStreamWaitEvent, b, event)
        yield timing.loop2(lib.aclrtStreamWaitEvent, b, event)


def _query(event: Any, expected: int) -> Timed:
    status = ffi.new("aclrtEventRecordedStatus *")
    ok(lib.aclrtQueryEventStatus, event, status)
    assert status[0] == expected
    return timing.loop2(lib.aclrtQueryEventStatus, event, status)


@contextmanager
def event_query_complete() -> Iterator[Timed]:
    with _event() as (event, _, _):
        yield _query(event, _COMPLETE)


@contextmanager
def event_query_pending() -> Iterator[Timed]:
    with _event() as (event, a, b):
        # An event of aclrtCreateEventWithFlag starts closed: a stream that waits for it is blocked until its record.
        gate = made("aclrtEvent", lib.aclrtCreateEventWithFlag, _SYNC)
        ok(lib.aclrtStreamWaitEventWithTimeout, a, gate, 0)
        ok(lib.aclrtRecordEvent, event, a)
        try:
            yield _query(event, _NOT_READY)
        finally:
            ok(lib.aclrtRecordEvent, gate, b)
            ok(lib.aclrtSynchronizeStream, a)
            ok(lib.aclrtDestroyEvent, gate)


@contextmanager
def event_synchronize_complete() -> Iterator[Timed]:
    with _event() as (event, _, _):
        yield timing.loop1(lib.aclrtSynchronizeEvent, event)


@contextmanager
def record_wait_synchronize() -> Iterator[Timed]:
    def timed(
        loops: int,
        record: Any = lib.aclrtRecordEvent,
        wait: Any = lib.aclrtStreamWaitEvent,
        synchronize: Any = lib.aclrtSynchronizeStream,
    ) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            record(event, a)
            wait(b, event)
            synchronize(b)
        return perf_counter() - begin

    with _event() as (event, a, b):
        yield timed


def _do_nothing(argument: Any) -> None:
    pass


@contextmanager
def host_func_round_trip() -> Iterator[Timed]:
    def timed(
        loops: int, launch: Any = lib.aclrtLaunchHostFunc, synchronize: Any = lib.aclrtSynchronizeStream
    ) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            launch(a, entry, null)
            synchronize(a)
        return perf_counter() - begin

    entry, null = ffi.callback("aclrtHostFunc", _do_nothing), ffi.NULL
    with _streams() as (a, _):
        ok(lib.aclrtLaunchHostFunc, a, entry, null)
        ok(lib.aclrtSynchronizeStream, a)
        yield timed


@contextmanager
def _memory(size: int) -> Iterator[tuple[Any, Any]]:
    """Pinned memory of the host and memory of the device."""
    pinned = made("void *", lib.aclrtMallocHost, size)
    device = made("void *", lib.aclrtMalloc, size, lib.ACL_MEM_MALLOC_HUGE_FIRST)
    try:
        ffi.buffer(pinned, size)[:] = bytes(size)
        yield pinned, device
    finally:
        ok(lib.aclrtFree, device)
        ok(lib.aclrtFreeHost, pinned)


# --- kernels ---------------------------------------------------------------------------------------------------------


class _Prepared(NamedTuple):
    """Arguments of the forms of a launch: a kernel with one argument, which is an address."""

    kernel: Any
    stream: Any
    memory: Any  # on the device, where the kernel finds its argument
    block: Any  # on the host, with the argument
    array: Any  # holds the address of the argument
    list: Any  # the argument list


_ONE = {"x": 1, "y": 1, "z": 1}
_Call = tuple[Any, ...]  # a function and its arguments


def _plain(the: _Prepared) -> _Call:
    return lib.aclrtLaunchKernel, the.kernel, 1, the.memory, 8, the.stream


def _v2(the: _Prepared) -> _Call:
    return lib.aclrtLaunchKernelV2, the.kernel, 1, the.memory, 8, ffi.NULL, the.stream


def _with_config(the: _Prepared) -> _Call:
    return lib.aclrtLaunchKernelWithConfig, the.kernel, 1, the.stream, ffi.NULL, the.list, ffi.NULL


def _with_host_args(the: _Prepared) -> _Call:
    return lib.aclrtLaunchKernelWithHostArgs, the.kernel, 1, the.stream, ffi.NULL, the.block, 8, ffi.NULL, 0


def _with_args_array(the: _Prepared) -> _Call:
    return lib.aclrtLaunchKernelWithArgsArray, the.kernel, 1, the.stream, ffi.NULL, the.array


def _simt_with_host_args(the: _Prepared) -> _Call:
    shape = (the.kernel, _ONE, _ONE, 0, the.stream, ffi.NULL)
    return lib.aclrtLaunchSIMTKernelWithHostArgs, *shape, the.block, 8, ffi.NULL, 0


def _simt_with_args_array(the: _Prepared) -> _Call:
    return lib.aclrtLaunchSIMTKernelWithArgsArray, the.kernel, _ONE, _ONE, 0, the.stream, ffi.NULL, the.array


@contextmanager
def _prepared() -> Iterator[_Prepared]:
    binary, kernel, arguments = (
        ffi.new(f"{kind} *") for kind in ("aclrtBinHandle", "aclrtFuncHandle", "aclrtArgsHandle")
    )
    with _streams() as (a, _), _memory(8) as (_, memory):
        content = building.empty_kernel()
        ok(lib.aclrtBinaryLoadFromData, content, len(content), ffi.NULL, binary)
        block = ffi.new("void **", memory)
        ok(lib.aclrtBinaryGetFunction, binary[0], b"empty", kernel)
        ok(lib.aclrtKernelArgsInit, kernel[0], arguments)
        ok(lib.aclrtKernelArgsAppend, arguments[0], block, 8, ffi.new("aclrtParamHandle *"))
        ok(lib.aclrtKernelArgsFinalize, arguments[0])
        try:
            yield _Prepared(kernel[0], a, memory, block, ffi.new("void *[]", [block]), arguments[0])
        finally:
            ok(lib.aclrtBinaryUnLoad, binary[0])


@contextmanager
def launch(form: Callable[[_Prepared], _Call]) -> Iterator[Timed]:
    with _prepared() as the:
        function, *rest = form(the)
        given, a = tuple(rest), the.stream

        def timed(loops: int, launch: Any = function, synchronize: Any = lib.aclrtSynchronizeStream) -> float:
            begin = perf_counter()
            for _ in repeat(None, loops):
                launch(*given)
                synchronize(a)
            return perf_counter() - begin

        ok(function, *given)
        ok(lib.aclrtSynchronizeStream, a)
        yield timed


# --- graphs ----------------------------------------------------------------------------------------------------------

Work = Callable[[], AbstractContextManager[tuple[Callable[[], None], Any]]]  # submits tasks to a stream


@contextmanager
def pairs(count: int) -> Iterator[tuple[Callable[[], None], Any]]:
    def submit(record: Any = lib.aclrtRecordEvent, wait: Any = lib.aclrtStreamWaitEvent) -> None:
        for _ in repeat(None, count):
            record(event, a)
            wait(b, event)
        record(joined, b)
        wait(a, joined)

    with _event() as (event, a, b):
        joined = made("aclrtEvent", lib.aclrtCreateEventExWithFlag, _SYNC)
        try:
            yield submit, a
        finally:
            ok(lib.aclrtDestroyEvent, joined)


@contextmanager
def tasks(count: int) -> Iterator[tuple[Callable[[], None], Any]]:
    def submit(fill: Any = lib.aclrtMemsetAsync) -> None:
        for _ in repeat(None, count):
            fill(memory, 1, 1, 1, a)

    with _streams() as (a, _), _memory(1) as (_, memory):
        yield submit, a


@contextmanager
def submitted(work: Work) -> Iterator[Timed]:
    def timed(loops: int, synchronize: Any = lib.aclrtSynchronizeStream) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            submit()
            synchronize(a)
        return perf_counter() - begin

    with work() as (submit, a):
        timed(1)
        yield timed


def _capture(submit: Callable[[], None], a: Any, graph: Any) -> None:
    ok(lib.aclmdlRICaptureBegin, a, lib.ACL_MODEL_RI_CAPTURE_MODE_GLOBAL)
    submit()
    ok(lib.aclmdlRICaptureEnd, a, graph)


@contextmanager
def captured(work: Work) -> Iterator[Timed]:
    def timed(
        loops: int,
        begin_capture: Any = lib.aclmdlRICaptureBegin,
        end_capture: Any = lib.aclmdlRICaptureEnd,
        destroy: Any = lib.aclmdlRIDestroy,
    ) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            begin_capture(a, mode)
            submit()
            end_capture(a, graph)
            destroy(graph[0])
        return perf_counter() - begin

    graph, mode = ffi.new("aclmdlRI *"), lib.ACL_MODEL_RI_CAPTURE_MODE_GLOBAL
    with work() as (submit, a):
        _capture(submit, a, graph)
        ok(lib.aclmdlRIDestroy, graph[0])
        yield timed


@contextmanager
def replayed(work: Work, around: Callable[[Any], AbstractContextManager[None]] = nullcontext) -> Iterator[Timed]:
    def timed(
        loops: int, execute: Any = lib.aclmdlRIExecuteAsync, synchronize: Any = lib.aclrtSynchronizeStream
    ) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            execute(graph, a)
            synchronize(a)
        return perf_counter() - begin

    out = ffi.new("aclmdlRI *")
    with work() as (submit, a):
        _capture(submit, a, out)
        graph = out[0]
        with around(graph):
            ok(lib.aclmdlRIExecuteAsync, graph, a)
            ok(lib.aclrtSynchronizeStream, a)
            yield timed
        ok(lib.aclmdlRIDestroy, graph)


@contextmanager
def subscription(graph: Any) -> Iterator[None]:
    """Subscribe the operators of a graph; nothing reads the records."""
    number = ffi.new("uint32_t *")
    ok(lib.aclmdlRIGetId, graph, number)
    descriptor = ffi.new("int *", os.open(os.devnull, os.O_WRONLY))  # the end of the subscription closes it
    config = lib.aclprofCreateSubscribeConfig(1, lib.ACL_AICORE_NONE, descriptor)
    ok(lib.aclprofModelSubscribe, number[0], config)
    try:
        yield
    finally:
        ok(lib.aclprofModelUnSubscribe, number[0])
        ok(lib.aclprofDestroySubscribeConfig, config)


@contextmanager
def range_push_pop() -> Iterator[Timed]:
    def timed(loops: int, push: Any = lib.aclprofPush, pop: Any = lib.aclprofPop) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            push(stamp)
            pop()
        return perf_counter() - begin

    with _device(), tempfile.TemporaryDirectory() as directory:
        path = directory.encode()
        ok(lib.aclprofInit, path, len(path))
        data = lib.ACL_PROF_MSPROFTX
        config = lib.aclprofCreateConfig(ffi.new("uint32_t *"), 1, lib.ACL_AICORE_NONE, ffi.NULL, data)
        ok(lib.aclprofStart, config)
        stamp = lib.aclprofCreateStamp()
        ok(lib.aclprofSetStampTraceMessage, stamp, b"range", 5)
        yield timed
        lib.aclprofDestroyStamp(stamp)
        ok(lib.aclprofStop, config)
        ok(lib.aclprofDestroyConfig, config)
        ok(lib.aclprofFinalize)


# --- memory ----------------------------------------------------------------------------------------------------------


@contextmanager
def copy_async(size: int) -> Iterator[Timed]:
    def timed(loops: int, copy: Any = lib.aclrtMemcpyAsync, synchronize: Any = lib.aclrtSynchronizeStream) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            copy(device, size, pinned, size, kind, a)
            synchronize(a)
        return perf_counter() - begin

    kind = lib.ACL_MEMCPY_HOST_TO_DEVICE
    with _streams() as (a, _), _memory(size) as (pinned, device):
        ok(lib.aclrtMemcpyAsync, device, size, pinned, size, kind, a)
        ok(lib.aclrtSynchronizeStream, a)
        yield timed


@contextmanager
def memcpy(size: int) -> Iterator[Timed]:
    source, copy = (ffi.new("char[]", b"\1" * size) for _ in range(2))  # both written: their pages are there
    yield timing.loop0(partial(ffi.memmove, copy, source, size))


@contextmanager
def malloc_free(size: int) -> Iterator[Timed]:
    def timed(loops: int, malloc: Any = lib.aclrtMalloc, free: Any = lib.aclrtFree) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            malloc(out, size, policy)
            free(out[0])
        return perf_counter() - begin

    out, policy = ffi.new("void **"), lib.ACL_MEM_MALLOC_HUGE_FIRST
    with _device():
        ok(lib.aclrtMalloc, out, size, policy)
        ok(lib.aclrtFree, out[0])
        yield timed


@contextmanager
def pool_malloc_free(size: int) -> Iterator[Timed]:
    def timed(loops: int, malloc: Any = lib.aclrtMemPoolMallocAsync, free: Any = lib.aclrtMemPoolFreeAsync) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            malloc(out, size, pool, a)
            free(out[0], a)
        return perf_counter() - begin

    out, properties = ffi.new("void **"), ffi.new("aclrtMemPoolProps *")
    properties.allocType = lib.ACL_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = lib.ACL_MEM_LOCATION_TYPE_DEVICE
    with _streams() as (a, _):
        pool = made("aclrtMemPool", lib.aclrtMemPoolCreate, properties)
        ok(lib.aclrtMemPoolMallocAsync, out, size, pool, a)
        ok(lib.aclrtMemPoolFreeAsync, out[0], a)
        try:
            yield timed
        finally:
            ok(lib.aclrtSynchronizeStream, a)
            ok(lib.aclrtMemPoolDestroy, pool)


@contextmanager
def _queues(count: int) -> Iterator[list[int]]:
    with _device():
        numbers = ffi.new("uint32_t[]", count)
        for number in range(count):
            ok(lib.acltdtCreateQueue, ffi.NULL, numbers + number)
        try:
            yield list(numbers)
        finally:
            for number in numbers:
                ok(lib.acltdtDestroyQueue, number)


def _queue_loop(to: int, back: int) -> Timed:
    def timed(loops: int, put: Any = lib.acltdtEnqueueData, get: Any = lib.acltdtDequeueData) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            put(to, data, 64, null, 0, -1, 0)
            get(back, data, 64, size, null, 0, -1)
        return perf_counter() - begin

    data, size, null = ffi.new("char[64]"), ffi.new("size_t *"), ffi.NULL
    timed(1)
    return timed


@contextmanager
def queue_round_trip() -> Iterator[Timed]:
    with _queues(1) as (queue,):
        yield _queue_loop(queue, queue)


@contextmanager
def queue_round_trip_2_processes() -> Iterator[Timed]:
    with _queues(2) as (to, back), other_process(to, back):
        yield _queue_loop(to, back)


@contextmanager
def other_process(to: int, back: int) -> Iterator[None]:
    """Start a process that puts what it gets from one queue into the other."""
    command = [python_program(), "-m", f"{__package__}.putting_back", str(to), str(back)]
    with subprocess.Popen(command) as process:
        try:
            ok(lib.acltdtGrantQueue, to, process.pid, lib.ACL_TDT_QUEUE_PERMISSION_DEQUEUE, 0)
            ok(lib.acltdtGrantQueue, back, process.pid, lib.ACL_TDT_QUEUE_PERMISSION_ENQUEUE, 0)
            yield
        finally:
            process.kill()


@contextmanager
def call_floor() -> Iterator[Timed]:
    yield timing.loop2(lib.ascend_rt_no_op, ffi.NULL, ffi.NULL)


@contextmanager
def call_table() -> Iterator[Timed]:
    yield timing.loop2(lib.aclsimNoOp, ffi.NULL, ffi.NULL)


@contextmanager
def send_receive(size: int) -> Iterator[Timed]:
    def send() -> int:
        dataset = lib.acltdtCreateDataset()
        item = lib.acltdtCreateDataItem(lib.ACL_TENSOR_DATA_TENSOR, shape, 1, lib.ACL_UINT8, content, size)
        code = lib.acltdtAddDataItem(dataset, item) | lib.acltdtSendTensor(channel, dataset, 0)
        return int(code | lib.acltdtDestroyDataItem(item) | lib.acltdtDestroyDataset(dataset))

    def receive() -> int:
        dataset = lib.acltdtCreateDataset()
        code = lib.acltdtReceiveTensor(channel, dataset, 0)
        item = lib.acltdtGetDataItem(dataset, lib.acltdtGetDatasetSize(dataset) - 1)
        lib.acltdtGetTensorTypeFromItem(item)
        lib.acltdtGetDataTypeFromItem(item)
        dimensions = lib.acltdtGetDimNumFromItem(item)
        data = lib.acltdtGetDataAddrFromItem(item)
        ffi.memmove(copy, data, lib.acltdtGetDataSizeFromItem(item))
        return int(code | lib.acltdtGetDimsFromItem(item, arrived, dimensions) | lib.acltdtDestroyDataset(dataset))

    def timed(loops: int) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            send()
            receive()
        return perf_counter() - begin

    content, copy = ffi.new("char[]", size), ffi.new("char[]", size)
    shape, arrived = ffi.new("int64_t[1]", [size]), ffi.new("int64_t[1]")
    with _device():
        channel = lib.acltdtCreateChannelWithCapacity(0, b"bench", 2)
        check(send() or receive(), "acltdtSendTensor")
        try:
            yield timed
        finally:
            check(lib.acltdtDestroyChannel(channel), "acltdtDestroyChannel")


BENCHMARKS: dict[str, timing.Benchmark] = {
    "event_create_destroy": event_create_destroy,
    "event_record": event_record,
    "stream_wait_event": stream_wait_event,
    "event_query_complete": event_query_complete,
    "event_query_pending": event_query_pending,
    "event_synchronize_complete": event_synchronize_complete,
    "record_wait_synchronize": record_wait_synchronize,
    "host_func_round_trip": host_func_round_trip,
    "launch_kernel": partial(launch, _plain),
    "launch_kernel_v2": partial(launch, _v2),
    "launch_kernel_with_config": partial(launch, _with_config),
    "launch_kernel_with_host_args": partial(launch, _with_host_args),
    "launch_kernel_with_args_array": partial(launch, _with_args_array),
    "launch_simt_kernel_with_host_args": partial(launch, _simt_with_host_args),
    "launch_simt_kernel_with_args_array": partial(launch, _simt_with_args_array),
    **{f"submit_pairs_{n}": partial(submitted, partial(pairs, n)) for n in PAIRS},
    **{f"capture_pairs_{n}": partial(captured, partial(pairs, n)) for n in PAIRS},
    **{f"replay_pairs_{n}": partial(replayed, partial(pairs, n)) for n in PAIRS},
    "submit_tasks_1000": partial(submitted, partial(tasks, TASKS)),
    "replay_tasks_1000": partial(replayed, partial(tasks, TASKS)),
    "replay_tasks_1000_subscribed": partial(replayed, partial(tasks, TASKS), subscription),
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
    "call_floor": call_floor,
    "call_table": call_table,
}
BENCHMARKS |= {name: BENCHMARKS[plain] for name, plain in CHECKED.items()}

if __name__ == "__main__":
    timing.main("raw", BENCHMARKS)
