# SPDX-License-Identifier: Apache-2.0
"""Events that two processes share, in Python: records seen by the other process, and refusals."""

from __future__ import annotations

import gc
import threading
from ast import literal_eval
from collections.abc import Iterator
from typing import Any

import pytest
from support.codes import INTERNAL, PRODUCTS, UNSUPPORTED

from ascend_rt import Device, Event, Stream, sim
from ascend_rt.errors import AclError, ClosedError, InvalidArgument, NoContext, NotSupported, TaskFailed, Timeout
from ascend_rt.testing import Latch

KEY_SIZE = 64

# The messages to the second process.
OPEN = "objects.update(e=rt.Event.open({!r}))"
MAY_OPEN = "code_of(lambda: rt.Event.open({!r}).close())"
EXPORT = "(objects.update(e=rt.Event(ipc=True)), objects['e'].export())[1]"

pytestmark = pytest.mark.usefixtures("no_shared_memory_is_left")


@pytest.fixture
def event(device: Device) -> Iterator[Event]:
    with Event(ipc=True) as event:
        yield event


# --- two processes ---------------------------------------------------------------------------------------------------


def test_the_other_process_waits_for_a_record_here(event: Event, stream: Stream, process: Any) -> None:
    assert process(OPEN.format(event.export())) == "None"
    assert process("objects['e'].is_done") == "True"  # never recorded
    with Latch(stream):
        event.record(stream)
        assert not event.is_done
        assert process("objects['e'].is_done") == "False"
        assert process("stream.wait(objects['e']) or stream.is_done") == "False"
    assert process("stream.synchronize() or objects['e'].synchronize()") == "None"
    assert process("objects['e'].is_done") == "True"
    assert process("objects['e'].close() or objects['e'].is_closed") == "True"
    event.record(stream)  # this one goes on
    event.synchronize()


def test_this_process_waits_for_a_record_there(device: Device, stream: Stream, process: Any) -> None:
    key = literal_eval(process(EXPORT))
    with Event.open(key) as event:
        assert event.export() == key
        assert process("objects.update(latch=rt.testing.Latch(stream)) or objects['e'].record(stream)") == "None"
        assert not event.is_done
        stream.wait(event)
        assert not stream.is_done
        assert process("objects['latch'].release()") == "None"
        event.synchronize()
        stream.synchronize()


def test_a_wait_is_for_the_record_that_was_the_newest(
    event: Event, stream: Stream, other: Stream, process: Any
) -> None:
    assert process(OPEN.format(event.export())) == "None"
    assert process("objects['e'].record(stream) or stream.synchronize()") == "None"
    with Latch(stream):
        other.wait(event)  # for the record there
        event.record(stream)
        other.synchronize()
        other.wait(event)  # for the record here
        assert not other.is_done
    other.synchronize()


def test_the_event_outlives_the_process_that_made_it(device: Device, stream: Stream, process: Any) -> None:
    key = literal_eval(process(EXPORT))
    with Event.open(key) as event:
        assert process("objects['e'].close()") == "None"
        event.record(stream)
        event.synchronize()
    with pytest.raises(InvalidArgument, match="no process has a live IPC event"):
        Event.open(key)


def test_a_peer_that_is_killed(device: Device, stream: Stream, process: Any) -> None:
    with Event.open(literal_eval(process(EXPORT))) as event:
        assert process("objects.update(latch=rt.testing.Latch(stream)) or objects['e'].record(stream)") == "None"
        process.kill()
        with pytest.raises(Timeout):  # the record will never come
            event.synchronize(timeout=0.02)
        event.record(stream)
        event.synchronize()
        stream.wait(event)
        stream.synchronize()


@pytest.mark.simulator("faults")
def test_a_failed_task_is_reported_where_it_was_enqueued(event: Event, stream: Stream, process: Any) -> None:
    assert process(OPEN.format(event.export())) == "None"
    with sim.faults(), Latch(stream):
        sim.fail_task(507015, stream)
        with Event() as failed:
            failed.record(stream)
        event.record(stream)
    with pytest.raises(TaskFailed):
        event.synchronize()
    assert process("code_of(objects['e'].synchronize)") == "0"
    with pytest.raises(TaskFailed):
        stream.synchronize()


