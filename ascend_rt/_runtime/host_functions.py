# SPDX-License-Identifier: Apache-2.0
"""Python functions that streams call: those that have not run yet, and the report of one that raises an exception."""

from __future__ import annotations

from collections.abc import Callable

from ascend_rt._native import handles
from ascend_rt._runtime.driver import ffi, is_expected, lib, pointer
from ascend_rt._runtime.report import name_of, report


def launched(stream: int) -> list[handles.Call]:
    """Return the calls that a stream has so far, which an abort or a destruction drops, unlike later ones."""
    wanted = stream or None  # NULL is a different stream in each context
    return [call for call in handles.pending.copy() if call.stream == wanted and call.is_launched]


def drop(calls: list[handles.Call]) -> None:
    """Release calls after their stream was aborted or destroyed: those that have not run never will."""
    handles.pending.difference_update(calls)


def report_host_function(error: BaseException, function: Callable[..., object], stream: int) -> None:
    """Report an exception of a function in a stream, whose handle is given."""
    number = ffi.new("int32_t *")
    is_known = stream and not is_expected(lib.aclrtStreamGetId(pointer(stream), number))
    where = f"stream {number[0]}" if is_known else "the default stream" if not stream else "a stream"
    report(error, function, f"host function {name_of(function)} of {where}")
