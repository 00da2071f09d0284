# SPDX-License-Identifier: Apache-2.0
"""Which tasks have failed, and which of it a program has been told.

The runtime reports the failure of a task once, at the next synchronization of its stream, and never through an event
(docs/semantics/events_streams_sync.md, section 1). So each stream has a :class:`Work`, which ends with such a report,
and an event remembers the work that it was recorded in: if that has failed, the event says so.

The runtime tells an exception callback what has failed; it is in C and keeps a list (``_aclrt_failures.c``). A library
that has no such callback is asked by a synchronization of the stream, once that is idle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ascend_rt import _handles
from ascend_rt._driver import address, call, ffi, is_expected, lib
from ascend_rt.errors import WHOLE_DEVICE, AclError, DeviceLost, NotSupported, TaskFailed, error_for

if TYPE_CHECKING:
    from ascend_rt._lifecycle import Era

ANY = 0xFFFFFFFF
_FAILED_TASK = ffi.typeof("ascend_rt_failed_task *")
_STREAM_COMPLETE = lib.ACL_STREAM_STATUS_COMPLETE

must_ask = True
"""Whether the library tells no exception callback: then only the stream itself can be asked."""

refusal = ""
"""Why it does not."""

untold: dict[int, AclError] = {}
"""Failures that the runtime has told, but no synchronization of the stream has raised yet: by the stream's handle."""

untold_of_context: dict[int, AclError] = {}
"""The same of synchronizations of a device, which are about the streams of a context: by its handle."""


class FailedTask(NamedTuple):
    """A task that has failed, as reported to exception callbacks.

    Attributes
    ----------
    task, stream, device : int
        The runtime's numbers of the task, of its stream and of the device.
    thread : int
        The kernel's number of the thread that submitted it (``gettid``).
    code : int
        The ``aclError`` that it failed with.
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


def listen() -> None:
    """Note the tasks that fail from now on, if the library tells."""
    global must_ask, refusal
    try:
        call("aclrtExceptionInfoCallbackRegister", lib.ascend_rt_exception_entry)
    except NotSupported as error:  # only newer releases have a list of callbacks; the single one is the program's
        refusal = error.message
        return
    must_ask = False


class Life:
    """A stream of the runtime, for all that outlives it: after its end, its handle must not reach the library."""

    __slots__ = ("device", "era", "handle", "is_destroyed")

    def __init__(self, handle: Any, era: Era) -> None:
        self.handle = handle
        self.era = era  # of its context; the host's: unknown
        self.device = era.device_id if era.device_id >= 0 else ANY  # unknown
        self.is_destroyed = False  # by its owner

    @property
    def is_over(self) -> bool:
        """Return True if the stream was destroyed, by its owner or with its context."""
        return self.is_destroyed or self.era.is_over


class Work(_handles.Work):
    """What a stream does from one report of a failed task to the next."""

    __slots__ = ("_failure", "_stream", "told")

    def __init__(self, stream: Life, told: int = 0) -> None:
        self._stream = stream
        self.told = told  # the code of the failure that the stream has reported before; in STOP mode it stays
        self._failure: AclError | None = None
        self.seen = lib.ascend_rt_failed_task_count()  # how many failures of the process were looked at
        self.must_ask = must_ask

    @property
    def where(self) -> str:
        """The device, for texts; empty if it is not known."""
        return "" if self._stream.device == ANY else f" on device {self._stream.device}"

    def check(self, function: str) -> None:
        """Raise the failure of a task of this work, if one is known; it stays known."""
        if self._failure is None:
            self._failure = self._look(function)
        if self._failure is not None:
            failure = self._failure
            raise error_for(failure.code, function, failure.message.removeprefix(f"{failure.function}: "), failure.task)

    def next_after(self, failure: AclError) -> Work:
        """End this work, because its failure was reported, and return the one that begins."""
        self._failure = failure
        self.must_ask = True  # whatever the library has told of it
        return Work(self._stream, failure.code)

    def failure(self, function: str) -> AclError | None:
        """Return the failure of a task of this work, if one is known without asking."""
        return self._failure or (None if must_ask else self._look(function))

    def next_after_all(self) -> Work:
        """Return the work that goes on after a synchronization of all streams: a new one, if this has failed."""
        failure = self.failure("aclrtSynchronizeDevice")
        return self if failure is None else self.next_after(failure)

    def failed_task(self, code: int) -> FailedTask | None:
        """Return the failed task that a synchronization of the stream reports with a code, if it is one.

        In STOP mode that may be a task of another stream of the context.
        """
        for stream in (self._stream_id(), ANY):
            task = newest(self.seen if stream != ANY else 0, self._stream.device, stream)
            if task is not None and task.code == code:
                return task
        return None

    def _look(self, function: str) -> AclError | None:
        if must_ask:
            return self._ask(function)
        count = lib.ascend_rt_failed_task_count()
        task = newest(self.seen, self._stream.device, self._stream_id())
        if task is None:
            self.seen = count
            return None
        return error_for(task.code, function, "", task)

    def _ask(self, function: str) -> AclError | None:
        if self._stream.is_over:  # and told when it was closed
            return None
        handle = self._stream.handle
        status = lib.ascend_rt_stream_status(handle)
        if is_expected(status < 0) or status != _STREAM_COMPLETE:  # only failed tasks count, not a missing context
            return None
        code = lib.aclrtSynchronizeStream(handle)
        if not code:
            return None
        failure = untold[address(handle)] = error_for(code, function)
        return failure

    def _stream_id(self) -> int:
        out = ffi.new("int32_t *")
        if self._stream.is_over:
            return ANY - 1
        if is_expected(lib.aclrtStreamGetId(self._stream.handle, out)):  # a borrowed stream may be gone
            return ANY - 1
        return int(out[0])


def newest(above: int, device: int, stream: int) -> FailedTask | None:
    """Return the newest failed task of a stream of a device, of those that failed after so many others."""
    found = ffi.new(_FAILED_TASK)
    if not lib.ascend_rt_find_failed_task(above, device, stream, found):
        return None
    return task_of(found)


def task_of(found: Any) -> FailedTask:
    """Return a failed task that the list has in C."""
    kernel = ffi.string(found.kernel).decode(errors="replace")
    return FailedTask(found.task, found.stream, found.device, found.thread, found.code, kernel)


def is_of_a_task(error: AclError) -> bool:
    """Whether an error of a synchronization reports a task that has failed, and not the synchronization itself."""
    return error.task is not None or isinstance(error, (TaskFailed, DeviceLost))
