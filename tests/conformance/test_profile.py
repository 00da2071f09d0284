# SPDX-License-Identifier: Apache-2.0
"""A profile of a card (``ASCEND_RT_SIM_PROFILE``): its limits, codes and costs, in processes that load one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.codes import (
    DRIVER,
    INTERNAL,
    INVALID_PARAM,
    OK,
    OUT_OF_MEMORY,
    RT_PARAM,
    STREAM_ABORT,
    SYNC_TIMEOUT,
    UNSUPPORTED,
)

pytestmark = pytest.mark.simulator("internals")

MiB = 1 << 20
NO_STREAM = 207005
TASK_TIMEOUT = 107020
HOURS = 1e12  # nanoseconds: what waits for that does not end by itself

Profile = Callable[..., dict[str, object]]


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    """Return a function that writes a report with a profile of these members and returns the environment for it."""

    def write(**members: object) -> dict[str, object]:
        path = tmp_path / "report.json"
        report = {"tool": "verify", "groups": [{"name": "a group"}], "profile": {"format": 1, **members}}
        path.write_text(json.dumps(report), encoding="utf-8")
        return {"ASCEND_RT_SIM_PROFILE": path}

    return write


# --- limits ----------------------------------------------------------------------------------------------------------


def test_the_machine_has_the_limits_of_the_card(calls: Callable[..., list[Any]], profile: Profile) -> None:
    limits = {
        "memory_bytes": 3000 * MiB + 4096,
        "free_memory_bytes": 2000 * MiB,
        "pinned_bytes": 64 * MiB,
        "streams": 5,
        "events": 2,
        "notifies": 1,
        "cube_cores": 20,
        "vector_cores": 40,
        "aicpu_cores": 3,
        "l2_bytes": 7 * MiB,
    }
    rows: list[tuple[list[Any], int, list[Any] | None]] = [
        (["aclrtSetDevice", 0], OK, []),
        (["aclrtGetMemInfo", 1, "out", "out"], OK, [2000 * MiB, 3000 * MiB + 4096]),
        (["aclrtMalloc", "out", 2001 * MiB, 0], OUT_OF_MEMORY, None),
        (["aclrtMallocHost", "out", 65 * MiB], OUT_OF_MEMORY, None),
        (["aclrtMallocHost", "out", 64 * MiB], OK, None),
        (["aclrtGetStreamAvailableNum", "out"], OK, [3]),  # two of the five are the runtime's
        *[(["aclrtCreateStream", "out"], OK, None)] * 3,
        (["aclrtCreateStream", "out"], NO_STREAM, None),
        *[(["aclrtCreateEventWithFlag", "out", 1], OK, None)] * 2,
        (["aclrtCreateEventWithFlag", "out", 1], 207007, None),
        (["aclrtCreateNotify", "out", 0], OK, None),
        (["aclrtCreateNotify", "out", 0], 207009, None),
        (["aclrtGetDeviceInfo", 0, 1, "out"], OK, [3]),
        (["aclrtGetDeviceInfo", 0, 101, "out"], OK, [20]),
        (["aclrtGetDeviceInfo", 0, 201, "out"], OK, [40]),
        (["aclrtGetDeviceInfo", 0, 302, "out"], OK, [7 * MiB]),
    ]
    answers = calls([row[0] for row in rows], **profile(limits=limits))
    wanted = [[code, values] for _, code, values in rows]
    found = [[code, values if row[2] is not None else None] for row, (code, values) in zip(rows, answers, strict=True)]
    assert found == wanted


def test_a_queue_has_the_depth_of_the_card(child: Any, profile: Profile) -> None:
    script = """
        lib.aclrtSetDevice(0)
        event = ffi.new("aclrtEvent *"); lib.aclrtCreateEvent(event)
        stream = ffi.new("aclrtStream *"); lib.aclrtCreateStream(stream)
        interrupt = ffi.callback("int32_t()", lambda: 1)  # instead of a wait for a place in the queue
        lib.aclsimSetInterruptCheck(interrupt)
        lib.aclsimHold(1)
        codes = [lib.aclrtRecordEvent(event[0], stream[0]) for _ in range(12)]
        lib.aclsimHold(0)
        reported(codes)
    """
    codes = child(script, **profile(limits={"queue_depth": 11}))
    assert codes[:11] == [OK] * 11
    assert codes[11] != OK


ASK = """
    name = lib.aclrtGetSocName()
    info = ffi.new("aclsimInfo *")
    code = lib.aclsimGetInfo(info)
    release = ffi.new("char[128]")
    lib.aclsysGetVersionStr(b"runtime", release)
    product, release = (ffi.string(each).decode() for each in (info.product, release))
    reported([code, product, name and ffi.string(name).decode(), release])
