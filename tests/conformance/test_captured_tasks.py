# SPDX-License-Identifier: Apache-2.0
"""Captures of callbacks of subscribed threads, memory of pools, prefetches and counting notifies."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from support.codes import INTERNAL, MODEL_EXECUTE, OK, RT_PARAM
from support.graphs import RELAXED, Graph
from support.memory_check import Run
from support.memory_pools import INTERNAL_DEPENDENCIES, OPPORTUNISTIC, PAGE, USED, MakePool, Pool

from ascend_rt import Stream

NOT_SUBSCRIBED, SUBSCRIBED = 107015, 107011
NOT_IN_A_GROUP, INVALIDATED = 507009, 507903
NO_BLOCK, BLOCK = 0, 1


# --- callbacks of a subscribed thread --------------------------------------------------------------------------------


class Reports:
    """Callbacks that the calling thread takes."""

    def __init__(self, lib: Any, ffi: Any) -> None:
        self._lib, self._ffi = lib, ffi
        self._kept: list[Any] = []
        self.reported: list[str] = []

    def subscribe(self, stream: Any) -> None:
        assert self._lib.aclrtSubscribeReport(threading.get_ident(), stream) == OK

    def unsubscribe(self, stream: Any) -> None:
        assert self._lib.aclrtUnSubscribeReport(threading.get_ident(), stream) == OK

    def launch(self, stream: Any, text: str, blocks: int) -> int:
        @self._ffi.callback("void(void *)")
        def entry(_: Any) -> None:
            self.reported.append(text)

        self._kept.append(entry)
        return int(self._lib.aclrtLaunchCallback(entry, self._ffi.NULL, blocks, stream))

    def process(self) -> int:
        return int(self._lib.aclrtProcessReport(5000))


@pytest.fixture
def reports(lib: Any, ffi: Any, device: Any) -> Reports:
    return Reports(lib, ffi)


@pytest.mark.parametrize("blocks", [NO_BLOCK, BLOCK])
def test_the_subscribed_thread_takes_the_callback_of_every_execution(
    blocks: int, graph: Graph, reports: Reports, stream: Any
) -> None:
    origin = graph.stream()
    reports.subscribe(origin)
    graph.begin(origin)
    assert reports.launch(origin, "callback", blocks) == OK
    assert reports.launch(origin, "behind", BLOCK) == OK
    assert graph.end(origin) == OK
    reports.unsubscribe(origin)  # the graph keeps the thread
    for times in range(1, 4):
        assert graph.launch(stream) == OK
        while len(reports.reported) < 2 * times:
            assert reports.process() == OK
        stream.synchronize()
        assert reports.reported == ["callback", "behind"] * times
    assert graph.destroy() == OK


def test_with_its_graph_goes_the_subscription(graph: Graph, reports: Reports, lib: Any) -> None:
    origin = graph.stream()
    reports.subscribe(origin)
    graph.begin(origin)
    assert reports.launch(origin, "never", NO_BLOCK) == OK
    assert graph.end(origin) == OK
    reports.unsubscribe(origin)
    assert lib.aclrtProcessReport(1) == 507012  # in time: the thread is subscribed
    assert graph.destroy() == OK
    assert lib.aclrtProcessReport(1) == 107012  # it is not any more
    assert reports.reported == []


def test_who_takes_callbacks_of_a_captured_stream_is_decided_by_the_stream_that_the_program_names(
    graph: Graph, reports: Reports, lib: Any, ffi: Any
) -> None:
    @ffi.callback("void(void *)")
    def function(_: Any) -> None:
        raise AssertionError("never called")

    origin = graph.stream()
    graph.begin(origin)
    assert reports.launch(origin, "never", BLOCK) == NOT_SUBSCRIBED
    reports.subscribe(origin)
    assert lib.aclrtLaunchHostFunc(origin, function, ffi.NULL) == SUBSCRIBED
    assert reports.launch(origin, "later", BLOCK) == OK
    assert graph.end(origin) == OK
    reports.unsubscribe(origin)
    assert graph.destroy() == OK


# --- memory of pools -------------------------------------------------------------------------------------------------


@pytest.fixture
def pool(make_pool: MakePool) -> Pool:
    """A pool that gives a block to any stream as soon as its free has been reached, or lets the stream wait."""
    pool = make_pool(4 * PAGE)
    for flag in (OPPORTUNISTIC, INTERNAL_DEPENDENCIES):
        assert pool.set(flag, 1) == OK
    return pool


def test_every_execution_works_with_the_block_that_was_allocated_in_the_capture(
    graph: Graph, pool: Pool, stream: Stream, cell: Any
) -> None:
    lib = pool.lib
    origin = graph.stream()
    graph.begin(origin)
    out = pool.ffi.new("void **")
    assert lib.aclrtMemPoolMallocAsync(out, PAGE, pool.handle, origin) == OK
    assert lib.aclrtMemcpyAsync(out[0], 8, cell, 8, 3, origin) == OK
    assert lib.aclrtMemcpyAsync(cell + 8, 8, out[0], 8, 3, origin) == OK
    assert lib.aclrtMemPoolFreeAsync(out[0], origin) == OK
    assert lib.aclrtMemPoolFreeAsync(out[0], origin) == RT_PARAM  # it is free
    assert graph.end(origin) == OK
    for value in (1, 2):
        assert lib.aclrtMemset(cell, 8, value, 8) == OK
        assert graph.launch(stream) == OK
        stream.synchronize()
        found = pool.ffi.new("unsigned char[16]")
        assert lib.aclrtMemcpy(found, 16, cell, 16, 2) == OK
        assert bytes(found) == bytes([value] * 16)
    assert graph.destroy() == OK


def test_a_block_that_a_graph_frees_is_nobody_elses_while_the_graph_lives(
    graph: Graph, pool: Pool, stream: Stream
) -> None:
    origin = graph.stream()
    graph.begin(origin)
    blocks = []
    for _ in range(2):
        out = pool.ffi.new("void **")
        assert pool.lib.aclrtMemPoolMallocAsync(out, PAGE, pool.handle, origin) == OK
        assert pool.lib.aclrtMemPoolFreeAsync(out[0], origin) == OK
        blocks.append(int(pool.ffi.cast("uintptr_t", out[0])))
    assert graph.end(origin) == OK
    assert blocks[0] == blocks[1]  # one stream's, whose order is known
    assert pool.get(USED) == 0
    assert graph.launch(stream) == OK
    stream.synchronize()
    others = [pool.malloc(1, stream) for _ in range(3)]
    assert blocks[0] not in others
    assert pool.refused(1, stream) == INTERNAL  # there is nothing else, and nothing to wait for
    assert graph.destroy() == OK
    assert pool.malloc(1, stream) == blocks[0]


def test_memory_of_a_capture_that_failed_is_the_pools_again(graph: Graph, pool: Pool, stream: Stream) -> None:
    origin = graph.stream()
    graph.begin(origin)
    out = pool.ffi.new("void **")
    assert pool.lib.aclrtMemPoolMallocAsync(out, 4 * PAGE, pool.handle, origin) == OK
    assert pool.lib.aclrtMemPoolFreeAsync(out[0], origin) == OK
    assert pool.lib.aclmdlRICaptureTaskGrpBegin(origin) == OK
    assert pool.lib.aclrtMemPoolMallocAsync(out, PAGE, pool.handle, origin) == NOT_IN_A_GROUP
    assert graph.end(origin) == INVALIDATED
    assert pool.malloc(4, stream) != 0


def test_ordinary_memory_is_freed_by_the_first_execution(graph: Graph, stream: Stream, lib: Any, ffi: Any) -> None:
    out = ffi.new("void **")
    assert lib.aclrtMalloc(out, 64, 0) == OK
    origin = graph.stream()
    graph.begin(origin)
    assert lib.aclrtMemPoolFreeAsync(out[0], origin) == OK
    assert graph.end(origin) == OK
    assert lib.aclrtFree(out[0]) == RT_PARAM  # it belongs to the graph
    raw = ffi.cast("aclrtStream", stream.handle)
    assert graph.launch(stream) == OK
    assert lib.aclrtSynchronizeStream(raw) == OK
    assert graph.launch(stream) == OK
    assert lib.aclrtSynchronizeStream(raw) == MODEL_EXECUTE  # there is nothing any more
    assert graph.destroy() == OK


@pytest.mark.simulator("memory check")
def test_the_memory_check_knows_blocks_of_graphs(run_checked: Run) -> None:
    program = run_checked("""
