# SPDX-License-Identifier: Apache-2.0
"""Errors: :class:`AscendError` is the base of all, :class:`AclError` of those that a call of the runtime ended with.

Each subclass also inherits the Python exception that means the same, so ``except TimeoutError`` works too. What cannot
be raised, because it happens in a destructor or at the interpreter's exit, becomes an :class:`AclWarning`. Arguments of
a wrong type or value, which never reach the runtime, raise ``TypeError`` and ``ValueError`` as everywhere in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ascend_rt._captured import CaptureFailure
    from ascend_rt.backends.cann import Attempt


class AscendError(Exception):
    """The base of every exception of this package but those for wrong arguments."""


class FailedTask(NamedTuple):
    """A task that has failed, as exception callbacks are told.

    Attributes
    ----------
    task, stream, device : int
        The runtime's numbers of the task, of its stream and of the device.
    thread : int
        The kernel's number of the thread that submitted it (``gettid``).
    code : int
        The ``aclError`` that it failed with.
    kernel : str
        The name of its function; "" for other tasks, and if the library does not tell.
    """

    task: int
    stream: int
    device: int
    thread: int
    code: int
    kernel: str

    def __str__(self) -> str:
        if self.task == _WHOLE_DEVICE:
            return f"device {self.device}"
        kernel = f" (kernel {self.kernel})" if self.kernel else ""
        return f"task {self.task}{kernel} of stream {self.stream} on device {self.device}, from thread {self.thread}"


_WHOLE_DEVICE = 0xFFFFFFFF


class AclError(AscendError):
    """A call of the runtime failed.

    Attributes
    ----------
    code : int
        The runtime's ``aclError``.
    name : str
        Its symbolic name.
    group : str
        Which layer failed, and whether the use, the resources or the layer itself is at fault.
    function : str
        The C function that failed.
    message : str
        What the runtime says about it (``aclGetRecentErrMsg``), or what the code means.
    hint : str
        What to do.
    task : FailedTask or None
        The task that failed before, and that the call reports; None if there is none, or the library does not tell.
    """

    def __init__(self, code: int, function: str, message: str = "", task: FailedTask | None = None) -> None:
        from ascend_rt._error_table import ERRORS  # a large table, and only failures need it

        name, group, meaning, hint = ERRORS.get(code, (f"aclError {code}", "unknown", "unknown error code", ""))
        self.code = code
        self.name = name
        self.group = group
        self.function = function
        self.message = message or meaning
        self.hint = hint
        self.task = task
        super().__init__(code, function, message)

    def __str__(self) -> str:
        # The runtime's text often starts with the function's name already.
        text = self.message.removeprefix(f"{self.function}: ")
        task = f"; failed: {self.task}" if self.task else ""
        hint = f" (hint: {self.hint})" if self.hint else ""
        return f"{self.function}: [{self.code} {self.name}] {text}{task}{hint}"


class InvalidArgument(AclError, ValueError):
    """An argument was refused."""


class InvalidHandle(AclError, ValueError):
    """A handle is destroyed, foreign, or of another type."""


class NoContext(AclError, RuntimeError):
    """The calling thread has no current context, or the object belongs to another one."""


class NotSupported(AclError, NotImplementedError):
    """The product, the library or the simulator does not support the call."""


class OutOfMemory(AclError, MemoryError):
    """Memory of the device or the host is exhausted."""


class ResourceExhausted(AclError, RuntimeError):
    """All streams, events or other objects of a device are in use."""


class Timeout(AclError, TimeoutError):
    """Something was not done in time."""


class StreamAborted(AclError, RuntimeError):
    """The stream or its device was aborted."""


class TaskFailed(AclError, RuntimeError):
    """A task of a stream failed on the device; ``task`` tells which one, if the library does."""


class DeviceLost(AclError, RuntimeError):
    """The device does not answer any more."""


class CaptureError(AclError, RuntimeError):
    """The capture of a stream ended without a graph.

    Attributes
    ----------
    failures : tuple of CaptureFailure
        The calls that failed meanwhile, with their places in the program; the first may have broken the capture.
    """

    def __init__(
        self, code: int, function: str, message: str = "", *, failures: tuple[CaptureFailure, ...] = ()
    ) -> None:
        super().__init__(code, function, message)
        self.failures = failures

    def __str__(self) -> str:
        meanwhile = [f"\n  while capturing, at {place}: {error}" for error, place in self.failures]
        return super().__str__() + "".join(meanwhile)


class ClosedError(AscendError, ValueError):
    """An object was used after its ``close()``."""


class WrongState(AscendError, RuntimeError):
    """What is asked for is possible, but not now, or not here; the text tells when it is."""


class LibraryError(AscendError, ImportError):
    """No usable library was found; the text lists every place that was tried and what was wrong there.

    Attributes
    ----------
    attempts : tuple of Attempt
        The same places as data.
    """

    def __init__(self, message: str, attempts: tuple[Attempt, ...] = ()) -> None:
        super().__init__(message)
        self.attempts = attempts


class RuntimeClosed(AscendError, RuntimeError):
    """The interpreter is about to end and the runtime was given back: no C function can be called any more."""


class ForkedProcess(AscendError, RuntimeError):
    """The process was forked after the runtime had been used in its parent."""


class AclWarning(RuntimeWarning):
    """Something went wrong, or was chosen, where nothing can be raised."""


_CLASSES: dict[type[AclError], tuple[int, ...]] = {
    InvalidArgument: (100000, 100003, 100006, 107000, 107001, 107006, 107016, 107018),
    InvalidHandle: (107017,),
    NoContext: (107002, 107003),
    NotSupported: (200001, 200006, 207000),
    OutOfMemory: (200000, 207001, 207018),
    ResourceExhausted: (207005, 207007, 207008, 207009, 207010),
    Timeout: (107019, 107020, 207020, 507012, 507046, 507047),
    StreamAborted: (107022, 107023),
    TaskFailed: (
        *(207003, 207016, 207017),  # overflows
        *(507011, 507013),  # of a model, of a copy
        *range(507014, 507019),  # of kernels
        *range(507034, 507037),
        *range(507042, 507046),
        *range(507048, 507051),
        *(507915, 507916),
    ),
    DeviceLost: (507010, 507901),
}
_CLASS_OF = {code: cls for cls, codes in _CLASSES.items() for code in codes}


def error_for(code: int, function: str, message: str = "", task: FailedTask | None = None) -> AclError:
    """Return the exception for a failed call, and the failed task that it reports, if it does."""
    otherwise = AclError if task is None else DeviceLost if task.task == _WHOLE_DEVICE else TaskFailed
    return _CLASS_OF.get(code, otherwise)(code, function, message, task)
