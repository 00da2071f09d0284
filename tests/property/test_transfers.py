# SPDX-License-Identifier: Apache-2.0
"""Random copies of rows and random batches, against the same on arrays of the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import cases

from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy

SIZE = 4096
H2D, D2H, D2D = 1, 2, 3
HOST, DEVICE = 0, 1


class Machine:
    """One block of memory of each kind, all with the same bytes as its array in the model."""

    def __init__(self) -> None:
        Device(0).set_current()
        self.stream = Stream()
        self.blocks: dict[str, Any] = {
            "device": Buffer(SIZE),
            "other": Buffer(SIZE),
            "pinned": PinnedBuffer(SIZE),
            "pageable": np.empty(SIZE, np.uint8),
            "received": PinnedBuffer(SIZE),
            "returned": np.empty(SIZE, np.uint8),
        }
        self.model: dict[str, np.ndarray] = {}

    def reset(self) -> None:
        for seed, (name, block) in enumerate(self.blocks.items()):
            self.model[name] = np.random.default_rng(seed).integers(0, 256, SIZE, dtype=np.uint8)
            if isinstance(block, Buffer):
                copy(block, self.model[name])
            else:
                block[:] = self.model[name]

    def address(self, name: str, offset: int = 0) -> int:
        block = self.blocks[name]
        return int((block.ctypes.data if type(block) is np.ndarray else block.handle) + offset)

    def check(self) -> None:
        self.stream.synchronize()
        for name, block in self.blocks.items():
            found = np.empty(SIZE, np.uint8)
            if isinstance(block, Buffer):
                copy(found, block)
            else:
                found[:] = block
            assert np.array_equal(found, self.model[name]), name


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    machine = Machine()
    yield machine
    machine.stream.close()
    for block in machine.blocks.values():
        if type(block) is not np.ndarray:
            block.close()


# --- rows ------------------------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """A copy of rows between two blocks."""

    destination: str
    source: str
    width: int
    height: int
    destination_pitch: int
    source_pitch: int
    destination_offset: int
    source_offset: int
    is_async: bool


@st.composite
def rows(draw: st.DrawFn) -> Rows:
    destination, source = draw(
        st.sampled_from(
            [
                ("device", "pinned"),
                ("device", "pageable"),
                ("pinned", "other"),
                ("pageable", "other"),
                ("device", "other"),
            ]
        )
    )
    width, height = draw(st.integers(0, 64)), draw(st.integers(0, 16))
    pitches = [width + draw(st.integers(0, 40)) for _ in range(2)]
    offsets = [draw(st.integers(0, SIZE - max(height * pitch, 1))) for pitch in pitches]
    is_async = draw(st.booleans()) or (destination, source) == ("device", "other")
    return Rows(destination, source, width, height, *pitches, *offsets, is_async)


def move_rows(lib: Any, ffi: Any, machine: Machine, row: Rows) -> None:
    arguments = [
        ffi.cast("void *", machine.address(row.destination, row.destination_offset)),
        row.destination_pitch,
        ffi.cast("void *", machine.address(row.source, row.source_offset)),
        row.source_pitch,
        row.width,
        row.height,
        lib.ACL_MEMCPY_DEFAULT,
    ]
    if row.is_async:
        assert lib.aclrtMemcpy2dAsync(*arguments, ffi.cast("aclrtStream", machine.stream.handle)) == 0
    else:
        machine.stream.synchronize()  # a synchronous copy waits for no stream
        assert lib.aclrtMemcpy2d(*arguments) == 0
    for i in range(row.height):
        to = row.destination_offset + i * row.destination_pitch
        source = row.source_offset + i * row.source_pitch
        machine.model[row.destination][to : to + row.width] = machine.model[row.source][source : source + row.width]


@settings(max_examples=cases(150), deadline=None)
@given(st.lists(rows(), max_size=6))
def test_rows_arrive_where_they_belong(lib: Any, ffi: Any, machine: Machine, program: list[Rows]) -> None:
    machine.reset()
    for row in program:
        move_rows(lib, ffi, machine, row)
    machine.check()


# --- batches ---------------------------------------------------------------------------------------------------------


# The order inside a batch is not defined, so nothing reads what a batch writes, and every item writes to a separate
# place.
ENDS = [("device", "pinned"), ("device", "pageable"), ("received", "other"), ("returned", "other")]
LARGEST = 64


class Item(NamedTuple):
    """One item of a batch. ``broken`` says that its attribute claims another device."""

    ends: tuple[str, str]
    source_offset: int
    size: int
    broken: bool

    def location(self, side: int) -> dict[str, int]:
        is_device = self.ends[side] in ("device", "other")
        return {"type": DEVICE if is_device else HOST, "id": 1 if is_device and self.broken else 0}

    def fails(self, is_async: bool) -> bool:
        return self.broken or (is_async and self.size == 0)


items = st.builds(
    Item,
    st.sampled_from(ENDS),
    st.integers(0, SIZE - LARGEST),
    st.integers(0, LARGEST) | st.integers(1, LARGEST),
    st.integers(0, 15).map(lambda number: number == 0),
)


@settings(max_examples=cases(200), deadline=None)
@given(st.lists(items, min_size=1, max_size=8), st.booleans())
def test_batches_arrive_up_to_the_failing_item(
    lib: Any, ffi: Any, machine: Machine, batch: list[Item], is_async: bool
) -> None:
    machine.reset()
    places = [(i * LARGEST, item.source_offset) for i, item in enumerate(batch)]
    addresses = [
        [
            ffi.cast("void *", machine.address(item.ends[side], place[side]))
            for item, place in zip(batch, places, strict=True)
        ]
        for side in (0, 1)
    ]
    attributes = [{"dstLoc": item.location(0), "srcLoc": item.location(1)} for item in batch]
    sizes = ffi.new("size_t[]", [item.size for item in batch])
    fail_index = ffi.new("size_t *")
    arguments = [
        ffi.new("void *[]", addresses[0]),
        sizes,
        ffi.new("void *[]", addresses[1]),
        sizes,
        len(batch),
        ffi.new("aclrtMemcpyBatchAttr[]", attributes),
        ffi.new("size_t[]", list(range(len(batch)))),
        len(batch),
        fail_index,
    ]
    if is_async:
        code = lib.aclrtMemcpyBatchAsync(*arguments, ffi.cast("aclrtStream", machine.stream.handle))
    else:
        code = lib.aclrtMemcpyBatch(*arguments)
    is_empty = all(item.size == 0 for item in batch)
    failed = None if is_empty else next((i for i, item in enumerate(batch) if item.fails(is_async)), None)
    assert code == (0 if failed is None else 107000)
    assert fail_index[0] == (2**64 - 1 if failed is None else failed)
    done = len(batch) if failed is None else failed if is_async else 0
    for item, (to, start) in zip(batch[:done], places, strict=False):
        destination, source = item.ends
        machine.model[destination][to : to + item.size] = machine.model[source][start : start + item.size]
    machine.check()
