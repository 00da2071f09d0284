# SPDX-License-Identifier: Apache-2.0
"""Reports of exceptions that cannot be raised in a caller, such as those of host functions and kernels in Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ascend_rt._runtime import call_site
from ascend_rt._runtime.locks import new_lock

if TYPE_CHECKING:
    from traceback import TracebackException
    from types import TracebackType
    from typing import TypeAlias

    Hook: TypeAlias = Callable[[BaseException, Callable[..., object]], object]

_lock = new_lock()  # held while a report is printed: several threads may fail at once


find_hook: Callable[[], Hook | None] | None = None
"""Returns the hook of the program, or None; set by :mod:`ascend_rt.callback`, which has the hook."""


class Unraisable(NamedTuple):
    """The argument of ``sys.unraisablehook``; Python's own class cannot be created in Python."""

    exc_type: type[BaseException]
    exc_value: BaseException
    exc_traceback: TracebackType | None
    err_msg: str
    object: Callable[..., object]


def report(error: BaseException, function: Callable[..., object], place: str) -> None:
    """Report an exception that cannot be raised in a caller; the place is a text such as "kernel boom"."""
    on_error = None if find_hook is None else find_hook()
    if on_error is not None:
        try:
            on_error(error, function)
        except BaseException as nested:
            show(nested, on_error, "ascend_rt.callback.on_error")
    show(error, function, place)


def name_of(function: Callable[..., object]) -> str:
    """Return the name of a function for texts."""
    name = getattr(function, "__qualname__", None)
    return repr(function) if name is None else name.rpartition("<locals>.")[2]


def show(error: BaseException, function: Callable[..., object], place: str) -> None:
    """Pass an exception to ``sys.unraisablehook``; the default prints it, headed by the place.

    The frames with which its traceback begins inside the package are removed.
    """
    error.__traceback__ = _of_program(error.__traceback__)
    heading = f"Exception in {place}"
    hook: Any = sys.unraisablehook
    if hook is not sys.__unraisablehook__:
        try:
            hook(Unraisable(type(error), error, error.__traceback__, heading, function))
            return
        except BaseException as of_hook:
            _print(of_hook, "Exception in sys.unraisablehook")
    _print(error, heading)


def _of_program(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and call_site.is_inside(traceback.tb_frame):
        traceback = traceback.tb_next
    return traceback


def _print(error: BaseException, heading: str) -> None:
    from traceback import TracebackException  # only failures need it

    shown = TracebackException.from_exception(error)
    _hide_package(shown)
    write(f"{heading}:\n{''.join(shown.format())}")


def write(text: str) -> None:
    """Write a message to standard error, unless that is broken, closed, or None."""
    with _lock, suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _hide_package(shown: TracebackException | None) -> None:
    if shown is not None:
        shown.stack[:] = [frame for frame in shown.stack if not frame.filename.startswith(call_site.PACKAGE)]
        _hide_package(shown.__cause__)
        _hide_package(shown.__context__)
