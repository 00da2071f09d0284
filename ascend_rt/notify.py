# SPDX-License-Identifier: Apache-2.0
"""Notifies: bits and counters in the device that streams set and wait for, also streams of different processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ascend_rt._native.handles import given_or_current
from ascend_rt._runtime import lifecycle
from ascend_rt._runtime.driver import call, check, ffi, is_expected, lib
from ascend_rt._runtime.ipc import KEY_SIZE, check_key, process_numbers
from ascend_rt._runtime.owners import owner_of_new
from ascend_rt._runtime.resource import Resource
from ascend_rt._runtime.timeouts import whole_seconds
from ascend_rt.device import Device

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self

    from ascend_rt.stream import Stream

__all__ = ["CountingNotify", "Notify"]

Operation = Literal["set", "add", "or", "and"]
Condition = Literal["<", "==", ">", ">=", "&"]

_OPERATIONS: dict[Operation, int] = {
    "set": lib.ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE,
    "add": lib.ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE,
    "or": lib.ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE,
    "and": lib.ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE,
}
_CONDITIONS: dict[Condition, int] = {
    "<": lib.ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE,
    "==": lib.ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE,
    ">": lib.ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE,
    ">=": lib.ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE,
    "&": lib.ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE,
}


class Notify(Resource):
    """A bit that one stream sets and another one waits for and clears.

    One record lets one wait pass, and either may be enqueued first; two records before a wait count as one. A wait for
    an event, in contrast, must be enqueued after the record that it waits for. Streams of two processes can therefore
    synchronize by notifies without any communication between their hosts.

    Parameters
    ----------
    device_use_only : bool, default False
        The notify is used only by work on the device.

    Raises
    ------
    NoContext
        The calling thread has no current context.
    ResourceExhausted
        All notifies of the device are in use.
    NotSupported
        The firmware does not support ``device_use_only``.

    Notes
    -----
    ``aclrtCreateNotify``, ``aclrtDestroyNotify``; not blocking. All products. API reference 08. Records and waits keep
    the notify alive until their stream is known to be done, so it may be discarded at any time. They do not keep it
    open: close it only when they are done, because the runtime does not wait for them.

    Examples
    --------
    >>> from ascend_rt import Device, Notify, Stream
    >>> Device(0).set_current()
    >>> with Notify() as notify, Stream() as producer, Stream() as consumer:
    ...     notify.wait(consumer)  # may come before the record
    ...     print(consumer.is_done)
    ...     notify.record(producer)
    ...     consumer.synchronize()
    False
    """

    __slots__ = ()
    _is_notify = True  # lets streams recognize it without importing this module
    _what = "notify"
    _needs_context = True

    def __init__(self, *, device_use_only: bool = False) -> None:
        lifecycle.initialize()
        out = ffi.new("aclrtNotify *")
        flag = lib.ACL_NOTIFY_DEVICE_USE_ONLY if device_use_only else lib.ACL_NOTIFY_DEFAULT
        self._make(owner_of_new(), out, "aclrtCreateNotify", out, flag)

    @classmethod
    def open(cls, key: bytes) -> Self:
        """Open the notify of another process, or of this one (``aclrtNotifyImportByKey``).

        Streams of any device may record it, but only those of the exporter's device may wait for it.

        Parameters
        ----------
        key : bytes
            The key that :meth:`export` returned in that process.

        Raises
        ------
        InvalidArgument
            No running process exports a notify under the key.
        ValueError
            The key has a zero byte.
        AclError
            The exporter did not list this process (207006).
        NoContext
            The calling thread has no current context.
        NotSupported
            The product has no notifies that processes share (310B).

        Notes
        -----
        Each process closes its own object. All products but 310B. API reference 08.
        """
        lifecycle.initialize()
        out = ffi.new("aclrtNotify *")
        notify = cls.__new__(cls)
        flag = lib.ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS
        notify._make(owner_of_new(), out, "aclrtNotifyImportByKey", out, check_key(key), flag)
        return notify

    def export(self, processes: Iterable[int] | None = None) -> bytes:
        """Let other processes open the notify; possible once. Keep the notify open until they have opened it.

        Parameters
        ----------
        processes : iterable of int, optional
            The processes that may open it, at least one, by their numbers from ``aclrtDeviceGetBareTgid``. None allows
            every process.

        Returns
        -------
        bytes
            The key that another process passes to :meth:`open`; the program sends it there.

        Raises
        ------
        AclError
            The notify was exported before, or comes from another process (507000).
        ValueError
            No process is named.
        NotSupported
            The product has no notifies that processes share (310B).

        Notes
        -----
        ``aclrtNotifyGetExportKey``, ``aclrtNotifySetImportPid``; not blocking. All products but 310B. API reference 08.
        """
        pids = None if processes is None else process_numbers(processes)  # check before the only possible export
        everybody = lib.ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION
        flag = everybody if pids is None else lib.ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT
        key = ffi.new("char[]", KEY_SIZE)
        call("aclrtNotifyGetExportKey", self._handle, key, KEY_SIZE, flag)
        if pids is not None:
            call("aclrtNotifySetImportPid", self._handle, pids, len(pids))
        return bytes(ffi.string(key))

    def record(self, stream: Stream | None = None) -> None:
        """Set the bit when the work enqueued on the stream so far is done.

        Parameters
        ----------
        stream : Stream, optional
            Default :meth:`Stream.current`.

        Raises
        ------
        NoContext
            The stream belongs to another context than the calling thread's.

        Notes
        -----
        ``aclrtRecordNotify``; enqueues only, but waits while the stream's queue is full.
        """
        stream = given_or_current(stream)
        stream._retention.submit("aclrtRecordNotify", self._handle, stream._handle, uses=(self,))

    def wait(self, stream: Stream | None = None, timeout: float | None = None) -> None:
        """Let work enqueued on the stream from now on wait until the bit is set, and clear it.

        Parameters
        ----------
        stream : Stream, optional
            The stream that waits, default :meth:`Stream.current`. It must be on the device of the notify if processes
            share the notify.
        timeout : float, optional
            Fail the wait, and with it the next synchronization of the stream (:class:`Timeout`), after this many
            seconds, rounded up to a whole number. None waits without a limit.

        Raises
        ------
        ValueError
            The time limit is not positive.
        InvalidArgument
            The notify is shared, and the stream is on another device.
        NoContext
            The stream belongs to another context than the calling thread's.

        Notes
        -----
        ``aclrtWaitAndResetNotify``; enqueues only, but waits while the stream's queue is full.
        """
        stream, limit = given_or_current(stream), _limit(timeout)
        stream._retention.submit("aclrtWaitAndResetNotify", self._handle, stream._handle, limit, uses=(self,))

    @staticmethod
    def reset_all(notifies: Iterable[Notify]) -> None:
        """Clear the bits of several notifies at once, independently of any stream.

        Parameters
        ----------
        notifies : iterable of Notify
            The notifies; at least one.

        Raises
        ------
        InvalidArgument
            The iterable is empty.
        NotSupported
            The product cannot do this (310B, 310P, 910).

        Notes
        -----
        ``aclrtNotifyBatchReset``; blocking, needs a context. If one bit cannot be cleared, the bits before it are
        cleared nevertheless. 950, 910B, 910C. API reference 08.
        """
        notifies = list(notifies)
        for notify in notifies:
            if not isinstance(notify, Notify):
                raise TypeError(f"expected a Notify, got {type(notify).__name__}")
        handles = ffi.new("aclrtNotify[]", [notify._handle for notify in notifies])
        call("aclrtNotifyBatchReset", handles, len(handles))

    @property
    def id(self) -> int:
        """The runtime's number of the notify on its device (``aclrtGetNotifyId``); needs a context."""
        out = ffi.new("uint32_t *")
        call("aclrtGetNotifyId", self._handle, out)
        return int(out[0])

    def _destroy(self, handle: Any) -> None:
        code = self._give_back(lib.aclrtDestroyNotify)
        if is_expected(code, lib.ACL_ERROR_RT_CONTEXT_NULL):  # any context will do; the closing thread may have none
            code = Device(self._owner.epoch.device_id)._call(self._give_back, lib.aclrtDestroyNotify)
        check(code, "aclrtDestroyNotify")


