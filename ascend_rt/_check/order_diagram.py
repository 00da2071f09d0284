# SPDX-License-Identifier: Apache-2.0
"""Diagrams of order, as SVG: streams and the host as lanes, time downward; and the cycle of a deadlock.

Lanes are vertical, so that a diagram is readable on a telephone. The page that has the diagrams defines the classes.
"""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from ascend_rt._check import words
from ascend_rt._check.findings import Access, Deadlock, Finding, Race
from ascend_rt._check.frames import Frames, innermost

_LANE, _ROW = 244, 62  # distances
_BOX, _HEIGHT = 212, 44
_TOP = 62  # the first row
_LONGEST = 28  # characters in a box


class _Mark(NamedTuple):
    """What is drawn on a lane, one to a row."""

    lane: int
    shape: str  # box, diamond or dot
    style: str
    title: str
    note: str


class _Drawing:
    """A picture of lanes that grows downward."""

    def __init__(self, lanes: list[str], title: str) -> None:
        self.lanes, self.title = lanes, title
        self.rows: list[_Mark] = []
        self.links: list[str] = []

    def add(self, mark: _Mark) -> int:
        """Add a mark in a new row; return its number."""
        self.rows.append(mark)
        return len(self.rows) - 1

    def at(self, row: int) -> tuple[int, int]:
        """Return the middle of a mark."""
        return _x(self.rows[row].lane), _TOP + _ROW * row + _HEIGHT // 2

    def link(self, start: int, end: int, style: str, text: str = "") -> None:
        """Draw an arrow from one mark to another, from side to side, or beside the lane if both are on it."""
        (x, y), (to, below) = self.at(start), self.at(end)
        way = 1 if to >= x else -1
        x, to = x + way * _reach(self.rows[start]), to - (way if to != x else -1) * _reach(self.rows[end])
        bend = (to - x) / 2 if self.rows[start].lane != self.rows[end].lane else 34
        path = f"M{x} {y}C{x + bend:g} {y} {to - bend if to != x else to + bend:g} {below} {to} {below}"
        self.links.append(f'<path class="link {style}" d="{path}" marker-end="url(#{style})"/>')
        if text:
            middle, height = (x + to) / 2, (y + below) / 2
            self.links.append(
                f'<text class="note {style} halo" x="{middle:g}" y="{height:g}" text-anchor="middle">{escape(text)}</text>'
            )

    def svg(self) -> str:
        """Return the picture."""
        width, height = _x(len(self.lanes) - 1) + _LANE // 2, _TOP + _ROW * len(self.rows) + 14
        parts = [
            f'<svg class="diagram" viewBox="0 0 {width} {height}" role="img" style="max-width:{width}px">',
            f"<title>{escape(self.title)}</title>",
            *(_lane(number, name, height) for number, name in enumerate(self.lanes)),
            *self.links,
            *(_drawn(mark, *self.at(row)) for row, mark in enumerate(self.rows)),
            "</svg>",
        ]
        return "\n".join(parts)


def _x(lane: int) -> int:
    return _LANE // 2 + _LANE * lane


