# SPDX-License-Identifier: Apache-2.0
"""Facts that runs on devices have shown (docs/semantics/hardware_seen.md), checked on the simulator.

The facts and the form of their rows are those of ``measure/ascend_rt_measure/verify/cases.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ascend_rt_measure.verify.cases import facts, groups

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "semantics" / "hardware_seen.md"
TRIED = [
    pytest.param(group, product, id=f"{group.name}-{product}", marks=[pytest.mark.simulator(kind), *marks])
    for group in groups().values()
    if group.section == "facts"
    for kind in ["held tasks" if group.needs_simulator() else "products"]
    for product, *marks in [(group.products[0],), *((other, pytest.mark.full) for other in group.products[1:])]
]


@pytest.mark.parametrize(("group", "product"), TRIED)
def test_a_fact(group: Any, product: str, calls: Callable[..., list[Any]]) -> None:
    environment = {"ASCEND_RT_SIM_PRODUCT": product, **group.environment}
    if group.release:
        environment["ASCEND_RT_SIM_CANN_VERSION"] = group.release
    answers = calls(group.rows(), **environment)
    differences = [
        f"{call.function}{call.arguments}: {answer}, not {call.code} {call.outputs or ''}"
        for call, answer in zip(group.calls, answers, strict=True)
        if not call.agrees(answer)
    ]
    assert differences == []


def test_every_fact_has_a_row() -> None:
    numbers = re.findall(r"^\| (\d+\.\d+) \|", PAGE.read_text(encoding="utf-8").split("## 7.")[0], re.MULTILINE)
    assert {row["fact"] for row in facts()} == set(numbers)
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("row", facts(), ids=lambda row: row["fact"])
def test_a_row_says_what_is_tried_or_why_not(row: dict[str, Any]) -> None:
    assert {"fact", "grade", "source", "says"} <= set(row)
    assert len({"calls", "tried_by", "untried"} & set(row)) == 1
    assert row["grade"] in ("L", "M", "R")
    assert row["source"] in PAGE.read_text(encoding="utf-8")
    if "tried_by" in row:
        path, _, test = row["tried_by"].partition("::")
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8")
