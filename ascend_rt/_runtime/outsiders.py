# SPDX-License-Identifier: Apache-2.0
"""Threads that never use the runtime, such as that by which a worker of pytest-xdist gets its orders.

Whatever they do, they end no wait for a device, so the search for deadlocks takes them for threads that wait. A thread
is known by its outermost frame, because its number may become that of another thread.
"""

from __future__ import annotations

import sys
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

_outermost: list[FrameType] = []


def note_others() -> None:
    """Note that all threads but the calling one never use the runtime."""
    frames = sys._current_frames()
    del frames[get_ident()]
    _outermost.extend(map(_outermost_of, frames.values()))


def among(frames: dict[int, FrameType]) -> set[int]:
    """Return the threads, given with their innermost frames, that were noted."""
    return {thread for thread, frame in frames.items() if _outermost_of(frame) in _outermost} if _outermost else set()


def _outermost_of(frame: FrameType) -> FrameType:
    while frame.f_back is not None:
        frame = frame.f_back
    return frame
