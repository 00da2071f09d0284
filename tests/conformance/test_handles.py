# SPDX-License-Identifier: Apache-2.0
"""Every function that takes a handle, called with NULL, garbage, destroyed handles and handles of another type.

A row names the function and its arguments; ``E``, ``S`` and ``C`` are a bad event, stream or context, lower case is a
good one, ``o`` for an output. The codes are those of the specification: 107017 wherever a handle is validated, and what
the function says about NULL.
"""

from __future__ import annotations

from typing import Any

import pytest
from support.codes import GARBAGE_HANDLES, INVALID_HANDLE, INVALID_PARAM, NO_CONTEXT, RT_PARAM

# function, arguments, code for NULL (None: NULL is the default stream and fine)
EVENTS = [
    ("aclrtRecordEvent", "Es", INVALID_PARAM),
    ("aclrtRecordEventWithFlag", "Es0", INVALID_PARAM),
    ("aclrtResetEvent", "Es", INVALID_PARAM),
    ("aclrtQueryEvent", "Eo", INVALID_PARAM),
    ("aclrtQueryEventStatus", "Eo", INVALID_PARAM),
    ("aclrtQueryEventWaitStatus", "Eo", INVALID_PARAM),
    ("aclrtSynchronizeEvent", "E", INVALID_PARAM),
    ("aclrtSynchronizeEventWithTimeout", "E1", INVALID_PARAM),
    ("aclrtStreamWaitEvent", "sE", INVALID_PARAM),
    ("aclrtStreamWaitEventWithTimeout", "sE1", RT_PARAM),
    ("aclrtStreamWaitEventWithFlag", "sE00", INVALID_PARAM),
    ("aclrtEventElapsedTime", "oEe", INVALID_PARAM),
    ("aclrtEventElapsedTime", "oeE", INVALID_PARAM),
    ("aclrtEventGetTimestamp", "Eo", INVALID_PARAM),
    ("aclrtGetEventId", "Eo", INVALID_PARAM),
    ("aclrtDestroyEvent", "E", INVALID_PARAM),
]
STREAMS = [
    ("aclrtRecordEvent", "eS", None),
    ("aclrtResetEvent", "kS", None),
    ("aclrtStreamWaitEvent", "Se", None),
    ("aclrtSynchronizeStream", "S", None),
    ("aclrtSynchronizeStreamWithTimeout", "S1", None),
    ("aclrtStreamQuery", "So", None),
    ("aclrtStreamGetId", "So", None),
    ("aclrtStreamGetPriority", "So", None),
    ("aclrtStreamGetFlags", "So", None),
    ("aclrtStreamAbort", "S", None),
    ("aclrtStreamStop", "S", RT_PARAM),
    ("aclrtSetStreamOverflowSwitch", "S0", None),
    ("aclrtGetStreamOverflowSwitch", "So", None),
    ("aclrtDestroyStream", "S", INVALID_PARAM),
    ("aclrtDestroyStreamForce", "S", INVALID_PARAM),
]
CONTEXTS = [
    ("aclrtSetCurrentContext", "C", INVALID_PARAM, RT_PARAM),
    ("aclrtDestroyContext", "C", INVALID_PARAM, NO_CONTEXT),
]


class Caller:
    """Calls functions with good and bad handles."""

    def __init__(self, lib: Any, ffi: Any) -> None:
        self.lib, self.ffi = lib, ffi
        self.good = {
            "e": self.create("aclrtEvent *", "aclrtCreateEventExWithFlag", 9),
            "k": self.create("aclrtEvent *", "aclrtCreateEventWithFlag", 1),
            "s": self.create("aclrtStream *", "aclrtCreateStream"),
        }
        assert lib.aclrtRecordEvent(self.good["e"], self.good["s"]) == 0

    def create(self, out_type: str, function: str, *arguments: int) -> Any:
        out = self.ffi.new(out_type)
        assert getattr(self.lib, function)(out, *arguments) == 0
        return out[0]

    def __call__(self, function: str, arguments: str, bad: Any) -> int:
        call = getattr(self.lib, function)
        types = self.ffi.typeof(call).args
        values = []
        for letter, c_type in zip(arguments, types, strict=True):
            if letter in "ESC":
                values.append(self.ffi.cast("void *", bad))
            elif letter == "o":
                values.append(self.ffi.new(c_type))
            else:
                values.append(self.good[letter] if letter in self.good else int(letter))
        return int(call(*values))


