# SPDX-License-Identifier: Apache-2.0
"""Processes of their own, for what is process-wide or depends on the environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CALLS = Path(__file__).with_name("calls.py")

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
        cwd=CALLS.parent,  # not where Python would find the source tree instead of the installed package
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
