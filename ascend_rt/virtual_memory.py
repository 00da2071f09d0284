# SPDX-License-Identifier: Apache-2.0
"""Virtual memory: reserve addresses, allocate physical memory, and map the memory to the addresses.

The usual purpose is a buffer that grows without being copied: reserve as many addresses as it may ever need, and map
more memory to them as it grows.
"""

from __future__ import annotations

import weakref
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from ascend_rt._memory.sizes import check_positive, check_size
from ascend_rt._runtime import lifecycle
from ascend_rt._runtime.driver import address, call, check_address, ffi, lib
from ascend_rt._runtime.ipc import process_numbers
from ascend_rt._runtime.lifecycle import HOST, Owner
from ascend_rt._runtime.locks import new_lock
from ascend_rt._runtime.owners import owner_of_new
from ascend_rt._runtime.resource import Resource
from ascend_rt.device import Device
from ascend_rt.errors import AclError
from ascend_rt.memory import Buffer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ascend_rt.enums import MemAttr

__all__ = ["MappedBuffer", "PhysicalMemory", "VirtualMemory"]

_ranges_lock = new_lock()


class PhysicalMemory(Resource):
    """Memory of a device, or of the host, that has no address until it is mapped.

    Parameters
    ----------
    nbytes : int
        Size in bytes; a multiple of :meth:`granularity`.
    device : Device, optional
        The device that has the memory; None for the host.
    attribute : MemAttr, default MEM_HUGE
        The kind of pages.

    Raises
    ------
    OutOfMemory
        The device's memory is exhausted.
    InvalidArgument
        The size is not a multiple of the granularity, or the location does not support the attribute.

    Notes
    -----
    ``aclrtMallocPhysical``, ``aclrtFreePhysical``; synchronous, needs no context. After closing, the memory is freed
    when it is not mapped any more. All products. API reference 11-04.

    Examples
    --------
    >>> step = PhysicalMemory.granularity(Device(0))
    >>> memory, addresses = PhysicalMemory(step, Device(0)), VirtualMemory(2 * step)
    >>> first, second = addresses.map(memory), addresses.map(memory, step)  # the same memory twice
    >>> fill(first, 7)
    >>> second[:3].to_numpy()
    array([7, 7, 7], dtype=uint8)
    """

    __slots__ = ("_nbytes",)
    _what = "physical memory"
    _nbytes: int

    def __init__(self, nbytes: int, device: Device | None = None, *, attribute: MemAttr | int | None = None) -> None:
        lifecycle.initialize()
        out, nbytes = ffi.new("aclrtDrvMemHandle *"), check_size(nbytes)
        properties, where = _properties(device, attribute), HOST if device is None else owner_of_new(device.id)
        self._make(where, out, "aclrtMallocPhysical", out, nbytes, properties, 0)
        self._nbytes = nbytes

    @staticmethod
    def granularity(
        device: Device | None = None, *, attribute: MemAttr | int | None = None, minimum: bool = False
    ) -> int:
        """Return the number of bytes that sizes of physical memory must be a multiple of.

        Parameters
        ----------
        device : Device, optional
            The device of the memory; None for the host.
        attribute : MemAttr, optional
            The kind of memory and pages, as for the class.
        minimum : bool, default False
            Return the minimum instead of the recommended granularity.

        Returns
        -------
        int
            The granularity, in bytes.

        Notes
        -----
        ``aclrtMemGetAllocationGranularity``; not blocking. All products.
        """
        lifecycle.initialize()
        out = ffi.new("size_t *")
        recommended, least = lib.ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, lib.ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM
        option = least if minimum else recommended
        call("aclrtMemGetAllocationGranularity", _properties(device, attribute), option, out)
        return int(out[0])

    @classmethod
    def from_shareable(cls, shareable: int, nbytes: int, device: Device) -> PhysicalMemory:
        """Import memory that another process exported.

        Parameters
        ----------
        shareable, nbytes : int
            The number that :meth:`export` returned in that process, and the size of the memory.
        device : Device
            The device that uses the memory.

        Returns
        -------
        PhysicalMemory
            The memory; :meth:`VirtualMemory.map` gives it an address.

        Raises
        ------
        AclError
            The exporter did not list this process (207006).
        InvalidArgument
            No other running process exports this memory.
        ValueError
            The size is not positive.

        Notes
        -----
        ``aclrtMemImportFromShareableHandle``. All products.
        """
        lifecycle.initialize()
        nbytes = check_positive(nbytes)
        out = ffi.new("aclrtDrvMemHandle *")
        memory = cls.__new__(cls)
        memory._nbytes = nbytes
        arguments = check_address(shareable), Device._id_of(device), out
        memory._make(owner_of_new(device.id), out, "aclrtMemImportFromShareableHandle", *arguments)
        return memory

    def export(self, processes: Iterable[int] | None = None) -> int:
        """Let other processes map the memory; possible once. Keep the memory until they are done with it.

        Parameters
        ----------
        processes : iterable of int, optional
            The processes that may map it, at least one, by their numbers from ``aclrtDeviceGetBareTgid``. None allows
            every process.

        Returns
        -------
        int
            The number that another process passes to :meth:`from_shareable`.

        Raises
        ------
        InvalidArgument
            The memory was exported before, or comes from another process.
        ValueError
            No process is named.

        Notes
        -----
        ``aclrtMemExportToShareableHandle``, ``aclrtMemSetPidToShareableHandle``. API reference 11-04.
        """
        pids = None if processes is None else process_numbers(processes)  # check before the only possible export
        out = ffi.new("uint64_t *")
        everybody = lib.ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION
        flag = everybody if pids is None else lib.ACL_RT_VMM_EXPORT_FLAG_DEFAULT
        call("aclrtMemExportToShareableHandle", self._handle, lib.ACL_MEM_HANDLE_TYPE_NONE, flag, out)
        if pids is not None:
            call("aclrtMemSetPidToShareableHandle", out[0], pids, len(pids))
        return int(out[0])

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._nbytes

    def _destroy(self, handle: Any) -> None:
        self._unmake("aclrtFreePhysical")


