# SPDX-License-Identifier: Apache-2.0
"""Processes of their own, for what is process-wide or depends on the environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CALLS = Path(__file__).with_name("calls.py")
HERE = CALLS.parent  # not where Python would find the source tree instead of the installed package

_START = """
import json, os, sys, threading
from ascend_rt import _driver
lib, ffi = _driver.lib, _driver.ffi

def told(value):
    sys.stdout.write(json.dumps(value))

def text():
    found = lib.aclGetRecentErrMsg()
    return None if found == ffi.NULL else ffi.string(found).decode()

"""


def run(command: list[str], standard_input: str, environment: dict[str, object]) -> Any:
    """Run a program with additional environment variables and return what it printed as JSON."""
    done = subprocess.run(
        command,
        input=standard_input,
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=HERE,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="session")
def calls() -> Callable[..., list[Any]]:
    """Return a function that makes calls in a new process and returns ``[code, outputs]`` of each; see calls.py."""

    def make(rows: list[list[Any]], **environment: object) -> list[Any]:
        return list(run([sys.executable, str(CALLS)], json.dumps(rows), environment))

    return make


@pytest.fixture(scope="session")
def child() -> Callable[..., Any]:
    """Return a function that runs a script, which has ``lib`` and ``ffi``, and returns what it has ``told()``."""

    def make(script: str, *arguments: object, **environment: object) -> Any:
        program = _START + textwrap.dedent(script)
        return run([sys.executable, "-c", program, *map(str, arguments)], "", environment)

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


# A second process that does what it is told, line by line, and answers each line.
OTHER = """
import sys
from ascend_rt import Device, Stream, ffi, lib
Device(0).set_current()
stream = Stream()
raw = ffi.cast("aclrtStream", stream.handle)
objects = {}
for line in sys.stdin:
    print(eval(line), flush=True)
"""


class Process:
    """The second process."""

    def __init__(self) -> None:
        self.child = subprocess.Popen([sys.executable, "-c", OTHER], stdin=-1, stdout=-1, text=True, cwd=HERE)

    def __call__(self, expression: str) -> str:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(expression + "\n")
        self.child.stdin.flush()
        return self.child.stdout.readline().strip()


@pytest.fixture
def process() -> Iterator[Process]:
    """Return a second process that has set device 0."""
    other = Process()
    yield other
    assert other.child.stdin is not None
    other.child.stdin.close()
    assert other.child.wait(timeout=60) == 0


@pytest.fixture
def no_shared_memory_is_left() -> Iterator[None]:
    """Look at the shared memory that there was before the test and is after it."""
    before = set(Path("/dev/shm").glob("ascend_rt-*")) if Path("/dev/shm").exists() else set()
    yield
    if Path("/dev/shm").exists():
        assert set(Path("/dev/shm").glob("ascend_rt-*")) == before
