# SPDX-License-Identifier: Apache-2.0
"""Answers of the real runtime (``recordings.json`` of ``ascend-rt verify``), beside the library under test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.recordings import MACHINE

from ascend_rt import supports
from ascend_rt_measure.verify.cases import groups

ABOUT_THE_MACHINE = ("g10_device", "g11_device_queries_arguments")  # which had two devices


def _kind(group: Any) -> str:
    if group.needs_simulator():
        return "held tasks"
    return "deadly" if group.garbage else "products" if group.name in ABOUT_THE_MACHINE else ""


RECORDED = [
    pytest.param(group, id=group.name, marks=[pytest.mark.simulator(kind)] if kind else [])
    for group in groups().values()
    if group.section == "recordings"
    for kind in [_kind(group)]
]


@pytest.mark.parametrize("group", RECORDED)
def test_calls_are_answered_as_the_real_runtime_did(group: Any, calls: Callable[..., list[Any]]) -> None:
    answers = calls(group.rows(), **MACHINE, **group.environment)
    differences = [
        f"{call.function} [{call.case}]: {answer}, not {call.code} {call.outputs or ''}"
        for call, answer in zip(group.calls, answers, strict=True)
        if supports(call.name) and not call.agrees(answer)
    ]
    assert differences == []


@pytest.mark.simulator("internals", "counts what is simulated")
def test_the_recordings_are_whole() -> None:
    recorded = [group for group in groups().values() if group.section == "recordings"]
    assert len(recorded) >= 143
    assert sum(len(group.calls) for group in recorded) >= 5144
    proves = [call for group in recorded for call in group.calls if call.code is not None and supports(call.name)]
    assert len(proves) >= 4900
