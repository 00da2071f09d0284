# SPDX-License-Identifier: Apache-2.0
"""Random sequences of calls on a pool: no two live blocks overlap, and no content is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.codes import INTERNAL, OK
from support.effort import cases
from support.memory_pools import FLAGS, PAGE, RESERVED, THRESHOLD, USED, USED_HIGH, Pool

from ascend_rt import Buffer, Device, Stream
from ascend_rt.testing import Latch

pytestmark = pytest.mark.simulator(
    "unspecified", "the vendor's library follows garbage, and its pools do not reuse memory yet"
)


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
    """The live blocks of a pool of 12 pages, each with a value that only its owner writes."""

    SIZE = 12

    def __init__(self, pool: Pool, streams: list[Stream]) -> None:
        self.pool, self.streams = pool, streams
        self.live: list[tuple[int, int, int, int]] = []  # address, pages, stream, value
        self.free_memory = Device(0).memory_info.free
        self.highest = 0
        self.latches: list[Latch] = []
        self.values = 0

    def malloc(self, stream: int, pages: int) -> None:
        from ascend_rt import fill_async

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
        fill_async(Buffer.from_handle(address, 256), self.values, self.streams[stream])
        fill_async(Buffer.from_handle(address + pages * PAGE - 256, 256), self.values, self.streams[stream])

    def free(self, which: int) -> None:
        from ascend_rt import fill_async

        if self.live:
            address, _, stream, _ = self.live.pop(which % len(self.live))
            fill_async(Buffer.from_handle(address, 256), 255, self.streams[stream])  # the next owner must not see this
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
        self.latches.append(Latch(self.streams[stream]))  # the other streams go on

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


@settings(max_examples=cases(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
