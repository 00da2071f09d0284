# SPDX-License-Identifier: Apache-2.0
"""Memory and objects that tasks use live until the tasks are done: the rules of ``ascend_rt._runtime.retention``."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.retention import RULES, alive, fill_and_forget, interrupt

from ascend_rt import (
    Buffer,
    Context,
    Device,
    PinnedBuffer,
    Stream,
    cmo_prefetch,
    copy_2d_async,
    copy_async,
    copy_indirect,
    fill_async,
    lib,
    sim,
)
from ascend_rt._native.handles import Batch
from ascend_rt._runtime import captures, retention
from ascend_rt.errors import OutOfMemory, TaskFailed, Timeout
from ascend_rt.testing import Latch


class Situation:
    """A stream that has used memory, and has waited for two streams that have, which are busy with other work now."""

    def __init__(self, rule: str, there: Device) -> None:
        self.others = Stream(), Stream()
        self.used = [fill_and_forget(other) for other in self.others]
        self.events = [other.record() for other in self.others]
        there.set_current()
        self.stream = Stream()
        self.latches = [Latch(self.stream)] if rule in ("busy", "exit") else []
        for event in self.events:
            self.stream.wait(event)
        self.used.insert(0, fill_and_forget(self.stream))
        if not self.latches:
            assert lib.aclrtSynchronizeStream(self.stream._handle) == 0  # unknown to the package
        Device(0).set_current()
        self.events[1].close()
        self.latches += [Latch(other) for other in self.others]

    def fates(self) -> tuple[str, ...]:
        return tuple("kept" if alive(used) else "released" for used in self.used)

    def end(self) -> None:
        for latch in self.latches:
            latch.release()
        Device(0).synchronize()
        assert alive(*self.used) == []


def fail(stream: Stream) -> None:
    sim.fail_task(507015, stream)
    fill_and_forget(stream)
    with pytest.raises(TaskFailed):
        stream.synchronize()


def synchronize_device(stream: Stream) -> None:
    with pytest.raises(Timeout):  # the other streams are busy
        Device(0).synchronize(timeout=0.001)


def ask_in_vain(stream: Stream) -> None:
    assert not stream.is_done
    assert not stream.record().is_done
    with pytest.raises(Timeout):
        stream.synchronize(timeout=0.001)
    synchronize_device(stream)
    exhaust(Buffer)


HAPPENS: dict[str, Callable[[Stream], object]] = {
    "synchronize": Stream.synchronize,
    "failure": fail,
    "query": lambda stream: stream.is_done,
    "event": lambda stream: stream.record().synchronize(),
    "device": synchronize_device,
    "memory": lambda stream: exhaust(Buffer),
    "close": Stream.close,
    "discard": lambda stream: None,
    "abort": Stream.abort,
    "force": lambda stream: stream.close(force=True),
    "busy": ask_in_vain,
}


@pytest.mark.simulator("faults")
@pytest.mark.parametrize("rule", HAPPENS)
def test_what_is_released_is_what_the_table_says(rule: str, device: Device) -> None:
    it = Situation(rule, device)
    HAPPENS[rule](it.stream)
    if rule == "discard":
        del it.stream
    fates = it.fates()
    it.end()
    assert fates == RULES[rule]


@pytest.mark.simulator("alone", "a reset ends streams of a second device")
def test_what_a_reset_releases_is_what_the_table_says(device: Device) -> None:
    Device(1).set_current()
    Device(1).reset(force=True)  # left by other tests: the reset below must drop the last reference
    device.set_current()
    it = Situation("reset", Device(1))
    Device(1).reset()
    it.stream.close()
    fates = it.fates()
    it.end()
    assert fates == RULES["reset"]


def test_what_a_graph_has_is_kept_as_the_table_says(stream: Stream) -> None:
    with stream.capture() as graph:
        used = fill_and_forget(stream)
    stream.synchronize()
    assert ("kept" if alive(used) else "released") == RULES["graph"][0]
    graph.close()
    assert alive(used) == []


def test_what_is_pending_at_the_exit_is_left_to_the_process(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[object] = []
    it = Situation("exit", device)
    with monkeypatch.context() as patch:
        patch.setattr("ctypes.pythonapi", SimpleNamespace(Py_IncRef=lambda held: left.append(held.value)))
        retention.leak_at_exit()
    fates = it.fates()
    it.end()
    assert fates == RULES["exit"]
    for owner in (captures.graphs, *(stream._retention for stream in (it.stream, *it.others))):
        assert any(held is owner for held in left)


def test_every_rule_is_tested() -> None:
    assert set(RULES) == {*HAPPENS, "reset", "graph", "exit"}


def test_a_complete_event_lets_go_of_what_was_submitted_before(stream: Stream, other: Stream) -> None:
    with Latch(other):
        before = fill_and_forget(stream)
        done = stream.record()
        stream.wait(other.record())
        behind = fill_and_forget(stream)
        assert alive(before, behind) == [before, behind]
        done.synchronize()
        assert alive(before, behind) == [behind]
    stream.record().synchronize()
    assert alive(behind) == []


def test_a_query_that_finds_an_event_complete_lets_go(stream: Stream) -> None:
    with Latch(stream):
        kept = fill_and_forget(stream)
        done = stream.record()
        assert not done.is_done
        assert alive(kept) == [kept]
    stream.record().synchronize()
    assert done.is_done
    assert alive(kept) == []


WAYS = {
    "query": lambda stream: stream.is_done,
    "another object of the stream": lambda stream: Stream.from_handle(stream.handle).synchronize(),
    "full memory": lambda stream: exhaust(Buffer),
    "full memory of the host": lambda stream: exhaust(PinnedBuffer),
}


def exhaust(kind: type[Buffer | PinnedBuffer]) -> None:
    with pytest.raises(OutOfMemory):
        kind(1 << 50)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_is_done_is_let_go(way: Callable[[Stream], object], stream: Stream, other: Stream) -> None:
    with Latch(other):
        pending = fill_and_forget(other)
        with Latch(stream):
            kept = fill_and_forget(stream)
            done = stream.record()
            assert not stream.is_done
            assert alive(kept) == [kept]
        done.synchronize()
        way(stream)
        assert alive(kept, pending) == [pending]


FAILING: dict[str, Callable[[Stream], object]] = {
    "synchronize": Stream.synchronize,
    "with a limit": lambda stream: stream.synchronize(timeout=60),
    "asyncio": lambda stream: asyncio.run(stream.done()),
    "device": lambda stream: Device(0).synchronize(),
}


@pytest.mark.simulator("faults")
@pytest.mark.parametrize("wait", FAILING.values(), ids=FAILING)
def test_a_synchronization_that_raises_lets_go(wait: Callable[[Stream], object], stream: Stream) -> None:
    with Latch(stream):
        sim.fail_task(507015, stream, nth=2)
        kept = [fill_and_forget(stream) for _ in range(3)]
    with pytest.raises(TaskFailed):
        wait(stream)
    assert alive(*kept) == []
    with Latch(stream):
        pending = fill_and_forget(stream)
        with pytest.raises(Timeout):
            stream.synchronize(timeout=0.01)
        assert alive(pending) == [pending]


@pytest.mark.parametrize("timeout", [None, 60])
def test_a_synchronized_device_lets_go(timeout: float | None, device: Device, stream: Stream, other: Stream) -> None:
    kept = [fill_and_forget(stream), fill_and_forget(other), fill_and_forget(device.default_stream)]
    with Context(0) as elsewhere, Latch(elsewhere.default_stream):
        kept.append(fill_and_forget(elsewhere.default_stream))
        device.set_current()
        device.synchronize(timeout)
        assert alive(*kept) == kept[3:]
        elsewhere.set_current()
    elsewhere.default_stream.synchronize()
    elsewhere.close()
    assert alive(*kept) == []


def test_the_default_stream_lets_go_whoever_synchronizes_it(device: Device) -> None:
    with Latch(Stream.default()):
        kept = [fill_and_forget(Stream.default()) for _ in range(5)]
        assert alive(*kept) == kept
    Stream.default().synchronize()
    assert alive(*kept) == []


def test_an_interrupted_synchronization_drops_nothing(stream: Stream, after: Any) -> None:
    with Latch(stream):
        kept = fill_and_forget(stream)
        after("aclrtSynchronizeStreamWithTimeout", interrupt)
        with pytest.raises(KeyboardInterrupt):
            stream.synchronize(timeout=0.001)
        assert alive(kept) == [kept]
    stream.synchronize()
    assert alive(kept) == []


def test_slices_go_at_once_and_their_memory_stays(stream: Stream) -> None:
    memory, sent = Buffer(64), PinnedBuffer(64)
    with Latch(stream):
        part, nested, sent_part = memory[:32], memory[:48][8:40], sent[:32]
        parts = [weakref.ref(each) for each in (part, nested, sent_part)]
        copy_async(part, sent_part, stream)
        copy_async(nested, sent_part, stream)
        fill_async(nested, 1, stream)
        del part, nested, sent_part
        assert alive(*parts) == []
        whole = [weakref.ref(memory), weakref.ref(sent)]
        del memory, sent
        assert alive(*whole) == whole
    stream.synchronize()
    assert alive(*whole) == []


def test_tasks_on_parts_of_one_memory_keep_it_once(stream: Stream) -> None:
    memory, sent = Buffer(64), PinnedBuffer(64)
    with Latch(stream):
        for _ in range(100):
            copy_async(memory[:32], sent[:32], stream)
        assert stream._retention.open is not None
        assert stream._retention.open.objects == [(memory, sent)]
    stream.synchronize()


SUBMISSIONS = {
    "aclrtMemcpyAsync": lambda to, stream: copy_async(to, PinnedBuffer(64)[:32], stream),
    "aclrtMemcpy2dAsync": lambda to, stream: copy_2d_async(to, PinnedBuffer(64), stream, width=8, height=8),
    "aclrtMemsetAsync": lambda to, stream: fill_async(to, 1, stream),
    "aclrtMemcpyAsyncWithOffset": lambda to, stream: copy_indirect(to, to, 8, stream),
    "aclrtCmoAsync": lambda to, stream: cmo_prefetch(to, stream),
}


@pytest.mark.parametrize(("function", "submit"), SUBMISSIONS.items(), ids=list(SUBMISSIONS))
def test_an_interrupted_submission_keeps_what_the_task_uses(
    function: str, submit: Callable[[Buffer, Stream], None], stream: Stream, after: Any
) -> None:
    addressed = Buffer(64)
    memory = Buffer.from_array(np.full(8, addressed.handle, np.uint64))
    kept = weakref.ref(memory)
    with Latch(stream):
        after(function, interrupt)
        with pytest.raises(KeyboardInterrupt):
            submit(memory, stream)
        del memory
        assert alive(kept) == [kept]
    stream.synchronize()
    assert alive(kept) == []


def test_a_blocked_stream_holds_no_other_back(stream: Stream, other: Stream) -> None:
    with Latch(stream):
        blocked = fill_and_forget(Stream.from_handle(stream.handle))
        with Latch(other):
            kept = fill_and_forget(Stream.from_handle(other.handle))
            done = other.record()
        done.synchronize()
        fill_and_forget(Stream.from_handle(stream.handle))
        assert alive(blocked, kept) == [blocked]


def test_a_long_chain_of_batches_goes_without_recursion() -> None:
    last = Batch()
    oldest = threading.Event()  # any object
    kept = weakref.ref(oldest)
    last.objects.append((oldest,))
    del oldest
    for _ in range(500_000):  # which as many calls of a destructor would not survive
        new = Batch()
        new.objects.append((object(),))
        new.previous, last = last, new
    assert kept() is not None
    del last, new
    gc.collect()
    assert kept() is None
