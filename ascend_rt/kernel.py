# SPDX-License-Identifier: Apache-2.0
"""Kernels: binaries, the functions in them, and their launches.

The block of arguments is laid out like a C structure of the parameters, or as the binary's metadata prescribes, if it
has any. The type of a parameter is written as

- ``"uint32"``, ``"float32"``, …: a number, by the name of its numpy type; or a numpy type itself, which may be
  structured;
- ``"float32[count]"``, ``"float32[16]"``, ``"float32[]"``: the address of an array. Only kernels in Python
  (:func:`ascend_rt.sim.kernel`) use the length, which is a number or the name of another parameter;
- ``"in float32[]"``, ``"out float32[]"``, ``"inout float32[]"``: the address of an array, with the kernel's access to
  it. If all arrays have such an access word, launches declare their accesses to the simulator's checks; see
  :meth:`Kernel.launch`.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from ascend_rt._kernels import accesses as _accesses
from ascend_rt._kernels.accesses import Operand
from ascend_rt._kernels.parameters import Parameter, Type, have_known_accesses, offsets, parameter
from ascend_rt._native.handles import KernelHandle, know_scalars
from ascend_rt._native.in_c import in_c
from ascend_rt._runtime.driver import address, call, ffi, lib
from ascend_rt._runtime.lifecycle import HOST
from ascend_rt._runtime.names import encoded
from ascend_rt._runtime.resource import Resource
from ascend_rt._runtime.timeouts import microseconds
from ascend_rt.errors import InvalidArgument, NotSupported
from ascend_rt.memory import Buffer

if TYPE_CHECKING:
    from ascend_rt.memory import HostMemory
    from ascend_rt.stream import Stream

__all__ = ["Binary", "Kernel", "Operand", "Parameter"]

_POINTER = np.dtype(np.uint64)
_MOST_BLOCKS = 2**16 - 1  # chips before 950 keep 16 bits of the number (graphs_kernels.md section A5)
_SMALLEST_BLOCK = 8  # even a kernel without parameters is launched with some bytes


class Binary(Resource):
    """A loaded kernel binary.

    An NPU needs the ``.o`` file that the compiler produced. The simulator takes either this file, with functions of the
    host that do the work of its kernels (:func:`ascend_rt.sim.kernel`), or a shared object for this machine.

    Parameters
    ----------
    source : path or bytes-like
        The file, or its content.
    lazy : bool, default False
        Load the binary to a device with the first launch there, instead of when a kernel is looked up.
    magic : int, optional
        The kind of cores, if the metadata does not name it: ``lib.ACL_RT_BINARY_MAGIC_ELF_…``. Only with content.

    Raises
    ------
    FileNotFoundError, PermissionError, IsADirectoryError
        The file cannot be opened; the runtime is not called.
    InvalidArgument
        The file or the content is not a kernel binary.

    Notes
    -----
    ``aclrtBinaryLoadFromFile``, ``aclrtBinaryLoadFromData``, ``aclrtBinaryUnLoad``. All products; loading from content
    needs CANN 8.5. API reference 14. Launches that are in progress when the binary is closed go on.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> with Binary(sim.device_object("scale", "shift")) as binary:  # or Binary("kernels.o")
    ...     binary["scale"]
    <ascend_rt.Kernel scale>
    """

    __slots__ = ("_content", "_kernels")
    _what = "kernel binary"

    def __init__(
        self, source: str | os.PathLike[str] | HostMemory, *, lazy: bool = False, magic: int | None = None
    ) -> None:
        self._begin()
        out, chosen = ffi.new("aclrtBinHandle *"), _Options(lazy, magic)
        self._kernels: dict[str, Any] = {}
        if isinstance(source, str | os.PathLike):
            self._content: Any = None
            path = os.path.abspath(source)
            with open(path, "rb"):  # raises what Python raises; the runtime does not say what was wrong with the file
                self._make(HOST, out, "aclrtBinaryLoadFromFile", os.fsencode(path), chosen.pointer, out)
        else:
            self._content = ffi.from_buffer("char[]", source)  # a lazy binary may be read later
            arguments = self._content, len(self._content), chosen.pointer, out
            self._make(HOST, out, "aclrtBinaryLoadFromData", *arguments)

    def kernel(self, name: str, parameters: Sequence[Type] | None = None) -> Kernel:
        """Return a kernel of the binary, and load it to the device of the calling thread's context.

        Parameters
        ----------
        name : str
            The name of the function.
        parameters : sequence of types, optional
            The types of its parameters, see :mod:`ascend_rt.kernel`. The default is the sizes in the binary's metadata;
            without metadata, launches do not check their arguments.

        Returns
        -------
        Kernel
            The kernel, which keeps the binary alive.

        Raises
        ------
        InvalidArgument
            The binary has no such kernel.

        Notes
        -----
        ``aclrtBinaryGetFunction``. All products.
        """
        return Kernel(self, name, parameters)

    def __getitem__(self, name: str) -> Kernel:
        return self.kernel(name)

    def _find(self, name: str) -> Any:
        out = ffi.new("aclrtFuncHandle *")
        call("aclrtBinaryGetFunction", self._handle, encoded(name), out)
        return out[0]

    def _destroy(self, handle: Any) -> None:
        self._unmake("aclrtBinaryUnLoad")


class _Options:
    """The options of a binary as the C functions take them; ``pointer`` is NULL without any."""

    def __init__(self, lazy: bool, magic: int | None) -> None:
        chosen = [(lib.ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD, {"isLazyLoad": 1})] if lazy else []
        if magic is not None:
            chosen.append((lib.ACL_RT_BINARY_LOAD_OPT_MAGIC, {"magic": magic}))
        self._array = ffi.new("aclrtBinaryLoadOption[]", [{"type": kind, "value": value} for kind, value in chosen])
        self.pointer = ffi.new("aclrtBinaryLoadOptions *", (self._array, len(chosen))) if chosen else ffi.NULL


@in_c
class Kernel(KernelHandle):
    """A kernel of a binary; ``binary["add_custom"]`` returns one.

    Attributes
    ----------
    binary : Binary
        The binary, which the kernel keeps alive.
    name : str
        The name of the function.
    parameters : tuple of Parameter or None
        The parameters; None if they are unknown.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> @sim.kernel("scale", ["float32[8]", "float32"])
    ... def scale(block, values, factor):
    ...     values[block.index :: block.count] *= factor
    >>> values = Buffer(32)
    >>> copy(values, np.arange(8, dtype=np.float32))
    >>> binary = Binary(sim.device_object("scale"))
    >>> kernel = binary.kernel("scale", ["float32[]", "float32"])
    >>> kernel.launch(stream, 2, values, 10.0)  # two blocks
    >>> kernel[2, stream](values, 0.5)  # the same, shorter
    >>> stream.synchronize()
    >>> out = np.empty(8, np.float32)
    >>> copy(out, values)
    >>> out.tolist()
    [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0]
    >>> scale.unregister()
    """

    __slots__ = ("_function", "_has_known_accesses", "_offsets", "name", "parameters")
    binary: Binary

    def __init__(self, binary: Binary, name: str, parameters: Sequence[Type] | None = None) -> None:
        if not isinstance(binary, Binary):
            raise TypeError(f"expected a Binary, got {type(binary).__name__}")
        self.binary = binary
        self.name = name
        self._function = binary._find(name)
        reported = _reported_parameters(self._function)
        self.parameters = reported if parameters is None else _declared(name, parameters, reported)
        self._offsets = None if self.parameters is None else offsets(self.parameters)
        self._has_known_accesses = have_known_accesses(self.parameters)
        self._function_address = self.handle
        if self.parameters is not None and self._offsets is not None:
            self._plan = b"".join(map(_planned, self.parameters, self._offsets))
            self._scalars = tuple(map(_scalar_of, self.parameters))

    @property
    def handle(self) -> int:
        """The runtime's handle of the function as an integer; valid until the binary is closed."""
        return int(ffi.cast("uintptr_t", self._function))

    def launch(
        self,
        stream: Stream | None,
        blocks: int,
        *arguments: Any,
        timeout: float | None = None,
        batch: bool | None = None,
        reads: Iterable[Buffer | Operand] | None = None,
        writes: Iterable[Buffer | Operand] | None = None,
    ) -> None:
        """Launch the kernel in the order of a stream.

        Parameters
        ----------
        stream : Stream or None
            The stream; None for :meth:`Stream.current`.
        blocks : int
            The number of blocks, 1 to 65535.
        *arguments
            Buffers for addresses, numpy scalars for values, and structures as scalars of a structured numpy type or as
            ctypes structures. Python numbers are accepted if the type or size of the parameter is known. The buffers
            and the binary are kept alive until the kernel is done.
        timeout : float, optional
            The time in seconds after which the kernel fails with 507014 (:class:`TaskFailed`). ``math.inf`` sets no
            limit, None uses the value of ``aclrtSetOpExecuteTimeOut``. The simulator checks the limit after each block.
        batch : bool, optional
            Start only when cores for all blocks are free.
        reads, writes : iterable of Buffer or Operand, optional
            Memory that the kernel reads and writes, for the simulator's checks: whole buffers, slices, or arrays in
            buffers. If either is given, the checks assume that the kernel accesses nothing else. By default, the access
            words in the types of the parameters apply, if all arrays have one; otherwise the accesses are unknown.
            Hardware ignores both.

        Raises
        ------
        TypeError
            The number of arguments, or the type of one, is wrong; nothing is launched.
        OverflowError
            A number does not fit into its parameter.
        AclError
            The binary is not on the stream's device (107017), or the simulator has no function of the host for the
            kernel (107044).

        Notes
        -----
        ``aclrtLaunchKernelWithHostArgs``: the block of arguments is copied before the call returns. Since CANN 8.5, all
        products. API reference 14.
        """

    def __getitem__(self, shape: tuple[int, Stream | None] | int) -> Callable[..., None]:
        """``kernel[blocks, stream](…)`` launches the kernel, ``kernel[blocks](…)`` on the current stream."""
        blocks, stream = shape if isinstance(shape, tuple) else (shape, None)
        return partial(self.launch, stream, blocks)

    def _declare(
        self,
        arguments: tuple[Any, ...],
        packed: bytes,
        reads: Iterable[Buffer | Operand] | None,
        writes: Iterable[Buffer | Operand] | None,
    ) -> None:
        """Declare the accesses of the thread's next launch to the simulator, if they are known and a check is on."""
        accesses = self._known_accesses(arguments, packed, reads, writes)
        if accesses is not None:
            _accesses.declare(accesses)

    def _known_accesses(
        self,
        arguments: tuple[Any, ...],
        packed: bytes,
        reads: Iterable[Buffer | Operand] | None,
        writes: Iterable[Buffer | Operand] | None,
    ) -> list[_accesses.Access] | None:
        """Return the accesses of a launch; None if they are unknown or no check is on."""
        if reads is not None or writes is not None:
            given = _accesses.given(reads or (), writes or ())
            return given if _accesses.are_wanted() else None
        if self._has_known_accesses and _accesses.are_wanted():
            typed = zip(self.parameters or (), arguments, strict=True)
            return [_accesses.of_argument(type, each) for type, each in typed if type.is_array]
        host_kernel = _accesses.host_kernels.get(self.name)
        if host_kernel is not None and _accesses.are_wanted():
            return host_kernel.accesses(np.frombuffer(packed, np.uint8))
        return None

    def _pack(self, arguments: tuple[Any, ...]) -> bytearray:
        """Return the block of arguments."""
        parameters, places = self.parameters, self._offsets
        if parameters is None or places is None:
            parameters = tuple(_guessed(self.name, i, each) for i, each in enumerate(arguments))
            places = offsets(parameters)
        if len(arguments) != len(parameters):
            raise TypeError(f"kernel {self.name} takes {len(parameters)} arguments, got {len(arguments)}")
        block = bytearray(max(places[-1], _SMALLEST_BLOCK))
        for i, (each, wanted, place) in enumerate(zip(arguments, parameters, places, strict=False)):
            block[place : place + wanted.nbytes] = _bytes_of(f"argument {i} of kernel {self.name}", each, wanted)
        return block

    def __repr__(self) -> str:
        return f"<ascend_rt.Kernel {self.name}>"


