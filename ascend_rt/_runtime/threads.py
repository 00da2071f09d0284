# SPDX-License-Identifier: Apache-2.0
"""The threads that may call the runtime, which the simulator needs before it reports that a wait can never end.

Threads of other libraries, such as those of OpenBLAS, are not listed: they sleep until they get work. The simulator
knows a thread that uses the runtime without Python by its calls.
"""

from __future__ import annotations

import _thread
import sys
from _thread import get_ident
from importlib import import_module

from ascend_rt._runtime import outsiders, settings
from ascend_rt._runtime.driver import check_usable, ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

_LOOK_S = 0.05
"""Longest time until a wait notices a signal: Python may miss one that arrives just before a wait for a lock."""

_FOR_CALL, _FOR_PROGRAM = 1, 2
"""Values of ``isWaiting``."""

_LONGEST_ANSWER_S = 0.05
"""Longest time until an idle thread answers: a thread that runs a signal handler does not answer."""


class Waiter:
    """A thread of Python that does nothing but wait for another one while that is in a call.

    As long as it runs :meth:`sleep` itself: a signal handler that interrupts it may do anything.
    """

    def __init__(self, call: Any) -> None:
        self._call = call
        self._wake = _thread.allocate_lock()
        self._wake.acquire()
        self._questions: list[_thread.LockType] = []

    def wake(self) -> None:
        try:  # without contextlib, which the first use of the simulator need not import
            self._wake.release()
        except RuntimeError:
            return  # it is awake already

    def sleep(self) -> None:
        """Sleep until the call has ended, and answer questions."""
        while not self._call.has_ended:
            self._wake.acquire(timeout=_LOOK_S)
            check_usable(self._call.function)  # not in a child that a signal handler has forked
            while self._questions:
                # Python calls the handlers of signals that have arrived after each call: after pop(), at the latest.
                self._questions.pop().release()

    @property
    def function(self) -> str:
        """Name of the C function that another thread calls."""
        return str(self._call.function)

    def is_for(self, thread: int) -> bool:
        """Return whether that thread is in the call."""
        return bool(self._call.is_under_way and self._call.thread == thread)

    def is_waiting(self, frame: FrameType | None) -> bool:
        """Return whether the thread, which is at the frame, waits."""
        return frame is not None and frame.f_code is Waiter.sleep.__code__ and self._call.is_under_way

    def has_nothing_to_do(self) -> bool:
        """Return whether the thread goes on waiting when it has called the handlers of all signals so far."""
        question = _thread.allocate_lock()
        question.acquire()
        self._questions.append(question)
        self.wake()
        return question.acquire(timeout=_LONGEST_ANSWER_S)


_waiters: dict[int, Waiter] = {}  # by thread


def install() -> None:
    """Register the provider."""
    lib.aclsimSetThreadProvider(lib.ascend_rt_threads_entry)
    if settings.looks_for_deadlocks():
        import_module("ascend_rt._runtime.program_waits")  # now: the program may use up all descriptors
        lib.aclsimSetThreadDescriber(lib.ascend_rt_describer_entry)


def waiter_of(thread: int | None) -> Waiter | None:
    """Return the wait of a thread; None if it does not wait."""
    return None if thread is None else _waiters.get(thread)


def begin_wait(waiter: Waiter) -> None:
    """Note that the calling thread waits."""
    _waiters[get_ident()] = waiter


def end_wait() -> None:
    """Note that the calling thread waits no longer."""
    _waiters.pop(get_ident(), None)


@ffi.def_extern(error=0)  # type: ignore[untyped-decorator, unused-ignore]
def ascend_rt_python_threads(threads: Any, capacity: int) -> int:
    """Name the threads of Python.

    A thread that has ended may have sent a signal whose handler has not been called yet. So the threads are looked at
    first, and then those that wait are asked.
    """
    frames = sys._current_frames()
    idle = {
        thread: waiter
        for thread, waiter in _waiters.copy().items()
        if waiter.is_waiting(frames.get(thread)) and waiter.has_nothing_to_do()
    }
    frames.update(sys._current_frames())  # a handler may have started threads
    others = outsiders.among(frames)
    able = {thread: frame for thread, frame in frames.items() if thread not in others}
    stuck = _stuck(able) if settings.looks_for_deadlocks() and len(frames) <= capacity else ()
    for place, (thread, frame) in zip(range(capacity), frames.items(), strict=False):
        threads[place].thread = thread
        is_idle = thread in others or (thread in idle and idle[thread].is_waiting(frame))
        threads[place].isWaiting = _FOR_CALL if is_idle else _FOR_PROGRAM if thread in stuck else 0
    return len(frames)


def _stuck(frames: dict[int, FrameType]) -> set[int]:
    from ascend_rt._runtime import program_waits  # only a check needs it

    return program_waits.stuck(frames)


@ffi.def_extern(error=0)  # type: ignore[untyped-decorator, unused-ignore]
def ascend_rt_python_describe(thread: int, text: Any, size: int) -> int:
    """Describe a thread, or the one on whose behalf it is in a call."""
    from ascend_rt._runtime import program_waits

    asking = next((it for it, waiter in _waiters.copy().items() if waiter.is_for(thread)), thread)
    lines = (line.replace("\n", " ") for line in program_waits.describe(asking))
    described = "\n".join(lines).encode(errors="backslashreplace")[:size]
    ffi.memmove(text, described, len(described))
    return len(described)
