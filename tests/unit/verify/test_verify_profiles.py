# SPDX-License-Identifier: Apache-2.0
"""Profiles of cards that ``ascend-rt verify --profile`` makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.verification import Verify

from ascend_rt_measure.verify import card_profile
from ascend_rt_measure.verify.cases import Call, Group
from ascend_rt_measure.verify.report import Played, Report

pytestmark = pytest.mark.simulator("independent")


# Answers of card and simulator to successive calls of one function, and the rules that follow.
RULES = [
    ([(0, 0), (107000, 107000)], {}, []),
    ([(507899, 107000), (507899, 107000)], {"107000": 507899}, []),
    ([(507899, 107000), (107000, 107000)], {}, ["aclrtX"]),
    ([(507899, 107000), (207000, 107000)], {}, ["aclrtX"]),
    ([(207000, 0)], {"0": 207000}, []),
    ([(207000, 100000), (207000, 0)], {"100000": 207000, "0": 207000}, []),
    ([(0, 0), (207000, 0)], {}, ["aclrtX"]),
    ([(0, 107000)], {}, ["aclrtX"]),
    ([(207000, 0), (507899, 107000)], {"0": 207000}, []),  # behind a call that failed on one side, nothing counts
    ([("missing", 0), (507899, 107000)], {}, []),
    ([(None, 0)], {}, []),
    ([(-1, 107000)], {}, ["aclrtX"]),
    ([(2**31, 107000)], {}, ["aclrtX"]),
]


@pytest.mark.parametrize(("answers", "rules", "without"), RULES)
def test_rules_of_a_profile(monkeypatch: Any, answers: Any, rules: dict[str, int], without: list[str]) -> None:
    group = Group("g", "recordings", tuple(Call("aclrtX", "", [], 0) for _ in answers))
    monkeypatch.setattr("ascend_rt_measure.verify.report.groups", lambda: {"g": group})
    sides = [
        Report(
            {"soc": "Ascend910B1", "missing": []},
            1,
            groups={
                "g": Played(
                    "done", [[pair[side], []] for pair in answers if pair[side] is not None], group.fingerprint()
                )
            },
        )
        for side in (0, 1)
    ]
    assert card_profile.codes(*sides) == ({"aclrtX": rules} if rules else {}, without)


CARD = {
    "profile": {
        "format": 1,
        "product": "910B",
        "soc_name": "Ascend910B2C",
        "cann_version": "9.0.0",
        "limits": {"streams": 66, "queue_depth": 1024, "cube_cores": 20},
        "codes": {"aclrtHostRegister": {"507899": 107000}},
        "costs": {"record": {"ns": 1500}},
    }
}


@pytest.fixture
def of_card(verify: Verify, tmp_path: Path) -> None:
    """Make a report of a simulated card with different answers in one group."""
    (tmp_path / "card.json").write_text(json.dumps(CARD), encoding="utf-8")
    assert verify("--only", "fact_4.6", ASCEND_RT_SIM_PROFILE="card.json").returncode == 1


@pytest.mark.usefixtures("of_card")
def test_a_profile_in_the_report_itself(verify: Verify, report: Any) -> None:
    before = report()
    problem = verify("--only", "fact_4.6", ASCEND_RT_SIM_PROFILE="ascend_rt-report.json")
    assert "ascend-rt verify --compare ascend_rt-report.json --profile ascend_rt-report.json adds" in problem.stderr
    verify("--compare", "ascend_rt-report.json", "--profile", "./ascend_rt-report.json")
    added = report()
    assert added.pop("profile")["codes"] == CARD["profile"]["codes"]
    assert added == before
    again = verify("--only", "fact_4.6", "--output", "again.json", ASCEND_RT_SIM_PROFILE="ascend_rt-report.json")
    assert "fact_4.6: aclrtHostRegister" in again.stdout
    assert verify("--compare", "ascend_rt-report.json").returncode == 1


@pytest.mark.full
@pytest.mark.usefixtures("of_card")
def test_what_the_simulator_refuses_is_not_in_a_profile(verify: Verify, report: Any, tmp_path: Path) -> None:
    content = report()
    content["limits"] = {"streams": {"value": 0}, "cube_core_num": {"value": 20}}
    content["latencies"] = {"record": {"device": {"p50": 1e15}}}
    (tmp_path / "odd.json").write_text(json.dumps(content), encoding="utf-8")
    compared = verify("--compare", "odd.json", "--profile", "made.json")
    lines = compared.stdout.splitlines()
    assert "not in the profile: limits.streams is 2; allowed is a whole number from 3 to 65536" in lines
    assert "not in the profile: costs.record.ns is 1000000000000000; allowed is a number from 0 to 1e+12" in lines
    made = json.loads((tmp_path / "made.json").read_text(encoding="utf-8"))["profile"]
    assert (made["limits"], made["costs"]) == ({"cube_cores": 20}, {"record": {}})


@pytest.mark.full
def test_a_profile_makes_the_simulator_the_card(verify: Verify, report: Any, tmp_path: Path) -> None:
    card = tmp_path / "card.json"
    card.write_text(json.dumps(CARD), encoding="utf-8")
    parts = "fact_4.6,g30_stream_create,limits,latencies"
    ended = verify("--only", parts, "--smoke", ASCEND_RT_SIM_PROFILE=card)
    assert "fact_4.6: aclrtHostRegister" in ended.stdout
    compared = verify("--compare", "ascend_rt-report.json", "--profile", "made.json")
    lines = compared.stdout.splitlines()
    assert "limit queue_depth: 1024 on the card, 1792 in the simulator" in lines
    assert sum(line.startswith("aclrtHostRegister: fact_4.6") for line in lines) == 3
    made = json.loads((tmp_path / "made.json").read_text(encoding="utf-8"))["profile"]
    expected = CARD["profile"]
    assert {name: made[name] for name in ("product", "soc_name", "cann_version", "codes")} == {
        name: expected[name] for name in ("product", "soc_name", "cann_version", "codes")
    }
    assert made["limits"] == expected["limits"]
    assert set(made["costs"]) >= {"record", "wait", "copy_host_to_device", "fill"}
    again = verify("--only", parts, "--smoke", ASCEND_RT_SIM_PROFILE="made.json")
    assert again.returncode == ended.returncode
    assert [line for line in again.stdout.splitlines() if "fact_4.6" in line] == [
        line for line in ended.stdout.splitlines() if "fact_4.6" in line
    ]
