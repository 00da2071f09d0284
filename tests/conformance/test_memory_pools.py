# SPDX-License-Identifier: Apache-2.0
"""Stream-ordered pools: blocks, which stream may reuse them and when, and what is returned to the device."""

from __future__ import annotations

from typing import Any

import pytest
from support.codes import GARBAGE_HANDLES, INTERNAL, OK, RT_PARAM
from support.memory_pools import (
    FLAGS,
    FOLLOW_EVENTS,
    INTERNAL_DEPENDENCIES,
    MIB,
    OPPORTUNISTIC,
    PAGE,
    THRESHOLD,
    MakePool,
    Pool,
    free,
)

from ascend_rt import Buffer, Device, Stream, sim
from ascend_rt.testing import Latch

pytestmark = pytest.mark.simulator(
    "unspecified", "the vendor's library follows garbage, and its pools do not reuse memory yet"
)


# --- blocks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "pages"), [(1, 1), (PAGE, 1), (PAGE + 1, 2), (5 * PAGE - 1, 5)])
def test_blocks_are_whole_pages(size: int, pages: int, make_pool: MakePool, stream: Stream) -> None:
    pool, free_memory = make_pool(), Device(0).memory_info.free
    block = pool.malloc(size / PAGE, stream)
    assert pool.counts() == (pages, pages)
    assert Device(0).memory_info.free == free_memory - pages * PAGE
    assert pool.free(block, stream) == OK
    assert pool.counts() == (pages, 0)
    stream.synchronize()
    assert pool.counts() == (0, 0)
    assert Device(0).memory_info.free == free_memory


def test_a_block_is_device_memory_in_the_order_of_its_stream(
    make_pool: MakePool, lib: Any, ffi: Any, stream: Stream
) -> None:
    from ascend_rt import PinnedBuffer, copy_async, fill_async

    pool = make_pool()
    with PinnedBuffer(PAGE) as host:
        memory = Buffer.from_handle(pool.malloc(1, stream), PAGE)
        attributes = ffi.new("aclrtPtrAttributes *")
        assert lib.aclrtPointerGetAttributes(ffi.cast("void *", memory.handle), attributes) == OK
        assert attributes.location.type == lib.ACL_MEM_LOCATION_TYPE_DEVICE
        fill_async(memory, 42, stream)
        copy_async(host, memory, stream)
        assert pool.free(memory.handle, stream) == OK
        stream.synchronize()
        assert set(host.tolist()) == {42}


def test_a_full_pool(make_pool: MakePool, ffi: Any, lib: Any, stream: Stream) -> None:
    pool = make_pool(4 * PAGE)
    block = pool.malloc(3, stream)
    assert pool.refused(2, stream) == INTERNAL
    assert b"6291456 of its 8388608 bytes are used" in ffi.string(lib.aclGetRecentErrMsg())
    small = pool.malloc(1, stream)
    assert (pool.free(block, stream), pool.free(small, stream)) == (OK, OK)
    stream.synchronize()
    pool.malloc(4, stream)


def test_a_full_device(make_pool: MakePool, stream: Stream) -> None:
    pool = make_pool()
    with sim.faults():
        sim.limit("memory", 64 * MIB)
        while pool.refused(1, stream) == OK:
            pass
        assert Device(0).memory_info.free < PAGE
        assert pool.refused(1, stream) == INTERNAL


def test_the_best_fit_is_the_smallest_then_the_lowest(make_pool: MakePool, stream: Stream) -> None:
    pool = make_pool()
    sizes = (4, 2, 3, 2, 6)
    blocks = [pool.malloc(pages, stream) for pages in sizes]
    with Latch(stream):
        for block in blocks:
            assert pool.free(block, stream) == OK
        assert [pool.malloc(2, stream), pool.malloc(2, stream)] == sorted([blocks[1], blocks[3]])
        assert pool.malloc(2, stream) == blocks[2]  # a block of three pages: one page is left
        assert pool.malloc(1, stream) == blocks[2] + 2 * PAGE
        assert pool.malloc(5, stream) == blocks[4]
        assert pool.counts() == (17, 12)


def test_adjacent_free_blocks_are_merged(make_pool: MakePool, stream: Stream) -> None:
    pool = make_pool()
    assert pool.set(THRESHOLD, 4 * PAGE) == OK
    whole = pool.malloc(4, stream)
    assert pool.free(whole, stream) == OK
    parts = [pool.malloc(1, stream) for _ in range(4)]
    assert parts == [whole + i * PAGE for i in range(4)]
    for i in (1, 3, 0, 2):
        assert pool.free(parts[i], stream) == OK
    assert pool.malloc(4, stream) == whole
    assert pool.counts() == (4, 4)


