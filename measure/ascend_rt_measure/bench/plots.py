# SPDX-License-Identifier: Apache-2.0
"""The plots of a report; they need matplotlib."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from ascend_rt_measure.bench.ids import LAYERS, PAIRS, PEERS, STREAMS, THREADS
from ascend_rt_measure.bench.results import Results

Draw = Callable[[Results, Any], bool]  # onto axes; False: there is nothing to draw

# Text stays text, and nothing in the file changes from run to run.
_STABLE: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "ascend_rt"}
_CALLS = ("query", "record", "wait", "event_synchronize", "record_synchronize", "host_function_round_trip")
_MOVES = ("copy_host_to_device", "copy_device_to_host", "copy_device_to_device", "fill")


def _medians(results: Results, axes: Any) -> bool:
    names, who = results.names(), [each for each in LAYERS + PEERS if any(key[0] == each for key in results.runs)]
    for each in who:
        points = [(results.median(each, name), row) for row, name in enumerate(names)]
        there = [(median * 1e6, row) for median, row in points if median is not None]
        axes.plot(*zip(*there, strict=True), "o", markersize=4, label=each)
    axes.set(xscale="log", xlabel="median, µs", ylim=(len(names) - 0.5, -0.5))
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.grid(axis="both", alpha=0.3)
    return bool(names) and bool(axes.legend(fontsize=7))


def _latencies(results: Results, axes: Any) -> bool:
    """Draw what share of the calls is as fast as that, on the host, and dashed on the device."""
    shares = {"min": 0.0, "p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "p999": 0.999}
    for number, call in enumerate(_CALLS):
        for side, look in (("host", "-"), ("device", "--")):
            if found := results.latencies.get(call, {}).get(side):
                times = [found[share] / 1000 for share in shares]
                label = f"{call}, {side}" if side == "device" else call
                axes.plot(times, list(shares.values()), look, color=f"C{number}", label=label)
    axes.set(xscale="log", xlabel="time of a call, µs", ylabel="share of the calls")
    return _has_lines(axes)


def _line(results: Results, axes: Any, label: str, points: dict[int, str], figure: Callable[[float], float]) -> None:
    """Draw the median of one benchmark in C per point."""
    medians = {x: results.median("c", name) for x, name in points.items()}
    there = [(x, figure(median)) for x, median in medians.items() if median is not None]
    if there:
        axes.plot(*zip(*there, strict=True), "o-", label=label)


def _streams(results: Results, axes: Any) -> bool:
    names = {n: f"task_{n}_stream{'s' * (n > 1)}" for n in STREAMS}
    _line(results, axes, "random tasks", names, lambda median: median * 1e9)
    axes.set(xscale="log", xlabel="streams", ylabel="time of a task, ns", ylim=(0, None))
    return _has_lines(axes)


def _threads(results: Results, axes: Any) -> bool:
    for name, what in (("task", "random tasks"), ("cycle", "record, wait, synchronize")):
        own = {n: f"{name}_{n}_thread{'s' * (n > 1)}" for n in THREADS}
        shared = {n: f"{name}_{n}_threads_1_device" if n > 1 else own[1] for n in THREADS}
        _line(results, axes, f"{what}, a device for each thread", own, lambda median: 1e-6 / median)
        _line(results, axes, f"{what}, one device", shared, lambda median: 1e-6 / median)
    axes.set(xscale="log", xlabel="threads", ylabel="millions per second", ylim=(0, None))
    axes.set_xticks(THREADS, list(map(str, THREADS)))
    axes.minorticks_off()
    return _has_lines(axes)


def _batches(results: Results, axes: Any) -> bool:
    for way in ("submit", "capture", "replay"):
        _line(results, axes, way, {n: f"{way}_pairs_{n}" for n in PAIRS}, lambda median: median * 1e9)
    axes.set(xscale="log", xlabel="pairs of record and wait", ylabel="time of a pair, ns", ylim=(0, None))
    return _has_lines(axes)


def _sizes(results: Results, axes: Any) -> bool:
    for move in _MOVES:
        found = [it for name, it in results.latencies.items() if name.startswith(move) and "device" in it]
        points = [(it["bytes"], it["bytes"] / it["device"]["p50"]) for it in found if it["device"]["p50"]]
        if points:
            axes.plot(*zip(*points, strict=True), "o-", label=move)
    axes.set(xscale="log", yscale="log", xlabel="bytes", ylabel="GB/s")
    return _has_lines(axes)


def _has_lines(axes: Any) -> bool:
    return bool(axes.lines) and bool(axes.legend(fontsize=7))


PLOTS: dict[str, Draw] = {
    "medians": _medians,
    "latencies": _latencies,
    "streams": _streams,
    "threads": _threads,
    "batches": _batches,
    "sizes": _sizes,
}


def svg(results: Results, name: str) -> str:
    """Return a plot; "" if nothing of it was measured."""
    with matplotlib.rc_context(_STABLE):
        figure = Figure(figsize=(8, 1.2 + 0.16 * len(results.names())) if name == "medians" else (6, 3.2))
        figure.set_layout_engine("constrained")
        if not PLOTS[name](results, figure.subplots()):
            return ""
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def png(results: Results) -> bytes:
    """Return all plots as one picture."""
    others = [name for name in PLOTS if name != "medians"]
    figure = Figure(figsize=(14, 3 * len(others)), layout="constrained")
    for name, axes in figure.subplot_mosaic([["medians", name] for name in others]).items():
        PLOTS[name](results, axes)
        axes.set_title(name)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=80)
    return out.getvalue()
