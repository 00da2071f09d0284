# SPDX-License-Identifier: Apache-2.0
"""Findings in words, the same in every format of a report."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from ascend_rt._check import names
from ascend_rt._check.findings import Access, Deadlock, Finding, Findings, Fix, Hint, Race, Report, Wait
from ascend_rt._check.frames import Frames, apart, innermost, is_of_user, stack

TITLES = {
    "race": ("race", "races"),
    "deadlock": ("deadlock", "deadlocks"),
    "memory": ("wrong use of memory", "wrong uses of memory"),
    "leak": ("leak", "leaks"),
    "ignore": ("faulty ignore", "faulty ignores"),
    "hint": ("hint", "hints"),
}

HINTS = {
    "redundant_wait": "the stream was ordered after this record already; the wait can be left out",
    "wait_without_record": "the event had no record, so the wait orders nothing",
    "host_wait": "the host waits here for work that only another stream needs; an event orders the streams without it",
}


class Places:
    """Names places within one finding: by the line alone if both accesses are in that file.

    Parameters
    ----------
    race : Race
        The finding.
    """

    def __init__(self, race: Race) -> None:
        files = {frame.file for frame in map(innermost, race.places) if frame is not None}
        self._file = next(iter(files)) if len(files) == 1 else None

    def at(self, frames: Frames, prefix: str = "") -> str:
        """Return ``47``, after a prefix such as ``line ``, or ``load.py:47``."""
        frame = innermost(frames)
        if frame is None:
            return "an unknown place"
        return f"{prefix}{frame.line}" if frame.file == self._file and frame.line else frame.place


def of_stream(access: Access) -> str:
    """Return the stream and the task of an access, or the thread of the host."""
    if access.stream is None:
        process = f" of process {access.process}" if access.process else ""
        return f"host{process}, thread {access.thread}" if access.thread else f"host{process}"  # 0: all threads
    device = f" of device {access.device}" if access.device else ""
    process = f" of process {access.process}" if access.process else ""
    return f"stream {access.stream}{device}{process}" + ("" if access.task is None else f", task {access.task}")


def of_operation(access: Access) -> str:
    """Return what made an access: a kernel, an operation of another library, the facade's name, or the C function's."""
    if access.kernel:
        return access.kernel if access.function == access.kernel else f"kernel {access.kernel}"
    return names.of_call(access.function, innermost(access.frames)) if access.function else access.mode


def of_wait(wait: Wait) -> str:
    """Return what an agent does instead of going on: it waits for something, or runs code that waits."""
    return wait.waits_for if wait.waits_for.startswith("runs ") else f"waits for {wait.waits_for}"


def place_of(access: Access) -> str:
    """Return the stack that led to an access; in a backward pass, that of the operation which is differentiated."""
    launch = innermost(access.launched)
    launched = "" if launch is None else f", launched at {launch.place}"
    return ("backward of " if access.backward else "") + stack(access.frames) + launched


def of_memory(race: Race) -> str:
    """Return the name of the memory, with the place where it was allocated."""
    memory = race.memory
    frame = innermost(memory.origin)
    if memory.made:
        name, verb = f"tensor {memory.name}" if memory.name else "a tensor", "made"
    else:
        kind = "mapped" if memory.function == "aclrtMapMem" else memory.kind
        name, verb = names.of_memory(kind, memory.number, in_python=_is_in_python(race)), "allocated"
    return name if frame is None else f"{name} ({verb} {frame.place})"


def _is_in_python(race: Race) -> bool:
    known = (innermost(frames) for frames in (race.memory.origin, *race.places))
    return names.is_python(next((frame for frame in known if frame is not None), None))


def _wait(race: Race) -> str:
    return f"the wait at {Places(race).at(race.why.wait)}"


def _record(race: Race) -> str:
    """Return which record a wait is bound to; of old ones the place is unknown."""
    return f"the record at {Places(race).at(race.why.record)}" if race.why.record else "an old record"


def _line(race: Race, frames: Frames) -> str:
    return Places(race).at(frames, "line ")


WHY: dict[str, Callable[[Race], str]] = {
    "late_record": lambda race: f"{_wait(race)} is bound to {_record(race)}, before the {race.first.mode}",
    "no_wait": lambda race: f"nothing orders the {race.second.mode} after the {race.first.mode}",
    "unbound_wait": lambda race: f"{_wait(race)} is for an event that had no record, so it orders nothing",
    "ignored_wait": lambda race: f"{_wait(race)} is ignored by the product, so it orders nothing",
    "not_reset": lambda race: f"{_wait(race)} is bound to {_record(race)}, the first since the last reset",
    "any_record": lambda race: (
        f"{_wait(race)} may be satisfied by other streams too, which do not follow the {race.first.mode}"
    ),
    "failed_wait": lambda race: f"{_wait(race)} reached its limit or failed, so it orders nothing",
    "not_synchronized": lambda race: f"the host did not synchronize with {_stream(_stream_of(race))}",
    "threads": lambda race: "nothing orders the two threads of the host",
    "other_process": lambda race: (
        f"process {race.second.process} did not wait for the {race.first.mode} of process {race.first.process}"
    ),
    "reused": lambda race: (
        f"the tensor was freed, and its memory given out again at {Places(race).at(race.why.given_out)}, "
        f"while {_stream(race.first.stream)} still used it"
    ),
    "freed": lambda race: "the call that frees the memory comes first",
}

# Fields of a fix that name a stream and its device.
_STREAM = ("stream", "device")
_RECORDS = ("record_stream", "record_device")
_WAITS = ("wait_stream", "wait_device")
_MOST_STREAMS = 4  # named; more are others

FIX: dict[str, Callable[[Race, Fix], str]] = {
    "event": lambda race, fix: _event(race, fix),
    "batch": lambda race, fix: (
        f"put the two parts into separate batches at {Places(race).at(fix.before)}, or let them not overlap: "
        "the parts of a batch have no order"
    ),
    "edge": lambda race, fix: (
        f"order the two in the graph: record after {_ends(race)[0]}, and wait before {_ends(race)[1]}, "
        "on the streams of the capture"
    ),
    "synchronize": lambda race, fix: f"synchronize {_streams(race, _STREAM)} before {_ends(race)[1]}" + _where(fix),
    "threads": lambda race, fix: (
        f"let one thread wait for the other before {_line(race, fix.before)}: by a join, a queue or an event"
    ),
    "record_stream": lambda race, fix: (
        f"call the tensor's record_stream, with {_stream(fix.stream)}, before it is freed"
    ),
    "notify": lambda race, fix: (
        f"record a notify on {_streams(race, _RECORDS)} after {_ends(race)[0]}, let "
        f"{_streams(race, _WAITS)} wait for it before {_ends(race)[1]}, each time but the first"
    ),
    "ipc_event": lambda race, fix: (
        f"record an IPC event on {_stream(fix.record_stream)} of process {race.first.process} after "
        f"{_line(race, fix.record_after)}, let {_stream(fix.wait_stream)} of process "
        f"{race.second.process} wait for it before {_line(race, fix.wait_before)}"
    ),
    "process_waits": lambda race, fix: (
        f"synchronize {_stream(fix.stream)} of process {race.first.process}, and let process {race.second.process} "
        f"wait for that before {_line(race, fix.before)}"
    ),
    "free_later": lambda race, fix: (
        f"synchronize {_streams(race, _STREAM)} before the free at {Places(race).at(fix.before)}{_where(fix)}, "
        "or free later"
    ),
    "free_after": lambda race, fix: (
        f"free the memory after {_line(race, fix.after)}"
        + ("" if fix.stream is None else f", in {_stream(fix.stream, fix.device)} or in one that waits for it")
    ),
}


# The rest of a change, where the reason asks for more than order.
_BESIDES = {
    "not_reset": ", and reset the event before it is recorded again",
    "failed_wait": ", without a limit that may be reached",
}


def _where(fix: Fix) -> str:
    """Return the threads that may synchronize, where the stream's own thread may have destroyed it by then."""
    return ", there or in a thread for which that one waits" if fix.other_thread else ""


