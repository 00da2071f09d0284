# SPDX-License-Identifier: Apache-2.0
"""What was measured: joined by id, compared between the layers, held against the goals, written and drawn."""

from __future__ import annotations

import json
import math
import operator
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyperf
from ids import BENCHMARKS, LAYERS, ids_of

RATIOS = (("raw", "c"), ("facade", "raw"), ("facade", "c"), ("pyacl", "raw"))

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


Statistic = Callable[[str, str], float | None]


@dataclass
class Results:
    """The values of all layers, in seconds per iteration; a value is the mean of one sample's loops."""

    backend: str
    library_path: str
    runs: dict[tuple[str, str], list[pyperf.Run]] = field(default_factory=dict)

    def add(self, layer: str, name: str, loops: int, values: list[float]) -> None:
        """Add the values that one process measured."""
        metadata = {"name": f"{layer}/{name}", "loops": loops, "library": self.library_path}
        self.runs.setdefault((layer, name), []).append(pyperf.Run(values, metadata=metadata))

    def values(self, layer: str, name: str) -> list[float]:
        """Return all values in ascending order; none, if the layer does not have the benchmark."""
        return sorted(value for run in self.runs.get((layer, name), ()) for value in run.values)

    def median(self, layer: str, name: str) -> float | None:
        """Return the median in seconds."""
        values = self.values(layer, name)
        return statistics.median(values) if values else None

    def best(self, layer: str, name: str) -> float | None:
        """Return the smallest value in seconds: what the others on the machine disturbed least."""
        return next(iter(self.values(layer, name)), None)

    def p99(self, layer: str, name: str) -> float | None:
        """Return the 99th percentile (nearest rank) in seconds; of a hundred values or fewer, that is the largest."""
        values = self.values(layer, name)
        return values[math.ceil(0.99 * len(values)) - 1] if values else None

    def statistics(self) -> dict[str, Statistic]:
        """Return what a goal may be decided by."""
        return {"median": self.median, "best": self.best}

    def names(self) -> list[str]:
        """Return the ids that have a result in any layer, in the order of the list."""
        return [b.id for b in BENCHMARKS if any((layer, b.id) in self.runs for layer in LAYERS)]


def ratio(statistic: Statistic, over: tuple[str, str], under: tuple[str, str]) -> float | None:
    """Return the ratio of a statistic of two benchmarks; each is a layer and an id."""
    a, b = statistic(*over), statistic(*under)
    return None if a is None or b is None else a / b


# --- goals -----------------------------------------------------------------------------------------------------------

_RELATIONS: dict[str, Callable[[float, float], bool]] = {"<": operator.lt, "<=": operator.le, ">=": operator.ge}


@dataclass(frozen=True)
class Goal:
    """A figure to reach: the time of one benchmark, or the ratio of two.

    Medians decide, unless the figure is about two paths of code that always take the same time on an idle machine:
    there the smallest values do, because two medians may come from a quiet and from a busy moment.
    """

    text: str
    over: tuple[str, str]
    under: tuple[str, str] | None
    relation: str
    limit: float
    unit: str = ""
    decided_by: str = "median"

    def value(self, statistic: Statistic) -> float | None:
        """Return what was measured; None if it was not."""
        return statistic(*self.over) if self.under is None else ratio(statistic, self.over, self.under)

    def is_met(self, results: Results) -> bool | None:
        """Tell whether the figure is reached; None if it was not measured."""
        value = self.value(results.statistics()[self.decided_by])
        return None if value is None else _RELATIONS[self.relation](value, self.limit)


GOALS = (
    Goal(
        "raw call / call of an empty function",
        over=("raw", "call_table"),
        under=("raw", "call_floor"),
        relation="<=",
        limit=1.2,
        decided_by="best",
    ),
    *(
        Goal(f"pyACL / raw, {name}", ("pyacl", name), ("raw", name), "<=", 1.3, decided_by="best")
        for name in ids_of("pyacl")
    ),
    Goal("record, wait on a second stream, synchronize, in C", ("c", "record_wait_synchronize"), None, "<", 1e-6, "s"),
    Goal("hand-over of busy streams / spin round trip", ("c", "stream_hand_over"), ("c", "spin_round_trip"), "<", 3.0),
    Goal(
        "random task among 10,000 streams / among 10", ("c", "task_10000_streams"), ("c", "task_10_streams"), "<=", 2.0
    ),
    Goal("bandwidth of async copy / memcpy, 64 MiB, in C", ("c", "memcpy_64MiB"), ("c", "copy_async_64MiB"), ">=", 0.9),
    Goal("pool allocation / malloc, 4 MiB, in C", ("c", "pool_malloc_free_4MiB"), ("c", "malloc_free_4MiB"), "<", 1.0),
    Goal(
        "malloc among 1,000,000 allocations / alone",
        ("c", "malloc_free_among_1000000"),
        ("c", "malloc_free_4KiB"),
        "<=",
        10.0,
    ),
)


