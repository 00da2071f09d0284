# SPDX-License-Identifier: Apache-2.0
"""Copies between buffers and arrays, and fills.

A function whose name ends in ``_async`` enqueues on a stream, by default on :meth:`Stream.current`. The function
without this suffix waits until the operation is done.
"""

from __future__ import annotations

from functools import cache
from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias

from ascend_rt._memory.device_memory import on_device
from ascend_rt._memory.host_memory import HAS_OBJECTS, PINNED_IS_CLOSED, bytes_of
from ascend_rt._memory.sizes import check_size
from ascend_rt._native.handles import given_or_current
from ascend_rt._native.in_c import in_c
from ascend_rt._runtime.driver import address, call, check, ffi, lib
from ascend_rt.errors import AclError, ClosedError, NotSupported
from ascend_rt.memory import Buffer, PointerAttributes, pointer_attributes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ascend_rt.memory import HostMemory
    from ascend_rt.stream import Stream

    Operand: TypeAlias = Buffer | HostMemory
    # The destination and the source of a copy, each with its address, its size, and True if it is on the device.
    _Pair: TypeAlias = tuple[Operand, Operand, tuple[Any, int, bool], tuple[Any, int, bool]]

__all__ = [
    "CopyDescriptor",
    "copy",
    "copy_2d",
    "copy_2d_async",
    "copy_async",
    "copy_batch",
    "copy_batch_async",
    "copy_indirect",
    "fill",
    "fill_async",
]

# For operands that are not contiguous.
_CURES = {
    "source": "copy its rows by copy_2d_async(), or a contiguous copy of it, as PinnedBuffer.from_array() makes",
    "target": "copy into its rows by copy_2d_async(), or into a contiguous array that is assigned to it afterwards",
}
_UNREGISTERED = lib.ACL_MEM_LOCATION_TYPE_UNREGISTERED

# (from the device, to the device)
_KINDS = {
    (False, False): lib.ACL_MEMCPY_HOST_TO_HOST,
    (False, True): lib.ACL_MEMCPY_HOST_TO_DEVICE,
    (True, False): lib.ACL_MEMCPY_DEVICE_TO_HOST,
    (True, True): lib.ACL_MEMCPY_DEVICE_TO_DEVICE,
}

_DESCRIPTOR_ALIGNMENT = 64  # bytes; checked by the runtime
_FILLS = {1: "aclrtMemset", 4: "aclrtMemsetD32"}  # by the size of an item


def _span(operand: Operand, writable: bool) -> tuple[Any, int, bool]:
    """Return one side of a copy: its address, its size, and True if it is on the device."""
    if isinstance(operand, Buffer):
        return operand._handle, operand._nbytes, True
    exporter = operand.obj if type(operand) is memoryview else operand
    if getattr(getattr(exporter, "dtype", None), "hasobject", False):  # an array, without an import of numpy
        raise TypeError(HAS_OBJECTS)
    role = "target" if writable else "source"
    view = bytes_of(operand, role, _CURES[role], writable=writable)
    nbytes = len(view)
    if nbytes == 0 and getattr(operand, "is_closed", False):
        raise ClosedError(PINNED_IS_CLOSED)
    return view, nbytes, False


def copy(dst: Operand, src: Operand) -> None:
    """Copy bytes between buffers, numpy arrays and other objects with the buffer protocol, and wait for the copy.

    Parameters
    ----------
    dst, src : Buffer, PinnedBuffer, numpy.ndarray, or bytes-like
        All bytes of ``src`` are copied to the start of ``dst``. Arrays must be C-contiguous, and ``dst`` writable.

    Raises
    ------
    InvalidArgument
        ``src`` is larger than ``dst``, or memory was freed.
    TypeError, ValueError, BufferError
        An operand is not a buffer or not contiguous, or ``dst`` is read-only.

    Notes
    -----
    ``aclrtMemcpy``; blocking, without the GIL; does not wait for streams. All products. API reference 11-03.

    Examples
    --------
    >>> buffer, received = Buffer(8), bytearray(5)
    >>> copy(buffer, b"hello")
    >>> copy(received, buffer[:5])
    >>> received
    bytearray(b'hello')
    """
    to, capacity, to_device = _span(dst, True)
    source, nbytes, from_device = _span(src, False)
    code = lib.aclrtMemcpy(to, capacity, source, nbytes, _KINDS[from_device, to_device])
    if code:
        check(code, "aclrtMemcpy")


