# SPDX-License-Identifier: Apache-2.0
"""Stream-ordered pools: what is checked, who may reuse what when, and what is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ascend_rt import Buffer, Device, Stream, sim
from ascend_rt.testing import Latch

OK, INVALID_PARAM, RT_PARAM, BAD_DEVICE, NO_CONTEXT = 0, 100000, 107000, 107001, 107002
STREAM_CONTEXT, INVALID_HANDLE, UNSUPPORTED, INTERNAL = 107003, 107017, 207000, 507000
GARBAGE = (0x1234567800, 0x1, 0x7FFFFFFFFFF8, 0x5AF0000010000000, 0xFFFFFFFFFFFFFFFF)
MIB = 1 << 20
PAGE = 2 * MIB  # what pools count in
FOLLOW_EVENTS, OPPORTUNISTIC, INTERNAL_DEPENDENCIES = 1, 2, 3
THRESHOLD, RESERVED, RESERVED_HIGH, USED, USED_HIGH = 4, 5, 6, 7, 8
FLAGS = (FOLLOW_EVENTS, OPPORTUNISTIC, INTERNAL_DEPENDENCIES)

pytestmark = pytest.mark.usefixtures("simulator")


@pytest.fixture(scope="module")
def simulator(backend: str) -> None:
    if backend != "sim":
        pytest.skip("the vendor's library follows garbage, and its pools do not reuse yet")


class Pool:
    """A pool through the C API; every method answers the code unless it says otherwise."""

    def __init__(self, lib: Any, ffi: Any, size: int = 0, **attributes: int) -> None:
        self.lib, self.ffi = lib, ffi
        out = ffi.new("aclrtMemPool *")
        assert lib.aclrtMemPoolCreate(out, properties(ffi, maxSize=size)) == OK
        self.handle = out[0]
        for flag in FLAGS:
            assert self.set(flag, 0) == OK  # each test says itself what may be reused

    def get(self, attribute: int) -> int:
        """Return the attribute's value."""
        out = self.ffi.new("uint32_t *" if attribute in FLAGS else "uint64_t *")
        assert self.lib.aclrtMemPoolGetAttr(self.handle, attribute, out) == OK
        return int(out[0])

    def set(self, attribute: int, value: int) -> int:
        out = self.ffi.new("uint32_t *" if attribute in FLAGS else "uint64_t *", value)
        return int(self.lib.aclrtMemPoolSetAttr(self.handle, attribute, out))

    def counts(self) -> tuple[int, int]:
        """Return what is reserved and what is used, in pages."""
        return self.get(RESERVED) // PAGE, self.get(USED) // PAGE

    def malloc(self, pages: float, stream: Stream) -> int:
        """Return the address of a block."""
        out = self.ffi.new("void **")
        size = int(pages * PAGE)
        code = self.lib.aclrtMemPoolMallocAsync(out, size, self.handle, self.ffi.cast("void *", stream.handle))
        assert code == OK, self.ffi.string(self.lib.aclGetRecentErrMsg())
        return int(self.ffi.cast("uintptr_t", out[0]))

    def refused(self, pages: float, stream: Stream) -> int:
        out = self.ffi.new("void **")
        size = int(pages * PAGE)
        return int(self.lib.aclrtMemPoolMallocAsync(out, size, self.handle, self.ffi.cast("void *", stream.handle)))

    def free(self, address: int, stream: Stream) -> int:
        return free(self.lib, self.ffi, address, stream)

    def trim(self, pages: float) -> int:
        return int(self.lib.aclrtMemPoolTrimTo(self.handle, int(pages * PAGE)))

    def destroy(self) -> int:
        return int(self.lib.aclrtMemPoolDestroy(self.handle))


def free(lib: Any, ffi: Any, address: int, stream: Stream) -> int:
    return int(lib.aclrtMemPoolFreeAsync(ffi.cast("void *", address), ffi.cast("void *", stream.handle)))


def properties(ffi: Any, **changes: Any) -> Any:
    props = ffi.new("aclrtMemPoolProps *")
    props.location.type = 1
    for name, value in changes.items():
        if name == "location_id":
            props.location.id = value
        elif name == "location_type":
            props.location.type = value
        elif name == "reserved":
            props.reserved[value] = 1
        else:
            setattr(props, name, value)
    return props


