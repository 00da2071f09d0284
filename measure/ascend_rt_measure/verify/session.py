# SPDX-License-Identifier: Apache-2.0
"""A run of ``ascend-rt verify``: plays groups, each in a separate process, and measures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ascend_rt.errors import LibraryError
from ascend_rt_measure.verify import children
from ascend_rt_measure.verify.cases import Group, groups
from ascend_rt_measure.verify.report import Played, Report

_MEASURES = ("limits", "latencies")
SECTIONS = ("recordings", "facts", *_MEASURES)
_SECONDS_OF_MEASURES = 300.0
# Groups or cases that end early, before the rest of the section is given up: something common is wrong.
_MOST_IN_A_ROW = 8
_SECONDS_TO_LOAD = 120.0  # covers a library on a cold disk, and the search for it


@dataclass(frozen=True)
class Plan:
    """The options of a run.

    ``devices`` are numbers as programs use them now, ``seconds`` is the time limit of a group, ``chosen`` has names of
    sections and of groups, and ``environment`` is that of all processes.
    """

    devices: tuple[int, ...]
    allow_reset: bool = False
    allow_garbage: bool = False
    seconds: float = 60.0
    chosen: frozenset[str] = frozenset(SECTIONS)
    smoke: bool = False
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


# Receives a section, the number of its parts done and in total, and the fault of the last part.
Progress = Callable[[str, int, int, str], None]


def about(environment: Mapping[str, str]) -> dict[str, object]:
    """Return what the library says of itself.

    Raises
    ------
    LibraryError
        There is none, or it cannot even be asked.
    """
    outcome = children.run("about", (), environment, _SECONDS_TO_LOAD)
    if outcome.lines:  # however the process ended after that
        return dict(outcome.lines[0])
    if outcome.errors.strip():
        raise LibraryError(outcome.errors.strip())
    ways = {"hung": "does not answer", "crashed": f"crashes ({outcome.detail})"}
    ended = ways.get(outcome.state, "ends the process")
    raise LibraryError(f"the library {ended} when it is asked for its versions and devices")


def refusal(environment: Mapping[str, str]) -> str | None:
    """Return why the library refuses every call, in its own words, if it does.

    Raises
    ------
    LibraryError
        It does not answer.
    """
    outcome = children.run("refusal", (), environment, _SECONDS_TO_LOAD)
    if not outcome.lines:
        raise LibraryError(f"the library does not answer: {outcome.errors.strip() or outcome.state}")
    return None if outcome.lines[0] is None else str(outcome.lines[0])


def simulator_environment() -> dict[str, str]:
    """Return the environment of processes that use the simulator as it is without any variable."""
    usual = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND_RT_")}
    return usual | {"ASCEND_RT_BACKEND": "sim"}


def run(plan: Plan, report: Report, progress: Progress) -> None:
    """Play and measure what the plan has, and put it into the report as it comes."""
    environment = environment_of(plan, report)
    for section in SECTIONS:
        if section not in _MEASURES:
            _play(section, plan, report, environment, progress)
        elif section in plan.chosen:
            measure(section, plan.smoke, environment, getattr(report, section), progress)
    report.complete = True


def environment_of(plan: Plan, report: Report) -> dict[str, str]:
    """Return the environment of the processes: they see the devices of the plan, as 0, 1 and so on."""
    seen = plan.environment.get("ASCEND_RT_VISIBLE_DEVICES", "").split(",")
    visible = [seen[device] if seen != [""] else str(device) for device in plan.devices]
    environment = {**plan.environment, "ASCEND_RT_VISIBLE_DEVICES": ",".join(visible)}
    environment["ASCEND_RT_BACKEND"] = str(report.library["backend"])
    environment.setdefault("ASCEND_RT_SIM_CARDS", "separate")  # groups take all that a card has, several at a time
    return environment


def hindrance(group: Group, plan: Plan, report: Report) -> str | None:
    """Return why a group is not played."""
    simulated = report.library["backend"] == "sim"
    if not simulated and group.needs_simulator():
        return "needs the simulator"
    if group.devices > len(plan.devices):
        return f"needs {group.devices} devices"
    if not simulated and group.disturbs:
        return group.disturbs
    if not simulated and not plan.allow_reset and any(call.name == "aclrtResetDeviceForce" for call in group.calls):
        return "resets the device: --allow-reset"
    if not simulated and not plan.allow_garbage and group.garbage:
        return "plays handles that never were any, which crashes the process: --allow-garbage"
    return None


def _play(section: str, plan: Plan, report: Report, environment: Mapping[str, str], progress: Progress) -> None:
    chosen = [
        group
        for group in groups().values()
        if group.section == section
        and not plan.chosen.isdisjoint((section, group.name))
        and (not group.products or report.product in group.products)
    ]
    for done, (group, played) in enumerate(_in_turn(chosen, plan, report, environment), 1):
        report.groups[group.name] = played
        progress(section, done, len(chosen), played.ended_early(group.name))


def _in_turn(
    chosen: Sequence[Group], plan: Plan, report: Report, environment: Mapping[str, str]
) -> Iterator[tuple[Group, Played]]:
    """Yield the groups as they have been played: one by one on devices, several at a time on the simulator."""
    in_a_row = 0

    def play(group: Group) -> Played:
        nonlocal in_a_row
        reason = hindrance(group, plan, report)
        if in_a_row >= _MOST_IN_A_ROW:
            reason = f"the {_MOST_IN_A_ROW} groups before ended early"
        if reason:
            return Played("skipped", detail=reason)
        result = played(group, environment, plan.seconds)
        in_a_row = 0 if result.state == "done" else in_a_row + 1
        return result

    at_a_time = (os.cpu_count() or 1) if report.library["backend"] == "sim" else 1
    pool = ThreadPoolExecutor(at_a_time)
    try:
        yield from zip(chosen, pool.map(play, chosen), strict=True)
    except BaseException:  # such as Ctrl-C, of which the children do not know
        pool.shutdown(wait=False, cancel_futures=True)
        children.kill_all()
        raise
    finally:
        pool.shutdown()


def played(group: Group, environment: Mapping[str, str], seconds: float) -> Played:
    """Play a group in a separate process."""
    outcome = children.run("player", (), {**environment, **group.environment}, seconds, group.rows())
    answers = [
        [code, outputs if call.outputs is not None else []]
        for call, (code, outputs) in zip(group.calls, outcome.lines)  # noqa: B905  (a crash leaves calls out)
    ]
    if outcome.state == "done" and len(answers) < len(group.calls):  # a call has ended the process
        return Played("failed", answers, group.fingerprint(), "status 0")
    return Played(outcome.state, answers, group.fingerprint(), outcome.detail)


def measure(
    section: str, smoke: bool, environment: Mapping[str, str], found: dict[str, Any], progress: Progress
) -> None:
    """Measure case by case; a process that ends early costs the case that it was in, and another goes on behind it."""
    cases = list(import_module(f"ascend_rt_measure.verify.{section}").CASES)
    total, in_a_row = len(cases), 0
    while cases:
        if in_a_row >= _MOST_IN_A_ROW:
            progress(section, total, total, f"{section}: given up, {in_a_row} cases in a row ended early")
            return
        progress(section, total - len(cases), total, "")
        arguments = [*(["--smoke"] if smoke else []), "--only", *cases]
        outcome = children.run(section, arguments, environment, _SECONDS_OF_MEASURES)
        new = {line.pop("case"): line for line in outcome.lines if "case" in line}
        in_a_row = 1 if new else in_a_row + 1
        found |= new
        cases = [case for case in cases if case not in found]
        if cases:
            case = cases.pop(0)
            found[case] = {"error": {"state": outcome.state, "detail": outcome.detail}}
            progress(section, total - len(cases), total, f"{case}: {outcome.state} {outcome.detail}".rstrip())
    progress(section, total, total, "")
