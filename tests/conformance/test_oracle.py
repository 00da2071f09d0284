# SPDX-License-Identifier: Apache-2.0
"""Return codes recorded from the real runtime, compared with those of the library under test.

``tests/data/event_sequences.json`` has one sequence of calls per kind of event: the call that creates the events, then
``[function, case, arguments, code, outputs]`` per step. The codes were recorded on the runtime's own host code playing
an Ascend910B1.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.recordings import MACHINE

from ascend_rt import supports

DATA = Path(__file__).resolve().parents[1] / "data" / "event_sequences.json"
SEQUENCES = json.loads(DATA.read_text(encoding="utf-8"))
# By group: function, case, arguments as in calls.py, code. Only calls that need no more preparation than this.
ARGUMENTS = json.loads(DATA.with_name("recorded_arguments.json").read_text(encoding="utf-8"))
# By group: all its calls, in this form; null is a code that proves nothing.
RECORDED = json.loads(DATA.with_name("recorded_sequences.json").read_text(encoding="utf-8"))
PREPARATION = [
    ["aclInit", None],
    ["aclrtSetDevice", 0],
    ["aclrtMalloc", "out:dev", 4096, 0],
    ["aclrtMalloc", "out:dev2", 4096, 0],
    ["aclrtMallocHost", "out:pinned", 4096],
    ["aclrtMallocHost", "out:pinned2", 4096],
    ["aclrtCreateStream", "out:stream"],
]

# What a recorded output says about the value that came back.
OUTPUTS: dict[str, Any] = {
    "status": lambda value, expected: value == expected,
    "ts": lambda value, expected: value == expected,
    "ms": lambda value, expected: value == expected,
    "positive": lambda value, expected: (value > 0) == expected,
    "negative": lambda value, expected: (value < 0) == expected,
    "nonzero": lambda value, expected: (value != 0) == expected,
    "nonneg": lambda value, expected: (value < 0x80000000) == expected,
}


class Sequence:
    """Runs the steps on two streams and two events of one kind."""

    def __init__(self, lib: Any, ffi: Any, create: str, flags: int | None) -> None:
        self._lib, self._ffi = lib, ffi
        self._objects = {"NULL": ffi.NULL}
        for name in ("s1", "s2"):
            self._objects[name] = self._new("aclrtStream *", lib.aclrtCreateStream)
        extra = () if flags is None else (flags,)
        for name in ("e", "e2"):
            self._objects[name] = self._new("aclrtEvent *", getattr(lib, create), *extra)

    def _new(self, out_type: str, create: Any, *arguments: int) -> Any:
        out = self._ffi.new(out_type)
        assert create(out, *arguments) == 0
        return out[0]

    def run(self, function: str, arguments: list[str]) -> tuple[int, Any]:
        """Make one call; return its code and the value of its output, if it has one."""
        call = getattr(self._lib, function)
        types = self._ffi.typeof(call).args
        out = None
        values = []
        for text, c_type in zip(arguments, types, strict=True):
            if text == "&out":
                out = self._ffi.new(c_type)
                values.append(out)
            else:
                values.append(self._objects[text] if text in self._objects else int(text, 0))
        code = call(*values)
        return code, None if out is None else out[0]


@pytest.mark.parametrize("sequence", SEQUENCES, ids=lambda s: f"{s['create']}-{s['flags']}")
def test_events_answer_as_the_real_runtime_did(sequence: dict[str, Any], device: Any, lib: Any, ffi: Any) -> None:
    player = Sequence(lib, ffi, sequence["create"], sequence["flags"])
    differences = []
    for function, case, arguments, expected, outputs in sequence["steps"]:
        code, value = player.run(function, arguments)
        if code != expected:
            differences.append(f"{function} [{case}]: {code}, not {expected}")
        elif code == 0:
            wrong = [key for key, wanted in outputs.items() if not OUTPUTS[key](value, wanted)]
            differences += [f"{function} [{case}]: {key} is wrong, got {value}" for key in wrong]
    assert differences == []


@pytest.mark.parametrize("group", ARGUMENTS)
def test_arguments_are_answered_as_the_real_runtime_did(group: str, calls: Any, backend: str) -> None:
    rows = [row for row in ARGUMENTS[group] if supports(row[0])]
    answers = calls([*PREPARATION, *([function, *arguments] for function, _, arguments, _ in rows)], **MACHINE)
    differences = [
        f"{function} [{case}]: {code}, not {expected}"
        for (function, case, _, expected), (code, _) in zip(rows, answers[len(PREPARATION) :], strict=True)
        if code != expected
    ]
    assert rows
    assert differences == []


@pytest.mark.parametrize("group", RECORDED)
@pytest.mark.simulator("some sequences hold the device")
def test_sequences_are_answered_as_the_real_runtime_did(group: str, calls: Any) -> None:
    rows = RECORDED[group]
    queues = {"ASCEND_RT_SIM_SOFTWARE_QUEUES": "1"} if "_sq_" in group else {}
    answers = calls([[function, *arguments] for function, _, arguments, _ in rows], **MACHINE, **queues)
    differences = [
        f"{function} [{case}]: {code}, not {expected}"
        for (function, case, _, expected), (code, _) in zip(rows, answers, strict=True)
        if expected not in (None, code)
    ]
    assert differences == []
