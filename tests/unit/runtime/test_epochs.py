# SPDX-License-Identifier: Apache-2.0
"""Which objects a reset of a device ends, and which not."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from support.resets import INVALID_HANDLE, is_refused
from support.threads import in_threads

from ascend_rt import (
    Buffer,
    CachingAllocator,
    Context,
    Device,
    Event,
    InvalidHandle,
    Notify,
    Stream,
    copy,
    fill_async,
    sim,
)
from ascend_rt._runtime import lifecycle
from ascend_rt._runtime.owners import owner_of_new
from ascend_rt.errors import AclError, ClosedError

pytestmark = pytest.mark.simulator(
    "internals", "the official runtime has a device for each process, and fails on no demand"
)


def test_an_event_ends_with_its_own_device_alone(second: Device) -> None:
    there = Event()
    Device(0).set_current()
    here, stream = Event(), Stream()
    assert (there._owner.epoch.device_id, here._owner.epoch.device_id) == (1, 0)
    second.reset()  # also takes the thread's context
    Device(0).set_current()
    assert is_refused(there.synchronize)
    assert is_refused(lambda: stream.wait(there))
    stream.record(here)
    here.synchronize()
    assert repr(there) == "<ascend_rt.Event ended by a reset of device 1>"
    Device(0).reset()


def test_only_the_last_of_several_resets_ends_anything(second: Device) -> None:
    second.set_current()  # a second user
    event, stream = Event(), Stream()
    second.reset()
    stream.record(event)
    event.synchronize()
    with second:
        pass
    assert event.is_done
    second.reset()
    assert is_refused(event.synchronize)
    assert is_refused(stream.synchronize)


def test_a_device_that_other_code_has_set_ends_nothing(second: Device, lib: Any) -> None:
    event, stream, notify = Event(), Stream(), Notify()
    assert lib.aclrtSetDevice(1) == 0
    second.reset()
    stream.record(event)
    event.synchronize()
    notify.record(stream)
    stream.synchronize()
    second.set_current()
    second.reset(force=True)
    assert is_refused(event.synchronize)


def test_a_reset_that_fails_ends_nothing(second: Device) -> None:
    event, stream, memory = Event(), Stream(), Buffer(64)
    view, borrowed = memory[8:16], Event.from_handle(event.handle)
    known = Event()
    known.record(stream)  # its handle is known in C
    closed = Event()
    with sim.faults():
        sim.fail_call("aclrtResetDevice", 507000)
        with pytest.raises(AclError, match="507000"):
            lifecycle.reset_device(1)
    for each in (event, known, borrowed):
        each.record(stream)
        each.record(stream=stream)
        each.synchronize()
    copy(view, b"somebody")
    closed.close()
    assert repr(event).startswith(f"<ascend_rt.Event {event.handle:#x} on device 1")
    second.reset()
    assert all(map(is_refused, (event.synchronize, known.synchronize, borrowed.synchronize, stream.synchronize)))
    assert is_refused(lambda: copy(view, b"somebody"))


def test_what_was_closed_while_a_reset_failed_stays_closed(second: Device, lib: Any) -> None:
    event, stream, refused = Event(), Stream(), []

    def reset(device_id: int) -> int:
        refused.append(is_refused(lambda: event.record(stream)))
        event.close()
        return 507000

    with lib.override("aclrtResetDevice", reset), pytest.raises(AclError, match="507000"):
        lifecycle.reset_device(1)
    assert refused == [True]
    with pytest.raises(ClosedError):
        event.synchronize()
    assert stream.record().synchronize() is None


def test_streams_end_with_their_context(second: Device) -> None:
    context = Context(1)
    with context:
        stream, borrowed, event = Stream(), Stream.default(), Event()
        stream.record(event)
        stream.synchronize()
    context.close()
    for each in (stream, borrowed):
        with pytest.raises(InvalidHandle, match="this stream has ended, because its context was destroyed"):
            each.synchronize()
        assert repr(each) == "<ascend_rt.Stream ended with its context>"
        each.close()
    assert event.is_done  # the device's


def test_streams_of_the_device_end_with_the_reset_that_an_explicit_context_outlives(second: Device) -> None:
    with Context(1) as context:
        inside = Stream()
    second.set_current()
    stream, event = Stream(), Event()
    second.reset()
    second.reset()
    assert is_refused(stream.synchronize)
    with context:
        inside.record(event)
        inside.synchronize()
        assert event.is_done
    context.close()


def test_streams_are_open_again_if_their_context_cannot_be_destroyed(second: Device) -> None:
    context = Context(1)
    with context:
        stream = Stream()
    with sim.faults():
        sim.fail_call("aclrtDestroyContext", 507000)
        with pytest.raises(AclError, match="507000"):
            context.close()
    with context:
        stream.synchronize()
    context.close()


def test_a_reset_resets_once(second: Device, override: Any) -> None:
    resets: list[int] = []

    def reset(device_id: int) -> int:
        resets.append(device_id)
        return int(real(device_id))

    real = override("aclrtResetDevice", reset)
    second.reset()
    assert resets == [1]


def test_an_explicit_context_keeps_its_device(second: Device) -> None:
    context = Context(1)
    with context:
        event, inside = Event(), Stream()
    second.reset()
    with context:
        inside.record(event)
        event.synchronize()
    context.close()
    assert is_refused(event.synchronize)


def test_a_borrowed_event_ends_with_the_device_of_its_owner(second: Device) -> None:
    event = Event()
    number = event.handle
    Device(0).set_current()
    borrowed = Event.from_handle(number)
    assert borrowed._owner.epoch.device_id == 1
    unknown = Event.from_handle(1 << 60)
    assert unknown._owner.epoch.device_id == 0
    second.reset()
    assert is_refused(borrowed.synchronize)
    assert is_refused(Event.from_handle(number).synchronize)  # the number of an ended event is known, too
    borrowed.close()
    Device(0).set_current()
    Device(0).reset()


def test_a_number_that_a_new_event_has_is_that_of_the_new_one(second: Device) -> None:
    with Event() as first:
        number = first.handle
    assert number not in lifecycle.events
    with Event() as event:
        assert lifecycle.events.get(event.handle) is event._owner


def test_the_next_epoch_begins_afresh(second: Device) -> None:
    old, allocator = Stream(), CachingAllocator()
    allocator.register(old)
    with old.as_current():
        second.reset()
        second.set_current()
        assert Stream.current() != old
        fill_async(Buffer(64), 0)
        Stream.current().synchronize()
    old.close()
    with Stream() as stream:
        assert stream._retention is not old._retention
        assert stream.record().synchronize() is None
    assert owner_of_new().epoch is not old._owner.epoch


def test_a_block_of_a_capture_may_end_after_its_device(second: Device) -> None:
    stream = Stream()
    with pytest.raises(AclError) as failed, stream.capture():
        second.reset()
    assert failed.value.code == INVALID_HANDLE
    second.set_current()
    stream = Stream()
    with pytest.raises(ZeroDivisionError), stream.capture():
        raise ZeroDivisionError(second.reset())


def test_threads_that_use_an_event_while_another_resets_its_device(second: Device) -> None:
    """Each use either reaches the library before the reset, or is refused."""
    begun, outcomes = threading.Barrier(3), []

    def use(act: Callable[[Event, Stream], object]) -> None:
        Device(1).set_current()
        event, stream = Event(), Stream()
        begun.wait()
        try:
            while True:
                act(event, stream)
        except AclError as error:  # NoContext: its thread's context was the device's
            outcomes.append((type(error).__name__, event._is_ended, stream._is_ended))
        event.close()
        stream.close()

    def reset() -> None:
        begun.wait()
        for _ in range(3):
            Device(1).reset()

    in_threads(
        lambda: use(lambda event, stream: stream.record(event)),
        lambda: use(lambda event, stream: event.synchronize(timeout=10)),
        reset,
    )
    assert [ended for _, *ended in outcomes] == [[True, True]] * 2
    assert {name for name, *_ in outcomes} <= {"InvalidHandle", "NoContext"}


def test_what_was_discarded_with_work_left_ends_silently(second: Device) -> None:
    streams, gate = [Stream()], threading.Event()
    streams[0].launch_host_func(gate.wait)
    with pytest.warns(ResourceWarning, match="discarded"):
        streams.pop()
    gate.set()
    second.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lifecycle.close_deferred()
    assert not lifecycle._deferred


def test_an_epoch_that_ended_lets_go_of_its_objects(second: Device) -> None:
    event, stream = Event(), Stream()
    epoch = event._owner.epoch
    second.reset()
    assert epoch.is_over
    del stream
    event.close()
    epoch.resume()  # nothing is left in it
    assert event.is_closed
    epoch.end()


@pytest.mark.filterwarnings("error")
def test_a_device_number_that_c_cannot_take_is_refused(device: Device) -> None:
    with pytest.raises(OverflowError):
        Context(2**32)
