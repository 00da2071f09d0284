# SPDX-License-Identifier: Apache-2.0
"""Programs that the vendor's library may not survive, and similar ones that it does."""

from __future__ import annotations

START = """
import os, threading, time
from support.raw import ffi, lib, new, ok

def in_thread(function, *arguments):
    def run():
        ok(lib.aclrtSetCurrentContext(context))
        about_to_call.set()
        codes.append(function(*arguments))
    codes, about_to_call = [], threading.Event()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    about_to_call.wait()
    thread.join(0.4)
    return thread, codes

ok(lib.aclrtSetDevice(0))
context = new("aclrtContext", "aclrtGetCurrentContext")
stream, other = new("aclrtStream", "aclrtCreateStream"), new("aclrtStream", "aclrtCreateStream")
event, notify = new("aclrtEvent", "aclrtCreateEvent"), new("aclrtNotify", "aclrtCreateNotify", 0)
garbage = ffi.cast("void *", 0x1234567800)

codes = []

@ffi.callback("aclrtStreamStateCallback")
def report(stream, state, _):
    codes.append(lib.aclrtStreamGetId(stream, ffi.new("int32_t *")))

def hold():
    ok(lib.aclrtWaitAndResetNotify(notify, stream, 0))

def release():
    ok(lib.aclrtRecordNotify(notify, other))
"""

