# SPDX-License-Identifier: Apache-2.0
"""Profiles (profiling.md), and the operator information that they show (graphs_kernels.md section D)."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.codes import OK
from support.handles import at, raw
from support.kernels import VECTOR, device_object

from ascend_rt import Binary, sim
from ascend_rt.testing import Latch

INVALID = 100000
REPEATED = 100002
NO_FILE = 100003
RUNNING = 100042
NOT_RUNNING = 100043
UNKNOWN_DATA = 200007

files_of_the_simulator = pytest.mark.simulator(
    "internals", "a device's profile is raw data, which msprof makes these files of"
)


class Profiler:
    """Makes the calls, and finds the files."""

    def __init__(self, lib: Any, ffi: Any, path: Path) -> None:
        self.lib, self.ffi, self.path = lib, ffi, path
        self._configs: list[Any] = []

    def initialize(self, path: Path | None = None) -> int:
        text = str(self.path if path is None else path).encode()
        return int(self.lib.aclprofInit(text, len(text)))

    def config(self, data: int, devices: tuple[int, ...] = (0,)) -> Any:
        ids = self.ffi.new("uint32_t[]", devices) if devices else self.ffi.NULL
        made = self.lib.aclprofCreateConfig(ids, len(devices), self.lib.ACL_AICORE_NONE, self.ffi.NULL, data)
        if made != self.ffi.NULL:
            self._configs.append(made)
        return made

    def close(self) -> None:
        self.lib.aclprofFinalize()
        for config in self._configs:
            self.lib.aclprofDestroyConfig(config)

    def table(self, name: str) -> list[dict[str, str]]:
        """Return the rows of the only table of that name."""
        (file,) = self.path.glob(f"PROF_*/mindstudio_profiler_output/{name}_*.csv")
        with file.open(newline="", encoding="utf-8") as lines:
            return list(csv.DictReader(lines))

    def trace(self) -> list[dict[str, Any]]:
        (file,) = self.path.glob("PROF_*/mindstudio_profiler_output/msprof_*.json")
        return list(json.loads(file.read_text(encoding="utf-8")))


@pytest.fixture
def profiler(lib: Any, ffi: Any, device: Any, tmp_path: Path) -> Iterator[Profiler]:
    profiler = Profiler(lib, ffi, tmp_path / "one" / "two")
    yield profiler
    profiler.close()


def test_a_profile_names_tasks_and_calls(lib, ffi, profiler, stream, other, memory) -> None:
    assert profiler.initialize() == OK
    config = profiler.config(lib.ACL_PROF_TASK_TIME | lib.ACL_PROF_ACL_API)
    assert lib.aclrtMemsetAsync(at(ffi, memory), 64, 1, 64, raw(ffi, stream)) == OK  # before: not in the profile
    stream.synchronize()
    assert lib.aclprofStart(config) == OK
    with Latch(stream):
        assert lib.aclrtMemsetAsync(at(ffi, memory), 64, 2, 64, raw(ffi, stream)) == OK
    stream.synchronize()
    assert lib.aclprofStop(config) == OK
    assert lib.aclrtMemsetAsync(at(ffi, memory), 64, 3, 64, raw(ffi, stream)) == OK  # after
    stream.synchronize()
    assert lib.aclprofFinalize() == OK
    assert profiler.path.is_dir()


@files_of_the_simulator
def test_the_files_of_a_profile(lib, ffi, profiler, stream, other, memory) -> None:
    test_a_profile_names_tasks_and_calls(lib, ffi, profiler, stream, other, memory)
    fills = [row for row in profiler.table("task_time") if row["kernel_type"] == "MEMSET"]
    assert len(fills) == 1
    assert fills[0]["Device_id"] == "0"
    assert float(fills[0]["task_stop(us)"]) >= float(fills[0]["task_start(us)"]) > 0
    assert profiler.table("op_summary") == []
    events = [event for event in profiler.trace() if event["ph"] == "X"]
    assert [event["pid"] for event in events if event["name"] == "MEMSET"] == [0]
    calls = [event for event in events if event["pid"] == -1]
    assert [call["name"] for call in calls].count("aclrtMemsetAsync") == 1
    (fill,) = (event for event in events if event["name"] == "MEMSET")
    (call,) = (event for event in calls if event["name"] == "aclrtMemsetAsync")
    assert fill["ts"] >= call["ts"]


@files_of_the_simulator
def test_a_profile_has_what_was_asked_for(lib, ffi, profiler, stream, memory) -> None:
    assert profiler.initialize() == OK
    config = profiler.config(lib.ACL_PROF_TASK_TIME)
    assert lib.aclprofStart(config) == OK
    assert lib.aclrtMemsetAsync(at(ffi, memory), 64, 2, 64, raw(ffi, stream)) == OK
    stream.synchronize()
    assert lib.aclprofFinalize() == OK  # ends it as well
    names = [event["name"] for event in profiler.trace() if event["ph"] == "X"]
    assert names == ["MEMSET"]


@files_of_the_simulator
def test_a_dropped_task_is_in_no_profile(lib, ffi, profiler, stream, memory) -> None:
    assert profiler.initialize() == OK
    config = profiler.config(lib.ACL_PROF_TASK_TIME)
    assert lib.aclprofStart(config) == OK
    with Latch(stream):
        assert lib.aclrtMemsetAsync(at(ffi, memory), 64, 2, 64, raw(ffi, stream)) == OK
        assert lib.aclrtStreamAbort(raw(ffi, stream)) == OK
    assert lib.aclprofStop(config) == OK
    assert "MEMSET" not in [row["kernel_type"] for row in profiler.table("task_time")]


@files_of_the_simulator
def test_a_profile_has_nothing_of_the_one_before(lib, ffi, profiler, stream, memory) -> None:
    assert profiler.initialize() == OK
    data = lib.ACL_PROF_TASK_TIME | lib.ACL_PROF_ACL_API
    config = profiler.config(data)
    assert lib.aclprofStart(profiler.config(data, (1,))) == OK  # goes on all the time
    assert lib.aclprofStart(config) == OK
    with Latch(stream):
        assert lib.aclrtMemsetAsync(at(ffi, memory), 64, 1, 64, raw(ffi, stream)) == OK
        assert lib.aclprofStop(config) == OK
        (first,) = profiler.path.glob("PROF_*/*/msprof_*.json")
        assert lib.aclprofStart(config) == OK
    stream.synchronize()
    assert lib.aclprofStop(config) == OK
    (second,) = set(profiler.path.glob("PROF_*/*/msprof_*.json")) - {first}
    names = [event["name"] for event in json.loads(second.read_text(encoding="utf-8")) if event["ph"] == "X"]
    assert "MEMSET" not in names
    assert "aclprofStart" not in names
    assert "aclrtSynchronizeStream" in names


@files_of_the_simulator
def test_another_device_is_in_no_profile(lib, ffi, profiler, stream, memory) -> None:
    assert profiler.initialize() == OK
    config = profiler.config(lib.ACL_PROF_TASK_TIME, (1,))
    assert lib.aclprofStart(config) == OK
    assert lib.aclrtMemsetAsync(at(ffi, memory), 64, 2, 64, raw(ffi, stream)) == OK
    stream.synchronize()
    assert lib.aclprofStop(config) == OK
    assert profiler.table("task_time") == []


def capture(lib: Any, ffi: Any, stream: Any) -> Any:
    assert lib.aclmdlRICaptureBegin(stream, lib.ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) == OK

    def end() -> Any:
        graph = ffi.new("aclmdlRI *")
        assert lib.aclmdlRICaptureEnd(stream, graph) == OK
        return graph[0]

    return end


def cached(lib: Any, ffi: Any, stream: Any, submit: Any, information: bytes) -> Any:
    """Return a graph of one task that has operator information: steps 1 to 7 of the documented flow."""
    end = capture(lib, ffi, stream)
    switch = ffi.new("aclrtStreamAttrValue *")
    switch.cacheOpInfoSwitch = 1
    assert lib.aclrtSetStreamAttribute(stream, lib.ACL_STREAM_ATTR_CACHE_OP_INFO, switch) == OK
    assert submit() == OK
    switch.cacheOpInfoSwitch = 0
    assert lib.aclrtGetStreamAttribute(stream, lib.ACL_STREAM_ATTR_CACHE_OP_INFO, switch) == OK
    assert switch.cacheOpInfoSwitch == 1
    assert lib.aclrtCacheLastTaskOpInfo(information, len(information)) == OK
    switch.cacheOpInfoSwitch = 0
    assert lib.aclrtSetStreamAttribute(stream, lib.ACL_STREAM_ATTR_CACHE_OP_INFO, switch) == OK
    return end()


@files_of_the_simulator
@pytest.mark.parametrize(
    ("information", "shown"),
    [
        (b"MatMulV2, 16x16", "MatMulV2, 16x16"),
        (b"name\0\0", "name"),
        ("算子".encode(), "算子"),
        (b"\x01\xff\0", "01ff00"),
        (b'{"name": "Add"}', '{"name": "Add"}'),
    ],
)
def test_a_profile_of_a_graph_names_the_operator(lib, ffi, profiler, stream, memory, information, shown) -> None:
    on = raw(ffi, stream)
    graph = cached(lib, ffi, on, lambda: lib.aclrtMemsetAsync(at(ffi, memory), 64, 5, 64, on), information)
    assert profiler.initialize() == OK
    config = profiler.config(lib.ACL_PROF_TASK_TIME)
    assert lib.aclprofStart(config) == OK
    for _ in range(2):
        assert lib.aclmdlRIExecuteAsync(graph, on) == OK
    stream.synchronize()
    assert lib.aclprofStop(config) == OK
    assert lib.aclmdlRIDestroy(graph) == OK
    rows = profiler.table("op_summary")
    assert [(row["Op Name"], row["Op Info"], row["Task Type"]) for row in rows] == [(shown, shown, "MEMSET")] * 2
    assert rows[0]["Model ID"] == rows[1]["Model ID"] != "N/A"
    assert [event["args"]["Op Info"] for event in profiler.trace() if event["name"] == shown] == [shown] * 2


# --- codes -----------------------------------------------------------------------------------------------------------


def test_initialisation(lib, ffi, profiler, tmp_path) -> None:
    assert lib.aclprofInit(ffi.NULL, 3) == INVALID
    assert lib.aclprofInit(b"abc", 0) == INVALID
    assert lib.aclprofInit(b"abc", 2) == INVALID
    assert lib.aclprofInit(b"abc", 4) == INVALID
    assert lib.aclprofInit(b"a" * 4096, 4096) == INVALID
    assert profiler.initialize() == OK
    assert profiler.initialize() == REPEATED
    assert lib.aclprofFinalize() == OK
    assert profiler.initialize() == OK


@pytest.mark.simulator("unspecified", "the newest release initialises by itself")
def test_calls_before_the_initialisation(lib, ffi, profiler) -> None:
    config = profiler.config(lib.ACL_PROF_TASK_TIME)
    assert lib.aclprofStart(config) == NOT_RUNNING
    assert lib.aclprofStop(config) == NOT_RUNNING


def test_the_end_without_a_beginning(lib, ffi, profiler) -> None:
    assert lib.aclprofFinalize() == OK


def test_configurations(lib, ffi, profiler) -> None:
    def make(devices: Any, number: int, data: int, events: Any = ffi.NULL) -> bool:
        made = lib.aclprofCreateConfig(devices, number, lib.ACL_AICORE_NONE, events, data)
        if made != ffi.NULL:
            assert lib.aclprofDestroyConfig(made) == OK
        return bool(made != ffi.NULL)

    ids = ffi.new("uint32_t[]", [0] * 65)
    assert make(ids, 1, lib.ACL_PROF_TASK_TIME)
    assert make(ffi.NULL, 0, lib.ACL_PROF_MSPROFTX)
    assert not make(ffi.NULL, 0, lib.ACL_PROF_TASK_TIME)
    assert not make(ffi.NULL, 1, lib.ACL_PROF_TASK_TIME)
    assert not make(ids, 2, lib.ACL_PROF_TASK_TIME)  # twice the same
    assert not make(ids, 65, lib.ACL_PROF_TASK_TIME)
    assert not make(ids, 1, lib.ACL_PROF_TASK_TIME, ffi.cast("aclprofAicoreEvents *", 16))
    ids[0] = 1000
    assert not make(ids, 1, lib.ACL_PROF_TASK_TIME)
    assert lib.aclprofDestroyConfig(ffi.NULL) == INVALID


@pytest.mark.simulator("deadly", "the runtime follows every pointer")
def test_what_is_no_configuration(lib, ffi, profiler, stream) -> None:
    assert profiler.initialize() == OK
    config = lib.aclprofCreateConfig(ffi.new("uint32_t *"), 1, lib.ACL_AICORE_NONE, ffi.NULL, lib.ACL_PROF_TASK_TIME)
    assert lib.aclprofDestroyConfig(config) == OK
    for bad in (ffi.NULL, config, ffi.cast("aclprofConfig *", stream.handle), ffi.cast("aclprofConfig *", 0x1234)):
        assert lib.aclprofStart(bad) == INVALID
        assert lib.aclprofStop(bad) == INVALID
        assert lib.aclprofDestroyConfig(bad) == INVALID


def test_the_start_of_a_profile(lib, ffi, profiler) -> None:
    assert profiler.initialize() == OK
    first = profiler.config(lib.ACL_PROF_TASK_TIME)
    assert lib.aclprofStart(profiler.config(1 << 62)) == UNKNOWN_DATA
    assert lib.aclprofStart(first) == OK
    assert lib.aclprofStart(first) == RUNNING
    assert lib.aclprofStart(profiler.config(lib.ACL_PROF_TASK_TIME, (1, 0))) == RUNNING
    assert lib.aclprofStop(profiler.config(lib.ACL_PROF_ACL_API)) == NOT_RUNNING
    assert lib.aclprofStop(first) == OK
    assert lib.aclprofStop(first) == NOT_RUNNING
    assert lib.aclprofStart(first) == OK


def test_a_profile_of_nothing(lib, ffi, profiler, stream) -> None:
    """The runtime adds a kind of data that every configuration has, so that none is empty."""
    assert profiler.initialize() == OK
    config = profiler.config(0)
    assert lib.aclprofStart(config) == OK
    assert lib.aclrtSynchronizeStream(raw(ffi, stream)) == OK
    assert lib.aclprofStop(config) == OK
    assert lib.aclprofStop(config) == NOT_RUNNING


def test_a_configuration_may_go_while_its_profile_is_taken(lib, ffi, profiler) -> None:
    assert profiler.initialize() == OK
    config = lib.aclprofCreateConfig(ffi.new("uint32_t *"), 1, lib.ACL_AICORE_NONE, ffi.NULL, lib.ACL_PROF_TASK_TIME)
    assert lib.aclprofStart(config) == OK
    assert lib.aclprofDestroyConfig(config) == OK
    assert lib.aclprofStop(profiler.config(lib.ACL_PROF_TASK_TIME)) == OK


def test_a_directory_that_cannot_be_made(lib, ffi, profiler, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    assert profiler.initialize(tmp_path / "file" / "profile") == OK
    assert lib.aclprofStart(profiler.config(lib.ACL_PROF_TASK_TIME)) == NO_FILE


@files_of_the_simulator
@pytest.mark.simulator("kernels")
def test_a_profile_names_kernels(lib, ffi, profiler, stream) -> None:
    """Operator information by the documented flow, for a kernel; the profile has the graph and a launch without it."""
    with Binary(device_object({"add_custom": VECTOR})) as binary, sim.kernel("add_custom")(lambda block, memory: None):
        kernel, on = binary["add_custom"], raw(ffi, stream)
        graph = cached(lib, ffi, on, lambda: kernel.launch(stream, 2) or OK, b"Add, float32, 16")
        assert profiler.initialize() == OK
        config = profiler.config(lib.ACL_PROF_TASK_TIME | lib.ACL_PROF_OP_ATTR)
        assert lib.aclprofStart(config) == OK
        assert lib.aclmdlRIExecuteAsync(graph, on) == OK
        kernel.launch(stream, 2)
        stream.synchronize()
        assert lib.aclprofStop(config) == OK
        assert lib.aclmdlRIDestroy(graph) == OK
    rows = profiler.table("op_summary")
    assert [(row["Op Name"], row["Task Type"], row["Op Info"]) for row in rows] == [
        ("add_custom", "KERNEL", "Add, float32, 16"),
        ("add_custom", "KERNEL", ""),
    ]
