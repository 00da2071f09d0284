# SPDX-License-Identifier: Apache-2.0
"""The argument ``stream`` of everything that enqueues: the current stream, and refused objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.kernels import VECTOR, device_object

from ascend_rt import (
    Binary,
    Buffer,
    CopyDescriptor,
    Device,
    Graph,
    ManagedBuffer,
    MemoryPool,
    Notify,
    PinnedBuffer,
    Stream,
    TaskFailed,
    cmo,
    cmo_barrier,
    cmo_prefetch,
    copy_2d_async,
    copy_async,
    copy_batch_async,
    copy_indirect,
    fill_async,
    sim,
)
from ascend_rt.enums import CmoType
from ascend_rt.errors import ClosedError
from ascend_rt.random import Generator

pytestmark = pytest.mark.simulator("faults", "tasks that fail on demand show which stream they are on")

AIV_ERROR = 507015


class Things:
    """Objects that the calls work on."""

    def __init__(self, device: Device, stream: Stream) -> None:
        self.memory, self.pinned = Buffer(64), PinnedBuffer(64)
        self.managed, self.pool = ManagedBuffer(64), MemoryPool(device)
        self.descriptor = CopyDescriptor(self.memory[:8], self.memory[8:16])
        self.kernel = Binary(device_object({"nothing": VECTOR}))["nothing"]
        self.notify = Notify()
        self.graph: Graph
        with stream.capture() as self.graph:
            fill_async(self.memory, 1, stream)


@pytest.fixture
def things(device: Device, stream: Stream) -> Iterator[Things]:
    with sim.kernel("nothing", [])(lambda block: None):
        yield Things(device, stream)


# The first argument is what to work on; the others are the stream, or nothing.
ENQUEUE: dict[str, Callable[..., object]] = {
    "copy_async": lambda it, *on: copy_async(it.memory, it.pinned, *on),
    "snapshot": lambda it, *on: copy_async(it.memory, bytes(64), *on, snapshot=True),
    "copy_2d_async": lambda it, *on: copy_2d_async(it.memory, it.pinned, *on, width=8, height=8),
    "copy_batch_async": lambda it, *on: copy_batch_async([(it.memory, it.pinned)], *on),
    "copy_indirect": lambda it, *on: copy_indirect(it.memory[:8], it.memory[8:], 8, *on),
    "CopyDescriptor.submit": lambda it, *on: it.descriptor.submit(*on),
    "fill_async": lambda it, *on: fill_async(it.memory, 1, *on),
    "fill_async of words": lambda it, *on: fill_async(it.memory, 1, *on, itemsize=4),
    "cmo_prefetch": lambda it, *on: cmo_prefetch(it.memory, *on),
    "cmo": lambda it, *on: cmo(it.memory, CmoType.PREFETCH, *on),
    "ManagedBuffer.prefetch": lambda it, *on: it.managed.prefetch(Device(0), *on),
    "MemoryPool.allocate": lambda it, *on: it.pool.allocate(64, *on),
    "Graph.launch": lambda it, *on: it.graph.launch(*on),
    "Kernel.launch": lambda it, *on: it.kernel.launch(*(on or (None,)), 1),
    "Kernel[]": lambda it, *on: it.kernel[(1, *on) if on else 1](),
    "Notify.record": lambda it, *on: it.notify.record(*on),
    "Generator": lambda it, *on: Generator(42, *on).normal(it.memory, 0.0, 1.0),
}
BARRIER = {"cmo_barrier": lambda it, *on: cmo_barrier([1], *on)}  # another product's
FREE = {"PoolBuffer.close": lambda it, *on: it.pool.allocate(64).close(*on)}  # also when the stream is closed


@pytest.mark.parametrize("call", ENQUEUE.values(), ids=ENQUEUE.keys())
@pytest.mark.parametrize("is_given", [False, True], ids=["current", "given"])
def test_the_task_is_on_the_stream(
    call: Callable[..., object],
    is_given: bool,
    things: Things,
    stream: Stream,
    other: Stream,
) -> None:
    with sim.faults(), (other if is_given else stream).as_current():
        sim.fail_task(AIV_ERROR, stream)
        call(things, *([stream] if is_given else []))
        with pytest.raises(TaskFailed):
            stream.synchronize()


class TensorStream:
    """Looks like torch_npu's streams."""

    npu_stream = 0


@pytest.mark.parametrize("call", (ENQUEUE | BARRIER | FREE).values(), ids=(ENQUEUE | BARRIER | FREE).keys())
@pytest.mark.parametrize("wrong", [TensorStream(), 0, 5, "stream", Device(0)], ids=lambda it: type(it).__name__)
def test_what_is_no_stream_is_refused(call: Callable[..., object], wrong: Any, things: Things) -> None:
    text = rf"expected a Stream, got {type(wrong).__name__}; for a stream of another library use Stream\.from_foreign"
    with pytest.raises(TypeError, match=text):
        call(things, wrong)


@pytest.mark.parametrize("call", (ENQUEUE | BARRIER).values(), ids=(ENQUEUE | BARRIER).keys())
def test_a_closed_stream_is_refused(call: Callable[..., object], things: Things) -> None:
    closed = Stream()
    closed.close()
    with pytest.raises(ClosedError, match="this stream is closed"):
        call(things, closed)
