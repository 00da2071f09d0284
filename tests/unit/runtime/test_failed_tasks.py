# SPDX-License-Identifier: Apache-2.0
"""Calls on a stream or an event report a task that has failed, and each failure once."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from ascend_rt import (
    AclError,
    AclWarning,
    AscendError,
    Buffer,
    ClosedError,
    Context,
    Device,
    Event,
    FailedTask,
    ForkedProcess,
    LibraryError,
    PinnedBuffer,
    RuntimeClosed,
    Stream,
    TaskFailed,
    Timeout,
    WrongState,
    copy_async,
    fill_async,
    sim,
)
from ascend_rt._runtime import blocking, failures
from ascend_rt._runtime.error_texts import in_full
from ascend_rt.testing import Latch

pytestmark = pytest.mark.simulator("faults")

CODE = 507015
PACKAGE = str(Path(failures.__file__).parent)


@pytest.fixture(params=["reported by a callback", "found by asking"])
def _library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test as on a library that has exception callbacks, and as on an older one, which must be asked."""
    monkeypatch.setattr(failures, "needs_polling", request.param != "reported by a callback")


@pytest.fixture
def copies(device: Device, _library: None) -> Iterator[Callable[[Stream], None]]:
    """Enqueue copies that fail."""
    to, source = Buffer(64), PinnedBuffer(64)

    def copy(stream: Stream) -> None:
        sim.fail_task(CODE, stream)
        copy_async(to, source, stream)

    yield copy
    to.close()


def reported(function: Callable[[], Any]) -> int:
    """Return the code of the failed task that a function raises, or 0."""
    try:
        function()
    except TaskFailed as error:
        return error.code
    return 0


def use_and_raise(copies: Callable[[Stream], None], error: BaseException) -> None:
    with Stream() as stream:
        copies(stream)
        raise error


def test_the_end_of_a_block_raises(copies: Any) -> None:
    with pytest.raises(TaskFailed, match="507015"), Stream() as stream:
        copies(stream)
    assert stream.is_closed


def test_the_end_of_a_block_chains_the_error_of_the_block(copies: Any) -> None:
    with pytest.raises(TaskFailed) as failed:
        use_and_raise(copies, KeyError("of the block"))
    assert isinstance(failed.value.__context__, KeyError)


def test_an_interrupt_of_the_block_is_not_replaced(copies: Any) -> None:
    with pytest.warns(AclWarning, match="507015"), pytest.raises(KeyboardInterrupt):
        use_and_raise(copies, KeyboardInterrupt())


def test_what_the_block_has_raised_is_not_raised_twice(copies: Any) -> None:
    def fail_both() -> None:
        with Stream() as outer, Stream() as inner:
            copies(outer)
            copies(inner)
            outer.synchronize()

    with pytest.raises(TaskFailed) as failed:
        fail_both()
    assert failed.value.__context__ is None


def test_closing_raises_and_closes(copies: Any) -> None:
    stream = Stream()
    copies(stream)
    assert reported(stream.close) == CODE
    assert stream.is_closed
    stream.close()


def test_closing_waits_for_the_failure(copies: Any, device: Device) -> None:
    stream, codes = Stream(), []

    def close() -> None:
        device.set_current()
        codes.append(reported(stream.close))

    with Latch(stream):
        copies(stream)
        closing = threading.Thread(target=close)
        closing.start()
    closing.join()
    assert codes == [CODE]


def test_a_failure_that_was_reported_is_not_reported_by_closing(copies: Any) -> None:
    stream = Stream()
    copies(stream)
    assert reported(stream.synchronize) == CODE
    assert reported(stream.close) == 0


def test_the_same_failure_again_is_reported_by_closing(copies: Any) -> None:
    stream = Stream()
    copies(stream)
    assert reported(stream.synchronize) == CODE
    copies(stream)
    assert reported(stream.close) == CODE


