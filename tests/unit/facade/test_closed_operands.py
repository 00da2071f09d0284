# SPDX-License-Identifier: Apache-2.0
"""Closed objects as operands of calls that would otherwise have nothing to do, or take an empty array."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ascend_rt import Channel, Device, PinnedBuffer, Queue, RegisteredMemory, Stream, mark
from ascend_rt.errors import ClosedError


def closed_pinned() -> PinnedBuffer:
    pinned = PinnedBuffer(64)
    pinned.close()
    return pinned


def closed_queue() -> Queue:
    queue = Queue()
    queue.close()
    return queue


def closed_stream() -> Stream:
    stream = Stream()
    stream.close()
    return stream


def put() -> None:
    with Queue() as queue:
        queue.put(closed_pinned(), 0)


def send() -> None:
    with Channel("closed operands", 2) as channel:
        channel.send(closed_pinned())


USES: dict[str, Callable[[], object]] = {
    "pinned memory is put into a queue": put,
    "pinned memory is sent": send,
    "pinned memory is registered": lambda: RegisteredMemory(closed_pinned()),
    "a queue without destinations": lambda: closed_queue().forward_to(),
    "a queue that forwards to none": lambda: closed_queue().stop_forwarding(),
    "a mark without a profile": lambda: mark("here", closed_stream()),
}


@pytest.mark.parametrize("use", USES.values(), ids=list(USES))
def test_a_closed_operand_says_so(use: Callable[[], object], device: Device) -> None:
    with pytest.raises(ClosedError, match="is closed"):
        use()


def test_the_size_of_registered_memory_stays_known(device: Device) -> None:
    registered = RegisteredMemory(np.zeros(8192, np.uint8))
    registered.close()
    assert registered.nbytes == 8192


def test_the_stream_of_a_mark_is_one(device: Device) -> None:
    with pytest.raises(TypeError, match="expected a Stream, got int"):
        mark("here", 5)  # type: ignore[arg-type]
