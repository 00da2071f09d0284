# SPDX-License-Identifier: Apache-2.0
"""One run of all benchmarks: layers and peers take turns, in separate processes."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyperf

from ascend_rt._generated.functions import FUNCTIONS
from ascend_rt._runtime.driver import library, supports
from ascend_rt.backends import python_program
from ascend_rt_measure.bench import building, machine, pocl
from ascend_rt_measure.bench.building import BenchmarkError, MissingCompiler, lines_of
from ascend_rt_measure.bench.ids import BENCHMARKS, BY_ID, LAYERS, PEERS, by_environment, ids_of
from ascend_rt_measure.bench.quiet import PATIENCE
from ascend_rt_measure.bench.results import Results
from ascend_rt_measure.verify import session as verify

_CONTESTANTS = LAYERS + PEERS
_COMPILED = {"c": "bench.c", "threads_cpp": "threads.cpp"}

# Receives a section, the number of its parts done and in total, and the fault of the last part.
Progress = Callable[[str, int, int, str], None]
# An id, loops, and seconds per iteration: of samples, and of those that were disturbed.
_Measured = tuple[str, int, list[float], list[float]]


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    rounds: int
    values: int
    sample_ms: float
    patience: float = PATIENCE
    is_smoke: bool = False

    def pyperf_options(self) -> list[str]:
        """Return the options for a pyperf program that measures one round."""
        if self.is_smoke:
            return ["--debug-single-value"]
        return ["--processes=1", f"--values={self.values}", f"--min-time={self.sample_ms / 1000}"]


FULL = Plan(rounds=3, values=25, sample_ms=5)
SMOKE = Plan(rounds=1, values=1, sample_ms=0, patience=0, is_smoke=True)


def measure(plan: Plan, results: Results, ids: Sequence[str], latencies: bool, progress: Progress) -> None:
    """Measure the benchmarks with these ids, and latencies of single calls, and put them into the results."""
    results.machine |= machine.facts()
    results.warnings = machine.warnings()
    with tempfile.TemporaryDirectory() as directory:
        _Session(plan, results, ids, Path(directory), progress).run()
    if latencies:
        environment = {**os.environ, "ASCEND_RT_BACKEND": results.backend}
        verify.measure("latencies", plan.is_smoke, environment, results.latencies, progress)


def missing(results: Results, ids: Sequence[str]) -> list[str]:
    """Return what should have been measured and was not."""
    expected = [(who, name) for who in _CONTESTANTS for name in ids_of(who, results.backend) if name in ids]
    return [
        f"{who}/{name}"
        for who, name in expected
        if (who, name) not in results.runs and results.skipped.keys().isdisjoint((who, f"{who}/{name}"))
    ]


class _Session:
    def __init__(self, plan: Plan, results: Results, ids: Sequence[str], directory: Path, progress: Progress) -> None:
        self._plan = plan
        self._results = results
        self._directory = directory
        self._progress = progress
        self._commands = {who: [str(directory / Path(source).stem)] for who, source in _COMPILED.items()}
        self._ids = {who: [name for name in ids_of(who, results.backend) if name in ids] for who in _CONTESTANTS}
        self._missing = [name for name in FUNCTIONS if not supports(name)] if results.backend == "cann" else []
        self._total = plan.rounds * sum(map(len, self._ids.values()))
        self._done = 0
        self._prepare()

    def run(self) -> None:
        # A smoke run looks at no times, so its programs may run side by side.
        with ThreadPoolExecutor(max_workers=2 if self._plan.is_smoke else 1) as executor:
            for _ in range(self._plan.rounds):
                for who, measured in zip(_CONTESTANTS, executor.map(self._round, _CONTESTANTS), strict=True):
                    for name, loops, values, disturbed in measured:
                        self._results.add(who, name, loops, values, disturbed)

    # --- what can be measured ---

    def _prepare(self) -> None:
        for benchmark in BENCHMARKS:
            if lacking := sorted(set(benchmark.functions()).intersection(self._missing)):
                for who in LAYERS:
                    self._skip(who, f"the library has no {', '.join(lacking)}", [benchmark.id])
        for who, source in _COMPILED.items():
            if not self._ids[who]:
                continue
            program = Path(self._commands[who][0])
            try:
                if who == "c":
                    building.compile_bench(program, library().paths, self._missing)
                else:
                    building.compile_program(source, program)
            except MissingCompiler as error:
                self._skip(who, str(error))
            except BenchmarkError as error:
                self._fail(who, error)
                self._ids[who] = []
        kernels = [name for name, benchmark in BY_ID.items() if benchmark.launches]
        if any(name in names for names in self._ids.values() for name in kernels):
            kernel = self._directory / "empty_kernel.so"
            try:
                building.compile_kernel(kernel)
                self._commands["c"].append(f"-k{kernel}")
            except MissingCompiler as error:
                for who in _CONTESTANTS:
                    self._skip(who, str(error), kernels)
        if self._ids["pocl"] and (reason := pocl.missing()):
            self._skip("pocl", reason)

    def _skip(self, who: str, reason: str, names: Sequence[str] | None = None) -> None:
        """Leave a contestant out, or what it has of some benchmarks."""
        left_out = [who] if names is None else [f"{who}/{name}" for name in names if name in self._ids[who]]
        self._ids[who] = [] if names is None else [name for name in self._ids[who] if name not in names]
        for what in left_out:
            self._results.skipped[what] = reason

    def _fail(self, what: str, error: BenchmarkError) -> None:
        """Report a fault; nothing is measured then, and the command fails."""
        self._progress("benchmarks", self._done, self._total, f"{what}: {error}")

    # --- one round ---

    def _round(self, who: str) -> list[_Measured]:
        measured: list[_Measured] = []
        for environment, names in by_environment(self._ids[who]):
            measured += self._attempt(who, names, {"ASCEND_RT_BACKEND": self._results.backend, **environment})
        return measured

    def _attempt(self, who: str, names: Sequence[str], environment: dict[str, str]) -> list[_Measured]:
        """Measure; if that fails then one by one, so that what fails costs nothing but itself."""
        run = self._compiled if who in _COMPILED else self._python
        try:
            return list(run(who, names, environment))
        except BenchmarkError as error:
            if len(names) > 1:
                return [found for name in names for found in self._attempt(who, [name], environment)]
            self._fail(f"{who}/{names[0]}", error)
            self._ids[who].remove(names[0])
            return []

    def _compiled(self, who: str, names: Sequence[str], environment: dict[str, str]) -> Iterator[_Measured]:
        options = [f"-n{self._plan.values}", f"-t{self._plan.sample_ms}", f"-p{self._plan.patience}"]
        for line in map(json.loads, lines_of([*self._commands[who], *options, *names], environment)):
            self._step()
            if "skipped" in line:
                self._skip(who, line["skipped"], [line["id"]])
            else:
                loops = line["loops"] * BY_ID[line["id"]].batch
                values, disturbed = ([taken / loops for taken in line[key]] for key in ("seconds", "disturbed"))
                yield line["id"], loops, values, disturbed

    def _python(self, who: str, names: Sequence[str], environment: dict[str, str]) -> Iterator[_Measured]:
        output = self._directory / f"{who}.json"
        output.unlink(missing_ok=True)
        options = ["--quiet", "--copy-env", f"--output={output}", *self._plan.pyperf_options()]
        program = [python_program(), "-m", f"{__package__}.{who}", *options, "--ids"]
        for line in lines_of([*program, *names], environment):
            if line.partition(":")[0] in names:
                self._step()
        for benchmark in pyperf.BenchmarkSuite.load(str(output)).get_benchmarks():
            yield benchmark.get_name(), benchmark.get_loops(), list(benchmark.get_values()), []

    def _step(self) -> None:
        self._done += 1
        self._progress("benchmarks", self._done, self._total, "")
