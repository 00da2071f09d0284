# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt check`` and ``pytest --ascend-check`` with findings of the simulator itself, from Python and from C."""

from __future__ import annotations

import json
import os
import re
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


SEEN_BEFORE = """\
from ascend_rt import Buffer, Device, Stream, fill_async

device = Device(0)
device.set_current()
a, b, memory = Stream(), Stream(), Buffer(64)


def step():
    fill_async(memory, 1, a)
    fill_async(memory, 2, b)
    device.synchronize()


def test_often():
    for _ in range(2500):
        step()


def test_once_more():
    step()


def test_not_at_all():
    device.synchronize()
"""


def test_a_race_that_earlier_tests_had_often_fails_a_test_that_has_it_once(run, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SEEN_BEFORE, encoding="utf-8")
    done = run("-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--ascend-check", ASCEND_RT_BACKEND="sim")
    assert "FAILED test_it.py::test_often" in done.stdout
    assert "FAILED test_it.py::test_once_more" in done.stdout
    assert "PASSED test_it.py::test_not_at_all" in done.stdout


SEVEN_TIMES = """\
import os
from ascend_rt import Buffer, Device, Stream, fill_async

device = Device(0)
device.set_current()
a, b, memory = Stream(), Stream(), Buffer(64)
for _ in range(7):
    fill_async(memory, 1, a)
    fill_async(memory, 2, b)
    device.synchronize()
END
"""