@in_c
def copy_async(dst: Operand, src: Operand, stream: Stream | None = None, *, snapshot: bool = False) -> None:
    """Copy bytes in the order of a stream.

    The operands are as in :func:`copy`, and are kept alive until the copy is done. With pageable host memory, that is,
    any array that is neither a :class:`PinnedBuffer` nor :class:`RegisteredMemory`, the runtime waits for the stream
    and copies before the call returns.

    Parameters
    ----------
    dst, src : Buffer, PinnedBuffer, numpy.ndarray, or bytes-like
        See :func:`copy`.
    stream : Stream, optional
        The copy runs in its order; default :meth:`Stream.current`.
    snapshot : bool, default False
        Read the source, which must be host memory, before the call returns (``ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE``). The
        source may then be changed at once, and may be pageable.

    Raises
    ------
    NotSupported
        Both sides are host memory.
    InvalidArgument
        ``src`` is larger than ``dst``, or memory was freed.

    Notes
    -----
    ``aclrtMemcpyAsync``; enqueues only, if the host memory is pinned. All products. API reference 11-03.

    Examples
    --------
    >>> sent, buffer = PinnedBuffer.from_array(b"hello"), Buffer(5)
    >>> copy_async(buffer, sent, stream)
    >>> stream.synchronize()  # now the source may be changed
    >>> buffer.to_numpy().tobytes()
    b'hello'
    """


def _host_span(operand: HostMemory, is_written: bool) -> tuple[int, int, Any]:
    """Return the address of host memory, its size, and the object that keeps it alive."""
    view, nbytes, _ = _span(operand, is_written)
    return address(view), nbytes, view


def _wait_for_span(stream: Stream, kept: tuple[Any, HostMemory]) -> None:
    """Wait for a stream before a copy from or to memory that `_host_span` has found, if some of it is pageable."""
    view, operand = kept
    if not getattr(operand, "_is_pinned", False):
        _wait_if_pageable(stream, view)


def _wait_if_pageable(stream: Stream, *memory: Any) -> None:
    """Wait for a stream before a copy between a device and this memory of the host, if some of it is pageable.

    The runtime would do so in the copy (docs/semantics/memory_cmo_allocator.md, section 3), where Ctrl-C ends nothing.
    """
    if stream._is_busy() and any(_attributes(each).location == _UNREGISTERED for each in memory):
        stream.synchronize()


def copy_2d(
    dst: Operand,
    src: Operand,
    *,
    width: int,
    height: int,
    dst_pitch: int | None = None,
    src_pitch: int | None = None,
) -> None:
    """Copy rows of bytes with a fixed pitch between host and device, and wait for the copy.

    Parameters
    ----------
    dst, src : Buffer, PinnedBuffer, numpy.ndarray, or bytes-like
        The pitch of a two-dimensional array is that of its rows, which need not be adjacent, as in a slice of columns.
    width, height : int
        The number of bytes in a row, at most 5,000,000, and the number of rows, at most 5,242,880.
    dst_pitch, src_pitch : int, optional
        The number of bytes from the start of one row to the next; default ``width``.

    Raises
    ------
    ValueError
        The rows do not fit into an operand, or a number is negative.
    NotSupported
        The product cannot copy in this direction; within a device, use :func:`copy_2d_async`.

    Notes
    -----
    ``aclrtMemcpy2d``; the bytes between the rows are not changed. API reference 11-03.

    Examples
    --------
    >>> matrix, buffer = np.arange(12, dtype=np.uint8).reshape(3, 4), Buffer(6)
    >>> copy_2d(buffer, matrix[:, 1:3], width=2, height=3)
    >>> buffer.to_numpy().tolist()
    [1, 2, 5, 6, 9, 10]
    """
    call("aclrtMemcpy2d", *_rows_of_both(dst, src, width, height, dst_pitch, src_pitch))


