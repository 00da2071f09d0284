# SPDX-License-Identifier: Apache-2.0
"""``ASCEND_RT_SIM_CHECK=memory``: the text of a rejected call names the allocation and its free."""

from __future__ import annotations

import pytest
from support.memory_check import FREED, GIVEN, INSIDE, POOLED, Run

pytestmark = pytest.mark.simulator("memory check")

NO_START = "is not the start of live device memory; inside"

# Errors that the runtime rejects: name -> (program, the text of the error).
REFUSED = {
    "far past the end": (
        "refused(lib.aclrtMemset(malloc(100), 9000, 0, 9000))",
        f"aclrtMemset: dst: 9000 bytes at P {INSIDE} {GIVEN}",
    ),
    "all of it far past the end": (
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
    "free of an address inside an allocation": (
        "memory = malloc(100)\nrefused(lib.aclrtFree(at(memory, 64)))",
        f"aclrtFree: P {NO_START} {GIVEN}",
    ),
    "free of an address inside an allocation, where older memory was": (
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
    "free of memory with a pending stream-ordered free": (
        """
memory = malloc(100)
lib.aclsimHold(1)
ok(lib.aclrtMemPoolFreeAsync(memory, a))  # free
refused(lib.aclrtFree(memory))
lib.aclsimHold(0)
""",
        f"aclrtFree: P {NO_START} {GIVEN} and aclrtMemPoolFreeAsync at free freed",
    ),
    "second stream-ordered free, in another stream": (
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
    "device memory freed as host memory": (
        "refused(lib.aclrtFreeHost(malloc(100)))",
        f"aclrtFreeHost: P is not the start of live pinned host memory; inside {GIVEN}",
    ),
    "host memory freed as device memory": (
        'refused(lib.aclrtFree(new("void **", "aclrtMallocHost", 100)))',
        f"aclrtFree: P {NO_START} 100 bytes at P that aclrtMallocHost at new gave",
    ),
    "free of memory that the runtime did not allocate": (
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
    "a mapping freed as host memory": (
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
        "aclrtReduceAsync: dst is not memory of a device",
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
def test_an_error_that_the_runtime_rejects_is_explained(run_checked: Run, name: str) -> None:
    script, expected = REFUSED[name]
    program = run_checked(script)
    assert program.reports == []
    assert program.output == expected + "\n"
