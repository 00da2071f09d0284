# SPDX-License-Identifier: Apache-2.0
"""Waits that Ctrl-C ends at once, and waits of asyncio.

Python handles signals in its main thread, and only between two instructions. So when a wait of the main thread takes
longer than a moment, another thread makes the call, and the main thread waits for that thread, which a signal can
interrupt. The call that is left behind comes back soon from the vendor's library, which holds locks while it waits. In
the simulator, which looks for deadlocks, waits for streams and events go on, and one for a device comes back. A wait
for a device blocks no other thread for long in either library. If a call that was left behind takes along the failure
of a task, which the runtime tells only once, the next synchronization of the same stream or device raises that. Tasks
of asyncio wait in the same way.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ascend_rt import _failures, _threads
from ascend_rt._driver import address, ffi, is_expected, is_replaced, lib, recent_message
from ascend_rt._locks import new_lock
from ascend_rt._timeout import FOR_EVER
from ascend_rt.errors import error_for

WOULD_WAIT = -1
"""What the functions ``ascend_rt_synchronize_…`` answer in the main thread instead of waiting long."""

_LEFT = -2
"""Result of the functions ``ascend_rt_wait_for_…`` that returned because their caller had left."""

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


class _Wait:
    """A call that waits, on a thread of its own in the same context: its code, and the runtime's text for it."""

    def __init__(self, function: str, limit: int, arguments: tuple[Any, ...]) -> None:
        self._code = 0
        self._message = ""
        self._error: BaseException | None = None  # in place of a code
        self.function = function
        self._object = arguments
        self._limit = limit
        self._context = ffi.new("aclrtContext *")
        is_expected(lib.aclrtGetCurrentContext(self._context))  # NULL if there is none, which the call will tell
        self._lock = new_lock()
        self.is_under_way = False
        self.has_ended = False
        self._is_left = ffi.new("int32_t *")

    def run(self, tell: Callable[[], object]) -> None:
        """Make the call, and tell its end with the lock, unless it was left."""
        code, message = 0, ""
        self.is_under_way = True
        try:
            code = self._call()
            self.is_under_way = False
            message = recent_message()
        except BaseException as error:  # the library lacks the function, say, or the program ends
            self._error = error
        if code == _LEFT:
            return
        with self._lock:
            self._code, self._message = code, message
            self.has_ended = True
            if self._is_left[0]:
                self._keep_failure()
            else:
                tell()

    def _call(self) -> int:
        if is_replaced(self.function):
            return int(getattr(lib, self.function)(*self._object, *(() if self._limit == FOR_EVER else (self._limit,))))
        function = getattr(lib, _WAITS[self.function.removesuffix("WithTimeout")])
        return int(function(self._context[0], *self._object, self._limit, self._is_left))

    def start(self, tell: Callable[[], object]) -> None:
        """Make the call on another thread."""
        try:
            _thread.start_new_thread(self.run, (tell,))
        except RuntimeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                raise  # of a signal handler, which has a frame of its own
            self.run(tell)  # no thread can be started

    def result(self) -> tuple[int, str]:
        """Return the code and the runtime's text for it, or raise what the call has raised."""
        error, self._error = self._error, None  # or its traceback would be a cycle
        if error is not None:
            raise error
        return self._code, self._message

    def leave(self) -> None:
        """Go without the result: nobody waits for it any more."""
        with self._lock:
            self._is_left[0] = True
            if self.has_ended:
                self._keep_failure()

    def _keep_failure(self) -> None:
        error = error_for(self._code, self.function, self._message) if self._code else None
        if error is None or not _failures.is_of_a_task(error):
            return
        if self._object:
            _failures.untold[address(self._object[0])] = error
        else:
            _failures.untold_of_context[address(self._context[0])] = error


def limited(function: str, limit: int) -> str:
    """Return the name of the C function that waits with a limit in milliseconds, or of the one without."""
    return function if limit == FOR_EVER else _LIMITED[function]


def wait(function: str, limit: int, *arguments: Any) -> tuple[int, str]:
    """Make a call that waits; return its code and the runtime's text for it."""
    call = _Wait(function, limit, arguments)
    waiter = _threads.Waiter(call)
    try:
        call.start(waiter.wake)
        _threads.begin_wait(waiter)
        waiter.sleep()
    except BaseException:  # of a signal handler
        call.leave()
        raise
    finally:
        _threads.end_wait()
    return call.result()


def wait_for_context() -> tuple[int, str]:
    """Wait for the work of the thread's context, before it is destroyed: its destruction would wait too."""
    code = lib.ascend_rt_synchronize_device(FOR_EVER)
    if code == WOULD_WAIT:
        return wait("aclrtSynchronizeDevice", FOR_EVER)
    return code, recent_message() if code else ""


async def wait_async(function: str, *arguments: Any) -> tuple[int, str]:
    """Make a call that waits while the event loop goes on; return its code and the runtime's text for it."""
    import asyncio  # large, and only programs that use it already get here

    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def tell() -> None:
        with suppress(RuntimeError):  # the loop was closed, and who waited is gone
            loop.call_soon_threadsafe(ended.set)

    call = _Wait(function, FOR_EVER, arguments)
    try:
        call.start(tell)
        await ended.wait()
    except BaseException:  # cancelled
        call.leave()
        raise
    return call.result()
