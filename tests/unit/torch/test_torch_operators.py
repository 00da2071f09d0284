# SPDX-License-Identifier: Apache-2.0
"""The guide's table of PyTorch's operators is what was recorded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.simulator("independent")

TOOL = Path(__file__).resolve().parents[3] / "tools" / "torch_operators.py"


def test_the_table_is_fresh() -> None:
    assert subprocess.run([sys.executable, TOOL, "table", "--check"], check=False).returncode == 0
