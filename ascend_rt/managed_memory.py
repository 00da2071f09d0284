# SPDX-License-Identifier: Apache-2.0
"""Memory that the host and devices share: it has one address, and its pages move to the side that accesses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ascend_rt._memory.host_allocation import HostAllocation
from ascend_rt._memory.sizes import check_size
from ascend_rt._native.handles import given_or_current
from ascend_rt._runtime.driver import call, ffi, lib
from ascend_rt.device import Device
from ascend_rt.errors import ClosedError
from ascend_rt.memory import Buffer

if TYPE_CHECKING:
    from ascend_rt.stream import Stream

__all__ = ["ManagedBuffer"]

_PAGE = 2 << 20


class ManagedBuffer(Buffer):
    """Managed memory: a device buffer that the host can read and write too.

    ``numpy.asarray(buffer)`` returns an array of its bytes, without a copy. Synchronize the work that writes the memory
    before the host reads it. Closing the buffer frees the memory as soon as no such array exists any more: an array
    never points to freed memory.

    Parameters
    ----------
    nbytes : int
        Size in bytes; the runtime rounds it up to 2 MiB.

    Raises
    ------
    NotSupported
        The product has no managed memory.
    NoContext
        The calling thread has no current context.

    Notes
    -----
    ``aclrtMemAllocManaged``, ``aclrtFree``; synchronous, content undefined. 910B. API reference 11-05.

    Examples
    --------
    >>> buffer = ManagedBuffer(64)
    >>> fill_async(buffer, 7, stream)
    >>> stream.synchronize()
    >>> np.asarray(buffer)[:3]  # the memory itself
    array([7, 7, 7], dtype=uint8)
    """

    __slots__ = ("_memory",)
    _what = "managed buffer"
    _memory: Any  # frees it; shared with the arrays

    def __init__(self, nbytes: int) -> None:
        self._begin()
        nbytes = check_size(nbytes)
        allocation = HostAllocation("aclrtMemAllocManaged", "aclrtFree", nbytes, lib.ACL_RT_MEM_ATTACH_GLOBAL)
        self._memory = allocation.pointer(nbytes)
        self._describe(nbytes, None)
        self._own(ffi.cast("void *", self._memory))

    def _destroy(self, handle: Any) -> None:
        self._memory = None

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The description of the memory for numpy (array interface, version 3)."""
        if self.is_closed:  # numpy would take an AttributeError for "no array"
            raise ClosedError("this managed buffer is closed")
        memory = ffi.buffer(self._memory, self._nbytes)
        return {"version": 3, "shape": (self._nbytes,), "typestr": "|u1", "data": memory}

    def prefetch(self, location: Device | None, stream: Stream | None = None) -> None:
        """Move the memory, in the order of a stream, to the device or host that uses it next.

        Parameters
        ----------
        location : Device or None
            The device, or None for the host.
        stream : Stream, optional
            The move runs in its order; default :meth:`Stream.current`.

        Notes
        -----
        ``aclrtMemManagedPrefetchAsync``; enqueues only. 910B. API reference 11-05.
        """
        stream = given_or_current(stream)
        arguments = self._handle, self._nbytes, _location(location), 0, stream._handle
        stream._retention.submit("aclrtMemManagedPrefetchAsync", *arguments, uses=(self,))

    @property
    def is_read_mostly(self) -> bool:
        """True if the program advised that the memory is mostly read; every device may then have a copy of it."""
        return self._attribute(lib.ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) == 1

    @is_read_mostly.setter
    def is_read_mostly(self, value: bool) -> None:
        self._advise(lib.ACL_MEM_ADVISE_SET_READ_MOSTLY if value else lib.ACL_MEM_ADVISE_UNSET_READ_MOSTLY, None)

    def prefer(self, location: Device | None) -> None:
        """Advise to keep the memory on a device or on the host.

        Parameters
        ----------
        location : Device or None
            The device; None for the host.

        Notes
        -----
        ``aclrtMemManagedAdvise``; not blocking. 910B, 910C.
        """
        self._advise(lib.ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, location)

    def prefer_nothing(self) -> None:
        """Withdraw the advice of :meth:`prefer`."""
        self._advise(lib.ACL_MEM_ADVISE_UNSET_PREFERRED_LOCATION, None)

    def accessed_by(self, location: Device | None, *, is_accessed: bool = True) -> None:
        """Advise that a device (the host with None) accesses the memory, or that it does not any more."""
        advice = lib.ACL_MEM_ADVISE_SET_ACCESSED_BY if is_accessed else lib.ACL_MEM_ADVISE_UNSET_ACCESSED_BY
        self._advise(advice, location)

    @property
    def preferred_location(self) -> int:
        """The number of the preferred device; -1 for the host, -2 without a preference (``aclrtMemManagedGetAttr``)."""
        return self._attribute(lib.ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION)

    def _attribute(self, attribute: int) -> int:
        out = ffi.new("int32_t *")
        call("aclrtMemManagedGetAttr", attribute, self._handle, self._nbytes, out, ffi.sizeof("int32_t"))
        return int(out[0])

    def _advise(self, advice: int, location: Device | None) -> None:
        whole_pages = -(-self._nbytes // _PAGE) * _PAGE  # advice applies to whole pages, and these are the buffer's
        call("aclrtMemManagedAdvise", self._handle, whole_pages, advice, _location(location))


def _location(location: Device | None) -> Any:
    if location is None:
        return ffi.new("aclrtMemManagedLocation *", {"type": lib.ACL_MEM_LOCATIONTYPE_HOST})[0]
    return ffi.new("aclrtMemManagedLocation *", (lib.ACL_MEM_LOCATIONTYPE_DEVICE, Device._id_of(location)))[0]
