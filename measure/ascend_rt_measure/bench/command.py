# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt bench``: its options and output. The exit status never depends on a time."""

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
    "Measure the cost of the same calls in C, through cffi, the facade and pyACL, on device 0; the time that PoCL and "
    "threads take for the same work; and the latencies of single calls on host and device. The C programs need a "
    "compiler. A full run takes about 15 minutes, and twice as long on a busy machine."
)
EXAMPLES = (
    "ascend-rt bench --backend sim --output results.json --output results.html",
    "ascend-rt bench --backend cann --output card.json",
    "ascend-rt bench --compare before.json after.json",
    "ascend-rt bench --list",
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
        help="write the results to FILE, in the format of its suffix: .json (as pyperf), .png, .html, or .md with its "
        "plots in a directory of the same name; may be repeated",
    )
    parser.add_argument("--list", action="store_true", help="list the benchmarks and the calls that they measure")
    parser.add_argument(
        "--ids", nargs="+", choices=known, metavar="ID", help="only these benchmarks (see --list), without latencies"
    )
    parser.add_argument("--smoke", action="store_true", help="run everything once, as a test; the times mean nothing")
    parser.add_argument("--read", type=Path, metavar="FILE", help="show and write the results of a JSON file instead")
    parser.add_argument(
        "--compare",
        nargs=2,
        type=Path,
        metavar=("FILE1", "FILE2"),
        help="compare the results of two JSON files instead",
    )


def _output(text: str) -> Path:
    path = Path(text)
    if path.suffix not in _SUFFIXES:
        raise argparse.ArgumentTypeError(f"expects a file name that ends with {', '.join(_SUFFIXES)}, got '{text}'")
    return path


def main(arguments: argparse.Namespace) -> int:
    """Run the command; 0: everything that can be measured was measured, 1: something failed."""
    if arguments.list:
        terminal.print_facts((benchmark.id, benchmark.calls) for benchmark in BENCHMARKS)
        return 0
    _need("pyperf", "bench", "the benchmarks")
    from ascend_rt_measure.bench import report

    if arguments.compare:
        return _compare(*map(_read, arguments.compare))
    if needing := [str(path) for path in arguments.output if path.suffix in report.NEED_MATPLOTLIB]:
        _need("matplotlib", "plots", ", ".join(needing))
    for path in arguments.output:  # now, because a failure at the end would cost the whole run
        directory = path.absolute().parent
        if not os.access(directory, os.W_OK):
            cure = "check its permissions" if directory.exists() else "create it first"
            raise terminal.CommandError(f"cannot write {path}: the directory {directory} is not writable; {cure}")
    absent: list[str] = []
    results = _read(arguments.read) if arguments.read else _measured(arguments, absent)
    _show(results, arguments.smoke)
    for path in arguments.output:
        with terminal.explained(f"write {path}"):
            report.WRITERS[path.suffix](results, path)
    if absent:
        raise BenchmarkError(f"no result: {', '.join(absent)}")
    return 0


def _read(path: Path) -> Results:
    from ascend_rt_measure.bench.results import read

    with terminal.explained(f"read {path}, the results of 'ascend-rt bench'"):
        return read(path)


def _need(module: str, extra: str, what: str) -> None:
    if find_spec(module) is None:
        raise ValueError(f"{what} needs {module}: {install_hint(extra)}")


# --- a run -----------------------------------------------------------------------------------------------------------


def _measured(arguments: argparse.Namespace, absent: list[str]) -> Results:
    """Measure; add the benchmarks that should have a result and have none to the list."""
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
        print("This was a smoke run: the times mean nothing.")
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
