# SPDX-License-Identifier: Apache-2.0
"""``ASCEND_RT_SIM_CHECK=deadlocks``: a deadlock is reported with the places of all waits, and nothing else is."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from support.programs_in_forks import CHECKS, Programs

from ascend_rt.enums import SimExit

pytestmark = pytest.mark.simulator("internals")

PRELUDE = """\
import os, queue, signal, subprocess, sys, threading, time
from ascend_rt import AclError, Buffer, Device, Event, Notify, Stream, Timeout, ffi, lib
device = Device(0)
device.set_current()
stream, other = Stream(), Stream()
notify, second = Notify(), Notify()
lock, ready = threading.Lock(), threading.Event()

def start(function):
    def run():
        device.set_current()
        function()
    thread = threading.Thread(target=run)
    thread.start()
    return thread
"""

# Every line with the mark is the place of a wait.
DEADLOCKS = {
    "notifies": """
notify.wait(stream)  # wait
second.record(stream)
second.wait(other)  # wait
notify.record(other)
stream.synchronize()  # wait
""",
    "value": """
memory = Buffer(64)
address, raw = ffi.cast("void *", memory.handle), ffi.cast("aclrtStream", stream.handle)
assert lib.aclrtMemset(address, 64, 0, 64) == 0
assert lib.aclrtValueWait(address, 7, 1, raw) == 0  # wait
assert lib.aclrtSynchronizeStream(raw) == 0  # wait
""",
    "host function": """
def work():
    with lock:  # wait
        pass
with lock:
    stream.launch_host_func(work)  # wait
    stream.synchronize()  # wait
""",
    "host function that starts after the first look": """
def work():
    with lock:  # wait
        pass
def release():
    time.sleep(0.1)
    assert lib.aclsimHold(0) == 0
assert lib.aclsimHold(1) == 0
with lock:
    stream.launch_host_func(work)  # wait
    start(release)
    stream.synchronize()  # wait
""",
    "wait that starts after the first look": """
def release():
    time.sleep(0.1)
    assert lib.aclsimHold(0) == 0
assert lib.aclsimHold(1) == 0
stream.wait(notify)  # wait
start(release)
stream.synchronize()  # wait
""",
    "reentrant lock": """
lock = threading.RLock()
def work():
    lock.acquire()  # wait
with lock, lock:
    stream.launch_host_func(work)  # wait
    stream.synchronize()  # wait
""",
    "last thread, lock": """
notify.wait(stream)  # wait
def record():
    with lock:  # wait
        notify.record(other)
with lock:
    start(record)
    stream.synchronize()  # wait
""",
    "last thread, event": """
notify.wait(stream)  # wait
def record():
    ready.wait()  # wait
    notify.record(other)
start(record)
stream.synchronize()  # wait
ready.set()
""",
    "last thread, queue": """
notify.wait(stream)  # wait
items = queue.Queue()
def record():
    items.get()  # wait
    notify.record(other)
start(record)
stream.synchronize()  # wait
items.put(1)
""",
    "last thread, synchronization": """
notify.wait(stream)  # wait
second.wait(other)  # wait
def record():
    other.synchronize()  # wait
    notify.record(other)
start(record)
stream.synchronize()  # wait
second.record(stream)
""",
    "join": """
notify.wait(stream)  # wait
thread = start(lambda: stream.synchronize())  # wait
thread.join()  # wait
notify.record(other)
""",
    "end of the program": """
notify.wait(stream)  # wait
start(lambda: stream.synchronize())  # wait
""",
}

CORRECT = {
    "a limit ends the wait of the other thread": """
notify.wait(stream)
def record():
    ready.wait(0.7)
    notify.record(other)
start(record)
stream.synchronize()
""",
    "the other thread waits for a process": """
notify.wait(stream)
def record():
    subprocess.run(["sleep", "0.7"], check=True)
    notify.record(other)
start(record)
stream.synchronize()
""",
    "the other thread reads": """
reading, writing = os.pipe()
child = subprocess.Popen(["sh", "-c", "sleep 0.7; echo"], stdout=writing)
notify.wait(stream)
def record():
    os.read(reading, 1)
    notify.record(other)
start(record)
stream.synchronize()
child.wait()
""",
    "a chain of threads ends with a limit": """
notify.wait(stream)
with lock:
    def record():
        with lock:
            notify.record(other)
    def end():
        with lock:
            ready.set()
    threads = [start(record), start(end), start(ready.wait), start(stream.synchronize)]
    try:
        stream.synchronize(0.5)
    except Timeout:
        print("late")
stream.synchronize()
""",
    "another process records the event": """
