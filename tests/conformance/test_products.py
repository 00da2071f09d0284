# SPDX-License-Identifier: Apache-2.0
"""Where the chips differ: one table of calls with the code of each product, run once per product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.codes import INTERNAL, INVALID_PARAM, NO_CONTEXT, OK, PRODUCTS, RT_PARAM, STREAM_MODEL, UNSUPPORTED

GROUP_NOT_SET, GROUP_UNKNOWN = 107013, 107014
NO_EVENT, NO_TIME = 207007, 107006
CONTROL = {"910B", "910C", "950"}  # the products with a control queue
STARS = CONTROL | {"310B"}
ALL = set(PRODUCTS)

# Every product makes these calls first.
START = [
    ["aclrtSetDevice", 0],
    ["aclrtCreateStream", "out:stream"],
    ["aclrtCreateStream", "out:other"],
    ["aclrtCreateEvent", "out:event"],
    ["aclrtCreateEventExWithFlag", "out:sync", 1],
    ["aclrtCreateEventWithFlag", "out:stamped", 8],
]

# The call, the products that answer with the first code, that code, the code of the others.
CODES = [
    # only documented for some
    (["aclrtStreamAbort", "@stream"], CONTROL, OK, UNSUPPORTED),
    (["aclrtStreamStop", "@stream"], CONTROL, OK, UNSUPPORTED),
    (["aclrtStreamStop", None], ALL, RT_PARAM, None),
    (["aclrtPersistentTaskClean", "@stream"], CONTROL, INTERNAL, UNSUPPORTED),
    (["aclrtPersistentTaskClean", None], ALL, RT_PARAM, None),
    (["aclrtActiveStream", "@stream", "@other"], ALL - {"910C"}, STREAM_MODEL, UNSUPPORTED),
    (["aclrtActiveStream", None, "@other"], ALL, INVALID_PARAM, None),
    (["aclrtDeviceTaskAbort", 0, 100], CONTROL, OK, UNSUPPORTED),
    (["aclrtDeviceTaskAbort", 99, 100], CONTROL, 107001, UNSUPPORTED),
    (["aclrtSetDeviceTaskAbortCallback", "text:x", None, None], CONTROL, OK, UNSUPPORTED),
    (["aclrtSetDeviceTaskAbortCallback", None, None, None], ALL, INVALID_PARAM, None),
    (["aclrtRecordEventWithFlag", "@sync", "@stream", 0], CONTROL, OK, UNSUPPORTED),
    (["aclrtRecordEventWithFlag", "@sync", "@stream", 2], ALL, INVALID_PARAM, None),
    (["aclrtRecordEventWithFlag", None, "@stream", 0], ALL, INVALID_PARAM, None),
    (["aclrtStreamWaitEventWithFlag", "@stream", "@sync", 0, 0], CONTROL, OK, UNSUPPORTED),
    (["aclrtStreamWaitEventWithFlag", "@stream", "@sync", 0, 2], ALL, INVALID_PARAM, None),
    (["aclrtGetHardwareSyncAddr", "out"], {"910B", "910C"}, OK, UNSUPPORTED),
    (["aclrtGetHardwareSyncAddr", None], ALL, RT_PARAM, None),
    (["aclrtSetStreamConfigOpt", None, 0, None, 0], ALL, UNSUPPORTED, None),
    (["aclrtDestroyStreamConfigHandle", None], ALL, UNSUPPORTED, None),
    (["aclrtCreateStreamV2", "out", None], ALL, UNSUPPORTED, None),
    (["aclrtSubscribeHostFunc", 1, "@stream"], ALL, UNSUPPORTED, None),
    (["aclrtProcessHostFunc", 1], ALL, UNSUPPORTED, None),
    (["aclrtUnSubscribeHostFunc", 1, "@stream"], ALL, UNSUPPORTED, None),
    (["aclrtSetOpWaitTimeout", 0], ALL - {"310P"}, OK, UNSUPPORTED),
    (["aclrtDeviceGetUuid", 0, "out"], CONTROL, OK, UNSUPPORTED),
    (["aclrtDeviceGetUuid", 0, None], ALL, INVALID_PARAM, None),
    (["aclrtDeviceGetPCIBusId", 0, "buffer", 32], CONTROL, OK, UNSUPPORTED),
    (["aclrtDeviceGetByPCIBusId", "text:0000:3d:00.0", "out"], CONTROL, OK, UNSUPPORTED),
    (["aclrtDeviceGetLimit", 2, "out"], CONTROL, OK, UNSUPPORTED),
    (["aclrtDeviceGetLimit", 0, "out"], {"950"}, OK, UNSUPPORTED),
    (["aclrtDeviceSetLimit", 2, 0], CONTROL, OK, UNSUPPORTED),
    (["aclrtDeviceSetLimit", 9, 0], ALL, INVALID_PARAM, None),
    (["aclrtDeviceL2CacheFlush", None], CONTROL, OK, UNSUPPORTED),
    (["aclrtGetMemUceInfo", 0, "buffer", 1, "out"], CONTROL, OK, UNSUPPORTED),
    (["aclrtMemUceRepair", 0, "buffer", 1], CONTROL, OK, UNSUPPORTED),
    (["aclrtGetErrorVerbose", 0, "out"], CONTROL, OK, UNSUPPORTED),
    (["aclrtGetErrorVerbose", 0, None], ALL, INVALID_PARAM, None),
    (["aclrtRepairError", 0, None], ALL, INVALID_PARAM, None),
    (["aclrtGetDeviceInfo", 0, 202, "out"], {"950"}, OK, UNSUPPORTED),
    (["aclrtGetDeviceInfo", 0, 405, "out"], {"950", "910C"}, OK, UNSUPPORTED),
    # flags of streams and events
    (["aclrtCreateStreamWithConfig", "out", 0, 0x8], ALL - {"310P"}, OK, UNSUPPORTED),
    (["aclrtCreateStreamWithConfig", "out", 0, 0x20], CONTROL | {"310P"}, OK, UNSUPPORTED),
    (["aclrtCreateStreamWithConfig", "out", 0, 0x21], ALL, RT_PARAM, None),
    (["aclrtCreateEventWithFlag", "out", 0x10], CONTROL | {"310P"}, OK, UNSUPPORTED),
    (["aclrtCreateEventWithFlag", "out", 0x11], ALL, RT_PARAM, None),
    (["aclrtCreateEventExWithFlag", "out", 0x40], CONTROL, OK, UNSUPPORTED),
    # the default stream in control calls
    (["aclrtSetStreamFailureMode", None, 0], CONTROL, OK, RT_PARAM),
    # groups
    (["aclrtGetGroupCount", "out"], {"310P"}, OK, UNSUPPORTED),
    (["aclrtGetGroupCount", None], ALL, INVALID_PARAM, None),
    (["aclrtSetGroup", 0], {"310P"}, OK, UNSUPPORTED),
    (["aclrtSetGroup", 1], {"310P"}, GROUP_UNKNOWN, UNSUPPORTED),
    # events
    (["aclrtRecordEvent", "@stamped", "@stream"], ALL, OK, None),
    (["aclrtGetEventId", "@stamped", "out"], ALL - STARS, OK, INTERNAL),
    (["aclrtResetEvent", "@event", "@stream"], ALL, OK, None),
]


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_codes(product: str, calls: Callable[..., list[Any]]) -> None:
    answers = calls([*START, *(row[0] for row in CODES)], ASCEND_RT_SIM_PRODUCT=product)
    assert {code for code, _ in answers[: len(START)]} == {OK}
    for (call, those, code, rest), (answer, _) in zip(CODES, answers[len(START) :], strict=True):
        assert answer == (code if product in those else rest), call


# streams and events per device, flags of the default stream
LIMITS = {
    "910B": (1984, 65536, 3),
    "910C": (1984, 65536, 3),
    "950": (1984, 65536, 3),
    "310B": (512, 65536, 0),
    "310P": (1024, 1023, 0),
    "910": (2048, 65535, 0),
}


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_limits(product: str, calls: Callable[..., list[Any]]) -> None:
    rows = [["aclrtSetDevice", 0], ["aclrtGetStreamAvailableNum", "out"], ["aclrtGetEventAvailNum", "out"]]
    answers = calls([*rows, ["aclrtStreamGetFlags", None, "out"]], ASCEND_RT_SIM_PRODUCT=product)
    streams, events, flags = LIMITS[product]
    assert answers[1:] == [[OK, [streams - 2]], [OK, [events]], [OK, [flags]]]


@pytest.mark.simulator("products")
def test_the_last_event_of_a_device(calls: Callable[..., list[Any]]) -> None:
    create = ["aclrtCreateEventWithFlag", "out", 1]
    answers = calls([["aclrtSetDevice", 0], *[create] * 1024], ASCEND_RT_SIM_PRODUCT="310P")
    assert [code for code, _ in answers] == [OK] * 1024 + [NO_EVENT]


@pytest.mark.simulator("products")
def test_the_last_stream_of_a_device(calls: Callable[..., list[Any]]) -> None:
    create = ["aclrtCreateStream", "out"]
    answers = calls([["aclrtSetDevice", 0], *[create] * 511], ASCEND_RT_SIM_PRODUCT="310B")
    assert [code for code, _ in answers] == [OK] * 511 + [207005]


# Answers of a stream's overflow switch after it was set to 0, and to 1.
@pytest.mark.parametrize(
    ("product", "expected"),
    [("910B", [0, 1]), ("910C", [0, 1]), ("950", [0, 1]), ("310B", [0, 0]), ("310P", [1, 1]), ("910", [1, 1])],
)
@pytest.mark.simulator("products")
def test_overflow_switch(product: str, expected: list[int], calls: Callable[..., list[Any]]) -> None:
    rows: list[list[Any]] = [["aclrtSetDevice", 0], ["aclrtCreateStream", "out:stream"]]
    for value in (0, 1):
        rows += [
            ["aclrtSetStreamOverflowSwitch", "@stream", value],
            ["aclrtGetStreamOverflowSwitch", "@stream", "out"],
        ]
    rows += [["aclrtSetStreamOverflowSwitch", "@stream", 2], ["aclrtGetStreamOverflowSwitch", "@stream", None]]
    answers = calls(rows, ASCEND_RT_SIM_PRODUCT=product)
    assert [code for code, _ in answers] == [OK] * 6 + [INVALID_PARAM] * 2
    assert [answers[3][1], answers[5][1]] == [[value] for value in expected]


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_a_wait_limit_without_a_device(product: str, calls: Callable[..., list[Any]]) -> None:
    ((code, _),) = calls([["aclrtSetOpWaitTimeout", 1]], ASCEND_RT_SIM_PRODUCT=product)
    assert code == (NO_CONTEXT if product == "310P" else OK)


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_the_device_does_not_wait_for_some_streams(product: str, calls: Callable[..., list[Any]]) -> None:
    rows: list[list[Any]] = [["aclrtSetDevice", 0], ["aclrtCreateEventWithFlag", "out:gate", 1]]
    for flag in (0x4, 0x10):  # persistent, and of the AI CPU
        rows += [
            ["aclrtCreateStreamWithConfig", "out:stream", 0, flag],
            ["aclrtStreamWaitEventWithTimeout", "@stream", "@gate", 0],
            ["aclrtSynchronizeDeviceWithTimeout", 1],
        ]
    answers = calls(rows, ASCEND_RT_SIM_PRODUCT=product)
    assert [code for code, _ in answers] == [OK] * 7 + [OK if product == "950" else 507046]


@pytest.mark.parametrize("product", sorted(CONTROL | {"310P"}))
@pytest.mark.simulator("products")
def test_the_device_does_not_wait_for_streams_that_it_uses_alone(product: str, calls: Callable[..., list[Any]]) -> None:
    rows: list[list[Any]] = [
        ["aclrtSetDevice", 0],
        ["aclrtCreateEventWithFlag", "out:gate", 1],
        ["aclrtCreateStreamWithConfig", "out:stream", 0, 0x20],
        ["aclrtStreamWaitEventWithTimeout", "@stream", "@gate", 0],
        ["aclrtSynchronizeDeviceWithTimeout", 1000],
    ]
    assert [code for code, _ in calls(rows, ASCEND_RT_SIM_PRODUCT=product)] == [OK] * 5


@pytest.mark.simulator("products")
def test_a_refusal_for_the_chip_is_not_remembered(calls: Callable[..., list[Any]]) -> None:
    rows = [
        ["aclrtGetLastError", 0],
        ["aclrtDeviceGetUuid", 0, "out"],
        ["aclrtDeviceL2CacheFlush", None],
        ["aclrtGetDeviceInfo", 0, 202, "out"],
        ["aclrtGetLastError", 0],
        ["aclrtGetDeviceInfo", 0, 99999, "out"],
        ["aclrtGetLastError", 0],
    ]
    codes = [code for code, _ in calls(rows, ASCEND_RT_SIM_PRODUCT="310B")]
    assert codes == [OK, UNSUPPORTED, UNSUPPORTED, UNSUPPORTED, OK, RT_PARAM, RT_PARAM]


# --- times -----------------------------------------------------------------------------------------------------------

TICK_US = {"910B": 0.02, "910C": 0.02, "310B": 1 / 48, "310P": 0.001, "910": 0.001, "950": 0.001}


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_elapsed_time_is_in_ticks(product: str, calls: Callable[..., list[Any]]) -> None:
    rows: list[list[Any]] = [["aclrtSetDevice", 0]]
    for name in ("start", "end"):
        rows += [["aclrtCreateEventWithFlag", f"out:{name}", 8], ["aclrtRecordEvent", f"@{name}", None]]
    rows += [["aclrtSynchronizeStream", None], ["aclrtEventElapsedTime", "out", "@start", "@end"]]
    answers = calls(rows, ASCEND_RT_SIM_PRODUCT=product)
    assert {code for code, _ in answers} == {OK}
    ticks = answers[-1][1][0] * 1000 / TICK_US[product]
    assert ticks == pytest.approx(round(ticks), abs=max(0.01, ticks * 2**-24))  # a C float has 24 bits
    assert 0 <= answers[-1][1][0] < 60_000


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_elapsed_time_of_what_is_not_over(product: str, calls: Callable[..., list[Any]]) -> None:
    rows = [
        ["aclrtSetDevice", 0],
        ["aclrtCreateEventWithFlag", "out:gate", 1],
        ["aclrtCreateEventWithFlag", "out:first", 8],
        ["aclrtCreateEventWithFlag", "out:second", 8],
        ["aclrtCreateStream", "out:stream"],
        ["aclrtEventElapsedTime", "out", "@first", "@second"],
        ["aclrtRecordEvent", "@first", "@stream"],
        ["aclrtStreamWaitEvent", "@stream", "@gate"],
        ["aclrtRecordEvent", "@second", "@stream"],
        ["aclrtEventElapsedTime", "out", "@first", "@second"],
        ["aclrtEventGetTimestamp", "@second", "out"],
        ["aclrtRecordEvent", "@gate", None],
        ["aclrtSynchronizeStream", "@stream"],
        ["aclrtEventElapsedTime", "out", "@second", "@first"],
    ]
    answers = calls(rows, ASCEND_RT_SIM_PRODUCT=product)
    unchecked = product == "950"
    assert [answers[i][0] for i in (5, 9, 10, 13)] == [INTERNAL, OK if unchecked else NO_TIME, NO_TIME, OK]
    (backwards,) = answers[13][1]
    assert backwards > 1e9 if unchecked else -60_000 < backwards <= 0


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_no_time_elapses_between_events_that_take_none(product: str, calls: Callable[..., list[Any]]) -> None:
    rows: list[list[Any]] = [["aclrtSetDevice", 0]]
    for name in ("first", "second"):
        rows += [["aclrtCreateEventWithFlag", f"out:{name}", 1], ["aclrtRecordEvent", f"@{name}", None]]
    rows += [["aclrtSynchronizeStream", None], ["aclrtEventElapsedTime", "out", "@first", "@second"]]
    assert calls(rows, ASCEND_RT_SIM_PRODUCT=product)[-1] == [OK, [0]]


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_devices_have_one_clock(product: str, calls: Callable[..., list[Any]]) -> None:
    rows: list[list[Any]] = []
    for device in (0, 1):
        rows += [["aclrtSetDevice", device], ["aclrtCreateEventWithFlag", f"out:e{device}", 8]]
        rows += [["aclrtRecordEvent", f"@e{device}", None], ["aclrtSynchronizeStream", None]]
    rows += [["aclrtEventElapsedTime", "out", "@e0", "@e1"]]
    rows += [["aclrtEventGetTimestamp", f"@e{device}", "out"] for device in (0, 1)]
    answers = calls(rows, ASCEND_RT_SIM_PRODUCT=product)
    assert {code for code, _ in answers} == {OK}
    elapsed, first, second = (values[0] for _, values in answers[-3:])
    assert elapsed * 1000 == pytest.approx(second - first, rel=1e-5, abs=1.01)  # stamps are whole microseconds
    assert elapsed >= 0


@pytest.mark.parametrize(("product", "waits_for_ever"), [("910B", True), ("950", False)])
@pytest.mark.simulator("products")
def test_reset_of_a_default_event(product: str, waits_for_ever: bool, calls: Callable[..., list[Any]]) -> None:
    rows = [
        ["aclrtSetDevice", 0],
        ["aclrtCreateEvent", "out:event"],
        ["aclrtCreateStream", "out:stream"],
        ["aclrtRecordEvent", "@event", "@stream"],
        ["aclrtResetEvent", "@event", "@stream"],
        ["aclrtStreamWaitEvent", "@stream", "@event"],
        ["aclrtSynchronizeStreamWithTimeout", "@stream", 1],
        ["aclrtDestroyStreamForce", "@stream"],
    ]
    answers = calls(rows, ASCEND_RT_SIM_PRODUCT=product)
    assert [code for code, _ in answers] == [OK] * 6 + [507046 if waits_for_ever else OK, OK]


# --- groups ----------------------------------------------------------------------------------------------------------


@pytest.mark.simulator("products")
def test_streams_need_a_group_where_there_are_several(calls: Callable[..., list[Any]]) -> None:
    rows = [
        ["aclrtSetGroup", 0],
        ["aclrtSetDevice", 0],
        ["aclrtCreateStream", "out"],
        ["aclrtSynchronizeStream", None],
        ["aclrtSetGroup", 2],
        ["aclrtSetGroup", -1],
        ["aclrtSetGroup", 1],
        ["aclrtCreateStream", "out"],
        ["aclrtSetDevice", 1],
        ["aclrtCreateStream", "out"],
    ]
    answers = calls(rows, ASCEND_RT_SIM_PRODUCT="310P", ASCEND_RT_SIM_GROUPS="2")
    unknown = [GROUP_UNKNOWN] * 2
    expected = [NO_CONTEXT, OK, GROUP_NOT_SET, OK, *unknown, OK, OK, OK, GROUP_NOT_SET]
    assert [code for code, _ in answers] == expected
    elsewhere = calls([["aclrtSetDevice", 0], ["aclrtCreateStream", "out"]], ASCEND_RT_SIM_GROUPS="2")
    assert [code for code, _ in elsewhere] == [OK, OK]


@pytest.mark.simulator("products")
def test_details_of_groups(child: Callable[..., Any]) -> None:
    code = """
