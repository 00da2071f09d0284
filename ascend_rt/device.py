# SPDX-License-Identifier: Apache-2.0
"""Devices: counting them, making one current, asking about them."""

from __future__ import annotations

from contextlib import nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from ascend_rt import _failures, _in_flight, _lifecycle, _timeout, _waiting, context
from ascend_rt._driver import call, ffi, lib

if TYPE_CHECKING:
    from ascend_rt.enums import DevAttr
    from ascend_rt.stream import Stream


class MemoryInfo(NamedTuple):
    """Memory of a device, in bytes."""

    free: int
    total: int


class MemoryUsage(NamedTuple):
    """Memory of one component of a program on a device, in bytes."""

    name: str
    current: int
    peak: int


class Device:
    """An NPU of this machine.

    Creating the object costs nothing and touches no device. :meth:`set_current` makes the device's primary context the
    calling thread's; a thread that has none cannot create streams, events or memory, and new threads start without
    one. ``with Device(1):`` does the same for a block and goes back to the context before; the device stays open. So do
    the methods that need the device to be current. The runtime cannot take a thread's last context away: one that had
    none keeps the device's.

    Parameters
    ----------
    device_id : int, default 0
        The device, as counted by ``ASCEND_RT_VISIBLE_DEVICES``.
    """

    __slots__ = ("_id",)

    def __init__(self, device_id: int = 0) -> None:
        self._id = device_id

    @staticmethod
    def count() -> int:
        """Return the number of visible devices (``aclrtGetDeviceCount``); needs no context."""
        _lifecycle.initialize()
        out = ffi.new("uint32_t *")
        call("aclrtGetDeviceCount", out)
        return int(out[0])

    @classmethod
    def all(cls) -> list[Device]:
        """Return all visible devices, by their numbers; needs no context."""
        return [cls(i) for i in range(cls.count())]

    @classmethod
    def current(cls) -> Device:
        """Return the device of the calling thread's context (``aclrtGetDevice``).

        Raises
        ------
        NoContext
            The thread has no current context.
        """
        return cls(context.current_device_id())

    @property
    def id(self) -> int:
        """The number of the device."""
        return self._id

    @property
    def product(self) -> str:
        """The name of the chip, for instance ``Ascend910B1`` (``aclrtGetSocName``); needs no context."""
        _lifecycle.initialize()
        name = lib.aclrtGetSocName()
        return "unknown" if name == ffi.NULL else ffi.string(name).decode()

    @property
    def uuid(self) -> UUID:
        """What no other card has (``aclrtDeviceGetUuid``); needs no context. 910B, 910C, 950."""
        _lifecycle.initialize()
        out = ffi.new("aclrtUuid *")
        call("aclrtDeviceGetUuid", self._id, out)
        return UUID(bytes=bytes(ffi.buffer(out[0].bytes)))

    def set_current(self) -> None:
        """Make the device's primary context the calling thread's (``aclrtSetDevice``); the runtime counts the calls.

        Raises
        ------
        InvalidArgument
            There is no such device.
        """
        _lifecycle.set_device(self._id)

    def reset(self) -> None:
        """Undo one :meth:`set_current` (``aclrtResetDevice``).

        The last reset waits for the device's work and destroys the primary context with its streams, whose objects
        then answer :class:`InvalidHandle`; the calling thread has no context afterwards, not even if its context was
        the primary one of another device. Unless an explicit context keeps the device open, the memory of the device
        goes too: its content is lost, and closing a buffer or a pool from before is allowed and does nothing. What is
        not undone when the interpreter ends is undone there.
        """
        _lifecycle.reset_device(self._id)

    def attribute(self, attribute: DevAttr) -> int:
        """Ask for a number that describes the device (``aclrtGetDeviceInfo``); needs no context."""
        _lifecycle.initialize()
        out = ffi.new("int64_t *")
        call("aclrtGetDeviceInfo", self._id, attribute, out)
        return int(out[0])

    def can_access(self, peer: Device) -> bool:
        """Whether this device could read and write memory of another one (``aclrtDeviceCanAccessPeer``).

        Needs no context. The same device is an :class:`InvalidArgument`.
        """
        _lifecycle.initialize()
        out = ffi.new("int32_t *")
        call("aclrtDeviceCanAccessPeer", out, self._id, id_of(peer))
        return bool(out[0])

    def enable_access(self, peer: Device) -> None:
        """Let this device read and write memory of another one; makes this device current for the call.

        The other device needs the same for the opposite direction. Copies between two devices need it.

        Raises
        ------
        InvalidArgument
            It is the same device, or there is no such device.

        Notes
        -----
        ``aclrtDeviceEnablePeerAccess``; not blocking. 910B, 910C, 310P, 910, 950. Again is allowed.
        """
        with self:
            call("aclrtDeviceEnablePeerAccess", id_of(peer), 0)

    def disable_access(self, peer: Device) -> None:
        """Undo :meth:`enable_access` (``aclrtDeviceDisablePeerAccess``); makes this device current for the call."""
        with self:
            call("aclrtDeviceDisablePeerAccess", id_of(peer))

    def has_access(self, peer: Device) -> bool:
        """Whether :meth:`enable_access` is in force (``aclrtDevicePeerAccessStatus``); needs no context."""
        _lifecycle.initialize()
        out = ffi.new("int32_t *")
        call("aclrtDevicePeerAccessStatus", self._id, id_of(peer), out)
        return bool(out[0])

    @property
    def memory_info(self) -> MemoryInfo:
        """Free and total memory in bytes (``aclrtGetMemInfo``); makes the device current for the question."""
        free, total = ffi.new("size_t *"), ffi.new("size_t *")
        with self:
            call("aclrtGetMemInfo", lib.ACL_HBM_MEM, free, total)
        return MemoryInfo(int(free[0]), int(total[0]))

    def memory_usage(self) -> list[MemoryUsage]:
        """Return the memory that each component has on the device, the largest first; not on 950.

        Notes
        -----
        ``aclrtGetMemUsageInfo``; makes the device current for the question. API reference 11-01.
        """
        room = 128  # components; the runtime knows fewer
        infos, count = ffi.new("aclrtMemUsageInfo[]", room), ffi.new("size_t *")
        with self:
            call("aclrtGetMemUsageInfo", self._id, infos, room, count)
        return [
            MemoryUsage(ffi.string(info.name).decode(), int(info.curMemSize), int(info.memPeakSize))
            for info in infos[0 : count[0]]
        ]

    @property
    def default_stream(self) -> Stream:
        """The default stream of the device's primary context, borrowed."""
        from ascend_rt.stream import Stream

        with self:
            return Stream.default()

    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until all streams are done: of the thread's context, if it is on this device, else of the primary one.

        Parameters
        ----------
        timeout : float, optional
            How long to wait, in seconds; None waits for ever.

        Raises
        ------
        Timeout
            The streams were not done in time; they keep running.
        TaskFailed
            A task of one of the streams failed; reported once, of several the first one.

        Notes
        -----
        ``aclrtSynchronizeDevice``, ``aclrtSynchronizeDeviceWithTimeout``; blocking, without the GIL.
        """
        limit = _timeout.milliseconds(timeout)
        with nullcontext() if self._is_current else self:
            name, message = _waiting.limited("aclrtSynchronizeDevice", limit), None
            code = lib.ascend_rt_synchronize_device(limit)
            if code == _waiting.WOULD_WAIT:
                code, message = _waiting.wait(name, limit)
            if code or _failures.untold:
                error = _in_flight.failure_of_all(code, name, message, self._id, context.current_handle())
                if error is not None:
                    raise error
        _in_flight.drop_done()
        _lifecycle.close_deferred()

    @property
    def _is_current(self) -> bool:
        return context.current_handle_or_none() is not None and context.current_device_id() == self._id

    def __enter__(self) -> Device:
        _lifecycle.initialize()
        context.enter(self.set_current)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        context.leave()
        _lifecycle.reset_surplus(self._id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other._id == self._id

    def __hash__(self) -> int:
        return hash((Device, self._id))

    def __repr__(self) -> str:
        return f"<ascend_rt.Device {self._id}>"


def id_of(device: Device) -> int:
    """Return the number of a device; TypeError if it is none."""
    if not isinstance(device, Device):
        raise TypeError(f"a Device is wanted, for instance Device(0), not {device!r}")
    return device.id
