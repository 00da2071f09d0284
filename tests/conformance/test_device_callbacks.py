# SPDX-License-Identifier: Apache-2.0
"""Callbacks about states of devices and streams, and the abort of a device with its stages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.codes import CONTEXT_RELEASED, INVALID_DEVICE, INVALID_HANDLE, INVALID_PARAM, OK, RT_PARAM, TASK_ABORT

from ascend_rt import Device, Event, Stream

WAIT_TIMEOUT, TASK_TIMEOUT = 107019, 107020
SET_PRE, SET_POST, RESET_PRE, RESET_POST = range(4)
CREATED, DESTROYED = 1, 2
DEVICE = 5  # used by no other test of this process

REGISTRATIONS = {
    "aclrtRegDeviceStateCallback": "aclrtDeviceStateCallback",
    "aclrtRegStreamStateCallback": "aclrtStreamStateCallback",
    "aclrtSetDeviceTaskAbortCallback": "aclrtDeviceTaskAbortCallback",
}


@pytest.fixture
def register(lib: Any, ffi: Any) -> Iterator[Callable[..., Any]]:
    """Return a function that registers a Python function, until the end of the test."""
    registered: dict[tuple[str, bytes], Any] = {}

    def add(function: str, call: Callable[..., Any], name: bytes = b"test") -> int:
        callback = ffi.callback(REGISTRATIONS[function], call)
        code = int(getattr(lib, function)(name, callback, ffi.NULL))
        if code == OK:
            registered[function, name] = callback
        return code

    yield add
    for function, name in registered:
        assert getattr(lib, function)(name, ffi.NULL, ffi.NULL) == OK


@pytest.mark.parametrize("function", REGISTRATIONS)
def test_names(function: str, register: Callable[..., Any], lib: Any, ffi: Any) -> None:
    def call(*_: Any) -> Any:
        return 0 if "Abort" in function else None

    unnamed = ffi.callback(REGISTRATIONS[function], call)
    assert getattr(lib, function)(ffi.NULL, unnamed, ffi.NULL) == INVALID_PARAM
    assert getattr(lib, function)(ffi.NULL, ffi.NULL, ffi.NULL) == INVALID_PARAM
    assert getattr(lib, function)(b"unknown", ffi.NULL, ffi.NULL) == OK
    assert register(function, call) == OK
    assert register(function, call) == RT_PARAM
    assert register(function, call, b"another name") == OK
    assert getattr(lib, function)(b"test", ffi.NULL, ffi.NULL) == OK
    assert register(function, call) == OK


# --- devices ---------------------------------------------------------------------------------------------------------


def test_every_set_and_reset_is_reported(register: Callable[..., Any], lib: Any) -> None:
    reported: list[tuple[int, int]] = []
    assert register("aclrtRegDeviceStateCallback", lambda device, state, _: reported.append((device, state))) == OK
    for call in (lib.aclrtSetDevice, lib.aclrtSetDevice, lib.aclrtResetDevice, lib.aclrtResetDeviceForce):
        assert call(DEVICE) == OK
    assert reported == [(DEVICE, state) for state in [SET_PRE, SET_POST] * 2 + [RESET_PRE, RESET_POST] * 2]


def test_failures_are_not_reported(register: Callable[..., Any], lib: Any) -> None:
    reported: list[Any] = []
    assert register("aclrtRegDeviceStateCallback", lambda *arguments: reported.append(arguments)) == OK
    assert lib.aclrtSetDevice(-1) == INVALID_DEVICE
    assert lib.aclrtResetDevice(DEVICE) == CONTEXT_RELEASED
    assert lib.aclrtResetDeviceForce(1000) == INVALID_DEVICE
    assert reported == []


def test_a_removed_callback_is_silent(register: Callable[..., Any], lib: Any, ffi: Any) -> None:
    reported: list[int] = []

    def call(device: int, state: int, _: Any) -> None:
        reported.append(state)
        assert lib.aclrtRegDeviceStateCallback(b"test", ffi.NULL, ffi.NULL) == OK

    assert register("aclrtRegDeviceStateCallback", call) == OK
    assert lib.aclrtSetDevice(DEVICE) == OK
    assert lib.aclrtResetDevice(DEVICE) == OK
    assert reported == [SET_PRE]


def test_a_device_callback_may_use_the_device(register: Callable[..., Any], lib: Any, ffi: Any) -> None:
    codes: list[tuple[int, int]] = []

    def call(_device: int, state: int, _: Any) -> None:
        stream = ffi.new("aclrtStream *")
        if state in (SET_POST, RESET_PRE):
            codes.append((state, lib.aclrtCreateStream(stream)))
            codes.append((state, lib.aclrtDestroyStream(stream[0])))

    assert register("aclrtRegDeviceStateCallback", call) == OK
    assert lib.aclrtSetDevice(DEVICE) == OK
    assert lib.aclrtResetDevice(DEVICE) == OK
    assert codes == [(SET_POST, OK), (SET_POST, OK), (RESET_PRE, OK), (RESET_PRE, OK)]


def test_a_callback_may_take_the_reset_away(register: Callable[..., Any], lib: Any) -> None:
    codes: list[int] = []

    def call(device: int, state: int, _: Any) -> None:
        if state == RESET_PRE and not codes:
            codes.append(-1)
            codes[0] = lib.aclrtResetDevice(device)

    assert register("aclrtRegDeviceStateCallback", call) == OK
    assert lib.aclrtSetDevice(DEVICE) == OK
    assert lib.aclrtResetDevice(DEVICE) == CONTEXT_RELEASED
    assert codes == [OK]


# --- streams ---------------------------------------------------------------------------------------------------------


def test_streams_are_reported_in_the_thread_that_makes_them(register: Callable[..., Any], lib: Any, ffi: Any) -> None:
    reported: list[tuple[int, int, int]] = []

    def call(stream: Any, state: int, _: Any) -> None:
        reported.append((int(ffi.cast("uintptr_t", stream)), state, threading.get_ident()))

    assert register("aclrtRegStreamStateCallback", call) == OK
    made: list[Any] = []

    def work() -> None:
        default, own, context = ffi.new("aclrtStream *"), ffi.new("aclrtStream *"), ffi.new("aclrtContext *")
        of_context = ffi.new("aclrtStream *")
        made.append(lib.aclrtSetDevice(DEVICE))
        made.append(lib.aclrtCtxGetCurrentDefaultStream(default))
        made.append(lib.aclrtCreateStreamWithConfig(own, 0, 0))
        made.append(lib.aclrtDestroyStream(own[0]))
        made.append(lib.aclrtCreateContext(context, DEVICE))
        made.append(lib.aclrtCtxGetCurrentDefaultStream(of_context))
        made.append(lib.aclrtDestroyContext(context[0]))
        made.append(lib.aclrtResetDevice(DEVICE))
        made.extend(int(ffi.cast("uintptr_t", stream[0])) for stream in (default, own, of_context))
        made.append(threading.get_ident())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    *codes, default, own, of_context, ident = made
    assert codes == [OK] * 8
    assert reported == [
        (default, CREATED, ident),
        (own, CREATED, ident),
        (own, DESTROYED, ident),
        (of_context, CREATED, ident),
        (of_context, DESTROYED, ident),
        (default, DESTROYED, ident),
    ]


@pytest.mark.simulator("deadly")
def test_a_stream_is_alive_while_it_is_reported_of(
    register: Callable[..., Any], device: Device, lib: Any, ffi: Any
) -> None:
    codes: list[int] = []

    def call(stream: Any, _state: int, _: Any) -> None:
        codes.append(lib.aclrtStreamGetId(stream, ffi.new("int32_t *")))
        codes.append(lib.aclrtSynchronizeStream(stream))

    assert register("aclrtRegStreamStateCallback", call) == OK
    stream = ffi.new("aclrtStream *")
    assert lib.aclrtCreateStream(stream) == OK
    assert lib.aclrtDestroyStreamForce(stream[0]) == OK
    assert codes == [OK] * 4
    assert lib.aclrtStreamGetId(stream[0], ffi.new("int32_t *")) == INVALID_HANDLE


@pytest.mark.simulator("deadly")
def test_failed_creations_are_not_reported(register: Callable[..., Any], device: Device, lib: Any, ffi: Any) -> None:
    reported: list[Any] = []
    assert register("aclrtRegStreamStateCallback", lambda *arguments: reported.append(arguments)) == OK
    assert lib.aclrtCreateStream(ffi.NULL) == INVALID_PARAM
    assert lib.aclrtCreateStreamWithConfig(ffi.new("aclrtStream *"), 0, 0x21) == RT_PARAM
    assert lib.aclrtDestroyStream(ffi.cast("void *", 0x1234567800)) == INVALID_HANDLE
    assert reported == []


def test_a_callback_cannot_destroy_what_is_being_destroyed(register: Callable[..., Any], lib: Any, ffi: Any) -> None:
    codes: list[int] = []

    def call(stream: Any, state: int, _: Any) -> None:
        if state == DESTROYED and not codes:
            codes.append(lib.aclrtDestroyStream(stream))
            codes.append(lib.aclrtResetDevice(DEVICE))

    assert lib.aclrtSetDevice(DEVICE) == OK
    stream = ffi.new("aclrtStream *")
    assert lib.aclrtCreateStream(stream) == OK
    assert register("aclrtRegStreamStateCallback", call) == OK
    assert lib.aclrtDestroyStream(stream[0]) == OK
    assert codes == [INVALID_HANDLE, CONTEXT_RELEASED]
    assert lib.aclrtResetDevice(DEVICE) == OK  # the refused reset took nothing away


@pytest.mark.simulator("deadly")
def test_a_callback_may_destroy_what_was_created(
    register: Callable[..., Any], device: Device, lib: Any, ffi: Any
) -> None:
    codes: list[int] = []

    def call(stream: Any, state: int, _: Any) -> None:
        if state == CREATED:
            codes.append(lib.aclrtDestroyStream(stream))

    assert register("aclrtRegStreamStateCallback", call) == OK
    stream = ffi.new("aclrtStream *")
    assert lib.aclrtCreateStream(stream) == OK
    assert codes == [OK]
    assert lib.aclrtDestroyStream(stream[0]) == INVALID_HANDLE


# --- abort of a device -----------------------------------------------------------------------------------------------


@pytest.fixture
def own_device(lib: Any) -> Iterator[Device]:
    """Return a device that no other test uses: an abort concerns all of its streams."""
    own = Device(DEVICE)
    own.set_current()
    yield own
    own.reset()


@pytest.mark.parametrize(
    ("device", "timeout", "code"),
    [
        (DEVICE, 36 * 60 * 1000 + 1, RT_PARAM),
        (-1, 0, INVALID_DEVICE),
        (1000, 1, INVALID_DEVICE),
        (DEVICE, 36 * 60 * 1000, OK),
    ],
)
def test_abort_arguments(device: int, timeout: int, code: int, own_device: Device, lib: Any) -> None:
    assert lib.aclrtDeviceTaskAbort(device, timeout) == code


def test_an_abort_has_two_stages(register: Callable[..., Any], own_device: Device, lib: Any) -> None:
    reported: list[tuple[int, int, int]] = []

    def call(device: int, stage: int, timeout: int, _: Any) -> int:
        reported.append((device, stage, timeout))
        return 0

    assert register("aclrtSetDeviceTaskAbortCallback", call) == OK
    assert lib.aclrtDeviceTaskAbort(DEVICE, 1234) == OK
    assert reported == [(DEVICE, 0, 1234), (DEVICE, 1, 1234)]


def test_an_abort_drops_everything_on_the_device(own_device: Device, lib: Any, ffi: Any) -> None:
    never, recorded = Event(manual_reset=True), Event()
    with Stream() as stream, Stream() as other:
        stream.wait(never)
        recorded.record(stream)
        other.wait(recorded)
        assert not other.is_done
        assert lib.aclrtDeviceTaskAbort(DEVICE, 0) == OK
        assert stream.is_done
        assert other.is_done
        timestamp = ffi.new("uint64_t *")
        handle = ffi.cast("void *", recorded.handle)
        assert lib.aclrtEventGetTimestamp(handle, timestamp) == 507000  # as if it had never been recorded
        stream.record().synchronize()


def test_a_thread_that_waits_learns_of_the_abort(own_device: Device, lib: Any, ffi: Any) -> None:
    never = Event(manual_reset=True)
    codes: list[int] = []
    with Stream() as stream:
        handle = ffi.cast("void *", stream.handle)

        def synchronize() -> None:
            lib.aclrtSetDevice(DEVICE)
            codes.append(lib.aclrtSynchronizeStream(handle))
            lib.aclrtResetDevice(DEVICE)

        thread = threading.Thread(target=synchronize)
        thread.start()
        while thread.is_alive():  # an abort before the thread waits does not meet it: then the next one does
            stream.wait(never)
            assert lib.aclrtDeviceTaskAbort(DEVICE, 0) == OK
            thread.join(timeout=0.05)
    assert codes[0] in (OK, TASK_ABORT)  # OK if it found the stream empty


def test_while_a_device_is_aborted(register: Callable[..., Any], own_device: Device, lib: Any, ffi: Any) -> None:
    codes: dict[str, list[int]] = {"own": [], "stream abort": [], "other": []}
    with Stream() as stream:
        handle, event = ffi.cast("void *", stream.handle), ffi.new("aclrtEvent *")
        assert lib.aclrtCreateEventExWithFlag(event, 1) == OK

        def call(device: int, _stage: int, _timeout: int, _: Any) -> int:
            codes["own"] += [
                lib.aclrtRecordEvent(event[0], handle),
                lib.aclrtSynchronizeStream(handle),
                lib.aclrtSynchronizeStreamWithTimeout(handle, 1),
                lib.aclrtSynchronizeDevice(),
                lib.aclrtDeviceTaskAbort(device, 0),
            ]
            codes["stream abort"].append(lib.aclrtStreamAbort(handle))
            codes["other"] += [lib.aclrtSetDevice(0), lib.aclrtSynchronizeDevice(), lib.aclrtDeviceTaskAbort(0, 0)]
            codes["other"] += [lib.aclrtResetDevice(0), lib.aclrtSetDevice(DEVICE), lib.aclrtResetDevice(DEVICE)]
            return 0

        def abort_other(device: int, stage: int, timeout: int, argument: Any) -> int:
            return call(device, stage, timeout, argument) if device == DEVICE else 0

        assert register("aclrtSetDeviceTaskAbortCallback", abort_other) == OK
        assert lib.aclrtDeviceTaskAbort(DEVICE, 0) == OK
        assert codes == {"own": [TASK_ABORT] * 10, "stream abort": [OK] * 2, "other": [OK] * 12}
        assert lib.aclrtRecordEvent(event[0], handle) == OK
        assert lib.aclrtSynchronizeStream(handle) == OK
        assert lib.aclrtDestroyEvent(event[0]) == OK


def test_an_abort_gives_up(register: Callable[..., Any], own_device: Device, lib: Any) -> None:
    stages: list[int] = []
    started, finish = threading.Event(), threading.Event()

    def call(_device: int, stage: int, _timeout: int, _: Any) -> int:
        stages.append(stage)
        return 0

    def work() -> None:
        started.set()
        finish.wait()

    assert register("aclrtSetDeviceTaskAbortCallback", call) == OK
    with Stream() as stream:
        dropped: list[int] = []
        stream.launch_host_func(work)
        stream.launch_host_func(dropped.append, 1)
        started.wait()
        assert lib.aclrtDeviceTaskAbort(DEVICE, 1) == WAIT_TIMEOUT
        assert stages == [0]
        assert not stream.is_done
        later = stream.record()
        finish.set()
        later.synchronize()
        stream.synchronize()
        assert dropped == []
        assert lib.aclrtDeviceTaskAbort(DEVICE, 1000) == OK
        assert stages == [0, 0, 1]
        stream.abort()  # also informs the facade that the second function will never run


def test_an_abort_clears_the_failure_of_a_stopped_context(child: Callable[..., Any]) -> None:
    code = """
stream, other, event = ffi.new("aclrtStream *"), ffi.new("aclrtStream *"), ffi.new("aclrtEvent *")
calls = [
    lib.aclrtSetDevice(0), lib.aclrtCreateStream(stream), lib.aclrtCreateStream(other),
    lib.aclrtCreateEventWithFlag(event, 1), lib.aclrtSetStreamFailureMode(stream[0], 1),
    lib.aclrtStreamWaitEventWithTimeout(stream[0], event[0], 1), lib.aclrtSynchronizeStream(stream[0]),
    lib.aclrtRecordEvent(event[0], other[0]), lib.aclrtSynchronizeDevice(),
    lib.aclrtDeviceTaskAbort(0, 0),
    lib.aclrtRecordEvent(event[0], other[0]), lib.aclrtSynchronizeDevice(), lib.aclrtSynchronizeStream(stream[0]),
]
print(json.dumps(calls))
"""
    assert child(code) == [*[OK] * 6, *[TASK_TIMEOUT] * 3, *[OK] * 4]
