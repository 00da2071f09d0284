# SPDX-License-Identifier: Apache-2.0
"""Keeping Python's memory alive while the device still uses it.

What tasks use is kept in batches, in the order of submission, and nothing is asked of the runtime for it. A record of
an event, and a synchronization, ends the open batch first; when it is complete, so is all that was submitted before,
and those batches are released.

A stream that waits for an event keeps the event and the batch that the record has ended. Its completion alone does not
release what the other stream has used: the wait may have failed, or was dropped by an abort, and the runtime may report
a failure later than it shows completion. There are two proofs. If a synchronization of the waiting stream reports no
failure, and none was reported since the wait, the wait has succeeded. Otherwise the event is asked whether it is
complete. As long as neither tells, the batch stays with the stream that has recorded the event.

After an abort, an event that was recorded before tells nothing either: on some products the abort completes it, while a
task may still run. Aborts are counted in the table of functions, whoever calls them; those of other libraries
pass it by.

Threads need no lock for that. What a task uses is added after its submission, and a batch is ended before the record,
so what is added late to a batch was submitted before the record too.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from ascend_rt import _captured, _failures, _handles, _log
from ascend_rt._driver import address, check, is_expected, lib
from ascend_rt._failures import ANY, FailedTask, FailureLog, Life, Work, newest
from ascend_rt._handles import release
from ascend_rt._in_c import in_c
from ascend_rt._locks import new_lock
from ascend_rt.errors import AclError, OutOfMemory

if TYPE_CHECKING:
    from collections.abc import Callable

    from ascend_rt._lifecycle import Era
    from ascend_rt.event import Event

_Result = TypeVar("_Result")

_EVENT_COMPLETE = lib.ACL_EVENT_RECORDED_STATUS_COMPLETE
_STREAM_COMPLETE = lib.ACL_STREAM_STATUS_COMPLETE
_STREAM_IS_GONE = -lib.ACL_ERROR_RT_INVALID_HANDLE


_lock = new_lock()  # a finalizer may get here inside
_of_stream: WeakValueDictionary[int, InFlight] = WeakValueDictionary()
_used: set[InFlight] = _handles.used  # keep anything: a garbage collection may find all objects of a stream at once
_unfinished: dict[InFlight, Event | None] = {}  # of borrowed streams whose Python objects were discarded
_resets: set[Reset] = _handles.resets  # that go on


@in_c
class InFlight(_handles.InFlight):
    """What the tasks of a stream use; the Python objects of a stream share it."""

    __slots__ = ("context", "is_ending", "life")
    work: Work
    failures: FailureLog
    is_ending: bool  # a thread destroys the stream: its handle is gone while its tasks may still run

    def __init__(self, handle: Any, era: Era, context: Any) -> None:
        self.stream = address(handle)
        self.life = Life(handle, era)
        self.device = self.life.device
        self.context = context  # None: unknown
        self.failures = FailureLog()
        self.work = Work(self.life, self.failures)
        self.is_ending = False

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

    def conclude(self, code: int, function: str, message: str | None = None) -> None:
        """Raise what a synchronization of the stream has failed with, or what an earlier one has left."""
        if code or self.failures.code:
            self.drop_done()  # before the error: a program may go on without another synchronization
        self.failures.conclude(code, function, message, self.work.failed_task, self._work_after)
        told = self.work.failure(function)
        if told is not None:  # to a synchronization of the device that was interrupted, or to others in the process
            works = self._work_after(told)
            _failures.of_context(self.context).report(_failures.again(told, function), works)
            self.work = works[0][1]

    def _work_after(self, failed: AclError) -> tuple[tuple[InFlight, Work]]:
        return ((self, self.work.next_after(failed)),)

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


def conclude_all(log: FailureLog, code: int, function: str, message: str | None, device: int, context: Any) -> None:
    """Raise what the synchronization of a device has failed with; it reports the failures of the context's streams."""

    def failed_task(code: int) -> FailedTask | None:
        task = newest(0, device, ANY)
        return task if task is not None and task.code == code else None

    def works(failed: AclError) -> tuple[tuple[InFlight, Work], ...]:
        return tuple((it, it.work.next_after_all()) for it in _of_streams() if it.context in (context, None))

    if not code and not log.code:
        return
    for it in _of_streams():
        if it.context in (context, None):
            it.drop_done()
    log.conclude(code, function, message, failed_task, works)


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
        if event is not None and event._is_open:
            status = lib.ascend_rt_event_status(event._handle)
            if not is_expected(status < 0) and status == _EVENT_COMPLETE:
                release(event._before)
        in_flight.drop_done()
        if not in_flight:
            _unfinished.pop(in_flight, None)
            if in_flight:  # asked afterwards: another thread may just have put it back
                _unfinished.setdefault(in_flight, None)


def submit_to_graph(in_flight: InFlight, function: str, arguments: tuple[Any, ...], uses: tuple[object, ...]) -> None:
    """Call a C function that enqueues a task on a stream that is being captured, for C."""
    in_flight.submit(function, *arguments, uses=uses)


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
