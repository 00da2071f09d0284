# SPDX-License-Identifier: Apache-2.0
"""Stream.capture and Graph: what they keep alive, how captures fail, and what a graph tells of itself."""

from __future__ import annotations

import gc
import json
import weakref
from typing import Any

import pytest

from ascend_rt import AclError, Buffer, ClosedError, Graph, PinnedBuffer, Stream, copy_async
from ascend_rt.enums import MdlRICaptureMode, MdlRITaskType
from ascend_rt.testing import Latch


class Tell:
    """A function that can be weakly referenced."""

    def __init__(self, told: list[str], text: str) -> None:
        self.told, self.text = told, text

    def __call__(self) -> None:
        self.told.append(self.text)


def test_a_function_runs_in_each_launch_and_lives_as_long_as_its_graph(stream: Any) -> None:
    told: list[str] = []
    tell = Tell(told, "graph")
    alive = weakref.ref(tell)
    with stream.capture() as graph:
        stream.launch_host_func(tell)
    del tell
    for _ in range(3):
        graph.launch(stream)
        gc.collect()
        stream.synchronize()
    assert told == ["graph"] * 3
    assert alive() is not None
    graph.close()
    del graph
    gc.collect()
    assert alive() is None


def test_a_closed_graph_keeps_what_its_launches_use(stream: Any) -> None:
    told: list[str] = []
    with stream.capture() as graph:
        stream.launch_host_func(Tell(told, "graph"))
    with Latch(stream):
        graph.launch(stream)
        graph.close()
        del graph
        gc.collect()
    stream.synchronize()
    assert told == ["graph"]


def test_copies_keep_their_memory_and_read_it_in_each_launch(stream: Any) -> None:
    target = PinnedBuffer(64)
    with PinnedBuffer(64) as source, Buffer(64) as middle:
        with stream.capture() as graph:
            for _ in range(200):  # more than a batch of what is in flight
                copy_async(middle, source, stream)
            copy_async(target, middle, stream)
        for value in (1, 2, 3):
            memoryview(source)[:] = bytes([value]) * 64
            graph.launch(stream)
            stream.synchronize()
            assert bytes(memoryview(target)) == bytes([value]) * 64
        graph.close()
    target.close()


def test_streams_that_take_part_keep_with_the_graph(stream: Any, other: Any) -> None:
    told: list[str] = []
    with stream.capture(MdlRICaptureMode.RELAXED) as graph:
        other.wait(stream)
        other.launch_host_func(Tell(told, "other"))
        stream.wait(other)
        stream.launch_host_func(Tell(told, "stream"))
    gc.collect()
    for times in (1, 2):
        graph.launch(other)
        other.synchronize()
        assert told == ["other", "stream"] * times
    graph.close()


def test_an_unjoined_stream_is_named_when_the_capture_fails(stream: Any, other: Any) -> None:
    with pytest.raises(AclError, match=f"not joined: stream {other.id}"), stream.capture() as graph:
        other.wait(stream)
    assert graph.is_closed
    with pytest.raises(ClosedError):
        graph.launch(stream)
    with stream.capture() as again:
        pass
    again.close()


def test_an_exception_in_the_block_gives_the_capture_up(stream: Any) -> None:
    with pytest.raises(KeyError), stream.capture() as graph:
        raise KeyError
    assert graph.is_closed
    stream.synchronize()


def test_a_stream_that_is_captured_is_not_captured_again(stream: Any) -> None:
    with stream.capture() as graph:
        with pytest.raises(AclError, match="107027"), stream.capture():
            pass
        stream.record()
    graph.close()


def test_what_a_graph_tells_of_its_tasks(stream: Any, other: Any) -> None:
    with stream.capture() as graph:
        other.wait(stream)
        stream.wait(other)
    kinds = [task.type for task in graph.tasks if task.stream == 1]
    assert kinds == [MdlRITaskType.EVENT_WAIT, MdlRITaskType.EVENT_RESET, MdlRITaskType.EVENT_RECORD]
    assert {task.stream for task in graph.tasks} == {0, 1}
    assert len(json.loads(graph.to_json())) == len(graph.tasks) - 1  # without the runtime's own at the end
    dot = graph.to_dot()
    assert dot.startswith("digraph {")
    assert dot.count("->") == 2 * (3 - 1) + 2
    assert isinstance(graph.id, int)
    graph.close()


def test_a_graph_ends_with_a_with_block(stream: Stream) -> None:
    with stream.capture() as graph:
        pass
    with graph:
        graph.launch(stream)
    assert graph.is_closed
    assert isinstance(graph, Graph)
