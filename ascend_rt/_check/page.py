# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML page, which needs nothing from the network."""

from __future__ import annotations

import linecache
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ascend_rt._check import names, words
from ascend_rt._check.findings import Deadlock, Finding, Hint, Race
from ascend_rt._check.frames import Frame, Frames, innermost, of_user
from ascend_rt._check.order_diagram import diagram
from ascend_rt._check.outcome import CLEAN, Outcome

_AROUND = 3  # lines of source before and after a place


class _Line(NamedTuple):
    number: int
    text: str
    is_marked: bool


class _Excerpt(NamedTuple):
    """The source at a place of a finding."""

    title: str
    place: str
    lines: list[_Line]
    stack: list[str]


class _Card(NamedTuple):
    """A finding as the page shows it."""

    kind: str
    title: str
    why: str
    fix: str
    diagram: str
    excerpts: list[_Excerpt]


def report(outcome: Outcome, version: str) -> str:
    """Return the report.

    Raises
    ------
    ImportError
        ``jinja2`` is not installed.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    template = environment.get_template("page.html.jinja")
    found = outcome.found
    return (
        template.render(
            title="ascend-rt check",
            version=version,
            command=shlex.join(outcome.program.command),
            is_clean=outcome.status == CLEAN,
            summary=words.summary(found, shows_hints=True),
            cards=list(map(_card, found.findings)),
            hints=list(map(_card, found.hints)) if outcome.shows_hints else [],
            ignored=list(map(_card, found.ignored)),
            remarks=outcome.remarks,
            unseen=found.unseen,
        )
        + "\n"
    )


def _card(finding: Finding) -> _Card:
    headline = words.headline(finding).partition(": ")[2]
    why, fix = (words.why(finding), words.fix(finding)) if isinstance(finding, Race) else ("", "")
    return _Card(finding.kind, headline, why, fix, diagram(finding), list(_excerpts(finding)))


def _excerpts(finding: Finding) -> Iterator[_Excerpt]:
    for title, frames in _titled(finding):
        frame = innermost(frames)
        if frame is not None:
            yield _Excerpt(title, frame.place, _lines(frame), list(map(_in_words, of_user(frames))))


def _titled(finding: Finding) -> list[tuple[str, Frames]]:
    if isinstance(finding, Race):
        accesses = (finding.first, finding.second)
        places = [(f"{it.mode}, {words.of_stream(it)}, {words.of_operation(it)}", it.frames) for it in accesses]
        return [*places, ("allocation", finding.memory.origin)]
    if isinstance(finding, Deadlock):
        return [(f"{it.agent} {words.of_wait(it)}", it.frames) for it in finding.waits]
    if isinstance(finding, Hint):
        return [(names.of_call(finding.function, innermost(finding.frames)), finding.frames)]
    return [("", frames) for frames in finding.places]


def _in_words(frame: Frame) -> str:
    return f"{frame.place} in {frame.function}" if frame.function else frame.place


def _lines(frame: Frame) -> list[_Line]:
    """Return the lines around a place, without blank ones at the ends."""
    numbers = range(max(frame.line - _AROUND, 1), frame.line + _AROUND + 1 if frame.line else 0)
    lines = [_Line(number, linecache.getline(frame.file, number).rstrip(), number == frame.line) for number in numbers]
    filled = [number for number, line in enumerate(lines) if line.text]
    return lines[filled[0] : filled[-1] + 1] if filled else []
