# SPDX-License-Identifier: Apache-2.0
"""The race check in front of the vendor's library, whose part the double plays.

It has the rules of the simulator's check; programs for these are in support/race_rules.py. Accesses that it does
not see are never reported.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from support import race_rules, vendor
from support.race_check import RACE, READ, WRITE, findings_of, races_of

from ascend_rt.backends.check import library_path

UNSEEN = {
    "wait that fails by its limit",
    "wait for a notify that fails by its limit",
    "graph beside a task",
    "model that the host does not wait for",
    "use after the free, in its order",
    "free behind one that an abort has dropped",
    "value that is there",
    "copy with addresses in memory of the device",
}
"""Races that need facts which only the simulator has: that a wait has failed, what a graph does, which memory is free,
and what it holds."""

FATAL = {"free before the task runs, which waits"}
"""Races at whose second access the vendor's library may end the process, as the double does."""

pytestmark = [
    pytest.mark.simulator("independent"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the double is an ELF library"),
    pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler"),
]

Variables = dict[str, str]


@pytest.fixture(scope="session")
def variables(double: Path) -> Variables:
    """Return variables with which a program is checked on the double."""
    return {
        "ASCEND_RT_BACKEND": "cann",
        "ASCEND_RT_LIBRARY": str(double),
        "ASCEND_RT_SIM_CHECK": "",
        "ASCEND_RT_CHECK_LIBRARY": library_path(),
        "ASCEND_RT_CHECK_WRAPS": str(double),
        vendor.PLAIN: "",
    }


@pytest.fixture
def with_kernels(variables: Variables) -> Variables:
    """Return the same for a program that registers kernels, which the official library does not."""
    return {name: value for name, value in variables.items() if name != vendor.PLAIN}


def texts(findings: list[dict[str, Any]], kind: str) -> list[str]:
    return [it["text"] for it in findings if it["kind"] == kind]


# --- the rules -------------------------------------------------------------------------------------------------------


QUICK = {
    "destruction of a stream by the C function",
    "first record of a manual event",
    "free that synchronizes the device",
    "manual event that is reset before",
    "memory of a full pool, which another stream gets",
    "notify that a busy stream records first",
    "notify that a graph waits for",
    "notify that another stream records behind a synchronization",
    "notify that its waiting stream records later",
    "notify that the host resets",
    "parts of a batch",
    "query of an event that answers not complete",
    "query that answers not complete",
    "quiet query",
    "synchronization of another device",
    "value that a busy stream writes first",
    "value that goes to and fro",
    "value that the host has reset",
    "value that two streams write behind the write",
    "waits at one place for records that are complete",
    "word in memory that other processes have",
}
"""Programs of which every change runs the test: at least one for each kind of condition."""


def named(names: Iterable[str]) -> list[Any]:
    """Return parameters for programs."""
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.full) for name in names]


def is_for_any_library(program: str) -> bool:
    """Return whether a program calls no function that only the simulator has."""
    return "sim." not in program


ORDERED = {name: program for name, program in race_rules.ORDERED.items() if is_for_any_library(program)}


@pytest.mark.parametrize("name", named(ORDERED))
def test_nothing_is_reported(variables: Variables, name: str) -> None:
    assert races_of(ORDERED[name], variables) == []


RACES = {name for name, (program, _) in race_rules.RACES.items() if is_for_any_library(program)} - FATAL


@pytest.mark.parametrize("name", named(sorted(RACES)))
def test_races_are_reported_unless_they_are_unseen(variables: Variables, name: str) -> None:
    program, races = race_rules.RACES[name]
    assert races_of(program, variables) == ([] if name in UNSEEN else races)


WAITS_IN_THREADS = {
    "stream": WRITE + "a.synchronize()\n" + READ,
    "device": WRITE + "device.synchronize()\n" + READ,
    "long wait": "import time\na.launch_host_func(lambda: time.sleep(0.5))\n" + WRITE + "a.synchronize()\n" + READ,
}


@pytest.mark.full
@pytest.mark.parametrize("program", WAITS_IN_THREADS.values(), ids=WAITS_IN_THREADS)
def test_a_wait_that_another_thread_makes_is_one_of_its_waiter(variables: Variables, program: str) -> None:
    assert races_of(program, variables | {"ASCEND_RT_CHECK_HOST_THREADS": "1"}) == []