def copy_2d_async(
    dst: Operand,
    src: Operand,
    stream: Stream | None = None,
    *,
    width: int,
    height: int,
    dst_pitch: int | None = None,
    src_pitch: int | None = None,
) -> None:
    """Copy rows of bytes in the order of a stream, also within a device.

    The operands are kept alive until the copy is done.

    Parameters
    ----------
    dst, src, width, height, dst_pitch, src_pitch
        As for :func:`copy_2d`.
    stream : Stream, optional
        The copy is made in its order; default :meth:`Stream.current`.

    Raises
    ------
    ValueError
        The rows do not fit into an operand, or a number is negative.
    NotSupported
        The product cannot copy in this direction.

    Notes
    -----
    ``aclrtMemcpy2dAsync``; enqueues only, if the host memory is pinned. API reference 11-03.

    Examples
    --------
    >>> buffer = Buffer.from_array(b"abcdef......")
    >>> copy_2d_async(buffer[6:], buffer[:6], stream, width=1, height=3, dst_pitch=2, src_pitch=2)
    >>> stream.synchronize()
    >>> buffer.to_numpy().tobytes()
    b'abcdefa.c.e.'
    """
    arguments = _rows_of_both(dst, src, width, height, dst_pitch, src_pitch)
    stream = given_or_current(stream)
    if isinstance(dst, Buffer) != isinstance(src, Buffer):
        _wait_if_pageable(stream, arguments[2] if isinstance(dst, Buffer) else arguments[0])
    stream._retention.submit("aclrtMemcpy2dAsync", *arguments, stream._handle, uses=(arguments, dst, src))


def _rows_of_both(
    dst: Operand, src: Operand, width: int, height: int, dst_pitch: int | None, src_pitch: int | None
) -> tuple[Any, ...]:
    """Return the arguments of a two-dimensional copy, without the stream."""
    numbers = {"width": width, "height": height, "dst_pitch": dst_pitch, "src_pitch": src_pitch}
    for name, number in numbers.items():
        if number is not None and index(number) < 0:
            raise ValueError(f"{name} must not be negative, got {number}")
    width, height = index(width), index(height)
    to, to_pitch, to_device = _rows(dst, dst_pitch, width, height, writable=True)
    source, from_pitch, from_device = _rows(src, src_pitch, width, height, writable=False)
    return to, to_pitch, source, from_pitch, width, height, _KINDS[from_device, to_device]


def _rows(operand: Operand, pitch: int | None, width: int, height: int, *, writable: bool) -> tuple[Any, int, bool]:
    """Return one side of a two-dimensional copy: its address, its pitch, and True if it is on the device."""
    if pitch is None and _is_matrix(operand):
        return _rows_of_array(operand, width, height, writable=writable)
    pointer, nbytes, is_device = _span(operand, writable)
    pitch = width if pitch is None else index(pitch)
    if height > 0 and (height - 1) * pitch + width > nbytes:
        raise ValueError(f"{height} rows of {width} bytes, {pitch} apart, do not fit into {nbytes} bytes")
    return pointer, pitch, is_device


def _is_matrix(operand: Operand) -> bool:
    if getattr(operand, "ndim", 0) != 2:
        return False
    import numpy as np  # which is imported already, if this is an array

    return isinstance(operand, np.ndarray)


def _rows_of_array(array: Any, width: int, height: int, *, writable: bool) -> tuple[Any, int, bool]:
    rows, columns = array.shape
    if array.dtype.hasobject or (writable and not array.flags.writeable):
        _span(array[:0], writable)  # raises the error
    if height > rows or width > columns * array.itemsize:
        raise ValueError(f"{height} rows of {width} bytes do not fit into an array of shape {array.shape}")
    # The stride of an axis with one element has no meaning.
    pitch = array.strides[0] if height > 1 else width
    if (columns > 1 and array.strides[1] != array.itemsize) or pitch < 0:
        raise ValueError("the elements of a row must be adjacent, and the rows in ascending order")
    return ffi.cast("char *", array.ctypes.data), pitch, False


