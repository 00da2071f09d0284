# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt check`` and ``pytest --ascend-check`` with findings of the simulator itself, from Python and from C."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_rt._runtime import driver

pytestmark = pytest.mark.simulator("memory check")

RACE = """\
from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async

Device(0).set_current()
memory, kept = Buffer(4096), []


def load(source, stream):
    kept.append(stream.record())
    copy_async(memory, source, stream)


def step(target, stream):
    stream.wait(kept[0])
    copy_async(target, memory, stream)


def main():
    a, b = Stream(), Stream()
    source, target = PinnedBuffer(4096), PinnedBuffer(4096)
    load(source, a)
    step(target, b)
    a.synchronize()
    b.synchronize()
"""

FIXED = RACE.replace(
    "    kept.append(stream.record())\n    copy_async(memory, source, stream)\n",
    "    copy_async(memory, source, stream)\n    kept.append(stream.record())\n",
)


def test_a_late_record_is_found_and_its_fix_silences_it(run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"{RACE}\n\nmain()\n", encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", "train.py")
    assert done.returncode == 1
    assert done.stderr == (
        "race: 4096 bytes of Buffer 1 (allocated train.py:4), read after write, not ordered\n"
        "  write  stream 2, task 2  copy_async  train.py:9 in load ← 20 in main ← 26 in <module>\n"
        "  read   stream 3, task 2  copy_async  train.py:14 in step ← 21 in main ← 26 in <module>\n"
        "  the wait at 13 is bound to the record at 8, before the write\n"
        "  fix: record on stream 2 after line 9, wait on stream 3 before line 14\n"
        "\n1 race in 1 process\n"
    )
    (tmp_path / "train.py").write_text(f"{FIXED}\n\nmain()\n", encoding="utf-8")
    fixed = run("-m", "ascend_rt", "check", "--backend", "sim", "train.py")
    assert (fixed.returncode, fixed.stderr) == (0, "no findings in 1 process\n")


def test_a_race_fails_the_test_that_has_it(run, tmp_path: Path) -> None:
    for name, program in (("race", RACE), ("fixed", FIXED)):
        (tmp_path / f"test_{name}.py").write_text(program.replace("def main", "def test_main"), encoding="utf-8")
    done = run("-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--ascend-check", ASCEND_RT_BACKEND="sim")
    assert done.returncode == 1
    assert "FAILED test_race.py::test_main" in done.stdout
    assert "PASSED test_fixed.py::test_main" in done.stdout
    assert "test_race.py:9 in load ← 20 in test_main" in done.stdout


HAND_OVER = """\
import threading
from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async, fill_async

Device(0).set_current()


def main():
    a, b, memory, source, done = Stream(), Stream(), Buffer(4096), PinnedBuffer(4096), threading.Event()
    BEFORE
    a.launch_host_func(done.set)
    BEHIND
    assert done.wait(60)
    fill_async(memory, 1, b)
    a.synchronize()
    b.synchronize()
"""
COPY = "copy_async(memory, source, a)"


def test_a_thread_follows_a_host_function_that_it_waits_for(run, tmp_path: Path) -> None:
    ordered = HAND_OVER.replace("BEFORE", COPY).replace("BEHIND", "")
    late = HAND_OVER.replace("BEHIND", COPY).replace("BEFORE", "")
    for program, status in ((ordered, 0), (late, 1)):
        (tmp_path / "train.py").write_text(f"{program}\n\nmain()\n", encoding="utf-8")
        (tmp_path / "test_train.py").write_text(program.replace("def main", "def test_main"), encoding="utf-8")
        done = run("-m", "ascend_rt", "check", "--backend", "sim", "train.py")
        assert done.returncode == status, done.stderr
        tested = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "--ascend-check", ASCEND_RT_BACKEND="sim")
        assert tested.returncode == status, tested.stdout


def expect_status(status: int, run, tmp_path: Path, program: str, *options: str) -> None:
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", *options, "train.py")
    assert done.returncode == status, done.stderr


