# SPDX-License-Identifier: Apache-2.0
"""Operators of PyTorch's adapter, against their documented formulas in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.simulator("independent")

Program = Callable[..., Any]

# The programs, with the operators that cannot be captured: how much work there is, is in the data.
PROGRAMS: dict[str, list[str]] = {
    "quantized": ["npu_grouped_matmul"],
    "infer_attention": [],
    "caches": [],
    "routing": [],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_formulas(program: Program, name: str) -> None:
    assert program(f"{name}.py") == name


@pytest.mark.parametrize("name", PROGRAMS)
def test_formulas_in_graphs(program: Program, name: str) -> None:
    assert program(f"{name}.py", "captured") == PROGRAMS[name]


def test_formats_are_tags(program: Program) -> None:
    assert program("formats.py") == "formats"
