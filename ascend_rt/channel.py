# SPDX-License-Identifier: Apache-2.0
"""Channels: bounded queues of arrays between threads, such as one that loads data and one that trains."""

from __future__ import annotations

from collections import deque
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from ascend_rt._memory import tensors
from ascend_rt._memory.receiver import Arrival, Receiver
from ascend_rt._runtime import blocking, lifecycle
from ascend_rt._runtime.current_context import current_device_id
from ascend_rt._runtime.driver import address, call, check, ffi, is_expected, lib, supports
from ascend_rt._runtime.names import encoded
from ascend_rt._runtime.resource import Resource
from ascend_rt._runtime.timeouts import limit_of
from ascend_rt.device import Device
from ascend_rt.errors import EndOfSequence

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Channel"]

_EMPTY = lib.ACL_ERROR_RT_QUEUE_EMPTY
_FULL = lib.ACL_ERROR_RT_QUEUE_FULL
_LONGEST_NAME = 127  # bytes
_STOPPED = lib.ACL_ERROR_FAILURE
_TENSOR = lib.ACL_TENSOR_DATA_TENSOR
_END = lib.ACL_TENSOR_DATA_END_OF_SEQUENCE
_ABNORMAL = lib.ACL_TENSOR_DATA_ABNORMAL


class Channel(Resource, Receiver["tuple[NDArray[Any], ...]"]):
    """A queue of messages, each of which has one or more arrays.

    Senders wait while the channel is full, receivers while it is empty. Any threads of the process may send and receive
    through the same object. Arrays are copied: a sender may change them afterwards, and received ones are new.

    Parameters
    ----------
    name : str
        A name for logs and error messages, of at most 127 bytes. Channels with the same name are independent.
    capacity : int
        The most messages in the channel, 2 to 8192.
    device : Device, optional
        The device whose driver holds the channel, which must be in use in the process; default the current one.

    Raises
    ------
    ValueError
        The capacity is out of range, or the name too long.
    NoContext
        No device is given, and the calling thread has none.
    AclError
        The device is not in use in this process, or the product has no channels (310B, 310P); the message says which.

    Notes
    -----
    ``acltdtCreateChannelWithCapacity``, ``acltdtDestroyChannel``; not blocking. 950, 910B, 910C, 910. API reference
    17-01. Closing the channel drops its messages. On the simulator it ends the waits of other threads with an
    :class:`AclError`, as a reset of the device does; the vendor's library does not expect calls in progress, so end the
    threads first. Other processes cannot use the channel.

    Examples
    --------
    >>> import threading
    >>> import numpy as np
    >>> from ascend_rt import Channel, Device
    >>> Device(0).set_current()
    >>> with Channel("batches", capacity=4) as channel:
    ...     def load():
    ...         for number in range(3):
    ...             channel.send(np.full((2, 2), number), np.array([number]))
    ...         channel.end()
    ...     loader = threading.Thread(target=load)
    ...     loader.start()
    ...     for images, labels in channel:
    ...         print(images.shape, labels.tolist())
    ...     loader.join()
    (2, 2) [0]
    (2, 2) [1]
    (2, 2) [2]
    """

    __slots__ = ("_arrived", "_capacity", "_has_short_calls", "_is_stopped", "_name")
    _what = "channel"
    _receives, _empty = "acltdtReceiveTensor", _EMPTY

    def __init__(self, name: str, capacity: int, *, device: Device | None = None) -> None:
        self._begin()
        text = encoded(name, _LONGEST_NAME)
        if not 2 <= index(capacity) <= 8192:
            raise ValueError(f"the capacity must be 2 to 8192 messages, got {capacity}")
        where = current_device_id() if device is None else Device._id_of(device)
        self._name, self._capacity, self._is_stopped = name, index(capacity), False
        self._arrived, self._has_short_calls = deque(), False
        supports("acltdtCreateChannelWithCapacity")  # opens the library that has these functions
        out = ffi.new("void **")
        code = self._create(
            lifecycle.owner_of(where), out, lib.ascend_rt_create_channel, where, text, self._capacity, out
        )
        if code:
            check(code, "acltdtCreateChannelWithCapacity")

    # --- sending -----------------------------------------------------------------------------------------------------

    def send(self, *arrays: ArrayLike, timeout: float | None = None) -> None:
        """Send arrays as one message.

        Parameters
        ----------
        *arrays : array_like
            At least one, of any shape with at most 128 dimensions, also empty ones; their types are those of
            ``aclDataType`` that numpy has.
        timeout : float, optional
            How long to wait for room, in seconds; 0 does not wait, None waits without a limit.

        Raises
        ------
        Timeout
            The channel was full for that long.
        TypeError
            The runtime has no such data type.
        AclError
            The channel was stopped or closed (500001).

        Notes
        -----
        ``acltdtSendTensor``; blocking, without the GIL; needs no context.
        """
        self._send(*_items(arrays), timeout)

    async def send_async(self, *arrays: ArrayLike) -> None:
        """Send arrays as :meth:`send` does, without blocking the event loop of asyncio.

        Limit the time with :func:`asyncio.timeout` or :func:`asyncio.wait_for`. If the asyncio task is cancelled while
        the channel is full, the message may still be sent for 50 milliseconds.

        Parameters
        ----------
        *arrays : array-like
            As for :meth:`send`.

        Raises
        ------
        TypeError
            The runtime has no such data type.
        AclError
            The channel was stopped or closed (500001).

        Notes
        -----
        ``acltdtSendTensor``; if the channel is full, a thread waits in C, without the GIL.
        """
        items, keep = _items(arrays)
        code = lib.ascend_rt_send(self._handle, items, len(items), 0)
        if is_expected(code, _FULL):
            await blocking.attempts_async("acltdtSendTensor", self._attempt(items, keep), _FULL)
        elif code:
            check(code, "acltdtSendTensor")

    def end(self, *, failed: bool = False, timeout: float | None = None) -> None:
        """Send the end of the sequence: iterations end there, and :meth:`receive` raises :class:`EndOfSequence`.

        The channel stays open, and another sequence may follow.

        Parameters
        ----------
        failed : bool, default False
            The sequence ends because the sender has failed (``ACL_TENSOR_DATA_ABNORMAL``): iterations raise, too.
        timeout : float, optional
            As for :meth:`send`.

        Raises
        ------
        Timeout
            The channel was full for that long.
        AclError
            The channel was stopped or closed (500001).

        Notes
        -----
        ``acltdtSendTensor``; blocking, without the GIL; needs no context.
        """
        mark = ffi.new("ascend_rt_item[1]", [{"type": _ABNORMAL if failed else _END}])
        self._send(mark, (), timeout)

    def _send(self, items: Any, keep: object, timeout: float | None) -> None:
        code = blocking.attempts(self._attempt(items, keep), _FULL, limit_of(timeout))
        if code:
            check(code, "acltdtSendTensor")

    # --- receiving ---------------------------------------------------------------------------------------------------

    def receive(self, timeout: float | None = None) -> tuple[NDArray[Any], ...]:
        """Take the oldest message out of the channel.

        Parameters
        ----------
        timeout : float, optional
            How long to wait for one, in seconds; 0 does not wait, None waits without a limit.

        Returns
        -------
        tuple of numpy.ndarray
            New arrays. Elements without a counterpart in numpy arrive as bytes, in an array of one dimension;
            ``bfloat16`` needs the package ``ml_dtypes``.

        Raises
        ------
        Timeout
            The channel was empty for that long.
        EndOfSequence
            The message is the end of a sequence.
        AclError
            The channel was stopped or closed (500001).

        Notes
        -----
        ``acltdtReceiveTensor``; blocking, without the GIL; needs no context. If Ctrl-C ends a wait, no message is lost.
        """
        limit, arrival = limit_of(timeout), Arrival(self)
        try:
            return arrival.take(limit)
        except BaseException as error:
            arrival.put_back(error)
            raise

    async def receive_async(self) -> tuple[NDArray[Any], ...]:
        """Take the oldest message as :meth:`receive` does, without blocking the event loop of asyncio.

        Limit the time with :func:`asyncio.timeout` or :func:`asyncio.wait_for`. If the asyncio task is cancelled, no
        message is lost: one that arrives in the same moment is the next to be received.

        Returns
        -------
        tuple of numpy.ndarray
            As of :meth:`receive`.

        Raises
        ------
        EndOfSequence
            The message is the end of a sequence.
        AclError
            The channel was stopped or closed (500001).

        Notes
        -----
        A thread waits in C, without the GIL, unless there is a message already.
        """
        return await self._received()

    def _check_open(self) -> None:
        self._handle  # noqa: B018  (raises)

    def _new_cell(self) -> Any:
        """Return a place for a dataset, which is destroyed together with it."""
        return ffi.gc(ffi.new("void **"), lib.ascend_rt_discard_dataset)

    def _take(self, cell: Any, limit: int) -> int:
        return self._code(lib.ascend_rt_receive(self._handle, limit, cell), _EMPTY, limit)

    def _is_full(self, cell: Any) -> bool:
        return bool(cell[0] != ffi.NULL)

    def _content(self, cell: Any) -> tuple[NDArray[Any], ...]:
        return _arrays(cell)

    # --- waits -------------------------------------------------------------------------------------------------------

    def _attempt(self, items: Any, keep: object) -> Callable[[int], int]:
        """Return a function that tries to send items within a limit, and keeps alive what they refer to."""

        def attempt(limit: int, _: object = keep) -> int:
            return self._code(lib.ascend_rt_send(self._handle, items, len(items), limit), _FULL, limit)

        return attempt

    def _code(self, code: int, over: int, limit: int) -> int:
        """Return the code of a call; a stop ends the wait in Python if it does not in the vendor's library."""
        return _STOPPED if code == over and limit and self._is_stopped else code

    # --- state -------------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """End the waits of other threads, which raise :class:`AclError` (500001); later calls do not wait.

        Messages that are in the channel can still be received.

        Notes
        -----
        ``acltdtStopChannel``; not blocking, needs no context. In the vendor's newest library the function does nothing:
        waits of this object end within 50 milliseconds nevertheless, waits of programs in C continue.
        """
        self._is_stopped = True
        call("acltdtStopChannel", self._handle)

    def clear(self) -> None:
        """Drop all messages (``acltdtCleanChannel``); senders that wait continue."""
        self._arrived.clear()
        call("acltdtCleanChannel", self._handle)

    def __len__(self) -> int:
        """Return the number of messages in the channel (``acltdtQueryChannelSize``); does not block."""
        out = ffi.new("size_t *")
        call("acltdtQueryChannelSize", self._handle, out)
        return int(out[0]) + len(self._arrived)

    def __bool__(self) -> bool:
        """Return True also for an empty channel."""
        return True

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def capacity(self) -> int:
        """The most messages in the channel."""
        return self._capacity

    @property
    def device(self) -> Device:
        """The device whose driver holds the channel."""
        return Device(self._owner.epoch.device_id)

    def _description(self) -> str:
        return f"{self._name!r} {address(self._handle):#x}{self._place}"

    def _destroy(self, handle: Any) -> None:
        self._unmake("acltdtDestroyChannel")


def _items(arrays: tuple[ArrayLike, ...]) -> tuple[Any, object]:
    """Return the items of a message, and what must live as long."""
    if not arrays:
        raise ValueError("a message needs at least one array")
    found = [tensors.tensor(array) for array in arrays]
    items, shapes = ffi.new("ascend_rt_item[]", len(found)), []
    for item, array in zip(items, found, strict=True):
        shape = ffi.new("int64_t[]", array.shape)
        shapes.append(shape)
        item.type, item.data_type = _TENSOR, tensors.data_type(array)
        item.dimensions, item.shape = array.ndim, shape
        item.data, item.size = tensors.address_of(array), array.nbytes
    return items, (found, shapes)


def _arrays(cell: Any) -> tuple[NDArray[Any], ...]:
    """Return copies of the items of a received dataset."""
    dataset = cell[0]
    shape, item = ffi.new("int64_t[]", tensors.MOST_DIMENSIONS), ffi.new("ascend_rt_item *")
    arrays, mark = [], None
    for number in range(lib.acltdtGetDatasetSize(dataset)):
        lib.ascend_rt_describe(dataset, number, shape, item)
        if item.type in (_END, _ABNORMAL):
            mark = item.type
        else:
            content = ffi.buffer(item.data, item.size) if item.size else b""
            elements = np.frombuffer(content, np.uint8).copy()
            arrays.append(tensors.array_of(elements, item.data_type, shape[0 : item.dimensions]))
    if mark is not None:
        raise EndOfSequence(tuple(arrays), has_failed=mark == _ABNORMAL)
    return tuple(arrays)
