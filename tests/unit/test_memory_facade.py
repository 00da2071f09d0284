# SPDX-License-Identifier: Apache-2.0
"""Buffers, pinned and registered memory: views, lifetimes, misuse, and what the runtime knows of an address."""

from __future__ import annotations

import copy as copies
import gc
import mmap
import pickle
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ascend_rt import (
    Buffer,
    Context,
    Device,
    PinnedBuffer,
    RegisteredMemory,
    Stream,
    copy,
    copy_async,
    fill,
    pointer_attributes,
    sim,
)
from ascend_rt.enums import MemLocationType
from ascend_rt.errors import AclError, ClosedError, InvalidArgument, NoContext, NotSupported, OutOfMemory
from ascend_rt.memory import _free_host
from ascend_rt.testing import Latch

PAGE = 4096
GARBAGE = 0x1234


def pattern(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, 256, n, dtype=np.uint8)


def content(buffer: Buffer) -> np.ndarray:
    received = np.empty(buffer.nbytes, np.uint8)
    copy(received, buffer)
    return received


def pages(n: int) -> np.ndarray:
    """Return an array that begins at a page."""
    return np.frombuffer(mmap.mmap(-1, n), np.uint8)


@pytest.fixture
def filled(device: Device) -> Iterator[tuple[Buffer, np.ndarray]]:
    sent = pattern(4096)
    with Buffer(4096) as memory:
        copy(memory, sent)
        yield memory, sent


