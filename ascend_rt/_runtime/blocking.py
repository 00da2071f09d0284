# SPDX-License-Identifier: Apache-2.0
"""Waits that Ctrl-C ends at once, and waits of asyncio.

Python handles signals in its main thread, and only between two instructions. So when a wait of the main thread takes
longer than a moment, another thread makes the call, and the main thread waits for that thread, which a signal can
interrupt. The call that is left behind comes back soon from the vendor's library, which holds locks while it waits. In
the simulator, which looks for deadlocks, waits for streams and events go on, and one for a device comes back. A wait
for a device blocks no other thread for long in either library. A call that was left behind may receive the failure of
a task, which the runtime reports only once: it notes it in the log that the next synchronization of the same stream or
device looks at. Tasks of asyncio wait in the same way.
"""

from __future__ import annotations

import _thread
import os
import types
from collections.abc import Callable, Generator
from contextlib import suppress
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from ascend_rt._runtime import settings, threads
from ascend_rt._runtime.driver import failure, ffi, is_expected, lib, load, raise_kept, recent_message
from ascend_rt._runtime.timeouts import FOR_EVER

if TYPE_CHECKING:
    from ascend_rt._runtime.failures import FailureLog

WOULD_WAIT = -1
"""Answer of the functions ``ascend_rt_synchronize_…`` in the main thread instead of waiting long."""

ATTEMPT_MS = 50
"""Limit of a call that is repeated until it succeeds: it ends that soon after a signal, or when its waiter leaves."""

_FOLLOWS_THREADS = os.environ.get("ASCEND_RT_CHECK_HOST_THREADS") == "1"

_INTERRUPTED = lib.ACL_ERROR_RT_WAIT_TIMEOUT  # only the simulator, for a signal of the main thread

_LIMITED = {
    "aclrtSynchronizeDevice": "aclrtSynchronizeDeviceWithTimeout",
    "aclrtSynchronizeEvent": "aclrtSynchronizeEventWithTimeout",
    "aclrtSynchronizeStream": "aclrtSynchronizeStreamWithTimeout",
}
_WAITS = {
    "aclrtSynchronizeDevice": "ascend_rt_wait_for_device",
    "aclrtSynchronizeEvent": "ascend_rt_wait_for_event",
    "aclrtSynchronizeStream": "ascend_rt_wait_for_stream",
}


def follow(step: Literal["release", "acquire"], thing: object) -> None:
    """Hand over what the calling thread knows, or come after that, if the check for races follows threads."""
    if _FOLLOWS_THREADS:
        from ascend_rt._startup import host_threads

        getattr(host_threads, step)(thing)


class _Call:
    """A call that waits on a separate thread: its code, and the runtime's text for it."""

    def __init__(self, function: str) -> None:
        self._code = 0
        self._message = ""
        self._error: BaseException | None = None  # in place of a code
        self.function = function
        self.thread = 0
        self.is_under_way = False
        self.has_ended = False
        self._is_left = ffi.new("int32_t *")

    def run(self, notify: Callable[[], object]) -> None:
        """Make the call, and signal its end; the waiter may have left."""
        follow("acquire", self)
        self.thread = _thread.get_ident()
        self.is_under_way = True
        try:
            self._code = self._call()
            self.is_under_way = False
            self._message = recent_message()
        except BaseException as error:  # the library lacks the function, say, or the program ends
            self._error = error
        follow("release", self)
        self.has_ended = True
        notify()

    def _call(self) -> int:
        raise NotImplementedError  # each kind of call has its own

    def start(self, notify: Callable[[], object]) -> None:
        """Make the call on another thread."""
        follow("release", self)
        try:
            _thread.start_new_thread(self.run, (notify,))
        except RuntimeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                raise  # a signal handler raised it, in another frame
            self.run(notify)  # no thread can be started

    def result(self) -> tuple[int, str]:
        """Return the code and the runtime's text for it, or raise what the call has raised."""
        follow("acquire", self)
        error, self._error = self._error, None  # or its traceback would be a cycle
        if error is not None:
            raise error
        raise_kept(self._code)
        return self._code, self._message

    def leave(self) -> None:
        """Discard the result, which no thread waits for any more."""
        self._is_left[0] = True


class _Wait(_Call):
    """A wait for a stream, an event or the device, in the same context as its waiter."""

    def __init__(self, function: str, limit: int, arguments: tuple[Any, ...], log: FailureLog | None) -> None:
        super().__init__(function)
        self._object = arguments
        self._limit = limit
        self._log = log  # kept alive: the call may note a failure in it after its waiter has left
        self._context = ffi.new("aclrtContext *")
        is_expected(lib.aclrtGetCurrentContext(self._context))  # NULL without a context, which the call reports

    def _call(self) -> int:
        function = getattr(lib, _WAITS[self.function.removesuffix("WithTimeout")])
        into = () if self._log is None else (self._log.into,)
        return int(function(self._context[0], *self._object, self._limit, self._is_left, *into))


