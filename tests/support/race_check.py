# SPDX-License-Identifier: Apache-2.0
"""Programs that run under ``ASCEND_RT_SIM_CHECK=races``, and their reports in short form.

Every program runs in a separate process. A place is the word behind ``#`` on its line, so a report is, for instance,
``"read after write: load, step"``.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.programs_in_forks import CHECKS, Programs, facade

PRELUDE = """
import os, threading
import numpy as np
from ascend_rt import *
from ascend_rt import ffi, lib, sim

device = Device(0)
device.set_current()
a, b, c = Stream(), Stream(), Stream()
x, y, z = Buffer(4096), Buffer(4096), Buffer(4096)
p, q = PinnedBuffer(4096), PinnedBuffer(4096)
e, f = Event(), Event()

def ok(code):
    assert code == 0, code

def new(kind, function, *arguments):
    out = ffi.new(kind)
    ok(getattr(lib, function)(out, *arguments))
    return out[0]

def address(buffer):
    return ffi.cast("char *", buffer.handle)

def raw(stream):
    return ffi.cast("void *", stream.handle)

def access(mode, address, size):
    shape = ffi.new("int64_t[1]", [size])
    ok(lib.aclsimNoteHostAccess(ffi.new("aclsimAccess *", dict(
        address=ffi.cast("void *", address), mode=mode, elementSize=1, rank=1, shape=shape))))

def finish():
    for stream in (a, b, c):
        stream.synchronize()
"""

WRITE = "copy_async(x, p, a)  # write\n"
READ = "copy_async(y, x, b)  # read\n"
RACE = ["read after write: write, read"]

_programs = Programs(
    *("numpy", "cffi", "asyncio", "csv", "logging", "traceback", "ascend_rt._runtime.selection"),
    *facade(),
    imports_depend_on=CHECKS,
)


def findings_of(program: str, variables: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Run a program and return its findings."""
    with tempfile.TemporaryDirectory(prefix="ascend_rt-") as directory:
        path = Path(directory, "program.py")
        path.write_text(f"{PRELUDE}{program}\nfinish()\n", encoding="utf-8")
        settings = {
            "ASCEND_RT_BACKEND": "sim",
            "ASCEND_RT_SIM_CHECK": "races",
            "ASCEND_RT_SIM_CHECK_DIRECTORY": directory,
            **(variables or {}),
        }
        ended = _programs.run(path, variables=settings)
        assert ended.returncode == 0, ended.stderr
        lines = [line for file in sorted(Path(directory).glob("*.jsonl")) for line in file.read_text().splitlines()]
        return [json.loads(line) for line in lines]


def word_at(program: str, frames: list[str]) -> str:
    """Return the word behind ``#`` on the line of the innermost place."""
    lines = f"{PRELUDE}{program}".splitlines()
    for frame in frames:
        number = int(frame.split(":")[-1].split(" ")[0])
        if "program.py:" in frame and "#" in lines[number - 1]:
            return lines[number - 1].split("#")[-1].strip()
    return "?"


def races_of(program: str, variables: Mapping[str, str] | None = None) -> list[str]:
    """Run a program and return its races in short form, sorted."""
    found = [it for it in findings_of(program, variables) if it["kind"] == "race"]
    return sorted(
        f"{it['conflict']}: {word_at(program, it['first']['frames'])}, {word_at(program, it['second']['frames'])}"
        for it in found
    )
