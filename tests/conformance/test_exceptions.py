# SPDX-License-Identifier: Apache-2.0
"""Callbacks for failed tasks: which, when, on which thread, and what they may ask. Tasks fail on demand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from support.codes import AICORE_EXCEPTION

from ascend_rt import Device, Event, Stream, TaskFailed, sim
from ascend_rt.errors import AclError
from ascend_rt.testing import Latch

UNKNOWN = 0xFFFFFFFF
FIELDS = ("TaskId", "StreamId", "ThreadId", "DeviceId", "ErrorCode")


pytestmark = pytest.mark.simulator("faults")


@pytest.fixture(autouse=True)
def no_fault_is_left() -> Iterator[None]:
    with sim.faults():
        yield


class Recorder:
    """A callback that records its arguments."""

    def __init__(self, lib: Any, ffi: Any) -> None:
        self.seen: list[dict[str, int]] = []
        self.threads: list[int] = []
        self.infos: list[Any] = []

        @ffi.callback("void(aclrtExceptionInfo *)")
        def callback(info: Any) -> None:
            self.infos.append(info)
            self.threads.append(threading.get_native_id())
            self.seen.append({name: getattr(lib, f"aclrtGet{name}FromExceptionInfo")(info) for name in FIELDS})

        self.callback = callback


@pytest.fixture
def recorder(lib: Any, ffi: Any, device: Any) -> Iterator[Recorder]:
    recorder = Recorder(lib, ffi)
    assert lib.aclrtExceptionInfoCallbackRegister(recorder.callback) == 0
    yield recorder
    assert lib.aclrtExceptionInfoCallbackUnregister(recorder.callback) == 0


def fail_here(stream: Stream) -> None:
    """Enqueue a task that fails."""
    sim.fail_task(AICORE_EXCEPTION, stream)
    stream.record()


def test_a_callback_is_reported_what_failed_before_the_synchronization_returns(lib, ffi, stream, recorder) -> None:
    fail_here(stream)
    task = ffi.new("uint32_t *")
    assert lib.aclrtGetThreadLastTaskId(task) == 0
    with pytest.raises(AclError, match=str(AICORE_EXCEPTION)):
        stream.synchronize()
    assert recorder.seen == [
        {
            "TaskId": task[0],
            "StreamId": stream.id,
            "ThreadId": threading.get_native_id(),
            "DeviceId": 0,
            "ErrorCode": AICORE_EXCEPTION,
        }
    ]
    stream.synchronize()  # a failure is reported once
    assert len(recorder.seen) == 1


def test_the_thread_is_the_one_that_submitted(stream, recorder, device) -> None:
    numbers = []

    def submit() -> None:
        device.set_current()
        numbers.append(threading.get_native_id())
        fail_here(stream)

    thread = threading.Thread(target=submit)
    thread.start()
    thread.join()
    with pytest.raises(AclError):
        stream.synchronize()
    assert [info["ThreadId"] for info in recorder.seen] == numbers


def test_a_task_that_fails_later(stream, recorder) -> None:
    with Latch(stream):
        sim.fail_task(AICORE_EXCEPTION, stream, nth=2)
        for _ in range(3):
            stream.record()
        assert recorder.seen == []
    with pytest.raises(AclError):
        stream.synchronize()
    assert len(recorder.seen) == 1


def test_every_failed_task_is_reported(stream, other, recorder) -> None:
    for failing in (stream, other, stream):
        fail_here(failing)
    for failing in (stream, other):
        with pytest.raises(AclError):
            failing.synchronize()
    assert sorted(info["StreamId"] for info in recorder.seen) == sorted([stream.id, stream.id, other.id])


def test_who_learns_of_a_failure_finds_its_callback_over(stream, recorder, device) -> None:
    # Several threads wait for the failing task; each sees the callback done when its synchronization returns.
    seen = []

    def wait() -> None:
        device.set_current()
        try:
            stream.synchronize()
        except AclError:
            seen.append(len(recorder.seen))

    latch = Latch(stream)
    fail_here(stream)
    threads = [threading.Thread(target=wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    latch.release()
    for thread in threads:
        thread.join()
    assert seen == [1]


# Failures that a synchronization answers but logs as a success (events_streams_sync.md section 1).
LOGGED_AS_SUCCESS = [507005, 507023, 207003, 207016, 207017, 507901]


@pytest.mark.parametrize("code", [*LOGGED_AS_SUCCESS, AICORE_EXCEPTION])
def test_what_is_logged_as_a_success_is_not_remembered(lib, ffi, stream, code: int) -> None:
    lib.aclrtGetLastError(lib.ACL_RT_THREAD_LEVEL)
    sim.fail_task(code, stream)
    stream.record()
    assert lib.aclrtSynchronizeStream(ffi.cast("aclrtStream", stream.handle)) == code
    assert lib.aclrtGetLastError(lib.ACL_RT_THREAD_LEVEL) == (0 if code in LOGGED_AS_SUCCESS else code)


@pytest.mark.parametrize("code", [507005, 507023])
def test_an_end_that_is_no_failure_is_not_reported(stream, recorder, code: int) -> None:
    sim.fail_task(code, stream)
    stream.record()
    with pytest.raises(AclError, match=str(code)):
        stream.synchronize()
    assert recorder.seen == []


def test_registered_twice_is_once_and_the_single_slot_is_apart(lib, ffi, stream, recorder) -> None:
    assert lib.aclrtExceptionInfoCallbackRegister(recorder.callback) == 0
    fail_here(stream)
    with pytest.raises(AclError):
        stream.synchronize()
    assert len(recorder.seen) == 1
    second = Recorder(lib, ffi)
    assert lib.aclrtSetExceptionInfoCallback(recorder.callback) == 0
    assert lib.aclrtSetExceptionInfoCallback(second.callback) == 0  # the last wins
    fail_here(stream)
    with pytest.raises(AclError):
        stream.synchronize()
    assert (len(recorder.seen), len(second.seen)) == (2, 1)
    assert lib.aclrtSetExceptionInfoCallback(recorder.callback) == 0
    fail_here(stream)
    with pytest.raises(AclError):
        stream.synchronize()
    assert len(recorder.seen) == 4  # in both places: called twice
    assert lib.aclrtSetExceptionInfoCallback(ffi.NULL) == 0


def test_without_a_callback_nothing_is_kept(lib, ffi, stream, device) -> None:
    fail_here(stream)
    with pytest.raises(AclError):
        stream.synchronize()
    late = Recorder(lib, ffi)
    assert lib.aclrtExceptionInfoCallbackRegister(late.callback) == 0
    stream.synchronize()
    assert late.seen == []
    assert lib.aclrtExceptionInfoCallbackUnregister(late.callback) == 0


def test_a_callback_may_call_the_runtime(lib, ffi, stream, other, device) -> None:
    answers = []

    @ffi.callback("void(aclrtExceptionInfo *)")
    def callback(info: Any) -> None:
        status = ffi.new("aclrtStreamStatus *")
        answers.append(lib.aclrtStreamQuery(ffi.cast("void *", other.handle), status))
        answers.append(lib.aclrtRecordEvent(ffi.NULL, ffi.NULL))

    assert lib.aclrtExceptionInfoCallbackRegister(callback) == 0
    fail_here(stream)
    with pytest.raises(AclError):
        stream.synchronize()
    assert answers == [0, 100000]
    assert lib.aclrtExceptionInfoCallbackUnregister(callback) == 0


def test_bad_arguments(lib, ffi, stream, recorder) -> None:
    for name in ("Register", "Unregister"):
        assert getattr(lib, f"aclrtExceptionInfoCallback{name}")(ffi.NULL) == 107000
    fail_here(stream)
    with pytest.raises(AclError):
        stream.synchronize()
    garbage = ffi.cast("aclrtExceptionInfo *", 0x1234567800)
    for info in (ffi.NULL, garbage, recorder.infos[0]):  # the last one's callback has returned
        for name in FIELDS:
            assert getattr(lib, f"aclrtGet{name}FromExceptionInfo")(info) == UNKNOWN
    unknown = ffi.callback("void(aclrtExceptionInfo *)", lambda info: None)
    assert lib.aclrtExceptionInfoCallbackUnregister(unknown) == 0


def test_a_lost_device_is_reported_without_a_task(lib, ffi, recorder, device) -> None:
    with Device(1):
        out = ffi.new("aclrtStream *")
        assert lib.aclrtCreateStream(out) == 0
        sim.lose_device(1)
        assert lib.aclrtSynchronizeStream(out[0]) == 507010
    assert recorder.seen == [
        {"TaskId": UNKNOWN, "StreamId": UNKNOWN, "ThreadId": UNKNOWN, "DeviceId": 1, "ErrorCode": 507010}
    ]
    Device(1).reset(force=True)  # other tests have set it, too
    device.set_current()


def test_a_callback_that_waits_does_not_hold_up_other_threads(lib, ffi, stream, other, device) -> None:
    entered, go_on = threading.Event(), threading.Event()

    @ffi.callback("void(aclrtExceptionInfo *)")
    def callback(info: Any) -> None:
        entered.set()
        go_on.wait()

    assert lib.aclrtExceptionInfoCallbackRegister(callback) == 0
    codes = []

    def fail_and_wait() -> None:
        device.set_current()
        sim.fail_task(AICORE_EXCEPTION, stream)
        try:
            stream.record()
            stream.synchronize()
        except AclError as error:
            codes.append(error.code)

    thread = threading.Thread(target=fail_and_wait)
    thread.start()
    entered.wait()
    other.record().synchronize()  # another stream, another thread
    assert codes == []
    go_on.set()
    thread.join()
    assert codes == [AICORE_EXCEPTION]
    assert lib.aclrtExceptionInfoCallbackUnregister(callback) == 0


def test_a_query_shows_completion_when_the_callbacks_know(lib: Any, ffi: Any, device: Device) -> None:
    entered, gate = threading.Event(), threading.Event()
    asked: list[bool] = []

    @ffi.callback("void(aclrtExceptionInfo *)")
    def callback(info: Any) -> None:
        entered.set()
        gate.wait()
        asked.append(lib.ascend_rt_stream_status(stream._handle) == lib.ACL_STREAM_STATUS_COMPLETE)

    def shown() -> list[int]:
        return [lib.ascend_rt_stream_status(stream._handle), lib.ascend_rt_event_status(event._handle)]

    def submit() -> None:  # and call back at the end of the call
        device.set_current()
        fail_here(stream)

    with Stream() as stream, Stream() as other, Event() as event:
        assert lib.aclrtExceptionInfoCallbackRegister(callback) == 0
        failing = threading.Thread(target=submit)
        failing.start()
        entered.wait()
        event.record(stream)
        assert shown() == [lib.ACL_STREAM_STATUS_NOT_READY, lib.ACL_EVENT_RECORDED_STATUS_NOT_READY]
        assert other.is_done  # which has not failed
        gate.set()
        failing.join()
        while shown() != [lib.ACL_STREAM_STATUS_COMPLETE, lib.ACL_EVENT_RECORDED_STATUS_COMPLETE]:
            pass
        assert asked == [True]
        assert lib.aclrtExceptionInfoCallbackUnregister(callback) == 0
        with pytest.raises(TaskFailed):
            stream.synchronize()
