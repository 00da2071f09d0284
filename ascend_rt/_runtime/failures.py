# SPDX-License-Identifier: Apache-2.0
"""Which tasks have failed, and which failures were raised.

The runtime reports the failure of a task once, at the next synchronization of its stream, and never through an event
(docs/semantics/events_streams_sync.md, section 1). A synchronization of a device reports for all streams of a context.
So each stream, and each context, has a :class:`FailureLog`. A failure goes through these states:

========== ====================================== ============================================== =====================
state      it is known to                         it is there                                    the next state follows
========== ====================================== ============================================== =====================
unseen     the runtime; once callbacks run,       in the runtime; a list in C                    a call of the C
           to ``check`` and to events             (``aclrt_failures.c``)                         function reports it
deferred   the log                                in the log, put there by the C function that   a synchronization or
                                                  calls the runtime's                            ``close`` raises it
reported   the program; to events that were       in the :class:`ErrorWindow` that ends with it, --
           recorded before                        which those events hold
========== ====================================== ============================================== =====================

Both transitions are one step in C, in which Python calls no handler of a signal: one that raises before leaves the
failure deferred, one that raises afterwards finds it raised. In between, everything may be done again. The rules:

- A log defers one failure, the first, as the runtime keeps one. The call that finds it raises it, whatever the call
  itself returned, unless a time limit was over: the work goes on then.
- A log belongs to the object of the stream, not to the handle, which a new stream may get.
- A failure that other code in the process received, by a call of the C function, is known by the callback alone. The
  next synchronization ends the :class:`ErrorWindow` without raising it, unless a device's log defers it.
- A library without callbacks is asked by a synchronization of the stream, once that is idle; the failure is deferred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ascend_rt._native import handles
from ascend_rt._runtime import dump_files
from ascend_rt._runtime.driver import call, failure, ffi, is_expected, lib
from ascend_rt._runtime.error_classes import WHOLE_DEVICE, error_for
from ascend_rt._runtime.timeouts import FOR_EVER
from ascend_rt.errors import AclError, DeviceLost, NotSupported, TaskFailed

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class DeviceEpoch(Protocol):
        """The life of a context, which ends its streams."""

        device_id: int

        @property
        def is_over(self) -> bool: ...


ANY = 0xFFFFFFFF
_NO_STREAM = ANY - 1
_FAILED_TASK = ffi.typeof("ascend_rt_failed_task *")
_REPORT = ffi.typeof("ascend_rt_report *")
_LIMITS = (lib.ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, lib.ACL_ERROR_RT_EVENT_SYNC_TIMEOUT)
_STREAM_COMPLETE = lib.ACL_STREAM_STATUS_COMPLETE

needs_polling = True
"""True if the library reports nothing to exception callbacks: then only the stream itself can be asked."""

refusal = ""
"""The reason why the library does not report failures to exception callbacks."""


class FailedTask(NamedTuple):
    """A task that has failed, as reported to exception callbacks.

    Attributes
    ----------
    task, stream, device : int
        The runtime's numbers of the task, of its stream and of the device.
    thread : int
        The kernel's number of the thread that submitted it (``gettid``).
    code : int
        Its error code (``aclError``).
    kernel : str
        The name of the kernel; "" for other tasks, and if the library does not report it.

    Examples
    --------
    >>> print(FailedTask(task=7, stream=2, device=0, thread=4711, code=507015, kernel="add_custom"))
    task 7 (kernel add_custom) of stream 2 on device 0, from thread 4711
    """

    task: int
    stream: int
    device: int
    thread: int
    code: int
    kernel: str

    def __str__(self) -> str:
        if self.task == WHOLE_DEVICE:
            return f"device {self.device}"
        kernel = f" (kernel {self.kernel})" if self.kernel else ""
        return f"task {self.task}{kernel} of stream {self.stream} on device {self.device}, from thread {self.thread}"

    def _dump(self) -> str:
        """Return what the dump of the kernel shows; "" without one."""
        return dump_files.note(self.device, self.stream, self.task)


def listen() -> None:
    """Note the tasks that fail from now on, if the library reports them."""
    global needs_polling, refusal
    try:
        call("aclrtExceptionInfoCallbackRegister", lib.ascend_rt_exception_entry)
    except NotSupported as error:  # only newer releases have a list of callbacks; the single one is the program's
        refusal = error.message
        return
    needs_polling = False


class FailureLog(handles.FailureLog):
    """The report that a stream, or the streams of a context, has made, and that was not raised yet."""

    __slots__ = ()

    @property
    def into(self) -> Any:
        """Pointer for the calls of synchronizations, which note a failure there; valid as long as this object."""
        return ffi.cast(_REPORT, self.address)

    def deferred(self, function: str, task: Callable[[int], FailedTask | None]) -> AclError | None:
        """Return the error of the deferred report, if there is one and it is about a task; the report stays.

        The function finds what is known of the task that failed with a code.
        """
        code = self.code
        error = error_for(code, function, self.text.strip(), task(code)) if code else None
        if error is not None and not is_of_a_task(error):
            self.discard()
            return None
        return error

    def conclude(
        self,
        code: int,
        function: str,
        message: str | None,
        task: Callable[[int], FailedTask | None],
        windows: Callable[[AclError], tuple[tuple[Any, ErrorWindow], ...]],
    ) -> None:
        """Raise what a synchronization has failed with, or what an earlier one has left.

        Parameters
        ----------
        code, function, message : int, str, str or None
            Of the synchronization; None: the runtime still has the text in this thread.
        task : callable
            As of :meth:`deferred`.
        windows : callable
            Given the error, returns the windows that begin with its report, each behind the retention of its stream.
        """
        first, text = self.code, self.text if message is None and self.code else message
        failed = None if code in _LIMITS else self.deferred(function, task)
        if failed is not None:
            self.report(again(failed, function), windows(failed))
        elif code and not (first in (0, code) and is_of_a_task(error_for(code, function, "", task(code)))):
            raise failure(code, function, message=text)
        # Otherwise the call has noted the failure of a task, and another thread has raised it meanwhile.


_of_context: dict[int, FailureLog] = {}  # by handle


def of_context(context: int) -> FailureLog:
    """Return the log of device synchronizations in a context, by its handle; a new log for 0 or an unknown one."""
    return (_of_context.get(context) or _of_context.setdefault(context, FailureLog())) if context else FailureLog()


def begin_context(context: int, log: FailureLog) -> None:
    """Register the log of a new context; an older context may have had the same handle."""
    _of_context[context] = log


def forget_context(context: int) -> None:
    """Forget the log of a context that is gone, before a new one has its handle."""
    _of_context.pop(context, None)


class ErrorWindow(handles.ErrorWindow):
    """Work of a stream from one report of a failed task to the next."""

    __slots__ = ()

    @property
    def where(self) -> str:
        """The device, for texts; empty if it is not known."""
        return "" if self._stream.device == ANY else f" on device {self._stream.device}"

    def check(self, function: str) -> None:
        """Raise the failure of a task of this window, if one is known; it stays known."""
        if self._failure is None:
            self._failure = self._look(function)
        if self._failure is not None:
            raise again(self._failure, function)

    def next_after(self, failure: AclError) -> ErrorWindow:
        """End this window, because its failure was reported, and return the one that begins."""
        self._failure = failure
        self.needs_polling = True  # even if the library has reported it
        return ErrorWindow(self._stream, self._log, failure.code)

    def failure(self, function: str) -> AclError | None:
        """Return the failure of a task of this window, if one is known without asking."""
        if self._failure is None and not needs_polling and self.seen != lib.ascend_rt_failed_task_count():
            self._failure = self._look(function)
        return self._failure

    def next_after_all(self) -> ErrorWindow:
        """Return the window that goes on after a synchronization of all streams: a new one, if this has failed."""
        failure = self.failure("aclrtSynchronizeDevice")
        return self if failure is None else self.next_after(failure)

    def failed_task(self, code: int) -> FailedTask | None:
        """Return the failed task that a synchronization of the stream reports with a code, if it is one.

        In STOP mode that may be a task of another stream of the context.
        """
        self.note_stream()
        for stream in (self._stream.number, ANY):
            task = newest(self.seen if stream != ANY else 0, self._stream.device, stream)
            if task is not None and task.code == code:
                return task
        return None

    def _look(self, function: str) -> AclError | None:
        if needs_polling:
            return self._ask(function)
        count = lib.ascend_rt_failed_task_count()
        number = self._stream.number if self.note_stream() else _NO_STREAM
        task = newest(self.seen, self._stream.device, number)
        if task is None:
            self.seen = count
            return None
        return error_for(task.code, function, "", task)

    def _ask(self, function: str) -> AclError | None:
        if self._stream.is_over:  # the close has reported it
            return None
        handle = self._stream.handle
        status = lib.ascend_rt_stream_status(handle)
        if is_expected(status < 0) or status != _STREAM_COMPLETE:  # only failed tasks count, not a missing context
            return None
        lib.ascend_rt_synchronize_stream(handle, FOR_EVER, self._log.into)
        log: FailureLog = self._log
        return log.deferred(function, lambda code: None)

    def note_stream(self) -> bool:
        """Note the runtime's number of the stream; return whether it has one, and not only had."""
        out = ffi.new("int32_t *")
        if self._stream.is_over:
            return False
        if is_expected(lib.aclrtStreamGetId(self._stream.handle, out)):  # a borrowed stream may be gone
            return False
        self._stream.number = int(out[0])
        return True


def again(known: AclError, function: str) -> AclError:
    """Return an error that is to be raised, of one that stays known: with a traceback it would keep objects alive."""
    return error_for(known.code, function, known.message.removeprefix(f"{known.function}: "), known.task)


def newest(above: int, device: int, stream: int) -> FailedTask | None:
    """Return the newest failed task of a device's stream among those that failed after a number of others."""
    found = ffi.new(_FAILED_TASK)
    if not lib.ascend_rt_find_failed_task(above, device, stream, found):
        return None
    return task_of(found)


def task_of(found: Any) -> FailedTask:
    """Return a failed task that the list has in C."""
    kernel = ffi.string(found.kernel).decode(errors="replace")
    return FailedTask(found.task, found.stream, found.device, found.thread, found.code, kernel)


def is_of_a_task(error: AclError) -> bool:
    """Return True if an error of a synchronization reports a failed task, and not the synchronization itself."""
    return error.task is not None or isinstance(error, (TaskFailed, DeviceLost))
