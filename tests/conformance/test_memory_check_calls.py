# SPDX-License-Identifier: Apache-2.0
"""``ASCEND_RT_SIM_CHECK=memory``: every call that takes addresses is checked, also while it blocks."""

from __future__ import annotations

import re

import pytest
from support.memory_check import HELD, INSIDE, Run

pytestmark = pytest.mark.simulator("memory check")

FULL = 1792  # the capacity of a stream's queue on 910B


# Every call that takes an address, with ``memory`` that was freed into a pool: each must give a report.
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


def test_every_call_that_takes_addresses_is_checked(run_checked: Run) -> None:
    calls = "".join(f"print({call})  # {number}\n" for number, call in enumerate(CALLS))
    program = run_checked(OPERANDS + calls + "lib.aclrtStreamAbort(a)")
    codes = program.output.split()
    reported = {int(found[1]) for report in program.reports if (found := re.match(r"aclrt\w+ at (\d+) uses", report))}
    refused = {number for number, code in enumerate(codes) if code == "207000"}
    assert sorted(reported | refused) == list(range(len(CALLS))), codes
    assert len(refused) <= 5, refused


# Calls that use ``memory`` and block on stream ``a``: -> how many tasks are queued before.
BLOCKING = {
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
WHILE_IT_BLOCKS = """
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
@pytest.mark.parametrize("call", BLOCKING)
def test_memory_that_is_freed_while_a_call_blocks(
    run_checked: Run, call: str, then: str, check: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_RT_SIM_PRODUCT", "910B")
    monkeypatch.setenv("ASCEND_RT_SIM_STALL_MS", "1")
    program = run_checked(WHILE_IT_BLOCKS.format(call=call, then=then, tasks=BLOCKING[call]), check)
    user = call[len("lib.") : call.index("(")]
    report = (
        "64 bytes at P that aclrtMalloc at new gave and aclrtFree at free freed\n"
        f"  while {user} at use still uses it; synchronize first"
    )
    assert program.output == ("107000\n" if then == "pass" else "0\n")
    assert program.reports == ([] if check is None else [report])


def test_an_operators_workspace_is_checked(run_checked: Run) -> None:
    """The report names the operator's line, although the allocator's callbacks have made calls since."""
    program = run_checked("""
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


def test_imported_memory(run_checked: Run) -> None:
    program = run_checked("""
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
