# SPDX-License-Identifier: Apache-2.0
"""The programs in ``examples`` run, and print what they are there to show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# Script, its arguments, and what its output has, in this order.
PROGRAMS: list[tuple[str, list[str], list[str]]] = [
    (
        "allocator_subclass.py",
        [],
        [
            "Statistics(cut=2, reused=2, in_use=0, in_use_peak=131072)\n",
            "exhausted: MemoryError: 1048576 bytes do not fit behind the 135168 of 1048576 that are cut; "
            "the operator failed with 207001\n",
            f"wrong: TypeError: Wrong.allocate returned {bytearray(16)!r}, which is no Buffer; "
            "the operator failed with 207001\n",
        ],
    ),
]


@pytest.mark.simulator("the programs fail and measure on the simulator")
@pytest.mark.parametrize(("script", "arguments", "expected"), PROGRAMS, ids=[script for script, _, _ in PROGRAMS])
def test_the_example_shows_what_it_is_for(
    script: str, arguments: list[str], expected: list[str], tmp_path: Path
) -> None:
    command = [sys.executable, EXAMPLES / script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    rest = done.stdout
    for text in expected:
        _, found, rest = rest.partition(text)
        assert found, f"{text!r} is not in what is left of {done.stdout!r}"


def test_every_example_is_in_the_table() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {script for script, _, _ in PROGRAMS}
