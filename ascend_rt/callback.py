# SPDX-License-Identifier: Apache-2.0
"""Python functions in a stream.

The path of a call into Python and back:

1. :meth:`Stream.launch_host_func` wraps the function and its arguments in a call and keeps it in the set of pending
   calls, which is independent of the stream's Python object. If the stream is being captured, the graph keeps it.
2. The runtime gets a C function and the address of the call (``aclrtLaunchHostFunc``).
3. The runtime calls the C function on the context's callback thread, once all earlier work of the stream is done.
4. The C function (``host_functions.c``) passes the gate into Python, removes the call from the set, if it is there, and
   runs it. If the interpreter is about to exit, the gate is closed and the call is dropped.
5. An exception cannot be raised in a caller, so :func:`report` passes it to :data:`on_error`, if that is set, and to
   ``sys.unraisablehook``, which prints it; the stream goes on.

Examples
--------
>>> import sys
>>> from ascend_rt import callback
>>> failures = []
>>> callback.on_error = lambda error, function: failures.append(error)
>>> sys.unraisablehook = lambda unraisable: None  # which would print it
>>> stream.launch_host_func(lambda: 1 / 0)
>>> stream.synchronize()
>>> failures
[ZeroDivisionError('division by zero')]
>>> callback.on_error, sys.unraisablehook = None, sys.__unraisablehook__
"""

from __future__ import annotations

from collections.abc import Callable

from ascend_rt._native import handles
from ascend_rt._runtime.driver import ffi, is_expected, lib, pointer
from ascend_rt._runtime.report import show

__all__ = ["on_error"]

on_error: Callable[[BaseException, Callable[..., object]], object] | None = None
"""A hook that is called with the exception and the function when a function without a Python caller fails, or None.

This covers host functions in streams, functions of :func:`ascend_rt.on_task_failed`, kernels in Python and allocators.
"""

_pending: set[handles.Call] = handles.pending


def launched(stream: int) -> list[handles.Call]:
    """Return the calls that a stream has so far, which an abort or a destruction drops, unlike later ones."""
    wanted = stream or None  # NULL is a different stream in each context
    return [call for call in _pending.copy() if call.stream == wanted and call.is_launched]


def drop(calls: list[handles.Call]) -> None:
    """Release calls after their stream was aborted or destroyed: those that have not run never will."""
    _pending.difference_update(calls)


def is_inside() -> bool:
    """Return True if the calling thread runs a host function, which would wait for its stream forever."""
    return handles.is_inside()


def report(error: BaseException, function: Callable[..., object], place: str) -> None:
    """Report an exception that cannot be raised in a caller; the place is a text such as "kernel boom"."""
    if on_error is not None:
        try:
            on_error(error, function)
        except BaseException as nested:
            show(nested, on_error, "ascend_rt.callback.on_error")
    show(error, function, place)


def report_host_function(error: BaseException, function: Callable[..., object], stream: int) -> None:
    """Report an exception of a function in a stream, whose handle is given."""
    number = ffi.new("int32_t *")
    is_known = stream and not is_expected(lib.aclrtStreamGetId(pointer(stream), number))
    where = f"stream {number[0]}" if is_known else "the default stream" if not stream else "a stream"
    report(error, function, f"host function {name_of(function)} of {where}")


def name_of(function: Callable[..., object]) -> str:
    """Return the name of a function for texts."""
    name = getattr(function, "__qualname__", None)
    return repr(function) if name is None else name.rpartition("<locals>.")[2]
