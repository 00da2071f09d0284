# SPDX-License-Identifier: Apache-2.0
"""Operands of tasks stay alive until the tasks are known to be done: the :class:`Retention` of the stream owns them.

The runtime gets addresses, and does not say when it no longer needs them. So what a task uses is put into a batch
right after the submission, and the runtime is asked nothing for it:

======== ============================== ========================================== =====================================
batch    it has what these tasks use    its owner                                  others that refer to it
======== ============================== ========================================== =====================================
open     those since the newest mark    the retention of the stream                --
ended    those before a mark            the same, in a chain, the newest first     the event whose record is the mark;
                                                                                   streams that wait for that event
captured those of a graph               ``captures.graphs``, during a capture; the batches of the streams that execute
                                        :class:`~ascend_rt.Graph`, or, for a       the graph
                                        capture of the C function, the former
                                        until the graph is destroyed
======== ============================== ========================================== =====================================

A mark is a record, a query or a synchronization: it ends the open batch first. When it is complete, so is all that was
submitted before, and the batch is released with those before it. A stream that waits for an event refers to the batch
that the record has ended. If that stream completes, this alone does not release what the other one has used: the wait
may have failed, or was dropped by an abort, and the runtime may report a failure later than it shows completion. There
are two proofs:

- A synchronization of the waiting stream reports no failure, and there was neither an abort nor a failure since before
  the wait: then the wait has succeeded. ``abort_or_failure_epoch`` counts both for all calls in this process through
  the table of functions. That proves nothing if the library does not report failures to a callback, or if the two
  streams are not known to be of one device.
- The event is complete when it is asked. That proves nothing if two streams have recorded it at the same time, if
  others may record it, or if an abort has begun since the record: on some products it completes the event while a task
  still runs. If the event was closed or recorded again, its stream is asked whether it has any work left.

As long as there is neither, the batch stays with its owner. These are the rules. The stream's own work is done, unless
they say otherwise; the streams that it has waited for have other work to do, and the events are complete.

=========== ======== =================== ================== ==========================================================
what        its own  what it waited for, what it waited     so it goes
happens              by an event that is for, by one that
                     open                was closed since
=========== ======== =================== ================== ==========================================================
synchronize released released            released           a synchronization proves the waits
failure     released released            kept               a synchronization that reports a failed task
query       released released            kept               ``is_done``
event       released released            kept               an event that was recorded behind the work is synchronized
device      released released            kept               the device is synchronized
memory      released released            kept               an allocation finds no memory, before it is tried again
close       released released            kept               ``close()``
discard     released released            kept               the last Python object goes
abort       released kept                kept               ``abort()``: what was recorded before says nothing
force       released kept                kept               ``close(force=True)``, which aborts
reset       released kept                kept               the device is reset, which aborts, and the stream closed
busy        kept     kept                kept               all of these questions, while the first task runs
graph       kept     --                  --                 a synchronization after a capture: the graph has it
exit        kept     kept                kept               what is pending is left to the process
=========== ======== =================== ================== ==========================================================

Threads need no lock for that. Operands of a task are added after its submission, and a batch is ended before the
record, so operands that are added late to a batch were submitted before the record too.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

from ascend_rt._native import handles
from ascend_rt._native.handles import release
from ascend_rt._runtime import captures
from ascend_rt._runtime import failures as _failures
from ascend_rt._runtime import log as _log
from ascend_rt._runtime.driver import AskingQuietly, check, is_expected, lib
from ascend_rt._runtime.failures import ANY, ErrorWindow, FailedTask, FailureLog, newest
from ascend_rt.errors import AclError, OutOfMemory

if TYPE_CHECKING:
    from collections.abc import Callable

    from ascend_rt._native.handles import Batch, EventHandle

_Result = TypeVar("_Result")

_EVENT_COMPLETE = lib.ACL_EVENT_RECORDED_STATUS_COMPLETE
_STREAM_COMPLETE = lib.ACL_STREAM_STATUS_COMPLETE
_STREAM_IS_GONE = -lib.ACL_ERROR_RT_INVALID_HANDLE


_used: set[Retention] = handles.used  # keep anything: a garbage collection may find all objects of a stream at once
_detached: dict[Retention, EventHandle | None] = {}  # borrowed streams whose Python objects were discarded
_resets: set[Reset] = handles.resets  # resets in progress


class Retention(handles.Retention):
    """Owner of the operands of a stream's tasks; the Python objects of the stream share it."""

    __slots__ = ()
    window: ErrorWindow
    failures: FailureLog

    def captured_graph(self) -> int:
        """Return the handle of the graph that the stream is being captured into; 0 if it is not."""
        return 0 if self.life.is_over else int(lib.ascend_rt_captured_graph(self.life.handle))

    def submit(self, function: str, *arguments: Any, uses: tuple[object, ...]) -> None:
        """Call a C function that enqueues a task, and retain what the task uses.

        If another thread begins or ends a capture of the stream meanwhile, both the stream and the graph retain it.
        """
        captured = self.retain_if_captured(*uses)
        try:
            code = getattr(lib, function)(*arguments)
            if not code and ((now := self.retain_if_captured(*uses)) is None or now is not captured):
                self.append(uses)
        except BaseException:  # a signal handler raised it, instead of a code: the task may have been submitted
            self.append(uses)
            self.retain_if_captured(*uses)
            raise
        if code:
            check(code, function)

    def completed(self) -> Batch | None:
        """Return what can be released because the stream has no work left; does not wait."""
        ended = self.end_batch()
        return ended if ended is not None and self._is_idle() else None

    def release_completed(self) -> None:
        """Release everything if the stream has no work left; does not wait."""
        release(self.completed())

    def detach(self, event: EventHandle | None) -> None:
        """Keep the objects alive although the Python object of a borrowed stream is discarded: its tasks go on.

        Parameters
        ----------
        event : Event or None
            Recorded behind the tasks, if that was possible: threads without a context can ask it too.
        """
        if self:
            _detached[self] = event
        _release_detached()

    def conclude(self, code: int, function: str, message: str | None = None) -> None:
        """Raise what a synchronization of the stream has failed with, or what an earlier one has left."""
        if code or self.failures.code:
            self.release_completed()  # before the error: a program may go on without another synchronization
        self.failures.conclude(code, function, message, self.window.failed_task, self._window_after)
        known = self.window.failure(function)
        if known is not None:  # from a synchronization of the device that was interrupted, or by others in the process
            windows = self._window_after(known)
            _failures.of_context(self.context).report(_failures.again(known, function), windows)
            self.window = windows[0][1]

    def _window_after(self, failed: AclError) -> tuple[tuple[Retention, ErrorWindow]]:
        return ((self, self.window.next_after(failed)),)

    def _is_idle(self) -> bool:
        status = self._status()
        if status == _STREAM_IS_GONE:  # asked afterwards: the handle goes first, and the tasks end then
            return not self.is_ending and not _resets_of(self.device)
        return status == _STREAM_COMPLETE

    def _status(self) -> int:
        """Return the status of the stream, or the negative code of a failure."""
        if self.life.is_over:
            return _STREAM_IS_GONE
        if not self.stream:
            return -lib.ACL_ERROR_INVALID_PARAM
        with AskingQuietly():
            status = int(lib.ascend_rt_stream_status(self.life.handle))
        is_expected(status < 0)  # only failed tasks count, not a missing context
        return int(status)

    def __bool__(self) -> bool:
        return self.end_batch() is not None

    def __len__(self) -> int:
        count, batch = 0, self.end_batch()
        while batch is not None:
            count, batch = count + len(batch.objects), batch.previous
        return count


