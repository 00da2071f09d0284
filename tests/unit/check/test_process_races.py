# SPDX-License-Identifier: Apache-2.0
"""Races between processes: of real programs, and of random lines against the reachability in their graph."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ascend_rt._check import process_races

# One process fills shared memory three times, and the other one reads it each time. The pipe orders the calls of the
# hosts; the first argument says how the tasks are ordered.
PROGRAM = """\
import sys
from multiprocessing import get_context
from ascend_rt import (
    Buffer, Device, Event, IpcMemory, Notify, PhysicalMemory, PinnedBuffer, Stream, VirtualMemory, copy, copy_async
)

ORDER = sys.argv[1]
SIZE = 2 << 20


def consume(pipe):
    device = Device(0)
    device.set_current()
    key, filled_key, read_key = pipe.recv()
    stream, target = Stream(), PinnedBuffer(4096)
    opened = Notify if ORDER == "notifies" else Event
    filled, read = opened.open(filled_key), opened.open(read_key)
    if ORDER == "physical":
        addresses, physical = VirtualMemory(SIZE), PhysicalMemory.from_shareable(key, SIZE, device)
        there = addresses.map(physical)
    else:
        there = IpcMemory.open(key, SIZE)
    for number in range(3):
        pipe.recv()
        if ORDER == "event synchronized":
            filled.synchronize()
        elif ORDER not in ("no wait", "hosts", "blocking"):
            stream.wait(filled)
        if ORDER == "blocking":
            copy(target, there[:4096])
        else:
            copy_async(target, there[:4096], stream)  # read
            read.record(stream)
        if ORDER in ("hosts", "event synchronized"):
            stream.synchronize()
        pipe.send(None)
    stream.synchronize()
    pipe.send(None)
    there.close()


def produce(pipe, device):
    stream, source = Stream(), PinnedBuffer(4096)
    kind = Notify if ORDER == "notifies" else lambda: Event(ipc=True)
    filled, read = kind(), kind()
    if ORDER == "physical":
        addresses, physical = VirtualMemory(SIZE), PhysicalMemory(SIZE, device)
        here, key = addresses.map(physical), physical.export()
    else:
        here = Buffer(SIZE)
        shared = IpcMemory(here)
        key = shared.key
    pipe.send((key, filled.export(), read.export()))
    for number in range(3):
        if ORDER not in ("no wait back", "hosts", "blocking") and (number > 0 or ORDER != "notifies"):
            stream.wait(read)
        if ORDER == "late record":
            filled.record(stream)
        copy_async(here[:4096], source, stream)  # write
        if ORDER != "late record":
            filled.record(stream)
        if ORDER in ("hosts", "blocking"):
            stream.synchronize()
        pipe.send(None)
        pipe.recv()
    pipe.recv()
    stream.synchronize()


if __name__ == "__main__":
    device = Device(0)
    device.set_current()
    context = get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=consume, args=(there,))
    child.start()
    produce(here, device)
    child.join()
    sys.exit(child.exitcode)
"""

RACES = {
    "late record": ("read after write", "the wait at LINE is bound to the record at LINE, before the write"),
    "no wait": ("read after write", "process 2 did not wait for the write of process 1"),
    "no wait back": ("write after read", "process 1 did not wait for the read of process 2"),
}
MODES = ("read", "write")
ORDERED = ("events", "notifies", "physical", "hosts", "blocking", "event synchronized")
QUICK = ("late record", "no wait back", "events", "hosts")  # each verdict, by tasks and by hosts


# The order between the copy and the free of one process is that of the other one, which waits for the copy.
ORDERED_BY_ANOTHER = """\
import sys
from multiprocessing import get_context
from ascend_rt import Buffer, Device, Event, Stream, fill_async


def use(pipe):
    Device(0).set_current()
    with Event.open(pipe.recv()) as ready:
        pipe.recv()
        if sys.argv[1] == "waits":
            ready.synchronize()
        pipe.send("done")


if __name__ == "__main__":
    context = get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=use, args=(there,))
    child.start()
    Device(0).set_current()
    stream, ready, memory = Stream(), Event(ipc=True), Buffer(4096)
    here.send(ready.export())
    fill_async(memory, 1, stream)
    ready.record(stream)
    here.send("recorded")
    here.recv()
    memory.close()
    child.join()
    stream.synchronize()
"""


@pytest.mark.simulator("race check")
@pytest.mark.parametrize(("argument", "status"), [("waits", 0), ("goes on", 1)])
def test_another_process_may_bring_the_order(run, tmp_path: Path, argument: str, status: int) -> None:
    (tmp_path / "train.py").write_text(ORDERED_BY_ANOTHER, encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", "train.py", argument)
    assert done.returncode == status, done.stderr
    assert ("free after write" in done.stderr) == bool(status)


# The second event, of another process, follows the first one: so does what a stream and a thread do behind it here.
THERE_AND_BACK = """\
import os, sys, threading
from multiprocessing import get_context
from ascend_rt import Buffer, Device, Event, PinnedBuffer, Stream, copy_async, fill_async


