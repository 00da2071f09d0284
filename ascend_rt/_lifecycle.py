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
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING

from ascend_rt._driver import call, check, ffi, leave_the_rest, lib, shutdown, supports, usable
from ascend_rt.errors import AclError, AclWarning

if TYPE_CHECKING:
    from ascend_rt.stream import Stream

# How long the exit waits for a Python callback that is still running.
_CALLBACK_GRACE_MS = 5000

_lock = threading.Lock()
_initialized = False
_is_initialiser = False
_devices_set: Counter[int] = Counter()
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


def set_device(device_id: int) -> None:
    """Make the primary context of a device current in this thread and count that we did (``aclrtSetDevice``)."""
    initialize()
    code = lib.aclrtSetDevice(device_id)
    if code:
        check(code, "aclrtSetDevice")
    with _lock:
        _devices_set[device_id] += 1


def reset_device(device_id: int) -> None:
    """Undo one :func:`set_device` (``aclrtResetDevice``); the last one takes the device's streams with it."""
    code = lib.aclrtResetDevice(device_id)
    if code:
        check(code, "aclrtResetDevice")
    with _lock:
        _devices_set[device_id] -= 1


def reset_surplus(device_id: int) -> None:
    """Undo one :func:`set_device` unless it is the last of ours: the device stays open until the exit."""
    if _devices_set[device_id] > 1:
        reset_device(device_id)


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
        call("aclrtSetDevice", device_id)
        _devices_set[device_id] += 1
        call("aclrtStreamAbort", ffi.NULL)


# What still waits would keep the process from ending: nothing is waited for, neither in our streams nor in the default
# ones, for which the last reset of a device would wait.
def _steps_back() -> Iterator[Callable[[], None]]:
    for stream in (*_deferred, *_streams.values()):
        yield partial(stream.close, force=True)
    yield leave_the_rest
    for device_id in [device_id for device_id, count in _devices_set.items() if count]:
        yield partial(_drop_default_stream, device_id)
        yield from repeat(partial(call, "aclrtResetDevice", device_id), _devices_set[device_id])
    if supports("aclFinalizeReference"):
        yield partial(call, "aclFinalizeReference", ffi.NULL)
    elif _is_initialiser:  # releases before 8.5 do not count references
        yield partial(call, "aclFinalize")
