# SPDX-License-Identifier: Apache-2.0
"""Streams: queues of work that a device executes in order, one beside the other."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ascend_rt import _failures, _lifecycle, _waiting, allocator, callback
from ascend_rt._driver import address, call, check, check_address, failure, ffi, lib, usable
from ascend_rt._in_flight import InFlight
from ascend_rt._resource import Resource
from ascend_rt.context import current_device_id, current_handle, current_handle_or_none, home, switched
from ascend_rt.errors import AclError, AclWarning, RuntimeClosed, Timeout
from ascend_rt.event import Event

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from typing_extensions import Self

    from ascend_rt.enums import StreamFlag
    from ascend_rt.graph import CaptureMode, Graph

_COMPLETE = lib.ACL_STREAM_STATUS_COMPLETE

_LOWEST_PRIORITY = 7

# How long a discarded stream has to finish its work.
_DISCARD_MS = 10_000

_ANOTHER_CONTEXT = (lib.ACL_ERROR_RT_CONTEXT_NULL, lib.ACL_ERROR_RT_STREAM_CONTEXT)


class Stream(Resource):
    """A queue of work on the device of the calling thread's context.

    Parameters
    ----------
    priority : int, default 0
        0 is the highest, 7 the lowest; a hint, clamped to that range.
    flags : StreamFlag, default 0
        How the stream is created.

    Raises
    ------
    NoContext
        The calling thread has no current context; call :meth:`Device.set_current`.
    ResourceExhausted
        All streams of the device are in use.

    Notes
    -----
    ``aclrtCreateStreamWithConfig``, ``aclrtDestroyStream``. All products. API reference 06. :meth:`close` waits for the
    stream's work, and so does discarding the object, for at most ten seconds. The end of the interpreter waits for at
    most five seconds; what is still pending then ends with the process, and an :class:`AclWarning` says so.
    """

    __slots__ = ("_context", "_in_flight")
    _what = "stream"

    def __init__(self, *, priority: int = 0, flags: StreamFlag | int = 0) -> None:
        _lifecycle.initialize()
        context = current_handle()
        out = ffi.new("aclrtStream *")
        call("aclrtCreateStreamWithConfig", out, min(max(priority, 0), _LOWEST_PRIORITY), int(flags))
        _failures.untold.pop(address(out[0]), None)  # of an older stream that had this handle
        created_in = home()
        self._prepare(out[0], context, created_in.era.device_id)
        self._own(out[0], created_in)
        _lifecycle.close_deferred()

    @classmethod
    def from_handle(cls, handle: int) -> Self:
        """Borrow a stream that somebody else owns, for instance ``torch.npu.current_stream().npu_stream``.

        The handle is never destroyed from here. 0 is the default stream.
        """
        _lifecycle.initialize()
        stream = cls.__new__(cls)
        borrowed = ffi.cast("aclrtStream", check_address(handle))
        # The numbers of streams begin again on each device. The runtime does not tell the device of a stream; the
        # stream can be used only in its context.
        context = current_handle_or_none()
        stream._prepare(borrowed, context, _failures.ANY if context is None else current_device_id())
        stream._borrow(borrowed)
        return stream

    @classmethod
    def default(cls) -> Self:
        """Return the default stream of the calling thread's context, borrowed."""
        out = ffi.new("aclrtStream *")
        call("aclrtCtxGetCurrentDefaultStream", out)
        return cls.from_handle(address(out[0]))

    @classmethod
    def current(cls) -> Self:
        """Return the stream that is the default of what enqueues."""
        return cls.default()

    def _prepare(self, handle: Any, context: Any | None, device: int) -> None:
        self._context = context
        self._in_flight = InFlight.of(handle, device, context)

    # --- ordering ----------------------------------------------------------------------------------------------------

    def record(self, event: Event | None = None) -> Event:
        """Record an event here and return it; without one, a new event is recorded. See :meth:`Event.record`."""
        if event is None:
            event = Event()
        code = lib.aclrtRecordEvent(event._handle, self._handle)
        if code:
            check(code, "aclrtRecordEvent")
        event._work = self._in_flight.work
        return event

    def wait(self, other: Event | Stream, timeout_s: int | None = None) -> None:
        """Let work enqueued here from now on wait for an event, or for all work that another stream has so far.

        Parameters
        ----------
        other : Event or Stream
            What to wait for. An event that was never recorded is not waited for (but see ``manual_reset``).
        timeout_s : int, optional
            Fail the wait, and with it the next synchronization of this stream, after this many seconds; 0 is never.
            None takes the value of ``aclrtSetOpWaitTimeout``.

        Notes
        -----
        ``aclrtStreamWaitEvent``, ``aclrtStreamWaitEventWithTimeout``; enqueues only. The host goes on at once.
        """
        if not isinstance(other, Event):
            if not isinstance(other, Stream):
                raise TypeError(f"a stream waits for an Event or a Stream, not for {type(other).__name__}")
            # Destroyed at once: the wait that is pending keeps what it needs.
            with other.record() as event:
                self.wait(event, timeout_s)
            return
        if timeout_s is None:
            code = lib.aclrtStreamWaitEvent(self._handle, other._handle)
            if code:
                check(code, "aclrtStreamWaitEvent")
        else:
            code = lib.aclrtStreamWaitEventWithTimeout(self._handle, other._handle, timeout_s)
            check(code, "aclrtStreamWaitEventWithTimeout")

    def capture(self, *, mode: CaptureMode = "global") -> AbstractContextManager[Graph]:
        """Capture what is enqueued in a ``with`` block into a graph, instead of executing it.

        Other streams join when they wait for an event that was recorded in the capture, and must be joined again, by a
        wait of this stream, before the block ends. Host functions, host memory and buffers that the tasks use are kept
        alive by the graph.

        Parameters
        ----------
        mode : {"global", "thread_local", "relaxed"}, default "global"
            Whose synchronous copies and fills are refused meanwhile: those of all threads of the context, of this
            thread, or of none.

        Returns
        -------
        context manager
            Its value is the :class:`~ascend_rt.graph.Graph`, which can be launched when the block has ended.

        Raises
        ------
        CaptureError
            At the end of the block: the capture was broken, and its ``failures`` tell which calls failed and where; or
            a stream was not joined, and the text names it. An exception of the block itself passes.

        Notes
        -----
        ``aclmdlRICaptureBegin``, ``aclmdlRICaptureEnd``. 910B, 910C, 950, 310P. API reference 15.
        """
        from ascend_rt.graph import capture  # graphs are launched on streams, so that module imports this one

        return capture(self, mode)

    # --- host side ---------------------------------------------------------------------------------------------------

    def synchronize(self, timeout_ms: int | None = None) -> None:
        """Wait until the work enqueued so far is done.

        Parameters
        ----------
        timeout_ms : int, optional
            How long to wait, in milliseconds; None waits for ever.

        Raises
        ------
        Timeout
            The stream was not done in time; it keeps running, call again.
        StreamAborted
            The stream was aborted meanwhile.
        TaskFailed
            A task of the stream failed; reported once.

        Notes
        -----
        ``aclrtSynchronizeStream``, ``aclrtSynchronizeStreamWithTimeout``; blocking, without the GIL.
        """
        ended = self._in_flight.end_batch()
        try:
            if timeout_ms is None:
                code = lib.ascend_rt_synchronize_stream(self._handle)
            else:
                code = lib.ascend_rt_synchronize_stream_within(self._handle, timeout_ms)
        except BaseException:  # of a signal handler, in place of the code
            self._in_flight.keep_failure()
            raise
        if code or _failures.untold:
            error = self._failure(self._handle, code, timeout_ms)
            if error is not None:
                raise error
        if ended:
            self._in_flight.drop(ended)

    def _failure(self, handle: Any, code: int, timeout_ms: int | None) -> AclError | None:
        """Return what a synchronization failed with; events that were recorded before tell a failed task too now."""
        work, message = self._in_flight.work, None
        name = "aclrtSynchronizeStream" if timeout_ms is None else "aclrtSynchronizeStreamWithTimeout"
        if code == _waiting.WOULD_WAIT:
            code, message = _waiting.wait(name, handle, *(() if timeout_ms is None else (timeout_ms,)))
        untold = _failures.untold.get(address(handle))
        error = failure(code, name, work.failed_task(code), message) if code else untold
        if error is not None and _failures.is_of_a_task(error):
            _failures.untold.pop(address(handle), None)
            self._in_flight.work = work.next_after(error)
        return error

    @property
    def is_done(self) -> bool:
        """Whether all work enqueued so far is done (``aclrtStreamQuery``); does not block.

        Raises
        ------
        TaskFailed
            It is, and a task has failed; the next synchronization raises it too.
        """
        status = lib.ascend_rt_stream_status(self._handle)
        if status < 0:
            check(-status, "aclrtStreamQuery")
        if status != _COMPLETE:
            return False
        self._in_flight.drop_done()
        self.check()
        return True

    def check(self) -> None:
        """Raise what a task of this stream has failed with, if no synchronization has told it; does not wait.

        The failure stays known: the next synchronization raises it too.

        Raises
        ------
        TaskFailed
            A task has failed. A library without ``aclrtExceptionInfoCallbackRegister`` tells that only of a stream that
            has no work left.

        Notes
        -----
        Calls no C function as long as no task of the process has failed.
        """
        work = self._in_flight.work
        if _failures.must_ask or work.seen != lib.ascend_rt_failed_task_count():
            work.check("aclrtStreamQuery")

    def launch_host_func(self, function: Callable[..., object], /, *arguments: Any, **keywords: Any) -> None:
        """Call a Python function when the work enqueued so far is done; later work of the stream waits for it.

        The function runs on a thread of the runtime, one at a time for all streams of a context. It must not call the
        runtime. Function and arguments are kept alive until it has run. An exception goes to
        :data:`ascend_rt.callback.on_error` and ``sys.unraisablehook``, and the stream goes on.

        Notes
        -----
        ``aclrtLaunchHostFunc``; enqueues only.
        """
        callback.launch(self._handle, function, arguments, keywords)

    def abort(self) -> None:
        """Drop the work that has not started and wait for the rest (``aclrtStreamAbort``); 950, 910B, 910C."""
        ended, launched = self._in_flight.end_batch(), callback.launched(self._handle)
        call("aclrtStreamAbort", self._handle)
        self._in_flight.drop(ended)
        callback.drop(launched)

    # --- what it is --------------------------------------------------------------------------------------------------

    @property
    def id(self) -> int:
        """The runtime's number of the stream (``aclrtStreamGetId``)."""
        out = ffi.new("int32_t *")
        call("aclrtStreamGetId", self._handle, out)
        return int(out[0])

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
            Drop what has not started instead of waiting for it (``aclrtDestroyStreamForce``).

        Raises
        ------
        RuntimeError
            A function that was launched on a stream wants to close one.
        TaskFailed
            A task of the stream has failed, and no synchronization has told it. The stream is closed.
        AclError
            The stream could not be destroyed; it stays open and may be closed again.
        """
        if callback.is_inside() and not self.is_closed and self._owned:
            raise RuntimeError("a function in a stream cannot close streams: it would wait for its own end")
        handle, failed = self._take_handle(), None
        if handle is None:
            return
        try:
            if not usable():
                return
            if not self._owned:
                self._in_flight.outlive()
                return
            ended, launched = self._in_flight.end_batch(), callback.launched(handle)
            failed = None if force else self._finish(handle)
            self._destroy(handle, force)
        except BaseException:
            self._in_flight.keep_failure(failed)
            self._put_back(handle)
            raise
        self._in_flight.drop(ended)
        callback.drop(launched)
        if failed is not None:
            raise failed

    def _finish(self, handle: Any, timeout_ms: int = -1) -> AclError | None:
        """Wait for the work; return what a task has failed with, or that the time was too short.

        Destroying the stream would wait too, but say nothing. Other errors are left to the destruction.
        """
        if self._home.era.is_over or lib.ascend_rt_captured_graph(handle):
            return None
        synchronize = lib.ascend_rt_synchronize_stream_within
        code = synchronize(handle, timeout_ms)
        if code in _ANOTHER_CONTEXT:
            with switched(self._context):
                code = synchronize(handle, timeout_ms)
        if code > 0 and code == self._in_flight.work.told and code == synchronize(handle, timeout_ms):
            return None  # it stays: the stream is in STOP mode, and has told it
        error = self._failure(handle, code, None if timeout_ms == -1 else timeout_ms)
        is_told = error is not None and (_failures.is_of_a_task(error) or isinstance(error, Timeout))
        return error if is_told else _failures.untold.pop(address(handle), None)

    def _destroy(self, handle: Any, force: bool = False) -> None:
        allocator.forget_stream(handle)
        if self._home.era.is_over:  # the reset of its device has destroyed it
            return
        name = "aclrtDestroyStreamForce" if force else "aclrtDestroyStream"
        destroy = getattr(lib, name)
        code = destroy(handle)
        if code in _ANOTHER_CONTEXT:
            with switched(self._context):
                code = destroy(handle)
        if code != lib.ACL_ERROR_RT_INVALID_HANDLE:  # its device was reset
            check(code, name)

    def __del__(self, is_too_late: Callable[[], bool] = sys.is_finalizing) -> None:  # bound: this module may be empty
        if is_too_late() or not hasattr(self, "_owned") or self.is_closed or not usable():
            return
        if self._owned and callback.is_inside():
            _lifecycle.defer(self)
            return
        try:
            if self._owned:
                self._discard()
            else:
                self._in_flight.outlive()
        except RuntimeClosed:  # after the test, by the exit in another thread
            return
        except AclError as error:
            self._in_flight.outlive()
            warnings.warn(f"while a stream was discarded: {error}", AclWarning, stacklevel=2, source=self)
        except BaseException:  # of a signal handler; the work goes on
            self._in_flight.outlive()
            raise

    def _discard(self) -> None:
        failed = self._finish(self._handle, _DISCARD_MS)
        if failed is not None and failed.code == lib.ACL_ERROR_RT_STREAM_SYNC_TIMEOUT:
            message = f"{self!r} was discarded while it waited for something; its work is dropped"
            warnings.warn(message, AclWarning, stacklevel=3, source=self)
            self.close(force=True)
            return
        self.close()
        if failed is not None:
            raise failed
