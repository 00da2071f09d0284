# SPDX-License-Identifier: Apache-2.0
"""Devices: count them, make one current, query their properties."""

from __future__ import annotations

from contextlib import suppress
from enum import IntEnum
from operator import index
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ascend_rt._native.handles import Place
from ascend_rt._runtime import blocking, failures, lifecycle, retention, timeouts
from ascend_rt._runtime.current_context import current_device_id, current_handle, current_handle_or_none
from ascend_rt._runtime.driver import address, call, check, ffi, is_expected, lib
from ascend_rt._runtime.lifecycle import HOST
from ascend_rt.context import Context
from ascend_rt.errors import AclError

if TYPE_CHECKING:
    from uuid import UUID

    from ascend_rt.device_properties import DeviceProperties
    from ascend_rt.enums import DevAttr
    from ascend_rt.stream import Stream

__all__ = ["Device", "MemoryInfo", "MemoryUsage"]

_Kind = TypeVar("_Kind", bound=IntEnum)

# Codes for an attribute that the product lacks or that the library does not know; the choice between the two depends on
# the release (docs/semantics/device_context_init_errors.md section 5, aclrtGetDeviceInfo).
_NOT_REPORTED = (lib.ACL_ERROR_RT_FEATURE_NOT_SUPPORT, lib.ACL_ERROR_RT_PARAM_INVALID)


class MemoryInfo(NamedTuple):
    """Memory of a device, in bytes.

    Examples
    --------
    >>> info = Device(0).memory_info
    >>> info.free <= info.total
    True
    """

    free: int
    total: int


class MemoryUsage(NamedTuple):
    """The device memory that one component of the software uses, in bytes.

    Examples
    --------
    >>> for usage in Device(0).memory_usage():
    ...     assert usage.current <= usage.peak
    """

    name: str
    current: int
    peak: int


