# SPDX-License-Identifier: Apache-2.0
"""Calls beside another thread that waits in a call: which of them block, and what they answer.

``concurrency.json`` has what the official runtime did, with a driver that moves data and runs queues in order.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TABLE = Path(__file__).resolve().parents[1] / "data" / "concurrency.json"

ABORTED = 107023

# Its driver neither aborts streams nor drops the work of streams destroyed by force: the abort answered 207000,
# and the destruction waited for the work. Devices do both. While the device is synchronized, the destruction waits for
# the list of streams before it drops anything.
AS_DEVICES = {
    (waiting, other): [0, ABORTED]
    for other, waits in {
        "DestroyStreamForce, same": ("SynchronizeStream", "SynchronizeEvent"),
        "StreamAbort, same": ("SynchronizeDevice", "SynchronizeStream", "SynchronizeEvent"),
    }.items()
    for waiting in waits
}

# The calls that wait do so for the stream that is held.
WAITS = {
    "SynchronizeDevice": "aclrtSynchronizeDevice",
    "SynchronizeStream": "aclrtSynchronizeStream, stream",
    "SynchronizeEvent": "aclrtSynchronizeEvent, recorded",
    "DestroyStream": "aclrtDestroyStream, stream",
}
OTHERS = {
    "CreateStream": "aclrtCreateStream, ffi.new('aclrtStream *')",
    "DestroyStream (idle)": "aclrtDestroyStream, idle",
    "CreateEventExWithFlag": "aclrtCreateEventExWithFlag, ffi.new('aclrtEvent *'), 1",
    "DestroyEvent": "aclrtDestroyEvent, event",
    "RecordEvent, other stream": "aclrtRecordEvent, event, other",
    "StreamWaitEvent, other stream": "aclrtStreamWaitEvent, other, event",
    "RecordEvent, same stream": "aclrtRecordEvent, event, stream",
    "SynchronizeStream, other": "aclrtSynchronizeStream, other",
    "SynchronizeStreamWithTimeout, same": "aclrtSynchronizeStreamWithTimeout, stream, 20",
    "SynchronizeDeviceWithTimeout": "aclrtSynchronizeDeviceWithTimeout, 20",
    "StreamQuery, same": "aclrtStreamQuery, stream, ffi.new('aclrtStreamStatus *')",
    "QueryEventStatus": "aclrtQueryEventStatus, recorded, ffi.new('aclrtEventRecordedStatus *')",
    "Malloc": "aclrtMalloc, ffi.new('void **'), 64, 0",
    "Free": "aclrtFree, device_block",
    "MallocHost": "aclrtMallocHost, ffi.new('void **'), 64",
    "Memcpy": "aclrtMemcpy, device_block, 64, host_block, 64, 1",
    "MemcpyAsync, other stream": "aclrtMemcpyAsync, device_block, 64, host_block, 64, 1, other",
    "MemcpyAsync, same stream": "aclrtMemcpyAsync, device_block, 64, host_block, 64, 1, stream",
    "SetDevice": "aclrtSetDevice, 0",
    "ResetDevice": "aclrtResetDevice, 0",
    "CreateContext": "aclrtCreateContext, ffi.new('aclrtContext *'), 0",
    "SetCurrentContext": "aclrtSetCurrentContext, context",
    "GetMemInfo": "aclrtGetMemInfo, 1, ffi.new('size_t *'), ffi.new('size_t *')",
    "CaptureBegin, other stream": "aclmdlRICaptureBegin, other, 2",
    "RecordNotify (releases)": "aclrtRecordNotify, notify, other",
    "DestroyStreamForce, same": "aclrtDestroyStreamForce, stream",
    "StreamAbort, same": "aclrtStreamAbort, stream",
}

# Plays rows of the table. A call blocks when the simulator reports that it has waited.
PLAYER = """
import json, sys, threading
from support.raw import new, ok
from support.stalls import Reports

