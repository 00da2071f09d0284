# SPDX-License-Identifier: Apache-2.0
"""Cache operations in Python: their place in a stream, what they keep, and which product has which form."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from support.codes import PRODUCTS

from ascend_rt import Buffer, Device, Stream, cmo, cmo_barrier, cmo_prefetch, copy, fill
from ascend_rt.enums import CmoType
from ascend_rt.errors import ClosedError, NotSupported
from ascend_rt.testing import Latch

PLAIN, BARRIER = {"910B", "910C", "950"}, {"310B"}


@pytest.fixture
def buffer(device: Device) -> Buffer:
    buffer = Buffer(4096)
    fill(buffer, 5)
    return buffer


def test_a_prefetch_has_its_place_in_the_stream(buffer: Buffer, stream: Stream) -> None:
    with Latch(stream):
        cmo_prefetch(buffer, stream)
        done = stream.record()
        assert not done.is_done
    done.synchronize()
    stream.synchronize()


@pytest.mark.parametrize("operation", [CmoType.PREFETCH, CmoType.WRITEBACK, CmoType.FLUSH, 0])
def test_the_data_stay(operation: CmoType | int, buffer: Buffer, stream: Stream) -> None:
    cmo(buffer, operation, stream)
    cmo(buffer[64:128], operation, stream)
    stream.synchronize()
    host = np.empty(4096, np.uint8)
    copy(host, buffer)
    assert set(host.tolist()) == {5}


@pytest.mark.parametrize("enqueue", [cmo_prefetch, lambda it, stream: cmo(it, CmoType.WRITEBACK, stream)])
def test_the_memory_lives_until_it_is_done(enqueue: Any, device: Device, stream: Stream) -> None:
    buffer = Buffer(4096)
    gone = weakref.ref(buffer)
    with Latch(stream):
        enqueue(buffer, stream)
        del buffer
        gc.collect()
        assert gone() is not None
    stream.synchronize()
    gc.collect()
    assert gone() is None


def test_what_failed_keeps_nothing(buffer: Buffer, stream: Stream) -> None:
    with pytest.raises(NotSupported):
        cmo(buffer, 99, stream)
    assert len(stream._retention) == 0


def test_closed_objects(buffer: Buffer, stream: Stream) -> None:
    with Stream() as closed:
        pass
    for enqueue in (cmo_prefetch, lambda it, on: cmo(it, CmoType.PREFETCH, on)):
        with pytest.raises(ClosedError, match="this stream is closed"):
            enqueue(buffer, closed)
    with pytest.raises(ClosedError, match="this stream is closed"):
        cmo_barrier([1], closed)
    buffer.close()
    for enqueue in (cmo_prefetch, lambda it, on: cmo(it, CmoType.INVALID, on, barrier=1)):
        with pytest.raises(ClosedError, match="this buffer is closed"):
            enqueue(buffer, stream)


@pytest.mark.parametrize("count", [0, 7, 100])
def test_a_barrier_is_for_one_to_six(count: int, stream: Stream) -> None:
    with pytest.raises(ValueError, match=f"takes 1 to 6 operations, got {count}"):
        cmo_barrier(range(count), stream)


@pytest.mark.parametrize("number", [-1, 1 << 32])
def test_a_barrier_has_32_bits(number: int, buffer: Buffer, stream: Stream) -> None:
    with pytest.raises(OverflowError):
        cmo_barrier([number], stream)
    with pytest.raises(OverflowError):
        cmo(buffer, CmoType.INVALID, stream, barrier=number)


_START = """
from ascend_rt import Buffer, Device, Event, Stream, cmo, cmo_barrier, cmo_prefetch, copy, errors, fill, fill_async
from ascend_rt.enums import CmoType, StreamFlag
Device(0).set_current()
memory, stream = Buffer(4096), Stream()
def outcome(function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except errors.AclError as error:
        return [type(error).__name__, error.code, str(error)]
    return ["done", 0, ""]
"""


@pytest.mark.simulator("products")
@pytest.mark.parametrize("product", PRODUCTS)
def test_products(product: str, child: Any) -> None:
    script = """
plain = [outcome(cmo_prefetch, memory, stream), outcome(cmo, memory, CmoType.PREFETCH, stream)]
barriers = [outcome(cmo, memory, CmoType.INVALID, stream, barrier=1), outcome(cmo_barrier, [1], stream)]
stream.synchronize()
reported([plain, barriers])
"""
    plain, barriers = child(_START + script, ASCEND_RT_SIM_PRODUCT=product)
    for kind, code, text in plain:
        assert (kind, code) == (("done", 0) if product in PLAIN else ("NotSupported", 207000))
        assert product in PLAIN or "aclrtCmoAsync" in text
    for (kind, code, text), function in zip(barriers, ("WithBarrier", "WaitBarrier"), strict=True):
        # A product that has the form still needs a stream that is bound to a model.
        assert (kind, code) == (("AclError", 507000) if product in BARRIER else ("NotSupported", 207000))
        assert function in text


@pytest.mark.simulator("products")
def test_a_barrier_in_a_model(child: Any) -> None:
    script = """
a, b = (Stream(flags=StreamFlag.PERSISTENT) for _ in range(2))
out = ffi.new("aclmdlRI *")
assert lib.aclmdlRIBuildBegin(out, 0) == 0
model = out[0]
for bound in (a, b):
    assert lib.aclmdlRIBindStream(model, bound._handle, 0) == 0
misuse = [outcome(cmo_prefetch, memory, a), outcome(cmo_barrier, [1], b),
          outcome(cmo, memory, CmoType.INVALID, a, barrier=0), outcome(cmo, memory, CmoType.FLUSH, a, barrier=1)]

gate = Event(manual_reset=True)
fill(memory, 0)
a.wait(gate)
for number in (1, 2, 7):
    cmo(memory, CmoType.INVALID, a, barrier=number)
cmo(memory, CmoType.FLUSH, a, barrier=0)
cmo_barrier([1, 2, 7], b)
cmo_barrier((1, 1, 1, 1, 1, 1), b)
fill_async(memory, 9, b)
assert lib.aclmdlRIEndTask(model, b._handle) == 0 and lib.aclmdlRIBuildEnd(model, ffi.NULL) == 0

def first_byte():
    host = bytearray(4096)
    copy(host, memory)
    return host[0]

rounds = [[lib.aclmdlRIExecute(model, 20), first_byte()]]  # the barrier waits for what the gate holds
gate.record(stream)
rounds.append([lib.aclmdlRIExecute(model, -1), first_byte()])
fill(memory, 0)
rounds.append([lib.aclmdlRIExecute(model, -1), first_byte()])
reported([[it[:2] for it in misuse], rounds])
"""
    misuse, rounds = child(_START + script, ASCEND_RT_SIM_PRODUCT="310B")
    assert misuse == [
        ["NotSupported", 207000],
        ["AclError", 107005],  # a number that is unused in the model
        ["InvalidArgument", 107000],
        ["InvalidArgument", 107000],
    ]
    assert rounds == [[507046, 0], [0, 9], [0, 9]]


@pytest.mark.simulator("products")
def test_a_stream_of_a_model_takes_no_plain_operation(child: Any) -> None:
    script = """
bound = Stream(flags=StreamFlag.PERSISTENT)
out = ffi.new("aclmdlRI *")
assert lib.aclmdlRIBuildBegin(out, 0) == 0 and lib.aclmdlRIBindStream(out[0], bound._handle, 0) == 0
reported(outcome(cmo_prefetch, memory, bound)[:2])
"""
    assert child(_START + script, ASCEND_RT_SIM_PRODUCT="910B") == ["NotSupported", 207000]