def _check_blocks(blocks: int) -> int:
    """Return the number of blocks of a launch."""
    if not 1 <= blocks <= _MOST_BLOCKS:
        raise ValueError(f"a launch takes 1 to {_MOST_BLOCKS} blocks, got {blocks}")
    return index(blocks)


def _launch_config(timeout: float | None, batch: bool | None) -> tuple[int, Any]:
    """Return the address of the configuration of a launch, and the objects that keep it alive."""
    attributes = []
    if timeout is not None:
        limit = microseconds(timeout)
        value = {"timeoutUs": {"timeoutLow": limit & 0xFFFFFFFF, "timeoutHigh": limit >> 32}}
        attributes.append({"id": lib.ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US, "value": value})
    if batch is not None:
        attributes.append({"id": lib.ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE, "value": {"schemMode": int(batch)}})
    array = ffi.new("aclrtLaunchKernelAttr[]", attributes)
    config = ffi.new("aclrtLaunchKernelCfg *", (array, len(attributes)))
    return address(config), (config, array)


# --- parameters ------------------------------------------------------------------------------------------------------


_SCALARS = {np.dtype(code).type: np.dtype(code).itemsize for code in "bhilqBHILQefd"}
know_scalars(_SCALARS)


def _planned(wanted: Parameter, place: int) -> bytes:
    """Return how C packs an argument: its place, its size, and the kind of its type."""
    dtype = wanted.dtype
    kind = "p" if wanted.is_array else "x" if dtype is None else "o" if _scalar_of(wanted) is None else dtype.kind
    return struct.pack("iii", place, wanted.nbytes, ord(kind))


