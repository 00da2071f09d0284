# SPDX-License-Identifier: Apache-2.0
"""Order between the threads of a program, noted for the race check (``ascend-rt check``).

Without ``--host-threads`` all threads of the program have one clock, and only the handovers of host functions count.

:func:`install` replaces what Python's libraries order threads by: starts and joins of threads, locks, events, queues,
futures, and calls into event loops. A thread releases its knowledge under the address of an object, and another one
acquires it there (``aclsimNoteHostRelease``, ``aclsimNoteHostAcquire``). Semaphores, barriers, conditions and futures
are built of the locks of :mod:`threading`, and need nothing else. Queues and executors have locks that order any two of
their users; these are not followed, but each item orders the thread that puts it before the one that gets it.

Executed at Python's start, so it imports nothing of the package. The address of an object may become that of another
one, and small numbers are one object: the check may then see too much order, never too little.
"""

from __future__ import annotations

import _thread
import functools
import queue
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

# Modules whose locks guard their own state, and packages.
_INNER = frozenset(("concurrent.futures.process", "concurrent.futures.thread", "logging", "queue"))
_INNER_PACKAGE = "ascend_rt."

_SEAM = "ascend_rt._runtime.driver"
_NOTHING = type(sys)("")
_replaced: list[tuple[Any, str, Any]] = []


# --- notes -----------------------------------------------------------------------------------------------------------


def _note(function: str, key: int) -> None:
    seam: Any = sys.modules.get(_SEAM)
    loaded = vars(getattr(seam, "lib", _NOTHING))  # before the library is loaded there is nothing to know
    if function in loaded and function not in seam.stand_ins and seam.usable():
        loaded[function](seam.pointer(key))


def release(thing: object) -> None:
    """Hand over what the calling thread knows, by the address of an object."""
    _note("aclsimNoteHostRelease", id(thing))


def acquire(thing: object) -> None:
    """Come after all that was handed over so."""
    _note("aclsimNoteHostAcquire", id(thing))


class _End:
    """The key of a thread's end, which is another one than that of its start."""


# --- locks -----------------------------------------------------------------------------------------------------------


def _is_inner() -> bool:
    """Return whether a lock is made for one of these modules, perhaps as a part of another object."""
    caller: FrameType | None = sys._getframe(2)
    while caller is not None and caller.f_globals.get("__name__") == "threading":
        caller = caller.f_back
    name = "" if caller is None else caller.f_globals.get("__name__", "")
    return name in _INNER or str(name).startswith(_INNER_PACKAGE)


class _Lock:
    """A lock that is followed."""

    _make: Callable[[], Any] = _thread.allocate_lock

    def __new__(cls) -> Any:
        return cls._make() if _is_inner() else object.__new__(cls)

    def __init__(self) -> None:
        self._lock = type(self)._make()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        is_taken: bool = self._lock.acquire(blocking, timeout)
        if is_taken:
            acquire(self)
        return is_taken

    def release(self) -> None:
        release(self)
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()

    def __repr__(self) -> str:
        return repr(self._lock)

    def __getattr__(self, name: str) -> Any:  # locked, and what a release of Python has besides
        if name == "_lock":
            raise AttributeError(name)
        return getattr(self._lock, name)


class _RLock(_Lock):
    """The same for a lock that its owner may take again."""

    _make = _thread.RLock

    def _release_save(self) -> Any:  # called by conditions
        release(self)
        return self._lock._release_save()

    def _acquire_restore(self, state: Any) -> None:
        self._lock._acquire_restore(state)
        acquire(self)


# --- threads and events ----------------------------------------------------------------------------------------------


