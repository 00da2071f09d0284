# SPDX-License-Identifier: Apache-2.0
"""How a card differs from the simulator, and what the simulator can take over from it."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ascend_rt.verify import session
from ascend_rt.verify.cases import Call, Group
from ascend_rt.verify.report import Played, Report

_PROFILE_FORMAT = 1
# Limits of a profile, and the measured ones that they are; to what could be created comes what the simulator keeps.
_LIMITS = {
    "memory_bytes": ("memory_total", 0),
    "free_memory_bytes": ("memory_free", 0),
    "streams": ("streams", 2),
    "events": ("events_available", 0),
    "notifies": ("notifies", 0),
    "queue_depth": ("queue_depth", 0),
    "cube_cores": ("cube_core_num", 0),
    "vector_cores": ("vector_core_num", 0),
    "aicpu_cores": ("aicpu_core_num", 0),
    "l2_bytes": ("l2_cache_size", 0),
}
_CONTROL = ("record", "wait")  # tasks whose costs do not depend on a size
_MOVES = ("copy_host_to_device", "copy_device_to_host", "copy_device_to_device", "fill")


@dataclass(frozen=True)
class Difference:
    """A call that the card answered otherwise than the simulator, each ``[code, outputs]``; None: it never returned."""

    group: str
    function: str
    case: str
    card: list[Any] | None
    simulator: list[Any] | None


def simulate(report: Report, progress: session.Progress) -> Report:
    """Play the groups of a report on the simulator, as the product and the release that the report is from.

    Raises
    ------
    ValueError
        The simulator does not have the product.
    """
    if report.product is None:
        raise ValueError(f"the simulator has no product for the chip {report.library.get('soc') or 'of this report'}")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND_RT_")}
    environment |= {
        "ASCEND_RT_BACKEND": "sim",
        "ASCEND_RT_SIM_PRODUCT": report.product,
        "ASCEND_RT_SIM_DEVICES": str(report.devices),
        "ASCEND_RT_SIM_CARDS": "separate",  # other programs on the simulator are no difference between the two
    }
    if report.library.get("cann"):
        environment["ASCEND_RT_SIM_CANN_VERSION"] = report.library["cann"]
    about = session.about(environment)
    if about["soc"] is None:  # it does not take the name of that release
        del environment["ASCEND_RT_SIM_CANN_VERSION"]
        about = session.about(environment)
    plan = session.Plan(
        devices=tuple(range(report.devices)),
        allow_reset=report.allow_reset,
        chosen=frozenset(group.name for group, _ in report.played()) | ({"limits"} if report.limits else set()),
        environment=environment,
    )
    simulated = Report(about, report.devices, report.allow_reset)
    session.run(plan, simulated, progress)
    return simulated


def differences(report: Report, simulated: Report) -> Iterator[Difference]:
    """Yield the calls that differ, group by group."""
    for group, card in report.played():
        for call, ours, theirs in _pairs(group, card, simulated.groups[group.name]):
            proves_nothing = call.code is None or report.lacks(call) or simulated.lacks(call)
            if not (proves_nothing or _is_same(call, ours, theirs)):
                yield Difference(group.name, call.name, call.case, ours, theirs)


def _pairs(group: Group, card: Played, simulator: Played) -> Iterator[tuple[Call, list[Any] | None, list[Any] | None]]:
    """Yield the calls with both answers, up to the one that a process ended in."""
    for at, call in enumerate(group.calls):
        ours, theirs = (side.answers[at] if at < len(side.answers) else None for side in (card, simulator))
        yield call, ours, theirs
        if ours is None or theirs is None:
            return


def _is_same(call: Call, ours: list[Any] | None, theirs: list[Any] | None) -> bool:
    """Return whether two answers have the same code, and outputs that are both right or both wrong."""
    if ours is None or theirs is None:
        return ours is theirs
    if "unprepared" in (ours[0], theirs[0]):
        return True  # a function is missing that should have made something, and that is told already
    return bool(ours[0] == theirs[0]) and call.has_right(ours[1]) == call.has_right(theirs[1])


def limits(report: Report, simulated: Report) -> Iterator[tuple[str, Any, Any]]:
    """Yield the limits that differ: name, the card's value, the simulator's."""
    for name, found in report.limits.items():
        other = simulated.limits.get(name, {})
        if "bound" in (found.get("ended"), other.get("ended")):
            continue  # it was not looked for any further
        if found.get("value") != other.get("value"):
            yield name, found.get("value"), other.get("value")


# --- the profile -----------------------------------------------------------------------------------------------------


def profile(report: Report, simulated: Report) -> dict[str, Any]:
    """Return what ``ASCEND_RT_SIM_PROFILE`` takes of a card: limits and codes that differ, and costs."""
    about = {"product": report.product, "soc_name": report.library["soc"], "cann_version": simulated.library["cann"]}
    return {
        "format": _PROFILE_FORMAT,
        **{name: value for name, value in about.items() if value},
        "limits": _limits_of(report, simulated),
        "codes": codes(report, simulated)[0],
        "costs": _costs_of(report),
    }


def codes(report: Report, simulated: Report) -> tuple[dict[str, dict[str, int]], list[str]]:
    """Return what the card answers instead of a code of the simulator, by function, and the functions without a rule.

    A rule must hold in every call of the report where the simulator answers that code; one for 0 says that the card
    refuses the function altogether. Behind a call that failed on one side only, the two are in different states: what
    follows in that group proves nothing.
    """
    seen: dict[tuple[str, int], set[int]] = defaultdict(set)
    for group, card in report.played():
        for call, ours, theirs in _pairs(group, card, simulated.groups[group.name]):
            if ours is None or theirs is None or not isinstance(ours[0], int) or not isinstance(theirs[0], int):
                break
            if call.code is not None:
                seen[call.name, theirs[0]].add(ours[0])
            if (ours[0] == 0) != (theirs[0] == 0):
                break
    rules: dict[str, dict[str, int]] = {}
    without = set()
    for (function, code), answers in seen.items():
        succeeded = any(0 in found for (other, _), found in seen.items() if other == function)
        if answers == {code}:
            continue
        if len(answers) == 1 and min(answers) > 0 and not (code == 0 and succeeded):
            rules.setdefault(function, {})[str(code)] = min(answers)
        else:
            without.add(function)
    return rules, sorted(without)


def _limits_of(report: Report, simulated: Report) -> dict[str, int]:
    """Return the limits that are known, and not those of the simulator."""
    differ = {name: ours for name, ours, _ in limits(report, simulated)}
    return {
        name: differ[measured] + more
        for name, (measured, more) in _LIMITS.items()
        if isinstance(differ.get(measured), int)
    }


def _costs_of(report: Report) -> dict[str, dict[str, int]]:
    """Return how long tasks took on the device, less what is between two events anyway."""
    medians = {name: it["device"]["p50"] for name, it in report.latencies.items() if it.get("device")}
    empty = medians.get("empty_pair", 0)
    found = {name: {"ns": _whole(medians[name] - empty)} for name in _CONTROL if name in medians}
    for name in _MOVES:
        moves = {case: it for case, it in report.latencies.items() if case in medians and it.get("bytes")}
        times = {it["bytes"]: medians[case] for case, it in moves.items() if case.rpartition("_")[0] == name}
        if times:
            small, large = min(times), max(times)
            cost = {"ns": _whole(times[small] - empty)}
            if times[large] > times[small]:
                cost["bytes_per_us"] = max(1, _whole((large - small) * 1000 / (times[large] - times[small])))
            found[name] = cost
    return found


def _whole(value: float) -> int:
    return max(0, round(value))
