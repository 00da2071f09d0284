# SPDX-License-Identifier: Apache-2.0
"""Notifies in Python: records and waits, in one process and in two, and refusals."""

from __future__ import annotations

import gc
import math
import os
import threading
import weakref
from ast import literal_eval
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.codes import INTERNAL, NOT_PERMITTED, PRODUCTS, RT_PARAM, UNSUPPORTED

import ascend_rt
from ascend_rt import Buffer, Context, Device, Event, Notify, PinnedBuffer, Stream, copy_async, sim
from ascend_rt.errors import (
    AclError,
    ClosedError,
    InvalidArgument,
    NoContext,
    ResourceExhausted,
    Timeout,
)
from ascend_rt.testing import Latch, no_leaks

pytestmark = pytest.mark.usefixtures("no_shared_memory_is_left")


@pytest.fixture
def notify(device: Device) -> Iterator[Notify]:
    with Notify() as notify:
        yield notify


# --- order -----------------------------------------------------------------------------------------------------------


def test_a_wait_may_come_before_its_record(notify: Notify, stream: Stream, other: Stream) -> None:
    notify.wait(other)
    assert not other.is_done
    notify.record(stream)
    other.synchronize()


def test_a_record_comes_after_the_work_before_it(notify: Notify, stream: Stream, other: Stream) -> None:
    with Latch(stream):
        notify.record(stream)
        notify.wait(other)
        assert not other.is_done
    other.synchronize()


def test_one_record_lets_one_wait_pass(notify: Notify, stream: Stream, other: Stream) -> None:
    for _ in range(2):
        notify.record(stream)  # the second one changes nothing
    notify.wait(other)
    other.synchronize()
    notify.wait(other)
    assert not other.is_done
    notify.record(stream)
    other.synchronize()


def test_two_streams_hand_a_buffer_to_and_fro(device: Device, stream: Stream, other: Stream) -> None:
    """Everything is enqueued before anything runs, which events cannot do."""
    rounds, nbytes = 20, 64
    source, seen = (np.asarray(PinnedBuffer(rounds * nbytes)).reshape(rounds, nbytes) for _ in range(2))
    source[:] = np.arange(rounds)[:, None]
    seen[:] = 255
    with Notify() as full, Notify() as free, Buffer(nbytes) as slot:
        with Latch(stream):
            free.record(other)
            for piece, copied in zip(source, seen, strict=True):
                free.wait(stream)
                copy_async(slot, piece, stream)
                full.record(stream)
                full.wait(other)
                copy_async(copied, slot, other)
                free.record(other)
            assert (seen == 255).all()
        stream.synchronize()
        other.synchronize()
    assert np.array_equal(seen, source)


def test_the_current_stream_is_the_default(notify: Notify, stream: Stream, other: Stream) -> None:
    with Latch(stream):
        with stream.as_current():
            notify.record()
        with other.as_current():
            notify.wait()
        assert not other.is_done
    other.synchronize()


def test_streams_wait_for_notifies(notify: Notify, stream: Stream, other: Stream) -> None:
    other.wait(notify, timeout=1000)
    assert not other.is_done
    notify.record(stream)
    other.synchronize()
    with pytest.raises(ValueError, match="must be greater than 0"):
        other.wait(notify, timeout=0)


def test_reset_all_takes_records_back(device: Device, stream: Stream, other: Stream) -> None:
    with Notify() as first, Notify() as second:
        for notify in (first, second):
            notify.record(stream)
        stream.synchronize()
        Notify.reset_all(iter([first, second]))
        for notify in (first, second):
            notify.wait(other)
        assert not other.is_done
        first.record(stream)
        second.record(stream)
        other.synchronize()


def test_notifies_have_numbers(device: Device) -> None:
    with Notify() as first, Notify(device_use_only=True) as second:
        assert isinstance(first.id, int)
        assert first.id != second.id


# --- time limits -----------------------------------------------------------------------------------------------------


