# SPDX-License-Identifier: Apache-2.0
"""What copies use lives until they are done, whatever else happens at the same time, and not much longer."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ascend_rt import (
    Buffer,
    Context,
    Device,
    Event,
    PinnedBuffer,
    Stream,
    _handles,
    _in_flight,
    _lifecycle,
    cmo_prefetch,
    copy_2d_async,
    copy_async,
    copy_indirect,
    ffi,
    fill_async,
    sim,
    supports,
)
from ascend_rt import lib as raw
from ascend_rt import pyacl as acl
from ascend_rt._handles import Batch, release, release_synchronized
from ascend_rt.errors import AclError, AclWarning, ClosedError, OutOfMemory, TaskFailed, Timeout
from ascend_rt.testing import Latch


def fill_and_forget(stream: Stream) -> weakref.ref[Buffer]:
    buffer = Buffer(64)
    fill_async(buffer, 1, stream)
    return weakref.ref(buffer)


def alive(*references: weakref.ref[Buffer]) -> list[weakref.ref[Buffer]]:
    gc.collect()
    return [reference for reference in references if reference() is not None]


@pytest.fixture
def after(monkeypatch: pytest.MonkeyPatch, lib: Any) -> Callable[..., None]:
    """Return a function that does something once, right after the next call of a C function, as another thread may."""

    def do_after(name: str, action: Callable[[], object]) -> None:
        real = getattr(lib, name)

        def once(*arguments: Any) -> Any:
            monkeypatch.setattr(lib, name, real)
            result = real(*arguments)
            action()
            return result

        monkeypatch.setattr(lib, name, once)

    return do_after


def interrupt() -> None:
    raise KeyboardInterrupt


def test_an_interrupted_synchronization_drops_nothing(stream: Stream, after: Any) -> None:
    with Latch(stream):
        kept = fill_and_forget(stream)
        after("ascend_rt_synchronize_stream", interrupt)
        with pytest.raises(KeyboardInterrupt):
            stream.synchronize(timeout=0.001)
        assert alive(kept) == [kept]
    stream.synchronize()
    assert alive(kept) == []


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


@pytest.fixture
def while_called(monkeypatch: pytest.MonkeyPatch, lib: Any) -> Callable[..., None]:
    """Return a function that does things once before and after the next call of a C function, as another thread may."""

    def do_while(name: str, before: Callable[[], object], after: Callable[[], object]) -> None:
        real = getattr(lib, name)

        def once(*arguments: Any) -> Any:
            monkeypatch.setattr(lib, name, real)
            before()
            result = real(*arguments)
            after()
            return result

        monkeypatch.setattr(lib, name, once)

    return do_while


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
    assert not _handles.pending
    assert lib.aclmdlRIDestroy(graph[0]) == 0


def test_a_stream_whose_destruction_was_interrupted_is_not_destroyed_again(device: Device, after: Any) -> None:
    stream = Stream()
    after("aclrtDestroyStream", interrupt)
    with pytest.raises(KeyboardInterrupt):
        stream.close()
    assert stream.is_closed  # a new stream may have the handle


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


def test_a_stream_lets_go_of_what_the_streams_have_used_that_it_waited_for(stream: Stream, other: Stream) -> None:
    with Stream() as last:
        kept = fill_and_forget(stream)
        other.wait(stream)
        with Latch(stream):
            behind = fill_and_forget(stream)
            last.wait(other.record())
            last.synchronize()
            assert alive(kept, behind) == [behind]


DROPS: dict[str, Callable[[Stream], object]] = {
    "abort": Stream.abort,
    "force": lambda stream: stream.close(force=True),
    "raw": lambda stream: raw.aclrtStreamAbort(stream._handle),
    "pyacl": lambda stream: acl.rt.stream_abort(stream.handle),
}


@pytest.mark.parametrize("drop", DROPS.values(), ids=DROPS)
def test_a_wait_that_is_dropped_lets_nothing_go(drop: Callable[[Stream], object], stream: Stream) -> None:
    waiting = Stream()
    with Latch(stream):
        kept = fill_and_forget(stream)
        waiting.wait(stream.record())
        own = fill_and_forget(waiting)
        assert not drop(waiting)
        if waiting.is_closed or waiting.is_done:
            waiting.close()
        assert alive(kept, own) == [kept]
    stream.synchronize()
    assert alive(kept) == []


@pytest.mark.parametrize(
    ("function", "arguments"),
    {
        "aclmdlRIAbort": (None,),
        "aclrtDestroyContext": (None,),
        "aclrtDestroyStreamForce": (None,),
        "aclrtDeviceTaskAbort": (-1, 0),
        "aclrtPersistentTaskClean": (None,),
        "aclrtResetDevice": (-1,),
        "aclrtResetDeviceForce": (-1,),
        "aclrtStreamAbort": (None,),
        "aclrtStreamStop": (None,),
    }.items(),
)
def test_every_call_that_may_drop_work_is_counted(function: str, arguments: tuple[Any, ...], device: Device) -> None:
    if not supports(function):
        pytest.skip("the library does not have it")
    before = _handles.disruptions()
    getattr(raw, function)(*(ffi.NULL if argument is None else argument for argument in arguments))
    raw.aclGetRecentErrMsg()
    assert _handles.disruptions() == before + 1


@pytest.mark.simulator("faults")
def test_a_wait_that_fails_lets_nothing_go(stream: Stream, other: Stream) -> None:
    with Latch(stream):
        kept = fill_and_forget(stream)
        event = stream.record()
        sim.fail_task(507015, other)
        other.wait(event)
        behind = other.record()
        for synchronize in (behind.synchronize, other.synchronize):
            with pytest.raises(TaskFailed):
                synchronize()
        other.synchronize()
        assert other.is_done
        assert alive(kept) == [kept]
    stream.synchronize()
    assert alive(kept) == []


def recorded_by(way: str, event: Event) -> Event:
    return Event.open(event.export()) if way == "process" else Event.from_handle(event.handle)


@pytest.mark.parametrize("way", ["process", "library"])
def test_an_event_that_others_may_record_lets_nothing_go(way: str, stream: Stream, other: Stream) -> None:
    event = Event(ipc=way == "process")
    theirs = recorded_by(way, event)
    with Latch(stream):
        kept = fill_and_forget(stream)
        event.record(stream)
        theirs.record(other)  # the newest record, and complete
        other.wait(event)
        other.synchronize()
        event.synchronize()
        assert event.is_done
        assert alive(kept) == [kept]
        theirs.record(stream)
        event.record(other)
        theirs.synchronize()
        assert alive(kept) == [kept]
    stream.synchronize()
    assert alive(kept) == []


def test_an_event_that_two_threads_record_at_once_lets_nothing_go(stream: Stream, other: Stream, after: Any) -> None:
    event = Event()
    with Latch(stream):
        kept = fill_and_forget(stream)
        after("aclrtRecordEvent", lambda: event.record(other))
        event.record(stream)
        event.synchronize()  # the newest record is that on the other stream
        assert alive(kept) == [kept]
    stream.synchronize()
    assert alive(kept) == []


def test_a_record_that_began_before_another_threads_and_is_newer_lets_nothing_go(
    stream: Stream, other: Stream, monkeypatch: pytest.MonkeyPatch, lib: Any
) -> None:
    event, real = Event(), lib.aclrtRecordEvent

    def record_late(*arguments: Any) -> Any:
        monkeypatch.setattr(lib, "aclrtRecordEvent", real)
        event.record(stream)
        code = real(*arguments)
        event.synchronize()  # for the record on the other stream, which is complete but not noted
        return code

    with Latch(stream):
        kept = fill_and_forget(stream)
        monkeypatch.setattr(lib, "aclrtRecordEvent", record_late)
        event.record(other)
        assert alive(kept) == [kept]
    stream.synchronize()
    assert alive(kept) == []


def test_two_threads_that_record_an_event_on_the_same_stream_let_go(stream: Stream, after: Any) -> None:
    event = Event()
    kept = fill_and_forget(stream)
    after("aclrtRecordEvent", lambda: event.record(stream))
    event.record(stream)
    event.synchronize()
    assert alive(kept) == []


def test_a_record_that_fails_is_not_under_way(stream: Stream, other: Stream) -> None:
    event = Event()
    stream.close()
    with pytest.raises(ClosedError):
        event.record(stream)
    kept = fill_and_forget(other)
    event.record(other)
    event.synchronize()
    assert alive(kept) == []


def test_a_record_that_another_thread_is_about_to_note_lets_nothing_go(
    stream: Stream, other: Stream, after: Any
) -> None:
    event = Event()
    with Latch(stream):
        kept = fill_and_forget(stream)
        event.record(stream)
        after("aclrtRecordEvent", event.synchronize)  # it is for the new record, which is complete
        event.record(other)
        assert alive(kept) == [kept]
    stream.synchronize()
    assert alive(kept) == []


def test_a_wait_is_for_the_record_of_its_time(stream: Stream, other: Stream) -> None:
    event = stream.record()
    other.wait(event)
    with Latch(stream):
        kept = fill_and_forget(stream)
        event.record(stream)
        other.synchronize()
        assert alive(kept) == [kept]


def test_an_event_that_another_thread_records_meanwhile_lets_nothing_go(
    stream: Stream, other: Stream, after: Any
) -> None:
    with Latch(other):
        kept = fill_and_forget(other)
        event = other.record()
        after("ascend_rt_synchronize_event", lambda: event.record(other))
        with pytest.raises(Timeout):
            event.synchronize(timeout=0.001)
        event.record(stream)  # complete, and of another stream
        after("ascend_rt_event_status", lambda: event.record(other))
        assert event.is_done
        assert alive(kept) == [kept]
    other.synchronize()


def test_an_event_that_is_recorded_twice_meanwhile_lets_nothing_go(
    stream: Stream, other: Stream, while_called: Any
) -> None:
    event, waiting = Event(), Stream()

    def wait() -> None:
        waiting.wait(event)
        waiting.synchronize()

    asked: dict[str, Callable[[], object]] = {
        "ascend_rt_event_status": lambda: event.is_done,
        "ascend_rt_synchronize_event": event.synchronize,
        "aclrtStreamWaitEvent": wait,
    }
    for function, ask in asked.items():
        with Latch(stream):
            kept = fill_and_forget(stream)
            event.record(stream)
            # What is asked is about the complete record between two that release the same.
            while_called(function, lambda: event.record(other), lambda: event.record(stream))
            ask()
            assert alive(kept) == [kept]
        event.synchronize()
        assert alive(kept) == []


def test_an_event_that_stays_complete_lets_nothing_go(stream: Stream, other: Stream) -> None:
    event, waiting = Event(manual_reset=True), Stream()
    event.record(other)
    other.synchronize()
    with Latch(stream):
        kept = fill_and_forget(stream)
        event.record(stream)
        waiting.wait(event)  # the earlier record lets it pass
        waiting.synchronize()
        assert alive(kept) == [kept]
    stream.synchronize()
    assert alive(kept) == []


@pytest.mark.parametrize("moment", ["after the wait", "before the abort"])
def test_a_wait_that_another_thread_drops_lets_nothing_go(
    moment: str, stream: Stream, while_called: Any, after: Any
) -> None:
    waiting = Stream()
    with Latch(stream):
        kept = fill_and_forget(stream)
        event = stream.record()
        if moment == "after the wait":
            after("aclrtStreamWaitEvent", waiting.abort)
            waiting.wait(event)
        else:
            while_called("aclrtStreamAbort", lambda: waiting.wait(event), waiting.synchronize)
            waiting.abort()
        waiting.synchronize()
        assert alive(kept) == [kept]
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


ABORT = """if True:
    import gc, threading, weakref
    from contextlib import suppress
    from ascend_rt import Buffer, Device, Event, Stream, StreamAborted, Timeout, _handles, fill_async
    Device(0).set_current()
    stream, waiting, event = Stream(), Stream(), Event()
    entered, gate = threading.Event(), threading.Event()
    memory = Buffer(64)
    fill_async(memory, 1, stream)
    kept = weakref.ref(memory)
    del memory
    stream.launch_host_func(lambda: (entered.set(), gate.wait()))
    event.record(stream)
    waiting.wait(event)
    entered.wait()

    def abort():
        Device(0).set_current()
        stream.{abort}

    def ask(function):
        with suppress(StreamAborted, Timeout):  # which are answers, too
            function()
        gc.collect()
        assert kept() is not None

    thread = threading.Thread(target=abort)
    thread.start()
    while _handles.disruptions() < 2**64 - 1 or ({completes_events} and not event.is_done):
        pass  # until the abort is under way
    for function in (lambda: event.is_done, lambda: event.synchronize(timeout=0.01), lambda: waiting.is_done):
        ask(function)
    gate.set()
    thread.join()
    waiting.abort()  # the record that it waits for does not come any more
    gc.collect()
    assert kept() is None
