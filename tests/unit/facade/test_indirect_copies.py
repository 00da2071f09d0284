# SPDX-License-Identifier: Apache-2.0
"""Copies whose addresses are read when they run: ``CopyDescriptor`` and ``copy_indirect``."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from support.memory import content, device_memory

from ascend_rt import (
    Buffer,
    CopyDescriptor,
    Device,
    PinnedBuffer,
    Stream,
    copy,
    copy_async,
    copy_indirect,
)
from ascend_rt.errors import ClosedError, InvalidArgument
from ascend_rt.testing import Latch


def test_a_descriptor_copies_each_time_it_is_submitted(stream: Stream) -> None:
    source, target = device_memory(b"abcdefgh"), device_memory(b"........")
    descriptor = CopyDescriptor(target[2:], source[:4])
    assert descriptor.memory.handle % 64 == 0
    assert bytes(content(target)) == b"........"
    descriptor.submit(stream)
    stream.synchronize()
    assert bytes(content(target)) == b"..abcd.."
    copy(source, b"xy")
    descriptor.submit(stream)
    stream.synchronize()
    assert bytes(content(target)) == b"..xycd.."


def test_a_copy_that_has_not_started_uses_the_new_addresses(stream: Stream) -> None:
    source, target = device_memory(b"abcdefgh"), device_memory(b"........")
    descriptor = CopyDescriptor(target[:4], source[:4])
    with Latch(stream):
        descriptor.submit(stream)
        descriptor.set(target[6:], source[4:6])
    stream.synchronize()
    assert bytes(content(target)) == b"......ef"


def test_a_descriptor_and_its_buffers_live_until_it_has_run(stream: Stream) -> None:
    with PinnedBuffer(8) as received:
        source, target = device_memory(b"abcdefgh"), Buffer(8)
        descriptor = CopyDescriptor(target, source)
        references = [weakref.ref(it) for it in (source, target, descriptor.memory)]
        with Latch(stream):
            descriptor.submit(stream)
            copy_async(received, target, stream)
            del source, target, descriptor
            gc.collect()
            assert all(reference() is not None for reference in references)
        stream.synchronize()
        assert bytes(received) == b"abcdefgh"
    gc.collect()
    assert all(reference() is None for reference in references)


def test_refused_descriptors(device: Device) -> None:
    with Buffer(64) as memory, PinnedBuffer(64) as pinned:
        with pytest.raises(ValueError, match="64 bytes do not fit into a destination of 8"):
            CopyDescriptor(memory[:8], memory)
        for operands in ((memory, pinned), (pinned, memory), (memory, b"abc")):
            with pytest.raises(TypeError, match="expected a Buffer"):
                CopyDescriptor(*operands)
        descriptor = CopyDescriptor(memory[:8], memory[8:16])
        with pytest.raises(ValueError, match="do not fit"):
            descriptor.set(memory[:8], memory)
        closed = Buffer(8)
        closed.close()
        with pytest.raises(ClosedError):
            descriptor.set(memory, closed)


def addresses(*buffers: Buffer) -> Buffer:
    return device_memory(np.array([it.handle for it in buffers], np.uint64).tobytes())


def test_an_indirect_copy_reads_its_addresses_when_it_runs(stream: Stream) -> None:
    source, target = device_memory(b"abcdefgh"), device_memory(b"........")
    table = addresses(target, target)
    with Latch(stream):
        copy_indirect(table[:8], table[8:], 3, stream, dst_offset=4, src_offset=2)
        copy(table[8:], addresses(source))
    stream.synchronize()
    assert bytes(content(target)) == b"....cde."


def test_the_words_of_an_indirect_copy_live_until_it_has_run(stream: Stream) -> None:
    source, target = device_memory(b"abcdefgh"), device_memory(b"........")
    table = addresses(target, source)
    reference = weakref.ref(table)
    with Latch(stream):
        copy_indirect(table[:8], table[8:], 8, stream)
        del table
        gc.collect()
        assert reference() is not None
    stream.synchronize()
    assert reference() is None
    assert bytes(content(target)) == b"abcdefgh"


def test_refused_indirect_copies(stream: Stream) -> None:
    with Buffer(64) as memory, PinnedBuffer(8) as pinned:
        with pytest.raises(TypeError, match="expected a Buffer"):
            copy_indirect(memory, pinned, 8, stream)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="must not be negative, got -1"):
            copy_indirect(memory, memory, -1, stream)
        with pytest.raises(OverflowError, match="dstDataOffset"):
            copy_indirect(memory, memory, 8, stream, dst_offset=-1)
        with pytest.raises(InvalidArgument, match="4 GiB"):
            copy_indirect(memory, memory, (4 << 30) + 1, stream)
