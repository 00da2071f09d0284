# SPDX-License-Identifier: Apache-2.0
"""The locks of the package, which a forked child gets back free.

At a fork, other threads may hold locks. The child does not have these threads, so they would stay held there.
"""

from __future__ import annotations

from _thread import RLock  # because threading imports much more
from _weakrefset import WeakSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_all: WeakSet[Any] = WeakSet()


def new_lock() -> RLock:
    """Return a lock that its owner may take again, in a finalizer for instance; every lock of the package is one."""
    lock = RLock()
    _all.add(lock)
    return lock


def is_held_elsewhere(lock: Any) -> bool:
    """Return whether another thread holds a lock."""
    if not lock.acquire(blocking=False):
        return True
    lock.release()
    return False


def renew() -> None:
    """In a forked child: free the locks that other threads held; those of the thread that has forked stay its own."""
    for lock in _all:
        if is_held_elsewhere(lock):
            lock._at_fork_reinit()
