# SPDX-License-Identifier: Apache-2.0
"""When the runtime is initialised and given back: once per process, and only what we took.

The interpreter's exit is one hook in a fixed order: callbacks, streams, devices, the runtime. Objects that are
discarded later do nothing, because :func:`ascend_rt._driver.usable` is false by then.
"""

from __future__ import annotations

import atexit
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from ascend_rt._driver import call, check, ffi, leave_the_rest, lib, shutdown, supports, usable
from ascend_rt.errors import AclError, AclWarning

if TYPE_CHECKING:
    from ascend_rt.stream import Stream

# How long the exit waits for a Python callback that is still running.
_CALLBACK_GRACE_MS = 5000

_RESET, _DESTROY = "aclrtResetDevice", "aclrtDestroyContext"


class Era:
    """A device for as long as we have it open; what was made meanwhile is gone when that is over."""

    __slots__ = ("device_id", "is_over", "references")

    def __init__(self, device_id: int) -> None:
        self.device_id = device_id
        self.is_over = False
        self.references = {_RESET: 0, _DESTROY: 0}  # what gives one back -> how many we have


class Home(NamedTuple):
    """What an object lives in."""

    era: Era
    owner: object = None  # the explicit context, kept alive: the last one of a device takes along what is there


HOST = Home(Era(-1))  # of what does not go with a device

_lock = threading.RLock()  # a finalizer may set a device, or destroy a context, inside
_initialized = False
_is_initialiser = False
_eras: dict[int, Era] = {}
_deferred: list[Stream] = []
_streams: weakref.WeakValueDictionary[int, Stream] = weakref.WeakValueDictionary()


def initialize() -> None:
    """Initialise the runtime if we have not done so (``aclInit``); loads the library. Idempotent and thread-safe."""
    global _initialized, _is_initialiser
    if _initialized:
        return
    with _lock:
        if _initialized:
            return
        code = lib.aclInit(b"")
        # Somebody else in the process was first: then the call has counted, and the reference is given back at exit.
        _is_initialiser = code != lib.ACL_ERROR_REPEAT_INITIALIZE
        if _is_initialiser:
            check(code, "aclInit")
        atexit.register(_give_back)
        _initialized = True


def era_of(device_id: int) -> Era:
    """Return the era that a device is in; it begins when somebody asks, and ends with our last reference."""
    return _eras.setdefault(device_id, Era(device_id))


def only_era() -> Era | None:
    """Return the era of the only device that has one, if that is so: most programs need not ask where they are."""
    eras = tuple(_eras.values())
    return eras[0] if len(eras) == 1 else None


def set_device(device_id: int) -> None:
    """Make the primary context of a device current in this thread and count that we did (``aclrtSetDevice``)."""
    initialize()
    code = lib.aclrtSetDevice(device_id)
    if code:
        check(code, "aclrtSetDevice")
    _count(device_id, _RESET)


def reset_device(device_id: int) -> None:
    """Undo one :func:`set_device` (``aclrtResetDevice``); the last one takes along what is on the device."""
    _let_go(device_id, _RESET, device_id)


def reset_surplus(device_id: int) -> None:
    """Undo one :func:`set_device` unless it is the last of ours: the device stays open until the exit."""
    _let_go(device_id, _RESET, device_id, unless_last=True)


def count_context(device_id: int) -> Era:
    """Count an explicit context, which keeps its device open, set or not; return the era that it belongs to."""
    return _count(device_id, _DESTROY)


def destroy_context(device_id: int, handle: Any) -> None:
    """Destroy an explicit context that was counted (``aclrtDestroyContext``)."""
    _let_go(device_id, _DESTROY, handle)


def _count(device_id: int, undo: str) -> Era:
    with _lock:
        era = era_of(device_id)
        era.references[undo] += 1
    return era


def _let_go(device_id: int, undo: str, argument: Any, *, unless_last: bool = False) -> None:
    with _lock:  # counted before the call, in which other threads come here: none of them takes the last for one of two
        era = era_of(device_id)
        if unless_last and era.references[undo] < 2:
            return
        era.references[undo] -= 1
        is_last = max(era.references.values()) <= 0
        if is_last:
            era.is_over = True
            del _eras[device_id]
    try:
        call(undo, argument)
    except AclError:
        with _lock:
            era.references[undo] += 1
        _resume(era)
        raise
    if is_last and _is_set(device_id):  # by somebody else in the process
        _resume(era)


def _resume(era: Era) -> None:
    # If another has begun meanwhile, nobody knows what the device kept: rather leak than free somebody else's memory.
    era.is_over = _eras.setdefault(era.device_id, era) is not era


def _is_set(device_id: int) -> bool:
    if not supports("aclrtGetPrimaryCtxState"):
        return False
    active = ffi.new("int32_t *")
    call("aclrtGetPrimaryCtxState", device_id, ffi.NULL, active)
    return bool(active[0])


def register_stream(stream: Stream) -> None:
    """Remember a stream that we own, so that the exit can stop it; discard those that had to wait for that."""
    while _deferred:
        _deferred.pop().close()
    _streams[id(stream)] = stream


def defer(stream: Stream) -> None:
    """Keep a stream whose last reference went away where it cannot be destroyed: inside a host function."""
    _deferred.append(stream)


def _give_back() -> None:
    if not usable():
        return
    still_inside = lib.ascend_rt_close_gate(_CALLBACK_GRACE_MS)
    if still_inside:
        message = f"{still_inside} callback(s) still ran when the interpreter ended; the runtime is left as it is"
        warnings.warn(message, AclWarning, stacklevel=1)
        shutdown()
        return
    for step in _steps_back():
        try:
            step()
        except AclError as error:
            warnings.warn(f"while the runtime was given back: {error}", AclWarning, stacklevel=1)
    shutdown()


def _drop_default_stream(device_id: int) -> None:
    with suppress(AclError):  # a device that is lost, a product that cannot abort: the reset tells what matters
        set_device(device_id)
        call("aclrtStreamAbort", ffi.NULL)


# What still waits would keep the process from ending: nothing is waited for, neither in our streams nor in the default
# ones, for which the last reset of a device would wait.
def _steps_back() -> Iterator[Callable[[], None]]:
    for stream in (*_deferred, *_streams.values()):
        yield partial(stream.close, force=True)
    yield leave_the_rest
    for device_id, era in list(_eras.items()):
        if era.references[_RESET] > 0:
            if _is_initialiser:  # what somebody else in the process has to do is not ours to drop
                yield partial(_drop_default_stream, device_id)
            yield from repeat(partial(call, _RESET, device_id), era.references[_RESET])
    if supports("aclFinalizeReference"):
        yield partial(call, "aclFinalizeReference", ffi.NULL)
    elif _is_initialiser:  # releases before 8.5 do not count references
        yield partial(call, "aclFinalize")
