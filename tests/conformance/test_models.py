# SPDX-License-Identifier: Apache-2.0
"""Built models: codes in the order of the checks, what they keep, and how they execute it again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.codes import (
    GARBAGE,
    INTERNAL,
    INVALID_HANDLE,
    INVALID_PARAM,
    MODEL_EXECUTE,
    NO_CONTEXT,
    OK,
    RT_PARAM,
    STREAM_CONTEXT,
    STREAM_MODEL,
    SYNC_TIMEOUT,
    UNSUPPORTED,
)
from support.gate import Gate
from support.handles import raw
from support.models import ACTIVATED, HEAD, PERSISTENT, Model

from ascend_rt import sim
from ascend_rt._runtime import driver
from ascend_rt.testing import Latch

OTHER_MODEL = 107004
SUBSCRIBED, NOT_SUBSCRIBED = 107011, 107015
RUNNING = 107037
NOT_EXECUTABLE, ABORTED_NORMALLY = 507011, 507023
ALL = {"910B", "910C", "310B", "310P", "910", "950"}
GRAPHS = {"910B", "910C", "310P", "950"}

START: list[list[Any]] = [
    ["aclrtCreateContext", "out:foreign", 0],
    ["aclrtCreateStream", "out:other"],
    ["aclmdlRIBuildBegin", "out:strange", 0],
    ["aclrtCreateStreamWithConfig", "out:far", 0, PERSISTENT],
    ["aclrtSetDevice", 0],
    ["aclrtCreateStream", "out:plain"],
    ["aclrtCreateStreamWithConfig", "out:a", 0, PERSISTENT],
    ["aclrtCreateStreamWithConfig", "out:b", 0, PERSISTENT],
    ["aclrtCreateStreamWithConfig", "out:gone", 0, PERSISTENT],
    ["aclrtDestroyStream", "@gone"],
    ["aclrtCreateStreamWithConfig", "out:full", 0, PERSISTENT],
    ["aclrtCreateEvent", "out:event"],
    ["aclrtCreateEventWithFlag", "out:bit", 1],
    ["aclrtCreateEventExWithFlag", "out:sync", 1],
    ["aclrtRecordEvent", "@bit", "@full"],
    ["aclmdlRIBuildBegin", "out:second", 0],
    ["aclmdlRIBuildBegin", "out:lost", 0],
    ["aclmdlRIDestroy", "@lost"],
]

# The call and its code, or the products that answer with it, the code, and the code of the others.
CODES: list[tuple[Any, ...]] = [
    (["aclmdlRIBuildBegin", None, 1], INVALID_PARAM),
    (["aclmdlRIBuildBegin", "out", 1], RT_PARAM),
    (["aclmdlRIBuildBegin", "out:model", 0], OK),
    # to bind
    (["aclmdlRIBindStream", None, GARBAGE, 1], INVALID_PARAM),
    (["aclmdlRIBindStream", GARBAGE, GARBAGE, 1], INVALID_HANDLE),
    (["aclmdlRIBindStream", "@lost", "@a", 1], INVALID_HANDLE),
    (["aclmdlRIBindStream", "@event", "@a", 1], INVALID_HANDLE),
    (["aclmdlRIBindStream", "@model", GARBAGE, 1], INVALID_HANDLE),
    (["aclmdlRIBindStream", "@model", "@gone", 1], INVALID_HANDLE),
    (["aclmdlRIBindStream", "@model", "@event", 1], INVALID_HANDLE),
    (["aclmdlRIBindStream", "@model", None, 1], RT_PARAM),
    (["aclmdlRIBindStream", "@model", None, 0], RT_PARAM),
    (["aclmdlRIBindStream", "@model", "@plain", 0], RT_PARAM),
    (["aclmdlRIBindStream", "@model", "@far", 0], STREAM_CONTEXT),
    (["aclmdlRIBindStream", "@strange", "@a", 0], OTHER_MODEL),
    (["aclmdlRIBindStream", "@second", "@full", HEAD], OK),
    (["aclmdlRIBindStream", "@model", "@a", HEAD], OK),
    (["aclmdlRIBindStream", "@model", "@a", HEAD], STREAM_MODEL),
    (["aclmdlRIBindStream", "@second", "@a", HEAD], STREAM_MODEL),
    (["aclmdlRIBindStream", "@model", "@b", ACTIVATED], OK),
    # refused by a bound stream
    (["aclrtDestroyStream", "@a"], STREAM_MODEL),
    (["aclrtDestroyStreamForce", "@a"], STREAM_MODEL),
    (["aclrtStreamAbort", "@a"], {"910B", "910C", "950"}, INTERNAL, UNSUPPORTED),
    (["aclrtStreamStop", "@a"], {"910B", "910C", "950"}, INTERNAL, UNSUPPORTED),
    (["aclrtSetStreamFailureMode", "@a", 1], UNSUPPORTED),
    (["aclrtRecordEvent", "@event", "@a"], UNSUPPORTED),
    (["aclrtRecordEvent", "@sync", "@a"], UNSUPPORTED),
    (["aclrtStreamWaitEvent", "@a", "@event"], UNSUPPORTED),
    (["aclrtStreamWaitEvent", "@a", "@sync"], UNSUPPORTED),
    (["aclrtSynchronizeStream", "@a"], OK),
    (["aclrtCreateLabel", "out:label"], OK),
    (["aclrtSetLabel", "@label", "@a"], INTERNAL),
    # to activate
    (["aclrtActiveStream", "@b", None], INVALID_PARAM),
    (["aclrtActiveStream", GARBAGE, "@a"], ALL - {"910C"}, INVALID_HANDLE, UNSUPPORTED),
    (["aclrtActiveStream", "@b", "@other"], ALL - {"910C"}, STREAM_CONTEXT, UNSUPPORTED),
    (["aclrtActiveStream", "@b", "@plain"], ALL - {"910C"}, STREAM_MODEL, UNSUPPORTED),
    (["aclrtActiveStream", "@plain", "@a"], ALL - {"910C"}, STREAM_MODEL, UNSUPPORTED),
    (["aclrtActiveStream", "@b", "@a"], ALL - {"910C"}, OK, UNSUPPORTED),
    # to execute what is not built
    (["aclmdlRIExecute", None, 0], INVALID_PARAM),
    (["aclmdlRIExecute", GARBAGE, 0], INVALID_HANDLE),
    (["aclmdlRIExecute", "@strange", 0], RT_PARAM),
    (["aclmdlRIExecute", "@strange", -2], RT_PARAM),
    (["aclmdlRIExecute", "@strange", -1], NOT_EXECUTABLE),
    (["aclmdlRIExecute", "@model", -1], NOT_EXECUTABLE),
    (["aclmdlRIExecuteAsync", None, GARBAGE], INVALID_PARAM),
    (["aclmdlRIExecuteAsync", GARBAGE, GARBAGE], GRAPHS, INVALID_HANDLE, UNSUPPORTED),
    (["aclmdlRIExecuteAsync", "@model", GARBAGE], GRAPHS, INVALID_HANDLE, UNSUPPORTED),
    (["aclmdlRIExecuteAsync", "@model", "@a"], GRAPHS, RT_PARAM, UNSUPPORTED),
    (["aclmdlRIExecuteAsync", "@model", "@full"], GRAPHS, RT_PARAM, UNSUPPORTED),
    (["aclmdlRIExecuteAsync", "@strange", "@other"], GRAPHS, NOT_EXECUTABLE, UNSUPPORTED),
    # to build
    (["aclmdlRIEndTask", None, GARBAGE], INVALID_PARAM),
    (["aclmdlRIEndTask", GARBAGE, GARBAGE], INVALID_HANDLE),
    (["aclmdlRIEndTask", "@model", GARBAGE], INVALID_HANDLE),
    (["aclmdlRIEndTask", "@model", "@other"], STREAM_CONTEXT),
    (["aclmdlRIEndTask", "@strange", "@a"], OTHER_MODEL),
    (["aclmdlRIEndTask", "@model", "@plain"], INTERNAL),
    (["aclmdlRIEndTask", "@model", None], INTERNAL),
    (["aclmdlRIEndTask", "@second", "@a"], INTERNAL),
    (["aclmdlRIEndTask", "@model", "@a"], OK),
    (["aclmdlRIEndTask", "@model", "@a"], OK),
    (["aclmdlRIEndTask", "@model", "@b"], OK),
    (["aclrtRecordEvent", "@bit", "@a"], STREAM_MODEL),
    (["aclrtRecordEvent", "@bit", "@b"], OK),
    (["aclmdlRIBuildEnd", None, None], INVALID_PARAM),
    (["aclmdlRIBuildEnd", GARBAGE, GARBAGE], INVALID_PARAM),
    (["aclmdlRIBuildEnd", GARBAGE, None], INVALID_HANDLE),
    (["aclmdlRIBuildEnd", "@strange", None], OTHER_MODEL),
    (["aclmdlRIBuildBegin", "out:empty", 0], OK),
    (["aclmdlRIBuildEnd", "@empty", None], STREAM_MODEL),
    (["aclmdlRIBuildEnd", "@model", None], OK),
    (["aclmdlRIBuildEnd", "@model", None], OK),
    (["aclrtRecordEvent", "@bit", "@b"], OK),
    # to execute
    (["aclmdlRIExecute", "@model", -1], OK),
    (["aclmdlRIExecute", "@model", 5000], OK),
    (["aclmdlRIExecuteAsync", "@model", "@other"], GRAPHS, STREAM_CONTEXT, UNSUPPORTED),
    (["aclmdlRIExecuteAsync", "@model", "@plain"], GRAPHS, OK, UNSUPPORTED),
    (["aclmdlRIExecuteAsync", "@model", None], GRAPHS, OK, UNSUPPORTED),
    (["aclrtSynchronizeDevice"], OK),
    (["aclmdlRIAbort", None], RT_PARAM),
    (["aclmdlRIAbort", GARBAGE], INVALID_HANDLE),
    (["aclmdlRIAbort", "@strange"], OTHER_MODEL),
    (["aclmdlRIAbort", "@model"], OK),
    # names and numbers
    (["aclmdlRIGetName", "@model", 1, "buffer"], OK),
    (["aclmdlRISetName", None, "text:x"], INVALID_PARAM),
    (["aclmdlRISetName", "@model", None], INVALID_PARAM),
    (["aclmdlRISetName", GARBAGE, "text:x"], INVALID_HANDLE),
    (["aclmdlRISetName", "@strange", "text:x"], OTHER_MODEL),
    (["aclmdlRISetName", "@model", "text:four"], OK),
    (["aclmdlRIGetName", None, 0, None], INVALID_PARAM),
    (["aclmdlRIGetName", "@model", 0, None], INVALID_PARAM),
    (["aclmdlRIGetName", "@strange", 0, "buffer"], RT_PARAM),
    (["aclmdlRIGetName", "@strange", 9, "buffer"], OTHER_MODEL),
    (["aclmdlRIGetName", "@model", 4, "buffer"], INTERNAL),
    (["aclmdlRIGetName", "@model", 5, "buffer"], OK),
    (["aclmdlRIGetId", None, "out"], INVALID_PARAM),
    (["aclmdlRIGetId", "@model", None], INVALID_PARAM),
    (["aclmdlRIGetId", "@model", "out"], GRAPHS, OK, UNSUPPORTED),
    # to take it apart
    (["aclmdlRIBindStream", "@model", "@plain", 0], RT_PARAM),
    (["aclmdlRIUnbindStream", None, GARBAGE], INVALID_PARAM),
    (["aclmdlRIUnbindStream", GARBAGE, "@a"], INVALID_HANDLE),
    (["aclmdlRIUnbindStream", "@model", GARBAGE], INVALID_HANDLE),
    (["aclmdlRIUnbindStream", "@model", "@other"], STREAM_CONTEXT),
    (["aclmdlRIUnbindStream", "@strange", "@a"], OTHER_MODEL),
    (["aclmdlRIUnbindStream", "@second", "@a"], STREAM_MODEL),
    (["aclmdlRIUnbindStream", "@model", "@plain"], STREAM_MODEL),
    (["aclmdlRIUnbindStream", "@model", "@a"], OK),
    (["aclmdlRIUnbindStream", "@model", "@a"], STREAM_MODEL),
    (["aclmdlRIExecute", "@model", -1], OK),
    (["aclmdlRIBindStream", "@model", "@a", 0], RT_PARAM),
    (["aclmdlRIBindStream", "@second", "@a", 0], OK),
    (["aclmdlRIDestroy", None], INVALID_PARAM),
    (["aclmdlRIDestroy", "@plain"], INVALID_HANDLE),
    (["aclmdlRIDestroy", "@strange"], OTHER_MODEL),
    (["aclmdlRIDestroy", "@model"], OK),
    (["aclmdlRIDestroy", "@model"], INVALID_HANDLE),
    (["aclrtDestroyStream", "@b"], OK),
    (["aclrtDestroyStream", "@a"], STREAM_MODEL),
    # the context takes what it has along
    (["aclrtResetDevice", 0], OK),
    (["aclmdlRIDestroy", "@second"], INVALID_HANDLE),
    (["aclmdlRIBuildBegin", "out", 0], NO_CONTEXT),
]


@pytest.mark.parametrize("product", sorted(ALL))
@pytest.mark.simulator("products")
def test_codes(product: str, calls: Callable[..., list[Any]]) -> None:
    answers = calls([*START, *(row[0] for row in CODES)], ASCEND_RT_SIM_PRODUCT=product)
    assert {code for code, _ in answers[: len(START)]} == {OK}
    differences = []
    for (call, first, *rest), (answer, _) in zip(CODES, answers[len(START) :], strict=True):
        expected = first if not rest else rest[0] if product in first else rest[1]
        if answer != expected:
            differences.append(f"{call}: {answer}, not {expected}")
    assert differences == []


@pytest.fixture
def model(lib: Any, ffi: Any, device: Any) -> Iterator[Model]:
    model = Model(lib, ffi)
    yield model
    model.close()


@pytest.fixture
def gate(lib: Any, ffi: Any, device: Any) -> Iterator[Gate]:
    gate = Gate(lib, ffi)
    yield gate
    assert lib.aclrtDestroyEvent(gate.handle) == OK


def test_nothing_runs_before_the_execution_and_everything_in_each(model: Model) -> None:
    reported: list[int] = []
    for number in range(3):
        model.call(0, lambda number=number: reported.append(number))
    model.build()
    assert reported == []
    for times in range(1, 4):
        assert model.execute() == OK
        assert reported == [0, 1, 2] * times


def test_streams_of_a_model_wait_for_each_other_in_every_execution(model: Model, lib: Any, gate: Gate) -> None:
    reported: list[str] = []
    gate.hold(model.streams[0])
    assert lib.aclrtResetEvent(gate.handle, model.streams[0]) == OK
    model.call(0, lambda: reported.append("second"))
    model.call(1, lambda: reported.append("first"))
    assert lib.aclrtRecordEvent(gate.handle, model.streams[1]) == OK
    model.build()
    for times in range(1, 4):
        assert model.execute() == OK
        assert reported == ["first", "second"] * times


def test_a_launch_has_its_place_in_the_stream(model: Model, stream: Any) -> None:
    reported: list[str] = []
    model.call(0, lambda: reported.append("model"))
    model.build()
    with Latch(stream):
        for _ in range(2):
            assert model.launch(stream) == OK
            stream.launch_host_func(reported.append, "stream")
        assert reported == []
    stream.synchronize()
    assert reported == ["model", "stream"] * 2


def test_launches_in_several_streams_come_one_after_the_other(
    model: Model, stream: Any, other: Any, gate: Gate
) -> None:
    reported: list[str] = []
    model.call(0, lambda: reported.append("begin"))
    gate.hold(model.streams[0])
    model.call(0, lambda: reported.append("end"))
    model.build()
    for on in (stream, other, stream):
        assert model.launch(on) == OK
    assert not stream.is_done
    assert not other.is_done
    gate.open()
    for on in (stream, other):
        on.synchronize()
    assert reported == ["begin", "end"] * 3


def test_an_execution_that_takes_too_long_is_aborted(model: Model, gate: Gate) -> None:
    reported: list[str] = []
    gate.hold(model.streams[1])
    model.call(1, lambda: reported.append("behind"))
    model.build()
    assert model.execute(timeout_ms=1) == SYNC_TIMEOUT
    gate.open()
    assert reported == []
    assert model.execute() == OK
    assert reported == ["behind"]


def test_an_abort_ends_the_execution_with_a_code_of_its_own(model: Model, lib: Any, stream: Any, gate: Gate) -> None:
    gate.hold(model.streams[0])
    model.build()
    assert model.launch(stream) == OK
    assert lib.aclmdlRIAbort(model.handle) == OK
    assert lib.aclrtSynchronizeStream(raw(driver.ffi, stream)) == ABORTED_NORMALLY
    gate.open()
    assert model.execute() == OK


def test_aborting_the_stream_of_a_launch_stops_the_model(model: Model, lib: Any, stream: Any, gate: Gate) -> None:
    reported: list[str] = []
    gate.hold(model.streams[0])
    model.call(0, lambda: reported.append("behind"))
    model.build()
    assert model.launch(stream) == OK
    assert lib.aclrtStreamAbort(raw(driver.ffi, stream)) == OK
    gate.open()
    stream.synchronize()
    assert reported == []
    assert model.execute() == OK
    assert reported == ["behind"]


def test_aborting_the_device_stops_the_model_and_keeps_it(model: Model, lib: Any, stream: Any, gate: Gate) -> None:
    reported: list[str] = []
    gate.hold(model.streams[0])
    model.call(0, lambda: reported.append("behind"))
    model.build()
    for _ in range(2):
        assert model.launch(stream) == OK
    assert lib.aclrtDeviceTaskAbort(0, 0) == OK
    gate.open()
    stream.synchronize()
    assert reported == []
    assert model.execute() == OK
    assert reported == ["behind"]


def test_a_model_that_executes_is_neither_unbound_nor_destroyed(lib: Any, ffi: Any, stream: Any, gate: Gate) -> None:
    model = Model(lib, ffi)
    gate.hold(model.streams[0])
    model.build()
    assert model.launch(stream) == OK
    assert lib.aclmdlRIUnbindStream(model.handle, model.streams[0]) == RUNNING

    def open_gate() -> None:
        assert lib.aclrtSetDevice(0) == OK
        gate.open()
        assert lib.aclrtResetDevice(0) == OK

    opener = threading.Thread(target=open_gate)
    opener.start()
    model.close()  # waits for the execution
    opener.join()
    stream.synchronize()


def test_resetting_the_device_lets_a_launch_end(child: Callable[..., Any]) -> None:
    script = """
        def new(function, type, *arguments):
            out = ffi.new(type)
            assert function(out, *arguments) == 0
            return out[0]

        order = []

        @ffi.callback("void(void *)")
        def entry(_):
            order.append("model")

        assert lib.aclrtSetDevice(0) == 0
        bound = new(lib.aclrtCreateStreamWithConfig, "aclrtStream *", 0, 4)
        plain = new(lib.aclrtCreateStream, "aclrtStream *")
        model = new(lib.aclmdlRIBuildBegin, "aclmdlRI *", 0)
        assert lib.aclmdlRIBindStream(model, bound, 0) == 0
        assert lib.aclrtLaunchHostFunc(bound, entry, ffi.NULL) == 0
        assert lib.aclmdlRIEndTask(model, bound) == 0 and lib.aclmdlRIBuildEnd(model, ffi.NULL) == 0
        for _ in range(3):
            assert lib.aclmdlRIExecuteAsync(model, plain) == 0
        codes = [lib.aclrtResetDevice(0), lib.aclrtSetDevice(0), lib.aclmdlRIExecute(model, -1)]
        reported([order, codes, lib.aclrtResetDeviceForce(0)])
    """
    assert child(script) == [["model"] * 3, [OK, OK, INVALID_HANDLE], OK]


def test_a_stream_that_is_no_head_waits_until_it_is_activated(lib: Any, ffi: Any, device: Any) -> None:
    model, reported = Model(lib, ffi, (HEAD, ACTIVATED)), []
    model.call(1, lambda: reported.append("activated"))
    model.call(0, lambda: reported.append("head"))
    for _ in range(2):
        assert lib.aclrtActiveStream(model.streams[1], model.streams[0]) == OK
    model.build(end=1)
    for times in range(1, 3):
        assert model.execute() == OK
        assert reported == ["head", "activated"] * times
    model.close()


def test_an_end_that_is_never_reached(lib: Any, ffi: Any, device: Any) -> None:
    model = Model(lib, ffi, (HEAD, ACTIVATED))
    model.build(end=1)
    assert model.execute() == NOT_EXECUTABLE
    model.close()


@pytest.mark.simulator("faults")
def test_a_failed_task_fails_the_execution(model: Model, lib: Any, stream: Any) -> None:
    reported: list[str] = []
    with sim.faults():
        assert lib.aclsimFailTask(model.streams[0], 1, 507015) == OK
        model.call(0, lambda: reported.append("failed"))
        model.call(0, lambda: reported.append("next"))
        model.build()
        assert model.execute() == MODEL_EXECUTE
        assert model.launch(stream) == OK
        assert lib.aclrtSynchronizeStream(raw(driver.ffi, stream)) == MODEL_EXECUTE
    assert reported == ["next"] * 2


def test_the_subscribed_thread_takes_a_callback_of_every_execution(
    model: Model, lib: Any, ffi: Any, stream: Any
) -> None:
    thread = threading.get_ident()
    reported: list[str] = []
    assert lib.aclrtSubscribeReport(thread, model.streams[0]) == OK

    @ffi.callback("void(void *)")
    def entry(_: Any) -> None:
        reported.append("callback")

    assert lib.aclrtLaunchCallback(entry, ffi.NULL, lib.ACL_CALLBACK_BLOCK, model.streams[0]) == OK
    model.build()
    for times in range(1, 4):
        assert model.launch(stream) == OK
        assert lib.aclrtUnSubscribeReport(thread, model.streams[0]) == SUBSCRIBED  # the model waits for the thread
        assert lib.aclrtProcessReport(5000) == OK
        stream.synchronize()
        assert reported == ["callback"] * times
    assert lib.aclrtUnSubscribeReport(thread, model.streams[0]) == OK
    assert model.launch(stream) == OK
    assert lib.aclrtSynchronizeStream(raw(ffi, stream)) == MODEL_EXECUTE


def test_a_launch_in_a_stream_of_a_model_cannot_be_repeated(model: Model, lib: Any, ffi: Any, stream: Any) -> None:
    captured, graph = raw(ffi, stream), ffi.new("aclmdlRI *")
    assert lib.aclmdlRICaptureBegin(captured, 2) == OK
    assert lib.aclmdlRICaptureEnd(captured, graph) == OK
    kept = ffi.new("aclrtStream *")
    assert lib.aclrtCreateStreamWithConfig(kept, 0, PERSISTENT) == OK
    assert lib.aclmdlRIExecuteAsync(graph[0], kept[0]) == OK
    assert lib.aclmdlRIBindStream(model.handle, kept[0], HEAD) == OK
    assert lib.aclmdlRIEndTask(model.handle, kept[0]) == OK
    assert lib.aclmdlRIBuildEnd(model.handle, ffi.NULL) == UNSUPPORTED
    assert b"again" in ffi.string(lib.aclGetRecentErrMsg())
    assert lib.aclmdlRIUnbindStream(model.handle, kept[0]) == OK
    assert lib.aclrtDestroyStream(kept[0]) == OK
    assert lib.aclmdlRIDestroy(graph[0]) == OK


def test_tasks_that_wait_are_as_new_in_each_execution(model: Model, lib: Any, ffi: Any) -> None:
    out = ffi.new("aclrtNotify *")
    assert lib.aclrtCreateNotify(out, 0) == OK
    memory = ffi.new("void **")
    assert lib.aclrtMalloc(memory, 64, 0) == OK
    first, second = model.streams
    # each stream waits for the other, through a bit that is taken and through a value that is written back
    assert lib.aclrtValueWait(memory[0], 1, lib.ACL_STREAM_WAIT_VALUE_EQ, first) == OK
    assert lib.aclrtValueWrite(memory[0], 0, 0, first) == OK
    assert lib.aclrtRecordNotify(out[0], first) == OK
    assert lib.aclrtValueWrite(memory[0], 1, 0, second) == OK
    assert lib.aclrtWaitAndResetNotify(out[0], second, 5) == OK
    model.build()
    assert lib.aclrtMemset(memory[0], 64, 0, 64) == OK
    assert [model.execute(5000) for _ in range(5)] == [OK] * 5
    assert lib.aclrtFree(memory[0]) == OK
    assert lib.aclrtDestroyNotify(out[0]) == OK


def test_a_copy_of_pageable_memory_is_made_at_once_and_not_kept(model: Model, lib: Any, ffi: Any) -> None:
    memory, host, read = ffi.new("void **"), ffi.new("char[64]", b"x" * 64), ffi.new("char[64]")
    assert lib.aclrtMalloc(memory, 64, 0) == OK
    model.call(0, lambda: None)
    to_device = lib.ACL_MEMCPY_HOST_TO_DEVICE
    assert lib.aclrtMemcpyAsync(memory[0], 64, host, 64, to_device, model.streams[0]) == OK
    assert lib.aclrtMemcpy(read, 64, memory[0], 64, lib.ACL_MEMCPY_DEVICE_TO_HOST) == OK
    assert ffi.buffer(read)[:] == b"x" * 64
    assert lib.aclrtFree(memory[0]) == OK


def test_memory_is_filled_and_copied_in_each_execution(model: Model, lib: Any, ffi: Any) -> None:
    memory = ffi.new("void **")
    assert lib.aclrtMalloc(memory, 128, 0) == OK
    source, target = memory[0], memory[0] + 64
    assert lib.aclrtMemcpyAsync(target, 64, source, 64, lib.ACL_MEMCPY_DEVICE_TO_DEVICE, model.streams[0]) == OK
    assert lib.aclrtMemsetAsync(source, 64, 0, 64, model.streams[0]) == OK
    model.build()
    host = ffi.new("char[64]")
    for value in (b"\x01", b"\x02"):
        assert lib.aclrtMemset(source, 64, value[0], 64) == OK
        assert model.execute() == OK
        assert lib.aclrtMemcpy(host, 64, target, 64, lib.ACL_MEMCPY_DEVICE_TO_HOST) == OK
        assert ffi.buffer(host)[:] == value * 64
    assert lib.aclrtFree(memory[0]) == OK
