# SPDX-License-Identifier: Apache-2.0
"""Run the benchmarks of all layers and compare them: ``python benchmarks/run.py``.

The C program, the raw layer, the facade and pyACL take turns, round by round, so that a machine that becomes slower
does so for all of them. The exit status tells whether every benchmark ran; it never depends on a time.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import building
import pyperf
import results as figures
from building import BenchmarkError
from ids import BENCHMARKS, BY_ID, LAYERS, by_product, ids_of

from ascend_rt import library
from ascend_rt.errors import LibraryError

HERE = Path(__file__).resolve().parent

Measured = Iterator[tuple[str, int, list[float]]]  # id, loops, seconds per iteration


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    rounds: int
    values: int
    sample_ms: float
    is_smoke: bool = False

    def pyperf_options(self) -> list[str]:
        """Return the options for a pyperf program that measures one round."""
        if self.is_smoke:
            return ["--debug-single-value"]
        return ["--processes=1", f"--values={self.values}", f"--min-time={self.sample_ms / 1000}"]


FULL = Plan(rounds=3, values=20, sample_ms=10)
SMOKE = Plan(rounds=1, values=1, sample_ms=0, is_smoke=True)


# --- the C program ---------------------------------------------------------------------------------------------------


def compile_c(results: figures.Results, program: Path) -> list[str]:
    """Compile the C program, and the kernel that it loads if the library under test can; return the command."""
    building.compile_program(Path(results.library_path), program)
    if results.backend != "sim":
        return [str(program)]
    kernel = program.with_suffix(".so")
    building.compile_kernel(kernel)
    return [str(program), f"-k{kernel}"]


def run_c(command: list[str], plan: Plan, ids: Sequence[str], environment: dict[str, str]) -> Measured:
    """Run the C program for one round."""
    output = building.output_of([*command, f"-n{plan.values}", f"-t{plan.sample_ms}", *ids], environment)
    for line in map(json.loads, output.splitlines()):
        if "skipped" in line:
            print(f"c/{line['id']} is skipped: {line['skipped']}", file=sys.stderr)
        else:
            loops = line["loops"] * BY_ID[line["id"]].batch
            yield line["id"], loops, [seconds / loops for seconds in line["seconds"]]


# --- the Python programs ---------------------------------------------------------------------------------------------


def run_python(layer: str, directory: Path, plan: Plan, ids: Sequence[str], environment: dict[str, str]) -> Measured:
    """Run the pyperf program of a layer for one round."""
    output = directory / f"{layer}.json"
    output.unlink(missing_ok=True)
    options = ["--quiet", "--copy-env", f"--output={output}", *plan.pyperf_options()]
    building.output_of([sys.executable, str(HERE / f"bench_{layer}.py"), *options, "--ids", *ids], environment)
    for benchmark in pyperf.BenchmarkSuite.load(str(output)).get_benchmarks():
        yield benchmark.get_name(), benchmark.get_loops(), list(benchmark.get_values())


# --- all layers ------------------------------------------------------------------------------------------------------


def measure(plan: Plan, results: figures.Results, ids: Sequence[str], directory: Path) -> None:
    """Let the layers take turns."""
    command = compile_c(results, directory / "bench")

    def run(layer: str) -> list[tuple[str, int, list[float]]]:
        measured: list[tuple[str, int, list[float]]] = []
        for product, wanted in by_product(name for name in ids_of(layer, results.backend) if name in ids).items():
            environment = {"ASCEND_RT_SIM_PRODUCT": product} if product else {}
            if layer == "c":
                measured += run_c(command, plan, wanted, environment)
            else:
                measured += run_python(layer, directory, plan, wanted, environment)
        return measured

    # A smoke run looks at no times, so its layers may run side by side.
    with ThreadPoolExecutor(max_workers=len(LAYERS) if plan.is_smoke else 1) as executor:
        for number in range(plan.rounds):
            print(f"round {number + 1} of {plan.rounds}", file=sys.stderr)
            for layer, measured in zip(LAYERS, executor.map(run, LAYERS), strict=True):
                for name, loops, values in measured:
                    results.add(layer, name, loops, values)


def missing(results: figures.Results, ids: Sequence[str]) -> list[str]:
    """Return what should have been measured and was not."""
    expected = [(layer, name) for layer in LAYERS for name in ids_of(layer, results.backend) if name in ids]
    return [f"{layer}/{name}" for layer, name in expected if (layer, name) not in results.runs]


# --- command line ----------------------------------------------------------------------------------------------------


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare C, raw cffi, the facade and pyACL, benchmark by benchmark.")
    parser.add_argument("--backend", choices=("sim", "cann"), default="sim", help="the library (default: sim)")
    parser.add_argument("--smoke", action="store_true", help="run everything once, to see that it works")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the results as JSON, in pyperf's format")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the medians (needs matplotlib)")
    known = [benchmark.id for benchmark in BENCHMARKS]
    parser.add_argument("--ids", nargs="+", choices=known, default=known, metavar="ID", help="only these benchmarks")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> None:
    if options.plot and find_spec("matplotlib") is None:
        raise BenchmarkError("--plot needs matplotlib: pip install 'ascend_rt[plots]'")
    os.environ["ASCEND_RT_BACKEND"] = options.backend
    loaded = library()
    results = figures.Results(loaded.backend, loaded.path)
    with tempfile.TemporaryDirectory() as directory:
        measure(SMOKE if options.smoke else FULL, results, options.ids, Path(directory))
    print(f"library: {results.library_path}\n\n{figures.table(results)}\n")
    print("a smoke run: the times mean nothing" if options.smoke else figures.goals(results))
    if options.output:
        figures.write(results, options.output)
    if options.plot:
        figures.plot(results, options.plot)
    if absent := missing(results, options.ids):
        raise BenchmarkError(f"no result: {', '.join(absent)}")


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        run(options)
    except (BenchmarkError, LibraryError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