count, value, size = ffi.new("uint32_t *"), ffi.new("int32_t *"), ffi.new("size_t *")
def detail(info, index, attribute, pointer=value, length=4, returned=size):
    return lib.aclrtGetGroupInfoDetail(info, index, attribute, pointer, length, returned)
info, second = lib.aclrtCreateGroupInfo(), lib.aclrtCreateGroupInfo()
found = {"created": [info != ffi.NULL, info != second]}
found["count"] = [lib.aclrtGetGroupCount(count), count[0]]
found["all"] = lib.aclrtGetAllGroupInfo(info)
found["values"] = [[detail(info, group, attribute), value[0], size[0]] for group in (0, 1) for attribute in range(6)]
found["bad"] = [
    detail(ffi.NULL, 0, 0), detail(info, -1, 0), detail(info, 2, 0), detail(info, 0, 6), detail(info, 0, 0, ffi.NULL),
    detail(info, 0, 0, value, 3), detail(info, 0, 0, value, 4, ffi.NULL),
    detail(ffi.cast("void *", 0x1234567800), 0, 0),
]
found["destroy"] = [lib.aclrtDestroyGroupInfo(second), lib.aclrtDestroyGroupInfo(second), detail(second, 0, 0)]
print(json.dumps(found))
"""
    found = child(code, ASCEND_RT_SIM_PRODUCT="310P", ASCEND_RT_SIM_GROUPS="2")
    assert found["created"] == [True, True]
    assert found["count"] == [OK, 2]
    assert found["all"] == OK
    assert [row[0] for row in found["values"]] == [OK] * 12
    assert [row[2] for row in found["values"]] == [4] * 12
    assert [row[1] for row in found["values"][:3]] == [4, 4, 4]  # half of the cores
    assert [found["values"][5][1], found["values"][11][1]] == [0, 1]  # the groups' own ids
    assert found["bad"] == [INVALID_PARAM] * 8
    assert found["destroy"] == [OK, INVALID_PARAM, INVALID_PARAM]


@pytest.mark.simulator("products")
def test_no_group_information_elsewhere(child: Callable[..., Any]) -> None:
    code = """
garbage = ffi.cast("void *", 0x1234567800)
print(json.dumps([lib.aclrtCreateGroupInfo() == ffi.NULL, lib.aclrtDestroyGroupInfo(garbage),
                  lib.aclrtGetAllGroupInfo(garbage)]))
"""
    for product in ("910B", "310B"):
        assert child(code, ASCEND_RT_SIM_PRODUCT=product) == [True, UNSUPPORTED, UNSUPPORTED]