def _reach(mark: _Mark) -> int:
    return {"box": _BOX // 2, "diamond": 11, "dot": 7}[mark.shape]


def _lane(number: int, name: str, height: int) -> str:
    x = _x(number)
    return (
        f'<line class="lane" x1="{x}" y1="36" x2="{x}" y2="{height - 10}"/>'
        f'<path class="tip" d="M{x - 5} {height - 12}h10l-5 9z"/>'
        f'<rect class="head" x="{x - 74}" y="8" width="148" height="28" rx="14"/>'
        f'<text class="title" x="{x}" y="27" text-anchor="middle">{escape(name)}</text>'
    )


def _drawn(mark: _Mark, x: int, y: int) -> str:
    title, note = escape(_short(mark.title)), escape(_short(mark.note))
    if mark.shape == "box":
        return (
            f'<rect class="{mark.style}" x="{x - _BOX // 2}" y="{y - _HEIGHT // 2}" width="{_BOX}" height="{_HEIGHT}" rx="8"/>'
            f'<text class="title" x="{x}" y="{y - 3}" text-anchor="middle">{title}</text>'
            f'<text class="code" x="{x}" y="{y + 13}" text-anchor="middle">{note}</text>'
        )
    shape = (
        f'<path class="{mark.style}" d="M{x - 10} {y}l10 -10 10 10 -10 10z"/>'
        if mark.shape == "diamond"
        else f'<circle class="{mark.style}" cx="{x}" cy="{y}" r="6"/>'
    )
    # Arrows between two lanes are on their inner sides, so texts are on the outer ones.
    beside, anchor = (x - 17, "end") if mark.lane == 0 else (x + 17, "start")
    return (
        f'{shape}<text class="title" x="{beside}" y="{y - 2}" text-anchor="{anchor}">{title}</text>'
        f'<text class="code" x="{beside}" y="{y + 13}" text-anchor="{anchor}">{note}</text>'
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"…{text[1 - _LONGEST :]}"


def _place(frames: Frames) -> str:
    frame = innermost(frames)
    return "" if frame is None else frame.place


def diagram(finding: Finding) -> str:
    """Return the diagram of a finding as SVG; "" for one without an order to show."""
    if isinstance(finding, Race):
        return _of_race(finding)
    if isinstance(finding, Deadlock) and finding.waits:
        return _of_deadlock(finding)
    return ""


def _lane_of(access: Access) -> str:
    return words.of_stream(access).partition(", task")[0]


def _of_race(race: Race) -> str:
    lanes = list(dict.fromkeys(map(_lane_of, (race.first, race.second))))
    drawing = _Drawing(lanes, f"{race.conflict}: nothing orders the {race.second.mode} after the {race.first.mode}")
    before, after = lanes.index(_lane_of(race.first)), lanes.index(_lane_of(race.second))
    record = drawing.add(_Mark(before, "diamond", "record", "record", _place(race.why.record))) if race.why.record else None
    first = drawing.add(_access(before, race, race.first))
    cure = drawing.add(_cure(before, race)) if race.fix.case else None
    if race.why.wait:
        wait = drawing.add(_Mark(after, "diamond", "record", _WAITS.get(race.why.case, "wait"), _place(race.why.wait)))
        if record is not None:
            drawing.link(record, wait, "bound")
    if cure is not None:
        drawing.link(cure, drawing.add(_cured(after, race)), "cure")
    second = drawing.add(_access(after, race, race.second))
    drawing.link(first, second, "missing", "not ordered")
    return drawing.svg()


_WAITS = {"unbound_wait": "wait, no record", "ignored_wait": "wait, ignored"}


def _access(lane: int, race: Race, access: Access) -> _Mark:
    size = "1 byte" if race.size == 1 else f"{race.size} bytes"
    call = words.of_operation(access)
    return _Mark(lane, "box", "access", f"{access.mode} {size}", "  ".join(filter(None, (call, _place(access.frames)))))


def _cure(lane: int, race: Race) -> _Mark:
    if race.fix.case == "event":
        return _Mark(lane, "diamond", "cure", "fix: record", "")
    return _Mark(lane, "dot", "cure", "", "")


def _cured(lane: int, race: Race) -> _Mark:
    title = "fix: wait" if race.fix.case == "event" else "fix: synchronize"
    return _Mark(lane, "diamond", "cure", title, "")


def _of_deadlock(deadlock: Deadlock) -> str:
    drawing = _Drawing(["each waits for the next"], deadlock.text)
    agents = [wait.agent for wait in deadlock.waits]
    for wait in deadlock.waits:
        drawing.add(_Mark(0, "box", "access", wait.agent, _place(wait.frames)))
    for number, wait in enumerate(deadlock.waits):
        named = [other for other, agent in enumerate(agents) if other != number and agent in wait.waits_for]
        target = named[0] if named else (number + 1) % len(agents)
        if target != number:
            drawing.link(number, target, "missing")
    return drawing.svg()