# --- reuse -----------------------------------------------------------------------------------------------------------


def freed_behind_a_latch(pool: Pool, stream: Stream) -> int:
    block = pool.malloc(1, stream)
    assert pool.free(block, stream) == OK
    return block


def freed_and_done(pool: Pool, stream: Stream) -> int:
    """Free a block, and wait for that with queries, which do not count as a synchronization."""
    block = freed_behind_a_latch(pool, stream)
    while not stream.is_done:
        pass
    return block


@pytest.mark.parametrize("flags", [(), FLAGS])
def test_the_same_stream_reuses_a_block_at_once(flags: tuple[int, ...], make_pool: MakePool, stream: Stream) -> None:
    pool = make_pool()
    for flag in flags:
        assert pool.set(flag, 1) == OK
    with Latch(stream):
        block = freed_behind_a_latch(pool, stream)
        assert pool.malloc(1, stream) == block
        assert pool.counts() == (1, 1)


@pytest.mark.parametrize("flags", [(), FLAGS])
def test_another_stream_does_not_reuse_a_pending_block(
    flags: tuple[int, ...], make_pool: MakePool, stream: Stream, other: Stream
) -> None:
    pool = make_pool()
    for flag in flags:
        assert pool.set(flag, 1) == OK
    with Latch(stream):
        block = freed_behind_a_latch(pool, stream)
        assert pool.malloc(1, other) != block
        other.synchronize()  # and is not made to wait for the first stream


@pytest.mark.parametrize("is_allowed", [False, True])
def test_a_stream_that_waits_for_an_event_after_the_free(
    is_allowed: bool, make_pool: MakePool, stream: Stream, other: Stream
) -> None:
    pool = make_pool()
    assert pool.set(FOLLOW_EVENTS, is_allowed) == OK
    with Latch(stream):
        early = stream.record()
        block = freed_behind_a_latch(pool, stream)
        other.wait(early)
        assert pool.malloc(1, other) != block
        other.wait(stream.record())
        assert (pool.malloc(1, other) == block) == is_allowed


@pytest.mark.parametrize("is_allowed", [False, True])
def test_opportunistic_reuse_of_a_block_whose_free_has_run(
    is_allowed: bool, make_pool: MakePool, stream: Stream, other: Stream
) -> None:
    pool = make_pool()
    assert pool.set(OPPORTUNISTIC, is_allowed) == OK
    block = freed_and_done(pool, stream)
    assert (pool.malloc(1, other) == block) == is_allowed


def test_after_a_synchronization_any_stream_may_reuse(make_pool: MakePool, stream: Stream, other: Stream) -> None:
    pool = make_pool()
    assert pool.set(THRESHOLD, PAGE) == OK
    block = freed_behind_a_latch(pool, stream)
    stream.synchronize()
    assert pool.malloc(1, other) == block


def test_a_synchronization_of_the_device_counts_for_streams_that_are_done_already(
    make_pool: MakePool, device: Device, stream: Stream, other: Stream
) -> None:
    pool = make_pool()
    assert pool.set(THRESHOLD, PAGE) == OK
    block = freed_and_done(pool, stream)
    device.synchronize()
    assert pool.malloc(1, other) == block


def test_a_synchronization_of_the_device_in_vain_does_not_count_for_streams_behind(
    make_pool: MakePool, device: Device, stream: Stream, other: Stream
) -> None:
    pool = make_pool()
    assert pool.set(THRESHOLD, PAGE) == OK
    block = freed_and_done(pool, other)
    with Stream() as third, Latch(stream):  # which is older than the other
        with pytest.raises(TimeoutError):
            device.synchronize(timeout=0.01)
        assert pool.malloc(1, third) != block


def test_blocks_of_a_destroyed_stream_can_be_reused(make_pool: MakePool, other: Stream) -> None:
    pool = make_pool()
    with Stream() as short:
        block = freed_behind_a_latch(pool, short)
    assert pool.malloc(1, other) == block


@pytest.mark.parametrize("is_allowed", [False, True])
def test_a_full_pool_makes_a_stream_wait_for_another(
    is_allowed: bool, make_pool: MakePool, stream: Stream, other: Stream
) -> None:
    pool = make_pool(PAGE)
    assert pool.set(INTERNAL_DEPENDENCIES, is_allowed) == OK
    with Latch(stream):
        block = freed_behind_a_latch(pool, stream)
        if is_allowed:
            assert pool.malloc(1, other) == block
            assert not other.is_done
        else:
            assert pool.refused(1, other) == INTERNAL
    other.synchronize()


