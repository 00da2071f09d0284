# SPDX-License-Identifier: Apache-2.0
"""Notifies and counting notifies: one bit or one counter that streams set and wait for."""

from __future__ import annotations

from typing import Any

import pytest
from support.codes import GARBAGE

from ascend_rt.testing import Latch


def raw(ffi: Any, stream: Any) -> Any:
    return ffi.cast("aclrtStream", stream.handle)


def is_done(lib: Any, ffi: Any, stream: Any) -> bool:
    status = ffi.new("aclrtStreamStatus *")
    assert lib.aclrtStreamQuery(raw(ffi, stream), status) == 0
    return bool(status[0] == lib.ACL_STREAM_STATUS_COMPLETE)


def test_a_wait_takes_what_a_record_gave(lib, ffi, stream, other, notify) -> None:
    assert lib.aclrtWaitAndResetNotify(notify, raw(ffi, other), 0) == 0  # a wait may come first
    assert not is_done(lib, ffi, other)
    assert lib.aclrtRecordNotify(notify, raw(ffi, stream)) == 0
    assert lib.aclrtSynchronizeStream(raw(ffi, other)) == 0
    assert lib.aclrtWaitAndResetNotify(notify, raw(ffi, other), 0) == 0  # the bit was taken
    assert not is_done(lib, ffi, other)
    assert lib.aclrtRecordNotify(notify, raw(ffi, stream)) == 0
    assert lib.aclrtSynchronizeStream(raw(ffi, other)) == 0


def test_two_records_before_a_wait_are_one(lib, ffi, stream, other, notify) -> None:
    for _ in range(2):
        assert lib.aclrtRecordNotify(notify, raw(ffi, stream)) == 0
    assert lib.aclrtWaitAndResetNotify(notify, raw(ffi, other), 0) == 0
    assert lib.aclrtSynchronizeStream(raw(ffi, other)) == 0
    assert lib.aclrtWaitAndResetNotify(notify, raw(ffi, other), 0) == 0
    assert not is_done(lib, ffi, other)
    assert lib.aclrtRecordNotify(notify, raw(ffi, stream)) == 0


def test_one_record_lets_one_of_two_waits_pass(lib, ffi, stream, other, notify) -> None:
    from ascend_rt import Stream

    with Stream() as third:
        for waiting in (other, third):
            assert lib.aclrtWaitAndResetNotify(notify, raw(ffi, waiting), 0) == 0
        assert lib.aclrtRecordNotify(notify, raw(ffi, stream)) == 0
        assert lib.aclrtSynchronizeStream(raw(ffi, stream)) == 0
        assert [is_done(lib, ffi, waiting) for waiting in (other, third)].count(True) == 1
        assert lib.aclrtRecordNotify(notify, raw(ffi, stream)) == 0
        for waiting in (other, third):
            assert lib.aclrtSynchronizeStream(raw(ffi, waiting)) == 0


def test_a_record_waits_for_its_stream(lib, ffi, stream, other, notify) -> None:
    with Latch(stream):
        assert lib.aclrtRecordNotify(notify, raw(ffi, stream)) == 0
        assert lib.aclrtWaitAndResetNotify(notify, raw(ffi, other), 0) == 0
        assert not is_done(lib, ffi, other)
    assert lib.aclrtSynchronizeStream(raw(ffi, other)) == 0


def test_a_wait_with_a_time_limit_fails_at_the_next_synchronization(lib, ffi, other, notify) -> None:
    assert lib.aclrtWaitAndResetNotify(notify, raw(ffi, other), 1) == 0
    assert lib.aclrtSynchronizeStream(raw(ffi, other)) == 107020
    assert lib.aclrtSynchronizeStream(raw(ffi, other)) == 0


@pytest.mark.simulator("deadly")
def test_a_destroyed_notify_with_a_pending_wait(lib, ffi, stream, other, device) -> None:
    out = ffi.new("aclrtNotify *")
    assert lib.aclrtCreateNotify(out, 0) == 0
    assert lib.aclrtWaitAndResetNotify(out[0], raw(ffi, other), 0) == 0
    assert lib.aclrtDestroyNotify(out[0]) == 0
    assert lib.aclrtRecordNotify(out[0], raw(ffi, stream)) == 107017
    assert lib.aclrtDestroyNotify(out[0]) == 107017
    assert lib.aclrtStreamAbort(raw(ffi, other)) == 0
    assert lib.aclrtSynchronizeStream(raw(ffi, other)) == 0