def in_thread(function: Callable[[], Any]) -> Any:
    """Run a function in a thread without a context; return its result, or the exception."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(function())
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results[0]


# --- views -----------------------------------------------------------------------------------------------------------

PARTS = [
    slice(None),
    slice(0, 1),
    slice(4095, None),
    slice(-1, None),
    slice(-4096, -1),
    slice(17, 99),
    slice(100, 10_000),  # cut off like that of any sequence
    slice(1, 2, 1),
]


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_a_view_is_the_part_that_the_slice_names(part: slice, filled: tuple[Buffer, np.ndarray]) -> None:
    memory, sent = filled
    view = memory[part]
    assert len(view) == view.nbytes == len(sent[part])
    assert (view.base, view.offset) == (memory, part.indices(4096)[0])
    assert view.handle == memory.handle + view.offset
    assert view.device == memory.device == Device(0)
    assert np.array_equal(content(view), sent[part])


def test_views_of_views(filled: tuple[Buffer, np.ndarray]) -> None:
    memory, sent = filled
    outer = memory[100:1000]
    inner = outer[10:-10][5:]
    assert inner.offset == 115
    assert inner.base is not None
    assert inner.base.base is outer
    assert np.array_equal(content(inner), sent[115:990])
    copy(inner[:3], b"abc")
    assert bytes(content(memory)[113:120]) == bytes(sent[113:115]) + b"abc" + bytes(sent[118:120])


def test_a_whole_buffer_is_no_view(filled: tuple[Buffer, np.ndarray]) -> None:
    memory, _ = filled
    assert (memory.base, memory.offset, len(memory)) == (None, 0, 4096)


@pytest.mark.parametrize("part", [slice(0, 0), slice(5, 5), slice(5, 4), slice(4096, None), slice(None, None, -1)])
def test_an_empty_or_stepping_view_is_refused(part: slice, filled: tuple[Buffer, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="a view is a non-empty range of bytes"):
        filled[0][part]


@pytest.mark.parametrize("index", [0, -1, None, (1, 2), "a", 1.5, np.arange(3)], ids=repr)
def test_device_memory_is_not_read_by_indexing(index: Any, filled: tuple[Buffer, np.ndarray]) -> None:
    with pytest.raises(TypeError, match="take a slice and copy it"):
        filled[0][index]


@pytest.mark.parametrize("read", [np.asarray, list, bytes, sum, tuple], ids=lambda it: it.__name__)
def test_device_memory_is_not_read_by_what_takes_sequences(
    read: Callable[[Any], object], filled: tuple[Buffer, np.ndarray]
) -> None:
    with pytest.raises(TypeError):
        read(filled[0])


def test_a_view_of_a_view_keeps_the_allocation(device: Device) -> None:
    gc.collect()
    free = device.memory_info.free
    memory = Buffer(1 << 20)
    gone = weakref.ref(memory)
    inner = memory[64:][64:]
    fill(inner, 3)
    del memory
    gc.collect()
    assert gone() is not None
    assert set(content(inner)) == {3}
    del inner
    assert gone() is None
    assert device.memory_info.free == free


def test_closing_a_buffer_closes_the_views_of_it(device: Device) -> None:
    memory = Buffer(4096)
    outer, sibling = memory[:64], memory[64:]
    inner = outer[8:16]
    memory.close()
    with Buffer(4096) as reused:  # perhaps at the same address, which nobody may reach through the views
        fill(reused, 1)
        for view in (outer, sibling, inner):
            assert view.is_closed
            with pytest.raises(ClosedError, match="this buffer is closed"):
                copy(view, bytes(8))
        assert set(content(reused)) == {1}


def test_closing_a_view_frees_nothing(filled: tuple[Buffer, np.ndarray]) -> None:
    memory, sent = filled
    view = memory[16:]
    inner, sibling = view[:16], memory[16:32]
    view.close()
    assert inner.is_closed
    assert np.array_equal(content(sibling), sent[16:32])
    assert np.array_equal(content(memory), sent)


def test_views_do_not_pile_up(filled: tuple[Buffer, np.ndarray]) -> None:
    memory, _ = filled
    for _ in range(1000):
        memory[1:2]
    assert memory._views is not None
    assert len(memory._views) == 0


def test_threads_may_slice_and_close_at_once(device: Device) -> None:
    for _ in range(20):
        memory = Buffer(4096)
        start = threading.Barrier(4)
        views: list[Buffer] = []

        def cut(memory: Buffer = memory, start: threading.Barrier = start, views: list[Buffer] = views) -> None:
            start.wait()
            for i in range(100):
                try:
                    views.append(memory[i : i + 1][:])
                except ClosedError:
                    return

        threads = [threading.Thread(target=cut) for _ in range(3)]
        for thread in threads:
            thread.start()
        start.wait()
        memory.close()
        for thread in threads:
            thread.join()
        assert memory.is_closed
        assert all(view.is_closed for view in views)


# --- use after close -------------------------------------------------------------------------------------------------

USES: dict[str, Callable[[Buffer, Stream], object]] = {
    "handle": lambda memory, stream: memory.handle,
    "device": lambda memory, stream: memory.device,
    "slice": lambda memory, stream: memory[:4],
    "copy to": lambda memory, stream: copy(memory, bytes(4)),
    "copy from": lambda memory, stream: copy(bytearray(64), memory),
    "copy_async": lambda memory, stream: copy_async(memory, bytes(4), stream),
    "fill": lambda memory, stream: fill(memory, 0),
    "fill_async": lambda memory, stream: fill(memory, 0, stream),
    "export": lambda memory, stream: memory.__dlpack__(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_a_closed_buffer_says_so(use: Callable[[Buffer, Stream], object], stream: Stream) -> None:
    memory = Buffer(64)
    memory.close()
    memory.close()
    assert memory.is_closed
    assert repr(memory) == "<ascend_rt.Buffer closed, 64 bytes>"
    with pytest.raises(ClosedError, match="this buffer is closed"):
        use(memory, stream)


def test_a_with_block_closes_whatever_happens(device: Device) -> None:
    free = device.memory_info.free
    with pytest.raises(KeyError), Buffer(1 << 20) as memory:
        raise KeyError
    assert memory.is_closed
    assert device.memory_info.free == free


# --- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Buffer, PinnedBuffer])
@pytest.mark.parametrize(
    ("nbytes", "error"),
    [(0, InvalidArgument), (-1, ValueError), (1.5, TypeError), ("64", TypeError), (1 << 70, OverflowError)],
)
def test_refused_sizes_leave_nothing(kind: Any, nbytes: Any, error: type[Exception], device: Device) -> None:
    free = device.memory_info.free
    with pytest.raises(error):
        kind(nbytes)
    gc.collect()
    assert device.memory_info.free == free


def test_memory_needs_a_context(device: Device) -> None:
    for kind in (Buffer, PinnedBuffer):
        refused = in_thread(lambda kind=kind: kind(64))
        assert isinstance(refused, NoContext)
        assert "Device.set_current()" in str(refused)


def test_memory_can_be_discarded_in_a_thread_without_a_context(device: Device) -> None:
    free = device.memory_info.free
    held = [Buffer(1 << 20), PinnedBuffer(1 << 20)]
    assert in_thread(held.clear) is None
    assert device.memory_info.free == free


def test_threads_allocate_and_free(device: Device) -> None:
    free = device.memory_info.free
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            with device:
                sent = pattern(1000 + seed)
                for _ in range(50):
                    with Buffer(sent.nbytes) as memory:
                        copy(memory[:], sent)
                        assert np.array_equal(content(memory), sent)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert device.memory_info.free == free


# --- borrowed memory -------------------------------------------------------------------------------------------------


def test_borrowed_memory_is_not_freed(filled: tuple[Buffer, np.ndarray]) -> None:
    memory, sent = filled
    borrowed = Buffer.from_handle(memory.handle + 96, 100)
    assert (borrowed.base, borrowed.offset) == (None, 0)
    assert "borrowed, 100 bytes" in repr(borrowed)
    assert np.array_equal(content(borrowed[4:]), sent[100:196])
    borrowed.close()
    assert np.array_equal(content(memory), sent)


def test_the_owner_lives_as_long_as_what_borrows_from_it(device: Device) -> None:
    owner = Buffer(4096)
    fill(owner, 5)
    gone = weakref.ref(owner)
    borrowed = Buffer.from_handle(owner.handle, 4096, owner=owner)
    del owner
    part = borrowed[:64]
    del borrowed
    gc.collect()
    assert gone() is not None
    assert set(content(part)) == {5}
    del part
    assert gone() is None


def test_a_part_of_the_owner_is_a_view_of_it(device: Device) -> None:
    owner, other = Buffer(4096), Buffer(4096)
    part = Buffer.from_handle(owner.handle + 1024, 512, owner=owner)
    elsewhere = Buffer.from_handle(other.handle, 512, owner=owner)
    assert (part.base, part.offset, part.nbytes) == (owner, 1024, 512)
    assert (elsewhere.base, elsewhere.offset, elsewhere.handle) == (None, 0, other.handle)
    owner.close()
    assert (part.is_closed, elsewhere.is_closed) == (True, False)


def test_any_object_may_be_the_owner(filled: tuple[Buffer, np.ndarray]) -> None:
    class Tensor:
        pass

    tensor = Tensor()
    gone = weakref.ref(tensor)
    borrowed = Buffer.from_handle(filled[0].handle, 8, owner=tensor)
    del tensor
    assert borrowed.base is None
    assert gone() is not None
    del borrowed
    assert gone() is None


def test_only_device_memory_is_borrowed(device: Device) -> None:
    with pytest.raises(ValueError, match=r"0x1234 is no address of a device's memory.*UNREGISTERED"):
        Buffer.from_handle(GARBAGE, 8)
    with PinnedBuffer(64) as pinned, pytest.raises(ValueError, match="runtime calls it HOST"):
        Buffer.from_handle(pinned.handle, 64)
    with pytest.raises(InvalidArgument, match="NULL"):
        Buffer.from_handle(0, 8)
    with Buffer(8) as memory, pytest.raises(ValueError, match="cannot be negative: -8"):
        Buffer.from_handle(memory.handle, -8)


def test_a_borrowed_size_is_checked_when_it_is_used(device: Device) -> None:
    with Buffer(4096) as memory:
        too_large = Buffer.from_handle(memory.handle, 1 << 20)
        with pytest.raises(InvalidArgument, match="not inside one live allocation"):
            copy(too_large, bytes(1 << 20))


# --- pinned memory ---------------------------------------------------------------------------------------------------


def test_a_pinned_buffer_has_its_memory_without_a_copy(device: Device) -> None:
    with PinnedBuffer(4096) as pinned:
        assert pinned.handle == pinned.ctypes.data
        assert pointer_attributes(pinned.handle).location == MemLocationType.HOST
        part = pinned[64:].view(np.uint32)
        part[:] = 7
        assert part.ctypes.data == pinned.handle + 64
        assert list(pinned[64:68]) == [7, 0, 0, 0]
        assert repr(pinned) == f"<ascend_rt.PinnedBuffer {pinned.handle:#x}, 4096 bytes>"


def test_views_of_pinned_memory_are_pinned(stream: Stream) -> None:
    with PinnedBuffer(256) as pinned, Buffer(64) as memory:
        pinned[:] = 0
        fill(memory, 4)
        with Latch(stream):
            copy_async(pinned[64:128].view(np.float32), memory, stream)
            assert not pinned.any()
        stream.synchronize()
        assert (pinned == 4).nonzero()[0].tolist() == list(range(64, 128))


def test_a_closed_pinned_buffer_is_refused_by_copies(stream: Stream) -> None:
    pinned = PinnedBuffer(64)
    pinned.close()
    assert pinned.size == 0
    with Buffer(64) as memory:
        for refused in (
            lambda: copy(memory, pinned),
            lambda: copy(pinned, memory),
            lambda: copy_async(memory, pinned, stream),
        ):
            with pytest.raises(ClosedError, match="this pinned buffer is closed"):
                refused()


def test_an_empty_part_of_a_pinned_buffer_is_not_closed(device: Device) -> None:
    with PinnedBuffer(64) as pinned, Buffer(64) as memory:
        empty = pinned[8:8]
        assert not empty.is_closed
        copy(memory, empty)


VIEWS: dict[str, Callable[[PinnedBuffer], Any]] = {
    "slice": lambda pinned: pinned[8:],
    "slice of a slice": lambda pinned: pinned[8:][8:],
    "other type": lambda pinned: pinned.view(np.float32),
    "ordinary array": np.asarray,
    "slice of an ordinary array": lambda pinned: np.asarray(pinned)[8:],
    "memoryview": memoryview,
    "array of a memoryview": lambda pinned: np.frombuffer(memoryview(pinned)[8:], np.uint8),
    "reshaped": lambda pinned: pinned.reshape(-1, 64)[:, :8],
}


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS.keys())
def test_the_last_view_gives_pinned_memory_back(
    make: Callable[[PinnedBuffer], Any], device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_back: list[Any] = []

    def note(pointer: Any) -> None:
        given_back.append(pointer)
        _free_host(pointer)

    monkeypatch.setattr("ascend_rt.memory._free_host", note)
    pinned = PinnedBuffer(4096)
    pinned[:] = 5
    view = make(pinned)
    expected = bytes(view)
    pinned.close()
    pinned.close()
    assert pinned.is_closed
    del pinned
    gc.collect()
    assert given_back == []
    assert bytes(view) == expected
    del view
    assert len(given_back) == 1


def test_a_closed_view_leaves_the_pinned_buffer_alone(device: Device) -> None:
    pinned = PinnedBuffer(64)
    pinned[:] = 5
    part = pinned[:8]
    plain = np.asarray(part)
    part.close()
    assert (part.is_closed, pinned.is_closed) == (True, False)
    pinned.close()
    assert list(plain) == [5] * 8


@pytest.mark.parametrize("twin", [lambda pinned: pinned.copy(), copies.deepcopy], ids=["copy", "deepcopy"])
def test_a_copy_of_a_pinned_buffer_owns_ordinary_memory(twin: Callable[[Any], Any], device: Device) -> None:
    with PinnedBuffer(16) as pinned:
        pinned[:] = 6
        ordinary = twin(pinned)
    assert pointer_attributes(ordinary.ctypes.data).location == MemLocationType.UNREGISTERED
    assert list(ordinary) == [6] * 16


@pytest.mark.parametrize(
    "make",
    [
        lambda it: it.copy(),
        lambda it: it.astype(np.float32),
        lambda it: it[[1, 2]],
        lambda it: it[it == it],
        lambda it: it.repeat(2),
        np.empty_like,
        np.sort,
        copies.deepcopy,
        lambda it: pickle.loads(pickle.dumps(it)),
        lambda it: np.empty_like(it[:0]),
    ],
)
def test_only_what_is_pinned_says_so(make: Callable[[Any], Any], device: Device) -> None:
    pinned = PinnedBuffer(64)
    made = make(pinned)
    assert not isinstance(made, PinnedBuffer)
    assert not isinstance(made[:1], PinnedBuffer)
    copy(Buffer(4096), made)
    assert isinstance(pinned.view(np.float32)[2:].reshape(2, -1), PinnedBuffer)


def test_arithmetic_makes_ordinary_arrays(device: Device) -> None:
    with PinnedBuffer(16) as pinned:
        pinned[:] = 6
        assert type(pinned * 2) is np.ndarray
        assert type(pinned.sum()) is np.uint64
        pinned += 1
        assert type(pinned) is PinnedBuffer
        assert set(pinned) == {7}


# --- registered memory -----------------------------------------------------------------------------------------------


@pytest.fixture
def registers(backend: str) -> None:
    if backend == "sim" and sim.info().product not in ("950", "910B", "910C"):
        pytest.skip("the product registers no host memory")


@pytest.mark.usefixtures("registers")
class TestRegisteredMemory:
    def test_copies_are_asynchronous(self, stream: Stream) -> None:
        array = pages(PAGE)
        with Buffer(PAGE) as memory, RegisteredMemory(array) as registered:
            assert registered.nbytes == array.nbytes
            assert registered.handle == array.ctypes.data
            fill(memory, 9)
            with Latch(stream):
                copy_async(array, memory, stream)  # returns, though the stream is busy
                assert not array.any()
            stream.synchronize()
            assert set(array) == {9}
            with Latch(stream):
                array[:] = 1
                copy_async(memory, array, stream)
                array[:] = 2  # read when its turn comes
            stream.synchronize()
            assert set(content(memory)) == {2}

    def test_it_is_host_memory_until_it_is_closed(self, device: Device) -> None:
        array = pages(2 * PAGE)
        registered = RegisteredMemory(array)
        assert pointer_attributes(registered.handle + PAGE).location == MemLocationType.HOST
        registered.close()
        registered.close()
        assert pointer_attributes(array.ctypes.data).location == MemLocationType.UNREGISTERED
        with pytest.raises(ClosedError, match="this registered memory is closed"):
            _ = registered.handle
        RegisteredMemory(array).close()

    def test_the_array_is_held_until_it_is_closed(self, device: Device) -> None:
        memory = mmap.mmap(-1, PAGE)
        registered = RegisteredMemory(memory)
        with pytest.raises(BufferError):
            memory.close()
        registered.close()
        memory.close()

    def test_discarding_unregisters(self, device: Device) -> None:
        array = pages(PAGE)
        registered = RegisteredMemory(array)
        del registered
        gc.collect()
        assert pointer_attributes(array.ctypes.data).location == MemLocationType.UNREGISTERED

    @pytest.mark.parametrize("let_go", [RegisteredMemory.close, RegisteredMemory.__del__])
    def test_a_thread_without_a_context_unregisters(
        self, let_go: Callable[[RegisteredMemory], None], device: Device
    ) -> None:
        array = pages(PAGE)
        registered = RegisteredMemory(array)
        assert in_thread(lambda: let_go(registered)) is None
        assert pointer_attributes(array.ctypes.data).location == MemLocationType.UNREGISTERED
        registered._take_handle()

    def test_overlaps_are_refused(self, device: Device) -> None:
        array = pages(3 * PAGE)
        with RegisteredMemory(array[PAGE : 2 * PAGE]):
            for part in (array, array[PAGE:], array[: PAGE + 1]):
                with pytest.raises(AclError, match="registered already") as refused:
                    RegisteredMemory(part)
                assert refused.value.code == 507910
            RegisteredMemory(array[:PAGE]).close()
        RegisteredMemory(array).close()

    def test_it_begins_at_a_page(self, device: Device) -> None:
        with pytest.raises(InvalidArgument, match="not aligned to 4 KiB"):
            RegisteredMemory(pages(2 * PAGE)[64:])

    @pytest.mark.parametrize(
        ("operand", "error"),
        [
            (bytes(PAGE), BufferError),
            (np.zeros((64, 64))[:, :2], ValueError),
            (5, TypeError),
            (bytearray(), InvalidArgument),
        ],
        ids=["read-only", "not contiguous", "no buffer", "empty"],
    )
    def test_refused_operands(self, operand: Any, error: type[Exception], device: Device) -> None:
        with pytest.raises(error):
            RegisteredMemory(operand)

    def test_it_needs_a_context(self, device: Device) -> None:
        assert isinstance(in_thread(lambda: RegisteredMemory(pages(PAGE))), NoContext)

    def test_a_failed_registration_holds_nothing(self, device: Device) -> None:
        memory = mmap.mmap(-1, 2 * PAGE)
        with pytest.raises(InvalidArgument):
            RegisteredMemory(memoryview(memory)[1:])
        gc.collect()
        memory.close()

    def test_kernels_see_what_is_mapped(self, stream: Stream) -> None:
        array = pages(PAGE)
        with RegisteredMemory(array, mapped=True) as registered, Buffer(PAGE) as memory:
            assert registered.device_pointer != 0
            fill(memory, 3)
            with Latch(stream):
                copy_async(array, memory, stream)
                assert not array.any()
            stream.synchronize()
            assert set(array) == {3}
        with RegisteredMemory(array) as registered, pytest.raises(InvalidArgument, match="not registered for devices"):
            _ = registered.device_pointer


@pytest.mark.parametrize("product", ["310B", "310P", "910"])
def test_products_that_register_no_host_memory(product: str, run: Any) -> None:
    script = """
