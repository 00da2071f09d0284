# SPDX-License-Identifier: Apache-2.0
"""Measure what the first use costs a process: ``python benchmarks/first_use.py``.

Each sample is a fresh process that has imported cffi and nothing else. The exit status never depends on a time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence

from ascend_rt_measure.bench.building import BenchmarkError, output_of

PROGRAM = """if True:
    import json, time
    import cffi
    times = [time.perf_counter()]
    import ascend_rt
    times.append(time.perf_counter())
    ascend_rt.lib.aclInit(ascend_rt.ffi.NULL)
    ascend_rt.lib.aclrtSetDevice(0)
    times.append(time.perf_counter())
    ascend_rt.Stream().record(ascend_rt.Event())
    times.append(time.perf_counter())
    print(json.dumps([after - before for before, after in zip(times, times[1:])]))
"""
STEPS = (  # and the goal in milliseconds
    ("import ascend_rt", 10),
    ("the first calls: aclInit, aclrtSetDevice", 15),
    ("the first Stream and Event, and a record", None),
)


def measure(processes: int) -> list[list[float]]:
    """Return the times of each process, in seconds; one more has written the modules' bytecode before."""
    program = [sys.executable, "-I", "-c", PROGRAM]  # the installed package, whatever the directory and PYTHON* say
    outputs = [output_of(program, {"ASCEND_RT_BACKEND": "sim"}) for _ in range(1 + processes)]
    return [json.loads(output) for output in outputs[1:]]


def line(step: str, goal: int | None, seconds: Sequence[float]) -> str:
    """Return what is to be said of a step."""
    median, best = 1e3 * statistics.median(seconds), 1e3 * min(seconds)
    verdict = "" if goal is None else f"; goal {goal} ms: {'met' if median <= goal else 'not met'}"
    return f"{step}: {median:.1f} ms median, {best:.1f} best{verdict}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Cost of the first use of the simulator in a process with only cffi.")
    parser.add_argument("--smoke", action="store_true", help="run everything once, to see that it works")
    options = parser.parse_args(arguments)
    try:
        samples = measure(1 if options.smoke else 25)
    except (BenchmarkError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    for (step, goal), seconds in zip(STEPS, zip(*samples, strict=True), strict=True):
        print(line(step, None if options.smoke else goal, seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
