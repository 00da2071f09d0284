# SPDX-License-Identifier: Apache-2.0
"""Functions that are called for every task that fails."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from support.interruptions import interruptions

from ascend_rt import (
    AclWarning,
    Device,
    FailedTask,
    NotSupported,
    Stream,
    Subscription,
    TaskFailed,
    callback,
    failure_callback,
    on_task_failed,
    sim,
)

pytestmark = pytest.mark.simulator("faults")

CODE = 507015
KEPT = 256  # in aclrt_failures.c
IN_TIME = 20


@pytest.fixture
def fail(stream: Stream) -> Iterator[Callable[..., None]]:
    """Return a function that makes a task fail; the streams' reports of it are ignored."""
    used = {stream}

    def make(code: int = CODE, on: Stream = stream) -> None:
        used.add(on)
        sim.fail_task(code, on)
        on.record()

    with sim.faults():
        yield make
        for each in used:
            try:
                each.synchronize()
            except TaskFailed:
                continue


def listeners() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "ascend_rt.on_task_failed"]


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Wait for the threads that the test's subscriptions had."""
    yield
    for thread in listeners():
        thread.join(IN_TIME)
    assert listeners() == []


def test_a_function_is_called_without_a_synchronization(fail: Any, stream: Stream, device: Device) -> None:
    reported: Queue[FailedTask] = Queue()
    with on_task_failed(reported.put):
        fail()
        task = reported.get(timeout=IN_TIME)
    assert (task.code, task.stream, task.device) == (CODE, stream.id, device.id)


def test_the_failure_is_still_raised(fail: Any, stream: Stream) -> None:
    reported: Queue[FailedTask] = Queue()
    with on_task_failed(reported.put):
        fail()
        task = reported.get(timeout=IN_TIME)
        with pytest.raises(TaskFailed) as failed:
            stream.synchronize()
    assert failed.value.task == task


def test_only_later_failures_are_reported(fail: Any) -> None:
    first: Queue[FailedTask] = Queue()
    second: Queue[FailedTask] = Queue()
    with on_task_failed(first.put):
        fail(507014)
        first.get(timeout=IN_TIME)
        with on_task_failed(second.put):
            fail(507015)
            assert second.get(timeout=IN_TIME).code == 507015
        fail(507016)
        assert [first.get(timeout=IN_TIME).code for _ in range(2)] == [507015, 507016]
    assert second.empty()


def test_functions_are_called_in_the_order_of_their_subscription(fail: Any) -> None:
    reported: Queue[str] = Queue()
    with on_task_failed(lambda task: reported.put("first")), on_task_failed(lambda task: reported.put("second")):
        fail()
        assert [reported.get(timeout=IN_TIME) for _ in range(2)] == ["first", "second"]


def test_it_is_a_thread_of_ours_which_may_use_the_runtime(fail: Any, device: Device) -> None:
    threads: Queue[threading.Thread] = Queue()
    unfinished = threading.Event()

    def use(task: FailedTask) -> None:
        Device(task.device).set_current()
        with Stream() as stream:
            stream.launch_host_func(unfinished.set)
        threads.put(threading.current_thread())
        device.reset()

    with on_task_failed(use):
        fail()
        assert threads.get(timeout=IN_TIME).daemon
    assert unfinished.is_set()


def test_there_is_no_thread_without_a_subscription(fail: Any) -> None:
    assert listeners() == []
    first, second = on_task_failed(print), on_task_failed(print)
    (thread,) = listeners()
    first.close()
    assert listeners() == [thread]
    second.close()
    thread.join(IN_TIME)
    assert listeners() == []
    with on_task_failed(print):
        assert len(listeners()) == 1


def test_an_interrupted_subscription_is_none(device: Device) -> None:
    with on_task_failed(print):
        listener = failure_callback._listener
        assert listener is not None
        made: list[Subscription] = []
        for where in interruptions(lambda: made.append(on_task_failed(print))):
            assert len(listener.subscriptions) == 1 + len(made), where
        made.pop().close()


def test_closing_waits_for_the_call_that_is_under_way(fail: Any) -> None:
    entered, proceed = threading.Event(), threading.Event()
    order: list[str] = []

    def work(task: FailedTask) -> None:
        entered.set()
        proceed.wait()
        order.append("returned")

    def close() -> None:
        subscription.close()
        order.append("closed")

    subscription = on_task_failed(work)
    fail()
    entered.wait(IN_TIME)
    closing = threading.Thread(target=close)
    closing.start()
    closing.join(0.1)  # it would have returned by then
    proceed.set()
    closing.join(IN_TIME)
    assert order == ["returned", "closed"]


def test_a_closed_function_is_not_called(fail: Any) -> None:
    reported: Queue[FailedTask] = Queue()
    closed = on_task_failed(lambda task: pytest.fail("reported after it was closed"))
    with on_task_failed(reported.put):
        closed.close()
        closed.close()
        fail()
        reported.get(timeout=IN_TIME)
    assert closed.is_closed


def test_a_function_may_close_its_own_subscription(fail: Any) -> None:
    reported: Queue[FailedTask] = Queue()

    def once(task: FailedTask) -> None:
        subscription.close()
        reported.put(task)

    subscription = on_task_failed(once)
    (thread,) = listeners()
    fail()
    reported.get(timeout=IN_TIME)
    thread.join(IN_TIME)
    assert (reported.empty(), listeners()) == (True, [])


