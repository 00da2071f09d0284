# SPDX-License-Identifier: Apache-2.0
"""``ASCEND_RT_SIM_STRICT=1``: what may end the process on a server is reported with its place, and ends it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.deadly import RULES, START
from support.programs_in_forks import Ended, Programs

from ascend_rt.backends import include_directory
from ascend_rt.backends.sim import library_path
from ascend_rt_measure.verify.cases import groups

TESTS = Path(__file__).resolve().parents[2]
PLAYER = TESTS / "conformance" / "calls.py"
DEADLY = json.loads((TESTS / "data" / "double" / "deadly.json").read_text(encoding="utf-8"))

pytestmark = pytest.mark.simulator("internals")

Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path, programs: Programs) -> Run:
    """Return a function that runs a script in strict mode, in a file of that name."""

    def start(script: str, start: str = START, name: str = "train.py", **variables: str) -> Ended:
        path = tmp_path / name
        path.write_text(start + textwrap.dedent(script))
        return programs.run(path, variables={"ASCEND_RT_SIM_STRICT": "1", "PYTHONPATH": str(TESTS)} | variables)

    return start


def death_of(ended: Ended | subprocess.CompletedProcess[str]) -> tuple[str, str]:
    """Return the call that ended the process, with its place, and the reason."""
    assert ended.returncode == -signal.SIGABRT, ended.stderr
    said = re.findall(
        "ascend_rt simulator, strict: (.*): the vendor's library may end the process here: (.*)\n", ended.stderr
    )
    assert len(said) == 1, ended.stderr
    return said[0]


@pytest.mark.parametrize(("deadly", "function", "reason", "_"), RULES.values(), ids=RULES.keys())
def test_it_ends_the_process(run: Run, tmp_path: Path, deadly: str, function: str, reason: str, _: str) -> None:
    configuration = tmp_path / "acl.json"
    configuration.write_text("{}")
    call, why = death_of(run(deadly.replace("TEMPORARY", repr(bytes(configuration)))))
    assert call.partition(" at ")[0] == function
    assert reason in why


@pytest.mark.parametrize("harmless", [rule[3] for rule in RULES.values()], ids=RULES.keys())
def test_it_lets_the_process_live(run: Run, harmless: str) -> None:
    ended = run(harmless)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("deadly", [rule[0] for rule in RULES.values()], ids=RULES.keys())
def test_without_it_the_process_lives(run: Run, tmp_path: Path, deadly: str) -> None:
    configuration = tmp_path / "acl.json"
    configuration.write_text("{}")
    ended = run(deadly.replace("TEMPORARY", repr(bytes(configuration))), ASCEND_RT_SIM_STRICT="0")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("row", [row for row in DEADLY if row[0] in groups()], ids=lambda row: row[0])
def test_it_ends_the_process_where_the_official_library_died(row: list[Any], programs: Programs) -> None:
    name, function, *_ = row
    calls = json.dumps(groups()[name].rows())
    call, why = death_of(programs.run(PLAYER, variables={"ASCEND_RT_SIM_STRICT": "1"}, standard_input=calls))
    assert call.partition(" at ")[0] == function
    assert "0x1234567800 was never given out" in why


def test_both_places_are_named(run: Run, tmp_path: Path) -> None:
    script = """\
from support.raw import ffi, lib
lib.aclrtSetDevice(0)
event, stream = ffi.new("aclrtEvent *"), ffi.new("aclrtStream *")
lib.aclrtCreateEvent(event), lib.aclrtCreateStream(stream)
def finish():
    lib.aclrtDestroyEvent(event[0])
finish()
lib.aclrtRecordEvent(event[0], stream[0])
"""
    call, reason = death_of(run(script, start=""))
    path = tmp_path / "train.py"
    assert call == f"aclrtRecordEvent at {path}:8 in <module>"
    assert re.fullmatch(rf"event 0x\w+ was ended by aclrtDestroyEvent at {path}:6 in finish", reason)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_c_program(tmp_path: Path) -> None:
    source, program, library = tmp_path / "main.c", tmp_path / "main", Path(library_path())
    source.write_text("""
