# SPDX-License-Identifier: Apache-2.0
"""Random programs for the race check, and a slow reference that finds their races by reachability.

A program is a list of calls over streams, events, notifies and memory, one on each line of its source. The reference
makes a graph of it: one node for each call of the host and one for each task, and an edge for each thing that brings
order. Two accesses race if neither reaches the other. A wait for a counting notify comes after whatever leaves too few
records if it is taken away with all that follows. Like the check, the reference goes through the actions in the
order of calls, puts tasks aside that wait for a later call, and forgets an access as soon as a later one that it
precedes replaces it: a write replaces everything, a read replaces reads.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STREAMS, EVENTS, NOTIFIES = 4, 3, 2  # and one event more, for repairs
MEMORIES = ("device0", "device1", "pinned")
UNITS, UNIT_BYTES = 8, 64  # accesses are of whole units


@dataclass(frozen=True)
class Call:
    """One call of a program; the meaning of the numbers depends on its name."""

    name: str
    stream: int = 0
    other: int = 0  # event or notify, or a number that is added or awaited
    target: int = 0  # index in MEMORIES
    source: int = 0
    begin: int = 0
    count: int = 1
    from_: int = 0

    @property
    def accesses(self) -> list[tuple[str, int, bool]]:
        """Parts of memory that it touches: memory, unit, and whether it is written."""
        return list(self._accesses())

    def _accesses(self) -> Iterator[tuple[str, int, bool]]:
        reads, writes, strided = READS[self.name], WRITES[self.name], self.name == "copy_rows"
        for i in range(0, self.count, 2 if strided else 1):
            if reads:
                yield MEMORIES[self.source], self.from_ + i, False
            if writes:
                yield MEMORIES[self.target], self.begin + i, True


# Source of each call: {t}, {s} are the first bytes, {n} is a number of bytes.
SOURCES = {
    "fill": "ok(lib.aclrtMemsetAsync({t}, {n}, 1, {n}, S[{stream}]))",
    "copy": "ok(lib.aclrtMemcpyAsync({t}, {n}, {s}, {n}, DEFAULT, S[{stream}]))",
    "copy_rows": "ok(lib.aclrtMemcpy2dAsync({t}, 128, {s}, 128, 64, {rows}, {kind}, S[{stream}]))",
    "host_function_read": "host_function(S[{stream}], {s}, {n}, READ)",
    "host_function_write": "host_function(S[{stream}], {t}, {n}, WRITE)",
    "blocking_copy": "ok(lib.aclrtMemcpy({t}, {n}, {s}, {n}, {kind}))",
    "host_read": "ok(lib.aclsimNoteHostAccess(access({s}, {n}, READ)))",
    "host_write": "ok(lib.aclsimNoteHostAccess(access({t}, {n}, WRITE)))",
    "record": "ok(lib.aclrtRecordEvent(E[{other}], S[{stream}]))",
    "wait": "ok(lib.aclrtStreamWaitEvent(S[{stream}], E[{other}]))",
    "notify": "ok(lib.aclrtRecordNotify(N[{other}], S[{stream}]))",
    "await_notify": "ok(lib.aclrtWaitAndResetNotify(N[{other}], S[{stream}], 0))",
    "add": "ok(lib.aclrtCntNotifyRecord(C[0], S[{stream}], ADD[{other}]))",
    "await_sum": "ok(lib.aclrtCntNotifyWaitWithTimeout(C[0], S[{stream}], AT_LEAST[{other}]))",
    "synchronize": "ok(lib.aclrtSynchronizeStream(S[{stream}]))",
    "synchronize_event": "ok(lib.aclrtSynchronizeEvent(E[{other}]))",
    "poll": "poll(S[{stream}])",
    "renew_stream": "renew(S, {stream})",
    "free": "renew_memory('{memory}')",
}
TASKS = {name for name, source in SOURCES.items() if "S[{stream}]" in source} - {"synchronize", "poll"}
READS = {name: "{s}" in source for name, source in SOURCES.items()}
WRITES = {name: "{t}" in source for name, source in SOURCES.items()}

KINDS = {(0, 0): "D2D", (0, 1): "H2D", (1, 0): "D2H", (1, 1): "H2H"}  # (target is pinned, source is pinned)


def source_of(calls: list[Call]) -> str:
    """Return the program: call i is on line i + 1."""
    lines = []
    for call in calls:
        first = {
            "t": f"at('{MEMORIES[call.target]}', {call.begin * UNIT_BYTES})",
            "s": f"at('{MEMORIES[call.source]}', {call.from_ * UNIT_BYTES})",
            "n": call.count * UNIT_BYTES,
            "rows": (call.count + 1) // 2,
            "kind": KINDS[int(call.target == 2), int(call.source == 2)],
            "memory": MEMORIES[call.target],
        }
        lines.append(SOURCES[call.name].format(stream=call.stream, other=call.other, **first))
    return "\n".join(lines) + "\n"


class Deadlock(Exception):
    """The program would wait forever, or a wait cannot be bound by the order of calls."""


def lines_that_can_run(calls: list[Call]) -> list[int]:
    """Return the lines of records and waits in the order of calls, but none behind a wait without enough records."""
    taken: list[int] = []
    open_: list[int] = []
    recorded: dict[int, int] = {}  # line of the newest record, by event
    awaited: dict[int, int] = {}  # line of the record, by line of the wait
    numbers = {"add": 0} | {f"notify {notify}": 0 for notify in range(NOTIFIES)}

    def take(line: int) -> bool:
        call = calls[line - 1]
        if call.name in ("add", "notify"):
            numbers["add" if call.name == "add" else f"notify {call.other}"] += call.other if call.name == "add" else 1
        elif call.name == "await_sum":
            return numbers["add"] >= call.other
        elif call.name == "await_notify":
            numbers[f"notify {call.other}"] -= 1
            if numbers[f"notify {call.other}"] < 0:
                numbers[f"notify {call.other}"] = 0
                return False
        elif line in awaited:
            record = awaited[line]
            return all(it > record or calls[it - 1].stream != calls[record - 1].stream for it in open_)
        return True

    for line, call in enumerate(calls, 1):
        if call.name == "record":
            recorded[call.other] = line
        if call.name == "wait" and call.other in recorded:
            awaited[line] = recorded[call.other]
        if call.name in ("add", "notify", "await_sum", "await_notify") or line in awaited:
            open_.append(line)
        has_taken = True
        while has_taken:
            has_taken = False
            blocked: set[int] = set()
            for it in list(open_):
                stream = calls[it - 1].stream
                if stream not in blocked and take(it):
                    open_.remove(it)
                    taken.append(it)
                    has_taken = bool(blocked)
                else:
                    blocked.add(stream)
    if open_:
        raise Deadlock
    return taken


@dataclass
class _Action:
    line: int
    node: int
    stream: int | None  # None: of the host
    accesses: list[tuple[str, int, bool]]
    frees: bool = False
    after: list[_Action] = field(default_factory=list)


class Reference:
    """Races of a program, as pairs of lines."""

    def __init__(self, calls: list[Call]) -> None:
        self._before: list[int] = []  # for each node the set of those before it, as bits
        self._edges: list[list[int]] = []
        self._adds: list[
            tuple[int, int]
        ] = []  # nodes of records that may satisfy the wait for a sum, and what they add,
        self._await_sum = -1  # its node,
        self._needed = 0  # and the sum
        self._actions = list(self._make(calls))
        self._close()
        self.races = self._find(self._in_order())

    def _node(self, *before: int | None) -> int:
        self._edges.append([it for it in before if it is not None])
        return len(self._edges) - 1

    def _make(self, calls: list[Call]) -> Iterator[_Action]:
        host: int | None = None
        newest: dict[int, _Action] = {}  # by stream
        recorded: dict[int, _Action] = {}
        notified: dict[int, list[_Action]] = {}
        awaiting: dict[int, list[_Action]] = {}
        renewed = dict.fromkeys(MEMORIES, 0)
        adds: list[_Action] = []
        await_sum: _Action | None = None
        synchronized: dict[int, _Action] = {}  # records and waits, by line
        for line, call in enumerate(calls, 1):
            # A task that runs after its memory was freed, and given out again, uses the old allocation.
            accesses = [(f"{memory} {renewed[memory]}", unit, writes) for memory, unit, writes in call.accesses]
            learned = None
            if call.name in ("synchronize", "poll", "renew_stream") and call.stream in newest:
                learned = newest[call.stream].node
            elif call.name == "synchronize_event" and call.other in recorded:
                learned = recorded[call.other].node
            host = self._node(host, learned)
            if call.name not in TASKS:
                if call.name == "free":
                    memory = MEMORIES[call.target]
                    accesses = [(f"{memory} {renewed[memory]}", unit, True) for unit in range(UNITS)]
                    renewed[memory] += 1
                yield _Action(line, host, None, accesses, call.name == "free")
                if call.name == "renew_stream":
                    newest.pop(call.stream, None)
                continue
            last = newest.get(call.stream)
            task = _Action(line, self._node(host, None if last is None else last.node), call.stream, accesses)
            newest[call.stream] = task
            if call.name == "record":
                recorded[call.other] = task
            elif call.name == "wait" and call.other in recorded:
                self._order(recorded[call.other], task)
            synchronized[line] = task
            yield task
        for line in lines_that_can_run(calls):
            call, task = calls[line - 1], synchronized[line]
            if call.name == "notify":
                notified.setdefault(call.other, []).append(task)
            elif call.name == "await_notify":
                awaiting.setdefault(call.other, []).append(task)
            elif call.name == "await_sum":
                await_sum, self._await_sum, self._needed = task, task.node, call.other
            elif call.name == "add" and await_sum is None:
                adds.append(task)
        for notify, waits in awaiting.items():
            records = notified.get(notify, [])
            if len(records) != len(waits):
                raise Deadlock
            for record, wait in zip(records, waits, strict=True):
                self._order(record, wait)
        if any(notify not in awaiting for notify in notified):
            raise Deadlock  # not one, but what it sets would be taken by another program
        if await_sum is not None:
            later = self._after(await_sum.node)
            enough = [action for action in adds if action.node not in later]
            await_sum.after += enough
            self._adds = [(action.node, calls[action.line - 1].other) for action in enough]
            if sum(it for _, it in self._adds) < self._needed:
                raise Deadlock

    def _order(self, before: _Action, after: _Action) -> None:
        self._edges[after.node].append(before.node)
        after.after.append(before)

    def _after(self, node: int) -> set[int]:
        found, new = set[int](), {node}
        while new:
            found |= new
            new = {it for it, before in enumerate(self._edges) if it not in found and not new.isdisjoint(before)}
        return found

    def _before_sum(self) -> int:
        """Return what every choice of records that is enough has before it."""
        bits = 0
        for node in range(len(self._edges)):
            without = sum(it for add, it in self._adds if not (self._before[add] | 1 << add) >> node & 1)
            bits |= int(without < self._needed) << node
        return bits

    def _close(self) -> None:
        """Determine what is before each node; a cycle is a deadlock."""
        count = len(self._edges)
        self._before = [-1] * count
        open_ = [[node] for node in range(count)]
        under_way: set[int] = set()
        for path in open_:
            while path:
                node = path[-1]
                if self._before[node] >= 0:
                    path.pop()
                    continue
                under_way.add(node)
                adds = [it for it, _ in self._adds] if node == self._await_sum else []
                missing = [it for it in self._edges[node] + adds if self._before[it] < 0]
                if any(it in under_way for it in missing):
                    raise Deadlock
                if missing:
                    path.append(missing[0])
                    continue
                under_way.discard(node)
                bits = self._before_sum() if node == self._await_sum else 0
                for it in self._edges[node]:
                    bits |= self._before[it] | (1 << it)
                self._before[node] = bits
                path.pop()

    def _is_before(self, one: _Action, other: _Action) -> bool:
        return bool(self._before[other.node] >> one.node & 1)

    def _in_order(self) -> Iterator[_Action]:
        """Go through the actions in the order of calls, behind what they wait for."""
        taken: set[int] = set()
        parked: dict[int, list[_Action]] = {}

        def is_ready(action: _Action) -> bool:
            return all(id(it) in taken for it in action.after)

        for action in sorted(self._actions, key=lambda it: it.line):
            queue = parked.setdefault(action.stream, []) if action.stream is not None else []
            if action.stream is not None and (queue or not is_ready(action)):
                queue.append(action)
                continue
            taken.add(id(action))
            yield action
            while any(queue and is_ready(queue[0]) for queue in parked.values()):
                for queue in parked.values():
                    while queue and is_ready(queue[0]):
                        taken.add(id(queue[0]))
                        yield queue.pop(0)

    def _find(self, actions: Iterator[_Action]) -> set[tuple[int, int]]:
        races: set[tuple[int, int]] = set()
        seen: dict[tuple[str, int], list[tuple[_Action, bool]]] = {}
        for action in actions:
            for memory, unit, is_write in action.accesses:
                entries = seen.setdefault((memory, unit), [])
                for earlier, was_write in entries:
                    is_after = self._is_before(earlier, action) and not earlier.frees
                    if earlier is not action and (is_write or was_write) and not is_after:
                        races.add((min(earlier.line, action.line), max(earlier.line, action.line)))
                entries[:] = [
                    (earlier, was_write)
                    for earlier, was_write in entries
                    if not ((earlier is action or self._is_before(earlier, action)) and (is_write or not was_write))
                ]
                entries.append((action, is_write))
        return races


RUNNER = """
import json, os, sys, time
from ascend_rt import Device, ffi, lib