def _scalar_of(wanted: Parameter) -> type | None:
    """Return the type of the scalars that C takes for a parameter; None if there are none."""
    dtype = None if wanted.is_array else wanted.dtype
    return dtype.type if dtype is not None and dtype.isnative and dtype.type in _SCALARS else None


def _reported_parameters(function: Any) -> tuple[Parameter, ...] | None:
    """Return the sizes in the binary's metadata, or None."""
    count, offset, size = ffi.new("size_t *"), ffi.new("size_t *"), ffi.new("size_t *")
    try:
        call("aclrtFunctionGetParamCount", function, count)
        reported = []
        for i in range(count[0]):
            call("aclrtFunctionGetParamInfo", function, i, offset, size)
            reported.append(Parameter(None, int(size[0]), None, int(offset[0])))
    except (NotSupported, InvalidArgument):  # an older runtime, or a binary without metadata
        return None
    return tuple(reported)


def _declared(name: str, types: Sequence[Type], reported: tuple[Parameter, ...] | None) -> tuple[Parameter, ...]:
    declared = tuple(map(parameter, types))
    if reported is None:
        return declared
    if [each.nbytes for each in declared] != [each.nbytes for each in reported]:
        raise TypeError(
            f"kernel {name} has parameters of {[each.nbytes for each in reported]} bytes in its binary, "
            f"but the types have {[each.nbytes for each in declared]}"
        )
    return tuple(each._replace(offset=known.offset) for each, known in zip(declared, reported, strict=True))


