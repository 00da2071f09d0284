# SPDX-License-Identifier: Apache-2.0
"""Memory pools: memory that is allocated and freed in the order of streams, without waiting for the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ascend_rt._memory.sizes import check_size
from ascend_rt._native.handles import PoolBufferHandle, PoolHandle
from ascend_rt._native.in_c import in_c
from ascend_rt._runtime import lifecycle
from ascend_rt._runtime.current_context import current_handle
from ascend_rt._runtime.driver import address, call, check, ffi, is_expected, lib
from ascend_rt._runtime.owners import owner_of_new
from ascend_rt._runtime.resource import Resource
from ascend_rt.context import Context
from ascend_rt.device import Device
from ascend_rt.memory import Buffer

if TYPE_CHECKING:
    from ascend_rt.stream import Stream

__all__ = ["MemoryPool", "PoolBuffer", "PoolStatistics"]

_RESERVED = (lib.ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, lib.ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH)
_USED = (lib.ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, lib.ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH)

_NO_STREAM = lib.ACL_ERROR_RT_INVALID_HANDLE


class PoolStatistics(NamedTuple):
    """Memory of a pool, in bytes.

    Attributes
    ----------
    reserved, reserved_peak : int
        Memory that the pool has taken from the device, and the largest value so far.
    used, used_peak : int
        Memory that is allocated from the pool, and the largest value so far.

    Examples
    --------
    >>> with MemoryPool(Device(0)) as pool, pool.allocate(64, stream):
    ...     pool.statistics
    PoolStatistics(reserved=2097152, reserved_peak=2097152, used=2097152, used_peak=2097152)
    """

    reserved: int
    reserved_peak: int
    used: int
    used_peak: int


@in_c
class MemoryPool(Resource, PoolHandle):
    """A pool of a device's memory.

    Parameters
    ----------
    device : Device
        The device whose memory it uses.
    max_nbytes : int, default 0
        The maximum size in bytes; 0 for no limit.

    Raises
    ------
    NotSupported
        The product has no memory pools.
    NoContext
        The calling thread has no current context.

    Notes
    -----
    ``aclrtMemPoolCreate``, ``aclrtMemPoolDestroy``; synchronous. Buffers keep their pool alive, but closing the pool
    frees their memory. 910B. API reference 11-10.

    Examples
    --------
    >>> pool = MemoryPool(Device(0))
    >>> with pool.allocate(1 << 20, stream) as first:
    ...     fill_async(first, 1, stream)
    ...     at = first.handle
    >>> pool.allocate(1 << 20, stream).handle == at  # the stream uses it after the fill
    True
    """

    __slots__ = ()
    _what = "memory pool"

    def __init__(self, device: Device, *, max_nbytes: int = 0) -> None:
        lifecycle.initialize()
        properties = ffi.new("aclrtMemPoolProps *")
        properties.allocType = lib.ACL_MEM_ALLOCATION_TYPE_PINNED
        properties.handleType = lib.ACL_MEM_HANDLE_TYPE_NONE
        properties.location.type = lib.ACL_MEM_LOCATION_TYPE_DEVICE
        properties.location.id = Device._id_of(device)
        properties.maxSize = check_size(max_nbytes)
        out = ffi.new("aclrtMemPool *")
        self._make(owner_of_new(device.id), out, "aclrtMemPoolCreate", out, properties)

    def allocate(self, nbytes: int, stream: Stream | None = None) -> PoolBuffer:
        """Allocate memory in the order of a stream, and return at once.

        Later work of the stream may use the memory, and so may work that an event orders after the allocation.

        Parameters
        ----------
        nbytes : int
            The size, in bytes.
        stream : Stream, optional
            The stream of the allocation, in whose order closing frees the memory; default :meth:`Stream.current`.

        Returns
        -------
        PoolBuffer
            The memory; its content is undefined.

        Raises
        ------
        AclError
            The pool is exhausted (507000).
        ValueError
            The size is not positive.

        Notes
        -----
        ``aclrtMemPoolMallocAsync``; enqueues only. API reference 11-10.
        """

    def trim(self, keep_nbytes: int = 0) -> None:
        """Return unused memory to the device.

        Parameters
        ----------
        keep_nbytes : int, default 0
            The number of bytes that the pool keeps.

        Raises
        ------
        ValueError
            The number is negative.

        Notes
        -----
        ``aclrtMemPoolTrimTo``; synchronous. 910B. API reference 11-10.
        """
        call("aclrtMemPoolTrimTo", self._handle, check_size(keep_nbytes))

    @property
    def release_threshold(self) -> int:
        """The number of unused bytes that the pool keeps when a stream is synchronized; initially 0."""
        return self._get(lib.ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD)

    @release_threshold.setter
    def release_threshold(self, nbytes: int) -> None:
        self._set(lib.ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, check_size(nbytes))

    @property
    def statistics(self) -> PoolStatistics:
        """The pool's reserved and used memory (``aclrtMemPoolGetAttr``)."""
        return PoolStatistics(*(self._get(attribute) for attribute in (*_RESERVED, *_USED)))

    def reset_peaks(self) -> None:
        """Reset the peaks of the statistics."""
        for _, peak in (_RESERVED, _USED):
            self._set(peak, 0)

    def _get(self, attribute: int) -> int:
        out = ffi.new("uint64_t *")
        call("aclrtMemPoolGetAttr", self._handle, attribute, out)
        return int(out[0])

    def _set(self, attribute: int, value: int) -> None:
        call("aclrtMemPoolSetAttr", self._handle, attribute, ffi.new("uint64_t *", value))

    def _destroy(self, handle: Any) -> None:
        self._unmake("aclrtMemPoolDestroy")