device = Device(0)
device.set_current()
DEFAULT = lib.ACL_MEMCPY_DEFAULT
D2D, H2D = lib.ACL_MEMCPY_DEVICE_TO_DEVICE, lib.ACL_MEMCPY_HOST_TO_DEVICE
D2H, H2H = lib.ACL_MEMCPY_DEVICE_TO_HOST, lib.ACL_MEMCPY_HOST_TO_HOST
READ, WRITE = lib.ACLSIM_ACCESS_READ, lib.ACLSIM_ACCESS_WRITE
S, E, N, C, M = [], [], [], [], {}
ADD = [ffi.new("aclrtCntNotifyRecordInfo *", (lib.ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, it)) for it in range(3)]
AT_LEAST = [ffi.new("aclrtCntNotifyWaitInfo *", (lib.ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, it, 0, it % 2))
            for it in range(9)]
kept = []
sleep = ffi.callback("void(void *)", lambda _: time.sleep(0.002))

def ok(code):
    assert code == 0, code

def new(kind, function, *arguments):
    out = ffi.new(kind)
    ok(getattr(lib, function)(out, *arguments))
    return out[0]

def at(memory, offset):
    return ffi.cast("char *", M[memory]) + offset

def access(address, size, mode):
    shape = ffi.new("int64_t[1]", [size])
    found = ffi.new("aclsimAccess *", dict(address=address, mode=mode, elementSize=1, rank=1, shape=shape))
    kept.append((shape, found))
    return found

