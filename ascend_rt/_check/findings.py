# SPDX-License-Identifier: Apache-2.0
"""Findings of a program, read from the lines that its processes have written, and merged.

Each process appends JSON lines to one file; ``docs/simulator.md`` describes the form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from ascend_rt._check import symbols
from ascend_rt._check.frames import Frame, Frames, innermost, native_in, parse

Line = dict[str, Any]


@dataclass(frozen=True)
class Access:
    """An access to memory, by a task or, without a stream, by the host."""

    mode: str
    frames: Frames
    function: str = ""
    kernel: str = ""
    operand: str = ""
    device: int | None = None
    stream: int | None = None
    task: int | None = None
    thread: int | None = None
    backward: bool = False  # made for the gradient of the operation at this place


@dataclass(frozen=True)
class Memory:
    """The allocation that both accesses are in."""

    kind: str
    frames: Frames
    number: int | None = None
    size: int = 0
    function: str = ""
    name: str = ""  # type and shape of a tensor
    made: Frames = ()  # where PyTorch's allocator has given out the part that is the tensor

    @property
    def origin(self) -> Frames:
        """The place where the tensor, or else the allocation, was made."""
        return self.made or self.frames


@dataclass(frozen=True)
class Reason:
    """The reason why two accesses are not ordered: a case of :data:`ascend_rt._check.words.WHY`."""

    case: str = "no_wait"
    wait: Frames = ()
    record: Frames = ()
    given_out: Frames = ()  # to another tensor


@dataclass(frozen=True)
class Fix:
    """A change that orders two accesses: a case of :data:`ascend_rt._check.words.FIX`."""

    case: str = ""
    stream: int | None = None
    record_stream: int | None = None
    wait_stream: int | None = None
    record_after: Frames = ()
    wait_before: Frames = ()
    before: Frames = ()


@dataclass(frozen=True)
class Finding:
    """The base of all findings; a comment at one of its places ignores it, and the last one is the most important."""

    kind: ClassVar[str]
    count: int = field(default=1, kw_only=True)
    pid: int = field(default=0, kw_only=True)

    @property
    def places(self) -> tuple[Frames, ...]:
        """The stacks of the finding."""
        raise NotImplementedError

    @property
    def sort(self) -> str:
        """The difference between findings of one kind at the same places."""
        return ""


@dataclass(frozen=True)
class Race(Finding):
    """Two accesses to the same bytes, of which nothing orders the second after the first."""

    kind = "race"
    conflict: str
    memory: Memory
    offset: int
    size: int
    first: Access
    second: Access
    why: Reason = Reason()
    fix: Fix = Fix()

    @property
    def places(self) -> tuple[Frames, ...]:
        """The stacks of both accesses."""
        return self.first.frames, self.second.frames

    @property
    def sort(self) -> str:
        """The order of reads and writes."""
        return self.conflict


@dataclass(frozen=True)
class Wait:
    """One wait of a deadlock."""

    agent: str
    waits_for: str
    frames: Frames
    task: int | None = None
    function: str = ""


@dataclass(frozen=True)
class Deadlock(Finding):
    """Waits of which none can end."""

    kind = "deadlock"
    text: str
    waits: tuple[Wait, ...]

    @property
    def places(self) -> tuple[Frames, ...]:
        """The stacks of the waits."""
        return tuple(wait.frames for wait in self.waits)


@dataclass(frozen=True)
class Report(Finding):
    """A finding that is a sentence about one place."""

    text: str
    frames: Frames

    @property
    def places(self) -> tuple[Frames, ...]:
        """The one stack."""
        return (self.frames,)

    @property
    def sort(self) -> str:
        """The sentence, because one line may have several mistakes; without addresses, which differ."""
        return " ".join(word for word in self.text.split() if not word.startswith("0x"))


class MemoryMistake(Report):
    """A wrong use of memory."""

    kind = "memory"


class Leak(Report):
    """An object that is open at the end of the program."""

    kind = "leak"


class IgnoreFault(Report):
    """A comment that ignores nothing, or that gives no reason."""

    kind = "ignore"


@dataclass(frozen=True)
class Hint(Finding):
    """A place that could be better; not a failure."""

    kind = "hint"
    hint: str
    function: str
    frames: Frames
    stream: int | None = None

    @property
    def places(self) -> tuple[Frames, ...]:
        """The one stack."""
        return (self.frames,)

    @property
    def sort(self) -> str:
        """The kind of hint."""
        return self.hint


@dataclass
class Findings:
    """All that the processes of a program have written."""

    findings: list[Finding] = field(default_factory=list)
    hints: list[Finding] = field(default_factory=list)
    ignored: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    files: set[str] = field(default_factory=set)  # imported source files of the program
    checks: set[str] = field(default_factory=set)
    processes: int = 0
    unfinished: int = 0  # processes that ended without writing their end


def _frames(lines: Sequence[str] | None) -> Frames:
    return tuple(map(parse, lines or ()))


def _access(line: Line) -> Access:
    names = ("function", "kernel", "operand", "device", "stream", "task", "thread", "backward")
    known = {name: line[name] for name in names if line.get(name) is not None}
    return Access(line["mode"], _frames(line.get("frames")), **known)


def _reason(line: Line) -> Reason:
    return Reason(line.get("case", "no_wait"), *(_frames(line.get(name)) for name in ("wait", "record", "given_out")))


def _fix(line: Line) -> Fix:
    known: Line = {name: line.get(name) for name in ("stream", "record_stream", "wait_stream")}
    known |= {name: _frames(line.get(name)) for name in ("record_after", "wait_before", "before")}
    return Fix(line.get("case", ""), **known)


def _race(line: Line) -> Race:
    memory = line["memory"]
    known = {name: memory[name] for name in ("number", "size", "function", "name") if memory.get(name) is not None}
    return Race(
        line["conflict"],
        Memory(memory["kind"], _frames(memory.get("frames")), made=_frames(memory.get("made")), **known),
        line.get("offset", 0),
        line["bytes"],
        _access(line["first"]),
        _access(line["second"]),
        _reason(line.get("why") or {}),
        _fix(line.get("fix") or {}),
    )


def _deadlock(line: Line) -> Deadlock:
    waits = (
        Wait(it["agent"], it.get("waits_for", ""), _frames(it.get("frames")), it.get("task"), it.get("function") or "")
        for it in line.get("waits", ())
    )
    return Deadlock(line["text"], tuple(waits))


def _hint(line: Line) -> Hint:
    return Hint(line["hint"], line.get("function") or "", _frames(line.get("frames")), line.get("stream"))


_READERS: dict[str, Callable[[Line], Finding]] = {
    "race": _race,
    "deadlock": _deadlock,
    "memory": lambda line: MemoryMistake(line["text"], _frames(line.get("frames"))),
    "leak": lambda line: Leak(line["text"], _frames(line.get("frames"))),
    "hint": _hint,
}


def lines_of(file: Path) -> Iterator[Line]:
    """Yield the lines of a process; one that was cut off becomes a note.

    Raises
    ------
    OSError
        The file cannot be read.
    """
    for text in file.read_bytes().splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            line = None
        cut_off = _note(f"a line of process {file.stem} was cut off: perhaps the disk is full")
        yield line if isinstance(line, dict) else cut_off


def _note(text: str) -> Line:
    return {"kind": "note", "text": text}


class _Process:
    """The lines of one process, in the order in which they were written."""

    def __init__(self, into: Findings, pid: int) -> None:
        self.into, self.pid = into, pid
        self.found: dict[object, Finding] = {}
        self.has_ended = False

    def read(self, line: Line) -> None:
        kind = line.get("kind")
        if kind in _READERS:
            key = line.get("id", object())
            self.found[key] = replace(_READERS[kind](line), pid=self.pid, count=line.get("count", 1))
        elif kind == "count" and line["id"] in self.found:
            self.found[line["id"]] = replace(self.found[line["id"]], count=line["count"])
        elif kind == "process":
            self.into.checks.update(line.get("checks", ()))
        elif kind == "files":
            self.into.files.update(line["files"])
        elif kind in ("note", "unseen"):
            texts = self.into.notes if kind == "note" else self.into.unseen
            texts.extend([line["text"]] if line["text"] not in texts else [])
        elif kind == "end":
            self.has_ended = True


def read_file(file: Path, into: Findings | None = None) -> list[Finding]:
    """Return what one process has found, and hints; add what else it has written to the findings.

    Raises
    ------
    OSError
        The file cannot be read.
    """
    into = Findings() if into is None else into
    process = _Process(into, int(file.stem) if file.stem.isdecimal() else 0)
    has_used_runtime = False
    for line in lines_of(file):
        has_used_runtime |= line.get("kind") != "files"
        try:
            process.read(line)
        except (AttributeError, KeyError, TypeError):
            process.read(_note(f"a line of process {file.stem} has another form than this release knows"))
    into.processes += has_used_runtime
    into.unfinished += has_used_runtime and not process.has_ended
    return list(process.found.values())


def read(directory: Path) -> Findings:
    """Return what all processes of a program have written.

    Raises
    ------
    OSError
        A file cannot be read.
    """
    into = Findings()
    files = sorted(directory.glob("*.jsonl"), key=lambda file: (len(file.stem), file.stem))
    merged = merge(with_lines([each for file in files for each in read_file(file, into)]))
    into.findings = [each for each in merged if not isinstance(each, Hint)]
    into.hints = [each for each in merged if isinstance(each, Hint)]
    return into


def merge(findings: Iterable[Finding]) -> list[Finding]:
    """Return one finding for those of a kind at the same places, with the sum of their counts."""
    merged: dict[object, Finding] = {}
    for each in findings:
        key = (each.kind, each.sort, tuple(map(innermost, each.places)))
        known = merged.get(key)
        merged[key] = each if known is None else replace(known, count=known.count + each.count)
    return list(merged.values())


def with_lines(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of C programs with the lines of their sources, where they can be found."""
    named = {text: frame for it in findings if isinstance(it, Report) for text, frame in native_in(it.text).items()}
    lines = symbols.resolved([*_all_frames(findings), *named.values()])
    texts = {text: lines[frame] for text, frame in named.items() if frame in lines}
    return [_renamed(_mapped(each, lines), texts) for each in findings] if lines else list(findings)


def _renamed(finding: Finding, lines: dict[str, Frame]) -> Finding:
    if not isinstance(finding, Report):
        return finding
    text = finding.text
    for name, frame in lines.items():
        text = text.replace(name, f"{frame.place} in {frame.function}")
    return replace(finding, text=text)


def _all_frames(value: Any) -> Iterator[Frame]:
    if isinstance(value, Frame):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _all_frames(each)
    elif hasattr(value, "__dataclass_fields__"):
        yield from _all_frames(list(vars(value).values()))


def _mapped(value: Any, lines: dict[Frame, Frame]) -> Any:
    if isinstance(value, Frame):
        return lines.get(value, value)
    if isinstance(value, tuple):
        return tuple(_mapped(each, lines) for each in value)
    if hasattr(value, "__dataclass_fields__"):
        return replace(value, **{name: _mapped(each, lines) for name, each in vars(value).items()})
    return value
