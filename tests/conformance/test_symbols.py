# SPDX-License-Identifier: Apache-2.0
"""Variables of device programs, reached by their host symbols (memory_cmo_allocator.md section 10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.codes import FAILURE, INVALID_PARAM, NO_CONTEXT, OK, OUT_OF_MEMORY, RT_PARAM, UNSUPPORTED

from ascend_rt import sim
from ascend_rt.testing import Latch

INVALID_SYMBOL = 107043
SYMBOL, OTHER = 0x1000, 0x2000  # its content is never read
CONTENT = bytes(range(100))
TO_DEVICE, TO_HOST, DEFAULT = 1, 2, 4

pytestmark = [
    pytest.mark.simulator(
        "unspecified", "programs with variables are not compiled here; the simulator registers them without"
    ),
    pytest.mark.usefixtures("variable"),
]


@pytest.fixture
def variable(device: Any) -> Iterator[None]:
    sim.register_symbol(SYMBOL, CONTENT)
    yield
    sim.unregister_symbol(SYMBOL)


def pointer(ffi: Any, number: int) -> Any:
    return ffi.cast("void *", number)


def address_of(lib: Any, ffi: Any, symbol: int = SYMBOL) -> Any:
    out = ffi.new("void **")
    assert lib.aclrtGetSymbolAddress(pointer(ffi, symbol), out) == OK
    return out[0]


def content_at(lib: Any, ffi: Any, address: Any, size: int = len(CONTENT)) -> bytes:
    out = ffi.new("char[]", size)
    assert lib.aclrtMemcpy(out, size, address, size, DEFAULT) == OK
    return bytes(ffi.buffer(out))


def test_a_variable_is_device_memory_with_the_content_of_the_program(lib: Any, ffi: Any) -> None:
    size = ffi.new("size_t *")
    assert lib.aclrtGetSymbolSize(pointer(ffi, SYMBOL), size) == OK
    assert size[0] == len(CONTENT)
    address = address_of(lib, ffi)
    assert address == address_of(lib, ffi)
    assert content_at(lib, ffi, address) == CONTENT


def test_parts_of_a_variable_are_copied(lib: Any, ffi: Any) -> None:
    symbol, out = pointer(ffi, SYMBOL), ffi.new("char[10]")
    assert lib.aclrtMemcpyToSymbol(symbol, b"0123456789", 10, 50, TO_DEVICE) == OK
    assert content_at(lib, ffi, address_of(lib, ffi)) == CONTENT[:50] + b"0123456789" + CONTENT[60:]
    assert lib.aclrtMemcpyFromSymbol(out, 10, symbol, 10, 45, TO_HOST) == OK
    assert bytes(ffi.buffer(out)) == CONTENT[45:50] + b"01234"
    assert lib.aclrtMemcpyFromSymbol(out, 10, symbol, 10, 90, DEFAULT) == OK
    assert bytes(ffi.buffer(out)) == CONTENT[90:]


def test_asynchronous_copies_keep_the_order_of_their_stream(lib: Any, ffi: Any, stream: Any) -> None:
    symbol, pinned = pointer(ffi, SYMBOL), ffi.new("void **")
    assert lib.aclrtMallocHost(pinned, 8) == OK
    ffi.memmove(pinned[0], b"in order", 8)
    with Latch(stream):
        assert lib.aclrtMemcpyToSymbolAsync(symbol, pinned[0], 8, 0, TO_DEVICE, stream._handle) == OK
        assert content_at(lib, ffi, address_of(lib, ffi), 8) == CONTENT[:8]
    assert lib.aclrtMemcpyFromSymbolAsync(pinned[0], 8, symbol, 8, 2, TO_HOST, stream._handle) == OK
    stream.synchronize()
    assert bytes(ffi.buffer(pinned[0], 8)) == b" order" + CONTENT[8:10]
    assert lib.aclrtFreeHost(pinned[0]) == OK


def test_every_device_has_its_own(lib: Any, ffi: Any) -> None:
    here = address_of(lib, ffi)
    assert lib.aclrtMemset(here, 1, 99, 1) == OK
    assert lib.aclrtSetDevice(1) == OK
    try:
        there = address_of(lib, ffi)
        assert there != here
        assert content_at(lib, ffi, there) == CONTENT
    finally:
        assert lib.aclrtResetDevice(1) == OK
        assert lib.aclrtSetDevice(0) == OK
    assert address_of(lib, ffi) == here


def test_a_reset_loads_the_variable_anew(process: Any) -> None:
    symbol, take = f"ffi.cast('void *', {SYMBOL})", "ffi.new('char[4]')"
    read = f"[(b := {take}), lib.aclrtMemcpyFromSymbol(b, 4, {symbol}, 4, 0, 2), bytes(ffi.buffer(b))][1:]"
    assert process(f"lib.aclsimRegisterSymbol({symbol}, b'then', 4)") == "0"
    assert process(f"lib.aclrtMemcpyToSymbol({symbol}, b'next', 4, 0, 1)") == "0"
    assert process(read) == "[0, b'next']"
    assert process("lib.aclrtResetDeviceForce(0)") == "0"
    assert process(read) == f"[{NO_CONTEXT}, b'\\x00\\x00\\x00\\x00']"
    assert process("lib.aclrtSetDevice(0)") == "0"
    assert process(read) == "[0, b'then']"


def test_the_program_owns_the_variable(lib: Any, ffi: Any) -> None:
    free, total = ffi.new("size_t *"), ffi.new("size_t *")
    assert lib.aclrtGetMemInfo(lib.ACL_HBM_MEM, free, total) == OK
    before = free[0]
    sim.register_symbol(OTHER, bytes(4096))
    address = address_of(lib, ffi, OTHER)
    assert lib.aclrtFree(address) == RT_PARAM
    key = ffi.new("char[65]")
    assert lib.aclrtIpcMemGetExportKey(address, 4096, key, 65, 1) == RT_PARAM
    assert lib.aclrtGetMemInfo(lib.ACL_HBM_MEM, free, total) == OK
    assert free[0] < before
    sim.unregister_symbol(OTHER)
    assert lib.aclrtGetMemInfo(lib.ACL_HBM_MEM, free, total) == OK
    assert free[0] == before
    assert lib.aclrtMemset(address, 1, 0, 1) == RT_PARAM


# --- wrong arguments -------------------------------------------------------------------------------------------------

NULL, UNKNOWN, HERE, OUT = object(), object(), object(), object()
WRONG = [
    ("aclrtGetSymbolAddress", [NULL, OUT], INVALID_PARAM),
    ("aclrtGetSymbolAddress", [HERE, NULL], INVALID_PARAM),
    ("aclrtGetSymbolAddress", [UNKNOWN, OUT], INVALID_SYMBOL),
    ("aclrtGetSymbolSize", [NULL, OUT], INVALID_PARAM),
    ("aclrtGetSymbolSize", [HERE, NULL], INVALID_PARAM),
    ("aclrtGetSymbolSize", [UNKNOWN, OUT], INVALID_SYMBOL),
    ("aclrtMemcpyFromSymbol", [NULL, 0, NULL, 0, 0, 9], OK),
    ("aclrtMemcpyFromSymbol", [NULL, 8, HERE, 8, 0, TO_HOST], INVALID_PARAM),
    ("aclrtMemcpyFromSymbol", [OUT, 8, NULL, 8, 0, TO_HOST], INVALID_PARAM),
    ("aclrtMemcpyFromSymbol", [OUT, 7, UNKNOWN, 8, 0, 9], INVALID_PARAM),
    ("aclrtMemcpyFromSymbol", [OUT, 8, UNKNOWN, 8, 0, TO_DEVICE], INVALID_PARAM),
    ("aclrtMemcpyFromSymbol", [OUT, 8, UNKNOWN, 8, 0, TO_HOST], INVALID_SYMBOL),
    ("aclrtMemcpyFromSymbol", [OUT, 8, HERE, 8, 2**64 - 8, TO_HOST], FAILURE),
    ("aclrtMemcpyFromSymbol", [OUT, 8, HERE, 8, 93, TO_HOST], INVALID_PARAM),
    ("aclrtMemcpyFromSymbol", [OUT, 8, HERE, 8, 92, TO_HOST], OK),
    ("aclrtMemcpyToSymbol", [NULL, NULL, 0, 0, 9], OK),
    ("aclrtMemcpyToSymbol", [NULL, OUT, 8, 0, TO_DEVICE], INVALID_PARAM),
    ("aclrtMemcpyToSymbol", [HERE, NULL, 8, 0, TO_DEVICE], INVALID_PARAM),
    ("aclrtMemcpyToSymbol", [UNKNOWN, OUT, 8, 0, TO_HOST], INVALID_PARAM),
    ("aclrtMemcpyToSymbol", [UNKNOWN, OUT, 8, 0, DEFAULT], INVALID_SYMBOL),
    ("aclrtMemcpyToSymbol", [HERE, OUT, 8, 2**64 - 8, TO_DEVICE], FAILURE),
    ("aclrtMemcpyToSymbol", [HERE, OUT, 8, 93, TO_DEVICE], INVALID_PARAM),
    ("aclrtMemcpyToSymbol", [HERE, OUT, 101, 0, TO_DEVICE], INVALID_PARAM),
    ("aclsimRegisterSymbol", [NULL, OUT, 8], INVALID_PARAM),
    ("aclsimRegisterSymbol", [UNKNOWN, NULL, 8], INVALID_PARAM),
    ("aclsimRegisterSymbol", [UNKNOWN, OUT, 0], INVALID_PARAM),
    ("aclsimRegisterSymbol", [HERE, OUT, 8], INVALID_SYMBOL),
    ("aclsimUnregisterSymbol", [NULL], INVALID_PARAM),
    ("aclsimUnregisterSymbol", [UNKNOWN], INVALID_SYMBOL),
]


def resolve(ffi: Any, argument: Any, out: Any) -> Any:
    pointers = {NULL: ffi.NULL, UNKNOWN: pointer(ffi, OTHER), HERE: pointer(ffi, SYMBOL), OUT: out}
    return pointers.get(argument, argument)


@pytest.mark.parametrize(("function", "arguments", "code"), WRONG)
def test_wrong_arguments(function: str, arguments: list[Any], code: int, lib: Any, ffi: Any) -> None:
    out = ffi.new("uint64_t[16]")
    types = {"aclrtGetSymbolAddress": "void **", "aclrtGetSymbolSize": "size_t *"}
    out_pointer = ffi.cast(types.get(function, "void *"), out)
    assert getattr(lib, function)(*(resolve(ffi, argument, out_pointer) for argument in arguments)) == code
    if function.startswith("aclrtMemcpy"):  # the asynchronous form answers the same
        pinned = ffi.new("void **")
        assert lib.aclrtMallocHost(pinned, 128) == OK
        passed = (resolve(ffi, argument, pinned[0]) for argument in arguments)
        assert getattr(lib, function + "Async")(*passed, ffi.NULL) == code
        assert lib.aclrtSynchronizeStream(ffi.NULL) == OK
        assert lib.aclrtFreeHost(pinned[0]) == OK


def test_a_variable_that_finds_no_room(lib: Any, ffi: Any) -> None:
    sim.register_symbol(OTHER, bytes(8 << 20))
    with sim.faults():
        sim.limit("memory", 1 << 20)
        assert lib.aclrtGetSymbolAddress(pointer(ffi, OTHER), ffi.new("void **")) == OUT_OF_MEMORY
    sim.unregister_symbol(OTHER)


CALLS = [
    ["aclrtSetDevice", 0],
    ["aclsimRegisterSymbol", SYMBOL, "buffer", 8],
    ["aclrtGetSymbolSize", SYMBOL, "out"],
    ["aclrtMemcpyToSymbol", SYMBOL, "buffer", 8, 0, 1],
]


@pytest.mark.parametrize(
    ("product", "code"),
    [("910B", OK), ("910C", OK), ("950", OK), ("310P", OK), ("310B", UNSUPPORTED), ("910", UNSUPPORTED)],
)
def test_products(product: str, code: int, calls: Any) -> None:
    answers = calls(CALLS, ASCEND_RT_SIM_PRODUCT=product)
    assert [answer[0] for answer in answers] == [OK, OK, code, code]
