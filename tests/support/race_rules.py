# SPDX-License-Identifier: Apache-2.0
"""Rules of the race check as programs: some that a rule makes correct, and some that look alike and are not.

They run under the simulator's check and under that of the vendor's library. The form of the reports is described in
:mod:`support.race_check`.
"""

from __future__ import annotations

from typing import Any

from support.race_check import RACE, READ, WRITE, word_at

NOTIFY = "n = Notify()\n"
WORD = "ok(lib.aclrtMemset(address(z), 8, 0, 8))\n"
SET = "ok(lib.aclrtValueWrite(address(z), 7, 0, raw(a)))\n"
AWAIT = "ok(lib.aclrtValueWait(address(z), 7, lib.ACL_STREAM_WAIT_VALUE_GEQ, raw(b)))\n"
MANUAL = "m = new('aclrtEvent *', 'aclrtCreateEventWithFlag', lib.ACL_EVENT_SYNC)\n"
RECORD_A, RECORD_C = (f"ok(lib.aclrtRecordEvent(m, raw({stream})))\n" for stream in "ac")
AWAIT_MANUAL = "ok(lib.aclrtStreamWaitEvent(raw(b), m))\n"
RESET_A = "ok(lib.aclrtResetEvent(m, raw(a)))\n"
TOUCH = "access(lib.ACLSIM_ACCESS_WRITE, p.ctypes.data, 4096)  # touch\n"
LOOK = "access(lib.ACLSIM_ACCESS_READ, p.ctypes.data, 4096)  # look\n"
QUIETLY = "lib.aclsimAskQuietly(1)\nwhile not e.is_done: pass\nlib.aclsimAskQuietly(0)\n"
PROGRESS = (
    "m = new('aclrtEvent *', 'aclrtCreateEventExWithFlag', lib.ACL_EVENT_CAPTURE_STREAM_PROGRESS)\n"
    + WRITE
    + "ok(lib.aclrtRecordEvent(m, raw(a)))\nstatus = ffi.new('aclrtEventRecordedStatus *')\n"
    + "while status[0] != lib.ACL_EVENT_RECORDED_STATUS_COMPLETE: ok(lib.aclrtQueryEventStatus(m, status))\n"
)
REUSABLE = "ok(lib.aclsimNoteReusable(address(x), 4096))\n"

BUSY = "started = threading.Event()\na.launch_host_func(started.wait)\n"

MODEL = """
model = new("aclmdlRI *", "aclmdlRIBuildBegin", 0)
kept = new("aclrtStream *", "aclrtCreateStreamWithConfig", 0, lib.ACL_STREAM_PERSISTENT)
ok(lib.aclmdlRIBindStream(model, kept, 0))
ok(lib.aclrtMemcpyAsync(address(x), 4096, address(y), 4096, lib.ACL_MEMCPY_DEVICE_TO_DEVICE, kept))  # write
ok(lib.aclmdlRIEndTask(model, kept))
ok(lib.aclmdlRIBuildEnd(model, ffi.NULL))
"""

GRAPH_WITHOUT_EDGE = (
    "with a.capture() as g:\n    e.record(a); b.wait(e)\n    copy_async(x, p, a)\n    copy_async(y, x, b)\n"
    "    f.record(b); a.wait(f)\ng.launch(c)\n"
)