# --- text ------------------------------------------------------------------------------------------------------------


def table(results: Results) -> str:
    """Return one row per benchmark: times of the layers, and ratios of their medians."""
    head = ["", *(word for layer in LAYERS for word in (f"{layer} median", "p99")), *map("/".join, RATIOS)]
    rows = [head, *(_row(results, name) for name in results.names())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(_cells(row, widths)).rstrip() for row in rows)


def goals(results: Results) -> str:
    """Return one line per goal: what was measured, and whether that meets it."""
    width = max(len(goal.text) for goal in GOALS)
    return "\n".join(["goals", *(f"  {goal.text:<{width}}  {_verdict(goal, results)}" for goal in GOALS)])


def _row(results: Results, name: str) -> list[str]:
    times = (figure(layer, name) for layer in LAYERS for figure in (results.median, results.p99))
    ratios = (ratio(results.median, (over, name), (under, name)) for over, under in RATIOS)
    return [name, *map(_time, times), *("" if value is None else f"{value:.2f}" for value in ratios)]


def _cells(row: list[str], widths: list[int]) -> list[str]:
    return [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    size, unit = next((entry for entry in _UNITS if seconds >= entry[0]), _UNITS[-1])
    return f"{seconds / size:.3g} {unit}" if seconds / size < 999.5 else f"{seconds / size:.0f} {unit}"


def _verdict(goal: Goal, results: Results) -> str:
    is_met = goal.is_met(results)
    if is_met is None:
        return "not measured"
    measured = ", ".join(
        f"{_figure(goal, goal.value(statistic))} {name}" for name, statistic in results.statistics().items()
    )
    verdict = "met" if is_met else "not met"
    return f"{goal.relation} {_figure(goal, goal.limit)}: {verdict} by the {goal.decided_by} ({measured})"


def _figure(goal: Goal, value: float | None) -> str:
    return _time(value) if goal.unit or value is None else f"{value:.2f}"


# --- files -----------------------------------------------------------------------------------------------------------


def write(results: Results, path: Path) -> None:
    """Write a pyperf file, whose benchmarks are named layer/id, with the table and the goals under "summary"."""
    suite = pyperf.BenchmarkSuite([pyperf.Benchmark(runs) for runs in results.runs.values()])
    suite.dump(str(path), compact=False, replace=True)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["summary"] = summary(results)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def summary(results: Results) -> dict[str, Any]:
    """Return the figures of the table and the goals, times in seconds."""
    return {
        "backend": results.backend,
        "library": results.library_path,
        "benchmarks": {name: _figures(results, name) for name in results.names()},
        "goals": [
            {
                "goal": f"{goal.text} {goal.relation} {_figure(goal, goal.limit)}",
                **{name: goal.value(statistic) for name, statistic in results.statistics().items()},
                "decided_by": goal.decided_by,
                "met": goal.is_met(results),
            }
            for goal in GOALS
        ],
    }


def _figures(results: Results, name: str) -> dict[str, Any]:
    layers = [layer for layer in LAYERS if (layer, name) in results.runs]
    figures: dict[str, Any] = {
        layer: {
            "median": results.median(layer, name),
            "best": results.best(layer, name),
            "p99": results.p99(layer, name),
            "values": len(results.values(layer, name)),
        }
        for layer in layers
    }
    ratios = {f"{over}/{under}": ratio(results.median, (over, name), (under, name)) for over, under in RATIOS}
    return figures | {pair: value for pair, value in ratios.items() if value is not None}


def plot(results: Results, path: Path) -> None:
    """Draw the medians as bars on a logarithmic axis; needs matplotlib."""
    from matplotlib.figure import Figure

    names = results.names()
    figure = Figure(figsize=(9, 1 + 0.45 * len(names)), layout="constrained")
    axes = figure.subplots()
    height = 0.8 / len(LAYERS)
    for i, layer in enumerate(LAYERS):
        bars = [(row + i * height, results.median(layer, name)) for row, name in enumerate(names)]
        there = [(row, median * 1e6) for row, median in bars if median is not None]
        axes.barh([row for row, _ in there], [median for _, median in there], height, label=layer)
    axes.set_yticks([row + 0.8 / 2 - height / 2 for row in range(len(names))], names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("median, microseconds")
    axes.legend()
    figure.savefig(path)
