# SPDX-License-Identifier: Apache-2.0
"""Copies and fills: every direction, what may be copied, and what the products lack."""

from __future__ import annotations

import array
import ctypes
import mmap
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.memory import content, device_memory, form_of, pattern, pinned_memory
from support.threads import in_thread

from ascend_rt import (
    Buffer,
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
    copy_2d_async,
    copy_async,
    copy_batch,
    copy_batch_async,
)
from ascend_rt.errors import AclError, InvalidArgument, NoContext, NotSupported

Copy = Callable[[Any, Any, Stream], object]

N = 1 << 12


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
    copy_2d_async(dst, src, stream, width=N // 8, height=8)
    stream.synchronize()


def batch(dst: Any, src: Any, stream: Stream) -> None:
    copy_batch([(dst, src)])


def batch_ordered(dst: Any, src: Any, stream: Stream) -> None:
    copy_batch_async([(dst, src)], stream)
    stream.synchronize()


def at_once(dst: Any, src: Any, stream: Stream) -> None:
    copy(dst, src)


WAYS: list[Copy] = [at_once, ordered, snapshot, rows, rows_ordered, batch, batch_ordered]

# --- every direction -------------------------------------------------------------------------------------------------


def refusal_of(way: Copy, to: str, source: str) -> type[AclError] | None:
    """Return the error of a direction that a way of copying does not support."""
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
    refusal = refusal_of(way, to, source)
    if refusal is not None:
        with pytest.raises(refusal):
            way(dst, src, stream)
        stream.synchronize()
    else:
        way(dst, src, stream)
    found = content(dst) if isinstance(dst, Buffer) else np.frombuffer(dst, np.uint8)
    assert np.array_equal(found, before if refusal else sent)


@pytest.mark.parametrize("way", [at_once, ordered, snapshot, batch, batch_ordered], ids=lambda it: it.__name__)
def test_a_shorter_source_leaves_the_rest_unchanged(way: Copy, stream: Stream) -> None:
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
            assert not np.array_equal(content(here), pattern(N))  # without access to the peer nothing is copied
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


INVALID_OPERANDS: dict[str, tuple[Any, bool, type[Exception]]] = {
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
@pytest.mark.parametrize("target", [bytes(48), memoryview(bytes(48)), readonly()], ids=lambda it: type(it).__name__)
def test_exchanged_operands_are_named(target: Any, call: Copy, stream: Stream) -> None:
    text = rf"the target \({type(target).__name__}\) is read-only"
    with Buffer(48) as memory, pytest.raises((BufferError, ValueError), match=text):
        call(target, memory, stream)


def test_a_released_view_is_not_taken_for_a_read_only_one(device: Device) -> None:
    view = memoryview(bytearray(48))
    view.release()
    with Buffer(48) as memory, pytest.raises(ValueError, match="released"):
        copy(view, memory)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize(("operand", "is_source", "error"), INVALID_OPERANDS.values(), ids=INVALID_OPERANDS.keys())
def test_invalid_operands(operand: Any, is_source: bool, error: Any, call: Copy, stream: Stream) -> None:
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
def test_an_array_is_not_a_buffer(use: Any, stream: Stream) -> None:
    with pytest.raises(TypeError, match=r"expected a Buffer \(memory of a device\), got ndarray"):
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
def test_a_number_is_not_a_device(use: Callable[[], object], device: Device) -> None:
    with pytest.raises(TypeError, match=r"expected a Device such as Device\(0\), got"):
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
    with Buffer(8) as memory, pytest.raises(NoContext, match=r"Device\.set_current\(\)"):
        in_thread(lambda: copy(memory, bytes(8)))


# --- no temporary copies ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "to_device"),
    [*[(way, True) for way in WAYS], *[(way, False) for way in WAYS if way is not snapshot]],
    ids=lambda it: getattr(it, "__name__", None),
)
def test_arrays_are_copied_without_a_temporary(way: Copy, to_device: bool, stream: Stream) -> None:
    values, nbytes = pattern(N).repeat(256), N * 256  # tracemalloc counts the memory of arrays
    large = N * 256 // 8
    with Buffer(nbytes) as memory:
        pair = (memory, values) if to_device else (values, memory)
        tracemalloc.start()
        try:
            if way in (rows, rows_ordered):
                form_of(copy_2d, stream if way is rows_ordered else None)(*pair, width=large, height=8)
            else:
                way(*pair, stream)
            stream.synchronize()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < nbytes // 16


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
    "words in order": lambda: rt.fill_async(memory, 2, stream, itemsize=4),
    "batch": lambda: rt.copy_batch([(memory, bytes(8))]),
    "descriptor": lambda: rt.CopyDescriptor(memory[:8], memory[8:16]).submit(stream),
    "indirect": lambda: rt.copy_indirect(memory[48:56], memory[56:], 8, stream),
    "rows inside": lambda: rt.copy_2d_async(memory[:8], memory[8:16], stream, width=4, height=2),
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
@pytest.mark.simulator("products")
def test_a_product_does_a_copy_or_refuses_it(product: str, expected: str, run: Any) -> None:
    ended = run("-c", PRODUCT, ASCEND_RT_BACKEND="sim", ASCEND_RT_SIM_PRODUCT=product)
    assert ended.returncode == 0, ended.stderr
    assert ",".join(ended.stdout.splitlines()) == expected