GATE = """\
import queue, threading
from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async

Device(0).set_current()
stream, memory, pinned = Stream(), Buffer(4096), PinnedBuffer(4096)
event, items = threading.Event(), queue.Queue()
stream.launch_host_func(GATE)
copy_async(memory, pinned, stream)
BEFORE
event.set()
items.put(1)
BEHIND
stream.synchronize()
"""


@pytest.mark.parametrize("gate", ["event.wait", "lambda: items.get()"])
def test_what_follows_a_host_function_follows_what_it_waited_for(run, tmp_path: Path, gate: str) -> None:
    write = "pinned[:] = 1"
    program = GATE.replace("GATE", gate)
    ordered = program.replace("BEFORE", write).replace("BEHIND", "")
    late = program.replace("BEFORE", "").replace("BEHIND", write)
    # Without the option, a gate that the program opens late does not hide a missing wait.
    for text, options, status in ((ordered, ["--host-threads"], 0), (late, ["--host-threads"], 1), (ordered, [], 1)):
        expect_status(status, run, tmp_path, text, *options)


LOCKS = """\
import threading, time
from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async

Device(0).set_current()
stream, memory, pinned = Stream(), Buffer(4096), PinnedBuffer(4096)
lock, written = threading.Lock(), []


def use_lock():
    while not written:
        time.sleep(0)
    for _ in range(2):
        with lock:
            pass


stream.launch_host_func(use_lock)
copy_async(memory, pinned, stream)
pinned[:] = 1
written.append(True)
stream.synchronize()
"""


def test_a_host_function_that_is_late_knows_no_more_of_the_host(run, tmp_path: Path) -> None:
    expect_status(1, run, tmp_path, LOCKS)


WITHOUT_DESCRIPTORS = """\
import contextlib, os
from ascend_rt import Buffer, Device, Notify, Stream, fill_async

Device(0).set_current()
stream, other, notify, memory = Stream(), Stream(), Notify(), Buffer(64)
held = []
with contextlib.suppress(OSError):
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
PROGRAM
"""


