# SPDX-License-Identifier: Apache-2.0
"""Control of the simulator: pause it, inject faults to test how a program handles them, and write kernels in Python.

Every function raises :class:`~ascend_rt.NotSupported` if the vendor's library is in use. ``ASCEND_RT_SIM_FAULTS``
injects the same faults without a change to the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from ascend_rt._kernels.host_kernels import Block, HostKernel, kernel
from ascend_rt._native.blocks import block
from ascend_rt._runtime import lifecycle
from ascend_rt._runtime.driver import call, check_address, ffi, lib
from ascend_rt._runtime.locks import new_lock
from ascend_rt.backends import include_directory
from ascend_rt.device import Device

if TYPE_CHECKING:
    from ascend_rt.memory import HostMemory
    from ascend_rt.stream import Stream

__all__ = [
    "Block",
    "HostKernel",
    "Info",
    "check_reports",
    "clear",
    "delay_tasks",
    "device_object",
    "fail_call",
    "fail_task",
    "faults",
    "held",
    "include_path",
    "info",
    "kernel",
    "limit",
    "lose_device",
    "poison_device",
    "register_symbol",
    "run_operator",
    "sleep",
    "take_down_device",
    "unregister_symbol",
]

Resource = Literal["streams", "events", "notifies", "memory"]

_NO_LIMIT = 2**64 - 1

_held_lock = new_lock()
_held = 0  # number of blocks


class Info(NamedTuple):
    """The simulated machine: the product's name, its devices, and the threads that move data.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> sim.info().devices == Device.count()
    True
    """

    product: str
    devices: int
    workers: int


def info() -> Info:
    """Return a description of the simulated machine (``aclsimGetInfo``).

    Returns
    -------
    Info
        Product, number of devices, and workers of each.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> sim.info().product
    '910B'
    """
    out = ffi.new("aclsimInfo *")
    call("aclsimGetInfo", out)
    return Info(ffi.string(out.product).decode(), int(out.deviceCount), int(out.workerCount))


def include_path() -> str:
    """Return the include directory (``-I``) for shared objects with kernels, which include ``acl/aclsim_kernel.h``.

    Returns
    -------
    str
        The path of the directory.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ascend_rt import sim
    >>> Path(sim.include_path(), "acl", "aclsim_kernel.h").exists()
    True
    """
    return include_directory()


def check_reports() -> int:
    """Return the number of reports by ``ASCEND_RT_SIM_CHECK=memory`` so far (``aclsimGetCheckReports``).

    Returns
    -------
    int
        0 also if the check is off.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> sim.check_reports()  # the check is off
    0
    """
    return int(lib.aclsimGetCheckReports())


@block
def held() -> Iterator[None]:
    """Let no task start inside the block, on any device (``aclsimHold``); running tasks finish.

    Blocks may be nested, or overlap in several threads: tasks start when the last block ends. Synchronizing, and
    submitting more tasks than fit into a stream's queue, wait for the end of the block, so the thread that is to leave
    the block must not do either.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> with sim.held():
    ...     event = stream.record()
    ...     event.is_done
    False
    >>> event.synchronize()
    """
    global _held
    with _held_lock:
        lib.aclsimHold(1)
        _held += 1
    try:
        yield
    finally:
        with _held_lock:
            _held -= 1
            if not _held:
                lib.aclsimHold(0)


def fail_call(function: str, code: int, *, nth: int = 1) -> None:
    """Make a call of a C function fail (``aclsimFailCall``).

    Parameters
    ----------
    function : str
        The C function, which the simulator must have.
    code : int
        The code that it returns; it does nothing else.
    nth : int, default 1
        The number of the failing call, counted from now on; 0 for every call.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> sim.fail_call("aclrtCreateStreamWithConfig", 207008)
    >>> try:
    ...     Stream()
    ... except ResourceExhausted as error:
    ...     print(error.code)
    207008
    >>> Stream().close()  # only the first call failed
    """
    call("aclsimFailCall", function.encode(), nth, code)


def fail_task(code: int, stream: Stream | None = None, *, nth: int = 1) -> None:
    """Make a task fail when its turn in its stream comes, instead of doing its work (``aclsimFailTask``).

    Parameters
    ----------
    code : int
        The error code, for instance 507015 (an exception in a kernel). It is reported like any failure: by the next
        synchronization or, in STOP mode, by every call on the context.
    stream : Stream, optional
        The stream of the task; default any stream.
    nth : int, default 1
        The number of the failing task, counted from now on in the order of submission; 0 for every task.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> sim.fail_task(507015, stream, nth=2)
    >>> first, second = stream.record(), stream.record()
    >>> try:
    ...     stream.synchronize()
    ... except TaskFailed as error:
    ...     print(error.code)
    507015
    """
    call("aclsimFailTask", _handle(stream), nth, code)


def delay_tasks(seconds: float, stream: Stream | None = None) -> None:
    """Delay the start of tasks that are submitted from now on (``aclsimDelayTasks``).

    Parameters
    ----------
    seconds : float
        At most an hour; 0 removes the delay.
    stream : Stream, optional
        The stream of the tasks; default all streams.

    Examples
    --------
    >>> from time import perf_counter
    >>> from ascend_rt import sim
    >>> sim.delay_tasks(0.01, stream)
    >>> begin = perf_counter()
    >>> stream.record().synchronize()
    >>> perf_counter() - begin >= 0.01
    True
    """
    call("aclsimDelayTasks", _handle(stream), round(seconds * 1e6))


def lose_device(device: Device | int = 0, code: int | None = None) -> None:
    """Lose a device: its tasks are dropped, and calls that need it fail until it is reset (``aclsimLoseDevice``).

    Parameters
    ----------
    device : Device or int
        The device.
    code : int, optional
        The code that calls return; default ``ACL_ERROR_RT_LOST_HEARTBEAT``, 507010.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> try:
    ...     with Context(7), Stream() as there:
    ...         sim.lose_device(7)
    ...         there.record()
    ... except DeviceLost as error:
    ...     print(error.name)
    ACL_ERROR_RT_LOST_HEARTBEAT
    """
    call("aclsimLoseDevice", _device_id(device), lib.ACL_ERROR_RT_LOST_HEARTBEAT if code is None else code)


def poison_device(device: Device | int = 0, code: int | None = None) -> None:
    """Put a device into the state after an operator's timeout, or a fault of an AI CPU (``aclsimPoisonDevice``).

    New streams and memory cannot be created on the device, even if others are freed; existing ones can be used. A
    forced reset ends this state, an ordinary one does not. For the failure of the operator itself, use
    :func:`fail_task`.

    Parameters
    ----------
    device : Device or int
        The device.
    code : int, optional
        The code that these calls return; default ``ACL_ERROR_RT_DRV_INTERNAL_ERROR``, 507899.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> with Context(7), sim.faults():
    ...     sim.poison_device(7)
    ...     try:
    ...         Buffer(64)
    ...     except AclError as error:
    ...         print(error.name)
    ACL_ERROR_RT_DRV_INTERNAL_ERROR
    """
    call("aclsimPoisonDevice", _device_id(device), lib.ACL_ERROR_RT_DRV_INTERNAL_ERROR if code is None else code)


def take_down_device(device: Device | int = 0, block: float = 0.0) -> None:
    """Take a device down, as a fatal fault does (``aclsimTakeDownDevice``).

    As after :func:`lose_device`, calls that need the device fail, here with ``ACL_ERROR_RT_SOCKET_CLOSE``, 507901. In
    addition, its streams and contexts cannot be destroyed: this fails with the same code until a forced reset. An
    ordinary reset that would destroy them fails too.

    Parameters
    ----------
    device : Device or int
        The device.
    block : float
        The number of seconds, at most an hour, for which the first such call blocks before it fails. Real devices
        blocked for 300 seconds.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> with Device(7):
    ...     stream = Stream()
    >>> sim.take_down_device(7)
    >>> try:
    ...     stream.close()
    ... except DeviceLost as error:
    ...     print(error.name)
    ACL_ERROR_RT_SOCKET_CLOSE
    >>> Device(7).reset(force=True)
    """
    call("aclsimTakeDownDevice", _device_id(device), round(block * 1_000_000))


def limit(resource: Resource, number: int | None, device: Device | int = 0) -> None:
    """Limit a resource of a device (``aclsimLimitResource``).

    Parameters
    ----------
    resource : {"streams", "events", "notifies", "memory"}
        The resource; memory is counted in bytes.
    number : int or None
        The limit; None removes it.
    device : Device or int
        The device.

    Raises
    ------
    ValueError
        There is no such resource.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> sim.limit("streams", 0)
    >>> try:
    ...     Stream()
    ... except ResourceExhausted as error:
    ...     print(error.name)
    ACL_ERROR_RT_RESOURCE_ALLOC_FAIL
    >>> sim.limit("streams", None)
    >>> Stream().close()
    """
    kind = getattr(lib, f"ACLSIM_RESOURCE_{resource.upper()}", None)
    if kind is None:
        raise ValueError(f"the resource {resource!r} is not one of streams, events, notifies, memory")
    call("aclsimLimitResource", _device_id(device), kind, _NO_LIMIT if number is None else number)


def run_operator(stream: Stream | None, nbytes: int) -> None:
    """Run a dummy operator that takes workspace, in the order of a stream (``aclsimRunOperator``).

    The workspace comes from the allocator that is registered for the stream, whose callbacks run on this thread, or
    else from the device's memory. The operator overwrites all of it when it runs.

    Parameters
    ----------
    stream : Stream or None
        The stream that runs the operator; None for the default stream.
    nbytes : int
        The size of the workspace; with 0 the allocator is not called.

    Raises
    ------
    AclError
        507004 if the allocator has served another stream that was not synchronized since; 207001 if it returned NULL;
        107000 if it returned memory that is not allocated on the device.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> allocator = CachingAllocator()
    >>> allocator.register(stream)
    >>> sim.run_operator(stream, 4096)
    >>> allocator.statistics.misses
    1
    >>> stream.synchronize()
    >>> allocator.unregister(stream)
    """
    if nbytes < 0:
        raise ValueError(f"the size must be 0 or more bytes, got {nbytes}")
    call("aclsimRunOperator", _handle(stream), nbytes)


def sleep(stream: Stream | None, cycles: int) -> None:
    """Keep a stream busy for a number of cycles of the simulated device (``aclsimSleep``).

    The calling thread does not wait, and the sleep takes no processor time. An abort or a forced destruction of the
    stream ends the task at once.

    Parameters
    ----------
    stream : Stream or None
        The stream; None for the default stream.
    cycles : int
        The number of cycles of the clock for time stamps; 50,000 cycles are a millisecond on 910B.

    Raises
    ------
    ValueError
        The number of cycles is negative.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> sim.sleep(stream, 1 << 40)  # six hours
    >>> stream.is_done
    False
    >>> stream.abort()
    """
    if cycles < 0:
        raise ValueError(f"the number of cycles must be 0 or more, got {cycles}")
    call("aclsimSleep", _handle(stream), cycles)


def register_symbol(symbol: int, content: HostMemory) -> None:
    """Make an address of the host the symbol of a variable in device memory (``aclsimRegisterSymbol``).

    Loading a program with such a variable does the same. Each device gets a separate variable with this initial
    content.

    Parameters
    ----------
    symbol : int
        Any address except 0, for ``aclrtGetSymbolAddress`` and related functions.
    content : bytes-like
        The initial content; must not be empty.

    Raises
    ------
    AclError
        The symbol is registered already (107043).

    Examples
    --------
    >>> from ascend_rt import sim
    >>> variable = np.zeros(4, np.uint8)  # its address is the symbol
    >>> sim.register_symbol(variable.ctypes.data, b"four")
    >>> size = ffi.new("size_t *")
    >>> lib.aclrtGetSymbolSize(ffi.cast("void *", variable.ctypes.data), size), size[0]
    (0, 4)
    >>> sim.unregister_symbol(variable.ctypes.data)
    """
    view = ffi.from_buffer("char[]", content)
    call("aclsimRegisterSymbol", ffi.cast("void *", check_address(symbol)), view, len(view))


def unregister_symbol(symbol: int) -> None:
    """Forget a symbol, and free the variable on all devices (``aclsimUnregisterSymbol``).

    Parameters
    ----------
    symbol : int
        An address that was passed to :func:`register_symbol`.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> variable = np.zeros(4, np.uint8)
    >>> sim.register_symbol(variable.ctypes.data, bytes(4))
    >>> sim.unregister_symbol(variable.ctypes.data)
    """
    call("aclsimUnregisterSymbol", ffi.cast("void *", check_address(symbol)))


def device_object(*kernels: str) -> bytes:
    """Return a binary for an NPU that has kernels of these names but no code, for :class:`Binary`.

    It allows a machine without the kernel compiler to run kernels that are Python functions (:func:`kernel`).

    Parameters
    ----------
    *kernels : str
        The names of the kernels.

    Returns
    -------
    bytes
        An ELF file.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> @sim.kernel("double_custom", {"numbers": "float32[n]", "n": "uint32"})
    ... def double_custom(block, numbers, n):
    ...     numbers *= 2
    >>> memory, numbers = Buffer(16), np.arange(4, dtype=np.float32)
    >>> copy(memory, numbers)
    >>> kernel = Binary(sim.device_object("double_custom")).kernel("double_custom", ["float32[]", "uint32"])
    >>> kernel.launch(stream, 1, memory, 4)
    >>> stream.synchronize()
    >>> copy(numbers, memory)
    >>> numbers
    array([0., 2., 4., 6.], dtype=float32)
    """
    from ascend_rt._kernels.device_object import device_object as make

    return make(kernels)


def clear() -> None:
    """Remove all faults (``aclsimClearFaults``); earlier failures stay.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> sim.fail_call("aclrtMalloc", 207018, nth=0)
    >>> sim.clear()
    >>> Buffer(64).nbytes
    64
    """
    call("aclsimClearFaults")


@block
def faults() -> Iterator[None]:
    """Remove all faults at the end of the block, including those from before it.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> with sim.faults():
    ...     sim.limit("streams", 0)
    >>> Stream().close()  # the limit is gone
    """
    try:
        yield
    finally:
        clear()


def _handle(stream: Stream | None) -> object:
    lifecycle.initialize()
    return ffi.NULL if stream is None else ffi.cast("aclrtStream", stream.handle)


def _device_id(device: Device | int) -> int:
    return device.id if isinstance(device, Device) else device
