# SPDX-License-Identifier: Apache-2.0
"""The 18 functions of the synchronization chapter of the pyACL documents, in its order and style, over the C API.

Handles are plain numbers, 0 is the default stream, and each call answers a code.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

SUCCESS = 0
BLOCK, NO_BLOCK = 1, 0
COMPLETE = 0


class Rt:
    """The functions as the chapter calls them: outputs before the code."""

    def __init__(self, lib: Any, ffi: Any) -> None:
        self.lib, self.ffi = lib, ffi
        self.kept: list[Any] = []  # callbacks, for as long as the runtime may call them

    def handle(self, number: int) -> Any:
        return self.ffi.cast("void *", number)

    def out(self, c_type: str, function: Any, *arguments: Any) -> tuple[Any, int]:
        out = self.ffi.new(c_type)
        code = function(*arguments, out)
        value = out[0]
        return (int(self.ffi.cast("uintptr_t", value)) if isinstance(value, self.ffi.CData) else value), code

    def create_event(self) -> tuple[int, int]:
        return self.out("aclrtEvent *", self.lib.aclrtCreateEvent)

    def create_stream(self) -> tuple[int, int]:
        return self.out("aclrtStream *", self.lib.aclrtCreateStream)

    def query_event(self, event: int) -> tuple[int, int]:
        return self.out("aclrtEventStatus *", self.lib.aclrtQueryEvent, self.handle(event))

    def event_elapsed_time(self, start: int, end: int) -> tuple[float, int]:
        ms = self.ffi.new("float *")
        code = self.lib.aclrtEventElapsedTime(ms, self.handle(start), self.handle(end))
        return ms[0], code

    def on(self, function: str, *handles: int) -> int:
        return int(getattr(self.lib, function)(*map(self.handle, handles)))

    def launch_callback(self, fn: Any, user_data: list[Any], block_type: int, stream: int) -> int:
        callback = self.ffi.callback("void(void *)", lambda _: fn(user_data))
        self.kept.append(callback)
        return int(self.lib.aclrtLaunchCallback(callback, self.ffi.NULL, block_type, self.handle(stream)))


@pytest.fixture
def rt(lib: Any, ffi: Any, device: Any) -> Rt:
    return Rt(lib, ffi)


def test_events_in_the_order_of_the_chapter(rt: Rt) -> None:
    stream, ret = rt.create_stream()
    assert ret == SUCCESS
    start, ret = rt.create_event()
    assert ret == SUCCESS
    end, ret = rt.create_event()
    assert ret == SUCCESS
    assert rt.on("aclrtRecordEvent", start, stream) == SUCCESS
    assert rt.on("aclrtRecordEvent", end, stream) == SUCCESS
    assert rt.on("aclrtSynchronizeStream", stream) == SUCCESS
    ms, ret = rt.event_elapsed_time(start, end)
    assert ret == SUCCESS
    assert ms >= 0
    assert rt.query_event(end) == (COMPLETE, SUCCESS)
    assert rt.on("aclrtSynchronizeEvent", end) == SUCCESS
    for event in (start, end):
        assert rt.on("aclrtDestroyEvent", event) == SUCCESS
        assert rt.on("aclrtDestroyEvent", event) == 107017
    assert rt.on("aclrtDestroyStream", stream) == SUCCESS


def test_several_streams_wait_for_one_event_which_is_reset_then(rt: Rt) -> None:
    first, second, third = (rt.create_stream()[0] for _ in range(3))
    event, ret = rt.create_event()
    assert ret == SUCCESS
    assert rt.on("aclrtRecordEvent", event, first) == SUCCESS
    for waiting in (second, third):
        assert rt.on("aclrtStreamWaitEvent", waiting, event) == SUCCESS
    assert rt.on("aclrtResetEvent", event, second) == SUCCESS
    assert rt.lib.aclrtSynchronizeDevice() == SUCCESS
    assert rt.on("aclrtDestroyEvent", event) == SUCCESS
    for stream in (first, second, third):
        assert rt.on("aclrtDestroyStream", stream) == SUCCESS


def test_the_default_stream_is_0(rt: Rt) -> None:
    event, _ = rt.create_event()
    assert rt.on("aclrtRecordEvent", event, 0) == SUCCESS
    assert rt.on("aclrtSynchronizeStream", 0) == SUCCESS
    assert rt.query_event(event) == (COMPLETE, SUCCESS)
    assert rt.on("aclrtDestroyEvent", event) == SUCCESS


def test_callbacks_run_on_the_thread_that_was_subscribed(rt: Rt, device: Any) -> None:
    stream, _ = rt.create_stream()
    subscribed, finished = threading.Event(), threading.Event()
    ran: list[tuple[str, int]] = []
    codes: list[int] = []

    def process() -> None:
        device.set_current()
        subscribed.set()
        while not finished.is_set():
            codes.append(rt.lib.aclrtProcessReport(100))

    def note(user_data: list[Any]) -> None:
        ran.append((user_data[0], threading.get_ident()))

    thread = threading.Thread(target=process)
    thread.start()
    subscribed.wait()
    assert thread.ident is not None
    assert rt.lib.aclrtSubscribeReport(thread.ident, rt.handle(stream)) == SUCCESS
    for name in ("first", "second"):
        assert rt.launch_callback(note, [name], BLOCK, stream) == SUCCESS
    assert rt.on("aclrtSynchronizeStream", stream) == SUCCESS
    assert ran == [("first", thread.ident), ("second", thread.ident)]
    assert rt.lib.aclrtUnSubscribeReport(thread.ident, rt.handle(stream)) == SUCCESS
    assert rt.launch_callback(note, ["third"], NO_BLOCK, stream) == 107015
    finished.set()
    thread.join()
    assert SUCCESS in codes
    assert set(codes) <= {SUCCESS, 107012, 507012}  # before and after the subscription, and nothing arrived
    assert rt.on("aclrtDestroyStream", stream) == SUCCESS


def test_the_exception_callback_is_set_and_cleared(rt: Rt, backend: str) -> None:
    seen: list[tuple[int, int, int]] = []
    names = ("Task", "Stream", "Thread")

    def callback(info: Any) -> None:
        seen.append(tuple(getattr(rt.lib, f"aclrtGet{name}IdFromExceptionInfo")(info) for name in names))

    kept = rt.ffi.callback("void(aclrtExceptionInfo *)", callback)
    assert rt.lib.aclrtSetExceptionInfoCallback(kept) == SUCCESS
    stream, _ = rt.create_stream()
    if backend == "sim":
        from ascend_rt import sim

        event, _ = rt.create_event()
        with sim.faults():
            assert rt.lib.aclsimFailTask(rt.handle(stream), 1, 507015) == SUCCESS
            assert rt.on("aclrtRecordEvent", event, stream) == SUCCESS
            assert rt.on("aclrtSynchronizeStream", stream) == 507015
        number = rt.out("int32_t *", rt.lib.aclrtStreamGetId, rt.handle(stream))[0]
        assert seen == [(1, number, threading.get_native_id())]
        assert rt.on("aclrtDestroyEvent", event) == SUCCESS
    assert rt.lib.aclrtSetExceptionInfoCallback(rt.ffi.NULL) == SUCCESS
    assert [getattr(rt.lib, f"aclrtGet{name}IdFromExceptionInfo")(rt.ffi.NULL) for name in names] == [0xFFFFFFFF] * 3
    assert rt.on("aclrtDestroyStream", stream) == SUCCESS
