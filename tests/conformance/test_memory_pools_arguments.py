# SPDX-License-Identifier: Apache-2.0
"""Stream-ordered memory pools: arguments, in the order in which they are checked, and attributes."""

from __future__ import annotations

from typing import Any

import pytest
from support.codes import (
    GARBAGE_HANDLES,
    INTERNAL,
    INVALID_DEVICE,
    INVALID_HANDLE,
    INVALID_PARAM,
    NO_CONTEXT,
    OK,
    RT_PARAM,
    STREAM_CONTEXT,
    UNSUPPORTED,
)
from support.memory_pools import FLAGS, PAGE, RESERVED, RESERVED_HIGH, THRESHOLD, USED, USED_HIGH, MakePool, properties

from ascend_rt import Device, Stream

pytestmark = pytest.mark.simulator(
    "unspecified", "the vendor's library follows garbage, and its pools do not reuse memory yet"
)


# --- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"allocType": 1, "location_id": 99}, INVALID_PARAM),
        ({"location_type": 0, "location_id": 99}, INVALID_PARAM),
        ({"location_type": 4}, INVALID_PARAM),
        ({"reserved": 0, "location_id": 99}, INVALID_PARAM),
        ({"reserved": 31}, INVALID_PARAM),
        ({"location_id": 99, "maxSize": 2**64 - 1}, INVALID_DEVICE),
        ({"location_id": 2**32 - 1}, INVALID_DEVICE),
        ({"maxSize": 2**64 - 1}, RT_PARAM),
        ({"maxSize": 1 << 50}, RT_PARAM),
        ({"handleType": 7}, OK),  # not checked
        ({"maxSize": 1}, OK),
        ({}, OK),
    ],
)
def test_create(changes: dict[str, int], code: int, lib: Any, ffi: Any, device: Any) -> None:
    out = ffi.new("aclrtMemPool *", ffi.cast("void *", 7))
    assert lib.aclrtMemPoolCreate(out, properties(ffi, **changes)) == code
    if code == OK:
        assert lib.aclrtMemPoolDestroy(out[0]) == OK
    else:
        assert int(ffi.cast("uintptr_t", out[0])) == 7


def test_create_wants_both_arguments_and_a_context(child: Any) -> None:
    script = """
props, out = ffi.new("aclrtMemPoolProps *"), ffi.new("aclrtMemPool *")
props.location.type = 1
codes = [lib.aclrtMemPoolCreate(ffi.NULL, props), lib.aclrtMemPoolCreate(out, ffi.NULL)]
codes += [lib.aclrtMemPoolCreate(out, props)]
props.maxSize = 2**64 - 1
codes += [lib.aclrtMemPoolCreate(out, props)]
props.location.id = 99
reported([*codes, lib.aclrtMemPoolCreate(out, props)])
"""
    assert child(script) == [INVALID_PARAM, INVALID_PARAM, NO_CONTEXT, NO_CONTEXT, INVALID_DEVICE]


@pytest.mark.parametrize("product", ["910B", "910C", "310B", "310P", "910", "950"])
def test_products(product: str, child: Any) -> None:
    # Every product checks for NULL before it checks whether it has pools.
    script = """
assert lib.aclrtSetDevice(0) == 0
N, g = ffi.NULL, ffi.cast("void *", 0x1234567800)
props = ffi.new("aclrtMemPoolProps *")
pool, stream, value = ffi.new("aclrtMemPool *"), ffi.new("aclrtStream *"), ffi.new("uint64_t *")
bad = ffi.new("aclrtMemPoolProps *", {"allocType": 1})
props.location.type = 1
assert lib.aclrtCreateStream(stream) == 0
checked = [lib.aclrtMemPoolCreate(N, props), lib.aclrtMemPoolCreate(pool, bad), lib.aclrtMemPoolDestroy(N),
           lib.aclrtMemPoolSetAttr(N, 1, value), lib.aclrtMemPoolGetAttr(N, 1, value), lib.aclrtMemPoolTrimTo(N, 0),
           lib.aclrtMemPoolFreeAsync(N, N), lib.aclrtMemPoolMallocAsync(N, 1, g, g),
           lib.aclrtMemPoolMallocAsync(pool, 1, N, g), lib.aclrtMemPoolMallocAsync(pool, 1, g, N)]
props.location.id = 99
then = [lib.aclrtMemPoolCreate(pool, props), lib.aclrtMemPoolDestroy(g), lib.aclrtMemPoolSetAttr(g, 1, N),
        lib.aclrtMemPoolGetAttr(g, 99, value), lib.aclrtMemPoolTrimTo(g, 0), lib.aclrtMemPoolFreeAsync(g, N),
        lib.aclrtMemPoolMallocAsync(pool, 0, g, g), lib.aclrtMemPoolMallocAsync(pool, 1, g, stream[0])]
reported([checked, then])
"""
    checked, then = child(script, ASCEND_RT_SIM_PRODUCT=product)
    assert checked == [INVALID_PARAM] * 10
    here = [INVALID_DEVICE, INTERNAL, RT_PARAM, RT_PARAM, INTERNAL, INTERNAL, OK, INTERNAL]
    assert then == (here if product == "910B" else [UNSUPPORTED] * 8)


