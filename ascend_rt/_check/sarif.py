# SPDX-License-Identifier: Apache-2.0
"""The report as SARIF 2.1.0, the form in which code scanners and editors take results."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ascend_rt._check import words
from ascend_rt._check.findings import Deadlock, Finding, Race
from ascend_rt._check.frames import Frame, Frames, innermost, of_user

if TYPE_CHECKING:
    from ascend_rt._check.outcome import Outcome

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ADDRESS = "https://github.com/ascend-rt/ascend_rt"
_PAGE = "docs/check.md"
_ROOT = "SRCROOT"

# Name, short and full description of the rule for each kind.
_RULES = {
    "race": (
        "UnorderedAccesses",
        "Two accesses to the same bytes are not ordered",
        "Streams run at the same time. Of two accesses to the same bytes, of which one writes, one must come after "
        "the other by a record and a wait, or by a synchronization. The report names the missing one.",
    ),
    "deadlock": (
        "Deadlock",
        "Waits of which none can end",
        "Each of these waits needs another of them to end first. Remove a wait, or submit what it waits for earlier.",
    ),
    "memory": (
        "WrongUseOfMemory",
        "Memory is used in a way that the runtime does not notice",
        "An access past the requested size, after the free, or a free of memory that a task still uses.",
    ),
    "leak": (
        "Leak",
        "An object is open at the end of the program",
        "Close the object, use it in a with block, or drop the last reference to it.",
    ),
    "ignore": (
        "FaultyIgnore",
        "A comment ignores nothing, or gives no reason",
        "Remove a comment that ignores nothing, so that it does not hide a later finding. Write the reason behind the "
        "bracket.",
    ),
    "hint": (
        "Hint",
        "A wait that could be left out or replaced",
        "Hints are about speed and clarity, and are not failures.",
    ),
}


def report(outcome: Outcome, version: str) -> str:
    """Return the report."""
    found = outcome.found
    shown = [*found.findings, *(found.hints if outcome.shows_hints else ())]
    fingerprints: Counter[str] = Counter()
    run = {
        "tool": {"driver": _driver(version)},
        "invocations": [_invocation(outcome)],
        "originalUriBaseIds": {_ROOT: {"uri": Path.cwd().as_uri().rstrip("/") + "/"}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, fingerprints) for each in shown]
        + [_result(each, fingerprints) | {"suppressions": [{"kind": "inSource"}]} for each in found.ignored],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _driver(version: str) -> dict[str, Any]:
    return {
        "name": "ascend-rt check",
        "version": version,
        "informationUri": _ADDRESS,
        "rules": [
            {
                "id": kind,
                "name": name,
                "shortDescription": {"text": short},
                "fullDescription": {"text": full},
                "help": {"text": full},
                "helpUri": f"{_ADDRESS}/blob/main/{_PAGE}",
                "defaultConfiguration": {"level": _level(kind)},
            }
            for kind, (name, short, full) in _RULES.items()
        ],
    }


def _level(kind: str) -> str:
    return {"hint": "note", "ignore": "warning"}.get(kind, "error")


def _invocation(outcome: Outcome) -> dict[str, Any]:
    code = outcome.program.returncode
    ended = {"exitCode": code} if code >= 0 else {"exitSignalNumber": -code}
    remarks = [*outcome.remarks, *(f"unseen: {each}" for each in outcome.found.unseen)]
    return {
        "executionSuccessful": code == 0 or outcome.ended_at_deadlock,
        "arguments": list(outcome.program.command),
        "toolExecutionNotifications": [{"level": "note", "message": {"text": each}} for each in remarks],
        **ended,
    }


def _result(finding: Finding, fingerprints: Counter[str]) -> dict[str, Any]:
    places = [frame for frame in map(innermost, reversed(finding.places)) if frame is not None]
    fingerprint = fingerprint_of(finding)
    fingerprints[fingerprint] += 1
    result: dict[str, Any] = {
        "ruleId": finding.kind,
        "ruleIndex": list(_RULES).index(finding.kind),
        "level": _level(finding.kind),
        "message": {"text": "\n".join(words.lines(finding))},
        "locations": [_location(frame) for frame in places[:1]],
        "occurrenceCount": finding.count,
        # The first is the one that GitHub compares.
        "partialFingerprints": dict.fromkeys(
            ("primaryLocationLineHash", "ascendRtPlaces/v1"), f"{fingerprint}:{fingerprints[fingerprint]}"
        ),
    }
    if related := list(_related(finding)):
        result["relatedLocations"] = [
            _location(frame, text) | {"id": number} for number, (frame, text) in enumerate(related, 1)
        ]
    if flows := [_thread_flow(name, frames) for name, frames in _flows(finding) if frames]:
        result["codeFlows"] = [{"message": {"text": words.headline(finding)}, "threadFlows": flows}]
    return result


def _related(finding: Finding) -> Iterable[tuple[Frame, str]]:
    found: list[tuple[Frames, str]] = []
    if isinstance(finding, Race):
        found = [
            (finding.first.frames, f"the {finding.first.mode} before"),
            (finding.memory.origin, "the allocation"),
            (finding.why.record, "the record that the wait is bound to"),
            (finding.why.wait, "the wait"),
        ]
    elif isinstance(finding, Deadlock):
        found = [(wait.frames, f"{wait.agent} {words.of_wait(wait)}") for wait in finding.waits[:-1]]
    return ((frame, text) for frames, text in found if (frame := innermost(frames)) is not None)


def _flows(finding: Finding) -> list[tuple[str, Frames]]:
    if isinstance(finding, Race):
        return [(f"{it.mode}, {words.of_stream(it)}", it.frames) for it in (finding.first, finding.second)]
    if isinstance(finding, Deadlock):
        return [(f"{it.agent} {words.of_wait(it)}", it.frames) for it in finding.waits]
    return []


def _thread_flow(name: str, frames: Frames) -> dict[str, Any]:
    outermost_first = reversed(of_user(frames))
    return {
        "message": {"text": name},
        "locations": [{"location": _location(frame, frame.source or frame.place)} for frame in outermost_first],
    }


def _location(frame: Frame, text: str = "") -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(frame)}
    if frame.line:
        snippet = {"snippet": {"text": frame.source}} if frame.source else {}
        physical["region"] = {"startLine": frame.line, **snippet}
    elif frame.offset is not None:
        physical["address"] = {"relativeAddress": frame.offset}
    location: dict[str, Any] = {"physicalLocation": physical}
    if frame.function:
        location["logicalLocations"] = [{"name": frame.function, "kind": "function"}]
    return location | ({"message": {"text": text}} if text else {})


def _artifact(frame: Frame) -> dict[str, str]:
    if os.path.isabs(frame.path):
        return {"uri": Path(frame.path).as_uri()}
    return {"uri": quote(frame.path.encode("utf-8", "surrogateescape")), "uriBaseId": _ROOT}


def fingerprint_of(finding: Finding) -> str:
    """Return a hash of a finding that stays when its lines move: of its kind, its files and the text of its lines."""
    parts = [finding.kind, finding.sort if isinstance(finding, Race) else ""]
    for frame in map(innermost, finding.places):
        if frame is not None:
            parts += [frame.path, frame.function, _normalised(frame.source) or frame.place]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _normalised(line: str) -> str:
    """Return a line without its comment for the check, and without differences of white space."""
    return re.sub(r"\s+", "", re.sub(r"(#|//)\s*ascend-rt:.*", "", line))
