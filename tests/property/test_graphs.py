# SPDX-License-Identifier: Apache-2.0
"""Random programs that can be captured do the same when they are captured and launched as when they run at once.

A program is calls on three streams: the first one forks the others by waits, and joins them at the end. Accesses to one
cell are only drawn where waits put them in an order, so the memory that comes out is known; functions of branches that
run beside each other may come in any order that the waits allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.codes import MODEL_EXECUTE
from support.effort import cases

from ascend_rt import Buffer, Device, Event, Stream, copy, copy_async, fill, fill_async, sim
from ascend_rt.errors import AclError

STREAMS, CELLS, BYTES = 3, 3, 64

streams = st.integers(0, STREAMS - 1)
cells = st.integers(0, CELLS - 1)


@dataclass(frozen=True)
class Step:
    """One call; the meaning of the numbers depends on its name."""

    name: str
    stream: int
    other: int = 0  # the stream that is waited for, or the cell that is read
    cell: int = 0


steps = st.one_of(
    st.builds(Step, st.just("wait"), streams, streams),
    st.builds(Step, st.just("fill"), streams, cell=cells),
    st.builds(Step, st.just("copy"), streams, cells, cells),
    st.builds(Step, st.just("call"), streams),
)

Clock = tuple[int, ...]


def _before(earlier: Clock, later: Clock) -> bool:
    return all(a <= b for a, b in zip(earlier, later, strict=True))


class Order:
    """Vector clocks of the streams, and which accesses to cells the waits have put in an order."""

    def __init__(self) -> None:
        self.clocks: list[Clock] = [(0,) * STREAMS] * STREAMS
        self.forked = {0}
        self._accesses: dict[int, list[tuple[bool, Clock]]] = {cell: [] for cell in range(CELLS)}

    def advance(self, stream: int) -> Clock:
        clock = list(self.clocks[stream])
        clock[stream] += 1
        self.clocks[stream] = tuple(clock)
        return self.clocks[stream]

    def wait(self, stream: int, other: int) -> None:
        self.forked.add(stream)
        self.clocks[stream] = tuple(map(max, self.clocks[stream], self.clocks[other]))

    def allows(self, stream: int, cell: int, *, writes: bool) -> bool:
        return all(
            _before(clock, self.clocks[stream]) for was_write, clock in self._accesses[cell] if writes or was_write
        )

    def note(self, stream: int, cell: int, *, writes: bool) -> None:
        self._accesses[cell].append((writes, self.clocks[stream]))


def sound(drawn: list[Step]) -> tuple[list[Step], list[Clock]]:
    """Return the steps that can be captured and do not race, and the clock of each call of a function."""
    order, kept, calls = Order(), [], []
    for step in drawn:
        if step.name == "wait":
            if step.other not in order.forked or step.stream == step.other:
                continue
            order.wait(step.stream, step.other)
        elif step.stream not in order.forked:
            continue
        else:
            reads = {"copy": [step.other]}.get(step.name, [])
            writes = [] if step.name == "call" else [step.cell]
            if step.name == "copy" and step.other == step.cell:
                continue
            if not all(order.allows(step.stream, cell, writes=False) for cell in reads):
                continue
            if not all(order.allows(step.stream, cell, writes=True) for cell in writes):
                continue
            clock = order.advance(step.stream)
            for cell in reads:
                order.note(step.stream, cell, writes=False)
            for cell in writes:
                order.note(step.stream, cell, writes=True)
            if step.name == "call":
                calls.append(clock)
        kept.append(step)
    kept.extend(Step("wait", 0, stream) for stream in sorted(order.forked - {0}))
    return kept, calls


class Machine:
    """The streams and the cells that programs work on."""

    def __init__(self) -> None:
        Device(0).set_current()
        self.streams = [Stream() for _ in range(STREAMS)]
        self.cells = [Buffer(BYTES) for _ in range(CELLS)]
        self.seen: list[int] = []

    def submit(self, program: list[Step]) -> list[int]:
        """Make the calls; return the code of each."""
        codes, calls = [], 0
        for number, step in enumerate(program):
            stream = self.streams[step.stream]
            try:
                if step.name == "wait":
                    self._wait(stream, self.streams[step.other])
                elif step.name == "fill":
                    fill_async(self.cells[step.cell], number % 250 + 1, stream)
                elif step.name == "copy":
                    copy_async(self.cells[step.cell], self.cells[step.other], stream)
                else:
                    stream.launch_host_func(self.seen.append, calls)
                    calls += 1
            except AclError as error:
                codes.append(error.code)
            else:
                codes.append(0)
        return codes

    @staticmethod
    def _wait(stream: Stream, other: Stream) -> None:
        with Event() as event:
            other.record(event)
            stream.wait(event)

    def reset(self) -> None:
        self.seen.clear()
        for cell in self.cells:
            fill(cell, 0)

    def outcome(self) -> tuple[int, bytes]:
        """Wait for the first stream; return its failure and what is in the cells."""
        code = 0
        try:
            self.streams[0].synchronize()
        except AclError as error:
            code = error.code
        memory = np.empty((CELLS, BYTES), np.uint8)
        for row, cell in zip(memory, self.cells, strict=True):
            copy(row, cell)
        return code, memory.tobytes()

    def close(self) -> None:
        for each in (*self.streams, *self.cells):
            each.close()


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    machine = Machine()
    yield machine
    machine.close()


def respects(seen: list[int], calls: list[Clock]) -> bool:
    """Return whether the functions were called once each, in an order that the waits allow."""
    if sorted(seen) != list(range(len(calls))):
        return False
    return not any(
        _before(calls[later], calls[earlier])
        for place, earlier in enumerate(seen)
        for later in seen[place + 1 :]
        if earlier != later
    )


def run_directly(machine: Machine, program: list[Step]) -> tuple[list[int], int, bytes, list[int]]:
    machine.reset()
    codes = machine.submit(program)
    code, memory = machine.outcome()
    return codes, code, memory, list(machine.seen)


@given(st.lists(steps, max_size=25), st.integers(1, 3))
@settings(max_examples=cases(150), deadline=None)
def test_a_captured_program_does_what_it_does_directly(machine: Machine, drawn: list[Step], launches: int) -> None:
    program, calls = sound(drawn)
    expected = run_directly(machine, program)
    assert respects(expected[3], calls)
    with machine.streams[0].capture() as graph:
        codes = machine.submit(program)
    assert codes == expected[0] == [0] * len(program)
    for launch in range(launches):
        machine.reset()
        graph.launch(machine.streams[launch % STREAMS])
        machine.streams[launch % STREAMS].synchronize()
        assert machine.outcome() == expected[1:3]
        assert respects(machine.seen, calls)
    graph.close()


@pytest.mark.simulator("faults")
@given(st.lists(steps, min_size=1, max_size=15), st.integers(1, 4), st.data())
@settings(max_examples=cases(80), deadline=None)
def test_a_call_that_fails_fails_alike_in_a_capture(
    machine: Machine, drawn: list[Step], nth: int, data: st.DataObject
) -> None:
    program, _ = sound([step for step in drawn if step.name != "wait"])
    function = data.draw(st.sampled_from(["aclrtMemsetAsync", "aclrtMemcpyAsync", "aclrtLaunchHostFunc"]))
    outcomes: list[Any] = []
    for captured in (False, True):
        machine.reset()
        with sim.faults():
            sim.fail_call(function, 507899, nth=nth)
            if captured:
                with machine.streams[0].capture() as graph:
                    codes = machine.submit(program)
                graph.launch(machine.streams[0])
            else:
                codes = machine.submit(program)
        outcomes.append((codes, *machine.outcome(), list(machine.seen)))
    graph.close()
    assert outcomes[0] == outcomes[1]


@pytest.mark.simulator("faults")
@given(st.lists(steps, min_size=1, max_size=15), st.integers(1, 6))
@settings(max_examples=cases(80), deadline=None)
def test_a_task_that_fails_fails_alike_in_each_launch(machine: Machine, drawn: list[Step], nth: int) -> None:
    program, _ = sound([step for step in drawn if step.name != "wait"])
    assume(program)
    nth = 1 + (nth - 1) % len(program)  # a graph has a task after them
    outcomes: list[Any] = []
    machine.reset()
    with sim.faults():
        sim.fail_task(507015, nth=nth)
        codes = machine.submit(program)
    code, memory = machine.outcome()
    # A graph fails as a whole (hardware_seen.md section 1.33).
    outcomes.append((codes, MODEL_EXECUTE if code else 0, memory, list(machine.seen)))
    with sim.faults():
        sim.fail_task(507015, nth=nth)
        with machine.streams[0].capture() as graph:
            codes = machine.submit(program)
    for _ in range(2):
        machine.reset()
        graph.launch(machine.streams[0])
        outcomes.append((codes, *machine.outcome(), list(machine.seen)))
    graph.close()
    assert outcomes[0] == outcomes[1] == outcomes[2]
