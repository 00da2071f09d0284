# SPDX-License-Identifier: Apache-2.0
"""Faults on demand: from Python, from C, and from the environment. Each case has a separate process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.programs import BEGINNING

pytestmark = pytest.mark.simulator("faults")


def lines(run, code: str, **variables: str) -> list[str]:
    result = run("-c", BEGINNING + "stream = Stream()\n" + code, ASCEND_RT_BACKEND="sim", **variables)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_the_nth_call_fails_and_does_nothing(run) -> None:
    code = """
sim.fail_call("aclrtCreateEventExWithFlag", 207007, nth=2)
print([code_of(Event) for _ in range(4)])
sim.fail_call("aclrtMalloc", 207018, nth=0)
sim.fail_call("aclrtMallocAlign32", 207018, nth=0)
sim.fail_call("aclrtMallocWithCfg", 207018, nth=0)
print([code_of(Buffer, 64) for _ in range(3)])
sim.clear()
print(code_of(Buffer, 64), lib.aclrtPeekAtLastError(0))
"""
    assert lines(run, code) == ["[0, 207007, 0, 0]", "[207018, 207018, 207018]", "0 207018"]


def test_a_misspelt_function_is_refused_with_the_nearest_name(run) -> None:
    code = """
for name in ("aclrtMaloc", "aclrtRecordEvnt", "malloc", "a" * 500, "", "aclrtSetDevice" * 9):
    try:
        sim.fail_call(name, 207018)
    except ValueError as error:
        print(error.message.partition(" function")[2])
"""
    near = ["; did you mean aclrtMalloc?", "; did you mean aclrtRecordEvent?"]
    assert lines(run, code) == [*near, "", "", "", ""]


def test_a_misspelt_function_in_the_environment_is_refused_with_the_nearest_name(run) -> None:
    result = run("-m", "ascend_rt", "info", ASCEND_RT_BACKEND="sim", ASCEND_RT_SIM_FAULTS="call:aclrtMaloc:1=500000")
    assert result.returncode == 1
    assert "aclrtMaloc is not a simulated function; did you mean aclrtMalloc?" in result.stderr


def test_every_simulated_function_can_fail(run) -> None:
    code = """
names = ["aclInit", "aclFinalize", "aclrtGetVersion", "aclrtGetDeviceCount", "aclrtRecordEvent", "aclrtCreateNotify"]
for name in names:
    sim.fail_call(name, 500000)
    arguments = [ffi.NULL if t.kind in ("pointer", "function") else 0 for t in ffi.typeof(getattr(lib, name)).args]
    print(getattr(lib, name)(*arguments), end=" ")
"""
    assert lines(run, code) == ["500000 " * 6]


def test_the_environment_reaches_the_first_call(run) -> None:
    faults = {"ASCEND_RT_BACKEND": "sim", "ASCEND_RT_SIM_FAULTS": "call:aclInit:1=500000"}
    result = run("-m", "ascend_rt", "demo", **faults)
    assert result.returncode == 1
    assert "aclInit: [500000" in result.stderr


def test_a_failed_task_shows_once_in_continue_mode_and_stays_in_stop_mode(run) -> None:
    code = """
sim.fail_task(507015, stream)
stream.record()
print(code_of(stream.synchronize), code_of(stream.synchronize))
assert lib.aclrtSetStreamFailureMode(ffi.cast("void *", stream.handle), lib.ACL_STOP_ON_FAILURE) == 0
other = Stream()
sim.fail_task(507017, stream)
stream.record()
print(code_of(stream.synchronize), code_of(stream.synchronize), code_of(other.record), code_of(other.synchronize))
assert lib.aclrtDeviceTaskAbort(0, 0) == 0
print(code_of(stream.synchronize), code_of(other.record))
"""
    assert lines(run, code) == ["507015 0", "507017 507017 507017 507017", "0 0"]


def test_a_failed_task_does_not_do_its_work(run) -> None:
    code = """
