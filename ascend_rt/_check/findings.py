# SPDX-License-Identifier: Apache-2.0
"""Findings of a program, and how those at the same places are merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from ascend_rt._check import symbols
from ascend_rt._check.frames import Frame, Frames, innermost, is_file_of_user, native_in

if TYPE_CHECKING:
    from typing_extensions import Self


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
    launched: Frames = ()  # the call that launched the graph to which the access belongs
    process: int | None = None  # counted from 1, in a race between processes


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
    device: int | None = None  # the device of the stream; None: the first one
    record_device: int | None = None
    wait_device: int | None = None
    record_after: Frames = ()
    wait_before: Frames = ()
    before: Frames = ()
    after: Frames = ()
    other_thread: bool = False  # another thread than that of the later access uses the stream


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

    def with_more(self, other: Self) -> Self:
        """Return the finding with the count of another one at the same places."""
        return replace(self, count=self.count + other.count)


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
    also: tuple[Fix, ...] = ()  # for other streams at the same places

    @property
    def places(self) -> tuple[Frames, ...]:
        """The stacks of both accesses."""
        return self.first.frames, self.second.frames

    @property
    def sort(self) -> str:
        """The order of reads and writes."""
        return self.conflict

    def with_more(self, other: Self) -> Self:
        """Return the race with the count of another one at the same places, and with the change for its streams."""
        return replace(self, count=self.count + other.count, also=(*self.also, other.fix, *other.also))


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


def merge(findings: Iterable[Finding]) -> list[Finding]:
    """Return one finding for those of a kind at the same places, with the sum of their counts."""
    merged: dict[object, Finding] = {}
    for each in findings:
        key = (each.kind, each.sort, tuple(map(innermost, each.places)))
        known = merged.get(key)
        merged[key] = each if known is None else known.with_more(each)
    return list(merged.values())


def with_lines(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of C programs with the lines of their sources, where they can be found."""
    named = {text: frame for it in findings if isinstance(it, Report) for text, frame in native_in(it.text).items()}
    frames = [*_all_frames(findings), *named.values()]
    lines = symbols.resolved([frame for frame in frames if is_file_of_user(frame.file)])
    texts = {text: lines[frame][0] for text, frame in named.items() if frame in lines}
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


def _mapped(value: Any, lines: dict[Frame, Frames]) -> Any:
    """Return a value with the lines of its places; a place in a stack may have several."""
    if isinstance(value, tuple) and not isinstance(value, Frame):
        parts = (lines.get(each, (each,)) if isinstance(each, Frame) else (_mapped(each, lines),) for each in value)
        return tuple(chain.from_iterable(parts))
    if hasattr(value, "__dataclass_fields__"):
        return replace(value, **{name: _mapped(each, lines) for name, each in vars(value).items()})
    return value