def test_a_wait_that_takes_too_long_fails_at_the_synchronization(notify: Notify, stream: Stream) -> None:
    notify.wait(stream, timeout=1)  # the least that the runtime knows
    with pytest.raises(Timeout):
        stream.synchronize()
    stream.synchronize()


@pytest.mark.parametrize("timeout", [None, math.inf, 1e300, 1000.5])
def test_a_long_wait_does_not_end_early(
    timeout: float | None, notify: Notify, stream: Stream, other: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = []
    wait = ascend_rt.lib.aclrtWaitAndResetNotify

    def spy(notify: Any, stream: Any, limit: int) -> int:
        limits.append(limit)
        return int(wait(notify, stream, limit))

    monkeypatch.setattr(ascend_rt.lib, "aclrtWaitAndResetNotify", spy)
    notify.wait(other, timeout)
    assert not other.is_done
    notify.record(stream)
    other.synchronize()
    assert limits == [{None: 0, math.inf: 0, 1e300: 0, 1000.5: 1001}[timeout]]  # 0 means forever


@pytest.mark.parametrize("timeout", [0, -1, -math.inf, math.nan])
def test_a_time_limit_is_positive(timeout: float, notify: Notify, stream: Stream) -> None:
    with pytest.raises(ValueError, match=r"must be greater than 0|the timeout must be 0 or more seconds"):
        notify.wait(stream, timeout)
    stream.synchronize()  # nothing was enqueued


def test_a_time_limit_is_a_number(notify: Notify, stream: Stream) -> None:
    with pytest.raises(TypeError):
        notify.wait(stream, "1")  # type: ignore[arg-type]


# --- lifetimes -------------------------------------------------------------------------------------------------------


def test_work_keeps_a_discarded_notify(device: Device, stream: Stream, other: Stream) -> None:
    notify: Any = Notify()
    with Latch(stream):
        notify.record(stream)
        notify.wait(other)
        kept = weakref.ref(notify)
        del notify
        gc.collect()
        assert kept() is not None
    other.synchronize()
    stream.synchronize()
    gc.collect()
    assert kept() is None


def test_a_graph_keeps_its_notifies(device: Device, stream: Stream, other: Stream) -> None:
    start, finish = Notify(), Notify()
    with stream.capture() as graph:
        start.wait(stream)
        finish.record(stream)
    finish.wait(other)
    graph.launch(stream)
    kept = weakref.ref(finish)
    del finish
    gc.collect()
    was_kept = kept() is not None
    with Stream() as third:
        start.record(third)
    stream.synchronize()
    other.synchronize()
    assert was_kept
    graph.close()
    del graph
    gc.collect()
    assert kept() is None


def test_a_closed_notify_lets_its_pending_wait_be(device: Device, stream: Stream, other: Stream) -> None:
    notify = Notify()
    notify.wait(other)
    notify.close()
    notify.close()
    assert not other.is_done
    other.abort()
    other.synchronize()


def test_what_is_closed_is_refused(notify: Notify, stream: Stream) -> None:
    closed = Notify()
    closed.close()
    for use in (
        lambda: closed.record(stream),
        lambda: closed.wait(stream),
        lambda: closed.id,
        lambda: closed.handle,
        lambda: closed.export(),
        lambda: Notify.reset_all([notify, closed]),
    ):
        with pytest.raises(ClosedError, match="this notify is closed"):
            use()
    assert "closed" in repr(closed)
    over = Stream()
    over.close()
    for refused in (notify.record, notify.wait):
        with pytest.raises(ClosedError, match="this stream is closed"):
            refused(over)


def test_a_thread_without_a_context_may_close_and_discard(device: Device) -> None:
    errors: list[BaseException] = []

    def close(notify: Notify) -> None:
        try:
            notify.close()
        except BaseException as error:
            errors.append(error)

    number = Notify()
    before = number.id
    thread = threading.Thread(target=close, args=(number,))
    thread.start()
    thread.join()
    held: list[Any] = [Notify()]
    assert not errors
    assert held[0].id == before  # it was given back
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    device.synchronize()  # the thread left it to one that has a context
    with Notify() as again:
        assert again.id == before


def test_notifies_of_a_context_that_is_gone(device: Device) -> None:
    with Context() as context:
        inside = Notify()
    context.close()
    inside.close()
    assert inside.is_closed


def test_the_reset_of_the_device_takes_notifies_along(child: Any) -> None:
    script = """
        from ascend_rt import Device, Notify
        Device(0).set_current()
        notify = Notify()
        Device(0).reset()
        notify.close()
        Device(0).set_current()
        with Notify() as other:
            reported(other.id)
    """
    assert isinstance(child(script), int)


def test_leaks_are_found(device: Device) -> None:
    with pytest.raises(AssertionError, match=r"Notify .*: still open"), no_leaks():
        notify = Notify()
    notify.close()


@pytest.mark.simulator("faults")
def test_a_failed_close_may_be_repeated(device: Device) -> None:
    notify = Notify()
    with sim.faults():
        sim.fail_call("aclrtDestroyNotify", 507899)
        with pytest.raises(AclError, match="507899"):
            notify.close()
        assert not notify.is_closed
        notify.close()
    assert notify.is_closed


# --- what is refused -------------------------------------------------------------------------------------------------


def test_streams_of_another_context_are_refused(notify: Notify, stream: Stream) -> None:
    with Context():
        for refused in (notify.record, notify.wait):
            with pytest.raises(NoContext):
                refused(stream)


def test_a_thread_without_a_context_is_refused(notify: Notify, stream: Stream) -> None:
    reported: list[type[BaseException]] = []

    def try_all() -> None:
        for use in (Notify, lambda: notify.record(stream), lambda: notify.id, lambda: Notify.open(b"x")):
            try:
                use()
            except AclError as error:
                reported.append(type(error))

    thread = threading.Thread(target=try_all)
    thread.start()
    thread.join()
    assert reported == [NoContext] * 4


def test_what_is_no_stream_or_notify(notify: Notify, stream: Stream) -> None:
    with Event() as event:
        for wrong in (event, notify, 1, "stream"):
            for refused in (notify.record, notify.wait):
                with pytest.raises(TypeError, match="expected a Stream, got"):
                    refused(wrong)  # type: ignore[operator]
    for wrong in (None, stream):
        with pytest.raises(TypeError, match="expected a Notify, got"):
            Notify.reset_all([notify, wrong])  # type: ignore[list-item]
    with pytest.raises(InvalidArgument):
        Notify.reset_all([])


@pytest.mark.simulator("faults")
def test_all_notifies_are_in_use(device: Device) -> None:
    with Notify() as one, sim.faults():
        sim.limit("notifies", 1)
        with pytest.raises(ResourceExhausted):
            Notify()
    assert one.is_closed


# --- two processes ---------------------------------------------------------------------------------------------------

OPEN = "objects.update(n=rt.Notify.open({!r}))"
MAY_OPEN = "code_of(lambda: rt.Notify.open({!r}).close())"
EXPORT = "(objects.update(n=rt.Notify()), objects['n'].export({}))[1]"
PID = "[p := ffi.new('int32_t *'), lib.aclrtDeviceGetBareTgid(p), p[0]][-1]"


def test_two_processes_wait_for_each_other(notify: Notify, stream: Stream, process: Any) -> None:
    assert process(OPEN.format(notify.export())) == "None"
    notify.wait(stream)
    assert not stream.is_done
    assert process("objects['n'].record(stream)") == "None"
    stream.synchronize()
    assert process("objects['n'].wait(stream) or stream.is_done") == "False"
    notify.record(stream)
    assert process("stream.synchronize()") == "None"
    assert process("objects['n'].id") == str(notify.id)
    assert process("objects['n'].close() or objects['n'].is_closed") == "True"
    notify.record(stream)  # this one goes on
    notify.wait(stream)
    stream.synchronize()


def test_this_process_opens(device: Device, stream: Stream, process: Any) -> None:
    key = literal_eval(process(EXPORT.format("")))
    assert isinstance(key, bytes)
    with Notify.open(key) as notify:
        assert process("objects['n'].record(stream)") == "None"
        notify.wait(stream)
        stream.synchronize()
        with pytest.raises(AclError) as caught:
            notify.export()
        assert caught.value.code == INTERNAL  # it belongs to the other process
    assert process("objects['n'].close()") == "None"
    with pytest.raises(InvalidArgument, match="no process has exported a notify under this key"):
        Notify.open(key)


def test_named_processes(device: Device, process: Any) -> None:
    pid = int(process(PID))
    for processes, code in (([os.getpid()], NOT_PERMITTED), ([1, pid], 0), (iter([pid]), 0), (None, 0)):
        with Notify() as notify:
            assert process(MAY_OPEN.format(notify.export(processes))) == str(code)


def test_not_being_named_is_said(device: Device, process: Any) -> None:
    key = literal_eval(process(EXPORT.format([1])))
    with pytest.raises(AclError, match="the exporter did not name process") as caught:
        Notify.open(key)
    assert caught.value.code == NOT_PERMITTED


def test_bad_processes_do_not_use_up_the_export(notify: Notify, process: Any) -> None:
    with pytest.raises(ValueError, match="pass None to allow every process"):
        notify.export([])
    with pytest.raises(OverflowError):
        notify.export([1 << 40])
    with pytest.raises(TypeError):
        notify.export(["1"])  # type: ignore[list-item]
    assert process(MAY_OPEN.format(notify.export())) == "0"
    with pytest.raises(AclError, match="shared already") as caught:
        notify.export()
    assert caught.value.code == INTERNAL


def test_the_exporter_may_open_its_own(notify: Notify, stream: Stream, other: Stream) -> None:
    with Notify.open(notify.export()) as again:
        notify.wait(other)
        assert not other.is_done
        again.record(stream)
        other.synchronize()
        assert other.is_done


@pytest.mark.parametrize("key", [b"", b"no key at all", b"/ascend_rt-1.1", b"x" * 64, b"x" * 1000])
def test_what_is_no_key(key: bytes, device: Device) -> None:
    with pytest.raises(InvalidArgument):
        Notify.open(key)


def test_a_key_is_bytes_and_does_not_end_early(notify: Notify) -> None:
    key = notify.export()
    with pytest.raises(ValueError, match="a key must not contain a zero byte"):
        Notify.open(key + b"\0more")
    with pytest.raises(TypeError, match="key"):
        Notify.open(key.decode())  # type: ignore[arg-type]


def test_only_the_exporters_device_waits_for_a_shared_notify(notify: Notify, stream: Stream) -> None:
    if Device.count() < 2:
        pytest.skip("needs two devices")
    notify.export()
    with Device(1), Stream() as elsewhere:
        with pytest.raises(InvalidArgument, match="on the device that created it"):
            notify.wait(elsewhere)
        notify.record(elsewhere)
        elsewhere.synchronize()
    notify.wait(stream)
    stream.synchronize()


@pytest.mark.parametrize("exporter", ["here", "there"])
def test_a_peer_that_is_killed_stops_no_other(
    exporter: str, device: Device, stream: Stream, other: Stream, process: Any
) -> None:
    if exporter == "here":
        notify = Notify()
        assert process(OPEN.format(notify.export())) == "None"
    else:
        notify = Notify.open(literal_eval(process(EXPORT.format(""))))
    assert process("objects['n'].record(stream) or stream.synchronize()") == "None"
    process.kill()
    with notify:
        notify.wait(stream)
        stream.synchronize()  # the record is there
        notify.wait(stream, timeout=1)  # the next one will not come
        with pytest.raises(Timeout):
            stream.synchronize()
        notify.wait(stream)
        notify.record(other)
        stream.synchronize()


# --- counting --------------------------------------------------------------------------------------------------------

COUNTING = """
import math
from ascend_rt import ClosedError, Context, CountingNotify, Device, InvalidArgument, NoContext, Stream, Timeout
from ascend_rt.testing import Latch
Device(0).set_current()
a, b = Stream(), Stream()
counter = CountingNotify()

def passes(*arguments, **keywords):
    counter.wait(*arguments, b, **keywords)
    return b.is_done

def refused(kind, function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except kind as error:
        return str(error)
    raise AssertionError("it was taken")

"""


@pytest.fixture
def counting(child: Any) -> Callable[[str], Any]:
    """Return a function that runs a script with a counter on the 950."""
    return lambda script: child(COUNTING + script, ASCEND_RT_SIM_PRODUCT="950")


@pytest.mark.simulator("products")
def test_counting(counting: Callable[[str], Any]) -> None:
    script = """
assert passes(0) and passes(1, condition="<") and passes(0, condition="==")
assert not passes(3)
for _ in range(2):
    counter.record(1, a, operation="add")
a.synchronize()
assert not b.is_done
counter.record(1, a, operation="add")
b.synchronize()
counter.record(0x10, a, operation="or")
assert a.synchronize() or passes(0x13, condition="==")
counter.record(0x12, a, operation="and")
assert a.synchronize() or passes(0x12, condition="==")
assert passes(0x10, condition="&")
assert not passes(0x12, condition=">", clear=True)
counter.record(2**32 - 1, a)
b.synchronize()
assert passes(0, condition="==")
with a.as_current():
    counter.record(9)
    counter.reset()
assert a.synchronize() or passes(0, condition="==")
with Latch(a):
    with a.as_current():
        counter.record(1)
    assert not passes(1)
b.synchronize()
with b.as_current():
    counter.wait(7, timeout=0.2)
refused(Timeout, b.synchronize)
with CountingNotify() as second:
    assert second.id != counter.id
reported("done")
"""
    assert counting(script) == "done"


@pytest.mark.simulator("products")
def test_what_a_counter_refuses(counting: Callable[[str], Any]) -> None:
    script = """
texts = [
    refused(ValueError, counter.record, 1, a, operation="xor"),
    refused(ValueError, counter.wait, 1, a, condition="!="),
    refused(ValueError, counter.wait, 1, a, timeout=0),
]
for value in (-1, 2**32):
    refused(OverflowError, counter.record, value, a)
    refused(OverflowError, counter.wait, value, a)
refused(TypeError, counter.record, 1.5, a)
with Context():
    refused(NoContext, counter.record, 1, a)
    refused(NoContext, counter.wait, 1, a)
    refused(NoContext, counter.reset, a)
counter.close()
counter.close()
refused(ClosedError, counter.record, 1, a)
reported(texts)
"""
    operation, condition, timeout = counting(script)
    assert operation == "the operation 'xor' is not one of set, add, or, and"
    assert condition == "the condition '!=' is not one of <, ==, >, >=, &"
    assert timeout == "the timeout must be greater than 0 seconds; math.inf waits without a limit"


# --- products --------------------------------------------------------------------------------------------------------

SHARED = ("910B", "910C", "310P", "910", "950")
RESET = ("910B", "910C", "950")


@pytest.mark.simulator("products")
@pytest.mark.parametrize("product", PRODUCTS)
def test_products(product: str, child: Any) -> None:
    script = """
        from ascend_rt import AclError, CountingNotify, Device, Notify, Stream
        Device(0).set_current()
        def code_of(function, *arguments):
            try:
                function(*arguments)
            except AclError as error:
                return error.code
            return 0
        with Notify() as notify, Stream() as stream:
            notify.record(stream)
            notify.wait(stream)
            stream.synchronize()
            reported([
                code_of(notify.export),
                code_of(Notify.open, b"no key"),
                code_of(Notify.reset_all, [notify]),
                code_of(CountingNotify),
            ])
    """
    assert child(script, ASCEND_RT_SIM_PRODUCT=product) == [
        0 if product in SHARED else UNSUPPORTED,
        RT_PARAM if product in SHARED else UNSUPPORTED,
        0 if product in RESET else UNSUPPORTED,
        0 if product == "950" else UNSUPPORTED,
    ]
