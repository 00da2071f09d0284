# SPDX-License-Identifier: Apache-2.0
"""Arrays as messages of a queue: their bytes, and a description that fits into a message's user data."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

USER_DATA = 96
"""Bytes of user data of a message."""

END = b"end"
"""The user data of the message that ends an iteration."""


def packed(array: ArrayLike) -> tuple[np.ndarray[Any, Any], bytes]:
    """Return the array, contiguous, and its description: type and shape as text.

    Raises
    ------
    TypeError
        The array has Python objects or fields.
    ValueError
        It is empty, or has so many dimensions that the description does not fit.
    """
    import numpy as np

    whole = np.asarray(array, order="C")
    if whole.dtype.hasobject or whole.dtype.names is not None:
        raise TypeError(f"expected an array of numbers, got one of {whole.dtype}")
    if whole.nbytes == 0:
        raise ValueError("the array is empty, but a message needs at least one byte")
    description = f"{whole.dtype.str}|{','.join(map(str, whole.shape))}".encode()
    if len(description) > USER_DATA:
        raise ValueError(f"the shape {whole.shape} has too many dimensions for a message")
    return whole, description


def unpacked(memory: np.ndarray[Any, Any], description: bytes) -> np.ndarray[Any, Any]:
    """Return the bytes as the described array; unchanged if another program put them without a description."""
    import numpy as np

    kind, separator, shape = description.rstrip(b"\0").decode("ascii", "replace").rpartition("|")
    if not separator:
        return memory
    try:
        dtype = np.dtype(kind)
        sizes = tuple(map(int, shape.split(","))) if shape else ()
    except (TypeError, ValueError, SyntaxError):  # user data of another program
        return memory
    if dtype.hasobject or min(sizes, default=0) < 0 or prod(sizes) * dtype.itemsize != memory.nbytes:
        return memory
    return memory.view(dtype).reshape(sizes)
