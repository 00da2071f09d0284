# SPDX-License-Identifier: Apache-2.0
"""How a card differs from the simulator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ascend_rt_measure.verify import session
from ascend_rt_measure.verify.cases import Call, Group
from ascend_rt_measure.verify.report import Played, Report


@dataclass(frozen=True)
class Difference:
    """A call with different answers of card and simulator, each ``[code, outputs]``; None: it never returned."""

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
    environment = session.simulator_environment() | {
        "ASCEND_RT_SIM_PRODUCT": report.product,
        "ASCEND_RT_SIM_DEVICES": str(report.devices),
        "ASCEND_RT_SIM_CARDS": "separate",  # other programs on the simulator must not cause differences
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
        for call, ours, theirs in pairs(group, card, simulated.groups[group.name]):
            proves_nothing = call.code is None or report.lacks(call) or simulated.lacks(call)
            if not (proves_nothing or _is_same(call, ours, theirs)):
                yield Difference(group.name, call.name, call.case, ours, theirs)


def pairs(group: Group, card: Played, simulator: Played) -> Iterator[tuple[Call, list[Any] | None, list[Any] | None]]:
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
        return True  # a missing function should have made it; that is reported already
    return bool(ours[0] == theirs[0]) and call.has_right(ours[1]) == call.has_right(theirs[1])


def limits(report: Report, simulated: Report) -> Iterator[tuple[str, Any, Any]]:
    """Yield the limits that differ: name, the card's value, the simulator's."""
    for name, found in report.limits.items():
        other = simulated.limits.get(name, {})
        if "bound" in (found.get("ended"), other.get("ended")):
            continue  # it was not looked for any further
        if found.get("value") != other.get("value"):
            yield name, found.get("value"), other.get("value")
