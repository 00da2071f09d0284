# SPDX-License-Identifier: Apache-2.0
"""Memory with known bytes, and the bytes that memory holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import ascend_rt
from ascend_rt import Buffer, PinnedBuffer, Stream, copy
from ascend_rt._memory.host_allocation import HostAllocation


def pattern(n: int) -> np.ndarray:
    """Return n bytes, the same ones on every call."""
    return np.random.default_rng(n).integers(0, 256, n, dtype=np.uint8)


def content(operand: Any) -> np.ndarray:
    """Return the bytes of device or pinned memory."""
    received = np.empty(operand.nbytes, np.uint8)
    copy(received, operand)
    return received


def device_memory(values: Any) -> Buffer:
    memory = Buffer(len(values))
    copy(memory, values)
    return memory


def pinned_memory(values: Any) -> PinnedBuffer:
    memory = PinnedBuffer(len(values))
    memory[:] = values
    return memory


def form_of(function: Callable[..., None], stream: Stream | None) -> Callable[..., None]:
    """Return a function that waits as it is, or with a stream its twin that enqueues, on that stream."""
    if stream is None:
        return function
    return partial(getattr(ascend_rt, f"{function.__name__}_async"), stream=stream)


def wait_for(stream: Stream | None) -> None:
    """Synchronize the stream; without one, the call has waited already."""
    if stream is not None:
        stream.synchronize()


def note_freed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list of the memory of the host that is freed from now on."""
    freed: list[Any] = []
    destroy = HostAllocation._destroy

    def free(allocation: HostAllocation, handle: Any) -> None:
        freed.append(handle)
        destroy(allocation, handle)

    monkeypatch.setattr(HostAllocation, "_destroy", free)
    return freed
