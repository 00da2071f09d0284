# SPDX-License-Identifier: Apache-2.0
"""Kernels in Python for the simulator: their registration, and the entries through which it calls them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from ascend_rt._runtime import lifecycle
from ascend_rt._runtime.driver import address, call, ffi, lib, supports
from ascend_rt._runtime.error_classes import causes
from ascend_rt._runtime.locks import new_lock
from ascend_rt._runtime.report import report
from ascend_rt.errors import AclError

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Self

    from ascend_rt._kernels.parameters import Type

_MOST_CAUSES = 64

_failures_lock = new_lock()


class Block(NamedTuple):  # a type that numba accepts
    """The block of a launch that a kernel in Python is called for.

    Attributes
    ----------
    name : str
        The name of the kernel.
    index, count : int
        The index of the block, from 0, and the number of blocks of the launch.
    workspace : numpy.ndarray
        Bytes that all blocks of the launch share; empty if the kernel was registered without workspace.
    grid, threads : tuple of int
        The dimensions x, y and z of a SIMT launch: of its grid of blocks, and of the threads in a block. One call does
        the work of all threads of its block. For other launches, (count, 1, 1) and (1, 1, 1).

    Examples
    --------
    >>> from ascend_rt import sim
    >>> seen = []
    >>> with sim.kernel("look", [])(lambda block: seen.append((block.name, block.index, block.count))):
    ...     Binary(sim.device_object("look"))["look"][2, stream]()
    ...     stream.synchronize()
    >>> sorted(seen)
    [('look', 0, 2), ('look', 1, 2)]
    """

    name: str
    index: int  # type: ignore[assignment]  # a tuple has methods of these names
    count: int  # type: ignore[assignment]
    workspace: np.ndarray[Any, np.dtype[np.uint8]]
    grid: tuple[int, int, int]
    threads: tuple[int, int, int]


class HostKernel:
    """A function that does the work of a kernel; :func:`kernel` returns one.

    It can be called like the function itself. As a context manager, it is unregistered at the end of the block.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> @sim.kernel("double", ["float32[4]"])
    ... def double(block, values):
    ...     values *= 2
    >>> values = np.ones(4, np.float32)
    >>> double(None, values)  # a plain call
    >>> values.tolist()
    [2.0, 2.0, 2.0, 2.0]
    >>> double.unregister()
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., object],
        parameters: Mapping[str, Type] | Sequence[Type] | None,
        workspace: int,
    ) -> None:
        from ascend_rt._kernels.host_arguments import HostArguments

        self.name = name
        self.function = function
        self._arguments = HostArguments(parameters)
        self._register(workspace)

    def _register(self, workspace: int) -> None:
        from ascend_rt._kernels import accesses

        if not supports("aclsimRegisterKernel"):
            return  # hardware runs the code of the binary
        handle = ffi.new_handle(self)
        kernel = ffi.new("aclsimKernel *")
        kernel.function, kernel.release = lib.ascend_rt_kernel_entry, lib.ascend_rt_release_entry
        kernel.userData, kernel.workspaceSize = handle, workspace
        _kernels[address(handle)] = handle  # until the simulator releases it, when no launch uses it any more
        try:
            call("aclsimRegisterKernel", self.name.encode(), kernel)
        except AclError:
            del _kernels[address(handle)]
            raise
        accesses.host_kernels.pop(self.name, None)
        if self._arguments.has_known_accesses:
            accesses.host_kernels[self.name] = self._arguments

    def unregister(self) -> None:
        """Unregister the function, which then does not run for later launches (``aclsimUnregisterKernel``)."""
        from ascend_rt._kernels import accesses

        if not supports("aclsimUnregisterKernel"):
            return
        call("aclsimUnregisterKernel", self.name.encode())
        if accesses.host_kernels.get(self.name) is self._arguments:
            del accesses.host_kernels[self.name]

    def __call__(self, *arguments: Any, **keywords: Any) -> object:
        """Call the function itself."""
        return self.function(*arguments, **keywords)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.unregister()

    def run(self, block: Any) -> int:
        """Call the function for a block and return the error code of the kernel, or 0."""
        workspace, arguments = self._arguments.of(block)
        grid, threads = ((shape.x, shape.y, shape.z) for shape in (block.grid, block.threads))
        part = Block(self.name, block.index, block.count, workspace, grid, threads)
        result = self.function(part, *arguments)
        return 0 if result is None else index(result)  # type: ignore[arg-type]


