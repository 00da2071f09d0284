# SPDX-License-Identifier: Apache-2.0
"""Objects that several threads use at once. With the GIL they take turns; without it nothing else holds them apart."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.threads import in_threads

import ascend_rt.pyacl as acl
from ascend_rt import Buffer, CachingAllocator, Device, Event, PinnedBuffer, Stream, copy_async, ffi, lib, sim
from ascend_rt._native import handles
from ascend_rt.errors import ClosedError, ForkedProcess, InvalidArgument, InvalidHandle, TaskFailed
from ascend_rt.testing import no_leaks
from tests.unit.conftest import Run

HAS_NO_GIL = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
THREADS = 4
ROUNDS = 100 if HAS_NO_GIL else 20

# The handle of an object that another thread closes during the call may be gone when the runtime gets it.
IS_CLOSED = (ClosedError, InvalidHandle, InvalidArgument)


@pytest.fixture(autouse=True)
def hasty() -> Iterator[None]:
    """Let threads take turns as often as possible, where they have to."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """Call a function with the number of a thread in each of several threads, all on device 0, at the same time."""
    start = threading.Barrier(THREADS)

    def run(number: int) -> Any:
        Device(0).set_current()
        start.wait()
        return work(number)

    return in_threads(*(partial(run, number) for number in range(THREADS)))


def open_after(use: Callable[[], object]) -> bool:
    """Use an object that another thread may close; return whether it was open."""
    try:
        use()
    except IS_CLOSED:
        return False
    return True


@pytest.mark.skipif(not HAS_NO_GIL, reason="this Python has the GIL")
def test_no_module_needs_the_gil(run: Run, under_test: dict[str, str]) -> None:
    code = "import sys, ascend_rt.pyacl; ascend_rt.Device(0).set_current(); print(sys._is_gil_enabled())"
    done = run("-W", "error", "-c", code, **under_test)
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr


def test_the_first_calls_of_several_threads_load_the_library_once(run: Run, under_test: dict[str, str]) -> None:
    code = f"""if True:
        import sys, threading
        from functools import partial
        sys.setswitchinterval(1e-6)
        import ascend_rt
        start, devices = threading.Barrier({THREADS}), []
        def first() -> None:
            start.wait()
            ascend_rt.Device(0).set_current()
            with ascend_rt.Stream() as stream:
                stream.record().synchronize()
            devices.append(ascend_rt.Device.current().id)
        threads = [threading.Thread(target=first) for _ in range({THREADS})]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(devices)
    """
    done = run("-c", code, **under_test)
    assert (done.returncode, done.stdout.strip()) == (0, str([0] * THREADS)), done.stderr


def test_an_object_that_all_threads_close_is_destroyed_once(device: Device) -> None:
    kinds: tuple[Callable[[], Any], ...] = (Event, Stream, partial(Buffer, 64))
    with no_leaks():
        for make in kinds * ROUNDS:
            shared = make()
            at_once_closed = in_threads(*[shared.close] * THREADS)
            assert at_once_closed == [None] * THREADS
            assert shared.is_closed


def test_a_handle_has_one_value_for_all(device: Device) -> None:
    for _ in range(ROUNDS):
        with Event() as event, Stream() as stream:
            assert len(set(at_once(lambda number: (event.handle, stream.handle)))) == 1


def test_events_and_streams_are_closed_while_others_use_them(device: Device) -> None:
    def use(number: int) -> None:
        for event, stream, other in shared:
            if number == 0:
                event.close()
                continue
            with Stream() as own:
                while open_after(lambda: own.record(event)):  # noqa: B023
                    assert open_after(lambda: other.wait(event)) in (True, False)  # noqa: B023
                    open_after(lambda: event.is_done)  # noqa: B023
                    open_after(event.synchronize)
                    open_after(lambda: stream.wait(own))  # noqa: B023
                    stream.synchronize()

    with no_leaks():
        shared = [(Event(), Stream(), Stream()) for _ in range(ROUNDS // 5)]
        at_once(use)
        for event, *streams in shared:
            assert event.is_closed
            for stream in streams:
                stream.close()


def test_all_threads_use_the_same_objects(device: Device) -> None:
    streams, events = [Stream() for _ in range(2)], [Event() for _ in range(2)]
    memory, pinned = [Buffer(64) for _ in range(THREADS)], [PinnedBuffer(64) for _ in range(THREADS)]

    def use(number: int) -> None:
        for turn in range(ROUNDS):
            first, second = streams[turn % 2], streams[1 - turn % 2]
            event = events[(turn + number) % 2]
            pinned[number][:] = turn % 256
            copy_async(memory[number], pinned[number], first)
            own = first.record()
            first.record(event)
            second.wait(event)
            second.wait(own)
            received = PinnedBuffer(64)
            copy_async(received, memory[number], second)
            event.synchronize()
            assert event.is_done in (True, False)
            second.synchronize()
            assert np.array_equal(received, pinned[number])

    with no_leaks():
        at_once(use)
    for stream in streams:
        stream.synchronize()
        assert len(stream._retention) == 0
        assert stream._retention not in handles.used
        stream.close()


def test_what_a_task_uses_lives_until_it_is_done(device: Device) -> None:
    """Threads add to the batches of a stream while others end and release them."""
    with Stream() as stream, Buffer(1 << 16) as memory:

        def use(number: int) -> None:
            for turn in range(ROUNDS):
                source = PinnedBuffer(1 << 16)
                source[:] = number
                copy_async(memory, source, stream)
                del source  # only the stream keeps it
                if turn % 3 == number % 3:
                    assert stream.is_done in (True, False)
                else:
                    stream.record().synchronize()

        at_once(use)
        stream.synchronize()
        assert len(set(memory.to_numpy().tolist())) == 1
        assert len(stream._retention) == 0


def test_a_graph_is_launched_by_all_and_closed_by_one(device: Device) -> None:
    with Stream() as stream, Buffer(64) as memory:
        source = PinnedBuffer(64)
        source[:] = 7
        for _ in range(ROUNDS // 5):
            with stream.capture() as graph:
                copy_async(memory, source, stream)

            def use(number: int) -> None:
                with Stream() as own:
                    while open_after(lambda: graph.launch(own)):
                        own.synchronize()
                        if number == 0:
                            graph.close()

            at_once(use)
            assert graph.is_closed
        assert memory.to_numpy().tolist() == [7] * 64


def test_every_host_function_runs_once(device: Device) -> None:
    called: list[tuple[int, int]] = []
    with Stream() as stream:

        def use(number: int) -> None:
            for turn in range(ROUNDS):
                stream.launch_host_func(called.append, (number, turn))
                if turn % 10 == 0:
                    stream.synchronize()

        at_once(use)
        stream.synchronize()
    assert sorted(called) == [(number, turn) for number in range(THREADS) for turn in range(ROUNDS)]
    assert not handles.pending


def test_a_borrowed_stream_has_the_same_state_in_all_threads(device: Device) -> None:
    for _ in range(ROUNDS):
        created = ffi.new("aclrtStream *")
        assert not lib.aclrtCreateStream(created)
        handle = int(ffi.cast("uintptr_t", created[0]))
        found = at_once(lambda number: Stream.from_handle(handle)._retention)  # noqa: B023
        assert len({id(each) for each in found}) == 1
        assert not lib.aclrtDestroyStream(created[0])


def test_views_are_closed_with_their_buffer(device: Device) -> None:
    for _ in range(ROUNDS):
        with no_leaks(Buffer):
            memory, views = Buffer(64), []

            def use(number: int) -> None:
                if number == 0:
                    memory.close()  # noqa: B023
                elif open_after(lambda: views.append(memory[number:])):  # noqa: B023
                    pass

            at_once(use)
            assert all(view.is_closed for view in views)


def test_the_first_view_may_begin_while_its_buffer_closes(device: Device) -> None:
    def slice_while_it_closes() -> list[Buffer]:
        views: list[Buffer] = []
        memory = Buffer(64)
        in_threads(memory.close, lambda: open_after(lambda: views.append(memory[8:])))
        return views

    assert all(view.is_closed for _ in range(ROUNDS) for view in slice_while_it_closes())


def test_a_cached_buffer_that_all_threads_close_is_counted_once(device: Device) -> None:
    allocator = CachingAllocator()
    for _ in range(ROUNDS):
        buffer = allocator.allocate(1024)
        in_threads(*[buffer.close] * THREADS)
        assert (allocator.statistics.used, allocator.statistics.reserved) == (0, 0)


def test_objects_are_opened_while_the_hook_for_them_changes(device: Device) -> None:
    reported: list[Any] = []

    def use(number: int) -> None:
        for _ in range(ROUNDS):
            if number == 0:
                handles.set_on_open(lambda opened: reported.append(opened._what))
                handles.set_on_open(None)
            else:
                Event().close()

    before = handles.set_on_open(None)
    try:
        at_once(use)
    finally:
        handles.set_on_open(before)
    assert set(reported) <= {"event"}


@pytest.mark.simulator("faults")
def test_a_failure_is_reported_while_other_threads_ask_for_it(device: Device, backend: str) -> None:
    """A report replaces the work that events remember, and ends the one of the stream."""
    if backend != "sim":
        pytest.skip("only the simulator fails tasks on demand")

    def is_raised(ask: Callable[[], object]) -> bool:
        try:
            ask()
        except TaskFailed:
            return True
        return False

    for _ in range(max(ROUNDS // 10, 2)):
        with Stream() as stream:
            sim.fail_task(507015, stream)
            event = stream.record()

            def use(number: int) -> bool:
                questions = (event.synchronize, stream.synchronize, lambda: stream.is_done, lambda: event.is_done)  # noqa: B023
                return sum(map(is_raised, questions)) > 0  # ask them all

            assert any(at_once(use))
            assert is_raised(event.synchronize)  # the event keeps it
            assert not is_raised(stream.synchronize)  # the stream has reported it


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # warns of a fork beside threads
def test_a_forked_child_gets_the_locks_free(device: Device) -> None:
    memory, is_over = Buffer(64), threading.Event()

    def use() -> None:
        Device(0).set_current()
        while not is_over.is_set():
            memory[8:16].close()

    threads = [threading.Thread(target=use) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(ROUNDS):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                memory[8:16].close()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_does_not_wait_for_the_lock_of_pyacl(device: Device) -> None:
    is_over = threading.Event()

    def replace_callback() -> None:
        while not is_over.is_set():
            acl.rt.set_exception_info_callback(print)

    threads = [threading.Thread(target=replace_callback) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(ROUNDS):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                with contextlib.suppress(ForkedProcess):
                    acl.rt.set_exception_info_callback(len)
                    os._exit(1)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
        acl.rt.set_exception_info_callback(None)
