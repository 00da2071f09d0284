# SPDX-License-Identifier: Apache-2.0
"""Host memory: pinned by the runtime, or the user's own and registered."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.codes import (
    DRIVER,
    INVALID_DEVICE,
    INVALID_PARAM,
    NO_CONTEXT,
    OK,
    OUT_OF_MEMORY,
    PRODUCTS,
    RT_PARAM,
    UNSUPPORTED,
)

from ascend_rt.testing import Latch

REGISTERED, NOT_REGISTERED = 507910, 507911
PAGE, HUGE = 4096, 2 << 20
WITH_REGISTER = {"910B", "910C", "950"}
HOST, DEVICE, UNREGISTERED = 0, 1, 2
MAPPED, IO_MEMORY, READ_ONLY, PINNED = 2, 4, 8, 0x10000000
GARBAGE = 0x1234567000
NO_RESERVE = 0x4000  # MAP_NORESERVE, which mmap has from Python 3.12 on


@pytest.fixture
def array(ffi: Any) -> Iterator[Any]:
    """Yield eight pages of the user's own; their addresses are multiples of a page."""
    pages = mmap.mmap(-1, 8 * PAGE)
    view = ffi.from_buffer("char[]", pages)
    yield ffi.cast("char *", view)
    ffi.release(view)
    pages.close()


@pytest.fixture
def pinned(lib: Any, ffi: Any, device: Any) -> Iterator[Any]:
    out = ffi.new("void **")
    assert lib.aclrtMallocHost(out, 8 * PAGE) == OK
    yield out[0]
    assert lib.aclrtFreeHost(out[0]) == OK


@pytest.fixture
def block(lib: Any, ffi: Any, device: Any) -> Iterator[Any]:
    out = ffi.new("void **")
    assert lib.aclrtMalloc(out, 8 * PAGE, 0) == OK
    yield out[0]
    assert lib.aclrtFree(out[0]) == OK


def place(lib: Any, ffi: Any, address: Any) -> int:
    attributes = ffi.new("aclrtPtrAttributes *")
    assert lib.aclrtPointerGetAttributes(address, attributes) == OK
    return int(attributes.location.type)


# --- pinned ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "whole"), [(1, PAGE), (33, PAGE), (1 << 20, 1 << 20), ((1 << 20) + 1, HUGE)])
@pytest.mark.simulator("deadly")
def test_pinned_memory(size: int, whole: int, lib: Any, ffi: Any, device: Any) -> None:
    out, base, found = ffi.new("void **"), ffi.new("void **"), ffi.new("size_t *")
    assert lib.aclrtMallocHost(out, size) == OK
    assert place(lib, ffi, out[0]) == HOST
    assert lib.aclrtMemGetAddressRange(out[0], base, found) == OK
    assert (base[0], found[0]) == (out[0], whole)
    ffi.memmove(out[0], b"x" * size, size)
    assert lib.aclrtFreeHost(out[0]) == OK
    assert lib.aclrtFreeHost(out[0]) == RT_PARAM


# The attributes, and the codes where the host's address can be kept and elsewhere.
CONFIGURATIONS = [
    ([], RT_PARAM, RT_PARAM),  # no attributes: pass NULL instead
    ([(1, 3)], OK, OK),
    ([(3, 0)], OK, OK),
    ([(3, 1)], OK, UNSUPPORTED),
    ([(3, 1), (3, 0)], OK, OK),  # the last one counts
    ([(1, 65535), (3, 0)], OK, OK),
    ([(0, 0)], RT_PARAM, RT_PARAM),  # the configuration of aclrtMallocWithCfg
    ([(2, 0)], RT_PARAM, RT_PARAM),
    ([(9, 0)], RT_PARAM, RT_PARAM),
    ([(3, 1), (9, 0)], RT_PARAM, RT_PARAM),
]


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_configurations(product: str, child: Callable[..., Any]) -> None:
    script = f"""
        rows = {[attributes for attributes, _, _ in CONFIGURATIONS]}
        lib.aclrtSetDevice(0)
        def allocate(row):
            out = ffi.new("void **")
            attributes = ffi.new("aclrtMallocAttribute[]", [{{"attr": kind}} for kind, _ in row])
            for attribute, (_, value) in zip(attributes, row):
                attribute.value.deviceId = value
            filled = {{"attrs": attributes, "numAttrs": len(row)}} if row else {{}}
            code = lib.aclrtMallocHostWithCfg(out, 64, ffi.new("aclrtMallocConfig *", filled))
            assert code or lib.aclrtFreeHost(out[0]) == 0
            return code
        reported([allocate(row) for row in rows])
        """
    column = 1 if product in ("910B", "910C") else 2
    assert child(script, ASCEND_RT_SIM_PRODUCT=product) == [row[column] for row in CONFIGURATIONS]


