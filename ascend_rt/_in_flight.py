# SPDX-License-Identifier: Apache-2.0
"""Keeping Python's memory alive while the device still uses it."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from ascend_rt.errors import AclError

if TYPE_CHECKING:
    from ascend_rt.event import Event
    from ascend_rt.stream import Stream

_BATCH = 128

Objects = list[object]
Batches = deque[tuple["Event", Objects]]
Taken = tuple[Objects, Batches]


_orphans: Batches = deque()  # of borrowed streams whose Python object is gone
_lost: list[object] = []


class InFlight:
    """Objects that tasks of a stream use, in the order of submission.

    They are dropped when the stream is known to be done with them: after a synchronization, or when the event that was
    recorded behind their batch is complete.
    """

    __slots__ = ("_batches", "_objects")

    def __init__(self) -> None:
        self._objects: Objects = []
        self._batches: Batches = deque()

    def keep(self, stream: Stream, *objects: object) -> None:
        """Keep objects alive until the tasks that were submitted to the stream so far are done."""
        self._objects.append(objects)
        if len(self._objects) % _BATCH == 0:
            with suppress(AclError):  # no event is free, say: the batch goes on growing, the task was submitted
                self._close_batch(stream)

    def _close_batch(self, stream: Stream) -> None:
        event = stream.record()
        batch, self._objects = self._objects, []
        self._batches.append((event, batch))
        while self._batches and self._batches[0][0].is_done:
            self._batches.popleft()

    def outlive(self, stream: Stream) -> None:
        """Keep on keeping when the Python object of a borrowed stream goes away and the stream itself lives on."""
        if not self:
            return
        objects: Objects = [self.take()]
        try:
            _orphans.append((stream.record(), objects))
        except AclError:
            _lost.append(objects)  # nobody can tell when the device is done with them: rather leak than corrupt
        while _orphans and _orphans[0][0].is_done:
            _orphans.popleft()

    def take(self) -> Taken | None:
        """Hand over what is kept so far: whoever synchronizes drops it afterwards, or gives it back."""
        if not self._objects and not self._batches:
            return None
        taken = self._objects, self._batches
        self._objects, self._batches = [], deque()
        return taken

    def give_back(self, taken: Taken | None) -> None:
        """Keep on keeping what :meth:`take` handed over."""
        if taken is not None:
            objects, batches = taken
            self._objects[:0] = objects
            self._batches.extendleft(reversed(batches))

    def __len__(self) -> int:
        return len(self._objects) + sum(len(batch) for _, batch in self._batches)