def test_batch_reset_stops_at_the_first_that_fails(lib, ffi, stream, other, notify) -> None:
    assert lib.aclrtRecordNotify(notify, raw(ffi, stream)) == 0
    assert lib.aclrtSynchronizeStream(raw(ffi, stream)) == 0
    assert lib.aclrtNotifyBatchReset(ffi.new("aclrtNotify[2]", [notify, ffi.NULL]), 2) == 107000
    assert lib.aclrtWaitAndResetNotify(notify, raw(ffi, other), 0) == 0
    assert not is_done(lib, ffi, other)  # the first one was reset
    assert lib.aclrtRecordNotify(notify, raw(ffi, stream)) == 0


def test_ids_are_given_back(lib, ffi, device) -> None:
    first, second, number = ffi.new("aclrtNotify *"), ffi.new("aclrtNotify *"), ffi.new("uint32_t *")
    assert lib.aclrtCreateNotify(first, 0) == 0
    assert lib.aclrtGetNotifyId(first[0], number) == 0
    before = number[0]
    assert lib.aclrtDestroyNotify(first[0]) == 0
    assert lib.aclrtCreateNotify(second, 0) == 0
    assert lib.aclrtGetNotifyId(second[0], number) == 0
    assert number[0] == before
    assert lib.aclrtDestroyNotify(second[0]) == 0


@pytest.mark.parametrize(
    ("function", "arguments", "code"),
    [
        ("aclrtCreateNotify", ("NULL", 0), 100000),
        ("aclrtCreateNotify", ("out", 2), 107000),
        ("aclrtDestroyNotify", ("NULL",), 100000),
        ("aclrtDestroyNotify", ("garbage",), 107017),
        ("aclrtDestroyNotify", ("stream",), 107017),
        ("aclrtRecordNotify", ("NULL", "stream"), 100000),
        ("aclrtRecordNotify", ("notify", "garbage"), 107017),
        ("aclrtRecordNotify", ("stream", "stream"), 107017),
        ("aclrtWaitAndResetNotify", ("NULL", "stream", 0), 100000),
        ("aclrtWaitAndResetNotify", ("garbage", "stream", 0), 107017),
        ("aclrtGetNotifyId", ("notify", "NULL"), 100000),
        ("aclrtNotifyBatchReset", ("NULL", 1), 100000),
        ("aclrtNotifyBatchReset", ("out", 0), 107000),
        ("aclrtNotifyGetExportKey", ("notify", "NULL", 65, 0), 100000),
        ("aclrtNotifyGetExportKey", ("notify", "key", 65, 99), 107000),
        ("aclrtNotifyGetExportKey", ("notify", "key", 0, 0), 107000),
        ("aclrtNotifyImportByKey", ("NULL", "key", 0), 100000),
        ("aclrtNotifyImportByKey", ("out", "key", 4), 107000),
        ("aclrtNotifyImportByKey", ("out", "key", 0), 107000),
        ("aclrtNotifySetImportPid", ("notify", "NULL", 1), 100000),
        ("aclrtNotifySetImportPid", ("notify", "pids", 0), 107000),
    ],
)
def test_bad_arguments(lib, ffi, stream, notify, function: str, arguments: tuple, code: int) -> None:
    values = {
        "NULL": ffi.NULL,
        "garbage": ffi.cast("void *", GARBAGE),
        "stream": raw(ffi, stream),
        "notify": notify,
        "out": ffi.new("aclrtNotify *"),
        "key": ffi.new("char[65]", b"nobody's key"),
        "pids": ffi.new("int32_t[1]", [1]),
    }
    assert getattr(lib, function)(*(values.get(a, a) for a in arguments)) == code


def test_streams_of_another_context_are_refused(lib, ffi, stream, notify) -> None:
    from ascend_rt import Context

    with Context(0):
        assert lib.aclrtRecordNotify(notify, raw(ffi, stream)) == 107003
        assert lib.aclrtWaitAndResetNotify(notify, raw(ffi, stream), 0) == 107003


# --- counting notifies -----------------------------------------------------------------------------------------------

