# SPDX-License-Identifier: Apache-2.0
"""The double (``tests/double``) is strict, blocks as the official library does, and fails as it is asked to."""

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
from support import doubles
from support.deadly import START

TESTS = Path(__file__).resolve().parents[1]
PLAYER = TESTS / "conformance" / "calls.py"
NOT_ELF = not sys.platform.startswith("linux")

pytestmark = pytest.mark.skipif(NOT_ELF, reason="the double is an ELF library")

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


def assert_died(ended: subprocess.CompletedProcess[str], function: str) -> None:
    assert ended.returncode == -signal.SIGABRT, ended.stderr
    assert re.search(f"strict: {function} at .*: the vendor's library may end the process here", ended.stderr)


def test_it_is_strict(run: Run) -> None:
    assert_died(run("lib.aclrtDestroyEvent(garbage)"), "aclrtDestroyEvent")
    harmless = run("ok(lib.aclrtDestroyEvent(event))")
    assert (harmless.returncode, harmless.stderr) == (0, "")


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


ROWS = json.loads((TESTS / "data" / "double" / "concurrency.json").read_text(encoding="utf-8"))


def _pairs() -> list[Any]:
    rows = [(waiting, other, answer == "BLOCKS") for waiting, other, answer, _ in ROWS]
    # Those that block, and two beside each waiting call; the others with --long.
    shown = [row for row in rows if row[2] or row[1] in ("CreateEventExWithFlag", "MemcpyAsync, same stream")]
    marks = {row: [] if row in shown else [pytest.mark.long] for row in rows}
    return [pytest.param(*row, id=f"{row[0]}-{row[1]}", marks=marks[row]) for row in rows]


@pytest.mark.parametrize(("waiting", "other", "blocks"), _pairs())
def test_calls_block_as_the_table_says(run: Run, waiting: str, other: str, blocks: bool) -> None:
    ended = run(BLOCKS.replace("WAITING", WAITS[waiting]).replace("OTHER", OTHERS[other]))
    assert (ended.returncode, ended.stdout.strip()) == (0, "BLOCKS" if blocks else "goes on"), ended.stderr


def test_the_table_is_whole() -> None:
    assert {tuple(row[:2]) for row in ROWS} == {(it, other) for it in WAITS for other in OTHERS}


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


def test_a_session_names_a_death_that_no_test_has_noticed(tmp_path: Path, library: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        f"""
import subprocess, sys

def test_it():
    subprocess.run([sys.executable, "-c", {START + "lib.aclrtDestroyEvent(garbage)"!r}], cwd={str(TESTS)!r})
"""
    )
    env = {name: value for name, value in os.environ.items() if name not in ("ASCEND_RT_LIBRARY", doubles.LOG)}
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "--double", "-p", "no:cacheprovider", "test_it.py"]
    env["PYTHONPATH"] = str(TESTS)
    ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED, ended.stdout + ended.stderr
    assert "1 passed" in ended.stdout
    assert "test_it.py::test_it (call): aclrtDestroyEvent at " in ended.stdout