def pass_on(pipe):
    Device(0).set_current()
    stream = Stream()
    with Event.open(pipe.recv()) as first, Event(ipc=True) as second:
        pipe.send(second.export())
        pipe.recv()
        stream.wait(first)
        second.record(stream)
        pipe.send("recorded")
        pipe.recv()


def use(device, second, read_end, memory, pinned, target):
    device.set_current()
    os.read(read_end, 1)  # orders nothing that the check follows
    stream = Stream()
    stream.wait(second)
    fill_async(memory, 2, stream)
    copy_async(memory, pinned, stream)
    second.synchronize()
    target[:] = 2
    stream.synchronize()


if __name__ == "__main__":
    context = get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=pass_on, args=(there,))
    child.start()
    device = Device(0)
    device.set_current()
    stream, first, memory = Stream(), Event(ipc=True), Buffer(4096)
    pinned, target = PinnedBuffer(4096), PinnedBuffer(4096)
    here.send(first.export())
    second = Event.open(here.recv())
    read_end, write_end = os.pipe()
    thread = threading.Thread(target=use, args=(device, second, read_end, memory, pinned, target))
    thread.start()
    fill_async(memory, 1, stream)
    copy_async(target, memory, stream)
    first.record(stream)
    pinned[:] = 1
    here.send("recorded")
    here.recv()
    os.write(write_end, b"1")
    thread.join()
    stream.synchronize()
    second.close()
    here.send("done")
    child.join()
    sys.exit(child.exitcode)
