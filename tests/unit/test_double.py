# SPDX-License-Identifier: Apache-2.0
"""The double (``tests/double``) ends the process where the official library may, names the call, and only there."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from double import rules
from support import doubles

from ascend_rt.verify.cases import groups

TESTS = Path(__file__).resolve().parents[1]
PLAYER = TESTS / "conformance" / "calls.py"
NOT_ELF = not sys.platform.startswith("linux")

pytestmark = [
    pytest.mark.simulator("independent"),
    pytest.mark.skipif(NOT_ELF, reason="the double is an ELF library"),
]

START = """
import os, threading, time
from support.raw import ffi, lib

def ok(code):
    assert code == 0, code

def new(kind, function, *arguments):
    out = ffi.new(f"{kind} *")
    ok(getattr(lib, function)(out, *arguments))
    return out[0]

def in_thread(function, *arguments):
    def run():
        ok(lib.aclrtSetCurrentContext(context))
        codes.append(function(*arguments))
    codes = []
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(0.4)
    return thread, codes

ok(lib.aclrtSetDevice(0))
context = new("aclrtContext", "aclrtGetCurrentContext")
stream, other = new("aclrtStream", "aclrtCreateStream"), new("aclrtStream", "aclrtCreateStream")
event, notify = new("aclrtEvent", "aclrtCreateEvent"), new("aclrtNotify", "aclrtCreateNotify", 0)
garbage = ffi.cast("void *", 0x1234567800)

codes = []

@ffi.callback("aclrtStreamStateCallback")
def tell(stream, state, _):
    codes.append(lib.aclrtStreamGetId(stream, ffi.new("int32_t *")))

def hold():
    ok(lib.aclrtWaitAndResetNotify(notify, stream, 0))

def release():
    ok(lib.aclrtRecordNotify(notify, other))
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def library() -> Path:
    return doubles.build()


