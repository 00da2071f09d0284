# SPDX-License-Identifier: Apache-2.0
"""Allocators that are registered for streams; closing a stream unregisters its allocator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ascend_rt._runtime.driver import call, pointer
from ascend_rt._runtime.lifecycle import DeviceEpoch

if TYPE_CHECKING:
    from ascend_rt.allocator import Allocator
    from ascend_rt.stream import Stream


class Registration(NamedTuple):
    """An allocator that the runtime may call for a stream."""

    allocator: Allocator
    descriptor: Any
    epoch: DeviceEpoch  # the stream's: a later stream may get the same handle
    replaced: Registration | None  # kept alive until it is known that the runtime calls it no more


registrations: dict[int, Registration] = {}  # stream -> what the runtime may call for it


def restore(stream: int, before: Registration | None) -> None:
    """Register again what was registered for a stream, because the runtime has it still."""
    if before is None:
        registrations.pop(stream, None)
    else:
        registrations[stream] = before


def registered(stream: Stream) -> Allocator | None:
    """Return the allocator that was registered for a stream from here, or None; closing a stream unregisters it."""
    found = None if stream.is_closed else registrations.get(stream._retention.stream)
    return None if found is None or found.epoch is not stream._owner.epoch else found.allocator


def forget_stream(stream: int, epoch: DeviceEpoch | None = None) -> None:
    """Unregister the allocator of a stream before it is destroyed; the runtime would keep the registration forever.

    If a stream ended with its context, its registration is removed when a new stream gets the handle: until then, the
    handle must not reach the library.

    Parameters
    ----------
    stream : int
        The handle.
    epoch : DeviceEpoch, optional
        The epoch of the stream; None for a new stream that got the handle of an older one.
    """
    found = registrations.get(stream)
    if found is None or (epoch is not None and (epoch is not found.epoch or epoch.is_over)):
        return
    del registrations[stream]
    try:
        call("aclrtAllocatorUnregister", pointer(stream))
    except BaseException:
        registrations.setdefault(stream, found)  # the runtime may still call it
        raise
    call("aclrtAllocatorDestroyDesc", found.descriptor)
