# SPDX-License-Identifier: Apache-2.0
"""Objects that the tasks of a capture use live as long as the graph and its executions."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from support.retention import alive, fill_and_forget

from ascend_rt import Buffer, Event, PinnedBuffer, Stream, copy_async, fill_async
from ascend_rt._native import handles
from ascend_rt._runtime import captures
from ascend_rt.errors import InvalidArgument
from ascend_rt.testing import Latch


def test_a_graph_that_is_closed_while_it_is_launched_keeps_what_the_execution_uses(stream: Stream, after: Any) -> None:
    memory = Buffer(64)
    kept = weakref.ref(memory)
    with stream.capture() as graph:
        fill_async(memory, 1, stream)
    del memory
    with Latch(stream):
        after("aclmdlRIExecuteAsync", graph.close)
        graph.launch(stream)
        assert alive(kept) == [kept]
    stream.synchronize()
    assert alive(kept) == []


@pytest.mark.parametrize("begins", [False, True], ids=["ends", "begins"])
def test_a_graph_keeps_what_a_task_uses_although_its_capture_begins_or_ends_meanwhile(
    begins: bool, stream: Stream, lib: Any, ffi: Any, while_called: Any
) -> None:
    graph = ffi.new("aclmdlRI *")
    called: list[int] = []

    def begin() -> None:
        assert lib.aclmdlRICaptureBegin(stream._handle, lib.ACL_MODEL_RI_CAPTURE_MODE_RELAXED) == 0

    def end() -> None:
        assert lib.aclmdlRICaptureEnd(stream._handle, graph) == 0

    def nothing() -> None:
        pass

    def in_capture(function: str, submit: Callable[[], Any]) -> Any:
        if begins:
            while_called(function, begin, nothing)
        else:
            begin()
            while_called(function, nothing, end)
        result = submit()
        if begins:
            end()
        stream.synchronize()
        return result

    kept = in_capture("aclrtMemsetAsync", lambda: fill_and_forget(stream))
    assert alive(kept) == [kept]
    assert lib.aclmdlRIDestroy(graph[0]) == 0
    stream.synchronize()
    assert alive(kept) == []

    in_capture("aclrtLaunchHostFunc", lambda: stream.launch_host_func(called.append, 1))
    gc.collect()
    for _ in range(2):
        assert lib.aclmdlRIExecuteAsync(graph[0], stream._handle) == 0
    stream.synchronize()
    assert called == [1, 1]
    assert not handles.pending
    assert lib.aclmdlRIDestroy(graph[0]) == 0


def test_a_task_whose_graph_is_not_known_is_kept_by_its_stream(
    stream: Stream, lib: Any, ffi: Any, after: Any, request: pytest.FixtureRequest
) -> None:
    def begin() -> None:
        assert lib.aclmdlRICaptureBegin(stream._handle, lib.ACL_MODEL_RI_CAPTURE_MODE_RELAXED) == 0
        handles.note_graphs({})

    request.addfinalizer(lambda: handles.note_graphs(captures.graphs))
    memory = Buffer(64)
    kept = weakref.ref(memory)
    with Latch(stream):
        fill_and_forget(stream)
        after("aclrtMemsetAsync", begin)
        with pytest.raises(KeyError):
            fill_async(memory, 1, stream)
        del memory
        assert lib.aclmdlRICaptureEnd(stream._handle, graph := ffi.new("aclmdlRI *")) == 0
        assert alive(kept) == [kept]
    assert lib.aclmdlRIDestroy(graph[0]) == 0
    stream.synchronize()
    assert alive(kept) == []


def test_a_record_that_a_capture_takes_lets_nothing_go(
    stream: Stream, other: Stream, lib: Any, ffi: Any, while_called: Any
) -> None:
    graph = ffi.new("aclmdlRI *")

    def begin() -> None:
        assert lib.aclmdlRICaptureBegin(stream._handle, lib.ACL_MODEL_RI_CAPTURE_MODE_RELAXED) == 0

    with Latch(stream):
        kept = fill_and_forget(stream)
        event = Event()
        while_called("aclrtRecordEvent", begin, lambda: None)
        event.record(stream)
        assert lib.aclmdlRICaptureEnd(stream._handle, graph) == 0
        assert event.is_done
        other.wait(event)
        other.synchronize()
        assert alive(kept) == [kept]
    assert lib.aclmdlRIDestroy(graph[0]) == 0
    stream.synchronize()
    assert alive(kept) == []


def test_what_another_thread_captures_before_the_facade_watches_is_kept(stream: Stream, after: Any) -> None:
    kept: list[weakref.ref[Buffer]] = []
    after("aclmdlRICaptureBegin", lambda: kept.append(fill_and_forget(stream)))
    with stream.capture() as graph:
        kept.append(fill_and_forget(stream))
    stream.synchronize()
    assert alive(*kept) == kept
    graph.close()
    assert alive(*kept) == []


def test_a_task_of_a_capture_is_enqueued_once(stream: Stream) -> None:
    called: list[int] = []
    with stream.capture() as graph:
        stream.launch_host_func(called.append, 1)
        with Buffer(64) as memory, pytest.raises(InvalidArgument):
            copy_async(memory, PinnedBuffer(128), stream)
    assert not handles.pending
    for _ in range(2):
        graph.launch(stream)
    stream.synchronize()
    assert called == [1, 1]


def test_a_graph_that_uses_nothing_leaves_nothing_with_its_stream(stream: Stream) -> None:
    with stream.capture() as graph:
        stream.record()
    with Latch(stream):
        before = len(stream._retention)
        graph.launch(stream)
        assert len(stream._retention) == before
