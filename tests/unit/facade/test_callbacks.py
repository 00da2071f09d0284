# SPDX-License-Identifier: Apache-2.0
"""Python functions in a stream."""

from __future__ import annotations

import gc
import sys
import sysconfig
import threading
import traceback
import weakref
from typing import Any

import pytest

from ascend_rt import Context, Event, Stream, callback, sim
from ascend_rt._native import handles
from ascend_rt._runtime import lifecycle
from ascend_rt.errors import AclError, WrongState
from ascend_rt.testing import Latch


def test_functions_run_in_the_order_of_the_stream(stream: Stream) -> None:
    ran: list[int] = []
    for i in range(100):
        stream.launch_host_func(ran.append, i)
    stream.synchronize()
    assert ran == list(range(100))


def test_arguments_and_keywords(stream: Stream) -> None:
    seen: list[Any] = []
    stream.launch_host_func(lambda *a, **k: seen.append((a, k)), 1, "two", three=3)
    stream.synchronize()
    assert seen == [((1, "two"), {"three": 3})]


def test_a_function_runs_after_earlier_and_before_later_work(stream: Stream) -> None:
    entered, proceed = threading.Event(), threading.Event()

    def block() -> None:
        entered.set()
        proceed.wait()

    with Latch(stream):
        stream.launch_host_func(block)
        after = stream.record()
        assert not entered.is_set()
    entered.wait()
    assert not after.is_done
    proceed.set()
    after.synchronize()


def test_a_blocked_function_does_not_stop_other_streams(stream: Stream, other: Stream) -> None:
    proceed = threading.Event()
    stream.launch_host_func(proceed.wait)
    other.record().synchronize(timeout=5)
    assert not stream.is_done
    proceed.set()
    stream.synchronize()
    assert stream.is_done


def test_functions_run_on_a_thread_of_the_runtime(stream: Stream) -> None:
    threads: list[int] = []
    stream.launch_host_func(lambda: threads.append(threading.get_ident()))
    stream.synchronize()
    assert threads
    assert threads[0] != threading.get_ident()


def test_function_and_arguments_live_until_they_have_run_and_no_longer(stream: Stream) -> None:
    class Thing:
        pass

    thing = Thing()
    reference = weakref.ref(thing)
    with Latch(stream):
        stream.launch_host_func(lambda t: None, thing)
        del thing
        gc.collect()
        assert reference() is not None
    stream.synchronize()
    gc.collect()
    assert reference() is None


def test_what_an_abort_drops_is_let_go(stream: Stream) -> None:
    class Thing:
        pass

    thing = Thing()
    reference = weakref.ref(thing)
    stream.wait(Event(manual_reset=True))
    stream.launch_host_func(lambda t: None, thing)
    del thing
    stream.abort()
    gc.collect()
    assert reference() is None