ORDERED = {
    "stream": WRITE + "copy_async(y, x, a)",
    "event": WRITE + "e.record(a); b.wait(e)\n" + READ,
    "event that is recorded again": WRITE + "e.record(a); b.wait(e); e.record(c)\n" + READ,
    "event of a busy stream that is recorded again": (
        BUSY + WRITE + "e.record(a); b.wait(e); e.record(c)\n" + READ + "started.set()\n"
    ),
    "chain of events": WRITE + "e.record(a); c.wait(e); f.record(c); b.wait(f)\n" + READ,
    "record that is complete": WRITE + "e.record(a)\nwhile not e.is_done: pass\nb.wait(e)\n" + READ,
    "event that is destroyed behind its wait": WRITE + "e.record(a); b.wait(e); e.close()\n" + READ,
    "first record of a manual event": WRITE + MANUAL + RECORD_A + RECORD_C + AWAIT_MANUAL + READ,
    "manual event that is reset before": (
        MANUAL + RECORD_A + AWAIT_MANUAL + "e.record(b); a.wait(e)\n" + RESET_A + WRITE + RECORD_A + AWAIT_MANUAL + READ
    ),
    "synchronized stream": WRITE + "a.synchronize()\n" + READ,
    "synchronized manual event that an earlier record has set": (
        MANUAL + RECORD_C + WRITE + RECORD_A + "ok(lib.aclrtSynchronizeEvent(m))\n" + READ
    ),
    "synchronized event": WRITE + "e.record(a); e.synchronize()\n" + READ,
    "synchronized device": WRITE + "device.synchronize()\n" + READ,
    "query that answers complete": WRITE + "while not a.is_done: pass\n" + READ,
    "query of an event for progress": PROGRESS + READ,
    "wait for a record that is complete, and its stream synchronized": (
        "copy_async(p, x, a); e.record(a)\n" + QUIETLY + "b.wait(e); b.synchronize()\n" + LOOK
    ),
    "value that the host has reset": (
        "for i in range(3):\n    ok(lib.aclrtMemset(address(z), 8, 0, 8))\n    "
        + WRITE
        + "    ok(lib.aclrtValueWrite(address(z), 1, 0, raw(a)))\n"
        + "    ok(lib.aclrtValueWait(address(z), 1, lib.ACL_STREAM_WAIT_VALUE_EQ, raw(b)))\n    "
        + READ
        + "    a.synchronize(); b.synchronize()\n"
    ),
    "memory that an allocator gives out again": WRITE + "e.record(a)\n" + QUIETLY + REUSABLE + READ,
    "free after a quiet query": WRITE + "e.record(a)\n" + QUIETLY + "lib.aclrtFree(ffi.cast('void *', x.handle))\n",
    "quiet wait of the host": WRITE + "lib.aclsimAskQuietly(1)\na.synchronize()\nlib.aclsimAskQuietly(0)\n" + READ,
    "waits at one place for records that are complete": (
        "for i in range(4):\n    copy_async([z, x][i // 2], p, a)\n    e.record(a)\n"
        + "".join(f"    {line}\n" for line in QUIETLY.splitlines())
        + "    b.wait(e)\n"
        + READ
    ),
    "record of a stream that waits again": (
        WRITE
        + "e.record(a)\n"
        + QUIETLY
        + "c.wait(e); f.record(c)\ncopy_async(z, q, a)\ne.record(a)\n"
        + QUIETLY
        + "c.wait(e)\nfill_async(z, 1, c)\nb.wait(f)\n"
        + READ
    ),
    "destruction of the stream": WRITE + "a.close(); a = Stream()\n" + READ,
    "destruction of a stream by the C function": (
        "s = new('aclrtStream *', 'aclrtCreateStream')\n"
        "ok(lib.aclrtMemsetAsync(address(x), 4096, 1, 4096, s)); ok(lib.aclrtDestroyStream(s))\n" + READ
    ),
    "free that synchronizes the device": (
        WRITE + "m = new('void **', 'aclrtMalloc', 4096, 0); ok(lib.aclrtFreeWithDevSync(m))\n" + READ
    ),
    "pageable copy": WRITE + "copy_async(bytearray(4096), x, a)\n" + READ,
    "pageable copy for which the package does not wait": (
        WRITE
        + "ok(lib.aclrtMemcpyAsync(ffi.from_buffer(bytearray(4096)), 4096, address(x), 4096, "
        + "lib.ACL_MEMCPY_DEVICE_TO_HOST, raw(a)))\n"
        + READ
    ),
    "host function": "a.launch_host_func(lambda: access(2, p.ctypes.data, 4096))\n" + WRITE,
    "host function behind an event": (
        "copy_async(p, x, a); e.record(a); b.wait(e)\nb.launch_host_func(lambda: access(2, p.ctypes.data, 4096))\n"
    ),
    "host function that synchronizes another stream": (
        WRITE
        + "def wait_for_a():\n    device.set_current()\n    a.synchronize()\n"
        + BUSY.replace("a.", "b.")
        + "b.launch_host_func(wait_for_a)\n"
        + READ
        + "started.set()\n"
    ),
    "host function that submits": (
        WRITE
        + "def read():\n    device.set_current()\n    copy_async(y, x, b)\na.launch_host_func(read)\na.synchronize()\n"
    ),
    "notify": WRITE + NOTIFY + "n.record(a); n.wait(b)\n" + READ,
    "notify that is recorded later": NOTIFY + "n.wait(b)\n" + READ + WRITE + "n.record(a)\n",
    "value": WORD + WRITE + SET + AWAIT + READ,
    "copy of a word beside its wait": WORD + SET + "e.record(a); c.wait(e)\n" + AWAIT + "copy_async(y, z, c)\n",
    "wait that a copy of the host releases": WORD + "p[:8] = 0; p[0] = 7\n" + AWAIT + "copy(z[:8], p[:8])\n",
    "wait that a copy in a stream releases": WORD + "p[:8] = 0; p[0] = 7\n" + AWAIT + "copy_async(z[:8], p[:8], c)\n",
    "notify that two streams record behind the write": (
        WRITE + NOTIFY + "e.record(a); c.wait(e)\nn.record(c); n.record(a); n.wait(b)\n" + READ
    ),
    "notify that is awaited before two streams record it": (
        NOTIFY + "n.wait(b)\n" + READ + "n.wait(b)\n" + BUSY + "n.record(a); n.record(c)\nstarted.set()\n"
    ),
    "notify that another stream records behind the wait": (
        NOTIFY
        + "k = Notify()\n"
        + WRITE
        + "n.record(a)\nk.wait(c); n.record(c)\nn.wait(b)\n"
        + READ
        + "k.record(b); n.wait(b)\n"
    ),
    "notify that another stream records behind a synchronization": (
        NOTIFY
        + "k = Notify()\n"
        + "copy_async(p, x, a)\nn.record(a)\nk.wait(c); n.record(c)\nn.wait(b)\nb.synchronize()\n"
        + LOOK
        + "k.record(b)\n"
    ),
    "notify that a stream awaits behind another one": (
        NOTIFY
        + "k = Notify(); n.record(c)\nk.wait(b); n.wait(b)\n"
        + READ
        + "n.wait(a); k.record(a)\n"
        + WRITE
        + "n.record(a)\n"
    ),
    "notify that a stream records behind another one": (
        NOTIFY
        + "k = Notify(); n.wait(b); k.record(b)\nk.wait(a)\n"
        + WRITE
        + "n.record(a); n.wait(b)\n"
        + READ
        + "n.record(c)\n"
    ),
    "notify that a stream records behind an event": (
        NOTIFY
        + "k, d = Notify(), Stream(); n.wait(b); k.record(b)\nk.wait(a)\n"
        + WRITE
        + "e.record(a); c.wait(e)\nn.record(c); n.wait(b)\n"
        + READ
        + "n.record(d)\n"
    ),
    "notify that its waiting stream records later": (
        NOTIFY + "n.wait(b)\n" + READ + "n.record(b)\n" + WRITE + "n.record(a)\n"
    ),
    "value that its waiting stream writes later": (WORD + AWAIT + READ + SET.replace("raw(a)", "raw(b)") + WRITE + SET),
    "notify that a graph waits for, too": (
        NOTIFY
        + "with c.capture() as g:\n    n.wait(c)\n"
        + "n.record(a); g.launch(c)\ne.record(c); a.wait(e)\n"
        + WRITE
        + "n.record(a); n.wait(b)\n"
        + READ
    ),
    "notify that a graph has waited for twice": (
        NOTIFY
        + "with c.capture() as g:\n    n.wait(c)\n"
        + "for i in range(2):\n    n.record(a); g.launch(c)\n    e.record(c); a.wait(e)\n"
        + WRITE
        + "n.record(a); n.wait(b)\n"
        + READ
    ),
    "notify that the host resets": (
        NOTIFY + "n.record(a); a.synchronize(); Notify.reset_all([n])\n" + WRITE + "n.record(a); n.wait(b)\n" + READ
    ),
    "notify whose former record was aborted": (
        NOTIFY
        + BUSY
        + "n.record(a)\nthreading.Timer(0.05, started.set).start()\nok(lib.aclrtStreamAbort(raw(a)))\n"
        + WRITE
        + "n.record(a); n.wait(b)\n"
        + READ
    ),
    "manual event whose former record was aborted": (
        MANUAL
        + BUSY
        + RECORD_A
        + "threading.Timer(0.05, started.set).start()\nok(lib.aclrtStreamAbort(raw(a)))\n"
        + WRITE
        + RECORD_A
        + AWAIT_MANUAL
        + READ
    ),
    "manual event that a model resets": (
        MANUAL
        + MODEL.replace("ok(lib.aclrtMemcpyAsync", "ok(lib.aclrtResetEvent(m, kept))\nok(lib.aclrtMemcpyAsync")
        + RECORD_A
        + "a.synchronize()\nok(lib.aclmdlRIExecute(model, -1))\n"
        + WRITE
        + RECORD_A
        + AWAIT_MANUAL
        + READ
    ),
    "manual event for which a model waits": (
        MANUAL
        + RECORD_A
        + "a.synchronize()\n"
        + MODEL.replace(
            "ok(lib.aclrtMemcpyAsync", "ok(lib.aclrtStreamWaitEvent(kept, m))\nok(lib.aclrtMemcpyAsync"
        ).replace("address(x), 4096, address(y)", "address(y), 4096, address(x)")
        + "ok(lib.aclrtResetEvent(m, raw(a)))\n"
        + WRITE
        + RECORD_A
        + "ok(lib.aclmdlRIExecuteAsync(model, raw(c)))\n"
    ),
    "first record of a manual event, whose stream is busy": (
        BUSY + WRITE + MANUAL + RECORD_A + RECORD_C + AWAIT_MANUAL + READ + "started.set()\n"
    ),
    "first record of a manual event that is awaited before": (
        BUSY + MANUAL + AWAIT_MANUAL + "copy_async(y, z, b)\n" + RECORD_A + RECORD_C + "started.set()\n"
    ),
    "value that two streams write behind the write": (
        WORD + WRITE + "e.record(a); c.wait(e)\n" + SET.replace("raw(a)", "raw(c)") + SET + AWAIT + READ
    ),
    "value that goes to and fro": WORD
    + "for i in range(3):\n"
    + "".join(
        f"    {line}"
        for line in (
            WRITE,
            SET.replace("7", "1"),
            AWAIT.replace("7", "1").replace("GEQ", "EQ"),
            READ,
            SET.replace("7", "0").replace("raw(a)", "raw(b)"),
            AWAIT.replace("7", "0").replace("GEQ", "EQ").replace("raw(b)", "raw(a)"),
        )
    ),
    "value beside a write of one that does not satisfy the wait": (
        BUSY.replace("a.", "c.")
        + WORD
        + SET.replace("raw(a)", "raw(c)").replace("7", "1")
        + WRITE
        + SET
        + AWAIT
        + READ
        + "b.synchronize()\nstarted.set()\n"
    ),
    "value that another stream writes behind the wait": (
        BUSY.replace("a.", "b.")
        + WORD
        + WRITE
        + SET
        + AWAIT
        + READ
        + SET.replace("raw(a)", "raw(c)")
        + "c.synchronize()\nstarted.set()\n"
    ),
    "values that go on": WORD
    + "for i in range(1, 4):\n"
    + "".join(f"    {line}" for line in (SET.replace("7", "i"), AWAIT.replace("7", "i"))),
    "pool": "pool = MemoryPool(device)\n"
    + "m = pool.allocate(4096, a); copy_async(m, p, a); m.close(a)\n"
    + "m = pool.allocate(4096, b); copy_async(m, p, b); m.close(b)\n",
    "memory of a pool that is part of a later allocation": (
        "pool = MemoryPool(device)\nm, n = (pool.allocate(4096, a) for i in range(2))\nm.close(a); n.close(a)\n"
        "m = pool.allocate(8192, a); fill_async(m, 1, a); m.close(a)\n"
    ),
    "memory of a full pool, which another stream gets": (
        "pool = MemoryPool(device, max_nbytes=2 << 20)\n"
        + BUSY
        + WRITE
        + "m = pool.allocate(2 << 20, a); former = m.handle; m.close(a)\n"
        + "m = pool.allocate(2 << 20, b); assert m.handle == former\n"
        + READ
        + "m.close(b)\nstarted.set()\n"
    ),
    "free in the stream of the last use": (
        "pool = MemoryPool(device)\nm = pool.allocate(4096, a); copy_async(m, p, a); e.record(a); b.wait(e)\n"
        "copy_async(y, m, b); m.close(b)\n"
    ),
    "replays": "with a.capture() as g:\n    copy_async(x, p, a)\n    copy_async(y, x, a)\ng.launch(b); g.launch(b)\n",
    "replays in two streams": "with a.capture() as g:\n    copy_async(x, p, a)\ng.launch(b); g.launch(c)\n",
    "replays that begin in another order": (
        "with a.capture() as g:\n    copy_async(x, p, a)\n"
        + BUSY.replace("a.", "b.")
        + "g.launch(b); g.launch(c); c.synchronize()\nstarted.set()\n"
    ),
    "graph whose memory was freed before its launch": (
        "with a.capture() as g:\n    copy_async(x, p, a)\nformer = x.handle\n"
        "lib.aclrtFree(ffi.cast('void *', former))\nm = Buffer(4096); assert m.handle == former\ng.launch(b)\n"
    ),
    "execution that the host waits for": MODEL
    + "for i in range(3):\n    ok(lib.aclmdlRIExecute(model, -1))\n    copy(bytearray(4096), x)\n",
    "workspace of an operator": "for i in range(3):\n    sim.run_operator(a, 64)\n",
    "edges of a graph": (
        "with a.capture() as g:\n    copy_async(x, p, a)\n    e.record(a); b.wait(e)\n    copy_async(y, x, b)\n"
        "    f.record(b); a.wait(f)\ng.launch(c)\n"
    ),
    "graph between tasks": (
        "with a.capture() as g:\n    copy_async(y, x, a)\ncopy_async(x, p, c)\ng.launch(c)\ncopy_async(x, p, c)\n"
    ),
    "graph behind a wait for a record that is complete": (
        "with c.capture() as g:\n    copy_async(x, q, c)\n"
        + WRITE
        + "e.record(a)\n"
        + QUIETLY
        + "c.wait(e)\ng.launch(c)\n"
    ),
    "host before a graph": (
        "with a.capture() as g:\n    copy_async(x, p, a)\n" + TOUCH + "g.launch(a)\na.synchronize()\n" + TOUCH
    ),
    "reads": "copy_async(y, x, a)\ncopy_async(z, x, b)\n",
    "batches that block": "for i in range(2):\n    copy_batch([(x[:64], p[:64]), (x[64:128], p[:64])])\n",
    "batch in a host function": (
        "def move():\n    device.set_current()\n    copy_batch([(x, p), (y, q)])\n"
        "    access(lib.ACLSIM_ACCESS_WRITE, q.ctypes.data, 64)\na.launch_host_func(move)\n"
    ),
    "batches in a stream": "for i in range(2):\n    copy_batch_async([(x, p), (y, q)], a)\n",
    "neighbours": "copy_async(x[:2048], p[:2048], a)\ncopy_async(x[2048:], p[2048:], b)\n",
    "columns": (
        "for stream, first in ((a, 0), (b, 32)):\n"
        "    ok(lib.aclrtMemcpy2dAsync(address(x) + first, 64, address(y) + first, 64, 32, 64, "
        "lib.ACL_MEMCPY_DEVICE_TO_DEVICE, raw(stream)))\n"
    ),
    "columns of 63 bytes and of one": (
        "for stream, first, width in ((a, 0, 63), (b, 63, 1)):\n"
        "    ok(lib.aclrtMemcpy2dAsync(address(x) + first, 64, address(y) + first, 64, width, 64, "
        "lib.ACL_MEMCPY_DEVICE_TO_DEVICE, raw(stream)))\n"
    ),
    "free after a synchronization": WRITE + "a.synchronize()\nx.close()\n",
    "end of a registration after a synchronization": (
        "n = np.zeros(4096, np.uint8)\nr = RegisteredMemory(n)\ncopy_async(n, x, a)\na.synchronize()\nr.close()\n"
    ),
    "memory that the package frees later": "m = Buffer(4096)\ncopy_async(m, p, a)\ndel m\n",
    "host access before the copy": TOUCH + WRITE + "a.synchronize()\n" + TOUCH,
    "host read beside a copy from the host": WRITE + LOOK,
    "copy that an abort has dropped": (
        BUSY + WRITE + "threading.Timer(0.05, started.set).start()\nok(lib.aclrtStreamAbort(raw(a)))\n" + READ
    ),
    "two buffers in turn": (
        "for i in range(4):\n    e.synchronize()\n    p[:] = i\n    copy_async(x, p, a)\n    e.record(a)\n"
    ),
}

