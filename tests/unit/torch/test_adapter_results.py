# SPDX-License-Identifier: Apache-2.0
"""The tool that runs the tests of PyTorch's adapter: how it reads and compares results."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.simulator("independent")

ROOT = Path(__file__).resolve().parents[3]

REPORT = """
<testsuites><testsuite>
  <testcase classname="npu.test_stream.TestStream" name="test_a"/>
  <testcase classname="npu.test_stream.TestStream" name="test_b"><failure message="ValueError: no&#10;more"/></testcase>
  <testcase classname="npu.test_stream.TestStream" name="test_c"><error message="failed on setup"/></testcase>
  <testcase classname="npu.test_stream.TestStream" name="test_d"><skipped message="only on ARM"/></testcase>
</testsuite></testsuites>
"""
FOUND = {
    "TestStream::test_a": "passed",
    "TestStream::test_b": "failed: ValueError: no",
    "TestStream::test_c": "failed: failed on setup",
    "TestStream::test_d": "skipped: only on ARM",
}


@pytest.fixture
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("adapter_tests", ROOT / "tools" / "adapter_tests.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_results_are_read(tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT, encoding="utf-8")
    assert dict(tool.outcomes(tmp_path / "report.xml")) == FOUND


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        ({}, []),
        ({"TestStream::test_b": "failed: for a reason that somebody wrote down"}, []),
        ({"TestStream::test_a": "failed: x"}, ["TestStream::test_a: passed; recorded: failed: x"]),
        ({"TestStream::test_b": "passed"}, ["TestStream::test_b: failed: ValueError: no; recorded: passed"]),
        ({"TestStream::test_e": "passed"}, ["TestStream::test_e: not run; recorded: passed"]),
    ],
)
def test_results_are_compared(tool: ModuleType, changed: dict[str, str], reported: list[str]) -> None:
    assert list(tool.differences(FOUND | changed, FOUND)) == reported


def test_what_is_recorded_gives_a_reason_for_all_that_does_not_pass() -> None:
    data = json.loads((ROOT / "tests" / "data" / "torch_npu_tests.json").read_text(encoding="utf-8"))
    results = {f"{name}::{test}": outcome for name, tests in data["files"].items() for test, outcome in tests.items()}
    assert len(results) > 100
    without = [test for test, outcome in results.items() if outcome != "passed" and not outcome.partition(": ")[2]]
    assert without == []
    assert {outcome.partition(":")[0] for outcome in results.values()} <= {"passed", "failed", "skipped", "left out"}
