# SPDX-License-Identifier: Apache-2.0
"""Options of streams and events, in a separate module: few programs need them, and dataclasses import slowly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_rt.enums import StreamFlag

__all__ = ["EventOptions", "StreamOptions"]


@dataclass(frozen=True)
class StreamOptions:
    """Options of a new stream, for programs that pass them on.

    Attributes
    ----------
    priority : int, default 0
        0 is the highest, 7 the lowest; a hint, clamped to that range.
    flags : StreamFlag, default 0
        The flags for ``aclrtCreateStreamWithConfig``.

    Examples
    --------
    >>> background = StreamOptions(priority=7)
    >>> Stream(background).priority
    7
    """

    priority: int = 0
    flags: StreamFlag | int = 0


@dataclass(frozen=True)
class EventOptions:
    """Options of a new event, for programs that pass them on.

    Attributes
    ----------
    timing, manual_reset, ipc : bool, default False
        The same as the keywords of :class:`Event`.

    Examples
    --------
    >>> timed = EventOptions(timing=True)
    >>> start, end = Event(timed), Event(timed)
    >>> start.record(stream)
    >>> end.record(stream)
    >>> end.synchronize()
    >>> start.elapsed_time(end) >= 0  # milliseconds
    True
    """

    timing: bool = False
    manual_reset: bool = False
    ipc: bool = False