RACES = {
    "no wait": (WRITE + READ, RACE),
    "late record": ("e.record(a)\n" + WRITE + "b.wait(e)\n" + READ, RACE),
    "wait before the record": (WRITE + "b.wait(e)\ne.record(a)\n" + READ, RACE),
    "wait of another stream": (WRITE + "e.record(a); c.wait(e)\n" + READ, RACE),
    "record of another stream": (WRITE + "e.record(c); b.wait(e)\n" + READ, RACE),
    "later record of a manual event": (
        MANUAL + RECORD_C + WRITE + RECORD_A + AWAIT_MANUAL + READ,
        RACE,
    ),
    "manual event that is reset behind the wait": (
        MANUAL
        + RECORD_A
        + BUSY.replace("a.", "b.")
        + AWAIT_MANUAL
        + READ
        + RESET_A
        + WRITE
        + RECORD_A
        + "started.set()\n",
        ["write after read: read, write"],
    ),
    "notify that another stream records too": (WRITE + NOTIFY + "n.record(a); n.record(c); n.wait(b)\n" + READ, RACE),
    "notify that another stream records first": (
        NOTIFY + "n.record(c)\n" + WRITE + "n.record(a); n.wait(b)\n" + READ,
        RACE,
    ),
    "notify that a busy stream records first": (
        BUSY + WRITE + NOTIFY + "n.record(a); n.record(c); n.wait(b)\n" + READ + "started.set()\n",
        RACE,
    ),
    "notify that its stream records again": (
        NOTIFY + WRITE + "n.record(a); n.wait(b)\nn.record(c); n.wait(c)\ncopy_async(y, x, c)  # read\n",
        RACE,
    ),
    "first record of a manual event that is awaited before, by a busy stream": (
        BUSY + MANUAL + AWAIT_MANUAL + READ + RECORD_A + RECORD_C + "copy_async(x, q, c)  # write\nstarted.set()\n",
        ["write after read: read, write"],
    ),
    "value that another stream writes too": (WORD + WRITE + SET + SET.replace("raw(a)", "raw(c)") + AWAIT + READ, RACE),
    "value that a busy stream writes too": (
        BUSY + WORD + WRITE + SET + SET.replace("raw(a)", "raw(c)") + AWAIT + READ + "started.set()\n",
        RACE,
    ),
    "value that a busy stream writes first": (
        BUSY.replace("a.", "c.")
        + WORD
        + WRITE
        + SET.replace("raw(a)", "raw(c)")
        + SET
        + AWAIT
        + READ
        + "b.synchronize()\nstarted.set()\n",
        RACE,
    ),
    "value that is there": (WORD + WRITE + SET + AWAIT.replace("7", "0") + READ, RACE),
    "first of many values": (
        WORD
        + "for i in range(1, 300):\n    "
        + SET.replace("7", "i")
        + "    if i == 100: "
        + WRITE
        + AWAIT.replace("7", "1")
        + READ,
        RACE,
    ),
    "old record": (
        "e.record(a); copy_async(x, p, c)  # write\nf.record(c); a.wait(f)\n"
        "for i in range(1100): fill_async(y, 1, a)\n"
        "b.wait(e)\ncopy_async(z, x, b)  # read\n",
        RACE,
    ),
    "wait that fails by its limit": (
        BUSY
        + WRITE
        + "e.record(a); b.wait(e, timeout=1)\n"
        + READ
        + "try:\n    b.synchronize()\nexcept AclError:\n    pass\nstarted.set()\n",
        RACE,
    ),
    "wait for a notify that fails by its limit": (
        BUSY
        + "copy_async(z, q, a)  # early\n"
        + NOTIFY
        + "n.record(a); n.wait(b, timeout=1)\ncopy_async(y[:64], z[:64], b)  # late\n"
        + "try:\n    b.synchronize()\nexcept AclError:\n    pass\nstarted.set(); a.synchronize()\n"
        + WRITE
        + "n.record(a); n.wait(c)\ncopy_async(y[64:], x[64:], c)  # read\n",
        ["read after write: early, late", *RACE],
    ),
    "IPC event that is recorded again while its waiting stream is busy": (
        "i = Event(ipc=True)\n"
        + BUSY.replace("a.", "b.")
        + "i.record(a); b.wait(i)\n"
        + WRITE
        + "i.record(a)\n"
        + READ
        + "started.set()\n",
        RACE,
    ),
    "synchronization of another device": (
        "copy_async(p, x, a)  # write\nfar = Device(1)\nfar.set_current()\ns = Stream()\n"
        "far.synchronize()\ndevice.set_current()\n" + LOOK,
        ["read after write: write, look"],
    ),
    "query of an event that answers not complete": (
        BUSY + WRITE + "e.record(a)\nassert not e.is_done\n" + READ + "b.synchronize()\nstarted.set()\n",
        RACE,
    ),
    "query that answers not complete": (
        BUSY + WRITE + "assert not a.is_done\n" + READ + "b.synchronize()\nstarted.set()\n",
        RACE,
    ),
    "synchronization that fails by its limit": (
        BUSY
        + WRITE
        + "try:\n    a.synchronize(timeout=0.01)\nexcept TimeoutError:\n    pass\n"
        + READ
        + "b.synchronize()\nstarted.set()\n",
        RACE,
    ),
    "quiet query": (WRITE + "e.record(a)\n" + QUIETLY + READ, RACE),
    "quiet query by the flags of the event": (
        "lib.aclsimAskQuietlyAbout(lib.ACL_EVENT_CAPTURE_STREAM_PROGRESS)\n" + PROGRESS + READ,
        RACE,
    ),
    "memory that an allocator gives out too early": (REUSABLE + WRITE + "e.record(a)\n" + QUIETLY + READ, RACE),
    "memory of which an allocator gives out another part": (
        WRITE + "e.record(a)\n" + QUIETLY + REUSABLE.replace("4096", "4095") + READ,
        RACE,
    ),
    "wait for a record that is complete, behind a synchronized event": (
        "copy_async(p, x, a)  # write\ne.record(a); f.record(b)\n" + QUIETLY + "b.wait(e); f.synchronize()\n" + LOOK,
        ["read after write: write, look"],
    ),
    "wait for the other write": ("e.record(a); b.wait(e)\n" + WRITE + READ, RACE),
    "write after read": ("copy_async(y, x, b)  # read\n" + WRITE, ["write after read: read, write"]),
    "write after write": (WRITE + "copy_async(x, y, b)  # again\n", ["write after write: write, again"]),
    "one byte": (
        "copy_async(x[:2049], p[:2049], a)  # write\ncopy_async(y[2048:], x[2048:], b)  # read\n",
        RACE,
    ),
    "fill": ("fill_async(x, 1, a)  # write\n" + READ, RACE),
    "parts of a batch": (
        "copy_batch_async([(x, p), (x, q)], a)  # batch\n",
        ["write after write: batch, batch"],
    ),
    "parts of a batch that blocks": (
        "copy_batch([(x[:64], p[:64]), (x[32:96], q[:64])])  # batch\n",
        ["write after write: batch, batch"],
    ),
    "part of a batch that blocks, and reads what another writes": (
        "copy_batch([(x[:64], p[:64]), (q[:64], x[:64])])  # batch\n",
        ["read after write: batch, batch"],
    ),
    "host read": ("copy_async(p, x, a)  # write\n" + LOOK, ["read after write: write, look"]),
    "host write": (WRITE + TOUCH, ["write after read: write, touch"]),
    "blocking copy": (WRITE + "copy(y, x)  # read\n", RACE),
    "host function of another stream": (
        "copy_async(p, x, a)  # write\n"
        "def look():\n    access(lib.ACLSIM_ACCESS_READ, p.ctypes.data, 4096)  # look\n"
        "b.launch_host_func(look)\n",
        ["read after write: write, look"],
    ),
    "free": (WRITE + "lib.aclrtFree(ffi.cast('void *', x.handle))  # free\n", ["free after write: write, free"]),
    "end of a registration": (
        "n = np.zeros(4096, np.uint8)\nr = RegisteredMemory(n)\ncopy_async(n, x, a)  # write\nr.close()  # close\n",
        ["free after write: write, close"],
    ),
    "free before the task runs, which waits": (
        NOTIFY + "n.wait(a)\n" + WRITE + "lib.aclrtFree(ffi.cast('void *', x.handle))  # free\nn.record(b)\n",
        ["free after write: write, free"],
    ),
    "free in another stream": (
        "pool = MemoryPool(device)\nm = pool.allocate(4096, a)\ncopy_async(m, p, a)  # write\nm.close(b)  # free\n",
        ["free after write: write, free"],
    ),
    "use after the free, in its order": (
        "pool = MemoryPool(device)\nm = pool.allocate(4096, a)\nn = Buffer.from_handle(m.handle, 4096, owner=pool)\n"
        "m.close(a)  # free\nb.wait(a)\nfill_async(n, 1, b)  # write\n",
        ["write after free: free, write"],
    ),
    "use before the allocation": (
        "pool = MemoryPool(device)\nm = pool.allocate(4096, a)  # allocate\n"
        "copy_async(m, p, b)  # write\nm.close(b)  # free\n",
        ["free after allocation: allocate, free", "write after allocation: allocate, write"],
    ),
    "model that the host does not wait for": (
        MODEL + "ok(lib.aclmdlRIExecuteAsync(model, raw(c)))\ncopy(bytearray(4096), x)  # read\n",
        RACE,
    ),
    "graph beside a task": (
        "with a.capture() as g:\n    copy_async(x, p, a)  # write\ng.launch(c)\n" + READ,
        RACE,
    ),
    "value that another write has set": (
        WORD + "ok(lib.aclrtValueWrite(address(z), 7, 0, raw(c)))\nc.synchronize()\n" + WRITE + AWAIT + READ,
        RACE,
    ),
    "value that an earlier write satisfies": (
        WORD
        + "ok(lib.aclrtValueWrite(address(z), 1, 0, raw(a)))\n"
        + WRITE
        + "ok(lib.aclrtValueWrite(address(z), 2, 0, raw(a)))\n"
        + "ok(lib.aclrtValueWait(address(z), 1, lib.ACL_STREAM_WAIT_VALUE_GEQ, raw(b)))\n"
        + READ,
        RACE,
    ),
    "destroyed event": (WRITE + "e.record(a); e.close(); e = Event(); b.wait(e)\n" + READ, RACE),
    "default stream": (
        "ok(lib.aclrtMemsetAsync(address(x), 4096, 1, 4096, ffi.NULL))  # write\n"
        + READ
        + "fill_async(x, 2, Stream.default())  # again\n",
        ["read after write: write, read", "write after read: read, again"],
    ),
    "copy with addresses in memory of the device": (
        "kind = lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE\n"
        "ok(lib.aclrtSetMemcpyDesc(address(z), kind, address(y), address(x), 64, ffi.NULL))\n"
        "ok(lib.aclrtMemcpyAsyncWithDesc(address(z), kind, raw(a)))  # copy\n"
        "fill_async(x, 1, b)  # fill\nfill_async(y, 1, b)  # again\n",
        ["write after read: copy, again", "write after write: copy, fill"],
    ),
    "reduction": (
        "ok(lib.aclrtReduceAsync(address(x), address(y), 16, lib.ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, lib.ACL_FLOAT, "
        "raw(a), ffi.NULL))  # add\n"
        + READ.replace("read", "again").replace("y, x", "z, x")
        + "fill_async(y, 1, b)  # fill\n",
        ["read after write: add, again", "write after read: add, fill"],
    ),
    "random numbers": (
        "from ascend_rt.random import Generator\nGenerator(1, a).uniform(x, 0, 1)  # write\n" + READ,
        RACE,
    ),
    "value beside a copy": (SET.replace("\n", "  # write\n") + "copy_async(y, z, b)  # read\n", RACE),
    "wait for a value beside a copy": (
        WORD + SET + "e.record(a); c.wait(e)\n" + AWAIT.replace("\n", "  # wait\n") + "copy_async(z, y, c)  # copy\n",
        ["write after read: wait, copy"],
    ),
    "free beside a read": (
        "copy_async(y, x, b)  # read\nlib.aclrtFree(ffi.cast('void *', x.handle))  # free\n",
        ["free after read: read, free"],
    ),
    "free behind one that an abort has dropped": (
        BUSY
        + "ok(lib.aclrtMemPoolFreeAsync(ffi.cast('void *', x.handle), raw(a)))\n"
        + "threading.Timer(0.05, started.set).start()\nok(lib.aclrtStreamAbort(raw(a)))\n"
        + READ
        + "lib.aclrtFree(ffi.cast('void *', x.handle))  # free\n",
        ["free after read: read, free"],
    ),
    "read before the allocation": (
        "pool = MemoryPool(device)\nm = pool.allocate(4096, a)  # allocate\ncopy_async(y, m, b)  # read\n"
        "a.wait(b)\nm.close(a)\n",
        ["read after allocation: allocate, read"],
    ),
    "write behind one of two reads": (
        "copy_async(y, x, a)  # read\ncopy_async(z, x, b)\nc.wait(b)\ncopy_async(x, p, c)  # write\n",
        ["write after read: read, write"],
    ),
}

PARTS = (
    "first = ffi.new('char[]', b'float32[64]'); address_of = address(x) + 512\n"
    "ok(lib.aclsimNoteGivenOut(address(x), 512))\n"
    "ok(lib.aclsimNoteGivenOut(address_of, 256))  # made\n"
    "ok(lib.aclsimNamePart(address_of, first))\n"
    "copy_async(x[512:768], p[:256], a)  # write\n"
    "ok(lib.aclsimNoteGivenOut(address_of, 128))  # again\n"
    "copy_async(y[:128], x[512:640], b)  # read\n"
)


def check_names_of_parts(found: list[dict[str, Any]]) -> None:
    """Check the findings of the program with parts."""
    (race,) = (it for it in found if it["kind"] == "race")
    assert race["memory"]["name"] == "float32[64]"
    assert word_at(PARTS, race["memory"]["made"]) == "made"
    assert (race["why"]["case"], word_at(PARTS, race["why"]["given_out"])) == ("reused", "again")
    assert race["fix"]["case"] == "record_stream"
