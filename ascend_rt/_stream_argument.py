# SPDX-License-Identifier: Apache-2.0
"""The argument ``stream`` of everything that enqueues."""

from __future__ import annotations

from ascend_rt.stream import Stream


def given_or_current(stream: Stream | None) -> Stream:
    """Return the stream to enqueue on: the calling thread's current one, unless one is given."""
    if isinstance(stream, Stream):
        return stream
    if stream is None:
        return Stream.current()
    raise TypeError(
        f"a Stream is wanted, not {type(stream).__name__}; Stream.from_foreign() makes one of another library's stream"
    )