class _Attempts(_Call):
    """Calls with a short limit, until one does something else than exceed it, or the waiter leaves."""

    def __init__(self, function: str, attempt: Callable[[int], int], over: int) -> None:
        super().__init__(function)
        self._attempt = attempt
        self._over = over

    def _call(self) -> int:
        code = self._over
        while code == self._over and not self._is_left[0]:
            code = self._attempt(ATTEMPT_MS)
            is_expected(code, self._over)
        return code


def limited(function: str, limit: int) -> str:
    """Return the name of the C function that waits with a limit in milliseconds, or of the function without a limit."""
    return function if limit == FOR_EVER else _LIMITED[function]


def wait(function: str, limit: int, *arguments: Any, log: FailureLog | None = None) -> tuple[int, str]:
    """Make a call that waits; return its code and the runtime's text for it.

    Parameters
    ----------
    function, limit, *arguments : str, int, Any
        Which call; the limit in milliseconds.
    log : FailureLog, optional
        Of what is waited for, to note a failed task in; only an event has none.
    """
    call = _Wait(function, limit, arguments, log)
    waiter = threads.Waiter(call)
    try:
        call.start(waiter.wake)
        threads.begin_wait(waiter)
        waiter.sleep()
    except BaseException:  # raised by a signal handler
        call.leave()
        raise
    finally:
        threads.end_wait()
    return call.result()


def wait_for_context(log: FailureLog, limit: int = FOR_EVER) -> tuple[int, str]:
    """Wait for the work of the thread's context; return the code and the runtime's text for it."""
    code = lib.ascend_rt_synchronize_device(limit, log.into)
    if code == WOULD_WAIT:
        return wait(limited("aclrtSynchronizeDevice", limit), limit, log=log)
    return code, recent_message() if code else ""


async def wait_async(function: str, *arguments: Any, log: FailureLog | None = None) -> tuple[int, str]:
    """Make a call that waits while the event loop goes on; return its code and the runtime's text for it."""
    return await _end_of(_Wait(function, FOR_EVER, arguments, log))


@types.coroutine
def turn() -> Generator[None, None, None]:
    """Under the check for races, let the event loop run other coroutines once, whether or not a wait is over already.

    Otherwise it would depend on luck if they go on before the caller learns of it.
    """
    if settings.looks_for_races():
        yield


def attempts(attempt: Callable[[int], int], over: int, limit: int, *, are_short: bool = False) -> int:
    """Repeat a call until it does something else than exceed its time limit, or the limit of all is over.

    The simulator, which looks for deadlocks and for signals, gets one call. Calls of the vendor's library are short, so
    that Python handles signals between them.

    Parameters
    ----------
    attempt : callable
        Makes the call within a limit in milliseconds, and returns its code.
    over : int
        The code of a call whose limit is over.
    limit : int
        In milliseconds; 0 for one look, or FOR_EVER.
    are_short : bool
        Calls are short on the simulator, too.

    Returns
    -------
    int
        The code of the last call.
    """
    most = ATTEMPT_MS if are_short or load().backend != "sim" else FOR_EVER
    end = None if limit == FOR_EVER else monotonic() + limit / 1000
    while True:
        code = attempt(limit if most == FOR_EVER or 0 <= limit < most else most)
        if code not in (over, _INTERRUPTED) or (code == over and end is not None and monotonic() >= end):
            return code
        is_expected(code)
        limit = FOR_EVER if end is None else max(0, ceil((end - monotonic()) * 1000))


async def attempts_async(function: str, attempt: Callable[[int], int], over: int) -> None:
    """Repeat a call while the event loop goes on, as long as its time limit is over.

    Parameters
    ----------
    function : str
        The C function, for errors.
    attempt : callable
        Makes the call within a limit in milliseconds, and returns its code. If the waiter leaves, the attempt that is
        under way is the last one, and it may still succeed.
    over : int
        The code of a call whose limit is over.
    """
    code, message = await _end_of(_Attempts(function, attempt, over))
    if code:
        raise failure(code, function, message=message)


async def _end_of(call: _Call) -> tuple[int, str]:
    import asyncio  # large, and only programs that use it already get here

    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def notify() -> None:
        with suppress(RuntimeError):  # the loop was closed together with the task that waited
            loop.call_soon_threadsafe(ended.set)

    try:
        call.start(notify)
        await ended.wait()
    except BaseException:  # cancelled
        call.leave()
        raise
    return call.result()
