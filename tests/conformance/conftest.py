# SPDX-License-Identifier: Apache-2.0
"""Programs in a process of their own, for what a process does only once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

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

Child = Callable[..., Any]


@pytest.fixture(scope="session")
def child() -> Child:
    """Return a function that runs a script, which has ``lib`` and ``ffi``, and returns what it has ``told()``."""

    def run(script: str, *arguments: object, **environment: object) -> Any:
        done = subprocess.run(
            [sys.executable, "-c", _START + textwrap.dedent(script), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=os.path.dirname(__file__),
            env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
