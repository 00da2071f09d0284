# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt verify`` on the simulator, and its command line."""

from __future__ import annotations

import getpass
import json
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.verification import FEW, Verify

from ascend_rt_measure.verify.cases import groups
from ascend_rt_measure.verify.limits import CASES

pytestmark = pytest.mark.simulator("independent")


@pytest.mark.full
def test_the_simulator_answers_as_is_known(verify: Verify, report: Any) -> None:
    ended = verify("--smoke")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = report()
    assert found["complete"]
    assert {played["state"] for played in found["groups"].values()} == {"done"}
    assert len(found["groups"]) == sum(not group.products or "910B" in group.products for group in groups().values())
    assert not [name for name, case in {**found["limits"], **found["latencies"]}.items() if "error" in case]
    compared = verify("--compare", "ascend_rt-report.json")
    assert compared.stdout.splitlines()[-1] == "no difference from the simulator", compared.stdout


def test_a_few_groups(verify: Verify, report: Any) -> None:
    ended = verify("--only", FEW)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert set(report()["groups"]) == set(FEW.split(","))
    assert report()["limits"] == report()["latencies"] == {}


@pytest.mark.parametrize("product", ["910C", "310P"])
def test_other_products_are_not_compared_with_the_recordings(verify: Verify, report: Any, product: str) -> None:
    ended = verify("--only", "g40_event_create_arguments", ASCEND_RT_SIM_PRODUCT=product)
    assert ended.returncode == 0, ended.stdout
    assert report()["product"] == product


@pytest.mark.full
def test_without_a_terminal_a_line_reports_of_each_section(verify: Verify) -> None:
    ended = verify("--smoke", "--only", "g02_init,g10_device,fact_4.6,limits")
    assert ended.stderr.splitlines() == ["recordings: 2 of 2", "facts: 1 of 1", f"limits: {len(CASES)} of {len(CASES)}"]


def test_one_device_leaves_out_what_needs_two(verify: Verify, report: Any) -> None:
    ended = verify("--only", FEW, "--device", 3)
    assert ended.returncode == 0, ended.stdout
    skipped = {name: it["detail"] for name, it in report()["groups"].items() if it["state"] == "skipped"}
    assert skipped == {"g10_device": "needs 2 devices", "fact_1.25": "needs 2 devices"}
    assert "2 groups: needs 2 devices" in ended.stdout


def test_devices_are_those_that_the_user_sees(verify: Verify) -> None:
    seen = {"ASCEND_RT_VISIBLE_DEVICES": "2,5"}
    ended = verify("--only", "fact_4.6", "--device", 1, **seen)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    ended = verify("--only", "fact_4.6", "--device", 2, **seen)
    assert "--device expects numbers below 2" in ended.stderr
    ended = verify("--only", "fact_4.6", "--device", 1, **seen, ASCEND_RT_SIM_FAULTS="lose:0=507010")
    assert ended.returncode == 1  # a process of a group sees one device, and that is its device 0


def test_no_device_is_an_error(verify: Verify, tmp_path: Path) -> None:
    ended = verify(ASCEND_RT_VISIBLE_DEVICES="9")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "the library finds no device" in ended.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.full
def test_the_report_names_nobody(verify: Verify, report: Any, tmp_path: Path) -> None:
    verify("--only", f"{FEW},latencies,limits", "--smoke")
    text = json.dumps(report())
    for name in (platform.node(), getpass.getuser(), str(tmp_path), str(Path.home()), sys.executable, "/"):
        assert name not in text


def test_modules_of_the_working_directory_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(7)", encoding="utf-8")
    command = [sys.executable, "-I", "-m", "ascend_rt", "verify", "--backend", "sim", "--only", "fact_4.6"]
    assert subprocess.run(command, cwd=tmp_path, timeout=300, check=False).returncode == 0


def test_a_comparison_shows_all_differences(verify: Verify, report: Any, tmp_path: Path) -> None:
    name = "gC21_args_many"
    verify("--only", name)
    content = report()
    for answer in content["groups"][name]["answers"]:
        answer[0] = 4711
    (tmp_path / "changed.json").write_text(json.dumps(content), encoding="utf-8")
    lines = verify("--compare", "changed.json").stdout.splitlines()
    number = sum("the card answers 4711" in line for line in lines)
    assert number > 100
    assert lines[-1] == f"{number} differences from the simulator"


def test_the_groups_with_garbage_are_marked() -> None:
    """Where the real runtime follows garbage there is no answer that a card could be compared with."""
    never = 0x1234567800
    unanswered = [
        group.name
        for group in groups().values()
        if any(never in call.arguments and call.code is None for call in group.calls)
    ]
    assert unanswered == [group.name for group in groups().values() if group.garbage]
    assert len(unanswered) == 13


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--device", "9"), "--device expects numbers below 8, the number of devices, got 9"),
        (("--device", "1,0"), "ascending order"),
        (("--device", "x"), "--device expects device numbers in ascending order, such as 0 or 0,1, got 'x'"),
        (("--time-limit", "soon"), "--time-limit expects more than 0 and at most 86400 seconds, got 'soon'"),
        (("--only", "limit"), "--only expects sections or groups, got 'limit'; did you mean 'limits'?"),
        (("--time-limit", "0"), "more than 0"),
        (("--profile", "card.json"), "name it with --compare"),
        (("--compare", "absent.json"), "cannot read absent.json, a report of 'ascend-rt verify': no such file"),
    ],
)
def test_a_wrong_command_line(verify: Verify, arguments: tuple[str, ...], text: str, tmp_path: Path) -> None:
    ended = verify(*arguments)
    assert ended.returncode in (1, 2)
    assert text in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.iterdir())


def test_a_real_library_needs_a_device_to_be_named(verify: Verify, card: Callable[..., Path]) -> None:
    ended = verify("--only", FEW, ASCEND_RT_BACKEND="cann", ASCEND_RT_LIBRARY=card())
    assert ended.returncode == 2
    assert "name the device" in ended.stderr
