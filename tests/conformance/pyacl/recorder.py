# SPDX-License-Identifier: Apache-2.0
"""Make groups of calls of pyACL, each in a separate process, and record the answers.

A result is written as a shape: types, the structure of tuples, lists and dicts, and values where they are stable.
Handles and addresses, numbers of 1,000,000 and more, are ``int:handle``; values in which a call is declared loose are
``int``. An exception is its type and its text.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

_HANDLES = 1_000_000
_STABLE_FLOATS = (0.0, 1.0, 1.5, -1.0, 65504.0, 65536.0)
_SECONDS = 60  # for a group, most of which take some milliseconds

Group = Callable[["Recorder"], None]
groups: dict[str, Group] = {}


def group(name: str) -> Callable[[Group], Group]:
    """Enter a function as the group of that name."""

    def enter(function: Group) -> Group:
        groups[name] = function
        return function

    return enter


def shape(value: Any, loose: bool = False) -> str:
    """Return how a value is written down."""
    if value is None:
        return "None"
    if isinstance(value, bool):
        return f"bool:{value}"
    if isinstance(value, int):
        return _shape_of_int(value, loose)
    if isinstance(value, float):
        return "float" if loose or value not in _STABLE_FLOATS else f"float:{value}"
    if isinstance(value, str):
        return _shape_of_str(value, loose)
    if isinstance(value, bytes):
        return f"bytes:{value.hex()}" if len(value) <= 16 and not loose else f"bytes[{len(value)}]"
    if isinstance(value, tuple):
        items = [shape(item, loose) for item in value]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if isinstance(value, list):
        items = [shape(item, loose) for item in value]
        is_short = len(items) <= 8 or len(set(items)) > 1
        return f"[{', '.join(items) if is_short else f'{items[0]} * {len(items)}'}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {shape(item, loose)}" for key, item in value.items()) + "}"
    return "callable" if callable(value) else f"{type(value).__module__}.{type(value).__qualname__}"


def _key(key: object) -> str:
    return shape(key) if isinstance(key, int) else repr(key)


def _shape_of_int(value: int, loose: bool) -> str:
    if loose:
        return "int"
    if value == os.getpid():
        return "int:pid"
    return f"int:{value}" if -_HANDLES < value < _HANDLES else "int:handle" if value > 0 else "int:negative"


def _shape_of_str(value: str, loose: bool) -> str:
    if value.startswith("/tmp/") and len(value) > 5:
        return "str:path"
    is_stable = not loose and len(value) <= 40 and not re.search(r"0x[0-9a-f]{4}|ascend_rt-", value)
    return f"str:{value!r}" if is_stable else "str"


class Recorder:
    """The argument of a group: ``acl("rt.malloc", 1024, 0)`` makes the call and records it.

    Attributes
    ----------
    module : ModuleType
        The module under test, for calls that are not written down.
    cases : list of dict
        What was written down.
    """

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.cases: list[dict[str, Any]] = []

    def __call__(
        self,
        name: str,
        *arguments: Any,
        loose: bool | tuple[int, ...] = (),
        note: str = "",
        keywords: dict[str, Any] | None = None,
    ) -> Any:
        """Make a call.

        Of the results, or of those with the given numbers, only the type is written down if they are loose. A call that
        raises returns six times None, for groups that unpack it.
        """
        case: dict[str, Any] = {"call": f"acl.{name}", "args": [shape(argument) for argument in arguments]}
        if keywords:
            case["kwargs"] = {key: shape(value) for key, value in keywords.items()}
        if note:
            case["note"] = note
        function: Any = self.module
        for part in name.split("."):
            function = getattr(function, part)
        result = None
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            try:
                result = function(*arguments, **(keywords or {}))
            except Exception as error:
                case["raises"] = type(error).__name__
                case["message"] = re.sub(r"0x[0-9a-f]+", "0x…", str(error))[:300]
            else:
                case["returns"] = _shape_of_result(result, loose)
        if given:
            case["warns"] = [f"{warning.category.__name__}: {warning.message}" for warning in given]
        self.cases.append(case)
        return result

    def note(self, name: str, value: Any) -> None:
        """Write down what was seen and is not the result of a call."""
        self.cases.append({"seen": name, "value": shape(value)})

    @property
    def simulator(self) -> Any:
        """The simulator's own entry points."""
        return ctypes.CDLL(importlib.import_module("ascend_rt").library().path)


def _shape_of_result(result: Any, loose: bool | tuple[int, ...]) -> str:
    if isinstance(loose, tuple) and loose and isinstance(result, tuple):
        return f"({', '.join(shape(item, number in loose) for number, item in enumerate(result))})"
    return shape(result, loose is True)


def _run(name: str, module: ModuleType, output: int) -> None:
    """Run a group in this process, which is a child, and end it as the end of a program would."""
    recorder = Recorder(module)
    error = None
    signal.alarm(_SECONDS)
    try:
        groups[name](recorder)
    except BaseException:
        error = traceback.format_exc()
    with os.fdopen(output, "w", encoding="utf-8") as stream:
        json.dump({"group": name, "cases": recorder.cases, "error": error}, stream)
    if name.startswith("exit:"):
        import atexit
        import threading

        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()


def replay(name: str, module: ModuleType) -> dict[str, Any]:
    """Run a group in a child and return what it has written down, and how the child ended if not well."""
    source, output = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(source)
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        _run(name, module, output)
        os._exit(0)
    os.close(output)
    with os.fdopen(source, encoding="utf-8") as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    answer: dict[str, Any] = json.loads(text) if text else {"group": name, "cases": [], "error": "it wrote nothing"}
    if status:
        answer["error"] = f"status {os.waitstatus_to_exitcode(status)}, {answer['error']}"
    return answer


def main(prefixes: Iterable[str]) -> None:
    """Replay the groups with these prefixes; print what each has written down as a line of JSON."""
    module = importlib.import_module("ascend_rt.pyacl")
    for name in (
        "ascend_rt._runtime.selection",
        "ascend_rt._generated.functions",
        "numpy",
    ):  # once, and not in every child
        importlib.import_module(name)
    for name in groups:
        if name.startswith(tuple(prefixes)):
            print(json.dumps(replay(name, module)))
