# SPDX-License-Identifier: Apache-2.0
"""Streams: queues of work; a device executes each in order, and several at the same time."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn

from ascend_rt._native.blocks import block
from ascend_rt._native.handles import (
    StreamHandle,
    is_inside,
    note_chosen_stream,
    note_default_stream,
    release,
    release_synchronized,
    retention_of,
)
from ascend_rt._native.in_c import in_c
from ascend_rt._runtime import blocking, failures, host_functions, lifecycle
from ascend_rt._runtime.current_context import current_device_id, current_handle, current_handle_or_none
from ascend_rt._runtime.driver import (
    address,
    call,
    check,
    check_address,
    ffi,
    is_expected,
    lib,
    raise_kept,
    supports,
    usable,
)
from ascend_rt._runtime.error_texts import in_full
from ascend_rt._runtime.lifecycle import HOST, Owner, epoch_of_context
from ascend_rt._runtime.resource import Resource
from ascend_rt._runtime.retention import Retention, when_over
from ascend_rt._runtime.timeouts import FOR_EVER
from ascend_rt.context import Context
from ascend_rt.device import Device
from ascend_rt.errors import AclError, AclWarning, RuntimeClosed, WrongState
from ascend_rt.event import Event

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from typing_extensions import Self

    from ascend_rt._native.handles import Batch, Call
    from ascend_rt._runtime.foreign_streams import AnyStream, ForeignEvent, ForeignStream
    from ascend_rt.enums import StreamFlag
    from ascend_rt.graph import CaptureMode, Graph
    from ascend_rt.notify import Notify
    from ascend_rt.options import StreamOptions

__all__ = ["Stream"]

_COMPLETE, _PENDING = lib.ACL_STREAM_STATUS_COMPLETE, lib.ACL_STREAM_STATUS_NOT_READY

_ANOTHER_CONTEXT = (lib.ACL_ERROR_RT_CONTEXT_NULL, lib.ACL_ERROR_RT_STREAM_CONTEXT)

_current: ContextVar[Stream | None] = ContextVar("ascend_rt.stream", default=None)
_default_streams: dict[int, Stream] = {}  # by handle: kept, with the objects that their tasks use


@in_c
class Stream(Resource, StreamHandle):
    """A queue of work on the device of the calling thread's context.

    Parameters
    ----------
    options : StreamOptions, optional
        Replaces the keywords.
    priority : int, default 0
        0 is the highest, 7 the lowest; a hint, clamped to that range.
    flags : StreamFlag, default 0
        Flags for the creation of the stream.

    Raises
    ------
    NoContext
        The calling thread has no current context; call :meth:`Device.set_current`.
    ResourceExhausted
        All streams of the device are in use.

    Notes
    -----
    ``aclrtCreateStreamWithConfig``, ``aclrtDestroyStream``. All products. API reference 06. :meth:`close` waits for the
    stream's work. Discarding the object does not wait: if the stream has work left, a :class:`ResourceWarning` is
    issued, and a later call that creates a stream or synchronizes the device destroys the stream when its work is done.
    The exit of the interpreter waits for at most five seconds; work that is still pending then ends with the process,
    and an :class:`AclWarning` is issued. Objects of the same stream are equal.

    Examples
    --------
    >>> with Stream() as stream, Buffer(1024) as memory:
    ...     fill_async(memory, 7, stream)
    ...     stream.synchronize()
    ...     memory.to_numpy()[:3]
    array([7, 7, 7], dtype=uint8)
    """

    __slots__ = ()
    _retention: Retention
    _foreign: object  # another package's object of a borrowed stream, which may own it
    _what = "stream"

    def __init__(
        self, options: StreamOptions | None = None, /, *, priority: int = 0, flags: StreamFlag | int = 0
    ) -> None: ...

    @classmethod
    def from_handle(cls, handle: int) -> Self:
        """Borrow a stream of another owner by its handle, an integer; 0 is the default stream.

        This object never destroys the stream. For objects of other packages use :meth:`from_foreign`.

        Parameters
        ----------
        handle : int
            The runtime's handle; its owner must be kept alive.

        Returns
        -------
        Stream
            An object that borrows the stream.

        Raises
        ------
        TypeError, ValueError
            The handle is not an integer from 0 to 2 ** 64 - 1.
        """
        lifecycle.initialize()
        stream = cls.__new__(cls)
        handle = check_address(handle)
        # The numbers of streams begin again on each device. The runtime does not report the device of a stream; the
        # stream can be used only in its context.
        context = current_handle_or_none()
        if not handle and context is not None and supports("aclrtCtxGetCurrentDefaultStream"):
            handle = _default_handle()  # NULL would be a different stream in each context, and the object is only one
        stream._context_address = of = 0 if context is None else address(context)
        where = HOST if context is None else Owner(epoch_of_context(of, current_device_id()))
        stream._retention = retention_of(handle, where.epoch, of)
        stream._borrow(ffi.cast("aclrtStream", handle), where)
        return stream

    @classmethod
    def from_foreign(cls, stream: ForeignStream) -> Self:
        """Borrow a stream of another package, for instance ``torch.npu.current_stream()``, and keep its object alive.

        Parameters
        ----------
        stream : object
            An object with a method ``__ascend_stream__`` that returns the pair ``(0, handle)``, where 0 is the version
            of this protocol; or with the handle as its attribute ``npu_stream``, like torch_npu's streams.

        Returns
        -------
        Stream
            An object that borrows the stream, and keeps the other package's object alive.

        Raises
        ------
        TypeError
            The object has neither, or it uses a newer protocol.
        """
        handle = _foreign_handle(stream)
        if handle is None:
            raise TypeError(f"{type(stream).__name__} has neither __ascend_stream__() nor an integer npu_stream")
        borrowed = cls.from_handle(handle)
        borrowed._foreign = stream
        return borrowed

    @classmethod
    def default(cls) -> Self:
        """Return the default stream of the calling thread's context, borrowed.

        Returns
        -------
        Stream
            An object that borrows the stream.

        Raises
        ------
        NoContext
            The calling thread has no current context.

        Notes
        -----
        ``aclrtCtxGetCurrentDefaultStream``; not blocking. All products.
        """
        return cls.from_handle(_default_handle())

    @classmethod
    def current(cls) -> Stream:
        """Return the stream of the innermost :meth:`as_current` block, or else the default stream.

        Calls without a stream use it. If the current context is not that of the block's stream, the current stream is
        the default stream.

        Returns
        -------
        Stream
            The stream that calls without a stream use.

        Raises
        ------
        NoContext
            The calling thread has no current context.
        """
        stream = _current.get()
        context = address(current_handle())
        if stream is not None and stream._context_address in (context, 0) and not stream._is_ended:
            return stream
        handle = _default_handle()
        found = _default_streams.get(handle)
        if found is None or not found._is_open or found._context_address != context:
            found = _default_streams[handle] = cls.from_handle(handle)
        note_default_stream(found)
        return found

    @block
    def as_current(self) -> Iterator[Self]:
        """Make this the current stream for a ``with`` block, and its context the current one.

        It is current for the calling thread or asyncio task; new threads start with the default stream. The end of the
        block does not close the stream.

        Examples
        --------
        >>> with stream.as_current(), Buffer(64) as memory:
        ...     fill_async(memory, 0)
        ...     Stream.current() == stream
        True
        """
        handle = self.context  # a closed stream says so
        note_chosen_stream(_current.get)
        with handle:
            before = _current.get()
            try:
                _current.set(self)
                yield self
            finally:
                _current.set(before)

    # --- ordering ----------------------------------------------------------------------------------------------------

    def record(self, event: Event | None = None) -> Event:
        """Record an event on this stream, and return it; see :meth:`Event.record`.

        Parameters
        ----------
        event : Event, optional
            Default: a new event without time stamps.

        Returns
        -------
        Event
            The event.

        Raises
        ------
        ResourceExhausted
            A new event is needed, and all events of the device are in use.

        Notes
        -----
        ``aclrtRecordEvent``; enqueues only, but waits while the stream's queue is full. All products.
        """

    def wait(self, other: Event | Notify | AnyStream | ForeignEvent, timeout: float | None = None) -> None:
        """Let work enqueued here from now on wait for an event, a notify, or the work of a stream so far.

        Parameters
        ----------
        other : Event, Stream or Notify
            The object to wait for. Waiting for an event that was never recorded is a no-op (but see ``manual_reset``).
            Objects of other packages are accepted too: streams that :meth:`from_foreign` takes, and events with an
            integer attribute ``npu_event``, like torch_npu's.
        timeout : float, optional
            Fail the wait, and with it the next synchronization of this stream, after this many seconds, rounded up to a
            whole number. :data:`math.inf` sets no limit. None uses the value of ``aclrtSetOpWaitTimeout``, or sets no
            limit for a notify.

        Raises
        ------
        TypeError
            The object is none of these.
        ValueError
            The time limit is not positive.

        Notes
        -----
        ``aclrtStreamWaitEvent``, ``aclrtStreamWaitEventWithTimeout``; enqueues only. The host continues at once.
        """

    def _wait_for(self, other: Any, timeout: float | None) -> None:
        """Wait for an object other than an event of ours."""
        if getattr(other, "_is_notify", False):
            other.wait(self, timeout)
        elif (handle := _integer(other, "npu_event")) is not None:
            self.wait(Event.from_handle(handle), timeout)
        elif isinstance(other, Stream) or _foreign_handle(other) is not None:
            stream = other if isinstance(other, Stream) else Stream.from_foreign(other)
            self.wait(stream.record(), timeout)  # the pending wait keeps the objects that it needs
        else:
            raise TypeError(f"expected an Event, a Notify or a Stream to wait for, got {type(other).__name__}")

    def capture(self, *, mode: CaptureMode = "global") -> AbstractContextManager[Graph]:
        """Capture the work enqueued in a ``with`` block into a graph, instead of executing it.

        Another stream joins the capture when it waits for an event that was recorded in it; before the block ends, this
        stream must wait for the other stream again. The graph keeps the host functions, host memory and buffers that
        its tasks use alive.

        Parameters
        ----------
        mode : {"global", "thread_local", "relaxed"}, default "global"
            The threads whose synchronous copies and fills are refused during the capture: all threads of the context,
            this thread, or none.

        Returns
        -------
        context manager
            Its value is the :class:`Graph`, which can be launched when the block has ended.

        Raises
        ------
        CaptureError
            At the end of the block, the capture was broken (``failures`` lists the calls that failed and their places),
            or a stream was not joined (the message names it). An exception in the block itself is passed on.

        Notes
        -----
        ``aclmdlRICaptureBegin``, ``aclmdlRICaptureEnd``. 910B, 910C, 950, 310P. API reference 15.
        """

    # --- host side ---------------------------------------------------------------------------------------------------

    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until the work enqueued so far is done.

        Parameters
        ----------
        timeout : float, optional
            How long to wait, in seconds; None waits without a limit.

        Raises
        ------
        Timeout
            The stream was not done in time. It keeps running, and the call may be repeated.
        StreamAborted
            The stream was aborted during the wait.
        TaskFailed
            A task of the stream failed; each failure is reported once.

        Notes
        -----
        ``aclrtSynchronizeStream``, ``aclrtSynchronizeStreamWithTimeout``; blocking, without the GIL.
        """

    async def done(self) -> None:
        """Wait for the work enqueued so far as :meth:`synchronize` does, without blocking the event loop of asyncio.

        Limit the time with :func:`asyncio.timeout` or :func:`asyncio.wait_for`.

        Notes
        -----
        A thread waits in C, without the GIL, unless the stream is done already. If the asyncio task is cancelled, the
        thread stays until the stream is done.
        """
        ended, log = self._retention.end_batch(), self._retention.failures
        code, message = 0, None
        await blocking.turn()
        status = lib.ascend_rt_stream_status(self._handle)
        is_expected(status < 0)  # the synchronization will report it
        if status != _PENDING:
            # Another thread may have enqueued something.
            code = lib.ascend_rt_synchronize_stream(self._handle, 1, log.into)
        if status == _PENDING or is_expected(code, lib.ACL_ERROR_RT_STREAM_SYNC_TIMEOUT):
            code, message = await blocking.wait_async("aclrtSynchronizeStream", self._handle, log=log)
        self._retention.conclude(code, "aclrtSynchronizeStream", message)
        release_synchronized(ended)

    def _end_wait(self, code: int, limit: int) -> None:
        """Raise what a synchronization failed with, after what is left of the wait."""
        name, message = blocking.limited("aclrtSynchronizeStream", limit), None
        if code == blocking.WOULD_WAIT:
            code, message = blocking.wait(name, limit, self._handle, log=self._retention.failures)
        self._retention.conclude(code, name, message)

    @property
    def is_done(self) -> bool:
        """True if all work enqueued so far is done (``aclrtStreamQuery``); does not block.

        Raises
        ------
        TaskFailed
            The work is done, and a task has failed; the next synchronization raises the failure too.
        """

    def check(self) -> None:
        """Raise the failure of a task of this stream that no synchronization has reported yet; does not wait.

        The failure stays pending: the next synchronization raises it too.

        Raises
        ------
        TaskFailed
            A task has failed. A library without ``aclrtExceptionInfoCallbackRegister`` reports this only when the
            stream has no work left.

        Notes
        -----
        Calls no C function as long as no task of the process has failed.
        """
        self._handle  # noqa: B018  (a closed stream says so)
        window = self._retention.window
        if failures.needs_polling or window.seen != lib.ascend_rt_failed_task_count():
            window.check("aclrtStreamQuery")

    def launch_host_func(self, function: Callable[..., object], /, *arguments: Any, **keywords: Any) -> None:
        """Call a Python function when the work enqueued so far is done; later work of the stream waits for it.

        The function runs on a thread of the runtime, one at a time for all streams of a context. It must not call the
        runtime. The function and its arguments are kept alive until it has run. An exception is passed to
        :data:`ascend_rt.callback.on_error` and ``sys.unraisablehook``, and the stream goes on.

        Parameters
        ----------
        function : callable
            The function.
        *arguments, **keywords
            The arguments that it is called with.

        Notes
        -----
        ``aclrtLaunchHostFunc``; enqueues only.
        All products.

        Examples
        --------
        >>> done = []
        >>> stream.launch_host_func(done.append, 1)
        >>> stream.synchronize()
        >>> done
        [1]
        """

    def abort(self) -> None:
        """Drop the work that has not started and wait for the rest (``aclrtStreamAbort``); 950, 910B, 910C."""
        launched = host_functions.launched(self.handle)
        ended = self._retention.end_batch()
        call("aclrtStreamAbort", self._handle)
        release(ended)
        host_functions.drop(launched)

    # --- what it is --------------------------------------------------------------------------------------------------

    @property
    def id(self) -> int:
        """The runtime's number of the stream (``aclrtStreamGetId``)."""
        out = ffi.new("int32_t *")
        call("aclrtStreamGetId", self._handle, out)
        return int(out[0])

    @property
    def device(self) -> Device:
        """The device of the stream.

        The runtime does not report it: if a thread without a context borrowed the stream, this is the device of the
        calling thread.
        """
        self._handle  # noqa: B018  (a closed stream says so)
        known = self._retention.device
        return Device.current() if known == failures.ANY else Device(known)

    @property
    def context(self) -> Context:
        """The context of the stream, borrowed; if it is unknown, the calling thread's, as for :attr:`device`."""
        self._handle  # noqa: B018
        return Context._lend(ffi.cast("aclrtContext", self._context_address) or current_handle(), self._owner)

    def __ascend_stream__(self) -> tuple[int, int]:
        """Return the version of the protocol and the handle, for other packages (see :meth:`from_foreign`)."""
        return 0, self.handle

    @property
    def priority(self) -> int:
        """The priority in force, 0 to 7 (``aclrtStreamGetPriority``)."""
        out = ffi.new("uint32_t *")
        call("aclrtStreamGetPriority", self._handle, out)
        return int(out[0])

    @property
    def flags(self) -> StreamFlag:
        """The flags of creation (``aclrtStreamGetFlags``)."""
        from ascend_rt.enums import StreamFlag

        out = ffi.new("uint32_t *")
        call("aclrtStreamGetFlags", self._handle, out)
        return StreamFlag(out[0])

    # --- the end -----------------------------------------------------------------------------------------------------

    def close(self, *, force: bool = False) -> None:
        """Wait for the stream's work and destroy it; closing twice is allowed.

        Parameters
        ----------
        force : bool, default False
            Drop work that has not started instead of waiting for it (``aclrtDestroyStreamForce``).

        Raises
        ------
        WrongState
            The caller is a function that a stream runs (:meth:`launch_host_func`).
        TaskFailed
            A task of the stream has failed, and no synchronization has reported it. The stream is closed.
        AclError
            The stream could not be destroyed; it stays open and may be closed again.
        """

    def _refuse_inside(self) -> NoReturn:
        raise WrongState("a host function cannot close a stream: it would wait for its own end")

    def _finish(self, code: int) -> None:
        """Go on waiting for the work of a stream that is closing, after a first attempt that has returned a code.

        The failure of a task stays deferred. The destruction reports other errors.
        """
        if not usable():
            return
        retention, log, handle = self._retention, self._retention.failures, self._retention.life.handle
        if is_expected(abs(code), *_ANOTHER_CONTEXT):
            there = Context._at(self._context_address)
            code = there._call(lib.ascend_rt_synchronize_stream, handle, FOR_EVER, log.into)
        if code == blocking.WOULD_WAIT:
            code, _ = blocking.wait("aclrtSynchronizeStream", FOR_EVER, handle, log=log)
        raise_kept(code)
        if code > 0 and code == retention.window.reported and code == lib.aclrtSynchronizeStream(handle):
            log.discard()  # the code stays: the stream is in STOP mode, and has reported it
        retention.window.failure("aclrtSynchronizeStream")  # known from now on: it cannot be looked for afterwards
        retention.window.note_stream()

    def _destroy_there(self, function: str) -> int:
        """Destroy the stream, which is closing, in its context, which the thread does not have."""
        return Context._at(self._context_address)._call(self._give_back, getattr(lib, function))

    def _discard(self, is_too_late: Callable[[], bool] = sys.is_finalizing) -> None:  # bound: this module may be empty
        if is_too_late() or not usable():
            return
        try:
            if not self._owned:
                self._let_tasks_go_on()
            elif not self._close_if_done():
                message = f"{self!r} was discarded; it is destroyed when its work is done. Close it, or use with"
                lifecycle.defer(self)
                warnings.warn(message, ResourceWarning, stacklevel=2, source=self)
        except RuntimeClosed:  # after the test, by the exit in another thread
            return
        except BaseException:  # a signal handler raised it, or a warning that is an error; the work goes on
            self._let_tasks_go_on()
            raise

    def _let_tasks_go_on(self) -> None:
        """Keep the objects that the tasks use although this object is discarded."""
        retention = self._retention
        if usable():
            retention.detach(_recorded_behind(retention) if retention else None)

    def _close_if_done(self) -> bool:
        """Close a stream that was discarded, unless it has work left; an error becomes a warning."""
        try:
            if self._is_open and (self._lacks_context() or is_inside() or self._is_busy()):
                return False
            self.close()
        except AclError as error:
            self._let_tasks_go_on()
            warnings.warn(f"while a stream was discarded: {in_full(error)}", AclWarning, stacklevel=3, source=self)
        return True

    def _is_busy(self) -> bool:
        if lib.ascend_rt_captured_graph(self._handle):
            return False
        status = lib.ascend_rt_stream_status(self._handle)
        if is_expected(-status, *_ANOTHER_CONTEXT):
            status = Context._at(self._context_address)._call(lib.ascend_rt_stream_status, self._handle)
        is_expected(status < 0)  # the destruction will report it
        return status == _PENDING

    def _identity(self) -> tuple[object, ...]:
        handle = address(self._handle)
        return self._what, handle, 0 if handle else self._context_address  # each has a default stream

    def _description(self) -> str:
        number, where = ffi.new("int32_t *"), self._retention.window.where
        code = lib.aclrtStreamGetId(self._handle, number)
        is_captured = lib.ascend_rt_captured_graph(self._handle)
        status = 0 if is_captured else lib.ascend_rt_stream_status(self._handle)
        is_expected(code or status < 0)  # only failed tasks count, not a missing context
        state = ", being captured" if is_captured else _STATES.get(status, "")
        return f"{self.handle:#x}{where}" if code else f"{number[0]}{where}{state}"


