# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the programs in Python: loops around calls, and the pyperf program that times them.

A benchmark is a context manager. Entering it makes what is needed and yields a function from a number of loops to the
seconds they took; leaving it cleans up.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from itertools import repeat
from time import perf_counter
from typing import Any

import pyperf

from ascend_rt_measure.bench.ids import BY_ID, ids_of
from ascend_rt_measure.bench.quiet import PATIENCE, Watch

KIB = 1 << 10
MIB = 1 << 20

Timed = Callable[[int], float]
Benchmark = Callable[[], AbstractContextManager[Timed]]


# One loop per number of arguments: a call with a star costs more than the cheapest of what is measured.


def loop0(function: Callable[[], object]) -> Timed:
    def timed(loops: int) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            function()
        return perf_counter() - begin

    return timed


def loop1(function: Callable[[Any], object], argument: object) -> Timed:
    def timed(loops: int) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            function(argument)
        return perf_counter() - begin

    return timed


def loop2(function: Callable[[Any, Any], object], first: object, second: object) -> Timed:
    def timed(loops: int) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            function(first, second)
        return perf_counter() - begin

    return timed


def main(layer: str, benchmarks: dict[str, Benchmark]) -> None:
    """Run the benchmarks of a layer that were asked for on the command line, all by default.

    The layer is the name of a module of this package, which worker processes run again.
    """
    runner = pyperf.Runner(program_args=("-m", f"{__package__}.{layer}"), add_cmdline_args=_pass_ids_on)
    runner.argparser.add_argument("--ids", nargs="+", choices=ids_of(layer), metavar="ID", help="only these benchmarks")
    options = runner.parse_args()
    wanted: Iterable[str] = options.ids or ids_of(layer)
    patience = 0.0 if options.debug_single_value else PATIENCE
    with ExitStack() as resources:
        for name in wanted:
            opener = _opener(benchmarks[name], resources, patience)
            runner.bench_time_func(name, _run, opener, inner_loops=BY_ID[name].batch)


def _pass_ids_on(command: list[str], arguments: argparse.Namespace) -> None:
    if arguments.ids:
        command += ["--ids", *arguments.ids]


def _opener(benchmark: Benchmark, resources: ExitStack, patience: float) -> Callable[[], tuple[Timed, Watch]]:
    # Entered by the worker process that times the benchmark, not by the others.
    return cache(lambda: (resources.enter_context(benchmark()), Watch(patience)))


# A line that belongs to no library, as each program has one: the race check would go on through the whole stack.
_call_from_a_program: Callable[[Timed, int], float] = eval(
    compile("lambda timed, loops: timed(loops)", "program.py", "eval")
)


def _run(loops: int, opened: Callable[[], tuple[Timed, Watch]]) -> float:
    timed, watch = opened()
    return watch.sample(lambda: _call_from_a_program(timed, loops))
