# SPDX-License-Identifier: Apache-2.0
"""Captured graphs: what no recording shows. Order and overlap in a replay, threads, lifetime, and changes of tasks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.codes import (
    EVENT_CAPTURED,
    GARBAGE,
    INTERNAL,
    INVALID_HANDLE,
    NO_CONTEXT,
    OK,
    OUT_OF_MEMORY,
    PRODUCTS,
    RT_PARAM,
    UNSUPPORTED,
)
from support.graphs import GLOBAL, RELAXED, THREAD_LOCAL, Graph
from support.kernels import CUBE, VECTOR, device_object

from ascend_rt import Binary, Stream, sim
from ascend_rt._runtime.driver import address
from ascend_rt.testing import Latch

NOT_EXECUTABLE = 507011
CONFLICT, DENIED, WRONG_THREAD, INVALIDATED = 107032, 107030, 107038, 507903
SOFTWARE_QUEUES = {"ASCEND_RT_SIM_SOFTWARE_QUEUES": "1"}
QUERIES = {  # and the types of what they answer
    "aclrtQueryEvent": "aclrtEventStatus *",
    "aclrtQueryEventWaitStatus": "aclrtEventWaitStatus *",
    "aclrtQueryEventStatus": "aclrtEventRecordedStatus *",
}


def test_nothing_runs_before_the_launch_and_everything_in_each(graph: Graph, stream: Any) -> None:
    reported: list[int] = []
    origin = graph.stream()
    graph.begin(origin)
    for number in range(3):
        graph.call(origin, lambda number=number: reported.append(number))
    assert graph.end(origin) == OK
    stream.synchronize()
    assert reported == []
    for times in range(1, 4):
        assert graph.launch(stream) == OK
        stream.synchronize()
        assert reported == [0, 1, 2] * times
    assert graph.destroy() == OK


def test_branches_overlap(graph: Graph, stream: Any, lib: Any, ffi: Any, cell: Any) -> None:
    """The first branch waits for what the second one writes: one after the other would never end."""
    reported: list[str] = []
    origin, side = graph.stream(), graph.stream()
    graph.begin(origin)
    graph.order(origin, side)
    assert lib.aclrtValueWait(cell, 1, 1, origin) == OK
    graph.call(origin, lambda: reported.append("origin"))
    graph.call(side, lambda: reported.append("side"))
    assert lib.aclrtValueWrite(cell, 1, 0, side) == OK
    graph.order(side, origin)
    assert lib.aclrtValueWrite(cell, 0, 0, origin) == OK
    assert graph.end(origin) == OK
    for times in range(1, 4):
        assert graph.launch(stream) == OK
        stream.synchronize()
        assert reported == ["side", "origin"] * times
    assert graph.destroy() == OK


def test_what_waits_for_a_branch_comes_after_it_in_every_replay(graph: Graph, stream: Any) -> None:
    reported: list[str] = []
    origin, side = graph.stream(), graph.stream()
    graph.begin(origin)
    graph.order(origin, side)
    graph.call(side, lambda: reported.append("side"))
    graph.order(side, origin)
    graph.call(origin, lambda: reported.append("origin"))
    assert graph.end(origin) == OK
    for times in range(1, 4):
        assert graph.launch(stream) == OK
        stream.synchronize()
        assert reported == ["side", "origin"] * times
    assert graph.destroy() == OK


def test_a_launch_has_its_place_in_the_stream(graph: Graph, stream: Any) -> None:
    reported: list[str] = []
    origin = graph.stream()
    graph.begin(origin)
    graph.call(origin, lambda: reported.append("graph"))
    assert graph.end(origin) == OK
    with Latch(stream):
        for _ in range(2):
            assert graph.launch(stream) == OK
            stream.launch_host_func(reported.append, "stream")
        assert reported == []
    stream.synchronize()
    assert reported == ["graph", "stream"] * 2
    assert graph.destroy() == OK


def test_launches_in_several_streams_come_one_after_the_other(graph: Graph, stream: Any, other: Any) -> None:
    reported: list[str] = []
    origin = graph.stream()
    graph.begin(origin)
    graph.call(origin, lambda: reported.append("begin"))
    graph.call(origin, lambda: reported.append("end"))
    assert graph.end(origin) == OK
    for _ in range(5):
        assert graph.launch(stream) == OK
        assert graph.launch(other) == OK
    stream.synchronize()
    other.synchronize()
    assert reported == ["begin", "end"] * 10
    assert graph.destroy() == OK


def test_a_graph_keeps_what_was_submitted_before_its_streams_and_events_went(
    graph: Graph, stream: Any, lib: Any, ffi: Any
) -> None:
    reported: list[str] = []
    origin, side = graph.stream(), graph.stream()
    graph.begin(origin)
    events = [graph.order(origin, side)]
    graph.call(side, lambda: reported.append("side"))
    events.append(graph.order(side, origin))
    assert graph.end(origin) == OK
    graph.close()
    assert [lib.aclrtDestroyEvent(event) for event in events] == [OK, OK]
    assert graph.launch(stream) == OK
    stream.synchronize()
    assert reported == ["side"]
    assert graph.destroy() == OK


def test_a_graph_that_is_destroyed_ends_what_it_executes(graph: Graph, stream: Any, lib: Any) -> None:
    reported: list[str] = []
    origin = graph.stream()
    graph.begin(origin)
    graph.call(origin, lambda: reported.append("graph"))
    assert graph.end(origin) == OK
    with Latch(stream):
        assert graph.launch(stream) == OK
        assert graph.destroy() == OK
        assert graph.destroy() == INVALID_HANDLE
        assert reported == []
    stream.synchronize()
    assert reported == ["graph"]


@pytest.mark.simulator("internals", "the adapter's own hook")
def test_what_tasks_need_is_released_when_nothing_executes_the_graph(
    graph: Graph, stream: Any, lib: Any, ffi: Any
) -> None:
    executed, released = threading.Event(), threading.Event()
    release = ffi.callback("aclsimReleaseFunction", lambda _: released.set())
    origin = graph.stream()
    graph.begin(origin)
    graph.call(origin, executed.set)
    assert graph.end(origin) == OK
    assert lib.aclsimReleaseWithGraph(graph.handle, release, ffi.NULL) == OK
    with Latch(stream):
        assert graph.launch(stream) == OK
        assert graph.destroy() == OK
        assert not released.is_set()
    assert released.wait(60)
    assert executed.is_set()
    assert lib.aclsimReleaseWithGraph(graph.handle, release, ffi.NULL) == INVALID_HANDLE
    assert lib.aclsimReleaseWithGraph(ffi.NULL, release, ffi.NULL) == RT_PARAM


def test_a_branch_that_is_longer_than_a_queue_goes_on_in_another_hidden_stream(
    graph: Graph, stream: Any, lib: Any, cell: Any
) -> None:
    reported: list[str] = []
    origin = graph.stream()
    graph.begin(origin)
    for _ in range(5000):
        assert lib.aclrtValueWrite(cell, 7, 0, origin) == OK
    graph.call(origin, lambda: reported.append("end"))
    assert graph.end(origin) == OK
    hidden = graph.streams()
    assert len(hidden) == 3
    assert sum(graph.types(it).count(5) for it in hidden) == 5000
    assert graph.launch(stream) == OK
    stream.synchronize()
    assert reported == ["end"]
    assert graph.destroy() == OK


def test_a_wait_across_captures_breaks_both(graph: Graph, lib: Any, ffi: Any, device: Any) -> None:
    other = Graph(lib, ffi)
    one, two = graph.stream(), graph.stream()
    graph.begin(one)
    other.begin(two)
    event = graph.event()
    assert lib.aclrtRecordEvent(event, one) == OK
    assert lib.aclrtStreamWaitEvent(two, event) == CONFLICT
    assert graph.end(one) == INVALIDATED
    assert other.end(two) == INVALIDATED
    assert graph.handle == other.handle == ffi.NULL


def test_a_failed_end_names_the_call_that_broke_the_capture(graph: Graph, lib: Any, ffi: Any, cell: Any) -> None:
    origin = graph.stream()
    graph.begin(origin)
    assert lib.aclmdlRICaptureTaskGrpBegin(origin) == OK
    assert lib.aclrtValueWrite(cell, 1, 0, origin) == 507009
    out = ffi.new("aclrtTaskGrp *")
    assert lib.aclmdlRICaptureTaskGrpEnd(origin, out) == 507009
    assert graph.end(origin) == INVALIDATED
    assert "aclrtValueWrite" in ffi.string(lib.aclGetRecentErrMsg()).decode()


@pytest.fixture
def origin_and_group(graph: Graph, lib: Any, ffi: Any, device: Any) -> Iterator[tuple[Any, Any]]:
    """A stream that is being captured, and a task group of one kernel in it."""
    origin, group = graph.stream(), ffi.new("aclrtTaskGrp *")
    with (
        Binary(device_object({"nothing": VECTOR}, code=b"\0")) as binary,
        Stream.from_handle(address(origin)) as stream,
    ):
        kernel = binary["nothing"]
        graph.begin(origin, THREAD_LOCAL)
        assert lib.aclmdlRICaptureTaskGrpBegin(origin) == OK
        kernel.launch(stream, 1)
        assert lib.aclmdlRICaptureTaskGrpEnd(origin, group) == OK
        yield origin, group[0]


def test_queries_of_a_captured_event(graph: Graph, lib: Any, ffi: Any) -> None:
    origin, event, out = graph.stream(), graph.event(), ffi.new("int *")
    graph.begin(origin)
    assert lib.aclrtRecordEvent(event, origin) == OK
    asked = {name: getattr(lib, name)(event, ffi.cast(kind, out)) for name, kind in QUERIES.items()}
    assert asked == {
        "aclrtQueryEvent": UNSUPPORTED,  # as outside a capture
        "aclrtQueryEventWaitStatus": UNSUPPORTED,
        "aclrtQueryEventStatus": EVENT_CAPTURED,
    }
    assert graph.end(origin) == OK


@pytest.mark.simulator("kernels")
def test_a_group_is_not_updated_while_its_graph_is_captured(
    graph: Graph, lib: Any, origin_and_group: tuple[Any, Any]
) -> None:
    origin, group = origin_and_group
    updating = graph.stream()
    assert lib.aclmdlRICaptureTaskUpdateBegin(updating, group) == 107026
    assert lib.aclmdlRICaptureTaskUpdateEnd(updating) == 107033
    assert graph.end(origin) == OK
    assert lib.aclmdlRICaptureTaskUpdateBegin(updating, group) == OK
    assert lib.aclmdlRICaptureTaskUpdateEnd(updating) == 507000  # no kernel for that of the group


@pytest.mark.simulator("kernels")
def test_a_group_is_not_updated_when_another_thread_has_ended_its_capture(
    graph: Graph, lib: Any, origin_and_group: tuple[Any, Any]
) -> None:
    origin, group = origin_and_group

    def end() -> int:
        assert lib.aclrtSetDevice(0) == OK
        code = graph.end(origin)
        assert lib.aclrtResetDevice(0) == OK
        return code

    assert in_thread(end) == WRONG_THREAD
    updating = graph.stream()
    assert lib.aclmdlRICaptureTaskUpdateBegin(updating, group) == 107040
    assert lib.aclmdlRICaptureTaskUpdateEnd(updating) == 107033


@pytest.mark.simulator("kernels")
def test_a_group_takes_kernels_of_the_type_that_they_replace(
    graph: Graph, lib: Any, ffi: Any, stream: Stream, origin_and_group: tuple[Any, Any]
) -> None:
    origin, group = origin_and_group
    assert graph.end(origin) == OK
    updating = graph.stream()

    def launch(binary: Binary) -> int:
        function = ffi.new("aclrtFuncHandle *")
        assert lib.aclrtBinaryGetFunction(ffi.cast("void *", binary.handle), b"other", function) == OK
        arguments = ffi.new("char[8]")
        return int(lib.aclrtLaunchKernelWithHostArgs(function[0], 1, updating, ffi.NULL, arguments, 8, ffi.NULL, 0))

    with (
        sim.kernel("other")(lambda block, memory: None),
        Binary(device_object({"other": CUBE})) as cube,
        Binary(device_object({"other": VECTOR})) as vector,
    ):
        assert lib.aclmdlRICaptureTaskUpdateBegin(updating, group) == OK
        assert launch(cube) == INTERNAL
        assert launch(vector) == INTERNAL  # the refused one counts, and the group has one kernel
        assert lib.aclmdlRICaptureTaskUpdateEnd(updating) == OK


def test_a_failed_end_lists_the_streams_that_were_not_joined(graph: Graph, lib: Any, ffi: Any) -> None:
    origin, side = graph.stream(), graph.stream()
    number = ffi.new("int32_t *")
    assert lib.aclrtStreamGetId(side, number) == OK
    graph.begin(origin)
    graph.order(origin, side)
    assert graph.end(origin) == 107025
    assert f"stream {number[0]}" in ffi.string(lib.aclGetRecentErrMsg()).decode()


def in_thread(function: Callable[[], int]) -> int:
    """Call a function in another thread; return its code."""
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(function()))
    thread.start()
    thread.join()
    return codes[0]


# By the mode of the capture and by that of the thread: whether its own thread, and another one, may copy memory.
PERMITTED = {
    (GLOBAL, GLOBAL): (False, False),
    (GLOBAL, THREAD_LOCAL): (False, True),
    (GLOBAL, RELAXED): (True, True),
    (THREAD_LOCAL, GLOBAL): (False, True),
    (THREAD_LOCAL, THREAD_LOCAL): (False, True),
    (THREAD_LOCAL, RELAXED): (True, True),
    (RELAXED, GLOBAL): (True, True),
    (RELAXED, THREAD_LOCAL): (True, True),
    (RELAXED, RELAXED): (True, True),
}


@pytest.mark.parametrize(("mode", "exchanged"), PERMITTED)
def test_modes_of_captures_and_threads_decide_who_may_use_memory(
    mode: int, exchanged: int, graph: Graph, lib: Any, ffi: Any, cell: Any
) -> None:
    def use() -> int:
        assert lib.aclrtSetDevice(0) == OK
        thread_mode = ffi.new("aclmdlRICaptureMode *", exchanged)
        assert lib.aclmdlRICaptureThreadExchangeMode(thread_mode) == OK
        code = int(lib.aclrtMemset(cell, 64, 0, 64))
        assert lib.aclmdlRICaptureThreadExchangeMode(thread_mode) == OK
        assert thread_mode[0] == exchanged
        assert lib.aclrtResetDevice(0) == OK
        return code

    origin = graph.stream()
    graph.begin(origin, mode)
    answers = (use() == OK, in_thread(use) == OK)
    assert graph.end(origin) == OK
    assert graph.destroy() == OK
    assert answers == PERMITTED[mode, exchanged]


def test_each_thread_exchanges_a_mode_of_its_own(lib: Any, ffi: Any, device: Any) -> None:
    def exchange(mode: int) -> tuple[int, int]:
        pointer = ffi.new("aclmdlRICaptureMode *", mode)
        return lib.aclmdlRICaptureThreadExchangeMode(pointer), pointer[0]

    def elsewhere() -> int:
        assert lib.aclrtSetDevice(0) == OK
        answers.append(exchange(THREAD_LOCAL))
        return int(lib.aclrtResetDevice(0))

    answers = [exchange(RELAXED), exchange(RELAXED)]
    assert in_thread(elsewhere) == OK
    answers += [exchange(mode) for mode in (THREAD_LOCAL, 3, 2**32 - 1, GLOBAL, GLOBAL)]
    assert answers == [
        (OK, GLOBAL),
        (OK, RELAXED),
        (OK, GLOBAL),  # the other thread's
        (OK, RELAXED),
        (RT_PARAM, 3),
        (RT_PARAM, 2**32 - 1),
        (OK, THREAD_LOCAL),
        (OK, GLOBAL),
    ]


def default_stream(lib: Any, ffi: Any, _: Graph) -> Any:
    out = ffi.new("aclrtStream *")
    assert lib.aclrtCtxGetCurrentDefaultStream(out) == OK
    return out[0]


def after_its_capture(_: Any, __: Any, graph: Graph) -> Any:
    origin = graph.stream()
    graph.begin(origin)
    assert graph.end(origin) == OK
    return origin


def after_a_refused_allocation(lib: Any, ffi: Any, graph: Graph) -> Any:
    assert lib.aclrtMalloc(ffi.new("void **"), 1 << 50, 0) == OUT_OF_MEMORY
    return graph.stream()


NOT_CAPTURED: dict[str, Callable[[Any, Any, Graph], Any]] = {
    "a new stream": lambda lib, ffi, graph: graph.stream(),
    "the default stream": default_stream,
    "after its capture": after_its_capture,
    "after a refused allocation": after_a_refused_allocation,
}


@pytest.mark.parametrize("make", NOT_CAPTURED.values(), ids=NOT_CAPTURED.keys())
def test_a_stream_that_is_not_captured_has_no_graph(
    make: Callable[[Any, Any, Graph], Any], graph: Graph, lib: Any, ffi: Any
) -> None:
    """Packages ask before every allocation, and take a refusal for a failure."""
    stream = make(lib, ffi, graph)
    status = ffi.new("aclmdlRICaptureStatus *", 2)
    model = ffi.new("aclmdlRI *", ffi.cast("aclmdlRI", GARBAGE))
    assert lib.aclmdlRICaptureGetInfo(stream, status, model) == OK
    assert (status[0], model[0]) == (0, ffi.NULL)


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_products_whose_streams_are_asked_for_their_capture(product: str, child: Callable[..., Any]) -> None:
    script = """
        lib.aclrtSetDevice(0)
        stream, status = ffi.new("aclrtStream *"), ffi.new("aclmdlRICaptureStatus *", 2)
        model = ffi.new("aclmdlRI *", ffi.cast("aclmdlRI", 7))
        lib.aclrtCreateStream(stream)
        code = lib.aclmdlRICaptureGetInfo(stream[0], status, model)
        reported([code, status[0], int(ffi.cast("uintptr_t", model[0]))])
        """
    captures = product in ("910B", "910C", "310P", "950")
    assert child(script, ASCEND_RT_SIM_PRODUCT=product) == ([OK, 0, 0] if captures else [UNSUPPORTED, 2, 7])


@pytest.mark.parametrize(("mode", "code"), [(GLOBAL, WRONG_THREAD), (THREAD_LOCAL, WRONG_THREAD), (RELAXED, OK)])
def test_which_captures_another_thread_may_end(mode: int, code: int, graph: Graph, lib: Any) -> None:
    def end() -> int:
        assert lib.aclrtSetDevice(0) == OK
        code = graph.end(origin)
        assert lib.aclrtResetDevice(0) == OK
        return code

    origin = graph.stream()
    graph.begin(origin, mode)
    assert in_thread(end) == code
    graph.begin(origin)  # the stream is free in any case
    assert graph.end(origin) == OK


def test_threads_without_a_context(graph: Graph, lib: Any, ffi: Any) -> None:
    origin = graph.stream()
    graph.begin(origin)
    assert graph.end(origin) == OK
    mode = ffi.new("aclmdlRICaptureMode *")
    number = ffi.new("uint32_t *")
    status = ffi.new("aclmdlRICaptureStatus *")
    calls: list[tuple[Callable[[], int], int]] = [
        (lambda: lib.aclmdlRICaptureBegin(origin, RELAXED), NO_CONTEXT),
        (lambda: lib.aclmdlRICaptureThreadExchangeMode(mode), NO_CONTEXT),
        (lambda: lib.aclmdlRIExecuteAsync(graph.handle, origin), NO_CONTEXT),
        (lambda: lib.aclmdlRIGetStreams(graph.handle, ffi.NULL, number), NO_CONTEXT),
        (lambda: lib.aclmdlRIDestroy(graph.handle), NO_CONTEXT),
        (lambda: lib.aclmdlRICaptureGetInfo(origin, status, ffi.NULL), OK),
        (lambda: lib.aclmdlRIGetId(graph.handle, number), OK),
        (lambda: lib.aclmdlRICaptureTaskGrpBegin(origin), 107029),
    ]
    assert [in_thread(call) for call, _ in calls] == [code for _, code in calls]
    assert graph.destroy() == OK


def test_the_operation_information_of_the_threads_last_task(graph: Graph, lib: Any, ffi: Any, cell: Any) -> None:
    info = ffi.from_buffer(b"operator")
    origin = graph.stream()
    value = ffi.new("aclrtStreamAttrValue *", {"cacheOpInfoSwitch": 1})
    graph.begin(origin)
    assert lib.aclrtValueWrite(cell, 0, 0, origin) == OK
    assert lib.aclrtCacheLastTaskOpInfo(info, 8) == 507000
    assert lib.aclrtSetStreamAttribute(origin, 4, value) == OK
    assert lib.aclrtCacheLastTaskOpInfo(info, 8) == OK  # the switch counts now, not when the task was submitted
    assert in_thread(lambda: lib.aclrtCacheLastTaskOpInfo(info, 8)) == NO_CONTEXT
    assert lib.aclrtCacheLastTaskOpInfo(info, 65537) == RT_PARAM
    assert graph.end(origin) == OK
    assert lib.aclrtCacheLastTaskOpInfo(info, 8) == 507000
    assert graph.destroy() == OK


def test_a_stream_keeps_what_it_requested_for_its_next_capture(graph: Graph, lib: Any, ffi: Any) -> None:
    def effective(stream: Any) -> int:
        value = ffi.new("aclrtStreamAttrValue *")
        assert lib.aclrtGetStreamAttribute(stream, 4, value) == OK
        return int(value.cacheOpInfoSwitch)

    origin, side = graph.stream(), graph.stream()
    assert lib.aclrtSetStreamAttribute(origin, 4, ffi.new("aclrtStreamAttrValue *", {"cacheOpInfoSwitch": 1})) == OK
    assert effective(origin) == 0
    for _ in range(2):
        graph.begin(origin)
        graph.order(origin, side)
        assert [effective(origin), effective(side)] == [1, 1]
        assert lib.aclrtSetStreamAttribute(side, 4, ffi.new("aclrtStreamAttrValue *")) == OK
        assert [effective(origin), effective(side)] == [1, 1]  # a joined stream asks for its own captures alone
        graph.order(side, origin)
        assert graph.end(origin) == OK
        assert effective(origin) == 0
        assert graph.destroy() == OK


def test_printed_tasks_have_their_edges_and_extended_information(
    graph: Graph, lib: Any, ffi: Any, cell: Any, tmp_path: Path
) -> None:
    origin, side = graph.stream(), graph.stream()
    graph.begin(origin)
    graph.order(origin, side)
    assert lib.aclrtValueWrite(cell, 3, 0, side) == OK
    text = '{"name": "a \\"quoted\\" ä"}'.encode()
    assert lib.aclrtCacheLastTaskExtendInfo(text, len(text)) == OK
    graph.order(side, origin)
    assert graph.end(origin) == OK
    events = graph.printed(tmp_path / "graph.json", verbose=True)
    assert {event["ph"] for event in events} == {"X"}
    (write,) = [event for event in events if event["name"] == "VALUE_WRITE"]
    assert write["args"]["extend_info"] == text.decode()
    assert write["args"]["value"] == 3
    places = {(event["tid"], event["args"]["task_id"]): event["name"] for event in events}
    edges = [tuple(event["args"]["after"]) for event in events if "after" in event["args"]]
    assert [places[edge] for edge in edges] == ["EVENT_RECORD", "EVENT_RECORD"]
    assert len({stream for stream, _ in edges}) == 2
    assert graph.destroy() == OK


def test_extended_information_that_is_no_text_prints_all_the_same(
    graph: Graph, lib: Any, cell: Any, tmp_path: Path
) -> None:
    origin = graph.stream()
    graph.begin(origin)
    assert lib.aclrtValueWrite(cell, 0, 0, origin) == OK
    assert lib.aclrtCacheLastTaskExtendInfo(b'\xff\x00"\\\n', 5) == OK
    assert graph.end(origin) == OK
    (event,) = graph.printed(tmp_path / "graph.json")
    assert event["args"]["extend_info"] == 'ÿ\x00"\\\n'
    assert graph.destroy() == OK


WRONG: list[tuple[list[Any], int]] = [
    (["aclmdlRITaskGetType", GARBAGE, "out"], INVALID_HANDLE),
    (["aclmdlRITaskGetSeqId", "@stream", "out"], INVALID_HANDLE),
    (["aclmdlRITaskGetType", "@tasks[0]", "out"], OK),
    (["aclmdlRIGetTasksByStream", "@streams[1]", None, "out"], RT_PARAM),
    (["aclmdlRIGetTasksByStream", GARBAGE, None, "out"], INVALID_HANDLE),
    (["aclmdlRICaptureTaskUpdateBegin", "@stream", GARBAGE], INVALID_HANDLE),
    (["aclmdlRICondHandleGetCondPtr", GARBAGE, "out"], INVALID_HANDLE),
    (["aclmdlRIUpdate", "@graph"], UNSUPPORTED),
    (["aclmdlRITaskGetParams", "@tasks[0]", "out"], UNSUPPORTED),
    (["aclmdlRIDestroy", "@graph"], OK),
    (["aclmdlRITaskGetType", "@tasks[0]", "out"], INVALID_HANDLE),
    (["aclmdlRIGetTasksByStream", "@streams[0]", None, "out"], INVALID_HANDLE),
    (["aclmdlRIExecuteAsync", "@graph", "@stream"], INVALID_HANDLE),
]


def test_handles_of_what_is_in_a_graph(calls: Callable[..., list[Any]]) -> None:
    start: list[list[Any]] = [
        ["aclrtSetDevice", 0],
        ["aclrtCreateStream", "out:stream"],
        ["aclrtCreateStream", "out:other"],
        ["aclrtMalloc", "out:memory", 64, 0],
        ["aclmdlRICaptureBegin", "@stream", RELAXED],
        ["aclrtValueWrite", "@memory", 1, 0, "@stream"],
        ["aclmdlRICaptureEnd", "@stream", "out:graph"],
        ["aclmdlRIGetStreams", "@graph", "array:streams:2", [1]],
        ["aclmdlRIGetTasksByStream", "@streams[0]", "array:tasks:4", [4]],
    ]
    rows = [row if row[1] != "@streams[1]" else [row[0], "@other", *row[2:]] for row, _ in WRONG]
    answers = calls([*start, *rows])
    assert [code for code, _ in answers[: len(start)]] == [OK] * len(start)
    differences = [
        f"{row}: {code}, not {expected}"
        for row, (_, expected), (code, _) in zip(rows, WRONG, answers[len(start) :], strict=True)
        if code != expected
    ]
    assert differences == []
