# SPDX-License-Identifier: Apache-2.0
"""Managed buffers: arrays of them, copies, advice, and where their pages go."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.memory import note_freed

from ascend_rt import (
    Buffer,
    Device,
    ManagedBuffer,
    PinnedBuffer,
    Stream,
    copy,
    copy_2d,
    copy_async,
    ffi,
    fill,
    fill_async,
    pointer_attributes,
)
from ascend_rt.enums import MemLocationType
from ascend_rt.errors import ClosedError, InvalidArgument, NoContext
from ascend_rt.testing import Latch

pytestmark = pytest.mark.usefixtures("managed")

N = 4096
HOST, NOWHERE = -1, -2


@pytest.fixture
def given_back(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list of the memory that was freed."""
    return note_freed(monkeypatch)


# --- the host's view -------------------------------------------------------------------------------------------------


def test_an_array_is_the_memory_itself(device: Device) -> None:
    with ManagedBuffer(N) as memory:
        array = np.asarray(memory)
        assert (array.dtype, array.shape, array.ctypes.data) == (np.uint8, (N,), memory.handle)
        assert array.flags.writeable
        array[:] = 3
        assert set(np.asarray(memory)) == {3}
        assert not np.shares_memory(np.array(memory), array)
        assert repr(memory) == f"<ascend_rt.ManagedBuffer {memory.handle:#x}, {N} bytes>"