@pytest.mark.simulator("deadly")
def test_what_frees_it(pinned: Any, block: Any, array: Any, check: Any, lib: Any, ffi: Any) -> None:
    freed = ffi.new("void **")
    assert lib.aclrtMallocHost(freed, 64) == OK
    assert lib.aclrtFreeHostWithDevSync(freed[0]) == OK
    managed = ffi.new("void **")
    assert lib.aclrtMemAllocManaged(managed, HUGE, 1) == OK
    addresses = {
        "freed": freed[0],
        "inside": pinned + 512,
        "device": block,
        "managed": managed[0],
        "pageable": array,
        "garbage": ffi.cast("void *", GARBAGE),
    }
    for function in ("aclrtFreeHost", "aclrtFreeHostWithDevSync"):
        check([(function, ("NULL",), INVALID_PARAM)])
        check([(function, (name,), RT_PARAM) for name in addresses], **addresses)
    assert lib.aclrtFree(managed[0]) == OK


def test_no_context(calls: Callable[..., list[Any]]) -> None:
    rows = [
        (["aclrtMallocHost", None, 0], INVALID_PARAM),
        (["aclrtMallocHost", "out", 0], INVALID_PARAM),
        (["aclrtMallocHost", "out", 64], NO_CONTEXT),
        (["aclrtMallocHostWithCfg", None, 0, {}], INVALID_PARAM),
        (["aclrtMallocHostWithCfg", "out", 0, {}], INVALID_PARAM),
        (["aclrtMallocHostWithCfg", "out", 64, {}], RT_PARAM),
        (["aclrtMallocHostWithCfg", "out", 64, None], NO_CONTEXT),
        (["aclrtFreeHost", "buffer"], RT_PARAM),
        (["aclrtFreeHostWithDevSync", "buffer"], NO_CONTEXT),
        (["aclrtHostRegister", GARBAGE, 64, 1, "out"], UNSUPPORTED),
        (["aclrtHostRegister", GARBAGE, 64, 0, "out"], NO_CONTEXT),
        (["aclrtHostRegisterV2", GARBAGE, 64, 0], RT_PARAM),
        (["aclrtHostRegisterV2", GARBAGE, 64, 2], NO_CONTEXT),
        (["aclrtHostGetDevicePointer", GARBAGE, "out", 1], INVALID_PARAM),
        (["aclrtHostGetDevicePointer", GARBAGE, "out", 0], NO_CONTEXT),
        (["aclrtHostUnregister", GARBAGE], NO_CONTEXT),
        (["aclrtHostMemMapCapabilities", 9, 10, None], INVALID_PARAM),
        (["aclrtHostMemMapCapabilities", 9, 10, "out"], INVALID_DEVICE),
        (["aclrtHostMemMapCapabilities", 0, 10, "out"], RT_PARAM),
        (["aclrtHostMemMapCapabilities", 0, 0, "out"], NO_CONTEXT),
    ]
    for (call, code), (answer, _) in zip(rows, calls([call for call, _ in rows]), strict=True):
        assert answer == code, call


def test_exhaustion_leaves_the_output_alone(lib: Any, ffi: Any, device: Any) -> None:
    out = ffi.new("void **", ffi.cast("void *", 7))
    for size in (1 << 41, 2**63, 2**64 - 1):
        assert lib.aclrtMallocHost(out, size) == OUT_OF_MEMORY
        assert lib.aclrtMallocHostWithCfg(out, size, ffi.NULL) == OUT_OF_MEMORY
    assert out[0] == ffi.cast("void *", 7)


