# SPDX-License-Identifier: Apache-2.0
"""The README's example has correct types, for mypy and for pyright, in every supported version of Python."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """Return the README's first example in Python."""
    found = re.search(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert found is not None
    path = tmp_path / "example.py"
    path.write_text(found[1], encoding="utf-8")
    return path


@pytest.mark.full
@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
@pytest.mark.parametrize(
    ("checker", "options"),
    [
        ("mypy", ["--strict", "--python-version"]),
        ("pyright", ["--warnings", "--pythonpath", sys.executable, "--pythonversion"]),
    ],
    ids=["mypy", "pyright"],
)
def test_the_example_has_correct_types(example: Path, checker: str, options: list[str], version: str) -> None:
    if find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed (the extra dev)")
    if subprocess.run([sys.executable, "-m", checker, "--version"], capture_output=True, check=False).returncode:
        pytest.skip(f"{checker} does not start; that of PyPI fetches its larger part at its first use")
    command = [sys.executable, "-m", checker, *options, version, example.name]
    done = subprocess.run(command, capture_output=True, text=True, cwd=example.parent, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
