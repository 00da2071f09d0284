# SPDX-License-Identifier: Apache-2.0
"""Pairs of torch and torch_npu: those that cannot run are refused in one sentence."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from ascend_rt._startup import torch_versions
from ascend_rt.errors import LibraryError

pytestmark = pytest.mark.simulator("independent")

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("torch", "torch_npu"),
    [
        ("2.7.1+cpu", "2.7.1.post11"),
        ("2.8.0", "2.8.0.post5"),
        ("2.10.0+cpu", "2.10.0.post4"),
        ("2.12.1", "2.12.0.post3"),
        ("2.13.0+cpu", "2.13.0"),
        ("2.14.1", "2.14.0"),
    ],
)
def test_a_pair_of_one_release_is_supported(torch: str, torch_npu: str) -> None:
    torch_versions.check_pair(torch, torch_npu)


@pytest.mark.parametrize("torch_npu", ["2.1.0.post17", "2.6.0.post5", "2.11.0", "3.0.0"])
def test_another_release_is_refused_with_those_that_are_supported(torch_npu: str) -> None:
    with pytest.raises(LibraryError) as raised:
        torch_versions.check_pair(torch_npu, torch_npu)
    text = str(raised.value)
    assert text.startswith(f"torch_npu {torch_npu} does not run on the simulator")
    assert all(release in text for release in torch_versions.SUPPORTED)


@pytest.mark.parametrize(("torch", "torch_npu"), [("2.15.0", "2.14.0"), ("2.1.0", "2.10.0"), ("2.13.0+cpu", "2.12.0")])
def test_a_torch_of_another_release_is_refused(torch: str, torch_npu: str) -> None:
    with pytest.raises(LibraryError, match=r"does not belong to torch_npu") as raised:
        torch_versions.check_pair(torch, torch_npu)
    assert "\n" not in str(raised.value)


def test_the_tool_and_the_guide_have_each_release() -> None:
    spec = importlib.util.spec_from_file_location("torch_versions", ROOT / "tools" / "torch_versions.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tuple(tool.PAIRS) == torch_versions.SUPPORTED
    guide = (ROOT / "docs" / "torch.md").read_text(encoding="utf-8")
    for torch, torch_npu in tool.PAIRS.values():
        torch_versions.check_pair(torch, torch_npu)
        assert f"| {torch} | {torch_npu} |" in guide