def test_invalid_pools(make_pool: MakePool, lib: Any, ffi: Any, stream: Stream) -> None:
    gone = make_pool()
    assert [gone.destroy(), gone.destroy()] == [OK, INTERNAL]
    value, out, on = ffi.new("uint64_t *"), ffi.new("void **"), ffi.cast("void *", stream.handle)
    for bad in (*GARBAGE_HANDLES, gone.handle, stream.handle):
        pool = ffi.cast("void *", bad)
        assert lib.aclrtMemPoolDestroy(pool) == INTERNAL
        assert lib.aclrtMemPoolTrimTo(pool, 0) == INTERNAL
        assert lib.aclrtMemPoolMallocAsync(out, 64, pool, on) == INTERNAL
        assert lib.aclrtMemPoolSetAttr(pool, 99, value) == RT_PARAM
        assert lib.aclrtMemPoolGetAttr(pool, 99, value) == RT_PARAM
    assert lib.aclrtPeekAtLastError(0) == RT_PARAM


def test_malloc_checks_in_order(make_pool: MakePool, lib: Any, ffi: Any, stream: Stream) -> None:
    pool, gone = make_pool(), make_pool()
    assert gone.destroy() == OK
    garbage, on = ffi.cast("void *", 0x1234567800), ffi.cast("void *", stream.handle)
    context, foreign = ffi.new("aclrtContext *"), ffi.new("aclrtStream *")
    assert lib.aclrtCreateContext(context, 0) == OK
    assert lib.aclrtCreateStream(foreign) == OK
    Device(0).set_current()
    out = ffi.new("void **", ffi.cast("void *", 7))
    rows = [
        ((ffi.NULL, 64, garbage, garbage), INVALID_PARAM),
        ((out, 0, ffi.NULL, garbage), INVALID_PARAM),
        ((out, 0, garbage, ffi.NULL), INVALID_PARAM),
        ((out, 0, garbage, garbage), OK),  # an allocation of 0 bytes does nothing
        ((out, 2**64 - 1, garbage, garbage), INVALID_HANDLE),
        ((out, 2**64 - 1, garbage, pool.handle), INVALID_HANDLE),
        ((out, 2**64 - 1, garbage, foreign[0]), STREAM_CONTEXT),
        ((out, 2**64 - 1, garbage, on), INVALID_PARAM),
        ((out, 64, garbage, on), INTERNAL),
        ((out, 1 << 50, gone.handle, on), INTERNAL),
        ((out, 1 << 50, pool.handle, on), INTERNAL),
    ]
    assert [lib.aclrtMemPoolMallocAsync(*arguments) for arguments, _ in rows] == [code for _, code in rows]
    assert int(ffi.cast("uintptr_t", out[0])) == 7
    assert b"the pool is exhausted" in ffi.string(lib.aclGetRecentErrMsg())
    assert lib.aclrtDestroyContext(context[0]) == OK


def test_free_checks_in_order(make_pool: MakePool, lib: Any, ffi: Any, stream: Stream) -> None:
    pool = make_pool()
    block = pool.malloc(2, stream)
    garbage, on = ffi.cast("void *", 0x1234567800), ffi.cast("void *", stream.handle)
    inside = ffi.cast("void *", block + PAGE)
    context, foreign = ffi.new("aclrtContext *"), ffi.new("aclrtStream *")
    assert lib.aclrtCreateContext(context, 0) == OK
    assert lib.aclrtCreateStream(foreign) == OK
    Device(0).set_current()
    rows = [
        ((ffi.NULL, ffi.NULL), INVALID_PARAM),
        ((inside, ffi.NULL), INTERNAL),
        ((inside, garbage), INVALID_HANDLE),
        ((inside, foreign[0]), STREAM_CONTEXT),
        ((inside, on), RT_PARAM),
        ((ffi.cast("void *", block), on), OK),
        ((ffi.cast("void *", block), on), RT_PARAM),  # again
    ]
    assert [lib.aclrtMemPoolFreeAsync(*arguments) for arguments, _ in rows] == [code for _, code in rows]
    assert lib.aclrtDestroyContext(context[0]) == OK


def test_without_a_context_every_stream_is_another_contexts(child: Any) -> None:
    script = """
pool, stream, props, out = (ffi.new(t) for t in ("aclrtMemPool *", "aclrtStream *", "aclrtMemPoolProps *", "void **"))
props.location.type = 1
assert lib.aclrtSetDevice(0) == 0 and lib.aclrtCreateStream(stream) == 0 and lib.aclrtMemPoolCreate(pool, props) == 0
def work():
    reported([lib.aclrtMemPoolMallocAsync(out, 64, pool[0], stream[0]), lib.aclrtMemPoolFreeAsync(pool[0], stream[0])])
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    assert child(script) == [STREAM_CONTEXT, STREAM_CONTEXT]


def test_a_pool_serves_streams_of_its_device(child: Any) -> None:
    script = """
