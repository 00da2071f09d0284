# SPDX-License-Identifier: Apache-2.0
"""The results: joined by id, compared between layers, with peers and with the goals, and written."""

from __future__ import annotations

import json
import math
import operator
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyperf

from ascend_rt_measure.bench.ids import BENCHMARKS, CHECKED, LAYERS, PEERS, ids_of
from ascend_rt_measure.bench.spellings import SPELLINGS

RATIOS = (("raw", "c"), ("facade", "raw"), ("facade", "c"), ("pyacl", "raw"))
# Peers in C++ are compared with C; peers in Python also with the facade.
PEER_RATIOS = (("pocl", "c"), ("pocl", "facade"), ("threads_cpp", "c"), ("threads_python", "facade"))

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


_ENOUGH = 0.2  # the share of quiet samples that suffices for a median
_SPELLED = frozenset(each.id for each in SPELLINGS)
Statistic = Callable[[str, str], float | None]


@dataclass
class Results:
    """The results of one run.

    Attributes
    ----------
    backend : str
        The library under test.
    library_path : str
        Where it is; no file has that.
    runs : dict
        By layer or peer, and id: what each process measured, in seconds per iteration. A value is the mean of one
        sample's loops.
    latencies : dict
        Of single calls, as ``ascend-rt verify`` measures them, in nanoseconds.
    machine : dict
        What the figures depend on besides the code.
    warnings : list of str
        What makes them vary.
    skipped : dict
        Why a layer or peer, or one of its benchmarks, was left out.
    disturbed : int
        How many samples in C and C++ were taken while others used the processors, because it was never quiet.
    left_out : int
        How many such samples do not count, because there were enough of quiet moments.
    """

    backend: str
    library_path: str = ""
    runs: dict[tuple[str, str], list[pyperf.Run]] = field(default_factory=dict)
    latencies: dict[str, Any] = field(default_factory=dict)
    machine: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    disturbed: int = 0
    left_out: int = 0

    def add(self, layer: str, name: str, loops: int, values: list[float], disturbed: Sequence[float] = ()) -> None:
        """Add the values that one process measured, in four digits: the noise is larger.

        Values of disturbed samples count only if there are hardly any others.
        """
        if len(values) < _ENOUGH * (len(values) + len(disturbed)):
            values = [*values, *disturbed]
            self.disturbed += len(disturbed)
        else:
            self.left_out += len(disturbed)
        values = [float(f"{value:.4g}") for value in values]
        metadata = {"name": f"{layer}/{name}", "loops": loops, "unit": "second"}
        run = pyperf.Run(values, metadata=metadata, collect_metadata=False)  # which would name the host
        self.runs.setdefault((layer, name), []).append(run)

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
        """Return the ids that have a result, in the order of the list."""
        return [b.id for b in BENCHMARKS if any((who, b.id) in self.runs for who in LAYERS + PEERS)]


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
        """Return whether the figure is reached; None if it was not measured."""
        value = self.value(results.statistics()[self.decided_by])
        return None if value is None else _RELATIONS[self.relation](value, self.limit)


def _c(name: str) -> tuple[str, str]:
    return ("c", name)


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
    Goal("record on an idle stream, in C", _c("event_record"), None, "<=", 60e-9, "s"),
    Goal("query, in C", _c("event_query_complete"), None, "<=", 25e-9, "s"),
    Goal("record, wait on a second stream, synchronize, in C", _c("record_wait_synchronize"), None, "<=", 150e-9, "s"),
    Goal("host function round trip, in C", _c("host_func_round_trip"), None, "<=", 5e-6, "s"),
    Goal("host function round trip, from 2 threads at once, in C", _c("host_func_2_threads"), None, "<=", 10e-6, "s"),
    Goal("record and wait, in C", _c("submit_pairs_1000"), None, "<=", 200e-9, "s"),
    Goal("hand-over of busy streams / spin round trip", _c("stream_hand_over"), _c("spin_round_trip"), "<=", 2.0),
    Goal("random task, 10,000 streams / 10 streams", _c("task_10000_streams"), _c("task_10_streams"), "<=", 1.3),
    Goal(
        "throughput of the machine, work that shares nothing, 2 threads / 1 thread",
        _c("private_1_thread"),
        _c("private_2_threads"),
        ">=",
        1.8,
    ),
    *(
        Goal(f"throughput, {what}, 2 threads, {devices} / 1 thread", _c(f"{name}_1_thread"), _c(two), ">=", limit)
        for name, what in (("cycle", "record, wait, synchronize"), ("task", "random tasks"))
        for devices, two, limit in (
            ("2 devices", f"{name}_2_threads", 1.8),
            ("1 device", f"{name}_2_threads_1_device", 0.9),
        )
    ),
    *(
        Goal(
            f"bandwidth, async copy / memcpy, {size[:-3]} MiB, in C",
            _c(f"memcpy_{size}"),
            _c(f"copy_async_{size}"),
            ">=",
            0.95,
        )
        for size in ("1MiB", "64MiB")
    ),
    Goal("pool allocation / malloc, 4 MiB, in C", _c("pool_malloc_free_4MiB"), _c("malloc_free_4MiB"), "<", 1.0),
    Goal(
        "malloc among 1,000,000 allocations / alone", _c("malloc_free_among_1000000"), _c("malloc_free_4KiB"), "<=", 4.0
    ),
    Goal(
        "PoCL / C, record, wait, synchronize",
        ("pocl", "record_wait_synchronize"),
        _c("record_wait_synchronize"),
        ">=",
        200,
    ),
    *(
        Goal(f"PoCL / C, {name}", ("pocl", name), _c(name), ">=", 1.0)
        for name in ids_of("pocl")
        if name.startswith("copy_async")
    ),
    *(
        Goal(f"race check / without, facade, {plain}", ("facade", name), ("facade", plain), "<=", limit)
        for name, plain in CHECKED.items()
        for limit in (1.05 if plain.endswith("MiB") else 3.0,)
    ),
)


