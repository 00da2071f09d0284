# SPDX-License-Identifier: Apache-2.0
"""``copy_batch``: copies that are submitted together."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.memory import content, device_memory, form_of, pattern, pinned_memory, wait_for

from ascend_rt import (
    Buffer,
    Device,
    PinnedBuffer,
    Stream,
    copy_batch,
    copy_batch_async,
    fill,
)
from ascend_rt.errors import ClosedError, InvalidArgument
from ascend_rt.testing import Latch


def test_a_batch_mixes_places(stream_or_none: Stream | None, device: Device) -> None:
    sent = [pattern(100), pinned_memory(pattern(200)), bytes(pattern(300)), pattern(75).reshape(3, 25)]
    received = [np.zeros(10, np.uint8), PinnedBuffer(20), bytearray(30)]
    source = device_memory(pattern(60))
    with Buffer(1000) as memory:
        pairs = [(memory[i * 300 : i * 300 + 300], it) for i, it in enumerate(sent[:3])]
        pairs.insert(1, (received[0], source[:10]))
        pairs.insert(3, (received[1], source[10:30]))
        pairs += [(received[2], source[30:]), (memory[900:], sent[3])]
        form_of(copy_batch, stream_or_none)(iter(pairs))
        wait_for(stream_or_none)
        found = content(memory)
    for i, it in enumerate(sent):
        assert found[i * 300 :][: memoryview(it).nbytes].tobytes() == bytes(it)
    assert b"".join(map(bytes, received)) == bytes(pattern(60))


def test_a_batch_on_two_devices(device: Device) -> None:
    if Device.count() < 2:
        pytest.skip("needs two devices")
    with Device(1):
        there = Buffer(64)
    with Buffer(64) as here:
        copy_batch([(here, b"a" * 64), (there, b"b" * 64), (here[8:], b"c" * 8)])
        assert bytes(content(here)) == b"a" * 8 + b"c" * 8 + b"a" * 48
        assert bytes(content(there)) == b"b" * 64
    there.close()


def test_a_run_of_equal_locations_has_one_attribute(device: Device, override: Any) -> None:
    attributes: list[tuple[list[int], int]] = []

    def record(*arguments: Any) -> int:
        indexes, count = arguments[6], arguments[7]
        attributes.append(([indexes[i] for i in range(count)], arguments[4]))
        return 0

    override("aclrtMemcpyBatch", record)
    with Buffer(64) as memory, PinnedBuffer(8) as pinned:
        to, source = (memory, bytes(8)), (bytearray(8), memory[:8])
        copy_batch([to, to, (memory, pinned), source, source, to])
        copy_batch([source])
    assert attributes == [([0, 3, 5], 6), ([0], 1)]


def test_an_empty_batch_is_done(stream_or_none: Stream | None, device: Device) -> None:
    form_of(copy_batch, stream_or_none)([])
    form_of(copy_batch, stream_or_none)(iter(()))
    assert stream_or_none is None or stream_or_none.is_done


BROKEN: dict[str, tuple[Callable[[Buffer], tuple[Any, Any]], str]] = {
    "inside the device": (lambda memory: (memory[:8], memory[8:16]), r"\(copy 2 of the batch\)"),
    "inside the host": (lambda memory: (bytearray(8), bytes(8)), r"\(copy 2 of the batch\)"),
}


@pytest.mark.parametrize(("make", "text"), BROKEN.values(), ids=BROKEN.keys())
def test_the_error_names_the_refused_copy(
    make: Callable[[Buffer], tuple[Any, Any]], text: str, stream_or_none: Stream | None, device: Device
) -> None:
    with Buffer(64) as memory:
        fill(memory, 0)
        pairs = [(memory[:8], b"a" * 8), (memory[8:], b"b" * 8), make(memory), (memory[16:], b"c" * 8)]
        with pytest.raises(InvalidArgument, match=text) as refused:
            form_of(copy_batch, stream_or_none)(pairs)
        assert refused.value.code == 107000
        wait_for(stream_or_none)
        done = b"a" * 8 + b"b" * 8 if stream_or_none is not None else bytes(16)
        assert bytes(content(memory)) == done + bytes(48)


def test_an_empty_copy_is_refused_in_a_stream_and_copies_nothing_at_once(
    stream_or_none: Stream | None, device: Device
) -> None:
    with Buffer(16) as memory:
        fill(memory, 0)
        pairs = [(memory[:8], b"a" * 8), (memory[8:], b"")]
        refusal = pytest.raises(InvalidArgument, match=r"\(copy 1 of the batch\)")
        with refusal if stream_or_none is not None else contextlib.nullcontext():
            form_of(copy_batch, stream_or_none)(pairs)
        wait_for(stream_or_none)
        assert bytes(content(memory)) == b"a" * 8 + bytes(8)


def test_a_batch_that_does_not_fit_copies_nothing(stream_or_none: Stream | None, device: Device) -> None:
    with Buffer(16) as memory:
        fill(memory, 0)
        with pytest.raises(InvalidArgument, match="9 bytes do not fit into a destination of 8") as refused:
            form_of(copy_batch, stream_or_none)([(memory[:8], b"a" * 8), (memory[8:], b"b" * 9)])
        assert "of the batch" not in str(refused.value)
        wait_for(stream_or_none)
        assert not content(memory).any()


def test_what_a_refused_batch_enqueued_is_kept_alive(stream: Stream) -> None:
    with PinnedBuffer(16) as pinned:
        memory = device_memory(b"a" * 16)
        reference = weakref.ref(memory)
        with Latch(stream):
            with pytest.raises(InvalidArgument):
                copy_batch_async([(pinned, memory), (memory, memory)], stream)
            del memory
            gc.collect()
            assert reference() is not None
        stream.synchronize()
        assert bytes(pinned) == b"a" * 16
    gc.collect()
    assert reference() is None


def test_transfers_that_are_not_pairs(device: Device) -> None:
    with Buffer(8) as memory:
        with pytest.raises(ValueError, match="unpack"):
            copy_batch([(memory,)])  # type: ignore[list-item]
        with pytest.raises(TypeError):
            copy_batch([memory])  # type: ignore[list-item]
        closed = Buffer(8)
        closed.close()
        with pytest.raises(ClosedError):
            copy_batch([(memory, bytes(8)), (closed, bytes(8))])


def test_the_largest_batch(stream: Stream) -> None:
    values = np.arange(4097, dtype=np.uint8)
    with Buffer(4097) as memory:
        pairs = [(memory[i : i + 1], values[i : i + 1]) for i in range(4097)]
        fill(memory, 255)
        copy_batch(pairs[:4096])
        assert np.array_equal(content(memory)[:4096], values[:4096])
        with pytest.raises(InvalidArgument, match="more than 4096"):
            copy_batch(pairs)
        fill(memory, 255)
        copy_batch_async(pairs, stream)
        stream.synchronize()
        assert np.array_equal(content(memory), values)
