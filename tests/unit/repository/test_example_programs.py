# SPDX-License-Identifier: Apache-2.0
"""The programs in ``examples`` run, and print what they are there to show."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.programs_in_forks import Ended, Programs

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
Run = Callable[[str], Ended]

# A program with its arguments, and what its output has, in this order.
PROGRAMS = {
    "allocator_subclass.py": [
        "Statistics(cut=2, reused=2, in_use=0, in_use_peak=131072)\n",
        "exhausted: MemoryError: 1048576 bytes do not fit behind the 135168 of 1048576 that are cut; "
        "the operator failed with 207001\n",
        f"wrong: TypeError: Wrong.allocate must return a Buffer, but returned {bytearray(16)!r}; "
        "the operator failed with 207001\n",
    ],
    "faults_and_recovery.py --bytes 4096 --failures 3": [
        "attempt 3: ACL_ERROR_RT_AICORE_EXCEPTION, task ",
        "attempt 4: done\n",
        "received 3 failed tasks\n",
        "closed after ACL_ERROR_RT_AICORE_EXCEPTION\n",
        " bytes do not fit: ",
        "allocated ",
        "lost: ACL_ERROR_RT_LOST_HEARTBEAT\n",
        "the device works again\n",
    ],
    "latency_plot.py --rounds 200 --text": ["p50", "p99.9", "record", "wait", "query", "\nrecord\n", " us | #"],
    "pipeline.py --chunks 7 --numbers 1000": [
        "7 chunks of 4000 bytes went through 3 streams\n",
        "stages ran at the same time on average\n",
        "every number is twice what was sent\n",
    ],
    "threads_and_devices.py --devices 3 --pieces 20 --bytes 4096": [
        "device 0: ",
        "device 2: ",
        "20 pieces of 4096 bytes came back unchanged\n",
    ],
    "two_processes.py --chunks 9 --chunk-mib 1 --slots 2": [
        "9 chunks of 1 MiB arrived unchanged\n9 MiB in ",
    ],
    "two_processes.py --chunks 3 --chunk-mib 1 --slots 4 --consumer-device 1": ["3 chunks of 1 MiB arrived"],
}


@pytest.fixture
def run(programs: Programs, tmp_path: Path) -> Run:
    """Return a function that runs one of the programs with its arguments."""

    def run_example(command: str) -> Ended:
        name, *arguments = command.split()
        return programs.run(EXAMPLES / name, *arguments, directory=tmp_path)

    return run_example


@pytest.mark.simulator("faults", "the programs fail and measure on the simulator")
@pytest.mark.parametrize(("command", "expected"), PROGRAMS.items(), ids=PROGRAMS)
def test_the_example_shows_what_it_is_for(command: str, expected: list[str], tmp_path: Path, run: Run) -> None:
    done = run(command)

    assert (done.returncode, done.stderr) == (0, "")
    rest = done.stdout
    for text in expected:
        _, found, rest = rest.partition(text)
        assert found, f"{text!r} is not in what is left of {done.stdout!r}"


@pytest.mark.simulator("products")
def test_two_processes_of_which_one_fails(tmp_path: Path, run: Run) -> None:
    done = run("two_processes.py --chunks 1 --consumer-device 99")
    assert done.returncode == 1
    assert done.stderr.endswith("the consumer ended early\n")


def test_the_chart_is_drawn(tmp_path: Path, run: Run) -> None:
    pytest.importorskip("matplotlib")
    done = run("latency_plot.py --rounds 200 --plot chart.png")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "chart.png").stat().st_size > 0


def test_every_example_is_in_the_table() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {command.split()[0] for command in PROGRAMS}


def test_the_readme_lists_every_example() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| \[([^\]]+)\]", text, re.MULTILINE))
    assert listed == {path.name for path in EXAMPLES.iterdir() if path.suffix == ".py" or path.is_dir()}


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_help_describes_the_example(name: str, tmp_path: Path, run: Run) -> None:
    done = run(f"{name} --help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {name}")