"""


@pytest.mark.parametrize(
    ("members", "environment", "wanted"),
    [
        ({"product": "910C"}, {}, [OK, "910C", "Ascend910_9391", None]),
        ({"product": "910C"}, {"ASCEND_RT_SIM_PRODUCT": "910C"}, [OK, "910C", "Ascend910_9391", None]),
        ({}, {"ASCEND_RT_SIM_PRODUCT": "310P"}, [OK, "310P", "Ascend310P3", None]),
        ({"soc_name": "Ascend910B2C"}, {}, [OK, "910B", "Ascend910B2C", None]),
        ({"cann_version": "8.3.RC1"}, {}, [OK, "910B", "Ascend910B1", "8.3.RC1"]),
        (
            {"cann_version": "8.3.RC1"},
            {"ASCEND_RT_SIM_CANN_VERSION": "8.5.0"},
            [OK, "910B", "Ascend910B1", "8.5.0"],
        ),
    ],
)
def test_product_and_release(
    members: dict[str, object], environment: dict[str, str], wanted: list[Any], child: Any, profile: Profile
) -> None:
    found = child(ASK, **profile(**members), **environment)
    assert found[:3] == wanted[:3]
    assert wanted[3] in (None, found[3])


def test_info_shows_the_card_and_where_it_comes_from(profile: Profile) -> None:
    variables = profile(soc_name="Ascend910B2C", limits={"memory_bytes": 3000 * MiB, "free_memory_bytes": 2000 * MiB})
    command, environment = [sys.executable, "-m", "ascend_rt", "info", "--json"], {**os.environ, **variables}
    info = json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)
    assert info["product"] == "Ascend910B2C"
    assert [device["memory_total"] for device in info["devices"]] == [3000 * MiB] * 8
    assert info["environment"]["ASCEND_RT_SIM_PROFILE"] == str(variables["ASCEND_RT_SIM_PROFILE"])


# --- codes -----------------------------------------------------------------------------------------------------------


def test_a_code_of_the_card_replaces_the_simulators(child: Any, profile: Profile) -> None:
    script = """
        lib.aclrtSetDevice(0)
        memory = ffi.new("char[]", 16384)
        odd = ffi.cast("void *", int(ffi.cast("uintptr_t", memory)) | 1)
        unaligned = lib.aclrtHostRegister(odd, 4096, 0, ffi.new("void **"))
        words, last = text(), lib.aclrtGetLastError(0)
        reported([unaligned, last, words, lib.aclrtMalloc(ffi.NULL, 1, 0)])
    """
    environment = profile(codes={"aclrtHostRegister": {str(DRIVER): RT_PARAM}, "aclrtMalloc": {"107000": 1}})
    code, last, words, other = child(script, **environment)
    path = environment["ASCEND_RT_SIM_PROFILE"]
    assert (code, last, other) == (RT_PARAM, RT_PARAM, INVALID_PARAM)
    assert words.startswith("aclrtHostRegister: ")
    assert words.endswith(f"; the profile {path} has {RT_PARAM} in place of {DRIVER}")


def test_a_function_that_the_card_refuses_does_nothing(child: Any, profile: Profile) -> None:
    script = """
        lib.aclrtSetDevice(0)
        out = ffi.new("void **")
        codes = [lib.aclrtMallocHost(out, 4096), lib.aclrtMallocHost(ffi.NULL, 4096)]
        words = text()
        reported([codes, out[0] == ffi.NULL, words, lib.aclrtMalloc(out, 4096, 0), lib.aclsimClearFaults(),
              lib.aclrtMallocHost(out, 4096)])
    """
    environment = profile(codes={"aclrtMallocHost": {"0": UNSUPPORTED, "100000": 1}})
    codes, is_null, words, *others = child(script, **environment)
    assert codes == [UNSUPPORTED, UNSUPPORTED]
    assert is_null
    path = environment["ASCEND_RT_SIM_PROFILE"]
    assert words == f"aclrtMallocHost: the card of the profile {path} refuses this function"
    assert others == [OK, OK, UNSUPPORTED]


def test_a_fault_on_demand_keeps_its_code(calls: Callable[..., list[Any]], profile: Profile) -> None:
    environment = profile(codes={"aclrtSetDevice": {"207001": 1}})
    answers = calls([["aclrtSetDevice", 0]], ASCEND_RT_SIM_FAULTS="call:aclrtSetDevice:1=207001", **environment)
    assert answers == [[OUT_OF_MEMORY, []]]


# --- costs -----------------------------------------------------------------------------------------------------------

# Objects of the programs below.
START = textwrap.dedent("""
    import time
    lib.aclrtSetDevice(0)
    def stream():
        out = ffi.new("aclrtStream *"); assert lib.aclrtCreateStream(out) == 0; return out[0]
    def event():
        out = ffi.new("aclrtEvent *"); assert lib.aclrtCreateEventExWithFlag(out, 9) == 0; return out[0]
    def memory(function, size, *more):
        out = ffi.new("void **"); assert function(out, size, *more) == 0; return out[0]
    size = 1000 * 1000
    device, other = [memory(lib.aclrtMalloc, size, 0) for _ in range(2)]
    host = memory(lib.aclrtMallocHost, size)
    pageable = ffi.new("char[]", size)
    nothing = ffi.callback("void(void *)", lambda _: None)
    first, second, begin, end = stream(), stream(), event(), event()
    def between(begin=begin, end=end):
        out = ffi.new("float *"); assert lib.aclrtEventElapsedTime(out, begin, end) == 0; return out[0]
    def lasts(work, stream=first):  # milliseconds, by the stamps of two events
        assert lib.aclrtRecordEvent(begin, stream) == 0
        assert work(stream) == 0, text()
        assert lib.aclrtRecordEvent(end, stream) == 0
        assert lib.aclrtSynchronizeStream(stream) == 0
        return between()