@pytest.fixture
def caller(device: Any, lib: Any, ffi: Any) -> Any:
    made = Caller(lib, ffi)
    yield made
    assert lib.aclrtDestroyEvent(made.good["e"]) == 0
    assert lib.aclrtDestroyEvent(made.good["k"]) == 0
    assert lib.aclrtDestroyStream(made.good["s"]) == 0


def bad_handles(caller: Caller, own: str) -> list[Any]:
    event = caller.create("aclrtEvent *", "aclrtCreateEventExWithFlag", 1)
    stream = caller.create("aclrtStream *", "aclrtCreateStream")
    assert caller.lib.aclrtDestroyEvent(event) == 0
    assert caller.lib.aclrtDestroyStream(stream) == 0
    of_other_type = caller.good["s" if own == "E" else "e"]
    return [*GARBAGE_HANDLES, event, stream, of_other_type]


@pytest.mark.parametrize(("function", "arguments", "null_code"), EVENTS)
def test_bad_events(function: str, arguments: str, null_code: int, caller: Caller, backend: str) -> None:
    assert caller(function, arguments, 0) == null_code
    if backend == "sim":  # the vendor's library follows garbage
        assert {caller(function, arguments, bad) for bad in bad_handles(caller, "E")} == {INVALID_HANDLE}


@pytest.mark.parametrize(("function", "arguments", "null_code"), STREAMS)
def test_bad_streams(function: str, arguments: str, null_code: int | None, caller: Caller, backend: str) -> None:
    assert caller(function, arguments, 0) == (null_code or 0)
    if backend == "sim":
        assert {caller(function, arguments, bad) for bad in bad_handles(caller, "S")} == {INVALID_HANDLE}


@pytest.mark.parametrize(("function", "arguments", "null_code", "bad_code"), CONTEXTS)
def test_bad_contexts(
    function: str, arguments: str, null_code: int, bad_code: int, caller: Caller, backend: str
) -> None:
    assert caller(function, arguments, 0) == null_code
    if backend == "sim":
        assert {caller(function, arguments, bad) for bad in bad_handles(caller, "S")} == {bad_code}


def test_every_failure_has_a_text_that_is_read_once(caller: Caller, lib: Any, ffi: Any) -> None:
    assert caller("aclrtSynchronizeEvent", "E", 0) == INVALID_PARAM
    assert ffi.string(lib.aclGetRecentErrMsg()).decode() == "aclrtSynchronizeEvent: event is NULL"
    assert lib.aclGetRecentErrMsg() == ffi.NULL


def test_the_thread_remembers_failures_of_the_runtime_layer_only(caller: Caller, lib: Any) -> None:
    lib.aclrtGetLastError(0)
    assert caller("aclrtSynchronizeEvent", "E", 0) == INVALID_PARAM  # an argument check: not remembered
    assert lib.aclrtPeekAtLastError(0) == 0
    assert caller("aclrtSynchronizeEventWithTimeout", "e0", 0) == RT_PARAM
    assert caller("aclrtSynchronizeEvent", "e", 0) == 0  # success clears nothing
    assert lib.aclrtPeekAtLastError(0) == RT_PARAM
    assert lib.aclrtGetLastError(0) == RT_PARAM
    assert lib.aclrtGetLastError(0) == 0
    assert lib.aclrtGetLastError(1) == INVALID_PARAM


@pytest.mark.simulator("internals", "about functions that the simulator lacks")
def test_every_function_is_simulated(lib: Any) -> None:
    names = [name for name in dir(lib) if name.startswith("acl") and callable(getattr(lib, name))]
    assert len(names) > 509
    assert [name for name in names if not lib.aclsimIsSimulated(name.encode())] == []


def test_a_function_that_the_product_does_not_have_says_so(device: Any, lib: Any, ffi: Any) -> None:
    assert lib.aclrtCreateStreamConfigHandle() == ffi.NULL
    assert b"910B does not have this function" in ffi.string(lib.aclGetRecentErrMsg())