code = '''
import subprocess
from ascend_rt import Device, Event, Stream
Device(0).set_current()
stream, event = Stream(), Event(ipc=True)
stream.launch_host_func(lambda: subprocess.run(["sleep", "0.7"], check=True))
event.record(stream)
print(event.export().hex(), flush=True)
input()
'''
environment = {**os.environ, "ASCEND_RT_SIM_CHECK": ""}
process = subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, env=environment, text=True)
with Event.open(bytes.fromhex(process.stdout.readline())) as event:
    stream.wait(event)
    stream.synchronize()
process.communicate("end")
""",
    "a signal ends the wait": """
notify.wait(stream)
signal.signal(signal.SIGALRM, lambda *_: ready.set())
thread = start(stream.synchronize)
signal.setitimer(signal.ITIMER_REAL, 0.7)
ready.wait()
notify.record(other)
thread.join()
""",
    "a host function passes the lock on": """
notify.wait(stream)
lock.acquire()
def work():
    ready.wait(0.7)
    lock.release()
other.launch_host_func(work)
def record():
    with lock:
        notify.record(other)
start(record)
stream.synchronize()
""",
    "threads that take turns": """
turns = threading.Condition()
turn = 0
def play(own):
    global turn
    for _ in range(500):
        with turns:
            while turn % 2 != own:
                turns.wait()
            turn += 1
            turns.notify_all()
        with lock:
            pass
notify.wait(stream)
players = [start(lambda: play(0)), start(lambda: play(1))]
def record():
    for player in players:
        player.join()
    notify.record(other)
start(record)
stream.synchronize()
""",
    "a limited wait in a cycle": """
notify.wait(stream)
try:
    stream.synchronize(0.5)
except Timeout:
    notify.record(other)
stream.synchronize()
""",
}


_programs = Programs("queue", "subprocess", "ascend_rt.stream", "ascend_rt.notify", imports_depend_on=CHECKS)


class Ended:
    """A program that has run with the check."""

    def __init__(self, directory: Path, body: str, check: str = "deadlocks", **variables: str) -> None:
        self.path = directory / "train.py"
        self.path.write_text(PRELUDE + body, encoding="utf-8")
        findings = directory / "findings"
        findings.mkdir()
        environment = os.environ | {"ASCEND_RT_SIM_CHECK": check, "ASCEND_RT_SIM_CHECK_DIRECTORY": str(findings)}
        self.done = _programs.run(self.path, environment=environment, variables=variables)
        lines = [json.loads(line) for file in findings.iterdir() for line in file.read_text().splitlines()]
        self.found: list[dict[str, Any]] = [line for line in lines if line["kind"] not in ("process", "end")]

    def marked_places(self) -> set[str]:
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return {f"{self.path}:{number}" for number, line in enumerate(lines, 1) if line.endswith("# wait")}


@pytest.mark.parametrize("name", DEADLOCKS)
def test_a_deadlock_is_found_with_the_place_of_every_wait(tmp_path: Path, name: str) -> None:
    ended = Ended(tmp_path, DEADLOCKS[name])
    assert (ended.done.returncode, ended.done.stderr) == (SimExit.EXIT_DEADLOCK, "")
    [finding] = ended.found
    assert finding["kind"] == "deadlock"
    places = {wait["frames"][0].split(" in ")[0] for wait in finding["waits"]}
    at_the_end = {place for place in places if place.startswith(threading.__file__)}  # the main thread, in _shutdown()
    assert places - at_the_end == ended.marked_places()
    assert len(at_the_end) == (name == "end of the program")
    assert all(re.fullmatch(r"(another )?thread( \d+)?|stream \d+ of device 0", it["agent"]) for it in finding["waits"])


@pytest.mark.parametrize("name", CORRECT)
def test_a_wait_that_ends_is_no_deadlock(tmp_path: Path, name: str) -> None:
    ended = Ended(tmp_path, CORRECT[name], ASCEND_RT_SIM_STALL_MS="0")
    assert (ended.done.returncode, ended.done.stderr, ended.found) == (0, "", [])


def test_the_wait_of_a_lock_names_the_thread_that_has_it(tmp_path: Path) -> None:
    [finding] = Ended(tmp_path, DEADLOCKS["host function"]).found
    waits = {wait["function"]: wait for wait in finding["waits"]}
    assert waits["Lock.acquire"]["waits_for"] == f"a lock, which {waits['aclrtSynchronizeStream']['agent']} has"


def test_the_text_has_the_stack_of_each_wait(tmp_path: Path) -> None:
    ended = Ended(tmp_path, DEADLOCKS["notifies"], ASCEND_RT_SIM_CHECK_DIRECTORY="")
    lines = ended.done.stderr.splitlines()
    assert re.fullmatch(
        r"ascend_rt simulator: aclrtSynchronizeStream waits forever for task \d+ of stream .*", lines[0]
    )
    assert re.fullmatch(r"  thread \d+ waits for task 2 of stream \d+ of device 0", lines[1])
    assert lines[2] == "    in aclrtSynchronizeStream"
    assert re.fullmatch(rf"      at {ended.path}:\d+ in <module>", lines[3])
    assert lines[-1] == "  which waits for itself: a deadlock"
    assert ended.done.stderr.count(f"      at {ended.path}:") == 3


def test_waits_fail_instead_and_the_program_goes_on(tmp_path: Path) -> None:
    body = """
