# SPDX-License-Identifier: Apache-2.0
"""Arrays of numpy as tensors of the runtime, and back: data types, shapes and contents."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ascend_rt._memory.host_memory import HAS_OBJECTS, PINNED_IS_CLOSED
from ascend_rt._runtime.driver import ffi, lib
from ascend_rt.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

_TYPES = {
    np.dtype(name): int(data_type)
    for name, data_type in {
        "bool": lib.ACL_BOOL,
        "int8": lib.ACL_INT8,
        "int16": lib.ACL_INT16,
        "int32": lib.ACL_INT32,
        "int64": lib.ACL_INT64,
        "uint8": lib.ACL_UINT8,
        "uint16": lib.ACL_UINT16,
        "uint32": lib.ACL_UINT32,
        "uint64": lib.ACL_UINT64,
        "float16": lib.ACL_FLOAT16,
        "float32": lib.ACL_FLOAT,
        "float64": lib.ACL_DOUBLE,
        "complex64": lib.ACL_COMPLEX64,
        "complex128": lib.ACL_COMPLEX128,
    }.items()
}
_KINDS = {data_type: kind for kind, data_type in _TYPES.items()}
_POINTER = ffi.typeof("void *")
_BF16 = "bfloat16"  # a type of the package ml_dtypes

MOST_DIMENSIONS = 128


def tensor(array: ArrayLike) -> NDArray[Any]:
    """Return an array whose elements lie in C order and have a data type of the runtime; a copy if necessary.

    Raises
    ------
    TypeError
        The runtime has no such data type.
    ClosedError
        It is a closed pinned buffer, which has no elements.
    """
    if getattr(array, "is_closed", False):
        raise ClosedError(PINNED_IS_CLOSED)
    found: NDArray[Any] = np.asarray(array, order="C")
    if found.dtype in _TYPES:
        return found
    if found.dtype.hasobject:
        raise TypeError(HAS_OBJECTS)
    native = found.dtype.newbyteorder("=")
    if native not in _TYPES and native.name != _BF16:
        raise TypeError(f"the runtime has no data type for elements of {found.dtype!r}; send a view of other elements")
    return found.astype(native, copy=False)


def data_type(array: NDArray[Any]) -> int:
    """Return the ``aclDataType`` of the elements of a :func:`tensor`."""
    return _TYPES.get(array.dtype, int(lib.ACL_BF16))


def array_of(elements: NDArray[np.uint8], data_type: int, shape: Sequence[int]) -> NDArray[Any]:
    """Return bytes as an array, without a copy.

    Parameters
    ----------
    elements : numpy.ndarray
        The bytes.
    data_type : int
        Their ``aclDataType``. Without a counterpart in numpy, such as strings, the array has bytes and one dimension.
    shape : sequence of int
        The shape; one that is not that of the content counts as unknown.
    """
    kind = _kind(data_type)
    if kind is None or min(shape, default=0) < 0 or math.prod(shape) * kind.itemsize != elements.nbytes:
        return elements
    return elements.view(kind).reshape(tuple(shape))


def _kind(data_type: int) -> np.dtype[Any] | None:
    if data_type != lib.ACL_BF16:
        return _KINDS.get(data_type)
    kind = getattr(sys.modules.get("ml_dtypes"), _BF16, None)  # None: the program cannot use it
    return None if kind is None else np.dtype(kind)


def description_of(array: NDArray[Any]) -> bytes:
    """Return the data type and the shape of a :func:`tensor` as text."""
    return f"{data_type(array)}|{','.join(map(str, array.shape))}".encode()


def described(elements: NDArray[np.uint8], description: bytes) -> NDArray[Any]:
    """Return bytes as the array that they are described as; as they are if the description does not fit them.

    An empty array has a byte, because a message has at least one.
    """
    try:
        data_type, *shape = map(int, description.replace(b"|", b",", 1).rstrip(b",").split(b","))
    except ValueError:  # from another program
        return elements
    return array_of(elements[:0] if 0 in shape and len(elements) == 1 else elements, data_type, shape)


def address_of(array: NDArray[Any]) -> Any:
    """Return the address of the elements, as a pointer of C."""
    return ffi.cast(_POINTER, array.__array_interface__["data"][0])
