# SPDX-License-Identifier: Apache-2.0
"""The report as JSON: every field of the findings, and their text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ascend_rt._check import words
from ascend_rt._check.findings import Access, Deadlock, Finding, Hint, Race
from ascend_rt._check.frames import Frame, Frames, of_user

if TYPE_CHECKING:
    from ascend_rt._check.outcome import Outcome

FORMAT = 1


def report(outcome: Outcome) -> str:
    """Return the report."""
    found, program = outcome.found, outcome.program
    content = {
        "format": FORMAT,
        "status": outcome.status,
        "program": {"command": list(program.command), "status": program.returncode},
        "checks": sorted(found.checks),
        "processes": found.processes,
        "summary": words.summary(found, shows_hints=outcome.shows_hints),
        "findings": [_finding(each) for each in found.findings],
        "ignored": [_finding(each) for each in found.ignored],
        "hints": [_finding(each) for each in found.hints],
        "notes": outcome.remarks,
        "unseen": found.unseen,
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    common = {"kind": finding.kind, "count": finding.count, "text": "\n".join(words.lines(finding))}
    if isinstance(finding, Race):
        memory = finding.memory
        return common | {
            "conflict": finding.conflict,
            "memory": {"name": words.of_memory(finding), "kind": memory.kind, "size": memory.size}
            | {"number": memory.number, "allocated": _frames(memory.frames), "made": _frames(memory.made)},
            "offset": finding.offset,
            "bytes": finding.size,
            "first": _access(finding.first),
            "second": _access(finding.second),
            "why": {"case": finding.why.case, "text": words.why(finding)}
            | {"wait": _frames(finding.why.wait), "record": _frames(finding.why.record)},
            "fix": {"case": finding.fix.case, "text": words.fix(finding)},
        }
    if isinstance(finding, Deadlock):
        waits = (
            {"agent": it.agent, "task": it.task, "waits_for": it.waits_for, "function": it.function}
            | {"frames": _frames(it.frames)}
            for it in finding.waits
        )
        return common | {"waits": list(waits)}
    if isinstance(finding, Hint):
        common |= {"hint": finding.hint, "function": finding.function, "stream": finding.stream}
    return common | {"frames": [frame for frames in finding.places for frame in _frames(frames)]}


def _access(access: Access) -> dict[str, Any]:
    numbers = {name: getattr(access, name) for name in ("device", "stream", "task", "thread")}
    operation: dict[str, Any] = {"mode": access.mode, "function": access.function, "kernel": access.kernel}
    operation["operand"] = access.operand
    if access.process:
        operation["process"] = access.process
    if access.backward:
        operation["backward"] = True
    if access.launched:
        operation["launched"] = _frames(access.launched)
    return {**operation, "name": words.of_operation(access), **numbers, "frames": _frames(access.frames)}


def _frames(frames: Frames) -> list[dict[str, Any]]:
    return [_frame(frame) for frame in of_user(frames)]


def _frame(frame: Frame) -> dict[str, Any]:
    known = {"file": frame.path, "line": frame.line or None, "function": frame.function or None, "offset": frame.offset}
    return {name: value for name, value in known.items() if value is not None}