#include <acl/acl.h>
void finish(aclrtStream stream) { aclrtDestroyStream(stream); }
int main(void) {
    aclrtStream stream;
    aclrtSetDevice(0);
    aclrtCreateStream(&stream);
    finish(stream);
    return aclrtSynchronizeStream(stream);
}
""")
    command = ["cc", str(source), "-rdynamic", f"-I{include_directory()}", str(library), "-o", str(program)]
    subprocess.run([*command, f"-Wl,-rpath,{library.parent}"], check=True)
    env = os.environ | {"ASCEND_RT_SIM_STRICT": "1"}
    call, reason = death_of(subprocess.run([program], env=env, capture_output=True, text=True, check=False))
    assert re.fullmatch(rf"aclrtSynchronizeStream at {program}\+0x\w+ in main", call)
    assert re.fullmatch(rf"stream 0x\w+ was ended by aclrtDestroyStream at {program}\+0x\w+ in finish", reason)


def test_every_death_is_in_the_log(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "deaths"
    for name in ("first.py", "second.py"):
        run("lib.aclrtDestroyEvent(garbage)", name=name, ASCEND_RT_SIM_STRICT_LOG=str(log), PYTEST_CURRENT_TEST=name)
    lines = log.read_text().splitlines()
    assert [line.partition(" at ")[0] for line in lines] == [
        "first.py: aclrtDestroyEvent",
        "second.py: aclrtDestroyEvent",
    ]


def test_a_death_among_the_destructors_is_in_the_log(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "deaths"
    death_of(run("hold(); in_thread(lib.aclrtSynchronizeStream, stream)", ASCEND_RT_SIM_STRICT_LOG=str(log)))
    assert "aclrtSynchronizeStream: the vendor's library may end the process here" in log.read_text()


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


def test_a_call_after_the_destructors(run: Run, tmp_path: Path) -> None:
    # The destructor of what is loaded after the simulator runs after the simulator's.
    source, late = tmp_path / "late.c", tmp_path / "late.so"
    source.write_text(
        f"""
        #include <dlfcn.h>
        __attribute__((destructor)) static void late(void) {{
            void *library = dlopen("{library_path()}", RTLD_LAZY | RTLD_NOLOAD);
            int mode;
            if (library) ((int (*)(int *))dlsym(library, "aclrtGetRunMode"))(&mode);
        }}
        """
    )
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(late), "-ldl"], check=True)
    call, reason = death_of(run(f"import ctypes; ctypes.CDLL({str(late)!r})"))
    assert call.partition(" at ")[0] == "aclrtGetRunMode"
    assert reason == "the destructors of the library have run"


def test_the_facade_never_makes_a_deadly_call(run: Run) -> None:
    script = """
    from ascend_rt import Buffer, ClosedError, Device, Event, InvalidHandle, PinnedBuffer, Stream, copy_async

    Device(0).set_current()
    stream, event, source, target = Stream(), Event(), PinnedBuffer(64), Buffer(64)
    copy_async(target, source, stream)
    source.close()  # waits for the copy
    event.record(stream)
    event.close()
    kept = Event()

    def refusal(use):
        try:
            use()
        except (ClosedError, InvalidHandle) as error:
            return type(error).__name__

    print(refusal(event.synchronize), refusal(lambda: event.record(stream)))
    Device(0).reset(force=True)
    Device(0).set_current()
    print(refusal(kept.record), refusal(kept.synchronize), refusal(lambda: kept.is_done))
    kept.close()
    """
    ended = run(script, start="")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split() == ["ClosedError"] * 2 + ["InvalidHandle"] * 3


@pytest.mark.parametrize("wait", ["stream.synchronize", "event.synchronize", "Device(0).synchronize"])
def test_a_process_that_ends_while_a_thread_waits_keeps_its_status(run: Run, wait: str) -> None:
    script = f"""
    import sys, threading
    from ascend_rt import Device, Notify, Stream
    from ascend_rt._runtime import lifecycle
    from ascend_rt.testing import Latch

    lifecycle._WORK_MS = 100
    Device(0).set_current()
    stream = Stream()
    latch = Latch(stream)
    latch.__enter__()
    event = stream.record()
    ready = threading.Event()

    def run():
        Device(0).set_current()
        ready.set()
        {wait}()

    threading.Thread(target=run, daemon=True).start()
    ready.wait()
    sys.exit(4)
    """
    ended = run(script, start="")
    assert ended.returncode == 4, ended.stderr


def test_a_wrong_value_is_an_error_of_the_first_call(run: Run) -> None:
    script = (
        "from ascend_rt import lib, ffi; lib.aclrtSetDevice(0); print(ffi.string(lib.aclGetRecentErrMsg()).decode())"
    )
    ended = run(script, start="", ASCEND_RT_SIM_STRICT="yes")
    assert ended.stdout == "aclrtSetDevice: ASCEND_RT_SIM_STRICT=yes is not a whole number from 0 to 1\n"
