# SPDX-License-Identifier: Apache-2.0
"""The programs in ``examples`` run, check what they have done, and say so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# Arguments, and what is printed.
PROGRAMS = [
    (
        "two_processes.py --chunks 9 --chunk-mib 1 --slots 2",
        r"9 chunks of 1 MiB have arrived as they were sent\n9 MiB in ",
    ),
]


def run(command: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the examples with its arguments."""
    name, *arguments = command.split()
    program = [sys.executable, EXAMPLES / name, *arguments]
    return subprocess.run(program, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(("command", "printed"), PROGRAMS)
def test_a_program_does_what_it_shows(command: str, printed: str) -> None:
    done = run(command)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(printed, done.stdout)


@pytest.mark.simulator("the number of devices is known")
def test_two_processes_on_two_devices() -> None:
    done = run("two_processes.py --chunks 3 --chunk-mib 1 --slots 4 --consumer-device 1")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.simulator("the number of devices is known")
def test_two_processes_of_which_one_fails() -> None:
    done = run("two_processes.py --chunks 1 --consumer-device 99")
    assert done.returncode == 1
    assert done.stderr.endswith("the consumer has ended early\n")
