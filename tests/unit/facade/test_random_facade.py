# SPDX-License-Identifier: Apache-2.0
"""``ascend_rt.random``: what a generator writes, and where in the sequence it goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ascend_rt import Buffer, Stream, copy, supports
from ascend_rt.random import Generator
from ascend_rt.testing import Latch

COUNT = 4096

pytestmark = pytest.mark.skipif(not supports("aclrtRandomNumAsync"), reason="the library makes no random numbers")


def drawn(out: Buffer, stream: Stream, dtype: str) -> Any:
    stream.synchronize()
    host = np.zeros(out.nbytes, "u1")
    copy(host, out)
    return host.view(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16", np.int32, np.uint32, np.dtype("int64"), "uint64"])
def test_uniform_numbers(dtype: Any, stream: Stream) -> None:
    name = np.dtype(dtype).name
    out = Buffer(COUNT * np.dtype(dtype).itemsize)
    Generator(1, stream).uniform(out, 10, 20, dtype)
    found = drawn(out, stream, name)
    assert 10 <= found.min() < 11
    assert 18 < found.max() <= 20
    assert 14 < found.mean() < 16


def test_bfloat16(stream: Stream) -> None:
    out = Buffer(COUNT * 2)
    Generator(1, stream).normal(out, 3.0, 0.5, "bfloat16")
    found = (drawn(out, stream, "u2").astype("u4") << 16).view("f4")
    assert abs(found.mean() - 3) < 0.05
    assert abs(found.std() - 0.5) < 0.05


def test_normal_numbers_and_truncated_ones(stream: Stream) -> None:
    out, generator = Buffer(COUNT * 4), Generator(1, stream)
    generator.normal(out, -1.0, 2.0)
    assert abs(drawn(out, stream, "f4")).max() > 5.5
    generator.truncated_normal(out, -1.0, 2.0)
    found = drawn(out, stream, "f4")
    assert -5 <= found.min() < -4
    assert 2 < found.max() <= 3


def test_a_dropout_mask(stream: Stream) -> None:
    out = Buffer(COUNT // 8)
    Generator(1, stream).dropout_mask(out, 0.25)
    assert abs(np.unpackbits(drawn(out, stream, "u1")).mean() - 0.75) < 0.05


def test_each_call_goes_on_in_the_sequence(stream: Stream) -> None:
    whole, first, second = Buffer(COUNT * 4), Buffer(COUNT * 2), Buffer(COUNT * 2)
    Generator(7, stream, block=2**128 - 3).uniform(whole, 0, 1)
    generator = Generator(7, stream, block=2**128 - 3)
    with Latch(stream):  # both calls are submitted before one runs
        generator.uniform(first, 0, 1)
        generator.uniform(second, 0, 1)
    halves = np.concatenate([drawn(first, stream, "f4"), drawn(second, stream, "f4")])
    assert (halves == drawn(whole, stream, "f4")).all()
    assert generator.block == COUNT // 4 - 3


def test_memory_is_kept_until_the_numbers_are_there(stream: Stream, device: Any) -> None:
    with Latch(stream):
        Generator(7, stream).uniform(Buffer(1 << 20), 0, 1)
        free = device.memory_info.free
    stream.synchronize()
    assert device.memory_info.free > free


@pytest.mark.parametrize("dtype", ["float64", "int8", bool, "complex64"])
def test_types_without_numbers(dtype: Any, stream: Stream) -> None:
    with pytest.raises(ValueError, match="is not one of float32"):
        Generator(1, stream).uniform(Buffer(64), 0, 1, dtype)


def test_other_refusals(stream: Stream) -> None:
    with pytest.raises(ValueError, match="size 6 is not a multiple of the item size 4 of float32"):
        Generator(1, stream).uniform(Buffer(6), 0, 1)
    for seed in (-1, 2**64):
        with pytest.raises(ValueError, match="the seed must be"):
            Generator(seed, stream)


@pytest.mark.simulator("products")
def test_a_product_without_random_numbers(child: Any) -> None:
    script = """
        from ascend_rt import Buffer, Device, Stream
        from ascend_rt.errors import NotSupported
        from ascend_rt.random import Generator
        Device(0).set_current()
        try:
            Generator(1, Stream()).uniform(Buffer(64), 0, 1)
        except NotSupported as error:
            reported(error.code)
    """
    assert child(script, ASCEND_RT_SIM_PRODUCT="310P") == 207000
