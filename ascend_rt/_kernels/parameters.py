# SPDX-License-Identifier: Apache-2.0
"""Parameters of kernels: the types that callers write, and the layout of the block of arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Type = Any  # a text as described in kernel.py, or an argument of numpy.dtype

_ARRAY = re.compile(r"(?:(in|out|inout) +)?(\w+)\[(\w*)\]")


class Parameter(NamedTuple):
    """A parameter of a kernel.

    Attributes
    ----------
    dtype : numpy.dtype or None
        The type of the value, or of the elements of an array; None if only the size is known.
    nbytes : int
        The size of the argument in the block of arguments.
    length : str or None
        The number of elements of an array, "" if it is not declared; None for a value.
    offset : int or None
        The offset in the block; None for the next offset after the preceding parameter, aligned as in C.
    access : str
        For an array: "in", "out" or "inout" if the kernel reads, writes, or reads and writes it; "" if unknown.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> kernel = Binary(sim.device_object("scale")).kernel("scale", ["in float32[]", "float32"])
    >>> [(each.nbytes, each.is_array, each.access) for each in kernel.parameters]
    [(8, True, 'in'), (4, False, '')]
    """

    dtype: np.dtype[Any] | None
    nbytes: int
    length: str | None = None
    offset: int | None = None
    access: str = ""

    @property
    def is_array(self) -> bool:
        """True if the parameter is the address of an array."""
        return self.length is not None

    @property
    def has_known_accesses(self) -> bool:
        """True for a number, and for an array with an access word."""
        return bool(self.access) if self.is_array else self.dtype is not None

    @property
    def alignment(self) -> int:
        """The number of bytes that its offset is a multiple of."""
        if self.is_array:
            return 8
        return self.dtype.alignment if self.dtype is not None else _alignment_of(self.nbytes)


def parameter(type: Type) -> Parameter:
    """Return the parameter that a type describes; see :mod:`ascend_rt.kernel`.

    Raises
    ------
    TypeError
        The argument is not a type of a parameter.
    """
    match = _ARRAY.fullmatch(type) if isinstance(type, str) else None
    try:
        dtype = np.dtype(match[2] if match else type)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.hasobject or not dtype.itemsize:
        raise TypeError(f"{type!r} is not a type of a parameter; write for example 'uint32' or 'float32[count]'")
    return Parameter(dtype, 8, match[3], access=match[1] or "") if match else Parameter(dtype, dtype.itemsize)


def have_known_accesses(parameters: Sequence[Parameter] | None) -> bool:
    """Return True if there are arrays among the parameters and all of them have an access word."""
    each = parameters or ()
    return any(it.is_array for it in each) and all(it.has_known_accesses for it in each)


def offsets(parameters: Sequence[Parameter]) -> list[int]:
    """Return the offset of each parameter in the block of arguments, followed by the size of the block."""
    places, end = [], 0
    for each in parameters:
        place = _round_up(end, each.alignment) if each.offset is None else each.offset
        places.append(place)
        end = max(end, place + each.nbytes)
    return [*places, end]


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step


def _alignment_of(nbytes: int) -> int:
    """Return the largest power of two, up to 8, that divides a size."""
    return min(nbytes & -nbytes, 8) or 1
