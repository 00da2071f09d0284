# SPDX-License-Identifier: Apache-2.0
"""The 18 functions of the synchronization chapter of the pyACL documents, in its order and style.

Handles are plain numbers, 0 is the default stream, and each call answers a code.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ascend_rt import pyacl as acl
from ascend_rt import sim

SUCCESS = 0
NO_BLOCK, BLOCK = 0, 1
COMPLETE = 0
STREAM_SYNC = 0x1  # ACL_EVENT_SYNC


@pytest.fixture
def context(device: Any) -> int:
    context, ret = acl.rt.get_context()
    assert ret == SUCCESS
    return context


@pytest.fixture
def create(context: int, backend: str) -> Iterator[Callable[..., int]]:
    """Return a function that creates a stream or an event, which are destroyed after the test."""
    destroy: list[tuple[Callable[[int], int], int]] = []

    def make(kind: str, *arguments: int) -> int:
        handle, ret = getattr(acl.rt, f"create_{kind}")(*arguments)
        assert ret == SUCCESS
        destroy.append((acl.rt.destroy_stream if kind == "stream" else acl.rt.destroy_event, handle))
        return handle

    yield make
    for function, handle in reversed(destroy):
        assert function(handle) == SUCCESS
        if backend == "sim":  # the vendor's library follows destroyed handles
            assert function(handle) == 107017


def test_events_in_the_order_of_the_chapter(create: Callable[..., int]) -> None:
    stream, start, end = create("stream"), create("event"), create("event")
    assert acl.rt.record_event(start, stream) == SUCCESS
    assert acl.rt.record_event(end, stream) == SUCCESS
    assert acl.rt.synchronize_stream(stream) == SUCCESS
    ms, ret = acl.rt.event_elapsed_time(start, end)
    assert ret == SUCCESS
    assert isinstance(ms, float)
    assert ms >= 0
    assert acl.rt.query_event(end) == (COMPLETE, SUCCESS)
    assert acl.rt.synchronize_event(end) == SUCCESS


def test_several_streams_wait_for_one_event_which_is_reset_then(create: Callable[..., int]) -> None:
    first, second, third = (create("stream") for _ in range(3))
    event = create("event")
    assert acl.rt.record_event(event, first) == SUCCESS
    for waiting in (second, third):
        assert acl.rt.stream_wait_event(waiting, event) == SUCCESS
    assert acl.rt.reset_event(event, second) == SUCCESS
    assert acl.rt.synchronize_device() == SUCCESS


def test_the_default_stream_is_0(create: Callable[..., int]) -> None:
    event = create("event")
    assert acl.rt.record_event(event, 0) == SUCCESS
    assert acl.rt.stream_wait_event(0, event) == SUCCESS
    assert acl.rt.synchronize_stream(0) == SUCCESS
    assert acl.rt.query_event(event) == (COMPLETE, SUCCESS)


class ReportThread:
    """A thread that processes reports, started by `acl.util` or by `threading`."""

    def __init__(self, context: int, by: str) -> None:
        self.is_ready, self.ends = threading.Event(), threading.Event()
        self.codes: set[int] = set()
        self.thread = None
        if by == "threading":
            self.thread = threading.Thread(target=self.run, args=([context],))
            self.thread.start()
            self.id = self.thread.ident
        else:
            self.id, ret = acl.util.start_thread(self.run, [context])
            assert ret == 0
        self.is_ready.wait()

    def run(self, args: list[int]) -> None:
        assert acl.rt.set_context(args[0]) == SUCCESS
        self.is_ready.set()
        while not self.ends.is_set():
            self.codes.add(acl.rt.process_report(100))

    def stop(self) -> None:
        if self.ends.is_set():
            return
        self.ends.set()
        if self.thread is None:
            assert acl.util.stop_thread(self.id) == 0
        else:
            self.thread.join()


@pytest.fixture(params=["acl.util", "threading"])
def reports(request: pytest.FixtureRequest, context: int) -> Iterator[ReportThread]:
    thread = ReportThread(context, request.param)
    yield thread
    thread.stop()


def test_callbacks_run_on_the_thread_that_was_subscribed(create: Callable[..., int], reports: ReportThread) -> None:
    stream = create("stream")
    ran: list[tuple[str, int]] = []

    def note(user_data: list[str]) -> None:
        ran.append((user_data[0], threading.get_ident()))

    assert acl.rt.subscribe_report(reports.id, stream) == SUCCESS
    for name in ("first", "second"):
        assert acl.rt.launch_callback(note, [name], BLOCK, stream) == SUCCESS
    assert acl.rt.synchronize_stream(stream) == SUCCESS
    assert ran == [("first", reports.id), ("second", reports.id)]
    assert acl.rt.unsubscribe_report(reports.id, stream) == SUCCESS
    assert acl.rt.launch_callback(note, ["third"], NO_BLOCK, stream) == 107015
    reports.stop()
    assert SUCCESS in reports.codes
    assert reports.codes <= {SUCCESS, 107012, 507012}  # before and after the subscription, and nothing arrived


def test_two_streams_are_ordered_by_an_event_and_share_a_thread(
    create: Callable[..., int], reports: ReportThread
) -> None:
    a, b = create("stream"), create("stream")
    start, end, between = create("event"), create("event"), create("event_with_flag", STREAM_SYNC)
    order: list[str] = []
    goes_on = threading.Event()

    def first(user_data: list[Any]) -> None:
        goes_on.wait()
        user_data[0].append("a")

    for stream in (a, b):
        assert acl.rt.subscribe_report(reports.id, stream) == SUCCESS
    assert acl.rt.record_event(start, a) == SUCCESS
    assert acl.rt.launch_callback(first, [order], BLOCK, a) == SUCCESS
    assert acl.rt.record_event(between, a) == SUCCESS
    assert acl.rt.stream_wait_event(b, between) == SUCCESS
    assert acl.rt.launch_callback(lambda user_data: user_data[0].append("b"), [order], BLOCK, b) == SUCCESS
    assert acl.rt.record_event(end, b) == SUCCESS
    assert acl.rt.query_event(end) == (1, SUCCESS)
    goes_on.set()
    assert acl.rt.synchronize_event(end) == SUCCESS
    assert acl.rt.synchronize_device() == SUCCESS
    assert order == ["a", "b"]
    assert acl.rt.event_elapsed_time(start, end)[1] == SUCCESS
    assert acl.rt.reset_event(between, b) == SUCCESS
    assert acl.rt.synchronize_stream(b) == SUCCESS
    for stream in (a, b):
        assert acl.rt.unsubscribe_report(reports.id, stream) == SUCCESS


def test_without_a_callback_for_exceptions_the_getters_have_no_answer(context: int) -> None:
    assert acl.rt.set_exception_info_callback(lambda info: None) == SUCCESS
    assert acl.rt.set_exception_info_callback() == SUCCESS
    names = ("task_id", "stream_id", "thread_id", "device_id", "error_code")
    assert {getattr(acl.rt, f"get_{name}_from_exception_info")(0) for name in names} == {0xFFFFFFFF}


@pytest.mark.simulator("faults")
def test_the_exception_callback_is_reported_everything(create: Callable[..., int], lib: Any, ffi: Any) -> None:
    seen: list[dict[str, int]] = []

    def callback(info: int) -> None:
        seen.append(
            {
                "task": acl.rt.get_task_id_from_exception_info(info),
                "stream": acl.rt.get_stream_id_from_exception_info(info),
                "thread": acl.rt.get_thread_id_from_exception_info(info),
                "device": acl.rt.get_device_id_from_exception_info(info),
                "code": acl.rt.get_error_code_from_exception_info(info),
            }
        )

    assert acl.rt.set_exception_info_callback(callback) == SUCCESS
    stream, event = create("stream"), create("event")
    number, ret = acl.rt.stream_get_id(stream)
    assert ret == SUCCESS
    expected = {"stream": number, "thread": threading.get_native_id(), "device": 0, "code": 507015}
    for task in (1, 2):
        with sim.faults():
            assert lib.aclsimFailTask(ffi.cast("void *", stream), 1, 507015) == SUCCESS
            assert acl.rt.record_event(event, stream) == SUCCESS
            assert acl.rt.synchronize_stream(stream) == 507015
        assert seen.pop() == {"task": task, **expected}
        assert seen == []
    assert acl.rt.set_exception_info_callback(None) == SUCCESS
    with sim.faults():
        assert lib.aclsimFailTask(ffi.cast("void *", stream), 1, 507015) == SUCCESS
        assert acl.rt.record_event(event, stream) == SUCCESS
        assert acl.rt.synchronize_stream(stream) == 507015
    assert seen == []
