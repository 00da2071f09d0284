# SPDX-License-Identifier: Apache-2.0
"""Errors: :class:`AscendError` is the base class of all, :class:`AclError` of the failures of calls to the runtime.

Each subclass also inherits from the matching built-in exception, so ``except TimeoutError`` works too. An error that
cannot be raised, because it happens in a destructor or when the interpreter exits, becomes an :class:`AclWarning`.
Arguments of a wrong type or value, which never reach the runtime, raise ``TypeError`` and ``ValueError`` as usual, and
files that cannot be opened ``OSError``.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing typing takes longer than the first use of the simulator
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ascend_rt._runtime.captures import CaptureFailure
    from ascend_rt._runtime.failures import FailedTask
    from ascend_rt.backends.cann import Attempt

__all__ = [
    "AclError",
    "AclWarning",
    "AscendError",
    "CaptureError",
    "ClosedError",
    "ConfigurationError",
    "DeviceLost",
    "EndOfSequence",
    "ForkedProcess",
    "InvalidArgument",
    "InvalidHandle",
    "LibraryError",
    "NoContext",
    "NotSupported",
    "OutOfMemory",
    "ResourceExhausted",
    "RuntimeClosed",
    "StreamAborted",
    "TaskFailed",
    "Timeout",
    "WrongState",
]


class AscendError(Exception):
    """The base class of every exception of this package, except those for wrong arguments and unreadable files.

    Examples
    --------
    >>> try:
    ...     Device(99).set_current()
    ... except AscendError as error:
    ...     type(error).__name__
    'InvalidArgument'
    """

    def _summary(self) -> str:
        """Return the first line: what failed, and why."""
        return super().__str__()

    if sys.version_info >= (3, 11):

        def __str__(self) -> str:
            return self._summary()
    else:

        def add_note(self, note: str) -> None:
            """Add a line to the text, because these releases do not show notes in tracebacks (PEP 678)."""
            self._notes = [*getattr(self, "_notes", ()), note]

        def __str__(self) -> str:
            return "\n".join((self._summary(), *getattr(self, "_notes", ())))


class AclError(AscendError):
    """A call of the runtime failed.

    Attributes
    ----------
    code : int
        The runtime's ``aclError``.
    name : str
        Its symbolic name.
    group : str
        The layer that failed, and the kind of fault: usage, resources, or the layer itself.
    function : str
        The C function that failed.
    message : str
        The text of the runtime (``aclGetRecentErrMsg``), or the meaning of the code.
    hint : str
        A remedy.
    task : FailedTask or None
        The failed task that the call reports; None if there is none, or if the library does not report it.

    Examples
    --------
    >>> try:
    ...     Device(99).set_current()
    ... except AclError as error:
    ...     error.function, error.message
    ('aclrtSetDevice', 'aclrtSetDevice: device 99 does not exist; there are 8')
    """

    def __init__(
        self, code: int, function: str, message: str = "", task: FailedTask | None = None, *, hint: str | None = None
    ) -> None:
        name, group, meaning, usual_hint = _described(code)
        self.code = code
        self.name = name
        self.group = group
        self.function = function
        self.message = message or meaning
        self.hint = usual_hint if hint is None else hint
        self.task = task
        super().__init__(code, function, message)
        for note in self._details():
            self.add_note(note)

    @staticmethod
    def _cause_in(message: str) -> str:
        """Return a text of the runtime without a leading name of a C function."""
        name, colon, rest = message.partition(": ")
        return rest if colon and name.startswith("acl") and name.isalnum() else message

    def _summary(self) -> str:
        text = self._cause_in(self.message).partition("\n")[0]
        if self.task is not None:  # a note names its stream
            text = text.replace(f" of stream {self.task.stream}", "", 1)
        return f"{self.function}: [{self.code} {self.name}] {text}"

    def _details(self) -> Iterator[str]:
        if more := self.message.partition("\n")[2].strip("\n"):
            yield more
        if self.task is not None:
            yield f"failed: {self.task}"
            if self.task.kernel and (shown := self.task._dump()):
                yield shown
        if self.hint:
            yield f"hint: {self.hint}"


def _described(code: int) -> tuple[str, str, str, str]:
    """Return name, group, meaning and hint of a code."""
    name = f"aclError {code}"
    try:
        from ascend_rt._generated.error_table import ERRORS  # a large table, and only failures need it
    except OSError as error:  # the process cannot open more files, which must not hide the failure itself
        return name, "unknown", "error code whose meaning cannot be read", f"its meaning cannot be read: {error}"
    return ERRORS.get(code, (name, "unknown", "unknown error code", ""))


class InvalidArgument(AclError, ValueError):
    """The runtime refused an argument.

    Examples
    --------
    >>> try:
    ...     Device(99).set_current()
    ... except ValueError as error:
    ...     error.code, error.name
    (107001, 'ACL_ERROR_RT_INVALID_DEVICEID')
    """


class InvalidHandle(AclError, ValueError):
    """A handle was destroyed, is unknown or has another type; or its object has ended with its context or device.

    Examples
    --------
    >>> with Context(0) as context:
    ...     inside = Stream()
    >>> context.close()
    >>> try:
    ...     inside.synchronize()
    ... except InvalidHandle as error:
    ...     error.code
    107017
    """


class NoContext(AclError, RuntimeError):
    """The calling thread has no current context, or the object belongs to a different context.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor() as threads:
    ...     type(threads.submit(Stream).exception()).__name__
    'NoContext'
    """


class NotSupported(AclError, NotImplementedError):
    """The product, the library or the simulator does not support the call.

    Examples
    --------
    >>> try:
    ...     Event().reset(stream)  # only an event with manual_reset=True closes again
    ... except NotImplementedError as error:
    ...     error.code
    207000
    """


class OutOfMemory(AclError, MemoryError):
    """Memory of the device or the host is exhausted.

    Examples
    --------
    >>> try:
    ...     Buffer(1 << 50)
    ... except MemoryError as error:
    ...     error.code
    207001
    """


class ResourceExhausted(AclError, RuntimeError):
    """All streams, events or other objects of a device are in use.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> sim.limit("streams", 1)
    >>> try:
    ...     Stream(), Stream()
    ... except ResourceExhausted as error:
    ...     error.code
    207005
    >>> sim.limit("streams", None)
    """


class Timeout(AclError, TimeoutError):
    """An operation did not complete within its time limit.

    Examples
    --------
    >>> from ascend_rt.testing import Latch
    >>> with Latch(stream):
    ...     try:
    ...         stream.synchronize(timeout=0.01)
    ...     except TimeoutError as error:
    ...         error.name
    'ACL_ERROR_RT_STREAM_SYNC_TIMEOUT'
    """


class StreamAborted(AclError, RuntimeError):
    """The work of the stream, or of its device, was aborted.

    Examples
    --------
    >>> from ascend_rt.testing import Latch
    >>> with Latch(stream):
    ...     event = stream.record()
    ...     stream.abort()
    >>> try:
    ...     event.synchronize()
    ... except StreamAborted as error:
    ...     error.code
    107023
    """


class TaskFailed(AclError, RuntimeError):
    """A task of a stream failed on the device; ``task`` says which one, if the library reports it.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> sim.fail_task(507015, stream)
    >>> event = stream.record()
    >>> try:
    ...     stream.synchronize()
    ... except TaskFailed as error:
    ...     error.code, error.task.stream == stream.id
    (507015, True)
    """


class DeviceLost(AclError, RuntimeError):
    """The device does not respond any more.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> Device(1).set_current()
    >>> sim.lose_device(1)
    >>> try:
    ...     Stream()
    ... except DeviceLost as error:
    ...     error.code
    507010
    >>> Device(1).reset()  # which ends the loss
    >>> Device(0).set_current()
    """


class CaptureError(AclError, RuntimeError):
    """The capture of a stream ended without a graph.

    Attributes
    ----------
    failures : tuple of CaptureFailure
        The calls that failed during the capture, with their places in the program; the first may have broken it.

    Examples
    --------
    >>> other = Stream()
    >>> try:
    ...     with stream.capture():
    ...         other.wait(stream)
    ...         event = other.record()  # and stream does not wait for it
    ... except CaptureError as error:
    ...     error.name
    'ACL_ERROR_RT_STREAM_UNJOINED'
    """

    def __init__(
        self, code: int, function: str, message: str = "", *, failures: tuple[CaptureFailure, ...] = ()
    ) -> None:
        super().__init__(code, function, message)
        self.failures = failures
        for error, place in failures:
            self.add_note(f"while capturing, at {place}: {error._summary()}")


class ClosedError(AscendError, ValueError):
    """An object was used after its ``close()``.

    Examples
    --------
    >>> closed = Stream()
    >>> closed.close()
    >>> try:
    ...     closed.synchronize()
    ... except ClosedError as error:
    ...     print(error)
    this stream is closed
    """


class EndOfSequence(AscendError, EOFError):
    """The message received from a channel is the end of a sequence.

    Attributes
    ----------
    has_failed : bool
        The sender has failed, and the sequence is not complete.
    arrays : tuple of numpy.ndarray
        Arrays of the same message; none if it was sent by :meth:`Channel.end`.

    Examples
    --------
    >>> from ascend_rt import Channel, Device
    >>> Device(0).set_current()
    >>> with Channel("numbers", 2) as channel:
    ...     channel.end()
    ...     try:
    ...         channel.receive()
    ...     except EOFError as end:
    ...         print(end)
    the sender has ended the sequence
    """

    def __init__(self, arrays: tuple[Any, ...] = (), *, has_failed: bool = False) -> None:
        super().__init__("the sender has " + ("failed" if has_failed else "ended the sequence"))
        self.arrays = arrays
        self.has_failed = has_failed


class WrongState(AscendError, RuntimeError):
    """The call is not allowed in this state or on this thread; the message says when it is allowed.

    Examples
    --------
    >>> try:
    ...     use("cann" if library().backend == "sim" else "sim")
    ... except WrongState as error:
    ...     print(str(error)[-21:])
    before the first call
    """


class ConfigurationError(AscendError, ValueError):
    """A setting is wrong: an environment variable, the argument of :func:`use`, or a profile of a simulated machine.

    Examples
    --------
    >>> try:
    ...     use("gpu")
    ... except ConfigurationError as error:
    ...     print(error)
    use('gpu') is not one of auto, cann, sim
    """


class LibraryError(AscendError, ImportError):
    """No usable library was found; the message lists each place that was tried and what was wrong there.

    Attributes
    ----------
    attempts : tuple of Attempt
        The places that were tried, as data.

    Examples
    --------
    >>> import os, subprocess, sys
    >>> nowhere = {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": "/nowhere/libascendcl.so"}
    >>> program = [sys.executable, "-c", "import ascend_rt; ascend_rt.library()"]
    >>> ended = subprocess.run(program, env={**os.environ, **nowhere}, capture_output=True, text=True)
    >>> "LibraryError: no library of CANN can be used; tried:" in ended.stderr
    True
    """

    def __init__(self, message: str, attempts: tuple[Attempt, ...] = ()) -> None:
        super().__init__(message)
        self.attempts = attempts


class RuntimeClosed(AscendError, RuntimeError):
    """The interpreter is exiting and the runtime was released, so C functions cannot be called any more.

    Examples
    --------
    >>> import subprocess, sys
    >>> program = "import atexit; from ascend_rt import Device; atexit.register(Device.count); Device.count()"
    >>> ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    >>> "RuntimeClosed: aclrtGetDeviceCount: the interpreter is exiting" in ended.stderr
    True
    """


class ForkedProcess(AscendError, RuntimeError):
    """The process was forked after the runtime had been used in its parent.

    Examples
    --------
    >>> import os
    >>> child = os.fork()
    >>> if child == 0:
    ...     try:
    ...         Stream()
    ...     except ForkedProcess:
    ...         os._exit(42)
    >>> os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    42
    """


class AclWarning(RuntimeWarning):
    """An error where no exception can be raised, or a choice that the program should know of.

    Examples
    --------
    >>> import warnings
    >>> from ascend_rt import sim
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     discarded = Stream()
    ...     sim.fail_task(507015, discarded)
    ...     event = discarded.record()
    ...     del discarded
    >>> [warning.category.__name__ for warning in caught if "507015" in str(warning.message)]
    ['AclWarning']
    """
