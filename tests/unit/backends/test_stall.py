# SPDX-License-Identifier: Apache-2.0
"""A thread that waits long, without a time limit, explains the chain of waits."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support.programs import BEGINNING

pytestmark = pytest.mark.simulator("internals")

# The report is read from standard error, which a pipe replaces; reading it is the latch: only then is the wait ended.
PRELUDE = """
import os, sys

reading, writing = os.pipe()
os.dup2(writing, 2)
a, b = Stream(), Stream()

def event():
    return new("aclrtEvent *", "aclrtCreateEventWithFlag", 1)

def running_on(stream):
    # A host function that runs, until what is returned is set.
    started, latch = threading.Event(), threading.Event()
    stream.launch_host_func(lambda: (started.set(), latch.wait()))
    started.wait()
    return latch

def report(wait, release, end):
    def run():
        device.set_current()
        wait()
    thread = threading.Thread(target=run)
    thread.start()
    text = b""
    while end not in text:
        text += os.read(reading, 4096)
    release()
    thread.join()
    print(text.decode(), end="", flush=True)
"""

WAITS = {
    "event": (
        """
gate, passed = event(), event()
lib.aclrtStreamWaitEvent(raw(a), gate)
lib.aclrtRecordEvent(passed, raw(a))
lib.aclrtStreamWaitEvent(raw(b), passed)
report(b.synchronize, lambda: lib.aclrtRecordEvent(gate, ffi.NULL), b"is not recorded\\n")
""",
        ["aclrtSynchronizeStream has waited 50 ms for task 1 of stream", "waits for event 0x", "which is not recorded"],
    ),
    # Another thread may yet record one of the events, whose bit is the same for every record: no deadlock.
    "cycle": (
        """
x, y = event(), event()
lib.aclrtStreamWaitEvent(raw(a), x)
lib.aclrtRecordEvent(y, raw(a))
lib.aclrtStreamWaitEvent(raw(b), y)
lib.aclrtRecordEvent(x, raw(b))
report(device.synchronize, lambda: lib.aclrtStreamAbort(raw(a)) or lib.aclrtStreamAbort(raw(b)), b"ends that\\n")
""",
        [
            "aclrtSynchronizeDevice has waited",
            "at task 1 of 2, waits for event 0x",
            "which waits for itself, unless something else ends that",
        ],
    ),
    "notify": (
        """
notify = new("aclrtNotify *", "aclrtCreateNotify", 0)
lib.aclrtWaitAndResetNotify(notify, raw(a), 0)
report(a.synchronize, lambda: lib.aclrtRecordNotify(notify, raw(b)), b"waits for notify")
""",
        ["at task 1 of 1, waits for notify"],
    ),
    "value": (
        """
memory = new("void **", "aclrtMalloc", 64, 0)
lib.aclrtMemset(memory, 64, 0, 64)
lib.aclrtValueWait(memory, 7, 1, raw(a))
report(a.synchronize, lambda: lib.aclrtValueWrite(memory, 7, 0, raw(b)), b"where 0 is\\n")
""",
        ["waits for a value at 0x", "where 0 is"],
    ),
    "host function": (
        """
latch = running_on(a)
report(a.synchronize, latch.set, b"host function\\n")
""",
        ["at task 1 of 1, runs a host function"],
    ),
    "IPC event": (
        """
import subprocess
OTHER = '''
import sys
from ascend_rt import Device, Stream, ffi, lib, sim
Device(0).set_current()
stream = Stream()
name = ffi.new("aclrtIpcEventHandle *", [bytes.fromhex(sys.argv[1])])
event = ffi.new("aclrtEvent *")
assert lib.aclrtIpcOpenEventHandle(name[0], event) == 0
lib.aclsimHold(1)
assert lib.aclrtRecordEvent(event[0], ffi.cast("aclrtStream", stream.handle)) == 0
print("recorded", flush=True)
sys.stdin.read()
lib.aclsimHold(0)
stream.synchronize()
assert lib.aclrtDestroyEvent(event[0]) == 0
'''
shared = new("aclrtEvent *", "aclrtCreateEventExWithFlag", lib.ACL_EVENT_IPC)
name = ffi.new("aclrtIpcEventHandle *")
assert lib.aclrtIpcGetEventHandle(shared, name) == 0
command = [sys.executable, "-c", OTHER, bytes(ffi.buffer(name.reserved)).hex()]
other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert other.stdout.readline() == b"recorded\\n"
report(lambda: lib.aclrtSynchronizeEvent(shared), other.stdin.close, b"process makes\\n")
assert other.wait() == 0
assert lib.aclrtDestroyEvent(shared) == 0
""",
        ["aclrtSynchronizeEvent has waited 50 ms for record 1 of an IPC event, which another process makes"],
    ),
    "abort": (
        """
