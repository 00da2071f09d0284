# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt check`` of programs with PyTorch: races are found at the program's lines, and nothing else is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.torch_release import before

pytestmark = pytest.mark.simulator("independent")

PROGRAMS = Path(__file__).resolve().parent / "programs"
MARK = re.compile(r"# (?!noqa)(\w+): (.+)$")

Check = Callable[..., dict[str, Any]]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Return a function that checks a program, and returns the report."""

    def run(name: str, status: int, *arguments: str) -> dict[str, Any]:
        report = tmp_path / "report.json"
        options = ("--backend", "sim", "--format", "json", "--output", str(report))
        command = [sys.executable, "-m", "ascend_rt", "check", *options, name, *arguments]
        environment = {"OMP_NUM_THREADS": "1", **os.environ}
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=170, env=environment, cwd=PROGRAMS, check=False
        )
        assert done.returncode == status, done.stdout + done.stderr
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return found

    return run


def marked(name: str) -> dict[str, dict[str, int | str]]:
    """Return what the comments of a program say of each race: its lines, and its tensor."""
    races: dict[str, dict[str, int | str]] = defaultdict(dict)
    for number, line in enumerate((PROGRAMS / name).read_text(encoding="utf-8").splitlines(), 1):
        if found := MARK.search(line):
            for role in found[2].split("; "):
                key = role if role in ("first", "second") else "tensor"
                races[found[1]][key] = f"tensor {role} (made {name}:{number})" if key == "tensor" else number
    return dict(races)


def described(finding: dict[str, Any]) -> dict[str, int | str]:
    lines = {name: finding[name]["frames"][0]["line"] for name in ("first", "second")}
    return {**lines, "tensor": finding["memory"]["name"]}


@before(2, 12, "its allocator reports nothing, so that reports name the memory that it has from the runtime")
def test_races_are_found_at_the_lines_of_the_program(check: Check) -> None:
    found = check("races.py", 1)["findings"]
    expected = marked("races.py")
    assert len(expected) == 26
    races = {(it["first"], it["second"]): name for name, it in expected.items()}
    by_name = {races[described(it)["first"], described(it)["second"]]: it for it in found}
    assert {name: described(it) for name, it in by_name.items()} == expected
    assert by_name["twice"]["count"] == 1
    assert len(found) == len(expected)
    assert [name for name, it in by_name.items() if it["first"].get("backward")] == [
        "backward",
        "converted",
        "leaf",
        "views",
        "function",
        "again",
        "slice",
        "bucket",
    ]
    reused = [name for name, it in by_name.items() if it["fix"]["case"] == "record_stream"]
    assert reused == ["reuse", "other"]


@before(2, 12, "its allocator reports nothing")
def test_operators_whose_results_the_host_needs_race_where_they_are_called(check: Check) -> None:
    expected = marked("results.py")
    races = {(it["first"], it["second"]): name for name, it in expected.items()}
    found = [described(it) for it in check("results.py", 1)["findings"]]
    assert {races.get((it["first"], it["second"]), "another"): it for it in found} == expected
    assert len(found) == len(expected)


@before(2, 8, "its allocator of pinned memory cannot be watched")
def test_pinned_memory_is_named_that_was_allocated_before_the_first_use_of_a_device(check: Check) -> None:
    found = check("pinned_first.py", 1)["findings"]
    assert list(map(described, found)) == list(marked("pinned_first.py").values())


@before(2, 12, "its allocator reports nothing")
def test_a_backward_pass_has_no_places_of_an_earlier_one(check: Check) -> None:
    found = check("passes.py", 1)["findings"]
    lines = {it[access]["frames"][0]["line"] for it in found for access in ("first", "second")}
    marks = marked("passes.py")
    assert lines == {marks["made"]["first"], marks["function"]["second"]}


def test_the_same_operators_after_waits_have_no_findings(check: Check) -> None:
    assert check("results.py", 0, "waits")["findings"] == []


def test_programs_in_order_have_no_findings(check: Check) -> None:
    assert check("ordered.py", 0)["findings"] == []
