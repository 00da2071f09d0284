# SPDX-License-Identifier: Apache-2.0
"""Queues of arrays, between the threads of a process or between processes."""

from __future__ import annotations

from math import ceil, inf
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ascend_rt._memory.array_messages import END, USER_DATA, packed, unpacked
from ascend_rt._runtime import lifecycle
from ascend_rt._runtime.driver import call, check, ffi, is_expected, lib, usable
from ascend_rt._runtime.timeouts import FOR_EVER, milliseconds
from ascend_rt.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    import numpy as np
    from typing_extensions import Self

_Result = TypeVar("_Result")

_SLICE_MS = 20  # longest call: between two calls Python handles signals
_LOOK_MS = 1  # longest call in an event loop; the runtime on a host refuses 0
_LONGEST_PAUSE_S = 0.005  # between two of them
_FIRST_ROOM = 1 << 16  # bytes for an array of unknown size


class Queue:
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
        The depth or the name is out of range.
    NoContext
        The calling thread has no current context.
    AclError
        There are 4096 queues (207012).

    Notes
    -----
    ``acltdtCreateQueue``, ``acltdtDestroyQueue``; not blocking. All products. API reference 17-02. The queue ends with
    a reset of the device. :meth:`grant` and :meth:`attach` are for programs that run on a device; the simulator has
    them with ``ASCEND_RT_SIM_QUEUES=device``.

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

    __slots__ = ("__weakref__", "_is_own", "_number", "_room")
    _number: int | None  # None: closed, or not made yet

    def __init__(self, depth: int = 8, name: str = "") -> None:
        self._prepare(is_own=True)
        lifecycle.initialize()
        attributes = lib.acltdtCreateQueueAttr()
        if attributes == ffi.NULL:
            raise MemoryError("the host has no memory for the attributes of a queue")
        try:
            text = ffi.new("char[]", name.encode())
            pointer = ffi.new("char *[1]", [text])
            call("acltdtSetQueueAttr", attributes, lib.ACL_TDT_QUEUE_NAME_PTR, ffi.sizeof(pointer), pointer)
            number = ffi.new("uint32_t *", depth)
            call("acltdtSetQueueAttr", attributes, lib.ACL_TDT_QUEUE_DEPTH_UINT32, ffi.sizeof("uint32_t"), number)
            call("acltdtCreateQueue", attributes, number)
        finally:
            call("acltdtDestroyQueueAttr", attributes)
        self._number = int(number[0])

    def _prepare(self, *, is_own: bool) -> None:
        self._number = None
        self._is_own = is_own
        self._room = _FIRST_ROOM

    @classmethod
    def attach(cls, number: int, timeout: float | None = None) -> Self:
        """Use the queue of another process, which has granted this process a right.

        Parameters
        ----------
        number : int
            The number of the queue there.
        timeout : float, optional
            Seconds to wait for the grant. None waits without a limit.

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
        queue._prepare(is_own=False)
        rights = ffi.new("uint32_t *")
        queue._repeat(
            lambda limit: (int(lib.acltdtAttachQueue(number, limit, rights)), None),
            "acltdtAttachQueue",
            milliseconds(timeout),
            lib.ACL_ERROR_RT_NO_PERMISSION,
        )
        queue._number = number
        return queue

    @property
    def number(self) -> int:
        """The number of the queue, with which other processes attach to it."""
        if self._number is None:
            raise ClosedError(lib.ACL_ERROR_RT_INVALID_HANDLE, "Queue", "this queue is closed")
        return self._number

    @property
    def is_closed(self) -> bool:
        """Return True if the queue was closed."""
        return self._number is None

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

    def put(self, array: Any, timeout: float | None = None) -> None:
        """Put a copy of an array at the end of the queue; wait while it is full.

        Parameters
        ----------
        array : array_like
            Numbers of any type and shape, at least one byte.
        timeout : float, optional
            Seconds to wait, at least a millisecond. None waits without a limit.

        Raises
        ------
        Timeout
            The queue stayed full for so long.
        TypeError
            The array has Python objects or fields.
        AclError
            The queue was destroyed, or a process that this call waited for has ended (507899).

        Notes
        -----
        ``acltdtEnqueueData``; blocking, without the GIL; Ctrl-C ends the wait. API reference 17-02.
        """
        self._repeat(
            self._putting(*packed(array)), "acltdtEnqueueData", milliseconds(timeout), lib.ACL_ERROR_RT_QUEUE_FULL
        )

    def put_end(self, timeout: float | None = None) -> None:
        """Put the mark that ends one iteration over the queue, as :meth:`put` does."""
        self._repeat(self._putting_end(), "acltdtEnqueueData", milliseconds(timeout), lib.ACL_ERROR_RT_QUEUE_FULL)

    def get(self, timeout: float | None = None) -> np.ndarray[Any, Any]:
        """Get the first array of the queue; wait while it is empty.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait, at least a millisecond. None waits without a limit.

        Returns
        -------
        numpy.ndarray
            The array, with the type and the shape of the one that was put.

        Raises
        ------
        Timeout
            The queue stayed empty for so long.
        EOFError
            The next message is the mark of :meth:`put_end`.
        AclError
            The queue was destroyed, or a process that this call waited for has ended (507899).

        Notes
        -----
        ``acltdtDequeueData``; blocking, without the GIL; Ctrl-C ends the wait. API reference 17-02.
        """
        return _require_array(self._get(milliseconds(timeout)))

    def __iter__(self) -> Iterator[np.ndarray[Any, Any]]:
        """Get arrays until the mark of :meth:`put_end`."""
        while (array := self._get(FOR_EVER)) is not None:
            yield array

    async def put_async(self, array: Any) -> None:
        """Put a copy of an array as :meth:`put` does, without blocking the event loop of asyncio.

        It checks for room every few milliseconds. Limit the time with :func:`asyncio.timeout` or
        :func:`asyncio.wait_for`. A cancelled task has put nothing.
        """
        await self._repeat_async(self._putting(*packed(array)), "acltdtEnqueueData", lib.ACL_ERROR_RT_QUEUE_FULL)

    async def put_end_async(self) -> None:
        """Put the mark that ends one iteration over the queue, as :meth:`put_async` does."""
        await self._repeat_async(self._putting_end(), "acltdtEnqueueData", lib.ACL_ERROR_RT_QUEUE_FULL)

    async def get_async(self) -> np.ndarray[Any, Any]:
        """Get an array as :meth:`get` does, without blocking the event loop of asyncio.

        Limit the time with :func:`asyncio.timeout` or :func:`asyncio.wait_for`. A cancelled task gets nothing.
        """
        return _require_array(await self._get_async())

    async def __aiter__(self) -> AsyncIterator[np.ndarray[Any, Any]]:
        """Get arrays until the mark of :meth:`put_end`, without blocking the event loop of asyncio."""
        while (array := await self._get_async()) is not None:
            yield array

    def _get(self, limit: int) -> np.ndarray[Any, Any] | None:
        return self._repeat(self._try_to_get, "acltdtDequeueData", limit, lib.ACL_ERROR_RT_QUEUE_EMPTY)

    async def _get_async(self) -> np.ndarray[Any, Any] | None:
        return await self._repeat_async(self._try_to_get, "acltdtDequeueData", lib.ACL_ERROR_RT_QUEUE_EMPTY)

    def _putting(self, array: np.ndarray[Any, Any], description: bytes) -> Callable[[int], tuple[int, None]]:
        data = ffi.cast("void *", array.ctypes.data)

        def put(limit: int) -> tuple[int, None]:
            size, user_size = array.nbytes, len(description)
            return int(lib.acltdtEnqueueData(self.number, data, size, description, user_size, limit, 0)), None

        return put

    def _putting_end(self) -> Callable[[int], tuple[int, None]]:
        import numpy as np

        return self._putting(np.zeros(1, np.uint8), END)

    def _try_to_get(self, limit: int) -> tuple[int, np.ndarray[Any, Any] | None]:
        """Return the code, and the array or, for the mark, None. Make room for a message that needs more."""
        import numpy as np

        length, user_data = ffi.new("size_t *"), ffi.new("char[]", USER_DATA)
        while True:
            room = self._room
            memory = np.empty(room, np.uint8)
            data = ffi.cast("void *", memory.ctypes.data)
            code = int(lib.acltdtDequeueData(self.number, data, room, length, user_data, USER_DATA, limit))
            if not (length[0] > room and is_expected(code, lib.ACL_ERROR_RT_PARAM_INVALID)):
                break
            self._room = int(length[0])
        if code:
            return code, None
        description = ffi.buffer(user_data)[:]
        if description.rstrip(b"\0") == END:
            return code, None
        return code, unpacked(memory[: length[0]].copy(), description)

    # --- waits -------------------------------------------------------------------------------------------------------

    @staticmethod
    def _repeat(attempt: Callable[[int], tuple[int, _Result]], function: str, limit: int, late: int) -> _Result:
        """Call for short times, so that Python handles signals between the calls."""
        end = inf if limit == FOR_EVER else monotonic() + limit / 1000
        while True:
            left = ceil(max(0.0, min(end - monotonic(), 1.0)) * 1000)
            code, result = attempt(max(1, min(left, _SLICE_MS)))
            if code != late or monotonic() >= end:
                check(code, function)
                return result
            is_expected(code)

    @staticmethod
    async def _repeat_async(attempt: Callable[[int], tuple[int, _Result]], function: str, late: int) -> _Result:
        """Look at growing intervals."""
        import asyncio  # large, and only programs that use it already get here

        pause = 0.0
        while True:
            code, result = attempt(_LOOK_MS)
            if not is_expected(code, late):
                check(code, function)
                return result
            await asyncio.sleep(pause)
            pause = min(pause * 2 or 0.0005, _LONGEST_PAUSE_S)

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
        _change_routes("acltdtBindQueueRoutes", [(self.number, queue.number) for queue in destinations])

    def stop_forwarding(self, *destinations: Queue) -> None:
        """End routes of :meth:`forward_to` (``acltdtUnbindQueueRoutes``); not blocking."""
        _change_routes("acltdtUnbindQueueRoutes", [(self.number, queue.number) for queue in destinations])

    # --- life --------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Destroy the queue, with the arrays in it; closing twice is allowed.

        Threads that wait for it raise an error. A queue of another process is released, but not destroyed. If the call
        fails, because a route is left (500001) or the thread has no context, the queue stays open.
        """
        number = self._number
        if number is None:
            return
        if self._is_own and usable():
            code = lib.acltdtDestroyQueue(number)
            if not is_expected(code, lib.ACL_ERROR_RT_DRV_INTERNAL_ERROR):  # ended with a reset, or by another process
                check(code, "acltdtDestroyQueue")
        self._number = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Queue cannot be copied or pickled; pass its number, and call Queue.attach there")

    def __repr__(self) -> str:
        return f"<ascend_rt.Queue {'closed' if self._number is None else self._number}>"


def _rights() -> dict[str, int]:
    return {
        "put": lib.ACL_TDT_QUEUE_PERMISSION_ENQUEUE,
        "get": lib.ACL_TDT_QUEUE_PERMISSION_DEQUEUE,
        "manage": lib.ACL_TDT_QUEUE_PERMISSION_MANAGE,
    }


def _require_array(array: np.ndarray[Any, Any] | None) -> np.ndarray[Any, Any]:
    if array is None:
        raise EOFError("end of the queue: the producer called put_end()")
    return array


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