import numpy as np
from ascend_rt import PinnedBuffer, copy_async
source, target = PinnedBuffer(8), PinnedBuffer(8)
source[:], target[:] = 1, 2
memory = Buffer(8)
copy_async(memory, source, stream)
sim.fail_task(507013, stream)
copy_async(target, memory, stream)
print(code_of(stream.synchronize), np.asarray(target)[:2].tolist())
called = []
sim.fail_task(507017, stream)
stream.launch_host_func(called.append, 1)
print(code_of(stream.synchronize), called)
"""
    assert lines(run, code) == ["507013 [2, 2]", "507017 []"]


def test_only_the_tasks_of_the_stream_count(run) -> None:
    code = """
other = Stream()
sim.fail_task(507015, stream, nth=2)
for each in (other, stream, other, stream, stream):
    each.record()
print(code_of(other.synchronize), code_of(stream.synchronize))
sim.fail_task(507015, nth=0)
other.record()
stream.record()
print(code_of(other.synchronize), code_of(stream.synchronize))
"""
    assert lines(run, code) == ["0 507015", "507015 507015"]


def test_a_delayed_task_is_not_done_at_once(run) -> None:
    code = """
sim.delay_tasks(3600, stream)
event = stream.record()
other = Stream()
other.wait(event)
print(event.is_done, stream.is_done, other.is_done, code_of(stream.synchronize, timeout=0.02))
stream.abort()
other.abort()  # or the end of the program waits for it
sim.delay_tasks(0.001)
event = stream.record()
event.synchronize()
print(event.is_done)
sim.delay_tasks(0)
print(stream.record().is_done)
"""
    assert lines(run, code) == ["False False False 507046", "True", "True"]


def test_a_lost_device_fails_until_it_is_reset(run) -> None:
    code = """
event = Event()
latch = Latch(stream)
stream.record(event)
sim.lose_device(device)
status = ffi.new("aclrtDeviceStatus *")
assert lib.aclrtQueryDeviceStatus(0, status) == 0
print(status[0] == lib.ACL_RT_DEVICE_STATUS_ABNORMAL)
print(code_of(stream.synchronize), code_of(stream.record), code_of(device.set_current), code_of(Stream))
with Device(1):
    print(code_of(Stream().record))
lib.aclrtResetDeviceForce(0)
device.set_current()
with Stream() as again:
    print(code_of(again.record().synchronize))
"""
    assert lines(run, code) == ["True", "507010 507010 507010 507010", "0", "0"]


def test_functions_on_a_lost_device_are_let_go_with_their_streams(run) -> None:
    code = """
from ascend_rt._native import handles
stream.launch_host_func(print) if Latch(stream) else None
sim.lose_device(device)
print(len(handles.pending), code_of(device.reset), stream.close(), len(handles.pending))
"""
    assert lines(run, code) == ["1 0 None 0"]


def test_a_thread_that_waits_for_a_lost_device_learns_it(run) -> None:
    code = """
import threading
latch = Latch(stream)
codes, started = [], threading.Event()
def wait():
    device.set_current()
    started.set()
    codes.append(code_of(stream.synchronize))
thread = threading.Thread(target=wait)
thread.start()
started.wait()
sim.lose_device(0)
thread.join()
print(codes)
"""
    assert lines(run, code) == ["[507010]"]


@pytest.mark.parametrize(
    ("resource", "make", "code"),
    [
        ("streams", "Stream()", 207005),
        ("events", "stream.record(Event())", 207007),
        ("notifies", "make_notify()", 207009),
    ],
)
def test_resources_run_out(run, resource: str, make: str, code: int) -> None:
    program = f"""
from ascend_rt._runtime.driver import call
def make_notify():
    call("aclrtCreateNotify", ffi.new("aclrtNotify *"), 0)
