# SPDX-License-Identifier: Apache-2.0
"""Exceptions between any two lines of the package, as signal handlers raise them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from linecache import getline
from pathlib import Path
from types import FrameType
from typing import Any

import ascend_rt
from ascend_rt._runtime import override

PACKAGE = str(Path(ascend_rt.__file__).parent)


class Interruption(Exception):
    """The exception that the handler raises."""


def interruptions(call: Callable[[], object]) -> Iterator[str]:
    """Make a call again and again, each time with an exception before another line of the package that it executes.

    Yields
    ------
    str
        Where the exception was raised, after the call has ended. The last call is without one, and yields nothing.
    """
    at = 0
    while True:
        at += 1
        where = _interrupted(call, at)
        if where is None:
            return
        yield where


def _interrupted(call: Callable[[], object], at: int) -> str | None:
    """Raise the exception before one of the lines; return where, or None if there are not so many."""
    lines = 0
    where: str | None = None

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines, where
        if not frame.f_code.co_filename.startswith(PACKAGE) or _is_of_override(frame):
            return None
        if event != "line" or _is_way_out(frame):
            return trace
        lines += 1
        if lines == at:
            where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} in {frame.f_code.co_name}"
            sys.settrace(None)
            raise Interruption
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except Interruption:
        assert where is not None, "an exception of an earlier call"
    finally:
        sys.settrace(before)
    return where


def _is_of_override(frame: FrameType | None) -> bool:
    """Return True in a replacement of a C function: in the C function Python calls no handler."""
    files = [it.f_code.co_filename for it in (frame, frame and frame.f_back) if it is not None]
    return override.__file__ in files


def _is_way_out(frame: FrameType) -> bool:
    """Return True at the end of a block: a tracer is called there, but no signal is handled before ``__exit__`` is."""
    code, line = frame.f_code, frame.f_lineno
    if not getline(code.co_filename, line).lstrip().startswith("with "):
        return False
    entry = next(start for start, _, of in code.co_lines() if of == line)
    return frame.f_lasti != entry
