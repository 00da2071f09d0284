# SPDX-License-Identifier: Apache-2.0
"""The report of one run: the same sections as Markdown, with plots in files beside it, and as one page of HTML."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ascend_rt_measure.bench.headlines import figures, headlines, where
from ascend_rt_measure.bench.results import (
    Results,
    Table,
    goals_table,
    latencies_table,
    layers_table,
    peers_table,
    spellings_table,
    write,
)

_TITLE = "Performance"
_FIGURES = "figures.csv"


class Section(NamedTuple):
    """A heading with paragraphs, lines of a list, a table and plots; empty is left out.

    A table that is long is in the file of all figures, and on a page only if that is one file.
    """

    heading: str
    text: str = ""
    items: tuple[str, ...] = ()
    table: Table = ([], [])
    plots: tuple[str, ...] = ()
    is_long: bool = False


def sections(results: Results) -> Iterator[Section]:
    """Yield the sections of the report, also empty ones."""
    yield Section(
        _TITLE,
        f"This page shows the cost of calls. Library and machine: {where(results)}. Figures of the simulator measure "
        "programs and this package; they do not predict the time of work on a card.",
        table=headlines(results),
        plots=("calls",),
    )
    yield Section(
        "Method",
        "The layers are the functions in C (c) and through cffi (raw), the classes of ascend_rt (facade), and pyACL "
        "(pyacl). The frequent calls of the last two are compiled without cffi, and can therefore be faster than raw. "
        "Compare ratios within one run rather than figures of different machines or days. The command "
        "ascend-rt bench makes the same measurements on your machine.",
        items=(
            "A sample is a loop of about 5 ms; its value is the time per iteration. Loop counts are calibrated.",
            "There are three rounds of 25 values, each in a fresh process; in a round, layers and peers take turns.",
            "A sample is repeated if a probe before or after it shows that other work used the core, for up to two "
            "seconds per benchmark and round.",
            "Python is timed by pyperf. C and C++ are compiled with -O2 on the machine and timed in the same way.",
            "A latency is the time of one call; percentiles are nearest ranks of up to 10,000 calls.",
        ),
    )
    yield Section("Machine", table=(["", ""], [list(pair) for pair in results.machine.items()]))
    noise = tuple(results.warnings) + _disturbances(results)
    yield Section("Noise", "These conditions make the figures vary:" if noise else "", items=noise)
    yield Section("Goals", "Targets are informational.", table=goals_table(results))
    yield Section(
        "Layers",
        "The figures are medians, 99th percentiles of samples, and ratios of medians. An iteration of a row makes the "
        "same calls in each layer; the README of the benchmarks lists them.",
        table=layers_table(results),
        plots=("medians",),
        is_long=True,
    )
    yield Section(
        "Spellings",
        "A call of the facade can be written in several ways. Goal: a spelling takes at most 1.3 times as long as the "
        "first spelling of its operation, or at most 35 ns longer. Two spellings do more, and have goals for that: "
        "a.record() creates and destroys an event, and slices in the call are objects that are created and discarded.",
        table=spellings_table(results),
    )
    yield Section(
        "Peers",
        "Peers do the same task by other means: PoCL, an OpenCL whose device is the processor, through pyopencl (a "
        "marker, a wait for it on a second queue, a wait for that queue), and streams that are each a thread with a "
        "queue and a condition variable, in C++ and in Python. The ratios are times of peers by times of ascend_rt.",
        table=peers_table(results),
    )
    yield Section(
        "Latencies",
        "Latencies are times of single calls through cffi. All times include empty_call, the cost of an empty call and "
        "of reading the clock. A time on the device is the time between two timed events around the calls; empty_pair "
        "has no calls between them.",
        table=latencies_table(results),
        plots=("latencies",),
        is_long=True,
    )
    yield Section(
        "Scaling",
        "The charts show random tasks (records, waits, sets of a byte) by the number of streams and of threads, pairs "
        "of tasks that are submitted, captured and replayed in batches, and the device times of copies and fills by "
        "size.",
        plots=("streams", "threads", "batches", "sizes"),
    )
    skipped = tuple(f"{what}: {reason}" for what, reason in results.skipped.items())
    yield Section("Not measured", items=skipped)


def _disturbances(results: Results) -> tuple[str, ...]:
    values = sum(len(results.values(who, name)) for who, name in results.runs if who in ("c", "threads_cpp"))
    if not results.disturbed + results.left_out:
        return ()
    return (
        f"of {values + results.left_out} samples in C and C++, {results.left_out} were disturbed by other work and do "
        f"not count; {results.disturbed} were disturbed and count, because no quiet moment was found",
    )


def is_shown(section: Section) -> bool:
    """Return whether a section has more than a heading and an introduction."""
    return section.heading == _TITLE or bool(section.items or section.table[1] or section.plots)


# --- Markdown --------------------------------------------------------------------------------------------------------


def markdown(results: Results, plots: dict[str, str], directory: str) -> str:
    """Return a page whose plots and long tables are in files of that directory."""
    parts: list[str] = []
    for section in filter(is_shown, sections(results)):
        parts.append(f"{'#' if section.heading == _TITLE else '##'} {section.heading}")
        parts += [section.text] if section.text else []
        parts += ["\n".join(f"- {item}" for item in section.items)] if section.items else []
        if section.table[1]:
            parts.append(f"[All figures]({directory}/{_FIGURES}) (CSV)." if section.is_long else _pipes(section.table))
        parts += [f"![{name}]({directory}/{name}.svg)" for name in section.plots if plots.get(name)]
    return "\n\n".join(parts) + "\n"


def _pipes(table: Table) -> str:
    head, rows = table
    rule = ["---", *["---:" if len(head) > 2 else "---"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


# --- HTML ------------------------------------------------------------------------------------------------------------

_STYLE = """\
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { border-bottom: 1px solid #8884; padding: .15rem .6rem; text-align: right; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; }
svg { height: auto; max-width: 100%; }"""


def page(results: Results, plots: dict[str, str]) -> str:
    """Return a page of HTML that needs no other file."""
    parts = [f"<!DOCTYPE html>\n<html lang='en'>\n<meta charset='utf-8'>\n<title>{_TITLE}</title>"]
    parts += [f"<style>\n{_STYLE}\n</style>"]
    for section in filter(is_shown, sections(results)):
        level = "h1" if section.heading == _TITLE else "h2"
        parts.append(f"<{level}>{section.heading}</{level}>")
        parts += [f"<p>{html.escape(section.text)}</p>"] if section.text else []
        parts += [_list(section.items)] if section.items else []
        parts += [_cells(section.table)] if section.table[1] else []
        # Identifiers are unique in a page, not in a drawing.
        parts += [_drawing(plots[name], name) for name in section.plots if plots[name]]
    return "\n".join([*parts, "</html>"]) + "\n"


def _list(items: tuple[str, ...]) -> str:
    return "<ul>{}</ul>".format("".join(f"<li>{html.escape(item)}</li>" for item in items))


def _cells(table: Table) -> str:
    head, rows = table
    lines = [("th", head), *(("td", row) for row in rows)]
    return "<table>{}</table>".format(
        "\n".join(f"<tr>{''.join(f'<{kind}>{html.escape(cell)}</{kind}>' for cell in row)}</tr>" for kind, row in lines)
    )


def _drawing(svg: str, name: str) -> str:
    drawing = svg[svg.index("<svg") :]
    for mark in ('id="', 'href="#', "url(#"):
        drawing = drawing.replace(mark, f"{mark}{name}-")
    return drawing


# --- files -----------------------------------------------------------------------------------------------------------


def _plots(results: Results) -> dict[str, str]:
    from ascend_rt_measure.bench import plots

    return {name: plots.svg(results, name) for name in plots.PLOTS}


def _write_markdown(results: Results, path: Path) -> None:
    plots, directory = _plots(results), path.with_suffix("")
    directory.mkdir(exist_ok=True)
    for name, drawing in plots.items():
        if drawing:
            (directory / f"{name}.svg").write_text(drawing, encoding="utf-8")
    (directory / _FIGURES).write_text(figures(results), encoding="utf-8")
    path.write_text(markdown(results, plots, directory.name), encoding="utf-8")


def _write_html(results: Results, path: Path) -> None:
    path.write_text(page(results, _plots(results)), encoding="utf-8")


def _write_png(results: Results, path: Path) -> None:
    from ascend_rt_measure.bench import plots

    path.write_bytes(plots.png(results))


WRITERS: dict[str, Callable[[Results, Path], None]] = {
    ".json": write,
    ".png": _write_png,
    ".html": _write_html,
    ".md": _write_markdown,
}
NEED_MATPLOTLIB = frozenset({".png", ".html", ".md"})
