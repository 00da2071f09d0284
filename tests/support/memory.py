# SPDX-License-Identifier: Apache-2.0
"""Memory with known bytes, and the bytes that memory holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_rt import Buffer, PinnedBuffer, Stream, copy


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


def wait_for(stream: Stream | None) -> None:
    """Synchronize the stream; without one, the call has waited already."""
    if stream is not None:
        stream.synchronize()
