# SPDX-License-Identifier: Apache-2.0
"""The libraries of the table: all are there, load, and are described in the guide."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ascend_rt.backends import sim

ROOT = Path(__file__).resolve().parents[3]
TABLE = ROOT / "backends" / "companions" / "libraries.txt"

pytestmark = [
    pytest.mark.simulator("internals"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="they are found by the dynamic loader of Linux"),
]


class Row(NamedTuple):
    names: list[str]
    behind: list[str]
    content: str


def rows() -> list[Row]:
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    cells = [[cell.strip() for cell in line.split("|")] for line in lines]
    return [Row(names.split(), behind.split(), content) for names, _, _, behind, content in cells]


NAMES = [name for row in rows() for name in row.names]

# Functions without a declaration in a header of the package, with a call and its result.
SYSTEM_CALLS = {
    "mmpa": [
        ("mmGetPid", (), os.getpid()),
        ("mmSleep", (0,), -2),
        ("mmSleep", (1,), 0),
        ("mmAccess", (b"/",), 0),
        ("mmAccess", (b"/no/such/path",), -1),
        ("mmAccess", (None,), -2),
        ("mmMkdir", (None, 0), -2),
        ("mmRealPath", (b"/", None, 4096), -2),
        ("mmMutexLock", (None,), -2),
        ("mmDlopen", (None, 1), 0),
        ("mmDlclose", (None,), -2),
        ("mmGetEnv", (b"HOME", None, 10), -2),
        ("mmSetEnv", (None, b"x", 1), -2),
    ],
    "unified_dlog": [
        ("dlog_getlevel", (0, None), 3),
        ("CheckLogLevel", (0, 3), 0),
        ("dlog_setlevel", (0, 9, 1), -1),
        ("DlogFlush", (), None),
    ],
}

LOAD = """
import ctypes, sys
for name in sys.argv[1:]:
    ctypes.CDLL(f"lib{name}.so", mode=ctypes.RTLD_GLOBAL)
print(len({line.split()[-1] for line in open("/proc/self/maps") if "libascendcl.so" in line}))
"""


def library(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(sim.companion_directory() / f"lib{name}.so"))


def recent_text() -> str:
    runtime = ctypes.CDLL(str(sim.library_path()))
    runtime.aclGetRecentErrMsg.restype = ctypes.c_char_p
    text: bytes = runtime.aclGetRecentErrMsg()
    return text.decode()


def test_the_guide_describes_all() -> None:
    guide = (ROOT / "docs" / "native_clients.md").read_text(encoding="utf-8").splitlines()
    described = [f"| {', '.join(f'`lib{name}.so`' for name in row.names)} | {row.content} |" for row in rows()]
    assert [row for row in described if row not in guide] == []


@pytest.mark.parametrize("command", ["sim-path", "toolkit-path"])
def test_all_load_by_name_and_share_a_runtime(run, command: str) -> None:
    path = run("-m", "ascend_rt", command).stdout.strip()
    directory = path if command == "sim-path" else os.path.join(path, "lib64")
    if command == "sim-path" and sim.library_directory() != sim.companion_directory():
        pytest.skip("an editable install has two directories")
    program = [sys.executable, "-c", LOAD, *NAMES]  # the loader reads the path when a process starts
    environment = {**os.environ, "LD_LIBRARY_PATH": directory}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("1\n", 0), done.stderr


@pytest.mark.parametrize("name", [name for row in rows() if "ascendcl" in row.behind for name in row.names])
def test_the_runtime_is_found_through_each(name: str) -> None:
    runtime = ctypes.CDLL(str(sim.library_path()))
    found, expected = (ctypes.cast(each.aclrtSetDevice, ctypes.c_void_p).value for each in (library(name), runtime))
    assert found == expected


@pytest.mark.parametrize("name", sorted(SYSTEM_CALLS))
def test_functions_of_the_system(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ASCEND_GLOBAL_LOG_LEVEL", "ASCEND_SLOG_PRINT_TO_STDOUT"):
        monkeypatch.delenv(variable, raising=False)
    for function_name, arguments, expected in SYSTEM_CALLS[name]:
        function = getattr(library(name), function_name)
        function.restype = None if expected is None else ctypes.c_int32
        assert function(*arguments) == expected, function_name


def test_lines_of_the_log(run) -> None:
    script = (
        "import ctypes, sys\n"
        "log = ctypes.CDLL(sys.argv[1])\n"
        "log.DlogRecord(7, 1, b'not %s', b'printed')\n"
        "log.DlogRecord(7, 2, b'a %s of %d', b'line', ctypes.c_int(5))\n"
        "log.dlog_setlevel(0, 0, 1)\n"
        "log.DlogDebugInner(8, b'seen')\n"
        "log.DlogErrorInner(8, None)\n"
    )
    path = str(sim.companion_directory() / "libascendalog.so")
    shown = run("-c", script, path, ASCEND_SLOG_PRINT_TO_STDOUT="1", ASCEND_GLOBAL_LOG_LEVEL="2")
    assert [line.partition("(")[0] + line.partition(")")[2] for line in shown.stdout.splitlines()] == [
        "[WARNING] module 7: a line of 5",
        "[DEBUG] module 8: seen",
    ]
    assert run("-c", script, path).stdout == ""


@pytest.mark.parametrize("name", ["opapi", "opapi_math"])
def test_operators_are_refused_by_name(name: str) -> None:
    operators = library(name)
    assert operators.aclnnAddGetWorkspaceSize(*[None] * 6) == 200001
    assert recent_text().startswith("aclnnAddGetWorkspaceSize: the simulator has no operators of CANN; PyTorch")
    assert operators.aclnnAdd(None, None, None, None) == 200001
    assert recent_text().startswith("aclnnAdd: ")


def test_media_memory() -> None:
    media, runtime = library("acl_dvpp"), ctypes.CDLL(str(sim.library_path()))
    assert runtime.aclrtSetDevice(0) == 0
    memory = ctypes.c_void_p()
    assert media.acldvppMalloc(ctypes.byref(memory), ctypes.c_size_t(4096)) == 0
    assert memory.value
    assert media.acldvppFree(memory) == 0
    assert media.acldvppMalloc(None, ctypes.c_size_t(4096)) != 0
    assert media.acldvppCreatePicDesc() == 0
    assert "acldvppCreatePicDesc: " in recent_text()
    assert runtime.aclrtResetDevice(0) == 0


def test_functions_of_transformer_operators_raise_an_exception_with_a_text(run) -> None:
    script = "import ctypes, sys; ctypes.CDLL(sys.argv[1])._ZN3atb13CreateContextEPPNS_7ContextE(None)"
    done = run("-c", script, str(sim.companion_directory() / "libatb.so"))
    assert done.returncode < 0  # a C program without a handler
    assert "atb::CreateContext: the simulator has no transformer operators of ATB" in done.stderr