kept = []
with Latch(stream):
    free = Stream()
    sim.limit({resource!r}, 6)
    for _ in range(9):
        error = code_of(lambda: kept.append({make}))
        if error:
            break
    print(error, 0 < len(kept) <= 6)
    sim.limit({resource!r}, None)
    print(code_of(lambda: kept.append({make})))
"""
    assert lines(run, program) == [f"{code} True", "0"]


def test_a_poisoned_device_needs_a_forced_reset(run) -> None:
    code = """
sim.poison_device()
def kinds(there=0):
    memory = ffi.new("aclrtPhysicalMemProp *", {"memAttr": 4, "location": {"type": 1, "id": there}})
    physical = lib.aclrtMallocPhysical(ffi.new("aclrtDrvMemHandle *"), 1 << 21, memory, 0)
    managed = lib.aclrtMemAllocManaged(ffi.new("void **"), 64, 1)
    return code_of(Buffer, 64), code_of(Stream), physical, managed
print(kinds(), code_of(stream.record), code_of(stream.synchronize), code_of(Event))
stream.close()
device.reset()
device.set_current()
print(kinds())
with Context(1):
    print(kinds(1))
print(lib.aclrtResetDeviceForce(0), lib.aclrtSetDevice(0), kinds())
sim.poison_device(0, 507901)
print(code_of(Buffer, 64))
with sim.faults():
    pass
print(kinds())
"""
    refused, granted = "(507899, 507899, 507899, 507899)", "(0, 0, 0, 0)"
    assert lines(run, code) == [
        f"{refused} 0 0 0",
        refused,
        granted,
        f"0 0 {granted}",
        "507901",
        granted,
    ]


def test_a_device_that_is_down_keeps_its_streams_until_a_forced_reset(run) -> None:
    code = """
other, context = Stream(), Context(0)
print(lib.aclrtSetDevice(0), lib.aclrtResetDevice(0))
sim.take_down_device()
print([code_of(call) for call in (stream.record, stream.synchronize, Stream, device.set_current)])
raw = ffi.cast("void *", stream.handle)
print([lib.aclrtDestroyStream(raw), lib.aclrtDestroyStreamForce(raw), lib.aclrtResetDevice(0)])
print([code_of(call) for call in (stream.close, stream.close, context.close, other.close)], stream.is_closed)
id = ffi.new("int32_t *")
print(lib.aclrtStreamGetId(raw, id), id[0])
with Device(1), Stream() as there:
    print(code_of(there.record))
print(lib.aclrtResetDeviceForce(0), lib.aclrtStreamGetId(raw, id), code_of(context.close))
device.set_current()
with Stream() as again:
    print(code_of(again.record().synchronize))
"""
    assert lines(run, code) == [
        "0 0",
        "[507901, 507901, 507901, 507901]",
        "[507901, 507901, 507901]",
        "[507901, 507901, 507901, 507901] False",
        "0 2",
        "0",
        "0 107017 0",
        "0",
    ]


def test_a_device_that_went_down_before_it_was_set_is_reset_by_force(child) -> None:
    calls = ("aclrtSetDevice", "aclrtResetDevice", "aclrtResetDeviceForce", "aclrtSetDevice")
    script = f"reported([{', '.join(f'lib.{name}(0)' for name in calls)}])"
    assert child(script, ASCEND_RT_SIM_FAULTS="down:0=0") == [507901, 507007, 0, 0]


def test_a_device_that_was_lost_before_it_was_set_is_reset_by_force(child) -> None:
    calls = ("aclrtSetDevice", "aclrtResetDevice", "aclrtResetDeviceForce", "aclrtSetDevice")
    script = f"reported([{', '.join(f'lib.{name}(0)' for name in calls)}])"
    assert child(script, ASCEND_RT_SIM_FAULTS="lose:0=507010") == [507010, 507007, 0, 0]


# Calls on another stream meanwhile; streams that a reset ends are closed without a call.
@pytest.mark.parametrize(("call", "other"), [("stream.close", 507901), ("context.close", 507901), ("device.reset", 0)])
def test_the_first_end_of_a_stream_on_a_device_that_is_down_blocks(run, call: str, other: int) -> None:
    # The program is asked whether it interrupts the call while that blocks.
    code = f"""