def copy_batch(transfers: Iterable[tuple[Operand, Operand]]) -> None:
    """Make many copies with one call, and wait for them.

    Parameters
    ----------
    transfers : iterable of (dst, src)
        At most 4096 copies as in :func:`copy`, each between host and device; their order is undefined.

    Raises
    ------
    InvalidArgument
        A copy was refused; the message has its number, counted from 0.

    Notes
    -----
    ``aclrtMemcpyBatch``; 950, 910B, 910C. API reference 11-03.

    Examples
    --------
    >>> buffer, received = Buffer.from_array(bytes(4)), bytearray(2)
    >>> copy_batch([(buffer[:2], b"ab"), (buffer[2:], b"cd")])
    >>> copy_batch([(received, buffer[1:3])])
    >>> received
    bytearray(b'bc')
    """
    _call_with_batch("aclrtMemcpyBatch", _pairs(transfers))


def copy_batch_async(transfers: Iterable[tuple[Operand, Operand]], stream: Stream | None = None) -> None:
    """Enqueue many copies with one call.

    Parameters
    ----------
    transfers : iterable of (dst, src)
        Any number of copies as in :func:`copy_batch`. The operands are kept alive until the copies are done.
    stream : Stream, optional
        The copies run in its order; default :meth:`Stream.current`.

    Raises
    ------
    InvalidArgument
        A copy was refused; the message has its number, counted from 0. The copies before it are enqueued.

    Notes
    -----
    ``aclrtMemcpyBatchAsync``; 950, 910B, 910C. API reference 11-03.

    Examples
    --------
    >>> buffer = Buffer(4)
    >>> copy_batch_async([(buffer[:2], b"ab"), (buffer[2:], b"cd")], stream)
    >>> stream.synchronize()
    >>> buffer.to_numpy().tobytes()
    b'abcd'
    """
    pairs, stream = _pairs(transfers), given_or_current(stream)
    queue = stream._handle
    _wait_if_pageable(stream, *(to if from_device else source for _, _, (to, _, _), (source, _, from_device) in pairs))
    try:
        _call_with_batch("aclrtMemcpyBatchAsync", pairs, queue)
    finally:
        stream._retention.retain(pairs)  # even if one is refused, the copies before it are enqueued


def _pairs(transfers: Iterable[tuple[Operand, Operand]]) -> list[_Pair]:
    return [(dst, src, _span(dst, True), _span(src, False)) for dst, src in transfers]


def _call_with_batch(function: str, pairs: list[_Pair], *queue: Any) -> None:
    if not pairs:
        return
    sizes = [nbytes for _, _, _, (_, nbytes, _) in pairs]
    locations = [(_location(to), _location(source)) for _, _, (to, _, _), (source, _, _) in pairs]
    starts = [i for i, pair in enumerate(locations) if i == 0 or pair != locations[i - 1]]
    attributes = ffi.new("aclrtMemcpyBatchAttr[]", len(starts))
    for attribute, start in zip(attributes, starts, strict=True):
        for name, (kind, device) in zip(("dstLoc", "srcLoc"), locations[start], strict=True):
            location = getattr(attribute, name)
            location.type, location.id = kind, device
    failed = ffi.new("size_t *", len(pairs))
    arguments = (
        ffi.new("void *[]", [to for _, _, (to, _, _), _ in pairs]),
        ffi.new("size_t[]", [capacity for _, _, (_, capacity, _), _ in pairs]),
        ffi.new("void *[]", [ffi.cast("void *", source) for _, _, _, (source, _, _) in pairs]),
        ffi.new("size_t[]", sizes),
        len(pairs),
        attributes,
        ffi.new("size_t[]", starts),
        len(starts),
        failed,
    )
    try:
        call(function, *arguments, *queue)
    except AclError as error:
        if failed[0] < len(pairs):
            error.message += f" (copy {failed[0]} of the batch)"
        raise


def _location(pointer: Any) -> tuple[int, int]:
    """Return the type and number of the location of an address for a batch, which takes pageable memory as the host."""
    attributes = _attributes(pointer)
    if attributes.location == _UNREGISTERED:
        return lib.ACL_MEM_LOCATION_TYPE_HOST, 0
    return int(attributes.location), attributes.device_id


