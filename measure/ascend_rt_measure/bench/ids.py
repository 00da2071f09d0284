# SPDX-License-Identifier: Apache-2.0
"""The one list of benchmarks: their ids, what one iteration does, and which layers and peers have them.

A layer's implementation is found by the id; the same id means the same C calls in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ascend_rt_measure.bench.spellings import SPELLINGS

LAYERS = ("c", "raw", "facade", "pyacl")
_NOT_PYACL = LAYERS[:3]
# Peers do the same task: PoCL through pyopencl; a thread per stream, written in C++ and in Python.
PEERS = ("pocl", "threads_cpp", "threads_python")
_THREADS = PEERS[1:]


@dataclass(frozen=True)
class Benchmark:
    """One benchmark.

    Attributes
    ----------
    id : str
        The name in every layer, in every table and in every file.
    calls : str
        One iteration: the calls it makes, the same ones in each layer.
    layers : tuple of str
        The layers that have it.
    peers : tuple of str
        The peers that have it: they have no such calls, and do what comes to the same.
    simulator_only : tuple of str
        The layers that need an entry point of the simulator for it.
    batch : int
        How many of what is measured one iteration does; the time is divided by it.
    environment : tuple of (str, str)
        Variables that it needs, such as the product to simulate.
    launches : bool
        Whether it needs the kernel that is compiled.
    facade_also : tuple of str
        What the facade calls besides, for itself.
    """

    id: str
    calls: str
    layers: tuple[str, ...] = _NOT_PYACL
    peers: tuple[str, ...] = ()
    simulator_only: tuple[str, ...] = ()
    batch: int = 1
    environment: tuple[tuple[str, str], ...] = ()
    launches: bool = False
    facade_also: tuple[str, ...] = ()

    def functions(self) -> list[str]:
        """Return the C functions of one iteration, in order; those in parentheses as often as it says."""
        calls = re.sub(r"(\d+) times \((.*?)\)", lambda found: int(found[1]) * f"{found[2]}; ", self.calls)
        return re.findall(r"acl(?:rt|mdlRI|prof|tdt)[A-Z]\w+", calls)


_RANDOM = (
    "on a random stream one of: aclrtRecordEvent; aclrtStreamWaitEvent for a random event; aclrtMemsetAsync of a byte"
)
_CYCLE = "aclrtRecordEvent on stream A; aclrtStreamWaitEvent on stream B; aclrtSynchronizeStream of B"
_HOST_FUNC = "aclrtLaunchHostFunc with an empty function; aclrtSynchronizeStream"
_OF_THREADS = 20_000
_QUEUED_WORK_OF_THREADS = 2000
STREAMS = (1, 10, 100, 1000, 10000)
THREADS = (1, 2, 4, 8)
PAIRS = (1, 10, 100, 1000)
# A capture needs the second stream joined, so all three have that pair.
_PAIRS = "{} times (aclrtRecordEvent on A; aclrtStreamWaitEvent on B); aclrtRecordEvent on B; aclrtStreamWaitEvent on A"
_REPLAY = "aclmdlRIExecuteAsync of {}; aclrtSynchronizeStream"
TASKS = 1000
_IN_DEVICE_SYNCHRONIZE = ("aclrtGetCurrentContext", "aclrtGetDevice")  # which empties queues outside the time
_COPY = "aclrtMemcpyAsync, pinned host to device; aclrtSynchronizeStream"
_QUEUED_COPY = "aclrtMemcpyAsync of 8 KiB inside a device; aclrtSynchronizeStream"
_RACE_CHECK = (("ASCEND_RT_SIM_CHECK", "races"),)
_MALLOC = "aclrtMalloc; aclrtFree"
_SEND_RECEIVE = (
    "acltdtCreateDataset; acltdtCreateDataItem of 4 KiB; acltdtAddDataItem; acltdtSendTensor; acltdtDestroyDataItem; "
    "acltdtDestroyDataset; acltdtCreateDataset; acltdtReceiveTensor; acltdtGetDatasetSize; acltdtGetDataItem; "
    "acltdtGetTensorTypeFromItem; acltdtGetDataTypeFromItem; acltdtGetDimNumFromItem; acltdtGetDataAddrFromItem; "
    "acltdtGetDataSizeFromItem; acltdtGetDimsFromItem; a copy of the data; acltdtDestroyDataset"
)


def _launch(name: str, function: str, layers: tuple[str, ...] = ("c", "raw"), product: str = "") -> Benchmark:
    calls = f"{function} with an empty kernel; aclrtSynchronizeStream"
    environment = (("ASCEND_RT_SIM_PRODUCT", product),) if product else ()
    return Benchmark(name, calls, layers=layers, simulator_only=layers, environment=environment, launches=True)


def _checked(name: str, calls: str) -> Benchmark:
    layers = ("raw", "facade")
    return Benchmark(f"{name}_checked", calls, layers, simulator_only=layers, environment=_RACE_CHECK)


def _many(name: str, calls: str, batch: int) -> Benchmark:
    return Benchmark(name, calls, layers=("c",), simulator_only=("c",), batch=batch)


def _in_threads(name: str, calls: str) -> tuple[Benchmark, ...]:
    own = (_many(f"{name}_{n}_thread{'s' * (n > 1)}", calls, _OF_THREADS) for n in THREADS)
    shared = (_many(f"{name}_{n}_threads_1_device", calls, _OF_THREADS) for n in THREADS[1:])
    return (*own, *shared)


BENCHMARKS = (
    Benchmark("event_create_destroy", "aclrtCreateEventExWithFlag; aclrtDestroyEvent", LAYERS),
    Benchmark("event_record", "aclrtRecordEvent on an idle stream", LAYERS),
    Benchmark("stream_wait_event", "aclrtStreamWaitEvent for a complete event", LAYERS),
    Benchmark("event_query_complete", "aclrtQueryEventStatus", LAYERS),
    Benchmark("event_query_pending", "aclrtQueryEventStatus of an event on a held stream"),
    Benchmark("event_synchronize_complete", "aclrtSynchronizeEvent", LAYERS),
    Benchmark(
        "record_wait_synchronize",
        _CYCLE,
        LAYERS,
        PEERS,
    ),
    Benchmark(
        "host_func_round_trip",
        "aclrtLaunchHostFunc with an empty function (of C, or of Python); aclrtSynchronizeStream",
        peers=_THREADS,
    ),
    _launch("launch_kernel", "aclrtLaunchKernel"),
    _launch("launch_kernel_v2", "aclrtLaunchKernelV2"),
    _launch("launch_kernel_with_config", "aclrtLaunchKernelWithConfig"),
    _launch("launch_kernel_with_host_args", "aclrtLaunchKernelWithHostArgs", layers=_NOT_PYACL),
    _launch("launch_kernel_with_args_array", "aclrtLaunchKernelWithArgsArray"),
    _launch("launch_simt_kernel_with_host_args", "aclrtLaunchSIMTKernelWithHostArgs", product="950"),
    _launch("launch_simt_kernel_with_args_array", "aclrtLaunchSIMTKernelWithArgsArray", product="950"),
    *(Benchmark(f"submit_pairs_{n}", f"{_PAIRS.format(n)}; aclrtSynchronizeStream", batch=n) for n in PAIRS),
    *(
        Benchmark(
            f"capture_pairs_{n}",
            f"aclmdlRICaptureBegin; {_PAIRS.format(n)}; aclmdlRICaptureEnd; aclmdlRIDestroy",
            batch=n,
            facade_also=("aclrtGetCurrentContext",),
        )
        for n in PAIRS
    ),
    *(Benchmark(f"replay_pairs_{n}", _REPLAY.format("a graph of them"), batch=n) for n in PAIRS),
    Benchmark(
        "submit_tasks_1000",
        f"{TASKS} times (aclrtMemsetAsync of a byte); aclrtSynchronizeStream",
        batch=TASKS,
    ),
    Benchmark("replay_tasks_1000", _REPLAY.format("a graph of them"), batch=TASKS),
    Benchmark(
        "replay_tasks_1000_subscribed",
        _REPLAY.format("a graph of them whose operators are subscribed"),
        batch=TASKS,
    ),
    Benchmark(
        "range_push_pop",
        "aclprofPush; aclprofPop",
        facade_also=("aclprofCreateStamp", "aclprofSetStampTraceMessage", "aclprofDestroyStamp"),
    ),
    Benchmark("copy_async_4KiB", _COPY, LAYERS, PEERS),
    Benchmark("copy_async_1MiB", _COPY, LAYERS, PEERS),
    Benchmark("copy_async_64MiB", _COPY, peers=PEERS),
    *(Benchmark(f"memcpy_{size}", "memcpy; ffi.memmove; numpy.copyto") for size in ("1MiB", "64MiB")),
    Benchmark("malloc_free_4KiB", _MALLOC, LAYERS),
    Benchmark("malloc_free_4MiB", _MALLOC, LAYERS),
    Benchmark("pool_malloc_free_4MiB", "aclrtMemPoolMallocAsync; aclrtMemPoolFreeAsync"),
    Benchmark("send_receive_4KiB", _SEND_RECEIVE),
    Benchmark("queue_round_trip", "acltdtEnqueueData of 64 bytes; acltdtDequeueData"),
    Benchmark(
        "queue_round_trip_2_processes",
        "acltdtEnqueueData of 64 bytes; acltdtDequeueData of what another process has put back",
        simulator_only=_NOT_PYACL,
        environment=(("ASCEND_RT_SIM_QUEUES", "device"),),
    ),
    Benchmark(
        "malloc_free_among_1000000",
        "aclrtFree of a random one of 1,000,000 allocations of 512 bytes to 4 KiB; aclrtMalloc of another one",
        layers=("c",),
    ),
    Benchmark(
        "call_floor",
        "an empty function: of the library (C), of the extension module itself (raw)",
        layers=("c", "raw"),
        simulator_only=("c",),
    ),
    Benchmark(
        "call_table",
        "an empty function of the library, through the table of functions",
        layers=("raw",),
        simulator_only=("raw",),
    ),
    Benchmark("spin_round_trip", "two threads bounce one atomic number", layers=("c",)),
    *(_many(f"task_{n}_stream{'s' * (n > 1)}", _RANDOM, 100_000) for n in STREAMS),
    *_in_threads("task", _RANDOM),
    *_in_threads("cycle", _CYCLE),
    *(
        _many(f"{name}_{n}_thread{'s' * (n > 1)}", calls, _QUEUED_WORK_OF_THREADS)
        for name, calls in (("host_func", _HOST_FUNC), ("queued_copy", _QUEUED_COPY))
        for n in THREADS
    ),
    *(_many(f"private_{n}", "work of threads that share nothing", _OF_THREADS) for n in ("1_thread", "2_threads")),
    Benchmark(
        "stream_hand_over",
        "a copy of 64 bytes and a record on one busy stream, a wait for it on the other, in turn",
        layers=("c",),
        simulator_only=("c",),
        batch=1000,
    ),
    *(
        Benchmark(each.id, each.calls, layers=("facade",), facade_also=(*each.also, *_IN_DEVICE_SYNCHRONIZE))
        for each in SPELLINGS
    ),
    *(
        _checked(name, calls)
        for name, calls in (
            ("event_record", "aclrtRecordEvent on an idle stream"),
            ("record_wait_synchronize", _CYCLE),
            ("copy_async_4KiB", _COPY),
            ("copy_async_1MiB", _COPY),
            ("copy_async_64MiB", _COPY),
        )
    ),
)


BY_ID = {benchmark.id: benchmark for benchmark in BENCHMARKS}
# The same body under the race check as without it.
CHECKED = {each.id: each.id.removesuffix("_checked") for each in BENCHMARKS if each.environment == _RACE_CHECK}


def ids_of(layer: str, backend: str = "sim") -> list[str]:
    """Return the ids that a layer or a peer has on a library."""
    return [
        b.id
        for b in BENCHMARKS
        if layer in (*b.layers, *b.peers) and (backend == "sim" or layer not in b.simulator_only)
    ]


def by_environment(ids: Iterable[str]) -> list[tuple[dict[str, str], list[str]]]:
    """Return ids by the variables that they need: they are those of a process."""
    found: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name in ids:
        found.setdefault(BY_ID[name].environment, []).append(name)
    return [(dict(environment), names) for environment, names in found.items()]
