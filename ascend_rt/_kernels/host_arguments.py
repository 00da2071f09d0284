# SPDX-License-Identifier: Apache-2.0
"""Arguments of a function of the host that runs as a kernel: views of the memory of a launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ascend_rt._kernels.accesses import MODES, Access
from ascend_rt._kernels.parameters import Parameter, Type, have_known_accesses, offsets, parameter
from ascend_rt._runtime.driver import ffi, lib

if TYPE_CHECKING:
    from numpy.typing import NDArray


class HostArguments:
    """The parameters that a function was registered with, which read the block of arguments of a launch."""

    def __init__(self, parameters: Mapping[str, Type] | Sequence[Type] | None) -> None:
        types = parameters.values() if isinstance(parameters, Mapping) else parameters
        self._names = list(parameters) if isinstance(parameters, Mapping) else []
        self._parameters = None if types is None else [self._parameter(each) for each in types]
        self._offsets = offsets(self._parameters or [])

    def _parameter(self, type: Type) -> Parameter:
        found = parameter(type)
        if found.is_array and not (found.length or "").isdecimal() and found.length not in self._names:
            raise TypeError(f"{type!r} needs a length: a number or the name of another parameter")
        return found

    def of(self, block: Any) -> tuple[NDArray[np.uint8], Sequence[Any]]:
        """Return the workspace of a block of a launch, and the arguments."""
        memory = np.frombuffer(ffi.buffer(block.arguments, block.argumentsSize), np.uint8)
        workspace = np.frombuffer(ffi.buffer(block.workspace, block.workspaceSize), np.uint8)
        return workspace, (memory,) if self._parameters is None else self._views(memory, self._parameters)

    def _views(self, memory: NDArray[np.uint8], parameters: Sequence[Parameter]) -> list[Any]:
        """Return the value of each parameter: a numpy scalar, or for an address a view of the memory."""
        if len(memory) < self._offsets[-1]:
            raise ValueError(
                f"the launch passes {len(memory)} bytes of arguments, but the kernel needs {self._offsets[-1]}"
            )
        values = self._values(memory, parameters)
        return [
            _view(int(value), each, self._count(each, values), memory) if each.is_array else value
            for each, value in zip(parameters, values, strict=True)
        ]

    def _values(self, memory: NDArray[np.uint8], parameters: Sequence[Parameter]) -> list[Any]:
        """Return each parameter as a numpy scalar; an array is its address."""
        values = []
        for each, place in zip(parameters, self._offsets, strict=False):
            dtype = each.dtype if each.dtype is not None and not each.is_array else np.dtype(np.uint64)
            values.append(memory[place : place + each.nbytes].view(dtype)[0])
        return values

    def _count(self, array: Parameter, values: Sequence[Any]) -> int:
        length = array.length or ""
        return int(length) if length.isdecimal() else int(values[self._names.index(length)])

    @property
    def has_known_accesses(self) -> bool:
        """True if the types of all arrays have an access word."""
        return have_known_accesses(self._parameters)

    def accesses(self, memory: NDArray[np.uint8]) -> list[Access] | None:
        """Return the accesses of a launch with this block of arguments; None if the block is too small."""
        parameters = self._parameters or ()
        if len(memory) < self._offsets[-1]:
            return None
        values = self._values(memory, parameters)
        return [
            Access(MODES[each.access], int(value), np.dtype(each.dtype).itemsize, (self._count(each, values),))
            for each, value in zip(parameters, values, strict=True)
            if each.is_array
        ]


def _view(pointer: int, parameter: Parameter, count: int, memory: NDArray[np.uint8]) -> NDArray[Any]:
    """Return an array of the memory at an address, which the runtime or the block of arguments must have."""
    dtype = np.dtype(parameter.dtype)
    nbytes = count * dtype.itemsize
    here = memory.ctypes.data
    is_inside = here <= pointer and pointer + nbytes <= here + len(memory)
    if nbytes and not is_inside and not lib.aclsimIsLive(ffi.cast("void *", pointer), nbytes):
        raise ValueError(f"the {nbytes} bytes at {pointer:#x} are not live memory of the runtime")
    array = np.frombuffer(ffi.buffer(ffi.cast("char *", pointer), nbytes), dtype)
    array.flags.writeable = parameter.access != "in"
    return array