# --- in one process --------------------------------------------------------------------------------------------------


def test_a_key_is_of_one_event(device: Device) -> None:
    with Event(ipc=True) as first, Event(ipc=True) as second:
        assert first.export() == first.export() != second.export()
        assert len(first.export()) == KEY_SIZE
        with Event.open(first.export()) as again:
            assert again.handle != first.handle
            assert again.export() == first.export()


def test_other_events_have_no_key(device: Device) -> None:
    for event in (Event(), Event(timing=True), Event(manual_reset=True)):
        with pytest.raises(InvalidArgument, match="aclrtIpcGetEventHandle"):
            event.export()


@pytest.mark.parametrize("option", ["timing", "manual_reset"])
def test_ipc_goes_with_nothing_else(option: str, device: Device) -> None:
    with pytest.raises(ValueError, match="ipc=True cannot be combined with timing=True or manual_reset=True"):
        Event(ipc=True, **{option: True})


def test_what_it_cannot_do(event: Event, stream: Stream) -> None:
    with pytest.raises(NotSupported):
        event.reset(stream)
    with pytest.raises(NotSupported):
        _ = event.timestamp_us
    with pytest.raises(NotSupported):
        _ = event.id
    with pytest.raises(ValueError, match="timing=True"):
        event.elapsed_time(event)


@pytest.mark.parametrize("key", [b"", b"short", b"x" * (KEY_SIZE - 1), b"x" * (KEY_SIZE + 1)])
def test_a_key_has_its_length(key: bytes, device: Device) -> None:
    with pytest.raises(ValueError, match=f"the key of an event has {KEY_SIZE} bytes, got {len(key)}") as caught:
        Event.open(key)
    assert not isinstance(caught.value, AclError)  # the runtime was not asked


@pytest.mark.parametrize("key", [bytes(KEY_SIZE), b"x" * KEY_SIZE, b"/ascend_rt-1.1".ljust(KEY_SIZE, b"\0")])
def test_what_is_no_key(key: bytes, device: Device) -> None:
    with pytest.raises(InvalidArgument):
        Event.open(key)


@pytest.mark.parametrize("key", [None, "x" * KEY_SIZE, bytearray(KEY_SIZE), 5])
def test_a_key_is_bytes(key: Any, device: Device) -> None:
    with pytest.raises(TypeError, match="expected a key of type bytes, got"):
        Event.open(key)


def test_what_is_closed_has_no_key(device: Device) -> None:
    event = Event(ipc=True)
    key = event.export()
    event.close()
    event.close()
    with pytest.raises(ClosedError, match="this event is closed"):
        event.export()
    with pytest.raises(InvalidArgument):
        Event.open(key)


def test_a_thread_without_a_context(event: Event) -> None:
    reported: list[object] = []

    def use() -> None:
        reported.append(event.export())
        try:
            Event.open(event.export())
        except NoContext as error:
            reported.append(error.function)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    key, function = reported
    assert key == event.export()
    assert function in ("aclrtIpcOpenEventHandle", "aclrtGetDevice")  # which is asked once a second device was used


def test_discarding_is_closing(device: Device) -> None:
    key = Event(ipc=True).export()  # the object is gone
    gc.collect()
    with pytest.raises(InvalidArgument):
        Event.open(key)


@pytest.mark.simulator("products")
@pytest.mark.parametrize("product", PRODUCTS)
def test_products(product: str, child: Any) -> None:
    script = """
        from ascend_rt import AclError, Device, Event
        Device(0).set_current()
        try:
            with Event(ipc=True) as event, Event.open(event.export()):
                reported(0)
        except AclError as error:
            reported(error.code)
    """
    assert child(script, ASCEND_RT_SIM_PRODUCT=product) == (0 if product in ("910B", "910C", "950") else UNSUPPORTED)


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_events_have_numbers_from_their_first_record_on(device: Device, stream: Stream) -> None:
    with Event(manual_reset=True) as gate, Event() as event:
        assert isinstance(gate.id, int)
        with pytest.raises(AclError) as caught:
            _ = event.id
        assert caught.value.code == INTERNAL
