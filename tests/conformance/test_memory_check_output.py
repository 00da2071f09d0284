# SPDX-License-Identifier: Apache-2.0
"""``ASCEND_RT_SIM_CHECK=memory``: the form of reports, and how the check is turned on."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.memory_check import Run

from ascend_rt._runtime import driver

pytestmark = pytest.mark.simulator("memory check")


@pytest.mark.parametrize("check", [None, ""])
def test_without_the_variable_nothing_is_reported(run_checked: Run, check: str | None) -> None:
    program = run_checked(
        """
ok(lib.aclrtMemset(malloc(100), 110, 0, 110))
print(sim.check_reports())
refused(lib.aclrtMemset(malloc(100), 9000, 0, 9000))
""",
        check,
    )
    assert program.reports == []
    assert program.output == "0\naclrtMemset: dst: 9000 bytes at P are not inside one live allocation\n"


@pytest.mark.parametrize("checks", ["speed", "memory,speed", "memory,", ",", "memory races"])
def test_a_wrong_value_is_an_error_of_the_first_call(run_checked: Run, checks: str) -> None:
    script = (
        "from ascend_rt import lib, ffi\nprint(lib.aclrtSetDevice(0), ffi.string(lib.aclGetRecentErrMsg()).decode())"
    )
    program = run_checked(script, checks, prelude="")
    problem = f"ASCEND_RT_SIM_CHECK={checks} is not a list of memory, races, deadlocks with commas"
    assert re.fullmatch(rf"\d{{6}} aclrtSetDevice: {problem}\n", program.output)


def test_the_form_of_a_report(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("""\
from ascend_rt import Buffer, Device, ffi, lib
Device(0).set_current()
def step():
    buffer = Buffer(100)
    lib.aclrtMemset(ffi.cast("void *", buffer.handle), 110, 0, 110)
step()
""")
    environment = os.environ | {"ASCEND_RT_SIM_CHECK": "memory"}
    done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, check=True)
    address = r"0x[0-9a-f]+"
    assert re.fullmatch(
        rf"ascend_rt simulator, memory check: aclrtMemset at {path}:5 in step uses 110 bytes at {address} \(dst\),\n"
        rf"  10 of them past the end of 100 bytes at {address} that aclrtMalloc at {path}:4 in step gave\n",
        done.stderr,
    )


def findings_of(directory: Path) -> list[list[dict[str, Any]]]:
    files = sorted(directory.iterdir())
    return [[json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] for file in files]


def test_findings_are_lines_of_a_file(tmp_path: Path) -> None:
    path, directory = tmp_path / "train.py", tmp_path / "findings"
    directory.mkdir()
    path.write_text("""\
import sys
from ascend_rt import Buffer, Device, ffi, lib
Device(0).set_current()
def step():
    buffer = Buffer(100)
    lib.aclrtMemset(ffi.cast("void *", buffer.handle), 110, 0, 110)
step()
sys.exit(3)
""")
    checks = {"ASCEND_RT_SIM_CHECK": "memory,deadlocks", "ASCEND_RT_SIM_CHECK_DIRECTORY": str(directory)}
    done = subprocess.run([sys.executable, path], env=os.environ | checks, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")
    [[process, finding, end]] = findings_of(directory)
    assert process | {"pid": 0} == {
        "kind": "process",
        "format": 1,
        "pid": 0,
        "product": "910B",
        "checks": ["memory", "deadlocks"],
    }
    assert (directory / f"{process['pid']}.jsonl").exists()
    assert (finding["kind"], finding["id"]) == ("memory", 1)
    assert finding["text"].startswith(f"aclrtMemset at {path}:6 in step uses 110 bytes at 0x")
    assert finding["frames"] == [f"{path}:6 in step", f"{path}:7 in <module>"]
    assert end == {"kind": "end"}


@pytest.mark.parametrize("ends", [True, False])
def test_the_end_of_a_process_with_a_daemon_is_a_finding(tmp_path: Path, ends: bool) -> None:
    script = (
        "import os, threading; from ascend_rt import Device; Device(0).set_current();"
        "threading.Thread(target=threading.Event().wait, daemon=True).start();"
    )
    checks = {"ASCEND_RT_SIM_CHECK": "memory", "ASCEND_RT_SIM_CHECK_DIRECTORY": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-c", script + ("" if ends else "os._exit(0)")], env=os.environ | checks, check=True
    )
    [lines] = findings_of(tmp_path)
    assert [line["kind"] for line in lines] == ["process", "end"][: 1 + ends]


def test_a_report_of_the_facade_names_the_program_and_not_the_package(run_checked: Run) -> None:
    program = run_checked(
        """
from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async, sim
Device(0).set_current()
stream = Stream()
def work():
    source, target = PinnedBuffer(100), Buffer(100)  # new
    with sim.held():
        copy_async(target, source, stream)  # copy
        target.close()  # close
work()
stream.synchronize()
print(sim.check_reports())
""",
        prelude="",
    )
    assert program.reports == [
        "100 bytes at P that aclrtMalloc at new gave and aclrtFree at close freed\n"
        "  while task N of stream S, which aclrtMemcpyAsync at copy submitted, still uses it; synchronize first"
    ]
    assert program.output == "1\n"


def test_reports_name_the_lines_of_their_own_thread(run_checked: Run) -> None:
    program = run_checked("""
memory = take(pool(), 100, a)
ok(lib.aclrtMemPoolFreeAsync(memory, a))  # free
def first():
    device.set_current()
    for _ in range(50):
        ok(lib.aclrtMemset(memory, 8, 0, 8))  # first
def second():
    device.set_current()
    for _ in range(50):
        ok(lib.aclrtMemcpy(host, 8, memory, 8, lib.ACL_MEMCPY_DEVICE_TO_HOST))  # second
threads = [threading.Thread(target=it) for it in (first, second)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sim.check_reports())
""")
    beginnings = [report.partition(" uses ")[0] for report in program.reports]
    assert sorted(beginnings) == ["aclrtMemcpy at second"] * 50 + ["aclrtMemset at first"] * 50
    assert program.output == "100\n"


def test_the_demo_gives_no_report(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(bytes(range(256)) * 20000)
    done = subprocess.run(
        [sys.executable, "-m", "ascend_rt", "demo", "--backend", "sim", "--chunk-mib", "1", str(file)],
        env=os.environ | {"ASCEND_RT_SIM_CHECK": "memory"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_report_of_a_c_program_names_file_and_offset(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = driver.library().path
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text("""
#include <stddef.h>
int aclrtSetDevice(int);
int aclrtMalloc(void **, size_t, int);
int aclrtMemset(void *, size_t, int, size_t);
int wrong(void *memory) { return aclrtMemset(memory, 110, 0, 110) + 1; }
int main(void) {
    void *memory = NULL;
    return aclrtSetDevice(0) + aclrtMalloc(&memory, 100, 0) + wrong(memory);
}
""")
    subprocess.run([compiler, source, library, "-rdynamic", "-o", program], check=True)
    done = subprocess.run(
        [program],
        env=os.environ | {"ASCEND_RT_SIM_CHECK": "memory", "LD_LIBRARY_PATH": os.path.dirname(library)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    place, address = rf"{program}\+0x[0-9a-f]+", "0x[0-9a-f]+"
    assert re.fullmatch(
        rf"ascend_rt simulator, memory check: aclrtMemset at {place} in wrong uses 110 bytes at {address} \(dst\),\n"
        rf"  10 of them past the end of 100 bytes at {address} that aclrtMalloc at {place} in main gave\n",
        done.stderr,
    )
