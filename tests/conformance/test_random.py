# SPDX-License-Identifier: Apache-2.0
"""Random numbers: statistics, repeatability, parameters in memory, order in the stream, and refused arguments.

Only the generator is public, so the values of a distribution are not a contract; see docs/semantics/random.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.codes import DRIVER, INVALID_PARAM, OK, PRODUCTS, RT_PARAM, UNSUPPORTED
from support.handles import raw

from ascend_rt import Buffer, Stream, copy
from ascend_rt.errors import AclError
from ascend_rt.testing import Latch

COUNT = 100_000
MASK, UNIFORM, NORMAL, TRUNCATED = range(4)
TYPES = {"f4": 0, "f2": 1, "i4": 3, "u4": 8, "i8": 9, "u8": 10, "bf16": 27}

Numbers = "np.ndarray[Any, Any]"


def bits(value: float, dtype: str) -> bytes:
    """Return a number as its data type stores it."""
    return np.float32(value).tobytes()[2:] if dtype == "bf16" else np.array(value, dtype).tobytes()


def numbers(data: bytes, dtype: str) -> Numbers:
    """Return stored numbers in a type that numpy computes with."""
    if dtype == "bf16":
        return (np.frombuffer(data, "u2").astype("u4") << 16).view("f4").astype("f8")
    return np.frombuffer(data, dtype).astype("f8" if dtype[0] == "f" else dtype)


def value(data: bytes) -> dict[str, Any]:
    return {"isAddr": 0, "size": len(data), "valueOrAddr": data.ljust(8, b"\0")}


def at(buffer: Buffer, size: int = 8, offset: int = 0) -> dict[str, Any]:
    return {"isAddr": 1, "size": size, "valueOrAddr": (buffer.handle + offset).to_bytes(8, "little")}


class Draw:
    """Draws numbers; every part of the task can be replaced."""

    def __init__(self, lib: Any, ffi: Any, stream: Stream) -> None:
        self.lib, self.ffi, self.stream = lib, ffi, stream
        self.result, self.counter = Buffer(8 * COUNT), Buffer(16)
        self.count_from(0)

    def count_from(self, block: int) -> None:
        copy(self.counter, block.to_bytes(16, "little"))

    def submit(self, function: int, dtype: str, first: Any, second: Any = 0, reserve: Any = None, **parts: Any) -> int:
        size = {"f2": 2, "bf16": 2, "i8": 8, "u8": 8}.get(dtype, 4)
        given = [it if isinstance(it, dict) else value(bits(it, dtype)[:size]) for it in (first, second)]
        task = self.ffi.new("aclrtRandomNumTaskInfo *")
        task.dataType = TYPES.get(dtype, 2)
        task.randomNumFuncParaInfo.funcType = function
        info = task.randomNumFuncParaInfo.paramInfo.uniformDisInfo
        info.min, info.max = given
        task.randomResultAddr = self.ffi.cast("void *", self.result.handle)
        task.randomCounterAddr = self.ffi.cast("void *", self.counter.handle)
        task.randomSeed, task.randomNum = value((42).to_bytes(8, "little")), value(COUNT.to_bytes(8, "little"))
        for name, part in parts.items():
            setattr(task, name, self.ffi.cast("void *", part) if name.endswith("Addr") else part)
        stream = raw(self.ffi, self.stream)
        return int(self.lib.aclrtRandomNumAsync(task, stream, self.ffi.NULL if reserve is None else reserve))

    def read(self, dtype: str, count: int = COUNT) -> Numbers:
        self.stream.synchronize()
        data = bytearray(count * len(bits(0, dtype)))
        copy(data, self.result[: len(data)])
        return numbers(bytes(data), dtype)

    def __call__(self, function: int, dtype: str, *parameters: Any, **parts: Any) -> Numbers:
        assert self.submit(function, dtype, *parameters, **parts) == OK
        return self.read(dtype)


@pytest.fixture
def draw(lib: Any, ffi: Any, stream: Stream) -> Draw:
    return Draw(lib, ffi, stream)


def distance(drawn: Numbers, share_below: Callable[[float], float]) -> float:
    """Return the statistic of Kolmogorov and Smirnov, scaled so that 2 is exceeded once in 1,500 times."""
    expected = np.array([share_below(float(it)) for it in np.sort(drawn)])
    step = np.arange(len(drawn) + 1) / len(drawn)
    return float(max((step[1:] - expected).max(), (expected - step[:-1]).max()) * math.sqrt(len(drawn)))


def normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


# --- the generator ---------------------------------------------------------------------------------------------------

# Counter, key and block of four words, each with the least significant word first: the known answers that the authors
# of the generator publish.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def little(words: str) -> bytes:
    return np.array([int(it, 16) for it in words.split()], "<u4").tobytes()


@pytest.mark.simulator("internals", "the scaling of integers is the simulator's own")
@pytest.mark.parametrize(("counter", "key", "block"), KNOWN)
def test_the_generator_is_philox_4x32_10(counter: str, key: str, block: str, draw: Draw) -> None:
    copy(draw.counter, little(counter))
    assert draw.submit(UNIFORM, "u4", 0, 2**32 - 1, randomSeed=value(little(key))) == OK
    words = np.frombuffer(little(block), "<u4")
    assert list(draw.read("u4", 4) + 1) == list(words)  # a word w becomes the integer part of w - w / 2**32


# --- distributions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "f2", "bf16"])
def test_uniform_reals(dtype: str, draw: Draw) -> None:
    drawn = draw(UNIFORM, dtype, -1.0, 3.0)
    assert -1 <= drawn.min() < -0.99
    assert 2.98 < drawn.max() <= 3
    assert abs(drawn.mean() - 1) < 0.02
    assert abs(drawn.var() - 16 / 12) < 0.02
    if dtype == "f4":
        assert distance(drawn, lambda x: (x + 1) / 4) < 2


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("i4", -(2**31), 2**31 - 1),
        ("i4", -5, 6),
        ("u4", 3, 2**32 - 1),
        ("i8", -(2**63), 2**63 - 1),
        ("i8", -5, 6),
        ("u8", 2**63, 2**64 - 1),
    ],
)
def test_uniform_integers(dtype: str, low: int, high: int, draw: Draw) -> None:
    drawn = draw(UNIFORM, dtype, low, high)
    assert low <= int(drawn.min())
    assert int(drawn.max()) < high
    shares = (drawn.astype("f8") - low) / (high - low)
    if high - low < 100:
        found, counts = np.unique(drawn, return_counts=True)
        assert list(found) == list(range(low, high))
        expected = COUNT / (high - low)
        assert ((counts - expected) ** 2 / expected).sum() < 35  # the limit for 10 degrees of freedom
    else:
        assert distance(shares, lambda x: min(x, 1)) < 2


@pytest.mark.parametrize("dtype", ["f4", "f2", "bf16"])
def test_the_normal_distribution(dtype: str, draw: Draw) -> None:
    drawn = draw(NORMAL, dtype, 2.0, 0.5)
    assert abs(drawn.mean() - 2) < 0.01
    assert abs(drawn.std() - 0.5) < 0.01
    assert (abs((drawn - 2) / 0.5) > 3).mean() < 0.004
    if dtype == "f4":
        assert distance((drawn - 2) / 0.5, normal) < 2
        assert abs(np.corrcoef(drawn[::2], drawn[1::2])[0, 1]) < 0.02  # they are made in pairs


@pytest.mark.parametrize("dtype", ["f4", "f2", "bf16"])
def test_the_truncated_normal_distribution(dtype: str, draw: Draw) -> None:
    drawn = draw(TRUNCATED, dtype, -1.0, 0.25)
    assert -1.5 <= drawn.min() < -1.49
    assert -0.51 < drawn.max() <= -0.5
    assert abs(drawn.mean() + 1) < 0.01
    if dtype == "f4":
        within = normal(2) - normal(-2)
        assert distance((drawn + 1) / 0.25, lambda x: (normal(x) - normal(-2)) / within) < 2


@pytest.mark.parametrize("dtype", ["f4", "f2", "bf16"])
@pytest.mark.parametrize("ratio", [0.0, 0.25, 1.0])
def test_the_bit_mask_of_a_dropout(ratio: float, dtype: str, draw: Draw) -> None:
    copy(draw.result, b"\xaa" * draw.result.nbytes)
    assert draw.submit(MASK, dtype, ratio) == OK
    assert abs(unpacked(draw).mean() - (1 - ratio)) < 0.01


def unpacked(draw: Draw, count: int = COUNT) -> Numbers:
    """Return the bits of a mask, the first element first; the bytes after them must be untouched."""
    draw.stream.synchronize()
    data = bytearray((count + 7) // 8 + 1)
    copy(data, draw.result[: len(data)])
    assert data[-1] == 0xAA
    return np.unpackbits(np.frombuffer(data[:-1], "u1"), bitorder="little")


def test_a_mask_whose_last_byte_is_not_full(draw: Draw) -> None:
    copy(draw.result, b"\xaa" * draw.result.nbytes)
    assert draw.submit(MASK, "f4", 0.0, randomNum=value(bytes([19]))) == OK
    assert list(unpacked(draw, 19)) == [1] * 19 + [0] * 5


# --- repeatability ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [UNIFORM, NORMAL, TRUNCATED])
def test_the_same_seed_and_counter_give_the_same_numbers(function: int, draw: Draw) -> None:
    first = draw(function, "f4", 0.0, 1.0)
    assert (draw(function, "f4", 0.0, 1.0) == first).all()
    assert not (draw(function, "f4", 0.0, 1.0, randomSeed=value(b"\x07")) == first).any()


@pytest.mark.parametrize("begin", [0, 2**32 - 2, 2**96 - 2, 2**128 - 2])
def test_the_counter_is_a_place_in_the_sequence(begin: int, draw: Draw) -> None:
    draw.count_from(begin)
    first = draw(UNIFORM, "u4", 0, 2**32 - 1)
    draw.count_from((begin + 5) % 2**128)
    assert (draw(UNIFORM, "u4", 0, 2**32 - 1)[:-20] == first[20:]).all()


def test_the_counter_is_left_alone(draw: Draw) -> None:
    draw.count_from(77)
    draw(UNIFORM, "f4", 0.0, 1.0)
    left = bytearray(16)
    copy(left, draw.counter)
    assert int.from_bytes(left, "little") == 77


# --- what is in memory -----------------------------------------------------------------------------------------------


def test_parameters_seed_and_count_in_memory(draw: Draw) -> None:
    expected = draw(UNIFORM, "f2", 2.0, 4.0)
    words = Buffer(64)
    copy(
        words[:32],
        bits(2.0, "f2").ljust(8, b"\x99")
        + bits(4.0, "f2").ljust(8, b"\x99")
        + (42).to_bytes(8, "little")
        + COUNT.to_bytes(8, "little"),
    )
    copy(draw.result, bytes(draw.result.nbytes))
    parts = {"randomSeed": at(words, 8, 16), "randomNum": at(words, 8, 24), "randomParaAddr": words.handle + 32}
    assert (draw(UNIFORM, "f2", at(words, 8, 0), at(words, 2, 8), **parts) == expected).all()
    block = bytearray(16)
    copy(block, words[32:48])
    assert block == (words.handle).to_bytes(8, "little") + (words.handle + 8).to_bytes(8, "little")


def test_the_task_reads_when_its_turn_comes(draw: Draw) -> None:
    expected = draw(NORMAL, "f4", 0.0, 1.0)
    draw.count_from(9)
    block = Buffer(16)
    with Latch(draw.stream):
        assert draw.submit(NORMAL, "f4", 5.0, 1.0, randomParaAddr=block.handle) == OK
        assert not draw.stream.is_done
        draw.count_from(0)
        copy(block[:4], np.float32(0).tobytes())
    assert (draw.read("f4") == expected).all()


@pytest.mark.simulator("internals", "the code of the failed task is the simulator's own")
def test_a_result_without_room_fails_the_task(draw: Draw) -> None:
    words = Buffer(8)
    copy(words, (2 * draw.result.nbytes).to_bytes(8, "little"))
    assert draw.submit(UNIFORM, "f4", 0.0, 1.0, randomNum=at(words)) == OK
    with pytest.raises(AclError) as caught:
        draw.stream.synchronize()
    assert caught.value.code == DRIVER


# --- refused arguments -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "dtype", "parts"),
    [
        (2**32 - 1, "f4", {}),
        (4, "f4", {}),
        (UNIFORM, "i1", {}),
        *((function, dtype, {}) for function in (MASK, NORMAL, TRUNCATED) for dtype in ("i4", "u4", "i8", "u8")),
        (UNIFORM, "f4", {"randomResultAddr": 0}),
        (UNIFORM, "f4", {"randomResultAddr": 0x1234567800}),
        (UNIFORM, "f4", {"randomCounterAddr": 0}),
        (UNIFORM, "f4", {"randomParaAddr": 0x1234567800}),
        (UNIFORM, "f4", {"randomNum": value(b"\0")}),
        (UNIFORM, "f4", {"randomNum": value((2**63).to_bytes(8, "little"))}),
        (UNIFORM, "u8", {"randomNum": value(b"\xff" * 8)}),
        (UNIFORM, "f4", {"randomNum": {"isAddr": 2, "size": 8}}),
        (UNIFORM, "f4", {"randomSeed": {"isAddr": 0, "size": 0}}),
        (UNIFORM, "f4", {"randomSeed": {"isAddr": 0, "size": 9}}),
        (UNIFORM, "f4", {"randomSeed": {"isAddr": 1, "size": 8}}),  # the address is NULL
    ],
)
def test_invalid_tasks(function: int, dtype: str, parts: dict[str, Any], draw: Draw) -> None:
    parameter = value(bytes(4))
    assert draw.submit(function, dtype, parameter, parameter, **parts) == RT_PARAM


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("parameter", [{"isAddr": 0, "size": 5}, {"isAddr": 0, "size": 0}, {"isAddr": 1, "size": 9}])
def test_invalid_parameters(parameter: dict[str, Any], position: int, draw: Draw) -> None:
    given = [value(bytes(4)), value(bytes(4))]
    given[position] = {**parameter, "valueOrAddr": draw.result.handle.to_bytes(8, "little")}
    assert draw.submit(UNIFORM, "f4", *given) == RT_PARAM


def test_null_and_reserve(lib: Any, ffi: Any, draw: Draw) -> None:
    assert lib.aclrtRandomNumAsync(ffi.NULL, raw(ffi, draw.stream), ffi.NULL) == INVALID_PARAM
    assert draw.submit(UNIFORM, "f4", 0.0, 1.0, reserve=ffi.cast("void *", 1)) == INVALID_PARAM


@pytest.mark.simulator("products")
def test_products(calls: Callable[..., list[Any]]) -> None:
    row = ["aclrtRandomNumAsync", {"dataType": 2}, None, None]
    for product in PRODUCTS:
        expected = RT_PARAM if product in ("910B", "910C") else UNSUPPORTED
        assert calls([["aclrtSetDevice", 0], row], ASCEND_RT_SIM_PRODUCT=product)[1][0] == expected, product