""")
TICK = 3e-5  # milliseconds: a stamp is rounded to that


@pytest.fixture
def run(child: Any, profile: Profile) -> Callable[..., Any]:
    """Return a function that runs a program with these costs and returns its output."""

    def run(script: str, **costs: object) -> Any:
        return child(START + textwrap.dedent(script), **profile(costs=costs))

    return run


# A megabyte each: 1 ms and at least one more for the bytes.
@pytest.mark.parametrize(
    ("cost", "work"),
    [
        ("copy_host_to_device", "lib.aclrtMemcpyAsync(device, size, host, size, 1, stream)"),
        ("copy_host_to_device", "lib.aclrtMemcpyAsync(device, size, pageable, size, 1, stream)"),
        ("copy_host_to_device", "lib.aclrtMemcpy(device, size, pageable, size, 1)"),
        ("copy_host_to_device", "lib.aclrtMemcpy2dAsync(device, 1000, host, 1000, 1000, 1000, 1, stream)"),
        ("copy_device_to_host", "lib.aclrtMemcpyAsync(host, size, device, size, 2, stream)"),
        ("copy_device_to_host", "lib.aclrtMemcpy(host, size, device, size, 2)"),
        ("copy_device_to_device", "lib.aclrtMemcpyAsync(other, size, device, size, 3, stream)"),
        ("copy_device_to_device", "lib.aclrtMemcpy(other, size, device, size, 3)"),
        ("fill", "lib.aclrtMemsetAsync(device, size, 7, size, stream)"),
        ("fill", "lib.aclrtMemset(device, size, 7, size)"),
    ],
)
def test_work_takes_as_long_as_on_the_card(cost: str, work: str, run: Callable[..., Any]) -> None:
    script = f"reported([lasts(lambda stream: {work}) for _ in range(3)])"
    for lasted in run(script, **{cost: {"ns": 1e6, "bytes_per_us": 1000}}):
        assert lasted >= 2 - TICK


def test_a_host_function_takes_as_long_as_on_the_card(run: Callable[..., Any]) -> None:
    script = "reported(lasts(lambda stream: lib.aclrtLaunchHostFunc(stream, nothing, ffi.NULL)))"
    assert run(script, **{"host_function": {"ns": 3e6}}) >= 3 - TICK


KERNELS = """
    from ascend_rt import Binary, Stream, sim
    @ffi.callback("aclsimKernelFunction")
    def moves(block, _):
        block.bytes[0] = 500 * 1000
        return 0
    entry = ffi.new("aclsimKernel *", {"function": moves})
    names = "usual", "known"
    for name in names:
        assert lib.aclsimRegisterKernel(name.encode(), entry) == 0
    binary = Binary(sim.device_object(*names))
    def launch(name, stream):
        return binary[name].launch(Stream.from_handle(int(ffi.cast("uintptr_t", stream))), 2) or 0