def _attributes(pointer: Any) -> PointerAttributes:
    return pointer_attributes(int(ffi.cast("uintptr_t", pointer)))


class CopyDescriptor:
    """A copy within a device whose addresses are in device memory: kernels, or :meth:`set`, may change them later.

    Parameters
    ----------
    dst, src : Buffer
        Buffers on the same device; all bytes of ``src``, at most 4 GiB - 1, are copied to the start of ``dst``.

    Notes
    -----
    ``aclrtSetMemcpyDesc``, ``aclrtMemcpyAsyncWithDesc``; 950, 910B, 910C, 310B. API reference 11-03.

    Examples
    --------
    >>> dst, first, second = Buffer(5), Buffer.from_array(b"first"), Buffer.from_array(b"other")
    >>> descriptor = CopyDescriptor(dst, first)
    >>> descriptor.set(dst, second)
    >>> descriptor.submit(stream)
    >>> stream.synchronize()
    >>> dst.to_numpy().tobytes()
    b'other'
    """

    __slots__ = ("_memory", "_operands")

    def __init__(self, dst: Buffer, src: Buffer) -> None:
        size = ffi.new("size_t *")
        call("aclrtGetMemcpyDescSize", lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, size)
        self._memory = Buffer(max(int(size[0]), _DESCRIPTOR_ALIGNMENT))  # device memory begins at multiples of 64
        self.set(dst, src)

    @property
    def memory(self) -> Buffer:
        """The device memory of the descriptor, for kernels that write it."""
        return self._memory

    def set(self, dst: Buffer, src: Buffer) -> None:
        """Write the addresses and the size; copies that have not started use the new values.

        Parameters
        ----------
        dst, src : Buffer
            As for the class.

        Raises
        ------
        ValueError
            The source is longer than the destination.

        Notes
        -----
        ``aclrtSetMemcpyDesc``; blocking. 950, 910B, 910C, 310B. API reference 11-03.
        """
        to, source = on_device(dst), on_device(src)
        if src.nbytes > dst.nbytes:
            raise ValueError(f"{src.nbytes} bytes do not fit into a destination of {dst.nbytes}")
        kind = lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE
        call("aclrtSetMemcpyDesc", self._memory._handle, kind, source, to, src.nbytes, ffi.NULL)
        self._operands = dst, src

    def submit(self, stream: Stream | None = None) -> None:
        """Copy in the order of a stream.

        The descriptor and the buffers are kept alive until the copy is done.

        Parameters
        ----------
        stream : Stream, optional
            Default :meth:`Stream.current`.

        Notes
        -----
        ``aclrtMemcpyAsyncWithDesc``; enqueues only. 950, 910B, 910C, 310B. API reference 11-03.
        """
        stream, kind = given_or_current(stream), lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE
        arguments = self._memory._handle, kind, stream._handle
        stream._retention.submit("aclrtMemcpyAsyncWithDesc", *arguments, uses=(self, self._operands))


def copy_indirect(
    dst: Buffer, src: Buffer, nbytes: int, stream: Stream | None = None, *, dst_offset: int = 0, src_offset: int = 0
) -> None:
    """Copy within a device between addresses that are read from device memory when the copy runs.

    Parameters
    ----------
    dst, src : Buffer
        Buffers of at least 8 bytes each, which contain the address of the destination, and of the source.
    nbytes : int
        The number of bytes to copy, at most 4 GiB.
    stream : Stream, optional
        The copy runs in its order; default :meth:`Stream.current`.
    dst_offset, src_offset : int, default 0
        The number of bytes to add to the addresses.

    Notes
    -----
    ``aclrtMemcpyAsyncWithOffset``; enqueues only. The memory that the addresses point to is not kept alive. 950, 910B,
    910C, 910. API reference 11-03.

    Examples
    --------
    >>> dst, src = Buffer(5), Buffer.from_array(b"hello")
    >>> addresses = Buffer.from_array(np.array([dst.handle, src.handle], np.uint64))  # a kernel may write them
    >>> copy_indirect(addresses[:8], addresses[8:], 5, stream)
    >>> stream.synchronize()
    >>> dst.to_numpy().tobytes()
    b'hello'
    """
    kind = lib.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE
    to, source = ffi.cast("void **", on_device(dst)), ffi.cast("void **", on_device(src))
    nbytes, dst_offset = check_size(nbytes), index(dst_offset)
    capacity, stream = dst_offset + nbytes, given_or_current(stream)
    arguments = to, capacity, dst_offset, source, nbytes, src_offset, kind, stream._handle
    stream._retention.submit("aclrtMemcpyAsyncWithOffset", *arguments, uses=(dst, src))


