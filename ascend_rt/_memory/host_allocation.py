# SPDX-License-Identifier: Apache-2.0
"""Memory that the runtime allocates for the host, such as pinned and managed memory."""

from __future__ import annotations

from typing import Any

from ascend_rt._runtime import lifecycle
from ascend_rt._runtime.driver import ffi, lib
from ascend_rt._runtime.lifecycle import HOST
from ascend_rt._runtime.resource import Resource
from ascend_rt._runtime.retention import allocated

_CELL = ffi.typeof("void **")


class HostAllocation(Resource):
    """Memory that the host accesses; it is freed with the last reference to its pointer.

    Parameters
    ----------
    allocate, free : str
        The C functions.
    nbytes : int
        The size.
    *options
        Arguments of the first function after the size.
    """

    __slots__ = ("_free",)
    _what = "memory of the host"
    _is_counted = False  # by no_leaks(): it ends with the last reference

    def __init__(self, allocate: str, free: str, nbytes: int, *options: Any) -> None:
        lifecycle.initialize()
        self._free, cell = free, ffi.new(_CELL)
        allocated(allocate, self._create, HOST, cell, getattr(lib, allocate), cell, nbytes, *options)

    def _destroy(self, handle: Any) -> None:
        self._unmake(self._free)

    def pointer(self, nbytes: int) -> Any:
        """Return a pointer that keeps the memory alive."""
        return ffi.gc(self._handle, self._end_pointer, nbytes)

    def _end_pointer(self, pointer: Any) -> None:
        """Do nothing: as the destructor of the pointer, it has kept the memory alive as long."""
