# SPDX-License-Identifier: Apache-2.0
"""Memory of devices, pinned memory of the host, and copies between them and numpy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ascend_rt import _lifecycle
from ascend_rt._driver import call, check, ffi, lib, usable
from ascend_rt._resource import Resource

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Buffer as HostBuffer
    from typing_extensions import Self

    from ascend_rt.enums import MemMallocPolicy
    from ascend_rt.stream import Stream

    Operand: TypeAlias = "Buffer | HostBuffer"

_BYTES = ffi.typeof("char[]")

_HUGE_FIRST = lib.ACL_MEM_MALLOC_HUGE_FIRST

# (from the device, to the device)
_KINDS = {
    (False, False): lib.ACL_MEMCPY_HOST_TO_HOST,
    (False, True): lib.ACL_MEMCPY_HOST_TO_DEVICE,
    (True, False): lib.ACL_MEMCPY_DEVICE_TO_HOST,
    (True, True): lib.ACL_MEMCPY_DEVICE_TO_DEVICE,
}


class Buffer(Resource):
    """Memory of the device of the calling thread's context.

    A slice, ``buffer[4096:8192]``, is a view of the same memory: it keeps the whole buffer alive and is not freed by
    itself.

    Parameters
    ----------
    nbytes : int
        Size in bytes; must be positive.
    policy : MemMallocPolicy, default MALLOC_HUGE_FIRST
        Which pages to use.

    Raises
    ------
    OutOfMemory
        The device's memory is exhausted.
    NoContext
        The calling thread has no current context.
    InvalidArgument
        The size is zero.

    Notes
    -----
    ``aclrtMalloc``, ``aclrtFree``; synchronous, content undefined. Freeing does not wait for the device: close a buffer
    only when no stream uses it any more. Copies made by :func:`copy_async` keep their buffers alive by themselves. All
    products. API reference 11-01.
    """

    __slots__ = ("_nbytes", "_parent")
    _what = "buffer"

    def __init__(self, nbytes: int, *, policy: MemMallocPolicy | int = _HUGE_FIRST) -> None:
        _lifecycle.initialize()
        out = ffi.new("void **")
        call("aclrtMalloc", out, _size(nbytes), int(policy))
        self._nbytes = nbytes
        self._parent: Buffer | None = None
        self._own(ffi.cast("char *", out[0]))

    @classmethod
    def from_handle(cls, address: int, nbytes: int) -> Self:
        """Borrow device memory that somebody else owns, for instance a tensor's; it is never freed from here."""
        buffer = cls.__new__(cls)
        buffer._nbytes = nbytes
        buffer._parent = None
        buffer._borrow(ffi.cast("char *", address))
        return buffer

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._nbytes

    def __len__(self) -> int:
        return self._nbytes

    def __getitem__(self, part: slice) -> Buffer:
        if not isinstance(part, slice):
            raise TypeError("device memory cannot be read from the host; take a slice and copy it")
        start, stop, step = part.indices(self._nbytes)
        if step != 1 or stop <= start:
            raise ValueError(f"a view is a non-empty range of bytes, not [{part.start}:{part.stop}:{part.step}]")
        view = Buffer.__new__(Buffer)
        view._nbytes = stop - start
        view._parent = self
        view._borrow(self._handle + start)
        return view

    def _destroy(self, handle: Any) -> None:
        call("aclrtFree", handle)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self._nbytes} bytes>"