def ends_of_fix(race: Race) -> tuple[Frames, Frames]:
    """Return the places after which and before which a fix goes: where two calls of one helper differ."""
    return apart(race.fix.record_after, race.fix.wait_before or race.fix.before)


def in_order_of_calls(race: Race) -> tuple[Access, Access]:
    """Return the accesses in the order in which the fix puts them; the check may have met them in the other."""
    fix = race.fix
    is_reversed = race.first.frames != race.second.frames and (
        fix.record_after == race.second.frames or fix.before == race.first.frames
    )
    return (race.second, race.first) if is_reversed else (race.first, race.second)


def _ends(race: Race) -> list[str]:
    """Return the ends of a fix in words: a backward pass is later than the line whose gradient it computes.

    A block of ``with`` has one line for the allocation at its begin and for the free at its end.
    """
    places = ends_of_fix(race)
    ends = [_line(race, frames) for frames in places]
    for number, access in enumerate(in_order_of_calls(race)):
        is_at_launch = access.launched and race.fix.case != "edge"
        if access.backward and not is_at_launch:
            ends[number] = f"the backward pass of {ends[number]}"
        if access.mode == "free" and innermost(places[number]) == innermost(race.memory.origin):
            ends[number] = f"the free at {Places(race).at(places[number])}"
    return ends


def _event(race: Race, fix: Fix) -> str:
    earlier, later = in_order_of_calls(race)
    after, before = _ends(race)
    waits = _streams(race, _WAITS)
    if _is_collective_of_torch(race, earlier):
        return (
            f"let {waits} wait for the collective of {after}, by wait() of its work or a later record, before {before}"
        )
    if _is_collective_of_torch(race, later):
        waits = "the current stream"
    return f"record on {_streams(race, _RECORDS)} after {after}, wait on {waits} before {before}"