_kernels: dict[int, Any] = {}  # address of a handle -> the handle, which owns a HostKernel


def kernel(
    name: str, parameters: Mapping[str, Type] | Sequence[Type] | None = None, *, workspace: int = 0
) -> Callable[[Callable[..., object]], HostKernel]:
    """Decorate a Python function that does the work of a kernel in the simulator (``aclsimRegisterKernel``).

    It replaces the code of a binary for an NPU, which cannot run on the host. The same program runs on hardware, where
    the binary's code does the work and the decorator has no effect::

        @sim.kernel("add_custom", {"x": "float32[n]", "y": "float32[n]", "sum": "float32[n]", "n": "uint32"})
        def add_custom(block, x, y, sum, n):
            part = slice(block.index, None, block.count)
            sum[part] = x[part] + y[part]

    The function is called once for each block, with a :class:`Block` and the values of the parameters: numpy scalars,
    or numpy arrays of the device memory for parameters that are addresses of arrays. Blocks run on several threads, but
    only one at a time executes Python code; blocks of a function that numba has compiled with ``nogil=True`` (put its
    decorator below this one) run in parallel. An exception fails the kernel: the next synchronization reports the
    failure, and the exception is passed to :data:`ascend_rt.callback.on_error` and ``sys.unraisablehook``, like that of
    a host function. The function may also return an error code.

    Parameters
    ----------
    name : str
        The name of the kernel. Registering a name again replaces its function.
    parameters : mapping of names to types, or sequence of types, optional
        The types as in :mod:`ascend_rt.kernel`, with a length for every array. Without types, the function gets the
        block of arguments as an array of bytes. Arrays that are marked ``in`` are read-only; if all arrays are marked,
        launches by :meth:`Kernel.launch` declare their accesses.
    workspace : int, default 0
        The size in bytes of the workspace of a launch.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> @sim.kernel("double", {"values": "float32[n]", "n": "uint32"})
    ... def double(block, values, n):
    ...     values[block.index :: block.count] *= 2
    >>> buffer = Buffer(16)
    >>> copy(buffer, np.arange(4, dtype=np.float32))
    >>> Binary(sim.device_object("double"))["double"][2, stream](buffer, np.uint32(4))
    >>> stream.synchronize()
    >>> out = np.empty(4, np.float32)
    >>> copy(out, buffer)
    >>> out.tolist()
    [0.0, 2.0, 4.0, 6.0]
    >>> double.unregister()
    """
    lifecycle.initialize()

    def register(function: Callable[..., object]) -> HostKernel:
        return HostKernel(name, function, parameters, workspace)

    return register


# --- calls from C -----------------------------------------------------------------------------------------------------


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def ascend_rt_python_kernel(block: Any, handle: Any) -> int:
    """Run a block; the entry from C into Python."""
    found: HostKernel = ffi.from_handle(handle)
    try:
        return found.run(block)
    except BaseException as error:
        from traceback import clear_frames  # only failures need it

        text = f"{type(error).__name__}: {error}".encode()[: block.textSize - 1]
        ffi.memmove(block.text, text + b"\0", len(text) + 1)
        if _note_failure(block, found.name, error):
            report(error, found.function, f"kernel {found.name}, block {block.index} of {block.count}")
            clear_frames(error.__traceback__)  # the exception would keep their variables alive
        return error.code if isinstance(error, AclError) else int(lib.ACL_ERROR_RT_AICORE_EXCEPTION)


def _note_failure(block: Any, kernel: str, error: BaseException) -> bool:
    """Note the exception as the cause of the launch's failure; return False if another block has failed before."""
    task = (block.device, block.stream, block.task, kernel)
    with _failures_lock:
        if causes.get(task, (0, error))[0] == block.launch:
            return False
        causes.pop(task, None)
        causes[task] = (block.launch, error)
        while len(causes) > _MOST_CAUSES:
            del causes[next(iter(causes))]
        return True


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def ascend_rt_python_release(handle: Any) -> None:
    """Forget a kernel that no launch uses any more."""
    _kernels.pop(address(handle), None)
