# SPDX-License-Identifier: Apache-2.0
"""Run the benchmarks of all layers and compare them: ``python benchmarks/run.py``.

The C program, the raw layer, the facade and pyACL take turns, round by round, so that a machine that becomes slower
does so for all of them. The exit status tells whether every benchmark ran; it never depends on a time.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pyperf
import results as figures
from ids import BENCHMARKS, LAYERS, ids_of

from ascend_rt import backends, library
from ascend_rt.errors import LibraryError

HERE = Path(__file__).resolve().parent

Measured = Iterator[tuple[str, int, list[float]]]  # id, loops, seconds per iteration


class BenchmarkError(Exception):
    """A benchmark is broken, or cannot be built."""


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


def compile_c(library_path: Path, program: Path) -> None:
    """Compile bench.c against the declarations of the package and link it to the library under test."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if not compiler or shutil.which(compiler[0]) is None:
        name = compiler[0] if compiler else ""
        raise BenchmarkError(f"there is no C compiler {name!r}; install one (cc), or name it in the variable CC")
    headers = Path(backends.__file__).parent
    where = library_path.parent
    options = ["-std=c11", "-O2", "-Wall", "-Wextra", f"-I{headers}", "-o", str(program)]
    libraries = [f"-L{where}", f"-Wl,-rpath,{where}", "-lascendcl", "-ldl", "-pthread"]
    _output_of([*compiler, *options, str(HERE / "c" / "bench.c"), *libraries])


def run_c(program: Path, plan: Plan, ids: Sequence[str]) -> Measured:
    """Run the C program for one round."""
    output = _output_of([str(program), f"-n{plan.values}", f"-t{plan.sample_ms}", *ids])
    for line in map(json.loads, output.splitlines()):
        if "skipped" in line:
            print(f"c/{line['id']} is skipped: {line['skipped']}", file=sys.stderr)
        else:
            yield line["id"], line["loops"], [seconds / line["loops"] for seconds in line["seconds"]]


# --- the Python programs ---------------------------------------------------------------------------------------------


def run_python(layer: str, directory: Path, plan: Plan, ids: Sequence[str]) -> Measured:
    """Run the pyperf program of a layer for one round."""
    output = directory / f"{layer}.json"
    output.unlink(missing_ok=True)
    options = ["--quiet", "--copy-env", f"--output={output}", *plan.pyperf_options()]
    _output_of([sys.executable, str(HERE / f"bench_{layer}.py"), *options, "--ids", *ids])
    for benchmark in pyperf.BenchmarkSuite.load(str(output)).get_benchmarks():
        yield benchmark.get_name(), benchmark.get_loops(), list(benchmark.get_values())


# --- all layers ------------------------------------------------------------------------------------------------------


def measure(plan: Plan, results: figures.Results, ids: Sequence[str], directory: Path) -> None:
    """Let the layers take turns."""
    program = directory / "bench"
    compile_c(Path(results.library_path), program)

    def run(layer: str) -> list[tuple[str, int, list[float]]]:
        wanted = [name for name in ids_of(layer, results.backend) if name in ids]
        if not wanted:
            return []
        measured = run_c(program, plan, wanted) if layer == "c" else run_python(layer, directory, plan, wanted)
        return list(measured)

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


def _output_of(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchmarkError(f"failed with status {done.returncode}: {shlex.join(command)}\n{done.stderr}{done.stdout}")
    return done.stdout


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
