# SPDX-License-Identifier: Apache-2.0
"""Host latency of recording, waiting for and querying an event: median, tail, and distribution.

A mean would hide the tail, where the scheduler and page faults show. With matplotlib (``pip install
".[plots]"``) the result is a chart, otherwise a histogram in the terminal.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from ascend_rt import Device, Event, Stream

Latencies = dict[str, np.ndarray]

PERCENTILES = (50, 90, 99, 99.9)
_WARM_UP = 100
_WIDTH = 50
_BINS = 12


def measure(rounds: int) -> Latencies:
    """Return the latencies of each call in microseconds."""
    with Stream() as recording, Stream() as waiting, Event() as event:
        calls: dict[str, Callable[[], object]] = {
            "record": lambda: event.record(recording),
            "wait": lambda: waiting.wait(event),
            "query": lambda: event.is_done,
        }
        times = {name: np.empty(rounds) for name in calls}
        for i in range(-_WARM_UP, rounds):
            for name, call in calls.items():
                begin = time.perf_counter_ns()
                call()
                times[name][max(i, 0)] = (time.perf_counter_ns() - begin) / 1e3
            waiting.synchronize()  # keeps the queues from filling up
    return times


def print_table(latencies: Latencies) -> None:
    print(f"{'us':>8}" + "".join(f"{f'p{p:g}':>10}" for p in PERCENTILES) + f"{'max':>10}")
    for name, times in latencies.items():
        columns = (*np.percentile(times, PERCENTILES), times.max())
        print(f"{name:>8}" + "".join(f"{value:10.2f}" for value in columns))


def print_histogram(latencies: Latencies) -> None:
    """Print how the calls are distributed, up to the 99th percentile."""
    for name, times in latencies.items():
        counts, edges = np.histogram(times, _BINS, (times.min(), np.percentile(times, 99)))
        print(f"\n{name}")
        for count, edge in zip(counts, edges, strict=False):
            print(f"{edge:9.2f} us | {'#' * round(_WIDTH * count / counts.max())}")


def plot(latencies: Latencies, path: str) -> None:
    """Draw which fraction of the calls takes longer than a time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    for name, times in latencies.items():
        axes.plot(np.sort(times), 1 - np.arange(len(times)) / len(times), label=name)
    axes.set(xscale="log", yscale="log", xlabel="microseconds", ylabel="fraction of calls that take longer")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path, bbox_inches="tight")
    print(f"\nthe chart is in {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10_000, help="calls of each kind (default: 10000)")
    parser.add_argument("--plot", metavar="OUT.png", default="latency.png", help="the chart (default: latency.png)")
    parser.add_argument("--text", action="store_true", help="print a histogram even if matplotlib is installed")
    arguments = parser.parse_args()

    Device(0).set_current()
    latencies = measure(arguments.rounds)
    assert all((times > 0).all() for times in latencies.values())
    print_table(latencies)
    if not arguments.text:
        with suppress(ImportError):
            plot(latencies, arguments.plot)
            return
    print_histogram(latencies)


if __name__ == "__main__":
    main()
