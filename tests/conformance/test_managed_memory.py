# SPDX-License-Identifier: Apache-2.0
"""Managed memory: one address for host and devices, and what is advised about its pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.codes import (
    GARBAGE,
    INVALID_HANDLE,
    INVALID_PARAM,
    NO_CONTEXT,
    OK,
    OUT_OF_MEMORY,
    PRODUCTS,
    RT_PARAM,
    STREAM_CONTEXT,
    UNSUPPORTED,
)

from ascend_rt.testing import Latch

HUGE, TIB = 2 << 20, 1 << 40
NOWHERE, ON_DEVICE, ON_HOST, ON_NODE, ON_CURRENT_NODE = range(5)  # aclrtMemManagedLocationType
READ_MOSTLY, NOT_READ_MOSTLY, PREFER, PREFER_NONE, ACCESSED, NOT_ACCESSED = range(6)  # aclrtMemManagedAdviseType
ATTRIBUTES = range(1, 9)


@pytest.fixture
def block(lib: Any, ffi: Any, device: Any) -> Iterator[Any]:
    """Yield four pages."""
    out = ffi.new("void **")
    assert lib.aclrtMemAllocManaged(out, 4 * HUGE, 1) == OK
    yield out[0]
    assert lib.aclrtFree(out[0]) == OK


def location(ffi: Any, kind: int, identity: int = 0) -> Any:
    return ffi.new("aclrtMemManagedLocation *", {"type": kind, "id": identity})[0]


def attribute(lib: Any, ffi: Any, which: int, address: Any, size: int, count: int = 1) -> list[int]:
    out = ffi.new("int32_t[]", count)
    assert lib.aclrtMemManagedGetAttr(which, address, size, out, 4 * count) == OK
    return list(out)


def test_host_and_device_use_it(block: Any, lib: Any, ffi: Any) -> None:
    ffi.memmove(block, b"host", 4)
    copy = ffi.new("char[4]")
    assert lib.aclrtMemcpy(copy, 4, block, 4, 4) == OK
    assert bytes(ffi.buffer(copy)) == b"host"
    assert lib.aclrtMemset(block + HUGE, HUGE, 7, HUGE) == OK
    assert bytes(ffi.buffer(ffi.cast("char *", block) + HUGE, 2)) == b"\x07\x07"
    attributes = ffi.new("aclrtPtrAttributes *")
    assert lib.aclrtPointerGetAttributes(block + 5, attributes) == OK
    assert (attributes.location.type, attributes.location.id, attributes.pageSize) == (3, 0, HUGE)


@pytest.mark.simulator("deadly")
def test_what_is_freed_is_refused(lib: Any, ffi: Any, device: Any) -> None:
    out = ffi.new("void **")
    assert lib.aclrtMemAllocManaged(out, 1, 1) == OK
    base, size = ffi.new("void **"), ffi.new("size_t *")
    assert lib.aclrtMemGetAddressRange(out[0], base, size) == OK
    assert (base[0], size[0]) == (out[0], HUGE)
    assert lib.aclrtFree(out[0] + HUGE // 2) == RT_PARAM
    assert lib.aclrtFreeWithDevSync(out[0]) == OK
    assert lib.aclrtFree(out[0]) == RT_PARAM
    assert lib.aclrtMemset(out[0], 1, 0, 1) == RT_PARAM


def test_it_lies_in_a_window_of_its_own(block: Any, lib: Any, ffi: Any) -> None:
    out, addresses = ffi.new("void **"), [block]
    for size in (1, HUGE, TIB):
        assert lib.aclrtMemAllocManaged(out, size, 1) == OK
        addresses.append(out[0])
    for address in addresses:
        assert 0x90000000000 <= int(ffi.cast("uintptr_t", address)) < 0x90000000000 + 3 * TIB
    assert lib.aclrtMemAllocManaged(out, 3 * TIB, 1) == OUT_OF_MEMORY  # the rest of it is smaller
    for address in addresses[1:]:
        assert lib.aclrtFree(address) == OK
        assert lib.aclrtMemset(address, 1, 0, 1) == RT_PARAM


@pytest.mark.parametrize("size", [3 * TIB + 1, 2**63, 2**64 - 1, 2**64 - HUGE])
def test_what_does_not_fit(size: int, lib: Any, ffi: Any, device: Any) -> None:
    out = ffi.new("void **", ffi.cast("void *", 7))
    assert lib.aclrtMemAllocManaged(out, size, 1) == OUT_OF_MEMORY
    assert out[0] == ffi.cast("void *", 7)


# --- advice ----------------------------------------------------------------------------------------------------------

# Advice on pages, as (advice, location, first page, pages); the attributes 1, 2, 4 and 5 of all four pages.
ADVICE = [
    ([], [0, -2, 0, -2]),
    ([(READ_MOSTLY, (NOWHERE, 99), 0, 4)], [1, -2, 0, -2]),
    ([(READ_MOSTLY, (NOWHERE, 0), 0, 3)], [0, -2, 0, -2]),
    ([(READ_MOSTLY, (NOWHERE, 0), 0, 4), (NOT_READ_MOSTLY, (ON_DEVICE, 0), 1, 1)], [0, -2, 0, -2]),
    ([(PREFER, (ON_DEVICE, 0), 0, 4)], [0, 0, ON_DEVICE, 0]),
    ([(PREFER, (ON_HOST, 5), 0, 4)], [0, -1, ON_HOST, -1]),
    ([(PREFER, (ON_NODE, 1), 0, 4)], [0, 1, ON_NODE, 1]),
    ([(PREFER, (ON_DEVICE, 0), 0, 2), (PREFER, (ON_HOST, 0), 2, 2)], [0, -2, 0, -2]),
    ([(PREFER, (ON_DEVICE, 0), 0, 2), (PREFER, (ON_DEVICE, 0), 2, 2)], [0, 0, ON_DEVICE, 0]),
    ([(PREFER, (ON_HOST, 0), 0, 4), (PREFER_NONE, (ON_HOST, 0), 3, 1)], [0, -2, 0, -2]),
]


@pytest.mark.parametrize(("advice", "expected"), ADVICE)
def test_advice(advice: list[Any], expected: list[int], block: Any, lib: Any, ffi: Any) -> None:
    for what, where, first, pages in advice:
        assert lib.aclrtMemManagedAdvise(block + first * HUGE, pages * HUGE, what, location(ffi, *where)) == OK
    assert [attribute(lib, ffi, it, block, 4 * HUGE)[0] for it in (1, 2, 4, 5)] == expected


def test_who_accesses_pages(block: Any, lib: Any, ffi: Any) -> None:
    def advise(what: int, first: int, pages: int, *where: int) -> None:
        assert lib.aclrtMemManagedAdvise(block + first * HUGE, pages * HUGE, what, location(ffi, *where)) == OK

    advise(ACCESSED, 0, 4, ON_DEVICE, 0)
    advise(ACCESSED, 1, 2, ON_HOST)
    assert attribute(lib, ffi, 3, block, 4 * HUGE, 3) == [0, -2, -2]  # the value that all pages have, and -2
    assert sorted(attribute(lib, ffi, 3, block + HUGE, 2 * HUGE, 3)) == [-2, -1, 0]
    assert len(attribute(lib, ffi, 3, block + HUGE, 2 * HUGE, 1)) == 1
    advise(NOT_ACCESSED, 1, 1, ON_DEVICE, 0)
    assert attribute(lib, ffi, 3, block, 4 * HUGE, 2) == [-2, -2]
    assert attribute(lib, ffi, 3, block + HUGE, HUGE, 2) == [-1, -2]
    assert attribute(lib, ffi, 3, block + 3 * HUGE + 5, 1, 2) == [0, -2]  # the page that a range touches


def test_several_attributes_at_once(block: Any, lib: Any, ffi: Any) -> None:
    assert lib.aclrtMemManagedAdvise(block, 4 * HUGE, PREFER, location(ffi, ON_DEVICE, 0)) == OK
    wanted = ffi.new("aclrtMemManagedRangeAttribute[]", list(ATTRIBUTES))
    values = [ffi.new("int32_t[2]", [99, 99]) for _ in ATTRIBUTES]
    data = ffi.new("void *[]", values)
    sizes = ffi.new("size_t[]", [8 if it == 3 else 4 for it in ATTRIBUTES])
    assert lib.aclrtMemManagedGetAttrs(wanted, 8, block, 4 * HUGE, data, sizes) == OK
    assert [it[0] for it in values] == [0, 0, -2, ON_DEVICE, 0, -2, NOWHERE, -2]
    assert [it[1] for it in values] == [99, 99, -2, 99, 99, 99, 99, 99]


# --- prefetching -----------------------------------------------------------------------------------------------------


def test_prefetching_keeps_the_order_of_its_stream(block: Any, stream: Any, lib: Any, ffi: Any) -> None:
    raw = ffi.cast("aclrtStream", stream.handle)
    ffi.memmove(block, b"kept", 4)
    with Latch(stream):
        for where in [(ON_DEVICE, 0), (ON_HOST, 0), (ON_NODE, 0), (ON_CURRENT_NODE, 0)]:
            assert lib.aclrtMemManagedPrefetchAsync(block, 4 * HUGE, location(ffi, *where), 0, raw) == OK
        assert not stream.is_done
    stream.synchronize()
    assert lib.aclrtMemManagedPrefetchAsync(block, HUGE, location(ffi, ON_DEVICE), 0, ffi.NULL) == OK
    assert lib.aclrtSynchronizeStream(ffi.NULL) == OK
    assert bytes(ffi.buffer(block, 4)) == b"kept"


@pytest.mark.simulator("deadly", "memory is freed under a queued task")
def test_memory_may_be_freed_before_it_is_prefetched(stream: Any, lib: Any, ffi: Any) -> None:
    out = ffi.new("void **")
    assert lib.aclrtMemAllocManaged(out, HUGE, 1) == OK
    with Latch(stream):
        raw = ffi.cast("aclrtStream", stream.handle)
        assert lib.aclrtMemManagedPrefetchAsync(out[0], HUGE, location(ffi, ON_DEVICE), 0, raw) == OK
        assert lib.aclrtFree(out[0]) == OK
    stream.synchronize()


def test_a_batch(block: Any, stream: Any, check: Any, lib: Any, ffi: Any) -> None:
    values = {
        "ranges": ffi.new("void const *[]", [block, block + 3 * HUGE]),
        "hole": ffi.new("void const *[]", [block, ffi.NULL]),
        "sizes": ffi.new("size_t[]", [HUGE, HUGE]),
        "empty": ffi.new("size_t[]", [HUGE, 0]),
        "long": ffi.new("size_t[]", [4 * HUGE, HUGE + 1]),
        "places": ffi.new("aclrtMemManagedLocation[]", [{"type": ON_DEVICE}, {"type": ON_HOST}]),
        "beyond": ffi.new("aclrtMemManagedLocation[]", [{"type": ON_DEVICE}, {"type": ON_DEVICE, "id": 99}]),
        "indexes": ffi.new("size_t[]", [0, 1]),
        "same": ffi.new("size_t[]", [0, 0]),
        "late": ffi.new("size_t[]", [1, 2]),
        "far": ffi.new("size_t[]", [0, 2]),
        "stream": ffi.cast("aclrtStream", stream.handle),
        "garbage": ffi.cast("aclrtStream", GARBAGE),
    }
    good = ("ranges", "sizes", 2, "places", "indexes", 2, 0, "stream")

    def but(position: int, value: Any) -> tuple[Any, ...]:
        return (*good[:position], value, *good[position + 1 :])

    rows = [
        *[(but(it, "NULL"), INVALID_PARAM) for it in (0, 1, 3, 4)],
        (but(2, 0), INVALID_PARAM),
        (but(2, 1), INVALID_PARAM),  # more locations than ranges
        (but(5, 0), INVALID_PARAM),
        (but(6, 1), INVALID_PARAM),
        (but(7, "garbage"), INVALID_HANDLE),
        *[(but(4, it), RT_PARAM) for it in ("same", "late", "far")],
        (but(3, "beyond"), RT_PARAM),
        (but(0, "hole"), RT_PARAM),
        (but(1, "empty"), RT_PARAM),
        (but(1, "long"), RT_PARAM),
        (good, OK),
        (but(7, "NULL"), OK),
    ]
    check([("aclrtMemManagedPrefetchBatchAsync", arguments, code) for arguments, code in rows], **values)
    stream.synchronize()
    assert lib.aclrtSynchronizeStream(ffi.NULL) == OK


# --- arguments -------------------------------------------------------------------------------------------------------


def test_arguments(block: Any, stream: Any, check: Any, lib: Any, ffi: Any) -> None:
    data = ffi.new("int32_t[4]")
    values = {
        "block": block,
        "end": block + 4 * HUGE,
        "host": ffi.new("char[64]"),
        "out": ffi.new("void **"),
        "data": data,
        "one": ffi.new("aclrtMemManagedRangeAttribute[]", [1]),
        "none": ffi.new("aclrtMemManagedRangeAttribute[]", [9]),
        "list": ffi.new("void *[]", [data]),
        "hole": ffi.new("void *[1]"),
        "sizes": ffi.new("size_t[]", [4]),
        "here": location(ffi, ON_DEVICE, 0),
        "beyond": location(ffi, ON_DEVICE, 99),
        "below": location(ffi, ON_DEVICE, -1),
        "nowhere": location(ffi, NOWHERE),
        "unknown": location(ffi, 5),
        "stream": ffi.cast("aclrtStream", stream.handle),
        "garbage": ffi.cast("aclrtStream", GARBAGE),
    }
    advise, get, get_all = "aclrtMemManagedAdvise", "aclrtMemManagedGetAttr", "aclrtMemManagedGetAttrs"
    prefetch = "aclrtMemManagedPrefetchAsync"
    rows = [
        ("aclrtMemAllocManaged", ("NULL", 0, 0), INVALID_PARAM),
        ("aclrtMemAllocManaged", ("out", 0, 0), INVALID_PARAM),
        ("aclrtMemAllocManaged", ("out", 0, 2), INVALID_PARAM),
        ("aclrtMemAllocManaged", ("out", 0, 1), RT_PARAM),
        (advise, ("NULL", HUGE, 6, "here"), INVALID_PARAM),
        (advise, ("block", 0, 6, "here"), INVALID_PARAM),
        (advise, ("block", HUGE, 6, "here"), RT_PARAM),
        (advise, ("block", HUGE, -1, "here"), RT_PARAM),
        *[(advise, ("block", HUGE, PREFER, it), RT_PARAM) for it in ("beyond", "below", "nowhere", "unknown")],
        (advise, ("block", HUGE + 1, READ_MOSTLY, "here"), RT_PARAM),
        (advise, ("block", 5 * HUGE, READ_MOSTLY, "here"), RT_PARAM),
        (advise, ("end", HUGE, READ_MOSTLY, "here"), RT_PARAM),
        (advise, ("host", HUGE, READ_MOSTLY, "here"), RT_PARAM),
        (get, (9, "NULL", HUGE, "data", 4), INVALID_PARAM),
        (get, (9, "block", 0, "data", 4), INVALID_PARAM),
        (get, (9, "block", HUGE, "NULL", 4), INVALID_PARAM),
        (get, (9, "block", HUGE, "data", 4), RT_PARAM),
        (get, (0, "block", HUGE, "data", 4), RT_PARAM),
        (get, (1, "block", HUGE, "data", 8), RT_PARAM),
        (get, (3, "block", HUGE, "data", 6), RT_PARAM),
        (get, (3, "block", HUGE, "data", 0), RT_PARAM),
        (get, (1, "host", HUGE, "data", 4), RT_PARAM),
        (get, (1, "block", 2**64 - 1, "data", 4), RT_PARAM),
        (get_all, ("NULL", 1, "block", HUGE, "list", "sizes"), INVALID_PARAM),
        (get_all, ("one", 0, "block", HUGE, "list", "sizes"), INVALID_PARAM),
        (get_all, ("one", 1, "NULL", HUGE, "list", "sizes"), INVALID_PARAM),
        (get_all, ("one", 1, "block", 0, "list", "sizes"), INVALID_PARAM),
        (get_all, ("one", 1, "block", HUGE, "NULL", "sizes"), INVALID_PARAM),
        (get_all, ("one", 1, "block", HUGE, "list", "NULL"), INVALID_PARAM),
        (get_all, ("none", 1, "block", HUGE, "list", "sizes"), RT_PARAM),
        (get_all, ("one", 1, "block", HUGE, "hole", "sizes"), RT_PARAM),
        (get_all, ("one", 1, "host", HUGE, "list", "sizes"), RT_PARAM),
        (prefetch, ("NULL", HUGE, "here", 0, "stream"), INVALID_PARAM),
        (prefetch, ("block", 0, "here", 0, "stream"), INVALID_PARAM),
        (prefetch, ("block", HUGE, "beyond", 1, "garbage"), INVALID_PARAM),
        (prefetch, ("block", HUGE, "beyond", 0, "garbage"), INVALID_HANDLE),
        *[(prefetch, ("block", HUGE, it, 0, "stream"), RT_PARAM) for it in ("beyond", "below", "nowhere", "unknown")],
        (prefetch, ("host", HUGE, "here", 0, "stream"), RT_PARAM),
        (prefetch, ("block", 5 * HUGE, "here", 0, "stream"), RT_PARAM),
    ]
    assert lib.aclrtMemManagedAdvise(block, HUGE, READ_MOSTLY, values["nowhere"]) == OK
    check(rows, **values)


@pytest.mark.simulator("products")
def test_no_context(child: Callable[..., Any]) -> None:
    assert child(
        """
        lib.aclrtSetDevice(0)
        out, stream, value = ffi.new("void **"), ffi.new("aclrtStream *"), ffi.new("int32_t *")
        here = ffi.new("aclrtMemManagedLocation *", {"type": 1})[0]
        lib.aclrtMemAllocManaged(out, 1 << 21, 1), lib.aclrtCreateStream(stream)
        codes = []
        def call():
            codes.append(lib.aclrtMemAllocManaged(ffi.new("void **"), 64, 1))
            codes.append(lib.aclrtMemManagedAdvise(out[0], 1 << 21, 0, here))
            codes.append(lib.aclrtMemManagedPrefetchAsync(out[0], 64, here, 0, ffi.NULL))
            codes.append(lib.aclrtMemManagedPrefetchAsync(out[0], 64, here, 0, stream[0]))
            codes.append(lib.aclrtMemManagedGetAttr(1, out[0], 64, value, 4))
            codes.append(lib.aclrtSetDevice(1))
            codes.append(lib.aclrtMemManagedPrefetchAsync(out[0], 64, here, 0, stream[0]))
        thread = threading.Thread(target=call)
        thread.start(), thread.join()
        reported(codes)
        """,
        ASCEND_RT_SIM_DEVICES=2,
    ) == [NO_CONTEXT, NO_CONTEXT, NO_CONTEXT, NO_CONTEXT, OK, OK, STREAM_CONTEXT]


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_products(product: str, calls: Callable[..., list[Any]]) -> None:
    allocates, advises = product == "910B", product in ("910B", "910C")
    here = {"type": ON_DEVICE}
    rows = [
        (["aclrtSetDevice", 0], True, OK),
        (["aclrtMemAllocManaged", "out", 0, 1], allocates, RT_PARAM),
        (["aclrtMemAllocManaged", "out", 0, 0], True, INVALID_PARAM),
        (["aclrtMemManagedAdvise", GARBAGE, HUGE, 0, here], advises, RT_PARAM),
        (["aclrtMemManagedAdvise", None, HUGE, 0, here], True, INVALID_PARAM),
        (["aclrtMemManagedGetAttr", 1, GARBAGE, HUGE, "buffer", 4], advises, RT_PARAM),
        (["aclrtMemManagedGetAttrs", [1], 1, GARBAGE, HUGE, "buffer", [4]], advises, RT_PARAM),
        (["aclrtMemManagedPrefetchAsync", GARBAGE, HUGE, here, 0, None], allocates, RT_PARAM),
        (["aclrtMemManagedPrefetchAsync", GARBAGE, HUGE, here, 1, None], True, INVALID_PARAM),
        (["aclrtMemManagedPrefetchBatchAsync", "buffer", [64], 1, [here], [0], 1, 0, None], allocates, RT_PARAM),
    ]
    answers = calls([call for call, _, _ in rows], ASCEND_RT_SIM_PRODUCT=product)
    for (call, there, code), (answer, _) in zip(rows, answers, strict=True):
        assert answer == (code if there else UNSUPPORTED), call
