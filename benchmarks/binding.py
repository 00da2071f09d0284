# SPDX-License-Identifier: Apache-2.0
"""Compare what bindings cost: ``python benchmarks/binding.py``.

The same do-nothing C functions are called through ctypes, cffi, the raw layer and the facade, and those of a do-nothing
libcuda through cuda.core. The time above that of C is the binding's. The exit status never depends on a time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import building
import pyperf
from bench_binding import CONTESTANTS, IDS

from ascend_rt_measure.bench.building import BenchmarkError, output_of

HERE = Path(__file__).resolve().parent
ROUNDS, VALUES, SAMPLE_MS = 3, 20, 10

Runs = dict[tuple[str, str], list[pyperf.Run]]  # by contestant and id
Statistic = Callable[[Runs, str, str], float | None]


@dataclass(frozen=True)
class Goal:
    """How much more than C the facade may take: in nanoseconds, or times what another contestant takes more."""

    id: str
    limit: float
    reference: tuple[str, str] | None = None  # contestant, id


_RECORD = ("cuda_core", "stream_record_event")
_HOT = ("event_record", "stream_record_event", "stream_wait_event", "event_query_complete", "stream_synchronize")
GOALS = (
    *(Goal(name, 0.75, _RECORD) for name in _HOT),
    Goal("copy_async", 120),
    Goal("event_create_destroy", 250),
    Goal("malloc_free", 400),
    Goal("graph_launch", 60),
    Goal("host_func", 1.5, ("raw", "host_func")),
)


def measure(ids: Sequence[str], directory: Path, rounds: int, values: int, sample_ms: float) -> Runs:
    """Run every contestant in fresh processes."""
    building.compile_nothing(directory)
    environment = {
        "ASCEND_RT_BACKEND": "cann",
        "ASCEND_RT_LIBRARY": str(directory / building.ACL),
        "OPENBLAS_NUM_THREADS": "1",  # with more than one thread the C library's locks cost more, and so does the GIL
    }
    program = [sys.executable, str(HERE / "bench_binding.py"), str(directory), str(values), str(sample_ms), *ids]
    runs: Runs = {}
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
        for line in map(json.loads, output_of(program, environment).splitlines()):
            if "skipped" in line:
                print(f"{line['layer']} is skipped: {line['skipped']}", file=sys.stderr)
                continue
            metadata = {"name": f"{line['layer']}/{line['id']}", "loops": line["loops"]}
            run = pyperf.Run(line["seconds"], metadata=metadata)
            runs.setdefault((line["layer"], line["id"]), []).append(run)
    return runs


def median_ns(runs: Runs, layer: str, name: str) -> float | None:
    """Return the median time of an iteration; None if it was not measured."""
    values = [value for run in runs.get((layer, name), ()) for value in run.values]
    return 1e9 * statistics.median(values) if values else None


def best_ns(runs: Runs, layer: str, name: str) -> float | None:
    """Return the smallest time of an iteration, which other work on the machine disturbed least."""
    return min((1e9 * value for run in runs.get((layer, name), ()) for value in run.values), default=None)


def overhead_ns(runs: Runs, layer: str, name: str, statistic: Statistic = median_ns) -> float | None:
    """Return how much longer than C a contestant takes."""
    whole, floor = statistic(runs, layer, name), statistic(runs, "c", name)
    return None if whole is None or floor is None else whole - floor


def table(runs: Runs, ids: Sequence[str]) -> str:
    """Return one row per id: the median in C, and of the others what they take more."""
    rows = [["", "c", *(f"+{layer}" for layer in CONTESTANTS if layer != "c")]]
    for name in ids:
        figures = [median_ns(runs, "c", name)]
        figures += [overhead_ns(runs, layer, name) for layer in CONTESTANTS if layer != "c"]
        rows.append([name, *("" if figure is None else f"{figure:.1f}" for figure in figures)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        row[0].ljust(widths[0]) + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        for row in rows
    )


def verdict(runs: Runs, goal: Goal) -> str:
    """Return what was measured of a goal, and whether the medians meet it."""
    text = f"{goal.id} <= {goal.limit:g} {'x {}/{}'.format(*goal.reference) if goal.reference else 'ns'}"
    median, best = (measured(runs, goal, statistic) for statistic in (median_ns, best_ns))
    if median is None:
        return f"{text}: not measured"
    return f"{text}: {'met' if median <= goal.limit else 'not met'} ({median:.2f} median, {best:.2f} best)"


def measured(runs: Runs, goal: Goal, statistic: Statistic) -> float | None:
    """Return what a goal limits."""
    figure = overhead_ns(runs, "facade", goal.id, statistic)
    basis = overhead_ns(runs, *goal.reference, statistic) if goal.reference else 1.0
    return None if figure is None or basis is None else figure / basis


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare what bindings cost: nanoseconds over a call in C.")
    parser.add_argument("--smoke", action="store_true", help="run everything once, to see that it works")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the results as JSON, in pyperf's format")
    parser.add_argument("--ids", nargs="+", choices=IDS, default=list(IDS), metavar="ID", help="only these benchmarks")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> None:
    plan = (1, 1, 0) if options.smoke else (ROUNDS, VALUES, SAMPLE_MS)
    with tempfile.TemporaryDirectory() as directory:
        runs = measure(options.ids, Path(directory), *plan)
    print(f"medians, nanoseconds; with a plus what is more than in C\n\n{table(runs, options.ids)}\n")
    print("a smoke run: the times mean nothing" if options.smoke else "goals of the facade, over C")
    if not options.smoke:
        print("\n".join(f"  {verdict(runs, goal)}" for goal in GOALS))
    if options.output:
        suite = pyperf.BenchmarkSuite([pyperf.Benchmark(found) for found in runs.values()])
        suite.dump(str(options.output), compact=False, replace=True)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        run(options)
    except (BenchmarkError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
