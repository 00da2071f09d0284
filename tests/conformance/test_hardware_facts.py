# SPDX-License-Identifier: Apache-2.0
"""What runs on devices have shown (docs/semantics/hardware_seen.md), tried on the simulator.

``tests/data/hardware_facts.json`` has the facts, one row in a line:

- ``fact``: its number in hardware_seen.md, ``grade`` and ``source``, the thread that shows it, as there, ``says``;
- ``products`` that it was seen on, the ``release`` if it depends on that, ``environment``: more variables;
- ``calls``: ``[function, arguments, code]`` as calls.py takes them, and maybe a list of what the outputs are: a number,
  the lowest and the highest that it may be, or null. The code "fails" is any but 0, where the fact does not show which;
- instead of calls ``tried_by``: a test of what calls of one process cannot try, or ``untried``: why it is not tried.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = json.loads((ROOT / "tests" / "data" / "hardware_facts.json").read_text(encoding="utf-8"))
PAGE = ROOT / "docs" / "semantics" / "hardware_seen.md"
TRIED = [(row, product) for row in ROWS if "calls" in row for product in row["products"]]


def agrees(value: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return bool(expected[0] <= value <= expected[1])
    return expected is None or bool(value == expected)


@pytest.mark.parametrize(("row", "product"), TRIED, ids=[f"{row['fact']}-{product}" for row, product in TRIED])
@pytest.mark.simulator("devices have shown the facts; most need faults on demand")
def test_a_fact(row: dict[str, Any], product: str, calls: Callable[..., list[Any]]) -> None:
    environment = {"ASCEND_RT_SIM_PRODUCT": product, **row.get("environment", {})}
    if "release" in row:
        environment["ASCEND_RT_SIM_CANN_VERSION"] = row["release"]
    answers = calls([[function, *arguments] for function, arguments, *_ in row["calls"]], **environment)
    differences = []
    for (function, arguments, expected, *outputs), (code, values) in zip(row["calls"], answers, strict=True):
        is_right = code != 0 if expected == "fails" else code == expected
        for wanted in outputs:
            is_right = is_right and len(values) == len(wanted) and all(map(agrees, values, wanted))
        if not is_right:
            differences.append(f"{function}{tuple(arguments)}: {code} {values}, not {expected} {outputs}")
    assert differences == []


def test_every_fact_has_a_row() -> None:
    facts = re.findall(r"^\| (\d+\.\d+) \|", PAGE.read_text(encoding="utf-8").split("## 7.")[0], re.MULTILINE)
    assert {row["fact"] for row in ROWS} == set(facts)
    assert len(facts) == len(set(facts))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["fact"])
def test_a_row_says_what_is_tried_or_why_not(row: dict[str, Any]) -> None:
    assert {"fact", "grade", "source", "says"} <= set(row)
    assert len({"calls", "tried_by", "untried"} & set(row)) == 1
    assert row["grade"] in ("L", "M", "R")
    assert row["source"] in PAGE.read_text(encoding="utf-8")
    if "tried_by" in row:
        path, _, test = row["tried_by"].partition("::")
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8")
