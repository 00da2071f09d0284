# SPDX-License-Identifier: Apache-2.0
"""A latch keeps a stream busy until a test releases it, so that "not yet done" does not depend on timing."""

from __future__ import annotations

import math
from contextlib import suppress
from types import TracebackType

from ascend_rt.errors import DeviceLost, TaskFailed
from ascend_rt.event import Event
from ascend_rt.stream import Stream


class Latch:
    """Keeps a stream busy until :meth:`release`.

    All work that is enqueued on the stream after the latch waits for it. The latch works with any library: it is a wait
    for an event that starts closed, and the release records the event on a separate stream.

    Parameters
    ----------
    stream : Stream
        The stream to keep busy; it must belong to the calling thread's context.

    Examples
    --------
    >>> from ascend_rt.testing import Latch
    >>> with Latch(stream):
    ...     event = stream.record()
    ...     assert not event.is_done
    >>> event.synchronize()
    """

    def __init__(self, stream: Stream) -> None:
        self._gate = Event(manual_reset=True)
        self._releaser = Stream()
        stream.wait(self._gate, timeout=math.inf)  # independent of the limit that the process has set

    def release(self) -> None:
        """Let the stream continue; releasing twice is allowed."""
        if self._releaser._is_open:
            self._gate.record(self._releaser)
            with suppress(TaskFailed, DeviceLost):  # another stream failed: in STOP mode, all streams report it
                self._releaser.close()
            self._gate.close()

    def __enter__(self) -> Latch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()