# --- tables ----------------------------------------------------------------------------------------------------------

Table = tuple[list[str], list[list[str]]]  # head and rows


def layers_table(results: Results) -> Table:
    """Return one row per benchmark: times of the layers, and ratios of their medians."""
    measured = [name for name in results.names() if any((layer, name) in results.runs for layer in LAYERS)]
    names = [name for name in measured if name not in _SPELLED]
    return _table(results, names, LAYERS, RATIOS)


def spellings_table(results: Results) -> Table:
    """Return one row per spelling of the facade's calls, compared with the first one of its operation."""
    rows = []
    for each in SPELLINGS:

        def time_of(name: str, operation: str = each.operation) -> float | None:
            return results.median("facade", f"{operation}_{name}")

        taken, shortest, most = time_of(each.name), time_of("position"), each.goal.limit(time_of)
        if taken is not None and shortest is not None and most is not None:
            verdict = "met" if taken <= most else "not met"
            rows.append([f"`{each.code}`", time(taken), f"{taken / shortest:.2f}", f"<= {each.goal.text}", verdict])
    return ["", "facade", "/ first", "goal", ""], rows


def peers_table(results: Results) -> Table:
    """Return the same of the peers, for the benchmarks that they have."""
    names = [name for name in results.names() if any((peer, name) in results.runs for peer in PEERS)]
    return _table(results, names, PEERS, PEER_RATIOS)


def goals_table(results: Results) -> Table:
    """Return one row per goal that was measured."""
    head = ["", "goal", *results.statistics(), "decided by", ""]
    return head, [_verdict(goal, results) for goal in GOALS if goal.is_met(results) is not None]


def latencies_table(results: Results) -> Table:
    """Return percentiles of single calls on the host, and medians and 99th percentiles on the device."""
    shares = {"host": ("p50", "p90", "p99", "p999", "max"), "device": ("p50", "p99")}
    head = ["", *(f"{side} {share}" for side in shares for share in shares[side])]
    rows = [
        [name, *(time(found[side][share] / 1e9) if side in found else "" for side in shares for share in shares[side])]
        for name, found in results.latencies.items()
        if "error" not in found and name != "elapsed_time"
    ]
    return head, rows


def time(seconds: float | None) -> str:
    """Return three digits and a unit; "" for None."""
    if seconds is None:
        return ""
    size, unit = next((entry for entry in _UNITS if seconds >= entry[0]), _UNITS[-1])
    return f"{seconds / size:.3g} {unit}" if seconds / size < 999.5 else f"{seconds / size:.0f} {unit}"


def _table(results: Results, names: list[str], who: tuple[str, ...], ratios: tuple[tuple[str, str], ...]) -> Table:
    head = ["", *(word for each in who for word in (each, "p99")), *map("/".join, ratios)]
    return head, [_row(results, name, who, ratios) for name in names]


def _row(results: Results, name: str, who: tuple[str, ...], ratios: tuple[tuple[str, str], ...]) -> list[str]:
    times = (figure(each, name) for each in who for figure in (results.median, results.p99))
    values = (ratio(results.median, (over, name), (under, name)) for over, under in ratios)
    return [name, *map(time, times), *("" if value is None else f"{value:.3g}" for value in values)]


def _verdict(goal: Goal, results: Results) -> list[str]:
    figures = [_figure(goal, goal.value(statistic)) for statistic in results.statistics().values()]
    verdict = "met" if goal.is_met(results) else "not met"
    return [goal.text, f"{goal.relation} {_figure(goal, goal.limit)}", *figures, goal.decided_by, verdict]


def _figure(goal: Goal, value: float | None) -> str:
    return time(value) if goal.unit or value is None else f"{value:.2f}"


# --- files -----------------------------------------------------------------------------------------------------------


def write(results: Results, path: Path) -> None:
    """Write a pyperf file, whose benchmarks are named layer/id; the rest is under "summary"."""
    suite = pyperf.BenchmarkSuite([pyperf.Benchmark(runs) for runs in results.runs.values()])
    suite.dump(str(path), compact=False, replace=True)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["summary"] = _summary(results)
    path.write_text(json.dumps(document) + "\n", encoding="utf-8")


def read(path: Path) -> Results:
    """Read such a file.

    Raises
    ------
    ValueError
        It is another file.
    """
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))["summary"]
        results = Results(**{name: summary[name] for name in _KEPT})
        for benchmark in pyperf.BenchmarkSuite.load(str(path)).get_benchmarks():
            who, _, name = benchmark.get_name().partition("/")
            results.runs[who, name] = benchmark.get_runs()
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} was not written by 'ascend-rt bench --output' of this version") from error
    return results


_KEPT = ("backend", "machine", "warnings", "skipped", "latencies", "disturbed", "left_out")


def _summary(results: Results) -> dict[str, Any]:
    """Return all but the values themselves, with the figures of the tables and the goals; times are in seconds."""
    return {
        **{name: getattr(results, name) for name in _KEPT},
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
    figures: dict[str, Any] = {
        who: {
            "median": results.median(who, name),
            "best": results.best(who, name),
            "p99": results.p99(who, name),
            "values": len(results.values(who, name)),
        }
        for who in LAYERS + PEERS
        if (who, name) in results.runs
    }
    ratios = {
        f"{over}/{under}": ratio(results.median, (over, name), (under, name)) for over, under in RATIOS + PEER_RATIOS
    }
    return figures | {pair: value for pair, value in ratios.items() if value is not None}
