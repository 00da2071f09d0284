# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt bench``: what it prints and writes. The exit status never depends on a time."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_rt._runtime.driver import library
from ascend_rt._startup.install_hint import install_hint
from ascend_rt.cli import terminal
from ascend_rt_measure.bench.building import BenchmarkError
from ascend_rt_measure.bench.ids import BENCHMARKS
from ascend_rt_measure.verify import session as verify

if TYPE_CHECKING:
    from ascend_rt_measure.bench.results import Results

_SUFFIXES = (".json", ".png", ".html", ".md")


DESCRIPTION = (
    "Measure what the same calls cost in C, through cffi, the facade and pyACL, on device 0 of the library, what PoCL "
    "and threads take for the same, and the latencies of single calls on host and device. The layer of C needs a "
    "compiler. It takes a quarter of an hour, twice that on a busy machine."
)
EXAMPLES = (
    "ascend-rt bench --backend sim --output results.json --output results.html",
    "ascend-rt bench --backend cann --output card.json",
    "ascend-rt bench --compare before.json after.json",
    "ascend-rt bench --ids event_record call_table call_floor",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    terminal.add_backend(parser)
    known = [benchmark.id for benchmark in BENCHMARKS]
    parser.add_argument(
        "--output",
        action="append",
        default=[],
        type=_output,
        metavar="FILE",
        help="write the results: x.json (in pyperf's format), x.png, x.html, or Markdown (.md) with plots in a "
        "directory beside it; can be given several times",
    )
    parser.add_argument("--ids", nargs="+", choices=known, metavar="ID", help="only these benchmarks, and no latencies")
    parser.add_argument("--smoke", action="store_true", help="run everything once, to see that it works")
    parser.add_argument("--read", type=Path, metavar="JSON", help="measure nothing: show and write what that file has")
    parser.add_argument(
        "--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"), help="measure nothing: compare two JSON files"
    )


def _output(text: str) -> Path:
    path = Path(text)
    if path.suffix not in _SUFFIXES:
        raise argparse.ArgumentTypeError(f"the name of a file ends with one of {', '.join(_SUFFIXES)}")
    return path


def main(arguments: argparse.Namespace) -> int:
    """Run the command; 0: all was measured that can be, 1: something failed."""
    _need("pyperf", "bench", "the benchmarks")
    from ascend_rt_measure.bench import report
    from ascend_rt_measure.bench.results import read

    if arguments.compare:
        return _compare(*map(read, arguments.compare))
    if needing := [str(path) for path in arguments.output if path.suffix in report.NEED_MATPLOTLIB]:
        _need("matplotlib", "plots", ", ".join(needing))
    for path in arguments.output:  # now, because it would cost the whole run
        if not os.access(path.absolute().parent, os.W_OK):
            raise OSError(f"{path} cannot be written")
    absent: list[str] = []
    results = read(arguments.read) if arguments.read else _measured(arguments, absent)
    _show(results, arguments.smoke)
    for path in arguments.output:
        report.WRITERS[path.suffix](results, path)
    if absent:
        raise BenchmarkError(f"no result: {', '.join(absent)}")
    return 0


def _need(module: str, extra: str, what: str) -> None:
    if find_spec(module) is None:
        raise ValueError(f"{what} needs {module}: {install_hint(extra)}")


# --- a run -----------------------------------------------------------------------------------------------------------


def _measured(arguments: argparse.Namespace, absent: list[str]) -> Results:
    """Measure; what has no result although it should is added to the list."""
    from ascend_rt_measure.bench import session
    from ascend_rt_measure.bench.results import Results

    if arguments.backend:
        os.environ["ASCEND_RT_BACKEND"] = arguments.backend
    about = verify.about(os.environ)
    loaded = library()
    results = Results(loaded.backend, loaded.path)
    results.machine["library"] = "simulator" if loaded.backend == "sim" else f"CANN {about['cann'] or ''}".strip()
    if about["soc"]:
        results.machine["chip"] = str(about["soc"])
    ids = arguments.ids or [benchmark.id for benchmark in BENCHMARKS]
    terminal.print_facts([("library", loaded.path)])
    with terminal.Progress() as progress:
        plan = session.SMOKE if arguments.smoke else session.FULL
        session.measure(plan, results, ids, not arguments.ids, progress.show)
    absent += session.missing(results, ids)
    absent += [f"latency {name}" for name, found in results.latencies.items() if "state" in found.get("error", {})]
    return results


def _show(results: Results, is_smoke: bool) -> None:
    from ascend_rt_measure.bench.results import goals_table, latencies_table, layers_table, peers_table, spellings_table

    terminal.print_facts(_facts(results))
    for table in (layers_table, spellings_table, peers_table, latencies_table):
        head, rows = table(results)
        if rows:
            print()
            terminal.print_columns(head, rows)
    print()
    if is_smoke:
        print("a smoke run: the times mean nothing")
    else:
        terminal.print_columns(*goals_table(results))


def _facts(results: Results) -> Iterator[tuple[str, str]]:
    yield from results.machine.items()
    yield from (("noise", text) for text in results.warnings)
    yield from (("left out", f"{what}: {reason}") for what, reason in results.skipped.items())


# --- a comparison ----------------------------------------------------------------------------------------------------


def _compare(before: Results, after: Results) -> int:
    from ascend_rt_measure.bench import comparison
    from ascend_rt_measure.bench.results import time

    found = list(comparison.differences(before, after))
    rows = [
        [it.name, time(it.before), time(it.after), f"{it.ratio:.2f}", "" if it.is_noise else _verdict(it.ratio)]
        for it in found
    ]
    terminal.print_facts(("differs", text) for text in comparison.different_machines(before, after))
    terminal.print_columns(["", "before", "after", "ratio", ""], rows)
    differing = sum(not it.is_noise for it in found)
    print(f"\n{differing} of {len(found)} medians differ by more than the noise: the middle halves of values are apart")
    return 0


def _verdict(ratio: float) -> str:
    return "slower" if ratio > 1 else "faster"
