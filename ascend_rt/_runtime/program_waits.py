# SPDX-License-Identifier: Apache-2.0
"""Waits of Python threads for each other, for the simulator's search for deadlocks.

Threads are named as waiting if all were in the same waits at an earlier question: then all of them were waiting at the
same time, between the two. A wait that is not in the table, such as one in ``read``, may end
at any time, and so may one with a time limit and one that a signal's handler may end: none of these is ever named.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from _thread import get_ident
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import NamedTuple

from ascend_rt._runtime import call_site
from ascend_rt._runtime.checked_locks import CheckedLock

_STANDARD = os.path.dirname(threading.__file__) + os.sep
"""Directory of the standard library, whose frames are left out of stacks."""


class Wait(NamedTuple):
    """A wait of a thread."""

    thing: object
    """The object, the same as long as the wait is the same."""

    awaited: str
    tries: int | None = None
    """Failed tries so far; None if the object shows by itself that the wait goes on."""

    def is_same(self, before: Wait) -> bool:
        """Return whether this is the wait that was seen before."""
        return self.thing is before.thing

    def goes_on(self, before: Wait) -> bool:
        """Return whether a try that began after the wait was seen has failed."""
        return self.tries is None or before.tries is None or self.tries >= before.tries + 2


_Frames = Mapping[int, FrameType]


def _of_condition(frame: FrameType, _frames: _Frames) -> Wait | None:
    here = frame.f_locals
    waiter, condition = here.get("waiter"), here["self"]
    is_queued = "saved_state" in here and waiter in condition._waiters  # notify() takes it out
    return Wait(waiter, "another thread of the program") if is_queued and here.get("timeout") is None else None


def _of_lock(frame: FrameType, frames: _Frames) -> Wait | None:
    here = frame.f_locals
    lock, tries = here["self"], here.get("tries")
    if tries is None:
        return None
    owner = frames.get(lock.owner) and f", which {agent(lock.owner)} has"
    return Wait(frame, f"a lock{owner or ''}", tries)


def _of_join(frame: FrameType, frames: _Frames) -> Wait | None:
    here = frame.f_locals
    thread: threading.Thread = here["self"]
    has_limit = here.get("timeout") not in (None, -1)
    return None if has_limit or thread.ident not in frames else Wait(frame, f"the end of {agent(thread.ident)}")


def _of_shutdown(frame: FrameType, frames: _Frames) -> Wait | None:
    threads = list(threading._active.values())  # type: ignore[attr-defined]
    others = [it for it in threads if not it.daemon and it.ident != get_main()]
    is_awaited = any(it.ident in frames for it in others)
    return Wait(frame, "the end of the other threads") if is_awaited else None


_Rule = Callable[[FrameType, _Frames], Wait | None]


def _rules() -> dict[CodeType, _Rule]:
    rules: dict[CodeType, _Rule] = {
        threading.Condition.wait.__code__: _of_condition,
        CheckedLock.acquire.__code__: _of_lock,
        threading.Thread.join.__code__: _of_join,
        threading._shutdown.__code__: _of_shutdown,  # type: ignore[attr-defined]
    }
    older = getattr(threading.Thread, "_wait_for_tstate_lock", None)  # until Python 3.12
    return rules if older is None else rules | {older.__code__: _of_join}


_RULES = _rules()
_RUN = threading.Thread.run.__code__
_seen: dict[int, Wait] = {}


def get_main() -> int | None:
    """Return the thread in which Python calls the handlers of signals."""
    return threading.main_thread().ident


def _has_handlers() -> bool:
    """Return whether a signal may make the main thread do something."""
    handlers = map(signal.getsignal, signal.valid_signals())
    return any(callable(it) and it is not signal.default_int_handler for it in handlers)


def _wait_of(thread: int, frames: _Frames) -> Wait | None:
    frame = frames[thread]
    rule = _RULES.get(frame.f_code)
    return None if rule is None or (thread == get_main() and _has_handlers()) else rule(frame, frames)


def stuck(frames: _Frames) -> set[int]:
    """Return the threads that are certain to wait for others; called again and again.

    They are the same threads in the same waits as at the first of some questions, or none.

    Parameters
    ----------
    frames : mapping
        The innermost frame of each thread.
    """
    waits = {thread: wait for thread in frames if (wait := _wait_of(thread, frames)) is not None}
    is_same = waits.keys() == _seen.keys() and all(wait.is_same(_seen[thread]) for thread, wait in waits.items())
    if not is_same:
        _seen.clear()
        _seen.update(waits)
        return set()
    return set(waits) if all(wait.goes_on(_seen[thread]) for thread, wait in waits.items()) else set()


# --- texts -----------------------------------------------------------------------------------------------------------


def agent(thread: int | None) -> str:
    """Return the name of a thread in reports: its number in the system."""
    known = threading._active.get(thread)  # type: ignore[attr-defined]
    return f"thread {_number_of(thread) if known is None else known.native_id}"


def _number_of(thread: int | None) -> int | None:
    """Return the number in the system of a thread that runs but is not of Python's, as those of host functions."""
    if thread is None or sys.platform != "linux":
        return thread
    return ~(time.pthread_getcpuclockid(thread) >> 3)  # Linux numbers the clock of a thread's processor time by it


def _is_standard(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file.startswith(_STANDARD) and "site-packages" not in file


def _program_frames(frame: FrameType | None) -> list[FrameType]:
    frames = []
    while frame is not None:
        if not call_site.is_inside(frame):
            frames.append(frame)
        frame = frame.f_back
    return [it for it in frames if not _is_standard(it)] or frames


def _function_of(frame: FrameType) -> str:
    """Return the function of the program's innermost call into the standard library, such as ``Event.wait``."""
    called = frame
    while (outer := called.f_back) is not None and _is_standard(outer) and outer.f_code is not _RUN:
        called = outer
    name = called.f_code.co_name
    if "self" not in called.f_locals:
        return name
    public = next(it.__name__ for it in type(called.f_locals["self"]).__mro__ if not it.__name__.startswith("_"))
    return f"{public.removeprefix('Checked')}.{name}"


def describe(thread: int) -> list[str]:
    """Return lines about a thread: its name, the function in which it waits, the thing awaited, and places."""
    frames = sys._current_frames()
    frame = frames.get(thread)
    if frame is None:
        return []
    wait = _wait_of(thread, frames) if thread != get_ident() else None
    function, awaited = ("", "") if wait is None else (_function_of(frame), f"waits for {wait.awaited}")
    places = [f"{it.f_code.co_filename}:{it.f_lineno} in {it.f_code.co_name}" for it in _program_frames(frame)]
    return [agent(thread), function, awaited, *places]