import ctypes
context, other = Context(0), Stream()
sim.take_down_device(block=3600)
asked = []
def ask():
    asked.append(code_of(other.close))
    return len(asked) == 2
check = ctypes.CFUNCTYPE(ctypes.c_int32)(ask)
lib.aclsimSetInterruptCheck(ffi.cast("aclsimInterruptCheck", ctypes.cast(check, ctypes.c_void_p).value))
try:
    {call}()
except AclError as error:
    print(error.code, "interrupted while this call waited for a device that is down" in str(error), asked)
print(code_of({call}), len(asked))
lib.aclrtResetDeviceForce(0)
"""
    assert lines(run, code) == [f"507901 True [{other}, {other}]", "507901 2"]


def test_a_stream_of_a_device_that_is_down_is_discarded_with_a_warning(run) -> None:
    code = """
import gc, warnings
sim.take_down_device()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    del stream
    gc.collect()
print([(str(each.category.__name__), "507901" in str(each.message)) for each in caught])
sim.clear()
print(code_of(Stream), code_of(device.reset))
"""
    assert lines(run, code) == ["[('AclWarning', True)]", "0 0"]


def test_memory_runs_out(run) -> None:
    code = """
sim.limit("memory", 1 << 20)
print(code_of(Buffer, 1 << 21), device.memory_info.free)
kept = Buffer(1 << 19)
print(device.memory_info.free <= 1 << 19, code_of(Buffer, 1 << 20))
sim.limit("memory", None)
print(code_of(Buffer, 1 << 21))
"""
    assert lines(run, code) == ["207001 1048576", "True 207001", "0"]


def test_blocks_that_hold_the_devices_may_be_inside_each_other(run) -> None:
    code = """
with sim.held():
    with sim.held():
        pass
    event = stream.record()
    print(event.is_done)
print(stream.record().is_done)
"""
    assert lines(run, code) == ["False", "True"]


def test_held_lets_nothing_start(run) -> None:
    code = """
with sim.held():
    event = stream.record()
    print(event.is_done)
event.synchronize()
print(event.is_done, sim.info())
"""
    assert lines(run, code, ASCEND_RT_SIM_WORKERS="3") == [
        "False",
        "True Info(product='910B', devices=8, workers=3)",
    ]


def test_from_the_environment(run) -> None:
    code = """
print(code_of(Event), code_of(Event))
stream.record()
stream.record()
print(code_of(stream.synchronize))
print(code_of(lambda: [Stream() for _ in range(9)]))
print(code_of(Device(3).set_current))
Device(4).set_current()
print(code_of(Buffer, 64))
"""
    faults = "call:aclrtCreateEventExWithFlag:2=207007;task:*:2=507015;limit:streams=5;"
    faults += "lose:3=507901;poison:4=507899;delay:*=10;"
    assert lines(run, code, ASCEND_RT_SIM_FAULTS=faults) == ["0 207007", "507015", "207005", "507901", "507899"]


@pytest.mark.parametrize(
    "faults",
    [
        "call",
        "=1",
        "=5000000000",
        ":=1",
        "::=1",
        "=",
        "call:aclInit=1",
        "call:aclInit:x=1",
        "call:aclInit:1=0",
        "call:aclInit:1=4294967296",
        "call:aclrtNoSuch:1=5",
        "task:a:1=2",
        "task:*:1=0",
        "lose:99=1",
        "lose:1=0",
        "poison:99=1",
        "poison:1=0",
        "down:99=1",
        "down:1=3600000001",
        "limit:air=1",
        "delay:*=soon",
        "delay:*=3600000001",
    ],
)
def test_an_environment_that_makes_no_sense_fails_every_call_and_says_so(run, faults: str) -> None:
    result = run("-m", "ascend_rt", "demo", "--backend", "sim", ASCEND_RT_SIM_FAULTS=faults)
    assert result.returncode == 1
    assert "ASCEND_RT_SIM_FAULTS" in result.stderr
    assert faults in result.stderr
    assert "Traceback" not in result.stderr


def test_bad_arguments(run) -> None:
    code = """