# --- host functions --------------------------------------------------------------------------------------------------

REFUSED = """
@ffi.callback("void(void *)")
def function(_):
    pass
def refuse(stream):
    for kind in (lib.ACL_CALLBACK_BLOCK, lib.ACL_CALLBACK_NO_BLOCK):
        assert lib.aclrtLaunchCallback(function, ffi.NULL, kind, raw(stream)) != 0  # refused without a subscription
"""


@pytest.mark.full
def test_a_host_function_that_is_refused_is_not_a_task(variables: Variables) -> None:
    found = findings_of(REFUSED + "refuse(a)\n" + WRITE + "refuse(a); refuse(b)\n" + READ, variables)
    (race,) = (it for it in found if it["kind"] == "race")
    assert (race["first"]["task"], race["second"]["task"]) == (1, 1)


@pytest.mark.full
def test_a_wait_before_a_host_function_that_is_refused_stays_the_reason(variables: Variables) -> None:
    found = findings_of(REFUSED + WRITE + "b.wait(e)\nrefuse(b)\n" + READ, variables)
    (race,) = (it for it in found if it["kind"] == "race")
    assert race["why"]["case"] == "unbound_wait"


BEFORE_REFUSED = {
    "host function": "a.launch_host_func(lambda: access(2, p.ctypes.data, 4096))\nrefuse(a)\n" + WRITE,
    "wait": WRITE + "e.record(a); b.wait(e)\nrefuse(b)\n" + READ,
    "wait that is satisfied later": race_rules.NOTIFY + "n.wait(b)\nrefuse(b)\n" + READ + WRITE + "n.record(a)\n",
    "task": WRITE + "refuse(a)\na.synchronize()\n" + READ,
}


@pytest.mark.full
@pytest.mark.parametrize("program", BEFORE_REFUSED.values(), ids=BEFORE_REFUSED)
def test_order_before_a_host_function_that_is_refused_stays(variables: Variables, program: str) -> None:
    assert races_of(REFUSED + program, variables) == []


# --- graphs and other processes --------------------------------------------------------------------------------------

GRAPH = "with c.capture() as g:\n    {}\n    copy_async(z, q, c)\n"
LATER = "g.launch(b)\n" + READ + WRITE
HOST_FUNCTION = GRAPH.format("c.launch_host_func(lambda: access({}, p.ctypes.data, 4096))")
EXPORT = (
    "word = Buffer(2 << 20)\nkey = ffi.new('char[65]')\n"
    "ok(lib.aclrtIpcMemGetExportKey(address(word), word.nbytes, key, 65, 0))\n"
)
SHARED_NOTIFY = race_rules.NOTIFY + "key = n.export()\n"

MAY_BE_ORDERED = {
    "notify that a graph waits for": race_rules.NOTIFY
    + GRAPH.format("n.wait(c)")
    + WRITE
    + "n.record(a)\ng.launch(b)\n"
    + READ,
    "notify that a graph waits for, later": race_rules.NOTIFY + GRAPH.format("n.wait(c)") + LATER + "n.record(a)\n",
    "value that a graph waits for, later": (
        race_rules.WORD + GRAPH.format(race_rules.AWAIT.replace("raw(b)", "raw(c)").strip()) + LATER + race_rules.SET
    ),
    "host function of a graph": HOST_FUNCTION.format(2) + WRITE + "g.launch(a)\n",
    "copy in a host function of a graph": (
        GRAPH.format("c.launch_host_func(lambda: access(1, q.ctypes.data, 4096))")
        + "copy_async(q, y, a)\ng.launch(a)\n"
    ),
    "notify of another process, later": SHARED_NOTIFY + "n.wait(b)\n" + READ + WRITE + "n.record(a); n.record(a)\n",
    "word in memory that other processes have": (
        EXPORT
        + race_rules.SET.replace("address(z)", "address(word)")
        + WRITE
        + race_rules.AWAIT.replace("address(z)", "address(word)")
        + READ
    ),
}
"""Programs whose order the calls do not show: a graph or another process may bring it."""


@pytest.mark.parametrize("name", named(MAY_BE_ORDERED))
def test_order_that_is_not_seen_is_assumed(variables: Variables, name: str) -> None:
    assert races_of(MAY_BE_ORDERED[name], variables) == []


