# SPDX-License-Identifier: Apache-2.0
"""Random programs over streams, events, copies and fills, against a small happens-before model.

A program runs twice: in the model, where each stream has a vector clock, and on the library under test. The model says
which reads are ordered behind which writes; for those the bytes that come back must be those of the last write. A
failing program shrinks to a short one whose representation can be pasted.
"""

from __future__ import annotations

import contextlib
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import cases

from ascend_rt import Buffer, Device, Event, PinnedBuffer, Stream, copy_async, fill, fill_async
from ascend_rt.errors import Timeout
from ascend_rt.testing import Latch

STREAMS, EVENTS, CELLS, CELL_BYTES = 3, 3, 3, 256

streams = st.integers(0, STREAMS - 1)
events = st.integers(0, EVENTS - 1)
cells = st.integers(0, CELLS - 1)


@dataclass(frozen=True)
class Step:
    """One call; the meaning of the numbers depends on its name."""

    name: str
    stream: int = 0
    event: int = 0
    cell: int = 0
    source: int = 0


steps = st.one_of(
    st.builds(Step, st.just("record"), streams, events),
    st.builds(Step, st.just("wait"), streams, events),
    st.builds(Step, st.just("fill"), streams, cell=cells),
    st.builds(Step, st.just("copy"), streams, cell=cells, source=cells),
    st.builds(Step, st.just("read"), streams, cell=cells),
    st.builds(Step, st.just("synchronize"), streams),
    st.builds(Step, st.just("synchronize_event"), event=events),
)


def hand_over(sender: int, receiver: int, event: int, cell: int) -> list[Step]:
    """Elements of programs: one stream writes, another waits for it and reads."""
    return [
        Step("fill", sender, cell=cell),
        Step("record", sender, event),
        Step("wait", receiver, event),
        Step("read", receiver, cell=cell),
    ]


fragments = st.one_of(steps.map(lambda step: [step]), st.builds(hand_over, streams, streams, events, cells))
programs = st.lists(fragments, max_size=15).map(lambda parts: [step for part in parts for step in part])

Clock = tuple[int, ...]


def joined(a: Clock, b: Clock) -> Clock:
    return tuple(map(max, a, b))


@dataclass
class Access:
    """A task that touched a cell: its stream and its number there."""

    stream: int
    number: int

    def precedes(self, clock: Clock) -> bool:
        return clock[self.stream] >= self.number


@dataclass
class Read(Access):
    """A read and what it finds: a value, what another read found, or None if the program races."""

    found: int | Read | None = None

    def value(self) -> int | None:
        return self.found.value() if isinstance(self.found, Read) else self.found


@dataclass
class Cell:
    content: int | Read | None = 0
    writes: list[Access] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)


class Model:
    """Properties that hold under any schedule.

    ``clocks[s][t]`` is the number of tasks of stream t that are done before the next task of stream s starts.
    """

    def __init__(self) -> None:
        self.clocks: list[Clock] = [(0,) * STREAMS for _ in range(STREAMS)]
        self.host: Clock = (0,) * STREAMS
        self.recorded: list[Clock | None] = [None] * EVENTS
        self.cells = [Cell() for _ in range(CELLS)]
        self.fills = 0

    def submit(self, stream: int) -> int:
        """Number the next task of a stream; it starts after what the host has waited for."""
        clock = list(joined(self.clocks[stream], self.host))
        clock[stream] += 1
        self.clocks[stream] = tuple(clock)
        return clock[stream]

    def read(self, stream: int, number: int, cell: Cell) -> Read:
        clock = self.clocks[stream]
        is_ordered = all(write.precedes(clock) for write in cell.writes)
        read = Read(stream, number, cell.content if is_ordered else None)
        cell.reads.append(read)
        return read

    def write(self, stream: int, number: int, cell: Cell, content: int | Read | None) -> None:
        clock = self.clocks[stream]
        for read in cell.reads:
            if not read.precedes(clock):
                read.found = None  # it may see this write already
        is_ordered = all(write.precedes(clock) for write in cell.writes)
        cell.content = content if is_ordered else None
        cell.writes.append(Access(stream, number))