class Device(Place):
    """An NPU of this machine.

    Creating the object is cheap and does not touch the device. :meth:`set_current` makes the device's primary context
    the current context of the calling thread. New threads start without a context, and a thread without one cannot
    create streams, events or memory. ``with Device(1):`` makes the device current for a block and restores the previous
    context at its end; the device stays open. Methods that need the device to be current do the same for their call.
    The runtime cannot remove a thread's context: a thread that had none before keeps the device's.

    Parameters
    ----------
    device_id : int, default 0
        The device, as counted by ``ASCEND_RT_VISIBLE_DEVICES``.

    Examples
    --------
    >>> device = Device(0)
    >>> device.set_current()
    >>> Device.current() == device
    True
    >>> with Device(1):  # for a block
    ...     Device.current().id
    1
    >>> Device.current().id
    0
    """

    __slots__ = ("_id",)

    def __init__(self, device_id: int = 0) -> None:
        try:
            self._id = int(index(device_id))
        except TypeError:
            raise TypeError(f"expected the number of a device, got {device_id!r}") from None

    @staticmethod
    def count() -> int:
        """Return the number of devices that the process sees.

        Returns
        -------
        int
            The number of visible devices (``ASCEND_RT_VISIBLE_DEVICES``).

        Notes
        -----
        ``aclrtGetDeviceCount``; not blocking, needs no context. All products.
        """
        lifecycle.initialize()
        out = ffi.new("uint32_t *")
        call("aclrtGetDeviceCount", out)
        return int(out[0])

    @classmethod
    def all(cls) -> list[Device]:
        """Return all visible devices in the order of their numbers; needs no context.

        Examples
        --------
        >>> len(Device.all()) == Device.count()
        True
        """
        return [cls(i) for i in range(cls.count())]

    @classmethod
    def current(cls) -> Device:
        """Return the device of the calling thread's context.

        Returns
        -------
        Device
            The device.

        Raises
        ------
        NoContext
            The thread has no current context.

        Notes
        -----
        ``aclrtGetDevice``; not blocking. All products.
        """
        return cls(current_device_id())

    @property
    def id(self) -> int:
        """The number of the device."""
        return self._id

    @property
    def name(self) -> str:
        """The name of the chip, for instance ``Ascend910B1`` (``aclrtGetSocName``); needs no context."""
        lifecycle.initialize()
        name = lib.aclrtGetSocName()
        return "unknown" if name == ffi.NULL else ffi.string(name).decode()

    @property
    def uuid(self) -> UUID:
        """The UUID of the device (``aclrtDeviceGetUuid``); needs no context. 910B, 910C, 950."""
        from uuid import UUID

        lifecycle.initialize()
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
        lifecycle.set_device(self._id)

    def reset(self, *, force: bool = False) -> None:
        """Undo one :meth:`set_current` (``aclrtResetDevice``). Calls of all threads are counted together.

        Parameters
        ----------
        force : bool, default False
            Undo all calls at once, including those of other code in the process (``aclrtResetDeviceForce``). This is
            how to recover from :class:`DeviceLost`.

        Raises
        ------
        AclError
            The device is not set (507007).

        Notes
        -----
        The last reset waits for the device's work and destroys the primary context and its streams. Afterwards the
        calling thread has no context, even if its context was the primary one of another device. Unless an explicit
        context keeps the device open, the device's memory is freed too, and all objects on it end: they raise
        :class:`InvalidHandle`, and closing them does nothing. If the reset fails, they are open again. When the
        interpreter exits, it undoes the remaining calls of :meth:`set_current`. The reset does not report tasks that
        have failed.
        """
        references = lifecycle.references_to(self._id)
        if references == 1 or (force and references):
            self._finish()
        if force:
            lifecycle.reset_device_force(self._id)
        else:
            lifecycle.reset_device(self._id)

    def _finish(self) -> None:
        """Wait for the work of the primary context, which would go with it."""
        with suppress(AclError):  # unless it is lost
            primary = lifecycle.primary_context(self._id)
            if primary is not None:
                failures.forget_context(address(primary))
                Context._lend(primary, HOST)._call(blocking.wait_for_context, failures.FailureLog())

    def attribute(self, attribute: DevAttr) -> int:
        """Return the value of an attribute of the device.

        Parameters
        ----------
        attribute : DevAttr
            The attribute.

        Returns
        -------
        int
            Its value, in the unit of the C function.

        Raises
        ------
        InvalidArgument
            There is no such device, or no such attribute.
        NotSupported
            The library or the product does not report the attribute.

        Notes
        -----
        ``aclrtGetDeviceInfo``; not blocking, needs no context. All products.

        Examples
        --------
        >>> from ascend_rt.enums import DevAttr
        >>> Device(0).attribute(DevAttr.AICORE_CORE_NUM) > 0
        True
        """
        lifecycle.initialize()
        out = ffi.new("int64_t *")
        call("aclrtGetDeviceInfo", self._id, attribute, out)
        return int(out[0])

    @property
    def properties(self) -> DeviceProperties:
        """The device's cores, memory, numbers and architecture; queried at each access, needs no context.

        Raises
        ------
        InvalidArgument
            There is no such device.
        NotSupported
            The library is too old to report device properties.

        Notes
        -----
        ``aclrtGetDeviceInfo``; not blocking. All products. API reference 04.
        """
        from ascend_rt.device_properties import DeviceProperties
        from ascend_rt.enums import DevAttr, DeviceFormFactor, HostDeviceConnectType

        ask, ask_if_reported = self.attribute, self._attribute_if_reported

        def flag_if_reported(attribute: DevAttr) -> bool | None:
            flag = ask_if_reported(attribute)
            return None if flag is None else bool(flag)

        def of_950(attribute: DevAttr) -> int | None:
            return ask_if_reported(attribute) or None  # newer libraries answer 0 (section 5)

        def of_950_in_space(*attributes: DevAttr) -> tuple[int, int, int] | None:
            x, y, z = map(of_950, attributes)
            return None if x is None or y is None or z is None else (x, y, z)

        # Begin with the attributes that every library reports: if these are refused, the device does not exist.
        return DeviceProperties(
            ai_cores=ask(DevAttr.AICORE_CORE_NUM),
            cube_cores=ask(DevAttr.CUBE_CORE_NUM),
            vector_cores=ask(DevAttr.VECTOR_CORE_NUM),
            ai_cpus=ask(DevAttr.AICPU_CORE_NUM),
            memory_nbytes=ask(DevAttr.TOTAL_GLOBAL_MEM_SIZE),
            l2_cache_nbytes=ask(DevAttr.L2_CACHE_SIZE),
            chip_id=ask(DevAttr.PHY_CHIP_ID),
            smp_id=ask(DevAttr.SMP_ID),
            is_virtual=bool(ask(DevAttr.IS_VIRTUAL)),
            arch=ask_if_reported(DevAttr.NPU_ARCH),
            super_pod_id=ask_if_reported(DevAttr.SUPER_POD_ID),
            super_pod_server_id=ask_if_reported(DevAttr.SUPER_POD_SERVER_ID),
            super_pod_device_id=ask_if_reported(DevAttr.SUPER_POD_DEVICE_ID),
            mainboard_id=ask_if_reported(DevAttr.MAINBOARD_ID),
            form_factor=_member(DeviceFormFactor, ask_if_reported(DevAttr.DEVICE_FORM_FACTOR)),
            host_link=_member(HostDeviceConnectType, ask_if_reported(DevAttr.HD_CONNECT_TYPE)),
            custom_op_privilege=flag_if_reported(DevAttr.CUST_OP_PRIVILEGE),
            warp_size=of_950(DevAttr.WARP_SIZE),
            max_threads_per_vector_core=of_950(DevAttr.MAX_THREAD_PER_VECTOR_CORE),
            max_threads_per_block=of_950(DevAttr.MAX_THREADS_PER_BLOCK),
            max_blocks_per_grid=of_950(DevAttr.MAX_BLOCK_PER_GRID),
            max_grid=of_950_in_space(DevAttr.MAX_GRID_DIM_X, DevAttr.MAX_GRID_DIM_Y, DevAttr.MAX_GRID_DIM_Z),
            max_block=of_950_in_space(DevAttr.MAX_BLOCK_DIM_X, DevAttr.MAX_BLOCK_DIM_Y, DevAttr.MAX_BLOCK_DIM_Z),
            unified_buffer_nbytes=of_950(DevAttr.UBUF_PER_VECTOR_CORE),
        )

    def _attribute_if_reported(self, attribute: DevAttr) -> int | None:
        out = ffi.new("int64_t *")
        code = lib.aclrtGetDeviceInfo(self._id, attribute, out)
        if is_expected(code, *_NOT_REPORTED):
            return None
        if code:
            check(code, "aclrtGetDeviceInfo")
        return int(out[0])

    def can_access(self, peer: Device) -> bool:
        """Return True if this device could read and write memory of another one.

        Parameters
        ----------
        peer : Device
            The other device.

        Returns
        -------
        bool
            True if :meth:`enable_access` is possible.

        Raises
        ------
        InvalidArgument
            It is the same device, or there is no such device.

        Notes
        -----
        ``aclrtDeviceCanAccessPeer``; not blocking, needs no context. 910B, 910C, 310P, 910, 950.
        """
        lifecycle.initialize()
        out = ffi.new("int32_t *")
        call("aclrtDeviceCanAccessPeer", out, self._id, self._id_of(peer))
        return bool(out[0])

    def enable_access(self, peer: Device) -> None:
        """Let this device read and write memory of another one; makes this device current for the call.

        Copies between two devices need this. Access in the opposite direction must be enabled separately.

        Parameters
        ----------
        peer : Device
            The device whose memory this one is to use.

        Raises
        ------
        InvalidArgument
            It is the same device, or there is no such device.

        Notes
        -----
        ``aclrtDeviceEnablePeerAccess``; not blocking. 910B, 910C, 310P, 910, 950. Calling it twice is allowed.

        Examples
        --------
        >>> Device(0).enable_access(Device(1))
        >>> Device(0).has_access(Device(1)), Device(1).has_access(Device(0))
        (True, False)
        >>> Device(0).disable_access(Device(1))
        """
        self._call(call, "aclrtDeviceEnablePeerAccess", self._id_of(peer), 0)

    def disable_access(self, peer: Device) -> None:
        """Undo :meth:`enable_access`; makes this device current for the call.

        Parameters
        ----------
        peer : Device
            The other device.

        Notes
        -----
        ``aclrtDeviceDisablePeerAccess``; not blocking. 910B, 910C, 310P, 910, 950.
        """
        self._call(call, "aclrtDeviceDisablePeerAccess", self._id_of(peer))

    def has_access(self, peer: Device) -> bool:
        """Return True if :meth:`enable_access` is in force.

        Parameters
        ----------
        peer : Device
            The other device.

        Returns
        -------
        bool
            True if this device may use memory of the other one.

        Notes
        -----
        ``aclrtDevicePeerAccessStatus``; not blocking, needs no context. All products.
        """
        lifecycle.initialize()
        out = ffi.new("int32_t *")
        call("aclrtDevicePeerAccessStatus", self._id, self._id_of(peer), out)
        return bool(out[0])

    @property
    def memory_info(self) -> MemoryInfo:
        """Free and total memory in bytes (``aclrtGetMemInfo``); makes the device current for the call."""
        free, total = ffi.new("size_t *"), ffi.new("size_t *")
        self._call(call, "aclrtGetMemInfo", lib.ACL_HBM_MEM, free, total)
        return MemoryInfo(int(free[0]), int(total[0]))

    def memory_usage(self) -> list[MemoryUsage]:
        """Return the device memory that each component uses, the largest first; not on 950.

        Returns
        -------
        list of MemoryUsage
            One entry for each component.

        Notes
        -----
        ``aclrtGetMemUsageInfo``; makes the device current for the call. API reference 11-01.
        """
        room = 128  # components; the runtime knows fewer
        infos, count = ffi.new("aclrtMemUsageInfo[]", room), ffi.new("size_t *")
        self._call(call, "aclrtGetMemUsageInfo", self._id, infos, room, count)
        return [
            MemoryUsage(ffi.string(info.name).decode(), int(info.curMemSize), int(info.memPeakSize))
            for info in infos[0 : count[0]]
        ]

    @property
    def default_stream(self) -> Stream:
        """The default stream of the device's primary context, borrowed."""
        from ascend_rt.stream import Stream

        return self._call(Stream.default)

    def synchronize(self, timeout: float | None = None) -> None:
        """Wait for all streams of the thread's context, if that is on this device, else of the primary context.

        Parameters
        ----------
        timeout : float, optional
            How long to wait, in seconds; None waits without a limit.

        Raises
        ------
        Timeout
            The streams were not done in time; they keep running.
        TaskFailed
            A task of one of the streams failed. Each failure is reported once; if several tasks failed, the first.

        Notes
        -----
        ``aclrtSynchronizeDevice``, ``aclrtSynchronizeDeviceWithTimeout``; blocking, without the GIL.

        Examples
        --------
        >>> done = []
        >>> stream.launch_host_func(done.append, 1)
        >>> Device(0).synchronize()
        >>> done
        [1]
        """
        limit = timeouts.milliseconds(timeout)
        name = blocking.limited("aclrtSynchronizeDevice", limit)
        where, log, code, message = self._wait(limit) if self._is_current else self._call(self._wait, limit)
        retention.conclude_all(log, code, name, message, self._id, where)
        retention.release_completed()
        lifecycle.close_deferred()

    def _wait(self, limit: int) -> tuple[int, failures.FailureLog, int, str]:
        """Wait for the streams of the calling thread's context; return its address, its log, the code and its text."""
        where = address(current_handle())
        log = failures.of_context(where)
        return where, log, *blocking.wait_for_context(log, limit)

    @property
    def _is_current(self) -> bool:
        return current_handle_or_none() is not None and current_device_id() == self._id

    _switch = set_current

    @staticmethod
    def _id_of(device: Device) -> int:
        """Return the number of a device; TypeError if the argument is not a Device."""
        if not isinstance(device, Device):
            raise TypeError(f"expected a Device such as Device(0), got {device!r}")
        return device.id

    def _left(self) -> None:
        lifecycle.reset_surplus(self._id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other._id == self._id

    def __hash__(self) -> int:
        return hash((Device, self._id))

    def __repr__(self) -> str:
        return f"<ascend_rt.Device {self._id}>"


def _member(kind: type[_Kind], value: int | None) -> _Kind | int | None:
    """Return the member of an enumeration, or the number itself if it has none."""
    return kind(value) if value in set(kind) else value