import mmap
import ascend_rt as rt
rt.Device(0).set_current()
memory = mmap.mmap(-1, 4096)
try:
    rt.RegisteredMemory(memory)
except rt.errors.NotSupported as error:
    print(error.code)
memory.close()
"""
    ended = run("-c", script, ASCEND_RT_BACKEND="sim", ASCEND_RT_SIM_PRODUCT=product)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "207000\n", "")


# --- what the runtime knows ------------------------------------------------------------------------------------------


def test_pointer_attributes(device: Device) -> None:
    ordinary = np.zeros(64)
    with Buffer(4096) as memory, PinnedBuffer(64) as pinned:
        found = {
            pointer_attributes(memory.handle + 5): (MemLocationType.DEVICE, 0),
            pointer_attributes(pinned.handle): (MemLocationType.HOST, 0),
            pointer_attributes(ordinary.ctypes.data): (MemLocationType.UNREGISTERED, 0),
        }
    for attributes, expected in found.items():
        assert (attributes.location, attributes.device_id) == expected
        assert attributes.page_size >= 4096


def test_pointer_attributes_need_no_context(device: Device) -> None:
    with Buffer(64) as memory:
        assert in_thread(lambda: pointer_attributes(memory.handle)).location == MemLocationType.DEVICE
        assert in_thread(lambda: memory.device) == Device(0)


def test_a_buffer_knows_its_device(device: Device) -> None:
    if Device.count() < 2:
        pytest.skip("needs two devices")
    with Device(1):
        there = Buffer(64)
    assert (there.device, there[8:].device, Device.current()) == (Device(1), Device(1), device)
    assert there.__dlpack_device__() == (12, 1)
    there.close()


def test_memory_info_needs_no_context_and_changes_none(device: Device) -> None:
    here = device.memory_info
    assert 0 < here.free <= here.total
    assert in_thread(lambda: Device(0).memory_info) == here
    with Context(0) as explicit:
        assert Device(0).memory_info == here
        current = Context.current()
        assert current is not None
        assert current.handle == explicit.handle
    explicit.close()


def test_memory_of_another_device_is_counted_there(device: Device) -> None:
    if Device.count() < 2:
        pytest.skip("needs two devices")
    there = Device(1).memory_info
    with Buffer(64 << 20):
        assert Device(1).memory_info == there
    with Device(1), Buffer(64 << 20):
        assert there.free - Device(1).memory_info.free >= 64 << 20


def test_memory_usage(device: Device, backend: str) -> None:
    if backend == "sim" and sim.info().product == "950":
        with pytest.raises(NotSupported):
            device.memory_usage()
        return
    with Buffer(64 << 20):
        usage = device.memory_usage()
        assert sum(it.current for it in usage) >= 64 << 20
    assert [it.current for it in usage] == sorted((it.current for it in usage), reverse=True)
    assert all(it.name and it.current <= it.peak for it in usage)
    assert sum(it.current for it in device.memory_usage()) <= sum(it.current for it in usage) - (64 << 20)


@pytest.mark.parametrize("ask", [lambda it: it.memory_info, lambda it: it.memory_usage()], ids=["info", "usage"])
def test_there_is_no_such_device(ask: Callable[[Device], object], device: Device) -> None:
    with pytest.raises(InvalidArgument, match="does not exist") as refused:
        ask(Device(4096))
    assert refused.value.code == 107001
    assert Device.current() == device


def test_threads_share_a_device_object(device: Device) -> None:
    # Each goes back to what it came from, though one enters while the other is inside.
    if Device.count() < 3:
        pytest.skip("needs three devices")
    shared, inside, left = Device(0), threading.Barrier(2), threading.Barrier(2)
    failures: list[BaseException] = []

    def work(home: int) -> None:
        try:
            with Device(home):
                with shared:
                    inside.wait(10)
                    assert Device.current() == shared
                left.wait(10)
                assert Device.current() == Device(home)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(home,)) for home in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_exhaustion_is_a_memory_error_and_passes(device: Device) -> None:
    free = device.memory_info.free
    with Buffer(free // 2):
        with pytest.raises(OutOfMemory) as refused:
            Buffer(free // 4 * 3)
        assert refused.value.code == 207001
        assert isinstance(refused.value, MemoryError)
    Buffer(free // 4 * 3).close()
    assert device.memory_info.free == free