def host_function(stream, address, size, mode):
    caller = sys._getframe(1)  # the function is on the same line as its launch
    body = "\\n" * (caller.f_lineno - 1) + "def run(_): lib.aclsimNoteHostAccess(noted)"
    names = {"lib": lib, "noted": access(address, size, mode)}
    exec(compile(body, caller.f_code.co_filename, "exec"), names)
    function = ffi.callback("void(void *)", names["run"])
    kept.append(function)
    ok(lib.aclrtLaunchHostFunc(stream, function, ffi.NULL))

def poll(stream):
    status = ffi.new("aclrtStreamStatus *")
    while True:
        ok(lib.aclrtStreamQuery(stream, status))
        if status[0] == lib.ACL_STREAM_STATUS_COMPLETE:
            return

def renew(streams, index):
    ok(lib.aclrtSynchronizeStream(streams[index]))
    ok(lib.aclrtDestroyStream(streams[index]))
    streams[index] = new("aclrtStream *", "aclrtCreateStream")

def renew_memory(memory):
    if memory == "pinned":
        ok(lib.aclrtFreeHost(M[memory]))
        M[memory] = new("void **", "aclrtMallocHost", SIZE)
    else:
        ok(lib.aclrtFree(M[memory]))
        M[memory] = new("void **", "aclrtMalloc", SIZE, 0)

