# SPDX-License-Identifier: Apache-2.0
"""Keeping Python's memory alive while the device still uses it.

What tasks use is kept in batches, in the order of submission, and nothing is asked of the runtime for it. A record of
an event, and a synchronization, ends the open batch first; when it is complete, so is all that was submitted before,
and those batches are released. A stream that waits for an event keeps the batch that the record has ended: its own
completion then releases what the other stream has used, unless the wait may have ended otherwise: by an abort, or
because a task has failed, the wait itself or another one in STOP mode. Then only the other stream tells. After an
abort, an event that was recorded before tells nothing either: on some products the abort completes it, while a task may
still run. Aborts by raw calls are not known here.

Threads need no lock for that. What a task uses is added after its submission, and a batch is ended before the record,
so what is added late to a batch was submitted before the record too.
"""

from __future__ import annotations

from collections import deque
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from ascend_rt import _captured, _failures, _handles, _log
from ascend_rt._driver import address, check, failure, lib
from ascend_rt._failures import ANY, Life, Work, is_of_a_task, newest
from ascend_rt._handles import Batch, release
from ascend_rt.errors import AclError, OutOfMemory

if TYPE_CHECKING:
    from collections.abc import Callable

    from ascend_rt._lifecycle import Era
    from ascend_rt.event import Event

_Result = TypeVar("_Result")

_EVENT_COMPLETE = lib.ACL_EVENT_RECORDED_STATUS_COMPLETE
_STREAM_COMPLETE = lib.ACL_STREAM_STATUS_COMPLETE
_STREAM_IS_GONE = -lib.ACL_ERROR_RT_INVALID_HANDLE


_lock = RLock()  # a finalizer may get here inside
_of_stream: WeakValueDictionary[int, InFlight] = WeakValueDictionary()
_used: set[InFlight] = _handles.used  # keep anything: a garbage collection may find all objects of a stream at once
_unfinished: dict[InFlight, Event | None] = {}  # of borrowed streams whose Python objects were discarded
_resets: set[Reset] = _handles.resets  # that go on


@_handles.install_short_paths
class InFlight(_handles.InFlight):
    """What the tasks of a stream use; the Python objects of a stream share it."""

    __slots__ = ("context", "is_ending", "life", "untold")
    work: Work
    is_ending: bool  # a thread destroys the stream: its handle is gone while its tasks may still run
    untold: AclError | None  # what an interrupted close would have raised, for the next one

    def __init__(self, handle: Any, era: Era, context: Any) -> None:
        self.stream = address(handle)
        self.life = Life(handle, era)
        self.device = self.life.device
        self.context = context  # None: unknown
        self.work = Work(self.life)
        self.is_ending = False
        self.untold = None

    @classmethod
    def of(cls, handle: Any, era: Era, context: Any) -> InFlight:
        """Return what a stream uses."""
        stream = address(handle)
        found = _of_stream.get(stream)
        if found is None or found.life.is_over:
            new = cls(handle, era, context)
            with _lock:
                found = _of_stream.setdefault(stream or -id(new), new)  # NULL is another stream in each context
                if found.life.is_over:  # an older stream, which had this handle
                    found = _of_stream[stream] = new
        return found

    @staticmethod
    def forget(handle: Any) -> None:
        """Forget what is known of a stream that is gone, before a new one with its handle is used."""
        _of_stream.pop(address(handle), None)
        _failures.untold.pop(address(handle), None)

    def begin(self, handle: Any) -> None:
        """Note the handle of a new stream, and forget what is known of an older one that had it."""
        self.forget(handle)
        self.life.handle, self.stream = handle, address(handle)
        _of_stream[self.stream] = self

    def keep(self, *objects: object) -> None:
        """Keep objects alive until the tasks that were submitted to the stream so far are known to be done.

        While the stream is being captured, the graph keeps them: its executions use them.
        """
        captured = None if self.life.is_over else _captured.kept_with(self.life.handle)
        if captured is not None:
            captured.append(objects)
        else:
            self.append(objects)

    def submit(self, function: str, *arguments: Any, uses: tuple[object, ...]) -> None:
        """Call a C function that enqueues a task, and keep what the task uses.

        If another thread begins or ends a capture of the stream meanwhile, both the stream and the graph keep it.
        """
        captured = _captured.kept_with(self.life.handle)
        if captured is not None:
            captured.append(uses)
        try:
            code = getattr(lib, function)(*arguments)
        except BaseException:  # of a signal handler, in place of the code: the task may have been submitted
            self.keep(*uses)
            raise
        if code:
            check(code, function)
        if not _captured.has_task(self.life.handle, captured, uses):
            self.append(uses)

    def keep_waited_for(self, batch: Batch, disruptions: int) -> None:
        """Keep the batch that the record has ended for which the stream waits, if it will be complete with the wait.

        Parameters
        ----------
        batch : Batch
            What was kept before the record.
        disruptions : int
            How many there were before the wait was submitted.
        """
        # If the library must be asked, nobody knows in time whether a wait has failed. Some products take a wait for an
        # event of another device for none, and nobody knows the device of some borrowed streams.
        if not _failures.must_ask and batch.device == self.device != ANY:
            self.keep(batch, disruptions)

    def end_batch_for_record(self) -> Batch | None:
        """End the open batch before an event is recorded; the event's completion releases what is returned."""
        # In a capture, the record is one of the graph, and tells nothing of what was submitted before.
        ended = self.end_batch()
        return None if ended is None or lib.ascend_rt_captured_graph(self.life.handle) else ended

    def drop_done(self) -> None:
        """Release everything if the stream has no work left; does not wait."""
        ended = self.end_batch()
        if ended is not None and self._is_idle():
            release(ended)

    def outlive(self, event: Event | None) -> None:
        """Keep the objects alive although the Python object of a borrowed stream is discarded: its tasks go on.

        Parameters
        ----------
        event : Event or None
            Recorded behind the tasks, if that was possible: threads without a context can ask it too.
        """
        if self:
            _unfinished[self] = event
        _drop_unfinished()

    def keep_failure(self, failure: AclError | None = None) -> None:
        """Keep what nobody was told: of a synchronization whose code the exception of a signal handler has replaced."""
        failure = failure or self.work.failure("aclrtSynchronizeStream")
        if failure is not None:
            _failures.untold.setdefault(self.stream, failure)

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
        status = lib.ascend_rt_stream_status(self.life.handle)
        if status < 0:
            lib.aclGetRecentErrMsg()  # discard the text: only failed tasks count, not a missing context
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
            return _handles.while_resetting(self, function, *arguments)
        finally:
            self._do_what_was_left()

    def _do_what_was_left(self) -> None:
        while self.left:
            try:
                action = self.left.popleft()
            except IndexError:  # who has left it there does it
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


