# SPDX-License-Identifier: Apache-2.0
"""Making a profile of a card for the simulator, which ``ASCEND_RT_SIM_PROFILE`` loads."""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from ascend_rt_measure.verify import session
from ascend_rt_measure.verify.comparison import limits, pairs
from ascend_rt_measure.verify.report import Report, write_json

_FORMAT = 1
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
_LARGEST_CODE = 2**31 - 1  # the largest aclError


def made_of(report: Report, simulated: Report) -> dict[str, Any]:
    """Return what ``ASCEND_RT_SIM_PROFILE`` takes of a card: limits and codes that differ, and costs."""
    about = {"product": report.product, "soc_name": report.library["soc"], "cann_version": simulated.library["cann"]}
    return {
        "format": _FORMAT,
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
        for call, ours, theirs in pairs(group, card, simulated.groups[group.name]):
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
        if len(answers) == 1 and 0 < min(answers) <= _LARGEST_CODE and not (code == 0 and succeeded):
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
            if times[large] - times[small] >= 1:  # nanoseconds
                cost["bytes_per_us"] = _whole((large - small) * 1000 / (times[large] - times[small]))
            found[name] = cost
    return found


def _whole(value: float) -> int:
    return max(0, round(value))


# --- what the simulator takes ----------------------------------------------------------------------------------------

# The member that the simulator refuses, by its text (backends/sim/src/support/profile.cpp).
_REFUSED = re.compile(r': profile\.([\w.]+)(?: has an unknown member "([^"]+)")?')


def accepted(profile: dict[str, Any], others: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return what the simulator takes of a profile in a file with these other members, and its words on the rest.

    Only the simulator knows what it accepts: it is asked until it refuses nothing.

    Raises
    ------
    ValueError
        It does not take such a file at all.
    """
    words: list[str] = []
    environment = session.simulator_environment()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "profile.json"
        while True:
            write_json(path, others | {"profile": profile})
            text = session.refusal(environment | {"ASCEND_RT_SIM_PROFILE": str(path)})
            if text is None:
                return profile, words
            found = _REFUSED.search(text)
            if found is None:
                raise ValueError(f"no profile can be written: {text}")
            profile = _without(profile, [*found[1].split("."), *filter(None, found.groups()[1:])])
            words.append(text[found.start(1) :])


def _without(members: dict[str, Any], names: list[str]) -> dict[str, Any]:
    first, *rest = names
    if rest:
        return members | {first: _without(members[first], rest)}
    return {name: value for name, value in members.items() if name != first}
