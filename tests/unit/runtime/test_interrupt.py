# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends every wait of the main thread, and loses nothing: neither the object nor the failure of a task."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.programs import BEGINNING

TESTS = Path(__file__).resolve().parents[2]

# Interrupted once it waits: the program has said that it is about to, and the gate opens only after the interrupt.
PROGRAM = """
import _thread, os, signal, sys, threading, time
from ascend_rt import TaskFailed, copy_async

stream = Stream()
gate = Event(manual_reset=True)
opener = Stream()
stream.wait(gate, timeout=float("inf"))
event = stream.record()

def is_waiting():
    # Threads that make calls for the main thread are none of threading.py's; it counts the main thread.
    return _thread._count() > threading.active_count() - 1

def interrupt():
    # The wait has begun when its thread is there; only then is the signal sent.
    while not is_waiting():
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)

def interrupted(wait):
    threading.Thread(target=interrupt).start()
    try:
        wait()
    except KeyboardInterrupt:
        return "interrupted"
"""

WAITS = {
    "stream": "stream.synchronize",
    "stream with a limit": "lambda: stream.synchronize(timeout=1000)",
    "event": "event.synchronize",
    "event with a limit": "lambda: event.synchronize(timeout=1000)",
    "device": "device.synchronize",
    "device with a limit": "lambda: device.synchronize(timeout=1000)",
    "close": "stream.close",
}


Interrupted = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def interrupted(run: Any, under_test: dict[str, str]) -> Interrupted:
    """Run a program that begins as above."""
    return lambda code, **variables: run("-c", BEGINNING + PROGRAM + code, **under_test, **variables)


@pytest.mark.parametrize("wait", WAITS.values(), ids=list(WAITS))
def test_a_wait_ends_and_leaves_the_object_usable(interrupted: Interrupted, wait: str) -> None:
    done = interrupted(f"""
print(interrupted({wait}), stream.is_closed, event.is_done)
gate.record(opener)
for waits in (event.synchronize, stream.synchronize, device.synchronize):
    waits()
print(event.is_done, stream.is_done)
stream.close()
""")
    assert (done.stdout, done.stderr) == ("interrupted False False\nTrue True\n", "")


ENDS = {
    "close a context": ("Context(1)", "blocked.close"),
    "reset a device": ("Device(1)", "blocked.reset"),
    "reset a device with force": ("Device(1)", "lambda: blocked.reset(force=True)"),
}


@pytest.mark.parametrize(("made", "end"), ENDS.values(), ids=list(ENDS))
def test_an_end_that_waits_for_work_ends_too(interrupted: Interrupted, made: str, end: str) -> None:
    done = interrupted(f"""
blocked = {made}
with blocked:
    work = Stream()
    work.wait(gate, timeout=float("inf"))
    done = work.record()
print(interrupted({end}), done.is_done)
gate.record(opener)
done.synchronize()
work.close()
({end})()
print(code_of(work.synchronize) if not work.is_closed else "closed")
""")
    assert (done.stdout, done.stderr) == ("interrupted False\nclosed\n", "")


@pytest.mark.parametrize("wait", ["device.synchronize", "device.reset", "lambda: device.synchronize(timeout=1000)"])
def test_what_is_left_of_a_wait_for_a_device_ends_and_blocks_nothing(interrupted: Interrupted, wait: str) -> None:
    done = interrupted(f"""
print(interrupted({wait}))
Stream().close()
while is_waiting():
    time.sleep(0.001)
print(event.is_done)
gate.record(opener)
""")
    assert (done.stdout, done.stderr) == ("interrupted\nFalse\n", "")


RELEASES = {
    "create": "Stream().close()",
    "discard": "discarded = Stream(); del discarded",
    "capture": "with opener.capture(mode='relaxed'): pass",
    "synchronize": "code_of(device.synchronize, timeout=0.001)",
}


@pytest.mark.parametrize("release", RELEASES.values(), ids=list(RELEASES))
def test_a_wait_for_a_device_does_not_block_the_thread_that_ends_it(interrupted: Interrupted, release: str) -> None:
    done = interrupted(f"""
def release():
    device.set_current()
    while not is_waiting():
        time.sleep(0.001)
    {release}
    gate.record(opener)
    device.reset()

device.set_current()  # the reset of the thread is not the last
thread = threading.Thread(target=release)
thread.start()
device.synchronize()
thread.join()
print(event.is_done)
""")
    assert (done.stdout, done.stderr) == ("True\n", "")


@pytest.mark.simulator("unspecified", "a call of the vendor's library cannot be ended")
def test_a_call_that_another_thread_blocks_ends(interrupted: Interrupted) -> None:
    done = interrupted(
        """
from support.stalls import Reports

def block():
    device.set_current()
    assert lib.aclrtSynchronizeDevice() == 0

def interrupt_once_blocked():
    assert reports.come("aclrtCreateStreamWithConfig has waited")
    os.kill(os.getpid(), signal.SIGINT)

with Reports() as reports:
    blocking = threading.Thread(target=block)
    blocking.start()
    assert reports.come("aclrtSynchronizeDevice has waited")
    threading.Thread(target=interrupt_once_blocked).start()
    try:
        Stream()
    except KeyboardInterrupt:
        print("interrupted", event.is_done)
gate.record(opener)
blocking.join()
Stream().close()
print(event.is_done)
""",
        ASCEND_RT_SIM_STALL_MS="20",
        PYTHONPATH=TESTS,
    )
    assert (done.stdout, done.stderr) == ("interrupted False\nTrue\n", "")


