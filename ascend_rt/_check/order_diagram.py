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
from ascend_rt._check.words import Places

_LANE, _ROW = 240, 60  # distances
_BOX, _HEIGHT = 184, 44
_TOP = 58  # height of the first row
_IN_BOX, _BESIDE = 25, 14  # characters that fit into a box, and beside a mark
_CORNER = 9  # radius

# Each kind of arrow turns down in a separate column between two lanes.
_COLUMNS = {"bound": -17, "missing": 0, "cure": 17}


class _Mark(NamedTuple):
    """A sign on a lane, one to a row."""

    lane: int
    shape: str  # a key of _SHAPES
    style: str
    title: str = ""
    note: str = ""


_SHAPES = {"box": _BOX // 2, "diamond": 11, "dot": 7}  # from the middle to the side


class _Drawing:
    """A picture of lanes that grows downward."""

    def __init__(self, lanes: list[str]) -> None:
        self._lanes = lanes
        self._rows: list[_Mark] = []
        self._links: list[str] = []

    def add(self, mark: _Mark) -> int:
        """Add a mark in a new row; return its number."""
        self._rows.append(mark)
        return len(self._rows) - 1

    def link(self, start: int, end: int, style: str) -> None:
        """Draw an arrow from one mark to a lower one, between their lanes."""
        first, last = self._rows[start], self._rows[end]
        way = 1 if last.lane >= first.lane else -1
        x = _x(first.lane) + way * _SHAPES[first.shape]
        to = _x(last.lane) - (way if last.lane != first.lane else -1) * _SHAPES[last.shape]
        middle = (x + to) // 2 + _COLUMNS[style] + (0 if last.lane != first.lane else 36)
        y, below = _y(start), _y(end)
        turn, back = _CORNER * way, _CORNER * (1 if to > middle else -1)
        self._links.append(
            f'<path class="link {style}" marker-end="url(#{style})" d="M{x} {y}H{middle - turn}q{turn} 0 {turn} '
            f'{_CORNER}V{below - _CORNER}q0 {_CORNER} {back} {_CORNER}H{to}"/>'
        )
        if style == "missing":
            self._links.append(_cross(middle, _y(end) - _ROW // 2))

    def svg(self, title: str) -> str:
        """Return the picture."""
        width, height = _x(len(self._lanes) - 1) + _LANE // 2, _TOP + _ROW * len(self._rows) + 10
        lanes = (_lane(number, name, height) for number, name in enumerate(self._lanes))
        return _svg(width, height, title, [*lanes, *self._links, *map(_drawn, self._rows, range(len(self._rows)))])


def _svg(width: int, height: int, title: str, parts: list[str]) -> str:
    head = f'<svg class="diagram" viewBox="0 0 {width} {height}" role="img" style="max-width:{width}px">'
    return "\n".join([head, f"<title>{escape(title)}</title>", *parts, "</svg>"])


def _x(lane: int) -> int:
    return _LANE // 2 + _LANE * lane


def _y(row: int) -> int:
    return _TOP + _ROW * row + _HEIGHT // 2


def _lane(number: int, name: str, height: int) -> str:
    x = _x(number)
    return (
        f'<line class="lane" x1="{x}" y1="34" x2="{x}" y2="{height - 12}"/>'
        f'<path class="tip" d="M{x - 5} {height - 13}h10l-5 9z"/>'
        f'<rect class="head" x="{x - 82}" y="6" width="164" height="28" rx="14"/>'
        f'<text class="title" x="{x}" y="25" text-anchor="middle">{escape(_short(name, _IN_BOX))}</text>'
    )


def _cross(x: int, y: int) -> str:
    return f'<circle class="broken" cx="{x}" cy="{y}" r="8"/><path class="cross" d="M{x - 3} {y - 3}l6 6m0 -6l-6 6"/>'


def _drawn(mark: _Mark, row: int) -> str:
    x, y = _x(mark.lane), _y(row)
    if mark.shape == "box":
        return _box(x, y, mark)
    shape = (
        f'<path d="M{x - 10} {y}l10 -10 10 10 -10 10z"'
        if mark.shape == "diamond"
        else f'<circle cx="{x}" cy="{y}" r="6"'
    )
    # Arrows are on the inner sides of lanes, and texts on the outer ones.
    beside, anchor = (x - 16, "end") if mark.lane == 0 else (x + 16, "start")
    note = escape(_short(mark.note, _BESIDE))
    return (
        f'{shape} class="{mark.style}"/><g class="of-{mark.style}">'
        f'<text class="title" x="{beside}" y="{y - 2}" text-anchor="{anchor}">{escape(mark.title)}</text>'
        f'<text class="code" x="{beside}" y="{y + 13}" text-anchor="{anchor}">{note}</text></g>'
    )


def _box(x: int, y: int, mark: _Mark) -> str:
    return (
        f'<rect class="{mark.style}" x="{x - _BOX // 2}" y="{y - _HEIGHT // 2}" '
        f'width="{_BOX}" height="{_HEIGHT}" rx="8"/>'
        f'<text class="title" x="{x}" y="{y - 3}" text-anchor="middle">{escape(_short(mark.title, _IN_BOX))}</text>'
        f'<text class="code" x="{x}" y="{y + 13}" text-anchor="middle">{escape(_short(mark.note, _IN_BOX))}</text>'
    )


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"…{text[1 - longest :]}"


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


_WAITS = {"unbound_wait": "unbound wait", "ignored_wait": "ignored wait"}

# Shapes and titles of the two ends of a fix, for each case.
_FIXES = {
    "event": (("diamond", "record"), ("diamond", "wait")),
    "synchronize": (("dot", ""), ("diamond", "synchronize")),
    "threads": (("dot", ""), ("diamond", "wait")),
    "edge": (("diamond", "record"), ("diamond", "wait")),
    "notify": (("diamond", "record"), ("diamond", "wait")),
    "ipc_event": (("diamond", "record"), ("diamond", "wait")),
    "process_waits": (("dot", ""), ("diamond", "wait")),
    "free_later": (("dot", ""), ("diamond", "synchronize")),
}


def _of_race(race: Race) -> str:
    at, why, fix = Places(race).at, race.why, race.fix
    earlier, later = words.in_order_of_calls(race)
    lanes = list(dict.fromkeys(map(_lane_of, (earlier, later))))
    before, after = (lanes.index(_lane_of(access)) for access in (earlier, later))
    drawing = _Drawing(lanes)
    record = wait = None
    if why.record:
        record = drawing.add(_Mark(before, "diamond", "record", "record", at(why.record, "line ")))
    first = drawing.add(_of_access(before, race, earlier))
    if cures := _FIXES.get(fix.case):
        start_place, end_place = words.ends_of_fix(race)
        place = f"after {at(start_place)}" if start_place else ""
        start = drawing.add(_Mark(before, cures[0][0], "cure", cures[0][1], place))
    if why.wait:
        title = _WAITS.get(why.case, "wait")
        wait = drawing.add(_Mark(after, "diamond", "record", title, at(why.wait, "line ")))
    if cures:
        end = drawing.add(_Mark(after, cures[1][0], "cure", cures[1][1], f"before {at(end_place)}"))
        drawing.link(start, end, "cure")
    second = drawing.add(_of_access(after, race, later))
    if record is not None and wait is not None:
        drawing.link(record, wait, "bound")
    drawing.link(first, second, "missing")
    return drawing.svg(words.conflict(race))


def _lane_of(access: Access) -> str:
    return words.of_stream(access).partition(", task")[0]


def _of_access(lane: int, race: Race, access: Access) -> _Mark:
    size = "1 byte" if race.size == 1 else f"{race.size} bytes"
    call = words.of_operation(access)
    note = " ".join(filter(None, (call if call != access.mode else "", _place(access.frames))))
    return _Mark(lane, "box", "access", f"{access.mode} {size}", note)


def _of_deadlock(deadlock: Deadlock) -> str:
    """Draw a box for each wait, and an arrow to the one that it waits for; the last arrow closes the cycle."""
    x, right, parts = 24 + _BOX // 2, 24 + _BOX, []
    for number, wait in enumerate(deadlock.waits):
        y = 32 + 2 * _ROW * number
        target = _target(deadlock, number)
        parts.append(_box(x, y, _Mark(0, "box", "access", wait.agent, _place(wait.frames))))
        if target == number + 1:
            end = y + 2 * _ROW - _HEIGHT // 2
            parts.append(f'<path class="link wait" marker-end="url(#wait)" d="M{x} {y + _HEIGHT // 2}V{end}"/>')
            parts.append(f'<text class="code" x="{x + 10}" y="{y + _ROW + 4}">waits for</text>')
        elif target is not None:
            up = 32 + 2 * _ROW * target + 8 - y
            path = f"M{right} {y}h24q9 0 9 -9v{up + 18}q0 -9 -9 -9h-24"
            parts.append(f'<path class="link wait" marker-end="url(#wait)" d="{path}"/>')
            parts.append(f'<text class="code" x="{right + 42}" y="{y + up // 2 + 4}">waits for</text>')
    return _svg(right + 130, 64 + 2 * _ROW * (len(deadlock.waits) - 1), deadlock.text, parts)


def _target(deadlock: Deadlock, number: int) -> int | None:
    """Return which wait another one waits for: the one that it names, else the next; the last one closes a cycle."""
    waits = deadlock.waits
    named = (other for other, it in enumerate(waits) if other != number and it.agent in waits[number].waits_for)
    if (target := next(named, None)) is not None:
        return target
    if number + 1 < len(waits):
        return number + 1
    # The wait of a thread for a stream leads to the cycle; the threads that wait for each other are named.
    streams = (other for other, it in enumerate(waits) if other != number and not it.agent.startswith("thread"))
    return next(streams, None) if "waits for itself" in deadlock.text else None
