# SPDX-License-Identifier: Apache-2.0
"""Common behaviour of all objects of the facade: equality and representation."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.threads import in_thread

from ascend_rt import Buffer, Context, Device, Event, EventOptions, MemoryPool, Notify, Stream, StreamOptions, ffi
from ascend_rt.testing import Latch


@pytest.mark.parametrize("kind", [Stream, Event, Context])
def test_objects_of_one_handle_are_equal(kind: Any, device: Device) -> None:
    owner, another = kind(), kind()
    borrowed = kind.from_handle(owner.handle)
    assert owner == borrowed == owner
    assert hash(owner) == hash(borrowed)
    assert {owner: 1}[borrowed] == 1
    assert owner != another
    assert owner != owner.handle
    assert (owner == object()) is False
    for opened in (another, owner):
        opened.close()


def test_a_closed_object_equals_only_itself(device: Device) -> None:
    stream = Stream()
    borrowed, found = Stream.from_handle(stream.handle), {stream: 1}
    stream.close()
    assert stream == stream
    assert stream != borrowed
    assert found[stream] == 1  # a dictionary finds it still
    never_asked = Event()
    never_asked.close()
    assert {never_asked: 1}[never_asked] == 1


def test_different_kinds_are_never_equal(stream: Stream) -> None:
    as_event = Event.from_handle(stream.handle)
    assert as_event != stream


def test_default_streams_of_two_contexts_are_not_equal(device: Device) -> None:
    with Context(0) as elsewhere:
        ours, theirs = device.default_stream, elsewhere.default_stream
        assert ours != theirs
        assert Stream.from_handle(0) == Stream.default()
        inside = Stream.from_handle(0)
    assert Stream.from_handle(0) != inside
    elsewhere.close()


@pytest.mark.parametrize("kind", [Stream, Event, Context, Notify])
def test_an_object_that_was_not_created_equals_only_itself(kind: type[Any], stream: Stream) -> None:
    unborn = kind.__new__(kind)
    assert unborn == unborn
    assert unborn != stream
    assert stream != unborn
    assert len({unborn, stream}) == 2


def test_buffers_are_equal_only_to_themselves(device: Device) -> None:
    with Buffer(64) as memory:
        first, second = memory[:], memory[:]
        assert first != second
        assert len({memory, first, second}) == 3


def texts(stream: Stream, event: Event) -> tuple[str, str]:
    return repr(stream), repr(event)


def test_streams_and_events_report_their_device_number_and_state(stream: Stream, device: Device) -> None:
    event = Event()
    assert repr(event) == f"<ascend_rt.Event {event.handle:#x} on device 0, never recorded>"
    assert repr(stream) == f"<ascend_rt.Stream {stream.id} on device 0, idle>"
    with Latch(stream):
        event.record(stream)
        assert repr(stream) == f"<ascend_rt.Stream {stream.id} on device 0, busy>"
        assert repr(event) == f"<ascend_rt.Event {event.handle:#x} on device 0, pending>"
        assert repr(Stream.from_handle(stream.handle)) == f"<ascend_rt.Stream {stream.id} on device 0, busy, borrowed>"
    event.synchronize()
    assert repr(event) == f"<ascend_rt.Event {event.handle:#x} on device 0, complete>"
    event.close()
    assert repr(event) == "<ascend_rt.Event closed>"


def test_a_capture_is_reported_and_not_broken(stream: Stream) -> None:
    event = Event()
    with stream.capture():
        event.record(stream)
        assert repr(stream) == f"<ascend_rt.Stream {stream.id} on device 0, being captured>"
        assert repr(event).startswith(f"<ascend_rt.Event {event.handle:#x} on device 0")


def test_a_thread_without_a_context_gets_a_text_too(stream: Stream, lib: Any) -> None:
    event = stream.record()
    for text in in_thread(
        lambda: (*texts(stream, event), ffi.string(lib.aclGetRecentErrMsg() or ffi.new("char[]", 1)))
    ):
        assert text == b"" or re.fullmatch(r"<ascend_rt\.\w+ \w+ on device 0(, \w+)?>", text)


def test_other_objects_report_their_handle(device: Device) -> None:
    with Buffer(64) as memory, MemoryPool(device) as pool, Context(0) as context:
        assert repr(memory) == f"<ascend_rt.Buffer {memory.handle:#x} on device 0, 64 bytes>"
        assert repr(memory[8:16]) == f"<ascend_rt.Buffer {memory.handle + 8:#x}, 8 bytes, borrowed>"
        assert repr(pool) == f"<ascend_rt.MemoryPool {pool.handle:#x} on device 0>"
        assert repr(context) == f"<ascend_rt.Context {context.handle:#x} on device 0>"
    context.close()


def test_an_object_that_was_never_created_has_a_text() -> None:
    assert repr(Stream.__new__(Stream)) == "<ascend_rt.Stream without a handle>"


def test_options(device: Device) -> None:
    with Stream(StreamOptions(priority=3)) as stream:
        assert stream.priority == 3
    timed = EventOptions(timing=True)
    with Stream() as stream, Event(timed) as start, Event(timed) as end:
        stream.record(start)
        stream.record(end)
        end.synchronize()
        assert start.elapsed_time(end) >= 0


@pytest.mark.parametrize(
    ("kind", "options", "keywords"),
    [
        (Stream, 3, {}),
        (Stream, EventOptions(), {}),
        (Stream, StreamOptions(), {"priority": 3}),
        (Event, True, {}),
        (Event, EventOptions(), {"timing": True}),
    ],
    ids=str,
)
def test_wrong_options(kind: Any, options: Any, keywords: dict[str, Any], device: Device) -> None:
    with pytest.raises(TypeError, match=f"{kind.__name__}Options, or keywords"):
        kind(options, **keywords)
