# SPDX-License-Identifier: Apache-2.0
"""Events: points in a stream that other streams and the host can wait for, and that can carry a time stamp."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from ascend_rt._native.handles import EventHandle, given_or_current, release
from ascend_rt._native.in_c import in_c
from ascend_rt._runtime import blocking, lifecycle
from ascend_rt._runtime.driver import address, call, check, check_address, failure, ffi, is_expected, lib
from ascend_rt._runtime.owners import owner_of_borrowed, owner_on_device
from ascend_rt._runtime.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Generator

    from typing_extensions import Self

    from ascend_rt._native.handles import Batch
    from ascend_rt._runtime.failures import ErrorWindow
    from ascend_rt.enums import EventFlag
    from ascend_rt.options import EventOptions
    from ascend_rt.stream import Stream

__all__ = ["Event"]

# Ready-made, because parsing type names and combining flags takes longer than the call itself.
_EVENT = ffi.typeof("aclrtEvent *")
_FLOAT = ffi.typeof("float *")
_COMPLETE = lib.ACL_EVENT_RECORDED_STATUS_COMPLETE
_STATES = {_COMPLETE: ", complete", lib.ACL_EVENT_RECORDED_STATUS_NOT_READY: ", pending"}
_IPC = lib.ACL_EVENT_IPC
_SYNC = lib.ACL_EVENT_SYNC
_TIME_LINE = lib.ACL_EVENT_TIME_LINE


@in_c
class Event(Resource, EventHandle):
    """A point in a stream.

    A record captures all work that was enqueued on its stream before. A wait is bound to the newest record at the time
    of the call: recording the event again does not change what earlier waits wait for. An event that was never recorded
    counts as complete, and waiting for it is a no-op.

    Parameters
    ----------
    options : EventOptions, optional
        Replaces the keywords.
    timing : bool, default False
        Take a time stamp with each record, for :meth:`elapsed_time`. Costs a little per record.
    manual_reset : bool, default False
        Create an event that starts closed: streams that wait for it are blocked until it is recorded, and are blocked
        again after :meth:`reset`. Useful as a gate; see :class:`ascend_rt.testing.Latch`.
    ipc : bool, default False
        Create an event for several processes; see :meth:`export`. It cannot be combined with the two options above.
        950, 910B, 910C.

    Raises
    ------
    NoContext
        The calling thread has no current context.
    ValueError
        ``ipc`` is combined with another option.
    NotSupported
        The product has no events that processes share.
    ResourceExhausted
        All events of the device are in use.

    Notes
    -----
    ``aclrtCreateEventExWithFlag`` (``aclrtCreateEventWithFlag`` with ``manual_reset``), ``aclrtDestroyEvent``; not
    blocking. All products. API reference 07. Destroying an event with work pending is allowed: earlier waits for it
    still wait for their record.

    Examples
    --------
    >>> ready = Event()
    >>> ready.is_done  # never recorded
    True
    >>> ready.record(stream)
    >>> Stream().wait(ready)  # continues when the first stream has reached the record
    >>> ready.synchronize()  # and so does the host
    """

    __slots__ = ()
    _window: ErrorWindow | None  # the newest record's; None without a record, or if it was not made here
    _before: Batch | None  # objects that its completion releases
    _what = "event"

    def __init__(
        self,
        options: EventOptions | None = None,
        /,
        *,
        timing: bool = False,
        manual_reset: bool = False,
        ipc: bool = False,
    ) -> None: ...

    def _make_kind(self, options: EventOptions | None, timing: bool, manual_reset: bool, ipc: bool) -> None:
        """Create another kind of event than the usual one."""
        if options is not None:
            from ascend_rt.options import EventOptions

            if not isinstance(options, EventOptions) or timing or manual_reset or ipc:
                raise TypeError("Event() takes EventOptions, or keywords such as timing=True")
            timing, manual_reset, ipc = options.timing, options.manual_reset, options.ipc
        if ipc and (timing or manual_reset):
            raise ValueError("ipc=True cannot be combined with timing=True or manual_reset=True")
        self._make_with(_IPC if ipc else _SYNC | _TIME_LINE if timing else _SYNC, not manual_reset)

    @classmethod
    def with_flags(cls, flags: EventFlag | None = None, *, ex: bool = False) -> Self:
        """Create an event with any flags of the runtime.

        Parameters
        ----------
        flags : EventFlag, optional
            Passed to ``aclrtCreateEventWithFlag``; None calls ``aclrtCreateEvent``.
        ex : bool, default False
            Call ``aclrtCreateEventExWithFlag`` instead.

        Returns
        -------
        Event
            The new event.

        Raises
        ------
        InvalidArgument
            The runtime does not know the flags, or they cannot be combined.
        NotSupported
            The product has no such events.
        NoContext
            The calling thread has no current context.

        Notes
        -----
        Not blocking.
        """
        event = cls.__new__(cls)
        event._make_with(None if flags is None else index(flags), ex)
        return event

    @classmethod
    def from_handle(cls, handle: int) -> Self:
        """Borrow an event of another owner by its handle; this object never destroys it.

        If the handle does not come from an object of this package, the event is assumed to be on the current device:
        the last reset of that device ends the object.

        Parameters
        ----------
        handle : int
            The runtime's handle (:attr:`handle` of another object); its owner must be kept alive.

        Returns
        -------
        Event
            An object that borrows the event.

        Raises
        ------
        TypeError, ValueError
            The handle is not an integer from 0 to 2 ** 64 - 1.
        """
        lifecycle.initialize()
        borrowed = ffi.cast("aclrtEvent", check_address(handle))
        event = cls.__new__(cls)
        event._has_time = True  # unknown: let the runtime judge
        event._window = event._before = None
        event._is_shared = True
        event._borrow(borrowed, lifecycle.events.get(address(borrowed)) or owner_of_borrowed())
        return event

    @classmethod
    def open(cls, key: bytes) -> Self:
        """Open the event of another process, or of this one (``aclrtIpcOpenEventHandle``).

        Parameters
        ----------
        key : bytes
            The key that :meth:`export` returned in that process.

        Returns
        -------
        Event
            An object of this process for the same event.

        Raises
        ------
        InvalidArgument
            No running process has an event open under the key.
        ValueError
            The length of the key is not that of an event's key.
        NoContext
            The calling thread has no current context.
        NotSupported
            The product has no events that processes share.

        Notes
        -----
        Not blocking. 950, 910B, 910C. API reference 07.
        """
        lifecycle.initialize()
        given, out = ffi.new("aclrtIpcEventHandle *"), ffi.new(_EVENT)
        if not isinstance(key, bytes):
            raise TypeError(f"expected a key of type bytes, got {type(key).__name__}")
        if len(key) != ffi.sizeof(given[0]):
            raise ValueError(f"the key of an event has {ffi.sizeof(given[0])} bytes, got {len(key)}")
        ffi.buffer(given)[:] = key
        event = cls.__new__(cls)
        event._is_shared = True
        event._make(owner_on_device(), out, "aclrtIpcOpenEventHandle", given[0], out)
        return event

    def export(self) -> bytes:
        """Return the key by which other processes :meth:`open` the event; every process closes its own object.

        Each process may record the event and wait for it. A wait is bound to the newest record of any process at the
        time of the call. A process must therefore know that another process has recorded the event before it waits for
        that record; a :class:`Notify` does not have this restriction. A failed task is reported in the process that
        enqueued it.

        Returns
        -------
        bytes
            The key, of fixed length; send it by a pipe, a socket or a file.

        Raises
        ------
        InvalidArgument
            The event was not created with ``ipc=True``.

        Notes
        -----
        ``aclrtIpcGetEventHandle``; not blocking, needs no context. 950, 910B, 910C. API reference 07.

        Examples
        --------
        >>> from ascend_rt import Device, Event, Stream
        >>> Device(0).set_current()
        >>> with Event(ipc=True) as event, Event.open(event.export()) as there, Stream() as stream:
        ...     event.record(stream)
        ...     there.synchronize()
        """
        key = ffi.new("aclrtIpcEventHandle *")
        call("aclrtIpcGetEventHandle", self._handle, key)
        return bytes(ffi.buffer(key))

    def _make_with(self, flags: int | None, new_mode: bool) -> None:
        lifecycle.initialize()
        out, owner = ffi.new(_EVENT), owner_on_device()
        if flags is None:
            name, code = "aclrtCreateEvent", self._create(owner, out, lib.aclrtCreateEvent, out)
        elif new_mode:
            name = "aclrtCreateEventExWithFlag"
            code = self._create(owner, out, lib.aclrtCreateEventExWithFlag, out, flags)
        else:
            name, code = "aclrtCreateEventWithFlag", self._create(owner, out, lib.aclrtCreateEventWithFlag, out, flags)
        if code:
            check(code, name)
        self._has_time = flags is None or bool(flags & _TIME_LINE)
        self._window = self._before = None
        self._is_shared = flags == _IPC or not new_mode  # an earlier record of another process lets waits pass, too

    def record(self, stream: Stream | None = None) -> None:
        """Record the event: it completes when the work enqueued on the stream so far is done.

        Parameters
        ----------
        stream : Stream, optional
            Default :meth:`Stream.current`. It must belong to the calling thread's context.

        Raises
        ------
        NoContext
            The calling thread has no current context, or the stream belongs to another one.

        Notes
        -----
        ``aclrtRecordEvent``; enqueues only, but waits while the stream's queue is full.
        All products. API reference 07.
        """

    def reset(self, stream: Stream | None = None) -> None:
        """Close a ``manual_reset`` event again, in the order of the stream (``aclrtResetEvent``; enqueues only).

        Parameters
        ----------
        stream : Stream, optional
            Default :meth:`Stream.current`.

        Raises
        ------
        NotSupported
            The event is of another kind.
        """
        event, stream = self._handle, given_or_current(stream)
        code = lib.aclrtResetEvent(event, stream._handle)
        if code:
            check(code, "aclrtResetEvent")

    @property
    def is_done(self) -> bool:
        """True if the newest record is complete (``aclrtQueryEventStatus``); does not block, needs no context.

        Raises
        ------
        TaskFailed
            The record is complete, and a task of its stream has failed, as in :meth:`synchronize`.
        """

    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until the newest record is complete; return at once if the event was never recorded.

        Parameters
        ----------
        timeout : float, optional
            How long to wait, in seconds; None waits without a limit.

        Raises
        ------
        Timeout
            The record was not complete in time.
        StreamAborted
            The recording stream was aborted meanwhile.
        TaskFailed
            A task of the recording stream failed, and the failure had not been reported at the time of the record; the
            task may be later than the record. The runtime itself never reports failures through events. The stream
            reports the failure too.

        Notes
        -----
        ``aclrtSynchronizeEvent``, ``aclrtSynchronizeEventWithTimeout``; blocking, without the GIL; needs no context.
        """

    def _end_wait(self, code: int, limit: int) -> None:
        """Raise what a synchronization failed with, after what is left of the wait."""
        name, message = blocking.limited("aclrtSynchronizeEvent", limit), None
        if code == blocking.WOULD_WAIT:
            code, message = blocking.wait(name, limit, self._handle)
        if code:
            raise failure(code, name, message=message)

    async def done(self) -> None:
        """Wait for the newest record as :meth:`synchronize` does, without blocking the event loop of asyncio.

        ``await event`` is the same. Limit the time with :func:`asyncio.timeout` or :func:`asyncio.wait_for`.

        Notes
        -----
        A thread waits in C, without the GIL, unless the record is complete already. If the asyncio task is cancelled,
        the thread stays until the record is complete.
        """
        newest = self._newest_record()
        await blocking.turn()
        status = lib.ascend_rt_event_status(self._handle)
        is_expected(status < 0)  # the wait will report it
        if status == _COMPLETE:
            self._after_completion(newest, "aclrtSynchronizeEvent")
            return
        code, message = await blocking.wait_async("aclrtSynchronizeEvent", self._handle)
        if code:
            raise failure(code, "aclrtSynchronizeEvent", message=message)
        self._after_completion(newest, "aclrtSynchronizeEvent")

    def __await__(self) -> Generator[Any, None, None]:
        return self.done().__await__()

    def _after_completion(self, newest: tuple[Batch, int] | None, function: str) -> None:
        """Release what was submitted before the record, and raise what has failed there."""
        if newest is not None and self._is_newest(newest[1]):
            release(newest[0])
        if self._window is not None:
            self._window.check(function)

    @property
    def handle(self) -> int:
        """The runtime's handle as an integer, also for other libraries, which may record it; valid until the close."""
        number = address(self._handle)
        self._is_shared = True
        lifecycle.events[number] = self._owner
        return number

    def elapsed_time(self, end: Event) -> float:
        """Return the time from this event's record to the record of another, in milliseconds.

        The events may be on different streams. The time is negative if ``end`` came first.

        Parameters
        ----------
        end : Event
            The other event.

        Returns
        -------
        float
            The time in milliseconds.

        Raises
        ------
        TypeError
            ``end`` is not an event.
        ValueError
            One of the events was created without ``timing=True``: the runtime would answer zero.
        InvalidArgument
            A record is not complete; synchronize ``end`` first.
        AclError
            An event was never recorded (507000).

        Notes
        -----
        ``aclrtEventElapsedTime``; not blocking, needs no context. Resolution: 20 ns on 910B and 910C.
        """
        if not isinstance(end, Event):
            raise TypeError(f"expected an Event, got {type(end).__name__}")
        if not (self._has_time and end._has_time):
            raise ValueError("elapsed_time() needs two events that were created with timing=True")
        out = ffi.new(_FLOAT)
        code = lib.aclrtEventElapsedTime(out, self._handle, end._handle)
        if code:
            check(code, "aclrtEventElapsedTime")
        return float(out[0])

    @property
    def id(self) -> int:
        """The runtime's number of the event on its device (``aclrtGetEventId``); needs no context.

        Raises
        ------
        AclError
            The event has no number yet (507000): most events get one with their first record.
        NotSupported
            The event is shared between processes.
        """
        out = ffi.new("uint32_t *")
        call("aclrtGetEventId", self._handle, out)
        return int(out[0])

    @property
    def timestamp_us(self) -> int:
        """The device time of the newest record in microseconds (``aclrtEventGetTimestamp``)."""
        out = ffi.new("uint64_t *")
        call("aclrtEventGetTimestamp", self._handle, out)
        return int(out[0])

    def _description(self) -> str:
        window, status = self._window, lib.ascend_rt_event_status(self._handle)
        is_expected(status < 0)  # an event of a capture, for instance, has no state
        is_unrecorded = status == _COMPLETE and window is None and self._owned
        state = ", never recorded" if is_unrecorded else _STATES.get(status, "")
        return f"{address(self._handle):#x}{self._place if window is None else window.where}{state}"
