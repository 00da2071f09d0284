# SPDX-License-Identifier: Apache-2.0
"""``fill``: bytes and 32-bit words."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.memory import content, device_memory, form_of, wait_for

from ascend_rt import (
    Buffer,
    Device,
    PinnedBuffer,
    Stream,
    copy_async,
    fill,
    fill_async,
)
from ascend_rt.errors import InvalidArgument
from ascend_rt.testing import Latch


@pytest.mark.parametrize("value", [0, 1, 255, np.uint8(7), True])
def test_bytes_are_filled(value: Any, stream_or_none: Stream | None, device: Device) -> None:
    with Buffer(1 << 16) as memory:
        fill(memory, 9)
        form_of(fill, stream_or_none)(memory[3:-5], value)
        wait_for(stream_or_none)
        found = content(memory)
        assert set(found[3:-5]) == {int(value)}
        assert [*found[:3], *found[-5:]] == [9] * 8


@pytest.mark.parametrize("value", [0, 1, 0xDEADBEEF, 2**32 - 1, np.uint32(5)])
def test_words_are_filled(value: Any, stream_or_none: Stream | None, device: Device) -> None:
    with Buffer(1 << 16) as memory:
        fill(memory, 9)
        form_of(fill, stream_or_none)(memory[4:-8], value, itemsize=4)
        wait_for(stream_or_none)
        found = content(memory).view(np.uint32)
        assert set(found[1:-2]) == {int(value)}
        assert [*found[:1], *found[-2:]] == [0x09090909] * 3


def test_a_fill_waits_for_its_turn_and_keeps_the_buffer(stream: Stream) -> None:
    with PinnedBuffer(64) as received:
        memory = device_memory(bytes(64))
        reference = weakref.ref(memory)
        with Latch(stream):
            fill_async(memory, 1, stream)
            fill_async(memory[32:], 0x02020202, stream, itemsize=4)
            assert not content(memory).any()
            copy_async(received, memory, stream)
            del memory
            gc.collect()
            assert reference() is not None
        stream.synchronize()
        assert list(received) == [1] * 32 + [2] * 32
    assert reference() is None


REFUSED_FILLS: dict[str, tuple[Callable[[Buffer], Any], dict[str, Any], type[Exception], str]] = {
    "negative": (lambda it: it, {"value": -1}, ValueError, "0 to 255, got -1"),
    "more than a byte": (lambda it: it, {"value": 256}, ValueError, "0 to 255, got 256"),
    "negative word": (lambda it: it, {"value": -1, "itemsize": 4}, ValueError, "0 to 4294967295, got -1"),
    "more than a word": (lambda it: it, {"value": 2**32, "itemsize": 4}, ValueError, "got 4294967296"),
    "fraction": (lambda it: it, {"value": 1.5}, TypeError, "integer"),
    "text": (lambda it: it, {"value": "a"}, TypeError, "'str'"),
    "two bytes": (lambda it: it, {"value": 1, "itemsize": 2}, ValueError, "must be 1 or 4, got 2"),
    "no bytes": (lambda it: it, {"value": 1, "itemsize": 0}, ValueError, "must be 1 or 4, got 0"),
    "a rest": (
        lambda it: it[:7],
        {"value": 1, "itemsize": 4},
        ValueError,
        "not a multiple of the item size 4",
    ),
    "not aligned": (lambda it: it[2:6], {"value": 1, "itemsize": 4}, InvalidArgument, "not aligned to 4 bytes"),
    "array": (lambda it: np.zeros(8), {"value": 1}, TypeError, "expected a Buffer.*got ndarray"),
    "pinned": (lambda it: PinnedBuffer(8), {"value": 1}, TypeError, "expected a Buffer.*got PinnedBuffer"),
}


@pytest.mark.parametrize(("make", "arguments", "error", "text"), REFUSED_FILLS.values(), ids=REFUSED_FILLS.keys())
def test_refused_fills(
    make: Callable[[Buffer], Any],
    arguments: Any,
    error: type[Exception],
    text: str,
    stream_or_none: Stream | None,
    device: Device,
) -> None:
    with device_memory(bytes(64)) as memory:
        with pytest.raises(error, match=text):
            form_of(fill, stream_or_none)(make(memory), **arguments)
        wait_for(stream_or_none)
        assert not content(memory).any()