NO_ORDER = {
    "graph that waits for nothing": GRAPH.format("pass") + WRITE + "g.launch(b)\n" + READ,
    "event within a graph": GRAPH.format("e.record(c); b.wait(e); f.record(b); c.wait(f)")
    + WRITE
    + "g.launch(b)\n"
    + READ,
    "word that no other process has": race_rules.WORD + race_rules.SET + WRITE + race_rules.AWAIT + READ,
}


@pytest.mark.full
@pytest.mark.parametrize("program", NO_ORDER.values(), ids=NO_ORDER)
def test_order_that_cannot_be_there_is_not_assumed(variables: Variables, program: str) -> None:
    assert races_of(program, variables) == RACE


OTHER_PROCESS = """
import subprocess, sys
exporter = '''
from ascend_rt import Buffer, Device, IpcMemory
Device(0).set_current()
with Buffer(2 << 20) as buffer, IpcMemory(buffer) as shared:
    print(shared.key.hex(), flush=True)
    input()
'''
environment = {**os.environ, "ASCEND_RT_SIM_CHECK_DIRECTORY": ""}
other = subprocess.Popen([sys.executable, "-c", exporter], stdin=-1, stdout=-1, env=environment)
"""

UNSEEN_WORK = {
    "the accesses of 2 executions of graphs or models": (
        race_rules.MODEL + "for i in range(2):\n    ok(lib.aclmdlRIExecute(model, -1))\n"
    ),
    "1 access to memory of a device that no call seen has allocated": (
        OTHER_PROCESS + "with IpcMemory.open(bytes.fromhex(other.stdout.readline().decode()), 2 << 20) as there:\n"
        "    copy_async(there[:4096], x, a)\n    a.synchronize()\nother.communicate(b'\\n')\n"
    ),
    "the accesses of 1 copy with addresses in memory of the device": (
        "kind = lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE\n"
        "ok(lib.aclrtSetMemcpyDesc(address(z), kind, address(x), address(y), 64, ffi.NULL))\n"
        "ok(lib.aclrtMemcpyAsyncWithDesc(address(z), kind, raw(a)))\n"
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("text", UNSEEN_WORK)
def test_unseen_work_is_counted_at_the_end(variables: Variables, text: str) -> None:
    found = findings_of(UNSEEN_WORK[text], variables)
    assert texts(found, "unseen")[1:] == [text]
    assert [it for it in found if it["kind"] == "race"] == []


@pytest.mark.full
def test_random_numbers_are_written(variables: Variables) -> None:
    program = "from ascend_rt.random import Generator\nGenerator(1, a).uniform(x, 0, 1)  # write\n" + READ
    assert races_of(program, variables) == RACE


# --- kernels ---------------------------------------------------------------------------------------------------------

KERNEL = """
binary = Binary(sim.device_object("scale"))
registered = sim.kernel("scale")(lambda block, arguments: None)
"""


@pytest.mark.full
def test_a_declared_access_of_a_kernel_is_seen(with_kernels: Variables) -> None:
    program = KERNEL + 'binary.kernel("scale", ["float32[]"]).launch(a, 1, x, writes=[x])  # launch\n' + READ
    found = findings_of(program, with_kernels)
    (race,) = (it for it in found if it["kind"] == "race")
    assert (race["conflict"], race["first"]["kernel"]) == ("read after write", "scale")
    assert not any("declared none" in text for text in texts(found, "unseen"))


@pytest.mark.full
def test_launches_that_declare_nothing_are_counted_and_not_reported(with_kernels: Variables) -> None:
    program = KERNEL + 'for i in range(2):\n    binary.kernel("scale", ["float32[]"]).launch(a, 1, x)\n' + READ
    found = findings_of(program, with_kernels)
    assert [it for it in found if it["kind"] == "race"] == []
    assert texts(found, "unseen")[-1] == "the accesses of 2 launches of kernels that declared none"
    assert found[-1]["kind"] == "end"


@pytest.mark.full
def test_a_kernel_may_change_a_word_unseen(with_kernels: Variables) -> None:
    launch = 'binary.kernel("scale", ["float32[]"]).launch(c, 1, z)\n'
    early = "ok(lib.aclrtValueWrite(address(z), 7, 0, raw(c)))\n"
    program = race_rules.WORD + early + "c.synchronize()\n{}" + WRITE + race_rules.SET + race_rules.AWAIT + READ
    assert races_of(KERNEL + program.format(""), with_kernels) == RACE
    assert races_of(KERNEL + program.format(launch), with_kernels) == []


# --- the form --------------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_the_first_line_names_the_library(variables: Variables) -> None:
    first = findings_of(WRITE, variables)[0]
    assert (first["kind"], first["library"], first["checks"]) == ("process", "vendor", ["races"])


@pytest.mark.full
def test_a_graph_is_named_as_unseen(variables: Variables) -> None:
    found = findings_of("with a.capture() as g:\n    copy_async(x, p, a)\ng.launch(c)\n", variables)
    assert "the accesses of 1 execution of a graph or a model" in texts(found, "unseen")


@pytest.mark.full
def test_a_part_that_an_allocator_has_given_out_has_a_name_and_a_place(variables: Variables) -> None:
    race_rules.check_names_of_parts(findings_of(race_rules.PARTS, variables))


FRAMES = """
frames = ffi.new("aclsimCallFrame[8]")
count = lib.aclsimGetFrames(frames, 8)  # forward
assert count > 0
ok(lib.aclsimSetForwardPlace(frames, count))
ok(lib.aclsimSetPlaceProvider(ffi.NULL, lib.ascend_rt_name_frame_entry))
"""


@pytest.mark.full
def test_a_thread_without_frames_shows_those_of_its_operation(variables: Variables) -> None:
    assert races_of(FRAMES + WRITE + READ, variables) == ["read after write: forward, forward"]


@pytest.mark.full
@pytest.mark.parametrize("checked", [False, True])
def test_notes_to_a_check_are_there_if_one_is_on(variables: Variables, *, checked: bool) -> None:
    names = [
        "Wants{0}",
        "Declare{0}",
        "WantsHost{0}",
        "NoteHostAccess",
        "NoteHostRelease",
        "NoteHostAcquire",
        "NoteEnd",
    ]
    names += ["AskQuietly", "AskQuietlyAbout", "NoteGivenOut", "NoteReusable", "NamePart"]
    names += ["SetPlaceProvider", "GetFrames", "SetForwardPlace"]
    notes = [f"aclsim{name.format('Accesses')}" for name in names]
    program = (
        f"found = {{name for name in {notes} if supports(name)}}\nassert found == set({notes if checked else []})\n"
    )
    findings_of(program, variables if checked else variables | {"ASCEND_RT_CHECK_LIBRARY": ""})


# --- the command -----------------------------------------------------------------------------------------------------

PROGRAM = """
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
    code += IS_ORDERED ? aclrtSynchronizeStream(a) : 0;
    code += fill(memory, b);
    return code + aclrtSynchronizeStream(a) + aclrtSynchronizeStream(b);
}
"""

SCRIPT = """
from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async

Device(0).set_current()
first, second, memory, target = Stream(), Stream(), Buffer(64), PinnedBuffer(64)
copy_async(memory, target, first)
copy_async(target, memory, second)
"""

ALWAYS = (
    "unseen: work that libraries give to a device past the functions of the runtime, other processes, and loads and "
    "stores of the host, except those of numpy to pinned memory\n"
)

Check = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def check(double: Path, tmp_path: Path) -> Check:
    """Return a function that runs ``ascend-rt check`` on the double, in the directory of the test."""
    environment = os.environ | {"ASCEND_RT_LIBRARY": str(double), vendor.PLAIN: ""}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ascend_rt", "check", "--backend", "cann", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    return run


@pytest.mark.full
def test_a_script_is_checked(check: Check, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    done = check("script.py")
    assert done.returncode == 1
    assert "script.py:6" in done.stderr
    assert "script.py:7" in done.stderr
    assert done.stderr.endswith(f"\n{ALWAYS}1 race in 1 process\n")


@pytest.mark.full
@pytest.mark.parametrize("is_ordered", [0, 1])
def test_a_c_program_is_checked(check: Check, double: Path, tmp_path: Path, is_ordered: int) -> None:
    compiler = shutil.which("cc")
    if compiler is None or shutil.which("addr2line") is None:
        pytest.skip("needs a C compiler and addr2line")
    (tmp_path / "program.c").write_text(PROGRAM, encoding="utf-8")
    options = ["-g", "-O0", f"-DIS_ORDERED={is_ordered}", f"-Wl,-rpath,{double.parent}"]
    subprocess.run([compiler, *options, "program.c", str(double), "-o", "program"], cwd=tmp_path, check=True)
    done = check("--", "./program")
    assert done.returncode == 1 - is_ordered
    race = (
        "race: 100 bytes of device memory 1 (allocated program.c:13), write after write, not ordered\n"
        "  write  stream 2, task 1  aclrtMemsetAsync  program.c:9 in fill ← 14 in main\n"
        "  write  stream 3, task 1  aclrtMemsetAsync  program.c:9 in fill ← 16 in main\n"
        "  nothing orders the write after the write\n"
        "  fix: record on stream 2 after line 14, wait on stream 3 before line 16\n\n"
    )
    summary = "no findings in 1 process; 1 hint (--hints shows them)\n" if is_ordered else "1 race in 1 process\n"
    assert done.stderr == ("" if is_ordered else race) + ALWAYS + summary


# --- children of forks -----------------------------------------------------------------------------------------------

FORK = """
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int aclrtSetDevice(int);
int aclrtMalloc(void **, size_t, int);
int aclrtFree(void *);
int aclrtCreateStream(void **);
int aclrtMemsetAsync(void *, size_t, int, size_t, void *);
int aclrtSynchronizeStream(void *);
static void *memory, *a, *b;
static volatile int is_over;
static void *make_calls(void *unused) {
    int code = aclrtSetDevice(0);
    while (!is_over)
        code += aclrtMemsetAsync(memory, 100, 1, 100, a) + aclrtSynchronizeStream(a);
    return code == 0 ? NULL : &memory;
}
int main(void) {
    pthread_t thread;
    void *failure = NULL;
    int code = aclrtSetDevice(0) + aclrtMalloc(&memory, 100, 0) + aclrtCreateStream(&a) + aclrtCreateStream(&b);
    pthread_create(&thread, NULL, make_calls, NULL);
    for (int i = 0; i < 30; ++i) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            alarm(5);
            aclrtFree(memory);
            exit(0);
        }
        waitpid(child, &status, 0);
        code += status;
    }
    is_over = 1;
    pthread_join(thread, &failure);
    code += aclrtMemsetAsync(memory, 100, 1, 100, a);
    code += aclrtMemsetAsync(memory, 100, 1, 100, b);
    code += aclrtSynchronizeStream(a) + aclrtSynchronizeStream(b);
    return code != 0 || failure != NULL;
}
"""


@pytest.mark.full
def test_a_child_that_is_forked_before_the_first_call_is_checked_as_a_process(check: Check, tmp_path: Path) -> None:
    graph = "with first.capture() as graph:\n    copy_async(memory, target, first)\ngraph.launch(second)\n"
    ends = "first.synchronize(), second.synchronize()\nassert child == 0 or os.waitpid(child, 0)[1] == 0\n"
    program = "import os\nchild = os.fork()\n" + SCRIPT + graph + ends
    (tmp_path / "script.py").write_text(program, encoding="utf-8")
    done = check("script.py")
    assert done.returncode == 1
    assert "not ordered, seen 4 times\n" in done.stderr
    assert done.stderr.endswith(
        f"\n\n{ALWAYS}unseen: the accesses of 1 execution of a graph or a model\n1 race in 2 processes\n"
    )


@pytest.mark.full
def test_children_share_neither_state_nor_locks_with_a_parent_in_a_call(
    check: Check, double: Path, tmp_path: Path
) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    (tmp_path / "program.c").write_text(FORK, encoding="utf-8")
    options = ["-pthread", f"-Wl,-rpath,{double.parent}"]
    subprocess.run([compiler, *options, "program.c", str(double), "-o", "program"], cwd=tmp_path, check=True)
    done = check("--", "./program")
    assert done.returncode == 1, done.stderr  # 2: a child hung
    assert "write after write" in done.stderr
    assert done.stderr.endswith(f"\n\n{ALWAYS}1 race in 31 processes\n")


# --- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--memory", "--memory needs the simulator: --backend sim"),
        ("--every-use", "--every-use needs the simulator: --backend sim"),
        ("--no-races", "--no-races leaves nothing that can be seen on the vendor's library"),
    ],
)
def test_other_checks_are_refused(check: Check, option: str, reason: str) -> None:
    done = check(option, "-c", "")
    assert done.returncode == 3
    assert reason in done.stderr
