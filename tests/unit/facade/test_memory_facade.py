# SPDX-License-Identifier: Apache-2.0
"""``Buffer``: views, lifetimes, sizes, borrowed memory and misuse."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.memory import content, pattern
from support.threads import in_thread, in_threads

from ascend_rt import (
    Buffer,
    Device,
    PinnedBuffer,
    Stream,
    copy,
    copy_async,
    fill,
    fill_async,
    sim,
)
from ascend_rt.errors import AclError, ClosedError, InvalidArgument, NoContext

PAGE = 4096
GARBAGE = 0x1234


@pytest.fixture
def filled(device: Device) -> Iterator[tuple[Buffer, np.ndarray]]:
    sent = pattern(4096)
    with Buffer(4096) as memory:
        copy(memory, sent)
        yield memory, sent


# --- views -----------------------------------------------------------------------------------------------------------

PARTS = [
    slice(None),
    slice(0, 1),
    slice(4095, None),
    slice(-1, None),
    slice(-4096, -1),
    slice(17, 99),
    slice(100, 10_000),  # clipped, as in any sequence
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


def test_a_whole_buffer_is_not_a_view(filled: tuple[Buffer, np.ndarray]) -> None:
    memory, _ = filled
    assert (memory.base, memory.offset, len(memory)) == (None, 0, 4096)


@pytest.mark.parametrize("part", [slice(0, 0), slice(5, 5), slice(5, 4), slice(4096, None), slice(None, None, -1)])
def test_an_empty_or_stepping_view_is_refused(part: slice, filled: tuple[Buffer, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="expected a non-empty range of bytes"):
        filled[0][part]


@pytest.mark.parametrize("index", [0, -1, None, (1, 2), "a", 1.5, np.arange(3)], ids=repr)
def test_device_memory_is_not_read_by_indexing(index: Any, filled: tuple[Buffer, np.ndarray]) -> None:
    with pytest.raises(TypeError, match="copy a slice of it"):
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
    with Buffer(4096) as reused:  # perhaps at the same address, which the views must not reach
        fill(reused, 1)
        for view in (outer, sibling, inner):
            assert view.is_closed
            with pytest.raises(ClosedError, match="this buffer is closed"):
                copy(view, bytes(8))
        assert set(content(reused)) == {1}


def test_views_are_open_again_with_their_buffer_if_it_could_not_be_closed(device: Device, lib: Any) -> None:
    memory = Buffer(64)
    outer, closed, sibling = memory[8:], memory[16:], memory[32:]
    inner, within_closed = outer[8:], closed[8:]
    closed.close()
    refused = lib.override("aclrtFree", lambda pointer: sibling.close() or 507899)  # as another thread may
    with refused, pytest.raises(AclError, match="507899"):
        memory.close()
    assert [view.is_closed for view in (memory, outer, inner)] == [False] * 3
    assert [view.is_closed for view in (closed, within_closed, sibling)] == [True] * 3
    assert inner.handle == outer.handle + 8 == memory.handle + 16
    outer.close()
    assert inner.is_closed
    memory.close()
    assert outer.is_closed


@pytest.mark.simulator("faults")
def test_views_are_open_again_if_the_runtime_refuses_to_free_their_buffer(device: Device) -> None:
    memory = Buffer(64)
    view = memory[8:]
    with sim.faults():
        sim.fail_call("aclrtFree", 507899)
        with pytest.raises(AclError, match="507899"):
            memory.close()
    fill(view, 3)
    assert set(content(view)) == {3}
    memory.close()
    assert view.is_closed


def test_a_view_that_is_made_anew_is_no_view_of_the_old_buffer(device: Device) -> None:
    memory = Buffer(64)
    view = memory[8:]
    inner = view[8:]
    view.close()
    view.__init__(64)  # type: ignore[misc]
    inner.__init__(64)  # type: ignore[misc]
    memory.close()
    assert not view.is_closed
    view.close()
    assert not inner.is_closed
    inner.close()


def test_closing_a_view_frees_nothing(filled: tuple[Buffer, np.ndarray]) -> None:
    memory, sent = filled
    view = memory[16:]
    inner, sibling = view[:16], memory[16:32]
    view.close()
    assert inner.is_closed
    assert np.array_equal(content(sibling), sent[16:32])
    assert np.array_equal(content(memory), sent)


def test_views_may_be_discarded_in_any_order_before_their_buffer_closes(filled: tuple[Buffer, np.ndarray]) -> None:
    memory, _ = filled
    views = [memory[i:] for i in range(30)]
    views += [views[i][1:] for i in range(20)]  # views of views
    del views[::3]
    memory.close()
    assert all(view.is_closed for view in views)


def test_a_deep_chain_of_views_closes(device: Device) -> None:
    memory = Buffer(64)
    views = [memory]
    for _ in range(20_000):
        views.append(views[-1][:])
    memory.close()
    assert all(view.is_closed for view in views)
    newest = views.pop()
    views.clear()
    del memory, newest  # which has kept all the others


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
    "fill_async": lambda memory, stream: fill_async(memory, 0, stream),
    "export": lambda memory, stream: memory.__dlpack__(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_a_closed_buffer_says_so(use: Callable[[Buffer, Stream], object], stream: Stream) -> None:
    memory = Buffer(64)
    memory.close()
    memory.close()
    assert memory.is_closed
    assert repr(memory) == "<ascend_rt.Buffer closed>"
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
def test_refused_sizes_allocate_nothing(kind: Any, nbytes: Any, error: type[Exception], device: Device) -> None:
    free = device.memory_info.free
    with pytest.raises(error):
        kind(nbytes)
    gc.collect()
    assert device.memory_info.free == free


def test_memory_needs_a_context(device: Device) -> None:
    for kind in (Buffer, PinnedBuffer):
        with pytest.raises(NoContext, match=r"Device\.set_current\(\)"):
            in_thread(lambda kind=kind: kind(64))


def test_memory_can_be_discarded_in_a_thread_without_a_context(device: Device) -> None:
    free = device.memory_info.free
    held = [Buffer(1 << 20), PinnedBuffer(1 << 20)]
    assert in_thread(held.clear) is None
    assert device.memory_info.free == free


def test_threads_allocate_and_free(device: Device) -> None:
    free = device.memory_info.free

    def work(seed: int) -> None:
        with device:
            sent = pattern(1000 + seed)
            for _ in range(50):
                with Buffer(sent.nbytes) as memory:
                    copy(memory[:], sent)
                    assert np.array_equal(content(memory), sent)

    in_threads(*(partial(work, seed) for seed in range(4)))
    assert device.memory_info.free == free


# --- borrowed memory -------------------------------------------------------------------------------------------------


def test_borrowed_memory_is_not_freed(filled: tuple[Buffer, np.ndarray]) -> None:
    memory, sent = filled
    borrowed = Buffer.from_handle(memory.handle + 96, 100)
    assert (borrowed.base, borrowed.offset) == (None, 0)
    assert "100 bytes, borrowed" in repr(borrowed)
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
    with pytest.raises(ValueError, match=r"0x1234 is not in a device's memory.*UNREGISTERED"):
        Buffer.from_handle(GARBAGE, 8)
    with PinnedBuffer(64) as pinned, pytest.raises(ValueError, match="runtime reports HOST"):
        Buffer.from_handle(pinned.handle, 64)
    with pytest.raises(InvalidArgument, match="NULL"):
        Buffer.from_handle(0, 8)
    with Buffer(8) as memory, pytest.raises(ValueError, match="must not be negative, got -8"):
        Buffer.from_handle(memory.handle, -8)


def test_a_borrowed_size_is_checked_when_it_is_used(device: Device) -> None:
    with Buffer(4096) as memory:
        too_large = Buffer.from_handle(memory.handle, 1 << 20)
        with pytest.raises(InvalidArgument, match="not inside one live allocation"):
            copy(too_large, bytes(1 << 20))
