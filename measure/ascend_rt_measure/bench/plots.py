# SPDX-License-Identifier: Apache-2.0
"""The plots of a report; they need matplotlib."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler

from ascend_rt_measure.bench.headlines import CALLS, where
from ascend_rt_measure.bench.ids import LAYERS, PAIRS, PEERS, STREAMS, THREADS
from ascend_rt_measure.bench.results import Results

Draw = Callable[[Results, Any], bool]  # onto axes; False: there is nothing to draw

# A colour of light pages, what takes its place in a file of SVG, and the colour of dark pages. Those of the series are
# readable on both.
_THEME = {
    "#ffffff": ("--panel", "#17191c"),
    "#1c2126": ("--ink", "#e8eaed"),
    "#9aa3ad": ("--faint", "#59626c"),
}
_PANEL, _INK, _FAINT = _THEME
_SERIES = ("#7d8894", "#3d86d8", "#dd8418", "#35a06a", "#a56cc9", "#cf5f6d", "#8f8a2c")
_COLOURS = dict(zip(LAYERS + PEERS, _SERIES, strict=True))
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "ascend_rt",  # nothing in the file changes from run to run
    "figure.facecolor": _PANEL,
    "axes.facecolor": _PANEL,
    "savefig.facecolor": _PANEL,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _FAINT,
    "axes.prop_cycle": cycler(color=_SERIES[1:]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "grid.color": _FAINT,
    "grid.alpha": 0.4,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "font.size": 9,
}
_SMALL = 7.5
_HEIGHT, _HEIGHTS = 3.4, {"calls": 5.6, "latencies": 4.2}  # in inches; the rest of the charts, and these
_OVER_LINES = {"facecolor": _PANEL, "edgecolor": "none", "pad": 0}
_LATENCIES = ("query", "record", "wait", "event_synchronize", "record_synchronize", "host_function_round_trip")
_MOVES = ("copy_host_to_device", "copy_device_to_host", "copy_device_to_device", "fill")


def _title(results: Results, axes: Any, text: str) -> None:
    axes.set_title(f"{text}\n{where(results)}")


def _rows_from_the_top(axes: Any, names: list[str]) -> None:
    """Name the rows of a chart, and put the axis where reading begins."""
    axes.set_yticks(range(len(names)), names, fontsize=_SMALL)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.spines.top.set_visible(True)
    axes.spines.bottom.set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def _floor(axes: Any, seconds: float | None, text: str, row: float) -> None:
    """Draw what a time cannot be below, with its name at a row."""
    if seconds is not None:
        axes.axvline(seconds, linestyle="--", linewidth=1, color=_INK)
        axes.annotate(text, (seconds, row), (3, 0), textcoords="offset points", fontsize=_SMALL, va="center")


def _calls(results: Results, axes: Any) -> bool:
    """Draw a group of bars for each call, and the cost of an empty one."""
    names = [name for name in CALLS if all(results.values(layer, name) for layer in LAYERS)]
    if not names:
        return False
    for place, layer in enumerate(LAYERS):
        rows = [row + 0.2 * (place - 1.5) for row in range(len(names))]
        medians = [1e9 * (results.median(layer, name) or 0) for name in names]
        bars = axes.barh(rows, medians, 0.18, color=_COLOURS[layer])
        texts = [f"{layer} {median:.0f} ns" for median in medians]
        axes.bar_label(bars, texts, padding=3, fontsize=_SMALL, bbox=_OVER_LINES)
    _rows_from_the_top(axes, names)
    for layer, text in (("c", "empty call, C"), ("raw", "empty call, cffi")):
        floor = results.median(layer, "call_floor")
        _floor(axes, None if floor is None else 1e9 * floor, text, len(names) - 0.3)
    axes.set_ylim(len(names), -0.5)
    axes.set_xlabel("median, ns")
    _title(results, axes, "Six calls in four layers")
    return True


def _medians(results: Results, axes: Any) -> bool:
    names, who = results.names(), [each for each in LAYERS + PEERS if any(key[0] == each for key in results.runs)]
    for each in who:
        points = [(results.median(each, name), row) for row, name in enumerate(names)]
        there = [(median * 1e6, row) for median, row in points if median is not None]
        axes.plot(*zip(*there, strict=True), "o", markersize=4, label=each, color=_COLOURS[each])
    _rows_from_the_top(axes, names)
    axes.grid(axis="y")
    axes.set(xscale="log", xlabel="median, µs")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.figure.legend(loc="outside upper left", ncols=len(who), fontsize=_SMALL, frameon=False)
    _title(results, axes, "All benchmarks")
    return bool(names)


def _latencies(results: Results, axes: Any) -> bool:
    """Draw the median of each call, and how long the slowest of 100 and of 1000 take."""
    found = {
        f"{call}, {side}": results.latencies[call][side]
        for call in _LATENCIES
        for side in ("host", "device")
        if side in results.latencies.get(call, {})
    }
    if not found:
        return False
    marks = (("p50", "o", "median", "right"), ("p99", "|", "1 of 100", "left"), ("p999", "x", "1 of 1000", "center"))
    for share, mark, text, side in marks:
        times = [latency[share] / 1000 for latency in found.values()]
        axes.plot(times, range(len(times)), mark, color=_SERIES[1], markersize=6)
        place = {"xy": (times[0], 0), "xytext": (0, 6), "textcoords": "offset points"}
        axes.annotate(text, **place, fontsize=_SMALL, ha=side, bbox=_OVER_LINES)
    _rows_from_the_top(axes, list(found))
    empty = results.latencies.get("empty_call", {}).get("host")
    axes.set(xscale="log", xlabel="time of a call, µs", ylim=(len(found), -0.8))
    axes.xaxis.set_major_formatter("{x:g}")
    if empty:
        _floor(axes, empty["p50"] / 1000, "clock and empty call", len(found) - 0.4)
    _title(results, axes, "Latencies of single calls")
    return True


def _line(results: Results, axes: Any, label: str, points: dict[int, str], figure: Callable[[float], float]) -> None:
    """Draw the median of one benchmark in C per point."""
    medians = {x: results.median("c", name) for x, name in points.items()}
    there = [(x, figure(median)) for x, median in medians.items() if median is not None]
    if there:
        axes.plot(*zip(*there, strict=True), "o-", label=label)


def _streams(results: Results, axes: Any) -> bool:
    names = {n: f"task_{n}_stream{'s' * (n > 1)}" for n in STREAMS}
    _line(results, axes, "", names, lambda median: median * 1e9)
    axes.set(xscale="log", xlabel="streams", ylabel="time of a task, ns")
    _title(results, axes, "Random tasks on more streams")
    _from_zero(axes)
    return bool(axes.lines)


def _threads(results: Results, axes: Any) -> bool:
    for name, what in (("task", "random tasks"), ("cycle", "record, wait, synchronize")):
        own = {n: f"{name}_{n}_thread{'s' * (n > 1)}" for n in THREADS}
        shared = {n: f"{name}_{n}_threads_1_device" if n > 1 else own[1] for n in THREADS}
        _line(results, axes, f"{what},\na device for each thread", own, lambda median: 1e-6 / median)
        _line(results, axes, f"{what},\none device", shared, lambda median: 1e-6 / median)
    axes.set(xscale="log", xlabel="threads", ylabel="millions per second")
    axes.set_xticks(THREADS, list(map(str, THREADS)))
    axes.minorticks_off()
    _from_zero(axes)
    _title(results, axes, "Work from more threads")
    return _with_names_at_their_ends(axes)


def _batches(results: Results, axes: Any) -> bool:
    for way in ("submit", "capture", "replay"):
        _line(results, axes, way, {n: f"{way}_pairs_{n}" for n in PAIRS}, lambda median: median * 1e9)
    axes.set(xscale="log", xlabel="pairs of record and wait", ylabel="time of a pair, ns")
    _from_zero(axes)
    _title(results, axes, "Pairs of record and wait in batches")
    return _with_names_at_their_ends(axes)


def _sizes(results: Results, axes: Any) -> bool:
    for move in _MOVES:
        found = [it for name, it in results.latencies.items() if name.startswith(move) and "device" in it]
        points = [(it["bytes"], it["bytes"] / it["device"]["p50"]) for it in found if it["device"]["p50"]]
        if points:
            axes.plot(*zip(*points, strict=True), "o-", label=move)
    axes.set(xscale="log", yscale="log", xlabel="bytes", ylabel="GB/s")
    _title(results, axes, "Copies and fills by size")
    return _with_names_at_their_ends(axes)


def _from_zero(axes: Any) -> None:
    if axes.lines:
        axes.set_ylim(0, 1.1 * max(max(line.get_ydata()) for line in axes.lines))


def _with_names_at_their_ends(axes: Any) -> bool:
    """Write the name of each line at its last point, and move names apart that would overlap."""
    ends = [(line.axes.transData.transform(line.get_xydata()[-1])[1], line) for line in axes.lines]
    height = 0.0
    for end, line in sorted(ends, key=lambda pair: pair[0]):
        height = max(height, end)
        text, x_y = line.get_label(), line.get_xydata()[-1]
        axes.annotate(
            text,
            x_y,
            (8, (height - end) * 72 / axes.figure.dpi),
            textcoords="offset points",
            fontsize=_SMALL,
            color=line.get_color(),
            va="center",
        )
        height += 16 * (text.count("\n") + 1)
    return bool(axes.lines)


PLOTS: dict[str, Draw] = {
    "calls": _calls,
    "medians": _medians,
    "latencies": _latencies,
    "streams": _streams,
    "threads": _threads,
    "batches": _batches,
    "sizes": _sizes,
}


def svg(results: Results, name: str) -> str:
    """Return a plot for light and dark pages; "" if nothing of it was measured."""
    height = 1.4 + 0.16 * len(results.names()) if name == "medians" else _HEIGHTS.get(name, _HEIGHT)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(8, height))
        figure.set_layout_engine("constrained")
        if not PLOTS[name](results, figure.subplots()):
            return ""
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return _themed("\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n")


def _themed(drawing: str) -> str:
    """Replace the colours of light pages by variables, which a style sheet in the file sets."""
    for light, (variable, _) in _THEME.items():
        drawing = drawing.replace(light, f"var({variable})")
    light = ";".join(f"{variable}:{light}" for light, (variable, _) in _THEME.items())
    dark = ";".join(f"{variable}:{dark}" for variable, dark in _THEME.values())
    style = f"<style>svg{{{light}}}@media (prefers-color-scheme:dark){{svg{{{dark}}}}}</style>"
    head, rest = drawing.split("<defs>", 1)
    return f"{head}{style}\n<defs>{rest}"


def png(results: Results) -> bytes:
    """Return all plots as one picture."""
    others = [name for name in PLOTS if name != "medians"]
    with matplotlib.rc_context(_STYLE):
        heights = [_HEIGHTS.get(name, _HEIGHT) for name in others]
        figure = Figure(figsize=(16, sum(heights)), layout="constrained")
        places = figure.subplot_mosaic([["medians", name] for name in others], height_ratios=heights)
        for name, axes in places.items():
            PLOTS[name](results, axes)
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=80)
    return out.getvalue()
