# SPDX-License-Identifier: Apache-2.0
"""Base class of every object with a runtime handle, which is given back once, by the first call that closes it."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from ascend_rt._native.handles import Handle, has_context
from ascend_rt._runtime import lifecycle
from ascend_rt._runtime.driver import AskingQuietly, address, check, lib, usable
from ascend_rt._runtime.error_texts import in_full
from ascend_rt._runtime.lifecycle import HOST, Owner
from ascend_rt.errors import (
    AclError,
    AclWarning,
    AscendError,
    ClosedError,
    InvalidHandle,
    RuntimeClosed,
    TaskFailed,
)

if TYPE_CHECKING:
    from collections.abc import Callable


# Errors raised for the handle of an object that is closed, has ended, or was never created.
_WITHOUT_HANDLE = (AttributeError, ClosedError, InvalidHandle)


class Resource(Handle):
    """An object that owns or borrows a handle of the runtime.

    The methods that use ``_handle`` do not test it: if the object is closed, or has ended with its device, the
    attribute raises the error.

    Examples
    --------
    >>> stream = Stream()
    >>> stream.handle != 0, stream.is_closed
    (True, False)
    >>> stream.close()
    >>> stream.is_closed
    True
    """

    __slots__ = ()
    _owner: Owner
    _what: ClassVar[str] = "resource"
    _is_counted: ClassVar[bool] = True  # among the objects that must be closed
    _needs_context: ClassVar[bool] = False  # for the destruction, which switches if the thread has another one

    def _begin(self) -> None:
        """Begin to create an object whose fields are set before its handle: initialise the runtime.

        Raises WrongState if the object has a handle already, as :meth:`_create` does for all objects.
        """
        self._expect_none()
        lifecycle.initialize()

    def _make(self, owner: Owner, cell: Any, function: str, *arguments: Any) -> None:
        """Call the C function that creates what this object owns, and take it out of a cell, all in one step.

        Parameters
        ----------
        owner : Owner
            What it lives in.
        cell : cdata or tuple
            Its item 0 is the handle when the function has returned.
        function : str
            The C function.
        *arguments
            Of the function.
        """
        code = self._create(owner, cell, getattr(lib, function), *arguments)
        if code:
            check(code, function)

    def _unmake(self, function: str, *arguments: Any) -> None:
        """Call the C function that destroys the handle, which it is given first; inside of :meth:`_destroy`."""
        code = self._give_back(getattr(lib, function), *arguments)
        if code:
            check(code, function)

    @property
    def _is_to_destroy(self) -> bool:
        """Return True if closing destroys the handle: not if it is borrowed, or a reset has destroyed it."""
        return self._owned and usable() and not self._owner.epoch.is_over

    @property
    def handle(self) -> int:
        """The runtime's handle as an integer, for other libraries; valid until the object is closed."""
        return address(self._handle)

    def _identity(self) -> tuple[object, ...]:
        """Return the key by which two Python objects of the same runtime object are equal."""
        return self._what, address(self._handle)

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Resource):
            return self is other
        try:
            return self._identity() == other._identity()
        except _WITHOUT_HANDLE:  # perhaps by another thread just now
            return False

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            try:
                self._hash = hash(self._identity())
            except _WITHOUT_HANDLE:
                self._hash = object.__hash__(self)
            return self._hash

    @property
    def is_closed(self) -> bool:
        """Return True if the object was closed. An object that a reset of its device has ended counts as open."""
        return self._is_closed

    def close(self) -> None:
        """Destroy the object of the runtime; closing twice is allowed. A borrowed handle is forgotten, not destroyed.

        If the call fails, the object stays open and may be closed again. An object that ended with a reset of its
        device is closed without a call.
        """
        if self._is_to_destroy:
            self._closing(self._destroy)
        else:
            self._forget()

    def _destroy(self, handle: Any) -> None:
        """Give the handle back; called while the object counts as closed. An exception opens it again."""
        raise NotImplementedError  # each kind of object has its own

    def _close_after(self, error: BaseException) -> None:
        """Close the object at the end of a ``with`` block that has raised an exception."""
        try:
            self.close()
        except AclError as failure:
            if isinstance(error, AclError) and error.code == failure.code:
                return  # reported already
            if isinstance(error, Exception) and isinstance(failure, TaskFailed):
                raise  # Python chains the block's own error
            message = f"while a {self._what} was closed after an error: {failure}"
            warnings.warn(message, AclWarning, stacklevel=2, source=self)

    def _refuse_ended(self) -> NoReturn:
        device = self._owner.epoch.device_id
        if self._owner.epoch.has_lost_context:
            why = "its context was destroyed; create a new one in another context"
        else:
            why = f"device {device} was reset; create a new one after Device({device}).set_current()"
        message = f"this {self._what} has ended, because {why}"
        raise InvalidHandle(lib.ACL_ERROR_RT_INVALID_HANDLE, type(self).__name__, message)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be copied or pickled: a handle has one owner")

    def _discard(self, is_too_late: Callable[[], bool] = sys.is_finalizing) -> None:  # bound: this module may be empty
        """Give the handle back although the object was not closed; called when it is discarded while it is open."""
        if is_too_late():
            return
        if self._needs_context and self._lacks_context():
            lifecycle.defer(self)
            return
        try:
            if self._is_to_destroy:
                self._closing(self._destroy)
            else:
                self._forget()
        except RuntimeClosed:  # after the test, by the exit in another thread
            return
        except AclError as error:
            self._forget()
            self._warn_of_discarded(error)

    def _warn_of_discarded(self, error: AclError) -> None:
        warnings.warn(f"while a {self._what} was discarded: {in_full(error)}", AclWarning, stacklevel=3, source=self)

    def _lacks_context(self) -> bool:
        """Return True if the destruction would permanently give a context to the calling thread, which has none."""
        return self._is_to_destroy and self._is_open and not has_context()

    def _close_if_done(self) -> bool:
        """Close an object whose close was deferred, unless it must wait longer."""
        if self._lacks_context():
            return False
        Resource._discard(self)
        return True

    def _description(self) -> str:
        """Return the identity and the state of an open object, for its text."""
        return f"{address(self._handle):#x}{self._place}"

    @property
    def _place(self) -> str:
        """The device, for texts; empty without a device, and for a borrowed handle, whose device is only assumed."""
        device = self._owner.epoch.device_id
        return "" if device == HOST.epoch.device_id or not self._owned else f" on device {device}"

    def _state(self) -> str:
        """Return the state of the object, for its text."""
        if self._is_closed:
            return "closed"
        if self._is_ended:
            epoch = self._owner.epoch
            return (
                "ended with its context" if epoch.has_lost_context else f"ended by a reset of device {epoch.device_id}"
            )
        return self._description() + ("" if self._owned else ", borrowed")

    def __repr__(self) -> str:
        try:
            with AskingQuietly():  # a program that prints an object does not wait for it
                what = self._state()
        except (AttributeError, AscendError):  # not created yet; closed or ended by another thread
            what = "without a handle"
        return f"<ascend_rt.{type(self).__name__} {what}>"