class PinnedBuffer(np.ndarray[tuple[int], np.dtype[np.uint8]]):
    """Page-locked memory of the host as a numpy array of bytes.

    Only copies from and to pinned memory are asynchronous: with ordinary arrays the runtime waits for the stream and
    then copies. Being an array, a pinned buffer has the buffer protocol, slices, and ``view(dtype)``; all of them keep
    the memory alive. The memory goes back to the runtime when the last view of it is gone.

    Parameters
    ----------
    nbytes : int
        Size in bytes; must be positive.

    Raises
    ------
    OutOfMemory
        No pinned memory is left.
    NoContext
        The calling thread has no current context.

    Notes
    -----
    ``aclrtMallocHost``, ``aclrtFreeHost``; synchronous, content undefined. All products. API reference 11-02.
    """

    def __new__(cls, nbytes: int) -> Self:
        """Allocate the memory and make an array of it."""
        _lifecycle.initialize()
        out = ffi.new("void **")
        call("aclrtMallocHost", out, _size(nbytes))
        # The array holds the buffer, the buffer holds the pointer, and the pointer's destructor frees the memory.
        memory = ffi.gc(out[0], _free_host, nbytes)
        array: Self = np.ndarray.__new__(cls, (nbytes,), np.uint8, ffi.buffer(memory, nbytes))
        return array

    @property
    def handle(self) -> int:
        """The address as an integer."""
        return int(self.ctypes.data)

    def close(self) -> None:
        """Become an empty array and let go of the memory; closing twice is allowed.

        The memory goes back at once, or when the last view of it is gone: a view never points to freed memory.
        """
        self.__setstate__((1, (0,), np.dtype(np.uint8), False, b""))  # type: ignore[arg-type]

    @property
    def is_closed(self) -> bool:
        """Whether the buffer was closed."""
        return self.size == 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ascend_rt.PinnedBuffer {self.handle:#x}, {self.nbytes} bytes>"

    def __array_finalize__(self, source: Any) -> None:
        """Nothing is inherited: whether memory is pinned is the runtime's knowledge, by address."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Results of arithmetic are ordinary arrays."""
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain


def _free_host(pointer: Any) -> None:
    if usable():
        code = lib.aclrtFreeHost(pointer)
        if code:
            check(code, "aclrtFreeHost")


def _span(operand: Operand, writable: bool) -> tuple[Any, int, bool]:
    """Return one side of a copy: its address, its size, and whether it is on the device."""
    if isinstance(operand, Buffer):
        return operand._handle, operand._nbytes, True
    view = ffi.from_buffer(_BYTES, operand, writable)  # says itself what it does not take
    return view, len(view), False


def _size(nbytes: int) -> int:
    if nbytes < 0:
        raise ValueError(f"a size cannot be negative: {nbytes}")
    return nbytes


def copy(dst: Operand, src: Operand) -> None:
    """Copy bytes between buffers, numpy arrays and other objects with the buffer protocol, and wait for it.

    Parameters
    ----------
    dst, src : Buffer, PinnedBuffer, numpy.ndarray, or bytes-like
        All bytes of ``src`` are copied to the start of ``dst``. Arrays must be C-contiguous, ``dst`` writable.

    Raises
    ------
    InvalidArgument
        ``src`` is larger than ``dst``, or memory was freed.
    TypeError, ValueError, BufferError
        An operand is no buffer, not contiguous, or read-only.

    Notes
    -----
    ``aclrtMemcpy``; blocking, without the GIL; waits for no stream. All products. API reference 11-03.
    """
    to, capacity, to_device = _span(dst, True)
    source, nbytes, from_device = _span(src, False)
    code = lib.aclrtMemcpy(to, capacity, source, nbytes, _KINDS[from_device, to_device])
    if code:
        check(code, "aclrtMemcpy")


def copy_async(dst: Operand, src: Operand, stream: Stream) -> None:
    """Copy bytes in the order of a stream.

    The operands are as in :func:`copy`, and are kept alive until the copy is done. With pageable host memory, which is
    any array that is not a :class:`PinnedBuffer`, the runtime waits for the stream and copies before it returns.

    Raises
    ------
    NotSupported
        Both sides are host memory.
    InvalidArgument
        ``src`` is larger than ``dst``, or memory was freed.

    Notes
    -----
    ``aclrtMemcpyAsync``; enqueues only, if the host side is pinned. All products. API reference 11-03.
    """
    to, capacity, to_device = _span(dst, True)
    source, nbytes, from_device = _span(src, False)
    code = lib.aclrtMemcpyAsync(to, capacity, source, nbytes, _KINDS[from_device, to_device], stream._handle)
    if code:
        check(code, "aclrtMemcpyAsync")
    stream._in_flight.keep(stream, to, source, dst, src)


def fill(dst: Buffer, value: int, stream: Stream | None = None) -> None:
    """Set every byte of device memory to a value.

    Parameters
    ----------
    dst : Buffer
        What to fill.
    value : int
        0 to 255.
    stream : Stream, optional
        Fill in the order of this stream and return at once; without one, wait.

    Notes
    -----
    ``aclrtMemset``, ``aclrtMemsetAsync``. All products. API reference 11-03.
    """
    if not 0 <= value <= 255:
        raise ValueError(f"a byte is 0 to 255, not {value}")
    if stream is None:
        call("aclrtMemset", dst._handle, dst._nbytes, value, dst._nbytes)
    else:
        code = lib.aclrtMemsetAsync(dst._handle, dst._nbytes, value, dst._nbytes, stream._handle)
        check(code, "aclrtMemsetAsync")
        stream._in_flight.keep(stream, dst)
