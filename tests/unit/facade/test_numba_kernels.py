# SPDX-License-Identifier: Apache-2.0
"""Kernels in Python that numba has compiled: their blocks run at the same time."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.host_kernels import words
from support.kernels import VECTOR, device_object

from ascend_rt import Binary, Buffer, Device, Stream, copy, fill, sim
from ascend_rt.errors import AclError

numba = pytest.importorskip("numba")

pytestmark = pytest.mark.simulator("kernels")

COUNT = 1000
# Called in a loop that waits for other threads: numba cannot know what it does to memory, and reads that anew.
give_way = ctypes.CDLL(None).sched_yield
give_way.argtypes, give_way.restype = [], ctypes.c_int


@pytest.fixture
def binary(device: Device) -> Iterator[Binary]:
    with Binary(device_object({"add_custom": VECTOR, "meet": VECTOR, "fails": VECTOR})) as binary:
        yield binary


@numba.njit(nogil=True)
def add(block: sim.Block, x: Any, y: Any, total: Any, count: Any) -> None:
    for i in range(block.index, count, block.count):
        total[i] = x[i] + y[i]
    block.workspace[block.index] = block.grid[0] * block.threads[0]


def test_a_compiled_function_does_the_work(binary: Binary, stream: Stream) -> None:
    types = {"x": "float32[n]", "y": "float32[n]", "total": "float32[n]", "n": "uint32"}
    numbers = np.arange(COUNT, dtype=np.float32)
    with sim.kernel("add_custom", types, workspace=8)(add), Buffer(4 * COUNT) as x, Buffer(4 * COUNT) as total:
        copy(x, numbers)
        binary.kernel("add_custom", list(types.values())).launch(stream, 8, x, x, total, COUNT)
        stream.synchronize()
        assert (words(total, np.float32) == 2 * numbers).all()


# Each block is done when all have begun, or gives up: one after the other, none but the last would meet the others.
@numba.njit(nogil=True)
def meet(block: sim.Block, begun: Any, met: Any) -> None:
    begun[block.index] = 1
    for _ in range(5_000_000):
        give_way()
        if begun.sum() == block.count:
            met[block.index] = 1
            return


def test_blocks_run_at_the_same_time_without_the_gil(binary: Binary, stream: Stream) -> None:
    blocks = min(sim.info().workers, 4)
    if blocks < 2:
        pytest.skip("one worker runs one block after the other")
    types = [f"uint32[{blocks}]"] * 2
    with sim.kernel("meet", types)(meet), Buffer(4 * blocks) as begun, Buffer(4 * blocks) as met:
        fill(begun, 0)
        fill(met, 0)
        binary.kernel("meet", types).launch(stream, blocks, begun, met)
        stream.synchronize()
        assert list(words(met)) == [1] * blocks


@numba.njit(nogil=True)
def fail(block: sim.Block, memory: Any) -> None:
    raise ValueError("the tile has an odd width")


def test_an_exception_of_a_compiled_function_fails_the_kernel(
    binary: Binary, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.unraisablehook", lambda _: None)
    with sim.kernel("fails")(fail):
        binary["fails"].launch(stream, 1)
        with pytest.raises(AclError, match="the tile has an odd width"):
            stream.synchronize()
