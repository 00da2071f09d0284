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
from typing import TYPE_CHECKING

from ascend_rt._driver import call, check, ffi, lib, shutdown, supports, usable
from ascend_rt.errors import AclError, AclWarning

if TYPE_CHECKING:
    from ascend_rt.stream import Stream

# How long the exit waits for a Python callback that is still running.
_CALLBACK_GRACE_MS = 5000

_lock = threading.Lock()
_initialized = False
_devices_set: Counter[int] = Counter()
_streams: weakref.WeakValueDictionary[int, Stream] = weakref.WeakValueDictionary()


def initialize() -> None:
    """Initialise the runtime if we have not done so (``aclInit``); loads the library. Idempotent and thread-safe."""
    global _initialized
    if _initialized:
        return
    with _lock:
        if _initialized:
            return
        code = lib.aclInit(b"")
        # Somebody else in the process was first: then the call has counted, and the reference is given back at exit.
        if code != lib.ACL_ERROR_REPEAT_INITIALIZE:
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
    """Remember a stream that we own, so that the exit can stop it."""
    _streams[id(stream)] = stream


def _give_back() -> None:
    if not usable():
        return
    still_inside = lib.ascend_rt_close_gate(_CALLBACK_GRACE_MS)
    if still_inside:
        message = f"{still_inside} callback(s) still ran when the interpreter ended; the runtime is left as it is"
        warnings.warn(message, AclWarning, stacklevel=1)
        shutdown()
        return
    try:
        for stream in list(_streams.values()):
            stream.close(force=True)  # what still waits would keep the process from ending
        for device_id, count in _devices_set.items():
            for _ in range(count):
                call("aclrtResetDevice", device_id)
        if supports("aclFinalizeReference"):
            call("aclFinalizeReference", ffi.NULL)
    except AclError as error:
        warnings.warn(f"while the runtime was given back: {error}", AclWarning, stacklevel=1)
    finally:
        shutdown()
