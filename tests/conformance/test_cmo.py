# SPDX-License-Identifier: Apache-2.0
"""Cache operations: codes in the order of the checks, the place in the stream, descriptors and barriers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from textwrap import dedent
from typing import Any

import pytest
from support.codes import (
    GARBAGE,
    INTERNAL,
    INVALID_HANDLE,
    INVALID_PARAM,
    MODEL_EXECUTE,
    OK,
    RT_PARAM,
    STREAM_CONTEXT,
    STREAM_MODEL,
    SYNC_TIMEOUT,
    UNSUPPORTED,
)

from ascend_rt.testing import Latch

PREFETCH, WRITEBACK, INVALID, FLUSH, UNKNOWN = 0, 1, 2, 3, 4
PERSISTENT = 4
ALL = {"910B", "910C", "310B", "310P", "910", "950"}
PLAIN, BARRIER = {"910B", "910C", "950"}, {"310B"}

START: list[list[Any]] = [
    ["aclrtCreateContext", "out:foreign", 0],
    ["aclrtCreateStream", "out:other"],
    ["aclrtSetDevice", 0],
    ["aclrtMalloc", "out:memory", 4096, 0],
    ["aclrtCreateStream", "out:stream"],
    ["aclrtCreateStream", "out:gone"],
    ["aclrtDestroyStream", "@gone"],
    ["aclrtCreateEvent", "out:event"],
    ["aclrtCreateStreamWithConfig", "out:bound", 0, PERSISTENT],
    ["aclmdlRIBuildBegin", "out:model", 0],
    ["aclmdlRIBindStream", "@model", "@bound", 0],
]


def operation(*, src: Any = "@memory", size: int = 64, kind: int = PREFETCH, stream: Any = "@stream") -> list[Any]:
    return ["aclrtCmoAsync", src, size, kind, stream]


def tagged(*, src: Any = "@memory", size: int = 64, kind: int = INVALID, tag: int = 1, on: Any = "@bound") -> list[Any]:
    return ["aclrtCmoAsyncWithBarrier", src, size, kind, tag, on]


def described(*, at: Any = "@memory", kind: int = PREFETCH, on: Any = "@bound", reserve: Any = None) -> list[Any]:
    return ["aclrtCmoAsyncWithDesc", at, kind, on, reserve]


# The call, the products that answer with the first code, that code, the code of the others. Each row but the last of a
# function has one mistake more than the row below it, so that a wrong order of the checks shows.
CODES: list[tuple[list[Any], set[str], int, int | None]] = [
    (operation(src=None, size=0, kind=UNKNOWN, stream=GARBAGE), ALL, INVALID_PARAM, None),
    (operation(size=0, kind=UNKNOWN, stream=GARBAGE), ALL, INVALID_PARAM, None),
    (operation(kind=UNKNOWN, stream=GARBAGE), ALL, UNSUPPORTED, None),
    (operation(kind=-1), ALL, UNSUPPORTED, None),
    (operation(stream=GARBAGE), PLAIN, INVALID_HANDLE, UNSUPPORTED),
    (operation(stream="@gone"), PLAIN, INVALID_HANDLE, UNSUPPORTED),
    (operation(stream="@event"), PLAIN, INVALID_HANDLE, UNSUPPORTED),
    (operation(stream="@other"), PLAIN, STREAM_CONTEXT, UNSUPPORTED),
    (operation(stream="@bound"), PLAIN, UNSUPPORTED, UNSUPPORTED),
    *((operation(kind=kind), PLAIN, OK, UNSUPPORTED) for kind in (PREFETCH, WRITEBACK, INVALID, FLUSH)),
    (operation(stream=None), PLAIN, OK, UNSUPPORTED),
    (operation(src="buffer"), PLAIN, OK, UNSUPPORTED),
    (operation(src=GARBAGE, size=1 << 20), PLAIN, OK, UNSUPPORTED),
    (operation(size=1 << 40), PLAIN, OK, UNSUPPORTED),
    (["aclrtSynchronizeStream", "@stream"], ALL, OK, None),
    (["aclrtCmoGetDescSize", None], PLAIN, RT_PARAM, UNSUPPORTED),
    (["aclrtCmoGetDescSize", "out"], PLAIN, OK, UNSUPPORTED),
    (["aclrtCmoSetDesc", None, "@memory", 64], PLAIN, RT_PARAM, UNSUPPORTED),
    (["aclrtCmoSetDesc", "@memory", None, 64], PLAIN, RT_PARAM, UNSUPPORTED),
    (["aclrtCmoSetDesc", "@memory", "@memory", 0], PLAIN, RT_PARAM, UNSUPPORTED),
    (["aclrtCmoSetDesc", "buffer", "@memory", 64], PLAIN, RT_PARAM, UNSUPPORTED),
    (["aclrtCmoSetDesc", GARBAGE, "@memory", 64], PLAIN, RT_PARAM, UNSUPPORTED),
    (["aclrtCmoSetDesc", "@memory", "@memory", 64], PLAIN, OK, UNSUPPORTED),
    (described(at=None, kind=UNKNOWN, on=GARBAGE, reserve=GARBAGE), ALL, RT_PARAM, None),
    (described(at=None, kind=UNKNOWN, on=GARBAGE), PLAIN, INVALID_HANDLE, UNSUPPORTED),
    (described(at=None, kind=UNKNOWN, on="@other"), PLAIN, RT_PARAM, UNSUPPORTED),
    (described(kind=UNKNOWN, on="@other"), PLAIN, RT_PARAM, UNSUPPORTED),
    (described(at=GARBAGE, on="@other"), PLAIN, STREAM_CONTEXT, UNSUPPORTED),
    (described(at=GARBAGE, on="@stream"), PLAIN, INTERNAL, UNSUPPORTED),
    (described(on=None), PLAIN, INTERNAL, UNSUPPORTED),
    (described(at=GARBAGE), PLAIN, RT_PARAM, UNSUPPORTED),
    (described(at="buffer"), PLAIN, RT_PARAM, UNSUPPORTED),
    *((described(kind=kind), PLAIN, OK, UNSUPPORTED) for kind in (PREFETCH, WRITEBACK, INVALID, FLUSH)),
    (tagged(src=None, size=0, kind=UNKNOWN, on=GARBAGE), ALL, INVALID_PARAM, None),
    (tagged(size=0, kind=UNKNOWN, on=GARBAGE), BARRIER, RT_PARAM, UNSUPPORTED),
    (tagged(tag=0, on=GARBAGE), BARRIER, RT_PARAM, UNSUPPORTED),
    *((tagged(kind=kind, on=GARBAGE), BARRIER, RT_PARAM, UNSUPPORTED) for kind in (PREFETCH, WRITEBACK, FLUSH)),
    (tagged(kind=UNKNOWN, on=GARBAGE), ALL, UNSUPPORTED, None),
    (tagged(on=GARBAGE), BARRIER, INVALID_HANDLE, UNSUPPORTED),
    (tagged(on="@gone"), BARRIER, INVALID_HANDLE, UNSUPPORTED),
    (tagged(on="@event"), BARRIER, INVALID_HANDLE, UNSUPPORTED),
    (tagged(on="@other"), BARRIER, STREAM_CONTEXT, UNSUPPORTED),
    (tagged(on="@stream"), BARRIER, INTERNAL, UNSUPPORTED),
    (tagged(on=None), BARRIER, INTERNAL, UNSUPPORTED),
    *((tagged(kind=kind, tag=0), BARRIER, OK, UNSUPPORTED) for kind in (PREFETCH, WRITEBACK, FLUSH)),
    (tagged(), BARRIER, OK, UNSUPPORTED),
    (tagged(tag=0xFFFFFFFF), BARRIER, OK, UNSUPPORTED),
    (["aclrtCmoWaitBarrier", None, GARBAGE, 0], ALL, INVALID_PARAM, None),
]


@pytest.fixture
def memory(lib: Any, ffi: Any, device: Any) -> Iterator[Any]:
    out = ffi.new("void **")
    assert lib.aclrtMalloc(out, 4096, 0) == OK
    yield out[0]
    assert lib.aclrtFree(out[0]) == OK


@pytest.mark.parametrize("product", sorted(ALL))
@pytest.mark.simulator("products")
def test_codes(product: str, calls: Callable[..., list[Any]]) -> None:
    answers = calls([*START, *(row[0] for row in CODES)], ASCEND_RT_SIM_PRODUCT=product)
    assert {code for code, _ in answers[: len(START)]} == {OK}
    found = [code for code, _ in answers[len(START) :]]
    expected = [code if product in those else rest for _, those, code, rest in CODES]
    assert [(row[0], code) for row, code in zip(CODES, found, strict=True)] == [
        (row[0], code) for row, code in zip(CODES, expected, strict=True)
    ]


# A program on 310B: streams a and b of a model, and its answers to waits for barriers.
_BARRIER = """
def new(function, type, *arguments):
    out = ffi.new(type)
    assert function(out, *arguments) == 0
    return out[0]

