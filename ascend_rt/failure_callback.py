# SPDX-License-Identifier: Apache-2.0
"""Functions that are called with every task that fails, even if the program does not synchronize.

The runtime calls a C function, which keeps a list (``aclrt_failures.c``). The runtime may do so on any of its threads
and while it holds its locks. The functions are therefore called on a thread of ours, the listener, which sleeps in C
until the list grows. The listener exists while there are subscriptions.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from ascend_rt._runtime import failures, lifecycle
from ascend_rt._runtime.driver import ffi, lib, provide, usable
from ascend_rt._runtime.failures import FailedTask
from ascend_rt._runtime.locks import new_lock
from ascend_rt._runtime.report import name_of, report
from ascend_rt.errors import AclWarning, NotSupported

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Subscription", "on_task_failed"]

_NO_END = 2**64 - 1

_lock = new_lock()  # a finalizer may close a subscription inside
_listener: _Listener | None = None  # for the current subscriptions


class Subscription:
    """A function that is called for failed tasks until the subscription is closed; see :func:`on_task_failed`.

    The subscription stays in force without a reference to this object. As a context manager it is closed at the end of
    the block.

    Examples
    --------
    >>> subscription = on_task_failed(print)
    >>> subscription.close()
    >>> subscription.is_closed
    True
    """

    __slots__ = ("_calling", "_function", "_since", "is_closed")

    def __init__(self, function: Callable[[FailedTask], object]) -> None:
        self._function = function
        self._since: int = lib.ascend_rt_failed_task_count()
        self._calling = new_lock()  # held during a call
        self.is_closed = False

    def close(self) -> None:
        """End the subscription and wait for a call that is in progress; closing twice is allowed.

        Called by the function itself, it does not wait. The caller must not hold a lock that the function needs.
        """
        self.is_closed = True
        if not usable():  # at the exit the function may never return, and a forked child has no listener
            return
        with _lock:
            _forget(self)
        with self._calling:
            pass

    def _report(self, number: int, task: FailedTask) -> None:
        with self._calling:
            if self.is_closed or number <= self._since:
                return
            try:
                self._function(task)
            except BaseException as error:
                report(error, self._function, f"function {name_of(self._function)} of on_task_failed")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ascend_rt.Subscription of {self._function!r}{', closed' if self.is_closed else ''}>"


def on_task_failed(function: Callable[[FailedTask], object]) -> Subscription:
    """Call a function with each task that fails from now on, without any synchronization.

    Functions are called one at a time, in the order in which they were subscribed, on a thread of the package. As this
    is not a thread of the runtime, the function may use streams after ``Device(task.device).set_current()``. An
    exception is passed to :data:`ascend_rt.callback.on_error` and ``sys.unraisablehook``; the other functions are still
    called. When the interpreter exits, the functions are called for the tasks that have failed by then, for at most
    five seconds.

    Parameters
    ----------
    function : callable
        Takes a :class:`FailedTask`.

    Returns
    -------
    Subscription
        Its ``close()`` ends the calls.

    Raises
    ------
    NotSupported
        The library has no exception callbacks; use :meth:`Stream.check` and synchronizations.

    Warns
    -----
    AclWarning
        More than 256 tasks failed during one call of the function, so some were skipped; the warning says how many.

    Notes
    -----
    ``aclrtExceptionInfoCallbackRegister``. The next synchronization of the stream raises the failure too.

    Examples
    --------
    >>> from queue import Queue
    >>> from ascend_rt import sim
    >>> failed = Queue()
    >>> with on_task_failed(failed.put):
    ...     sim.fail_task(507015, stream)
    ...     event = stream.record()
    ...     failed.get().code
    507015
    >>> try:
    ...     stream.synchronize()
    ... except TaskFailed as error:
    ...     error.code
    507015
    """
    if not callable(function):
        raise TypeError(f"expected a function that takes a FailedTask, got {type(function).__name__}")
    lifecycle.initialize()
    provide("aclrtExceptionInfoCallbackRegister")  # raises in a forked child and at the exit
    if failures.needs_polling:
        raise NotSupported(207000, "aclrtExceptionInfoCallbackRegister", failures.refusal)
    subscription = Subscription(function)
    try:
        _begin(subscription)
        return subscription
    except BaseException:  # no thread can be started; or a signal handler raised it, with the thread started
        subscription.close()
        raise


def _begin(subscription: Subscription) -> None:
    global _listener
    with _lock:
        if _listener is not None:
            _listener.subscriptions += (subscription,)
            return
        _listener = _Listener(subscription)
        _listener.start()


def _end(timeout: float) -> bool:
    """Report the tasks that have failed so far, and none after them; return True if all calls returned in time."""
    listener = _listener
    return listener is None or listener.end(timeout)


lifecycle.call_first_at_exit(_end, "a function of on_task_failed does not return")


class _Listener:
    """The thread that calls the functions, from the first subscription to the end of the last, and their list."""

    def __init__(self, first: Subscription) -> None:
        self.subscriptions: tuple[Subscription, ...] = (first,)  # replaced, never changed: the thread goes through it
        self._seen = first._since
        self._end = ffi.new("uint64_t *", _NO_END)
        self._thread = threading.Thread(target=self._listen, name="ascend_rt.on_task_failed", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self, timeout: float = 0) -> bool:
        lib.ascend_rt_end_listening(self._end)
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _listen(self) -> None:
        found = ffi.new("ascend_rt_failed_task *")
        while lib.ascend_rt_await_failed_task(self._seen, self._end, found):
            missed, self._seen = found.number - self._seen - 1, found.number
            if missed:
                _warn(missed)
            for subscription in self.subscriptions:
                subscription._report(found.number, failures.task_of(found))


def _forget(subscription: Subscription) -> None:
    global _listener
    listener = _listener
    if listener is None or subscription not in listener.subscriptions:
        return
    listener.subscriptions = tuple(it for it in listener.subscriptions if it is not subscription)
    if not listener.subscriptions:  # another one begins with the next subscription
        _listener = None
        lib.ascend_rt_end_listening(listener._end)


def _warn(missed: int) -> None:
    try:
        warnings.warn(
            f"{missed} failed tasks were not reported to the functions of on_task_failed, which were too slow",
            AclWarning,
            2,
        )
    except AclWarning as error:  # the program makes errors of warnings
        report(error, on_task_failed, "on_task_failed")
