# SPDX-License-Identifier: Apache-2.0
"""Programs that run under ``ASCEND_RT_SIM_CHECK=memory``, and phrases of the reports.

Every program runs in a separate process. Its output and its reports are compared in a readable form: a source line
appears as the word behind ``#`` in that line, an address as ``P``, and a task as ``task N of stream S``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from support.programs_in_forks import Programs

PRELUDE = """
import threading
from ascend_rt import Device, Stream, ffi, lib, sim

device = Device(0)
device.set_current()
host = ffi.new("char[]", 4096)

def ok(code):
    assert code == 0, (code, text())

def text():
    found = lib.aclGetRecentErrMsg()
    return "" if found == ffi.NULL else ffi.string(found).decode()

def refused(code, wanted=107000):
    assert code == wanted, code
    print(text())

def new(kind, function, *arguments):
    out = ffi.new(kind)
    ok(getattr(lib, function)(out, *arguments))  # new
    return out[0]

def malloc(size):
    return new("void **", "aclrtMalloc", size, 0)

def stream():
    return new("aclrtStream *", "aclrtCreateStream")

def fill(memory, size, stream):
    ok(lib.aclrtMemsetAsync(memory, size, 1, size, stream))  # fill

def at(memory, offset):
    return ffi.cast("char *", memory) + offset

def pool():
    props = ffi.new("aclrtMemPoolProps *", {"location": {"type": lib.ACL_MEM_LOCATION_TYPE_DEVICE}})
    return new("aclrtMemPool *", "aclrtMemPoolCreate", props)

def take(pool, size, stream):
    return new("void **", "aclrtMemPoolMallocAsync", size, pool, stream)

def physical(size, place=lib.ACL_MEM_LOCATION_TYPE_DEVICE):
    prop = ffi.new("aclrtPhysicalMemProp *", {
        "allocationType": lib.ACL_MEM_ALLOCATION_TYPE_PINNED, "memAttr": lib.ACL_MEM_HUGE, "location": {"type": place}})
    return new("aclrtDrvMemHandle *", "aclrtMallocPhysical", size, prop, 0)

def mapped(address, size, place=lib.ACL_MEM_LOCATION_TYPE_DEVICE):
    ok(lib.aclrtMapMem(address, size, 0, physical(size, place), 0))  # map
    return address

def reserve(size):
    return new("void **", "aclrtReserveMemAddress", size, 0, ffi.NULL, 1)

a, b = stream(), stream()
MIB = 1 << 20
"""


class Program:
    """A program that has run, with its output and its reports in the readable form."""

    def __init__(self, programs: Programs, script: str, path: Path, check: str | None, prelude: str) -> None:
        self.source = prelude + script
        path.write_text(self.source, encoding="utf-8")
        done = programs.run(path, variables={"ASCEND_RT_SIM_CHECK": check or ""})
        assert done.returncode == 0, done.stderr
        self.path = path
        self.output = self.readable(done.stdout)
        first, *reports = done.stderr.split("ascend_rt simulator, memory check: ")
        assert first == ""
        self.reports = [self.readable(report).rstrip("\n") for report in reports]

    def readable(self, text: str) -> str:
        lines = self.source.splitlines()

        def place(found: re.Match[str]) -> str:
            return lines[int(found[1]) - 1].rpartition("# ")[2]

        text = re.sub(re.escape(str(self.path)) + r":(\d+) in [\w<>]+", place, text)
        text = re.sub(r"task \d+ of stream \d+", "task N of stream S", text)
        return re.sub(r"0x[0-9a-f]+", "P", text)


Run = Callable[..., Program]

GIVEN = "100 bytes at P that aclrtMalloc at new gave"
FREED = "100 bytes at P that aclrtMalloc at new gave and aclrtFree at free freed"
POOLED = "100 bytes at P that aclrtMemPoolMallocAsync at new gave"
HELD = "task N of stream S, which aclrtMemsetAsync at fill submitted, still uses it; synchronize first"
INSIDE = "are not inside one live allocation; inside"