@pytest.fixture
def environment(library: Path) -> dict[str, str]:
    """Return an environment in which the double is the vendor's library, and deaths are nobody else's concern."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND_RT_DOUBLE_")}
    return kept | {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": str(library)}


@pytest.fixture
def run(environment: dict[str, str]) -> Run:
    """Return a function that runs a script with the double in a process of its own."""

    def start(script: str, start: str = START, **variables: object) -> subprocess.CompletedProcess[str]:
        env = environment | {name: str(value) for name, value in variables.items()}
        command = [sys.executable, "-c", start + textwrap.dedent(script)]
        return subprocess.run(command, cwd=TESTS, env=env, capture_output=True, text=True, timeout=60, check=False)

    return start


def assert_died(ended: subprocess.CompletedProcess[str], function: str, reason: str) -> None:
    assert ended.returncode == -signal.SIGABRT, ended.stderr
    said = [line for line in ended.stderr.splitlines() if line.startswith("double: ")]
    assert [line.partition(": the official library would end the process here: ")[0] for line in said] == [
        f"double: {function}"
    ]
    assert reason in said[0]


# A program that must die, the function and the reason; and a similar program that must live.
RULES = {
    "an event that was never given out": (
        "lib.aclrtRecordEvent(garbage, stream)",
        "aclrtRecordEvent",
        "event 0x1234567800 was never given out",
        "assert lib.aclrtRecordEvent(stream, stream) == 107017",  # a live object of the wrong type is found out
    ),
    "NULL is looked at": (
        "lib.aclrtStreamWaitEvent(ffi.NULL, garbage)",
        "aclrtStreamWaitEvent",
        "event 0x1234567800 was never given out",
        "assert lib.aclrtStreamWaitEvent(ffi.NULL, ffi.NULL) == 100000; ok(lib.aclrtRecordEvent(event, ffi.NULL))",
    ),
    "a stream that was never given out": (
        "lib.aclrtSynchronizeStream(garbage)",
        "aclrtSynchronizeStream",
        "stream 0x1234567800 was never given out",
        "ok(lib.aclrtSynchronizeStream(new('aclrtStream', 'aclrtCtxGetCurrentDefaultStream')))",
    ),
    "a destroyed event": (
        "ok(lib.aclrtDestroyEvent(event)); lib.aclrtDestroyEvent(event)",
        "aclrtDestroyEvent",
        "was destroyed by aclrtDestroyEvent",
        "ok(lib.aclrtDestroyEvent(event)); ok(lib.aclrtDestroyEvent(new('aclrtEvent', 'aclrtCreateEvent')))",
    ),
    "a stream that is told of while it is created": (
        "ok(lib.aclrtRegStreamStateCallback(b'test', tell, ffi.NULL))\n"
        "inner = new('aclrtStream', 'aclrtCreateStream')\n"
        "ok(lib.aclrtDestroyStream(inner)); lib.aclrtDestroyStream(inner)",
        "aclrtDestroyStream",
        "was destroyed by aclrtDestroyStream",
        "ok(lib.aclrtRegStreamStateCallback(b'test', tell, ffi.NULL)); new('aclrtStream', 'aclrtCreateStream')\n"
        "assert codes == [0], codes",
    ),
    "a destroyed stream": (
        "ok(lib.aclrtDestroyStream(stream)); lib.aclrtStreamGetId(stream, ffi.new('int32_t *'))",
        "aclrtStreamGetId",
        "was destroyed by aclrtDestroyStream",
        "ok(lib.aclrtDestroyStreamForce(stream)); ok(lib.aclrtStreamGetId(other, ffi.new('int32_t *')))",
    ),
    "a stream of a destroyed context": (
        "made = new('aclrtContext', 'aclrtCreateContext', 0); inner = new('aclrtStream', 'aclrtCreateStream')\n"
        "ok(lib.aclrtDestroyContext(made)); lib.aclrtStreamQuery(inner, ffi.new('aclrtStreamStatus *'))",
        "aclrtStreamQuery",
        "was destroyed with context",
        "made = new('aclrtContext', 'aclrtCreateContext', 0); inner = new('aclrtStream', 'aclrtCreateStream')\n"
        "ok(lib.aclrtSetCurrentContext(context)); ok(lib.aclrtStreamQuery(stream, ffi.new('aclrtStreamStatus *')))",
    ),
    "a destroyed notify": (
        "ok(lib.aclrtDestroyNotify(notify)); lib.aclrtRecordNotify(notify, stream)",
        "aclrtRecordNotify",
        "was destroyed by aclrtDestroyNotify",
        "ok(lib.aclrtRecordNotify(notify, stream))",
    ),
    "a notify among others": (
        "lib.aclrtNotifyBatchReset(ffi.new('aclrtNotify[]', [notify, garbage]), 2)",
        "aclrtNotifyBatchReset",
        "notifies 0x1234567800 was never given out",
        "ok(lib.aclrtNotifyBatchReset(ffi.new('aclrtNotify[]', [notify, garbage]), 1))",
    ),
    "a context that was never given out": (
        "lib.aclrtSetCurrentContext(garbage)",
        "aclrtSetCurrentContext",
        "context 0x1234567800 was never given out",
        "ok(lib.aclrtSetCurrentContext(context))",
    ),
    "an event after the reset of its device": (
        "ok(lib.aclrtResetDevice(0)); ok(lib.aclrtSetDevice(0))\n"
        "lib.aclrtQueryEventStatus(event, ffi.new('aclrtEventRecordedStatus *'))",
        "aclrtQueryEventStatus",
        "ended with the reset of device 0",
        "ok(lib.aclrtSetDevice(0)); ok(lib.aclrtResetDevice(0))\n"
        "ok(lib.aclrtQueryEventStatus(event, ffi.new('aclrtEventRecordedStatus *')))",
    ),
    "an event after the reset of all references to its device": (
        "ok(lib.aclrtSetDevice(0)); ok(lib.aclrtResetDeviceForce(0)); lib.aclrtDestroyEvent(event)",
        "aclrtDestroyEvent",
        "ended with the reset of device 0",
        "ok(lib.aclrtSetDevice(1)); ok(lib.aclrtResetDeviceForce(1)); ok(lib.aclrtDestroyEvent(event))",
    ),
    "an event of a device whose last context goes": (
        "made = new('aclrtContext', 'aclrtCreateContext', 1); inner = new('aclrtEvent', 'aclrtCreateEvent')\n"
        "ok(lib.aclrtDestroyContext(made)); lib.aclrtDestroyEvent(inner)",
        "aclrtDestroyEvent",
        "ended with the reset of device 1",
        "made = new('aclrtContext', 'aclrtCreateContext', 0); inner = new('aclrtEvent', 'aclrtCreateEvent')\n"
        "ok(lib.aclrtResetDevice(0)); ok(lib.aclrtDestroyEvent(inner))",
    ),
    "a block that was never allocated": (
        "lib.aclrtFreeHost(ffi.new('char[]', 64))",
        "aclrtFreeHost",
        "is not allocated",
        "assert lib.aclrtFreeHost(ffi.NULL) == 100000; ok(lib.aclrtFreeHost(new('void *', 'aclrtMallocHost', 64)))",
    ),
    "a block that is freed twice": (
        "block = new('void *', 'aclrtMalloc', 64, 0); ok(lib.aclrtFree(block)); lib.aclrtFree(block)",
        "aclrtFree",
        "is not allocated",
        "block = new('void *', 'aclrtMalloc', 64, 0); ok(lib.aclrtFree(block))",
    ),
    "a block of a queued copy": (
        "block, host = new('void *', 'aclrtMalloc', 64, 0), new('void *', 'aclrtMallocHost', 64); hold()\n"
        "ok(lib.aclrtMemcpyAsync(block, 64, host, 64, 1, stream)); lib.aclrtFreeHost(host)",
        "aclrtFreeHost",
        "is in use by a queued task",
        "block, host = new('void *', 'aclrtMalloc', 64, 0), new('void *', 'aclrtMallocHost', 64); hold()\n"
        "ok(lib.aclrtMemcpyAsync(block, 64, host, 64, 1, stream)); release(); ok(lib.aclrtSynchronizeStream(stream))\n"
        "ok(lib.aclrtFreeHost(host)); ok(lib.aclrtFree(block))",
    ),
    "no configuration after one": (
        "path = ffi.new('char[]', TEMPORARY); ok(lib.aclInit(path)); ok(lib.aclFinalize()); lib.aclInit(ffi.NULL)",
        "aclInit",
        "configPath is NULL",
        "ok(lib.aclInit(ffi.NULL)); ok(lib.aclFinalize()); ok(lib.aclInit(b'')); ok(lib.aclFinalize())\n"
        "ok(lib.aclInit(ffi.NULL))",
    ),
    "a thread inside a call at the end": (
        "hold(); in_thread(lib.aclrtSynchronizeStream, stream)",
        "aclrtSynchronizeStream",
        "a thread is inside the call while the library's destructors run",
        "hold(); thread, _ = in_thread(lib.aclrtSynchronizeStream, stream); release(); thread.join()",
    ),
}


@pytest.mark.parametrize(("deadly", "function", "reason", "_"), RULES.values(), ids=RULES.keys())
def test_it_ends_the_process(run: Run, tmp_path: Path, deadly: str, function: str, reason: str, _: str) -> None:
    configuration = tmp_path / "acl.json"
    configuration.write_text("{}")
    assert_died(run(deadly.replace("TEMPORARY", repr(bytes(configuration)))), function, reason)


@pytest.mark.parametrize("harmless", [rule[3] for rule in RULES.values()], ids=RULES.keys())
def test_it_lets_the_process_live(run: Run, harmless: str) -> None:
    ended = run(harmless)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_call_after_the_destructors(run: Run, library: Path, tmp_path: Path) -> None:
    # The destructor of what is loaded after the double runs after the double's.
    source = tmp_path / "late.c"
    source.write_text(
        f"""
        #include <dlfcn.h>
        #include <stdlib.h>
        __attribute__((destructor)) static void late(void) {{
            void *library = dlopen("{library}", RTLD_LAZY | RTLD_NOLOAD);
            int (*get)(int *) = library ? (int (*)(int *))dlsym(library, "aclrtGetRunMode") : NULL;
            int mode;
            if (get) get(&mode);
        }}
        """
    )
    late = tmp_path / "late.so"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(late), "-ldl"], check=True)
    load = f"import ctypes; ctypes.CDLL({str(late)!r})"
    assert_died(run(load), "aclrtGetRunMode", "the library's destructors have run")


def test_a_forked_child_has_no_threads_inside(run: Run) -> None:
    script = """
    hold()
    in_thread(lib.aclrtSynchronizeStream, stream)
    child = os.fork()
    if child == 0:
        raise SystemExit
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    release()
    ok(lib.aclrtSynchronizeStream(stream))
    raise SystemExit(status)
    """
    assert run(script).returncode == 0


# --- the recordings --------------------------------------------------------------------------------------------------


def _rows(name: str) -> list[Any]:
    return list(json.loads((rules.DATA / name).read_text(encoding="utf-8")))


@pytest.mark.parametrize("row", _rows("deadly.json"), ids=lambda row: row[0])
def test_it_dies_where_the_official_library_died(environment: dict[str, str], library: Path, row: list[Any]) -> None:
    name, function, *_ = row
    exported = subprocess.run(["nm", "-D", *library.parent.glob("*.so")], capture_output=True, text=True, check=True)
    if f" T {function}\n" not in exported.stdout:
        pytest.skip("the simulator lacks the function, and so does the double")
    calls = json.dumps(groups()[name].rows())
    played = subprocess.run(
        [sys.executable, str(PLAYER)], input=calls, capture_output=True, text=True, env=environment, check=False
    )
    assert_died(played, function, "0x1234567800 was never given out")


# --- blocking --------------------------------------------------------------------------------------------------------

# The calls of the concurrency table. Those that wait do so for the stream that is held.
WAITS = {
    "SynchronizeDevice": "lib.aclrtSynchronizeDevice",
    "SynchronizeStream": "lib.aclrtSynchronizeStream, stream",
    "SynchronizeEvent": "lib.aclrtSynchronizeEvent, recorded",
    "DestroyStream": "lib.aclrtDestroyStream, stream",
}
OTHERS = {
    "CreateStream": "lib.aclrtCreateStream, ffi.new('aclrtStream *')",
    "DestroyStream (idle)": "lib.aclrtDestroyStream, idle",
    "CreateEventExWithFlag": "lib.aclrtCreateEventExWithFlag, ffi.new('aclrtEvent *'), 1",
    "DestroyEvent": "lib.aclrtDestroyEvent, event",
    "RecordEvent, other stream": "lib.aclrtRecordEvent, event, other",
    "StreamWaitEvent, other stream": "lib.aclrtStreamWaitEvent, other, event",
    "RecordEvent, same stream": "lib.aclrtRecordEvent, event, stream",
    "SynchronizeStream, other": "lib.aclrtSynchronizeStream, other",
    "SynchronizeStreamWithTimeout, same": "lib.aclrtSynchronizeStreamWithTimeout, stream, 20",
    "SynchronizeDeviceWithTimeout": "lib.aclrtSynchronizeDeviceWithTimeout, 20",
    "StreamQuery, same": "lib.aclrtStreamQuery, stream, ffi.new('aclrtStreamStatus *')",
    "QueryEventStatus": "lib.aclrtQueryEventStatus, recorded, ffi.new('aclrtEventRecordedStatus *')",
    "Malloc": "lib.aclrtMalloc, ffi.new('void **'), 64, 0",
    "Free": "lib.aclrtFree, device_block",
    "MallocHost": "lib.aclrtMallocHost, ffi.new('void **'), 64",
    "Memcpy": "lib.aclrtMemcpy, device_block, 64, host_block, 64, 1",
    "MemcpyAsync, other stream": "lib.aclrtMemcpyAsync, device_block, 64, host_block, 64, 1, other",
    "MemcpyAsync, same stream": "lib.aclrtMemcpyAsync, device_block, 64, host_block, 64, 1, stream",
    "SetDevice": "lib.aclrtSetDevice, 0",
    "ResetDevice": "lib.aclrtResetDevice, 0",
    "CreateContext": "lib.aclrtCreateContext, ffi.new('aclrtContext *'), 0",
    "SetCurrentContext": "lib.aclrtSetCurrentContext, context",
    "GetMemInfo": "lib.aclrtGetMemInfo, 1, ffi.new('size_t *'), ffi.new('size_t *')",
    "CaptureBegin, other stream": "lib.aclmdlRICaptureBegin, other, 2",
    "RecordNotify (releases)": "lib.aclrtRecordNotify, notify, other",
    "DestroyStreamForce, same": "lib.aclrtDestroyStreamForce, stream",
    "StreamAbort, same": "lib.aclrtStreamAbort, stream",
}

BLOCKS = """
idle, recorded = new("aclrtStream", "aclrtCreateStream"), new("aclrtEvent", "aclrtCreateEvent")
device_block, host_block = new("void *", "aclrtMalloc", 64, 0), new("void *", "aclrtMallocHost", 64)
hold()
ok(lib.aclrtRecordEvent(recorded, stream))
waiting, _ = in_thread(WAITING)
assert waiting.is_alive()
thread, codes = in_thread(OTHER)
print("BLOCKS" if thread.is_alive() else "goes on")
os._exit(0)  # threads may be inside
"""


def _pairs() -> list[Any]:
    rows = [(waiting, other, answer == "BLOCKS") for waiting, other, answer, _ in _rows("concurrency.json")]
    # Those that block, and two beside each waiting call; the others with --long.
    shown = [row for row in rows if row[2] or row[1] in ("CreateEventExWithFlag", "MemcpyAsync, same stream")]
    marks = {row: [] if row in shown else [pytest.mark.long] for row in rows}
    return [pytest.param(*row, id=f"{row[0]}-{row[1]}", marks=marks[row]) for row in rows]


@pytest.mark.parametrize(("waiting", "other", "blocks"), _pairs())
def test_calls_block_as_the_table_says(run: Run, waiting: str, other: str, blocks: bool) -> None:
    ended = run(BLOCKS.replace("WAITING", WAITS[waiting]).replace("OTHER", OTHERS[other]))
    assert (ended.returncode, ended.stdout.strip()) == (0, "BLOCKS" if blocks else "goes on"), ended.stderr


def test_the_table_is_whole() -> None:
    assert {tuple(row[:2]) for row in _rows("concurrency.json")} == {(it, other) for it in WAITS for other in OTHERS}


def test_a_blocked_call_goes_on_when_the_wait_has_ended(run: Run) -> None:
    ended = run(
        """
        hold()
        waiting, waited = in_thread(lib.aclrtSynchronizeDevice)
        thread, codes = in_thread(lib.aclrtCreateStream, ffi.new("aclrtStream *"))
        assert thread.is_alive()
        release()
        waiting.join()
        thread.join()
        assert waited == codes == [0]
        """
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_other_contexts_do_not_block(run: Run) -> None:
    ended = run(
        """
        hold()
        waiting, _ = in_thread(lib.aclrtSynchronizeDevice)
        apart = new("aclrtContext", "aclrtCreateContext", 0)
        new("aclrtStream", "aclrtCreateStream")
        ok(lib.aclrtSynchronizeDevice())
        ok(lib.aclrtSetCurrentContext(context))
        release()
        waiting.join()
        """
    )
    assert (ended.returncode, ended.stderr) == (0, "")


# --- what is asked for -----------------------------------------------------------------------------------------------


def test_the_nth_call_fails(run: Run) -> None:
    script = """
    codes = [lib.aclrtCreateEvent(ffi.new("aclrtEvent *")) for _ in range(3)]
    assert codes == [0, 207007, 0], codes
    """
    ended = run(script, ASCEND_RT_DOUBLE_FAIL="aclrtCreateEvent:3=207007;aclrtMalloc:0=207001")  # START makes the first
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_nth_call_of_any_function_fails(run: Run) -> None:
    script = """
    from support.raw import lib
    assert [lib.aclrtSetDevice(0), lib.aclrtSetDevice(0), lib.aclrtSetDevice(0)] == [0, 507899, 0]
    """
    ended = run(script, "", ASCEND_RT_DOUBLE_FAIL="*:2=507899")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("variable", ["ASCEND_RT_DOUBLE_FAIL", "ASCEND_RT_DOUBLE_EXCEPTION_DELAY"])
def test_settings_that_are_not_understood(library: Path, environment: dict[str, str], variable: str) -> None:
    load = f"import ctypes; ctypes.CDLL({str(library)!r})"
    env = environment | {variable: "soon"}
    ended = subprocess.run([sys.executable, "-c", load], capture_output=True, text=True, env=env, check=False)
    assert ended.returncode == -signal.SIGABRT
    assert f"double: {variable}=soon is not understood" in ended.stderr


LATE = """
told = []