@pytest.mark.parametrize(
    ("program", "status", "said"),
    [
        ("stream.wait(notify); stream.synchronize()", 1, "1 deadlock in 1 process"),
        ("fill_async(memory, 1, stream); fill_async(memory, 2, other)", 1, "1 race in 1 process"),
    ],
)
def test_a_program_may_use_up_all_descriptors(run, tmp_path: Path, program: str, status: int, said: str) -> None:
    (tmp_path / "train.py").write_text(WITHOUT_DESCRIPTORS.replace("PROGRAM", program), encoding="utf-8")
    limited = 'ulimit -n 40; exec "$@"'
    command = ["sh", "-c", limited, "sh", sys.executable, "-m", "ascend_rt", "check", "--backend", "sim", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (status, said), done.stderr
    assert "Traceback" not in done.stderr


# Pipes between the threads are not followed: only the stream orders what the other thread submits behind the wait.
WAIT_OF_ANOTHER_THREAD = """\
import os, threading
from ascend_rt import Buffer, Device, Event, Stream, fill_async

device = Device(0)
device.set_current()
first, second, third, event, memory = Stream(), Stream(), Stream(), Event(), Buffer(64)
goes, go = os.pipe()
opens, open_ = os.pipe()


def other():
    device.set_current()
    os.read(goes, 1)
    fill_async(memory, 2, first)


thread = threading.Thread(target=other)
thread.start()
BEFORE
event.record(second)
AFTER
fill_async(memory, 1, third)
third.synchronize()
first.wait(event)
os.write(go, b"g")
thread.join()
os.write(open_, b"o")
first.synchronize()
"""


@pytest.mark.parametrize("is_pending", [True, False])
def test_a_wait_brings_what_its_thread_knew_whether_its_record_is_over(run, tmp_path: Path, is_pending: bool) -> None:
    before, after = (
        ("second.launch_host_func(lambda: os.read(opens, 1))", "") if is_pending else ("", "event.synchronize()")
    )
    program = WAIT_OF_ANOTHER_THREAD.replace("BEFORE", before).replace("AFTER", after)
    expect_status(0, run, tmp_path, program, "--host-threads")


OLD_RECORD = """\
import os, threading
from ascend_rt import Buffer, Device, Event, PinnedBuffer, Stream, fill_async

device = Device(0)
device.set_current()
stream, event, pinned, memory = Stream(), Event(), PinnedBuffer(4096), Buffer(64)
goes, go = os.pipe()


def other():
    device.set_current()
    pinned[:] = 1
    event.record(stream)
    for _ in range(1000):
        fill_async(memory, 0, stream)
    os.write(go, b"g")


thread = threading.Thread(target=other)
thread.start()
os.read(goes, 1)
event.synchronize()
pinned[:] = 2
thread.join()
"""


def test_a_record_may_have_many_tasks_behind_it(run, tmp_path: Path) -> None:
    expect_status(0, run, tmp_path, OLD_RECORD, "--host-threads")


BEGINNING = """\
import asyncio, os, threading
import numpy as np
from ascend_rt import *
from ascend_rt import ffi, lib

device = Device(0)
device.set_current()
a, b, x, y, pinned = Stream(), Stream(), Buffer(4096), Buffer(4096), PinnedBuffer(4096)
"""

# Programs whose verdict must not be luck, with the options of the check, and the number of races.
PROGRAMS = {
    "copies to registered memory": (
        """
array = np.zeros(4096, np.uint8)
with RegisteredMemory(array):
    copy_async(array, x, a)
    copy_async(array, y, b)
    device.synchronize()
""",
        [],
        1,
    ),
    "a hint for the place of managed memory": (
        """
memory = ManagedBuffer(4096)
fill_async(memory, 1, a)
memory.prefetch(device, b)
device.synchronize()
""",
        [],
        0,
    ),
    "an abort drops a wait for a complete record": (
        """
gate = Event(manual_reset=True)
b.wait(gate)
copy_async(x, pinned, a)
b.wait(a.record())
b.abort()
copy_async(y, x, b)
device.synchronize()
""",
        [],
        1,
    ),
    "a text of an object is no synchronization": (
        """
copy_async(x, pinned, a)
repr(a)
repr(a.record())
pinned[:] = 1
a.synchronize()
""",
        [],
        1,
    ),
    "coroutines take turns": (
        """
async def send(number):
    pinned[:] = number
    copy_async(x, pinned, a)
    await a.done()

async def both():
    await asyncio.gather(send(1), send(2))

asyncio.run(both())
""",
        [],
        1,
    ),
    "coroutines take turns behind events": (
        """
async def send(number):
    pinned[:] = number
    copy_async(x, pinned, a)
    await a.record()

async def both():
    await asyncio.gather(send(1), send(2))

asyncio.run(both())
""",
        [],
        1,
    ),
    "all descriptors are closed": (
        """
os.closerange(3, 4096)
files = [open(f"file_{number}", "wb") for number in range(20)]
copy_async(x, pinned, a)
pinned[:] = 1
a.synchronize()
for file in files:
    file.close()
    assert os.path.getsize(file.name) == 0
""",
        [],
        1,
    ),
    "a stream that ends in another thread": (
        """
ended = []

def work():
    device.set_current()
    with Stream() as stream:
        copy_async(pinned, x, stream)
    ended.append(True)

thread = threading.Thread(target=work)
thread.start()
while not ended:
    pass
pinned.sum()
thread.join()
""",
        ["--host-threads"],
        1,
    ),
    "a callback that does not block": (
        """
import acl

read, ended = threading.Event(), threading.Event()
context, _ = acl.rt.get_context()
stream, _ = acl.rt.create_stream()
memory, _ = acl.rt.malloc(4096, 0)
host, _ = acl.rt.malloc_host(4096)


def serve(_):
    acl.rt.set_context(context)
    while not ended.is_set():
        acl.rt.process_report(50)


def called(_):
    acl.util.ptr_to_bytes(host, 4)
    read.set()


thread, _ = acl.util.start_thread(serve, [])
assert acl.rt.subscribe_report(thread, stream) == 0
assert acl.rt.memcpy_async(host, 4096, memory, 4096, 2, stream) == 0
assert acl.rt.launch_callback(called, [], 0, stream) == 0
assert acl.rt.memcpy_async(host, 4096, memory, 4096, 2, stream) == 0
assert read.wait(60)
ended.set()
assert acl.rt.synchronize_stream(stream) == 0
assert acl.rt.unsubscribe_report(thread, stream) == 0
""",
        [],
        1,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_verdicts(run, tmp_path: Path, name: str) -> None:
    text, options, races = PROGRAMS[name]
    (tmp_path / "train.py").write_text(BEGINNING + text, encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", *options, "train.py")
    summary = f"{races} race in 1 process" if races else "no findings in 1 process"
    assert summary in done.stdout + done.stderr, done.stdout + done.stderr


IN_A_GRAPH = """from ascend_rt import Buffer, Device, Event, PinnedBuffer, Stream, copy_async, fill_async

Device(0).set_current()
a, b, early, memory, pinned = Stream(), Stream(), Event(), Buffer(4096), PinnedBuffer(4096)


def fill():
    pinned.fill(1)


with a.capture() as graph:
    b.wait(a)
    early.record(b)
    FIRST
    a.wait(early)
    copy_async(memory, pinned, a)
    a.wait(b)
graph.launch(a)
a.synchronize()
"""


@pytest.mark.parametrize("first", ["copy_async(pinned, memory, b)", "b.launch_host_func(fill)"])
def test_accesses_in_a_graph_have_the_order_of_their_capture(run, tmp_path: Path, first: str) -> None:
    (tmp_path / "train.py").write_text(IN_A_GRAPH.replace("FIRST", first), encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", "train.py")
    assert done.returncode == 1
    assert "the wait at 15 is bound to the record at 13, before the write\n" in done.stderr
    assert "fix: order the two in the graph: record after line 14, and wait before line 16" in done.stderr


CLOSED_BY_A_THREAD = """\
import os, threading
from ascend_rt import Buffer, Device, Event, PinnedBuffer, Stream, copy_async, fill_async

device = Device(0)
device.set_current()
b, filled, buffer, out = Stream(), Event(), Buffer(4096), PinnedBuffer(4096)
recorded, waits = threading.Event(), threading.Event()
is_closed, closes = os.pipe()  # orders nothing that the check follows


def produce():
    device.set_current()
    with Stream() as a:
        fill_async(buffer, 1, a)
        filled.record(a)
        recorded.set()
        waits.wait()
    os.write(closes, b"1")


thread = threading.Thread(target=produce)
thread.start()
recorded.wait()
b.wait(filled)
waits.set()
os.read(is_closed, 1)
copy_async(out, buffer, b)
b.synchronize()
thread.join()
"""


def test_a_wait_is_bound_to_a_record_of_a_stream_that_another_thread_has_closed(run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CLOSED_BY_A_THREAD, encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", "--host-threads", "train.py")
    assert done.returncode == 0, done.stderr


# Each function lets another thread run a function, and waits for that by other means.
HANDOVERS = """\
import asyncio, threading
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async

device = Device(0)
device.set_current()
memory, out, streams = Buffer(4096), PinnedBuffer(4096), []


def by_lock(run):
    lock, runs = threading.Lock(), []
    def work():
        with lock:
            runs.append(1)
    run(work)
    while True:
        with lock:
            if runs:
                return


def by_condition(run):
    condition, runs = threading.Condition(), []
    def work():
        with condition:
            runs.append(1)
            condition.notify()
    run(work)
    with condition:
        assert condition.wait_for(lambda: runs, 60)


def by_semaphore(run):
    semaphore = threading.Semaphore(0)
    run(semaphore.release)
    assert semaphore.acquire(timeout=60)


def by_barrier(run):
    barrier = threading.Barrier(2)
    run(barrier.wait)
    barrier.wait(60)


def by_event(run):
    event = threading.Event()
    run(event.set)
    assert event.wait(60)


def by_future(run):
    future = Future()
    run(lambda: future.set_result(1))
    assert future.result(60)


def by_polled_future(run):
    future = Future()
    run(lambda: future.set_result(1))
    while not future.done():
        pass
"""

OF_HOST_FUNCTIONS = """

stream = Stream()
for hand_over in (by_lock, by_condition, by_semaphore, by_event, by_future, by_polled_future):
    copy_async(out, memory, stream)
    hand_over(stream.launch_host_func)
    out[:] = 1
"""

OF_THREADS = """

def fetch():
    device.set_current()
    streams.append(Stream())
    copy_async(out, memory, streams[-1])
    streams[-1].synchronize()


def start(then):
    def work():
        fetch()
        then()
    threads.append(threading.Thread(target=work))
    threads[-1].start()


threads = []
for hand_over in (by_lock, by_condition, by_semaphore, by_barrier, by_event, by_future, by_polled_future):
    hand_over(start)
    out[:] = 1
with ThreadPoolExecutor(1) as pool:
    for waits in (wait, lambda them: list(as_completed(them)), lambda them: them[0].result()):
        waits([pool.submit(fetch)])
        out[:] = 1
    list(pool.map(lambda _: fetch(), range(1)))
    out[:] = 1
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize(
    ("program", "options"),
    [(OF_HOST_FUNCTIONS, ()), (OF_THREADS, ("--host-threads",))],
    ids=["host functions", "threads"],
)
def test_what_python_orders_threads_by_is_followed(run, tmp_path: Path, program: str, options: tuple[str, ...]) -> None:
    (tmp_path / "train.py").write_text(HANDOVERS + program, encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", *options, "train.py")
    assert (done.returncode, done.stderr.splitlines()[-1][:11]) == (0, "no findings"), done.stderr


UNORDERED_THREADS = """\
import os, threading
from ascend_rt import Buffer, Device, Stream, fill_async

device = Device(0)
device.set_current()
memory = Buffer(4096)
has_filled, fills = os.pipe()  # orders nothing that the check follows


def work():
    device.set_current()
    with Stream() as stream:
        fill_async(memory, 1, stream)  # first
        stream.synchronize()
    os.write(fills, b"1")


thread = threading.Thread(target=work)
thread.start()
os.read(has_filled, 1)
with Stream() as stream:
    fill_async(memory, 2, stream)  # second
    stream.synchronize()
thread.join()
"""


def test_a_stream_that_another_thread_has_closed_orders_nothing_for_this_one(run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(UNORDERED_THREADS, encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", "--host-threads", "--format", "json", "train.py")
    (found,) = json.loads(done.stdout)["findings"]
    assert found["conflict"] == "write after write"
    assert found["why"]["case"] == "no_wait"


def test_a_wrong_use_of_memory_is_found(run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "from ascend_rt import Buffer, Device, ffi, lib\nDevice(0).set_current()\nmemory = Buffer(100)\n"
        "lib.aclrtMemset(ffi.cast('void *', memory.handle), 110, 0, 110)\n",
        encoding="utf-8",
    )
    done = run("-m", "ascend_rt", "check", "--backend", "sim", "--memory", "--format=json", "train.py")
    (found,) = json.loads(done.stdout)["findings"]
    assert (done.returncode, found["kind"], found["frames"][0]["line"]) == (1, "memory", 4)
    assert found["text"].startswith("memory: aclrtMemset at train.py:4 in <module> uses 110 bytes at ")


DEADLOCK = """\
from ascend_rt import Device, Event, Notify, Stream

Device(0).set_current()
stream, notify = Stream(), Notify()


def test_main():
    stream.wait(notify)
    stream.synchronize()


if __name__ == "__main__":
    test_main()
"""


def test_a_deadlock_is_ended_and_its_waits_are_listed(run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(DEADLOCK, encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", "train.py")
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("deadlock: ")
    assert "train.py:8 in test_main" in done.stderr
    assert "train.py:9 in test_main" in done.stderr
    assert done.stderr.endswith("\n1 deadlock in 1 process\n")


def test_a_deadlock_fails_its_test_and_the_next_one_runs(run, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        f"{DEADLOCK}\n\ndef test_next():\n    notify.record(Stream())\n    stream.synchronize()\n", encoding="utf-8"
    )
    done = run("-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--ascend-check", ASCEND_RT_BACKEND="sim")
    assert done.returncode == 1
    assert "FAILED test_it.py::test_main" in done.stdout
    assert "PASSED test_it.py::test_next" in done.stdout
    assert "deadlock: " in done.stdout


PROGRAM = """\
#include <stddef.h>
int aclrtSetDevice(int);
int aclrtMalloc(void **, size_t, int);
int aclrtCreateStream(void **);
int aclrtMemsetAsync(void *, size_t, int, size_t, void *);
int aclrtSynchronizeStream(void *);
static int fill(void *memory, void *stream) {
    return aclrtMemsetAsync(memory, 100, 1, 100, stream);
}
int main(void) {
    void *memory = NULL, *a = NULL, *b = NULL;
    int code = aclrtSetDevice(0) + aclrtMalloc(&memory, 100, 0) + aclrtCreateStream(&a) + aclrtCreateStream(&b);
    code += fill(memory, a);
    code += fill(memory, b);
    return code + aclrtSynchronizeStream(a) + aclrtSynchronizeStream(b);
}
"""


@pytest.fixture
def check_c(run, tmp_path: Path):
    """Return a function that compiles a program in C and checks it."""
    compiler = shutil.which("cc")
    if compiler is None or shutil.which("addr2line") is None:
        pytest.skip("needs a C compiler and addr2line")
    library = driver.library().path

    def check_program(text: str):
        (tmp_path / "program.c").write_text(text, encoding="utf-8")
        subprocess.run([compiler, "-g", "-O0", "program.c", library, "-o", "program"], cwd=tmp_path, check=True)
        command = ("-m", "ascend_rt", "check", "--backend", "sim", "--", "./program")
        return run(*command, LD_LIBRARY_PATH=os.path.dirname(library))

    return check_program


def test_a_c_program_has_the_lines_of_its_source(check_c) -> None:
    done = check_c(PROGRAM)
    assert done.returncode == 1
    assert done.stderr == (
        "race: 100 bytes of device memory 1 (allocated program.c:12), write after write, not ordered\n"
        "  write  stream 2, task 1  aclrtMemsetAsync  program.c:8 in fill ← 13 in main\n"
        "  write  stream 3, task 1  aclrtMemsetAsync  program.c:8 in fill ← 14 in main\n"
        "  nothing orders the write after the write\n"
        "  fix: record on stream 2 after line 13, wait on stream 3 before line 14\n"
        "\n1 race in 1 process\n"
    )


def test_a_c_program_follows_a_host_function_for_which_it_polls(check_c) -> None:
    polls = PROGRAM.replace(
        "int main", "static int has_run;\nstatic void run(void *data) { *(int *)data = 1; }\nint main"
    )
    polls = polls.replace("#include", "int aclrtLaunchHostFunc(void *, void (*)(void *), void *);\n#include", 1)
    wait = "    code += aclrtLaunchHostFunc(a, run, &has_run);\n    while (!*(volatile int *)&has_run) {}\n"
    polls = polls.replace("    code += fill(memory, b);\n", f"{wait}    code += fill(memory, b);\n")
    done = check_c(polls)
    assert (done.returncode, done.stderr) == (0, "no findings in 1 process\n")
