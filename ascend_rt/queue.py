# SPDX-License-Identifier: Apache-2.0
"""Queues of arrays, between the threads of a process or between processes."""

from __future__ import annotations

from collections import deque
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ascend_rt._memory import tensors
from ascend_rt._memory.receiver import Arrival, Receiver
from ascend_rt._runtime import blocking, lifecycle
from ascend_rt._runtime.driver import address, call, check, ffi, is_expected, lib, load, pointer
from ascend_rt._runtime.names import encoded
from ascend_rt._runtime.owners import owner_of_borrowed, owner_of_new
from ascend_rt._runtime.resource import Resource
from ascend_rt._runtime.timeouts import limit_of
from ascend_rt.errors import EndOfSequence

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Self

__all__ = ["Queue"]

_EMPTY = lib.ACL_ERROR_RT_QUEUE_EMPTY
_FULL = lib.ACL_ERROR_RT_QUEUE_FULL
_TOO_LITTLE_ROOM = lib.ACL_ERROR_RT_PARAM_INVALID
_LONGEST_NAME = 127  # bytes
_FIRST_ROOM = 4096  # bytes for an array of unknown size
_USER_DATA = 96  # bytes of a message
_END = b"end"  # the user data of the mark that ends a sequence


class Queue(Resource, Receiver["NDArray[Any]"]):
    """A first-in, first-out queue of arrays with a limited depth.

    A thread that puts an array into a full queue waits, as does one that gets an array from an empty one. One thread
    gets each array. It arrives with its type and shape; a message that a program in C put without a description arrives
    as an array of bytes.

    Parameters
    ----------
    depth : int, default 8
        Most arrays in the queue, from 2 to 8192.
    name : str, default ""
        A name for logs, of at most 127 bytes. Several queues may have the same.

    Raises
    ------
    InvalidArgument
        The depth is out of range.
    ValueError
        The name is too long, or has a character of value 0.
    NoContext
        The calling thread has no current context.
    AclError
        There are 4096 queues (207012).

    Notes
    -----
    ``acltdtCreateQueue``, ``acltdtDestroyQueue``; not blocking. All products. API reference 17-02. The queue ends with
    the last reference to this object, and with a reset of the device. :meth:`grant` and :meth:`attach` are for programs
    that run on a device; the simulator has them with ``ASCEND_RT_SIM_QUEUES=device``.

    Examples
    --------
    >>> import numpy as np
    >>> from ascend_rt import Device, Queue
    >>> Device(0).set_current()
    >>> with Queue(depth=4) as queue:
    ...     for number in range(3):
    ...         queue.put(np.full((2, 2), number, np.float32))
    ...     queue.put_end()
    ...     print([array.sum().item() for array in queue])
    [0.0, 4.0, 8.0]
    """

    __slots__ = ("_arrived", "_has_short_calls", "_room")
    _what = "queue"
    _needs_context = True
    _receives, _empty = "acltdtDequeueData", _EMPTY

    def __init__(self, depth: int = 8, name: str = "") -> None:
        self._begin()
        self._prepare()
        given, out = encoded(name, _LONGEST_NAME), ffi.new("void **")
        attributes = lib.acltdtCreateQueueAttr()
        if attributes == ffi.NULL:
            raise MemoryError("the host has no memory for the attributes of a queue")
        try:
            _set_attributes(attributes, given, depth)
            code = self._create(owner_of_new(), out, lib.ascend_rt_create_queue, attributes, out)
        finally:
            call("acltdtDestroyQueueAttr", attributes)
        if code:
            check(code, "acltdtCreateQueue")

    def _prepare(self) -> None:
        self._arrived, self._has_short_calls = deque(), True  # the simulator itself notices SIGINT alone
        self._room = _FIRST_ROOM

    @classmethod
    def attach(cls, number: int, timeout: float | None = None) -> Self:
        """Use the queue of another process, which has granted this process a right.

        Parameters
        ----------
        number : int
            The number of the queue there.
        timeout : float, optional
            Seconds to wait for the grant; 0 does not wait, None waits without a limit.

        Raises
        ------
        AclError
            There is no such queue (507899), or nothing was granted in time (207006).
        NotSupported
            The program runs on a host (200006).

        Notes
        -----
        ``acltdtAttachQueue``; blocking. API reference 17-02. Closing the object does not destroy the queue.
        """
        lifecycle.initialize()
        queue = cls.__new__(cls)
        queue._prepare()
        rights = ffi.new("uint32_t *")
        code = blocking.attempts(
            lambda limit: lib.acltdtAttachQueue(number, _accepted(limit), rights),
            lib.ACL_ERROR_RT_NO_PERMISSION,
            limit_of(timeout),
            are_short=True,
        )
        if code:
            check(code, "acltdtAttachQueue")
        queue._borrow(pointer(number), owner_of_borrowed())
        return queue

    @property
    def number(self) -> int:
        """The number of the queue, with which other processes attach to it.

        Raises
        ------
        ClosedError
            The queue was closed.
        InvalidHandle
            The device was reset.
        """
        return address(self._handle)

    @property
    def rights(self) -> frozenset[str]:
        """The rights of this process, some of "put", "get", "manage" (``acltdtAttachQueue``); on a device only."""
        rights = ffi.new("uint32_t *")
        call("acltdtAttachQueue", self.number, 0, rights)
        return frozenset(name for name, bit in _rights().items() if rights[0] & bit)

    def grant(self, process: int, *, put: bool = False, get: bool = False, manage: bool = False) -> None:
        """Give rights to another process, in addition to those that it has.

        Parameters
        ----------
        process : int
            Its number, as :func:`os.getpid` returns it there.
        put, get : bool, default False
            It may put arrays, or get them.
        manage : bool, default False
            It may grant rights, and destroy the queue.

        Raises
        ------
        InvalidArgument
            No right is named, or the number is not positive.
        AclError
            This process may not grant rights (207006).
        NotSupported
            The program runs on a host (200006).

        Notes
        -----
        ``acltdtGrantQueue``; not blocking. API reference 17-02.
        """
        named = {"put": put, "get": get, "manage": manage}
        bits = sum(bit for name, bit in _rights().items() if named[name])
        call("acltdtGrantQueue", self.number, process, bits, 0)

    # --- arrays ------------------------------------------------------------------------------------------------------

    def put(self, array: ArrayLike, timeout: float | None = None) -> None:
        """Put a copy of an array at the end of the queue; wait while it is full.

        Parameters
        ----------
        array : array_like
            An array of any shape, also an empty one; its type is one of those of ``aclDataType`` that numpy has.
        timeout : float, optional
            How long to wait for room, in seconds; 0 does not wait, None waits without a limit.

        Raises
        ------
        Timeout
            The queue was full for that long.
        TypeError
            The runtime has no such data type.
        ValueError
            The shape, as text, does not fit into the 96 bytes of a message's user data.
        AclError
            The queue was destroyed, or a process that this call waited for has ended (507899).

        Notes
        -----
        ``acltdtEnqueueData``; blocking, without the GIL; Ctrl-C ends the wait. API reference 17-02.
        """
        self._put(*_described(array), timeout)

    def put_end(self, timeout: float | None = None) -> None:
        """Put the mark that ends one iteration over the queue, as :meth:`put` does.

        Parameters
        ----------
        timeout : float, optional
            As for :meth:`put`.

        Raises
        ------
        Timeout
            The queue was full for that long.
        """
        self._put(_NO_ELEMENTS, _END, timeout)

    def get(self, timeout: float | None = None) -> NDArray[Any]:
        """Get the first array of the queue; wait while it is empty.

        Parameters
        ----------
        timeout : float, optional
            How long to wait for one, in seconds; 0 does not wait, None waits without a limit.

        Returns
        -------
        numpy.ndarray
            The array, with the type and the shape of the one that was put.

        Raises
        ------
        Timeout
            The queue was empty for that long.
        EndOfSequence
            The mark of :meth:`put_end` was got.
        AclError
            The queue was destroyed, or a process that this call waited for has ended (507899).

        Notes
        -----
        ``acltdtDequeueData``; blocking, without the GIL. If Ctrl-C ends a wait, no array is lost. API reference 17-02.
        """
        limit, arrival = limit_of(timeout), Arrival(self)
        try:
            return arrival.take(limit)
        except BaseException as error:
            arrival.put_back(error)
            raise

    async def put_async(self, array: ArrayLike) -> None:
        """Put a copy of an array as :meth:`put` does, without blocking the event loop of asyncio.

        Limit the time with :func:`asyncio.timeout` or :func:`asyncio.wait_for`. If the asyncio task is cancelled while
        the queue is full, the array may still be put for 50 milliseconds.

        Parameters
        ----------
        array : array-like
            As for :meth:`put`.

        Notes
        -----
        ``acltdtEnqueueData``; if the queue is full, a thread waits in C, without the GIL.
        """
        await self._put_async(*_described(array))

    async def put_end_async(self) -> None:
        """Put the mark that ends one iteration over the queue, as :meth:`put_async` does."""
        await self._put_async(_NO_ELEMENTS, _END)

    async def get_async(self) -> NDArray[Any]:
        """Get an array as :meth:`get` does, without blocking the event loop of asyncio.

        Limit the time with :func:`asyncio.timeout` or :func:`asyncio.wait_for`. If the asyncio task is cancelled, no
        array is lost: one that arrives in the same moment is the next to be got.

        Returns
        -------
        numpy.ndarray
            As of :meth:`get`.

        Raises
        ------
        EndOfSequence
            The mark of :meth:`put_end` was received.

        Notes
        -----
        A thread waits in C, without the GIL, unless there is a message already.
        """
        return await self._received()

    def _put(self, array: NDArray[Any], description: bytes, timeout: float | None) -> None:
        code = blocking.attempts(self._putting(array, description), _FULL, limit_of(timeout), are_short=True)
        if code:
            check(code, "acltdtEnqueueData")

    async def _put_async(self, array: NDArray[Any], description: bytes) -> None:
        put = self._putting(array, description)
        code = put(0)
        if is_expected(code, _FULL):
            await blocking.attempts_async("acltdtEnqueueData", self._on_thread(put), _FULL)
        elif code:
            check(code, "acltdtEnqueueData")

    def _putting(self, array: NDArray[Any], description: bytes) -> Callable[[int], int]:
        data, size, described = tensors.address_of(array), array.nbytes, len(description)

        def put(limit: int, _: object = array) -> int:  # which lives as long
            return lib.acltdtEnqueueData(self.number, data, size, description, described, _accepted(limit), 0)

        return put

    def _check_open(self) -> None:
        self._handle  # noqa: B018  (raises)

    def _new_cell(self) -> _Cell:
        return _Cell(self._room)

    def _take(self, cell: _Cell, limit: int) -> int:
        """Receive a message into a cell, which gets the room that it needs."""
        while True:
            room = len(cell.memory)
            data = tensors.address_of(cell.memory)
            code = lib.acltdtDequeueData(
                self.number, data, room, cell.length, cell.description, _USER_DATA, _accepted(limit)
            )
            if not (cell.length[0] > room and is_expected(code, _TOO_LITTLE_ROOM)):
                return code
            self._room, cell.length[0] = int(cell.length[0]), 0
            cell.memory = np.empty(self._room, np.uint8)

    def _is_full(self, cell: _Cell) -> bool:
        return bool(0 < cell.length[0] <= len(cell.memory))

    def _content(self, cell: _Cell) -> NDArray[Any]:
        length, description = cell.length[0], ffi.string(cell.description, _USER_DATA)
        if description == _END:
            raise EndOfSequence
        elements = cell.memory[:length]
        if 2 * length < len(cell.memory):
            elements = elements.copy()  # or a small array would keep much memory
        return tensors.described(elements, description)

    def _on_thread(self, attempt: Callable[[int], int]) -> Callable[[int], int]:
        """Return a function that makes an attempt on another thread, in the context of this one."""
        context = ffi.new("aclrtContext *")
        call("aclrtGetCurrentContext", context)
        return lambda limit: lib.aclrtSetCurrentContext(context[0]) or attempt(limit)

    # --- routes ------------------------------------------------------------------------------------------------------

    def forward_to(self, *destinations: Queue) -> None:
        """Forward each array of this queue to all of the given queues; a full one holds the others back.

        Parameters
        ----------
        *destinations : Queue
            Queues of this process, or queues to which it is attached.

        Raises
        ------
        AclError
            The routes would form a cycle, or a queue does not exist (500001).

        Notes
        -----
        ``acltdtBindQueueRoutes``; not blocking. All products. API reference 17-02. End the routes before the queues are
        closed.
        """
        _change_routes("acltdtBindQueueRoutes", self._routes_to(destinations))

    def stop_forwarding(self, *destinations: Queue) -> None:
        """End routes of :meth:`forward_to`.

        Parameters
        ----------
        *destinations : Queue
            The queues to which the routes lead.

        Raises
        ------
        TypeError
            A destination is not a queue.

        Notes
        -----
        ``acltdtUnbindQueueRoutes``; not blocking. All products. API reference 17-02.
        """
        _change_routes("acltdtUnbindQueueRoutes", self._routes_to(destinations))

    def _routes_to(self, destinations: tuple[Queue, ...]) -> list[tuple[int, int]]:
        self._check_open()
        for queue in destinations:
            if not isinstance(queue, Queue):
                raise TypeError(f"expected a Queue, got {type(queue).__name__}")
        return [(self.number, queue.number) for queue in destinations]

    # --- life --------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Destroy the queue, with the arrays in it; closing twice is allowed.

        Threads that wait for it raise an error. A queue of another process is released, but not destroyed. If the call
        fails, because a route is left (500001) or the thread has no context, the queue stays open.
        """
        super().close()

    def _destroy(self, handle: Any) -> None:
        code = self._give_back(lib.ascend_rt_destroy_queue)
        if code and not is_expected(code, lib.ACL_ERROR_RT_DRV_INTERNAL_ERROR):  # it has ended by another process
            check(code, "acltdtDestroyQueue")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Queue cannot be copied or pickled; pass its number, and call Queue.attach there")

    def _description(self) -> str:
        return f"{self.number}{self._place}"


def _set_attributes(attributes: Any, name: bytes, depth: int) -> None:
    """Give a new queue its name and its depth."""
    text, number = ffi.new("char[]", name), ffi.new("uint32_t *", index(depth))
    there = ffi.new("char *[1]", [text])
    call("acltdtSetQueueAttr", attributes, lib.ACL_TDT_QUEUE_NAME_PTR, ffi.sizeof(there), there)
    call("acltdtSetQueueAttr", attributes, lib.ACL_TDT_QUEUE_DEPTH_UINT32, ffi.sizeof("uint32_t"), number)


def _rights() -> dict[str, int]:
    return {
        "put": lib.ACL_TDT_QUEUE_PERMISSION_ENQUEUE,
        "get": lib.ACL_TDT_QUEUE_PERMISSION_DEQUEUE,
        "manage": lib.ACL_TDT_QUEUE_PERMISSION_MANAGE,
    }


class _Cell:
    """The place for a message: memory, and what C writes about it."""

    __slots__ = ("description", "length", "memory")

    def __init__(self, room: int) -> None:
        self.memory: NDArray[np.uint8] = np.empty(room, np.uint8)
        self.length = ffi.new("size_t *")
        self.description = ffi.new("char[]", _USER_DATA)


_NO_ELEMENTS: NDArray[Any] = np.zeros(1, np.uint8)  # a message has at least one byte


def _described(array: ArrayLike) -> tuple[NDArray[Any], bytes]:
    """Return the elements of an array, and the user data that describe them."""
    elements = tensors.tensor(array)
    description = tensors.description_of(elements)
    if len(description) > _USER_DATA:
        raise ValueError(f"an array of the shape {elements.shape} has too many dimensions for a message")
    return elements if elements.nbytes else _NO_ELEMENTS, description


def _accepted(limit: int) -> int:
    """Return a limit in milliseconds that the library accepts: the vendor's refuses 0 on a host."""
    return limit or int(load().backend == "cann")


def _change_routes(function: str, ends: list[tuple[int, int]]) -> None:
    routes = lib.acltdtCreateQueueRouteList()
    try:
        for source, destination in ends:
            route = lib.acltdtCreateQueueRoute(source, destination)
            try:
                call("acltdtAddQueueRoute", routes, route)
            finally:
                call("acltdtDestroyQueueRoute", route)
        call(function, routes)
    finally:
        call("acltdtDestroyQueueRouteList", routes)