def test_an_exception_is_reported_and_the_others_are_called(
    fail: Any, unraisable: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked: list[Any] = []
    reported: Queue[FailedTask] = Queue()
    monkeypatch.setattr(callback, "on_error", lambda error, function: hooked.append((type(error), function)))

    def broken(task: FailedTask) -> None:
        raise SystemExit

    with on_task_failed(broken), on_task_failed(reported.put):
        fail()
        reported.get(timeout=IN_TIME)
        fail()
        reported.get(timeout=IN_TIME)
    assert hooked == [(SystemExit, broken)] * 2
    assert [each.exc_type for each in unraisable] == [SystemExit] * 2


@pytest.fixture
def burst(fail: Any) -> Callable[[int], list[int]]:
    """Return a function that makes tasks fail during the first report, and returns the reported codes."""

    def make(failures: int) -> list[int]:
        entered, proceed = threading.Event(), threading.Event()
        reported: list[int] = []
        last = threading.Event()

        def work(task: FailedTask) -> None:
            reported.append(task.code)
            entered.set()
            proceed.wait()
            if task.code == 507016:
                last.set()

        with on_task_failed(work):
            fail(507014)
            entered.wait(IN_TIME)
            for _ in range(failures - 1):
                fail(507015)
            fail(507016)
            proceed.set()
            assert last.wait(IN_TIME)
        return reported

    return make


def test_a_burst_as_long_as_the_list_is_reported(burst: Any) -> None:
    assert burst(KEPT) == [507014, *[507015] * (KEPT - 1), 507016]


def test_a_longer_burst_says_how_many_were_not_reported(burst: Any) -> None:
    with pytest.warns(AclWarning, match=r"^7 failed tasks were not reported"):
        assert burst(KEPT + 7) == [507014, *[507015] * (KEPT - 1), 507016]


@pytest.mark.filterwarnings("error::ascend_rt.errors.AclWarning")
def test_that_warning_as_an_error_is_reported_and_the_rest_is_reported(burst: Any, unraisable: list[Any]) -> None:
    assert len(burst(KEPT + 7)) == KEPT + 1
    assert [each.exc_type for each in unraisable] == [AclWarning]


def test_a_library_that_reports_nothing_is_not_supported(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failure_callback.failures, "needs_polling", True)
    monkeypatch.setattr(failure_callback.failures, "refusal", "there is no such function")
    with pytest.raises(NotSupported, match=r"aclrtExceptionInfoCallbackRegister.*there is no such function"):
        on_task_failed(print)


def test_something_that_cannot_be_called_is_refused(device: Device) -> None:
    with pytest.raises(TypeError, match="a function that takes a FailedTask"):
        on_task_failed(7)  # type: ignore[arg-type]


def test_an_interrupt_while_the_thread_starts_leaves_no_subscription(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        original(thread)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(KeyboardInterrupt):
            on_task_failed(print)
    for thread in listeners():
        thread.join(IN_TIME)
    assert failure_callback._listener is None


# --- the end of the process ------------------------------------------------------------------------------------------

START = """
import os, sys, threading
from ascend_rt import Device, Stream, on_task_failed, sim
from ascend_rt._runtime import lifecycle
Device(0).set_current()
stream = Stream()
def fail():
    sim.fail_task(507015, stream)
    stream.record()
"""


@pytest.fixture
def finish(tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Return a function that runs a script in a separate process, which must end."""

    def run(script: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", START + textwrap.dedent(script)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    return run


def test_the_exit_ends_the_thread(finish: Any) -> None:
    ended = finish("on_task_failed(print)")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_the_exit_lets_functions_hear_what_has_failed(finish: Any) -> None:
    ended = finish(
        """
        on_task_failed(lambda task: print(task.code))
        for _ in range(3):
            fail()
        """
    )
    assert (ended.returncode, ended.stdout) == (0, "507015\n" * 3)


def test_a_function_that_does_not_return_does_not_keep_the_process(finish: Any) -> None:
    ended = finish(
        """
        lifecycle._WORK_MS = 100
        entered = threading.Event()
        def work(task):
            entered.set()
            threading.Event().wait()
        on_task_failed(work)
        fail()
        entered.wait()
        """
    )
    assert ended.returncode == 0
    assert "a function of on_task_failed does not return" in ended.stderr


def test_a_lost_device_is_reported(finish: Any) -> None:
    ended = finish(
        """
        on_task_failed(print)
        sim.lose_device(0)
        """
    )
    assert (ended.returncode, ended.stdout) == (0, "device 0\n")


def test_after_the_exit_no_function_subscribes(finish: Any) -> None:
    ended = finish(
        """
        import atexit
        from ascend_rt import RuntimeClosed
        def late():
            subscription.close()
            try:
                on_task_failed(print)
            except RuntimeClosed:
                print("refused")
        subscription = on_task_failed(print)
        atexit._clear()  # run after the hook of the package
        atexit.register(late)
        atexit.register(lifecycle._give_back)
        """
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "refused\n", "")


def test_a_forked_child_closes_without_waiting_and_cannot_subscribe(finish: Any) -> None:
    ended = finish(
        """
        from ascend_rt import ForkedProcess
        entered, proceed = threading.Event(), threading.Event()
        def work(task):
            entered.set()
            proceed.wait()
        subscription = on_task_failed(work)
        fail()
        entered.wait()
        child = os.fork()
        if not child:
            subscription.close()  # of a call that never ends here
            try:
                on_task_failed(print)
            except ForkedProcess:
                os.write(1, b"refused")
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        proceed.set()
        """
    )
    assert (ended.returncode, ended.stdout) == (0, "refused"), ended.stderr
