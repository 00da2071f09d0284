# SPDX-License-Identifier: Apache-2.0
"""Forked children of programs with PyTorch's adapter: they use the device, or are refused, and never hang."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.simulator("independent")

SOURCES = Path(__file__).resolve().parents[2] / "ascend_rt" / "torch" / "c"


@pytest.mark.parametrize("what", ["unused", "counted", "first_use", "storm"])
def test_a_child_ends(program: Callable[..., Any], what: str) -> None:
    assert program("forks.py", what) == "forks"


def test_a_child_compiles_after_its_parent(program: Callable[..., Any], tmp_path: Path) -> None:
    assert program("forks_while_compiling.py", str(tmp_path)) == "compiled"


def test_only_one_lock_is_taken_and_forks_take_it() -> None:
    lock = re.compile(r"(?<!<)std::(?:recursive_|timed_|shared_)*mutex\b|std::(?:once_flag|condition_variable)")
    found = [source.name for source in sorted(SOURCES.iterdir()) if lock.search(source.read_text(encoding="utf-8"))]
    assert found == ["forks.cpp", "forks.h"]


def test_no_static_variable_has_a_guard() -> None:
    code = "import torch_npu; from ascend_rt.torch import _library; print(_library.load()._name)"
    command = [sys.executable, "-m", "ascend_rt", "run", "--backend", "sim", "-c", code]
    library = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    symbols = subprocess.run(["nm", "--demangle", library], capture_output=True, text=True, check=True).stdout
    assert "ascend_rt::held_in_forks" in symbols
    assert re.findall("guard variable for .*ascend_rt::.*", symbols) == []
