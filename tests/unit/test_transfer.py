# SPDX-License-Identifier: Apache-2.0
"""Copies and fills: every direction, what may be copied, who is kept alive, and what is refused with which words."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import threading
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ascend_rt import (
    Buffer,
    CopyDescriptor,
    Device,
    IpcMemory,
    MemoryPool,
    PhysicalMemory,
    PinnedBuffer,
    Stream,
    VirtualMemory,
    cmo,
    cmo_prefetch,
    copy,
    copy_2d,
    copy_async,
    copy_batch,
    copy_indirect,
    fill,
    sim,
)
from ascend_rt.errors import AclError, ClosedError, InvalidArgument, NoContext, NotSupported, ResourceExhausted
from ascend_rt.testing import Latch

Copy = Callable[[Any, Any, Stream], object]

N = 1 << 12


def pattern(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, 256, n, dtype=np.uint8)


def content(operand: Any) -> np.ndarray:
    """Return the bytes of either kind of memory."""
    received = np.empty(operand.nbytes, np.uint8)
    copy(received, operand)
    return received


def device_memory(values: Any) -> Buffer:
    memory = Buffer(len(values))
    copy(memory, values)
    return memory


def pinned_memory(values: Any) -> PinnedBuffer:
    memory = PinnedBuffer(len(values))
    memory[:] = values
    return memory


KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "device": device_memory,
    "part of the device's": lambda values: device_memory(np.concatenate([values[:3], values, values[:5]]))[3:-5],
    "pinned": pinned_memory,
    "part of pinned": lambda values: pinned_memory(np.concatenate([values[:3], values]))[3:],
    "pageable": np.copy,
    "bytearray": bytearray,
}
IS_HOST = {"pinned", "part of pinned", "pageable", "bytearray"}


def ordered(dst: Any, src: Any, stream: Stream) -> None:
    copy_async(dst, src, stream)
    stream.synchronize()


def snapshot(dst: Any, src: Any, stream: Stream) -> None:
    copy_async(dst, src, stream, snapshot=True)
    stream.synchronize()


def rows(dst: Any, src: Any, stream: Stream) -> None:
    copy_2d(dst, src, width=N // 8, height=8)


def rows_ordered(dst: Any, src: Any, stream: Stream) -> None:
    copy_2d(dst, src, width=N // 8, height=8, stream=stream)
    stream.synchronize()


def batch(dst: Any, src: Any, stream: Stream) -> None:
    copy_batch([(dst, src)])


def batch_ordered(dst: Any, src: Any, stream: Stream) -> None:
    copy_batch([(dst, src)], stream)
    stream.synchronize()


def at_once(dst: Any, src: Any, stream: Stream) -> None:
    copy(dst, src)


WAYS: list[Copy] = [at_once, ordered, snapshot, rows, rows_ordered, batch, batch_ordered]

# --- every direction -------------------------------------------------------------------------------------------------


def is_refused(way: Copy, to: str, source: str) -> type[AclError] | None:
    """Say what a way of copying cannot do."""
    hosts = (to in IS_HOST) + (source in IS_HOST)
    if way is snapshot:
        return None if source in IS_HOST and to not in IS_HOST else InvalidArgument
    if way is ordered and hosts == 2:
        return NotSupported
    if way in (batch, batch_ordered) and hosts != 1:
        return InvalidArgument
    if way is rows and hosts != 1:
        return InvalidArgument if hosts else NotSupported
    return InvalidArgument if way is rows_ordered and hosts == 2 else None


@pytest.mark.parametrize("way", WAYS, ids=lambda it: it.__name__)
@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("to", KINDS)
def test_bytes_arrive_or_the_direction_is_refused(to: str, source: str, way: Copy, stream: Stream) -> None:
    before, sent = pattern(N + 1)[:N], pattern(N)
    dst, src = KINDS[to](before), KINDS[source](sent)
    refusal = is_refused(way, to, source)
    if refusal is not None:
        with pytest.raises(refusal):
            way(dst, src, stream)
        stream.synchronize()
    else:
        way(dst, src, stream)
    found = content(dst) if isinstance(dst, Buffer) else np.frombuffer(dst, np.uint8)
    assert np.array_equal(found, before if refusal else sent)


@pytest.mark.parametrize("way", [at_once, ordered, snapshot, batch, batch_ordered], ids=lambda it: it.__name__)
def test_a_shorter_source_leaves_the_rest(way: Copy, stream: Stream) -> None:
    memory = device_memory(bytes(range(16)))
    way(memory[4:12], b"abc", stream)
    assert bytes(content(memory)) == bytes(range(4)) + b"abc" + bytes(range(7, 16))


@pytest.mark.parametrize("way", [at_once, ordered], ids=lambda it: it.__name__)
def test_parts_of_one_buffer(way: Copy, stream: Stream) -> None:
    memory = device_memory(bytes(range(64)))
    way(memory[32:48], memory[:16], stream)
    assert bytes(content(memory)) == bytes(range(32)) + bytes(range(16)) + bytes(range(48, 64))


def test_between_devices(device: Device, stream: Stream) -> None:
    if Device.count() < 2:
        pytest.skip("needs two devices")
    with Device(1):
        there = device_memory(pattern(N))
    with Buffer(N) as here:
        try:
            ordered(here, there, stream)
        except AclError:
            assert not np.array_equal(content(here), pattern(N))  # peers that were not enabled: refused, not half done
        else:
            assert np.array_equal(content(here), pattern(N))
    there.close()


# --- what may be copied ----------------------------------------------------------------------------------------------

WORDS = np.arange(12, dtype=np.uint32)

SOURCES: dict[str, Any] = {
    "bytes": WORDS.tobytes(),
    "bytearray": bytearray(WORDS.tobytes()),
    "memoryview": memoryview(WORDS.tobytes()),
    "part of a memoryview": memoryview(b"x" + WORDS.tobytes() + b"x")[1:-1],
    "array.array": array.array("I", WORDS.tolist()),
    "ctypes": (ctypes.c_uint32 * 12)(*WORDS.tolist()),
    "matrix": WORDS.reshape(3, 4),
    "structured": WORDS.view([("a", "u4"), ("b", "u4", (2,))]),
    "dates": np.repeat(WORDS, 2)[::2].copy().view("datetime64[s]").copy(),
    "read-only": np.frombuffer(WORDS.tobytes(), np.uint16),
    "big-endian": WORDS.astype("<u4").view(">u4"),
    "rows of a matrix": np.concatenate([WORDS, WORDS]).reshape(6, 4)[:3],
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_anything_with_contiguous_bytes_is_a_source(source: Any, device: Device) -> None:
    with Buffer(48) as memory:
        copy(memory, source)
        assert content(memory).tobytes() == WORDS.tobytes()


TARGETS: dict[str, Callable[[], Any]] = {
    "bytearray": lambda: bytearray(48),
    "memoryview": lambda: memoryview(bytearray(48)),
    "array.array": lambda: array.array("I", [0] * 12),
    "ctypes": lambda: (ctypes.c_uint32 * 12)(),
    "tensor": lambda: np.zeros((2, 3, 4), np.int16),
    "structured": lambda: np.zeros(6, [("a", "f4"), ("b", "i4")]),
    "dates": lambda: np.zeros(6, "datetime64[ns]"),
    "mmap": lambda: mmap.mmap(-1, 48),
}


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
def test_anything_with_writable_contiguous_bytes_is_a_destination(target: Callable[[], Any], device: Device) -> None:
    received = target()
    with device_memory(WORDS.tobytes()) as memory:
        copy(received, memory)
    assert (received.tobytes() if isinstance(received, np.ndarray) else bytes(received)) == WORDS.tobytes()


def readonly() -> np.ndarray:
    values = np.zeros(48, np.uint8)
    values.flags.writeable = False
    return values


NO_OPERANDS: dict[str, tuple[Any, bool, type[Exception]]] = {
    # operand, whether it may be a source, what is raised
    "number": (5, False, TypeError),
    "None": (None, False, TypeError),
    "str": ("text", False, TypeError),
    "list": ([1, 2], False, TypeError),
    "stream": (Device(0), False, TypeError),
    "objects": (np.array([None, "a"], dtype=object), False, TypeError),
    "records with objects": (np.zeros(3, [("a", "u1"), ("b", "O")]), False, TypeError),
    "columns": (np.zeros((4, 4), np.uint8)[:, :2], False, ValueError),
    "Fortran order": (np.zeros((4, 4), np.uint8, order="F"), False, ValueError),
    "reversed": (np.zeros(4, np.uint8)[::-1], False, ValueError),
    "every other byte": (memoryview(bytearray(8))[::2], False, (BufferError, ValueError)),
    "bytes": (bytes(48), True, BufferError),
    "read-only array": (readonly(), True, ValueError),
    "read-only memoryview": (memoryview(bytes(48)), True, (BufferError, TypeError)),
}
CALLS: dict[str, Copy] = {
    "copy": at_once,
    "copy_async": lambda dst, src, stream: copy_async(dst, src, stream),
    "copy_batch": lambda dst, src, stream: copy_batch([(dst, src)]),
    "copy_2d": lambda dst, src, stream: copy_2d(dst, src, width=1, height=1, dst_pitch=1, src_pitch=1),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize(("operand", "is_source", "error"), NO_OPERANDS.values(), ids=NO_OPERANDS.keys())
def test_what_is_no_operand(operand: Any, is_source: bool, error: Any, call: Copy, stream: Stream) -> None:
    with Buffer(48) as memory:
        with pytest.raises(error):
            call(operand, memory, stream)
        if is_source:
            call(memory, operand, stream)
        else:
            with pytest.raises(error):
                call(memory, operand, stream)


def test_objects_are_not_overwritten(device: Device) -> None:
    objects = np.array([None, "a"], dtype=object)
    with Buffer(16) as memory, pytest.raises(TypeError, match="Python objects"):
        copy(objects, memory)
    assert objects.tolist() == [None, "a"]


def test_a_view_of_python_objects_is_refused(device: Device) -> None:
    with Buffer(16) as memory, pytest.raises(TypeError, match="Python objects"):
        copy(memory, memoryview(np.array([None, "a"], dtype=object)))


def test_narrow_integers_do_not_wrap(stream: Stream) -> None:
    small = Buffer(1000)
    with pytest.raises(ValueError, match="256 rows of 257 bytes, 257 apart, do not fit into 1000 bytes"):
        copy_2d(small, bytes(256 * 257), width=np.int16(257), height=np.int16(256))
    with pytest.raises(ValueError, match="do not fit into 1000 bytes"):
        copy_2d(small, bytes(1000), width=1, height=np.int8(100), dst_pitch=np.int8(100), src_pitch=1)
    memory = Buffer(np.int16(4096))
    assert (memory.nbytes, type(memory.nbytes)) == (4096, int)
    assert PinnedBuffer(np.int8(64)).nbytes == 64
    part = Buffer.from_handle(np.uint64(memory.handle), np.int8(100))
    assert part[np.int8(50) :].nbytes == 50


@pytest.mark.parametrize("make", [Buffer, PinnedBuffer, VirtualMemory, PhysicalMemory])
def test_a_size_is_an_integer(make: Any, device: Device) -> None:
    for wrong in ("a", 4096.0, None):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            make(wrong)


@pytest.mark.parametrize(
    "use",
    [
        lambda array, stream: cmo_prefetch(array, stream),
        lambda array, stream: cmo(array, 0, stream),
        lambda array, stream: IpcMemory(array),
    ],
)
def test_an_array_is_no_buffer(use: Any, stream: Stream) -> None:
    with pytest.raises(TypeError, match="a Buffer is wanted, the memory of a device, not ndarray"):
        use(np.zeros(64), stream)


@pytest.mark.parametrize(
    "use",
    [
        lambda: PhysicalMemory(2 << 20, 0),  # type: ignore[arg-type]
        lambda: PhysicalMemory.granularity("0"),  # type: ignore[arg-type]
        lambda: PhysicalMemory.from_shareable(1, 2 << 20, 0),  # type: ignore[arg-type]
        lambda: MemoryPool(0),  # type: ignore[arg-type]
    ],
)
def test_a_number_is_no_device(use: Callable[[], object], device: Device) -> None:
    with pytest.raises(TypeError, match=r"a Device is wanted, for instance Device\(0\), not"):
        use()


@pytest.mark.parametrize("way", [at_once, ordered, snapshot, batch, batch_ordered], ids=lambda it: it.__name__)
def test_what_does_not_fit_is_refused_and_nothing_is_copied(way: Copy, stream: Stream) -> None:
    memory = device_memory(bytes(16))
    with pytest.raises(InvalidArgument, match="9 bytes do not fit into a destination of 8"):
        way(memory[:8], b"x" * 9, stream)
    stream.synchronize()
    assert not content(memory).any()


def test_nothing_is_copied_from_an_empty_source(stream: Stream) -> None:
    memory = device_memory(b"abcd")
    for empty in (b"", np.empty(0), np.empty((0, 4)), bytearray()):
        copy(memory, empty)
        copy_async(memory, empty, stream)
    copy(bytearray(), b"")
    stream.synchronize()
    assert bytes(content(memory)) == b"abcd"


def test_nothing_fits_into_an_empty_destination(device: Device) -> None:
    with Buffer(4) as memory, pytest.raises(InvalidArgument, match="4 bytes do not fit into a destination of 0"):
        copy(bytearray(), memory)


def test_copies_need_a_context(device: Device) -> None:
    refused: list[BaseException] = []

    def work() -> None:
        try:
            copy(memory, bytes(8))
        except NoContext as error:
            refused.append(error)

    with Buffer(8) as memory:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert "Device.set_current()" in str(refused[0])


# --- no copies on the way --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "to_device"),
    [*[(way, True) for way in WAYS], *[(way, False) for way in WAYS if way is not snapshot]],
    ids=lambda it: getattr(it, "__name__", None),
)
def test_arrays_are_copied_without_a_temporary(way: Copy, to_device: bool, stream: Stream) -> None:
    values, nbytes = pattern(N).repeat(256), N * 256  # numpy tells tracemalloc of its arrays
    large = N * 256 // 8
    with Buffer(nbytes) as memory:
        pair = (memory, values) if to_device else (values, memory)
        tracemalloc.start()
        try:
            if way in (rows, rows_ordered):
                copy_2d(*pair, width=large, height=8, stream=stream if way is rows_ordered else None)
            else:
                way(*pair, stream)
            stream.synchronize()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < nbytes // 16


# --- who is kept alive -----------------------------------------------------------------------------------------------


class Array(np.ndarray):
    """An array that can be watched."""


def watched(n: int) -> Array:
    return pattern(n).view(Array)


Submit = Callable[[Buffer, PinnedBuffer, Stream], object]
SUBMISSIONS: dict[str, Submit] = {
    "copy_async": lambda memory, pinned, stream: copy_async(memory, pinned, stream),
    "copy_async back": lambda memory, pinned, stream: copy_async(pinned, memory, stream),
    "copy_async of views": lambda memory, pinned, stream: copy_async(memory[8:][8:], pinned[:8], stream),
    "copy_2d": lambda memory, pinned, stream: copy_2d(memory, pinned, width=4, height=4, stream=stream),
    "copy_2d of a matrix": lambda memory, pinned, stream: copy_2d(
        memory, pinned.reshape(8, 8)[:, 2:6], width=4, height=8, stream=stream
    ),
    "copy_batch": lambda memory, pinned, stream: copy_batch([(memory[:8], pinned[8:16])], stream),
}


@pytest.mark.parametrize("submit", SUBMISSIONS.values(), ids=SUBMISSIONS.keys())
def test_both_sides_live_until_the_copy_is_done(submit: Submit, stream: Stream) -> None:
    memory, pinned = Buffer(64), PinnedBuffer(64)
    references = [weakref.ref(memory), weakref.ref(pinned)]
    with Latch(stream):
        submit(memory, pinned, stream)
        del memory, pinned
        gc.collect()
        assert all(reference() is not None for reference in references)
    stream.synchronize()
    gc.collect()
    assert all(reference() is None for reference in references)


def test_closing_a_pinned_buffer_does_not_end_a_copy_from_it(stream: Stream) -> None:
    with Buffer(64) as memory:
        with Latch(stream):
            with PinnedBuffer(64) as pinned:
                pinned[:] = 5
                copy_async(memory, pinned, stream)
            del pinned
            gc.collect()
        stream.synchronize()
        assert set(content(memory)) == {5}


def test_a_snapshot_is_taken_when_the_call_returns(stream: Stream) -> None:
    with Buffer(64) as memory:
        source, whole, pinned, gone = bytearray(b"a" * 16), bytearray(b"c" * 16), PinnedBuffer(64), watched(64)
        reference, expected = weakref.ref(gone), bytes(gone)
        pinned[:] = 98
        with Latch(stream):
            copy_async(memory[:16], source, stream, snapshot=True)
            source[:] = bytes(16)
            copy_async(memory[16:32], whole, stream, snapshot=True)
            whole.clear()  # not even its size is held
            copy_async(memory[32:48], pinned[:16], stream, snapshot=True)
            pinned[:] = 0
            copy_async(memory[48:], gone[:16], stream, snapshot=True)
            del gone
            gc.collect()
            assert reference() is None
        stream.synchronize()
        assert bytes(content(memory)) == b"a" * 16 + b"c" * 16 + b"b" * 16 + expected[:16]


def test_the_destination_of_a_snapshot_lives_on(stream: Stream) -> None:
    memory = Buffer(64)
    reference = weakref.ref(memory)
    with Latch(stream):
        copy_async(memory, bytes(64), stream, snapshot=True)
        del memory
        gc.collect()
        assert reference() is not None
    stream.synchronize()
    assert reference() is None


def test_a_bytearray_keeps_its_size_while_a_copy_may_use_it(stream: Stream) -> None:
    received = bytearray(64)
    with Buffer(64) as memory:
        copy_async(received, memory, stream)
        with pytest.raises(BufferError):
            received.clear()
        stream.synchronize()
        received.clear()


def test_a_copy_that_is_refused_keeps_nothing(stream: Stream) -> None:
    memory, pinned = Buffer(8), PinnedBuffer(64)
    references = [weakref.ref(memory), weakref.ref(pinned)]
    kept = len(stream._in_flight)
    with pytest.raises(InvalidArgument):
        copy_async(memory, pinned, stream)
    assert len(stream._in_flight) == kept
    del memory, pinned
    gc.collect()
    assert all(reference() is None for reference in references)


def test_a_closed_stream_takes_no_copies(device: Device) -> None:
    stream = Stream()
    stream.close()
    with Buffer(8) as memory:
        for submit in (
            lambda: copy_async(memory, bytes(8), stream),
            lambda: copy_2d(memory, bytes(8), width=8, height=1, stream=stream),
            lambda: copy_batch([(memory, bytes(8))], stream),
            lambda: fill(memory, 1, stream),
        ):
            with pytest.raises(ClosedError, match="this stream is closed"):
                submit()


@pytest.mark.parametrize("wrong", [None, 5])
def test_a_copy_in_order_needs_a_stream(wrong: Any, device: Device) -> None:
    with Buffer(64) as memory:
        submissions = [
            lambda: copy_async(memory, bytes(8), wrong),
            lambda: CopyDescriptor(memory, memory).submit(wrong),
            lambda: copy_indirect(memory, memory, 8, wrong),
        ]
        if wrong is not None:
            submissions += [
                lambda: copy_2d(memory, bytes(8), width=8, height=1, stream=wrong),
                lambda: copy_batch([(memory, bytes(8))], wrong),
                lambda: fill(memory, 1, wrong),
            ]
        for submit in submissions:
            with pytest.raises(TypeError, match=f"a Stream is wanted, not {type(wrong).__name__}"):
                submit()


def test_operands_are_kept_though_no_event_is_left(stream: Stream, backend: str) -> None:
    if backend != "sim":
        pytest.skip("only the simulator can be out of events on demand")
    with PinnedBuffer(64) as pinned:
        with Latch(stream):
            references = []
            with sim.faults():
                sim.limit("events", 0)
                with pytest.raises(ResourceExhausted):
                    stream.record()
                for _ in range(300):
                    memory = Buffer(64)
                    references.append(weakref.ref(memory))
                    copy_async(memory, pinned, stream)
            del memory
            gc.collect()
            assert all(reference() is not None for reference in references)
        stream.synchronize()
        gc.collect()
        assert all(reference() is None for reference in references)


def test_threads_copy_on_one_stream(stream: Stream, device: Device) -> None:
    failures: list[BaseException] = []

    def work(value: int) -> None:
        try:
            with device, Buffer(N) as memory, PinnedBuffer(N) as sent, PinnedBuffer(N) as received:
                for i in range(50):
                    stream.synchronize()
                    sent[:] = value + i
                    copy_async(memory, sent, stream)
                    copy_async(received, memory, stream)
                    stream.record().synchronize()
                    assert set(received) == {value + i}
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(value,)) for value in (0, 60, 120)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stream.synchronize()
    assert failures == []
    assert len(stream._in_flight) == 0


# --- rows ------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[False, True], ids=["at once", "in order"])
def rows_stream(request: pytest.FixtureRequest, stream: Stream) -> Stream | None:
    return stream if request.param else None


def arrived(stream: Stream | None) -> None:
    if stream is not None:
        stream.synchronize()


def test_columns_of_a_matrix_to_the_device_and_back(rows_stream: Stream | None, device: Device) -> None:
    matrix = np.arange(48, dtype=np.float32).reshape(6, 8)
    received = np.zeros((9, 5), np.float32)
    with Buffer(6 * 12) as memory:
        copy_2d(memory, matrix[:, 2:5], width=12, height=6, stream=rows_stream)
        copy_2d(received[2:8, 1:4], memory, width=12, height=6, stream=rows_stream)
        arrived(rows_stream)
        assert np.array_equal(content(memory).view(np.float32).reshape(6, 3), matrix[:, 2:5])
    expected = np.zeros((9, 5), np.float32)
    expected[2:8, 1:4] = matrix[:, 2:5]
    assert np.array_equal(received, expected)


MATRICES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "whole": lambda matrix: matrix,
    "columns": lambda matrix: matrix[:, 3:7],
    "every other row": lambda matrix: matrix[::2, 1:],
    "one row": lambda matrix: matrix[3:4],
    "one row, the last": lambda matrix: matrix[::-1][:1],
    "one column": lambda matrix: matrix[:, 2:3],
    "one of every seventh column": lambda matrix: matrix[:, ::10],
    "one element": lambda matrix: matrix[-1:, -1:],
    "one row of columns": lambda matrix: np.asfortranarray(matrix[:1]),
}


@pytest.mark.parametrize("select", MATRICES.values(), ids=MATRICES.keys())
@pytest.mark.parametrize("kind", [np.array, pinned_memory], ids=["pageable", "pinned"])
def test_parts_of_a_matrix(
    select: Callable[[np.ndarray], np.ndarray], kind: Any, rows_stream: Stream | None, device: Device
) -> None:
    whole = kind(np.arange(160, dtype=np.uint8)).view(np.uint16).reshape(8, 10)
    part = select(whole)
    height, width = part.shape[0], part.shape[1] * 2
    with Buffer(height * width) as memory:
        copy_2d(memory, part, width=width, height=height, stream=rows_stream)
        arrived(rows_stream)
        expected = np.ascontiguousarray(part).copy()
        assert content(memory).tobytes() == expected.tobytes()
        before, part[...] = whole.copy(), 0
        copy_2d(part, memory, width=width, height=height, stream=rows_stream)
        arrived(rows_stream)
        assert np.array_equal(part, expected)
        assert np.array_equal(whole, before)


def test_less_than_a_matrix_has(rows_stream: Stream | None, device: Device) -> None:
    matrix = np.arange(24, dtype=np.uint8).reshape(4, 6)
    with Buffer(6) as memory:
        copy_2d(memory, matrix[1:, 1:], width=2, height=3, stream=rows_stream)
        arrived(rows_stream)
        assert content(memory).tolist() == [7, 8, 13, 14, 19, 20]


def test_pitches(rows_stream: Stream | None, device: Device) -> None:
    memory = device_memory(b"." * 12)
    copy_2d(memory[1:], b"ab--cd--ef", width=2, height=3, dst_pitch=4, src_pitch=4, stream=rows_stream)
    arrived(rows_stream)
    assert bytes(content(memory)) == b".ab..cd..ef."
    received = bytearray(b"______")
    copy_2d(received, memory[1:], width=2, height=3, src_pitch=4, stream=rows_stream)
    arrived(rows_stream)
    assert received == b"abcdef"


def test_a_given_pitch_wants_contiguous_bytes(device: Device) -> None:
    matrix = np.arange(16, dtype=np.uint8).reshape(4, 4)
    with Buffer(8) as memory:
        copy_2d(memory, matrix, width=2, height=4, src_pitch=4)
        assert content(memory).tolist() == [0, 1, 4, 5, 8, 9, 12, 13]
        with pytest.raises(ValueError, match="contiguous"):
            copy_2d(memory, matrix[:, :2], width=2, height=4, src_pitch=4)


def test_rows_inside_the_device_only_in_order(stream: Stream) -> None:
    memory = device_memory(b"abcdef" + b"." * 9)
    arguments = {"width": 2, "height": 3, "dst_pitch": 3}
    with pytest.raises(NotSupported):
        copy_2d(memory[6:], memory[:6], **arguments)
    copy_2d(memory[6:], memory[:6], **arguments, stream=stream)
    stream.synchronize()
    assert bytes(content(memory)) == b"abcdefab.cd.ef."


@pytest.mark.parametrize(("width", "height"), [(0, 4), (4, 0), (0, 0)])
def test_no_rows(width: int, height: int, rows_stream: Stream | None, device: Device) -> None:
    memory = device_memory(b"abcd")
    copy_2d(memory, bytes(16), width=width, height=height, stream=rows_stream)
    copy_2d(memory, np.zeros((4, 4), np.uint8)[:, :2], width=0, height=height, stream=rows_stream)
    arrived(rows_stream)
    assert bytes(content(memory)) == b"abcd"


MATRIX = np.zeros((4, 8), np.uint8)

REFUSED_ROWS: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "too many rows": (bytes(32), {"width": 8, "height": 5}, ValueError, "5 rows of 8 bytes, 8 apart, do not fit"),
    "too wide": (bytes(32), {"width": 9, "height": 4}, ValueError, "4 rows of 9 bytes, 9 apart"),
    "too far apart": (
        bytes(32),
        {"width": 2, "height": 2, "src_pitch": 31},
        ValueError,
        "31 apart, do not fit into 32",
    ),
    "rows of a matrix": (MATRIX, {"width": 8, "height": 5}, ValueError, r"array of shape \(4, 8\)"),
    "width of a matrix": (MATRIX[:, :4], {"width": 5, "height": 2}, ValueError, r"array of shape \(4, 4\)"),
    "negative width": (bytes(32), {"width": -1, "height": 1}, ValueError, "no 1 rows of -1 bytes"),
    "negative height": (bytes(32), {"width": 1, "height": -1}, ValueError, "no -1 rows of 1 bytes"),
    "negative height of a matrix": (MATRIX, {"width": 1, "height": -1}, ValueError, "no -1 rows"),
    "negative pitch": (bytes(32), {"width": 1, "height": 2, "src_pitch": -1}, ValueError, "cannot be negative: -1"),
    "pitch below the width": (bytes(32), {"width": 4, "height": 2, "src_pitch": 3}, InvalidArgument, "exceeds a pitch"),
    "columns apart": (MATRIX[:, ::2], {"width": 2, "height": 4}, ValueError, "side by side"),
    "columns reversed": (MATRIX[:, ::-1], {"width": 2, "height": 4}, ValueError, "side by side"),
    "rows reversed": (MATRIX[::-1], {"width": 8, "height": 4}, ValueError, "rising order"),
    "transposed": (MATRIX.T, {"width": 4, "height": 8}, ValueError, "side by side"),
    "one row repeated": (
        np.broadcast_to(MATRIX[0], (4, 8)),
        {"width": 8, "height": 4},
        InvalidArgument,
        "exceeds a pitch",
    ),
    "objects": (np.zeros((2, 2), object), {"width": 8, "height": 2}, TypeError, "Python objects"),
    "three dimensions apart": (np.zeros((2, 2, 4), np.uint8)[..., :2], {"width": 2, "height": 2}, ValueError, "contig"),
}


@pytest.mark.parametrize(("source", "arguments", "error", "text"), REFUSED_ROWS.values(), ids=REFUSED_ROWS.keys())
def test_refused_rows(
    source: Any, arguments: Any, error: type[Exception], text: str, rows_stream: Stream | None, device: Device
) -> None:
    with Buffer(64) as memory:
        fill(memory, 1)
        with pytest.raises(error, match=text):
            copy_2d(memory, source, **arguments, stream=rows_stream)
        assert set(content(memory)) == {1}


def test_a_read_only_matrix_is_no_destination(device: Device) -> None:
    matrix = np.zeros((4, 8), np.uint8)
    matrix.flags.writeable = False
    with Buffer(64) as memory, pytest.raises(ValueError, match="read-only"):
        copy_2d(matrix[:, :4], memory, width=4, height=4)


@pytest.mark.parametrize(("width", "height"), [(5_000_001, 1), (1, 5_242_881)])
def test_rows_have_a_largest_size(width: int, height: int, device: Device) -> None:
    with Buffer(8 << 20) as memory, pytest.raises(InvalidArgument):
        copy_2d(memory, np.zeros(width * height, np.uint8), width=width, height=height)


# --- batches ---------------------------------------------------------------------------------------------------------


def test_a_batch_mixes_places(rows_stream: Stream | None, device: Device) -> None:
    sent = [pattern(100), pinned_memory(pattern(200)), bytes(pattern(300)), pattern(75).reshape(3, 25)]
    received = [np.zeros(10, np.uint8), PinnedBuffer(20), bytearray(30)]
    source = device_memory(pattern(60))
    with Buffer(1000) as memory:
        pairs = [(memory[i * 300 : i * 300 + 300], it) for i, it in enumerate(sent[:3])]
        pairs.insert(1, (received[0], source[:10]))
        pairs.insert(3, (received[1], source[10:30]))
        pairs += [(received[2], source[30:]), (memory[900:], sent[3])]
        copy_batch(iter(pairs), rows_stream)
        arrived(rows_stream)
        found = content(memory)
    for i, it in enumerate(sent):
        assert found[i * 300 :][: memoryview(it).nbytes].tobytes() == bytes(it)
    assert b"".join(map(bytes, received)) == bytes(pattern(60))


def test_a_batch_on_two_devices(device: Device) -> None:
    if Device.count() < 2:
        pytest.skip("needs two devices")
    with Device(1):
        there = Buffer(64)
    with Buffer(64) as here:
        copy_batch([(here, b"a" * 64), (there, b"b" * 64), (here[8:], b"c" * 8)])
        assert bytes(content(here)) == b"a" * 8 + b"c" * 8 + b"a" * 48
        assert bytes(content(there)) == b"b" * 64
    there.close()


def test_locations_are_told_once_for_each_run(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[list[int], int]] = []

    def note(*arguments: Any) -> int:
        indexes, count = arguments[6], arguments[7]
        told.append(([indexes[i] for i in range(count)], arguments[4]))
        return 0

    monkeypatch.setattr("ascend_rt.transfer.lib.aclrtMemcpyBatch", note, raising=False)
    monkeypatch.setattr("ascend_rt._driver.lib.aclrtMemcpyBatch", note, raising=False)
    with Buffer(64) as memory, PinnedBuffer(8) as pinned:
        to, source = (memory, bytes(8)), (bytearray(8), memory[:8])
        copy_batch([to, to, (memory, pinned), source, source, to])
        copy_batch([source])
    assert told == [([0, 3, 5], 6), ([0], 1)]


def test_an_empty_batch_is_done(rows_stream: Stream | None, device: Device) -> None:
    copy_batch([], rows_stream)
    copy_batch(iter(()), rows_stream)
    assert rows_stream is None or rows_stream.is_done


BROKEN: dict[str, tuple[Callable[[Buffer], tuple[Any, Any]], str]] = {
    "inside the device": (lambda memory: (memory[:8], memory[8:16]), r"\(copy 2 of the batch\)"),
    "inside the host": (lambda memory: (bytearray(8), bytes(8)), r"\(copy 2 of the batch\)"),
    "empty": (lambda memory: (memory, b""), r"\(copy 2 of the batch\)"),
}


@pytest.mark.parametrize(("make", "text"), BROKEN.values(), ids=BROKEN.keys())
def test_a_refused_copy_is_named(
    make: Callable[[Buffer], tuple[Any, Any]], text: str, rows_stream: Stream | None, device: Device
) -> None:
    with Buffer(64) as memory:
        fill(memory, 0)
        pairs = [(memory[:8], b"a" * 8), (memory[8:], b"b" * 8), make(memory), (memory[16:], b"c" * 8)]
        with pytest.raises(InvalidArgument, match=text) as refused:
            copy_batch(pairs, rows_stream)
        assert refused.value.code == 107000
        arrived(rows_stream)
        done = b"a" * 8 + b"b" * 8 if rows_stream is not None else bytes(16)
        assert bytes(content(memory)) == done + bytes(48)


def test_a_batch_that_does_not_fit_copies_nothing(rows_stream: Stream | None, device: Device) -> None:
    with Buffer(16) as memory:
        fill(memory, 0)
        with pytest.raises(InvalidArgument, match="9 bytes do not fit into a destination of 8") as refused:
            copy_batch([(memory[:8], b"a" * 8), (memory[8:], b"b" * 9)], rows_stream)
        assert "of the batch" not in str(refused.value)
        arrived(rows_stream)
        assert not content(memory).any()


def test_what_a_refused_batch_enqueued_is_kept_alive(stream: Stream) -> None:
    with PinnedBuffer(16) as pinned:
        memory = device_memory(b"a" * 16)
        reference = weakref.ref(memory)
        with Latch(stream):
            with pytest.raises(InvalidArgument):
                copy_batch([(pinned, memory), (memory, memory)], stream)
            del memory
            gc.collect()
            assert reference() is not None
        stream.synchronize()
        assert bytes(pinned) == b"a" * 16
    gc.collect()
    assert reference() is None


def test_transfers_that_are_no_pairs(device: Device) -> None:
    with Buffer(8) as memory:
        with pytest.raises(ValueError, match="unpack"):
            copy_batch([(memory,)])  # type: ignore[list-item]
        with pytest.raises(TypeError):
            copy_batch([memory])  # type: ignore[list-item]
        closed = Buffer(8)
        closed.close()
        with pytest.raises(ClosedError):
            copy_batch([(memory, bytes(8)), (closed, bytes(8))])


def test_the_largest_batch(stream: Stream) -> None:
    values = np.arange(4097, dtype=np.uint8)
    with Buffer(4097) as memory:
        pairs = [(memory[i : i + 1], values[i : i + 1]) for i in range(4097)]
        fill(memory, 255)
        copy_batch(pairs[:4096])
        assert np.array_equal(content(memory)[:4096], values[:4096])
        with pytest.raises(InvalidArgument, match="more than 4096"):
            copy_batch(pairs)
        fill(memory, 255)
        copy_batch(pairs, stream)
        stream.synchronize()
        assert np.array_equal(content(memory), values)


# --- descriptors and indirect copies ---------------------------------------------------------------------------------


def test_a_descriptor_copies_each_time_it_is_submitted(stream: Stream) -> None:
    source, target = device_memory(b"abcdefgh"), device_memory(b"........")
    descriptor = CopyDescriptor(target[2:], source[:4])
    assert descriptor.memory.handle % 64 == 0
    assert bytes(content(target)) == b"........"
    descriptor.submit(stream)
    stream.synchronize()
    assert bytes(content(target)) == b"..abcd.."
    copy(source, b"xy")
    descriptor.submit(stream)
    stream.synchronize()
    assert bytes(content(target)) == b"..xycd.."


def test_what_has_not_started_takes_the_new_addresses(stream: Stream) -> None:
    source, target = device_memory(b"abcdefgh"), device_memory(b"........")
    descriptor = CopyDescriptor(target[:4], source[:4])
    with Latch(stream):
        descriptor.submit(stream)
        descriptor.set(target[6:], source[4:6])
    stream.synchronize()
    assert bytes(content(target)) == b"......ef"


def test_a_descriptor_and_its_buffers_live_until_it_has_run(stream: Stream) -> None:
    with PinnedBuffer(8) as received:
        source, target = device_memory(b"abcdefgh"), Buffer(8)
        descriptor = CopyDescriptor(target, source)
        references = [weakref.ref(it) for it in (source, target, descriptor.memory)]
        with Latch(stream):
            descriptor.submit(stream)
            copy_async(received, target, stream)
            del source, target, descriptor
            gc.collect()
            assert all(reference() is not None for reference in references)
        stream.synchronize()
        assert bytes(received) == b"abcdefgh"
    gc.collect()
    assert all(reference() is None for reference in references)


def test_refused_descriptors(device: Device) -> None:
    with Buffer(64) as memory, PinnedBuffer(64) as pinned:
        with pytest.raises(ValueError, match="64 bytes do not fit into 8"):
            CopyDescriptor(memory[:8], memory)
        for operands in ((memory, pinned), (pinned, memory), (memory, b"abc")):
            with pytest.raises(TypeError, match="a Buffer is wanted"):
                CopyDescriptor(*operands)
        descriptor = CopyDescriptor(memory[:8], memory[8:16])
        with pytest.raises(ValueError, match="do not fit"):
            descriptor.set(memory[:8], memory)
        closed = Buffer(8)
        closed.close()
        with pytest.raises(ClosedError):
            descriptor.set(memory, closed)


def addresses(*buffers: Buffer) -> Buffer:
    return device_memory(np.array([it.handle for it in buffers], np.uint64).tobytes())


def test_an_indirect_copy_reads_its_addresses_when_it_runs(stream: Stream) -> None:
    source, target = device_memory(b"abcdefgh"), device_memory(b"........")
    table = addresses(target, target)
    with Latch(stream):
        copy_indirect(table[:8], table[8:], 3, stream, dst_offset=4, src_offset=2)
        copy(table[8:], addresses(source))
    stream.synchronize()
    assert bytes(content(target)) == b"....cde."


def test_the_words_of_an_indirect_copy_live_until_it_has_run(stream: Stream) -> None:
    source, target = device_memory(b"abcdefgh"), device_memory(b"........")
    table = addresses(target, source)
    reference = weakref.ref(table)
    with Latch(stream):
        copy_indirect(table[:8], table[8:], 8, stream)
        del table
        gc.collect()
        assert reference() is not None
    stream.synchronize()
    assert reference() is None
    assert bytes(content(target)) == b"abcdefgh"


def test_refused_indirect_copies(stream: Stream) -> None:
    with Buffer(64) as memory, PinnedBuffer(8) as pinned:
        with pytest.raises(TypeError, match="a Buffer is wanted"):
            copy_indirect(memory, pinned, 8, stream)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="cannot be negative: -1"):
            copy_indirect(memory, memory, -1, stream)
        with pytest.raises(OverflowError, match="dstDataOffset"):
            copy_indirect(memory, memory, 8, stream, dst_offset=-1)
        with pytest.raises(InvalidArgument, match="4 GiB"):
            copy_indirect(memory, memory, (4 << 30) + 1, stream)


# --- fills -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, 1, 255, np.uint8(7), True])
def test_bytes_are_filled(value: Any, rows_stream: Stream | None, device: Device) -> None:
    with Buffer(1 << 16) as memory:
        fill(memory, 9)
        fill(memory[3:-5], value, rows_stream)
        arrived(rows_stream)
        found = content(memory)
        assert set(found[3:-5]) == {int(value)}
        assert [*found[:3], *found[-5:]] == [9] * 8


@pytest.mark.parametrize("value", [0, 1, 0xDEADBEEF, 2**32 - 1, np.uint32(5)])
def test_words_are_filled(value: Any, rows_stream: Stream | None, device: Device) -> None:
    with Buffer(1 << 16) as memory:
        fill(memory, 9)
        fill(memory[4:-8], value, rows_stream, itemsize=4)
        arrived(rows_stream)
        found = content(memory).view(np.uint32)
        assert set(found[1:-2]) == {int(value)}
        assert [*found[:1], *found[-2:]] == [0x09090909] * 3


def test_a_fill_waits_for_its_turn_and_keeps_the_buffer(stream: Stream) -> None:
    with PinnedBuffer(64) as received:
        memory = device_memory(bytes(64))
        reference = weakref.ref(memory)
        with Latch(stream):
            fill(memory, 1, stream)
            fill(memory[32:], 0x02020202, stream, itemsize=4)
            assert not content(memory).any()
            copy_async(received, memory, stream)
            del memory
            gc.collect()
            assert reference() is not None
        stream.synchronize()
        assert list(received) == [1] * 32 + [2] * 32
    assert reference() is None


REFUSED_FILLS: dict[str, tuple[Callable[[Buffer], Any], dict[str, Any], type[Exception], str]] = {
    "negative": (lambda it: it, {"value": -1}, ValueError, "0 to 255, not -1"),
    "more than a byte": (lambda it: it, {"value": 256}, ValueError, "0 to 255, not 256"),
    "negative word": (lambda it: it, {"value": -1, "itemsize": 4}, ValueError, "0 to 4294967295, not -1"),
    "more than a word": (lambda it: it, {"value": 2**32, "itemsize": 4}, ValueError, "not 4294967296"),
    "fraction": (lambda it: it, {"value": 1.5}, TypeError, "integer"),
    "text": (lambda it: it, {"value": "a"}, TypeError, "'str'"),
    "two bytes": (lambda it: it, {"value": 1, "itemsize": 2}, ValueError, "1 or 4 bytes, not 2"),
    "no bytes": (lambda it: it, {"value": 1, "itemsize": 0}, ValueError, "1 or 4 bytes, not 0"),
    "a rest": (lambda it: it[:7], {"value": 1, "itemsize": 4}, ValueError, "7 bytes are no whole number of items"),
    "not aligned": (lambda it: it[2:6], {"value": 1, "itemsize": 4}, InvalidArgument, "not aligned to 4 bytes"),
    "array": (lambda it: np.zeros(8), {"value": 1}, TypeError, "a Buffer is wanted.*not ndarray"),
    "pinned": (lambda it: PinnedBuffer(8), {"value": 1}, TypeError, "a Buffer is wanted.*not PinnedBuffer"),
}


@pytest.mark.parametrize(("make", "arguments", "error", "text"), REFUSED_FILLS.values(), ids=REFUSED_FILLS.keys())
def test_refused_fills(
    make: Callable[[Buffer], Any],
    arguments: Any,
    error: type[Exception],
    text: str,
    rows_stream: Stream | None,
    device: Device,
) -> None:
    with device_memory(bytes(64)) as memory:
        with pytest.raises(error, match=text):
            fill(make(memory), stream=rows_stream, **arguments)
        arrived(rows_stream)
        assert not content(memory).any()


# --- products --------------------------------------------------------------------------------------------------------

PRODUCT = """
import numpy as np
import ascend_rt as rt
from ascend_rt.errors import AclError, NotSupported
rt.Device(0).set_current()
stream, memory = rt.Stream(), rt.Buffer(64)
rt.fill(memory, 1)
calls = {
    "words": lambda: rt.fill(memory, 2, itemsize=4),
    "words in order": lambda: rt.fill(memory, 2, stream, itemsize=4),
    "batch": lambda: rt.copy_batch([(memory, bytes(8))]),
    "descriptor": lambda: rt.CopyDescriptor(memory[:8], memory[8:16]).submit(stream),
    "indirect": lambda: rt.copy_indirect(memory[48:56], memory[56:], 8, stream),
    "rows inside": lambda: rt.copy_2d(memory[:8], memory[8:16], width=4, height=2, stream=stream),
}
for name, call in calls.items():
    rt.fill(memory, 1)
    rt.copy(memory[48:], np.array([memory.handle, memory.handle + 16], np.uint64))
    try:
        call()
        stream.synchronize()
    except NotSupported as error:
        assert error.code == 207000
        continue
    found = bytearray(64)
    rt.copy(found, memory)
    print(name, found[0])
"""
SUPPORTED = {
    "950": "words 2,words in order 2,batch 0,descriptor 1,indirect 1,rows inside 1",
    "910B": "words 2,words in order 2,batch 0,descriptor 1,indirect 1,rows inside 1",
    "910C": "words 2,words in order 2,batch 0,descriptor 1,indirect 1,rows inside 1",
    "910": "indirect 1",
    "310B": "descriptor 1",
    "310P": "",
}


@pytest.mark.parametrize(("product", "expected"), SUPPORTED.items())
def test_a_product_does_a_copy_or_refuses_it(product: str, expected: str, run: Any) -> None:
    ended = run("-c", PRODUCT, ASCEND_RT_BACKEND="sim", ASCEND_RT_SIM_PRODUCT=product)
    assert ended.returncode == 0, ended.stderr
    assert ",".join(ended.stdout.splitlines()) == expected