class Machine:
    """Runs the steps on the library under test, beside the model."""

    def __init__(self) -> None:
        self.model = Model()
        self.streams = [Stream() for _ in range(STREAMS)]
        self.events = [Event() for _ in range(EVENTS)]
        self.memory = Buffer(CELLS * CELL_BYTES)
        fill(self.memory, 0)
        self.found: list[tuple[Read, PinnedBuffer]] = []

    def cell(self, number: int) -> Buffer:
        return self.memory[number * CELL_BYTES : (number + 1) * CELL_BYTES]

    def run(self, step: Step) -> None:
        getattr(self, step.name)(step)

    def record(self, step: Step) -> None:
        self.model.submit(step.stream)
        self.model.recorded[step.event] = self.model.clocks[step.stream]
        self.events[step.event].record(self.streams[step.stream])

    def wait(self, step: Step) -> None:
        clock = self.model.recorded[step.event]
        if clock is not None:
            self.model.clocks[step.stream] = joined(self.model.clocks[step.stream], clock)
        self.streams[step.stream].wait(self.events[step.event])

    def fill(self, step: Step) -> None:
        self.model.fills += 1
        value = self.model.fills % 255 + 1
        number = self.model.submit(step.stream)
        self.model.write(step.stream, number, self.model.cells[step.cell], value)
        fill_async(self.cell(step.cell), value, self.streams[step.stream])

    def copy(self, step: Step) -> None:
        if step.cell == step.source:
            return
        number = self.model.submit(step.stream)
        read = self.model.read(step.stream, number, self.model.cells[step.source])
        self.model.write(step.stream, number, self.model.cells[step.cell], read)
        copy_async(self.cell(step.cell), self.cell(step.source), self.streams[step.stream])

    def read(self, step: Step) -> None:
        number = self.model.submit(step.stream)
        read = self.model.read(step.stream, number, self.model.cells[step.cell])
        received = PinnedBuffer(CELL_BYTES)
        copy_async(received, self.cell(step.cell), self.streams[step.stream])
        self.found.append((read, received))

    def synchronize(self, step: Step) -> None:
        self.streams[step.stream].synchronize()
        self.model.host = joined(self.model.host, self.model.clocks[step.stream])
        assert self.streams[step.stream].is_done

    def synchronize_event(self, step: Step) -> None:
        self.events[step.event].synchronize()
        self.model.host = joined(self.model.host, self.model.recorded[step.event] or self.model.host)
        assert self.events[step.event].is_done

    def check(self) -> None:
        for stream in self.streams:
            stream.synchronize()
        for event in self.events:
            assert event.is_done
        for read, received in self.found:
            expected = read.value()
            assert expected is None or np.all(received == expected), f"{expected} expected, not {set(received)}"

    def close(self) -> None:
        for stream in self.streams:
            stream.close(force=True)


@pytest.fixture(autouse=True)
def current_device() -> None:
    Device(0).set_current()


@settings(max_examples=cases(200), deadline=None)
@given(programs)
def test_ordered_reads_see_the_last_write(program: list[Step]) -> None:
    with closing(Machine()) as machine:
        for step in program:
            machine.run(step)
        machine.check()


@settings(max_examples=cases(100), deadline=None)
@given(programs, st.data())
def test_the_same_with_streams_that_start_late(program: list[Step], data: Any) -> None:
    """Every stream is held back at first, so that everything is queued before it runs."""
    with closing(Machine()) as machine:
        latches = [Latch(stream) for stream in machine.streams]
        for step in program:
            if step.name not in ("synchronize", "synchronize_event"):  # they would wait for the latches
                machine.run(step)
        for i in data.draw(st.permutations(range(STREAMS))):
            latches[i].release()
            with contextlib.suppress(Timeout):  # the awaited task may be behind another latch
                machine.streams[i].synchronize(timeout=0.001)
        machine.check()
