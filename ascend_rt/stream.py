# SPDX-License-Identifier: Apache-2.0
"""Streams: queues of work that a device executes in order, one beside the other."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ascend_rt import _lifecycle, allocator, callback, graph
from ascend_rt._driver import address, call, check, check_address, ffi, lib, usable
from ascend_rt._in_flight import InFlight
from ascend_rt._resource import Resource
from ascend_rt.context import current_handle, home, switched
from ascend_rt.errors import AclError, AclWarning, RuntimeClosed
from ascend_rt.event import Event

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from typing_extensions import Self

    from ascend_rt.enums import MdlRICaptureMode, StreamFlag
    from ascend_rt.graph import Graph

_COMPLETE = lib.ACL_STREAM_STATUS_COMPLETE

_LOWEST_PRIORITY = 7

_GLOBAL = lib.ACL_MODEL_RI_CAPTURE_MODE_GLOBAL

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
        self._prepare(out[0], context)
        self._own(out[0], home())
        _lifecycle.close_deferred()

    @classmethod
    def from_handle(cls, handle: int) -> Self:
        """Borrow a stream that somebody else owns, for instance ``torch.npu.current_stream().npu_stream``.

        The handle is never destroyed from here. 0 is the default stream.
        """
        _lifecycle.initialize()
        stream = cls.__new__(cls)
        borrowed = ffi.cast("aclrtStream", check_address(handle))
        stream._prepare(borrowed, None)
        stream._borrow(borrowed)
        return stream

    @classmethod
    def default(cls) -> Self:
        """Return the default stream of the calling thread's context, borrowed."""
        out = ffi.new("aclrtStream *")
        call("aclrtCtxGetCurrentDefaultStream", out)
        return cls.from_handle(address(out[0]))

    def _prepare(self, handle: Any, context: Any) -> None:
        self._context = context
        self._in_flight = InFlight.of(handle)

    # --- ordering ----------------------------------------------------------------------------------------------------

    def record(self, event: Event | None = None) -> Event:
        """Record an event here and return it; without one, a new event is recorded. See :meth:`Event.record`."""
        if event is None:
            event = Event()
        code = lib.aclrtRecordEvent(event._handle, self._handle)
        if code:
            check(code, "aclrtRecordEvent")
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

    def capture(self, mode: MdlRICaptureMode | int = _GLOBAL) -> AbstractContextManager[Graph]:
        """Capture what is enqueued in a block, instead of running it.

        ::

            with stream.capture() as graph:
                copy_async(device_buffer, pinned, stream)
            graph.launch(stream)

        Streams that wait in the block for an event that was recorded on a captured stream take part; the first stream
        must wait for them before the block ends.

        Parameters
        ----------
        mode : MdlRICaptureMode, default GLOBAL
            Which synchronous uses of memory are refused meanwhile: GLOBAL in all threads of the context, THREAD_LOCAL
            in this one, RELAXED in none. With the first two the block must end in the thread that began it.

        Raises
        ------
        AclError
            At the end of the block: the capture is not complete, or a call in it was not allowed. There is no graph
            then, and the streams are as before.

        Notes
        -----
        ``aclmdlRICaptureBegin``, ``aclmdlRICaptureEnd``. 950, 910B, 910C, 310P. An exception in the block gives the
        capture up.
        """
        return graph.capture(self, mode)

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
        AclError
            A task of the stream failed; reported once.

        Notes
        -----
        ``aclrtSynchronizeStream``, ``aclrtSynchronizeStreamWithTimeout``; blocking, without the GIL.
        """
        ended = self._in_flight.end_batch()
        if timeout_ms is None:
            code = lib.aclrtSynchronizeStream(self._handle)
        else:
            code = lib.aclrtSynchronizeStreamWithTimeout(self._handle, timeout_ms)
        if code:
            check(code, "aclrtSynchronizeStream" if timeout_ms is None else "aclrtSynchronizeStreamWithTimeout")
        if ended:
            self._in_flight.drop(ended)

    @property
    def is_done(self) -> bool:
        """Whether all work enqueued so far is done (``aclrtStreamQuery``); does not block."""
        status = lib.ascend_rt_stream_status(self._handle)
        if status < 0:
            check(-status, "aclrtStreamQuery")
        if status != _COMPLETE:
            return False
        self._in_flight.drop_done()
        return True

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
        AclError
            The stream could not be destroyed; it stays open and may be closed again.
        """
        if callback.is_inside() and not self.is_closed and self._owned:
            raise RuntimeError("a function in a stream cannot close streams: it would wait for its own end")
        handle = self._take_handle()
        if handle is None or not usable():
            return
        if not self._owned:
            self._in_flight.outlive()
            return
        ended, launched = self._in_flight.end_batch(), callback.launched(handle)
        try:
            self._destroy(handle, force)
        except AclError:
            self._put_back(handle)
            raise
        self._in_flight.drop(ended)
        callback.drop(launched)

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

    def _discard(self) -> None:
        synchronize = lib.aclrtSynchronizeStreamWithTimeout
        code = synchronize(self._handle, _DISCARD_MS)
        if code == lib.ACL_ERROR_RT_CONTEXT_NULL:  # discarded in a thread that never had one
            with switched(self._context):
                code = synchronize(self._handle, _DISCARD_MS)
        if code == lib.ACL_ERROR_RT_STREAM_SYNC_TIMEOUT:
            message = f"{self!r} was discarded while it waited for something; its work is dropped"
            warnings.warn(message, AclWarning, stacklevel=3, source=self)
            self.close(force=True)
        else:
            self.close()