class Reset:
    """While a device, or a context of it, is ended: its streams are gone before their tasks are.

    Threads need no lock for that: a finalizer may get here inside.
    """

    def __init__(self, device: int) -> None:
        self.device = device
        self.left: deque[Callable[[], None]] = deque()

    def run(self, function: Callable[..., _Result], *arguments: Any) -> _Result:
        """Call the function that ends it."""
        try:
            return handles.while_resetting(self, function, *arguments)
        finally:
            self._do_what_was_left()

    def _do_what_was_left(self) -> None:
        while self.left:
            try:
                action = self.left.popleft()
            except IndexError:  # the thread that left the action there performs it
                return
            when_over(self.device, action)


def when_over(device: int, action: Callable[[], None]) -> None:
    """Do something that frees what tasks used: at once, or when the reset of their device in another thread is over."""
    for reset in _resets_of(device):
        reset.left.append(action)
        if reset in _resets:
            return
        try:
            reset.left.remove(action)
        except ValueError:  # it was over just now, and has done it
            return
    action()


def _resets_of(device: int) -> list[Reset]:
    return [reset for reset in _resets.copy() if device in (reset.device, ANY)]


def release_completed() -> bool:
    """Release what the streams that have no work left have used; does not wait. False: there was nothing."""
    streams = (*handles.retentions(), *_detached)
    before = sum(map(len, streams))
    for retention in streams:
        retention.release_completed()
    _release_detached()
    return sum(map(len, streams)) < before


def conclude_all(log: FailureLog, code: int, function: str, message: str | None, device: int, context: int) -> None:
    """Raise what the synchronization of a device has failed with; it reports the failures of the context's streams."""

    def failed_task(code: int) -> FailedTask | None:
        task = newest(0, device, ANY)
        return task if task is not None and task.code == code else None

    def windows(failed: AclError) -> tuple[tuple[Retention, ErrorWindow], ...]:
        return tuple((it, it.window.next_after_all()) for it in _in_context(context))

    if not code and not log.code:
        return
    for it in _in_context(context):
        it.release_completed()
    log.conclude(code, function, message, failed_task, windows)


def has_reported(code: int, context: int) -> bool:
    """Return True if a stream of a context has reported a failure with this code before."""
    return bool(code) and any(it.context == context and it.window.reported == code for it in handles.retentions())


def _in_context(context: int) -> list[Any]:
    """Return what the streams of a context use, and those that may be of it."""
    return [it for it in handles.retentions() if it.context in (context, 0)]


def leak_at_exit() -> None:
    """Never free what pending tasks use, not even while the interpreter is finalized: devices may execute them."""
    import ctypes

    for used in (*_used.copy(), captures.graphs):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(used))


def _release_detached() -> None:
    for retention, event in _detached.copy().items():  # a garbage collection may add some meanwhile
        if event is not None and event._is_open:
            status = lib.ascend_rt_event_status(event._handle)
            if not is_expected(status < 0) and status == _EVENT_COMPLETE:
                release(event._before)
        retention.release_completed()
        if not retention:
            _detached.pop(retention, None)
            if retention:  # asked afterwards: another thread may just have put it back
                _detached.setdefault(retention, None)


def allocated(function: str, attempt: Callable[..., int], *arguments: Any) -> None:
    """Make an attempt to allocate memory; if there is none, release what completed tasks have used and retry."""
    code = attempt(*arguments)
    if code:
        check_allocation(code, function)
        check(attempt(*arguments), function)


def check_allocation(code: int, function: str) -> None:
    """Raise the error of an allocation that failed, unless it may succeed now."""
    try:
        check(code, function)
    except OutOfMemory:
        if not release_completed():
            raise
        _log.debug("%s is called again: there was too little memory, and completed tasks have released some", function)