latch = running_on(a)
report(lambda: lib.aclrtDeviceTaskAbort(0, 0), latch.set, b"host function\\n")
""",
        ["aclrtDeviceTaskAbort has waited 50 ms for task 1", "at task 1 of 1, runs a host function"],
    ),
    "a stream that is stopped in a context that has failed": (
        """
latch = running_on(a)
assert lib.aclrtSetStreamFailureMode(raw(b), lib.ACL_STOP_ON_FAILURE) == 0
sim.fail_task(507015, b)
b.record()
report(lambda: lib.aclrtStreamStop(raw(a)), latch.set, b"host function\\n")
""",
        ["aclrtStreamStop has waited 50 ms for task 1", "at task 1 of 1, runs a host function"],
    ),
    "a stream that is torn down": (
        """
c = new("aclrtStream *", "aclrtCreateStream")
latch = running_on(Stream.from_handle(int(ffi.cast("uintptr_t", c))))
report(lambda: lib.aclrtDestroyStreamForce(c), latch.set, b"host function\\n")
""",
        ["aclrtDestroyStreamForce has waited 50 ms for task 1"],
    ),
    "callback": (
        """
def process():
    assert lib.aclrtSubscribeReport(thread(), raw(a)) == 0
    lib.aclrtProcessReport(-1)
import ctypes
thread = ctypes.CDLL(None).pthread_self
thread.restype = ctypes.c_uint64
call = ffi.callback("void(void *)", lambda _: None)
report(process, lambda: lib.aclrtLaunchCallback(call, ffi.NULL, 0, raw(a)), b"calling thread\\n")
""",
        ["aclrtProcessReport has waited 50 ms for a callback for the calling thread"],
    ),
    "snapshot": (
        """
assert lib.aclrtSnapShotProcessLock(os.getpid(), ffi.NULL) == 0
unlock = lambda: lib.aclrtSnapShotProcessUnlock(os.getpid(), ffi.NULL)
thread = threading.Thread(target=lambda: lib.aclrtSetDevice(0))
thread.start()
print(os.read(reading, 4096).decode(), end="")
unlock()
thread.join()
""",
        ["aclrtSetDevice has waited 50 ms for aclrtSnapShotProcessUnlock: the process is locked"],
    ),
    "exception callback": (
        """
let_go, called = threading.Event(), threading.Event()
@ffi.callback("void(aclrtExceptionInfo *)")
def callback(info):
    called.set()
    let_go.wait()
assert lib.aclrtExceptionInfoCallbackRegister(callback) == 0
sim.delay_tasks(0.001, a)
sim.fail_task(507015, a)
a.record()
assert called.wait(60)
report(lambda: lib.aclrtSynchronizeStream(raw(a)), let_go.set, b"runs\\n")
""",
        ["has waited 50 ms for the end of an exception callback, which another thread runs"],
    ),
    "hold": (
        """
lib.aclsimHold(1)
a.record()
report(a.synchronize, lambda: lib.aclsimHold(0), b"held by")
""",
        ["is held by aclsimHold"],
    ),
}


@pytest.mark.parametrize("name", WAITS)
def test_a_long_wait_is_explained(run, name: str) -> None:
    code, expected = WAITS[name]
    result = run("-c", BEGINNING + PRELUDE + code, ASCEND_RT_BACKEND="sim", ASCEND_RT_SIM_STALL_MS="50")
    assert result.returncode == 0, result.stdout
    for text in expected:
        assert text in result.stdout
    assert "deadlock" not in result.stdout


# A wait is for the record that it was issued for, wherever the event was recorded since. One report is one write, so
# that the first read gives all of it, also of one that is wrong.
RECORDS = {
    "recorded behind the wait": (
        """
x = new("aclrtEvent *", "aclrtCreateEventExWithFlag", 1)
latch = running_on(a)
lib.aclrtRecordEvent(x, raw(a))
lib.aclrtStreamWaitEvent(raw(b), x)
lib.aclrtRecordEvent(x, raw(b))
report(b.synchronize, latch.set, b"\\n  ")
""",
        ["at task 1 of 2, waits for event 0x", "at task 1 of 2, runs a host function"],
    ),
    "recorded in an idle stream": (
        """