class Call:
    def __init__(self, context, function, *arguments):
        self.name, self.code = function, None
        self.thread = threading.Thread(target=self.run, args=(context, arguments))
        self.thread.start()

    def run(self, context, arguments):
        ok(lib.aclrtSetCurrentContext(context))
        self.code = getattr(lib, self.name)(*arguments)

    def blocks(self):
        return reports.come(f"{self.name} has waited", or_the_end_of=self.thread)

def play(waits, call, goes_on):
    # A second context, whose thread is never blocked, lets the work go on.
    apart = new("aclrtContext", "aclrtCreateContext", 0)
    releasing = new("aclrtStream", "aclrtCreateStream")
    ok(lib.aclrtSetDevice(0))
    context = new("aclrtContext", "aclrtGetCurrentContext")
    stream, other, idle = (new("aclrtStream", "aclrtCreateStream") for _ in range(3))
    event, recorded = new("aclrtEvent", "aclrtCreateEvent"), new("aclrtEvent", "aclrtCreateEvent")
    device_block, host_block = new("void *", "aclrtMalloc", 64, 0), new("void *", "aclrtMallocHost", 64)
    notify = new("aclrtNotify", "aclrtCreateNotify", 0)
    ok(lib.aclrtRecordEvent(event, other))
    ok(lib.aclrtSynchronizeStream(other))
    ok(lib.aclrtWaitAndResetNotify(notify, stream, 0))
    ok(lib.aclrtRecordEvent(recorded, stream))
    reports.forget()
    names = {**globals(), **locals()}
    waiting = eval(f"Call(context, {waits[0]!r}, {waits[1]})", names)
    assert waiting.blocks(), waiting.code
    tried = eval(f"Call(context, {call[0]!r}, {call[1]})", names)
    answer = "BLOCKS" if tried.blocks() else tried.code
    if goes_on:
        waiting.thread.join()
    waits_still = waiting.thread.is_alive()
    ok(lib.aclrtSetCurrentContext(apart))
    ok(lib.aclrtRecordNotify(notify, releasing))
    for thread in (waiting.thread, tried.thread):
        thread.join()
    lib.aclrtResetDeviceForce(0)
    ok(lib.aclrtDestroyContext(apart))
    return [answer, "waits" if waits_still else waiting.code]

with Reports() as reports:
    answers = [play(*row) for row in json.loads(sys.argv[1])]
reported(answers)
"""


def _rows() -> list[tuple[str, str, list[Any]]]:
    rows = json.loads(TABLE.read_text(encoding="utf-8"))
    return [(waiting, other, AS_DEVICES.get((waiting, other), answers)) for waiting, other, *answers in rows]


@pytest.fixture(scope="module")
def answers(child: Callable[..., Any]) -> Callable[[str], dict[str, Any]]:
    """Return a function that plays the rows of a waiting call: what each other call answered, and then that one."""
    played: dict[str, dict[str, Any]] = {}

    def play(waiting: str) -> dict[str, Any]:
        if waiting not in played:
            rows = [row for row in _rows() if row[0] == waiting]
            calls = [
                (WAITS[waiting].partition(", ")[::2], OTHERS[other].partition(", ")[::2], expected[1] != "waits")
                for _, other, expected in rows
            ]
            reported = child(PLAYER, json.dumps(calls), ASCEND_RT_SIM_STALL_MS=20)
            played[waiting] = dict(zip((other for _, other, _ in rows), reported, strict=True))
        return played[waiting]

    return play


@pytest.mark.simulator("internals")
@pytest.mark.parametrize(
    ("waiting", "other", "expected"), [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in _rows()]
)
def test_calls_block_as_the_table_says(
    answers: Callable[[str], dict[str, Any]], waiting: str, other: str, expected: list[Any]
) -> None:
    assert answers(waiting)[other] == expected


def test_the_table_is_whole() -> None:
    assert {row[:2] for row in _rows()} == {(waiting, other) for waiting in WAITS for other in OTHERS}