@pytest.fixture
def make(lib: Any, ffi: Any, device: Any) -> Iterator[Callable[..., Pool]]:
    made: list[Pool] = []

    def make(size: int = 0) -> Pool:
        made.append(Pool(lib, ffi, size))
        return made[-1]

    yield make
    for pool in made:
        assert pool.destroy() in (OK, INTERNAL)
    device.synchronize()


# --- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"allocType": 1, "location_id": 99}, INVALID_PARAM),
        ({"location_type": 0, "location_id": 99}, INVALID_PARAM),
        ({"location_type": 4}, INVALID_PARAM),
        ({"reserved": 0, "location_id": 99}, INVALID_PARAM),
        ({"reserved": 31}, INVALID_PARAM),
        ({"location_id": 99, "maxSize": 2**64 - 1}, BAD_DEVICE),
        ({"location_id": 2**32 - 1}, BAD_DEVICE),
        ({"maxSize": 2**64 - 1}, RT_PARAM),
        ({"maxSize": 1 << 50}, RT_PARAM),
        ({"handleType": 7}, OK),  # nobody looks
        ({"maxSize": 1}, OK),
        ({}, OK),
    ],
)
def test_create(changes: dict[str, int], code: int, lib: Any, ffi: Any, device: Any) -> None:
    out = ffi.new("aclrtMemPool *", ffi.cast("void *", 7))
    assert lib.aclrtMemPoolCreate(out, properties(ffi, **changes)) == code
    if code == OK:
        assert lib.aclrtMemPoolDestroy(out[0]) == OK
    else:
        assert int(ffi.cast("uintptr_t", out[0])) == 7


def test_create_wants_both_arguments_and_a_context(child: Any) -> None:
    script = """
props, out = ffi.new("aclrtMemPoolProps *"), ffi.new("aclrtMemPool *")
props.location.type = 1
codes = [lib.aclrtMemPoolCreate(ffi.NULL, props), lib.aclrtMemPoolCreate(out, ffi.NULL)]
codes += [lib.aclrtMemPoolCreate(out, props)]
props.maxSize = 2**64 - 1
codes += [lib.aclrtMemPoolCreate(out, props)]
props.location.id = 99
told([*codes, lib.aclrtMemPoolCreate(out, props)])
"""
    assert child(script) == [INVALID_PARAM, INVALID_PARAM, NO_CONTEXT, NO_CONTEXT, BAD_DEVICE]


@pytest.mark.parametrize("product", ["910B", "910C", "310B", "310P", "910", "950"])
def test_products(product: str, child: Any) -> None:
    # Each function with NULL first, which every product finds before it looks at the chip; then without.
    script = """
assert lib.aclrtSetDevice(0) == 0
N, g = ffi.NULL, ffi.cast("void *", 0x1234567800)
props = ffi.new("aclrtMemPoolProps *")
pool, stream, value = ffi.new("aclrtMemPool *"), ffi.new("aclrtStream *"), ffi.new("uint64_t *")
bad = ffi.new("aclrtMemPoolProps *", {"allocType": 1})
props.location.type = 1
assert lib.aclrtCreateStream(stream) == 0
checked = [lib.aclrtMemPoolCreate(N, props), lib.aclrtMemPoolCreate(pool, bad), lib.aclrtMemPoolDestroy(N),
           lib.aclrtMemPoolSetAttr(N, 1, value), lib.aclrtMemPoolGetAttr(N, 1, value), lib.aclrtMemPoolTrimTo(N, 0),
           lib.aclrtMemPoolFreeAsync(N, N), lib.aclrtMemPoolMallocAsync(N, 1, g, g),
           lib.aclrtMemPoolMallocAsync(pool, 1, N, g), lib.aclrtMemPoolMallocAsync(pool, 1, g, N)]
props.location.id = 99
then = [lib.aclrtMemPoolCreate(pool, props), lib.aclrtMemPoolDestroy(g), lib.aclrtMemPoolSetAttr(g, 1, N),
        lib.aclrtMemPoolGetAttr(g, 99, value), lib.aclrtMemPoolTrimTo(g, 0), lib.aclrtMemPoolFreeAsync(g, N),
        lib.aclrtMemPoolMallocAsync(pool, 0, g, g), lib.aclrtMemPoolMallocAsync(pool, 1, g, stream[0])]
told([checked, then])
"""
    checked, then = child(script, ASCEND_RT_SIM_PRODUCT=product)
    assert checked == [INVALID_PARAM] * 10
    here = [BAD_DEVICE, INTERNAL, RT_PARAM, RT_PARAM, INTERNAL, INTERNAL, OK, INTERNAL]
    assert then == (here if product == "910B" else [UNSUPPORTED] * 8)