x, c = new("aclrtEvent *", "aclrtCreateEventExWithFlag", 1), Stream()
latch = running_on(a)
lib.aclrtRecordEvent(x, raw(a))
lib.aclrtStreamWaitEvent(raw(b), x)
lib.aclrtRecordEvent(x, raw(c))
report(b.synchronize, latch.set, b"\\n  ")
""",
        ["at task 1 of 1, waits for event 0x", "at task 1 of 2, runs a host function"],
    ),
    "reset": (
        """
x = event()
lib.aclrtRecordEvent(x, raw(a))
lib.aclrtResetEvent(x, raw(a))
lib.aclrtStreamWaitEvent(raw(b), x)
report(b.synchronize, lambda: lib.aclrtRecordEvent(x, raw(a)), b"\\n  ")
""",
        ["at task 1 of 1, waits for event 0x"],
    ),
    "aborted": (
        """
x, never = new("aclrtEvent *", "aclrtCreateEventExWithFlag", 1), event()
lib.aclrtStreamWaitEvent(raw(a), never)
lib.aclrtRecordEvent(x, raw(a))
lib.aclrtStreamWaitEvent(raw(b), x)
lib.aclrtStreamAbort(raw(a))
report(lambda: lib.aclrtSynchronizeStream(raw(b)), lambda: lib.aclrtStreamAbort(raw(b)), b"\\n  ")
""",
        ["at task 1 of 1, waits for event 0x"],
    ),
    "destroyed by another thread": (
        """
context = new("aclrtContext *", "aclrtCreateContext", 0)
c = new("aclrtStream *", "aclrtCreateStream")
entered, latch = threading.Event(), threading.Event()

@ffi.callback("void(aclrtStream, aclrtStreamState, void *)")
def callback(stream, state, _):
    if stream == c:
        entered.set()
        latch.wait()

def destroy():
    assert lib.aclrtSetCurrentContext(context) == 0
    assert lib.aclrtDestroyStream(c) == 0

assert lib.aclrtRegStreamStateCallback(b"wait", callback, ffi.NULL) == 0
thread = threading.Thread(target=destroy)
thread.start()
entered.wait()
report(lambda: lib.aclrtDestroyContext(context), latch.set, b"\\n")
thread.join()
""",
        ["aclrtDestroyContext has waited 50 ms for "],
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_only_what_is_waited_for_is_named(run, name: str) -> None:
    code, expected = RECORDS[name]
    result = run("-c", BEGINNING + PRELUDE + code, ASCEND_RT_BACKEND="sim", ASCEND_RT_SIM_STALL_MS="50")
    assert result.returncode == 0, result.stdout + result.stderr
    for text in expected:
        assert text in result.stdout
    assert "deadlock" not in result.stdout
    assert "has nothing to do" not in result.stdout


def test_zero_means_never(run) -> None:
    # The thread waits at least as long as the main thread's limit, which is longer than any report's time here.
    code = """
a = Stream()
gate = new("aclrtEvent *", "aclrtCreateEventWithFlag", 1)
lib.aclrtStreamWaitEvent(raw(a), gate)
begun = threading.Event()
def run():
    device.set_current()
    begun.set()
    a.synchronize()
thread = threading.Thread(target=run)
thread.start()
begun.wait()
print(lib.aclrtSynchronizeStreamWithTimeout(raw(a), 200))
lib.aclrtRecordEvent(gate, ffi.NULL)
thread.join()
"""
    result = run("-c", BEGINNING + code, ASCEND_RT_BACKEND="sim", ASCEND_RT_SIM_STALL_MS="0")
    assert (result.stdout, result.stderr) == ("507046\n", "")


def test_a_wait_with_a_time_limit_ends_with_its_code_instead(run) -> None:
    code = """
a = Stream()
gate = new("aclrtEvent *", "aclrtCreateEventWithFlag", 1)
lib.aclrtStreamWaitEvent(raw(a), gate)
print(lib.aclrtSynchronizeStreamWithTimeout(raw(a), 100))
lib.aclrtStreamAbort(raw(a))
"""
    result = run("-c", BEGINNING + code, ASCEND_RT_BACKEND="sim", ASCEND_RT_SIM_STALL_MS="20")
    assert (result.stdout, result.stderr) == ("507046\n", "")


def test_a_wrong_time_is_an_error(run) -> None:
    result = run("-m", "ascend_rt", "demo", ASCEND_RT_BACKEND="sim", ASCEND_RT_SIM_STALL_MS="soon")
    assert result.returncode == 1
    assert "ASCEND_RT_SIM_STALL_MS=soon is not a whole number from 0 to 86400000" in result.stderr + result.stdout


def test_the_device_of_a_profile_is_named(run, tmp_path) -> None:
    profile = tmp_path / "report.json"
    profile.write_text('{"profile": {"format": 1, "costs": {"record": {"ns": 1e12}}}}', encoding="utf-8")
    program = """
