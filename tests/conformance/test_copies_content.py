# SPDX-License-Identifier: Apache-2.0
"""Copies and fills through the C functions: which bytes arrive, and when."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from support.codes import DMA, INVALID_PARAM, OK, RT_PARAM
from support.copies import BUFFERED, D2D, DEVICE, H2D, NONE, NUMA, SIZE, UNTOUCHED
from support.handles import at, raw
from support.memory import content

from ascend_rt import Buffer, PinnedBuffer, fill, sim
from ascend_rt.testing import Latch


def test_rows_are_copied_and_gaps_are_kept(lib, ffi, stream, memory) -> None:
    sent = np.arange(40, dtype=np.uint8).reshape(4, 10)
    source = ffi.from_buffer(sent)
    assert lib.aclrtMemcpy2d(at(ffi, memory), 16, source, 10, 7, 4, H2D) == OK
    expected = np.zeros((4, 16), np.uint8)
    expected[:, :7] = sent[:, :7]
    assert np.array_equal(content(memory)[:64].reshape(4, 16), expected)
    with Buffer(64) as other:
        fill(other, 9)
        assert lib.aclrtMemcpy2dAsync(at(ffi, other), 16, at(ffi, memory), 16, 5, 3, D2D, raw(ffi, stream)) == OK
        stream.synchronize()
        found = content(other).reshape(4, 16)
    assert np.array_equal(found[:3, :5], expected[:3, :5])
    assert np.all(found[:, 5:] == 9)
    assert np.all(found[3] == 9)


def test_the_buffered_copy_reads_the_source_at_once(lib, ffi, stream, memory) -> None:
    sent = np.full(64, 5, np.uint8)
    with Latch(stream):
        assert lib.aclrtMemcpyAsync(at(ffi, memory), 64, ffi.from_buffer(sent), 64, BUFFERED, raw(ffi, stream)) == OK
        sent[:] = 6
    stream.synchronize()
    assert list(content(memory)[:65]) == [5] * 64 + [0]


def test_a_buffered_copy_cannot_be_part_of_a_model(lib, ffi, device, memory) -> None:
    model, bound = ffi.new("aclmdlRI *"), ffi.new("aclrtStream *")
    assert lib.aclmdlRIBuildBegin(model, 0) == OK
    assert lib.aclrtCreateStreamWithConfig(bound, 0, lib.ACL_STREAM_PERSISTENT) == OK
    assert lib.aclmdlRIBindStream(model[0], bound[0], 0) == OK
    host = ffi.new("char[64]")
    rows = [  # arguments, and the return code
        ((at(ffi, memory), 64, host, 64, BUFFERED, bound[0]), RT_PARAM),
        ((host, 64, host, 64, BUFFERED, bound[0]), RT_PARAM),
        ((ffi.NULL, 64, host, 64, BUFFERED, bound[0]), INVALID_PARAM),
        ((at(ffi, memory), 64, host, 64, 6, bound[0]), INVALID_PARAM),
        ((at(ffi, memory), 64, host, 0, BUFFERED, bound[0]), OK),
        ((at(ffi, memory), 64, at(ffi, memory, 64), 64, D2D, bound[0]), OK),
    ]
    assert [lib.aclrtMemcpyAsync(*arguments) for arguments, _ in rows] == [code for _, code in rows]
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(lib.aclrtMemcpyAsync(*rows[0][0])))
    thread.start()
    thread.join()
    assert codes == [RT_PARAM]  # checked before the missing context
    assert lib.aclmdlRIUnbindStream(model[0], bound[0]) == OK
    assert lib.aclmdlRIDestroy(model[0]) == OK
    assert lib.aclrtDestroyStream(bound[0]) == OK


@pytest.mark.parametrize("function", ["aclrtMemsetAsync", "aclrtMemsetD32Async"])
def test_host_memory_is_filled_at_once(function: str, lib, ffi, stream) -> None:
    with PinnedBuffer(64) as pinned, Latch(stream):
        assert getattr(lib, function)(at(ffi, pinned), 64, 0x07070707, 16, raw(ffi, stream)) == OK
        assert np.all(pinned[:16] == 7)


def test_device_memory_is_filled_in_stream_order(lib, ffi, stream, memory) -> None:
    with Latch(stream):
        assert lib.aclrtMemsetD32Async(at(ffi, memory), SIZE, 0x04030201, 2, raw(ffi, stream)) == OK
        assert lib.aclrtMemsetAsync(at(ffi, memory, 6), 100, 0x1FF, 1, raw(ffi, stream)) == OK
        assert not content(memory).any()
    stream.synchronize()
    assert list(content(memory)[:9]) == [1, 2, 3, 4, 1, 2, 0xFF, 4, 0]


@pytest.mark.simulator("faults")
def test_a_pageable_copy_reports_an_earlier_failure(lib, ffi, stream, memory) -> None:
    host = ffi.new("char[64]")
    with sim.faults():
        sim.fail_task(DMA, stream)
        stream.record()
    assert lib.aclrtMemcpyAsync(at(ffi, memory), 64, host, 64, H2D, raw(ffi, stream)) == DMA
    stream.synchronize()  # a failure is reported once


# --- batches ---------------------------------------------------------------------------------------------------------


class Items:
    """The arguments of a batch: from host arrays to offsets in device memory, or back."""

    def __init__(self, ffi: Any, rows: list[tuple[Any, Any, int]]) -> None:
        self._ffi = ffi
        self.destinations = ffi.new("void *[]", [self._address(to) for to, _, _ in rows])
        self.sources = ffi.new("void *[]", [self._address(source) for _, source, _ in rows])
        self.sizes = ffi.new("size_t[]", [size for _, _, size in rows])
        self.attributes = ffi.new(
            "aclrtMemcpyBatchAttr[]",
            [{"dstLoc": self._location(to), "srcLoc": self._location(source)} for to, source, _ in rows],
        )
        self.first = ffi.new("size_t[]", list(range(len(rows))))
        self.fail_index = ffi.new("size_t *", UNTOUCHED)

    def _address(self, place: Any) -> Any:
        return self._ffi.cast("void *", place.handle if hasattr(place, "handle") else place.ctypes.data)

    def _location(self, place: Any) -> dict[str, int]:
        return {"type": DEVICE if isinstance(place, Buffer) else NUMA, "id": 0 if isinstance(place, Buffer) else 3}

    def arguments(self) -> tuple[Any, ...]:
        number = len(self.sizes)
        arrays = self.destinations, self.sizes, self.sources, self.sizes
        return (*arrays, number, self.attributes, self.first, number, self.fail_index)


def test_a_batch_copies_every_item(lib, ffi, device, memory) -> None:
    received = np.zeros(32, np.uint8)
    rows = [(memory[i * 32 : i * 32 + 32], np.full(32, i + 1, np.uint8), 32) for i in range(4)]
    batch = Items(ffi, rows)
    assert lib.aclrtMemcpyBatch(*batch.arguments()) == OK
    assert batch.fail_index[0] == NONE
    assert list(content(memory)[:160:32]) == [1, 2, 3, 4, 0]
    back = Items(ffi, [(received, memory[32:64], 32)])
    assert lib.aclrtMemcpyBatchV2(*back.arguments()[:-1]) == OK
    assert np.all(received == 2)


def test_an_empty_item_of_a_synchronous_batch_copies_nothing(lib, ffi, device, memory) -> None:
    sent = np.ones(16, np.uint8)
    batch = Items(ffi, [(memory[:16], sent, 16), (memory[16:32], sent, 0), (memory[32:48], sent, 16)])
    assert lib.aclrtMemcpyBatch(*batch.arguments()) == OK
    assert batch.fail_index[0] == NONE
    assert list(content(memory)[:64:16]) == [1, 0, 1, 0]


@pytest.mark.parametrize("wrong", ["empty", "not live", "elsewhere"])
def test_items_before_a_failing_one(wrong: str, lib, ffi, stream, memory) -> None:
    sent = np.ones(16, np.uint8)
    rows = [(memory[:16], sent, 16), (memory[16:32], sent, 16), (memory[32:48], sent, 16), (memory[48:64], sent, 16)]
    batch = Items(ffi, rows)
    if wrong == "empty":
        batch.sizes[2] = 0
    elif wrong == "not live":
        batch.destinations[2] = at(ffi, memory, SIZE + 4096)
    else:
        batch.attributes[2].dstLoc.id = 1
    if wrong != "empty":
        assert lib.aclrtMemcpyBatch(*batch.arguments()) == RT_PARAM
        assert batch.fail_index[0] == 2
        assert not content(memory).any()  # the synchronous form checks all items before it copies one
        batch.fail_index[0] = UNTOUCHED
    assert lib.aclrtMemcpyBatchAsync(*batch.arguments(), raw(ffi, stream)) == RT_PARAM
    assert batch.fail_index[0] == 2
    stream.synchronize()
    assert list(content(memory)[:64:16]) == [1, 1, 0, 0]
    assert lib.aclrtMemcpyBatchAsyncV2(*batch.arguments()[:-1], raw(ffi, stream)) == RT_PARAM


def test_pinned_items_are_queued(lib, ffi, stream, memory) -> None:
    with PinnedBuffer(32) as pinned:
        pinned[:] = 3
        batch = Items(ffi, [(memory[:16], pinned[:16], 16), (memory[16:32], pinned[16:], 16)])
        with Latch(stream):
            assert lib.aclrtMemcpyBatchAsync(*batch.arguments(), raw(ffi, stream)) == OK
            assert batch.fail_index[0] == NONE
            assert not content(memory).any()
        stream.synchronize()
        assert list(content(memory)[:33]) == [3] * 32 + [0]


def test_pageable_items_wait_for_the_stream(lib, ffi, stream, memory) -> None:
    received = np.zeros(16, np.uint8)
    with PinnedBuffer(16) as pinned:
        pinned[:] = 4
        batch = Items(ffi, [(memory[:16], pinned, 16), (received, memory[:16], 16)])
        assert lib.aclrtMemcpyBatchAsync(*batch.arguments(), raw(ffi, stream)) == OK
        assert np.all(received == 4)  # without a synchronization: the call has waited


def test_an_attribute_applies_until_the_next_one(lib, ffi, device, memory) -> None:
    sent, received = np.arange(8, dtype=np.uint8), np.zeros(8, np.uint8)
    batch = Items(ffi, [(memory[:4], sent[:4], 4), (memory[4:8], sent[4:], 4), (received, memory[:8], 8)])
    batch.attributes[1] = batch.attributes[2]
    batch.first[1] = 2
    arguments = list(batch.arguments())
    arguments[7] = 2
    assert lib.aclrtMemcpyBatch(*arguments) == OK
    assert np.array_equal(content(memory)[:8], sent)