def _is_collective_of_torch(race: Race, access: Access) -> bool:
    """Return whether an access is that of a collective which PyTorch runs on a stream that programs cannot name."""
    return bool(race.memory.made) and (access.kernel or access.function).startswith("Hccl")


def _stream_of(race: Race) -> int | None:
    return race.second.stream if race.first.stream is None else race.first.stream


def _stream(number: int | None, device: int | None = None) -> str:
    return "the stream" if number is None else f"stream {number}" + (f" of device {device}" if device else "")


def _streams(race: Race, fields: tuple[str, str]) -> str:
    """Return the streams that a change is for: a loop may have the race on several."""
    changes = [race.fix, *(it for it in race.also if it.case == race.fix.case)]
    named = sorted({tuple(getattr(it, field) or 0 for field in reversed(fields)) for it in changes})
    if len(named) == 1:
        return _stream(*(getattr(race.fix, field) for field in fields))
    parts = [_stream(number, device) for device, number in named[:_MOST_STREAMS]]
    if len(named) > _MOST_STREAMS:
        parts.append("others")
    elif not any(device for device, _ in named):
        parts = ["streams " + parts[0].removeprefix("stream "), *(part.removeprefix("stream ") for part in parts[1:])]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def why(race: Race) -> str:
    """Return why nothing orders the accesses of a race; "" if that is unknown."""
    is_of_library = race.why.case == "late_record" and not any(map(is_of_user, race.why.wait))
    case = "no_wait" if is_of_library else race.why.case  # the program cannot move a wait that a library makes
    return WHY[case](race) if case in WHY else ""


def fix(race: Race) -> str:
    """Return the change that orders the accesses of a race; "" if that is unknown."""
    change = FIX[race.fix.case](race, race.fix) if race.fix.case in FIX else ""
    return change and change + _BESIDES.get(race.why.case, "")


def conflict(race: Race) -> str:
    """Return the two accesses; order does not help a use of memory that was freed."""
    return race.conflict if race.first.mode == "free" else f"{race.conflict}, not ordered"


def headline(finding: Finding) -> str:
    """Return the first line of a finding."""
    return f"{finding.kind}: {_summary(finding)}{_times(finding)}"


def _times(finding: Finding) -> str:
    return "" if finding.count == 1 else f", seen {finding.count} times"


def _summary(finding: Finding) -> str:
    if isinstance(finding, Race):
        size = "1 byte" if finding.size == 1 else f"{finding.size} bytes"
        return f"{size} of {of_memory(finding)}, {conflict(finding)}"
    if isinstance(finding, Hint):
        return HINTS.get(finding.hint, finding.hint)
    if isinstance(finding, Deadlock) and finding.waits:
        return finding.text.partition("\n")[0]  # the other lines list the waits, as the details do
    assert isinstance(finding, Deadlock | Report)
    lines = (line.strip() for line in finding.text.replace(os.getcwd() + os.sep, "").splitlines())
    return "\n  ".join(lines)


def details(finding: Finding) -> list[str]:
    """Return the further lines of a finding."""
    if isinstance(finding, Race):
        accesses = (finding.first, finding.second)
        rows = [(it.mode, of_stream(it), of_operation(it), place_of(it)) for it in accesses]
        return [*_columns(rows), *filter(None, [why(finding), f"fix: {fix(finding)}" if fix(finding) else ""])]
    if isinstance(finding, Deadlock):
        waits = [(_agent(it.agent, it.task), of_wait(it), stack(it.frames)) for it in finding.waits]
        return [*_columns(waits), *(line.strip() for line in finding.text.splitlines()[1:][-1:])] if waits else []
    if isinstance(finding, Hint):
        frame = innermost(finding.frames)
        where = "host" if finding.stream is None else f"stream {finding.stream}"
        return [f"{where}  {names.of_call(finding.function, frame)}  {stack(finding.frames)}"]
    return [f"at {stack(frames)}" for frames in finding.places if frames]


def _agent(agent: str, task: int | None) -> str:
    return agent if task is None else f"{agent}, task {task}"


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def lines(finding: Finding) -> list[str]:
    """Return a finding as lines of text."""
    return [headline(finding), *(f"  {line}" for line in details(finding))]


def summary(found: Findings, *, shows_hints: bool) -> str:
    """Return the last line of a report: what was found, and in how many processes."""
    kinds = [finding.kind for finding in found.findings]
    counts = [_counted(kinds.count(kind), *TITLES[kind]) for kind in TITLES if kind in kinds]
    where = "" if found.processes == 0 else f" in {_counted(found.processes, 'process', 'processes')}"
    parts = [(", ".join(counts) or "no findings") + where]
    if found.ignored:
        parts.append(f"{len(found.ignored)} ignored")
    if found.hints:
        parts.append(_counted(len(found.hints), *TITLES["hint"]) + ("" if shows_hints else " (--hints shows them)"))
    return "; ".join(parts)


def _counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
