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

TESTS = Path(__file__).resolve().parents[2]
PLAYER = TESTS / "conformance" / "calls.py"
NOT_ELF = not sys.platform.startswith("linux")

pytestmark = [
    pytest.mark.full,
    pytest.mark.simulator("independent"),
    pytest.mark.skipif(NOT_ELF, reason="the double is an ELF library"),
]

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment(double: Path) -> dict[str, str]:
    """Return an environment in which the double is the vendor's library, and deaths affect no other test."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND_RT_DOUBLE_")}
    return kept | {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": str(double)}


@pytest.fixture
def run(environment: dict[str, str]) -> Run:
    """Return a function that runs a script with the double in a separate process."""

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


def test_a_call_never_returns(run: Run) -> None:
    script = """
    thread, codes = in_thread(lib.aclrtSynchronizeStream, stream)
    thread.join(0.2)
    print(codes, flush=True)
    os._exit(0)
    """
    ended = run(script, ASCEND_RT_DOUBLE_SLOW="aclrtSynchronizeStream:1=-1;aclrtMalloc:0=1")
    assert (ended.returncode, ended.stdout) == (0, "[]\n"), ended.stderr


@pytest.mark.parametrize(
    "variable", ["ASCEND_RT_DOUBLE_FAIL", "ASCEND_RT_DOUBLE_SLOW", "ASCEND_RT_DOUBLE_EXCEPTION_DELAY"]
)
def test_settings_that_are_not_understood(double: Path, environment: dict[str, str], variable: str) -> None:
    load = f"import ctypes; ctypes.CDLL({str(double)!r})"
    env = environment | {variable: "soon"}
    ended = subprocess.run([sys.executable, "-c", load], capture_output=True, text=True, env=env, check=False)
    assert ended.returncode == -signal.SIGABRT
    assert f"double: {variable}=soon is not understood" in ended.stderr


LATE = """
reported = []

@ffi.callback("void(aclrtExceptionInfo *)")
def report(info):
    reported.append([time.monotonic(), lib.aclrtGetErrorCodeFromExceptionInfo(info),
                 lib.aclrtGetStreamIdFromExceptionInfo(info), lib.aclrtGetDeviceIdFromExceptionInfo(info)])

ok(lib.REGISTER(report))
number, block = ffi.new("int32_t *"), new("void *", "aclrtMalloc", 64, 0)
ok(lib.aclrtStreamGetId(stream, number))
ok(lib.aclsimFailTask(stream, 1, 507015))
begin = time.monotonic()
ok(lib.aclrtMemsetAsync(block, 64, 0, 64, stream))
assert lib.aclrtSynchronizeStream(stream) == 507015
was_late = not reported
while not reported:
    time.sleep(0.01)
assert reported[0][1:] == [507015, number[0], 0]
assert (was_late, reported[0][0] - begin >= 0.3) == (IS_LATE, IS_LATE), reported
"""


@pytest.mark.parametrize("register", ["aclrtSetExceptionInfoCallback", "aclrtExceptionInfoCallbackRegister"])
@pytest.mark.parametrize("delay_ms", [0, 300])
def test_exception_callbacks_come_late(run: Run, register: str, delay_ms: int) -> None:
    script = LATE.replace("REGISTER", register).replace("IS_LATE", str(delay_ms > 0))
    ended = run(script, ASCEND_RT_DOUBLE_EXCEPTION_DELAY=delay_ms)
    assert (ended.returncode, ended.stderr) == (0, "")


LATE_FAILURE = """
import gc, weakref
from ascend_rt import AclError, Buffer, Device, Event, Stream, fill_async, sim
Device(0).set_current()
busy, waiting, gate, memory = Stream(), Stream(), Event(manual_reset=True), Buffer(64)
busy.wait(gate, timeout=float("inf"))
fill_async(memory, 1, busy)
kept = weakref.ref(memory)
del memory
sim.fail_task(507015, waiting)
waiting.wait(busy.record(), timeout=float("inf"))
after = waiting.record()
codes = []
for look in (lambda: WAY, waiting.synchronize, waiting.synchronize, lambda: WAY):
    try:
        look()
    except AclError as error:
        codes.append(error.code)
    gc.collect()
    assert kept() is not None
assert set(codes) == {507015}, codes
gate.record(Stream())
busy.synchronize()
gc.collect()
assert kept() is None
"""


@pytest.mark.parametrize("way", ["waiting.is_done", "after.is_done", "after.synchronize()", "waiting.synchronize()"])
def test_a_wait_whose_failure_becomes_known_late_lets_nothing_go(run: Run, way: str) -> None:
    ended = run(LATE_FAILURE.replace("WAY", way), "", ASCEND_RT_DOUBLE_EXCEPTION_DELAY=20_000)
    assert (ended.returncode, ended.stderr) == (0, "")


UNASKABLE = """
import _thread, threading
from ascend_rt import Device, Event, Stream
Device(0).set_current()
stream, gate = Stream(), Event(manual_reset=True)
stream.wait(gate, timeout=float("inf"))
event = stream.record()

def interrupt():
    while _thread._count() <= threading.active_count() - 1:  # a thread that waits for the main one is not threading's
        pass
    _thread.interrupt_main()

threading.Thread(target=interrupt).start()
try:
    WAIT
except KeyboardInterrupt:
    gate.record(Stream())
    WAIT
    print("interrupted")
"""


@pytest.mark.parametrize("wait", ["stream.synchronize()", "stream.synchronize(timeout=100)", "event.synchronize()"])
def test_ctrl_c_ends_a_wait_for_what_cannot_be_queried(run: Run, wait: str) -> None:
    failing = "aclrtStreamQuery:0=507901;aclrtQueryEventStatus:0=507901"
    ended = run(UNASKABLE.replace("WAIT", wait), "", ASCEND_RT_DOUBLE_FAIL=failing)
    assert (ended.returncode, ended.stdout) == (0, "interrupted\n"), ended.stderr


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


def test_it_is_taken_for_the_vendors(run: Run, double: Path) -> None:
    ended = run("from ascend_rt import library; print(library().backend, library().path)", "")
    assert ended.stdout.split() == ["cann", str(double)]


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
def session(tmp_path: Path, environment: dict[str, str], double: Path) -> Session:
    """Return a function that runs tests as on a card, where the environment leads to the installation."""

    def start(tests: str, *options: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\naddopts = -p conftest\n")
        (tmp_path / "test_it.py").write_text(tests)
        env = {name: value for name, value in environment.items() if name != "ASCEND_RT_LIBRARY"}
        env |= {"ASCEND_HOME_PATH": str(double.parents[1]), "PYTHONPATH": str(TESTS)}
        command = [sys.executable, "-m", "pytest", "-v", "--backend", "cann", "-p", "no:cacheprovider", *options]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    return start


def test_a_session_outlives_deaths_and_reports_apart_how_tests_end(session: Session) -> None:
    ended = session(SESSION)
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED, ended.stdout + ended.stderr
    summary = ended.stdout.partition(" short test summary info ")[0]  # which repeats the output of tests apart in CI
    sections = re.findall(r"^=+ \d+ ([^\d\n=]+) =+\n((?!=).*?)(?==)", summary, re.MULTILINE | re.DOTALL)
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
    assert "test_dies (call): aclrtDestroyEvent at " in ended.stdout
    assert "simulator_has (call): double: aclsimClearFaults: the official library would end" in ended.stdout
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
    assert "test_it.py::test_it (call): aclrtDestroyEvent at " in ended.stdout


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