NULL = ffi.NULL
garbage = ffi.cast("void *", 0x1234567800)
print(lib.aclsimFailCall(NULL, 1, 1), lib.aclsimFailCall(b"aclrtNoSuch", 1, 1), lib.aclsimFailCall(b"aclInit", 1, 0))
print(lib.aclsimFailTask(garbage, 1, 1), lib.aclsimFailTask(NULL, 1, 0), lib.aclsimDelayTasks(garbage, 1))
print(lib.aclsimDelayTasks(NULL, 2**62), lib.aclsimLoseDevice(99, 1), lib.aclsimLoseDevice(0, 0))
print(lib.aclsimTakeDownDevice(99, 0), lib.aclsimTakeDownDevice(0, 2**63), code_of(stream.record))
print(lib.aclsimLimitResource(0, 9, 1), lib.aclsimLimitResource(-1, 0, 1), lib.aclsimGetInfo(NULL))
try:
    sim.limit("air", 1)
except ValueError as error:
    print(error)
"""
    assert lines(run, code) == [
        "100000 100000 100000",
        "107017 100000 107017",
        "100000 107001 100000",
        "107001 100000 0",
        "107000 107001 100000",
        "the resource 'air' is not one of streams, events, notifies, memory",
    ]


def test_the_vendors_library_has_no_faults_on_demand(run, build, tmp_path) -> None:
    code = """if True:
        from ascend_rt import sim
        from ascend_rt.errors import NotSupported
        needs_it = lambda: sim.fail_task(507015), lambda: sim.held().__enter__(), lambda: sim.run_operator(None, 64)
        for action in (sim.clear, sim.info, *needs_it):
            try:
                action()
            except NotSupported as error:
                print("only the simulator" in str(error))
    """
    result = run("-c", code, ASCEND_RT_LIBRARY=build(tmp_path / "libascendcl.so"))
    assert result.stdout.split() == ["True"] * 5, result.stderr


def test_queries_of_events_report_of_a_context_that_has_stopped(run) -> None:
    code = """
event, old = Event(), ffi.new("aclrtEvent *")
assert lib.aclrtCreateEvent(old) == 0
raw = ffi.cast("void *", stream.handle)
assert lib.aclrtSetStreamFailureMode(raw, lib.ACL_STOP_ON_FAILURE) == 0
stream.record(event)
assert lib.aclrtRecordEvent(old[0], raw) == 0
sim.fail_task(507015, stream)
stream.record()
status, wait = ffi.new("aclrtEventStatus *"), ffi.new("aclrtEventWaitStatus *")
print(lib.aclrtQueryEvent(old[0], status), lib.aclrtQueryEventWaitStatus(old[0], wait))
print(code_of(lambda: event.is_done), lib.aclrtStreamQuery(raw, ffi.new("aclrtStreamStatus *")))
print(lib.aclrtSynchronizeEvent(old[0]), lib.aclrtSynchronizeEventWithTimeout(old[0], 5000))
"""
    assert lines(run, code) == ["507015 507015", "507015 507015", "507015 507015"]


def test_an_event_that_has_nothing_to_do_with_the_context_that_has_stopped(run) -> None:
    code = """
