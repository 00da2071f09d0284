# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt verify --compare``: the differences between a card and the simulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.verification import Verify

from ascend_rt_measure.verify import comparison
from ascend_rt_measure.verify.cases import Call, Group
from ascend_rt_measure.verify.report import Played, Report, product_of

pytestmark = pytest.mark.simulator("independent")


@pytest.mark.parametrize(
    ("code", "outputs", "answer", "agrees"),
    [
        (0, None, [0, [5]], True),
        (0, None, [107000, []], False),
        (None, None, [107000, []], True),
        ("fails", None, [107000, []], True),
        ("fails", None, [0, []], False),
        ("fails", None, ["missing", []], False),
        (0, [5], [0, [5]], True),
        (0, [5], [0, [6]], False),
        (0, [5], [0, []], False),
        (0, [None], [0, [6]], True),
        (0, [[1, None]], [0, [6]], True),
        (0, [[1, None]], [0, [0]], False),
        (0, [[None, 5]], [0, [6]], False),
        (0, [[1, 6], 2], [0, [6, 2]], True),
        (0, ["nan"], [0, ["nan"]], True),
        (0, [0], [0, ["nan"]], False),
        (0, [[0, None]], [0, ["nan"]], False),
        (0, [[0, None]], [0, ["inf"]], True),
        (0, [[0, None]], [0, ["-inf"]], False),
        (0, [None], [0, ["nan"]], True),
    ],
)
def test_what_agrees(code: Any, outputs: Any, answer: Any, agrees: bool) -> None:
    assert Call("aclrtX", "", [], code, outputs).agrees(answer) == agrees


@pytest.mark.parametrize(
    ("soc", "product"),
    [
        ("Ascend910B1", "910B"),
        ("Ascend910B4-1", "910B"),
        ("Ascend910B2C", "910B"),
        ("Ascend910B", "910"),
        ("Ascend910A", "910"),
        ("Ascend910ProA", "910"),
        ("Ascend910_9391", "910C"),
        ("Ascend310B4", "310B"),
        ("Ascend310P3", "310P"),
        ("Ascend950PR", "950"),
        ("Ascend1", None),
        ("", None),
    ],
)
def test_products_of_chips(soc: str, product: str | None) -> None:
    assert product_of(soc) == product


@pytest.mark.full
def test_a_release_that_the_simulator_does_not_know(verify: Verify, report: Any, tmp_path: Path) -> None:
    verify("--only", "g02_init,fact_4.6")
    content = report()
    content["library"]["cann"] = "8.5.0_T3"
    (tmp_path / "odd.json").write_text(json.dumps(content), encoding="utf-8")
    ended = verify("--compare", "odd.json")
    assert ended.returncode == 0, ended.stdout
    assert "The simulator has no release 8.5.0_T3" in ended.stdout


def test_a_chip_that_the_simulator_does_not_know(verify: Verify, report: Any, tmp_path: Path) -> None:
    verify("--only", "g02_init")
    content = report()
    content["library"]["soc"] = "Ascend1040"
    (tmp_path / "odd.json").write_text(json.dumps(content), encoding="utf-8")
    ended = verify("--compare", "odd.json")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "no product for the chip Ascend1040" in ended.stderr


def test_groups_of_another_version_are_named_and_not_compared(verify: Verify, report: Any, tmp_path: Path) -> None:
    verify("--only", "g02_init,fact_4.6")
    content = report()
    content["groups"]["g02_init"]["fingerprint"] = "other calls"
    content["groups"]["g99_new"] = content["groups"]["g02_init"]
    (tmp_path / "old.json").write_text(json.dumps(content), encoding="utf-8")
    ended = verify("--compare", "old.json")
    assert ended.returncode == 1
    for name in ("g02_init", "g99_new"):
        assert f"{name}: played by another version of ascend_rt, not compared" in ended.stdout
    assert "fact_4.6" not in ended.stdout


def test_calls_without_a_known_code_are_not_compared(monkeypatch: Any) -> None:
    group = Group("g", "recordings", (Call("aclrtX", "", [], None), Call("aclrtX", "", [], 0)))
    monkeypatch.setattr("ascend_rt_measure.verify.report.groups", lambda: {"g": group})
    sides = [
        Report(
            {"soc": "Ascend910B1", "missing": []},
            1,
            groups={"g": Played("done", [[code, []], [code, []]], group.fingerprint())},
        )
        for code in (0, 107000)
    ]
    assert [it.card for it in comparison.differences(*sides)] == [[0, []]]