def test_what_is_no_pool(make: Any, lib: Any, ffi: Any, stream: Stream) -> None:
    gone = make()
    assert [gone.destroy(), gone.destroy()] == [OK, INTERNAL]
    value, out, on = ffi.new("uint64_t *"), ffi.new("void **"), ffi.cast("void *", stream.handle)
    for bad in (*GARBAGE, gone.handle, stream.handle):
        pool = ffi.cast("void *", bad)
        assert lib.aclrtMemPoolDestroy(pool) == INTERNAL
        assert lib.aclrtMemPoolTrimTo(pool, 0) == INTERNAL
        assert lib.aclrtMemPoolMallocAsync(out, 64, pool, on) == INTERNAL
        assert lib.aclrtMemPoolSetAttr(pool, 99, value) == RT_PARAM
        assert lib.aclrtMemPoolGetAttr(pool, 99, value) == RT_PARAM
    assert lib.aclrtPeekAtLastError(0) == RT_PARAM


def test_malloc_checks_in_order(make: Any, lib: Any, ffi: Any, stream: Stream) -> None:
    pool, gone = make(), make()
    assert gone.destroy() == OK
    garbage, on = ffi.cast("void *", 0x1234567800), ffi.cast("void *", stream.handle)
    context, foreign = ffi.new("aclrtContext *"), ffi.new("aclrtStream *")
    assert lib.aclrtCreateContext(context, 0) == OK
    assert lib.aclrtCreateStream(foreign) == OK
    Device(0).set_current()
    out = ffi.new("void **", ffi.cast("void *", 7))
    rows = [
        ((ffi.NULL, 64, garbage, garbage), INVALID_PARAM),
        ((out, 0, ffi.NULL, garbage), INVALID_PARAM),
        ((out, 0, garbage, ffi.NULL), INVALID_PARAM),
        ((out, 0, garbage, garbage), OK),  # nothing is asked for
        ((out, 2**64 - 1, garbage, garbage), INVALID_HANDLE),
        ((out, 2**64 - 1, garbage, pool.handle), INVALID_HANDLE),
        ((out, 2**64 - 1, garbage, foreign[0]), STREAM_CONTEXT),
        ((out, 2**64 - 1, garbage, on), INVALID_PARAM),
        ((out, 64, garbage, on), INTERNAL),
        ((out, 1 << 50, gone.handle, on), INTERNAL),
        ((out, 1 << 50, pool.handle, on), INTERNAL),
    ]
    assert [lib.aclrtMemPoolMallocAsync(*arguments) for arguments, _ in rows] == [code for _, code in rows]
    assert int(ffi.cast("uintptr_t", out[0])) == 7
    assert b"the pool is exhausted" in ffi.string(lib.aclGetRecentErrMsg())
    assert lib.aclrtDestroyContext(context[0]) == OK


def test_free_checks_in_order(make: Any, lib: Any, ffi: Any, stream: Stream) -> None:
    pool = make()
    block = pool.malloc(2, stream)
    garbage, on = ffi.cast("void *", 0x1234567800), ffi.cast("void *", stream.handle)
    inside = ffi.cast("void *", block + PAGE)
    context, foreign = ffi.new("aclrtContext *"), ffi.new("aclrtStream *")
    assert lib.aclrtCreateContext(context, 0) == OK
    assert lib.aclrtCreateStream(foreign) == OK
    Device(0).set_current()
    rows = [
        ((ffi.NULL, ffi.NULL), INVALID_PARAM),
        ((inside, ffi.NULL), INTERNAL),
        ((inside, garbage), INVALID_HANDLE),
        ((inside, foreign[0]), STREAM_CONTEXT),
        ((inside, on), RT_PARAM),
        ((ffi.cast("void *", block), on), OK),
        ((ffi.cast("void *", block), on), RT_PARAM),  # again
    ]
    assert [lib.aclrtMemPoolFreeAsync(*arguments) for arguments, _ in rows] == [code for _, code in rows]
    assert lib.aclrtDestroyContext(context[0]) == OK


