# SPDX-License-Identifier: Apache-2.0
"""Failures that tasks leave: reports, lasting effects, streams that stop, and refusals of a lost device.

Each case has a separate process, because STOP mode and losses are for good.
"""

from __future__ import annotations

import pytest
from support.programs import BEGINNING

PRELUDE = """
def stop_mode(stream):
    return lib.aclrtSetStreamFailureMode(raw(stream), lib.ACL_STOP_ON_FAILURE)

class Waiting(threading.Thread):
    # Waits inside the runtime; `code` is what the call answered.
    def __init__(self, function, *arguments):
        def run():
            device.set_current()
            self.code = function(*arguments)
        super().__init__(target=run)
        self.start()

    def answer(self):
        self.join()
        return self.code

a, b = Stream(), Stream()
"""

CASES = {
    "a device synchronization in vain takes no failure": (
        """
sim.fail_task(507015, a)
a.record()
with Latch(b):
    print(lib.aclrtSynchronizeDeviceWithTimeout(20))
print(lib.aclrtSynchronizeDevice(), lib.aclrtSynchronizeDevice())
""",
        ["507046", "507015 0"],
    ),
    "the first failure of several streams is reported, and all are": (
        """
for stream, code in ((a, 507015), (b, 507017)):
    sim.fail_task(code, stream)
    stream.record()
print(lib.aclrtSynchronizeDevice(), lib.aclrtSynchronizeStream(raw(b)))
""",
        ["507015 0"],
    ),
    "what a stream has reported the device does not report again, and the next failure is not missed": (
        """
print(lib.aclrtSynchronizeDevice(), end=" ")
for code in (507015, 507017):
    sim.fail_task(code, a)
    a.record()
    print(code_of(a.synchronize), lib.aclrtSynchronizeDevice(), end=" ")
    sim.fail_task(code, b)
    b.record()
    print(lib.aclrtSynchronizeDevice(), code_of(b.synchronize), lib.aclrtSynchronizeDevice(), end=" ")
""",
        ["0 " + "507015 0 507015 0 0 " + "507017 0 507017 0 0 "],
    ),
    "a device that is being aborted is not synchronized, not even in a context that is idle": (
        """
entered, let_go = threading.Event(), threading.Event()
a.launch_host_func(lambda: entered.set() or let_go.wait())
entered.wait()
own = Context(0)
own.set_current()
idle = Stream()
abort = Waiting(lib.aclrtDeviceTaskAbort, 0, 0)
while not code_of(idle.record):
    pass
print(code_of(idle.record), lib.aclrtSynchronizeDevice())
let_go.set()
print(abort.answer(), lib.aclrtSynchronizeDevice())
""",
        ["107022 107022", "0 0"],
    ),
    "what is logged as success is answered and not remembered": (
        """
for code in (507005, 507023, 207003, 207016, 207017, 507901):
    for synchronize in (a.synchronize, lib.aclrtSynchronizeDevice):
        sim.fail_task(code, a)
        a.record()
        print((code_of(synchronize) or code) == code, lib.aclrtGetLastError(0), end=" ")
print(lib.aclrtSynchronizeDeviceWithTimeout(-2), lib.aclrtGetLastError(0))
""",
        ["True 0 " * 12 + "107000 0"],
    ),
    "STOP: what comes behind the failure is not done": (
        """
calls = []
memory = Buffer(4096)
stop_mode(a)
with Latch(a), Latch(b):
    sim.fail_task(507015, a)
    a.record()
    a.launch_host_func(calls.append, "a")
    lib.aclrtMemsetAsync(ffi.cast("void *", memory.handle), 4096, 7, 4096, raw(a))
print(code_of(a.synchronize), calls)
assert lib.aclrtDeviceTaskAbort(0, 0) == 0
a.synchronize()
print(calls)
""",
        ["507015 []", "[]"],
    ),
    "STOP: a wait that has begun fails": (
        """
stop_mode(a)
here, there = Latch(a), Latch(b)
here.__enter__()
there.__enter__()
sim.fail_task(507015, a)
a.record()
event = b.record()
waits = [Waiting(lib.aclrtSynchronizeStream, raw(b)), Waiting(lib.aclrtSynchronizeDevice),
         Waiting(lib.aclrtSynchronizeEvent, ffi.cast("aclrtEvent", event.handle)),
         Waiting(lib.aclrtSynchronizeStreamWithTimeout, raw(b), 60000)]
here.release()
print([wait.answer() for wait in waits])
""",
        ["[507015, 507015, 507015, 507015]"],
    ),
    "STOP: an event whose record failed is not complete": (
        """
stop_mode(a)
event = Event()
sim.fail_task(507015, a)
a.record(event)
print(code_of(event.synchronize), code_of(lambda: event.is_done))
""",
        ["507015 507015"],
    ),
    "STOP: a context that failed is no matter of another": (
        """
own = Context(0)
own.set_current()
c = Stream()
device.set_current()
stop_mode(a)
sim.fail_task(507015, a)
a.record()
status = ffi.new("aclrtStreamStatus *")
print(code_of(c.synchronize), lib.aclrtStreamQuery(raw(c), status), code_of(a.synchronize))
own.set_current()
print(code_of(a.synchronize), lib.aclrtStreamQuery(raw(a), status), code_of(c.record))
""",
        ["0 0 507015", "507015 507015 0"],
    ),
    "STOP: the mode of a stream that has stopped is refused": (
        """
print(stop_mode(a), stop_mode(a))
sim.fail_task(507015, a)
a.record()
print(stop_mode(a))
""",
        ["0 0", "207000"],
    ),
    "STOP: a model that failed is over": (
        """
model = ffi.new("aclmdlRI *")
assert lib.aclmdlRIBuildBegin(model, 0) == 0
bound = ffi.new("aclrtStream *")
assert lib.aclrtCreateStreamWithConfig(bound, 0, lib.ACL_STREAM_PERSISTENT) == 0
assert lib.aclmdlRIBindStream(model[0], bound[0], 0) == 0
event = ffi.new("aclrtEvent *")
assert lib.aclrtCreateEventWithFlag(event, lib.ACL_EVENT_SYNC) == 0
assert lib.aclrtStreamWaitEvent(bound[0], event[0]) == 0
assert lib.aclmdlRIEndTask(model[0], bound[0]) == 0
assert lib.aclmdlRIBuildEnd(model[0], ffi.NULL) == 0
stop_mode(a)
latch = Latch(a)
latch.__enter__()
sim.fail_task(507015, a)
a.record()
wait = Waiting(lib.aclmdlRIExecute, model[0], -1)
latch.release()
print(wait.answer(), lib.aclrtDeviceTaskAbort(0, 0), lib.aclmdlRIDestroy(model[0]))
""",
        ["507015 0 0"],
    ),
    "a lost device refuses what needs it": (
        """
pointer, size = ffi.new("void **"), ffi.new("size_t *")
from ascend_rt import PinnedBuffer
old, pinned = Buffer(4096), PinnedBuffer(4096)
memory, host = ffi.cast("void *", old.handle), ffi.from_buffer(pinned)
sim.lose_device(0)
new = lambda kind: ffi.new(kind + " *")
calls = {
    "aclrtSetDevice": [0], "aclrtCreateContext": [new("aclrtContext"), 0], "aclrtCreateStream": [new("aclrtStream")],
    "aclrtCreateEvent": [new("aclrtEvent")], "aclrtCreateNotify": [new("aclrtNotify"), 0],
    "aclrtCreateLabel": [new("aclrtLabel")], "aclmdlRIBuildBegin": [new("aclmdlRI"), 0],
    "aclrtMalloc": [pointer, 64, 0], "aclrtGetMemInfo": [lib.ACL_HBM_MEM, size, size],
    "aclrtMemFlush": [memory, 64], "aclrtMemset": [memory, 64, 0, 64], "aclrtMemsetAsync": [memory, 64, 0, 64, raw(a)],
    "aclrtMemcpy": [memory, 64, host, 64, lib.ACL_MEMCPY_HOST_TO_DEVICE],
    "aclrtMemcpyAsync": [memory, 64, host, 64, lib.ACL_MEMCPY_HOST_TO_DEVICE, raw(a)],
    "aclrtSynchronizeStream": [raw(a)], "aclrtSynchronizeDevice": [], "aclrtDeviceTaskAbort": [0, 10],
    "aclrtStreamQuery": [raw(a), new("aclrtStreamStatus")], "aclrtGetStreamAvailableNum": [new("uint32_t")],
}
print({name: code for name, arguments in calls.items() if (code := getattr(lib, name)(*arguments)) != 507010})
print(ffi.string(lib.aclGetRecentErrMsg()).decode())
print(code_of(a.close), code_of(b.close), a.is_closed, code_of(old.close))
""",
        ["{}", "aclrtGetStreamAvailableNum: device 0 is lost", "507010 507010 True 0"],
    ),
    "a reset ends the loss": (
        """
sim.lose_device(0, 507054)
print(code_of(device.set_current), code_of(a.record))
lib.aclrtResetDeviceForce(0)
print(code_of(device.set_current), code_of(lambda: Stream().record().synchronize()))
""",
        ["507054 507054", "0 0"],
    ),
    "an event of a lost device is not complete": (
        """
event = Event()
latch = Latch(a)
latch.__enter__()
a.record(event)
sim.lose_device(0)
print(code_of(event.synchronize), code_of(lambda: event.is_done))
""",
        ["507010 507010"],
    ),
    "a context that another thread destroys": (
        """
c, let_go = ffi.new("aclrtContext *"), threading.Event()
assert lib.aclrtCreateContext(c, 0) == 0
Stream.default().launch_host_func(let_go.wait)
wait = Waiting(lib.aclrtDestroyContext, c[0])
while lib.aclrtSetCurrentContext(c[0]) == 0:
    pass
print(lib.aclrtDestroyContext(c[0]))
let_go.set()
print(wait.answer(), lib.aclrtDestroyContext(c[0]))
device.set_current()
""",
        ["507007", "0 107002"],
    ),
    "a slow exception callback holds up no other thread": (
        """
let_go, called = threading.Event(), threading.Event()
@ffi.callback("void(aclrtExceptionInfo *)")
def callback(info):
    called.set()
    let_go.wait()
assert lib.aclrtExceptionInfoCallbackRegister(callback) == 0
event = Event(manual_reset=True)
lib.aclrtStreamWaitEventWithTimeout(raw(a), ffi.cast("aclrtEvent", event.handle), 1)  # fails on a thread of the runtime
assert called.wait(60)
sim.delay_tasks(0.001, b)
print(code_of(b.record().synchronize))
let_go.set()
print(code_of(a.synchronize))
""",
        ["0", "107020"],
    ),
    "texts name the call, not what a callback called": (
        """
@ffi.callback("void(aclrtExceptionInfo *)")
def callback(info):
    lib.aclrtGetDevice(ffi.new("int32_t *"))
assert lib.aclrtExceptionInfoCallbackRegister(callback) == 0
texts = set()
sim.delay_tasks(0.001, a)
for _ in range(50):  # the callback runs on the thread that waits, or on one of the runtime
    sim.fail_task(507015, a)
    a.record()
    lib.aclrtSynchronizeStream(raw(a))
    texts.add(ffi.string(lib.aclGetRecentErrMsg()).decode())
print(texts)
""",
        ["{'aclrtSynchronizeStream: a task of stream 2 failed'}"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_failure(run, name: str) -> None:
    code, expected = CASES[name]
    result = run("-c", BEGINNING + PRELUDE + code, ASCEND_RT_BACKEND="sim")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == expected
