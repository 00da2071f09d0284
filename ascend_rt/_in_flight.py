# SPDX-License-Identifier: Apache-2.0
"""Keeping Python's memory alive while the device still uses it.

There is no lock: the operations of a deque and a set are atomic, and those of two threads are correct in either order.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

from ascend_rt import _captured, _failures
from ascend_rt._driver import address, call, check, failure, lib
from ascend_rt._failures import ANY, Work, is_of_a_task, newest
from ascend_rt.errors import AclError, OutOfMemory
from ascend_rt.event import Event

_BATCH = 128
_EVENT_COMPLETE = lib.ACL_EVENT_RECORDED_STATUS_COMPLETE
_STREAM_COMPLETE = lib.ACL_STREAM_STATUS_COMPLETE
_STREAM_IS_GONE = -lib.ACL_ERROR_RT_INVALID_HANDLE


class _Batch:
    """What tasks use that were submitted one after the other, and the event that was recorded behind them, if any."""

    __slots__ = ("event", "objects")

    def __init__(self) -> None:
        self.objects: list[object] = []
        self.event: Event | None = None


Batches = tuple[_Batch, ...]

_of_stream: WeakValueDictionary[int, InFlight] = WeakValueDictionary()
_unfinished: set[InFlight] = set()  # of borrowed streams whose Python objects were discarded


class InFlight:
    """Objects that tasks of a stream use, in the order of submission.

    A synchronization ends the open batch, waits, and then drops the batches that had ended before the wait. An error or
    an interrupt loses nothing, because nothing is removed earlier; what is submitted meanwhile goes to a later batch.
    """

    __slots__ = ("__weakref__", "_batches", "_handle", "context", "work")

    def __init__(self, handle: Any, device: int, context: Any) -> None:
        self._handle = handle
        self.context = context  # None: unknown
        self._batches = deque([_Batch()])  # the last one is open
        self.work = Work(handle, device)

    @classmethod
    def of(cls, handle: Any, device: int, context: Any) -> InFlight:
        """Return what a stream uses, which all Python objects of the stream share."""
        stream = address(handle)
        found = _of_stream.get(stream)
        if found is None:
            new = cls(handle, device, context)
            found = _of_stream.setdefault(stream or -id(new), new)  # NULL is another stream in each context
        return found

    def keep(self, *objects: object) -> None:
        """Keep objects alive until the tasks that were submitted to the stream so far are done.

        While the stream is being captured, the graph keeps them: its executions use them.
        """
        captured = _captured.kept_with(self._handle)
        if captured is not None:
            captured.append(objects)
            return
        kept = self._batches[-1].objects
        kept.append(objects)
        if len(kept) % _BATCH == 0:
            self._record()
            self.drop(_complete(self.end_batch()))

    def keep_failure(self, failure: AclError | None = None) -> None:
        """Keep what nobody was told: of a synchronization whose code the exception of a signal handler has replaced."""
        failure = failure or self.work.failure("aclrtSynchronizeStream")
        if failure is not None:
            _failures.untold.setdefault(address(self._handle), failure)

    def end_batch(self) -> Batches:
        """Open a new batch and return all that have ended."""
        batches = self._batches
        if batches[-1].objects:
            batches.append(_Batch())
        return tuple(batches)[:-1] if len(batches) > 1 else ()

    def drop(self, batches: Batches) -> None:
        """Release batches whose tasks have completed."""
        for batch in batches:
            try:
                self._batches.remove(batch)
            except ValueError:
                continue  # another thread was faster

    def drop_done(self) -> None:
        """Release all batches whose tasks have completed; does not wait."""
        if batches := self.end_batch():
            self.drop(batches if self._is_idle() else _complete(batches))

    def outlive(self) -> None:
        """Keep the objects alive although the Python object of a borrowed stream is discarded: its tasks go on."""
        if self:
            self._record()
            _unfinished.add(self)
        _drop_unfinished()

    def _record(self) -> None:
        """End the batch with an event, which completes when the tasks of this batch and of all earlier ones have."""
        batches = self.end_batch()
        # Without an event, for instance if none is free, a later one or a synchronization completes this batch too.
        if lib.ascend_rt_captured_graph(self._handle):
            return  # the event would be recorded in the graph
        with suppress(AclError):
            event = Event()
            check(lib.aclrtRecordEvent(event._handle, self._handle), "aclrtRecordEvent")
            for batch in batches[-1:]:
                batch.event = event

    def _is_idle(self) -> bool:
        if not self._handle:
            return False
        status = lib.ascend_rt_stream_status(self._handle)
        if status < 0:
            lib.aclGetRecentErrMsg()  # discard the text: a thread without a context, for instance, is no failure here
        return status in (_STREAM_COMPLETE, _STREAM_IS_GONE)

    def __len__(self) -> int:
        return sum(len(batch.objects) for batch in tuple(self._batches))


def _complete(batches: Batches) -> Batches:
    """Return the batches that a completed event covers."""
    done = 0
    for i, batch in enumerate(batches, 1):
        if batch.event is not None:
            if lib.ascend_rt_event_status(batch.event._handle) != _EVENT_COMPLETE:
                break
            done = i
    return batches[:done]


def drop_done() -> bool:
    """Release the batches of all streams whose tasks have completed; does not wait. False: there was nothing."""
    streams = (*_of_streams(), *tuple(_unfinished))
    before = sum(map(len, streams))
    for in_flight in streams:
        in_flight.drop_done()
    _drop_unfinished()
    return sum(map(len, streams)) < before


def failure_of_all(code: int, function: str, message: str | None, device: int, context: Any) -> AclError | None:
    """Return what the synchronization of a device failed with; it has told the failures of the context's streams."""
    task = newest(0, device, ANY)
    of_this = task if task is not None and task.code == code else None
    error = failure(code, function, of_this, message) if code else _failures.untold.get(_failures.DEVICE)
    if error is not None and is_of_a_task(error):
        _failures.untold.pop(_failures.DEVICE, None)
        for in_flight in _of_streams():
            if in_flight.context in (context, None):
                in_flight.work = in_flight.work.next_after_all()
    return error


def keep_for_ever() -> None:
    """Never free what pending tasks use, not even while the interpreter is finalized: devices may execute them."""
    import ctypes

    for used in (*_of_streams(), *tuple(_unfinished), _captured.kept):
        if used:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(used))


def _of_streams() -> list[InFlight]:
    references = _of_stream.valuerefs()  # in one step: other threads may add streams
    return [in_flight for reference in references if (in_flight := reference()) is not None]


def _drop_unfinished() -> None:
    for in_flight in tuple(_unfinished):
        in_flight.drop_done()
        _unfinished.discard(in_flight)
        if in_flight:  # asked afterwards: another thread may just have put it back
            _unfinished.add(in_flight)


def allocate_memory(function: str, *arguments: Any) -> None:
    """Call a C function that allocates memory; if there is none, release what completed tasks have used and retry."""
    try:
        call(function, *arguments)
    except OutOfMemory:
        if not drop_done():
            raise
        call(function, *arguments)
