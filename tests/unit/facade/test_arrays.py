# SPDX-License-Identifier: Apache-2.0
"""Buffers from arrays and back, and pinned arrays of any type."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.memory import content, note_freed, pattern
from support.threads import in_thread

from ascend_rt import (
    Buffer,
    Context,
    Device,
    ManagedBuffer,
    MemoryPool,
    PinnedBuffer,
    Stream,
    copy,
    copy_async,
    fill,
    fill_async,
    pointer_attributes,
)
from ascend_rt.enums import MemLocationType
from ascend_rt.errors import ClosedError, NoContext
from ascend_rt.testing import Latch

NUMBERS = np.arange(24, dtype=np.int16).reshape(4, 6)

SOURCES: dict[str, tuple[Any, bytes]] = {
    "matrix": (NUMBERS, NUMBERS.tobytes()),
    "scalar": (np.array(7, np.int64), np.int64(7).tobytes()),
    "columns": (NUMBERS[:, 1:3], NUMBERS[:, 1:3].tobytes()),
    "transposed": (NUMBERS.T, NUMBERS.T.tobytes()),
    "backwards": (NUMBERS[::-1], NUMBERS[::-1].tobytes()),
    "one row repeated": (np.broadcast_to(NUMBERS[0], (3, 6)), NUMBERS[0].tobytes() * 3),
    "records": (np.ones(3, [("a", "u1"), ("b", ">f4")]), np.ones(3, [("a", "u1"), ("b", ">f4")]).tobytes()),
    "dates": (np.arange(3).astype("datetime64[s]"), np.arange(3).tobytes()),
    "read-only": (np.frombuffer(b"abcd", np.uint16), b"abcd"),
    "bytes": (b"ab\0", b"ab\0"),
    "bytearray": (bytearray(b"abc"), b"abc"),
    "every other byte": (memoryview(b"abcdef")[::2], b"ace"),
    "numpy's scalar": (np.float32(1.5), np.float32(1.5).tobytes()),
}

REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "no elements": (np.zeros((3, 0)), ValueError, r"the array of shape \(3, 0\) is empty"),
    "no bytes": (b"", ValueError, r"the array of shape \(0,\) is empty"),
    "objects": (np.array([None]), TypeError, "an array of Python objects"),
    "objects in records": (np.zeros(3, [("a", "u1"), ("b", "O")]), TypeError, "an array of Python objects"),
    "a view of objects": (memoryview(np.array([None])), TypeError, "an array of Python objects"),
    "list": ([1, 2], TypeError, "expected an array or a bytes-like object, got list;"),
    "number": (5, TypeError, "expected an array or a bytes-like object, got int;"),
    "text": ("abc", TypeError, "expected an array or a bytes-like object, got str;"),
    "device": (Device(0), TypeError, "expected an array or a bytes-like object, got Device;"),
}

pytestmark = pytest.mark.usefixtures("device")


# --- a buffer of an array --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("array", "expected"), SOURCES.values(), ids=SOURCES.keys())
def test_a_buffer_has_the_elements_of_an_array(array: Any, expected: bytes) -> None:
    with Buffer.from_array(array) as memory:
        assert type(memory) is Buffer
        assert content(memory).tobytes() == expected


def test_a_buffer_of_an_array_is_a_copy() -> None:
    array = np.ones(8, np.uint8)
    with Buffer.from_array(array) as memory:
        array[:] = 2
        assert set(memory.to_numpy()) == {1}
        reference = weakref.ref(array)
        del array
        assert reference() is None


@pytest.mark.parametrize("kind", [Buffer, PinnedBuffer])
@pytest.mark.parametrize(("array", "error", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_arrays_allocate_nothing(
    array: Any, error: type[Exception], text: str, kind: Any, no_device_memory_is_left: None
) -> None:
    with pytest.raises(error, match=text):
        kind.from_array(array)


@pytest.mark.parametrize("kind", [Buffer, PinnedBuffer])
def test_an_array_of_a_closed_pinned_buffer_is_refused(kind: Any) -> None:
    pinned = PinnedBuffer(64)
    pinned.close()
    with pytest.raises(ClosedError, match="this pinned buffer is closed"):
        kind.from_array(pinned)


def test_device_memory_is_no_array() -> None:
    with Buffer(64) as memory:
        for kind in (Buffer, PinnedBuffer):
            with pytest.raises(TypeError, match="got Buffer; copy"):
                kind.from_array(memory)


@pytest.mark.parametrize("kind", [Buffer, PinnedBuffer])
def test_memory_of_an_array_needs_a_context(kind: Any) -> None:
    with pytest.raises(NoContext, match=r"Device\.set_current\(\)"):
        in_thread(lambda: kind.from_array(NUMBERS))


def test_memory_of_an_array_in_another_context() -> None:
    with Context(0) as elsewhere:
        memory = Buffer.from_array(NUMBERS)
    assert np.array_equal(memory.to_numpy(np.int16, (4, 6)), NUMBERS)
    memory.close()
    elsewhere.close()


@pytest.mark.usefixtures("managed")
def test_managed_memory_of_an_array() -> None:
    with ManagedBuffer.from_array(NUMBERS) as memory:
        assert type(memory) is ManagedBuffer
        assert np.asarray(memory).tobytes() == NUMBERS.tobytes()


# --- an array of a buffer --------------------------------------------------------------------------------------------


def test_bytes_are_the_default() -> None:
    with Buffer.from_array(NUMBERS) as memory:
        array = memory.to_numpy()
        assert (array.dtype, array.shape) == (np.uint8, (48,))
        assert array.tobytes() == NUMBERS.tobytes()
        assert array.flags.owndata
        assert array.flags.writeable


@pytest.mark.parametrize(
    ("dtype", "shape", "expected"),
    [
        (np.int16, None, (24,)),
        ("<i2", 24, (24,)),
        (np.dtype(np.int16), (4, 6), (4, 6)),
        (np.int16, [2, 2, 6], (2, 2, 6)),
        (np.int16, np.int8(24), (24,)),
        (np.int16, np.array([4, 6]), (4, 6)),
        (np.complex128, None, (3,)),
        ([("a", "i2"), ("b", "i2", 5)], None, (4,)),
        ("datetime64[s]", (6, 1), (6, 1)),
        ("S48", (), ()),
    ],
)
def test_an_array_has_a_type_and_a_shape(dtype: Any, shape: Any, expected: tuple[int, ...]) -> None:
    with Buffer.from_array(NUMBERS) as memory:
        array = memory.to_numpy(dtype, shape)
        assert (array.dtype, array.shape) == (np.dtype(dtype), expected)
        assert array.tobytes() == NUMBERS.tobytes()


def test_an_array_of_a_part() -> None:
    with Buffer.from_array(NUMBERS) as memory:
        assert memory[12:24].to_numpy(np.int16).tolist() == NUMBERS[1].tolist()


@pytest.mark.parametrize(
    ("dtype", "shape", "error", "text"),
    [
        (np.float64, 5, ValueError, r"float64 of shape \(5,\) needs 40 bytes, but the buffer has 48"),
        (np.int16, (4, 7), ValueError, r"int16 of shape \(4, 7\) needs 56 bytes, but the buffer has 48"),
        (np.uint8, (), ValueError, r"uint8 of shape \(\) needs 1 bytes, but the buffer has 48"),
        (np.uint8, (0, 48), ValueError, r"uint8 of shape \(0, 48\) needs 0 bytes, but the buffer has 48"),
        ("S5", None, ValueError, r"size 48 is not a multiple of the item size 5 of \|S5"),
        (np.uint8, (-6, -8), ValueError, "negative dimensions"),
        (np.uint8, -1, ValueError, "negative dimensions"),
        ("S", None, ValueError, "has item size 0"),
        (object, None, TypeError, "Python objects"),
        (np.uint8, 48.0, TypeError, "integer"),
        (np.uint8, "48", TypeError, "integer"),
        ("no type", None, TypeError, "no type"),
    ],
)
def test_an_array_of_another_size_is_refused(dtype: Any, shape: Any, error: type[Exception], text: str) -> None:
    with Buffer(48) as memory, pytest.raises(error, match=text):
        memory.to_numpy(dtype, shape)


def test_a_closed_buffer_makes_no_array() -> None:
    memory = Buffer(48)
    memory.close()
    with pytest.raises(ClosedError, match="this buffer is closed"):
        memory.to_numpy()


def test_an_array_does_not_wait_for_streams(stream: Stream) -> None:
    with Buffer.from_array(b"before") as memory:
        with Latch(stream):
            fill_async(memory, 0, stream)
            assert memory.to_numpy().tobytes() == b"before"
        stream.synchronize()
        assert not memory.to_numpy().any()


def test_an_array_needs_a_context() -> None:
    with Buffer(8) as memory, pytest.raises(NoContext, match=r"Device\.set_current\(\)"):
        in_thread(memory.to_numpy)


@pytest.mark.usefixtures("managed")
def test_kinds_of_buffers_make_arrays(device: Device, stream: Stream) -> None:
    with ManagedBuffer(48) as managed, MemoryPool(device) as pool, pool.allocate(48, stream) as pooled:
        for memory in (managed, pooled):
            stream.synchronize()
            fill(memory, 3)
            assert memory.to_numpy(np.uint16, (4, 6)).tolist() == [[0x0303] * 6] * 4


# --- pinned arrays ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "dtype", "shape"),
    [
        ((5,), np.float32, (5,)),
        (((2, 3),), np.float32, (2, 3)),
        (([2, 3], np.int64), np.int64, (2, 3)),
        ((np.int8(100), "complex64"), np.complex64, (100,)),
        (((),), np.float32, ()),
        ((3, [("a", "u1"), ("b", "f4")]), np.dtype([("a", "u1"), ("b", "f4")]), (3,)),
        ((3, "datetime64[s]"), np.dtype("datetime64[s]"), (3,)),
    ],
)
def test_a_pinned_array_has_a_type_and_a_shape(arguments: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    with PinnedBuffer.empty(*arguments) as pinned:
        assert type(pinned) is PinnedBuffer
        assert (pinned.dtype, pinned.shape) == (dtype, shape)
        assert pinned.flags.c_contiguous
        assert pinned.flags.writeable
        assert pointer_attributes(pinned.handle).location == MemLocationType.HOST
        with Buffer.from_array(pattern(pinned.nbytes)) as memory:
            copy(pinned, memory)
        assert pinned.tobytes() == pattern(pinned.nbytes).tobytes()


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((0,), ValueError, r"an array of shape \(0,\) is empty"),
        (((3, 0),), ValueError, r"an array of shape \(3, 0\) is empty"),
        ((-1,), ValueError, "negative dimensions"),
        ((4, object), TypeError, "Python objects"),
        ((4, "S"), ValueError, "has item size 0"),
        ((4.0,), TypeError, "integer"),
        ((1 << 62,), OverflowError, "int too big"),
    ],
)
def test_refused_pinned_arrays(arguments: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        PinnedBuffer.empty(*arguments)


@pytest.mark.parametrize(("array", "expected"), SOURCES.values(), ids=SOURCES.keys())
def test_a_pinned_copy_of_an_array(array: Any, expected: bytes) -> None:
    with PinnedBuffer.from_array(array) as pinned:
        assert type(pinned) is PinnedBuffer
        assert pinned.tobytes() == expected
        if isinstance(array, np.ndarray):
            assert (pinned.dtype, pinned.shape) == (array.dtype, array.shape)
        assert pinned.flags.c_contiguous
        assert not np.shares_memory(pinned, np.asarray(memoryview(array)) if isinstance(array, bytes) else array)


VIEWS: dict[str, Callable[[PinnedBuffer[Any]], Any]] = {
    "row": lambda pinned: pinned[1],
    "columns": lambda pinned: pinned[:, 1:3],
    "transposed": lambda pinned: pinned.T,
    "bytes": lambda pinned: pinned.view(np.uint8),
    "flat": lambda pinned: pinned.reshape(-1),
    "ordinary array": np.asarray,
    "memoryview": memoryview,
}


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS.keys())
def test_the_last_view_frees_the_pinned_array(make: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    freed = note_freed(monkeypatch)
    pinned = PinnedBuffer.from_array(NUMBERS)
    view = make(pinned)
    pinned.close()
    assert (pinned.is_closed, pinned.size, pinned.dtype) == (True, 0, np.int16)
    del pinned
    gc.collect()
    assert not freed
    assert np.array_equal(view, make(NUMBERS))
    del view
    gc.collect()
    assert len(freed) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda it: it.copy(),
        lambda it: it.astype(np.float64),
        lambda it: it[[1, 2]],
        lambda it: it + 1,
        lambda it: it.sum(axis=0),
        np.empty_like,
    ],
    ids=["copy", "astype", "index array", "arithmetic", "reduction", "empty_like"],
)
def test_a_copy_of_a_pinned_array_is_an_ordinary_one(make: Callable[[Any], Any]) -> None:
    with PinnedBuffer.from_array(NUMBERS) as pinned:
        made = make(pinned)
    assert not isinstance(made, PinnedBuffer)
    assert pointer_attributes(made.ctypes.data).location == MemLocationType.UNREGISTERED


def test_a_closed_pinned_array_is_refused_by_copies(stream: Stream) -> None:
    pinned = PinnedBuffer.empty((4, 4))
    with pinned, Buffer(64) as memory:
        copy(memory, pinned)
    assert pinned.is_closed
    with Buffer(64) as memory, pytest.raises(ClosedError, match="this pinned buffer is closed"):
        copy_async(memory, pinned, stream)


def test_copies_from_a_pinned_array_are_asynchronous(stream: Stream) -> None:
    sent, received = PinnedBuffer.from_array(NUMBERS), PinnedBuffer.empty(NUMBERS.shape, NUMBERS.dtype)
    received[...] = 0
    with Buffer(NUMBERS.nbytes) as memory:
        with Latch(stream):
            copy_async(memory, sent, stream)
            copy_async(received, memory, stream)
            assert not received.any()
        stream.synchronize()
    assert np.array_equal(received, NUMBERS)
