# SPDX-License-Identifier: Apache-2.0
"""Contexts: the device that the calling thread works on, and the set of streams that its objects belong to."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from operator import index
from typing import TYPE_CHECKING, Any

from ascend_rt._native.handles import Place
from ascend_rt._runtime import blocking, failures, lifecycle, retention
from ascend_rt._runtime.current_context import current_handle_or_none
from ascend_rt._runtime.driver import address, call, check_address, ffi, is_expected, lib
from ascend_rt._runtime.error_classes import error_for
from ascend_rt._runtime.lifecycle import HOST, Owner
from ascend_rt._runtime.owners import owner_of_context
from ascend_rt._runtime.resource import Resource
from ascend_rt.errors import AclError, DeviceLost, RuntimeClosed

if TYPE_CHECKING:
    from typing_extensions import Self

    from ascend_rt._runtime.failures import FailureLog
    from ascend_rt.stream import Stream

__all__ = ["Context"]


class Context(Place, Resource):
    """An explicit context of a device, with a separate default stream.

    Most programs do not need one: :meth:`Device.set_current` makes the device's primary context current. ``with
    context:`` makes the context current for a block and restores the previous one at its end; ``close()`` destroys the
    context. If the calling thread has no context yet, the new context becomes current.

    Parameters
    ----------
    device_id : int, default 0
        The device, as counted by ``ASCEND_RT_VISIBLE_DEVICES``.

    Raises
    ------
    InvalidArgument
        There is no such device.

    Notes
    -----
    ``aclrtCreateContext``, ``aclrtDestroyContext``; creating does not block, destroying waits for the work of the
    context's streams. Discarding a context that has work left does not wait: a later call that creates a stream or
    synchronizes a device destroys the context when its work is done. All products. API reference 05.

    Examples
    --------
    >>> context = Context(1)
    >>> with context:
    ...     there = Stream()
    ...     Device.current().id
    1
    >>> Device.current().id
    0
    >>> there.close()
    >>> context.close()
    """

    __slots__ = ("_log",)
    _log: FailureLog  # only of a context that this object destroys
    _what = "context"
    _needs_context = True  # to ask whether it has work left

    def __init__(self, device_id: int = 0) -> None:
        self._begin()
        Place()._call(self._make_current, int(index(device_id)))

    def _make_current(self, device_id: int) -> None:
        """Create the context, which the C function makes current."""
        out = ffi.new("aclrtContext *")
        self._log = failures.FailureLog()
        counted: list[lifecycle.DeviceEpoch] = []
        try:
            lifecycle.count_context(device_id, counted)
            self._make(Owner(counted[0]), out, "aclrtCreateContext", out, device_id)
        except BaseException:
            if counted and not self._is_open:
                lifecycle.uncount_context(counted[0])
            raise
        failures.begin_context(address(out[0]), self._log)
        lifecycle.explicit_contexts[address(out[0])] = self

    @classmethod
    def from_handle(cls, handle: int) -> Self:
        """Borrow a context of another owner by its handle; this object never destroys it."""
        borrowed = ffi.cast("aclrtContext", check_address(handle))
        return cls._lend(borrowed, owner_of_context(borrowed))

    @classmethod
    def _lend(cls, handle: Any, owner: Owner) -> Self:
        context = cls.__new__(cls)
        context._borrow(handle, owner)
        return context

    @classmethod
    def _at(cls, handle: int) -> Self:
        """Borrow a context of ours for calls in it."""
        return cls._lend(ffi.cast("aclrtContext", handle), HOST)

    @classmethod
    def current(cls) -> Self | None:
        """Return the calling thread's context, borrowed.

        Returns
        -------
        Context or None
            None if the thread has no context.

        Notes
        -----
        ``aclrtGetCurrentContext``; not blocking. All products.
        """
        handle = current_handle_or_none()
        return None if handle is None else cls._lend(handle, owner_of_context(handle))

    def set_current(self) -> None:
        """Make this the calling thread's context (``aclrtSetCurrentContext``)."""
        call("aclrtSetCurrentContext", self._handle)

    _switch = set_current

    @property
    def default_stream(self) -> Stream:
        """The context's default stream, borrowed (``aclrtCtxGetCurrentDefaultStream``)."""
        from ascend_rt.stream import Stream

        return self._call(Stream.default)

    def close(self) -> None:
        """Wait for the work of the context's streams and destroy it; closing twice is allowed.

        Raises
        ------
        TaskFailed
            A task has failed there, and no synchronization has reported it. The context is closed.
        """
        handle = self._finish() if self._is_open and self._is_to_destroy else 0
        super().close()
        if self._owned:
            device = self._owner.epoch.device_id
            retention.conclude_all(self._log, 0, "aclrtSynchronizeDevice", None, device, handle)

    def _finish(self) -> int:
        """Wait for the work and return the handle; the failure of a task stays deferred."""
        handle, log = self.handle, self._log
        with suppress(AclError):  # unless other code has destroyed it
            code, _ = self._call(blocking.wait_for_context, log)
            if retention.has_reported(code, handle) or isinstance(error_for(code, ""), DeviceLost):
                log.discard()  # the code stays in STOP mode, and for a device that is lost
        return handle

    def _discard(self, is_too_late: Callable[[], bool] = sys.is_finalizing) -> None:  # bound: this module may be empty
        if is_too_late():
            return
        try:
            if not self._close_if_done():
                lifecycle.defer(self)
                message = f"{self!r} was discarded; it is destroyed when its work is done. Close it"
                warnings.warn(message, ResourceWarning, stacklevel=2, source=self)
        except RuntimeClosed:  # after the test, by the exit in another thread
            return

    def _close_if_done(self) -> bool:
        """Close a context that was discarded, unless it has work left; an error becomes a warning."""
        if self._is_open and self._is_to_destroy and (self._lacks_context() or self._is_busy()):
            return False
        return super()._close_if_done()

    def _is_busy(self) -> bool:
        """Return True if the destruction would wait. A failure that is found is lost, as in the destruction."""
        try:
            code = self._call(lib.aclrtSynchronizeDeviceWithTimeout, 1)
        except AclError:  # it was destroyed by other code
            return False
        return is_expected(code) and code == lib.ACL_ERROR_RT_STREAM_SYNC_TIMEOUT

    def _destroy(self, handle: Any) -> None:
        lifecycle.destroy_context(self, handle)
        failures.forget_context(address(handle))