"""


@pytest.mark.simulator("products")
@pytest.mark.parametrize("product", ["950", "910B"])
@pytest.mark.parametrize("abort", ["abort()", "close(force=True)"])
def test_what_an_abort_completes_lets_nothing_go_while_a_task_runs(abort: str, product: str, run: Any) -> None:
    code = ABORT.format(abort=abort, completes_events=product == "950")
    done = run("-c", code, ASCEND_RT_BACKEND="sim", ASCEND_RT_SIM_PRODUCT=product)
    assert done.returncode == 0, done.stderr


FOREIGN = """if True:
    import gc, weakref
    from ascend_rt import Buffer, Device, Stream, fill_async
    from ascend_rt.testing import Latch
    Device(1).set_current()
    waiting = Stream()
    Device(0).set_current()
    stream, memory = Stream(), Buffer(64)
    with Latch(stream):
        fill_async(memory, 1, stream)
        kept = weakref.ref(memory)
        del memory
        event = stream.record()
        with Device(1):
            waiting.wait(event)
            waiting.synchronize()
        gc.collect()
        assert kept() is not None
    stream.synchronize()
    gc.collect()
    assert kept() is None
"""


@pytest.mark.simulator("products")
def test_a_wait_that_the_product_takes_for_none_lets_nothing_go(run: Any) -> None:
    done = run("-c", FOREIGN, ASCEND_RT_BACKEND="sim", ASCEND_RT_SIM_PRODUCT="910", ASCEND_RT_SIM_DEVICES="2")
    assert done.returncode == 0, done.stderr


def test_streams_that_wait_for_each_other_many_times(stream: Stream, other: Stream) -> None:
    kept = fill_and_forget(stream)
    event, memory = Event(), Buffer(64)
    for _ in range(5_000):  # more than Python recurses
        event.record(stream)
        other.wait(event)
        stream, other = other, stream
        fill_async(memory, 0, stream)
    stream.synchronize()
    other.synchronize()
    assert alive(kept) == []


def test_a_synchronization_proves_the_waits_that_nothing_has_disturbed(device: Device) -> None:
    count, event = _handles.disruptions(), Event()
    uses = [threading.Event() for _ in range(5)]  # any objects
    kept = [weakref.ref(used) for used in uses]
    oldest, complete, before_it, failed, newest = batches = [Batch() for _ in uses]
    for batch in batches:
        batch.objects.append((uses.pop(0),))
    newest.objects += [(complete, count, event), (failed, count + 1, event)]
    complete.objects.append((before_it, count, event))  # of another stream, which was not synchronized
    newest.previous, complete.previous = oldest, newest  # in a circle, as streams that wait for each other
    for function in (release, release_synchronized):
        with pytest.raises(TypeError, match="a Batch or None is released"):
            function([newest])
        function(None)
    release(newest)
    assert [ref() is None for ref in kept] == [True, False, False, False, True]
    release_synchronized(newest)
    assert [ref() is None for ref in kept] == [True, True, False, False, True]
    for batch in (before_it, failed):
        release(batch)
    assert [ref() is None for ref in kept] == [True] * 5
    release(newest)  # and asks for nothing any more
    assert newest.objects == []


def test_what_was_waited_for_is_released_when_its_event_is_complete(stream: Stream, other: Stream, lib: Any) -> None:
    with Stream() as last:
        kept = fill_and_forget(stream)
        event = stream.record()
        other.wait(event)
        with Latch(stream):
            behind = fill_and_forget(stream)  # keeps the stream itself busy
            last.wait(other)
            done = last.record()
            assert lib.aclrtSynchronizeStream(last._handle) == 0  # of which the package does not know
            assert done.is_done
            assert alive(kept, behind) == [behind]


def test_an_event_that_cannot_be_asked_leaves_it_to_a_synchronization(stream: Stream, other: Stream, lib: Any) -> None:
    kept = fill_and_forget(stream)
    with stream.record() as event:
        other.wait(event)
    with Latch(stream):
        behind = fill_and_forget(stream)
        assert lib.aclrtSynchronizeStream(other._handle) == 0
        assert other.is_done
        other.record().synchronize()
        assert alive(kept, behind) == [kept, behind]
        other.synchronize()
        assert alive(kept, behind) == [behind]


def test_a_long_chain_of_batches_goes_without_recursion() -> None:
    last = _in_flight.Batch()
    oldest = threading.Event()  # any object
    kept = weakref.ref(oldest)
    last.objects.append((oldest,))
    del oldest
    for _ in range(500_000):  # which as many calls of a destructor would not survive
        new = _in_flight.Batch()
        new.objects.append((object(),))
        new.previous, last = last, new
    assert kept() is not None
    del last, new
    gc.collect()
    assert kept() is None


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


def test_null_is_the_default_stream_of_the_context_that_borrowed_it(device: Device) -> None:
    null = [Stream.from_handle(0)]
    with Latch(Stream.default()):
        kept = fill_and_forget(null[0])
        with Context(0) as elsewhere:
            assert not null[0].is_done
            with pytest.raises(Timeout):
                null[0].synchronize(timeout=0)
            null.clear()
            Device(0).synchronize()
            assert alive(kept) == [kept]
    elsewhere.close()
    device.synchronize()
    assert alive(kept) == []


def test_null_that_goes_in_a_thread_without_a_context(device: Device) -> None:
    null = [Stream.from_handle(0)]
    with Latch(Stream.default()):
        kept = fill_and_forget(null[0])
        thread = threading.Thread(target=null.clear)
        thread.start()
        thread.join()
        assert alive(kept) == [kept]
    device.synchronize()
    assert alive(kept) == []


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("borrows", [False, True])
def test_what_a_stream_uses_that_is_collected_as_a_cycle(borrows: bool, device: Device) -> None:
    owner = Stream()
    cycle: list[Any] = [Stream.from_handle(owner.handle) if borrows else owner]
    cycle.append(cycle)
    with Latch(owner):
        done = owner.record()
        kept = fill_and_forget(cycle[0])
        if not borrows:
            del owner
        del cycle
        assert alive(kept) == [kept]
        assert not done.is_done
    device.synchronize()
    assert alive(kept) == []


def test_a_garbage_collection_that_discards_a_stream_wherever_it_comes(device: Device, stream: Stream) -> None:
    kept: list[weakref.ref[Buffer]] = []

    def record_with_garbage() -> None:
        device.set_current()
        cycle: list[Any] = [Stream.from_handle(stream.handle)]
        cycle.append(cycle)
        kept.append(fill_and_forget(cycle[0]))
        end_batch, often = stream._in_flight.end_batch, gc.get_threshold()
        del cycle
        gc.set_threshold(1)  # the new batch is what makes Python collect
        end_batch()
        gc.set_threshold(*often)

    with Latch(stream):
        thread = threading.Thread(target=record_with_garbage, daemon=True)
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
        assert alive(*kept) == kept
        assert len(kept) == 1


def test_nothing_stays_of_streams_that_are_gone(device: Device) -> None:
    before = len(_in_flight._used)
    for end in (Stream.close, Stream.synchronize, Stream.abort, lambda stream: stream.close(force=True)):
        stream = Stream()
        fill_and_forget(stream)
        end(stream)
        del stream
    gc.collect()
    assert len(_in_flight._used) == before


def test_a_borrower_that_goes_in_a_thread_without_a_context(stream: Stream) -> None:
    with Latch(stream):
        borrowed = [Stream.from_handle(stream.handle)]
        kept = fill_and_forget(borrowed[0])
        thread = threading.Thread(target=borrowed.clear)
        thread.start()
        thread.join()
        assert alive(kept) == [kept]
    stream.synchronize()
    assert alive(kept) == []


@pytest.mark.simulator("deadly")
def test_a_borrower_that_goes_after_its_stream(device: Device, lib: Any) -> None:
    lent = Stream()
    borrowed = Stream.from_handle(lent.handle)
    latch = Latch(lent)
    kept = fill_and_forget(borrowed)
    latch.release()
    lib.aclrtDestroyStream(lent._handle)  # as another library does
    assert alive(kept) == [kept]
    del borrowed
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


def test_what_a_stream_uses_that_cannot_be_destroyed_is_kept(
    stream: Stream, lib: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = Stream()
    handle = failing._handle
    with Latch(failing):
        kept = fill_and_forget(failing)
        with monkeypatch.context() as patch:
            patch.setattr(lib, "aclrtDestroyStreamForce", lambda handle: 507899)
            with pytest.raises(AclError, match="507899"):
                failing.close(force=True)
        assert not failing.is_done  # still open
        assert alive(kept) == [kept]
    failing.record().synchronize()
    with monkeypatch.context() as patch:
        patch.setattr(lib, "aclrtDestroyStream", lambda handle: 507899)
        with pytest.warns(AclWarning, match="507899"):
            del failing
    assert lib.aclrtDestroyStream(handle) == 0
    assert alive(kept) == []


def test_what_a_running_task_uses_is_kept_while_its_stream_is_destroyed(stream: Stream, lib: Any) -> None:
    ending, entered, gate = Stream(), threading.Event(), threading.Event()
    handle = ending._handle

    def destroy() -> None:
        Device(0).set_current()
        ending.close(force=True)
        Device(0).reset()

    kept = fill_and_forget(ending)
    ending.launch_host_func(lambda: (entered.set(), gate.wait()))
    entered.wait()
    thread = threading.Thread(target=destroy)
    thread.start()
    try:
        while lib.ascend_rt_stream_status(handle) >= 0:  # the handle goes first
            time.sleep(0.001)
        with pytest.raises(OutOfMemory):
            Buffer(1 << 50)
        assert alive(kept) == [kept]
    finally:
        gate.set()
        thread.join()
    assert alive(kept) == []


@pytest.mark.simulator("alone", "a reset ends streams of a second device")
def test_what_a_task_uses_is_kept_while_its_device_is_reset(
    device: Device, lib: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, seen, called, gate = lib.aclrtResetDevice, [], [], threading.Event()
    Device(1).set_current()
    Device(1).reset(force=True)  # what other tests have left: the reset below is to be that of the last reference

    def reset(device_id: int) -> int:
        """Do what another thread may, while the tasks that it has submitted late are waited for."""
        stream.close()
        seen.append(alive(kept))
        gate.set()
        return real(device_id)

    with monkeypatch.context() as patch:
        patch.setattr(lib, "aclrtResetDevice", reset)
        Device(1).set_current()
        stream = Stream()
        stream.launch_host_func(gate.wait)  # an event that held it would end with the device, too
        kept = fill_and_forget(stream)
        stream.launch_host_func(called.append, 1)
        _lifecycle.reset_device(1)
    device.set_current()
    device.reset()  # which leaves the fixture's
    assert seen == [[kept]]
    assert called == [1]
    assert alive(kept) == []


def test_what_a_discarded_stream_uses_is_kept_until_it_is_done(stream: Stream) -> None:
    discarded = Stream()
    with Latch(discarded):
        kept = fill_and_forget(discarded)
        done = discarded.record()
        with pytest.warns(ResourceWarning, match="discarded"):
            del discarded
        assert alive(kept) == [kept]
    done.synchronize()
    assert alive(kept) == []
    Stream().close()  # which destroys the other