def run(number, source):
    S[:] = [new("aclrtStream *", "aclrtCreateStream") for _ in range(STREAMS)]
    E[:] = [new("aclrtEvent *", "aclrtCreateEventExWithFlag", lib.ACL_EVENT_SYNC) for _ in range(EVENTS + 1)]
    N[:] = [new("aclrtNotify *", "aclrtCreateNotify", 0) for _ in range(NOTIFIES)]
    M.update(device0=new("void **", "aclrtMalloc", SIZE, 0), device1=new("void **", "aclrtMalloc", SIZE, 0),
             pinned=new("void **", "aclrtMallocHost", SIZE))
    C[:] = [new("aclrtCntNotify *", "aclrtCntNotifyCreate", 0)]
    if LATE:
        ok(lib.aclrtLaunchHostFunc(S[number % STREAMS], sleep, ffi.NULL))
    exec(compile(source, f"program{number}", "exec"), globals())
    for it in S:
        ok(lib.aclrtSynchronizeStream(it))
        ok(lib.aclrtDestroyStream(it))
    for it in E:
        ok(lib.aclrtDestroyEvent(it))
    for it in N:
        ok(lib.aclrtDestroyNotify(it))
    ok(lib.aclrtCntNotifyDestroy(C[0]))
    for memory in ("device0", "device1"):
        ok(lib.aclrtFree(M[memory]))
    ok(lib.aclrtFreeHost(M["pinned"]))
    kept.clear()