# --- registered ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_registered_memory_is_pinned_memory(version: int, array: Any, lib: Any, ffi: Any, device: Any) -> None:
    pointer = ffi.new("void **")
    assert place(lib, ffi, array) == UNREGISTERED
    if version == 1:
        assert lib.aclrtHostRegister(array, 2 * PAGE, 0, pointer) == OK
    else:
        assert lib.aclrtHostRegisterV2(array, 2 * PAGE, MAPPED | PINNED) == OK
        assert lib.aclrtHostGetDevicePointer(array, pointer, 0) == OK
    assert pointer[0] == array
    assert lib.aclrtHostGetDevicePointer(array + PAGE, pointer, 0) == OK
    assert pointer[0] == array + PAGE
    assert lib.aclrtHostGetDevicePointer(array + 2 * PAGE, pointer, 0) == RT_PARAM
    assert [place(lib, ffi, array + at) for at in (0, 2 * PAGE - 1, 2 * PAGE)] == [HOST, HOST, UNREGISTERED]
    assert lib.aclrtHostUnregister(array) == OK
    assert place(lib, ffi, array) == UNREGISTERED
    assert lib.aclrtHostGetDevicePointer(array, pointer, 0) == RT_PARAM


@pytest.mark.parametrize("flag", [MAPPED, PINNED])
def test_copies_with_a_registered_array_are_asynchronous(flag, array, block, stream, lib, ffi) -> None:
    raw = ffi.cast("aclrtStream", stream.handle)
    assert lib.aclrtMemset(block, PAGE, 7, PAGE) == OK
    assert lib.aclrtHostRegisterV2(array, PAGE, flag) == OK
    with Latch(stream):  # a copy that waits for the stream would never come back
        assert lib.aclrtMemcpyAsync(array, PAGE, block, PAGE, 2, raw) == OK
        assert array[0] == b"\0"
    stream.synchronize()
    assert array[0] == array[PAGE - 1] == b"\x07"
    assert lib.aclrtHostUnregister(array) == OK
    assert lib.aclrtMemset(block, PAGE, 8, PAGE) == OK
    assert lib.aclrtMemcpyAsync(array, PAGE, block, PAGE, 2, raw) == OK
    assert array[0] == b"\x08"  # pageable again


def test_memory_that_is_only_pinned_has_no_device_pointer(array: Any, lib: Any, ffi: Any, device: Any) -> None:
    assert lib.aclrtHostRegisterV2(array, PAGE, PINNED) == OK
    assert lib.aclrtHostGetDevicePointer(array, ffi.new("void **"), 0) == RT_PARAM
    assert lib.aclrtHostUnregister(array) == OK


def test_overlaps_are_refused(array: Any, lib: Any, ffi: Any, device: Any) -> None:
    out = ffi.new("void **")
    assert lib.aclrtHostRegister(array + 2 * PAGE, 2 * PAGE, 0, out) == OK
    for first, pages, code in [(2, 2, REGISTERED), (1, 2, REGISTERED), (3, 3, REGISTERED), (0, 8, REGISTERED)]:
        assert lib.aclrtHostRegister(array + first * PAGE, pages * PAGE, 0, out) == code
        assert lib.aclrtHostRegisterV2(array + first * PAGE, pages * PAGE, MAPPED) == code
    for first, pages in [(0, 2), (4, 4)]:
        assert lib.aclrtHostRegisterV2(array + first * PAGE, pages * PAGE, MAPPED | PINNED) == OK
    for first in (0, 2, 4):
        assert lib.aclrtHostUnregister(array + first * PAGE) == OK
        assert lib.aclrtHostUnregister(array + first * PAGE) == NOT_REGISTERED


def test_memory_of_the_runtime_can_be_mapped(pinned: Any, lib: Any, ffi: Any) -> None:
    out = ffi.new("void **")
    assert lib.aclrtHostGetDevicePointer(pinned, out, 0) == RT_PARAM
    assert lib.aclrtHostRegisterV2(pinned, 8 * PAGE, PINNED | MAPPED) == RT_PARAM  # pinned already
    aligned = pinned + -int(ffi.cast("uintptr_t", pinned)) % PAGE
    assert lib.aclrtHostRegister(aligned, PAGE, 0, out) == OK
    assert out[0] == aligned
    assert lib.aclrtHostUnregister(aligned) == OK
    assert place(lib, ffi, pinned) == HOST


