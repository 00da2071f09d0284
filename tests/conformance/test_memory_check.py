# SPDX-License-Identifier: Apache-2.0
"""``ASCEND_RT_SIM_CHECK=memory``: mistakes with memory that the runtime does not notice are reported with their places.

Every program runs in a process of its own. In its reports a place is written as the word behind ``#`` in that line of
the program, an address as ``P``, and a task as ``task N of stream S``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_rt import _driver

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
FULL = 2013  # tasks that a stream of 910B takes


class Program:
    """A program that has run: its output, and its reports in the words of the module's docstring."""

    def __init__(self, script: str, path: Path, check: str | None = "memory", prelude: str = PRELUDE) -> None:
        self.source = prelude + script
        path.write_text(self.source, encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if name != "ASCEND_RT_SIM_CHECK"}
        environment |= {} if check is None else {"ASCEND_RT_SIM_CHECK": check}
        done = subprocess.run(
            [sys.executable, str(path)],
            env=environment,
            cwd=path.parent,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
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


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a program with the check."""

    def start(script: str, check: str | None = "memory", prelude: str = PRELUDE) -> Program:
        return Program(script, tmp_path / "program.py", check, prelude)

    return start


GIVEN = "100 bytes at P that aclrtMalloc at new gave"
FREED = "100 bytes at P that aclrtMalloc at new gave and aclrtFree at free freed"
POOLED = "100 bytes at P that aclrtMemPoolMallocAsync at new gave"
HELD = "task N of stream S, which aclrtMemsetAsync at fill submitted, still uses it; synchronize first"

# What the runtime takes: name -> (program, its reports).
REPORTED = {
    "behind the size, inside the padding": (
        "ok(lib.aclrtMemset(malloc(100), 110, 0, 110))  # use",
        [f"aclrtMemset at use uses 110 bytes at P (dst),\n  10 of them past the end of {GIVEN}"],
    ),
    "all of it behind the size": (
        "ok(lib.aclrtMemset(at(malloc(100), 104), 8, 0, 8))  # use",
        [f"aclrtMemset at use uses 8 bytes at P (dst),\n  8 of them past the end of {GIVEN}"],
    ),
    "behind the size, where older memory was": (
        """
ok(lib.aclrtFree(malloc(400)))
ok(lib.aclrtMemset(at(malloc(100), 104), 8, 0, 8))  # use
""",
        [f"aclrtMemset at use uses 8 bytes at P (dst),\n  8 of them past the end of {GIVEN}"],
    ),
    "pinned memory": (
        """
pinned = new("void **", "aclrtMallocHost", 100)
ok(lib.aclrtMemcpy(malloc(200), 200, pinned, 101, lib.ACL_MEMCPY_HOST_TO_DEVICE))  # use
""",
        [
            "aclrtMemcpy at use uses 101 bytes at P (src),\n"
            "  1 of them past the end of 100 bytes at P that aclrtMallocHost at new gave"
        ],
    ),
    "managed memory": (
        """
managed = new("void **", "aclrtMemAllocManaged", 100, lib.ACL_RT_MEM_ATTACH_GLOBAL)
ok(lib.aclrtMemset(managed, 101, 0, 101))  # use
""",
        [
            "aclrtMemset at use uses 101 bytes at P (dst),\n"
            "  1 of them past the end of 100 bytes at P that aclrtMemAllocManaged at new gave"
        ],
    ),
    "free while a task uses it": (
        """
memory = malloc(100)
lib.aclsimHold(1)
fill(memory, 100, a)
ok(lib.aclrtFree(memory))  # free
lib.aclsimHold(0)
""",
        [f"{FREED}\n  while {HELD}"],
    ),
    "free of pinned memory that a task uses": (
        """
pinned, memory = new("void **", "aclrtMallocHost", 100), malloc(100)
lib.aclsimHold(1)
ok(lib.aclrtMemcpyAsync(memory, 100, pinned, 100, lib.ACL_MEMCPY_HOST_TO_DEVICE, a))  # copy
ok(lib.aclrtFreeHost(pinned))  # free
lib.aclsimHold(0)
""",
        [
            "100 bytes at P that aclrtMallocHost at new gave and aclrtFreeHost at free freed\n"
            "  while task N of stream S, which aclrtMemcpyAsync at copy submitted, still uses it; synchronize first"
        ],
    ),
    "free of pinned memory that is registered": (
        """
pinned = new("void **", "aclrtMallocHost", 8192)
ok(lib.aclrtHostRegister(at(pinned, 4096), 4096, lib.ACL_HOST_REGISTER_MAPPED, ffi.new("void **")))
ok(lib.aclrtFreeHost(pinned))  # free
""",
        [
            "aclrtFreeHost at free frees P, which is registered; call aclrtHostUnregister first,\n"
            "  inside 8192 bytes at P that aclrtMallocHost at new gave"
        ],
    ),
    "free of managed memory that a task uses": (
        """
managed = new("void **", "aclrtMemAllocManaged", 2 * MIB, lib.ACL_RT_MEM_ATTACH_GLOBAL)
where = ffi.new("aclrtMemManagedLocation *", {"type": lib.ACL_MEM_LOCATIONTYPE_DEVICE})[0]
lib.aclsimHold(1)
ok(lib.aclrtMemManagedPrefetchAsync(managed, 2 * MIB, where, 0, a))  # prefetch
ok(lib.aclrtFree(managed))  # free
lib.aclsimHold(0)
""",
        [
            "2097152 bytes at P that aclrtMemAllocManaged at new gave and aclrtFree at free freed\n  while "
            "task N of stream S, which aclrtMemManagedPrefetchAsync at prefetch submitted, still uses it; "
            "synchronize first"
        ],
    ),
    "unmapping memory that a task uses": (
        """
memory = mapped(reserve(2 * MIB), 2 * MIB)
lib.aclsimHold(1)
ok(lib.aclrtValueWrite(memory, 1, 0, a))  # write
ok(lib.aclrtUnmapMem(memory))  # unmap
ok(lib.aclrtStreamAbort(a))
lib.aclsimHold(0)
""",
        [
            "2097152 bytes at P that aclrtMapMem at map gave and aclrtUnmapMem at unmap freed\n  while "
            "task N of stream S, which aclrtValueWrite at write submitted, still uses it; synchronize first"
        ],
    ),
    "use after a free into the pool": (
        """
memory = take(pool(), 100, a)
ok(lib.aclrtMemPoolFreeAsync(memory, a))  # free
ok(lib.aclrtMemset(memory, 8, 0, 8))  # use
""",
        [f"aclrtMemset at use uses 8 bytes at P (dst),\n  inside {POOLED} and aclrtMemPoolFreeAsync at free freed"],
    ),
    "behind the size, in a pool": (
        """
p = pool()
memory, neighbour = take(p, 100, a), take(p, 100, a)
ok(lib.aclrtMemset(at(memory, 100), 8, 0, 8))  # use
""",
        [f"aclrtMemset at use uses 8 bytes at P (dst),\n  8 of them past the end of {POOLED}"],
    ),
    "free in a stream while another one works": (
        """
memory = take(pool(), 100, a)
gate = new("aclrtEvent *", "aclrtCreateEventWithFlag", 1)
ok(lib.aclrtStreamWaitEvent(a, gate))
fill(memory, 100, a)
ok(lib.aclrtMemPoolFreeAsync(memory, b))  # free
ok(lib.aclrtRecordEvent(gate, ffi.NULL))
ok(lib.aclrtSynchronizeStream(a))
""",
        [f"{POOLED} and aclrtMemPoolFreeAsync at free freed\n  while {HELD}"],
    ),
    "aclrtFree of pool memory that a task uses": (
        """
memory = take(pool(), 100, a)
lib.aclsimHold(1)
fill(memory, 100, a)
ok(lib.aclrtFree(memory))  # free
lib.aclsimHold(0)
""",
        [f"{POOLED} and aclrtFree at free freed\n  while {HELD}"],
    ),
    "a pool that is destroyed while a task uses its memory": (
        """
p = pool()
memory = take(p, 100, a)
lib.aclsimHold(1)
fill(memory, 100, a)
ok(lib.aclrtMemPoolDestroy(p))  # destroy
lib.aclsimHold(0)
""",
        [f"{POOLED} and aclrtMemPoolDestroy at destroy freed\n  while {HELD}"],
    ),
    "use after a free in the order of a stream": (
        """
memory = malloc(100)
lib.aclsimHold(1)
ok(lib.aclrtMemPoolFreeAsync(memory, a))  # free
fill(memory, 100, a)
lib.aclsimHold(0)
""",
        [
            "aclrtMemsetAsync at fill uses 100 bytes at P (dst),\n"
            f"  inside {GIVEN} and aclrtMemPoolFreeAsync at free freed"
        ],
    ),
    "a free in a stream of memory that was freed": (
        """
memory = malloc(100)
ok(lib.aclrtFree(memory))  # free
ok(lib.aclrtMemPoolFreeAsync(memory, a))  # again
assert lib.aclrtSynchronizeStream(a) == 107000
""",
        [f"aclrtMemPoolFreeAsync at again frees P, which is not the start of live device memory,\n  inside {FREED}"],
    ),
    "a free in a stream of pool memory that was trimmed": (
        """
memory = take(pool(), 100, a)
ok(lib.aclrtMemPoolFreeAsync(memory, a))  # free
ok(lib.aclrtSynchronizeStream(a))
ok(lib.aclrtMemPoolFreeAsync(memory, a))  # again
assert lib.aclrtSynchronizeStream(a) == 107000
""",
        [
            "aclrtMemPoolFreeAsync at again frees P, which is not the start of live device memory,\n"
            f"  inside {POOLED} and aclrtMemPoolFreeAsync at free freed"
        ],
    ),
    "a free in a stream of a middle address": (
        """
ok(lib.aclrtMemPoolFreeAsync(at(malloc(100), 64), a))  # free
assert lib.aclrtSynchronizeStream(a) == 107000
""",
        [f"aclrtMemPoolFreeAsync at free frees P, which is not the start of live device memory,\n  inside {GIVEN}"],
    ),
    "a model that is executed with memory that was freed": (
        """
memory = take(pool(), 100, a)
model = new("aclmdlRI *", "aclmdlRIBuildBegin", 0)
kept = new("aclrtStream *", "aclrtCreateStreamWithConfig", 0, lib.ACL_STREAM_PERSISTENT)
ok(lib.aclmdlRIBindStream(model, kept, 0))
fill(memory, 100, kept)
ok(lib.aclmdlRIEndTask(model, kept))
ok(lib.aclmdlRIBuildEnd(model, ffi.NULL))
ok(lib.aclmdlRIExecute(model, -1))
ok(lib.aclrtMemPoolFreeAsync(memory, a))  # free
ok(lib.aclmdlRIExecute(model, -1))
""",
        [
            "task N of stream S, which aclrtMemsetAsync at fill submitted, is executed by its model and uses\n"
            f"  {POOLED} and aclrtMemPoolFreeAsync at free freed"
        ],
    ),
    "free of memory that a task has found and works on": (
        """
size = 256 * MIB
source, target, descriptor = malloc(size), malloc(size), malloc(64)
kind = lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE
ok(lib.aclrtSetMemcpyDesc(descriptor, kind, source, target, size, ffi.NULL))
ok(lib.aclrtMemcpyAsyncWithDesc(descriptor, kind, a))  # copy
ok(lib.aclrtFree(source))  # free
""",
        [
            "268435456 bytes at P that aclrtMalloc at new gave and aclrtFree at free freed\n"
            "  while task N of stream S, which aclrtMemcpyAsyncWithDesc at copy submitted, still uses it; "
            "synchronize first"
        ],
    ),
    "free of memory that a task of a model has found": (
        """
size = 256 * MIB
source, target, descriptor = malloc(size), malloc(size), malloc(64)
model = new("aclmdlRI *", "aclmdlRIBuildBegin", 0)
kept = new("aclrtStream *", "aclrtCreateStreamWithConfig", 0, lib.ACL_STREAM_PERSISTENT)
ok(lib.aclmdlRIBindStream(model, kept, 0))
kind = lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE
ok(lib.aclrtMemcpyAsyncWithDesc(descriptor, kind, kept))  # copy
ok(lib.aclmdlRIEndTask(model, kept))
ok(lib.aclmdlRIBuildEnd(model, ffi.NULL))
def execute(source, size):
    ok(lib.aclrtSetMemcpyDesc(descriptor, kind, source, target, size, ffi.NULL))
    ok(lib.aclmdlRIExecuteAsync(model, a))
earlier = malloc(64)
execute(earlier, 64)
ok(lib.aclrtSynchronizeStream(a))
ok(lib.aclrtFree(earlier))
execute(source, size)
ok(lib.aclrtFree(source))  # free
""",
        [
            "268435456 bytes at P that aclrtMalloc at new gave and aclrtFree at free freed\n"
            "  while task N of stream S, which aclrtMemcpyAsyncWithDesc at copy submitted, still uses it; "
            "synchronize first"
        ],
    ),
    "a task that finds freed memory": (
        """
memory, descriptor = malloc(100), malloc(64)
kind = lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE
ok(lib.aclrtSetMemcpyDesc(descriptor, kind, memory, malloc(100), 100, ffi.NULL))
lib.aclsimHold(1)
ok(lib.aclrtMemcpyAsyncWithDesc(descriptor, kind, a))  # copy
ok(lib.aclrtFree(memory))  # free
lib.aclsimHold(0)
assert lib.aclrtSynchronizeStream(a) == 507013
""",
        [
            "task N of stream S, which aclrtMemcpyAsyncWithDesc at copy submitted, uses 100 bytes at P (src),\n"
            f"  inside {FREED}"
        ],
    ),
    "a task whose descriptor is gone": (
        """
descriptor = malloc(100)
kind = lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE
ok(lib.aclrtSetMemcpyDesc(descriptor, kind, malloc(64), malloc(64), 64, ffi.NULL))
lib.aclsimHold(1)
ok(lib.aclrtMemcpyAsyncWithDesc(descriptor, kind, a))  # copy
ok(lib.aclrtFree(descriptor))  # free
lib.aclsimHold(0)
assert lib.aclrtSynchronizeStream(a) == 507013
""",
        [
            f"{FREED}\n  while task N of stream S, which aclrtMemcpyAsyncWithDesc at copy submitted, still uses it; "
            "synchronize first",
            "task N of stream S, which aclrtMemcpyAsyncWithDesc at copy submitted, uses 32 bytes at P (desc),\n"
            f"  inside {FREED}",
        ],
    ),
    "an address that a task reads": (
        """
p = pool()
gone = take(p, 100, a)
words = malloc(64)
ffi.cast("uint64_t *", words)[0:2] = [int(ffi.cast("uintptr_t", it)) for it in (gone, malloc(64))]
ok(lib.aclrtMemPoolFreeAsync(gone, a))  # free
target, source = (ffi.cast("void **", at(words, offset)) for offset in (0, 8))
ok(lib.aclrtMemcpyAsyncWithOffset(target, 64, 0, source, 64, 0, lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, a))  # copy
""",
        [
            "task N of stream S, which aclrtMemcpyAsyncWithOffset at copy submitted, uses 64 bytes at P (dst),\n"
            f"  inside {POOLED} and aclrtMemPoolFreeAsync at free freed"
        ],
    ),
}


@pytest.mark.parametrize("name", REPORTED)
def test_what_the_runtime_lets_pass_is_reported(run: Run, name: str) -> None:
    script, expected = REPORTED[name]
    end = "\nok(lib.aclrtSynchronizeDevice())\nassert lib.aclsimGetCheckReports() == sim.check_reports()"
    program = run(script + end + "\nprint(sim.check_reports())")
    assert program.reports == expected
    assert program.output.splitlines()[-1] == str(len(expected))


INSIDE = "are not inside one live allocation; inside"
NO_START = "is not the start of live device memory; inside"

# What the runtime refuses: name -> (program, the text of the failure).
REFUSED = {
    "far behind the end": (
        "refused(lib.aclrtMemset(malloc(100), 9000, 0, 9000))",
        f"aclrtMemset: dst: 9000 bytes at P {INSIDE} {GIVEN}",
    ),
    "far behind the end from the first byte": (
        "refused(lib.aclrtMemset(at(malloc(100), 9100), 8, 0, 8))",
        f"aclrtMemset: dst: 8 bytes at P are not inside one live allocation; 9000 bytes behind {GIVEN}",
    ),
    "nowhere": (
        "refused(lib.aclrtMemset(at(malloc(100), 1 << 30), 8, 0, 8))",
        "aclrtMemset: dst: 8 bytes at P are not inside one live allocation; no allocation is near",
    ),
    "use after free": (
        "memory = malloc(100)\nok(lib.aclrtFree(memory))  # free\nrefused(lib.aclrtMemset(memory, 8, 0, 8))",
        f"aclrtMemset: dst: 8 bytes at P {INSIDE} {FREED}",
    ),
    "double free": (
        "memory = malloc(100)\nok(lib.aclrtFree(memory))  # free\nrefused(lib.aclrtFree(memory))",
        f"aclrtFree: P {NO_START} {FREED}",
    ),
    "free of a middle address": (
        "memory = malloc(100)\nrefused(lib.aclrtFree(at(memory, 64)))",
        f"aclrtFree: P {NO_START} {GIVEN}",
    ),
    "free of a middle address where older memory was": (
        """
ok(lib.aclrtFree(malloc(100)))
memory = malloc(100)
refused(lib.aclrtFree(at(memory, 64)))
""",
        f"aclrtFree: P {NO_START} {GIVEN}",
    ),
    "double free of pinned memory": (
        """
memory = new("void **", "aclrtMallocHost", 100)
ok(lib.aclrtFreeHost(memory))  # free
refused(lib.aclrtFreeHost(memory))
""",
        "aclrtFreeHost: P is not the start of live pinned host memory; inside 100 bytes at P that aclrtMallocHost at "
        "new gave and aclrtFreeHost at free freed",
    ),
    "double free into a pool": (
        """
memory = take(pool(), 100, a)
ok(lib.aclrtMemPoolFreeAsync(memory, a))  # free
refused(lib.aclrtMemPoolFreeAsync(memory, a))
""",
        "aclrtMemPoolFreeAsync: P is inside a pool and not the start of a block that is in use; inside "
        f"{POOLED} and aclrtMemPoolFreeAsync at free freed",
    ),
    "free of what a stream is to free": (
        """
memory = malloc(100)
lib.aclsimHold(1)
ok(lib.aclrtMemPoolFreeAsync(memory, a))  # free
refused(lib.aclrtFree(memory))
lib.aclsimHold(0)
""",
        f"aclrtFree: P {NO_START} {GIVEN} and aclrtMemPoolFreeAsync at free freed",
    ),
    "free in a stream of what another one is to free": (
        """
memory = malloc(100)
lib.aclsimHold(1)
ok(lib.aclrtMemPoolFreeAsync(memory, a))  # free
refused(lib.aclrtMemPoolFreeAsync(memory, b))
lib.aclsimHold(0)
""",
        f"aclrtMemPoolFreeAsync: P was given to a stream to free already; inside {GIVEN} and aclrtMemPoolFreeAsync at "
        "free freed",
    ),
    "device memory freed as the host's": (
        "refused(lib.aclrtFreeHost(malloc(100)))",
        f"aclrtFreeHost: P is not the start of live pinned host memory; inside {GIVEN}",
    ),
    "host memory freed as the device's": (
        'refused(lib.aclrtFree(new("void **", "aclrtMallocHost", 100)))',
        f"aclrtFree: P {NO_START} 100 bytes at P that aclrtMallocHost at new gave",
    ),
    "memory of the user freed": (
        "refused(lib.aclrtFree(host))",
        "aclrtFree: P is not the start of live device memory; no allocation is near",
    ),
    "a mapping freed": (
        "refused(lib.aclrtFree(mapped(reserve(2 * MIB), 2 * MIB)))",
        f"aclrtFree: P {NO_START} 2097152 bytes at P that aclrtMapMem at map gave",
    ),
    "use after unmapping": (
        """
memory = mapped(reserve(2 * MIB), 2 * MIB)
ok(lib.aclrtUnmapMem(memory))  # unmap
refused(lib.aclrtMemset(memory, 8, 0, 8))
""",
        f"aclrtMemset: dst: 8 bytes at P {INSIDE} "
        "2097152 bytes at P that aclrtMapMem at map gave and aclrtUnmapMem at unmap freed",
    ),
    "managed memory after its free": (
        """
managed = new("void **", "aclrtMemAllocManaged", 100, lib.ACL_RT_MEM_ATTACH_GLOBAL)
ok(lib.aclrtFree(managed))  # free
refused(lib.aclrtMemset(managed, 8, 0, 8))
""",
        f"aclrtMemset: dst: 8 bytes at P {INSIDE} "
        "100 bytes at P that aclrtMemAllocManaged at new gave and aclrtFree at free freed",
    ),
    "memory of a device that was reset": (
        """
memory = malloc(100)
ok(lib.aclrtResetDeviceForce(0))  # reset
ok(lib.aclrtSetDevice(0))
refused(lib.aclrtMemset(memory, 8, 0, 8))
""",
        f"aclrtMemset: dst: 8 bytes at P {INSIDE} {GIVEN} and aclrtResetDeviceForce at reset freed",
    ),
    "a mapping freed as the host's": (
        """
memory = mapped(reserve(2 * MIB), 2 * MIB, lib.ACL_MEM_LOCATION_TYPE_HOST)
refused(lib.aclrtFreeHost(memory))
ok(lib.aclrtMemset(memory, 8, 0, 8))
""",
        "aclrtFreeHost: P is not the start of live pinned host memory; inside 2097152 bytes at P that aclrtMapMem at "
        "map gave",
    ),
    "an export of memory that was freed": (
        """
memory = malloc(100)
ok(lib.aclrtFree(memory))  # free
refused(lib.aclrtIpcMemGetExportKey(memory, 100, ffi.new("char[65]"), 65, 0))
""",
        f"aclrtIpcMemGetExportKey: P is not the start of live memory that aclrtMalloc gave; inside {FREED}",
    ),
    "the range of memory that was freed": (
        """
memory = malloc(100)
ok(lib.aclrtFree(memory))  # free
refused(lib.aclrtMemGetAddressRange(memory, ffi.new("void **"), ffi.NULL))
""",
        f"aclrtMemGetAddressRange: P is in no live memory of the runtime; inside {FREED}",
    ),
    "advice on memory that was freed": (
        """
managed = new("void **", "aclrtMemAllocManaged", 2 * MIB, lib.ACL_RT_MEM_ATTACH_GLOBAL)
ok(lib.aclrtFree(managed))  # free
where = ffi.new("aclrtMemManagedLocation *")[0]
refused(lib.aclrtMemManagedAdvise(managed, 2 * MIB, lib.ACL_MEM_ADVISE_SET_READ_MOSTLY, where))
""",
        "aclrtMemManagedAdvise: 2097152 bytes at P are not inside one piece of managed memory; inside 2097152 bytes at "
        "P that aclrtMemAllocManaged at new gave and aclrtFree at free freed",
    ),
    "registering memory that was freed": (
        """
pinned = new("void **", "aclrtMallocHost", 2 * MIB)
ok(lib.aclrtFreeHost(pinned))  # free
refused(lib.aclrtHostRegister(pinned, 4096, lib.ACL_HOST_REGISTER_MAPPED, ffi.new("void **")))
""",
        "aclrtHostRegister: 4096 bytes at P are not live memory of the host; inside 2097152 bytes at P that "
        "aclrtMallocHost at new gave and aclrtFreeHost at free freed",
    ),
    "unmapping twice": (
        """
memory = mapped(reserve(2 * MIB), 2 * MIB)
ok(lib.aclrtUnmapMem(memory))  # unmap
refused(lib.aclrtUnmapMem(memory))
""",
        "aclrtUnmapMem: nothing is mapped that starts at P; inside 2097152 bytes at P that aclrtMapMem at map gave and "
        "aclrtUnmapMem at unmap freed",
    ),
    "a value in memory that was freed": (
        "memory = malloc(100)\nok(lib.aclrtFree(memory))  # free\nrefused(lib.aclrtValueWrite(memory, 1, 0, a))",
        f"aclrtValueWrite: P is not 8 bytes of live device memory, aligned to 8; inside {FREED}",
    ),
    "a value in host memory": (
        "refused(lib.aclrtValueWait(host, 1, 0, a))",
        "aclrtValueWait: P is not 8 bytes of live device memory, aligned to 8; no allocation is near",
    ),
    "a reduction in host memory": (
        "refused(lib.aclrtReduceAsync(host, malloc(8), 8, lib.ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, 0, a, ffi.NULL))",
        "aclrtReduceAsync: dst is no memory of a device",
    ),
    "a word fill in host memory": (
        "refused(lib.aclrtMemsetD32(host, 8, 0, 2), 100000)",
        "aclrtMemsetD32: P is neither device memory nor pinned host memory",
    ),
    "a kind of copy that needs device memory": (
        """
pinned = new("void **", "aclrtMallocHost", 100)
refused(lib.aclrtMemcpyAsync(pinned, 8, host, 8, lib.ACL_MEMCPY_HOST_TO_DEVICE, a))
""",
        "aclrtMemcpyAsync: copy kind 1 does not fit: dst is pinned host memory, src host memory that is not registered",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_runtime_refuses_is_explained(run: Run, name: str) -> None:
    script, expected = REFUSED[name]
    program = run(script)
    assert program.reports == []
    assert program.output == expected + "\n"


# Programs that are right.
RIGHT = {
    "a free after a synchronization": """
memory = malloc(100)
fill(memory, 100, a)
ok(lib.aclrtSynchronizeStream(a))
ok(lib.aclrtFree(memory))
""",
    "memory of a pool in the order of its stream": """
p = pool()
lib.aclsimHold(1)
for size in (100, 3 * MIB, 100):
    memory = take(p, size, a)
    fill(memory, size, a)
    ok(lib.aclrtMemPoolFreeAsync(memory, a))
lib.aclsimHold(0)
""",
    "a free in another stream, ordered by an event": """
memory = take(pool(), 100, a)
done = new("aclrtEvent *", "aclrtCreateEventWithFlag", 1)
lib.aclsimHold(1)
fill(memory, 100, a)
ok(lib.aclrtRecordEvent(done, a))
ok(lib.aclrtStreamWaitEvent(b, done))
ok(lib.aclrtMemPoolFreeAsync(memory, b))
lib.aclsimHold(0)
""",
    "a free that a write into the same memory releases": """
memory = malloc(64)
ok(lib.aclrtMemset(memory, 64, 0, 64))
ok(lib.aclrtValueWait(memory, 7, 1, b))
gate = new("aclrtEvent *", "aclrtCreateEventWithFlag", 1)
ok(lib.aclrtStreamWaitEvent(a, gate))
ok(lib.aclrtValueWrite(memory, 7, 0, a))
ok(lib.aclrtMemPoolFreeAsync(memory, b))
ok(lib.aclrtRecordEvent(gate, ffi.NULL))
""",
    "memory of aclrtMalloc in the order of a stream": """
memory = malloc(100)
lib.aclsimHold(1)
fill(memory, 100, a)
ok(lib.aclrtMemPoolFreeAsync(memory, a))
lib.aclsimHold(0)
""",
    "a free behind a model that uses the memory": """
memory, other = malloc(100), take(pool(), 100, a)
model = new("aclmdlRI *", "aclmdlRIBuildBegin", 0)
kept = new("aclrtStream *", "aclrtCreateStreamWithConfig", 0, lib.ACL_STREAM_PERSISTENT)
ok(lib.aclmdlRIBindStream(model, kept, 0))
fill(memory, 100, kept)
fill(other, 100, kept)
ok(lib.aclmdlRIEndTask(model, kept))
ok(lib.aclmdlRIBuildEnd(model, ffi.NULL))
lib.aclsimHold(1)
ok(lib.aclmdlRIExecuteAsync(model, a))
ok(lib.aclrtMemPoolFreeAsync(memory, a))
ok(lib.aclrtMemPoolFreeAsync(other, a))
lib.aclsimHold(0)
""",
    "a free behind a task that reads what it uses": """
p, descriptors = pool(), [malloc(64) for _ in range(3)]
target = malloc(3 * MIB)
lib.aclsimHold(1)
for size, descriptor in zip((100, 3 * MIB, 100), descriptors):
    memory = take(p, size, a)
    ok(lib.aclrtSetMemcpyDesc(descriptor, lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, memory, target, size, ffi.NULL))
    ok(lib.aclrtMemcpyAsyncWithDesc(descriptor, lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, a))
    ok(lib.aclrtMemPoolFreeAsync(memory, a))
ok(lib.aclrtMemPoolFreeAsync(target, a))
lib.aclsimHold(0)
""",
    "a free in a stream that is aborted": """
memory = malloc(100)
lib.aclsimHold(1)
ok(lib.aclrtMemPoolFreeAsync(memory, a))
ok(lib.aclrtStreamAbort(a))
lib.aclsimHold(0)
fill(memory, 100, b)
ok(lib.aclrtSynchronizeStream(b))
ok(lib.aclrtFree(memory))
""",
    "tasks that an abort dropped": """
memory = malloc(100)
lib.aclsimHold(1)
fill(memory, 100, a)
ok(lib.aclrtStreamAbort(a))
ok(lib.aclrtFree(memory))
lib.aclsimHold(0)
""",
    "neighbouring mappings": """
base = reserve(4 * MIB)
for offset in (0, 2 * MIB):
    mapped(at(base, offset), 2 * MIB)
fill(base, 4 * MIB, a)
""",
    "memory of a recorded task that is not executed": """
memory = malloc(100)
model = new("aclmdlRI *", "aclmdlRIBuildBegin", 0)
kept = new("aclrtStream *", "aclrtCreateStreamWithConfig", 0, lib.ACL_STREAM_PERSISTENT)
ok(lib.aclmdlRIBindStream(model, kept, 0))
fill(memory, 100, kept)
ok(lib.aclrtFree(memory))
""",
    "a buffered copy whose source is freed": """
pinned, memory = new("void **", "aclrtMallocHost", 100), malloc(100)
lib.aclsimHold(1)
ok(lib.aclrtMemcpyAsync(memory, 100, pinned, 100, lib.ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, a))
ok(lib.aclrtFreeHost(pinned))
lib.aclsimHold(0)
""",
    "memory where that of a pool was": """
p = pool()
blocks = [take(p, 2 * MIB, a) for _ in range(4)]
ok(lib.aclrtSynchronizeStream(a))
ok(lib.aclrtMemPoolDestroy(p))
fill(malloc(8 * MIB), 8 * MIB, a)
""",
    "the overflow status where freed memory was": """
ok(lib.aclrtFree(malloc(64)))
status = new("void **", "aclrtCtxGetFloatOverflowAddr")
ok(lib.aclrtMemset(status, 64, 0, 64))
""",
    "registered memory": """
import mmap
page = ffi.from_buffer(pages := mmap.mmap(-1, 4096))
out = ffi.new("void **")
ok(lib.aclrtHostRegister(page, 4096, lib.ACL_HOST_REGISTER_MAPPED, out))
ok(lib.aclrtMemcpyAsync(malloc(4096), 4096, out[0], 4096, lib.ACL_MEMCPY_HOST_TO_DEVICE, a))
ok(lib.aclrtSynchronizeStream(a))
ok(lib.aclrtHostUnregister(page))
ok(lib.aclrtMemset(page, 4096, 0, 4096))
""",
    "several threads": """
p = pool()
def work():
    device.set_current()
    own = stream()
    for _ in range(100):
        memory, pooled = malloc(100), take(p, 100, own)
        fill(memory, 100, own)
        fill(pooled, 100, own)
        ok(lib.aclrtMemPoolFreeAsync(pooled, own))
        ok(lib.aclrtSynchronizeStream(own))
        ok(lib.aclrtFree(memory))
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_program_that_is_right_gives_no_report(run: Run, name: str) -> None:
    program = run(RIGHT[name] + "\nok(lib.aclrtSynchronizeDevice())\nprint(sim.check_reports())")
    assert (program.output, program.reports) == ("0\n", [])


# Calls that take addresses, on ``memory`` of a pool that was freed: each must tell, or it would escape the check.
CALLS = [
    "lib.aclrtMemset(memory, 64, 0, 64)",
    "lib.aclrtMemsetAsync(memory, 64, 0, 64, a)",
    "lib.aclrtMemsetD32(memory, 64, 0, 16)",
    "lib.aclrtMemsetD32Async(memory, 64, 0, 16, a)",
    "lib.aclrtMemcpy(host, 64, memory, 64, lib.ACL_MEMCPY_DEVICE_TO_HOST)",
    "lib.aclrtMemcpyAsync(memory, 64, host, 64, lib.ACL_MEMCPY_HOST_TO_DEVICE, a)",
    "lib.aclrtMemcpyAsync(memory, 64, other, 64, lib.ACL_MEMCPY_DEVICE_TO_DEVICE, a)",
    "lib.aclrtMemcpyAsync(memory, 64, host, 64, lib.ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, a)",
    "lib.aclrtMemcpyAsyncWithCondition(memory, 64, other, 64, lib.ACL_MEMCPY_DEVICE_TO_DEVICE, a)",
    "lib.aclrtMemcpy2d(memory, 8, host, 8, 8, 8, lib.ACL_MEMCPY_HOST_TO_DEVICE)",
    "lib.aclrtMemcpy2dAsync(memory, 8, host, 8, 8, 8, lib.ACL_MEMCPY_HOST_TO_DEVICE, a)",
    "lib.aclrtMemcpyBatch(*batch, index)",
    "lib.aclrtMemcpyBatchAsync(*batch, index, a)",
    "lib.aclrtMemcpyAsyncWithOffset(memory, 64, 0, words, 64, 0, lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, a)",
    "lib.aclrtSetMemcpyDesc(memory, lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, other, other, 64, ffi.NULL)",
    "lib.aclrtSetMemcpyDesc(other, lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, memory, other, 64, ffi.NULL)",
    "lib.aclrtMemcpyAsyncWithDesc(memory, lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, a)",
    "lib.aclrtValueWrite(memory, 1, 0, a)",
    "lib.aclrtValueWait(memory, 0, 0, a)",
    "lib.aclrtReduceAsync(memory, other, 64, lib.ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, 0, a, ffi.NULL)",
    "lib.aclrtGetOverflowStatus(memory, 64, a)",
    "lib.aclrtCmoAsync(memory, 64, lib.ACL_RT_CMO_TYPE_PREFETCH, a)",
    "lib.aclrtCmoSetDesc(memory, other, 64)",
    "lib.aclrtCmoSetDesc(other, memory, 64)",
    "lib.aclrtMemFlush(memory, 64)",
    "lib.aclrtMemInvalidate(memory, 64)",
    "lib.aclrtMemP2PMap(memory, 64, 0, 0)",
]
OPERANDS = """
words, other = malloc(64), malloc(64)
ffi.cast("uint64_t *", words)[0] = int(ffi.cast("uintptr_t", other))
words = ffi.cast("void **", words)
at_device, at_host = {"type": lib.ACL_MEM_LOCATION_TYPE_DEVICE}, {"type": lib.ACL_MEM_LOCATION_TYPE_HOST}
memory = ffi.cast("void **", take(pool(), 64, a))
batch = (
    ffi.new("void *[]", [memory]), ffi.new("size_t[]", [64]), ffi.new("void *[]", [host]), ffi.new("size_t[]", [64]), 1,
    ffi.new("aclrtMemcpyBatchAttr *", {"dstLoc": at_device, "srcLoc": at_host}), ffi.new("size_t[]", [0]), 1)
index = ffi.new("size_t *")
ok(lib.aclrtMemPoolFreeAsync(memory, a))  # free
"""


def test_every_call_that_takes_addresses_is_checked(run: Run) -> None:
    calls = "".join(f"print({call})  # {number}\n" for number, call in enumerate(CALLS))
    program = run(OPERANDS + calls + "lib.aclrtStreamAbort(a)")
    codes = program.output.split()
    told = {int(found[1]) for report in program.reports if (found := re.match(r"aclrt\w+ at (\d+) uses", report))}
    refused = {number for number, code in enumerate(codes) if code == "207000"}
    assert sorted(told | refused) == list(range(len(CALLS))), codes
    assert len(refused) <= 5, refused


# Calls that work on ``memory``, with the stream's queue empty or full when they must wait for ``a``.
WAITING = {
    "lib.aclrtMemcpyAsync(memory, 64, host, 64, lib.ACL_MEMCPY_HOST_TO_DEVICE, a)": 1,
    "lib.aclrtMemcpyAsync(host, 64, memory, 64, lib.ACL_MEMCPY_DEVICE_TO_HOST, a)": 1,
    "lib.aclrtMemcpy2dAsync(memory, 8, host, 8, 8, 8, lib.ACL_MEMCPY_HOST_TO_DEVICE, a)": 1,
    "lib.aclrtMemcpyAsync(other, 64, memory, 64, lib.ACL_MEMCPY_DEVICE_TO_DEVICE, a)": FULL,
    "lib.aclrtMemcpyAsync(memory, 64, host, 64, lib.ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, a)": FULL,
    "lib.aclrtMemsetAsync(memory, 64, 0, 64, a)": FULL,
    "lib.aclrtValueWrite(memory, 1, 0, a)": FULL,
    "lib.aclrtValueWait(memory, 0xCDCDCDCDCDCDCDCD, 0, a)": FULL,
    "lib.aclrtReduceAsync(other, memory, 64, lib.ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, 0, a, ffi.NULL)": FULL,
    "lib.aclrtGetOverflowStatus(memory, 64, a)": FULL,
}
WHILE_IT_WAITS = """
import os
memory, other = malloc(64), malloc(64)
reading, writing = os.pipe()
errors = os.dup(2)
os.dup2(writing, 2)
lib.aclsimHold(1)
for _ in range({tasks}):
    ok(lib.aclrtProfTrace(host, 1, a))
def meanwhile():
    device.set_current()
    while b"has waited" not in os.read(reading, 4096):
        pass
    os.dup2(errors, 2)
    ok(lib.aclrtFree(memory))  # free
    {then}
    lib.aclsimHold(0)
thread = threading.Thread(target=meanwhile)
thread.start()
code = {call}  # use
thread.join()
print(code)
ok(lib.aclrtSynchronizeStream(a))
"""


@pytest.mark.parametrize(
    ("check", "then"), [(None, "pass"), ("memory", "pass"), ("memory", "assert malloc(64) == memory")]
)
@pytest.mark.parametrize("call", WAITING)
def test_memory_that_is_freed_while_a_call_waits(
    run: Run, call: str, then: str, check: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_RT_SIM_PRODUCT", "910B")
    monkeypatch.setenv("ASCEND_RT_SIM_STALL_MS", "1")
    program = run(WHILE_IT_WAITS.format(call=call, then=then, tasks=WAITING[call]), check)
    user = call[len("lib.") : call.index("(")]
    report = (
        "64 bytes at P that aclrtMalloc at new gave and aclrtFree at free freed\n"
        f"  while {user} at use still uses it; synchronize first"
    )
    assert program.output == ("107000\n" if then == "pass" else "0\n")
    assert program.reports == ([] if check is None else [report])


def test_an_operators_workspace_is_checked(run: Run) -> None:
    """Its place is that of the operator, though the allocator's callbacks made calls of their own since."""
    program = run("""
memory = take(pool(), 64, a)
@ffi.callback("void *(void *, size_t)")
def allocate(owner, size):
    ok(lib.aclrtMemPoolFreeAsync(memory, a))  # free
    return memory
@ffi.callback("void (void *, void *)")
def release(owner, block):
    ok(lib.aclrtSetDevice(0))  # release
@ffi.callback("void *(void *)")
def address(block):
    return block
desc = lib.aclrtAllocatorCreateDesc()
ok(lib.aclrtAllocatorSetObjToDesc(desc, memory))
ok(lib.aclrtAllocatorSetAllocFuncToDesc(desc, allocate))
ok(lib.aclrtAllocatorSetFreeFuncToDesc(desc, release))
ok(lib.aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, address))
ok(lib.aclrtAllocatorRegister(a, desc))
ok(lib.aclsimRunOperator(a, 64))  # operator
""")
    assert program.reports == [
        "aclsimRunOperator at operator uses 64 bytes at P (workspace),\n"
        "  inside 64 bytes at P that aclrtMemPoolMallocAsync at new gave and aclrtMemPoolFreeAsync at free freed"
    ]


def test_imported_memory(run: Run) -> None:
    program = run("""
import subprocess, sys
OTHER = '''
import sys
from ascend_rt import Device, ffi, lib
Device(0).set_current()
memory, key = ffi.new("void **"), ffi.new("char[65]")
assert lib.aclrtMalloc(memory, 2097152, 1) == 0
assert lib.aclrtMemset(memory[0], 8, 7, 8) == 0
assert lib.aclrtIpcMemGetExportKey(memory[0], 2097152, key, 65, 1) == 0
print(ffi.string(key).decode(), flush=True)
sys.stdin.read()
'''
other = subprocess.Popen([sys.executable, "-c", OTHER], stdin=-1, stdout=-1, text=True)
key = other.stdout.readline().strip().encode()
memory = ffi.new("void **")
ok(lib.aclrtIpcMemImportByKey(memory, key, 0))  # import
memory = memory[0]
ok(lib.aclrtMemcpy(host, 8, memory, 8, lib.ACL_MEMCPY_DEVICE_TO_HOST))
print(ord(host[0]))
lib.aclsimHold(1)
fill(memory, 8, b)
ok(lib.aclrtIpcMemClose(key))  # close
ok(lib.aclrtStreamAbort(b))
lib.aclsimHold(0)
refused(lib.aclrtMemset(memory, 8, 0, 8))
other.stdin.close()
assert other.wait() == 0
""")
    gone = "2097152 bytes at P that aclrtIpcMemImportByKey at import gave and aclrtIpcMemClose at close freed"
    assert program.reports == [f"{gone}\n  while {HELD}"]
    assert program.output == f"7\naclrtMemset: dst: 8 bytes at P {INSIDE} {gone}\n"


# --- patterns --------------------------------------------------------------------------------------------------------

# What the host sees of simulated memory: name -> (program that shows bytes, those bytes).
PATTERNS = {
    "new": ("show(malloc(100))", "cd cd"),
    "new pinned": ('show(new("void **", "aclrtMallocHost", 100))', "cd cd"),
    "new managed": ('show(new("void **", "aclrtMemAllocManaged", 100, lib.ACL_RT_MEM_ATTACH_GLOBAL))', "cd cd"),
    "freed": ("memory = malloc(100)\nok(lib.aclrtFree(memory))\nshow(memory)", "dd dd"),
    "in a pool, in the order of the stream": (
        """
p = pool()
kept = ffi.new("uint64_t *", 2 * MIB)
ok(lib.aclrtMemPoolSetAttr(p, lib.ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, kept))
memory = take(p, 100, a)
show(memory)
lib.aclsimHold(1)
fill(memory, 100, a)
ok(lib.aclrtMemPoolFreeAsync(memory, a))
show(memory)
lib.aclsimHold(0)
ok(lib.aclrtSynchronizeStream(a))
show(memory)
""",
        "cd cd cd cd dd dd",
    ),
    "a larger block of a pool where two were": (
        """
p = pool()
lib.aclsimHold(1)
second, first = take(p, 2 * MIB, a), take(p, 2 * MIB, a)
first, second = sorted((first, second), key=lambda it: int(ffi.cast("uintptr_t", it)))
fill(first, 100, a)
ok(lib.aclrtMemPoolFreeAsync(first, a))
ok(lib.aclrtMemPoolFreeAsync(second, a))
both = take(p, 4 * MIB, a)
lib.aclsimHold(0)
ok(lib.aclrtSynchronizeStream(a))
show(both)
show(at(both, 2 * MIB))
""",
        "cd cd cd cd",
    ),
    "physical memory keeps its content": (
        """
address = reserve(2 * MIB)
pages = physical(2 * MIB)
ok(lib.aclrtMapMem(address, 2 * MIB, 0, pages, 0))
fill(address, 100, a)
ok(lib.aclrtSynchronizeStream(a))
ok(lib.aclrtUnmapMem(address))
ok(lib.aclrtMapMem(address, 2 * MIB, 0, pages, 0))
show(address)
""",
        "01 01",
    ),
    "a free that is refused leaves the memory alone": (
        """
pinned = new("void **", "aclrtMallocHost", 100)
ok(lib.aclrtMemset(pinned, 100, 1, 100))
refused(lib.aclrtFree(pinned))
ok(lib.aclrtMemPoolFreeAsync(pinned, a))  # report
assert lib.aclrtSynchronizeStream(a) == 107000
show(pinned)
ok(lib.aclrtMemset(pinned, 100, 2, 100))
show(pinned)
""",
        "01 01 02 02",
    ),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns(run: Run, name: str) -> None:
    script, expected = PATTERNS[name]
    show = """
shown = []
def show(memory):
    shown.extend("%02x" % ffi.cast("unsigned char *", memory)[i] for i in (0, 99))
"""
    program = run(show + script + "\nprint(*shown)")
    assert program.output.splitlines()[-1] == expected
    assert len(program.reports) == script.count("# report")


# --- the check itself ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", [None, ""])
def test_without_the_variable_nothing_is_said(run: Run, check: str | None) -> None:
    program = run(
        """
ok(lib.aclrtMemset(malloc(100), 110, 0, 110))
print(sim.check_reports())
refused(lib.aclrtMemset(malloc(100), 9000, 0, 9000))
""",
        check,
    )
    assert program.reports == []
    assert program.output == "0\naclrtMemset: dst: 9000 bytes at P are not inside one live allocation\n"


def test_a_wrong_value_is_an_error_of_the_first_call(run: Run) -> None:
    script = (
        "from ascend_rt import lib, ffi\nprint(lib.aclrtSetDevice(0), ffi.string(lib.aclGetRecentErrMsg()).decode())"
    )
    program = run(script, "races", prelude="")
    assert re.fullmatch(
        r"\d{6} aclrtSetDevice: ASCEND_RT_SIM_CHECK=races is not memory, the only check there is\n", program.output
    )


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


def test_a_report_of_the_facade_names_the_program_and_not_the_package(run: Run) -> None:
    program = run(
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


def test_every_thread_is_told_its_own_places(run: Run) -> None:
    program = run("""
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


def test_the_demonstration_is_right(tmp_path: Path) -> None:
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


def test_a_c_program_is_told_file_and_offset(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = _driver.library().path
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
