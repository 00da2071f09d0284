# SPDX-License-Identifier: Apache-2.0
"""Graphs in Python: captures, launches, what they keep alive, and how a failed capture explains itself."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest

import ascend_rt as rt
from ascend_rt import Buffer, CaptureError, Stream, copy_async, fill, lib
from ascend_rt._runtime import captures
from ascend_rt.enums import MdlRITaskType
from ascend_rt.testing import Latch


@pytest.fixture
def memory(device: Any) -> Any:
    with Buffer(64) as memory:
        fill(memory, 0)
        yield memory


def content(memory: Buffer) -> list[int]:
    out = np.empty(memory.nbytes, np.uint8)
    rt.copy(out, memory)
    return list(out)


# --- captures and launches -------------------------------------------------------------------------------------------


def test_nothing_runs_before_the_launch_and_all_of_it_with_each(stream) -> None:
    seen: list[int] = []
    with stream.capture() as graph:
        stream.launch_host_func(seen.append, 1)
        stream.launch_host_func(seen.append, 2)
    stream.synchronize()
    assert seen == []
    for _ in range(3):
        graph.launch(stream)
    stream.synchronize()
    assert seen == [1, 2] * 3


def test_a_graph_runs_in_the_order_of_the_stream_that_launches_it(stream, other) -> None:
    seen: list[str] = []
    with stream.capture() as graph:
        stream.launch_host_func(seen.append, "graph")
    other.launch_host_func(seen.append, "before")
    graph.launch(other)
    other.launch_host_func(seen.append, "after")
    other.synchronize()
    assert seen == ["before", "graph", "after"]


def test_streams_fork_and_join(stream, other) -> None:
    seen: list[str] = []
    with stream.capture() as graph:
        stream.launch_host_func(seen.append, "first")
        other.wait(stream)
        other.launch_host_func(seen.append, "forked")
        stream.wait(other)
        stream.launch_host_func(seen.append, "last")
    graph.launch(stream)
    stream.synchronize()
    assert seen == ["first", "forked", "last"]
    assert {task.stream for task in graph.tasks} == {0, 1}


def test_branches_run_beside_each_other(ffi, stream, other, memory) -> None:
    """Each branch waits for a value that the other one writes: one after the other they would never end."""
    value, equal = ffi.cast("void *", memory.handle), lib.ACL_STREAM_WAIT_VALUE_EQ
    on, beside = (ffi.cast("aclrtStream", each.handle) for each in (stream, other))
    with stream.capture() as graph:
        other.wait(stream)
        assert lib.aclrtValueWait(value, 1, equal, on) == 0
        assert lib.aclrtValueWrite(value, 2, 0, on) == 0
        assert lib.aclrtValueWrite(value, 1, 0, beside) == 0
        assert lib.aclrtValueWait(value, 2, equal, beside) == 0
        stream.wait(other)
    for _ in range(2):
        graph.launch(stream)
    stream.synchronize()
    assert content(memory)[0] == 2


def test_copies_read_their_memory_at_each_launch(stream, memory) -> None:
    with rt.PinnedBuffer(64) as source:
        view = np.asarray(source)
        with stream.capture() as graph:
            copy_async(memory, source, stream)
        for value in (3, 4):
            view[:] = value
            graph.launch(stream)
            stream.synchronize()
            assert content(memory) == [value] * 64


def test_an_empty_capture_is_a_graph(stream) -> None:
    with stream.capture() as graph:
        pass
    graph.launch(stream)
    stream.synchronize()
    assert all(task.type == MdlRITaskType.DEFAULT for task in graph.tasks)


def test_a_graph_cannot_be_used_before_its_capture_has_ended(stream, other) -> None:
    with stream.capture() as graph:
        assert graph.is_closed
        with pytest.raises(rt.ClosedError):
            graph.launch(other)
    assert not graph.is_closed


# --- what lives how long ---------------------------------------------------------------------------------------------


class Thing:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *_: object) -> None:
        self.calls += 1


def test_a_graph_keeps_functions_and_arguments_alive(stream) -> None:
    thing, argument = Thing(), Thing()
    references = weakref.ref(thing), weakref.ref(argument)
    with stream.capture() as graph:
        stream.launch_host_func(thing, argument)
    del thing, argument
    gc.collect()
    graph.launch(stream)
    stream.synchronize()
    assert references[0]() is not None
    assert references[0]().calls == 1
    graph.close()
    stream.synchronize()
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_an_execution_outlives_its_graph(stream, other) -> None:
    thing = Thing()
    with stream.capture() as graph:
        stream.launch_host_func(thing)
    with Latch(other):
        graph.launch(other)
        graph.close()
        gc.collect()
    other.synchronize()
    assert thing.calls == 1


def test_a_graph_that_refers_to_itself_is_collected(stream) -> None:
    def reference_to_graph() -> weakref.ref[rt.Graph]:
        with stream.capture() as graph:
            stream.launch_host_func(lambda: graph)
        return weakref.ref(graph)

    reference = reference_to_graph()
    gc.collect()
    assert reference() is None


def test_functions_outside_a_capture_run_once_while_another_stream_is_captured(stream, other) -> None:
    thing = Thing()
    reference = weakref.ref(thing)
    with stream.capture(mode="relaxed") as graph:
        other.launch_host_func(thing)
        other.synchronize()
        assert thing.calls == 1
        del thing
        gc.collect()
        assert reference() is None
    graph.close()


def test_a_function_that_fails_is_reported_at_each_launch(stream, monkeypatch) -> None:
    reported: list[object] = []
    monkeypatch.setattr(rt.callback, "on_error", lambda error, function: reported.append(str(error)))
    monkeypatch.setattr("sys.unraisablehook", lambda _: None)

    def fail() -> None:
        raise ValueError("no")

    with stream.capture() as graph:
        stream.launch_host_func(fail)
    graph.launch(stream)
    graph.launch(stream)
    stream.synchronize()
    assert reported == ["no", "no"]


def test_a_stream_that_is_discarded_records_nothing_in_a_capture_of_its_handle(ffi, stream, memory) -> None:
    on, graph = ffi.cast("aclrtStream", stream.handle), ffi.new("aclmdlRI *")
    source = rt.PinnedBuffer(64)
    assert lib.aclmdlRICaptureBegin(on, lib.ACL_MODEL_RI_CAPTURE_MODE_RELAXED) == 0
    copy_async(memory, source, Stream.from_handle(stream.handle))
    gc.collect()
    assert lib.aclmdlRICaptureEnd(on, graph) == 0
    hidden, number = ffi.new("aclrtStream *"), ffi.new("uint32_t *", 1)
    assert lib.aclmdlRIGetStreams(graph[0], hidden, number) == 0
    tasks, number[0] = ffi.new("aclmdlRITask[8]"), 8
    assert lib.aclmdlRIGetTasksByStream(hidden[0], tasks, number) == 0
    types = []
    for task in tasks[0 : number[0]]:
        out = ffi.new("aclmdlRITaskType *")
        assert lib.aclmdlRITaskGetType(task, out) == 0
        types.append(MdlRITaskType(out[0]))
    assert MdlRITaskType.EVENT_RECORD not in types
    assert lib.aclmdlRIDestroy(graph[0]) == 0


# --- captures that the C function has begun --------------------------------------------------------------------------


@contextmanager
def captured_in_c(ffi: Any, stream: Stream, graph: Any) -> Iterator[None]:
    on = ffi.cast("aclrtStream", stream.handle)
    assert lib.aclmdlRICaptureBegin(on, lib.ACL_MODEL_RI_CAPTURE_MODE_RELAXED) == 0
    yield
    assert lib.aclmdlRICaptureEnd(on, graph) == 0


def test_what_a_graph_of_the_c_function_uses_lives_until_it_is_destroyed(ffi, stream, other, memory) -> None:
    thing, source, graph = Thing(), rt.PinnedBuffer(64), ffi.new("aclmdlRI *")
    np.asarray(source)[:] = 7
    references = weakref.ref(thing), weakref.ref(source)
    with captured_in_c(ffi, stream, graph):
        copy_async(memory, source, stream)
        other.wait(stream)
        other.launch_host_func(thing)
        stream.wait(other)
    del thing, source
    for launches in (1, 2):
        fill(memory, 0)
        assert lib.aclmdlRIExecuteAsync(graph[0], ffi.cast("aclrtStream", stream.handle)) == 0
        stream.synchronize()
        gc.collect()
        assert content(memory) == [7] * 64
        assert references[0]().calls == launches
    assert lib.aclmdlRIDestroy(graph[0]) == 0
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_what_a_capture_of_the_c_function_used_goes_with_it_when_it_fails(ffi, stream, other) -> None:
    thing, graph = Thing(), ffi.new("aclmdlRI *")
    reference, on = weakref.ref(thing), ffi.cast("aclrtStream", stream.handle)
    assert lib.aclmdlRICaptureBegin(on, lib.ACL_MODEL_RI_CAPTURE_MODE_RELAXED) == 0
    stream.launch_host_func(thing)
    other.wait(stream)  # and is not joined
    del thing
    gc.collect()
    assert reference() is not None
    assert lib.aclmdlRICaptureEnd(on, graph) != 0
    gc.collect()
    assert reference() is None


# --- captures that fail ----------------------------------------------------------------------------------------------


def test_a_stream_that_is_not_joined_is_named(stream, other) -> None:
    def fork_without_a_join() -> None:
        with stream.capture():
            other.wait(stream)
            other.launch_host_func(print)

    with pytest.raises(CaptureError, match=rf"\bstream {other.id}\b") as raised:
        fork_without_a_join()
    assert raised.value.code == lib.ACL_ERROR_RT_STREAM_UNJOINED
    stream.synchronize()  # both are as before
    other.synchronize()


def test_a_broken_capture_reports_which_call_broke_it_and_where(stream, other) -> None:
    def wait_across_captures() -> None:
        relaxed = {"mode": "relaxed"}
        with stream.capture(**relaxed), pytest.raises(CaptureError), other.capture(**relaxed), suppress(rt.AclError):
            other.wait(stream)  # breaks both

    with pytest.raises(CaptureError, match=r"test_graph_facade\.py:\d+ in wait_across_captures") as raised:
        wait_across_captures()
    assert raised.value.failures[0].error.function == "aclrtStreamWaitEvent"
    assert raised.value.code == lib.ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED


def test_a_refused_call_does_not_break_the_capture(stream, memory) -> None:
    with stream.capture() as graph:
        with pytest.raises(rt.AclError):
            fill(memory, 1)
        with pytest.raises(rt.AclError):
            stream.synchronize()
    graph.launch(stream)
    stream.synchronize()


def test_an_exception_in_the_block_passes_and_ends_the_capture(stream) -> None:
    graphs: list[rt.Graph] = []

    def fail() -> None:
        with stream.capture() as graph:
            graphs.append(graph)
            stream.launch_host_func(print)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert graphs[0].is_closed
    stream.synchronize()
    with stream.capture():
        pass


def test_a_capture_that_is_dropped_is_given_up(stream, memory) -> None:
    block = stream.capture()
    graph = block.__enter__()
    kept = weakref.ref(graph)
    rt.fill_async(memory, 1, stream)
    assert lib.ascend_rt_captured_graph(stream._handle)
    del block, graph
    gc.collect()
    assert not lib.ascend_rt_captured_graph(stream._handle)
    assert kept() is None
    assert not captures.active


def test_a_block_is_entered_once_and_ended_once(stream) -> None:
    block = stream.capture()
    with pytest.raises(RuntimeError, match="not entered"):
        block.__exit__(None, None, None)
    with block as graph, pytest.raises(RuntimeError, match="entered before"):
        block.__enter__()
    with pytest.raises(RuntimeError, match="has ended"):
        block.__exit__(None, None, None)
    graph.close()


def test_a_capture_of_a_stream_that_the_block_closes_ends_with_an_error(other) -> None:
    stream = Stream()
    with pytest.raises(rt.AclError), stream.capture():
        stream.close()
    assert not captures.active


def test_captures_do_not_nest_on_one_stream(stream) -> None:
    with stream.capture() as graph:
        with pytest.raises(rt.AclError) as raised, stream.capture():
            pass
        assert raised.value.code == lib.ACL_ERROR_RT_STREAM_CAPTURED
    graph.close()


def test_an_unknown_mode_is_refused(stream) -> None:
    with pytest.raises(ValueError, match="global, thread_local, relaxed"), stream.capture(mode="strict"):
        pass


@pytest.mark.parametrize(("mode", "refused"), [("global", True), ("thread_local", False), ("relaxed", False)])
def test_whose_synchronous_calls_a_mode_refuses(stream, memory, device, mode, refused) -> None:
    failures: list[BaseException] = []

    def use() -> None:
        device.set_current()
        try:
            fill(memory, 1)
        except rt.AclError as error:
            failures.append(error)

    with stream.capture(mode=mode):
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
    assert bool(failures) == refused


def test_the_default_stream_is_not_captured(device) -> None:
    with pytest.raises(rt.AclError), Stream.default().capture():
        pass


# --- information about graphs -----------------------------------------------------------------------------------------


def test_names_and_numbers(stream) -> None:
    with stream.capture() as graph:
        pass
    with stream.capture() as second:
        pass
    assert graph.name == ""
    graph.name = "Schritt ä"
    assert graph.name == "Schritt ä"
    assert graph.id != second.id


def test_tasks_report_their_types_and_numbers(stream, other) -> None:
    with stream.capture() as graph:
        other.wait(stream)
        other.launch_host_func(print)
        stream.wait(other)
    types = [task.type for task in graph.tasks]
    assert types.count(MdlRITaskType.EVENT_RECORD) == 2
    assert types.count(MdlRITaskType.EVENT_WAIT) == 2
    numbers = [task.sequence_id for task in graph.tasks if task.stream == 0]
    assert numbers == sorted(set(numbers))
    assert graph.tasks == graph.tasks
    assert len(set(graph.tasks)) == len(graph.tasks)


def test_json_and_dot(stream, other) -> None:
    with stream.capture() as graph:
        stream.launch_host_func(print)
        other.wait(stream)
        other.launch_host_func(print)
        stream.wait(other)
    events = json.loads(graph.to_json())
    assert [event["name"] for event in events].count("HOST_FUNC") == 2
    assert len(graph.to_json(verbose=True)) >= len(graph.to_json())
    lines = graph.to_dot().splitlines()
    assert lines[0].startswith("digraph")
    assert sum("HOST_FUNC" in line for line in lines) == 2
    assert sum("->" in line for line in lines) >= len(events) - 2


def test_tasks_of_a_closed_graph(stream) -> None:
    with stream.capture() as graph:
        stream.launch_host_func(print)
    task = graph.tasks[0]
    graph.close()
    graph.close()
    with pytest.raises(rt.ClosedError):
        _ = task.type
    with pytest.raises(rt.ClosedError):
        _ = graph.tasks


# --- changes ---------------------------------------------------------------------------------------------------------


@pytest.mark.simulator("internals", "whether a device keeps its queues in software is its own")
def test_changes_need_queues_in_software(stream) -> None:
    with stream.capture() as graph:
        stream.launch_host_func(print)
    with pytest.raises(rt.NotSupported):
        graph.update()


def test_a_task_of_another_graph_is_refused(stream) -> None:
    with stream.capture() as graph:
        stream.launch_host_func(print)
    with stream.capture() as second:
        pass
    with pytest.raises(ValueError, match="another graph"):
        second.update({graph.tasks[0]: None})


@pytest.mark.simulator("internals", "whether a device keeps its queues in software is its own")
def test_changes(child) -> None:
    reported = child(
        """
        import numpy as np
        import ascend_rt as rt
        from ascend_rt import Buffer, Device, Stream, fill
        from ascend_rt.graph import ValueWrite
        Device(0).set_current()
        stream, memory = Stream(), Buffer(64)
        fill(memory, 0)
        write = ffi.cast("void *", memory.handle)
        with stream.capture() as graph:
            assert lib.aclrtValueWrite(write, 5, 0, ffi.cast("aclrtStream", stream.handle)) == 0

        def run():
            fill(memory, 0)
            graph.launch(stream)
            stream.synchronize()
            out = np.empty(64, np.uint8)
            rt.copy(out, memory)
            return int(out[0])

        (task,) = [task for task in graph.tasks if task.type == 5]
        seen = [run()]
        graph.update({task: ValueWrite(memory, 9)})
        seen.append(run())
        graph.update({task: None})
        seen.append(run())
        graph.update()
        seen.append(run())
        reported(seen)
        """,
        ASCEND_RT_SIM_SOFTWARE_QUEUES=1,
    )
    assert reported == [5, 9, 0, 0]


@pytest.mark.simulator("internals", "whether a device keeps its queues in software is its own")
def test_what_was_replaced_is_released_when_no_execution_can_use_it(child) -> None:
    reported = child(
        """
        import gc, weakref
        from ascend_rt import Buffer, Device, Stream
        from ascend_rt.errors import AclError
        from ascend_rt.graph import ValueWrite
        from ascend_rt.testing import Latch
        Device(0).set_current()
        stream, memory = Stream(), Buffer(64)
        kept, place = [], ffi.cast("void *", memory.handle)

        def operand():
            buffer = Buffer(64)
            kept.append(weakref.ref(buffer))
            return ValueWrite(buffer, 7)

        def alive():
            gc.collect()
            return [reference() is not None for reference in kept]

        with stream.capture() as graph:
            assert lib.aclrtValueWrite(place, 5, 0, ffi.cast("aclrtStream", stream.handle)) == 0
        (task,) = [task for task in graph.tasks if task.type == 5]
        graph.update({task: operand()})
        graph.update({task: operand()})
        report_of = {"never launched": alive()}
        with Latch(stream):
            graph.launch(stream)
            try:
                graph.update({task: operand()})
            except AclError as error:
                report_of["code"] = error.code
            report_of["launched"] = alive()
        stream.synchronize()
        report_of["not updated"] = alive()
        graph.update()
        report_of["updated"] = alive()
        graph.update({task: None})
        report_of["disabled"] = alive()
        graph.update({task: operand()})
        graph.launch(stream)
        graph.close()
        stream.synchronize()
        report_of["closed"] = alive()
        reported(report_of)
        """,
        ASCEND_RT_SIM_SOFTWARE_QUEUES=1,
    )
    assert reported == {
        "never launched": [False, True],
        "code": 107040,
        "launched": [False, True, True],
        "not updated": [False, True, True],
        "updated": [False, False, True],
        "disabled": [False, False, False],
        "closed": [False, False, False, False],
    }