@ffi.callback("void(aclrtExceptionInfo *)")
def tell(info):
    told.append([time.monotonic(), lib.aclrtGetErrorCodeFromExceptionInfo(info),
                 lib.aclrtGetStreamIdFromExceptionInfo(info), lib.aclrtGetDeviceIdFromExceptionInfo(info)])

ok(lib.REGISTER(tell))
number, block = ffi.new("int32_t *"), new("void *", "aclrtMalloc", 64, 0)
ok(lib.aclrtStreamGetId(stream, number))
ok(lib.aclsimFailTask(stream, 1, 507015))
begin = time.monotonic()
ok(lib.aclrtMemsetAsync(block, 64, 0, 64, stream))
assert lib.aclrtSynchronizeStream(stream) == 507015
was_late = not told
while not told:
    time.sleep(0.01)
assert told[0][1:] == [507015, number[0], 0]
assert (was_late, told[0][0] - begin >= 0.3) == (IS_LATE, IS_LATE), told
"""


@pytest.mark.parametrize("register", ["aclrtSetExceptionInfoCallback", "aclrtExceptionInfoCallbackRegister"])
@pytest.mark.parametrize("delay_ms", [0, 300])
def test_exception_callbacks_come_late(run: Run, register: str, delay_ms: int) -> None:
    script = LATE.replace("REGISTER", register).replace("IS_LATE", str(delay_ms > 0))
    ended = run(script, ASCEND_RT_DOUBLE_EXCEPTION_DELAY=delay_ms)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_old_release_lacks_what_came_later(run: Run) -> None:
    old = doubles.build(release="8.1.RC1")
    assert old.name == "libascendcl.so"
    assert not (old.parent / "libacl_rt.so").exists()
    script = """
    from ascend_rt import library, supports, version
    print(library().path, version().cann, supports("aclrtCreateEvent"), supports("aclrtCreateNotify"))
    """
    shown = run(script, "", ASCEND_RT_LIBRARY=old).stdout.split()
    assert shown == [str(old), "8.1.RC1", "True", "False"]


def test_functions_can_be_left_out(run: Run) -> None:
    script = "from ascend_rt import supports; print(supports('aclrtMalloc'), supports('aclrtFree'))"
    without = doubles.build(without="aclrtMalloc")
    assert run(script, "", ASCEND_RT_LIBRARY=without).stdout.split() == ["False", "True"]


def test_it_is_taken_for_the_vendors(run: Run, library: Path) -> None:
    ended = run("from ascend_rt import library; print(library().backend, library().path)", "")
    assert ended.stdout.split() == ["cann", str(library)]


# --- sessions of pytest ----------------------------------------------------------------------------------------------

SESSION = """
import signal, subprocess, sys
import pytest
from ascend_rt import NotSupported, ffi, lib

