# SPDX-License-Identifier: Apache-2.0
"""Random sequences of calls agree with a model of the caching allocator."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.effort import cases

from ascend_rt import Buffer, CachingAllocator, Device
from ascend_rt.errors import OutOfMemory

pytestmark = pytest.mark.usefixtures("no_device_memory_is_left")

MIB = 1 << 20


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("allocate"), st.sampled_from([1, 512, 600, 2048, 5000, MIB, MIB + 1, 5 * MIB])),
        st.tuples(st.just("free"), st.integers(0, 20)),
        st.tuples(st.just("empty")),
    ),
    max_size=40,
)


class Model:
    """A caching allocator without memory: the sizes in use, and the sizes in the cache."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.live: list[int] = []
        self.cached: list[int] = []
        self.used_peak = self.reserved_peak = self.hits = self.misses = 0

    @property
    def reserved(self) -> int:
        return sum(self.live) + sum(self.cached)

    def allocate(self, nbytes: int) -> int | None:
        step = 512 if nbytes <= MIB else 2 * MIB
        size = (nbytes + step - 1) // step * step
        fitting = [it for it in self.cached if size <= it <= 2 * size]
        if fitting:
            size = min(fitting)
            self.cached.remove(size)
            self.hits += 1
        else:
            if self.reserved + size > self.limit:
                self.cached.clear()
            if self.reserved + size > self.limit:
                return None
            self.misses += 1
        self.live.append(size)
        self.used_peak = max(self.used_peak, sum(self.live))
        self.reserved_peak = max(self.reserved_peak, self.reserved)
        return size

    def free(self, which: int) -> None:
        self.cached.append(self.live.pop(which))

    @property
    def statistics(self) -> tuple[int, ...]:
        return sum(self.live), self.used_peak, self.reserved, self.reserved_peak, self.hits, self.misses


@settings(max_examples=cases(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, limit=st.sampled_from([4096, 3 * MIB, 12 * MIB, 1 << 40]))
def test_random_sequences_agree_with_a_model(steps: list[tuple[Any, ...]], limit: int, device: Device) -> None:
    allocator, model = CachingAllocator(limit), Model(limit)
    live: list[Buffer] = []
    for name, *arguments in steps:
        if name == "allocate":
            size = model.allocate(*arguments)
            if size is None:
                with pytest.raises(OutOfMemory):
                    allocator.allocate(*arguments)
            else:
                live.append(allocator.allocate(*arguments))
                assert live[-1].nbytes == size
        elif name == "free" and live:
            which = arguments[0] % len(live)
            model.free(which)
            allocator.free(live.pop(which))
        elif name == "empty":
            model.cached.clear()
            allocator.empty_cache()
        assert allocator.statistics == model.statistics
    assert len({buffer.handle for buffer in live}) == len(live)
