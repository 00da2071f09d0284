# SPDX-License-Identifier: Apache-2.0
"""``PinnedBuffer`` and ``RegisteredMemory``: views, lifetimes and misuse."""

from __future__ import annotations

import copy as copies
import gc
import mmap
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.memory import content, note_freed
from support.memory_pools import PAGE
from support.threads import in_thread

from ascend_rt import (
    Buffer,
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
from ascend_rt._memory.host_allocation import HostAllocation
from ascend_rt.enums import MemLocationType
from ascend_rt.errors import AclError, ClosedError, InvalidArgument, NoContext
from ascend_rt.testing import Latch


def pages(n: int) -> np.ndarray:
    """Return an array that begins at a page."""
    return np.frombuffer(mmap.mmap(-1, n), np.uint8)


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


def test_memory_that_outlives_its_module_is_left_to_the_end_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    allocation = HostAllocation("aclrtMallocHost", "aclrtFreeHost", 64)
    with monkeypatch.context() as patch:
        patch.setattr("ascend_rt.memory.lib", None)  # as when the interpreter ends
        allocation._discard(lambda: True)
    assert not allocation.is_closed


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS.keys())
def test_the_last_view_frees_the_pinned_memory(
    make: Callable[[PinnedBuffer], Any], device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed = note_freed(monkeypatch)
    pinned = PinnedBuffer(4096)
    pinned[:] = 5
    view = make(pinned)
    expected = bytes(view)
    pinned.close()
    pinned.close()
    assert pinned.is_closed
    del pinned
    gc.collect()
    assert freed == []
    assert bytes(view) == expected
    del view
    assert len(freed) == 1


def test_closing_a_view_does_not_close_the_pinned_buffer(device: Device) -> None:
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
def test_only_pinned_arrays_are_pinned_buffers(make: Callable[[Any], Any], device: Device) -> None:
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
                array[:] = 2  # read when the copy runs
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

    def test_a_thread_without_a_context_unregisters(self, device: Device) -> None:
        array = pages(PAGE)
        registered = RegisteredMemory(array)
        assert in_thread(registered.close) is None
        assert pointer_attributes(array.ctypes.data).location == MemLocationType.UNREGISTERED

    def test_overlaps_are_refused(self, device: Device) -> None:
        array = pages(3 * PAGE)
        with RegisteredMemory(array[PAGE : 2 * PAGE]):
            for part in (array, array[PAGE:], array[: PAGE + 1]):
                with pytest.raises(AclError, match="registered already") as refused:
                    RegisteredMemory(part)
                assert refused.value.code == 507910
            RegisteredMemory(array[:PAGE]).close()
        RegisteredMemory(array).close()

    @pytest.mark.parametrize("part", [slice(64, 64 + PAGE), slice(0, PAGE - 1), slice(0, PAGE + 904)], ids=str)
    def test_what_is_mapped_has_whole_pages(self, part: slice, device: Device) -> None:
        array = pages(2 * PAGE)[part]
        with pytest.raises(AclError, match="not whole pages") as refused:
            RegisteredMemory(array, mapped=True)
        assert refused.value.code == 507899
        with RegisteredMemory(array) as registered:
            assert registered.nbytes == array.nbytes

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
        with pytest.raises(NoContext):
            in_thread(lambda: RegisteredMemory(pages(PAGE)))

    def test_a_failed_registration_holds_nothing(self, device: Device) -> None:
        memory = mmap.mmap(-1, 2 * PAGE)
        with pytest.raises(AclError):
            RegisteredMemory(memoryview(memory)[1:], mapped=True)
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
@pytest.mark.simulator("products")
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