# A program that must die, the function and the reason; and a similar program that must live.
RULES: dict[str, tuple[str, str, str, str]] = {
    "an event that was never given out": (
        "lib.aclrtRecordEvent(garbage, stream)",
        "aclrtRecordEvent",
        "event 0x1234567800 was never given out",
        "assert lib.aclrtRecordEvent(stream, stream) == 107017",  # a live object of the wrong type is found out
    ),
    "NULL is looked at": (
        "lib.aclrtStreamWaitEvent(ffi.NULL, garbage)",
        "aclrtStreamWaitEvent",
        "event 0x1234567800 was never given out",
        "assert lib.aclrtStreamWaitEvent(ffi.NULL, ffi.NULL) == 100000; ok(lib.aclrtRecordEvent(event, ffi.NULL))",
    ),
    "a stream that was never given out": (
        "lib.aclrtSynchronizeStream(garbage)",
        "aclrtSynchronizeStream",
        "stream 0x1234567800 was never given out",
        "ok(lib.aclrtSynchronizeStream(new('aclrtStream', 'aclrtCtxGetCurrentDefaultStream')))",
    ),
    "a destroyed event": (
        "ok(lib.aclrtDestroyEvent(event)); lib.aclrtDestroyEvent(event)",
        "aclrtDestroyEvent",
        "was ended by aclrtDestroyEvent",
        "ok(lib.aclrtDestroyEvent(event)); ok(lib.aclrtDestroyEvent(new('aclrtEvent', 'aclrtCreateEvent')))",
    ),
    "a stream that is reported of while it is created": (
        "ok(lib.aclrtRegStreamStateCallback(b'test', report, ffi.NULL))\n"
        "inner = new('aclrtStream', 'aclrtCreateStream')\n"
        "ok(lib.aclrtDestroyStream(inner)); lib.aclrtDestroyStream(inner)",
        "aclrtDestroyStream",
        "was ended by aclrtDestroyStream",
        "ok(lib.aclrtRegStreamStateCallback(b'test', report, ffi.NULL)); new('aclrtStream', 'aclrtCreateStream')\n"
        "assert codes == [0], codes",
    ),
    "a destroyed stream": (
        "ok(lib.aclrtDestroyStream(stream)); lib.aclrtStreamGetId(stream, ffi.new('int32_t *'))",
        "aclrtStreamGetId",
        "was ended by aclrtDestroyStream",
        "ok(lib.aclrtDestroyStreamForce(stream)); ok(lib.aclrtStreamGetId(other, ffi.new('int32_t *')))",
    ),
    "a stream of a destroyed context": (
        "made = new('aclrtContext', 'aclrtCreateContext', 0); inner = new('aclrtStream', 'aclrtCreateStream')\n"
        "ok(lib.aclrtDestroyContext(made)); lib.aclrtStreamQuery(inner, ffi.new('aclrtStreamStatus *'))",
        "aclrtStreamQuery",
        "was ended by aclrtDestroyContext",
        "made = new('aclrtContext', 'aclrtCreateContext', 0); inner = new('aclrtStream', 'aclrtCreateStream')\n"
        "ok(lib.aclrtSetCurrentContext(context)); ok(lib.aclrtStreamQuery(stream, ffi.new('aclrtStreamStatus *')))",
    ),
    "a destroyed notify": (
        "ok(lib.aclrtDestroyNotify(notify)); lib.aclrtRecordNotify(notify, stream)",
        "aclrtRecordNotify",
        "was ended by aclrtDestroyNotify",
        "ok(lib.aclrtRecordNotify(notify, stream))",
    ),
    "a notify among others": (
        "lib.aclrtNotifyBatchReset(ffi.new('aclrtNotify[]', [notify, garbage]), 2)",
        "aclrtNotifyBatchReset",
        "notify 0x1234567800 was never given out",
        "ok(lib.aclrtNotifyBatchReset(ffi.new('aclrtNotify[]', [notify, garbage]), 1))",
    ),
    "a context that was never given out": (
        "lib.aclrtSetCurrentContext(garbage)",
        "aclrtSetCurrentContext",
        "context 0x1234567800 was never given out",
        "ok(lib.aclrtSetCurrentContext(context))",
    ),
    "an event after the reset of its device": (
        "ok(lib.aclrtResetDevice(0)); ok(lib.aclrtSetDevice(0))\n"
        "lib.aclrtQueryEventStatus(event, ffi.new('aclrtEventRecordedStatus *'))",
        "aclrtQueryEventStatus",
        "was ended by aclrtResetDevice",
        "ok(lib.aclrtSetDevice(0)); ok(lib.aclrtResetDevice(0))\n"
        "ok(lib.aclrtQueryEventStatus(event, ffi.new('aclrtEventRecordedStatus *')))",
    ),
    "an event after the reset of all references to its device": (
        "ok(lib.aclrtSetDevice(0)); ok(lib.aclrtResetDeviceForce(0)); lib.aclrtDestroyEvent(event)",
        "aclrtDestroyEvent",
        "was ended by aclrtResetDeviceForce",
        "ok(lib.aclrtSetDevice(1)); ok(lib.aclrtResetDeviceForce(1)); ok(lib.aclrtDestroyEvent(event))",
    ),
    "an event of a device whose last context goes": (
        "made = new('aclrtContext', 'aclrtCreateContext', 1); inner = new('aclrtEvent', 'aclrtCreateEvent')\n"
        "ok(lib.aclrtDestroyContext(made)); lib.aclrtDestroyEvent(inner)",
        "aclrtDestroyEvent",
        "was ended by aclrtDestroyContext",
        "made = new('aclrtContext', 'aclrtCreateContext', 0); inner = new('aclrtEvent', 'aclrtCreateEvent')\n"
        "ok(lib.aclrtResetDevice(0)); ok(lib.aclrtDestroyEvent(inner))",
    ),
    "a block that was never allocated": (
        "lib.aclrtFreeHost(ffi.new('char[]', 64))",
        "aclrtFreeHost",
        "is not allocated",
        "assert lib.aclrtFreeHost(ffi.NULL) == 100000; ok(lib.aclrtFreeHost(new('void *', 'aclrtMallocHost', 64)))",
    ),
    "a block that is freed twice": (
        "block = new('void *', 'aclrtMalloc', 64, 0); ok(lib.aclrtFree(block)); lib.aclrtFree(block)",
        "aclrtFree",
        "is not allocated",
        "block = new('void *', 'aclrtMalloc', 64, 0); ok(lib.aclrtFree(block))",
    ),
    "a block of a queued copy": (
        "block, host = new('void *', 'aclrtMalloc', 64, 0), new('void *', 'aclrtMallocHost', 64); hold()\n"
        "ok(lib.aclrtMemcpyAsync(block, 64, host, 64, 1, stream)); lib.aclrtFreeHost(host)",
        "aclrtFreeHost",
        "the block is in use",
        "block, host = new('void *', 'aclrtMalloc', 64, 0), new('void *', 'aclrtMallocHost', 64); hold()\n"
        "ok(lib.aclrtMemcpyAsync(block, 64, host, 64, 1, stream)); release(); ok(lib.aclrtSynchronizeStream(stream))\n"
        "ok(lib.aclrtFreeHost(host)); ok(lib.aclrtFree(block))",
    ),
    "no configuration after one": (
        "path = ffi.new('char[]', TEMPORARY); ok(lib.aclInit(path)); ok(lib.aclFinalize()); lib.aclInit(ffi.NULL)",
        "aclInit",
        "configPath is NULL",
        "ok(lib.aclInit(ffi.NULL)); ok(lib.aclFinalize()); ok(lib.aclInit(b'')); ok(lib.aclFinalize())\n"
        "ok(lib.aclInit(ffi.NULL))",
    ),
    "a thread inside a call at the end": (
        "hold(); in_thread(lib.aclrtSynchronizeStream, stream)",
        "aclrtSynchronizeStream",
        "a thread waits in this call while the process ends",
        "hold(); thread, _ = in_thread(lib.aclrtSynchronizeStream, stream); release(); thread.join()",
    ),
}