PAGEABLE = {
    "copy_async": "rt.copy_async(to, bytes(64), stream)",
    "copy_async back": "rt.copy_async(bytearray(64), to, stream)",
    "copy_2d_async": "rt.copy_2d_async(to, bytes(64), stream, width=8, height=8)",
    "copy_batch_async": "rt.copy_batch_async([(to[:32], pinned), (to[32:], bytes(32))], stream)",
}


@pytest.mark.parametrize("submit", PAGEABLE.values(), ids=list(PAGEABLE))
def test_a_copy_of_pageable_memory_that_waits_for_the_stream_ends(interrupted: Interrupted, submit: str) -> None:
    done = interrupted(f"""
import ascend_rt as rt
to, pinned = Buffer(64), rt.PinnedBuffer(32)
print(interrupted(lambda: {submit}))
gate.record(opener)
{submit}
print(stream.is_done)
""")
    assert (done.stdout, done.stderr) == ("interrupted\nTrue\n", "")


@pytest.mark.simulator("unspecified", "a call of the vendor's library cannot be ended")
def test_a_submission_that_waits_for_a_place_in_a_full_queue_ends(interrupted: Interrupted) -> None:
    done = interrupted("""
FULL = 1792 - 2  # the queue of a 910B holds the wait for the gate and the first record already
submitted = 0

def fill_queue():
    global submitted
    while True:
        event.record(stream)
        submitted += 1

def interrupt_once_full():
    while submitted < FULL:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt_once_full).start()
try:
    fill_queue()
except KeyboardInterrupt:
    print("interrupted")
gate.record(opener)
stream.synchronize()
event.record(stream)
event.synchronize()
print(submitted == FULL, stream.is_done)
""")
    assert (done.stdout, done.stderr) == ("interrupted\nTrue True\n", "")


@pytest.mark.parametrize("again", ["stream.synchronize", "stream.close"])
@pytest.mark.simulator("faults")
def test_a_failure_that_the_wait_takes_along_is_reported(interrupted: Interrupted, again: str, backend: str) -> None:
    if backend != "sim":
        pytest.skip("needs a task that fails on demand")
    done = interrupted(f"""
sim.fail_task(507015, stream)
stream.record()
print(interrupted(stream.synchronize))
gate.record(opener)
while is_waiting():
    time.sleep(0.001)  # until the call that was left behind has returned
try:
    {again}()
except TaskFailed as error:
    print(error.code)
""")
    assert (done.stdout, done.stderr) == ("interrupted\n507015\n", "")


@pytest.mark.simulator("faults")
@pytest.mark.parametrize("wait", ["device.synchronize", WAITS["device with a limit"]])
def test_a_failure_that_the_wait_for_a_device_takes_along_is_reported_by_that_context(
    interrupted: Interrupted, wait: str
) -> None:
    done = interrupted(f"""
def reported(wait):
    try:
        wait()
    except TaskFailed as error:
        return error.code
sim.fail_task(507015, stream)
stream.record()
print(interrupted({wait}))
gate.record(opener)
while is_waiting():
    time.sleep(0.001)  # until the call that was left behind has returned
print(reported(Device(1).synchronize))
with Context(0):
    print(reported(device.synchronize))
print(reported({wait}), reported(device.synchronize))
""")
    assert (done.stdout, done.stderr) == ("interrupted\nNone\nNone\n507015 None\n", "")


def test_the_end_of_the_program_does_not_wait_for_what_was_left(interrupted: Interrupted) -> None:
    done = interrupted("interrupted(stream.synchronize)\ngate.record(opener)")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupt_that_is_not_caught_ends_the_program(interrupted: Interrupted) -> None:
    # The stream still waits for its gate at the end of the program, which gives it less time than usual.
    end_soon = "from ascend_rt._runtime import lifecycle\nlifecycle._WORK_MS = 100\n"
    done = interrupted(end_soon + "threading.Thread(target=interrupt).start()\nstream.synchronize()")
    assert done.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in done.stderr


def test_other_signals_are_handled_and_the_wait_goes_on(interrupted: Interrupted) -> None:
    done = interrupted("""
def handle(number, frame):
    print("handled")
    gate.record(opener)
signal.signal(signal.SIGINT, handle)
interrupted(stream.synchronize)
print(stream.is_done)
""")
    assert (done.stdout, done.stderr) == ("handled\nTrue\n", "")


def test_in_another_thread_the_call_is_the_thread_s_own(interrupted: Interrupted) -> None:
    done = interrupted("""
def wait():
    device.set_current()
    stream.synchronize()
thread = threading.Thread(target=wait)
thread.start()
before = threading.active_count()
gate.record(opener)
thread.join()
print(before, stream.is_done)
""")
    assert (done.stdout, done.stderr) == ("2 True\n", "")


def test_an_exception_while_the_other_thread_is_started_ends_the_wait(interrupted: Interrupted) -> None:
    done = interrupted("""
start = _thread.start_new_thread
def start_and_signal(*arguments):
    start(*arguments)
    signal.raise_signal(signal.SIGINT)
_thread.start_new_thread = threading._start_new_thread = start_and_signal
def handle(number, frame):
    raise RuntimeError("of the handler")
signal.signal(signal.SIGINT, handle)
try:
    stream.synchronize(timeout=1)
except Exception as error:
    print(repr(error))
gate.record(opener)
""")
    assert (done.stdout, done.stderr) == ("RuntimeError('of the handler')\n", "")