def test_closing_that_fails_keeps_the_failure(copies: Any) -> None:
    stream = Stream()
    copies(stream)
    with sim.faults():
        sim.fail_call("aclrtDestroyStream", 507899)
        with pytest.raises(AclError, match="fault injection"):
            stream.close()
    assert reported(stream.close) == CODE


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch, lib: Any) -> Callable[[str, Callable[[], object]], None]:
    """Return a function that does something during which a signal arrives as a C function returns.

    That is a C function of the runtime, one of the extension module that Python calls, or a method that is called with
    the code of one.
    """

    def interrupt(function: str, action: Callable[[], object]) -> None:
        def call(*arguments: Any) -> None:
            if not function.startswith("_"):
                original(*arguments)
            signal.raise_signal(signal.SIGINT)

        with monkeypatch.context() as patch, ExitStack() as overridden:
            if function.startswith("acl"):
                original = overridden.enter_context(lib.override(function, call))
            else:
                owner = Stream if function.startswith("_") else lib
                original = getattr(owner, function)
                patch.setattr(owner, function, call)
            with pytest.raises(KeyboardInterrupt):
                action()

    return interrupt


@pytest.mark.parametrize("look", [Stream.synchronize, Stream.close, Stream.check, lambda stream: stream.is_done])
def test_a_report_that_an_interrupt_has_replaced_is_reported(
    copies: Any, interrupt: Any, look: Callable[[Stream], None]
) -> None:
    stream = Stream()
    copies(stream)
    interrupt("_end_wait", stream.synchronize)
    assert reported(lambda: look(stream)) == CODE
    assert reported(stream.close) == (0 if look in (Stream.synchronize, Stream.close) else CODE)
    assert reported(stream.close) == 0


@pytest.mark.parametrize("function", ["_finish", "aclrtDestroyStream"])
def test_a_report_that_an_interrupt_of_closing_has_replaced_is_reported(
    copies: Any, interrupt: Any, function: str
) -> None:
    stream = Stream()
    copies(stream)
    interrupt(function, stream.close)
    new = Stream()  # which may have the handle
    assert reported(stream.close) == CODE
    assert stream.is_closed
    assert reported(stream.close) == reported(new.close) == 0


@pytest.mark.parametrize("look", ["device", "stream", "close"])
def test_a_report_that_an_interrupt_of_a_device_has_replaced_is_reported(
    copies: Any, interrupt: Any, device: Device, look: str
) -> None:
    if failures.needs_polling and look != "device":
        pytest.skip("the stream of a failure is known from a callback only")
    with Stream() as stream:
        looks = {"device": device.synchronize, "stream": stream.synchronize, "close": stream.close}
        copies(stream)
        interrupt("ascend_rt_synchronize_device", device.synchronize)
        assert reported(looks[look]) == CODE
        assert reported(device.synchronize) == reported(stream.close) == 0


@pytest.mark.parametrize("function", ["ascend_rt_synchronize_device", "aclrtDestroyContext"])
def test_a_report_that_an_interrupt_of_a_context_has_replaced_is_reported(
    copies: Any, interrupt: Any, function: str
) -> None:
    context = Context(0)
    with context:
        copies(Stream.default())
    interrupt(function, context.close)
    assert reported(context.close) == CODE
    assert context.is_closed
    assert reported(context.close) == 0


class Boom(Exception):
    """Of a handler of a signal."""


