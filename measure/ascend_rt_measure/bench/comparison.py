# SPDX-License-Identifier: Apache-2.0
"""Two runs of the benchmarks, side by side."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import NamedTuple

from ascend_rt_measure.bench.results import Results


class Difference(NamedTuple):
    """The medians of a benchmark in two runs, in seconds."""

    name: str
    before: float
    after: float
    is_noise: bool

    @property
    def ratio(self) -> float:
        """After, in units of before."""
        return self.after / self.before


def differences(before: Results, after: Results) -> Iterator[Difference]:
    """Yield what both runs have.

    A difference is taken for noise as long as the middle halves of the values overlap, those between the quartiles.
    They are values of all rounds, so that what was slow for a while widens them.
    """
    for who, name in before.runs:
        if (who, name) in after.runs:
            a, b = before.values(who, name), after.values(who, name)
            (low_a, high_a), (low_b, high_b) = _middle_half(a), _middle_half(b)
            is_noise = low_a <= high_b and low_b <= high_a
            yield Difference(f"{who}/{name}", statistics.median(a), statistics.median(b), is_noise)


def _middle_half(values: list[float]) -> tuple[float, float]:
    """Return the quartiles of values in ascending order."""
    return values[len(values) // 4], values[-1 - len(values) // 4]


def different_machines(before: Results, after: Results) -> list[str]:
    """Return which facts about the two machines differ, and how."""
    names = {**before.machine, **after.machine}
    pairs = ((name, before.machine.get(name, "nothing"), after.machine.get(name, "nothing")) for name in names)
    return [f"{name}: {a} and {b}" for name, a, b in pairs if a != b]