garbage = ffi.cast("void *", 64)
not_supported = "from ascend_rt import NotSupported; raise NotSupported(207000, 'aclrtMakeTea')"

def test_lives():
    assert lib.aclrtDestroyEvent(ffi.NULL) != 0

def test_dies():
    lib.aclrtDestroyEvent(garbage)

def test_lives_after_that():
    pass

@pytest.mark.timeout(1)
def test_hangs():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    signal.pause()

def test_uses_what_only_the_simulator_has():
    lib.aclsimClearFaults()

@pytest.mark.simulator("faults")
def test_may_use_it():
    lib.aclsimClearFaults()

@pytest.mark.simulator("deadly")
def test_may_die():
    lib.aclrtDestroyEvent(garbage)

@pytest.mark.simulator("deadly")
def test_may_die_and_lives():
    assert lib.aclrtDestroyEvent(ffi.NULL) != 0

@pytest.mark.simulator("deadly")
def test_may_die_and_differs():
    assert lib.aclrtDestroyEvent(ffi.NULL) == 0

@pytest.mark.parametrize("arguments", [("garbage",)])
def test_with_garbage(arguments):
    lib.aclrtDestroyEvent(garbage)

@pytest.mark.simulator("held tasks")
def test_needs_the_simulator():
    raise AssertionError

