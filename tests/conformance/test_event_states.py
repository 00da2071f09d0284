# SPDX-License-Identifier: Apache-2.0
"""Effects of aborts, other threads and the end of a stream on an event, and how long it keeps its hardware id."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from support.codes import INTERNAL, OK
from support.handles import raw

from ascend_rt import Stream
from ascend_rt.testing import Latch

DEFAULT, SYNC = 0xE, 0x1


class Events:
    """Raw events, by the call that makes them, and what they answer."""

    def __init__(self, lib: Any, ffi: Any) -> None:
        self.lib, self.ffi = lib, ffi
        self.made: list[Any] = []

    def make(self, flags: int, *, is_new: bool) -> Any:
        """Return an event of one of the two calls that take flags."""
        out = self.ffi.new("aclrtEvent *")
        create = self.lib.aclrtCreateEventExWithFlag if is_new else self.lib.aclrtCreateEventWithFlag
        assert create(out, flags) == OK
        self.made.append(out[0])
        return out[0]

    def ask(self, function: str, event: Any) -> tuple[int, int]:
        """Return the code and the answer of a query."""
        call = getattr(self.lib, function)
        out = self.ffi.new(self.ffi.typeof(call).args[1])
        return call(event, out), int(self.ffi.cast("int64_t", out[0]))

    def status(self, event: Any) -> int:
        """Return what aclrtQueryEventStatus says: 0 not ready, 1 complete."""
        code, status = self.ask("aclrtQueryEventStatus", event)
        assert code == OK
        return status

    def id_code(self, event: Any) -> int:
        """Return the code of aclrtGetEventId."""
        return self.ask("aclrtGetEventId", event)[0]

    def available(self) -> int:
        """Return how many ids the device has left."""
        out = self.ffi.new("uint32_t *")
        assert self.lib.aclrtGetEventAvailNum(out) == OK
        return int(out[0])


@pytest.fixture
def events(lib: Any, ffi: Any, device: Any) -> Any:
    made = Events(lib, ffi)
    yield made
    for event in made.made:
        assert lib.aclrtDestroyEvent(event) == OK


# --- aborts ----------------------------------------------------------------------------------------------------------

ABORTS = """
assert lib.aclrtSetDevice(0) == 0
new = lambda kind, create, *rest: (out := ffi.new(kind + " *"), create(out, *rest))[0][0]
stream, gate = new("aclrtStream", lib.aclrtCreateStream), new("aclrtEvent", lib.aclrtCreateEventWithFlag, 1)
old, ex = new("aclrtEvent", lib.aclrtCreateEvent), new("aclrtEvent", lib.aclrtCreateEventExWithFlag, 9)
assert lib.aclrtStreamWaitEvent(stream, gate) == 0
assert lib.aclrtRecordEvent(old, stream) == lib.aclrtRecordEvent(ex, stream) == 0
aborted = {"stream": lambda: lib.aclrtStreamAbort(stream), "device": lambda: lib.aclrtDeviceTaskAbort(0, 0),
           "destroyed": lambda: lib.aclrtDestroyStreamForce(stream)}[sys.argv[1]]()
def ask(function, kind, event):
    out = ffi.new(kind + " *")
    return [function(event, out), int(ffi.cast("int", out[0]))]
reported([aborted, ask(lib.aclrtQueryEvent, "aclrtEventStatus", old),
      ask(lib.aclrtQueryEventStatus, "aclrtEventRecordedStatus", old),
      ask(lib.aclrtQueryEventStatus, "aclrtEventRecordedStatus", ex),
      lib.aclrtSynchronizeEventWithTimeout(old, 1000), lib.aclrtSynchronizeEvent(ex),
      lib.aclrtEventGetTimestamp(ex, ffi.new("uint64_t *")),
      lib.aclrtRecordEvent(ex, ffi.NULL), lib.aclrtSynchronizeEvent(ex)])
