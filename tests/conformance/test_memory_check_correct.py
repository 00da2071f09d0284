# SPDX-License-Identifier: Apache-2.0
"""``ASCEND_RT_SIM_CHECK=memory``: correct programs are not reported."""

from __future__ import annotations

import pytest
from support.memory_check import Run

pytestmark = pytest.mark.simulator("memory check")

# Correct programs: name -> program.
CORRECT = {
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
    "a free that waits for a write to the same memory": """
memory = malloc(64)
ok(lib.aclrtMemset(memory, 64, 0, 64))
ok(lib.aclrtValueWait(memory, 7, 1, b))
gate = new("aclrtEvent *", "aclrtCreateEventWithFlag", 1)
ok(lib.aclrtStreamWaitEvent(a, gate))
ok(lib.aclrtValueWrite(memory, 7, 0, a))
ok(lib.aclrtMemPoolFreeAsync(memory, b))
ok(lib.aclrtRecordEvent(gate, ffi.NULL))
""",
    "stream-ordered free of aclrtMalloc's memory": """
memory = malloc(100)
lib.aclsimHold(1)
fill(memory, 100, a)
ok(lib.aclrtMemPoolFreeAsync(memory, a))
lib.aclsimHold(0)
""",
    "a stream-ordered free after a model that uses the memory": """
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
    "a stream-ordered free after a task that reads its addresses": """
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
    "a stream-ordered free that is aborted": """
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
    "memory at addresses that were a pool's": """
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


@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_program_gives_no_report(run_checked: Run, name: str) -> None:
    program = run_checked(CORRECT[name] + "\nok(lib.aclrtSynchronizeDevice())\nprint(sim.check_reports())")
    assert (program.output, program.reports) == ("0\n", [])
