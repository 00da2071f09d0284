# SPDX-License-Identifier: Apache-2.0
"""Values in memory, reductions, time limits of operators, labels, and what only the streams of models may do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.handles import at, raw
from support.memory import content

from ascend_rt import Buffer
from ascend_rt.testing import Latch

U64 = np.dtype(np.uint64)


def write(memory: Buffer, values: np.ndarray) -> None:
    from ascend_rt import copy

    copy(memory, values)


# --- values ----------------------------------------------------------------------------------------------------------


def test_a_value_is_written_in_stream_order(lib, ffi, stream, memory) -> None:
    with Latch(stream):
        assert lib.aclrtValueWrite(at(ffi, memory, 8), 2**63 + 5, 0, raw(ffi, stream)) == 0
        assert list(content(memory).view(U64)[:2]) == [0, 0]
    stream.synchronize()
    assert list(content(memory).view(U64)[:2]) == [0, 2**63 + 5]


@pytest.mark.parametrize(
    ("flag", "before", "after", "value"),
    [
        ("GEQ", 4, 5, 5),
        ("GEQ", 2**64 - 1, 0, 0),  # the difference is signed: -1 is before 0
        ("EQ", 6, 5, 5),
        ("AND", 0b1000, 0b0110, 0b0010),
        ("NOR", 2**64 - 1, 2**64 - 2, 0),
    ],
)
def test_a_stream_waits_until_the_value_is_right(lib, ffi, stream, other, memory, flag, before, after, value) -> None:
    write(memory, np.array([before], U64))
    kind = getattr(lib, f"ACL_STREAM_WAIT_VALUE_{flag}")
    assert lib.aclrtValueWait(at(ffi, memory), value, kind, raw(ffi, stream)) == 0
    assert not stream.is_done
    assert lib.aclrtValueWrite(at(ffi, memory), after, 0, raw(ffi, other)) == 0
    stream.synchronize()
    assert list(content(memory).view(U64)[:1]) == [after]  # a wait changes nothing
    assert lib.aclrtValueWait(at(ffi, memory), value, kind, raw(ffi, stream)) == 0
    stream.synchronize()  # and is satisfied as long as the value is


def test_a_copy_releases_a_stream_that_waits_for_a_value(lib, ffi, stream, memory) -> None:
    assert lib.aclrtValueWait(at(ffi, memory), 7, lib.ACL_STREAM_WAIT_VALUE_EQ, raw(ffi, stream)) == 0
    assert not stream.is_done
    write(memory, np.array([7], U64))
    stream.synchronize()
    assert stream.is_done


def test_an_aborted_wait_for_a_value_is_forgotten(lib, ffi, stream, other, memory) -> None:
    assert lib.aclrtValueWait(at(ffi, memory), 7, lib.ACL_STREAM_WAIT_VALUE_EQ, raw(ffi, stream)) == 0
    stream.abort()
    assert lib.aclrtValueWrite(at(ffi, memory), 7, 0, raw(ffi, other)) == 0
    other.synchronize()
    assert stream.is_done


@pytest.mark.parametrize(
    ("function", "arguments", "code"),
    [
        ("aclrtValueWrite", ("NULL", 1, 0, "stream"), 100000),
        ("aclrtValueWrite", ("memory", 1, 1, "stream"), 107000),
        ("aclrtValueWrite", ("host", 1, 0, "stream"), 107000),
        ("aclrtValueWrite", ("unaligned", 1, 0, "stream"), 107000),
        ("aclrtValueWrite", ("behind", 1, 0, "stream"), 107000),
        ("aclrtValueWrite", ("memory", 1, 0, "garbage"), 107017),
        ("aclrtValueWait", ("NULL", 1, 0, "stream"), 100000),
        ("aclrtValueWait", ("memory", 1, 4, "stream"), 107000),
        ("aclrtValueWait", ("host", 1, 0, "stream"), 107000),
        ("aclrtReduceAsync", ("NULL", "memory", 16, 10, 0, "stream", "NULL"), 100000),
        ("aclrtReduceAsync", ("memory", "NULL", 16, 10, 0, "stream", "NULL"), 100000),
        ("aclrtReduceAsync", ("memory", "memory", 16, 10, 0, "stream", "memory"), 100000),
        ("aclrtReduceAsync", ("memory", "memory", 16, 10, 9, "stream", "NULL"), 100000),
        ("aclrtReduceAsync", ("memory", "memory", 0, 10, 0, "stream", "NULL"), 107000),
        ("aclrtReduceAsync", ("memory", "memory", 16, 14, 0, "stream", "NULL"), 107000),
        ("aclrtReduceAsync", ("memory", "host", 16, 10, 0, "stream", "NULL"), 107000),
        ("aclrtReduceAsync", ("memory", "behind", 16, 10, 0, "stream", "NULL"), 107000),
        ("aclrtReduceAsync", ("memory", "memory", 16, 10, 4, "stream", "NULL"), 207000),
        ("aclrtReduceAsync", ("memory", "memory", 16, 10, 0, "garbage", "NULL"), 107017),
        ("aclrtTaskUpdateAsync", ("stream", 1, "NULL", "stream"), 100000),
        ("aclrtTaskUpdateAsync", ("stream", 1, "update of nothing", "stream"), 107000),
        ("aclrtTaskUpdateAsync", ("stream", 1, "update", "stream"), 107000),
        ("aclrtProfTrace", ("NULL", 1, "stream"), 100000),
        ("aclrtProfTrace", ("host", 0, "stream"), 107000),
        ("aclrtProfTrace", ("host", 19, "stream"), 107000),
        ("aclrtProfTrace", ("host", 18, "stream"), 0),
        ("aclrtGetOpTimeOutInterval", ("NULL",), 100000),
        ("aclrtSetOpExecuteTimeOutV2", (1, "NULL"), 100000),
        ("aclrtGetOpExecuteTimeout", ("NULL",), 100000),
        ("aclrtSwitchStream", ("NULL", 0, "memory", 0, "stream", "NULL", "stream"), 100000),
        ("aclrtSwitchStream", ("memory", 0, "memory", 0, "stream", "stream", "stream"), 100000),
        ("aclrtSwitchStream", ("memory", 6, "memory", 0, "stream", "NULL", "stream"), 107000),
        ("aclrtSwitchStream", ("memory", 0, "memory", 2, "stream", "NULL", "stream"), 107000),
        ("aclrtSwitchStream", ("memory", 0, "memory", 0, "stream", "NULL", "stream"), 107005),
    ],
)
def test_bad_arguments(lib, ffi, stream, memory, function: str, arguments: tuple, code: int) -> None:
    host = ffi.new("char[64]")
    values = {
        "NULL": ffi.NULL,
        "stream": raw(ffi, stream),
        "garbage": ffi.cast("void *", 0x1234567800),
        "memory": at(ffi, memory),
        "unaligned": at(ffi, memory, 4),
        "behind": at(ffi, memory, 1 << 30),
        "host": host,
        "update of nothing": ffi.new("aclrtTaskUpdateInfo *"),
        "update": ffi.new("aclrtTaskUpdateInfo *", {"id": lib.ACL_RT_UPDATE_RANDOM_TASK}),
    }
    assert getattr(lib, function)(*(values.get(a, a) for a in arguments)) == code


# --- reductions ------------------------------------------------------------------------------------------------------

TYPES = [("FLOAT", np.float32), ("FLOAT16", np.float16), ("INT8", np.int8), ("INT16", np.int16), ("INT32", np.int32)]
KINDS = {"SUM": np.add, "MAX": np.maximum, "MIN": np.minimum, "EQUAL": np.equal}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "dtype"), TYPES)
def test_a_reduction_is_numpys(lib, ffi, stream, memory, name: str, dtype: Any, kind: str) -> None:
    random = np.random.default_rng(7)
    if np.issubdtype(dtype, np.floating):
        left, right = ((random.standard_normal(201) * 10.0 ** random.integers(-6, 4, 201)).astype(dtype) for _ in "ab")
    else:
        bounds = np.iinfo(dtype)
        left, right = (random.integers(bounds.min, bounds.max, 201, dtype, endpoint=True) for _ in "ab")
    right[:10] = left[:10]
    write(memory, left)
    with Buffer(right.nbytes) as source:
        write(source, right)
        arguments = (right.nbytes, getattr(lib, f"ACL_RT_MEMCPY_SDMA_AUTOMATIC_{kind}"), getattr(lib, f"ACL_{name}"))
        assert lib.aclrtReduceAsync(at(ffi, memory), at(ffi, source), *arguments, raw(ffi, stream), ffi.NULL) == 0
        stream.synchronize()
    with np.errstate(over="ignore"):
        expected = KINDS[kind](left, right).astype(dtype)
    np.testing.assert_array_equal(content(memory).view(dtype)[:201], expected)


@pytest.mark.parametrize("value", [0.0, -0.0, 6e-8, 5.9e-5, 6.1e-5, 65504.0, 65519.0, 65520.0, -1e9, np.inf, np.nan])
def test_halves_at_their_limits(lib, ffi, stream, memory, value: float) -> None:
    with np.errstate(over="ignore"):
        pair = np.array([value], np.float32).astype(np.float16), np.array([value / 3], np.float32).astype(np.float16)
        expected = pair[0] + pair[1]
    write(memory, np.concatenate([pair[0], np.zeros(31, np.float16), pair[1]]))
    arguments = (2, lib.ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, lib.ACL_FLOAT16, raw(ffi, stream), ffi.NULL)
    assert lib.aclrtReduceAsync(at(ffi, memory), at(ffi, memory, 64), *arguments) == 0
    stream.synchronize()
    np.testing.assert_array_equal(content(memory).view(np.float16)[:1], expected)


def test_bfloat16_rounds_to_even(lib, ffi, stream, memory) -> None:
    one, tiny = 0x3F80, 0x3B80  # 1 and 2**-8: half of the last place of 1
    write(memory, np.array([one, one + 1, one, 0x7F80] + [0] * 28 + [tiny, tiny, 0x4000, one], np.uint16))
    arguments = (8, lib.ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, lib.ACL_BF16, raw(ffi, stream), ffi.NULL)
    assert lib.aclrtReduceAsync(at(ffi, memory), at(ffi, memory, 64), *arguments) == 0
    stream.synchronize()
    assert [hex(bits) for bits in content(memory).view(np.uint16)[:4]] == ["0x3f80", "0x3f82", "0x4040", "0x7f80"]


# --- time limits -----------------------------------------------------------------------------------------------------

LIMITS = """
from ascend_rt import Device, ffi, lib
interval, actual, ms = ffi.new("uint64_t *"), ffi.new("uint64_t *"), ffi.new("uint32_t *")
assert lib.aclrtGetOpTimeOutInterval(interval) == 107002
Device(0).set_current()
assert lib.aclrtGetOpTimeOutInterval(interval) == 0
step = interval[0]

