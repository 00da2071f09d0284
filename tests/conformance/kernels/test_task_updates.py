# SPDX-License-Identifier: Apache-2.0
"""aclrtTaskUpdateAsync: what tasks of a model do from their next execution on."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.codes import (
    DRIVER,
    GARBAGE,
    INVALID_HANDLE,
    INVALID_PARAM,
    MODEL_EXECUTE,
    OK,
    PRODUCTS,
    RT_PARAM,
    STREAM_MODEL,
    UNSUPPORTED,
)
from support.graphs import Graph
from support.handles import raw
from support.kernels import VECTOR, device_object
from support.models import Model

from ascend_rt import Binary, Buffer, Stream, copy, fill, sim

RANDOM, KERNEL = 1, 2
COUNT = 64


@pytest.fixture
def model(lib: Any, ffi: Any, device: Any) -> Iterator[Model]:
    made = Model(lib, ffi)
    yield made
    made.close()


def last_task(lib: Any, ffi: Any) -> int:
    out = ffi.new("uint32_t *")
    assert lib.aclrtGetThreadLastTaskId(out) == OK
    return int(out[0])


def words(memory: Buffer) -> list[int]:
    data = bytearray(memory.nbytes)
    copy(data, memory)
    return list(np.frombuffer(bytes(data), np.uint32))


# --- random numbers --------------------------------------------------------------------------------------------------


class Random:
    """A task that writes uniform integers, and the memory that an update of it is read from."""

    def __init__(self, lib: Any, ffi: Any) -> None:
        self.lib, self.ffi = lib, ffi
        self.counter, self.source = Buffer(16), Buffer(ffi.sizeof("aclrtRandomNumTaskInfo"))
        fill(self.counter, 0)
        self.info = ffi.new("aclrtRandomNumTaskInfo *")
        self.info.dataType = lib.ACL_UINT32
        self.info.randomNumFuncParaInfo.funcType = lib.ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS
        parameters = self.info.randomNumFuncParaInfo.paramInfo.uniformDisInfo
        parameters.min, parameters.max = self.number(0, 4), self.number(2**32 - 1, 4)
        self.info.randomCounterAddr = ffi.cast("void *", self.counter.handle)
        self.info.randomNum = self.number(COUNT)

    def number(self, value: int, size: int = 8) -> dict[str, Any]:
        return {"isAddr": 0, "size": size, "valueOrAddr": value.to_bytes(8, "little")}

    def set(self, seed: int, result: Buffer) -> None:
        self.info.randomSeed = self.number(seed)
        self.info.randomResultAddr = self.ffi.cast("void *", result.handle)

    def submit(self, stream: Any) -> int:
        assert self.lib.aclrtRandomNumAsync(self.info, stream, self.ffi.NULL) == OK
        return last_task(self.lib, self.ffi)

    def update(self, task_stream: Any, task: int, stream: Any, **changes: Any) -> int:
        copy(self.source, bytes(self.ffi.buffer(self.info)))
        update = self.ffi.new("aclrtTaskUpdateInfo *")
        update.id = RANDOM
        update.val.randomTaskAttr.srcAddr = self.ffi.cast("void *", changes.get("source", self.source.handle))
        update.val.randomTaskAttr.size = changes.get("size", self.source.nbytes)
        return int(self.lib.aclrtTaskUpdateAsync(task_stream, task, update, stream))


@pytest.fixture
def random(lib: Any, ffi: Any, device: Any) -> Random:
    return Random(lib, ffi)


@pytest.mark.simulator("held tasks")
def test_an_updated_random_task_has_another_seed_and_result(
    model: Model, random: Random, stream: Stream, lib: Any, ffi: Any
) -> None:
    first, second = Buffer(4 * COUNT), Buffer(4 * COUNT)
    expected = {}
    for seed in (1, 2):
        random.set(seed, first)
        random.submit(raw(ffi, stream))
        stream.synchronize()
        expected[seed] = words(first)
    random.set(1, first)
    task = random.submit(model.streams[0])
    model.build()
    fill(first, 0)
    fill(second, 0)
    assert model.execute() == OK
    assert (words(first), words(second)) == (expected[1], [0] * COUNT)
    random.set(2, second)
    with sim.held():
        assert random.update(model.streams[0], task, raw(ffi, stream)) == OK
    stream.synchronize()
    fill(first, 0)
    for _ in range(2):
        assert model.execute() == OK
        assert (words(first), words(second)) == ([0] * COUNT, expected[2])


@pytest.mark.simulator("held tasks")
def test_an_update_reads_its_memory_when_its_turn_comes(
    model: Model, random: Random, stream: Stream, lib: Any, ffi: Any
) -> None:
    result = Buffer(4 * COUNT)
    random.set(1, result)
    task = random.submit(model.streams[0])
    with sim.held():
        assert random.update(model.streams[0], task, raw(ffi, stream)) == OK
        random.source.close()
    assert lib.aclrtSynchronizeStream(raw(ffi, stream)) == DRIVER


@pytest.mark.simulator("deadly")
def test_refused_updates_of_random_tasks(
    model: Model, random: Random, stream: Stream, graph: Graph, lib: Any, ffi: Any
) -> None:
    bound, on = model.streams[0], raw(ffi, stream)
    result = Buffer(4 * COUNT)
    random.set(1, result)
    plain = random.submit(on)
    task = random.submit(bound)
    assert lib.aclrtValueWrite(ffi.cast("void *", random.counter.handle), 0, 0, bound) == OK
    other = last_task(lib, ffi)
    garbage = ffi.cast("void *", GARBAGE)
    assert random.update(ffi.NULL, task, on) == RT_PARAM
    assert random.update(garbage, task, on) == INVALID_HANDLE
    assert random.update(bound, task, garbage) == INVALID_HANDLE
    assert random.update(bound, task, on, source=0) == RT_PARAM
    assert random.update(bound, task, on, size=8) == RT_PARAM
    assert random.update(bound, task, on, source=GARBAGE) == RT_PARAM
    assert random.update(bound, task, model.streams[1]) == RT_PARAM  # bound too
    assert random.update(on, plain, on) == RT_PARAM
    assert random.update(bound, other, on) == RT_PARAM
    assert random.update(bound, 99, on) == RT_PARAM
    assert lib.aclrtTaskUpdateAsync(bound, task, ffi.NULL, on) == INVALID_PARAM
    captured = graph.stream()
    graph.begin(captured)
    assert random.update(bound, task, captured) == 107027
    assert graph.end(captured) == OK
    assert random.update(bound, task, ffi.NULL) == OK  # by the default stream


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_products_with_updates_of_random_tasks(product: str, calls: Callable[..., list[Any]]) -> None:
    rows: list[list[Any]] = [
        ["aclrtSetDevice", 0],
        ["aclrtCreateStream", "out:stream"],
        ["aclrtTaskUpdateAsync", "@stream", 0, {"id": RANDOM}, "@stream"],
    ]
    expected = RT_PARAM if product in ("910B", "910C") else UNSUPPORTED
    assert calls(rows, ASCEND_RT_SIM_PRODUCT=product)[-1][0] == expected


# --- kernels ---------------------------------------------------------------------------------------------------------


class Updated:
    """A model: one stream updates the kernel in the other one, which waits for it."""

    def __init__(self, lib: Any, ffi: Any, model: Model, binary: Binary) -> None:
        self.lib, self.ffi, self.model, self.binary = lib, ffi, model, binary
        self.entry, self.blocks = Buffer(8), Buffer(8)
        self.task = 0

    def launch(self) -> None:
        function = self.ffi.new("aclrtFuncHandle *")
        assert self.lib.aclrtBinaryGetFunction(raw(self.ffi, self.binary), b"add_0", function) == OK
        code = self.lib.aclrtLaunchKernelWithHostArgs(
            function[0], 1, self.model.streams[0], self.ffi.NULL, self.ffi.new("char[8]"), 8, self.ffi.NULL, 0
        )
        assert code == OK
        self.task = last_task(self.lib, self.ffi)

    def update(self, task_stream: Any, stream: Any, **changes: Any) -> int:
        update = self.ffi.new("aclrtTaskUpdateInfo *")
        update.id = KERNEL
        attribute = update.val.aicAivTaskAttr
        attribute.binHandle = self.ffi.cast("void *", changes.get("binary", self.binary.handle))
        attribute.funcEntryAddr = self.ffi.cast("void *", changes.get("entry", self.entry.handle))
        attribute.blockDimAddr = self.ffi.cast("void *", changes.get("blocks", self.blocks.handle))
        return int(self.lib.aclrtTaskUpdateAsync(task_stream, self.task, update, stream))

    def want(self, entry: int, blocks: int) -> None:
        copy(self.entry, struct.pack("<Q", entry))
        copy(self.blocks, struct.pack("<Q", blocks))


@pytest.fixture
def updated(lib: Any, ffi: Any, model: Model) -> Iterator[Updated]:
    with Binary(device_object({"add_0": VECTOR, "add_7": VECTOR, "silent_9": VECTOR})) as binary:
        yield Updated(lib, ffi, model, binary)


@pytest.mark.simulator("kernels")
def test_an_updated_kernel_is_another_function_with_other_blocks(updated: Updated, model: Model) -> None:
    ran: list[tuple[str, int]] = []
    with (
        sim.kernel("add_0")(lambda block, memory: ran.append(("add_0", block.index))),
        sim.kernel("add_7")(lambda block, memory: ran.append(("add_7", block.index))),
    ):
        model.call(
            0, lambda: ran.append(("first", 0))
        )  # before the update, in any case: the update is in the same stream
        updated.task = 2 + last_task(updated.lib, updated.ffi)
        assert updated.update(model.streams[0], model.streams[0]) == OK
        updated.launch()
        model.build()
        for entry, blocks in ((7, 3), (0, 1), (7, 2)):
            ran.clear()
            updated.want(entry, blocks)
            assert model.execute() == OK
            assert sorted(ran[1:]) == [(f"add_{entry}", index) for index in range(blocks)]


@pytest.mark.simulator("kernels")
@pytest.mark.parametrize("entry", [5, 9])  # no such function, or no code for it
def test_an_update_to_what_cannot_run_fails_when_it_runs(
    entry: int, updated: Updated, model: Model, lib: Any, ffi: Any
) -> None:
    with sim.kernel("add_0")(lambda block, memory: None):
        updated.launch()
        assert updated.update(model.streams[0], model.streams[1]) == OK
        model.build()
        updated.want(entry, 1)
        assert model.execute() == MODEL_EXECUTE


@pytest.mark.simulator("deadly")
def test_refused_updates_of_kernels(updated: Updated, model: Model, stream: Stream, ffi: Any) -> None:
    bound, second, plain = *model.streams, raw(ffi, stream)
    assert updated.update(ffi.NULL, second) == RT_PARAM
    assert updated.update(bound, ffi.NULL) == RT_PARAM
    assert updated.update(ffi.cast("void *", GARBAGE), second) == INVALID_HANDLE
    for name in ("binary", "entry", "blocks"):
        assert updated.update(bound, second, **{name: 0}) == RT_PARAM
    assert updated.update(bound, plain) == STREAM_MODEL
    assert updated.update(plain, second) == STREAM_MODEL
    assert updated.update(bound, second, binary=GARBAGE) == INVALID_HANDLE
    assert updated.update(bound, second, entry=GARBAGE) == RT_PARAM