def test_the_device_sees_what_the_host_writes(stream: Stream) -> None:
    with ManagedBuffer(N) as memory, Buffer(N) as there:
        array = np.asarray(memory).view(np.float32)
        array[:] = np.arange(N // 4)
        with Latch(stream):
            copy_async(there, memory, stream)
            fill_async(memory[16:32], 0, stream)  # in its turn, behind the copy
            assert array[4:8].any()
        stream.synchronize()
        assert not array[4:8].any()
        assert array[8] == 8
        copy(array, there)
        assert np.array_equal(array, np.arange(N // 4))


MOVES: dict[str, Callable[[Any, Any, Stream], object]] = {
    "copy": lambda dst, src, stream: copy(dst, src),
    "copy_async": copy_async,
    "copy_2d": lambda dst, src, stream: copy_2d(dst, src, width=N // 4, height=4),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES.keys())
@pytest.mark.parametrize("host", [PinnedBuffer, lambda n: np.zeros(n, np.uint8)], ids=["pinned", "pageable"])
def test_it_is_copied_as_device_memory(move: Callable[[Any, Any, Stream], object], host: Any, stream: Stream) -> None:
    sent, received = host(N), host(N)
    sent[:] = np.arange(N)
    with ManagedBuffer(N) as memory:
        move(memory, sent, stream)
        stream.synchronize()
        assert np.array_equal(np.asarray(memory), sent)
        move(received, memory, stream)
        stream.synchronize()
    assert np.array_equal(received, sent)


def test_an_array_is_the_hosts_memory_for_copies(device: Device) -> None:
    with ManagedBuffer(N) as memory, Buffer(N) as there:
        array = np.asarray(memory)
        array[:] = 5
        copy(there, array)
        array[:] = 0
        copy(array, there)
        assert set(array) == {5}


def test_a_copy_waits_for_its_turn_and_keeps_the_buffer(stream: Stream) -> None:
    memory, there = ManagedBuffer(N), Buffer(N)
    fill(there, 8)
    array, reference = np.asarray(memory), weakref.ref(memory)
    array[:] = 0
    with Latch(stream):
        copy_async(memory, there, stream)
        del memory
        gc.collect()
        assert reference() is not None
        assert not array.any()
    stream.synchronize()
    assert reference() is None
    assert set(array) == {8}


# --- lifetimes -------------------------------------------------------------------------------------------------------

ARRAYS: dict[str, Callable[[ManagedBuffer], Any]] = {
    "array": np.asarray,
    "part": lambda memory: np.asarray(memory)[8:],
    "other type": lambda memory: np.asarray(memory).view(np.float64),
    "memoryview": lambda memory: memoryview(np.asarray(memory)),
}


@pytest.mark.parametrize("end", ["close", "discard"])
@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS.keys())
def test_an_array_never_points_to_freed_memory(
    make: Callable[[ManagedBuffer], Any], end: str, device: Device, given_back: list[Any]
) -> None:
    memory = ManagedBuffer(N)
    np.asarray(memory)[:] = 7
    array = make(memory)
    if end == "close":
        memory.close()
        memory.close()
        assert memory.is_closed
    else:
        del memory
        gc.collect()
    assert given_back == []
    assert set(bytes(array)) == {7}
    del array
    assert len(given_back) == 1


def test_closing_frees_at_once_without_arrays(device: Device, given_back: list[Any]) -> None:
    memory = ManagedBuffer(N)
    np.asarray(memory)[:] = 1
    handle = memory.handle
    memory.close()
    assert len(given_back) == 1
    with pytest.raises(InvalidArgument):
        ManagedBuffer.prefer(_stale(handle), None)


def _stale(handle: int) -> Any:
    """Return a managed buffer of memory that may be gone."""
    stale = ManagedBuffer.__new__(ManagedBuffer)
    stale._describe(N, None)
    stale._borrow(ffi.cast("void *", handle))
    return stale


def test_a_closed_buffer_is_no_array(device: Device) -> None:
    memory = ManagedBuffer(N)
    view = memory[8:]
    memory.close()
    with pytest.raises(ClosedError, match="this managed buffer is closed"):
        np.asarray(memory)
    with pytest.raises(ClosedError):
        copy(view, bytes(8))


def test_memory_is_given_back(device: Device) -> None:
    gc.collect()
    free = device.memory_info.free
    for _ in range(10):
        np.asarray(ManagedBuffer(4 << 20))[:] = 1
    gc.collect()
    assert device.memory_info.free == free


def test_a_view_is_an_ordinary_device_buffer(device: Device) -> None:
    with ManagedBuffer(N) as memory:
        view = memory[8:16]
        assert type(view) is Buffer
        copy(view, b"abcdefgh")
        assert np.asarray(memory)[8:16].tobytes() == b"abcdefgh"
        with pytest.raises(TypeError, match="cannot be read from the host"):
            np.asarray(view)


# --- what it is ------------------------------------------------------------------------------------------------------


def test_its_address_is_managed(device: Device) -> None:
    with ManagedBuffer(N) as memory:
        attributes = pointer_attributes(memory.handle + 5)
        assert (attributes.location, attributes.device_id) == (MemLocationType.MANAGED, 0)
        assert memory.device == device
        assert memory.handle % (2 << 20) == 0
        borrowed = Buffer.from_handle(memory.handle, N)
        fill(borrowed, 2)
        assert set(np.asarray(memory)) == {2}


@pytest.mark.parametrize(("nbytes", "error"), [(0, InvalidArgument), (-1, ValueError), (1.5, TypeError)])
def test_refused_sizes(nbytes: Any, error: type[Exception], device: Device) -> None:
    with pytest.raises(error):
        ManagedBuffer(nbytes)


def test_it_needs_a_context(device: Device) -> None:
    import threading

    refused: list[Exception] = []

    def work() -> None:
        try:
            ManagedBuffer(N)
        except NoContext as error:
            refused.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(refused) == 1


# --- advice ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nbytes", [1, N, 2 << 20, (2 << 20) + 1])
def test_read_mostly(nbytes: int, device: Device) -> None:
    with ManagedBuffer(nbytes) as memory:
        assert not memory.is_read_mostly
        memory.is_read_mostly = True
        memory.is_read_mostly = True
        assert memory.is_read_mostly
        memory.is_read_mostly = False
        assert not memory.is_read_mostly


def test_preferred_location(device: Device) -> None:
    with ManagedBuffer(N) as memory:
        assert memory.preferred_location == NOWHERE
        memory.prefer(device)
        assert memory.preferred_location == 0
        memory.prefer(None)
        assert memory.preferred_location == HOST
        if Device.count() > 1:
            memory.prefer(Device(1))
            assert memory.preferred_location == 1
        memory.prefer_nothing()
        assert memory.preferred_location == NOWHERE


def test_who_accesses_it(device: Device, lib: Any, ffi: Any) -> None:
    def accessing(memory: ManagedBuffer) -> list[int]:
        found = ffi.new("int32_t[2]")
        attribute = lib.ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY
        pointer = ffi.cast("void *", memory.handle)
        assert lib.aclrtMemManagedGetAttr(attribute, pointer, N, found, ffi.sizeof(found)) == 0
        return sorted(found, reverse=True)

    with ManagedBuffer(N) as memory:
        before = accessing(memory)
        memory.accessed_by(device)
        memory.accessed_by(None)
        assert accessing(memory) == [0, HOST]
        memory.accessed_by(None, is_accessed=False)
        assert accessing(memory)[0] == 0
        memory.accessed_by(device, is_accessed=False)
        assert accessing(memory) == before


ADVICE: dict[str, Callable[[ManagedBuffer, Any, Stream], object]] = {
    "prefer": lambda memory, location, stream: memory.prefer(location),
    "accessed_by": lambda memory, location, stream: memory.accessed_by(location),
    "prefetch": lambda memory, location, stream: memory.prefetch(location, stream),
}


@pytest.mark.parametrize("advise", ADVICE.values(), ids=ADVICE.keys())
def test_advice_about_a_device_that_there_is_not(advise: Any, stream: Stream) -> None:
    with ManagedBuffer(N) as memory:
        with pytest.raises(InvalidArgument, match="there is no location of type 1 with id 4096"):
            advise(memory, Device(4096), stream)
        assert memory.preferred_location == NOWHERE


@pytest.mark.parametrize("advise", ADVICE.values(), ids=ADVICE.keys())
def test_advice_about_a_closed_buffer(advise: Any, stream: Stream) -> None:
    memory = ManagedBuffer(N)
    memory.close()
    with pytest.raises(ClosedError, match="this managed buffer is closed"):
        advise(memory, None, stream)


# --- prefetch --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("location", [None, Device(0)], ids=["host", "device"])
def test_a_prefetch_changes_no_byte_and_waits_for_its_turn(location: Device | None, stream: Stream) -> None:
    memory = ManagedBuffer(N)
    array, reference = np.asarray(memory), weakref.ref(memory)
    array[:] = 4
    with Latch(stream):
        memory.prefetch(location, stream)
        done = stream.record()
        assert not done.is_done
        del memory
        gc.collect()
        assert reference() is not None
    stream.synchronize()
    assert reference() is None
    assert set(array) == {4}


# --- products --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("product", ["950", "910C", "310B", "310P", "910"])
@pytest.mark.simulator("products")
def test_products_without_managed_memory(product: str, run: Any) -> None:
    script = """
import ascend_rt as rt
rt.Device(0).set_current()
try:
    rt.ManagedBuffer(64)
except rt.errors.NotSupported as error:
    print(error.code)
"""
    ended = run("-c", script, ASCEND_RT_BACKEND="sim", ASCEND_RT_SIM_PRODUCT=product)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "207000\n", "")
