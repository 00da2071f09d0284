# SPDX-License-Identifier: Apache-2.0
"""The page about ``ascend-rt check``: its programs have the reports that it shows, and its changes silence them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from support.programs_in_forks import Ended

pytestmark = pytest.mark.simulator("race check")

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "check.md").read_text(encoding="utf-8")


class Example(NamedTuple):
    """A program, its report, and a change as lines that begin with a space, a minus or a plus; "" if there is none."""

    name: str
    program: str
    report: str
    change: str

    def changed(self) -> str:
        """Return the program with the change."""
        lines = self.change.splitlines(keepends=True)
        before, after = ("".join(it[1:] for it in lines if it[0] in (" ", sign)) for sign in "-+")
        assert self.program.count(before) == 1
        return self.program.replace(before, after)


def examples() -> list[Example]:
    blocks = r"^`(\w+\.py)`:\n\n```py(?:thon)?\n(.*?)^```\n\n```text\n(.*?)^```\n(.*?)(?=^#|\Z)"
    return [
        Example(name, program, report, "".join(re.findall(r"^```diff\n(.*?)^```", rest, re.DOTALL | re.MULTILINE)))
        for name, program, report, rest in re.findall(blocks, PAGE, re.DOTALL | re.MULTILINE)
    ]


EXAMPLES = {it.name.partition(".")[0]: it for it in examples()}


def without_threads(report: str) -> str:
    """Return a report with letters for the numbers of threads, which also change the widths of columns."""
    numbers = dict.fromkeys(re.findall(r"thread (\d+)", report))
    letters = {number: chr(ord("A") + index) for index, number in enumerate(numbers)}
    return re.sub(r"(?<=\S) {2,}", "  ", re.sub(r"thread (\d+)", lambda it: f"thread {letters[it[1]]}", report))


@pytest.fixture
def check(run: Callable[..., Ended], tmp_path: Path) -> Callable[[str, str], Ended]:
    """Return a function that runs a program under the check."""

    def run_checked(name: str, program: str) -> Ended:
        (tmp_path / name).write_text(program, encoding="utf-8")
        return run("-m", "ascend_rt", "check", "--backend", "sim", name)

    return run_checked


def test_the_page_has_three_races_and_a_deadlock() -> None:
    assert [it.report.partition(":")[0] for it in EXAMPLES.values()] == ["race", "race", "race", "deadlock"]
    assert [bool(it.change) for it in EXAMPLES.values()] == [True, True, True, False]


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_a_program_has_the_report_that_is_shown(check: Callable[[str, str], Ended], example: Example) -> None:
    done = check(example.name, example.program)
    assert (done.returncode, without_threads(done.stderr)) == (1, without_threads(example.report))


@pytest.mark.parametrize("name", [name for name, it in EXAMPLES.items() if it.change])
def test_the_change_that_is_shown_silences_the_report(check: Callable[[str, str], Ended], name: str) -> None:
    done = check(EXAMPLES[name].name, EXAMPLES[name].changed())
    assert (done.returncode, done.stderr.startswith("no findings in 1 process")) == (0, True), done.stderr