def drop_done() -> bool:
    """Release what the streams that have no work left have used; does not wait. False: there was nothing."""
    streams = (*_of_streams(), *_unfinished)
    before = sum(map(len, streams))
    for in_flight in streams:
        in_flight.drop_done()
    _drop_unfinished()
    return sum(map(len, streams)) < before


def failure_of_all(code: int, function: str, message: str | None, device: int, context: Any) -> AclError | None:
    """Return what the synchronization of a device failed with; it has told the failures of the context's streams."""
    task = newest(0, device, ANY)
    of_this = task if task is not None and task.code == code else None
    error = failure(code, function, of_this, message) if code else _failures.untold_of_context.get(address(context))
    if error is not None and is_of_a_task(error):
        _failures.untold_of_context.pop(address(context), None)
        for in_flight in _of_streams():
            if in_flight.context in (context, None):
                in_flight.work = in_flight.work.next_after_all()
    return error


def has_told(code: int, context: Any) -> bool:
    """Whether a stream of a context has reported a failure with this code before."""
    return bool(code) and any(found.context == context and found.work.told == code for found in _of_streams())


def keep_for_ever() -> None:
    """Never free what pending tasks use, not even while the interpreter is finalized: devices may execute them."""
    import ctypes

    for used in (*_of_streams(), *_unfinished, _captured.kept):
        if used:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(used))


def _of_streams() -> list[InFlight]:
    references = _of_stream.valuerefs()  # in one step: other threads may add streams
    return [in_flight for reference in references if (in_flight := reference()) is not None]


def _drop_unfinished() -> None:
    for in_flight, event in _unfinished.copy().items():  # a garbage collection may add some meanwhile
        if event is not None and event._is_open and lib.ascend_rt_event_status(event._handle) == _EVENT_COMPLETE:
            release(event._before)
        in_flight.drop_done()
        if not in_flight:
            _unfinished.pop(in_flight, None)
            if in_flight:  # asked afterwards: another thread may just have put it back
                _unfinished.setdefault(in_flight, None)


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
        if not drop_done():
            raise
        _log.debug("%s is called again: there was too little memory, and completed tasks have released some", function)