@pytest.mark.simulator("independent")
def test_of_no_library():
    raise AssertionError

def test_is_refused():
    raise NotSupported(207000, "aclrtMakeCoffee")

def test_is_refused_with_a_code():
    code = 207000
    assert code == 0

def test_is_refused_in_a_program():
    ended = subprocess.run([sys.executable, "-c", not_supported], stderr=-1, text=True)
    assert ended.returncode == 0, ended.stderr

def test_expects_a_refusal():
    code = 0
    assert code == 207000
"""

Session = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def session(tmp_path: Path, environment: dict[str, str], library: Path) -> Session:
    """Return a function that runs tests as on a card, where the environment leads to the installation."""

    def start(tests: str, *options: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\naddopts = -p conftest\n")
        (tmp_path / "test_it.py").write_text(tests)
        env = {name: value for name, value in environment.items() if name != "ASCEND_RT_LIBRARY"}
        env |= {"ASCEND_HOME_PATH": str(library.parents[1]), "PYTHONPATH": str(TESTS)}
        command = [sys.executable, "-m", "pytest", "-v", "--backend", "cann", "-p", "no:cacheprovider", *options]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    return start


def test_a_session_outlives_deaths_and_tells_apart_how_tests_end(session: Session) -> None:
    ended = session(SESSION)
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED, ended.stdout + ended.stderr
    sections = re.findall(r"^=+ \d+ ([^\d\n=]+) =+\n((?!=).*?)(?==)", ended.stdout, re.MULTILINE | re.DOTALL)
    said = {title: set(re.findall(r"^  test_it.py::test_(\S+)", text, re.MULTILINE)) for title, text in sections}
    assert said == {
        "not supported by this card or this release": {
            "is_refused",
            "is_refused_with_a_code",
            "is_refused_in_a_program",
        },
        "died of handles or memory that do not live, as they may": {"may_die", "with_garbage[arguments0]"},
        "died": {"dies", "hangs", "uses_what_only_the_simulator_has"},
        "differ": {"may_die_and_differs", "expects_a_refusal"},
    }
    passed = re.findall(r"PASSED.*test_it.py::test_(\w+)", ended.stdout)
    assert set(passed) == {"lives", "lives_after_that", "may_use_it", "may_die_and_lives"}
    assert "test_of_no_library" not in ended.stdout
    assert "1 skipped" in ended.stdout
    assert "test_dies (call): double: aclrtDestroyEvent: the official library would" in ended.stdout
    assert "aclsimClearFaults: the official library would end the process here: it has no such function" in ended.stdout
    assert "test_may_die (call)" not in ended.stdout


@pytest.mark.parametrize("selected", ["lives or is_refused or may_die_and_lives or (may_die and not differs)"])
def test_what_is_not_supported_or_may_die_is_no_failure(session: Session, selected: str) -> None:
    ended = session(SESSION, "-k", selected)
    assert ended.returncode == pytest.ExitCode.OK, ended.stdout + ended.stderr


def test_a_session_names_a_death_that_no_test_has_noticed(session: Session) -> None:
    program = START + "lib.aclrtDestroyEvent(garbage)"
    ended = session(
        f"""