def _properties(device: Device | None, attribute: MemAttr | int | None) -> Any:
    properties = ffi.new("aclrtPhysicalMemProp *")
    properties.handleType = lib.ACL_MEM_HANDLE_TYPE_NONE
    properties.allocationType = lib.ACL_MEM_ALLOCATION_TYPE_PINNED
    properties.memAttr = lib.ACL_MEM_HUGE if attribute is None else int(attribute)
    properties.location.type = lib.ACL_MEM_LOCATION_TYPE_HOST if device is None else lib.ACL_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = 0 if device is None else Device._id_of(device)
    return properties


class MappedBuffer(Buffer):
    """Memory that is mapped to reserved addresses; closing unmaps it. See :meth:`VirtualMemory.map`.

    Examples
    --------
    >>> step = PhysicalMemory.granularity(Device(0))
    >>> addresses = VirtualMemory(step)
    >>> with addresses.map(PhysicalMemory(step, Device(0))) as mapped:
    ...     mapped.handle == addresses.handle
    True
    >>> addresses.close()  # nothing is mapped any more
    """

    __slots__ = ("_ranges", "_virtual")
    _what = "mapped buffer"
    _virtual: VirtualMemory
    _ranges: weakref.WeakSet[Buffer]  # views of address ranges, closed with this; slices are closed like a buffer's

    def allow(self, device: Device) -> None:
        """Let another device read and write the memory.

        Parameters
        ----------
        device : Device
            The device.

        Notes
        -----
        ``aclrtMemSetAccess``; not blocking. All products.
        """
        access = ffi.new("aclrtMemAccessDesc *")
        access.flags = lib.ACL_RT_MEM_ACCESS_FLAGS_READWRITE
        access.location.type = lib.ACL_MEM_LOCATION_TYPE_DEVICE
        access.location.id = Device._id_of(device)
        call("aclrtMemSetAccess", self._handle, self._nbytes, access, 1)

    def _close_with_this(self, view: Buffer) -> None:
        with _ranges_lock:
            self._ranges.add(view)
        if self.is_closed:  # by another thread, which has not seen the view
            view.close()

    def _close_ranges(self) -> None:
        with _ranges_lock:
            for view in tuple(self._ranges):
                view.close()

    def _forget(self) -> bool:
        is_first = super()._forget()  # first: a thread that adds a range later sees that this is closed
        self._close_ranges()
        return is_first

    def _destroy(self, handle: Any) -> None:
        self._close_ranges()
        if self._virtual.is_closed:  # which has unmapped it
            return
        start, mappings = address(handle), self._virtual._mappings
        mapping = mappings.pop(start, None)
        try:
            self._unmake("aclrtUnmapMem")
        except AclError:
            if mapping is not None:
                mappings[start] = mapping
            raise


class _Mapping(NamedTuple):
    buffer: weakref.ref[MappedBuffer]  # unmaps the memory when it is closed
    owner: Owner  # the end of its epoch unmaps the memory too