def _start(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def start(self: threading.Thread) -> None:
        self._ascend_rt_end = _End()  # type: ignore[attr-defined]
        release(self)
        original(self)

    return start


def _run_inner(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run_inner(self: threading.Thread) -> None:
        acquire(self)
        try:
            original(self)
        finally:
            release(self._ascend_rt_end)  # type: ignore[attr-defined]

    return run_inner


def _ended(original: Callable[..., Any]) -> Callable[..., Any]:
    """Follow a method that may learn of a thread's end: ``join`` and ``is_alive``."""

    @functools.wraps(original)
    def method(self: threading.Thread, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        end = getattr(self, "_ascend_rt_end", None)
        if end is not None and not (is_alive(self) if result is None else result):
            acquire(end)
        return result

    is_alive = threading.Thread.is_alive if original.__name__ == "join" else original
    return method


def _releasing(original: Callable[..., Any]) -> Callable[..., Any]:
    """Follow a method that hands over by its object."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        release(self)
        return original(self, *args, **kwargs)

    return method


def _acquiring_if_true(original: Callable[..., Any]) -> Callable[..., Any]:
    """Follow a method that comes after a handover by its object if it answers with True."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        if result:
            acquire(self)
        return result

    return method


def _acquiring(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        acquire(self)
        return result

    return method


# --- queues and event loops ------------------------------------------------------------------------------------------


def _put(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def put(self: Any, item: Any, *args: Any, **kwargs: Any) -> None:
        release(item)
        original(self, item, *args, **kwargs)

    return put


def _get(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def get(self: Any, *args: Any, **kwargs: Any) -> Any:
        item = original(self, *args, **kwargs)
        acquire(item)
        return item

    return get


class _SimpleQueue(queue.SimpleQueue):  # type: ignore[type-arg]
    """The queue in C, whose methods cannot be replaced."""

    put = _put(queue.SimpleQueue.put)
    put_nowait = _put(queue.SimpleQueue.put_nowait)
    get = _get(queue.SimpleQueue.get)
    get_nowait = _get(queue.SimpleQueue.get_nowait)


_SimpleQueue.__name__ = _SimpleQueue.__qualname__ = "SimpleQueue"


class _Handed:
    """A callback of another thread, which comes after what that thread knew."""

    def __init__(self, callback: Callable[..., Any]) -> None:
        self._callback = callback
        release(self)

    def __call__(self, *args: Any) -> Any:
        acquire(self)
        return self._callback(*args)

    def __repr__(self) -> str:
        return repr(self._callback)


def _call_soon_threadsafe(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call_soon_threadsafe(self: Any, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return original(self, _Handed(callback), *args, **kwargs)

    return call_soon_threadsafe


# --- installation ----------------------------------------------------------------------------------------------------


def install() -> None:
    """Follow the order of threads from now on; locks that exist are not followed."""
    if _replaced:
        return
    from asyncio import base_events

    for name, followed in (("Lock", _Lock), ("RLock", _RLock)):
        followed._make = staticmethod(getattr(threading, name))  # perhaps those of the check for deadlocks
        _replace(threading, name, followed)
    _replace(queue, "SimpleQueue", _SimpleQueue)
    for owner, name, follow in (
        (threading.Thread, "join", _ended),
        (threading.Thread, "is_alive", _ended),
        (threading.Thread, "start", _start),
        (threading.Thread, "_bootstrap_inner", _run_inner),
        (threading.Event, "set", _releasing),
        (threading.Event, "is_set", _acquiring_if_true),
        (threading.Event, "wait", _acquiring_if_true),
        (queue.Queue, "put", _put),
        (queue.Queue, "get", _get),
        (queue.Queue, "task_done", _releasing),
        (queue.Queue, "join", _acquiring),
        (base_events.BaseEventLoop, "call_soon_threadsafe", _call_soon_threadsafe),
    ):
        _replace(owner, name, follow(getattr(owner, name)))


def uninstall() -> None:
    """Put everything back."""
    while _replaced:
        setattr(*_replaced.pop())


def _replace(owner: Any, name: str, replacement: Any) -> None:
    _replaced.append((owner, name, getattr(owner, name)))
    setattr(owner, name, replacement)