import subprocess, sys

def test_it():
    subprocess.run([sys.executable, "-c", {program!r}], cwd={str(TESTS)!r})
"""
    )
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED, ended.stdout + ended.stderr
    assert "1 passed" in ended.stdout
    assert "test_it.py::test_it (call): double: aclrtDestroyEvent: the official library would" in ended.stdout


def test_a_kind_that_does_not_exist_is_refused(session: Session) -> None:
    ended = session("import pytest\n\n@pytest.mark.simulator('magic')\ndef test_it(): pass\n", "-n", "0")
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR, ended.stdout + ended.stderr
    assert "test_it.py::test_it: simulator('magic'): the kinds are alone, faults" in ended.stderr


def test_plainly_the_double_reads_no_variable_of_the_simulator(run: Run) -> None:
    script = "print(new('uint32_t', 'aclrtGetDeviceCount'))"
    variables = {"ASCEND_RT_SIM_DEVICES": 3, "ASCEND_RT_SIM_CARDS": "separate"}
    assert run(script, **variables).stdout.strip() == "3"
    assert run(script, **variables, ASCEND_RT_DOUBLE_PLAIN="ASCEND_RT_SIM_CARDS").stdout.strip() == "8"
    named = "ASCEND_RT_SIM_CARDS,ASCEND_RT_SIM_DEVICES"
    assert run(script, **variables, ASCEND_RT_DOUBLE_PLAIN=named).stdout.strip() == "3"
