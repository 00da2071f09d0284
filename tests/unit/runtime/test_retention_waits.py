# SPDX-License-Identifier: Apache-2.0
"""Objects that a stream has waited for are released when the wait is known to be complete, and not before."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from support.retention import alive, fill_and_forget

from ascend_rt import Buffer, Device, Event, Stream, ffi, fill_async, sim, supports
from ascend_rt import lib as raw
from ascend_rt import pyacl as acl
from ascend_rt._native import handles
from ascend_rt._native.handles import Batch, release, release_synchronized
from ascend_rt.errors import TaskFailed
from ascend_rt.testing import Latch


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
    before = handles.abort_or_failure_epoch()
    getattr(raw, function)(*(ffi.NULL if argument is None else argument for argument in arguments))
    raw.aclGetRecentErrMsg()
    assert handles.abort_or_failure_epoch() == before + 1


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


def test_a_wait_is_for_the_record_of_its_time(stream: Stream, other: Stream) -> None:
    event = stream.record()
    other.wait(event)
    with Latch(stream):
        kept = fill_and_forget(stream)
        event.record(stream)
        other.synchronize()
        assert alive(kept) == [kept]


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


ABORT = """if True:
    import gc, threading, weakref
    from contextlib import suppress
    from ascend_rt import Buffer, Device, Event, Stream, StreamAborted, Timeout, fill_async
    from ascend_rt._native import handles
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
    while handles.abort_or_failure_epoch() < 2**64 - 1 or ({completes_events} and not event.is_done):
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
    count, event = handles.abort_or_failure_epoch(), Event()
    uses = [threading.Event() for _ in range(5)]  # any objects
    kept = [weakref.ref(used) for used in uses]
    oldest, complete, before_it, failed, newest = batches = [Batch() for _ in uses]
    for batch in batches:
        batch.objects.append((uses.pop(0),))
    newest.objects += [(complete, count, event), (failed, count + 1, event)]
    complete.objects.append((before_it, count, event))  # another stream's, which was not synchronized
    newest.previous, complete.previous = oldest, newest  # in a circle, as streams that wait for each other
    for function in (release, release_synchronized):
        with pytest.raises(TypeError, match="expected a Batch or None"):
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
            assert lib.aclrtSynchronizeStream(last._handle) == 0  # unknown to the package
            assert done.is_done
            assert alive(kept, behind) == [behind]


def test_a_closed_event_of_a_busy_stream_leaves_it_to_a_synchronization(
    stream: Stream, other: Stream, lib: Any
) -> None:
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


LOST: dict[str, Callable[[Event, Stream], object]] = {
    "closed": lambda event, third: event.close(),
    "recorded again": lambda event, third: event.record(third),
    "recorded again behind work": lambda event, third: (fill_and_forget(third), event.record(third)),
}


@pytest.mark.parametrize("lose", LOST.values(), ids=LOST)
def test_a_query_asks_the_stream_if_the_event_is_lost(
    lose: Callable[[Event, Stream], object], stream: Stream, other: Stream, lib: Any
) -> None:
    third = Stream()
    with Latch(stream):
        kept = fill_and_forget(stream)
        event = stream.record()
        other.wait(event)
        lose(event, third)
        assert not other.is_done
        assert alive(kept) == [kept]
    for asked in (stream, other):
        assert lib.aclrtSynchronizeStream(asked._handle) == 0  # unknown to the package
    assert other.is_done
    assert alive(kept) == []


def test_an_event_that_is_recorded_again_on_its_stream_reports_when_that_is_complete(
    stream: Stream, other: Stream, lib: Any
) -> None:
    kept = fill_and_forget(stream)
    event = stream.record()
    other.wait(event)
    again = fill_and_forget(stream)
    event.record(stream)
    with Latch(stream):
        behind = fill_and_forget(stream)
        assert lib.aclrtSynchronizeEvent(event._handle) == 0  # unknown to the package
        assert lib.aclrtSynchronizeStream(other._handle) == 0
        assert other.is_done
        assert alive(kept, again, behind) == [behind]


def test_an_event_of_the_waiting_stream_itself_ends_the_search(stream: Stream, other: Stream) -> None:
    kept = fill_and_forget(stream)
    event = stream.record()
    other.wait(event)
    behind = fill_and_forget(other)
    event.record(other)  # its completion releases what has kept the wait for its earlier record
    event.synchronize()
    assert alive(behind) == []
    stream.synchronize()
    other.synchronize()
    assert alive(kept) == []


def test_streams_that_have_waited_for_closed_events_of_each_other(stream: Stream, other: Stream, lib: Any) -> None:
    kept = []
    for _ in range(1_000):
        kept.append(fill_and_forget(stream))
        with stream.record() as event:
            other.wait(event)
        stream, other = other, stream
    for asked in (stream, other):
        assert lib.aclrtSynchronizeStream(asked._handle) == 0
    assert stream.is_done
    assert alive(*kept) == []