def _guessed(name: str, number: int, argument: Any) -> Parameter:
    """Return the parameter that matches an argument when the kernel's parameters are unknown."""
    if isinstance(argument, Buffer):
        return Parameter(_POINTER, 8, "")
    if isinstance(argument, np.generic):
        return Parameter(argument.dtype, argument.dtype.itemsize)
    if isinstance(argument, ctypes.Structure):
        return Parameter(np.dtype(type(argument)), ctypes.sizeof(argument))
    raise TypeError(
        f"argument {number} of kernel {name} is of type {type(argument).__name__}, which has no known "
        f"layout: pass a Buffer, a numpy scalar or a structure, or declare types with binary.kernel({name!r}, [...])"
    )


def _bytes_of(what: str, argument: Any, wanted: Parameter) -> bytes:
    """Return an argument as the kernel expects it; TypeError if it has another type."""
    if isinstance(argument, Buffer):
        return _pointer_bytes(what, argument, wanted)
    if wanted.is_array:
        raise TypeError(f"{what}: expected a Buffer (the address of an array), got {type(argument).__name__}")
    if isinstance(argument, np.generic):
        if (argument.dtype if wanted.dtype is not None else argument.dtype.itemsize) != (wanted.dtype or wanted.nbytes):
            raise TypeError(f"{what}: expected {_described(wanted)}, got {argument.dtype}")
        return argument.tobytes()
    if isinstance(argument, ctypes.Structure):
        if ctypes.sizeof(argument) != wanted.nbytes:
            raise TypeError(
                f"{what}: expected {_described(wanted)}, got a structure of {ctypes.sizeof(argument)} bytes"
            )
        return bytes(argument)
    if isinstance(argument, bool | int | float):
        return _number_bytes(what, argument, wanted)
    raise TypeError(f"{what}: expected {_described(wanted)}, got {type(argument).__name__}")


def _described(wanted: Parameter) -> str:
    return f"{wanted.nbytes} bytes" if wanted.dtype is None else str(wanted.dtype)


def _pointer_bytes(what: str, buffer: Buffer, wanted: Parameter) -> bytes:
    if wanted.is_array or (wanted.dtype is None and wanted.nbytes == _POINTER.itemsize):
        return buffer.handle.to_bytes(8, sys.byteorder)
    raise TypeError(f"{what}: expected {_described(wanted)}, got a Buffer")


def _number_bytes(what: str, number: bool | int | float, wanted: Parameter) -> bytes:
    dtype = wanted.dtype if wanted.dtype is not None else _dtype_for(what, number, wanted.nbytes)
    if isinstance(number, float) and dtype.kind != "f":
        raise TypeError(f"{what}: expected {dtype}, got a float")
    if dtype.kind not in "iufb" or (dtype.kind == "b" and not isinstance(number, bool)):
        raise TypeError(f"{what}: expected {dtype}, got {type(number).__name__}")
    if dtype.kind not in "iu":
        return np.array(number, dtype).tobytes()
    try:
        return int(number).to_bytes(dtype.itemsize, sys.byteorder, signed=dtype.kind == "i")
    except OverflowError:
        raise OverflowError(f"{what}: {number} does not fit into {dtype}") from None


def _dtype_for(what: str, number: bool | int | float, nbytes: int) -> np.dtype[Any]:
    """Return the type of a Python number for a parameter of which only the size is known."""
    kind = "f" if isinstance(number, float) else "i" if number < 0 else "u"
    if nbytes not in ((2, 4, 8) if kind == "f" else (1, 2, 4, 8)):
        raise TypeError(f"{what}: expected {nbytes} bytes, got {type(number).__name__}")
    return np.dtype(f"{kind}{nbytes}")