"""
# QueryEvent and QueryEventStatus count the other way round.
AS_NEVER_RECORDED = [[0, 0], [0, 0], [0, 1], 0, 0, 507000, 0, 0]
NEVER_COMPLETE = [[0, 1], [0, 0], [0, 0], 107023, 107023, 107006, 0, 0]


@pytest.mark.parametrize(
    ("product", "what", "expected"),
    [
        ("910B", "stream", NEVER_COMPLETE),
        ("910C", "stream", NEVER_COMPLETE),
        ("950", "stream", AS_NEVER_RECORDED),
        ("910B", "device", AS_NEVER_RECORDED),
        ("950", "device", AS_NEVER_RECORDED),
        ("910B", "destroyed", NEVER_COMPLETE),
    ],
)
@pytest.mark.simulator("products")
def test_an_aborted_record(child: Any, product: str, what: str, expected: list[Any]) -> None:
    assert child(ABORTS, what, ASCEND_RT_SIM_PRODUCT=product) == [0, *expected]


# --- queries ---------------------------------------------------------------------------------------------------------


@pytest.mark.simulator("unspecified", "the runtime learns of it when it looks at the stream for other reasons, too")
def test_a_query_that_lags_comes_to_an_end(lib, ffi, stream, events) -> None:
    """CAPTURE_STREAM_PROGRESS alone: only the first query of a complete record says that it is not ready."""
    event = events.make(0x2, is_new=False)
    for _ in range(2):
        assert lib.aclrtRecordEvent(event, raw(ffi, stream)) == OK
        stream.synchronize()
        answers = [events.ask("aclrtQueryEvent", event) for _ in range(3)]
        assert answers == [(OK, 1), (OK, 0), (OK, 0)]


# --- hardware ids ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "is_new", "before", "after"),
    [
        (SYNC, True, INTERNAL, INTERNAL),  # held while the record or a wait for it is pending
        (DEFAULT, False, INTERNAL, OK),  # until the next record
        (SYNC, False, OK, OK),  # for life
        (0x8, False, INTERNAL, INTERNAL),  # none, where the hardware schedules
    ],
)
def test_how_long_an_event_keeps_its_id(lib, ffi, stream, other, events, flags, is_new, before, after) -> None:
    event = events.make(flags, is_new=is_new)
    free = events.available()
    assert events.id_code(event) == before
    with Latch(stream):
        assert lib.aclrtRecordEvent(event, raw(ffi, stream)) == OK
        pending = OK if flags != 0x8 else INTERNAL
        assert events.id_code(event) == pending
        with Latch(other):
            if flags != 0x8:
                assert lib.aclrtStreamWaitEvent(raw(ffi, other), event) == OK
            assert events.id_code(event) == pending
    stream.synchronize()
    other.synchronize()
    assert events.id_code(event) == after
    held = {(OK, OK): 0, (INTERNAL, OK): 1, (INTERNAL, INTERNAL): 0}[before, after]
    assert events.available() == free - held


def test_a_wait_in_the_queue_keeps_the_id(lib, ffi, stream, other, events) -> None:
    event = events.make(SYNC, is_new=True)
    with Latch(other):
        with Latch(stream):
            assert lib.aclrtRecordEvent(event, raw(ffi, stream)) == OK
            assert lib.aclrtStreamWaitEvent(raw(ffi, other), event) == OK
        event_done = lib.aclrtSynchronizeEvent(event)
        assert (event_done, events.status(event), events.id_code(event)) == (OK, 1, OK)
    other.synchronize()
    assert events.id_code(event) == INTERNAL


def test_a_new_record_has_another_id_while_a_wait_needs_the_old(lib, ffi, stream, other, events) -> None:
    event = events.make(DEFAULT, is_new=False)
    with Latch(stream):
        free = events.available()
        assert lib.aclrtRecordEvent(event, raw(ffi, stream)) == OK
        first = events.ask("aclrtGetEventId", event)
        assert lib.aclrtStreamWaitEvent(raw(ffi, other), event) == OK
        assert lib.aclrtRecordEvent(event, raw(ffi, stream)) == OK
        second = events.ask("aclrtGetEventId", event)
        assert first[0] == second[0] == OK
        assert first[1] != second[1]
        assert events.available() == free - 2
        latched = events.available()
    stream.synchronize()
    other.synchronize()
    assert events.available() > latched


@pytest.mark.simulator("faults")
def test_complete_events_take_no_ids_from_others(child: Any) -> None:
    code = """
    assert lib.aclrtSetDevice(0) == lib.aclsimLimitResource(0, lib.ACLSIM_RESOURCE_EVENTS, 2) == 0
    stream, events = ffi.new("aclrtStream *"), ffi.new("aclrtEvent[4]")
    gate = ffi.new("aclrtEvent *")
    assert lib.aclrtCreateStream(stream) == lib.aclrtCreateEventWithFlag(gate, 1) == 0
    codes = [lib.aclrtCreateEventExWithFlag(events + i, 1) for i in range(4)]
    codes += [lib.aclrtRecordEvent(event, stream[0]) for event in events]
    lib.aclrtStreamWaitEvent(stream[0], gate[0])
    codes += [lib.aclrtRecordEvent(event, stream[0]) for event in events]
    lib.aclrtStreamAbort(stream[0])
    reported(codes + [lib.aclrtRecordEvent(event, stream[0]) for event in events])
    """
    pending = [0, 207007, 207007, 207007]
    assert child(code) == [0] * 8 + pending + [0, 0, 0, 0]


@pytest.mark.simulator("faults")
def test_a_record_that_is_done_at_once_needs_a_free_id_too(child: Any) -> None:
    code = """
    assert lib.aclrtSetDevice(0) == lib.aclsimLimitResource(0, lib.ACLSIM_RESOURCE_EVENTS, 1) == 0
    stream, event, other = ffi.new("aclrtStream *"), ffi.new("aclrtEvent *"), ffi.new("aclrtEvent *")
    assert lib.aclrtCreateStream(stream) == lib.aclrtCreateEventExWithFlag(event, 1) == 0
    codes = [lib.aclrtRecordEvent(event[0], stream[0]), lib.aclrtCreateEventWithFlag(other, 1)]
    codes += [lib.aclrtRecordEvent(event[0], stream[0]), lib.aclrtSynchronizeStream(stream[0])]
    lib.aclrtDestroyEvent(other[0])
    reported(codes + [lib.aclrtRecordEvent(event[0], stream[0])])
    """
    assert child(code) == [0, 0, 207007, 0, 0]


# --- other threads ---------------------------------------------------------------------------------------------------


def test_an_event_of_a_stream_that_is_being_destroyed(lib, ffi, device, events) -> None:
    event = events.make(SYNC, is_new=True)
    made = ffi.new("aclrtStream *")
    assert lib.aclrtCreateStream(made) == OK
    stream = Stream.from_handle(int(ffi.cast("uintptr_t", made[0])))
    codes: list[int] = []

    def destroy() -> None:
        device.set_current()
        assert lib.aclrtDestroyStream(made[0]) == OK

    with Latch(stream):
        assert lib.aclrtRecordEvent(event, raw(ffi, stream)) == OK
        thread = threading.Thread(target=destroy)
        handle = raw(ffi, stream)
        thread.start()
        number = ffi.new("int32_t *")
        while lib.aclrtStreamGetId(handle, number) != 107017:
            pass  # until the other thread is in aclrtDestroyStream
        codes += [events.status(event), lib.aclrtSynchronizeEventWithTimeout(event, 20)]
    thread.join()
    codes += [lib.aclrtSynchronizeEvent(event), events.status(event)]
    assert codes == [0, 507047, OK, 1]


# --- what a bit and a limit do ---------------------------------------------------------------------------------------


def test_the_bit_of_a_sync_event_stays_set(lib, ffi, stream, other, events) -> None:
    event = events.make(SYNC, is_new=False)
    assert lib.aclrtRecordEvent(event, raw(ffi, stream)) == OK
    with Latch(stream):
        assert lib.aclrtRecordEvent(event, raw(ffi, stream)) == OK  # pending, but the bit was not reset
        assert lib.aclrtStreamWaitEvent(raw(ffi, other), event) == OK
        other.synchronize(timeout=5)
        assert events.status(event) == 0
    stream.synchronize()


@pytest.mark.parametrize("wait", ["aclrtStreamWaitEvent", "aclrtStreamWaitEventWithFlag"])
@pytest.mark.simulator("unspecified", "the code on hardware is not known")
def test_the_limit_of_the_process_for_waits(child: Any, wait: str) -> None:
    code = """
    assert lib.aclrtSetDevice(0) == lib.aclrtSetOpWaitTimeout(1) == 0
    stream, gate = ffi.new("aclrtStream *"), ffi.new("aclrtEvent *")
    assert lib.aclrtCreateStream(stream) == lib.aclrtCreateEventWithFlag(gate, 1) == 0
    more = (0xFFFFFFFF, 0) if sys.argv[1].endswith("Flag") else ()
    assert getattr(lib, sys.argv[1])(stream[0], gate[0], *more) == 0
    lib.aclrtSetOpWaitTimeout(0)  # concerns later waits
    reported([lib.aclrtSynchronizeStreamWithTimeout(stream[0], 20), lib.aclrtSynchronizeStream(stream[0]),
          lib.aclrtSynchronizeStream(stream[0])])
    """
    assert child(code, wait) == [507046, 107020, 0]


# --- order of checks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (["aclrtRecordEvent", "@device_only", None], 107000),
        (["aclrtResetEvent", "@device_only", None], 107000),
        (["aclrtStreamWaitEvent", None, "@device_only"], 107000),
        (["aclrtStreamWaitEvent", None, "@unsynchronized"], 207000),
        (["aclrtResetEvent", "@unsynchronized", None], 207000),
        (["aclrtRecordEvent", "@unsynchronized", None], 107002),
        (["aclrtRecordEvent", "@device_only", 4096], 107017),
        (["aclrtStreamWaitEvent", 4096, "@unsynchronized"], 107017),
        (["aclrtSubscribeReport", 1, "@stream"], 107011),
    ],
)
@pytest.mark.simulator("products")
def test_what_shows_before_the_missing_context(calls: Callable[..., list[Any]], call: list[Any], code: int) -> None:
    answers = calls(
        [
            ["aclrtSetDevice", 0],
            ["aclrtCreateContext", "out:context", 0],
            ["aclrtCreateStream", "out:stream"],
            ["aclrtSubscribeReport", 1, "@stream"],
            ["aclrtCreateEventWithFlag", "out:device_only", 0x10],
            ["aclrtCreateEventWithFlag", "out:unsynchronized", 0x8],
            ["aclrtCreateContext", "out:second", 0],
            ["aclrtSetCurrentContext", "@second"],
            ["aclrtDestroyContext", "@second"],  # the thread has none now
            call,
        ],
        ASCEND_RT_SIM_PRODUCT="910C",
    )
    assert [answer[0] for answer in answers] == [0] * 9 + [code]