def _given_or_current(stream: Stream | None) -> Stream:
    """Return the stream to enqueue on: the calling thread's current one, unless one is given."""
    if isinstance(stream, Stream):
        return stream
    if stream is None:
        return Stream.current()
    raise TypeError(
        f"expected a Stream, got {type(stream).__name__}; for a stream of another library use Stream.from_foreign()"
    )


_STATES = {_COMPLETE: ", idle", _PENDING: ", busy"}


def _options_alone(options: object, *keywords: object) -> tuple[int, StreamFlag | int]:
    """Return the priority and the flags of options, which cannot be combined with keywords."""
    from ascend_rt.options import StreamOptions

    if not isinstance(options, StreamOptions) or any(keywords):
        raise TypeError("Stream() takes StreamOptions, or keywords such as priority=1")
    return options.priority, options.flags


def _let_go_when_over(retention: Retention, ended: Batch | None, launched: list[Call] | None) -> None:
    """Release the objects of the tasks of a stream that is gone, once no reset of its device is in progress."""

    def let_go() -> None:
        release(ended)
        retention.end_batch()  # which leaves nothing behind
        host_functions.drop(launched or [])

    when_over(retention.device, let_go)


def _recorded_behind(retention: Retention) -> Event | None:
    """Record an event after the submitted tasks, for the objects that they use; None if that is impossible."""
    handle = retention.life.handle
    if retention.life.is_over or lib.ascend_rt_captured_graph(handle):
        return None
    try:
        event = Event()
        event._before = retention.end_batch()
        check(lib.aclrtRecordEvent(event._handle, handle), "aclrtRecordEvent")
    except AclError:
        return None
    return event


def _default_handle() -> int:
    out = ffi.new("aclrtStream *")
    call("aclrtCtxGetCurrentDefaultStream", out)
    return address(out[0])


def _foreign_handle(stream: object) -> int | None:
    """Return the handle of another package's stream; None if it has none, or uses an unknown protocol."""
    protocol = getattr(stream, "__ascend_stream__", None)
    if protocol is None:
        return _integer(stream, "npu_stream")
    answer = protocol()
    is_known = isinstance(answer, tuple) and len(answer) == 2 and answer[0] == 0
    return answer[1] if is_known else None


def _integer(other: object, name: str) -> int | None:
    """Return an attribute that is an integer, also one of numpy; None if there is none."""
    value = getattr(other, name, None)
    return None if value is None or not hasattr(value, "__index__") else index(value)
