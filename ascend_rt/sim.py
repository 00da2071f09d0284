# SPDX-License-Identifier: Apache-2.0
"""Control of the simulator: pausing it, and faults on demand to see how a program takes them.

Every function raises :class:`NotSupported` where the vendor's library is in use. The same faults can be asked for from
outside, without a change to the program, with ``ASCEND_RT_SIM_FAULTS`` (see ``docs/simulator.md``).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple

from ascend_rt import _lifecycle
from ascend_rt._driver import call, check_address, ffi, lib
from ascend_rt.device import Device

if TYPE_CHECKING:
    from typing_extensions import Buffer as HostBuffer

    from ascend_rt.stream import Stream

Resource = Literal["streams", "events", "notifies", "memory"]

_NO_LIMIT = 2**64 - 1

_held_lock = threading.Lock()
_held = 0  # how many blocks


class Info(NamedTuple):
    """The simulated machine: the product's name, its devices, and the threads that move data."""

    product: str
    devices: int
    workers: int


def info() -> Info:
    """Return what is simulated (``aclsimGetInfo``)."""
    out = ffi.new("aclsimInfo *")
    call("aclsimGetInfo", out)
    return Info(ffi.string(out.product).decode(), int(out.deviceCount), int(out.workerCount))


def check_reports() -> int:
    """Return how many uses of memory ``ASCEND_RT_SIM_CHECK=memory`` has reported (``aclsimGetCheckReports``)."""
    return int(lib.aclsimGetCheckReports())


@contextmanager
def held() -> Iterator[None]:
    """Let no task start inside the block, on any device (``aclsimHold``); what runs already ends.

    Blocks may be inside each other, or overlap in several threads: the last to end lets the tasks start.
    Submitting more than a stream's queue takes, or synchronizing, waits for the end of the block: not on the thread
    that is to leave it.
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
        The C function, which must be one that is simulated.
    code : int
        What it answers; it does nothing else.
    nth : int, default 1
        Which call from now on; 0 is every one.
    """
    call("aclsimFailCall", function.encode(), nth, code)


def fail_task(code: int, stream: Stream | None = None, *, nth: int = 1) -> None:
    """Make a task fail when its turn in its stream comes, instead of doing its work (``aclsimFailTask``).

    Parameters
    ----------
    code : int
        What the task fails with, for instance 507015 (an exception in a kernel). It shows where failures show: in the
        next synchronization, or in STOP mode in every call on the context.
    stream : Stream, optional
        Whose task; default any stream's.
    nth : int, default 1
        Which task that is submitted from now on; 0 is every one.
    """
    call("aclsimFailTask", _handle(stream), nth, code)


def delay_tasks(seconds: float, stream: Stream | None = None) -> None:
    """Delay the start of tasks that are submitted from now on (``aclsimDelayTasks``).

    Parameters
    ----------
    seconds : float
        At most an hour; 0 removes the delay.
    stream : Stream, optional
        Whose tasks; default all.
    """
    call("aclsimDelayTasks", _handle(stream), round(seconds * 1e6))


def lose_device(device: Device | int = 0, code: int | None = None) -> None:
    """Lose a device: its tasks are dropped, and calls that need it fail until it is reset (``aclsimLoseDevice``).

    Parameters
    ----------
    device : Device or int
        Which one.
    code : int, optional
        What calls fail with; default ``ACL_ERROR_RT_LOST_HEARTBEAT``, 507010.
    """
    call("aclsimLoseDevice", _device_id(device), lib.ACL_ERROR_RT_LOST_HEARTBEAT if code is None else code)


def limit(resource: Resource, number: int | None, device: Device | int = 0) -> None:
    """Limit how many of a resource a device has (``aclsimLimitResource``).

    Parameters
    ----------
    resource : {"streams", "events", "notifies", "memory"}
        Memory is counted in bytes.
    number : int or None
        None removes the limit.
    device : Device or int
        Which device.
    """
    kind = getattr(lib, f"ACLSIM_RESOURCE_{resource.upper()}", None)
    if kind is None:
        raise ValueError(f"there is no resource {resource!r}; it is one of streams, events, notifies, memory")
    call("aclsimLimitResource", _device_id(device), kind, _NO_LIMIT if number is None else number)


def run_operator(stream: Stream | None, nbytes: int) -> None:
    """Run a stand-in for an operator that takes workspace in the order of a stream (``aclsimRunOperator``).

    The workspace comes from the allocator that is registered for the stream, whose callbacks are called in this thread,
    or else from the device's memory; the operator overwrites all of it when its turn comes.

    Parameters
    ----------
    stream : Stream or None
        Where the operator runs; None is the default stream.
    nbytes : int
        Size of the workspace; an operator without one calls no allocator.

    Raises
    ------
    AclError
        507004 if the allocator served another stream that was not synchronized since, 207001 if it returned NULL,
        107000 if what it returned is not the device's live memory.
    """
    if nbytes < 0:
        raise ValueError(f"a size cannot be negative: {nbytes}")
    call("aclsimRunOperator", _handle(stream), nbytes)


def register_symbol(symbol: int, content: HostBuffer) -> None:
    """Make an address of the host the symbol of a variable in device memory (``aclsimRegisterSymbol``).

    That is what loading a program with such a variable does. Each device gets its own, with this content at first.

    Parameters
    ----------
    symbol : int
        Any address but 0; ``aclrtGetSymbolAddress`` and its like take it.
    content : bytes-like
        Not empty.

    Raises
    ------
    AclError
        The symbol is registered already (107043).
    """
    view = ffi.from_buffer("char[]", content)
    call("aclsimRegisterSymbol", ffi.cast("void *", check_address(symbol)), view, len(view))


def unregister_symbol(symbol: int) -> None:
    """Forget a symbol, and free the variable on all devices (``aclsimUnregisterSymbol``)."""
    call("aclsimUnregisterSymbol", ffi.cast("void *", check_address(symbol)))


def clear() -> None:
    """Remove all faults (``aclsimClearFaults``); what has failed stays failed."""
    call("aclsimClearFaults")


@contextmanager
def faults() -> Iterator[None]:
    """Remove all faults at the end of the block, including those from before it."""
    try:
        yield
    finally:
        clear()


def _handle(stream: Stream | None) -> object:
    _lifecycle.initialize()
    return ffi.NULL if stream is None else ffi.cast("aclrtStream", stream.handle)


def _device_id(device: Device | int) -> int:
    return device.id if isinstance(device, Device) else device
