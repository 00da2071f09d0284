# SPDX-License-Identifier: Apache-2.0
"""Lines that a checked Python process writes at its end: its source files, and its leaks.

A leak is an object that a function has opened, and that is open at the end although no variable of a module leads to
it, directly or by attributes. Objects opened while a module is executed live as long as the program. A program that an
exception ends has no leaks: its frames are still there.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import FrameType, ModuleType
from typing import Any
from weakref import ref

from ascend_rt._check.frames import is_file_of_user, is_of_user, parse
from ascend_rt._native import handles
from ascend_rt._runtime import report
from ascend_rt._runtime.call_site import is_inside

_DIRECTORY = "ASCEND_RT_SIM_CHECK_DIRECTORY"
_DEPTH = 8  # frames of a stack
_MODULE = "<module>"
_INSIDE = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")  # before Python 3.12, frames of functions

_opened: list[tuple[ref[Any], list[str]]] = []


class _Reserve:
    """A descriptor that is kept for the file of these lines: at its end a program may have used up all others."""

    def __init__(self) -> None:
        self._number = os.open(os.devnull, os.O_RDONLY)
        self._file = os.fstat(self._number)

    def give_up(self) -> None:
        """Close it, unless the program has closed it: the number may be that of another file since then."""
        try:
            is_ours = os.path.samestat(os.fstat(self._number), self._file)
        except OSError:
            return
        if is_ours:
            os.close(self._number)


_reserve: _Reserve | None = None


def install() -> None:
    """Write the lines at the end of this process that the environment asks for; called when the library is loaded."""
    asked = os.environ.get("ASCEND_RT_CHECK_AT_EXIT", "").split(",")
    if asked != [""]:
        global _reserve
        with suppress(OSError):  # it has none left: the program can hardly open anything either
            _reserve = _Reserve()
    if "files" in asked:
        atexit.register(_write_files)
    if "leaks" in asked:
        from ascend_rt._runtime import lifecycle

        handles.set_on_open(_note)
        lifecycle.call_first_at_exit(_write_leaks, "the search for leaks did not end")


def _note(resource: Any) -> None:
    if resource._is_counted:
        _opened.append((ref(resource), _stack(sys._getframe(1))))


def _stack(frame: FrameType | None) -> list[str]:
    while frame is not None and is_inside(frame):
        frame = frame.f_back
    places: list[str] = []
    while frame is not None and len(places) < _DEPTH:
        code = frame.f_code
        places.append(f"{code.co_filename}:{frame.f_lineno} in {code.co_name}")
        frame = frame.f_back
    return places


def _write(lines: list[dict[str, Any]]) -> None:
    directory = os.environ.get(_DIRECTORY, "")
    path = os.path.join(directory, f"{os.getpid()}.jsonl")
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    if text and os.path.isdir(directory):  # not after the check, in a process that outlives it
        global _reserve
        if _reserve is not None:
            _reserve.give_up()
            _reserve = None
        try:
            with open(path, "ab", buffering=0) as file:
                file.write(text)
        except OSError as error:
            report.write(f"ascend-rt check: a part of the findings is lost: {error}\n")


def _write_files() -> None:
    named = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    files = sorted(os.path.abspath(file) for file in named if isinstance(file, str) and is_file_of_user(file))
    _write([{"kind": "files", "files": files}])


def _write_leaks(_: float) -> bool:
    """Write the leaks, before the runtime is given back, which ends all objects."""
    if getattr(sys, "last_value", None) is None:
        _write([{"kind": "checked", "checks": ["leaks"]}, *_leaks()])
    return True


def _leaks() -> Iterator[dict[str, Any]]:
    gc.collect()
    held = {id(each) for each in _held_by_modules()}
    for reference, frames in _opened:
        found = reference()
        if found is not None and found._is_open and id(found) not in held and not _is_of_module(frames):
            text = f"{_name(found)} is open at the end of the program"
            yield {"kind": "leak", "text": text, "frames": frames}


def _is_of_module(frames: list[str]) -> bool:
    """Return whether an object was opened by the code of a module, and not in a function of the user."""
    functions = [frame.function for frame in map(parse, frames) if is_of_user(frame)]
    return next((each for each in functions if each not in _INSIDE), _MODULE) == _MODULE


def _name(resource: Any) -> str:
    nbytes = getattr(resource, "nbytes", None)
    return type(resource).__name__ + (f" of {nbytes} bytes" if isinstance(nbytes, int) else "")


def _held_by_modules() -> Iterator[Any]:
    """Yield the objects that variables of the user's modules lead to, directly or by attributes."""
    seen: set[int] = set()
    modules = [each for each in list(sys.modules.values()) if isinstance(each, ModuleType)]
    pending = [
        value
        for module in modules
        if is_file_of_user(getattr(module, "__file__", None) or "<string>")
        for value in list(vars(module).values())
    ]
    while pending:
        value = pending.pop()
        if id(value) in seen or isinstance(value, ModuleType):
            continue
        seen.add(id(value))
        yield value
        attributes: Any = getattr(value, "__dict__", {})  # attributes of an object or a class
        pending.extend(attributes.values())
        pending.extend(_in_slots(value))


def _in_slots(value: Any) -> Iterator[Any]:
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if isinstance(name, str) and not name.startswith("__"):
                yield getattr(value, name, None)