assert lib.aclrtSetDevice(0) == 0
memory = new(lib.aclrtMalloc, "void **", 4096, 0)
plain = new(lib.aclrtCreateStream, "aclrtStream *")
a, b, loose = (new(lib.aclrtCreateStreamWithConfig, "aclrtStream *", 0, 4) for _ in range(3))
model, second = (new(lib.aclmdlRIBuildBegin, "aclmdlRI *", 0) for _ in range(2))
for stream, of in ((a, model), (b, model), (loose, second)):
    assert lib.aclmdlRIBindStream(of, stream, 0) == 0

def wait(stream, *entries, number=None):
    info = ffi.new("aclrtBarrierTaskInfo *")
    info.barrierNum = len(entries) if number is None else number
    for i, (kind, tag) in enumerate(entries):
        info.cmoInfo[i].cmoType, info.cmoInfo[i].barrierId = kind, tag
    return lib.aclrtCmoWaitBarrier(info, stream, 0)

def drop(stream, tag):
    return lib.aclrtCmoAsyncWithBarrier(memory, 64, 2, tag, stream)
"""


@pytest.mark.parametrize("product", sorted(ALL))
@pytest.mark.simulator("deadly")
@pytest.mark.simulator("products")
def test_codes_of_barriers(product: str, child: Callable[..., Any]) -> None:
    script = """
        garbage = ffi.cast("aclrtStream", 0x1234567800)
        codes = [wait(garbage, (0, 0), number=0), wait(garbage, (0, 0), number=7), wait(garbage, (0, 0))]
        codes += [wait(garbage, (2, 1), (3, 1)), wait(garbage, (2, 0)), wait(garbage, (2, 1)), wait(plain, (2, 1))]
        codes += [wait(ffi.NULL, (2, 1)), wait(a, (2, 1)), drop(a, 1), wait(b, (2, 1)), wait(b, (2, 1), (2, 9))]
        codes += [wait(loose, (2, 1)), wait(b, (2, 1), (0, 0), number=1), wait(b, *[(2, 1)] * 6)]
        reported(codes)
    """
    codes = child(_BARRIER + dedent(script), ASCEND_RT_SIM_PRODUCT=product)
    assert codes[:5] == [INVALID_PARAM, INVALID_PARAM, RT_PARAM, RT_PARAM, RT_PARAM]
    on_310b = [INVALID_HANDLE, INTERNAL, INTERNAL, STREAM_MODEL, OK, OK, STREAM_MODEL, STREAM_MODEL, OK, OK]
    assert codes[5:] == (on_310b if product in BARRIER else [UNSUPPORTED] * 10)


@pytest.mark.simulator("products")
def test_a_barrier_holds_its_stream_for_the_operations_of_others(child: Callable[..., Any]) -> None:
    script = """
        byte = ffi.new("char[1]")

        def written():
            assert lib.aclrtMemcpy(byte, 1, memory, 1, 2) == 0 and lib.aclrtMemset(memory, 64, 0, 64) == 0
            return byte[0][0]

        from support.gate import Gate

        gate = Gate(lib, ffi)
        assert lib.aclrtMemset(memory, 64, 0, 64) == 0
        # The second operation comes after the wait, so that the wait is not for it.
        gate.hold(a)
        assert drop(a, 1) == 0
        assert wait(b, (2, 1), (2, 1)) == 0 and lib.aclrtMemsetAsync(memory, 64, 7, 64, b) == 0 and drop(b, 1) == 0
        assert lib.aclmdlRIEndTask(model, b) == 0 and lib.aclmdlRIBuildEnd(model, ffi.NULL) == 0
        rounds = []
        for _ in range(2):
            rounds.append([lib.aclmdlRIExecute(model, 20), written()])
            gate.open()
            for _ in range(2):
                rounds.append([lib.aclmdlRIExecute(model, -1), written()])
            gate.shut()
        reported(rounds)
    """
    rounds = child(_BARRIER + dedent(script), ASCEND_RT_SIM_PRODUCT="310B")
    assert rounds == [[SYNC_TIMEOUT, 0], [OK, 7], [OK, 7]] * 2


@pytest.mark.simulator("products")
def test_a_barrier_of_a_dropped_stream_holds_nobody(child: Callable[..., Any]) -> None:
    script = """
        assert drop(a, 1) == 0 and wait(b, (2, 1)) == 0
        assert lib.aclmdlRIUnbindStream(model, a) == 0 and lib.aclmdlRIEndTask(model, b) == 0
        assert lib.aclmdlRIBuildEnd(model, ffi.NULL) == 0
        reported([lib.aclmdlRIExecute(model, -1) for _ in range(2)])
    """
    assert child(_BARRIER + dedent(script), ASCEND_RT_SIM_PRODUCT="310B") == [OK, OK]


def test_an_operation_has_its_place_in_the_stream(lib: Any, ffi: Any, stream: Any, memory: Any) -> None:
    raw = ffi.cast("aclrtStream", stream.handle)
    with Latch(stream):
        for kind in (PREFETCH, WRITEBACK, INVALID, FLUSH):
            assert lib.aclrtCmoAsync(memory, 64, kind, raw) == OK
        assert not stream.is_done
    stream.synchronize()


@pytest.mark.parametrize("size", [1, 64, (1 << 32) - 1, 1 << 32, 1 << 40])
def test_a_range_need_not_exist(lib: Any, ffi: Any, stream: Any, size: int) -> None:
    raw = ffi.cast("aclrtStream", stream.handle)
    for address in (1, GARBAGE, (1 << 64) - 1):
        assert lib.aclrtCmoAsync(ffi.cast("void *", address), size, PREFETCH, raw) == OK
    stream.synchronize()


# product: size of the descriptor, offset of the address, offset of the length, bytes that the operation overwrites
LAYOUTS = {"910B": (32, 16, 12, 8), "910C": (32, 16, 12, 8), "950": (64, 32, 48, 28)}


@pytest.mark.parametrize("product", sorted(LAYOUTS))
@pytest.mark.simulator("products")
def test_the_descriptor(product: str, child: Callable[..., Any]) -> None:
    script = """
        def new(function, type, *arguments):
            out = ffi.new(type)
            assert function(out, *arguments) == 0
            return out[0]

        assert lib.aclrtSetDevice(0) == 0
        size = new(lib.aclrtCmoGetDescSize, "size_t *")
        device = new(lib.aclrtMalloc, "void **", 64, 0)
        stream = new(lib.aclrtCreateStreamWithConfig, "aclrtStream *", 0, 4)
        model = new(lib.aclmdlRIBuildBegin, "aclmdlRI *", 0)
        assert lib.aclmdlRIBindStream(model, stream, 0) == 0
        host = ffi.new("unsigned char[64]")

        def content():
            assert lib.aclrtMemcpy(host, size, device, size, 2) == 0
            return ffi.buffer(host, size)[:].hex()

        assert lib.aclrtCmoSetDesc(device, ffi.cast("void *", 0x1122334455667788), (9 << 32) + 0xAABBCCDD) == 0
        before = content()
        misplaced = lib.aclrtCmoSetDesc(device + 8, device, 1)
        assert lib.aclrtCmoAsyncWithDesc(device, 3, stream, ffi.NULL) == 0
        after = content()
        assert lib.aclmdlRIEndTask(model, stream) == 0 and lib.aclmdlRIBuildEnd(model, ffi.NULL) == 0
        codes = [lib.aclmdlRIExecute(model, -1) for _ in range(2)]
        assert lib.aclrtFree(device) == 0
        reported([size, before, after, misplaced, codes, lib.aclmdlRIExecute(model, -1)])
    """
    found, *texts, misplaced, codes, freed = child(script, ASCEND_RT_SIM_PRODUCT=product)
    before, after = map(bytes.fromhex, texts)
    size, address, length, head = LAYOUTS[product]
    assert (found, len(before)) == (size, size)
    assert before[address : address + 8] == bytes.fromhex("8877665544332211")
    assert before[length : length + 4] == bytes.fromhex("ddccbbaa")
    assert after[:head] != before[:head]
    assert after[head:] == before[head:]
    assert (misplaced, codes, freed) == (RT_PARAM, [OK, OK], MODEL_EXECUTE)
