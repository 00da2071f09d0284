# SPDX-License-Identifier: Apache-2.0
"""The first screen, in the README and on the site: its example and output, commands, links and figures are right."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from readme_renderer import markdown

from ascend_rt_measure.bench.results import read

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
INDEX = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
OURS = re.compile(r"https://(?:github|raw\.githubusercontent)\.com/ascend-rt/ascend_rt/(?:(?:blob|tree)/)?main/([^#]+)")

independent = pytest.mark.simulator("independent")


def first_screen(page: str, end: str) -> str:
    """Return what comes before a heading, without the targets of links and pictures."""
    return re.sub(r"\]\([^)]*\)|\]\[[^\]]*\]", "]", page.partition(f"## {end}\n")[0])


def test_the_example_prints_what_is_shown(backend: str, tmp_path: Path) -> None:
    ((program, output),) = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    (tmp_path / "example.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=tmp_path,
        env={**os.environ, "ASCEND_RT_BACKEND": backend},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, output), done.stderr


@independent
def test_the_site_begins_with_the_same_screen() -> None:
    assert first_screen(INDEX, "Read on") == first_screen(README, "Which library is used")


@independent
def test_ci_runs_the_first_two_commands() -> None:
    commands = re.findall(r"^```sh\n(?:# .*\n)?(.*)\n```", README, re.MULTILINE)[:3]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert all(f"    {command}\n" in ci for command in commands[:2])
    assert commands[2] == ". .venv/bin/activate"


@independent
def test_an_index_renders_it_with_links_that_lead_somewhere() -> None:
    page = markdown.render(README)
    assert page is not None
    targets = re.findall(r'(?:href|src)="([^"]*)"', page)
    assert len(targets) > 30
    assert [target for target in targets if "://" not in target and not target.startswith("#")] == []
    assert "][" not in re.sub(r"<(pre|code).*?</\1>", "", page, flags=re.DOTALL)  # every reference has a target
    for target in targets:
        if ours := OURS.match(target):
            path = ROOT / ours[1]
            assert path.is_dir() if "/tree/" in target else path.is_file(), target


@independent
def test_the_description_promises_what_was_measured() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^description = ".* to (\d+) ns on top of a C call', pyproject, re.MULTILINE)
    assert found is not None
    results = read(ROOT / "docs" / "performance.json")
    for call in ("event_record", "stream_wait_event", "event_query_complete", "event_synchronize_complete"):
        c, facade = results.median("c", call), results.median("facade", call)
        assert c is not None
        assert facade is not None
        assert (facade - c) * 1e9 <= int(found[1])