@in_c
class PoolBuffer(Buffer, PoolBufferHandle):
    """Memory of a pool; closing frees it in the order of the stream that it was allocated on.

    See :meth:`MemoryPool.allocate`. If another stream uses the memory last, pass that stream to :meth:`close`.

    Examples
    --------
    >>> pool, other = MemoryPool(Device(0)), Stream()
    >>> buffer = pool.allocate(64, stream)
    >>> other.wait(stream)
    >>> fill_async(buffer, 1, other)
    >>> buffer.close(other)  # the stream that uses it last
    """

    __slots__ = ()
    _what = "pool buffer"
    _stream: Stream  # in whose order it is freed
    _needs_context = True

    def __init__(self, nbytes: int, pool: MemoryPool, stream: Stream) -> None: ...

    def close(self, stream: Stream | None = None) -> None:
        """Free the memory in the order of a stream and return at once; closing twice is allowed.

        Parameters
        ----------
        stream : Stream, optional
            The last stream that uses the memory; default the stream of the allocation.
        """

    def _use(self, stream: Stream) -> None:
        """Note the stream in whose order the memory is freed."""
        # The Python object of a borrowed stream may be closed while the stream goes on: then take one that is not.
        self._stream = stream if stream._owned else stream.from_handle(stream.handle)
        self._context_address = stream._context_address or address(current_handle())

    def _destroy(self, handle: Any) -> None:
        if cast(MemoryPool, self._parent).is_closed:  # which has freed all its memory
            return
        code = self._free_in_order() if self._stream._is_open else _NO_STREAM
        if is_expected(code, _NO_STREAM):  # it was destroyed, so no work uses the memory any more
            self._unmake("aclrtFree")
        else:
            check(code, "aclrtMemPoolFreeAsync")

    def _free_in_order(self) -> int:
        arguments = lib.aclrtMemPoolFreeAsync, self._stream._handle
        code = self._give_back(*arguments)
        if is_expected(code, lib.ACL_ERROR_RT_STREAM_CONTEXT):  # discarded by a thread with another context
            code = Context._at(self._context_address)._call(self._give_back, *arguments)
        return code
