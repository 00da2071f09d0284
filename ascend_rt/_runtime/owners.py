# SPDX-License-Identifier: Apache-2.0
"""Owners of objects: where a new one is created, and what a borrowed one is assumed to end with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ascend_rt._runtime import lifecycle
from ascend_rt._runtime.current_context import current_device_id, current_handle_or_none
from ascend_rt._runtime.driver import address
from ascend_rt._runtime.lifecycle import HOST, Owner

if TYPE_CHECKING:
    from typing import Any


def owner_of_new(device_id: int | None = None) -> Owner:
    """Return the owner of a new object on the device of the calling thread's context, or on the given device."""
    usual = lifecycle.usual_owner
    if usual is not None and device_id in (None, usual.epoch.device_id):
        return usual
    handle = current_handle_or_none() if lifecycle.explicit_contexts else None
    explicit = None if handle is None else lifecycle.explicit_contexts.get(address(handle))
    if explicit is not None and device_id in (None, explicit._owner.epoch.device_id):
        return Owner(explicit._owner.epoch, explicit)
    return owner_on_device() if device_id is None else lifecycle.owner_of(device_id)


def owner_of_stream(context: int) -> Owner:
    """Return the owner of a new stream in the calling thread's context, whose handle is given."""
    created_in = owner_of_new()
    return Owner(lifecycle.epoch_of_context(context, created_in.epoch.device_id), created_in.context)


def owner_on_device() -> Owner:
    """Return the owner of a new object that needs no context, only a device: the one of the thread's context."""
    return lifecycle.only_owner or lifecycle.owner_of(current_device_id())


def owner_of_context(handle: Any) -> Owner:
    """Return the owner of a context: one of ours, the current one, or one of an unknown device."""
    explicit = lifecycle.explicit_contexts.get(address(handle))
    if explicit is not None:
        return explicit._owner
    return owner_on_device() if current_handle_or_none() == handle else HOST


def owner_of_borrowed() -> Owner:
    """Return the assumed owner of a borrowed object: the device of the thread's context, if it has one."""
    return HOST if current_handle_or_none() is None else owner_on_device()
