# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt check --leaks``: objects of functions that are open at the end, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.simulator("memory check")

PRELUDE = """\
import atexit, sys
from ascend_rt import Buffer, Device, Event, PinnedBuffer, Stream
Device(0).set_current()
kept = []
class Model:
    def __init__(self):
        self.stream = Stream()  # attribute
"""

Leaks = Callable[..., list[str]]


@pytest.fixture
def leaks(run, tmp_path: Path) -> Leaks:
    """Return a function that runs a program and returns its leaks; the mark of a line replaces its number."""

    def leaks_of(text: str, status: int = 0) -> list[str]:
        script = tmp_path / "script.py"
        source = f"{PRELUDE}{text}"
        script.write_text(source, encoding="utf-8")
        arguments = ("--leaks", "--no-races", "--no-deadlocks", "--backend", "sim")
        done = run("-m", "ascend_rt", "check", *arguments, script)
        lines = [line for line in done.stderr.splitlines() if line.startswith("leak: ")]
        assert done.returncode == (status or bool(lines)), done.stderr
        places = [line for line in done.stderr.splitlines() if line.startswith("  at ")]
        marks = [source.splitlines()[int(line.split(":")[1].split()[0]) - 1].rpartition("# ")[2] for line in places]
        return [f"{line[6:].partition(' is open')[0]} {mark}" for line, mark in zip(lines, marks, strict=True)]

    return leaks_of


@pytest.mark.parametrize(
    "text",
    [
        "stream = Stream()",
        "kept += [Stream() for _ in range(3)]",
        "model = Model()",
        "def main():\n    memory, event = Buffer(64), Event()\nmain()",
        "def main():\n    memory = Buffer(64)\n    memory.close()\n    kept.append(memory)\nmain()",
        "def main():\n    kept.append(Stream())\natexit.register(lambda: kept[0].close())\nmain()",
        "def main():\n    kept.append(PinnedBuffer(64))\nmain()",
    ],
    ids=["global", "module", "attribute", "discarded", "closed", "closed at exit", "array"],
)
def test_what_is_no_leak(leaks: Leaks, text: str) -> None:
    assert leaks(text) == []


def test_what_functions_leave_open_is_a_leak(leaks: Leaks) -> None:
    found = leaks("""
def step(size):
    kept.append(Buffer(size))  # buffer
def work():
    def inner(stream=Stream()): return stream  # stream
    kept.append(inner)
for _ in range(3):
    step(64)
work()
""")
    assert found == ["Buffer of 64 bytes buffer", "Stream stream"]


def test_a_program_that_an_exception_ends_has_no_leaks(leaks: Leaks) -> None:
    assert leaks("def main():\n    kept.append(Buffer(64))\n    raise ValueError\nmain()", status=2) == []


def test_without_the_option_none_is_reported(run, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"{PRELUDE}def main(): kept.append(Buffer(64))\nmain()\n", encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--memory", "--no-races", "--no-deadlocks", "--backend", "sim", script)
    assert (done.returncode, done.stderr) == (0, "no findings in 1 process\n")


def test_the_report_names_the_check(run, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(PRELUDE, encoding="utf-8")
    for others, names in (((), ["deadlocks", "leaks", "races"]), (("--no-races", "--no-deadlocks"), ["leaks"])):
        done = run("-m", "ascend_rt", "check", "--leaks", *others, "--backend", "sim", "--format", "json", "script.py")
        report = json.loads(done.stdout)
        assert (report["checks"], report["notes"], report["processes"]) == (names, [], 1)