notify.wait(stream)
try:
    stream.synchronize()
except AclError as error:
    print(error.code, error)
stream.close()
other.launch_host_func(lambda: print("done"))
other.synchronize()
"""
    ended = Ended(tmp_path, body, ASCEND_RT_SIM_DEADLOCK="fail")
    assert (ended.done.returncode, ended.done.stderr) == (0, "")
    failure, *_, done = ended.done.stdout.splitlines()  # before Python 3.11 the hint is a line of the text
    assert failure.startswith("107000 ")
    assert "this wait can never end: a deadlock" in failure
    assert done == "done"
    assert [finding["kind"] for finding in ended.found] == ["deadlock"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the number of a thread is known to Python alone")
def test_a_thread_of_a_host_function_has_its_number_in_the_system(tmp_path: Path) -> None:
    body = """
def work():
    print(threading.get_native_id(), flush=True)
    ready.wait()
stream.launch_host_func(work)
stream.synchronize()
"""
    ended = Ended(tmp_path, body)
    [finding] = ended.found
    assert [wait["agent"] for wait in finding["waits"]][2] == f"thread {ended.done.stdout.strip()}"


@pytest.mark.parametrize("check", ["deadlocks", "deadlocks,races"])
@pytest.mark.parametrize("is_pending", [True, False])
def test_numbers_of_tasks_do_not_depend_on_the_schedule(tmp_path: Path, check: str, is_pending: bool) -> None:
    body = f"""
other.launch_host_func(ready.wait)
record = other.record()
if not {is_pending}:
    ready.set()
    record.synchronize()
stream.wait(record)  # needs a task while the record is pending
ready.set()
stream.wait(notify)
stream.synchronize()
"""
    ended = Ended(tmp_path, body, check=check)
    [finding] = ended.found
    assert finding["text"].startswith("aclrtSynchronizeStream waits forever for task 2 of stream ")
    assert re.search(r"at task 2 of 2, waits for notify \d+ of device 0", finding["text"])
    assert [wait["task"] for wait in finding["waits"]] == [None, 2]


def test_a_wrong_end_is_an_error_of_the_first_call(tmp_path: Path) -> None:
    ended = Ended(tmp_path, "", ASCEND_RT_SIM_DEADLOCK="stop")
    assert "ASCEND_RT_SIM_DEADLOCK=stop is not one of exit, fail" in ended.done.stderr


def test_the_watchdog_lists_what_is_pending(tmp_path: Path) -> None:
    body = """
def play():
    ready.wait()
    notify.record(other)
start(play)
notify.wait(stream)
from ascend_rt._runtime import watchdog
watchdog._report = lambda lines: (print("\\n".join(lines)), ready.set())  # the latch
stream.synchronize()
"""
    ended = Ended(tmp_path, body, check="", ASCEND_RT_CHECK_WATCHDOG="0.5")
    assert (ended.done.returncode, ended.done.stderr) == (0, "")
    lines = ended.done.stdout.splitlines()
    assert lines[0] == "ascend_rt: the main thread has waited for more than 0.5 s; pending are"
    assert any(re.fullmatch(r"  thread \d+ in aclrtSynchronizeStream", line) for line in lines)
    assert any(
        re.fullmatch(r"  thread \d+ in Event.wait, waits for another thread of the program", line) for line in lines
    )
    assert f"    at {ended.path}:24 in <module>" in lines
    assert f"    at {ended.path}:18 in play" in lines
    assert sum(bool(re.fullmatch(r"  <ascend_rt.Stream .*> has work left", line)) for line in lines) == 1


def test_a_wrong_time_of_the_watchdog_is_refused(tmp_path: Path) -> None:
    ended = Ended(tmp_path, "", check="", ASCEND_RT_CHECK_WATCHDOG="soon")
    assert "ConfigurationError: ASCEND_RT_CHECK_WATCHDOG=soon is not a positive number of seconds" in ended.done.stderr