def test_a_wait_that_the_pool_makes_ends_with_an_abort(
    make_pool: MakePool, lib: Any, ffi: Any, stream: Stream, other: Stream
) -> None:
    pool = make_pool(PAGE)
    assert pool.set(INTERNAL_DEPENDENCIES, 1) == OK
    with Latch(stream):
        block = freed_behind_a_latch(pool, stream)
        assert pool.malloc(1, other) == block
        assert not other.is_done
        assert lib.aclrtStreamAbort(ffi.cast("void *", stream.handle)) == OK
        other.synchronize()


def test_held_streams_reuse_in_stream_order(make_pool: MakePool, stream: Stream) -> None:
    from ascend_rt import PinnedBuffer, copy_async, fill_async

    pool = make_pool(PAGE)
    with PinnedBuffer(8 * 64) as host:
        with sim.held():
            for i in range(8):
                memory = Buffer.from_handle(pool.malloc(1, stream), 64)
                fill_async(memory, i, stream)
                copy_async(host[i * 64 : (i + 1) * 64], memory, stream)
                assert pool.free(memory.handle, stream) == OK
        stream.synchronize()
        assert host.reshape(8, 64).tolist() == [[i] * 64 for i in range(8)]


# --- release ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["stream", "device"])
def test_a_synchronization_releases_what_is_above_the_threshold(
    what: str, make_pool: MakePool, device: Device, stream: Stream, other: Stream
) -> None:
    pool, free_memory = make_pool(), Device(0).memory_info.free
    assert pool.set(THRESHOLD, 2 * PAGE) == OK
    for block in [pool.malloc(1, stream) for _ in range(5)]:
        assert pool.free(block, stream) == OK
    assert pool.counts() == (5, 0)
    while not stream.is_done:
        pass
    assert pool.counts() == (5, 0)
    (device if what == "device" else other).synchronize()  # any stream of the device
    assert pool.counts() == (2, 0)
    assert Device(0).memory_info.free == free_memory - 2 * PAGE


def test_memory_with_a_pending_free_is_not_released(make_pool: MakePool, stream: Stream, other: Stream) -> None:
    pool = make_pool()
    with Latch(stream):
        freed_behind_a_latch(pool, stream)
        other.synchronize()
        assert (pool.trim(0), pool.counts()) == (OK, (1, 0))
    stream.synchronize()
    assert pool.counts() == (0, 0)


def test_trimming(make_pool: MakePool, stream: Stream) -> None:
    pool = make_pool(8 * PAGE)
    assert pool.set(THRESHOLD, 8 * PAGE) == OK
    blocks = [pool.malloc(1, stream) for _ in range(6)]
    for block in blocks[2:]:
        assert pool.free(block, stream) == OK
    stream.synchronize()
    steps = [
        (9, INTERNAL, 6),
        (1, INTERNAL, 6),
        (8, OK, 6),
        (6, OK, 6),
        (4.5, OK, 5),
        (5, OK, 5),
        (2, OK, 2),
        (2, OK, 2),
    ]
    for keep, code, reserved in steps:
        assert (pool.trim(keep), pool.counts()) == (code, (reserved, 2)), keep


def test_a_reservation_is_released_as_a_whole(make_pool: MakePool, stream: Stream) -> None:
    pool = make_pool()
    assert pool.set(THRESHOLD, 4 * PAGE) == OK
    assert pool.free(pool.malloc(4, stream), stream) == OK
    part = pool.malloc(1, stream)
    assert (pool.trim(1), pool.counts()) == (OK, (4, 1))
    assert pool.free(part, stream) == OK
    stream.synchronize()
    assert (pool.trim(2), pool.counts()) == (OK, (4, 0))  # whole reservations only, and never less than 2 pages
    assert (pool.trim(0), pool.counts()) == (OK, (0, 0))


def test_destroying_a_pool_frees_its_blocks(make_pool: MakePool, lib: Any, ffi: Any, stream: Stream) -> None:
    pool, free_memory = make_pool(), Device(0).memory_info.free
    block = pool.malloc(1, stream)
    assert pool.destroy() == OK
    assert Device(0).memory_info.free == free_memory
    host = ffi.new("char[64]")
    assert lib.aclrtMemcpy(host, 64, ffi.cast("void *", block), 64, lib.ACL_MEMCPY_DEVICE_TO_HOST) == RT_PARAM
    assert free(lib, ffi, block, stream) == OK  # no pool's: checked when the stream reaches the free
    assert lib.aclrtSynchronizeStream(ffi.cast("void *", stream.handle)) == RT_PARAM