class Interruption:
    """Raises at one of the lines of the package that the block executes, as the handler of a signal may.

    Garbage is not collected meanwhile: a line of a finalizer would take the exception.
    """

    def __init__(self, line: int) -> None:
        self._lines_left = line

    def __enter__(self) -> Interruption:
        gc.disable()
        sys.settrace(self._look)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)
        gc.enable()

    def _look(self, frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        self._lines_left -= event == "line"
        if event == "line" and self._lines_left == 0:
            sys.settrace(None)
            raise Boom
        return self._look


WAITS: dict[str, Callable[[Stream, Device], None]] = {
    "stream": lambda stream, device: stream.synchronize(),
    "stream with a limit": lambda stream, device: stream.synchronize(timeout=60),
    "close": lambda stream, device: stream.close(),
    "block": lambda stream, device: stream.__exit__(None, None, None),
    "device": lambda stream, device: device.synchronize(),
}


def is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


@pytest.mark.parametrize("wait", WAITS.values(), ids=list(WAITS))
@pytest.mark.parametrize("is_long", [False, True], ids=["done", "goes on"])
def test_no_line_loses_a_failure(
    wait: Callable[[Stream, Device], None],
    is_long: bool,
    copies: Any,
    device: Device,
    lib: Any,
    override: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look(stream: Any, status: Any) -> int:
        status[0] = lib.ACL_STREAM_STATUS_NOT_READY
        return 0 if is_main() else query(stream, status)

    def synchronize(stream: Any, limit: int) -> int:
        return lib.ACL_ERROR_RT_STREAM_SYNC_TIMEOUT if is_main() else really(stream, limit)

    if is_long:  # another thread makes the call
        query = override("aclrtStreamQuery", look)
        really = override("aclrtSynchronizeStreamWithTimeout", synchronize)
        monkeypatch.setattr(lib, "ascend_rt_synchronize_device", lambda *arguments: blocking.WOULD_WAIT)
    lost, line, was_hit = [], 0, True
    while was_hit:
        line += 1
        stream, was_hit, codes = Stream(), False, []
        copies(stream)
        with Interruption(line):
            try:
                wait(stream, device)
            except Boom:
                was_hit = True
            except TaskFailed as error:
                codes.append(error.code)
        for look in (device.synchronize, stream.close, stream.close):
            codes.append(reported(look))
        if CODE not in codes:
            lost.append(line)
    assert lost == []
    assert line > 5


def test_a_wait_that_is_too_short_keeps_what_an_earlier_one_left(copies: Any, interrupt: Any) -> None:
    with Stream() as stream:
        copies(stream)
        interrupt("_end_wait", stream.synchronize)
        with Latch(stream), pytest.raises(Timeout):
            stream.synchronize(timeout=0.001)
        assert reported(stream.synchronize) == CODE


def test_a_refused_wait_keeps_what_an_earlier_one_left(copies: Any, interrupt: Any) -> None:
    with Stream() as stream:
        copies(stream)
        interrupt("_end_wait", stream.synchronize)
        sim.fail_call("aclrtSynchronizeStream", 107002)
        assert reported(stream.synchronize) == CODE
        stream.synchronize()


def test_closing_a_context_reports_and_closes(copies: Any) -> None:
    context = Context(0)
    with context:
        copies(Stream.default())
    assert reported(context.close) == CODE
    assert context.is_closed
    context.close()


@pytest.mark.parametrize("mode", [0, 1], ids=["CONTINUE", "STOP"])
def test_closing_a_context_does_not_report_again(mode: int, copies: Any, lib: Any) -> None:
    context = Context(0)
    with context:
        stream = Stream.default()
        assert lib.aclrtSetStreamFailureMode(stream._handle, mode) == 0
        copies(stream)
        assert reported(stream.synchronize) == CODE
    assert reported(context.close) == 0


def test_discarding_warns(copies: Any) -> None:
    def use_and_discard() -> None:
        copies(Stream())
        gc.collect()

    with pytest.warns(AclWarning, match="507015"):
        use_and_discard()


def test_dropping_the_work_drops_the_failure(copies: Any) -> None:
    stream = Stream()
    with Latch(stream):
        copies(stream)
        stream.close(force=True)
    assert stream.is_closed


def test_an_event_reports_what_was_recorded_before_the_report(copies: Any) -> None:
    with Stream() as stream, Event() as event:
        event.record(stream)
        assert event.is_done
        copies(stream)
        event.record(stream)
        assert reported(event.synchronize) == CODE
        assert reported(lambda: event.is_done) == CODE
        assert reported(lambda: event.synchronize(timeout=1)) == CODE
        assert reported(stream.synchronize) == CODE
        assert reported(stream.synchronize) == 0
        assert reported(event.synchronize) == CODE  # the work before its record has failed, and that stays true
        event.record(stream)
        assert event.is_done
        event.synchronize()


@pytest.mark.usefixtures("device", "_library")
@pytest.mark.parametrize("uses_memory", [False, True])
def test_an_event_reports_what_only_the_report_has_reported(uses_memory: bool, lib: Any) -> None:
    with Stream() as stream, Event() as event, Buffer(64) as memory:
        if uses_memory:
            fill_async(memory, 0, stream)
        event.record(stream)
        assert lib.aclrtSynchronizeStream(stream._handle) == 0
        sim.fail_call("aclrtSynchronizeStream", CODE)  # no callback is called for that
        assert reported(stream.synchronize) == CODE
        assert reported(lambda: event.is_done) == CODE
        assert reported(event.synchronize) == CODE
        assert reported(lambda: event.synchronize(timeout=1)) == CODE
        event.record(stream)
        event.synchronize()


def test_a_report_that_was_made_to_others_ends_the_failure(copies: Any, lib: Any) -> None:
    with Stream() as stream, Event() as event:
        copies(stream)
        event.record(stream)
        assert lib.aclrtSynchronizeStream(stream._handle) == CODE  # as another package does that uses the stream
        is_known = not failures.needs_polling  # otherwise no other object can know
        assert reported(event.synchronize) == (CODE if is_known else 0)
        assert reported(stream.check) == (CODE if is_known else 0)
        assert reported(stream.synchronize) == 0
        stream.check()
        assert reported(event.synchronize) == (CODE if is_known else 0)
        event.record(stream)
        event.synchronize()
        stream.synchronize(timeout=1)


def test_a_stream_that_is_done_reports(copies: Any) -> None:
    with Stream() as stream:
        copies(stream)
        event = stream.record()
        assert reported(lambda: stream.is_done) == CODE
        assert reported(stream.check) == CODE
        assert reported(stream.synchronize) == CODE
        assert stream.is_done
        stream.check()
        assert reported(event.synchronize) == CODE


def test_other_streams_have_not_failed(copies: Any) -> None:
    with Stream() as failing, Stream() as other:
        copies(failing)
        event = other.record()
        event.synchronize()
        assert event.is_done
        assert other.is_done
        other.synchronize()
        assert reported(failing.synchronize) == CODE


def test_a_new_stream_with_the_number_of_a_failed_one_is_sound(copies: Any) -> None:
    old = Stream()
    copies(old)
    number = old.id
    assert reported(old.close) == CODE
    with Stream() as new:
        assert new.id == number
        event = new.record()
        event.synchronize()
        assert new.is_done


def test_all_objects_of_a_stream_know(copies: Any) -> None:
    with Stream() as stream:
        copies(stream)
        event = Stream.from_handle(stream.handle).record()
        assert reported(event.synchronize) == CODE
        assert reported(Stream.from_handle(stream.handle).synchronize) == CODE
        assert reported(stream.synchronize) == 0


def test_a_device_reports_for_all_its_streams(device: Device, monkeypatch: pytest.MonkeyPatch, copies: Any) -> None:
    if failures.needs_polling:
        pytest.skip("the stream of a failure is known from a callback only")
    with Stream() as stream:
        copies(stream)
        event = stream.record()
        with pytest.raises(TaskFailed) as failed:
            device.synchronize()
        assert failed.value.task is not None
        assert failed.value.task.stream == stream.id
        assert reported(event.synchronize) == CODE
        event.record(stream)
        event.synchronize()


def test_a_device_reports_for_no_other_device(device: Device, copies: Any) -> None:
    if Device.count() < 2:
        pytest.skip("needs two devices")
    if failures.needs_polling:
        pytest.skip("the stream of a failure is known from a callback only")
    with Device(device.id + 1), Stream() as there, Buffer(64) as to:
        sim.fail_task(CODE, there)
        copy_async(to, PinnedBuffer(64), there)
        assert reported(there.record().synchronize) == CODE
        with device, Stream() as here:
            copies(here)
            assert reported(device.synchronize) == CODE
        assert reported(there.check) == CODE
        assert reported(there.synchronize) == CODE


def test_a_borrowed_stream_of_another_device_has_not_failed(device: Device, copies: Any, lib: Any, ffi: Any) -> None:
    if Device.count() < 2:
        pytest.skip("needs two devices")
    with Stream() as failed:
        with Device(device.id + 1):
            out, number, others = None, ffi.new("int32_t *"), []
            while out is None or (
                number[0] != failed.id and len(others) < 64
            ):  # the numbers of each device begin again
                out = ffi.new("aclrtStream *")
                assert lib.aclrtCreateStream(out) == 0
                assert lib.aclrtStreamGetId(out[0], number) == 0
                others.append(out)
            borrowed = Stream.from_handle(int(ffi.cast("uintptr_t", out[0])))
            event = borrowed.record()
            event.synchronize()
            assert borrowed.id == failed.id
        copies(failed)
        assert reported(failed.check) == CODE
        with Device(device.id + 1):
            borrowed.check()
            event.synchronize()
            borrowed.synchronize()
            for other in others:
                assert lib.aclrtDestroyStream(other[0]) == 0
        assert reported(failed.synchronize) == CODE


def test_a_device_reports_for_the_current_context_alone(device: Device, copies: Any) -> None:
    if failures.needs_polling:
        pytest.skip("the stream of a failure is known from a callback only")
    contexts = first, second = Context(), Context()
    streams = []
    for context in contexts:
        with context:
            streams.append(Stream())
            copies(streams[-1])
    with first, pytest.raises(TaskFailed):
        device.synchronize()
    for stream, context, code in zip(streams, contexts, (0, CODE), strict=True):
        with context:
            assert reported(stream.check) == code
            assert reported(stream.close) == code
    second.close()
    first.close()


def test_the_error_has_the_task(device: Device, lib: Any, ffi: Any) -> None:
    task, thread = ffi.new("uint32_t *"), threading.get_native_id()
    with Buffer(64) as to, Stream() as stream:
        sim.fail_task(CODE, stream)
        copy_async(to, PinnedBuffer(64), stream)
        lib.aclrtGetThreadLastTaskId(task)
        with pytest.raises(TaskFailed) as failed:
            stream.synchronize()
        assert failed.value.task == FailedTask(task[0], stream.id, device.id, thread, CODE, "")
        assert f"failed: task {task[0]} of stream {stream.id} on device 0, from thread {thread}" in in_full(
            failed.value
        )


def test_more_failures_than_are_kept(device: Device) -> None:
    with Stream() as many, Stream() as one, Buffer(64) as to:
        source = PinnedBuffer(64)
        sim.fail_task(CODE, one)
        copy_async(to, source, one)
        for _ in range(1000):
            sim.fail_task(507014, many)
            copy_async(to, source, many)
        assert reported(many.synchronize) == 507014
        with pytest.raises(TaskFailed) as failed:
            one.synchronize()
        assert failed.value.code == CODE
        assert failed.value.task is None  # the runtime still returns the code


def test_every_error_of_the_package_has_one_base() -> None:
    for error in (AclError, ClosedError, ForkedProcess, LibraryError, RuntimeClosed, WrongState):
        assert issubclass(error, AscendError)


@pytest.mark.simulator("faults")
def test_one_of_the_threads_that_wait_raises_the_failure(device: Device) -> None:
    for _ in range(50):
        raised: list[int] = []

        def wait(stream: Stream, raised: list[int]) -> None:
            device.set_current()
            try:
                stream.synchronize()
            except TaskFailed as error:
                raised.append(error.code)

        with Stream() as stream:
            with Latch(stream):
                sim.fail_task(507015, stream)
                stream.record()
                threads = [threading.Thread(target=wait, args=(stream, raised)) for _ in range(4)]
                for thread in threads:
                    thread.start()
            for thread in threads:
                thread.join()
        assert raised == [507015]
