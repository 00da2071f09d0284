# SPDX-License-Identifier: Apache-2.0
"""Programs with PyTorch's adapter, each in a separate process that ``ascend-rt run`` starts on the simulator."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from ascend_rt._startup.install_hint import install_hint

PROGRAMS = Path(__file__).resolve().parent / "programs"


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Start a worker for each processor: the programs compute all the time, some with several processes."""
    from support import processors

    return processors.workers(for_each_two=2)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if not _is_installed():
        pytest.skip(f"PyTorch's adapter is not installed: {install_hint('torch-test')}")
    if item.config.getoption("--backend") != "sim":
        pytest.skip("the programs are for the simulator")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Compile the operators before the first test, whose time limit is for the test."""
    if any(item.path.is_relative_to(PROGRAMS.parent) for item in session.items) and _is_installed():
        command = [sys.executable, "-m", "ascend_rt", "run", "--backend", "sim", "-c", "import torch_npu"]
        subprocess.run(command, capture_output=True, check=False)  # if it fails, so does every test, and says why


def _is_installed() -> bool:
    try:
        metadata.version("torch_npu")
    except metadata.PackageNotFoundError:
        return False
    return True


@pytest.fixture
def require() -> Callable[..., None]:
    """Return a function that skips the test if a package is missing."""

    def check(*packages: str) -> None:
        for name in packages:
            if importlib.util.find_spec(name) is None:  # imported, torch would load the adapter without a simulator
                pytest.skip(f"{name} is not installed; the extra torch-test has all but lightning")

    return check


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Any]:
    """Return a function that runs a program of the directory and returns the JSON that it prints as its answer.

    The program works in a temporary directory: an operator that fails leaves files there, as on hardware.
    """

    def run(name: str, *arguments: str, code: int = 0, **environment: str) -> Any:
        command = [sys.executable, "-m", "ascend_rt", "run", "--backend", "sim", str(PROGRAMS / name), *arguments]
        # Threads of OpenMP wait for each other in a loop, which takes all the time of a machine that has other work.
        env = {"OMP_NUM_THREADS": "1", **os.environ, **environment}
        done = subprocess.run(command, capture_output=True, text=True, timeout=170, env=env, cwd=tmp_path, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        [answer] = re.findall("^answer: (.*)$", done.stdout, re.MULTILINE)
        return json.loads(answer)

    return run
