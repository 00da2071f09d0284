# SPDX-License-Identifier: Apache-2.0
"""Races between processes, found from what each of them has written about the memory that it shares.

A process writes its accesses to such memory, each with what precedes it in that process; its records, and its waits for
records of other processes; and what its host knows from a time on. Here this becomes one order, by vector clocks: a
wait knows all that the record knew. The host is one clock over all processes, as it is within one: what one of them
knew at a time precedes all that any of them submits later.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from ascend_rt._check import lines
from ascend_rt._check.findings import Access, Fix, Memory, Race, Reason
from ascend_rt._check.frames import Frames
from ascend_rt._check.lines import Line

Lane = tuple[int, int]  # a process, by its place in the list, and a lane of it: a stream, or its host

_MOST_COMPARED = 1000  # accesses of another lane that are compared with one access: the count of a race may be smaller


@dataclass
class _Clock:
    """All that precedes something: for each lane the newest step, and what was submitted before a time."""

    steps: dict[Lane, int] = field(default_factory=dict)
    until: int = 0

    def __or__(self, other: _Clock) -> _Clock:
        steps = dict(self.steps)
        for lane, step in other.steps.items():
            if step > steps.get(lane, 0):
                steps[lane] = step
        return _Clock(steps, max(self.until, other.until))


@dataclass
class _Shared:
    """An access to shared memory."""

    lane: Lane
    step: int
    time: int  # when it was submitted; 0: before the memory was shared
    begin: int
    end: int
    offset: int  # the first byte, in the allocation
    known: list[int]
    memory: Memory
    access: Access
    clock: _Clock = field(default_factory=_Clock)

    def precedes(self, other: _Shared) -> bool:
        if self.access.stream is None:
            return self.time < other.time
        return other.clock.steps.get(self.lane, 0) >= self.step or self.time < other.clock.until


@dataclass
class _Record:
    lane: Lane
    step: int
    time: int
    known: list[int]
    frames: Frames
    clock: _Clock | None = None  # knowledge of a wait for it


@dataclass
class _Wait:
    step: int
    time: int
    record: _Record | None
    frames: Frames


@dataclass
class _Host:
    """Knowledge of the host of a process from a time on."""

    process: int
    time: int
    known: list[int]


class _Order:
    """The order that all processes together have made.

    Parameters
    ----------
    records : list of _Record
        The records of all processes.
    waits : dict
        For each lane its waits, in the order of their steps.
    hosts : list of _Host
        What the hosts knew.
    """

    def __init__(self, records: list[_Record], waits: dict[Lane, list[_Wait]], hosts: list[_Host]) -> None:
        self._waits = waits
        self._from_waits: dict[Lane, list[_Clock]] = defaultdict(list)  # knowledge of a lane after so many waits
        self._times: list[int] = []
        self._known_to_hosts = [_Clock()]  # one more: before the first of the times
        # A record precedes what waits for it, and what waited, or was known, precedes what was submitted after it.
        steps: list[_Record | _Host] = [*records, *hosts]
        for each in sorted(steps, key=lambda it: it.time):
            if isinstance(each, _Record):
                own = _Clock({each.lane: each.step})
                each.clock = self.before(each.lane, each.step, each.known, each.time) | own
            else:
                self._times.append(each.time)
                self._known_to_hosts.append(self._known_to_hosts[-1] | self._before(each.process, each.known))

    def before(self, lane: Lane, step: int, known: list[int], time: int) -> _Clock:
        """Return what precedes a step that was submitted at a time, and knows steps of its process."""
        own = known + [0] * (lane[1] + 1 - len(known))
        own[lane[1]] = max(own[lane[1]], step)
        return self._before(lane[0], own) | self._known_to_hosts[bisect_left(self._times, time)]

    def _before(self, process: int, known: list[int]) -> _Clock:
        clock = _Clock({(process, lane): step for lane, step in enumerate(known) if step})
        for lane in list(clock.steps):
            clock |= self._after_waits(lane, clock.steps[lane])
        return clock

    def _after_waits(self, lane: Lane, step: int) -> _Clock:
        waits, clocks = self._waits.get(lane, []), self._from_waits[lane]
        count = bisect_right(waits, step, key=lambda wait: wait.step)
        for wait in waits[len(clocks) : count]:
            made = wait.record.clock if wait.record is not None else None
            # A record that is unknown here is taken to follow all that was submitted by then.
            clock = _Clock(until=wait.time) if made is None else made
            clocks.append(clocks[-1] | clock if clocks else clock)
        return clocks[count - 1] if count else _Clock()


class Together:
    """Several processes, as they describe what they share.

    Parameters
    ----------
    processes : sequence of sequences
        The lines of each process.
    """

    def __init__(self, processes: Sequence[Sequence[Line]]) -> None:
        self._numbered = list(enumerate(processes))
        records = {key: record for place, written in self._numbered for key, record in _records(place, written)}
        self._waits: dict[Lane, list[_Wait]] = defaultdict(list)
        for place, line in _each(self._numbered, "shared_wait"):
            record = records.get((line["process"], line["stream"], line["sequence"]))
            wait = _Wait(line["step"], line["time"], record, lines.frames(line["frames"]))
            self._waits[place, line["lane"]].append(wait)
        for in_lane in self._waits.values():
            in_lane.sort(key=lambda wait: wait.step)
        hosts = [_Host(place, line["time"], line["known"]) for place, line in _each(self._numbered, "shared_host")]
        self._order = _Order(list(records.values()), self._waits, hosts)

    def races(self) -> Iterator[Race]:
        """Yield the races between processes."""
        for lanes in _accesses(self._numbered, self._order).values():
            for one, other in combinations(lanes.values(), 2):
                if one[0].lane[0] != other[0].lane[0]:
                    for pair in _unordered(one, other):
                        first, second = sorted(pair, key=lambda it: it.time)
                        yield _race(first, second, self._waits)

    def ordered(self) -> Iterator[tuple[int, int]]:
        """Yield the races inside a process that another process orders: the place of the process, and its number."""
        for place, line in _each(self._numbered, "race"):
            order = line["order"]
            clock = self._order.before((place, order["lane"]), order["step"], order["known"], order["time"])
            if clock.steps.get((place, order["earlier_lane"]), 0) >= order["earlier_step"]:
                yield place, line["id"]


def _each(numbered: list[tuple[int, Sequence[Line]]], kind: str) -> Iterator[tuple[int, Line]]:
    return ((place, line) for place, written in numbered for line in written if line["kind"] == kind)


def _records(place: int, written: Sequence[Line]) -> Iterator[tuple[tuple[int, int, int], _Record]]:
    """Yield the records of a process, by its number, their stream and their task, by which waits name them."""
    number = next(line["process"] for line in written if line["kind"] == "sharing")
    for line in written:
        if line["kind"] == "shared_record":
            lane = place, line["lane"]
            made = _Record(lane, line["step"], line["time"], line["known"], lines.frames(line["frames"]))
            yield (number, line["stream"], line["sequence"]), made


def _accesses(numbered: list[tuple[int, Sequence[Line]]], order: _Order) -> dict[str, dict[Lane, list[_Shared]]]:
    """Return the accesses to each piece of memory, by lanes and in the order of their steps."""
    files: dict[str, dict[Lane, list[_Shared]]] = defaultdict(lambda: defaultdict(list))
    for place, line in _each(numbered, "shared_access"):
        lane = place, line["lane"]
        access = replace(lines.access(line["use"]), process=place + 1)
        shared = _Shared(
            lane,
            line["step"],
            line["time"],
            line["begin"],
            line["end"],
            line["offset"],
            line["known"],
            lines.memory(line["memory"]),
            access,
        )
        shared.clock = order.before(lane, shared.step, shared.known, shared.time)
        files[line["file"]][lane].append(shared)
    for lanes in files.values():
        for in_lane in lanes.values():
            in_lane.sort(key=lambda it: it.step)
    return files


def _unordered(one: list[_Shared], other: list[_Shared]) -> Iterator[tuple[_Shared, _Shared]]:
    """Yield conflicting accesses of two lanes of which neither precedes the other.

    The steps of a lane that precede an access are its begin, and those that follow the access are its end.
    """
    for it in one:
        begin = bisect_left(other, True, key=lambda its: not its.precedes(it))
        end = bisect_left(other, True, lo=begin, key=it.precedes)
        for its in other[begin : min(end, begin + _MOST_COMPARED)]:
            if it.begin < its.end and its.begin < it.end and not it.access.mode == its.access.mode == "read":
                yield it, its


def _race(first: _Shared, second: _Shared, waits: dict[Lane, list[_Wait]]) -> Race:
    begin, end = max(first.begin, second.begin), min(first.end, second.end)
    return Race(
        f"{second.access.mode} after {first.access.mode}",
        first.memory,
        begin - first.begin + first.offset,
        end - begin,
        first.access,
        second.access,
        _reason(first, second, waits),
        _fix(first.access, second.access),
    )


def _reason(first: _Shared, second: _Shared, waits: dict[Lane, list[_Wait]]) -> Reason:
    known = [*second.known, *[0] * (second.lane[1] + 1 - len(second.known))]
    known[second.lane[1]] = second.step
    late = [
        wait
        for lane, step in enumerate(known)
        for wait in waits.get((second.lane[0], lane), [])
        if wait.step <= step and wait.record is not None and wait.record.lane == first.lane
    ]
    if not late:
        return Reason("other_process")
    newest = max(late, key=lambda wait: wait.time)
    assert newest.record is not None
    return Reason("late_record", newest.frames, newest.record.frames)


def _fix(first: Access, second: Access) -> Fix:
    if second.stream is None:
        return Fix("process_waits", stream=first.stream, before=second.frames)
    return Fix(
        "ipc_event",
        record_stream=first.stream,
        record_after=first.frames,
        wait_stream=second.stream,
        wait_before=second.frames,
    )