"""


@pytest.mark.simulator("race check")
def test_a_record_of_another_process_follows_all_that_this_one_has_done(run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(THERE_AND_BACK, encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", "--host-threads", "train.py")
    assert (done.returncode, done.stderr) == (0, "no findings in 2 processes\n")


@pytest.mark.simulator("race check")
@pytest.mark.parametrize(
    "order",
    [pytest.param(it, marks=() if it in QUICK else pytest.mark.full) for it in (*RACES, *ORDERED)],
)
def test_two_processes(run, tmp_path: Path, order: str) -> None:
    path = tmp_path / "two.py"
    path.write_text(PROGRAM, encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", "--format", "json", str(path), order)
    report = json.loads(done.stdout)
    assert (report["program"]["status"], report["processes"]) == (0, 2), done.stderr
    found = [(it["conflict"], it["why"]["text"]) for it in report["findings"]]
    lines = PROGRAM.splitlines()
    place = {
        name: lines.index(next(line for line in lines if line.endswith(f"# {name}"))) + 1 for name in ("read", "write")
    }
    if order in ORDERED:
        assert found == []
        return
    (finding,) = report["findings"]
    conflict, why = RACES[order]
    assert finding["conflict"] == conflict
    assert [finding["first"]["frames"][0]["line"], finding["second"]["frames"][0]["line"]] == [
        place[mode] for mode in (finding["first"]["mode"], finding["second"]["mode"])
    ]
    assert [frames[-1]["function"] for frames in (finding["first"]["frames"], finding["second"]["frames"])] in (
        ["<module>", "consume"],
        ["consume", "<module>"],
    )
    shown = finding["why"]["text"]
    assert "".join(" " if it.isdigit() and "LINE" in why else it for it in shown).split() == (
        why.replace("LINE", " ").split()
    )
    one, other = (place[finding[side]["mode"]] for side in ("first", "second"))
    number = 1 if finding["first"]["mode"] == "write" else 2
    assert finding["fix"]["text"] == (
        f"record an IPC event on stream 2 of process {number} after line {one}, "
        f"let stream 2 of process {3 - number} wait for it before line {other}"
    )


# --- random lines -----------------------------------------------------------------------------------------------------

HOST = 0  # the lane of the host


class Processes:
    """Lines of processes as the simulator would write them, and the graph of their order.

    Nodes are steps of lanes; the host of each process is a lane, too.
    """

    def __init__(self, count: int) -> None:
        self.lines: list[list[dict[str, Any]]] = [[{"kind": "sharing", "process": 100 + it}] for it in range(count)]
        self.before: dict[object, set[object]] = {}
        self.known = [{HOST: 0} for _ in range(count)]  # by the host of each process
        self.lanes: dict[tuple[int, int], dict[int, int]] = {}  # knowledge of each lane
        self.steps: dict[tuple[int, int], int] = {}
        self.newest_of_hosts: object | None = None
        self.records: list[tuple[int, int, int, object]] = []
        self.accesses: list[tuple[object, int, str, int]] = []
        self.time = 1

    def call(self, process: int) -> object:
        """Make a node of the host, after all that the hosts of all processes have done."""
        self.time += 1
        self.known[process][HOST] = self.time
        node = ("call", self.time)
        self.before[node] = {self.newest_of_hosts} if self.newest_of_hosts else set()
        self.newest_of_hosts = node
        return node

    def task(self, process: int, lane: int) -> tuple[object, dict[str, Any]]:
        """Submit a task; return its node, and the members that its lines have in common."""
        call = self.call(process)
        step = self.steps[process, lane] = self.steps.get((process, lane), 0) + 1
        node = (process, lane, step)
        self.before[node] = {call, *([(process, lane, step - 1)] if step > 1 else [])}
        known = self.lanes.setdefault((process, lane), {})
        for other, newest in self.known[process].items():
            known[other] = max(known.get(other, 0), newest)
        others = self.vector({**known, lane: 0})
        known[lane] = step
        return node, {"lane": lane, "step": step, "time": self.time, "known": others}

    @staticmethod
    def vector(known: dict[int, int]) -> list[int]:
        return [known.get(lane, 0) for lane in range(max(known) + 1)]

    def access(self, process: int, lane: int, mode: str, size: int) -> None:
        node, members = self.task(process, lane)
        place = [f"/program.py:{len(self.accesses) + 1} in main"]
        use = {"mode": mode, "device": 0, "stream": lane, "task": members["step"], "function": "aclrtMemcpyAsync"}
        self.accesses.append((node, process, mode, size))
        self.lines[process].append(
            {
                "kind": "shared_access",
                "file": "1:1",
                "begin": 0,
                "end": size,
                "offset": 0,
                "use": use | {"frames": place},
            }
            | {"memory": {"kind": "shared", "number": 1, "size": 64, "frames": []}}
            | members
        )

    def record(self, process: int, lane: int) -> None:
        node, members = self.task(process, lane)
        self.records.append((process, lane, members["step"], node))
        self.lines[process].append(
            {"kind": "shared_record", "stream": lane, "sequence": members["step"], "frames": []} | members
        )

    def wait(self, process: int, lane: int, number: int) -> None:
        maker, stream, sequence, record = self.records[number % len(self.records)]
        if maker == process:
            return
        node, members = self.task(process, lane)
        self.before[node].add(record)
        self.lines[process].append(
            {"kind": "shared_wait", "process": 100 + maker, "stream": stream, "sequence": sequence, "frames": []}
            | {name: members[name] for name in ("lane", "step", "time")}
        )

    def synchronize(self, process: int, lane: int) -> None:
        if (process, lane) not in self.steps:
            return
        call = self.call(process)
        self.before[call].add((process, lane, self.steps[process, lane]))
        for other, newest in self.lanes[process, lane].items():
            self.known[process][other] = max(self.known[process].get(other, 0), newest)
        known = self.vector(self.known[process])
        self.lines[process].append({"kind": "shared_host", "time": self.time, "known": known})

    def all_before(self, node: object) -> set[object]:
        found: set[object] = set()
        open_nodes = [node]
        while open_nodes:
            for it in self.before[open_nodes.pop()] - found:
                found.add(it)
                open_nodes.append(it)
        return found

    def races(self) -> Iterator[tuple[int, int]]:
        before = {node: self.all_before(node) for node, *_ in self.accesses}
        for later, (node, process, mode, _) in enumerate(self.accesses):
            for earlier, (other, of_process, of_mode, _) in enumerate(self.accesses[:later]):
                is_ordered = other in before[node] or node in before[other]
                if process != of_process and not is_ordered and "write" in (mode, of_mode):
                    yield earlier + 1, later + 1


LANES = st.integers(1, 2)
STEPS = st.one_of(
    st.tuples(st.just("access"), LANES, st.sampled_from(MODES), st.integers(1, 64)),
    st.tuples(st.just("record"), LANES),
    st.tuples(st.just("wait"), LANES, st.integers(-3, -1)),  # for one of the newest records
    st.tuples(st.just("wait"), LANES, st.integers(-3, -1)),
    st.tuples(st.just("synchronize"), LANES),
)


CHAIN = [
    *[(0, ("access", 1, "write", 8)), (0, ("record", 1)), (1, ("wait", 1, -1)), (1, ("record", 1))],
    *[(2, ("wait", 1, -1)), (2, ("access", 1, "read", 8))],
]


@example(CHAIN)
@example(CHAIN[1:] + CHAIN[:1])
@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), STEPS), min_size=10, max_size=80))
def test_races_are_those_of_the_graph(program: list[tuple[int, tuple[Any, ...]]]) -> None:
    processes = Processes(3)
    for process, (action, *arguments) in program:
        if action != "wait" or processes.records:
            getattr(processes, action)(process, *arguments)
    found = {
        tuple(sorted(int(access.frames[0].line) for access in (race.first, race.second)))
        for race in process_races.Together(processes.lines).races()
    }
    assert found == set(processes.races())