class CountingNotify(Resource):
    """A 32-bit counter in the device that streams change and wait for; 950 only. It begins at 0.

    Raises
    ------
    NotSupported
        The product has no counters.
    NoContext
        The calling thread has no current context.
    ResourceExhausted
        All notifies of the device are in use.

    Notes
    -----
    ``aclrtCntNotifyCreate``, ``aclrtCntNotifyDestroy``; not blocking. 950. API reference 09. It may be discarded or
    closed under the same conditions as a :class:`Notify`.

    Examples
    --------
    >>> import os
    >>> os.environ["ASCEND_RT_SIM_PRODUCT"] = "950"  # before the simulator is loaded
    >>> from ascend_rt import CountingNotify, Device, Stream
    >>> Device(0).set_current()
    >>> with CountingNotify() as arrived, Stream() as first, Stream() as second, Stream() as last:
    ...     arrived.wait(2, last)  # for both
    ...     arrived.record(1, first, operation="add")
    ...     print(last.is_done)
    ...     arrived.record(1, second, operation="add")
    ...     last.synchronize()
    False
    """

    __slots__ = ()
    _what = "counting notify"

    def __init__(self) -> None:
        lifecycle.initialize()
        out = ffi.new("aclrtCntNotify *")
        self._make(owner_of_new(), out, "aclrtCntNotifyCreate", out, 0)

    def record(self, value: int, stream: Stream | None = None, *, operation: Operation = "set") -> None:
        """Change the counter when the work enqueued on the stream so far is done.

        Parameters
        ----------
        value : int
            From 0 to 2 ** 32 - 1.
        stream : Stream, optional
            The change is made in its order; default :meth:`Stream.current`.
        operation : {"set", "add", "or", "and"}, default "set"
            The operation with the value; sums wrap around.

        Raises
        ------
        ValueError
            There is no such operation.

        Notes
        -----
        ``aclrtCntNotifyRecord``; enqueues only, but waits while the stream's queue is full.
        """
        if operation not in _OPERATIONS:
            raise ValueError(f"the operation {operation!r} is not one of {', '.join(_OPERATIONS)}")
        stream = given_or_current(stream)
        info = ffi.new("aclrtCntNotifyRecordInfo *", {"mode": _OPERATIONS[operation], "value": value})
        stream._retention.submit("aclrtCntNotifyRecord", self._handle, stream._handle, info, uses=(self,))

    def wait(
        self,
        value: int,
        stream: Stream | None = None,
        *,
        condition: Condition = ">=",
        clear: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Let work enqueued on the stream from now on wait until the counter meets a condition.

        Parameters
        ----------
        value : int
            The value that the counter is compared with, from 0 to 2 ** 32 - 1.
        stream : Stream, optional
            The stream that waits, default :meth:`Stream.current`.
        condition : {"<", "==", ">", ">=", "&"}, default ">="
            The comparison of the counter (left) with the value (right). With ``"&"``, the wait passes when all bits of
            the value are set in the counter.
        clear : bool, default False
            Set the counter to 0 when the wait passes.
        timeout : float, optional
            As for :meth:`Notify.wait`.

        Raises
        ------
        ValueError
            There is no such condition, or the time limit is not positive.

        Notes
        -----
        ``aclrtCntNotifyWaitWithTimeout``; enqueues only, but waits while the stream's queue is full.
        """
        if condition not in _CONDITIONS:
            raise ValueError(f"the condition {condition!r} is not one of {', '.join(_CONDITIONS)}")
        stream = given_or_current(stream)
        fields = {"mode": _CONDITIONS[condition], "value": value, "timeout": _limit(timeout), "isClear": clear}
        info = ffi.new("aclrtCntNotifyWaitInfo *", fields)
        stream._retention.submit("aclrtCntNotifyWaitWithTimeout", self._handle, stream._handle, info, uses=(self,))

    def reset(self, stream: Stream | None = None) -> None:
        """Set the counter to 0, in the order of a stream.

        Parameters
        ----------
        stream : Stream, optional
            Default :meth:`Stream.current`.

        Notes
        -----
        ``aclrtCntNotifyReset``; enqueues only. 950.
        """
        stream = given_or_current(stream)
        stream._retention.submit("aclrtCntNotifyReset", self._handle, stream._handle, uses=(self,))

    @property
    def id(self) -> int:
        """The runtime's number of the counter on its device (``aclrtCntNotifyGetId``)."""
        out = ffi.new("uint32_t *")
        call("aclrtCntNotifyGetId", self._handle, out)
        return int(out[0])

    def _destroy(self, handle: Any) -> None:
        self._unmake("aclrtCntNotifyDestroy")


def _limit(timeout: float | None) -> int:
    return 0 if timeout is None else whole_seconds(timeout)