class VirtualMemory(Resource):
    """A range of reserved addresses.

    Parameters
    ----------
    nbytes : int
        The number of addresses. Memory is mapped in multiples of 2 MiB.

    Raises
    ------
    OutOfMemory
        The address space is exhausted.

    Notes
    -----
    ``aclrtReserveMemAddress``, ``aclrtReleaseMemAddress``; synchronous, needs no context. Close the mapped buffers
    first. All products. API reference 11-04.

    Examples
    --------
    >>> step = PhysicalMemory.granularity(Device(0))
    >>> addresses = VirtualMemory(8 * step)
    >>> parts = [addresses.map(PhysicalMemory(step, Device(0)), i * step) for i in range(2)]
    >>> addresses.buffer(2 * step).nbytes == 2 * step
    True
    """

    __slots__ = ("_mappings", "_nbytes")
    _what = "virtual memory"

    def __init__(self, nbytes: int) -> None:
        self._begin()
        out, nbytes = ffi.new("void **"), check_size(nbytes)
        self._nbytes = nbytes
        # By address; an entry stays until it is unmapped, even if the buffer is garbage already.
        self._mappings: dict[int, _Mapping] = {}
        huge_pages = 1
        self._make(HOST, out, "aclrtReserveMemAddress", out, nbytes, 0, ffi.NULL, huge_pages)

    @property
    def nbytes(self) -> int:
        """The number of addresses."""
        return self._nbytes

    def map(self, memory: PhysicalMemory, offset: int = 0) -> MappedBuffer:
        """Map all of a piece of physical memory to the addresses from an offset on.

        Parameters
        ----------
        memory : PhysicalMemory
            The memory, which may be mapped to several addresses at once.
        offset : int, default 0
            The number of bytes from the first address; a multiple of 2 MiB.

        Returns
        -------
        MappedBuffer
            Close it to unmap the memory. It keeps the memory and the addresses alive.

        Raises
        ------
        ValueError
            The memory does not fit there.
        InvalidArgument
            The offset is not a multiple of 2 MiB, or memory of another device is mapped to the reservation.
        AclError
            Memory is mapped there already (507899).

        Notes
        -----
        ``aclrtMapMem``; the device that owns the memory may read and write it. API reference 11-04.
        """
        if not isinstance(memory, PhysicalMemory):
            raise TypeError(f"expected PhysicalMemory, got {type(memory).__name__}")
        start = self._address(memory.nbytes, index(offset))
        there = ffi.cast("void *", start)
        buffer = MappedBuffer.__new__(MappedBuffer)
        buffer._virtual, buffer._ranges = self, weakref.WeakSet()
        buffer._describe(memory.nbytes, memory)
        buffer._make(memory._owner, (there,), "aclrtMapMem", there, memory.nbytes, 0, memory._handle, 0)
        self._mappings[start] = _Mapping(weakref.ref(buffer), memory._owner)
        return buffer

    def buffer(self, nbytes: int, offset: int = 0) -> Buffer:
        """Return a view of a range of addresses with adjacent mappings, as one buffer.

        Parameters
        ----------
        nbytes, offset : int
            The size of the range, and the number of bytes from the first address.

        Returns
        -------
        Buffer
            It keeps the mappings alive, and is closed as soon as one of them is closed.

        Raises
        ------
        ValueError
            The range exceeds the reservation, or not all of it is mapped.
        """
        nbytes, offset = index(nbytes), index(offset)
        start = self._address(nbytes, offset)
        stop = start + nbytes
        mappings = [found for mapping in list(self._mappings.values()) if (found := mapping.buffer()) is not None]
        behind = [it for it in mappings if it._is_open and it.handle < stop and start < it.handle + it.nbytes]
        mapped = sum(min(stop, it.handle + it.nbytes) - max(start, it.handle) for it in behind)
        if mapped < nbytes:
            raise ValueError(f"only {mapped} of the {nbytes} bytes at offset {offset} are mapped")
        view = Buffer._lend(start, nbytes, behind, behind[0]._owner)
        for it in behind:
            it._close_with_this(view)
        return view

    def close(self) -> None:
        """Release the addresses; closing twice is allowed. Refused while memory is mapped to them (507899)."""
        if self._is_to_destroy:
            self._closing(self._release)
        else:
            self._forget()

    def _release(self, handle: Any) -> None:
        self._unmake("aclrtReleaseMemAddress")

    def _address(self, nbytes: int, offset: int) -> int:
        if not 0 <= offset < offset + nbytes <= self._nbytes:
            raise ValueError(f"{nbytes} bytes at offset {offset} exceed the {self._nbytes} reserved bytes")
        return address(self._handle) + offset

    def _unmap(self, start: int) -> None:
        mapping = self._mappings.pop(start, None)
        if mapping is None or mapping.owner.epoch.is_over:
            return
        try:
            call("aclrtUnmapMem", ffi.cast("void *", start))
        except AclError:
            self._mappings[start] = mapping
            raise

    def _destroy(self, handle: Any) -> None:
        for start in list(self._mappings):  # buffers that were discarded together with this, but not yet finalized
            self._unmap(start)
        self._release(handle)
