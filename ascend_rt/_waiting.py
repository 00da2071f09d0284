# SPDX-License-Identifier: Apache-2.0
"""Waits that Ctrl-C ends at once.

Python handles signals in its main thread, and only between two instructions. So when a wait of the main thread takes
longer than a moment, another thread makes the call, and the main thread waits for that thread, which a signal can
interrupt. The call that is left behind goes on. If it takes along the failure of a task, which the runtime tells only
once, the next synchronization of the same stream or device raises that.
"""

from __future__ import annotations

import _thread
from typing import Any

from ascend_rt import _failures
from ascend_rt._driver import address, ffi, lib, recent_message
from ascend_rt.errors import RuntimeClosed, error_for

WOULD_WAIT = -1
"""What the functions ``ascend_rt_synchronize_…`` answer in the main thread instead of waiting long."""

# Only locks and threads that are in C are used here: an exception of a signal handler may leave those of threading.py
# half-way in a call, with a lock taken for ever. Python may miss a signal that comes just before a wait for a lock.
_LOOK_S = 0.05


class _Wait:
    """A call that waits: its code, and the runtime's text for it."""

    def __init__(self, function: str, arguments: tuple[Any, ...]) -> None:
        self.code = 0
        self.message = ""
        self._function = function
        self._arguments = arguments
        self._context = ffi.new("aclrtContext *")
        lib.aclrtGetCurrentContext(self._context)  # NULL if there is none, which the call will tell
        self._lock = _thread.allocate_lock()
        self._ended = _thread.allocate_lock()  # released at the end
        self._ended.acquire()
        self._is_left = False

    def run(self) -> None:
        try:
            if self._context[0]:
                lib.aclrtSetCurrentContext(self._context[0])
            code = getattr(lib, self._function)(*self._arguments)
        except RuntimeClosed:  # left behind before it began, by a program that ends
            return
        message = recent_message()
        with self._lock:
            self.code, self.message = code, message
            self._ended.release()
            if self._is_left:
                self._keep_failure()

    def run_aside(self) -> None:
        try:
            try:
                _thread.start_new_thread(self.run, ())
            except RuntimeError as error:
                if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                    raise  # of a signal handler, which has a frame of its own
                self.run()  # no thread can be started
            while not self._ended.acquire(timeout=_LOOK_S):
                pass
        except BaseException:  # of a signal handler
            with self._lock:
                self._is_left = True
                self._keep_failure()  # if the call has ended
            raise

    def _keep_failure(self) -> None:
        error = error_for(self.code, self._function, self.message) if self.code else None
        if error is not None and _failures.is_of_a_task(error):
            _failures.untold[address(self._arguments[0]) if self._arguments else _failures.DEVICE] = error


def wait(function: str, *arguments: Any) -> tuple[int, str]:
    """Make a call that waits, on another thread in the same context; return its code and the runtime's text for it."""
    call = _Wait(function, arguments)
    call.run_aside()
    return call.code, call.message
