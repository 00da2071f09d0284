# SPDX-License-Identifier: Apache-2.0
"""Functions of ``acl.util`` between numpy and addresses."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_rt._runtime.driver import ffi

# The letter of each type number of numpy's C API.
_TYPES = "?bBhHiIlLqQfdgFDGOSUVMme"


def _check_array(array: object) -> None:
    if not isinstance(array, np.ndarray):
        raise ValueError("needs an ndarray as argument")


def numpy_to_ptr(array: NDArray[Any]) -> int:
    _check_array(array)
    if not array.flags.c_contiguous:
        text = "The input ndarray is discontiguous. Please use acl.util.bytes_to_ptr instead."
        warnings.warn(text, Warning, stacklevel=2)
    return array.ctypes.data


def numpy_contiguous_to_ptr(array: NDArray[Any]) -> tuple[int, NDArray[Any]]:
    _check_array(array)
    contiguous = array if array.flags.c_contiguous else np.ascontiguousarray(array)
    return contiguous.ctypes.data, contiguous


def ptr_to_numpy(ptr: int, shape: tuple[int, ...], number: int) -> NDArray[Any]:
    if not isinstance(shape, tuple):
        raise ValueError("shape is empty")
    if not all(isinstance(length, int) for length in shape):
        raise TypeError("the second argument is not list of int")
    if not 0 <= number < len(_TYPES):
        raise ValueError(f"numpy has no type of the number {number}")
    dtype = np.dtype(_TYPES[number])
    memory = ffi.buffer(ffi.cast("char *", ptr), math.prod(shape) * dtype.itemsize)
    return np.frombuffer(memory, dtype).reshape(shape)
