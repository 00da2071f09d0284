# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt verify`` makes of any report, with any figures, a profile that the simulator accepts."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import cases

from ascend_rt_measure.verify import card_profile
from ascend_rt_measure.verify.cases import Group, groups
from ascend_rt_measure.verify.latencies import CASES
from ascend_rt_measure.verify.limits import CASES as LIMITS
from ascend_rt_measure.verify.report import Report, load

pytestmark = pytest.mark.simulator("internals")

GROUP: Group = groups()["fact_4.6"]

numbers = st.integers(-(2**64) + 1, 2**64 - 1)
common = st.integers(0, 70_000)
limits = st.dictionaries(
    st.sampled_from(sorted(LIMITS)), st.fixed_dictionaries({"value": st.none() | st.booleans() | common | numbers})
)
times = st.floats(-1e19, 1e19) | common | numbers | st.sampled_from([0.1, 5e-324, 1e12, 1e13])
latencies = st.dictionaries(
    st.sampled_from(sorted(CASES)),
    st.fixed_dictionaries(
        {"device": st.fixed_dictionaries({"p50": times})}, optional={"bytes": st.sampled_from([64, 1 << 20]) | numbers}
    ),
)
codes = st.sampled_from([0, 1, 107000, 507899, -1, 2**31 - 1, 2**31, 2**63, "missing"])
answers = st.lists(st.tuples(codes, st.just([])), max_size=len(GROUP.calls))


def report_of(answers: Any, limits: Any, latencies: Any) -> Report:
    content = {
        "ascend_rt_report": 1,
        "library": {"backend": "cann", "cann": "9.0.0", "api": None, "driver": None, "soc": "Ascend910B1"},
        "devices": 1,
        "allow_reset": False,
        "complete": True,
        "groups": {GROUP.name: {"state": "done", "answers": answers, "fingerprint": GROUP.fingerprint(), "detail": ""}},
        "limits": limits,
        "latencies": latencies,
    }
    content["library"] |= {"missing": []}  # type: ignore[operator]
    with TemporaryDirectory() as directory:
        path = Path(directory) / "report.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        return load(path)


def members(profile: Any, path: tuple[str, ...] = ()) -> set[tuple[Any, ...]]:
    """Return all paths to values, each with its value."""
    if not isinstance(profile, dict):
        return {(*path, profile)}
    return {found for name, value in profile.items() for found in members(value, (*path, name))}


@pytest.mark.full
@settings(max_examples=cases(10), deadline=None)
@given(answers, answers, limits, latencies)
def test_the_simulator_takes_the_profile(card: Any, simulator: Any, limits: Any, latencies: Any) -> None:
    made = card_profile.made_of(report_of(card, limits, latencies), report_of(simulator, {}, {}))
    profile, refusals = card_profile.accepted(made, {})
    assert card_profile.accepted(profile, {}) == (profile, [])
    assert members(profile) <= members(made)
    left_out = members(made) - members(profile)
    assert len(left_out) == len(refusals)  # each is named
    assert all(any(all(name in text for name in path[:-1]) for text in refusals) for path in left_out)
