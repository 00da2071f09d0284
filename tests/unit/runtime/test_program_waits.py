# SPDX-License-Identifier: Apache-2.0
"""Waits of Python threads for each other: which are certain, and what reports say of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.simulator("internals")

OutputOf = Callable[[str], list[str]]

PRELUDE = """\
import sys, time
from ascend_rt._runtime import checked_locks, program_waits
checked_locks.install()
import concurrent.futures, os, queue, threading

lock, rlock, event, items = threading.Lock(), threading.RLock(), threading.Event(), queue.Queue()
barrier, semaphore, future = threading.Barrier(2), threading.Semaphore(0), concurrent.futures.Future()
condition = threading.Condition()
reading, writing = os.pipe()

def begin(function):
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread

def look():
    return program_waits.stuck(sys._current_frames())

# Looks until the threads are named, as the simulator does.
def look_for(count):
    while len(found := look()) < count:
        time.sleep(0.01)
    return found
"""

WAITS = {
    "with lock:\n    pass": "Lock.acquire, waits for a lock, which MAIN has",
    "rlock.acquire()": "RLock.acquire, waits for a lock, which MAIN has",
    "event.wait()": "Event.wait, waits for another thread of the program",
    "items.get()": "Queue.get, waits for another thread of the program",
    "barrier.wait()": "Barrier.wait, waits for another thread of the program",
    "semaphore.acquire()": "Semaphore.acquire, waits for another thread of the program",
    "future.result()": "Future.result, waits for another thread of the program",
    "with condition: condition.wait()": "Condition.wait, waits for another thread of the program",
    "threading.main_thread().join()": "Thread.join, waits for the end of MAIN",
}

OTHERS = (
    "event.wait(60)",
    "items.get(timeout=60)",
    "threading.main_thread().join(60)",
    "lock.acquire(timeout=60)",
    "semaphore.acquire(timeout=60)",
    "time.sleep(60)",
    "os.read(reading, 1)",
)


@pytest.fixture
def output_of(tmp_path: Path, run: Callable[..., Any]) -> OutputOf:
    """Return a function that runs a program and returns the lines that it prints."""

    def run_program(body: str) -> list[str]:
        path = tmp_path / "program.py"
        path.write_text(PRELUDE + body, encoding="utf-8")
        done = run(path)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    return run_program


@pytest.mark.parametrize("wait", WAITS)
def test_a_wait_for_another_thread_is_certain(tmp_path: Path, output_of: OutputOf, wait: str) -> None:
    body = f"""
lock.acquire(), rlock.acquire()
def run():
    {wait.replace(chr(10), chr(10) + "    ")}
thread = begin(run)
assert look_for(1) == {{thread.ident}}
name, function, awaited, *places = program_waits.describe(thread.ident)
print(f"{{function}}, {{awaited}}".replace(program_waits.agent(threading.get_ident()), "MAIN"))
print(*places, sep="\\n")
"""
    line = len(PRELUDE.splitlines()) + 4
    assert output_of(body) == [WAITS[wait], f"{tmp_path / 'program.py'}:{line} in run"]


@pytest.mark.parametrize("wait", OTHERS)
def test_a_wait_that_may_end_by_itself_is_not(output_of: OutputOf, wait: str) -> None:
    body = f"""
lock.acquire()
other = begin(lambda: {wait})
certain = begin(barrier.wait)
for _ in range(10):
    assert look_for(1) == {{certain.ident}}
print(other.is_alive())
"""
    assert output_of(body) == ["True"]


def test_a_lock_that_changes_hands_is_never_certain(output_of: OutputOf) -> None:
    body = """
is_over = False
def play():
    while not is_over:
        with lock:
            pass
players = [begin(play) for _ in range(3)]
for _ in range(200):
    assert look() == set()
    time.sleep(0.001)
is_over = True
for player in players:
    player.join()
print("over")
"""
    assert output_of(body) == ["over"]


def test_a_signal_handler_may_end_any_wait_of_the_main_thread(output_of: OutputOf) -> None:
    body = """
import signal
signal.signal(signal.SIGUSR1, lambda *_: event.set())
main, found = threading.get_ident(), []
def watch():
    for _ in range(20):
        found.append(main in look())
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGUSR1)
begin(watch)
event.wait()
print(any(found))
"""
    assert output_of(body) == ["False"]


def test_a_checked_lock_is_like_a_lock(output_of: OutputOf) -> None:
    body = """
assert lock.acquire(False) and not lock.acquire(False) and not lock.acquire(timeout=0.01) and lock.locked()
lock.release()
assert not lock.locked()
assert rlock.acquire() and rlock.acquire() and rlock._is_owned()
rlock.release(), rlock.release()
for each in (lock, rlock):
    with each as got:
        assert got is True
    try:
        each.release()
    except RuntimeError as error:
        print(error)
print(repr(lock).startswith("<unlocked _thread.lock"))
"""
    assert output_of(body) == ["release unlocked lock", "cannot release un-acquired lock", "True"]