def fill(dst: Buffer, value: int, *, itemsize: int = 1) -> None:
    """Fill device memory with a value, and wait until it is filled.

    Parameters
    ----------
    dst : Buffer
        The memory to fill.
    value : int
        A value from 0 to 255, or to 2 ** 32 - 1 with an item size of 4.
    itemsize : {1, 4}, default 1
        The size of the value in bytes. With 4, the address and the size of the buffer must be multiples of 4.

    Raises
    ------
    ValueError
        The value does not fit into an item, or the size of the buffer is not a multiple of the item size.
    NotSupported
        The product does not fill items of 4 bytes; 950, 910B and 910C do.

    Notes
    -----
    ``aclrtMemset``, ``aclrtMemsetD32``; does not wait for streams. API reference 11-03.

    Examples
    --------
    >>> buffer = Buffer(8)
    >>> fill(buffer, 0xFF)
    >>> fill(buffer[:4], 258, itemsize=4)
    >>> buffer.to_numpy(np.uint32).tolist()
    [258, 4294967295]
    """
    arguments = _filling(dst, value, itemsize)
    call(_FILLS[itemsize], *arguments)


@in_c
def fill_async(dst: Buffer, value: int, stream: Stream | None = None, *, itemsize: int = 1) -> None:
    """Fill device memory with a value in the order of a stream.

    The buffer is kept alive until it is filled.

    Parameters
    ----------
    dst : Buffer
        The memory to fill.
    value : int
        A value from 0 to 255, or to 2 ** 32 - 1 with an item size of 4.
    stream : Stream, optional
        The fill runs in its order; default :meth:`Stream.current`.
    itemsize : {1, 4}, default 1
        The size of the value in bytes, as in :func:`fill`.

    Notes
    -----
    ``aclrtMemsetAsync``, ``aclrtMemsetD32Async``; enqueues only. API reference 11-03.

    Examples
    --------
    >>> buffer = Buffer(4)
    >>> fill_async(buffer, 7, stream)
    >>> stream.synchronize()
    >>> buffer.to_numpy().tolist()
    [7, 7, 7, 7]
    """


def _filling(dst: Buffer, value: int, itemsize: int = 1) -> tuple[Any, int, int, int]:
    """Return the arguments of a fill, without the stream."""
    pointer = on_device(dst)
    if itemsize not in _FILLS:
        raise ValueError(f"the item size must be 1 or 4, got {itemsize}")
    value, largest = index(value), (1 << 8 * itemsize) - 1
    if not 0 <= value <= largest:
        raise ValueError(f"the value must be 0 to {largest}, got {value}")
    count, rest = divmod(dst.nbytes, itemsize)
    if rest:
        raise ValueError(f"size {dst.nbytes} is not a multiple of the item size {itemsize}")
    if itemsize == 4 and not _fills_words():
        raise NotSupported(
            lib.ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclrtMemsetD32", "the product cannot fill 4-byte items"
        )
    return pointer, dst.nbytes, value, count


@cache
def _fills_words() -> bool:
    """Return True if the product fills words; on others, the runtime returns 0 and does not write anything."""
    found = ffi.new("uint32_t *")
    with Buffer(4) as memory:
        copy(memory, ffi.buffer(found))
        call("aclrtMemsetD32", memory._handle, 4, 1, 1)
        copy(ffi.buffer(found), memory)
    return bool(found[0])