out = ffi.new("aclrtEvent *")
assert lib.aclrtCreateEvent(out) == 0
raw, context = ffi.cast("void *", stream.handle), ffi.new("aclrtContext *")
assert lib.aclrtSetStreamFailureMode(raw, lib.ACL_STOP_ON_FAILURE) == 0
sim.fail_task(507015, stream)
stream.record()
def ask():
    return [
        lib.aclrtQueryEvent(out[0], ffi.new("aclrtEventStatus *")),
        lib.aclrtQueryEventStatus(out[0], ffi.new("aclrtEventRecordedStatus *")),
        lib.aclrtQueryEventWaitStatus(out[0], ffi.new("aclrtEventWaitStatus *")),
        lib.aclrtSynchronizeEvent(out[0]),
    ]
print(ask())
assert lib.aclrtCreateContext(context, 0) == lib.aclrtSetCurrentContext(context[0]) == 0
print(ask())
"""
    # The wait status is that of the calling thread's context, the others are those of the record's.
    assert lines(run, code) == ["[0, 0, 507015, 0]", "[0, 0, 0, 0]"]


# A row of the table in docs/simulator.md -> a program that shows its effect, with `FAULT` where the fault is caused,
# and what it prints. The stream is number 2.
EFFECTS = {
    "the nth call of a function returns a code": (
        "FAULT\nprint([code_of(Buffer, 64) for _ in range(4)])",
        "[0, 0, 207018, 0]",
    ),
    "the nth task of a stream fails": (
        "FAULT\nprint([code_of(lambda: stream.record().synchronize()) for _ in range(3)], code_of(stream.synchronize))",
        "[0, 507015, 507015] 507015",
    ),
    "tasks start later": (
        "FAULT\nevent = stream.record()\nprint(event.is_done)\nevent.synchronize()\nprint(event.is_done)",
        "False\nTrue",
    ),
    "a device is lost, until it is reset": (
        "FAULT\nprint(code_of(Device(1).set_current), code_of(device.set_current))",
        "507010 0",
    ),
    "creating streams and allocating memory fail on a device, until a reset with force": (
        "Device(1).set_current()\nFAULT\n"
        "print(code_of(Stream), lib.aclrtResetDevice(1), lib.aclrtSetDevice(1), code_of(Buffer, 64))\n"
        "print(lib.aclrtResetDeviceForce(1), lib.aclrtSetDevice(1), code_of(Buffer, 64))",
        "507899 0 0 507899\n0 0 0",
    ),
    "a device is down: it is lost, and destroying its streams fails too, until a reset with force": (
        "FAULT\nprint(code_of(Device(1).set_current), code_of(device.set_current))",
        "507901 0",
    ),
    "a resource is limited": (
        "FAULT\nstreams = []\nprint([code_of(lambda: streams.append(Stream())) for _ in range(4)])",
        None,
    ),
}


def documented_faults() -> list[tuple[str, str, str]]:
    text = (Path(__file__).parents[3] / "docs" / "simulator.md").read_text(encoding="utf-8")
    return re.findall(r"^\| ([^|]+) \| `(\w+\([^`]*\))` \| `aclsim\w+` \| `([^`]+)` \|$", text, re.MULTILINE)


def test_the_documented_faults_are_those_that_are_tried() -> None:
    assert [row[0] for row in documented_faults()] == list(EFFECTS)


@pytest.mark.parametrize("row", documented_faults(), ids=lambda row: row[0])
@pytest.mark.parametrize("way", ["Python", "the environment"])
def test_a_documented_fault_has_its_effect(run, row: tuple[str, str, str], way: str) -> None:
    name, call, entry = row
    program, expected = EFFECTS[name]
    program = program.replace("FAULT", f"sim.{call}" if way == "Python" else "")
    variables = {} if way == "Python" else {"ASCEND_RT_SIM_FAULTS": entry.replace("STREAM_ID", "2")}
    printed = "\n".join(lines(run, program, ASCEND_RT_SIM_DEVICES="2", **variables))
    if expected is None:  # how many streams the program has already differs
        assert "0, " in printed
        assert "2070" in printed
    else:
        assert printed == expected
