# SPDX-License-Identifier: Apache-2.0
"""Findings of a program that has none: the program writes the lines itself, as the simulator would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Line = dict[str, Any]

# The places of the findings are lines of this text, each named by its comment.
TRAIN = """\
import sys


def load():
    ready = loader.record()  # record
    copy_async(memory, source, loader)  # write


def step():
    worker.wait(ready)  # wait
    copy_async(target, memory, worker)  # read


memory = Buffer(65536)  # allocation
load()  # load
step()  # step
"""

# Before it, the program has ``lines``.
WRITE = """\
import json, os
def write(lines):
    path = os.path.join(os.environ["ASCEND_RT_SIM_CHECK_DIRECTORY"], f"{os.getpid()}.jsonl")
    with open(path, "a") as file:
        file.writelines(json.dumps(line) + "\\n" for line in lines)
"""

BEGIN: Line = {"kind": "process", "format": 1, "pid": 1, "product": "910B", "checks": ["races", "deadlocks"]}
END: Line = {"kind": "end"}


def line_of(name: str, text: str = TRAIN) -> int:
    """Return the number of the line with that comment."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.endswith(f"# {name}"))


def frames(path: Path | str, *names: str, text: str = TRAIN) -> list[str]:
    """Return places, by the comments of their lines; functions are ``load`` and ``step``."""
    functions = {"record": "load", "write": "load", "wait": "step", "read": "step"}
    return [f"{path}:{line_of(name, text)} in {functions.get(name, '<module>')}" for name in names]


def race(path: Path | str, text: str = TRAIN, **changed: Any) -> Line:
    """Return a race in the program."""

    def at(*names: str) -> list[str]:
        return frames(path, *names, text=text)

    task = {"device": 0, "function": "aclrtMemcpyAsync"}
    return {
        "kind": "race",
        "id": 1,
        "conflict": "read after write",
        "memory": {"kind": "device", "number": 3, "size": 65536, "function": "aclrtMalloc", "frames": at("allocation")},
        "offset": 0,
        "bytes": 4096,
        "first": {"mode": "write", "stream": 2, "task": 14, "operand": "dst", "frames": at("write", "load"), **task},
        "second": {"mode": "read", "stream": 3, "task": 9, "operand": "src", "frames": at("read", "step"), **task},
        "why": {"case": "late_record", "wait": at("wait", "step"), "record": at("record", "load")},
        "fix": {
            "case": "event",
            "record_stream": 2,
            "record_after": at("write", "load"),
            "wait_stream": 3,
            "wait_before": at("read", "step"),
        },
        **changed,
    }


def deadlock(path: Path | str, **changed: Any) -> Line:
    """Return a deadlock of the host with a stream."""
    host = {"agent": "thread 4711", "waits_for": "stream 2 of device 0", "function": "aclrtSynchronizeStream"}
    stream = {"agent": "stream 2 of device 0", "task": 5, "waits_for": "event 7", "function": "aclrtStreamWaitEvent"}
    waits = [host | {"frames": frames(path, "load")}, stream | {"frames": frames(path, "wait", "step")}]
    return {"kind": "deadlock", "id": 5, "text": "2 waits can never end", "waits": waits, **changed}


def hint(path: Path | str) -> Line:
    """Return a hint."""
    place = {"function": "aclrtStreamWaitEvent", "frames": frames(path, "wait"), "stream": 3}
    return {"kind": "hint", "id": 9, "hint": "redundant_wait", **place}


def write(directory: Path, lines: list[Line], pid: int = 1) -> None:
    """Write the lines of a process."""
    with open(directory / f"{pid}.jsonl", "a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def program(path: Path, lines: list[Line], then: str = "") -> Path:
    """Write a program that writes lines and then does something; its places are in ``train.py`` beside it."""
    (path.parent / "train.py").write_text(TRAIN, encoding="utf-8")
    path.write_text(f"{WRITE}\nwrite(json.loads({json.dumps(lines)!r}))\n{then}\n", encoding="utf-8")
    return path
