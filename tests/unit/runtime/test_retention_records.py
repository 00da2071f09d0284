# SPDX-License-Identifier: Apache-2.0
"""Objects that the record of an event releases, while other threads record the event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.retention import alive, fill_and_forget

from ascend_rt import Event, Stream, library
from ascend_rt.errors import ClosedError, Timeout
from ascend_rt.testing import Latch


def synchronizing(function: str) -> str:
    """Return the C function that a wait calls: on the vendor's library it waits by queries, which Ctrl-C ends."""
    return function if library().backend == "sim" else "aclrtQueryEventStatus"


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
    stream: Stream, other: Stream, while_called: Any
) -> None:
    event = Event()
    with Latch(stream):
        kept = fill_and_forget(stream)
        # The wait is for the record on the other stream, which is complete but not noted.
        while_called("aclrtRecordEvent", lambda: event.record(stream), event.synchronize)
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


def test_an_event_that_another_thread_records_meanwhile_lets_nothing_go(
    stream: Stream, other: Stream, after: Any
) -> None:
    with Latch(other):
        kept = fill_and_forget(other)
        event = other.record()
        after(synchronizing("aclrtSynchronizeEventWithTimeout"), lambda: event.record(other))
        with pytest.raises(Timeout):
            event.synchronize(timeout=0.001)
        event.record(stream)  # complete, and of another stream
        after("aclrtQueryEventStatus", lambda: event.record(other))
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

    asked: list[tuple[str, Callable[[], object]]] = [
        ("aclrtQueryEventStatus", lambda: event.is_done),
        ("aclrtStreamWaitEvent", wait),
    ]
    if library().backend == "sim":  # in one call; for the vendor's it asks first, and then waits for the later record
        asked.append(("aclrtSynchronizeEvent", event.synchronize))
    for function, ask in asked:
        with Latch(stream):
            kept = fill_and_forget(stream)
            event.record(stream)
            # The query is about the complete record between two that release the same.
            while_called(function, lambda: event.record(other), lambda: event.record(stream))
            ask()
            assert alive(kept) == [kept]
        event.synchronize()
        assert alive(kept) == []
