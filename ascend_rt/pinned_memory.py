# SPDX-License-Identifier: Apache-2.0
"""Pinned memory of the host as numpy arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ascend_rt._memory.arrays import PageableArray, numbers, plain
from ascend_rt._memory.host_allocation import HostAllocation
from ascend_rt._memory.sizes import check_size
from ascend_rt._native import handles
from ascend_rt._native.in_c import in_c
from ascend_rt._runtime.driver import ffi
from ascend_rt._runtime.settings import simulator_looks_for_races

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import DTypeLike, NDArray
    from typing_extensions import Self, TypeVar

    from ascend_rt.memory import HostMemory, KnownDType, ScalarT, Shape

    ItemT = TypeVar("ItemT", bound=np.generic, default=np.uint8)
else:
    from typing import TypeVar

    ItemT = TypeVar("ItemT", bound=np.generic)  # with a default only from Python 3.13 on

__all__ = ["PinnedBuffer"]

_FORMAT = 4  # PyBUF_FORMAT


@in_c
@handles.pinned
class PinnedBuffer(np.ndarray[Any, np.dtype[ItemT]]):
    """Page-locked memory of the host as a numpy array of bytes; :meth:`empty` creates one of any type and shape.

    Only copies from and to pinned memory are asynchronous: with ordinary arrays the runtime waits for the stream and
    then copies. As an array, a pinned buffer has the buffer protocol, slices and ``view(dtype)``, and each of these
    views keeps the memory alive. The memory is freed with the last reference to the buffer and its views. Copies,
    including those of ``astype`` and of index arrays, are ordinary arrays.

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

    Examples
    --------
    >>> sent, received = PinnedBuffer.from_array(np.arange(3.0)), PinnedBuffer.empty(3, np.float64)
    >>> buffer = Buffer(sent.nbytes)
    >>> copy_async(buffer, sent, stream)
    >>> copy_async(received, buffer, stream)
    >>> stream.synchronize()
    >>> received.tolist()
    [0.0, 1.0, 2.0]
    """

    _memory: object
    _is_pinned = True  # lets copies recognize it without importing this module

    def __new__(cls, nbytes: int) -> PinnedBuffer[np.uint8]:
        """Allocate the memory and make an array of it."""
        return cls._allocate((check_size(nbytes),), np.dtype(np.uint8))

    @overload
    @classmethod
    def empty(cls, shape: Shape, dtype: type[np.float32] = ...) -> PinnedBuffer[np.float32]: ...

    @overload
    @classmethod
    def empty(cls, shape: Shape, dtype: KnownDType[ScalarT]) -> PinnedBuffer[ScalarT]: ...

    @overload
    @classmethod
    def empty(cls, shape: Shape, dtype: DTypeLike) -> PinnedBuffer[Any]: ...

    @classmethod
    def empty(cls, shape: Shape, dtype: DTypeLike = np.float32) -> PinnedBuffer[Any]:
        """Allocate a pinned array of any type; its content is undefined.

        Parameters
        ----------
        shape : int or sequence of int
            The shape, as for ``numpy.empty``; the array must not be empty.
        dtype : data type, default float32
            The type of the elements.

        Returns
        -------
        PinnedBuffer
            The array, in C order.

        Raises
        ------
        ValueError
            The array would be empty.
        TypeError
            The elements would be Python objects.

        Notes
        -----
        ``aclrtMallocHost``. All products.

        Examples
        --------
        >>> pinned = PinnedBuffer.empty((2, 3))
        >>> pinned.dtype, pinned.shape, pinned.nbytes
        (dtype('float32'), (2, 3), 24)
        """
        kind, dimensions = plain(dtype), np.broadcast_shapes(shape)
        if 0 in dimensions:
            raise ValueError(f"an array of shape {dimensions} is empty; pinned memory needs at least 1 byte")
        return cls._allocate(dimensions, kind)

    @overload
    @classmethod
    def from_array(cls, array: NDArray[ScalarT]) -> PinnedBuffer[ScalarT]: ...

    @overload
    @classmethod
    def from_array(cls, array: HostMemory) -> PinnedBuffer[Any]: ...

    @classmethod
    def from_array(cls, array: HostMemory) -> PinnedBuffer[Any]:
        """Copy an array into a new pinned one of the same type and shape, in C order.

        Parameters
        ----------
        array : array-like
            An array of numbers, or an object with the buffer protocol.

        Returns
        -------
        PinnedBuffer
            A copy.

        Raises
        ------
        ValueError
            The array is empty.
        TypeError
            The argument is not an array, or its elements are Python objects.

        Notes
        -----
        ``aclrtMallocHost``; all products.

        Examples
        --------
        >>> pinned = PinnedBuffer.from_array(np.arange(6).reshape(2, 3))
        >>> pinned[1].tolist(), pinned.T.is_closed
        ([3, 4, 5], False)
        """
        source = numbers(array)
        pinned = cls.empty(source.shape, source.dtype)
        np.copyto(pinned, source)
        return pinned

    @classmethod
    def _allocate(cls, shape: tuple[int, ...], dtype: np.dtype[Any]) -> PinnedBuffer[Any]:
        nbytes = math.prod(shape) * dtype.itemsize
        # The array holds the buffer, the buffer the pointer, and the pointer the memory.
        memory = HostAllocation("aclrtMallocHost", "aclrtFreeHost", nbytes).pointer(nbytes)
        array: PinnedBuffer[Any] = np.ndarray.__new__(cls, shape, dtype, ffi.buffer(memory, nbytes))
        return array

    @property
    def handle(self) -> int:
        """The address as an integer."""
        return int(self.ctypes.data)

    def close(self) -> None:
        """Become an empty array, which copies refuse; closing twice is allowed.

        The memory is freed with the last reference to this object and its views: a view never points to freed memory.
        """
        if not self.is_closed:
            self.__setstate__((1, (0,), self.dtype, False, b""))

    @property
    def is_closed(self) -> bool:
        """True if the buffer was closed."""
        return self.size == 0 and self.base is None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ascend_rt.PinnedBuffer {self.handle:#x}, {self.nbytes} bytes>"

    def __buffer__(self, flags: int, /) -> memoryview:
        """Export a view, whose shape stays when this object is closed; from Python 3.12 on.

        Older Python releases do not call this method. They have older releases of numpy, which keep the shape and
        format that they have exported; numpy 2.5 frees both when those of the array change.
        """
        array = self.view(np.ndarray)
        try:
            return array.data
        except ValueError:  # the type has no format (a time, for instance): only its bytes can be exported
            if flags & _FORMAT or not array.flags.c_contiguous:
                raise
            return array.reshape(-1).view(np.uint8).data

    def __setstate__(self, state: Any) -> None:
        """Switch to other memory; the pinned memory is freed with the last reference to this object."""
        if self.base is not None:  # views, queued copies and users of the buffer protocol only refer to this object
            self._memory = self.base
        super().__setstate__(state)

    def __array_finalize__(self, source: Any) -> None:
        """Make a copy an ordinary array: only arrays in pinned memory are pinned."""

    def _become_pageable(self) -> None:
        """Become an ordinary array, unless this is a view of an array in pinned memory."""
        owner: Any = self.base
        while type(owner) is np.ndarray:  # numpy makes some copies as views of arrays that it does not show
            owner = owner.base
        if owner is None:
            self.__class__ = PageableArray  # type: ignore[assignment]

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool | None = None) -> Any:
        """Return results of arithmetic as ordinary arrays, except those that are written to pinned memory."""
        if array is self:
            return self
        plain = np.asarray(array)
        is_scalar = plain.ndim == 0 if return_scalar is None else return_scalar  # numpy 1 does not pass it
        return plain[()] if is_scalar else plain


if simulator_looks_for_races():
    from ascend_rt._memory import host_accesses

    host_accesses.install(PinnedBuffer)