COUNTING = """
from ascend_rt import Device, Stream, ffi, lib
Device(0).set_current()
streams = Stream(), Stream()
a, b = (ffi.cast("aclrtStream", stream.handle) for stream in streams)
out, status = ffi.new("aclrtCntNotify *"), ffi.new("aclrtStreamStatus *")
assert lib.aclrtCntNotifyCreate(out, 1) == 107000
assert lib.aclrtCntNotifyCreate(out, 0) == 0
counter = out[0]

def record(mode, value):
    assert lib.aclrtCntNotifyRecord(counter, a, ffi.new("aclrtCntNotifyRecordInfo *", [mode, value])) == 0

def wait(mode, value, clear=0, timeout=0):
    info = ffi.new("aclrtCntNotifyWaitInfo *", [mode, value, timeout, clear])
    assert lib.aclrtCntNotifyWaitWithTimeout(counter, b, info) == 0
    assert lib.aclrtStreamQuery(b, status) == 0
    return status[0] == lib.ACL_STREAM_STATUS_COMPLETE

def passes():
    assert lib.aclrtStreamQuery(b, status) == 0
    return status[0] == lib.ACL_STREAM_STATUS_COMPLETE

SET, ADD, OR, AND = 0, 1, 2, 4
LESS, EQUAL, BIGGER, AT_LEAST, BITS = range(5)
assert wait(EQUAL, 0) and wait(LESS, 1)
assert not wait(AT_LEAST, 3)
record(ADD, 1); record(ADD, 1); assert not passes()
record(ADD, 1); assert passes()
record(OR, 0x10); assert wait(EQUAL, 0x13)
record(AND, 0x12); assert wait(EQUAL, 0x12)
assert wait(BITS, 0x10)
assert not wait(BIGGER, 0x12, clear=1)
record(SET, 0x20); assert passes()
assert wait(EQUAL, 0)  # cleared by the wait
record(SET, 3)
assert not wait(LESS, 3)
clearing = ffi.new("aclrtCntNotifyWaitInfo *", [AT_LEAST, 2, 0, 1])
assert lib.aclrtCntNotifyWaitWithTimeout(counter, a, clearing) == 0
assert passes()
assert not wait(EQUAL, 5, timeout=1)
assert lib.aclrtSynchronizeStream(b) == 107020
record(SET, 9)
assert lib.aclrtCntNotifyReset(counter, a) == 0
assert wait(EQUAL, 0)
for mode in (3, 5):
    assert lib.aclrtCntNotifyRecord(counter, a, ffi.new("aclrtCntNotifyRecordInfo *", [mode, 0])) == 107000
assert lib.aclrtCntNotifyWaitWithTimeout(counter, b, ffi.new("aclrtCntNotifyWaitInfo *", [5, 0, 0, 0])) == 107000
assert lib.aclrtCntNotifyRecord(counter, a, ffi.NULL) == 100000
assert lib.aclrtCntNotifyGetId(counter, ffi.NULL) == 107000
assert lib.aclrtCntNotifyGetId(counter, ffi.new("uint32_t *")) == 0
assert lib.aclrtCntNotifyDestroy(counter) == 0
assert lib.aclrtCntNotifyDestroy(counter) == 107017
reported("done")
"""


@pytest.mark.simulator("deadly")
@pytest.mark.simulator("products")
def test_counting_notifies_of_the_950(child: Any) -> None:
    assert child(COUNTING, ASCEND_RT_SIM_PRODUCT="950") == "done"


@pytest.mark.parametrize("product", ["910B", "910C", "310B", "310P", "910"])
@pytest.mark.simulator("deadly")
@pytest.mark.simulator("products")
def test_other_products_have_no_counting_notifies_and_see_null_first(child: Any, product: str) -> None:
    code = """
    out, garbage = ffi.new("aclrtCntNotify *"), ffi.cast("void *", 64)
    reported([lib.aclrtCntNotifyCreate(ffi.NULL, 0), lib.aclrtCntNotifyCreate(out, 0),
          lib.aclrtCntNotifyDestroy(ffi.NULL), lib.aclrtCntNotifyDestroy(garbage)])
    """
    assert child(code, ASCEND_RT_SIM_PRODUCT=product) == [107000, 207000, 107000, 207000]


@pytest.mark.parametrize(("product", "count"), [("910B", 8192), ("310P", 1024)])
@pytest.mark.simulator("products")
def test_a_device_has_so_many_notifies(child: Any, product: str, count: int) -> None:
    code = """
    assert lib.aclrtSetDevice(0) == 0
    out, made = ffi.new("aclrtNotify *"), 0
    while (code := lib.aclrtCreateNotify(out, 0)) == 0:
        made += 1
    reported([made, code])
    """
    assert child(code, ASCEND_RT_SIM_PRODUCT=product) == [count, 207009]
