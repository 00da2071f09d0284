# SPDX-License-Identifier: Apache-2.0
"""Buffers that a caching allocator took from the device."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ascend_rt.memory import Buffer

if TYPE_CHECKING:
    from ascend_rt.allocator import CachingAllocator


class CachedBuffer(Buffer):
    """A buffer that a caching allocator took from the device; closing it notifies the allocator."""

    __slots__ = ("_allocator",)

    def __init__(self, nbytes: int, allocator: CachingAllocator) -> None:
        self._expect_none()
        self._allocator = weakref.ref(allocator)
        super().__init__(nbytes)

    def _forget(self) -> bool:
        is_first = super()._forget()
        if is_first:
            self._account()
        return is_first

    def _destroy(self, handle: Any) -> None:
        super()._destroy(handle)
        self._account()

    def _account(self) -> None:
        """Notify the allocator that this is closed."""
        allocator = self._allocator()
        if allocator is not None:
            allocator._forget(self)
