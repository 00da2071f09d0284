# SPDX-License-Identifier: Apache-2.0
"""The double (``tests/double``) is strict, blocks as the official library does, and fails as it is asked to."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

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


def test_calls_block_as_in_the_simulator(run: Run) -> None:
    ended = run(
        """
        from support.stalls import Reports
        hold()
        with Reports() as reports:
            waiting, waited = in_thread(lib.aclrtSynchronizeDevice)
            assert reports.come("aclrtSynchronizeDevice has waited")
            thread, codes = in_thread(lib.aclrtCreateStream, ffi.new("aclrtStream *"))
            assert reports.come("aclrtCreateStream has waited 20 ms for aclrtSynchronizeDevice of another thread")
        release()
        waiting.join()
        thread.join()
        assert waited == codes == [0]
        """,
        ASCEND_RT_SIM_STALL_MS="20",
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
