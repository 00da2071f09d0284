# SPDX-License-Identifier: Apache-2.0
"""Rules of the double by function, as C++ code for the forwarders."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "data" / "double"

_STATEMENTS = dict.fromkeys(("aclrtRecordEvent", "aclrtRecordEventWithFlag"), "note_recorded(result, {0}, {1});")

# Functions that another one of the double stands in for.
INSTEAD = {
    "aclrtSetExceptionInfoCallback": "set_exception_callback",
    "aclrtExceptionInfoCallbackRegister": "register_exception_callback",
    "aclrtExceptionInfoCallbackUnregister": "unregister_exception_callback",
    "aclrtGetTaskIdFromExceptionInfo": "failed_task",
    "aclrtGetStreamIdFromExceptionInfo": "failed_stream",
    "aclrtGetThreadIdFromExceptionInfo": "failed_thread",
    "aclrtGetDeviceIdFromExceptionInfo": "failed_device",
    "aclrtGetErrorCodeFromExceptionInfo": "failure_code",
    "aclrtGetArgsFromExceptionInfo": "failed_arguments",
    "aclrtGetFuncHandleFromExceptionInfo": "failed_function",
}

# The words of the concurrency table -> the functions that they stand for.
_WAITING = {
    "SynchronizeDevice": ("aclrtSynchronizeDevice", "aclrtSynchronizeDeviceWithTimeout"),
    "SynchronizeStream": ("aclrtSynchronizeStream", "aclrtSynchronizeStreamWithTimeout"),
    "SynchronizeEvent": ("aclrtSynchronizeEvent", "aclrtSynchronizeEventWithTimeout"),
    "DestroyStream": ("aclrtDestroyStream",),
}
_BLOCKED = {
    "CreateStream": ("aclrtCreateStream", "aclrtCreateStreamV2", "aclrtCreateStreamWithConfig"),
    "DestroyStream (idle)": ("aclrtDestroyStream",),
    "SynchronizeDeviceWithTimeout": ("aclrtSynchronizeDevice", "aclrtSynchronizeDeviceWithTimeout"),
    "CaptureBegin, other stream": ("aclmdlRICaptureBegin", "aclmdlRICaptureToModelRIBegin"),
    "DestroyStreamForce, same": ("aclrtDestroyStreamForce",),
}
# Rules that the simulator itself implements: a reset waits for the work of the device.
_OF_THE_SIMULATOR = ("ResetDevice",)


@dataclass
class Rules:
    """Code before and after the forwarded call."""

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


@dataclass
class _Turn:
    waits_as: list[str] = field(default_factory=list)
    blocked_by: list[str] = field(default_factory=list)
    blocked_by_same: list[str] = field(default_factory=list)


def blocking_pairs() -> Iterator[tuple[str, str]]:
    """Yield the pairs of a waiting call and one that it blocks, in the words of the table."""
    rows = json.loads((DATA / "concurrency.json").read_text(encoding="utf-8"))
    for waiting, other, answer, _ in rows:
        if answer == "BLOCKS" and other not in _OF_THE_SIMULATOR:
            yield waiting, other


def _turns() -> dict[str, _Turn]:
    turns: dict[str, _Turn] = {}
    for waiting, functions in _WAITING.items():
        for function in functions:
            turns.setdefault(function, _Turn()).waits_as.append(f"k{waiting}")
    for waiting, other in blocking_pairs():
        for function in _BLOCKED[other]:
            turn = turns.setdefault(function, _Turn())
            # One who waits for all streams waits for the same one, whichever that is.
            is_same = other.endswith(", same") and waiting != "SynchronizeDevice"
            (turn.blocked_by_same if is_same else turn.blocked_by).append(f"k{waiting}")
    return turns


TURNS = _turns()


def _turn(function: Any) -> str:
    turn = TURNS[function.name]
    masks = (" | ".join(mask) or "0" for mask in (turn.waits_as, turn.blocked_by, turn.blocked_by_same))
    names = {parameter.type.removeprefix("const "): parameter.name for parameter in function.parameters}
    stream = names.get("aclrtStream", "nullptr")
    if "aclrtEvent" in names:
        stream = f"stream_of_record({names['aclrtEvent']})"
    return f"const Turn turn(site, {{{', '.join(masks)}}}, {stream});"


def rules_of(function: Any) -> Rules:
    """Return the rules of a function, a declaration of ``backends.abi.declarations``."""
    rules = Rules()
    if function.name in TURNS:
        rules.before.append(_turn(function))
    if statement := _STATEMENTS.get(function.name):
        rules.after.append(statement.format(*(parameter.name for parameter in function.parameters)))
    return rules
