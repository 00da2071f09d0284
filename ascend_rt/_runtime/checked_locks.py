# SPDX-License-Identifier: Apache-2.0
"""Locks of :mod:`threading` for the search for deadlocks: it is certain which threads wait for one.

Python shows that a thread is in ``acquire``, but not if the thread has got the lock meanwhile and is about to go on. So
a thread that waits tries again and again, and counts: a try that began after all threads were seen waiting, and has
failed, shows that the lock is held by one of them.
"""

from __future__ import annotations

import _thread
import threading
from _thread import get_ident
from collections.abc import Callable
from typing import Any

_TRY_S = 0.02
_installed: list[bool] = []


class CheckedLock:
    """A lock that behaves as ``threading.Lock``."""

    __slots__ = ("__weakref__", "_lock", "owner")
    _make: Callable[[], Any] = staticmethod(_thread.allocate_lock)

    def __init__(self) -> None:
        self._lock = self._make()
        self.owner: int | None = None  # the thread that got it last, for texts

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquire the lock; a wait without a limit counts its tries."""
        if blocking and timeout == -1:
            tries = 0
            while not self._lock.acquire(timeout=_TRY_S):
                tries += 1
        elif not self._lock.acquire(blocking, timeout):
            return False
        self.owner = get_ident()
        return True

    __enter__ = acquire

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()

    def __repr__(self) -> str:
        return repr(self._lock)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class CheckedRLock(CheckedLock):
    """A lock that behaves as ``threading.RLock``."""

    __slots__ = ()
    _make = staticmethod(_thread.RLock)


def install() -> None:
    """Give programs these locks; locks that exist already stay as they are, and a wait for one is never reported.

    Does nothing the second time: the race check may have put its locks around these.
    """
    if _installed:
        return
    _installed.append(True)
    threading.Lock = CheckedLock  # type: ignore[assignment]
    threading.RLock = CheckedRLock  # type: ignore[assignment]
