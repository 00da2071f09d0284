# SPDX-License-Identifier: Apache-2.0
"""Queries and settings of a device: every function, with right and wrong arguments.

The codes are those of the specification for devices; in a row, ``None`` is NULL and ``"out"`` an output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.codes import (
    CONTEXT_RELEASED,
    GARBAGE,
    INVALID_DEVICE,
    INVALID_HANDLE,
    INVALID_PARAM,
    NO_CONTEXT,
    OK,
    RT_PARAM,
    STREAM_CONTEXT,
    UNSUPPORTED,
)

from ascend_rt.testing import Latch

# function, arguments, code; on 910B with two devices, of which device 0 is set
QUERIES = [
    ("aclrtGetDeviceInfo", (0, 101, None), INVALID_PARAM),
    ("aclrtGetDeviceInfo", (2, 101, "out"), RT_PARAM),
    ("aclrtGetDeviceInfo", (0, 0, "out"), RT_PARAM),
    ("aclrtGetDeviceInfo", (0, 99999, "out"), RT_PARAM),
    ("aclrtGetDeviceInfo", (0, 202, "out"), UNSUPPORTED),
    ("aclGetDeviceCapability", (0, 0, None), INVALID_PARAM),
    ("aclGetDeviceCapability", (2, 0, "out"), INVALID_PARAM),
    ("aclGetDeviceCapability", (0, 3, "out"), INVALID_PARAM),
    ("aclGetDeviceCapability", (0, -1, "out"), INVALID_PARAM),
    ("aclrtGetDeviceUtilizationRate", (0, None), INVALID_PARAM),
    ("aclrtGetDeviceUtilizationRate", (0, "out"), OK),
    ("aclrtGetDeviceUtilizationRate", (9, "out"), OK),
    ("aclrtDeviceGetUuid", (0, None), INVALID_PARAM),
    ("aclrtDeviceGetUuid", (0, "out"), OK),
    ("aclrtDeviceGetUuid", (-1, "out"), INVALID_DEVICE),
    ("aclrtDeviceGetUuid", (2, "out"), INVALID_DEVICE),
    ("aclrtDeviceGetPCIBusId", (0, None, 32), INVALID_PARAM),
    ("aclrtDeviceGetPCIBusId", (0, "buffer", 13), OK),
    ("aclrtDeviceGetPCIBusId", (0, "buffer", 12), RT_PARAM),
    ("aclrtDeviceGetPCIBusId", (2, "buffer", 32), INVALID_DEVICE),
    ("aclrtDeviceGetByPCIBusId", (None, "out"), INVALID_PARAM),
    ("aclrtDeviceGetByPCIBusId", ("text:0000:3d:00.0", None), INVALID_PARAM),
    ("aclrtDeviceGetByPCIBusId", ("text:0000:ff:00.0", "out"), RT_PARAM),
    ("aclrtDeviceGetByPCIBusId", ("text:garbage", "out"), RT_PARAM),
    ("aclrtDeviceGetBareTgid", (None,), INVALID_PARAM),
    ("aclrtCheckArchCompatibility", (None, "out"), RT_PARAM),
    ("aclrtCheckArchCompatibility", ("text:", "out"), RT_PARAM),
    ("aclrtCheckArchCompatibility", ("text:Foo", "out"), RT_PARAM),
    ("aclrtCheckArchCompatibility", ("text:Ascend910B1", None), RT_PARAM),
    ("aclrtSetDeviceSatMode", (2,), RT_PARAM),
    ("aclrtGetDeviceSatMode", (None,), INVALID_PARAM),
    ("aclrtDeviceL2CacheFlush", (None,), OK),
    ("aclrtDeviceL2CacheFlush", (GARBAGE,), INVALID_PARAM),
    ("aclrtCtxGetFloatOverflowAddr", (None,), RT_PARAM),
    ("aclrtGetGroupCount", (None,), INVALID_PARAM),
    ("aclrtGetGroupCount", ("out",), UNSUPPORTED),
    ("aclrtSetGroup", (-1,), UNSUPPORTED),
    ("aclrtDestroyGroupInfo", (None,), INVALID_PARAM),
    ("aclrtGetAllGroupInfo", (None,), INVALID_PARAM),
    ("aclrtGetMemUceInfo", (0, None, 1, "out"), INVALID_PARAM),
    ("aclrtGetMemUceInfo", (0, "buffer", 1, None), INVALID_PARAM),
    ("aclrtGetMemUceInfo", (2, "buffer", 1, "out"), INVALID_DEVICE),
    ("aclrtGetMemUceInfo", (0, "buffer", 1, "out"), OK),
    ("aclrtMemUceRepair", (0, None, 1), INVALID_PARAM),
    ("aclrtMemUceRepair", (0, "buffer", 129), INVALID_PARAM),
    ("aclrtMemUceRepair", (2, "buffer", 1), INVALID_DEVICE),
    ("aclrtMemUceRepair", (0, "buffer", 1), OK),
    ("aclrtGetErrorVerbose", (0, None), INVALID_PARAM),
    ("aclrtGetErrorVerbose", (2, "out"), INVALID_DEVICE),
    ("aclrtRepairError", (0, None), INVALID_PARAM),
    ("aclrtResetDevice", (1,), CONTEXT_RELEASED),
    ("aclrtResetDevice", (2,), INVALID_DEVICE),
]


@pytest.mark.simulator("products")
def test_arguments(calls: Callable[..., list[Any]]) -> None:
    rows = [[function, *arguments] for function, arguments, _ in QUERIES]
    answers = calls([["aclrtSetDevice", 0], *rows], ASCEND_RT_SIM_DEVICES="2")[1:]
    for row, (code, _) in zip(QUERIES, answers, strict=True):
        assert code == row[2], row


# attribute, value on 910B, value on 950
ATTRIBUTES = [
    (1, 6, 6),
    (101, 24, 32),
    (102, 24, 32),
    (201, 48, 64),
    (202, UNSUPPORTED, 32),
    *((attribute, UNSUPPORTED, None) for attribute in range(203, 213)),
    (301, 62428 << 20, 128 << 30),
    (302, 192 << 20, 128 << 20),
    (401, 0, 0),
    (402, 1, 1),
    (403, UNSUPPORTED, 1),
    (404, UNSUPPORTED, 0),
    (405, UNSUPPORTED, 0),
    (406, 0, 0),
    (407, 0, 0),
    (408, 0, 2),
    (409, 1, 0),
    (501, 0, 0),
    (601, 2201, 3510),
]


@pytest.mark.parametrize(("product", "column"), [("910B", 1), ("950", 2)])
@pytest.mark.simulator("products")
def test_attributes(product: str, column: int, calls: Callable[..., list[Any]]) -> None:
    answers = calls([["aclrtGetDeviceInfo", 1, row[0], "out"] for row in ATTRIBUTES], ASCEND_RT_SIM_PRODUCT=product)
    for row, (code, values) in zip(ATTRIBUTES, answers, strict=True):
        expected = row[column]
        if expected is None:
            assert code == OK, row
            assert values[0] > 0, row
        elif expected == UNSUPPORTED:
            assert code == UNSUPPORTED, row
        else:
            assert (code, values) == (OK, [expected]), row


def test_identities_are_stable_and_differ(lib: Any, ffi: Any) -> None:
    count = ffi.new("uint32_t *")
    assert lib.aclrtGetDeviceCount(count) == OK
    uuids, buses = set(), set()
    for device in range(count[0]):
        uuid, again, bus, back = (
            ffi.new("aclrtUuid *"),
            ffi.new("aclrtUuid *"),
            ffi.new("char[16]"),
            ffi.new("int32_t *"),
        )
        assert lib.aclrtDeviceGetUuid(device, uuid) == OK
        assert lib.aclrtDeviceGetUuid(device, again) == OK
        assert ffi.buffer(uuid)[:] == ffi.buffer(again)[:]
        assert lib.aclrtDeviceGetPCIBusId(device, bus, 16) == OK
        assert lib.aclrtDeviceGetByPCIBusId(bus, back) == OK
        assert back[0] == device
        assert lib.aclrtDeviceGetByPCIBusId(ffi.string(bus).upper(), back) == OK
        uuids.add(bytes(ffi.buffer(uuid)))
        buses.add(ffi.string(bus))
    assert len(uuids) == len(buses) == count[0]


def test_a_hidden_device_has_no_bus(calls: Callable[..., list[Any]]) -> None:
    rows = [["aclrtDeviceGetByPCIBusId", f"text:0000:{bus}:00.0", "out"] for bus in ("3d", "3e", "3f")]
    assert calls(rows, ASCEND_RT_VISIBLE_DEVICES="1,2") == [[RT_PARAM, [0]], [OK, [0]], [OK, [1]]]


def test_utilization(lib: Any, ffi: Any) -> None:
    info = ffi.new("aclrtUtilizationInfo *")
    for device, cores in ((0, 0), (-1, -1), (1000, -1)):
        assert lib.aclrtGetDeviceUtilizationRate(device, info) == OK
        assert (info.cubeUtilization, info.vectorUtilization, info.aicpuUtilization) == (cores,) * 3
        assert info.memoryUtilization == -1
    info.utilizationExtend = ffi.cast("void *", GARBAGE)
    assert lib.aclrtGetDeviceUtilizationRate(0, info) == INVALID_PARAM


def test_there_are_no_faults(lib: Any, ffi: Any) -> None:
    count, info, range_ = ffi.new("size_t *", 7), ffi.new("aclrtErrorInfo *"), ffi.new("aclrtMemUceInfo *")
    assert lib.aclrtGetMemUceInfo(0, range_, 0, count) == OK
    assert count[0] == 0
    info.tryRepair = info.errorType = 1
    assert lib.aclrtGetErrorVerbose(0, info) == OK
    assert (info.tryRepair, info.errorType) == (0, lib.ACL_RT_NO_ERROR)
    assert lib.aclrtRepairError(0, info) == RT_PARAM
    info.errorType = lib.ACL_RT_ERROR_MEMORY
    assert lib.aclrtRepairError(0, info) == OK
    range_.reserved[13] = 1
    assert lib.aclrtMemUceRepair(0, range_, 1) == INVALID_PARAM
    assert lib.aclrtMemUceRepair(0, range_, 0) == OK


# limit, value, code, what is in force afterwards; on 950, where all limits are
LIMITS = [
    (0, 1280, OK, 1280),
    (0, 1281, RT_PARAM, 1280),
    (1, 2048, OK, 2048),
    (2, 0, OK, 32768),
    (2, 32769, OK, 49152),
    (2, 131073, RT_PARAM, 49152),
    (2, 1 << 32, INVALID_PARAM, 49152),
    (3, 1024, OK, 1024),
    (3, 1023, RT_PARAM, 1024),
    (3, 1028, RT_PARAM, 1024),
    (3, 64 << 20, OK, 64 << 20),
    (3, (64 << 20) + 8, RT_PARAM, 64 << 20),
    (4, 1 << 20, OK, 1 << 20),
    (4, (1 << 20) - 1, RT_PARAM, 1 << 20),
]


@pytest.mark.simulator("products")
def test_limits(calls: Callable[..., list[Any]]) -> None:
    rows = []
    for limit, value, _, _ in LIMITS:
        rows += [["aclrtDeviceSetLimit", limit, value], ["aclrtDeviceGetLimit", limit, "out"]]
    answers = calls(rows, ASCEND_RT_SIM_PRODUCT="950")
    for row, (set_code, _), (get_code, values) in zip(LIMITS, answers[::2], answers[1::2], strict=True):
        assert (set_code, get_code, values) == (row[2], OK, [row[3]]), row


@pytest.mark.simulator("products")
def test_limits_before_they_are_set(calls: Callable[..., list[Any]]) -> None:
    rows = [["aclrtDeviceGetLimit", limit, "out"] for limit in (0, 1, 2, 3, 4, 5)]
    answers = calls([*rows, ["aclrtDeviceGetLimit", 2, None]], ASCEND_RT_SIM_PRODUCT="950")
    assert [values for code, values in answers if code == OK] == [[1152], [1024], [32768], [32768], [2 << 20]]
    assert [code for code, _ in answers[5:]] == [INVALID_PARAM, INVALID_PARAM]
    assert [code for code, _ in calls(rows)] == [UNSUPPORTED, UNSUPPORTED, OK, OK, UNSUPPORTED, INVALID_PARAM]


# --- overflow --------------------------------------------------------------------------------------------------------


# Functions that query and reset the status; no document has the mode of the last two.
STATUS = [
    ("aclrtGetOverflowStatus", "aclrtResetOverflowStatus", ()),
    ("aclrtGetFloatOverflowStatus", "aclrtResetFloatOverflowStatus", ()),
    ("aclrtNpuGetFloatOverFlowStatus", "aclrtNpuClearFloatOverFlowStatus", (0,)),
]


@pytest.mark.parametrize(("get", "reset", "mode"), STATUS)
def test_the_overflow_status_is_got_and_reset_when_the_task_runs(
    get: str, reset: str, mode: tuple[int, ...], device: Any, stream: Any, lib: Any, ffi: Any
) -> None:
    handle = ffi.cast("void *", stream.handle)
    memory, status = ffi.new("void **"), ffi.new("void **")
    assert lib.aclrtMalloc(memory, 128, 0) == OK
    assert lib.aclrtMemset(memory[0], 128, 0xAB, 128) == OK
    assert lib.aclrtCtxGetFloatOverflowAddr(status) == OK
    assert lib.aclrtMemset(status[0], 64, 0x11, 64) == OK  # as a kernel that meets an overflow
    reported = ffi.cast("unsigned char *", memory[0])
    with Latch(stream):
        assert getattr(lib, get)(memory[0], 64, *mode, handle) == OK
        assert getattr(lib, reset)(*mode, handle) == OK
        assert getattr(lib, get)(ffi.cast("void *", reported + 64), 64, *mode, handle) == OK
        assert set(reported[0:128]) == {0xAB}
    stream.synchronize()
    assert set(reported[0:64]) == {0x11}
    assert set(reported[64:128]) == {0}
    assert lib.aclrtFree(memory[0]) == OK


@pytest.mark.parametrize(("get", "reset", "mode"), STATUS)
@pytest.mark.simulator("deadly")
def test_overflow_status_arguments(
    get: str, reset: str, mode: tuple[int, ...], device: Any, lib: Any, ffi: Any
) -> None:
    memory, dead, garbage = ffi.new("void **"), ffi.new("aclrtStream *"), ffi.cast("void *", GARBAGE)
    get_status, reset_status = getattr(lib, get), getattr(lib, reset)
    assert lib.aclrtMalloc(memory, 64, 0) == OK
    assert lib.aclrtCreateStream(dead) == OK
    assert lib.aclrtDestroyStream(dead[0]) == OK
    assert get_status(ffi.NULL, 64, *mode, ffi.NULL) == INVALID_PARAM
    assert get_status(memory[0], 32, *mode, ffi.NULL) == RT_PARAM
    assert get_status(memory[0], 64, *mode, ffi.NULL) == OK
    assert reset_status(*mode, ffi.NULL) == OK
    for bad in (dead[0], garbage):
        assert get_status(memory[0], 64, *mode, bad) == INVALID_HANDLE
        assert reset_status(*mode, bad) == INVALID_HANDLE
    assert lib.aclrtSynchronizeStream(ffi.NULL) == OK
    assert lib.aclrtFree(memory[0]) == OK


def test_overflow_needs_the_own_context(calls: Callable[..., list[Any]]) -> None:
    rows = [
        ["aclrtGetOverflowStatus", "buffer", 64, None],
        ["aclrtResetOverflowStatus", None],
        ["aclrtCtxGetFloatOverflowAddr", "out"],
        ["aclrtSetDevice", 0],
        ["aclrtCreateStream", "out:stream"],
        ["aclrtSetDevice", 1],
        ["aclrtResetOverflowStatus", "@stream"],
        ["aclrtGetOverflowStatus", "buffer", 64, "@stream"],
    ]
    codes = [code for code, _ in calls(rows)]
    assert codes == [NO_CONTEXT, NO_CONTEXT, NO_CONTEXT, OK, OK, OK, STREAM_CONTEXT, STREAM_CONTEXT]


def test_each_context_has_its_overflow_address(device: Any, lib: Any, ffi: Any) -> None:
    first, again, other, context = (ffi.new("void **") for _ in range(4))
    current = ffi.new("aclrtContext *")
    assert lib.aclrtGetCurrentContext(current) == OK
    assert lib.aclrtCtxGetFloatOverflowAddr(first) == OK
    assert lib.aclrtCtxGetFloatOverflowAddr(again) == OK
    assert first[0] == again[0]
    assert bytes(ffi.buffer(first[0], 64)) == bytes(64)
    assert lib.aclrtCreateContext(context, 0) == OK
    assert lib.aclrtCtxGetFloatOverflowAddr(other) == OK
    assert other[0] != first[0]
    assert lib.aclrtDestroyContext(context[0]) == OK
    assert lib.aclrtSetCurrentContext(current[0]) == OK


def test_each_device_has_its_synchronization_address(device: Any, lib: Any, ffi: Any) -> None:
    found = []
    for number in (0, 1, 0):
        assert lib.aclrtSetDevice(number) == OK
        address = ffi.new("void **")
        assert lib.aclrtGetHardwareSyncAddr(address) == OK
        found.append(address[0])
    assert found[0] == found[2] != found[1]
    assert ffi.NULL not in found
    assert lib.aclrtResetDevice(1) == OK
    assert lib.aclrtResetDevice(0) == OK


@pytest.mark.parametrize(
    ("soc", "fits"), [("Ascend910B1", 1), ("Ascend910_9391", 1), ("Ascend310P3", 0), ("Ascend910A", 0)]
)
def test_architectures(soc: str, fits: int, lib: Any, ffi: Any) -> None:
    answer = ffi.new("int32_t *", -1)
    assert lib.aclrtCheckArchCompatibility(soc.encode(), answer) == OK
    assert answer[0] == fits