def test_without_a_context_every_stream_is_another_contexts(child: Any) -> None:
    script = """
pool, stream, props, out = (ffi.new(t) for t in ("aclrtMemPool *", "aclrtStream *", "aclrtMemPoolProps *", "void **"))
props.location.type = 1
assert lib.aclrtSetDevice(0) == 0 and lib.aclrtCreateStream(stream) == 0 and lib.aclrtMemPoolCreate(pool, props) == 0
def work():
    told([lib.aclrtMemPoolMallocAsync(out, 64, pool[0], stream[0]), lib.aclrtMemPoolFreeAsync(pool[0], stream[0])])
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    assert child(script) == [STREAM_CONTEXT, STREAM_CONTEXT]


def test_a_pool_serves_streams_of_its_device(child: Any) -> None:
    script = """
pool, stream, foreign, props = (ffi.new(t) for t in
                                ("aclrtMemPool *", "aclrtStream *", "aclrtStream *", "aclrtMemPoolProps *"))
out = ffi.new("void **")
props.location.type, props.location.id = 1, 1
assert lib.aclrtSetDevice(0) == 0 and lib.aclrtCreateStream(foreign) == 0
assert lib.aclrtSetDevice(1) == 0 and lib.aclrtCreateStream(stream) == 0
assert lib.aclrtMemPoolCreate(pool, props) == 0
codes = [lib.aclrtMemPoolMallocAsync(out, 64, pool[0], stream[0])]
attributes = ffi.new("aclrtPtrAttributes *")
assert lib.aclrtPointerGetAttributes(out[0], attributes) == 0
assert lib.aclrtSetDevice(0) == 0
codes += [lib.aclrtMemPoolMallocAsync(out, 64, pool[0], foreign[0]), lib.aclrtMemPoolFreeAsync(out[0], foreign[0])]
told([*codes, attributes.location.type, attributes.location.id])
"""
    assert child(script, ASCEND_RT_SIM_DEVICES=2) == [OK, RT_PARAM, RT_PARAM, 1, 1]


# --- attributes ------------------------------------------------------------------------------------------------------


def test_attributes_of_a_new_pool(lib: Any, ffi: Any, device: Any) -> None:
    out = ffi.new("aclrtMemPool *")
    assert lib.aclrtMemPoolCreate(out, properties(ffi)) == OK
    values = []
    for attribute in range(1, 9):
        value = ffi.new("uint64_t *", 0)
        assert lib.aclrtMemPoolGetAttr(out[0], attribute, value) == OK
        values.append(value[0])
    assert values == [1, 1, 1, 0, 0, 0, 0, 0]
    assert lib.aclrtMemPoolDestroy(out[0]) == OK


def test_flags_are_32_bits_wide_and_normalised(make: Any, lib: Any, ffi: Any) -> None:
    pool = make()
    for flag in FLAGS:
        value = ffi.new("uint32_t[2]", [5, 0xFFFFFFFF])
        assert lib.aclrtMemPoolSetAttr(pool.handle, flag, value) == OK
        assert lib.aclrtMemPoolGetAttr(pool.handle, flag, value) == OK
        assert list(value) == [1, 0xFFFFFFFF]
        assert (pool.set(flag, 0), pool.get(flag)) == (OK, 0)


@pytest.mark.parametrize(
    ("attribute", "value", "code"),
    [
        (THRESHOLD, 0, OK),
        (THRESHOLD, 8 * PAGE, OK),
        (THRESHOLD, 8 * PAGE + 1, INTERNAL),
        (RESERVED_HIGH, 0, OK),
        (RESERVED_HIGH, 1, INTERNAL),
        (USED_HIGH, 0, OK),
        (USED_HIGH, PAGE, INTERNAL),
        (RESERVED, 0, RT_PARAM),
        (USED, 0, RT_PARAM),
        (0, 0, RT_PARAM),
        (9, 0, RT_PARAM),
    ],
)
def test_setting_attributes(attribute: int, value: int, code: int, make: Any, lib: Any, ffi: Any) -> None:
    pool = make(8 * PAGE - 1)  # rounded up
    assert pool.set(attribute, value) == code
    assert lib.aclrtMemPoolSetAttr(pool.handle, attribute, ffi.NULL) == RT_PARAM
    assert lib.aclrtMemPoolGetAttr(pool.handle, attribute, ffi.NULL) == RT_PARAM
    known = lib.aclrtMemPoolGetAttr(pool.handle, attribute, ffi.new("uint64_t *"))
    assert known == (OK if 1 <= attribute <= 8 else RT_PARAM)


def test_high_marks_stay_until_they_are_set_back(make: Any, stream: Stream) -> None:
    pool = make()
    blocks = [pool.malloc(1, stream) for _ in range(3)]
    for block in blocks[1:]:
        assert pool.free(block, stream) == OK
    stream.synchronize()
    assert pool.counts() == (1, 1)
    assert (pool.get(RESERVED_HIGH), pool.get(USED_HIGH)) == (3 * PAGE, 3 * PAGE)
    assert (pool.set(RESERVED_HIGH, 0), pool.set(USED_HIGH, 0)) == (OK, OK)
    assert (pool.get(RESERVED_HIGH), pool.get(USED_HIGH)) == (PAGE, PAGE)


# --- blocks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "pages"), [(1, 1), (PAGE, 1), (PAGE + 1, 2), (5 * PAGE - 1, 5)])
def test_blocks_are_whole_pages(size: int, pages: int, make: Any, stream: Stream) -> None:
    pool, free_memory = make(), Device(0).memory_info.free
    block = pool.malloc(size / PAGE, stream)
    assert pool.counts() == (pages, pages)
    assert Device(0).memory_info.free == free_memory - pages * PAGE
    assert pool.free(block, stream) == OK
    assert pool.counts() == (pages, 0)
    stream.synchronize()
    assert pool.counts() == (0, 0)
    assert Device(0).memory_info.free == free_memory


def test_a_block_is_device_memory_in_the_order_of_its_stream(make: Any, lib: Any, ffi: Any, stream: Stream) -> None:
    from ascend_rt import PinnedBuffer, copy_async, fill

    pool = make()
    with PinnedBuffer(PAGE) as host:
        memory = Buffer.from_handle(pool.malloc(1, stream), PAGE)
        attributes = ffi.new("aclrtPtrAttributes *")
        assert lib.aclrtPointerGetAttributes(ffi.cast("void *", memory.handle), attributes) == OK
        assert attributes.location.type == lib.ACL_MEM_LOCATION_TYPE_DEVICE
        fill(memory, 42, stream)
        copy_async(host, memory, stream)
        assert pool.free(memory.handle, stream) == OK
        stream.synchronize()
        assert set(host.tolist()) == {42}


def test_a_full_pool(make: Any, ffi: Any, lib: Any, stream: Stream) -> None:
    pool = make(4 * PAGE)
    block = pool.malloc(3, stream)
    assert pool.refused(2, stream) == INTERNAL
    assert b"6291456 of its 8388608 bytes are used" in ffi.string(lib.aclGetRecentErrMsg())
    small = pool.malloc(1, stream)
    assert (pool.free(block, stream), pool.free(small, stream)) == (OK, OK)
    stream.synchronize()
    pool.malloc(4, stream)


def test_a_full_device(make: Any, stream: Stream) -> None:
    pool = make()
    with sim.faults():
        sim.limit("memory", 64 * MIB)
        while pool.refused(1, stream) == OK:
            pass
        assert Device(0).memory_info.free < PAGE
        assert pool.refused(1, stream) == INTERNAL


def test_the_best_fit_is_the_smallest_then_the_lowest(make: Any, stream: Stream) -> None:
    pool = make()
    sizes = (4, 2, 3, 2, 6)
    blocks = [pool.malloc(pages, stream) for pages in sizes]
    with Latch(stream):
        for block in blocks:
            assert pool.free(block, stream) == OK
        assert [pool.malloc(2, stream), pool.malloc(2, stream)] == sorted([blocks[1], blocks[3]])
        assert pool.malloc(2, stream) == blocks[2]  # three pages: one stays
        assert pool.malloc(1, stream) == blocks[2] + 2 * PAGE
        assert pool.malloc(5, stream) == blocks[4]
        assert pool.counts() == (17, 12)


def test_neighbours_become_one_again(make: Any, stream: Stream) -> None:
    pool = make()
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


@pytest.mark.parametrize("flags", [(), FLAGS])
def test_the_same_stream_reuses_at_once(flags: tuple[int, ...], make: Any, stream: Stream) -> None:
    pool = make()
    for flag in flags:
        assert pool.set(flag, 1) == OK
    with Latch(stream):
        block = freed_behind_a_latch(pool, stream)
        assert pool.malloc(1, stream) == block
        assert pool.counts() == (1, 1)


@pytest.mark.parametrize("flags", [(), FLAGS])
def test_another_stream_does_not_get_what_is_still_in_use(
    flags: tuple[int, ...], make: Any, stream: Stream, other: Stream
) -> None:
    pool = make()
    for flag in flags:
        assert pool.set(flag, 1) == OK
    with Latch(stream):
        block = freed_behind_a_latch(pool, stream)
        assert pool.malloc(1, other) != block
        other.synchronize()  # nor does it wait for the first one


@pytest.mark.parametrize("is_allowed", [False, True])
def test_a_stream_that_waits_for_an_event_after_the_free(
    is_allowed: bool, make: Any, stream: Stream, other: Stream
) -> None:
    pool = make()
    assert pool.set(FOLLOW_EVENTS, is_allowed) == OK
    with Latch(stream):
        early = stream.record()
        block = freed_behind_a_latch(pool, stream)
        other.wait(early)
        assert pool.malloc(1, other) != block
        other.wait(stream.record())
        assert (pool.malloc(1, other) == block) == is_allowed


@pytest.mark.parametrize("is_allowed", [False, True])
def test_what_was_freed_by_luck_is_for_the_opportunist(
    is_allowed: bool, make: Any, stream: Stream, other: Stream
) -> None:
    pool = make()
    assert pool.set(OPPORTUNISTIC, is_allowed) == OK
    block = freed_behind_a_latch(pool, stream)
    while not stream.is_done:  # a query is no synchronization
        pass
    assert (pool.malloc(1, other) == block) == is_allowed


def test_after_a_synchronization_any_stream_may_reuse(make: Any, stream: Stream, other: Stream) -> None:
    pool = make()
    assert pool.set(THRESHOLD, PAGE) == OK
    block = freed_behind_a_latch(pool, stream)
    stream.synchronize()
    assert pool.malloc(1, other) == block


def test_a_destroyed_stream_is_done_with_its_blocks(make: Any, other: Stream) -> None:
    pool = make()
    with Stream() as short:
        block = freed_behind_a_latch(pool, short)
    assert pool.malloc(1, other) == block


@pytest.mark.parametrize("is_allowed", [False, True])
def test_a_full_pool_makes_a_stream_wait_for_another(
    is_allowed: bool, make: Any, stream: Stream, other: Stream
) -> None:
    pool = make(PAGE)
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
    make: Any, lib: Any, ffi: Any, stream: Stream, other: Stream
) -> None:
    pool = make(PAGE)
    assert pool.set(INTERNAL_DEPENDENCIES, 1) == OK
    with Latch(stream):
        block = freed_behind_a_latch(pool, stream)
        assert pool.malloc(1, other) == block
        assert not other.is_done
        assert lib.aclrtStreamAbort(ffi.cast("void *", stream.handle)) == OK
        other.synchronize()


def test_held_streams_reuse_in_stream_order(make: Any, stream: Stream) -> None:
    from ascend_rt import PinnedBuffer, copy_async, fill

    pool = make(PAGE)
    with PinnedBuffer(8 * 64) as host:
        with sim.held():
            for i in range(8):
                memory = Buffer.from_handle(pool.malloc(1, stream), 64)
                fill(memory, i, stream)
                copy_async(host[i * 64 : (i + 1) * 64], memory, stream)
                assert pool.free(memory.handle, stream) == OK
        stream.synchronize()
        assert host.reshape(8, 64).tolist() == [[i] * 64 for i in range(8)]


# --- giving back -----------------------------------------------------------------------------------------------------


def test_a_synchronization_releases_what_is_above_the_threshold(make: Any, stream: Stream, other: Stream) -> None:
    pool, free_memory = make(), Device(0).memory_info.free
    assert pool.set(THRESHOLD, 2 * PAGE) == OK
    for block in [pool.malloc(1, stream) for _ in range(5)]:
        assert pool.free(block, stream) == OK
    assert pool.counts() == (5, 0)
    while not stream.is_done:
        pass
    assert pool.counts() == (5, 0)
    other.synchronize()  # any stream of the device
    assert pool.counts() == (2, 0)
    assert Device(0).memory_info.free == free_memory - 2 * PAGE


def test_what_a_stream_still_uses_is_not_released(make: Any, stream: Stream, other: Stream) -> None:
    pool = make()
    with Latch(stream):
        freed_behind_a_latch(pool, stream)
        other.synchronize()
        assert (pool.trim(0), pool.counts()) == (OK, (1, 0))
    stream.synchronize()
    assert pool.counts() == (0, 0)


def test_trimming(make: Any, stream: Stream) -> None:
    pool = make(8 * PAGE)
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


def test_a_reservation_goes_back_as_a_whole(make: Any, stream: Stream) -> None:
    pool = make()
    assert pool.set(THRESHOLD, 4 * PAGE) == OK
    assert pool.free(pool.malloc(4, stream), stream) == OK
    part = pool.malloc(1, stream)
    assert (pool.trim(1), pool.counts()) == (OK, (4, 1))
    assert pool.free(part, stream) == OK
    stream.synchronize()
    assert (pool.trim(2), pool.counts()) == (OK, (4, 0))  # never below what is to be kept
    assert (pool.trim(0), pool.counts()) == (OK, (0, 0))


def test_a_destroyed_pool_loses_its_blocks(make: Any, lib: Any, ffi: Any, stream: Stream) -> None:
    pool, free_memory = make(), Device(0).memory_info.free
    block = pool.malloc(1, stream)
    assert pool.destroy() == OK
    assert Device(0).memory_info.free == free_memory
    host = ffi.new("char[64]")
    assert lib.aclrtMemcpy(host, 64, ffi.cast("void *", block), 64, lib.ACL_MEMCPY_DEVICE_TO_HOST) == RT_PARAM
    assert free(lib, ffi, block, stream) == OK  # outside every pool: found out in stream order
    assert lib.aclrtSynchronizeStream(ffi.cast("void *", stream.handle)) == RT_PARAM


def test_a_destroyed_pool_keeps_what_streams_are_yet_to_free(make: Any, lib: Any, ffi: Any, stream: Stream) -> None:
    pool, free_memory = make(), Device(0).memory_info.free
    with Latch(stream):
        block = freed_behind_a_latch(pool, stream)
        assert pool.destroy() == OK
        assert Device(0).memory_info.free == free_memory - PAGE
        assert free(lib, ffi, block, stream) == RT_PARAM
    stream.synchronize()
    assert Device(0).memory_info.free == free_memory


def test_a_reset_device_takes_its_pools_with_it(child: Any) -> None:
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
told(codes)
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
def test_what_a_stream_is_to_free_nobody_else_frees(
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
    assert lib.aclrtFree(memory) == (RT_PARAM if end == "run" else OK)  # the others have left it alone
    assert lib.aclrtMemset(out[0], 8, 0, 8) == OK
    assert lib.aclrtFree(out[0]) == OK
    assert Device(0).memory_info.free == free_memory


@pytest.mark.parametrize("address", GARBAGE)
def test_what_is_no_memory_is_found_out_in_stream_order(address: int, lib: Any, ffi: Any, stream: Stream) -> None:
    assert free(lib, ffi, address, stream) == OK
    assert lib.aclrtSynchronizeStream(ffi.cast("void *", stream.handle)) == RT_PARAM
    stream.synchronize()


# --- random sequences ------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("malloc"), st.integers(0, 2), st.integers(1, 5)),
        st.tuples(st.just("free"), st.integers(0, 30)),
        st.tuples(st.just("link"), st.integers(0, 2), st.integers(0, 2)),
        st.tuples(st.just("trim"), st.integers(0, 12)),
        st.tuples(st.just("synchronize"), st.integers(0, 2)),
        st.tuples(st.just("latch"), st.integers(0, 2)),
        st.tuples(st.just("release")),
    ),
    max_size=40,
)


class Model:
    """What a program with a pool of 12 pages knows: its live blocks, each with a value that only its owner writes."""

    SIZE = 12

    def __init__(self, pool: Pool, streams: list[Stream]) -> None:
        self.pool, self.streams = pool, streams
        self.live: list[tuple[int, int, int, int]] = []  # address, pages, stream, value
        self.free_memory = Device(0).memory_info.free
        self.highest = 0
        self.latches: list[Latch] = []
        self.values = 0

    def malloc(self, stream: int, pages: int) -> None:
        from ascend_rt import fill

        out = self.pool.ffi.new("void **")
        on = self.pool.ffi.cast("void *", self.streams[stream].handle)
        code = self.pool.lib.aclrtMemPoolMallocAsync(out, pages * PAGE, self.pool.handle, on)
        if code != OK:
            assert code == INTERNAL
            assert self.pool.get(RESERVED) + pages * PAGE > self.SIZE * PAGE
            return
        address = int(self.pool.ffi.cast("uintptr_t", out[0]))
        for start, size, _, _ in self.live:
            assert address + pages * PAGE <= start or start + size * PAGE <= address
        self.values += 1
        self.live.append((address, pages, stream, self.values))
        fill(Buffer.from_handle(address, 256), self.values, self.streams[stream])
        fill(Buffer.from_handle(address + pages * PAGE - 256, 256), self.values, self.streams[stream])

    def free(self, which: int) -> None:
        from ascend_rt import fill

        if self.live:
            address, _, stream, _ = self.live.pop(which % len(self.live))
            fill(Buffer.from_handle(address, 256), 255, self.streams[stream])  # the next owner must not see this
            assert self.pool.free(address, self.streams[stream]) == OK

    def link(self, first: int, second: int) -> None:
        self.streams[second].wait(self.streams[first].record())

    def trim(self, pages: int) -> None:
        reserved, used = self.pool.counts()
        assert self.pool.trim(pages) == (OK if used <= pages <= self.SIZE else INTERNAL)
        assert self.pool.get(RESERVED) // PAGE >= min(reserved, pages)

    def synchronize(self, stream: int) -> None:
        if not self.latches:
            self.streams[stream].synchronize()

    def latch(self, stream: int) -> None:
        self.latches.append(Latch(self.streams[stream]))  # the others go on, and would overtake it if they could

    def release(self) -> None:
        while self.latches:
            self.latches.pop().release()

    def check(self) -> None:
        used = sum(pages for _, pages, _, _ in self.live)
        self.highest = max(self.highest, used)
        reserved = self.pool.get(RESERVED)
        assert self.pool.get(USED) == used * PAGE <= reserved <= self.SIZE * PAGE
        assert self.pool.get(USED_HIGH) == self.highest * PAGE
        assert Device(0).memory_info.free == self.free_memory - reserved

    def finish(self) -> None:
        self.release()
        for stream in self.streams:
            stream.synchronize()
        for address, pages, _, value in self.live:
            for part in (address, address + pages * PAGE - 256):
                host = bytearray(256)
                from ascend_rt import copy

                copy(host, Buffer.from_handle(part, 256))
                assert set(host) == {value}
        while self.live:
            self.free(0)
        for stream in self.streams:
            stream.synchronize()
        assert self.pool.counts() == (0, 0)
        assert Device(0).memory_info.free == self.free_memory


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, flags=st.sets(st.sampled_from(FLAGS)), threshold=st.integers(0, 12))
def test_random_sequences_agree_with_a_model(
    steps: list[tuple[Any, ...]], flags: set[int], threshold: int, lib: Any, ffi: Any, device: Any
) -> None:
    pool = Pool(lib, ffi, Model.SIZE * PAGE)
    streams = [Stream() for _ in range(3)]
    for flag in flags:
        assert pool.set(flag, 1) == OK
    assert pool.set(THRESHOLD, threshold * PAGE) == OK
    model = Model(pool, streams)
    try:
        for name, *arguments in steps:
            getattr(model, name)(*arguments)
            model.check()
        assert pool.set(THRESHOLD, 0) == OK
        model.finish()
    finally:
        model.release()
        for stream in streams:
            stream.close()
        assert pool.destroy() == OK
