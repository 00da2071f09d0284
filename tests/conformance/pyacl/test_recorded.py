# SPDX-License-Identifier: Apache-2.0
"""Calls of pyACL compared with what the vendor's extension answered to the same ones.

``tests/data/pyacl/observed.json`` was recorded with the vendor's extension over this simulator, as 910B with two
devices: 3,099 results, errors, warnings and things seen besides, in 207 groups that ``calls.py`` makes anew. Where the
answer is 207000 the simulator did not have the function then, so only its form says something about the extension.
``differences.json`` has the others that differ, by their number in the group, with the reason.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).resolve().parents[2] / "data" / "pyacl"
OBSERVED = {
    group["group"]: group["cases"] for group in json.loads((DATA / "observed.json").read_text(encoding="utf-8"))
}
DIFFERENCES = {
    (name, number)
    for difference in json.loads((DATA / "differences.json").read_text(encoding="utf-8"))
    for name, numbers in difference["cases"].items()
    for number in numbers
}
ENVIRONMENT = {"ASCEND_RT_SIM_PRODUCT": "910B", "ASCEND_RT_SIM_DEVICES": "2"}


def form(case: dict[str, Any]) -> dict[str, Any]:
    """Return a case without the values of numbers and texts in its result."""
    return {**case, "returns": re.sub(r"int:[\w-]+", "int", re.sub(r"str:'[^']*'", "str", case.get("returns", "")))}


def agree(recorded: dict[str, Any], seen: dict[str, Any]) -> bool:
    was_simulated = "int:207000" not in recorded.get("returns", "")
    return recorded == seen if was_simulated else form(recorded) == form(seen)


@pytest.mark.simulator("internals", "the values were recorded on the simulator")
@pytest.mark.parametrize("prefix", ["args:", "topic:", "exit:"])
def test_the_answers_are_those_of_the_vendors_extension(
    prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, str(Path(__file__).with_name("calls.py")), prefix]
    output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    groups = [json.loads(line) for line in output.splitlines()]
    assert [group["group"] for group in groups if group["error"]] == []
    assert {group["group"] for group in groups} == {name for name in OBSERVED if name.startswith(prefix)}
    assert [g["group"] for g in groups if len(g["cases"]) != len(OBSERVED[g["group"]])] == []
    different = {
        (group["group"], number): {"recorded": recorded, "seen": seen}
        for group in groups
        for number, (recorded, seen) in enumerate(zip(OBSERVED[group["group"]], group["cases"], strict=True))
        if not agree(recorded, seen)
    }
    assert {key: case for key, case in different.items() if key not in DIFFERENCES} == {}
    assert {key for key in DIFFERENCES if key[0].startswith(prefix)} == set(different)


def test_almost_everything_agrees() -> None:
    assert len(DIFFERENCES) < 0.01 * sum(map(len, OBSERVED.values()))


def test_every_function_of_acl_rt_is_called() -> None:
    called = {case["call"] for cases in OBSERVED.values() for case in cases if "call" in case}
    formats = json.loads((DATA / "signatures.json").read_text(encoding="utf-8"))
    assert called <= set(formats) | {"acl.init"}