def test_an_exception_is_reported_and_the_stream_goes_on(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    unraisable: list[Any] = []
    hooked: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    monkeypatch.setattr(callback, "on_error", lambda error, function: hooked.append((error, function)))

    def fail() -> None:
        raise KeyError("lost")

    stream.launch_host_func(fail)
    event = stream.record()
    event.synchronize()
    assert [(type(e), f) for e, f in hooked] == [(KeyError, fail)]
    assert [u.exc_type for u in unraisable] == [KeyError]
    assert traceback.extract_tb(unraisable[0].exc_traceback)[-1].name == "fail"


def test_the_report_names_the_function_and_its_stream(
    stream: Stream, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise KeyError("lost")

    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    stream.launch_host_func(fail)
    stream.synchronize()
    first, second, third, *_, last = capsys.readouterr().err.splitlines()
    assert first == f"Exception in host function {fail.__qualname__.rpartition('.')[2]} of stream {stream.id}:"
    assert second == "Traceback (most recent call last):"
    assert third.startswith(f'  File "{__file__}"')
    assert last == "KeyError: 'lost'"


def test_a_hook_that_fails_is_reported_with_what_it_was_given(
    stream: Stream, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(unraisable: object) -> None:
        raise OSError("hook")

    monkeypatch.setattr(sys, "unraisablehook", broken)
    stream.launch_host_func(lambda: 1 / 0)
    stream.synchronize()
    heads = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Exception in")]
    assert heads == ["Exception in sys.unraisablehook:", f"Exception in host function <lambda> of stream {stream.id}:"]


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_not_even_an_exit_escapes(error: type[BaseException], stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)

    def fail() -> None:
        raise error

    stream.launch_host_func(fail)
    stream.synchronize()
    assert [u.exc_type for u in unraisable] == [error]


def test_an_error_in_the_hook_is_reported_too(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)

    def broken(error: BaseException, function: object) -> None:
        raise OSError("hook")

    monkeypatch.setattr(callback, "on_error", broken)
    stream.launch_host_func(lambda: 1 / 0)
    stream.synchronize()
    assert [u.exc_type for u in unraisable] == [OSError, ZeroDivisionError]


def test_a_thread_of_the_runtime_keeps_what_is_local_to_it(stream: Stream) -> None:
    local, seen = threading.local(), []

    def count() -> None:
        local.count = getattr(local, "count", 0) + 1
        seen.append((threading.get_ident(), local.count))

    for _ in range(3):
        stream.launch_host_func(count)
    stream.synchronize()
    by_thread = {thread: [number for each, number in seen if each == thread] for thread, _ in seen}
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in by_thread.values())


def test_a_thread_of_the_runtime_that_ends_lets_go_what_is_local_to_it(device: Any) -> None:
    class Thing:
        pass

    local, let_go = threading.local(), threading.Semaphore(0)

    def keep() -> None:
        local.thing = Thing()
        weakref.finalize(local.thing, let_go.release)

    for _ in range(20):
        with Context(0) as context, Stream() as stream:  # each context has a thread for callbacks
            stream.launch_host_func(keep)
        context.close()
        assert let_go.acquire(timeout=30)


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="without the GIL, the thread that made an object frees it"
)
def test_a_failed_function_lets_its_arguments_go_at_once(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    class Thing:
        pass

    def fail(thing: Thing) -> None:
        raise KeyError("lost")

    thing = Thing()
    reference = weakref.ref(thing)
    inside: list[bool] = []
    weakref.finalize(thing, lambda: inside.append(handles.is_inside()))
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    gc.disable()
    try:
        with Latch(stream):
            stream.launch_host_func(fail, thing)
            del thing
        stream.synchronize()
        assert reference() is None
        assert inside == [True]  # a stream that went there would have to wait for another place
    finally:
        gc.enable()


def test_an_abort_drops_no_function_of_later(stream: Stream, override: Any) -> None:
    ran: list[str] = []
    codes: list[int] = []

    def abort_and_go_on(handle: Any) -> Any:
        code = abort(handle)
        codes.append(code)
        latches.append(Latch(stream))
        stream.launch_host_func(ran.append, "launched after the abort, by another thread")
        return code

    def abort_before(*arguments: Any) -> Any:
        if not codes:
            stream.abort()
        return launch(*arguments)

    latches: list[Latch] = []
    abort = override("aclrtStreamAbort", abort_and_go_on)
    launch = override("aclrtLaunchHostFunc", abort_before)
    stream.launch_host_func(ran.append, "about to be launched")
    gc.collect()
    latches[0].release()
    stream.synchronize()
    assert ran == ["launched after the abort, by another thread", "about to be launched"]


def test_an_abort_drops_no_function_of_another_default_stream(device: Any) -> None:
    ran: list[int] = []
    default = Stream.from_handle(0)
    with Latch(default):
        default.launch_host_func(ran.append, 1)
        with Context(0) as elsewhere:
            Stream.from_handle(0).abort()
        gc.collect()
    default.synchronize()
    assert ran == [1]
    elsewhere.close()


@pytest.mark.parametrize("end", [Stream.close, lambda stream: stream.close(force=True), Stream.abort])
@pytest.mark.simulator("faults")
def test_a_function_that_failed_is_let_go_with_its_stream(end: Any, device: Any) -> None:
    stream = Stream()
    with sim.faults():
        sim.fail_task(507015, stream)
        stream.launch_host_func(print)
    with pytest.raises(AclError, match="507015"):
        stream.synchronize()
    end(stream)
    assert not handles.pending
    stream.close()


def test_a_refused_launch_keeps_nothing(stream: Stream) -> None:
    stream.launch_host_func(print, end="")
    stream.synchronize()
    assert not handles.pending
    closed = Stream()
    closed.close()
    with pytest.raises(ValueError, match="closed"):
        closed.launch_host_func(print)
    assert not handles.pending


def test_a_function_may_use_python_threads_while_the_host_waits(stream: Stream) -> None:
    # The host thread is inside the runtime and must not hold the GIL.
    ticks: list[int] = []

    def work() -> None:
        thread = threading.Thread(target=ticks.append, args=(1,))
        thread.start()
        thread.join()

    stream.launch_host_func(work)
    stream.synchronize()
    assert ticks == [1]


def test_the_last_reference_to_a_stream_may_go_inside_its_own_function(device: Any) -> None:
    # Destroying the stream there would wait for the function that is running.
    ran, proceed = threading.Event(), threading.Event()
    stream = Stream()
    event = Event()

    def work(own: Stream) -> None:
        proceed.wait()
        ran.set()

    stream.launch_host_func(work, stream)
    event.record(stream)
    del stream
    gc.collect()
    proceed.set()
    event.synchronize(timeout=20)
    assert ran.is_set()
    Stream().close()  # destroys the one that was deferred
    assert not lifecycle._deferred


@pytest.mark.parametrize("force", [False, True])
def test_a_function_cannot_close_its_own_stream(force: bool, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    errors: list[BaseException] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    monkeypatch.setattr(callback, "on_error", lambda error, function: errors.append(error))
    stream.launch_host_func(stream.close, force=force)
    stream.synchronize()
    assert not stream.is_closed
    assert [type(error) for error in errors] == [WrongState]
    errors.clear()


def test_a_function_on_a_borrowed_stream_outlives_the_borrower(stream: Stream) -> None:
    ran: list[int] = []
    with Latch(stream):
        Stream.from_handle(stream.handle).launch_host_func(ran.append, 1)
        gc.collect()
    stream.synchronize()
    assert ran == [1]
