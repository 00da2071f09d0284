# SPDX-License-Identifier: Apache-2.0
"""``ASCEND_RT_SIM_CHECK=memory``: memory errors that the runtime accepts are reported, with their source lines.

The programs and the form of their reports are described in support/memory_check.py.
"""

from __future__ import annotations

import pytest
from support.memory_check import FREED, GIVEN, HELD, POOLED, Run

pytestmark = pytest.mark.simulator("memory check")

# Errors that the runtime accepts: name -> (program, its reports).
REPORTED = {
    "past the end, inside the padding": (
        "ok(lib.aclrtMemset(malloc(100), 110, 0, 110))  # use",
        [f"aclrtMemset at use uses 110 bytes at P (dst),\n  10 of them past the end of {GIVEN}"],
    ),
    "entirely past the end": (
        "ok(lib.aclrtMemset(at(malloc(100), 104), 8, 0, 8))  # use",
        [f"aclrtMemset at use uses 8 bytes at P (dst),\n  8 of them past the end of {GIVEN}"],
    ),
    "past the end, where older memory was": (
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
    "past the end, in a pool": (
        """
p = pool()
memory, neighbour = take(p, 100, a), take(p, 100, a)
ok(lib.aclrtMemset(at(memory, 100), 8, 0, 8))  # use
""",
        [f"aclrtMemset at use uses 8 bytes at P (dst),\n  8 of them past the end of {POOLED}"],
    ),
    "free in one stream while another uses the memory": (
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
    "use after a stream-ordered free": (
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
    "stream-ordered free of memory that was freed": (
        """
memory = malloc(100)
ok(lib.aclrtFree(memory))  # free
ok(lib.aclrtMemPoolFreeAsync(memory, a))  # again
assert lib.aclrtSynchronizeStream(a) == 107000
""",
        [f"aclrtMemPoolFreeAsync at again frees P, which is not the start of live device memory,\n  inside {FREED}"],
    ),
    "stream-ordered free of pool memory that was trimmed": (
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
    "stream-ordered free of an address inside an allocation": (
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
    "free of memory that a running indirect copy uses": (
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
    "free of memory that an indirect copy of a model uses": (
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
    "a task whose operand is freed before it runs": (
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
    "a task whose descriptor is freed before it runs": (
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
    "freed memory at an address that a task reads": (
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
def test_an_error_that_the_runtime_accepts_is_reported(run_checked: Run, name: str) -> None:
    script, expected = REPORTED[name]
    end = "\nok(lib.aclrtSynchronizeDevice())\nassert lib.aclsimGetCheckReports() == sim.check_reports()"
    program = run_checked(script + end + "\nprint(sim.check_reports())")
    assert program.reports == expected
    assert program.output.splitlines()[-1] == str(len(expected))
