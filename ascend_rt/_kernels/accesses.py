# SPDX-License-Identifier: Apache-2.0
"""Declarations of the memory that launches read and write.

The runtime does not know what a kernel does with its arguments. ``aclsimDeclareAccesses`` declares this to the
simulator's checks right before the launch; it is not called with the vendor's library.
"""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ascend_rt._memory.arrays import plain
from ascend_rt._runtime.driver import call, ffi, lib, supports
from ascend_rt.memory import Buffer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import DTypeLike

    from ascend_rt._kernels.host_arguments import HostArguments
    from ascend_rt._kernels.parameters import Parameter

READ, WRITE = int(lib.ACLSIM_ACCESS_READ), int(lib.ACLSIM_ACCESS_WRITE)
MODES = {"in": READ, "out": WRITE, "inout": READ | WRITE}  # the access words of ascend_rt.kernel

_HIGHEST_RANK = 16

host_kernels: dict[str, HostArguments] = {}
"""Parameters of the registered functions that declare their accesses, by the name of the kernel."""


class Access(NamedTuple):
    """Elements of memory, and a kernel's access to them; strides of None mean C order without gaps."""

    mode: int
    address: int
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None


class Operand:
    """An array in a buffer that a kernel accesses, for the arguments ``reads`` and ``writes`` of :meth:`Kernel.launch`.

    Parameters
    ----------
    buffer : Buffer
        The buffer; the array begins at its start. Pass a slice of a buffer for another start.
    dtype : data type, default uint8
        The type of the elements.
    shape : int or sequence of int, optional
        The shape; default one dimension with as many elements as the buffer has.
    strides : sequence of int, optional
        The number of bytes from one element to the next in each dimension, not negative; default C order without gaps.

    Raises
    ------
    ValueError
        The array extends beyond the end of the buffer.

    Examples
    --------
    >>> matrix = Buffer(64 * 64 * 4)
    >>> columns = Operand(matrix[64:], np.float32, (64, 4), strides=(256, 4))  # from column 16 on
    >>> columns.shape, columns.dtype, columns.buffer.offset
    ((64, 4), dtype('float32'), 64)
    """

    __slots__ = ("buffer", "dtype", "shape", "strides")

    def __init__(
        self,
        buffer: Buffer,
        dtype: DTypeLike = np.uint8,
        shape: int | Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
    ) -> None:
        if not isinstance(buffer, Buffer):
            raise TypeError(f"expected a Buffer or an Operand of one, got {type(buffer).__name__}")
        self.buffer, self.dtype = buffer, plain(dtype)
        self.shape = np.broadcast_shapes(buffer.nbytes // self.dtype.itemsize if shape is None else shape)
        self.strides = None if strides is None else tuple(map(index, strides))
        self._check()

    def _check(self) -> None:
        if len(self.shape) > _HIGHEST_RANK:
            raise ValueError(f"an operand has at most {_HIGHEST_RANK} dimensions, got {len(self.shape)}")
        if self.strides is None:
            end = self.dtype.itemsize * math.prod(self.shape)
        elif len(self.strides) == len(self.shape) and min(self.strides, default=0) >= 0:
            last = sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
            end = last + self.dtype.itemsize
        else:
            raise ValueError(f"shape {self.shape} needs one stride of 0 or more per dimension, got {self.strides}")
        if 0 not in self.shape and end > self.buffer.nbytes:
            raise ValueError(f"{self!r} ends at byte {end}, past the end of the buffer ({self.buffer.nbytes} bytes)")

    def __repr__(self) -> str:
        return f"Operand({self.buffer!r}, {self.dtype}, shape={self.shape}, strides={self.strides})"


def given(reads: Iterable[Buffer | Operand], writes: Iterable[Buffer | Operand]) -> list[Access]:
    """Return the accesses that a call of :meth:`Kernel.launch` names."""
    operands = [(READ, each) for each in reads] + [(WRITE, each) for each in writes]
    return [_of(mode, each if isinstance(each, Operand) else Operand(each)) for mode, each in operands]


def of_argument(parameter: Parameter, buffer: Buffer) -> Access:
    """Return the access to the array whose address a kernel gets: of the declared length, or the whole buffer."""
    dtype, length = np.dtype(parameter.dtype), parameter.length or ""
    count = int(length) if length.isdecimal() else buffer.nbytes // dtype.itemsize
    return Access(MODES[parameter.access], buffer.handle, dtype.itemsize, (count,))


def _of(mode: int, operand: Operand) -> Access:
    return Access(mode, operand.buffer.handle, operand.dtype.itemsize, operand.shape, operand.strides)


def are_wanted() -> bool:
    """Return True if a check needs the accesses."""
    return supports("aclsimWantsAccesses") and bool(lib.aclsimWantsAccesses())


def declare(accesses: Sequence[Access]) -> None:
    """Declare the accesses of the next launch of the calling thread (``aclsimDeclareAccesses``)."""
    rows = ffi.new("aclsimAccess[]", len(accesses))
    layouts = [(_numbers(each.shape), _numbers(each.strides)) for each in accesses]  # alive until the call returns
    for row, each, (shape, strides) in zip(rows, accesses, layouts, strict=True):
        row.address, row.mode = ffi.cast("void *", each.address), each.mode
        row.elementSize, row.rank, row.shape, row.strides = each.itemsize, len(each.shape), shape, strides
    call("aclsimDeclareAccesses", rows, len(accesses))


def _numbers(values: tuple[int, ...] | None) -> Any:
    return ffi.NULL if values is None else ffi.new("int64_t[]", values)
