# SPDX-License-Identifier: Apache-2.0
"""``ASCEND_RT_SIM_CHECK=memory``: the bytes of new and of freed memory."""

from __future__ import annotations

import pytest
from support.memory_check import Run

pytestmark = pytest.mark.simulator("memory check")

# The bytes of simulated memory: name -> (a program that shows some, the bytes).
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
    "a block of a pool that replaces two smaller ones": (
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
    "a rejected free does not change the memory": (
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
def test_patterns(run_checked: Run, name: str) -> None:
    script, expected = PATTERNS[name]
    show = """
shown = []
def show(memory):
    shown.extend("%02x" % ffi.cast("unsigned char *", memory)[i] for i in (0, 99))
"""
    program = run_checked(show + script + "\nprint(*shown)")
    assert program.output.splitlines()[-1] == expected
    assert len(program.reports) == script.count("# report")