pool, stream, foreign, props = (ffi.new(t) for t in
                                ("aclrtMemPool *", "aclrtStream *", "aclrtStream *", "aclrtMemPoolProps *"))
out = ffi.new("void **")
props.location.type, props.location.id = 1, 1
assert lib.aclrtSetDevice(0) == 0 and lib.aclrtCreateStream(foreign) == 0
assert lib.aclrtSetDevice(1) == 0 and lib.aclrtCreateStream(stream) == 0
assert lib.aclrtMemPoolCreate(pool, props) == 0
codes = [lib.aclrtMemPoolMallocAsync(out, 64, pool[0], stream[0])]
attributes = ffi.new("aclrtPtrAttributes *")
assert lib.aclrtPointerGetAttributes(out[0], attributes) == 0
assert lib.aclrtSetDevice(0) == 0
codes += [lib.aclrtMemPoolMallocAsync(out, 64, pool[0], foreign[0]), lib.aclrtMemPoolFreeAsync(out[0], foreign[0])]
reported([*codes, attributes.location.type, attributes.location.id])
"""
    assert child(script, ASCEND_RT_SIM_DEVICES=2) == [OK, RT_PARAM, RT_PARAM, 1, 1]


# --- attributes ------------------------------------------------------------------------------------------------------


def test_attributes_of_a_new_pool(lib: Any, ffi: Any, device: Any) -> None:
    out = ffi.new("aclrtMemPool *")
    assert lib.aclrtMemPoolCreate(out, properties(ffi)) == OK
    values = []
    for attribute in range(1, 9):
        value = ffi.new("uint64_t *", 0)
        assert lib.aclrtMemPoolGetAttr(out[0], attribute, value) == OK
        values.append(value[0])
    assert values == [1, 1, 1, 0, 0, 0, 0, 0]
    assert lib.aclrtMemPoolDestroy(out[0]) == OK


def test_flags_are_32_bits_wide_and_normalised(make_pool: MakePool, lib: Any, ffi: Any) -> None:
    pool = make_pool()
    for flag in FLAGS:
        value = ffi.new("uint32_t[2]", [5, 0xFFFFFFFF])
        assert lib.aclrtMemPoolSetAttr(pool.handle, flag, value) == OK
        assert lib.aclrtMemPoolGetAttr(pool.handle, flag, value) == OK
        assert list(value) == [1, 0xFFFFFFFF]
        assert (pool.set(flag, 0), pool.get(flag)) == (OK, 0)


@pytest.mark.parametrize(
    ("attribute", "value", "code"),
    [
        (THRESHOLD, 0, OK),
        (THRESHOLD, 8 * PAGE, OK),
        (THRESHOLD, 8 * PAGE + 1, INTERNAL),
        (RESERVED_HIGH, 0, OK),
        (RESERVED_HIGH, 1, INTERNAL),
        (USED_HIGH, 0, OK),
        (USED_HIGH, PAGE, INTERNAL),
        (RESERVED, 0, RT_PARAM),
        (USED, 0, RT_PARAM),
        (0, 0, RT_PARAM),
        (9, 0, RT_PARAM),
    ],
)
def test_setting_attributes(attribute: int, value: int, code: int, make_pool: MakePool, lib: Any, ffi: Any) -> None:
    pool = make_pool(8 * PAGE - 1)  # rounded up
    assert pool.set(attribute, value) == code
    assert lib.aclrtMemPoolSetAttr(pool.handle, attribute, ffi.NULL) == RT_PARAM
    assert lib.aclrtMemPoolGetAttr(pool.handle, attribute, ffi.NULL) == RT_PARAM
    known = lib.aclrtMemPoolGetAttr(pool.handle, attribute, ffi.new("uint64_t *"))
    assert known == (OK if 1 <= attribute <= 8 else RT_PARAM)


def test_high_water_marks_stay_until_they_are_reset(make_pool: MakePool, stream: Stream) -> None:
    pool = make_pool()
    blocks = [pool.malloc(1, stream) for _ in range(3)]
    for block in blocks[1:]:
        assert pool.free(block, stream) == OK
    stream.synchronize()
    assert pool.counts() == (1, 1)
    assert (pool.get(RESERVED_HIGH), pool.get(USED_HIGH)) == (3 * PAGE, 3 * PAGE)
    assert (pool.set(RESERVED_HIGH, 0), pool.set(USED_HIGH, 0)) == (OK, OK)
    assert (pool.get(RESERVED_HIGH), pool.get(USED_HIGH)) == (PAGE, PAGE)
