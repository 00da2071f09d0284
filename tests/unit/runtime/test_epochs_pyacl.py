# SPDX-License-Identifier: Apache-2.0
"""Events of pyACL and of the facade end with their device, whichever of both resets it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.resets import INVALID_HANDLE, is_refused

import ascend_rt.pyacl as acl
from ascend_rt import Device, Event, sim
from ascend_rt._runtime import lifecycle
from ascend_rt.errors import AclError

pytestmark = pytest.mark.simulator(
    "internals", "the official runtime has a device for each process, and fails on no demand"
)


def codes(event: int, stream: int) -> list[int]:
    """Return what the functions of pyACL answer that take an event."""
    results = [
        acl.rt.record_event(event, stream),
        acl.rt.reset_event(event, stream),
        acl.rt.query_event(event),
        acl.rt.query_event_status(event),
        acl.rt.query_event_wait_status(event),
        acl.rt.synchronize_event(event),
        acl.rt.synchronize_event_with_timeout(event, 100),
        acl.rt.event_elapsed_time(event, event),
        acl.rt.event_get_timestamp(event),
        acl.rt.get_event_id(event),
        acl.rt.stream_wait_event(stream, event),
        acl.rt.destroy_event(event),
        acl.rt.destroy_event(event),
    ]
    return [result[-1] if isinstance(result, tuple) else result for result in results]


@pytest.mark.parametrize("reset", ["pyacl", "facade", "force"])
def test_an_event_of_pyacl_ends_with_its_device(second: Device, reset: str) -> None:
    second.reset()
    resets: dict[str, Callable[[], object]] = {
        "pyacl": lambda: acl.rt.reset_device(1),
        "facade": second.reset,
        "force": lambda: acl.rt.reset_device_force(1),
    }
    if reset == "facade":
        second.set_current()
    else:
        assert acl.rt.set_device(1) == 0
    (event, _), (with_flag, _), (stream, _) = acl.rt.create_event(), acl.rt.create_event_ex_with_flag(8), new_stream()
    facade = Event()
    assert acl.rt.record_event(event, stream) == acl.rt.synchronize_event(event) == 0
    assert acl.rt.record_event(facade.handle, stream) == 0
    number = facade.handle
    resets[reset]()
    second.set_current()
    stream, _ = new_stream()
    assert set(codes(event, stream)) == set(codes(with_flag, stream)) == set(codes(number, stream)) == {INVALID_HANDLE}
    assert is_refused(facade.synchronize)
    assert is_refused(Event.from_handle(event).synchronize)
    new, _ = acl.rt.create_event()
    assert acl.rt.record_event(new, stream) == acl.rt.synchronize_event(new) == acl.rt.destroy_event(new) == 0
    assert new not in lifecycle.events
    assert acl.rt.destroy_stream(stream) == 0


def new_stream() -> tuple[int, int]:
    stream, code = acl.rt.create_stream()
    return stream, code


def test_a_reset_by_pyacl_ends_only_with_the_last_reference(second: Device) -> None:
    event = Event()
    assert acl.rt.set_device(1) == acl.rt.set_device(1) == 0
    second.reset()
    assert event.is_done
    assert acl.rt.reset_device(1) == 0
    assert event.is_done
    assert acl.rt.reset_device(1) == 0
    assert is_refused(lambda: event.is_done)
    assert acl.rt.reset_device(1) == 507007


def test_a_reset_by_pyacl_may_take_the_reference_of_the_facade(second: Device) -> None:
    event = Event()
    assert acl.rt.reset_device(1) == 0  # a device that pyACL has not set
    assert is_refused(event.synchronize)
    with pytest.raises(AclError, match="507007"):
        second.reset()


def test_a_reset_by_the_facade_may_take_the_reference_of_pyacl(second: Device) -> None:
    second.reset()
    assert acl.rt.set_device(1) == 0
    event = Event()
    second.reset()
    assert is_refused(event.synchronize)
    assert acl.rt.reset_device(1) == 507007


def test_a_reset_by_pyacl_that_fails_ends_nothing(second: Device) -> None:
    second.reset()
    assert acl.rt.set_device(1) == 0
    event, _ = acl.rt.create_event()
    ours = Event()
    with sim.faults():
        sim.fail_call("aclrtResetDevice", 507000)
        assert acl.rt.reset_device(1) == 507000
        assert acl.get_recent_err_msg() == "aclrtResetDevice: call 1 fails by fault injection"
        sim.fail_call("aclrtDestroyEvent", 507000)
        assert acl.rt.destroy_event(event) == 507000
    assert event in lifecycle.events
    assert acl.rt.query_event(event) == (0, 0)
    assert ours.is_done
    assert acl.rt.reset_device(1) == 0


def test_a_context_of_pyacl_keeps_its_device(second: Device) -> None:
    context, code = acl.rt.create_context(1)
    event = Event()
    assert code == 0
    second.reset()
    assert event.is_done
    assert acl.rt.destroy_context(context) == 0
    assert is_refused(lambda: event.is_done)
    assert acl.rt.destroy_context(context) != 0


def test_a_device_that_does_not_exist_has_no_epoch(device: Device) -> None:
    before = dict(lifecycle.owners)
    assert acl.rt.reset_device(99) == 107001
    with pytest.raises(AclError):
        Device(99).reset()
    assert lifecycle.owners == before