"""


# Two blocks, which move a megabyte together.
def test_a_kernel_takes_as_long_as_on_the_card(run: Callable[..., Any]) -> None:
    script = (
        KERNELS
        + """
    reported([lasts(lambda stream: launch(name, stream)) for name in names])
    """
    )
    costs = {"kernel": {"ns": 1e6, "bytes_per_us": 1000}, "kernels": {"known": {"ns": 3e6}}}
    usual, known = run(script, **costs)
    assert usual >= 2 - TICK
    assert known >= 3 - TICK


def test_a_kernel_of_a_graph_takes_as_long_each_time(run: Callable[..., Any]) -> None:
    script = (
        KERNELS
        + """
    graph = ffi.new("aclmdlRI *")
    assert lib.aclmdlRICaptureBegin(first, 0) == 0
    launch("usual", first)
    assert lib.aclmdlRICaptureEnd(first, graph) == 0
    reported([lasts(lambda stream: lib.aclmdlRIExecuteAsync(graph[0], stream)) for _ in range(2)])
    """
    )
    for lasted in run(script, kernel={"ns": 1e6, "bytes_per_us": 1000}):
        assert lasted >= 2 - TICK


# The kernel has run, and the device would be at work on its bytes.
def test_an_abort_ends_a_kernel_of_the_card(run: Callable[..., Any]) -> None:
    script = (
        KERNELS
        + """
    launch("usual", first)
    waited = lib.aclrtSynchronizeStreamWithTimeout(first, 30)
    assert lib.aclrtStreamAbort(first) == 0
    reported([waited, lib.aclrtSynchronizeStream(first)])
    """
    )
    assert run(script, kernel={"ns": HOURS}) == [SYNC_TIMEOUT, OK]
    assert run(script, kernel={"bytes_per_us": 1}, kernels={"usual": {"ns": HOURS}}) == [SYNC_TIMEOUT, OK]


def test_short_costs_add_up(run: Callable[..., Any]) -> None:
    script = """
        events = [event() for _ in range(501)]
        for it in events:
            assert lib.aclrtRecordEvent(it, first) == 0
        assert lib.aclrtSynchronizeStream(first) == 0
        reported([between(events[i], events[i + 1]) for i in range(500)] + [between(events[0], events[500])])
    """
    *each, sum_of_all = run(script, **{"record": {"ns": 5000}})
    assert min(each) >= 0.005 - TICK
    assert sum_of_all >= 500 * 0.005 - TICK


# Two streams that wait for each other, with the host between them now and then.
def test_stamps_follow_the_order_of_events(run: Callable[..., Any]) -> None:
    script = """
        events = [event() for _ in range(300)]
        for i, it in enumerate(events):
            on, behind = (first, second) if i % 2 else (second, first)
            assert lib.aclrtRecordEvent(it, on) == 0
            assert lib.aclrtStreamWaitEvent(behind, it) == 0
            if i % 7 == 0:
                assert lib.aclrtSynchronizeEvent(it) == 0
            if i % 5 == 0:
                assert lib.aclrtMemcpyAsync(device, size, host, 1000, 1, behind) == 0
        assert lib.aclrtSynchronizeDevice() == 0
        reported([between(events[i], events[i + 1]) for i in range(299)])
    """
    costs = {"record": {"ns": 1500}, "wait": {"ns": 1200}, "copy_host_to_device": {"ns": 30000}}
    steps = run(script, **costs)
    for i, step in enumerate(steps):
        assert step >= (0.03 if i % 5 == 0 else 0) - TICK, i


# The work of each has to be undone: nothing ends by itself.
@pytest.mark.parametrize(
    ("cost", "work"),
    [
        ("record", "lib.aclrtRecordEvent(end, first)"),
        ("copy_host_to_device", "lib.aclrtMemcpyAsync(device, size, host, 8, 1, first)"),
        ("fill", "lib.aclrtMemsetAsync(device, size, 7, 8, first)"),
        ("host_function", "lib.aclrtLaunchHostFunc(first, nothing, ffi.NULL)"),
    ],
)
def test_nothing_ends_before_it_does_on_the_card(cost: str, work: str, run: Callable[..., Any]) -> None:
    script = f"""
        status = ffi.new("aclrtStreamStatus *")
        recorded = ffi.new("aclrtEventRecordedStatus *")
        assert {work} == 0
        behind = lib.aclrtRecordEvent(begin, first)
        timed_out = lib.aclrtSynchronizeStreamWithTimeout(first, 30)
        assert lib.aclrtStreamQuery(first, status) == 0
        assert lib.aclrtQueryEventStatus(begin, recorded) == 0
        aborted = lib.aclrtStreamAbort(first)
        after = lib.aclrtSynchronizeStream(first)
        again = lib.aclrtMemcpyAsync(device, size, other, 8, 3, first), lib.aclrtSynchronizeStream(first)
        reported([behind, timed_out, status[0], recorded[0], aborted, after, again])
    """
    behind, timed_out, status, recorded, aborted, after, again = run(script, **{cost: {"ns": HOURS}})
    assert (behind, aborted) == (OK, OK)
    assert timed_out == SYNC_TIMEOUT
    assert status != 0
    assert recorded == 0
    assert after in (OK, STREAM_ABORT)
    assert again == [OK, OK]


@pytest.mark.parametrize("cost", ["record", "copy_device_to_device"])
@pytest.mark.parametrize(
    "ending",
    [
        "lib.aclrtDestroyStreamForce(first)",
        "lib.aclrtDeviceTaskAbort(0, 60000)",
        "lib.aclrtResetDeviceForce(0)",
        "lib.aclsimLoseDevice(0, 507010) or lib.aclrtResetDeviceForce(0)",
    ],
)
def test_no_ending_waits_for_the_device(cost: str, ending: str, run: Callable[..., Any]) -> None:
    script = f"""
        assert lib.aclrtMemcpyAsync(device, size, other, 8, 3, first) == 0
        assert lib.aclrtRecordEvent(begin, first) == 0
        reported([lib.aclrtSynchronizeStreamWithTimeout(first, 10), {ending}])
    """
    assert run(script, **{cost: {"ns": HOURS}}) == [SYNC_TIMEOUT, OK]


@pytest.mark.parametrize(
    ("cost", "work"),
    [
        ("copy_host_to_device", "lib.aclrtMemcpy(device, size, host, 8, 1)"),
        ("fill", "lib.aclrtMemset(device, size, 7, 8)"),
    ],
)
def test_an_interrupt_ends_the_wait_of_a_call(cost: str, work: str, run: Callable[..., Any]) -> None:
    script = f"""
        asked = []
        check = ffi.callback("int32_t()", lambda: len(asked.append(0) or asked) == 3)
        assert lib.aclsimSetInterruptCheck(check) == 0
        reported([{work}, text(), len(asked)])
    """
    code, words, asked = run(script, **{cost: {"ns": HOURS}})
    assert (code, asked) == (SYNC_TIMEOUT, 3)
    assert words.endswith(": interrupted while this call waited for the device of the profile")


def test_a_graph_takes_as_long_as_on_the_card(run: Callable[..., Any]) -> None:
    script = """
        fork, join = event(), event()
        graph = ffi.new("aclmdlRI *")
        assert lib.aclmdlRICaptureBegin(first, 2) == 0
        assert lib.aclrtRecordEvent(fork, first) == 0
        assert lib.aclrtStreamWaitEvent(second, fork) == 0
        for on in (first, second):
            for _ in range(3):
                assert lib.aclrtMemcpyAsync(device, size, other, 1000, 3, on) == 0
        assert lib.aclrtRecordEvent(join, second) == 0
        assert lib.aclrtStreamWaitEvent(first, join) == 0
        assert lib.aclmdlRICaptureEnd(first, graph) == 0
        reported([lasts(lambda stream: lib.aclmdlRIExecuteAsync(graph[0], stream)) for _ in range(4)])
    """
    for lasted in run(script, **{"copy_device_to_device": {"ns": 1e6}}):
        assert lasted >= 3 - TICK


def test_with_a_hold_and_a_delay(run: Callable[..., Any]) -> None:
    script = """
        lib.aclsimHold(1)
        assert lib.aclrtRecordEvent(begin, first) == 0
        assert lib.aclrtMemcpyAsync(device, size, host, 8, 1, first) == 0
        assert lib.aclsimDelayTasks(first, 2000) == 0
        assert lib.aclrtMemcpyAsync(device, size, host, 8, 1, first) == 0
        assert lib.aclsimClearFaults() == 0
        assert lib.aclrtRecordEvent(end, first) == 0
        held = lib.aclrtSynchronizeStreamWithTimeout(first, 20)
        lib.aclsimHold(0)
        assert lib.aclrtSynchronizeStream(first) == 0
        reported([held, between()])
    """
    costs = {"copy_host_to_device": {"ns": 1e6}, "record": {"ns": 1e6}}
    held, lasted = run(script, **costs)
    assert held == SYNC_TIMEOUT
    assert lasted >= 1 + 2 + 1 + 1 - TICK


# The limit of a wait begins when the device has come to it, and the timer that it uses is the same.
def test_a_wait_with_a_time_limit(run: Callable[..., Any]) -> None:
    script = """
        notify = ffi.new("aclrtNotify *"); assert lib.aclrtCreateNotify(notify, 0) == 0
        lasted = lasts(lambda stream: lib.aclrtMemcpyAsync(device, size, host, 8, 1, stream))
        assert lib.aclrtMemcpyAsync(device, size, host, 8, 1, first) == 0
        assert lib.aclrtWaitAndResetNotify(notify[0], first, 1) == 0
        reported([lasted, lib.aclrtSynchronizeStream(first)])
    """
    lasted, code = run(script, **{"copy_host_to_device": {"ns": 2e6}})
    assert lasted >= 2 - TICK
    assert code == TASK_TIMEOUT


def test_an_ipc_event(run: Callable[..., Any]) -> None:
    script = """
        out = ffi.new("aclrtEvent *"); assert lib.aclrtCreateEventExWithFlag(out, 0x40) == 0
        recorded = ffi.new("aclrtEventRecordedStatus *")
        assert lib.aclrtRecordEvent(out[0], first) == 0
        assert lib.aclrtStreamWaitEvent(second, out[0]) == 0
        waited = lib.aclrtSynchronizeStreamWithTimeout(second, 30)
        assert lib.aclrtQueryEventStatus(out[0], recorded) == 0
        assert lib.aclrtStreamAbort(first) == 0
        reported([waited, recorded[0], lib.aclrtSynchronizeStream(second)])
    """
    assert run(script, **{"record": {"ns": HOURS}}) == [SYNC_TIMEOUT, 0, OK]


# --- what is wrong; the rows for the members are in tests/native/profile_test.cpp -------------------------------------


@pytest.mark.parametrize(
    ("members", "environment", "problem"),
    [
        ({"limits": {"streams": 1}}, {}, "profile.limits.streams is 1; allowed is a whole number from 3 to 65536"),
        (
            {"product": "910C"},
            {"ASCEND_RT_SIM_PRODUCT": "910B"},
            "profile.product is 910C, but ASCEND_RT_SIM_PRODUCT=910B",
        ),
        (
            {"cann_version": "newest"},
            {},
            "profile.cann_version newest is not a release like 8.1.RC1, 8.5.0 or 9.1.0-beta.1",
        ),
    ],
)
def test_a_wrong_profile_makes_every_call_fail(
    members: dict[str, object], environment: dict[str, str], problem: str, child: Any, profile: Profile
) -> None:
    script = """
        codes = [lib.aclInit(ffi.NULL), lib.aclrtSetDevice(0), lib.aclrtMallocHost(ffi.new("void **"), 1)]
        reported([codes, text(), lib.aclrtGetSocName() == ffi.NULL])
    """
    variables = profile(**members)
    codes, words, has_no_name = child(script, **variables, **environment)
    assert codes == [INTERNAL] * 3
    assert words == f"aclrtMallocHost: ASCEND_RT_SIM_PROFILE={variables['ASCEND_RT_SIM_PROFILE']}: {problem}"
    assert has_no_name


def test_the_path_is_reported_as_it_was_given(child: Any) -> None:
    script = "reported([lib.aclrtSetDevice(0), text()])"
    problem = "the file cannot be read: No such file or directory"
    answer = child(script, ASCEND_RT_SIM_PROFILE="./no/../report.json")
    assert answer == [INTERNAL, f"aclrtSetDevice: ASCEND_RT_SIM_PROFILE=./no/../report.json: {problem}"]
