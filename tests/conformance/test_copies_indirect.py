# SPDX-License-Identifier: Apache-2.0
"""Copies whose descriptors and base addresses are read when the task runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.codes import DMA, GARBAGE, OK, RT_PARAM
from support.copies import GIB, INNER, SIZE
from support.handles import at, raw
from support.memory import content

from ascend_rt import Buffer, PinnedBuffer, Stream, copy, fill, sim


@pytest.mark.simulator("held tasks")
def test_a_descriptor_is_read_when_the_task_runs(lib, ffi, stream, memory) -> None:
    with Buffer(64) as descriptor, Buffer(64) as first, Buffer(64) as second:

        def describe(source: Buffer) -> int:
            return int(
                lib.aclrtSetMemcpyDesc(at(ffi, descriptor), INNER, at(ffi, source), at(ffi, memory, 8), 16, ffi.NULL)
            )

        fill(first, 1)
        fill(second, 2)
        assert describe(first) == OK
        with sim.held():
            assert lib.aclrtMemcpyAsyncWithDesc(at(ffi, descriptor), INNER, raw(ffi, stream)) == OK
            assert describe(second) == OK
        stream.synchronize()
        assert list(content(memory)[7:25]) == [0] + [2] * 16 + [0]
        assert describe(first) == OK
        assert lib.aclrtMemcpyAsyncWithDesc(at(ffi, descriptor), INNER, raw(ffi, stream)) == OK
        stream.synchronize()
        assert list(content(memory)[7:25]) == [0] + [1] * 16 + [0]


@pytest.mark.parametrize("wrong", ["zeros", "garbage", "freed source", "too long", "pinned", "descriptor freed"])
@pytest.mark.simulator("held tasks")
def test_an_invalid_descriptor(wrong: str, lib, ffi, stream, memory) -> None:
    descriptor, source, pinned = Buffer(64), Buffer(64), PinnedBuffer(64)
    words = np.array([source.handle, memory.handle, 64], np.uint64)
    copy(descriptor[:24], words)
    assert lib.aclrtMemcpyAsyncWithDesc(at(ffi, descriptor), INNER, raw(ffi, stream)) == OK
    stream.synchronize()
    with sim.held():
        assert lib.aclrtMemcpyAsyncWithDesc(at(ffi, descriptor), INNER, raw(ffi, stream)) == OK
        if wrong == "zeros":
            words[:] = 0
        elif wrong == "garbage":
            words[:2] = GARBAGE
        elif wrong == "too long":
            words[2] = SIZE * 2
        elif wrong == "pinned":
            words[1] = pinned.handle
        copy(descriptor[:24], words)
        {"freed source": source, "descriptor freed": descriptor}.get(wrong, pinned).close()
    assert lib.aclrtSynchronizeStream(raw(ffi, stream)) == DMA
    stream.synchronize()  # the stream can be used again
    for buffer in (descriptor, source, pinned):
        buffer.close()


def test_four_gibibytes_do_not_fit_into_a_descriptor(lib, ffi, stream, memory) -> None:
    with Buffer(4 * GIB) as large:
        desc, where = at(ffi, memory), at(ffi, large)
        assert lib.aclrtSetMemcpyDesc(desc, INNER, where, where, 4 * GIB, ffi.NULL) == OK
        assert not content(memory)[16:20].any()  # the length
        assert lib.aclrtMemcpyAsyncWithDesc(desc, INNER, raw(ffi, stream)) == OK
        assert lib.aclrtSynchronizeStream(raw(ffi, stream)) == DMA


class Offsets:
    """Two words of device memory that hold base addresses."""

    def __init__(self, lib: Any, ffi: Any, stream: Stream) -> None:
        self._lib, self._ffi, self._stream = lib, ffi, stream
        self.words = Buffer(16)

    def point(self, destination: int, source: int) -> None:
        copy(self.words, np.array([destination, source], np.uint64))

    def copy(self, count: int, destination_offset: int = 0, source_offset: int = 0) -> int:
        to = self._ffi.cast("void **", self.words.handle)
        source = self._ffi.cast("void const **", self.words.handle + 8)
        limit = count + destination_offset
        stream = raw(self._ffi, self._stream)
        return int(
            self._lib.aclrtMemcpyAsyncWithOffset(
                to, limit, destination_offset, source, count, source_offset, INNER, stream
            )
        )


@pytest.fixture
def offsets(lib: Any, ffi: Any, stream: Stream) -> Offsets:
    return Offsets(lib, ffi, stream)


@pytest.mark.simulator("held tasks")
def test_base_addresses_are_read_when_the_task_runs(offsets, stream, memory) -> None:
    with Buffer(64) as source:
        copy(source, np.arange(64, dtype=np.uint8))
        offsets.point(0, 0)
        with sim.held():
            assert offsets.copy(4, destination_offset=2, source_offset=10) == OK
            offsets.point(memory.handle, source.handle)
        stream.synchronize()
    assert list(content(memory)[:7]) == [0, 0, 10, 11, 12, 13, 0]


@pytest.mark.parametrize("wrong", ["zeros", "garbage", "wraps around", "behind", "pageable", "words freed"])
@pytest.mark.simulator("held tasks")
def test_invalid_base_addresses(wrong: str, lib, ffi, offsets, stream, memory) -> None:
    host = np.zeros(64, np.uint8)
    pairs = {
        "zeros": (0, 0),
        "garbage": (memory.handle, GARBAGE),
        "wraps around": (memory.handle, 2**64 - 4),
        "behind": (memory.handle + SIZE + 4096, memory.handle),
        "pageable": (host.ctypes.data, memory.handle),
    }
    offsets.point(*pairs.get(wrong, (memory.handle, memory.handle)))
    with sim.held():
        assert offsets.copy(8, source_offset=8) == OK
        if wrong == "words freed":
            offsets.words.close()
    assert lib.aclrtSynchronizeStream(raw(ffi, stream)) == DMA


@pytest.mark.simulator("products")
def test_an_indirect_copy_stays_on_the_stream_s_device(child) -> None:
    script = """
    pointers = ffi.new("void *[3]")
    codes = [lib.aclrtSetDevice(1), lib.aclrtMalloc(pointers + 1, 64, 0), lib.aclrtSetDevice(0)]
    codes += [lib.aclrtMalloc(pointers, 64, 0), lib.aclrtMalloc(pointers + 2, 64, 0)]
    words = ffi.cast("char *", pointers[0])
    codes += [lib.aclrtMemcpy(words, 16, pointers + 1, 16, 1)]  # to device 1, from device 0
    to, source = ffi.cast("void **", words), ffi.cast("void const **", words + 8)
    codes += [lib.aclrtMemcpyAsyncWithOffset(to, 8, 0, source, 8, 0, 6, ffi.NULL), lib.aclrtSynchronizeStream(ffi.NULL)]
    codes += [lib.aclrtSetMemcpyDesc(pointers[0], 6, pointers[1], pointers[2], 8, ffi.NULL)]
    reported(codes)
    """
    assert child(script, ASCEND_RT_SIM_DEVICES="2") == [OK] * 7 + [DMA, RT_PARAM]
