# SPDX-License-Identifier: Apache-2.0
"""Arrays that memory is copied from and to; imported by functions, so that programs without arrays do not load it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ascend_rt._memory.host_memory import HAS_OBJECTS, PINNED_IS_CLOSED, has_buffer
from ascend_rt.errors import ClosedError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from ascend_rt.memory import HostMemory, Shape


class PageableArray(np.ndarray[Any, np.dtype[Any]]):
    """An ordinary array that was created from a pinned one, such as a copy."""


def numbers(array: HostMemory) -> NDArray[Any]:
    """Return host memory as an array that has elements and whose elements can be copied."""
    if not has_buffer(array):
        raise TypeError(
            f"expected an array or a bytes-like object, got {type(array).__name__}; copy() also copies from a Buffer"
        )
    found = array if isinstance(array, np.ndarray) else np.asarray(memoryview(array))
    if getattr(found, "is_closed", False):
        raise ClosedError(PINNED_IS_CLOSED)
    if found.dtype.hasobject:
        raise TypeError(HAS_OBJECTS)
    if not found.nbytes:
        raise ValueError(f"the array of shape {found.shape} is empty")
    return found


def numbers_in_order(array: HostMemory) -> NDArray[Any]:
    """Return host memory as an array whose elements lie in C order; a copy if they do not."""
    return np.ascontiguousarray(numbers(array))


def plain(dtype: DTypeLike) -> np.dtype[Any]:
    """Return a data type; raise an error if its values are not stored in the array itself."""
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise TypeError(HAS_OBJECTS)
    if not kind.itemsize:
        raise ValueError(f"dtype {kind!r} has item size 0")
    return kind


def array_of_size(nbytes: int, dtype: DTypeLike, shape: Shape | None) -> NDArray[Any]:
    """Return a new array for the content of a buffer of this size; without a shape it has one dimension."""
    kind = plain(dtype)
    if shape is None:
        shape, rest = divmod(nbytes, kind.itemsize)
        if rest:
            raise ValueError(f"size {nbytes} is not a multiple of the item size {kind.itemsize} of {kind}")
    dimensions = np.broadcast_shapes(shape)
    size = math.prod(dimensions) * kind.itemsize
    if size != nbytes:
        raise ValueError(f"{kind} of shape {dimensions} needs {size} bytes, but the buffer has {nbytes}")
    return np.empty(dimensions, kind)