def test_a_destroyed_pool_keeps_blocks_with_a_pending_free(
    make_pool: MakePool, lib: Any, ffi: Any, stream: Stream
) -> None:
    pool, free_memory = make_pool(), Device(0).memory_info.free
    with Latch(stream):
        block = freed_behind_a_latch(pool, stream)
        assert pool.destroy() == OK
        assert Device(0).memory_info.free == free_memory - PAGE
        assert free(lib, ffi, block, stream) == RT_PARAM
    stream.synchronize()
    assert Device(0).memory_info.free == free_memory


def test_a_reset_destroys_the_pools_of_the_device(child: Any) -> None:
    script = """
pool, stream, props, out, value = (ffi.new(t) for t in
    ("aclrtMemPool *", "aclrtStream *", "aclrtMemPoolProps *", "void **", "uint64_t *"))
props.location.type = 1
codes = []
for _ in range(2):
    assert lib.aclrtSetDevice(0) == 0 and lib.aclrtCreateStream(stream) == 0
    assert lib.aclrtMemPoolCreate(pool, props) == 0
    codes.append(lib.aclrtMemPoolMallocAsync(out, 64, pool[0], stream[0]))
    codes.append(lib.aclrtResetDevice(0))
    codes.append(lib.aclrtMemPoolGetAttr(pool[0], 5, value))
    codes.append(lib.aclrtMemPoolDestroy(pool[0]))
reported(codes)
"""
    assert child(script) == [OK, OK, RT_PARAM, INTERNAL] * 2


# --- memory of aclrtMalloc -------------------------------------------------------------------------------------------


def test_ordinary_memory_is_freed_in_stream_order(lib: Any, ffi: Any, stream: Stream) -> None:
    free_memory = Device(0).memory_info.free
    out = ffi.new("void **")
    assert lib.aclrtMalloc(out, 4096, 0) == OK
    with Latch(stream):
        assert free(lib, ffi, int(ffi.cast("uintptr_t", out[0])), stream) == OK
        assert Device(0).memory_info.free < free_memory
    stream.synchronize()
    assert Device(0).memory_info.free == free_memory
    assert lib.aclrtFree(out[0]) == RT_PARAM


@pytest.mark.parametrize("end", ["run", "abort", "fail"])
@pytest.mark.parametrize("again", ["aclrtFree", "aclrtMemPoolFreeAsync"])
def test_memory_with_a_pending_free_cannot_be_freed_again(
    again: str, end: str, lib: Any, ffi: Any, stream: Stream, other: Stream
) -> None:
    out, free_memory = ffi.new("void **"), Device(0).memory_info.free
    on = [ffi.cast("void *", it.handle) for it in (stream, other)]
    assert lib.aclrtMalloc(out, 4 * MIB, 0) == OK
    memory = out[0]
    second = [memory] if again == "aclrtFree" else [memory, on[1]]
    with Latch(stream):
        if end == "fail":
            assert lib.aclsimFailTask(on[0], 1, INTERNAL) == OK
        assert lib.aclrtMemPoolFreeAsync(memory, on[0]) == OK
        assert getattr(lib, again)(*second) == RT_PARAM
        assert lib.aclrtMalloc(out, 4 * MIB, 0) == OK
        assert out[0] != memory
        if end == "abort":
            assert lib.aclrtStreamAbort(on[0]) == OK
    assert lib.aclrtSynchronizeStream(on[0]) == (INTERNAL if end == "fail" else OK)
    assert lib.aclrtFree(memory) == (RT_PARAM if end == "run" else OK)  # still allocated if the free did not run
    assert lib.aclrtMemset(out[0], 8, 0, 8) == OK
    assert lib.aclrtFree(out[0]) == OK
    assert Device(0).memory_info.free == free_memory


@pytest.mark.parametrize("address", GARBAGE_HANDLES)
def test_an_invalid_address_fails_when_the_free_runs(address: int, lib: Any, ffi: Any, stream: Stream) -> None:
    assert free(lib, ffi, address, stream) == OK
    assert lib.aclrtSynchronizeStream(ffi.cast("void *", stream.handle)) == RT_PARAM
    stream.synchronize()
