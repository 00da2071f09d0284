# SPDX-License-Identifier: Apache-2.0
"""Processes of their own, for what is process-wide or depends on the environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CALLS = Path(__file__).with_name("calls.py")


def run(command: list[str], standard_input: str, environment: dict[str, str]) -> str:
    """Run a program with additional environment variables and return what it printed."""
    done = subprocess.run(
        command,
        input=standard_input,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def calls() -> Callable[..., list[Any]]:
    """Return a function that makes calls in a new process and returns ``[code, outputs]`` of each; see calls.py."""

    def make(rows: list[list[Any]], **environment: str) -> list[Any]:
        printed = run([sys.executable, str(CALLS)], json.dumps(rows), environment)
        return list(json.loads(printed))

    return make


@pytest.fixture
def child() -> Callable[..., Any]:
    """Return a function that runs Python code in a new process and returns what it printed as JSON.

    The code finds ``lib`` and ``ffi``.
    """

    def make(code: str, **environment: str) -> Any:
        start = "import json, threading\nfrom ascend_rt import _driver\nlib, ffi = _driver.lib, _driver.ffi\n"
        return json.loads(run([sys.executable, "-c", start + code], "", environment))

    return make
