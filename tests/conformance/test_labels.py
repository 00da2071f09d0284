# SPDX-License-Identifier: Apache-2.0
"""Branches in the streams of models: jumps to labels, and switches to other streams."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.codes import GARBAGE, INTERNAL, INVALID_HANDLE, OK, RT_PARAM, STREAM_MODEL, SYNC_TIMEOUT
from support.models import ACTIVATED, HEAD, Model

from ascend_rt import Buffer, Device, ffi

LABEL_CONTEXT, MODEL_EXECUTE, ABORTED = 507031, 507011, 507023
EQUAL = 0
INT32, INT64 = 0, 1

pytestmark = pytest.mark.simulator(
    "unspecified", "documents leave open what a branch of the vendor's library does in detail"
)


class Branching(Model):
    """A model with labels and branches, and host functions that say that they ran."""

    def __init__(self, lib: Any, ffi: Any, flags: tuple[int, ...] = (HEAD, HEAD)) -> None:
        super().__init__(lib, ffi, flags)
        self.lib, self.ffi = lib, ffi
        self.reported: list[str] = []
        self.made: list[tuple[Callable[[Any], int], Any]] = []

    def say(self, text: str, stream: int = 0) -> None:
        self.call(stream, lambda: self.reported.append(text))

    def labels(self, count: int) -> tuple[list[Any], Any]:
        """Return new labels and the list of them."""
        labels, of_labels = self.ffi.new("aclrtLabel[]", count), self.ffi.new("aclrtLabelList *")
        for i in range(count):
            assert self.lib.aclrtCreateLabel(labels + i) == OK
            self.made.append((self.lib.aclrtDestroyLabel, labels[i]))
        assert self.lib.aclrtCreateLabelList(labels, count, of_labels) == OK
        self.made.append((self.lib.aclrtDestroyLabelList, of_labels[0]))
        return list(labels), of_labels[0]

    def place(self, label: Any, stream: int = 0) -> int:
        return int(self.lib.aclrtSetLabel(label, self.streams[stream]))

    def jump(self, index: Buffer, labels: Any, stream: int = 0) -> int:
        pointer = self.ffi.cast("void *", index.handle)
        return int(self.lib.aclrtSwitchLabelByIndex(pointer, 1, labels, self.streams[stream]))

    def switch(
        self, left: Buffer, right: Buffer, condition: int = EQUAL, kind: int = INT32, to: int = 1, stream: int = 0
    ) -> int:
        pointers = [self.ffi.cast("void *", it.handle) for it in (left, right)]
        streams = [self.streams[to], self.ffi.NULL, self.streams[stream]]
        return int(self.lib.aclrtSwitchStream(pointers[0], condition, pointers[1], kind, *streams))

    def run(self, timeout_ms: int = -1) -> list[str]:
        """Execute; return what was said."""
        self.reported.clear()
        assert self.execute(timeout_ms) == OK
        return list(self.reported)

    def close(self) -> None:
        super().close()
        for destroy, it in reversed(self.made):
            assert destroy(it) in (OK, INVALID_HANDLE)


@pytest.fixture
def make(lib: Any, ffi: Any, device: Device) -> Iterator[Callable[..., Branching]]:
    models: list[Branching] = []

    def make(*flags: int) -> Branching:
        models.append(Branching(lib, ffi, flags or (HEAD, HEAD)))
        return models[-1]

    yield make
    for model in models:
        model.close()


def number(value: int, size: int = 4) -> Buffer:
    buffer = Buffer(size)
    put(buffer, value)
    return buffer


def put(buffer: Buffer, value: int) -> None:
    """Write a number, also in a host function, which must not call the runtime."""
    ffi.buffer(ffi.cast("char *", buffer.handle), buffer.nbytes)[:] = value.to_bytes(
        buffer.nbytes, "little", signed=value < 0
    )


# --- labels ----------------------------------------------------------------------------------------------------------


def test_an_index_selects_a_branch_in_each_execution(make: Callable[..., Branching]) -> None:
    model, index, zero = make(HEAD), number(0), number(0)
    (first, second), cases = model.labels(2)
    (end,), ends = model.labels(1)
    model.say("begin")
    assert model.jump(index, cases) == OK
    model.say("never")
    assert model.place(first) == OK
    model.say("first")
    assert model.jump(zero, ends) == OK
    assert model.place(second) == OK
    model.say("second")
    assert model.place(end) == OK
    model.say("end")
    model.build()
    for value, said in [(0, "first"), (1, "second"), (0, "first"), (7, "second"), (2**32 - 1, "second")]:
        put(index, value)
        assert model.run() == ["begin", said, "end"], value


def test_a_loop(make: Callable[..., Branching]) -> None:
    model, index = make(HEAD), number(0)
    (top, end), labels = model.labels(2)
    rounds = iter(range(10**6))

    def count() -> None:
        put(index, int(next(rounds) % 5 == 4))

    assert model.place(top) == OK
    model.say("round")
    model.call(0, count)
    assert model.jump(index, labels) == OK
    assert model.place(end) == OK
    model.say("end")
    model.build()
    for _ in range(3):
        assert model.run() == ["round"] * 5 + ["end"]


def test_a_label_in_another_stream_starts_that_stream_there(make: Callable[..., Branching]) -> None:
    model, index = make(HEAD, ACTIVATED), number(0)
    (there,), labels = model.labels(1)
    model.say("here")
    assert model.jump(index, labels) == OK
    model.say("left")
    model.say("before the label", 1)
    assert model.place(there, 1) == OK
    model.say("there", 1)
    model.build(end=1)
    for _ in range(2):
        assert model.run() == ["here", "there"]


@pytest.mark.parametrize("is_set", [False, True])
def test_a_jump_to_a_label_that_is_not_in_the_model_fails_the_execution(
    is_set: bool, make: Callable[..., Branching]
) -> None:
    model, other = make(HEAD), make(HEAD)
    (lost,), labels = model.labels(1)
    if is_set:
        assert other.place(lost) == OK
    assert model.jump(number(0), labels) == OK
    model.say("never")
    model.build()
    assert model.execute() == MODEL_EXECUTE
    assert model.reported == []


@pytest.mark.parametrize("ends", ["timeout", "abort"])
def test_an_endless_loop_ends_with_the_execution(
    ends: str, make: Callable[..., Branching], lib: Any, ffi: Any, stream: Any
) -> None:
    model = make(HEAD)
    (top,), labels = model.labels(1)
    assert model.place(top) == OK
    assert model.jump(number(0), labels) == OK
    model.build()
    if ends == "timeout":
        assert model.execute(timeout_ms=20) == SYNC_TIMEOUT
    else:
        assert model.launch(stream) == OK
        assert not stream.is_done
        assert lib.aclmdlRIAbort(model.handle) == OK
        assert lib.aclrtSynchronizeStream(ffi.cast("aclrtStream", stream.handle)) == ABORTED


def test_labels_that_cannot_be_set(make: Callable[..., Branching], lib: Any, ffi: Any, device: Device) -> None:
    model = make(HEAD)
    (label,), labels = model.labels(1)
    loose, context = ffi.new("aclrtLabel *"), ffi.new("aclrtContext *")
    assert lib.aclrtCreateLabel(loose) == OK
    assert model.place(loose[0]) == INTERNAL  # in no list
    assert model.place(label) == OK
    assert model.place(label) == INTERNAL  # set already
    assert model.place(ffi.cast("aclrtLabel", GARBAGE)) == INVALID_HANDLE
    assert model.jump(Buffer(4)[:2], labels) == OK  # an allocation has 32 bytes at least
    host = ffi.new("uint32_t *")
    assert lib.aclrtSwitchLabelByIndex(host, 1, labels, model.streams[0]) == RT_PARAM
    assert lib.aclrtDestroyLabel(loose[0]) == OK
    current = ffi.new("aclrtContext *")
    assert lib.aclrtGetCurrentContext(current) == OK
    assert lib.aclrtCreateContext(context, 0) == OK
    assert lib.aclrtCreateLabel(loose) == OK
    assert lib.aclrtSetCurrentContext(current[0]) == OK
    assert model.place(loose[0]) == LABEL_CONTEXT
    assert lib.aclrtDestroyContext(context[0]) == OK


def test_a_label_that_was_destroyed_stays_in_its_model(make: Callable[..., Branching], lib: Any) -> None:
    model = make(HEAD)
    (end,), labels = model.labels(1)
    assert model.jump(number(0), labels) == OK
    model.say("never")
    assert model.place(end) == OK
    model.say("end")
    assert lib.aclrtDestroyLabel(end) == OK
    assert lib.aclrtDestroyLabelList(labels) == OK
    model.build()
    assert model.run() == ["end"]


# --- switches --------------------------------------------------------------------------------------------------------

CONDITIONS = [operator.eq, operator.ne, operator.gt, operator.ge, operator.lt, operator.le]
PAIRS = [(1, 1), (1, 2), (2, 1), (-1, 1), (1, -1)]


@pytest.mark.parametrize("condition", range(6))
@pytest.mark.parametrize(("kind", "size", "shift"), [(INT32, 4, 0), (INT64, 8, 0), (INT64, 8, 40)])
def test_a_switch_leaves_the_stream_if_the_comparison_holds(
    condition: int, kind: int, size: int, shift: int, make: Callable[..., Branching]
) -> None:
    model = make(HEAD, ACTIVATED)
    left, right = number(0, size), number(0, size)
    model.say("begin")
    assert model.switch(left, right, condition, kind) == OK
    model.say("went on")
    assert model.lib.aclrtActiveStream(model.streams[1], model.streams[0]) == OK
    model.say("switched", 1)
    model.build(end=1)
    for first, second in PAIRS:
        put(left, first << shift)
        put(right, second << shift)
        holds = CONDITIONS[condition](first, second)
        assert model.run() == ["begin", *([] if holds else ["went on"]), "switched"], (first, second)


def test_streams_that_switch_to_each_other_are_a_loop(make: Callable[..., Branching]) -> None:
    model = make(HEAD, ACTIVATED, ACTIVATED)
    counter, limit, one = number(0), number(3), number(1)

    def count() -> None:
        put(counter, model.reported.count("body"))

    model.say("body")
    model.call(0, count)
    assert model.switch(counter, limit, to=2) == OK
    assert model.switch(one, one, to=1) == OK
    model.say("again", 1)
    assert model.switch(one, one, to=0, stream=1) == OK
    model.say("end", 2)
    model.build(end=2)
    for _ in range(2):
        assert model.run() == ["body", "again"] * 2 + ["body", "end"]


def test_an_execution_that_leaves_the_stream_with_its_end_fails(make: Callable[..., Branching]) -> None:
    model, one = make(HEAD, ACTIVATED), number(1)
    assert model.switch(one, one) == OK
    model.say("switched", 1)
    model.build(end=0)
    assert model.execute() == MODEL_EXECUTE
    assert model.reported == ["switched"]


def test_switches_that_are_refused(make: Callable[..., Branching], lib: Any, ffi: Any) -> None:
    model, other, one = make(HEAD, ACTIVATED), make(HEAD), number(1)
    pointer, host = ffi.cast("void *", one.handle), ffi.new("uint64_t *")
    a, b, foreign = *model.streams, other.streams[0]
    assert lib.aclrtSwitchStream(pointer, EQUAL, pointer, INT32, foreign, ffi.NULL, a) == STREAM_MODEL
    assert lib.aclrtSwitchStream(host, EQUAL, pointer, INT32, b, ffi.NULL, a) == RT_PARAM
    assert lib.aclrtSwitchStream(pointer, EQUAL, host, INT32, b, ffi.NULL, a) == RT_PARAM
    assert lib.aclrtSwitchStream(pointer, EQUAL, pointer, INT32, ffi.cast("void *", GARBAGE), ffi.NULL, a) == (
        INVALID_HANDLE
    )