def limit():
    assert lib.aclrtGetOpExecuteTimeout(ms) == 0
    return ms[0]

longest = limit()
assert longest == 254 * step // 1000
for us, expected in ((1, step), (step, step), (step + 1, 2 * step), (0, 254 * step), (2**60, 254 * step)):
    assert lib.aclrtSetOpExecuteTimeOutV2(us, actual) == 0
    assert actual[0] == expected, (us, actual[0])
    assert limit() == expected // 1000
assert lib.aclrtSetOpExecuteTimeOut(10) == 0
assert limit() == -(-10_000_000 // step) * step // 1000
assert lib.aclrtSetOpExecuteTimeOutWithMs(2_000_000_000) == 0
assert limit() == min(-(-1_000_000_000 // step), 254) * step // 1000
assert lib.aclrtSetOpExecuteTimeOut(0) == 0
assert limit() == longest
reported(longest // 1000)
"""


@pytest.mark.parametrize(("product", "seconds"), [("910B", 1090), ("910C", 1090), ("310P", 545), ("910", 68)])
@pytest.mark.simulator("products")
def test_time_limits_are_whole_intervals(child: Any, product: str, seconds: int) -> None:
    assert child(LIMITS, ASCEND_RT_SIM_PRODUCT=product) == seconds


# --- labels ----------------------------------------------------------------------------------------------------------


def test_labels_and_lists(lib, ffi, stream, device) -> None:
    labels, lists = ffi.new("aclrtLabel[2]"), ffi.new("aclrtLabelList[2]")
    for i in range(2):
        assert lib.aclrtCreateLabel(labels + i) == 0
    assert lib.aclrtCreateLabelList(labels, 2, lists) == 0
    assert lib.aclrtCreateLabelList(labels, 1, lists + 1) == 507000  # in a list already
    assert lib.aclrtSetLabel(labels[0], raw(ffi, stream)) == 107005
    assert lib.aclrtSwitchLabelByIndex(ffi.new("int *"), 1, lists[0], raw(ffi, stream)) == 107005
    assert lib.aclrtDestroyLabelList(lists[0]) == 0
    assert lib.aclrtDestroyLabelList(lists[0]) == 107017
    assert lib.aclrtCreateLabelList(labels, 1, lists + 1) == 0  # given back by the list
    assert lib.aclrtDestroyLabel(labels[0]) == 0
    assert lib.aclrtDestroyLabel(labels[0]) == 107017
    assert lib.aclrtDestroyLabelList(lists[1]) == 0
    bad = ffi.new("aclrtLabel[2]", [labels[1], raw(ffi, stream)])
    assert lib.aclrtCreateLabelList(bad, 2, lists) == 107017
    assert lib.aclrtCreateLabelList(labels + 1, 1, lists) == 0  # the failed call left nothing behind
    assert lib.aclrtDestroyLabelList(lists[0]) == 0
    assert lib.aclrtDestroyLabel(labels[1]) == 0


def test_a_label_of_another_context(lib, ffi, device) -> None:
    from ascend_rt import Context

    label = ffi.new("aclrtLabel *")
    context = Context(0)
    with context:
        assert lib.aclrtCreateLabel(label) == 0
    assert lib.aclrtDestroyLabel(label[0]) == 507031
    context.close()
    assert lib.aclrtDestroyLabel(label[0]) == 107017  # gone with its context


def test_labels_of_a_process_are_limited(child: Any) -> None:
    code = """
    assert lib.aclrtSetDevice(0) == 0
    label, made = ffi.new("aclrtLabel *"), 0
    while (code := lib.aclrtCreateLabel(label)) == 0:
        made += 1
    codes = [code, lib.aclrtResetDeviceForce(0), lib.aclrtSetDevice(0), lib.aclrtCreateLabel(label)]
    reported([made, *codes])
    """
    assert child(code) == [65535, 507000, 0, 0, 0]


@pytest.mark.parametrize(
    ("function", "arguments", "code"),
    [
        ("aclrtCreateLabel", ("NULL",), 100000),
        ("aclrtDestroyLabel", ("NULL",), 100000),
        ("aclrtDestroyLabel", ("stream",), 107017),
        ("aclrtCreateLabelList", ("NULL", 1, "out"), 100000),
        ("aclrtCreateLabelList", ("out", 1, "NULL"), 100000),
        ("aclrtCreateLabelList", ("out", 0, "out"), 107000),
        ("aclrtCreateLabelList", ("out", 65536, "out"), 107000),
        ("aclrtDestroyLabelList", ("NULL",), 100000),
        ("aclrtDestroyLabelList", ("stream",), 107017),
        ("aclrtSetLabel", ("NULL", "stream"), 100000),
        ("aclrtSetLabel", ("stream", "NULL"), 100000),
        ("aclrtSetLabel", ("stream", "stream"), 107017),
        ("aclrtSwitchLabelByIndex", ("NULL", 0, "stream", "stream"), 100000),
        ("aclrtSwitchLabelByIndex", ("out", 0, "stream", "stream"), 107017),
    ],
)
def test_bad_labels(lib, ffi, stream, function: str, arguments: tuple, code: int) -> None:
    values = {"NULL": ffi.NULL, "stream": raw(ffi, stream), "out": ffi.new("void *[1]")}
    assert getattr(lib, function)(*(values.get(a, a) for a in arguments)) == code
