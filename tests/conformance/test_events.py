# SPDX-License-Identifier: Apache-2.0
"""Events through the facade: what is recorded, waited for, timed and reset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ascend_rt import Buffer, Event, PinnedBuffer, Stream, copy_async
from ascend_rt.enums import EventFlag
from ascend_rt.errors import AclError, ClosedError, InvalidArgument, InvalidHandle, NotSupported, Timeout
from ascend_rt.testing import Latch


def test_a_record_behind_busy_work_is_not_done_until_the_work_is(stream: Stream) -> None:
    with Latch(stream):
        event = stream.record()
        assert not event.is_done
        with pytest.raises(Timeout):
            event.synchronize(timeout=0.001)
    event.synchronize()
    assert event.is_done


def test_an_event_that_was_never_recorded_counts_as_complete(stream: Stream) -> None:
    event = Event()
    assert event.is_done
    event.synchronize()
    stream.wait(event)
    stream.synchronize(timeout=1)


def test_a_wait_is_bound_to_the_record_at_the_time_of_the_call(stream: Stream, other: Stream, device: Any) -> None:
    event = Event()
    with Stream() as third, Latch(third):
        event.record(stream)  # complete at once
        other.wait(event)
        event.record(third)  # a newer record, which cannot complete
        other.synchronize(timeout=5)  # waits for the first record only
        assert not event.is_done
    event.synchronize()


def test_recording_again_moves_the_event_to_the_newest_record(stream: Stream, other: Stream) -> None:
    event = Event()
    with Latch(stream):
        event.record(stream)
        assert not event.is_done
        event.record(other)
        event.synchronize(timeout=5)  # the older record is still pending, and no longer matters
        assert event.is_done


def test_destroying_an_event_does_not_release_those_who_wait_for_it(stream: Stream, other: Stream) -> None:
    with Latch(stream):
        event = stream.record()
        other.wait(event)
        event.close()
        assert not other.is_done
        with pytest.raises(Timeout):
            other.synchronize(timeout=0.001)
    other.synchronize()


def test_a_stream_waits_for_all_work_of_another(stream: Stream, other: Stream) -> None:
    with Latch(stream):
        other.wait(stream)
        assert not other.is_done
    other.synchronize()
    assert stream.is_done


def test_a_manual_reset_event_blocks_until_it_is_recorded(stream: Stream, other: Stream) -> None:
    gate = Event(manual_reset=True)
    for _ in range(2):
        stream.wait(gate)
        assert not stream.is_done
        gate.record(other)
        stream.synchronize()
        gate.reset(other)
        other.synchronize()


def test_other_kinds_cannot_be_reset(stream: Stream) -> None:
    with pytest.raises(NotSupported):
        Event().reset(stream)


def test_elapsed_time_follows_the_order_of_the_records(stream: Stream) -> None:
    start, end = Event(timing=True), Event(timing=True)
    start.record(stream)
    with PinnedBuffer(1 << 20) as host, Buffer(1 << 20) as memory:
        copy_async(memory, host, stream)
        end.record(stream)
        end.synchronize()
    assert start.elapsed_time(end) > 0
    assert end.elapsed_time(start) < 0
    assert start.elapsed_time(start) == 0
    assert start.timestamp_us <= end.timestamp_us


def test_elapsed_time_needs_time_records_and_completion(stream: Stream) -> None:
    start, end = Event(timing=True), Event(timing=True)
    with pytest.raises(ValueError, match="timing=True"):
        Event().elapsed_time(end)
    with pytest.raises(AclError, match="507000"):
        start.elapsed_time(end)
    start.record(stream)
    with Latch(stream):
        end.record(stream)
        with pytest.raises(InvalidArgument, match="107006"):
            start.elapsed_time(end)


@pytest.mark.parametrize("flags", [0, 0x40, 0x80, 0x11, 0x18, 0xFFFFFFFF])
def test_refused_flags(flags: int, device: Any) -> None:
    with pytest.raises(InvalidArgument):
        Event.with_flags(EventFlag(flags))


@pytest.mark.parametrize(
    ("flags", "ex", "cure"),
    [
        (0x40, False, "event flags 0x40: aclrtCreateEventExWithFlag creates IPC events"),
        (0x20, True, "event flags 0x20: aclrtCreateEventWithFlag creates such events"),
        (0x11, False, "event flags 0x11: 0x10, 0x20 and 0x40 stand alone"),
        (0x48, True, "event flags 0x48: 0x10, 0x20 and 0x40 stand alone"),
        (0x80, False, "event flags 0x80: pass a combination of 0x1, 0x2 and 0x8, or one of 0x10, 0x20 and 0x40 alone"),
    ],
)
@pytest.mark.simulator("internals")
def test_refused_flags_come_with_the_cure(flags: int, ex: bool, cure: str, device: Any) -> None:
    with pytest.raises(InvalidArgument, match=cure):
        Event.with_flags(EventFlag(flags), ex=ex)


def test_a_closed_event_says_so(stream: Stream) -> None:
    event = Event()
    event.close()
    event.close()
    assert event.is_closed
    for use in (lambda: event.record(stream), lambda: stream.wait(event), event.synchronize, lambda: event.handle):
        with pytest.raises(ClosedError, match="this event is closed"):
            use()
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        event.colour  # noqa: B018


@pytest.mark.simulator("deadly")
def test_a_borrowed_event_is_not_destroyed(stream: Stream) -> None:
    owner = Event()
    with Event.from_handle(owner.handle) as borrowed:
        borrowed.record(stream)
    owner.synchronize()
    destroyed = owner.handle
    owner.close()
    with pytest.raises(InvalidHandle):
        Event.from_handle(destroyed).synchronize()


def test_event_limit_is_reported_and_events_can_be_reused(device: Any, lib: Any, ffi: Any) -> None:
    available = ffi.new("uint32_t *")
    assert lib.aclrtGetEventAvailNum(available) == 0
    before = available[0]
    events = [Event(manual_reset=True) for _ in range(10)]
    assert lib.aclrtGetEventAvailNum(available) == 0
    assert available[0] == before - 10
    del events
    assert lib.aclrtGetEventAvailNum(available) == 0
    assert available[0] == before


def test_work_before_the_record_is_visible_after_the_wait(stream: Stream, other: Stream) -> None:
    n = 1 << 16
    with PinnedBuffer(n) as sent, PinnedBuffer(n) as received, Buffer(n) as memory:
        for value in range(20):
            sent[:] = value
            received[:] = 255
            copy_async(memory, sent, stream)
            other.wait(stream.record())
            copy_async(received, memory, other)
            other.synchronize()
            assert np.all(received == value)