@pytest.mark.parametrize("end", ["", "os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_every_race_counts_however_the_process_ends(run, tmp_path: Path, end: str) -> None:
    (tmp_path / "train.py").write_text(SEVEN_TIMES.replace("END", end), encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", "train.py")
    assert "not ordered, seen 7 times\n" in done.stderr


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


BEGINNING = """\
import asyncio, os, threading
import numpy as np
from ascend_rt import *
from ascend_rt import ffi, lib

device = Device(0)
device.set_current()
a, b, x, y, pinned = Stream(), Stream(), Buffer(4096), Buffer(4096), PinnedBuffer(4096)
"""

# C code reads pinned memory too early, in one round.
LONG_LOOP = """
import ctypes

for i in range(1600):
    copy_async(pinned, x, a)
    if i == ROUND:
        ctypes.string_at(pinned.handle, 4)
    a.synchronize()
"""

# Programs whose verdict must not be luck, with the options of the check, and the number of races.
PROGRAMS = {
    "an early use by C code at first": (LONG_LOOP.replace("ROUND", "99"), [], 1),
    "an early use by C code in a round that is not in the sample": (LONG_LOOP.replace("ROUND", "1500"), [], 0),
    "an early use by C code in any round": (LONG_LOOP.replace("ROUND", "1500"), ["--every-use"], 1),
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

submitted, read, ended = threading.Event(), threading.Event(), threading.Event()
context, _ = acl.rt.get_context()
stream, _ = acl.rt.create_stream()
memory, _ = acl.rt.malloc(4096, 0)
host, _ = acl.rt.malloc_host(4096)


def serve(_):
    acl.rt.set_context(context)
    while not ended.is_set():
        acl.rt.process_report(50)


def called(_):
    submitted.wait()
    acl.util.ptr_to_bytes(host, 4)
    read.set()


thread, _ = acl.util.start_thread(serve, [])
assert acl.rt.subscribe_report(thread, stream) == 0
assert acl.rt.memcpy_async(host, 4096, memory, 4096, 2, stream) == 0
assert acl.rt.launch_callback(called, [], 0, stream) == 0
assert acl.rt.memcpy_async(host, 4096, memory, 4096, 2, stream) == 0
submitted.set()
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


BEHIND_A_LIBRARY = """\
import copy
from functools import partial

from ascend_rt import Buffer, Device, Stream, fill_async

device = Device(0)
device.set_current()
memory, one, two = Buffer(64), Stream(), Stream()


class Filled:
    def __reduce_ex__(self, protocol):
        return partial(fill_async, memory, 1, one), ()


copy.deepcopy([[[[Filled()]]]])
fill_async(memory, 2, two)
device.synchronize()
"""


def test_the_line_of_the_program_is_found_behind_many_lines_of_a_library(run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BEHIND_A_LIBRARY, encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", "train.py")
    assert "  write  stream 2, task 1  aclrtMemsetAsync  train.py:16 in <module>\n" in done.stderr, done.stderr
    assert "  fix: record on stream 2 after line 16, wait on stream 3 before line 17\n" in done.stderr


LOOP = """\
from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async, fill_async

Device(0).set_current()
a, b, memory, out = Stream(), Stream(), Buffer(4096), PinnedBuffer(4096)
for number in range(2):
    AFTER_READ
    fill_async(memory, number, a)
    AFTER_WRITE
    copy_async(out, memory, b)
a.synchronize()
b.synchronize()
"""


def test_each_order_of_two_places_has_its_fix(run, tmp_path: Path) -> None:
    fixes = {
        "AFTER_WRITE": "record on stream 2 after line 7, wait on stream 3 before line 9",
        "AFTER_READ": "record on stream 3 after line 9, wait on stream 2 before line 7",
    }
    waits = {"AFTER_WRITE": "b.wait(a)", "AFTER_READ": "a.wait(b)"}
    for present in ((), ("AFTER_WRITE",), ("AFTER_READ",), tuple(waits)):
        program = LOOP
        for place, wait in waits.items():
            program = program.replace(place, wait if place in present else "")
        (tmp_path / "train.py").write_text(program, encoding="utf-8")
        done = run("-m", "ascend_rt", "check", "--backend", "sim", "train.py")
        missing = [f"  fix: {fix}" for place, fix in fixes.items() if place not in present]
        assert [line for line in done.stderr.splitlines() if "fix: " in line] == missing
        assert done.returncode == bool(missing)


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


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_a_deadlock_fails_its_test_and_the_next_one_runs(run, tmp_path: Path, options: tuple[str, ...]) -> None:
    if options:
        pytest.importorskip("xdist")
    (tmp_path / "test_it.py").write_text(
        f"{DEADLOCK}\n\ndef test_next():\n    notify.record(Stream())\n    stream.synchronize()\n", encoding="utf-8"
    )
    done = run(
        "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--ascend-check", *options, ASCEND_RT_BACKEND="sim"
    )
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

    def check_program(text: str, *options: str, libraries: tuple[str, ...] = ()):
        (tmp_path / "program.c").write_text(text, encoding="utf-8")
        linked = [os.path.join(os.path.dirname(library), name) for name in libraries]
        subprocess.run(
            [compiler, "-g", "-O0", "program.c", library, *linked, "-o", "program"], cwd=tmp_path, check=True
        )
        command = ("-m", "ascend_rt", "check", "--backend", "sim", *options, "--", "./program")
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


LOADS = """\
#include <stddef.h>
int aclrtSetDevice(int);
int aclrtMalloc(void **, size_t, int);
int aclrtMallocHost(void **, size_t);
int aclrtCreateStream(void **);
int aclrtSynchronizeStream(void *);
int aclrtMemcpyAsync(void *, size_t, const void *, size_t, int, void *);
__attribute__((noinline, optimize("O2"))) static int load(const volatile char *first) {
    return *first;
}
int main(void) {
    void *memory = NULL, *results = NULL, *stream = NULL;
    int code = aclrtSetDevice(0) + aclrtMalloc(&memory, 4096, 0) + aclrtMallocHost(&results, 4096);
    code += aclrtCreateStream(&stream) + aclrtMemcpyAsync(results, 4096, memory, 4096, 2, stream);
    code += 0 * load(results);
    return code + aclrtSynchronizeStream(stream);
}
"""


def test_a_load_that_begins_its_line_has_it(check_c) -> None:
    """One byte before the instruction is another line, here even another function."""
    done = check_c(LOADS)
    assert done.returncode == 1
    assert "  read   host              an access of the program  program.c:9 in load ← 15 in main\n" in done.stderr
    assert "  fix: synchronize stream 2 before line 9\n" in done.stderr


COLLECTIVE = """\
#include <stddef.h>
int aclrtSetDevice(int);
int aclrtMalloc(void **, size_t, int);
int aclrtFree(void *);
int aclrtCreateStream(void **);
int aclrtSynchronizeStream(void *);
int HcclCommInitAll(unsigned, int *, void **);
int HcclBroadcast(void *, unsigned long, int, unsigned, void *, void *);
int main(void) {
    int device = 0;
    void *memory = NULL, *comm = NULL, *stream = NULL;
    int code = HcclCommInitAll(1, &device, &comm) + aclrtSetDevice(0) + aclrtCreateStream(&stream);
    code += aclrtMalloc(&memory, 100, 0);
    code += HcclBroadcast(memory, 26, 4, 0, comm, stream);
    code += aclrtFree(memory);
    return code + aclrtSynchronizeStream(stream);
}
"""


def test_a_collective_is_named_as_the_program_calls_it(check_c) -> None:
    done = check_c(COLLECTIVE, "--memory", libraries=("libhccl.so",))
    assert done.returncode == 1
    shown = re.sub("0x[0-9a-f]+", "0x1", done.stderr)
    assert "memory: HcclBroadcast at program.c:14 in main uses 104 bytes at 0x1 (buf),\n  4 of them past" in shown
    assert "while task 1 of stream 2, which HcclBroadcast at program.c:14 in main submitted, still uses it" in shown
    assert "  read  stream 2, task 1  HcclBroadcast  program.c:14 in main\n" in shown


def test_a_c_program_follows_a_host_function_for_which_it_polls(check_c) -> None:
    polls = PROGRAM.replace(
        "int main", "static int has_run;\nstatic void run(void *data) { *(int *)data = 1; }\nint main"
    )
    polls = polls.replace("#include", "int aclrtLaunchHostFunc(void *, void (*)(void *), void *);\n#include", 1)
    wait = "    code += aclrtLaunchHostFunc(a, run, &has_run);\n    while (!*(volatile int *)&has_run) {}\n"
    polls = polls.replace("    code += fill(memory, b);\n", f"{wait}    code += fill(memory, b);\n")
    done = check_c(polls)
    assert (done.returncode, done.stderr) == (0, "no findings in 1 process\n")


def test_names_of_files_may_have_any_bytes(run, tmp_path: Path) -> None:
    directory = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(directory)
    for ignored in (False, True):
        comment = "  # ascend-rt: ignore[race] known" if ignored else ""
        program = f"""\
from ascend_rt import Buffer, Device, Stream, fill_async

device = Device(0)
device.set_current()
memory, one, two = Buffer(64), Stream(), Stream()
fill_async(memory, 1, one)
fill_async(memory, 2, two){comment}
device.synchronize()
"""
        script = os.fsdecode(directory) + "/é.py"
        Path(script).write_text(program, encoding="utf-8")
        report = tmp_path / "report.sarif"
        done = run("-m", "ascend_rt", "check", "--backend", "sim", "--format", "sarif", "--output", str(report), script)
        assert done.returncode == (0 if ignored else 1), done.stderr
        text = report.read_text(encoding="utf-8")
        assert "%FF/%C3%A9.py" in text
        assert ("inSource" in text) == ignored