pool, props = ffi.new("aclrtMemPool *"), ffi.new("aclrtMemPoolProps *")
props.location.type = 1
assert lib.aclrtMemPoolCreate(pool, props) == 0
origin, stream = Stream(), Stream()
raw, out, model = ffi.cast("void *", origin.handle), ffi.new("void **"), ffi.new("aclmdlRI *")
assert lib.aclmdlRICaptureBegin(raw, 2) == 0
assert lib.aclrtMemPoolMallocAsync(out, 4096, pool[0], raw) == 0
assert lib.aclrtMemsetAsync(out[0], 4096, 1, 4096, raw) == 0
assert lib.aclrtMemPoolFreeAsync(out[0], raw) == 0
assert lib.aclrtMemPoolMallocAsync(out, 4096, pool[0], raw) == 0
assert lib.aclrtMemsetAsync(out[0], 4096, 2, 4096, raw) == 0
assert lib.aclmdlRICaptureEnd(raw, model) == 0
for _ in range(3):
    assert lib.aclmdlRIExecuteAsync(model[0], ffi.cast("void *", stream.handle)) == 0
    stream.synchronize()
assert lib.aclmdlRIDestroy(model[0]) == 0
word = ffi.new("unsigned char[4096]")
assert lib.aclrtMemcpy(word, 4096, out[0], 4096, 2) == 0
assert set(bytes(ffi.buffer(word))) == {2}  # the first block's end does not change what is there now
assert sim.check_reports() == 0
""")
    assert program.reports == []


# --- prefetches and counting notifies --------------------------------------------------------------------------------

HUGE = 2 << 20


@pytest.fixture
def managed(lib: Any, ffi: Any, device: Any) -> Iterator[Any]:
    out = ffi.new("void **")
    assert lib.aclrtMemAllocManaged(out, HUGE, 1) == OK
    yield out[0]
    assert lib.aclrtFree(out[0]) == OK


def test_prefetches_are_captured(graph: Graph, stream: Any, managed: Any, lib: Any, ffi: Any) -> None:
    place = ffi.new("aclrtMemManagedLocation[1]", [{"type": 1}])
    pointers, sizes, first = ffi.new("void *[1]", [managed]), ffi.new("size_t[1]", [HUGE]), ffi.new("size_t[1]", [0])
    reported: list[int] = []
    origin = graph.stream()
    graph.begin(origin)
    assert lib.aclrtMemManagedPrefetchAsync(managed, HUGE, place[0], 0, origin) == OK
    assert lib.aclrtMemManagedPrefetchBatchAsync(pointers, sizes, 1, place, first, 1, 0, origin) == OK
    graph.call(origin, lambda: reported.append(1))
    assert graph.end(origin) == OK
    (hidden,) = graph.streams()
    assert len(graph.types(hidden)) == 4  # and the end of the graph
    for times in range(1, 3):
        assert graph.launch(stream) == OK
        stream.synchronize()
        assert reported == [1] * times
    assert graph.destroy() == OK


COUNTING = f"""
from ascend_rt import Device, Stream, ffi, lib
Device(0).set_current()
streams = Stream(), Stream()
a, b = (ffi.cast("aclrtStream", stream.handle) for stream in streams)
out, model, status = ffi.new("aclrtCntNotify *"), ffi.new("aclmdlRI *"), ffi.new("aclrtStreamStatus *")
assert lib.aclrtCntNotifyCreate(out, 0) == 0
one, three = ffi.new("aclrtCntNotifyRecordInfo *", [1, 1]), ffi.new("aclrtCntNotifyWaitInfo *", [1, 3, 0, 0])
assert lib.aclmdlRICaptureBegin(a, {RELAXED}) == 0
assert lib.aclrtCntNotifyRecord(out[0], a, one) == 0
assert lib.aclmdlRICaptureEnd(a, model) == 0
adds = model[0]
assert lib.aclmdlRICaptureBegin(a, {RELAXED}) == 0
assert lib.aclrtCntNotifyWaitWithTimeout(out[0], a, three) == 0
assert lib.aclrtCntNotifyReset(out[0], a) == 0
assert lib.aclmdlRICaptureEnd(a, model) == 0
states = []
for _ in range(2):
    assert lib.aclmdlRIExecuteAsync(model[0], b) == 0
    for _ in range(3):
        assert lib.aclrtStreamQuery(b, status) == 0
        states.append(status[0] == lib.ACL_STREAM_STATUS_COMPLETE)
        assert lib.aclmdlRIExecuteAsync(adds, a) == 0
        streams[0].synchronize()
    streams[1].synchronize()
assert lib.aclmdlRIDestroy(model[0]) == 0
assert lib.aclmdlRIDestroy(adds) == 0
reported(states)
"""


@pytest.mark.simulator("products")
def test_counting_notifies_are_captured(child: Any) -> None:
    assert child(COUNTING, ASCEND_RT_SIM_PRODUCT="950") == [False] * 6
