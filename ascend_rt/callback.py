# SPDX-License-Identifier: Apache-2.0
"""Python functions in a stream.

The path of a call into Python and back:

1. :meth:`Stream.launch_host_func` wraps the function and its arguments in a call and keeps it in the set of pending
   calls, which is independent of the stream's Python object. If the stream is being captured, the graph keeps it.
2. The runtime gets a C function and the address of the call (``aclrtLaunchHostFunc``).
3. The runtime calls the C function on the context's callback thread, once all earlier work of the stream is done.
4. The C function (``host_functions.c``) passes the gate into Python, removes the call from the set, if it is there, and
   runs it. If the interpreter is about to exit, the gate is closed and the call is dropped.
5. An exception cannot be raised in a caller, so it is passed to :data:`on_error`, if that is set, and to
   ``sys.unraisablehook``, which prints it (``_runtime/report.py``); the stream goes on.

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

from ascend_rt._runtime import report as _report

__all__ = ["on_error"]

on_error: Callable[[BaseException, Callable[..., object]], object] | None = None
"""A hook that is called with the exception and the function when a function without a Python caller fails, or None.

This covers host functions in streams, functions of :func:`ascend_rt.on_task_failed`, kernels in Python and allocators.
"""

_report.find_hook = lambda: on_error
