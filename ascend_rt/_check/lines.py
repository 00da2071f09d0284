# SPDX-License-Identifier: Apache-2.0
"""Findings and their parts as the lines of JSON describe them; ``docs/simulator.md`` has the form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ascend_rt._check.findings import (
    Access,
    Deadlock,
    Finding,
    Fix,
    Hint,
    Leak,
    Memory,
    MemoryMistake,
    Race,
    Reason,
    Wait,
)
from ascend_rt._check.frames import Frames, parse

Line = dict[str, Any]


def frames(lines: Sequence[str] | None) -> Frames:
    """Return a stack."""
    return tuple(map(parse, lines or ()))


def access(line: Line) -> Access:
    """Return an access."""
    names = ("function", "kernel", "operand", "device", "stream", "task", "thread", "backward")
    known = {name: line[name] for name in names if line.get(name) is not None}
    return Access(line["mode"], frames(line.get("frames")), launched=frames(line.get("launched")), **known)


def memory(line: Line) -> Memory:
    """Return the memory of a race."""
    known = {name: line[name] for name in ("number", "size", "function", "name") if line.get(name) is not None}
    return Memory(line["kind"], frames(line.get("frames")), made=frames(line.get("made")), **known)


def _reason(line: Line) -> Reason:
    return Reason(line.get("case", "no_wait"), *(frames(line.get(name)) for name in ("wait", "record", "given_out")))


def _fix(line: Line) -> Fix:
    streams = ("stream", "record_stream", "wait_stream", "device", "record_device", "wait_device")
    known: Line = {name: line.get(name) for name in streams}
    known |= {name: frames(line.get(name)) for name in ("record_after", "wait_before", "before", "after")}
    return Fix(line.get("case", ""), other_thread=bool(line.get("other_thread")), **known)


def _race(line: Line) -> Race:
    return Race(
        line["conflict"],
        memory(line["memory"]),
        line.get("offset", 0),
        line["bytes"],
        access(line["first"]),
        access(line["second"]),
        _reason(line.get("why") or {}),
        _fix(line.get("fix") or {}),
    )


def counted(finding: Finding, line: Line) -> Finding:
    """Return a finding that was seen again, with the change for other streams if they are others than before."""
    if isinstance(finding, Race) and "fix" in line:
        finding = replace(finding, also=(*finding.also, _fix(line["fix"])))
    return replace(finding, count=line["count"])


def _deadlock(line: Line) -> Deadlock:
    waits = (
        Wait(it["agent"], it.get("waits_for", ""), frames(it.get("frames")), it.get("task"), it.get("function") or "")
        for it in line.get("waits", ())
    )
    return Deadlock(line["text"], tuple(waits))


def _hint(line: Line) -> Hint:
    return Hint(line["hint"], line.get("function") or "", frames(line.get("frames")), line.get("stream"))


READERS: dict[str, Callable[[Line], Finding]] = {
    "race": _race,
    "deadlock": _deadlock,
    "memory": lambda line: MemoryMistake(line["text"], frames(line.get("frames"))),
    "leak": lambda line: Leak(line["text"], frames(line.get("frames"))),
    "hint": _hint,
}