for line in sys.stdin:
    number, source = json.loads(line)
    run(number, source)
    print("done", flush=True)
"""


class Runner:
    """A process that runs programs under the race check and returns what is reported of each.

    With `late` one stream of each begins late, not always the same.
    """

    def __init__(self, *, late: bool = False, **variables: str) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="ascend_rt-")
        sizes = (
            f"SIZE, STREAMS, EVENTS, NOTIFIES = {UNITS * UNIT_BYTES}, {STREAMS}, {EVENTS}, {NOTIFIES}\nLATE = {late}\n"
        )
        environment = {
            **os.environ,
            "ASCEND_RT_BACKEND": "sim",
            "ASCEND_RT_SIM_PRODUCT": "950",  # has counting notifies
            "ASCEND_RT_SIM_CHECK": "races",
            "ASCEND_RT_SIM_CHECK_DIRECTORY": self._directory.name,
            **variables,
        }
        command = [sys.executable, "-c", sizes + RUNNER]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._count = 0
        self._read = 0

    def run(self, source: str) -> list[dict[str, Any]]:
        """Return the findings of a program."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._count += 1
        self._process.stdin.write(json.dumps([self._count, source]) + "\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], 60)
        assert ready, f"the program does not end:\n{source}"
        assert self._process.stdout.readline() == "done\n", f"the program has failed:\n{source}"
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        found = [json.loads(line) for line in lines[self._read :]]
        self._read = len(lines)
        return found

    @property
    def _file(self) -> Path:
        return Path(self._directory.name, f"{self._process.pid}.jsonl")

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(60) == 0
        self._directory.cleanup()


def line_of(frames: list[str]) -> int:
    """Return the line of the program that a place is on."""
    named = [frame for frame in frames if frame.startswith("program")]
    return int(named[-1].split(":")[1].split(" ")[0])


def races_of(findings: list[dict[str, Any]]) -> set[tuple[int, int]]:
    """Return the reported races as pairs of lines."""
    races = set()
    for it in findings:
        if it["kind"] == "race":
            lines = sorted((line_of(it["first"]["frames"]), line_of(it["second"]["frames"])))
            races.add((lines[0], lines[1]))
    return races
