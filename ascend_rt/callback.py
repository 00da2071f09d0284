# SPDX-License-Identifier: Apache-2.0
"""Python functions in a stream.

The path of a call into Python and back:

1. :func:`launch` wraps the function and its arguments in a :class:`_Call` and keeps it in the table of pending calls,
   which does not depend on the life of the stream's Python object; or with the graph, if the stream is being captured.
2. The runtime gets a C function, the gate, and the address of the call (``aclrtLaunchHostFunc``).
3. On the context's callback thread the runtime calls the gate, once all earlier work of the stream is done.
4. The gate enters Python, unless the interpreter is about to end; then the call is dropped.
5. :func:`_run` takes the call out of the table, if it is there, and runs it. An exception has no caller to be raised
   in: it is passed to :data:`on_error` if that is set, and to ``sys.unraisablehook``; the stream goes on.

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

import threading
from collections.abc import Callable
from typing import Any, cast

from ascend_rt import _captured
from ascend_rt._driver import address, check, ffi, lib

__all__ = ["on_error"]

on_error: Callable[[BaseException, Callable[..., object]], object] | None = None
"""Called with the exception and the function whenever a Python function fails that has no caller; None is no hook.

Those are functions in a stream and of :func:`ascend_rt.on_task_failed`, kernels in Python, and allocators.
"""

_here = threading.local()


class _Call:
    __slots__ = ("arguments", "function", "is_launched", "keywords", "stream")

    def __init__(
        self, stream: int, function: Callable[..., object], arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        self.stream = stream
        self.function = function
        self.arguments = arguments
        self.keywords = keywords
        self.is_launched = False


_pending: dict[int, Any] = {}  # id of a call -> the handle, which owns the call


def launch(stream: Any, function: Callable[..., object], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """Enqueue a Python function on a stream's handle and keep it alive until it has run, or as long as its graph."""
    call = _Call(address(stream), function, arguments, keywords)
    handle = ffi.new_handle(call)
    captured = _captured.kept_with(stream)
    if captured is not None:
        check(lib.aclrtLaunchHostFunc(stream, lib.ascend_rt_host_func_entry, handle), "aclrtLaunchHostFunc")
        captured.append(handle)
        return
    _pending[id(call)] = handle
    code = lib.aclrtLaunchHostFunc(stream, lib.ascend_rt_host_func_entry, handle)
    if code:
        del _pending[id(call)]
        check(code, "aclrtLaunchHostFunc")
    call.is_launched = True


def launched(stream: Any) -> list[_Call]:
    """Return the calls that a stream has so far: those that an abort or a destruction drops, unlike later ones."""
    wanted = address(stream) or None  # NULL is another stream in each context
    handles = list(_pending.values())
    return [call for call in map(ffi.from_handle, handles) if call.stream == wanted and call.is_launched]


def drop(calls: list[_Call]) -> None:
    """Release calls after their stream was aborted or destroyed: those that have not run never will."""
    for call in calls:
        _pending.pop(id(call), None)


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def ascend_rt_python_host_func(argument: Any) -> None:
    """Run a call on the runtime's thread; the only entry from C into Python."""
    _here.is_inside = True
    try:
        _run(cast(_Call, ffi.from_handle(argument)))  # which releases the call and its arguments
    finally:
        _here.is_inside = False


def is_inside() -> bool:
    """Whether the calling thread runs a host function: there, waiting for its stream would never end."""
    return getattr(_here, "is_inside", False)


def _run(call: _Call) -> None:
    _pending.pop(id(call), None)
    try:
        call.function(*call.arguments, **call.keywords)
    except BaseException as error:
        report(error, call.function)


def report(error: BaseException, function: Callable[..., object]) -> None:
    """Report an exception that has no caller to be raised in."""
    if on_error is not None:
        try:
            on_error(error, function)
        except BaseException as nested:
            _Unraisable(nested)
    _Unraisable(error)
    del error  # its traceback leads to this frame now


class _Unraisable:
    """Makes Python itself call ``sys.unraisablehook``: only Python can create the argument that the hook takes.

    Raising the exception in the C callback would do so too, but keep the function's arguments until after the call.
    """

    def __init__(self, error: BaseException) -> None:
        self._errors = [error]

    def __del__(self) -> None:
        raise self._errors.pop()  # removed, because the traceback will refer to this object