def test_registered_memory_has_the_limit_of_pinned_memory(lib: Any, ffi: Any, device: Any) -> None:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE  # nothing is touched: no host has so much
    with mmap.mmap(-1, 201 << 30, flags=flags) as array:
        address, out = ffi.from_buffer(array), ffi.new("void **")
        assert lib.aclrtHostRegister(address, (200 << 30) + PAGE, 0, out) == OUT_OF_MEMORY
        assert lib.aclrtHostRegister(address, 200 << 30, 0, out) == OK
        assert lib.aclrtHostUnregister(address) == OK
        ffi.release(address)


@pytest.mark.simulator("deadly", "registered memory is freed")
def test_freed_memory_is_registered_no_longer(lib: Any, ffi: Any, device: Any) -> None:
    out, before = ffi.new("void **"), None
    for _ in range(2):
        assert lib.aclrtMallocHost(out, HUGE) == OK
        first = ffi.cast("char *", out[0])
        assert before in (None, first)  # the same addresses again
        for page in (0, 3, HUGE // PAGE - 1):
            assert lib.aclrtHostGetDevicePointer(first + page * PAGE, out, 0) == RT_PARAM
            assert lib.aclrtHostRegister(first + page * PAGE, PAGE, 0, out) == OK
        assert lib.aclrtFreeHost(first) == OK
        assert lib.aclrtHostGetDevicePointer(first, out, 0) == RT_PARAM
        assert lib.aclrtHostUnregister(first) == NOT_REGISTERED
        before = first


def test_arguments_of_registering(array: Any, pinned: Any, block: Any, check: Any, lib: Any, ffi: Any) -> None:
    freed, reserved = ffi.new("void **"), ffi.new("void **")
    assert lib.aclrtMallocHost(freed, 1 << 20) == OK
    assert lib.aclrtFreeHost(freed[0]) == OK
    assert lib.aclrtReserveMemAddress(reserved, HUGE, 0, ffi.NULL, 1) == OK
    managed = ffi.new("void **")
    assert lib.aclrtMemAllocManaged(managed, HUGE, 1) == OK
    rows = [
        ("aclrtHostRegister", ("NULL", 0, 1, "out"), INVALID_PARAM),
        ("aclrtHostRegister", ("array", 0, 1, "NULL"), INVALID_PARAM),
        ("aclrtHostRegister", ("array", 0, 1, "out"), INVALID_PARAM),
        ("aclrtHostRegister", ("array", PAGE, 1, "out"), UNSUPPORTED),
        ("aclrtHostRegister", ("array", PAGE, 16, "out"), UNSUPPORTED),
        ("aclrtHostRegister", ("unaligned", PAGE, 0, "out"), DRIVER),
        ("aclrtHostRegister", ("array", PAGE - 1, 0, "out"), DRIVER),
        ("aclrtHostRegister", ("array", PAGE + 904, 0, "out"), DRIVER),
        ("aclrtHostRegister", ("array", 2**64 - 1, 0, "out"), RT_PARAM),
        ("aclrtHostRegister", ("garbage", PAGE, 0, "out"), RT_PARAM),
        ("aclrtHostRegister", ("block", PAGE, 0, "out"), RT_PARAM),
        ("aclrtHostRegister", ("managed", HUGE, 0, "out"), RT_PARAM),
        ("aclrtHostRegister", ("reserved", HUGE, 0, "out"), RT_PARAM),
        ("aclrtHostRegister", ("freed", PAGE, 0, "out"), RT_PARAM),
        ("aclrtHostRegisterV2", ("NULL", 0, 0), INVALID_PARAM),
        ("aclrtHostRegisterV2", ("array", 0, 0), INVALID_PARAM),
        ("aclrtHostRegisterV2", ("array", PAGE, 0), RT_PARAM),
        ("aclrtHostRegisterV2", ("array", PAGE, 1), RT_PARAM),
        ("aclrtHostRegisterV2", ("array", PAGE, MAPPED | 0x10), RT_PARAM),
        ("aclrtHostRegisterV2", ("garbage", PAGE, MAPPED), RT_PARAM),
        ("aclrtHostRegisterV2", ("block", PAGE, PINNED), RT_PARAM),
        ("aclrtHostRegisterV2", ("unaligned", PAGE, MAPPED), DRIVER),
        ("aclrtHostRegisterV2", ("unaligned", PAGE, MAPPED | PINNED), DRIVER),
        ("aclrtHostRegisterV2", ("array", 64, MAPPED), DRIVER),
        ("aclrtHostRegisterV2", ("array", 64, READ_ONLY), DRIVER),
        ("aclrtHostRegisterV2", ("unaligned", 80, PINNED), OK),  # pinning is not a mapping
        ("aclrtHostRegisterV2", ("array", 65, PINNED), REGISTERED),
        ("aclrtHostRegisterV2", ("array", 64, PINNED), OK),
        ("aclrtHostRegisterV2", ("array", PAGE, MAPPED), REGISTERED),
        ("aclrtHostGetDevicePointer", ("unaligned", "out", 0), RT_PARAM),
        ("aclrtHostUnregister", ("array",), OK),
        ("aclrtHostUnregister", ("unaligned",), OK),
        ("aclrtHostUnregister", ("unaligned",), NOT_REGISTERED),
        ("aclrtHostGetDevicePointer", ("NULL", "out", 1), INVALID_PARAM),
        ("aclrtHostGetDevicePointer", ("array", "NULL", 1), INVALID_PARAM),
        ("aclrtHostGetDevicePointer", ("array", "out", 1), INVALID_PARAM),
        ("aclrtHostGetDevicePointer", ("array", "out", 0), RT_PARAM),
        ("aclrtHostUnregister", ("NULL",), INVALID_PARAM),
        ("aclrtHostUnregister", ("array",), NOT_REGISTERED),
        ("aclrtHostUnregister", ("pinned",), NOT_REGISTERED),
        ("aclrtHostUnregister", ("managed",), NOT_REGISTERED),
        ("aclrtHostRegister", ("array", 2 * PAGE, IO_MEMORY | READ_ONLY, "out"), OK),
        ("aclrtHostUnregister", ("second",), NOT_REGISTERED),
        ("aclrtHostUnregister", ("array",), OK),
    ]
    check(
        rows,
        array=array,
        second=array + PAGE,
        unaligned=array + 64,
        garbage=ffi.cast("void *", GARBAGE),
        block=block,
        pinned=pinned,
        freed=ffi.cast("char *", freed[0]) + -int(ffi.cast("uintptr_t", freed[0])) % PAGE,
        reserved=reserved[0],
        managed=managed[0],
        out=ffi.new("void **"),
    )
    assert lib.aclrtFree(managed[0]) == OK
    assert lib.aclrtReleaseMemAddress(reserved[0]) == OK


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_products(product: str, calls: Callable[..., list[Any]]) -> None:
    there = product in WITH_REGISTER
    rows = [
        (["aclrtSetDevice", 0], OK),
        (["aclrtMallocHost", "out:host", 1 << 21], OK),
        (["aclrtHostRegister", "@host", PAGE, 0, "out"], OK if there else UNSUPPORTED),
        (["aclrtHostRegisterV2", "@host", PAGE, 0], RT_PARAM if there else UNSUPPORTED),
        (["aclrtHostGetDevicePointer", "@host", "out", 0], OK if there else UNSUPPORTED),
        (["aclrtHostUnregister", "@host"], OK if there else UNSUPPORTED),
        (["aclrtHostUnregister", None], INVALID_PARAM),
        *[(["aclrtHostMemMapCapabilities", 0, kind, "out"], OK) for kind in range(10)],
    ]
    answers = calls([call for call, _ in rows], ASCEND_RT_SIM_PRODUCT=product)
    for (call, code), (answer, _) in zip(rows, answers, strict=True):
        assert answer == code, call
    capabilities = [values[0] for _, values in answers[-10:]]
    assert capabilities == [int(there)] * 8 + [int(product == "950")] * 2
