# SPDX-License-Identifier: Apache-2.0
"""The steps of CI: each has a name, can be run alone, and is a job of the workflow."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.simulator("independent")

ROOT = Path(__file__).resolve().parents[3]


def ci(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / ".ci" / "run", *arguments], capture_output=True, text=True, check=False, timeout=60)


def test_the_workflow_has_a_job_for_each_step() -> None:
    listed = ci("--list")
    assert listed.returncode == 0, listed.stderr
    steps = [line.split()[0] for line in listed.stdout.splitlines()]
    assert len(steps) > 10
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    (jobs,) = re.findall(r"^ +step: \[(.*)\]$", workflow, re.MULTILINE)
    assert jobs.split(", ") == steps


def test_an_unknown_step_is_named_before_anything_is_done() -> None:
    refused = ci("lint", "nothing")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "no such step: nothing" in refused.stderr


def test_documents_name_steps_that_exist() -> None:
    steps = {line.split()[0] for line in ci("--list").stdout.splitlines()}
    for path in (ROOT / "CONTRIBUTING.md", ROOT / ".pre-commit-config.yaml"):
        for named in re.findall(r"\.ci/run ([a-z ]+)`", path.read_text(encoding="utf-8")):
            assert set(named.split()) <= steps, named
