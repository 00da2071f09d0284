# SPDX-License-Identifier: Apache-2.0
"""Calls of the C functions by table, in this process and in processes of their own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CALLS = Path(__file__).with_name("calls.py")


@pytest.fixture(scope="session")
def calls(answer: Callable[..., Any]) -> Callable[..., list[Any]]:
    """Return a function that makes calls in a new process and returns ``[code, outputs]`` of each; see calls.py."""

    def make(rows: list[list[Any]], **environment: object) -> list[Any]:
        return list(answer([sys.executable, str(CALLS)], json.dumps(rows), environment))

    return make


@pytest.fixture
def check(lib: Any, ffi: Any) -> Callable[..., None]:
    """Return a function that makes the calls of a table, ``(function, arguments, code)``, and compares the codes.

    Words among the arguments are looked up, "NULL" is NULL.
    """

    def make(rows: list[tuple[str, tuple[Any, ...], int]], **values: Any) -> None:
        values["NULL"] = ffi.NULL
        for row in rows:
            function, arguments, code = row
            call = getattr(lib, function)
            types = ffi.typeof(call).args
            given = [
                values[it] if isinstance(it, str) else int(ffi.cast(c_type, it))  # -1 is an enumerator too
                for it, c_type in zip(arguments, types, strict=True)
            ]
            assert call(*given) == code, row

    return make