a.record()
report(a.synchronize, lambda: lib.aclrtStreamAbort(raw(a)), b"profile\\n")
"""
    variables = {"ASCEND_RT_BACKEND": "sim", "ASCEND_RT_SIM_STALL_MS": "50", "ASCEND_RT_SIM_PROFILE": str(profile)}
    result = run("-c", BEGINNING + PRELUDE + program, **variables)
    assert "at task 1 of 1, starts when the device would, by the profile" in result.stdout


# A thread that Python does not know, as a library for mathematics has them.
FOREIGN_THREAD = """
import ctypes
libc = ctypes.CDLL(None)
assert libc.pthread_create(ctypes.byref(ctypes.c_ulong()), None, libc.pause, None) == 0
a = Stream()
lib.aclrtStreamWaitEvent(raw(a), new("aclrtEvent *", "aclrtCreateEventWithFlag", 1))
"""
DEADLOCKS = {
    "in the main thread": ("a.synchronize()", "aclrtSynchronizeStream"),
    "in the main thread, raw": ("lib.aclrtSynchronizeStream(raw(a))", "aclrtSynchronizeStream"),
    "in all threads": (
        """
def run():
    device.set_current()
    device.synchronize()
threading.Thread(target=run).start()
device.synchronize()
""",
        "aclrtSynchronizeDevice",
    ),
}


@pytest.mark.parametrize("name", DEADLOCKS)
def test_a_deadlock_is_found_beside_threads_of_other_libraries(name: str) -> None:
    code, function = DEADLOCKS[name]
    command = [sys.executable, "-c", BEGINNING + FOREIGN_THREAD + code]
    # A text that comes sooner than this is that of a deadlock.
    variables = os.environ | {"ASCEND_RT_BACKEND": "sim", "ASCEND_RT_SIM_STALL_MS": "86400000"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=variables) as program:
        assert program.stderr is not None
        lines = [program.stderr.readline() for _ in range(3)]
        program.kill()
    assert lines[0].startswith(f"ascend_rt simulator: {function} waits forever for task 1 of stream ")
    assert "is not recorded" in lines[1]
    assert lines[2] == "  and nothing is left that could end that: a deadlock\n"


# A thread that ends as soon as it has sent a signal.
INTERRUPTED = """
import signal
from ascend_rt._runtime import threads
signal.signal(signal.SIGUSR1, lambda *_: end())
main = threading.get_ident()
def interrupt():
    while sys._current_frames()[main].f_code is not threads.Waiter.sleep.__code__:
        pass
    os.kill(os.getpid(), signal.SIGUSR1)
"""

THREADS_THAT_MAY_ACT = {
    "a thread of Python that has not called yet": """
threading.Thread(target=end).start()
a.synchronize()
""",
    "a signal handler in the thread that waits": f"""
{INTERRUPTED}
threading.Thread(target=interrupt).start()
a.synchronize()
""",
    # Nothing wakes the main thread, which runs the handler.
    "a handler for a signal that another thread has received": f"""
{INTERRUPTED}
threading.Thread(target=interrupt).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
a.synchronize()
""",
}


@pytest.mark.parametrize("name", THREADS_THAT_MAY_ACT)
def test_a_wait_that_python_may_still_end_is_no_deadlock(run, name: str) -> None:
    beginning = """
gate = event()
lib.aclrtStreamWaitEvent(raw(a), gate)
def end():
    text = b""
    while b"is not recorded" not in text:
        text += os.read(reading, 4096)
    device.set_current()
    assert lib.aclrtRecordEvent(gate, raw(b)) == 0
    print(text.decode(), end="", flush=True)
"""
    program = BEGINNING + PRELUDE + beginning + THREADS_THAT_MAY_ACT[name]
    result = run("-c", program, ASCEND_RT_BACKEND="sim", ASCEND_RT_SIM_STALL_MS="300")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "aclrtSynchronizeStream has waited 300 ms" in result.stdout
    assert "deadlock" not in result.stdout
