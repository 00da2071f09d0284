# SPDX-License-Identifier: Apache-2.0
"""Exceptions of signal handlers, which come between any two lines: nothing is lost, and the thread is as before."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.interruptions import Interruption, interruptions
from support.memory_pools import PAGE
from support.threads import in_thread

from ascend_rt import (
    Buffer,
    Context,
    Device,
    Event,
    ManagedBuffer,
    MemoryPool,
    Notify,
    PhysicalMemory,
    PinnedBuffer,
    Queue,
    RegisteredMemory,
    Stream,
    VirtualMemory,
    copy,
    fill_async,
    pointer_attributes,
)
from ascend_rt import stream as streams
from ascend_rt._runtime import captures, lifecycle
from ascend_rt._runtime.driver import ffi, lib
from ascend_rt._runtime.lifecycle import epoch_of
from ascend_rt.enums import MemLocationType
from ascend_rt.errors import AclError, WrongState

HUGE = 2 << 20


@pytest.fixture(autouse=True)
def quiet(monkeypatch: Any) -> None:
    """An exception in a finalizer has no caller."""
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)


def counted(function: str) -> Callable[[], int]:
    """Return a function that asks for a number of 32 bits."""

    def count() -> int:
        out = ffi.new("uint32_t *")
        assert getattr(lib, function)(out) == 0
        return int(out[0])

    return count


def free_memory() -> int:
    return Device(0).memory_info.free


def next_notify() -> int:
    with Notify() as notify:
        return notify.id


def next_queue() -> int:
    with Queue() as queue:
        return queue.number


streams_left, events_left = counted("aclrtGetStreamAvailableNum"), counted("aclrtGetEventAvailNum")

ARRAY = np.zeros(HUGE, np.uint8)


def mapped() -> Any:
    addresses = VirtualMemory(HUGE)
    return addresses.map(PhysicalMemory(HUGE, Device(0)))


KINDS: dict[str, tuple[Callable[[], Any], Callable[[], int]]] = {
    "stream": (Stream, streams_left),
    "event": (lambda: Event(timing=True), events_left),
    "plain event": (Event, events_left),
    "context": (lambda: Context(0), streams_left),
    "notify": (Notify, next_notify),
    "queue": (Queue, next_queue),
    "buffer": (lambda: Buffer(HUGE), free_memory),
    "buffer with a policy": (lambda: Buffer(HUGE, policy=0), free_memory),
    "buffer of an array": (lambda: Buffer.from_array(ARRAY), free_memory),
    "managed buffer": (lambda: ManagedBuffer(HUGE), free_memory),
    "physical memory": (lambda: PhysicalMemory(HUGE, Device(0)), free_memory),
    "mapped buffer": (mapped, free_memory),
    "pool buffer": (lambda: MemoryPool(Device(0)).allocate(HUGE), free_memory),
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(("make", "count"), KINDS.values(), ids=list(KINDS))
def test_what_is_created_and_closed_is_not_lost(
    device: Device, make: Callable[[], Any], count: Callable[[], int]
) -> None:
    def left() -> int:
        gc.collect()
        device.synchronize()  # closes what was deferred
        return count()

    make().close()
    before = left()
    for where in interruptions(lambda: make().close()):
        assert left() == before, where


@pytest.mark.parametrize(("make", "count"), KINDS.values(), ids=list(KINDS))
def test_what_could_not_be_closed_can_be_closed_again(
    device: Device, make: Callable[[], Any], count: Callable[[], int]
) -> None:
    gc.collect()
    before, made = count(), [make()]
    for where in interruptions(lambda: made[0].close()):
        made[0].close()
        assert made[0].is_closed, where
        made[0] = make()
    made.clear()
    gc.collect()
    assert count() == before


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_as_many_contexts_are_counted_as_there_are(device: Device) -> None:
    def counted_now() -> int:
        gc.collect()
        device.synchronize()
        return epoch_of(0).references["aclrtDestroyContext"]

    before = counted_now()
    for where in interruptions(lambda: Context(0).close()):
        assert counted_now() == before, where


def test_registered_memory_is_unregistered(device: Device) -> None:
    array = np.zeros(2 * PAGE, np.uint8)
    for where in interruptions(lambda: RegisteredMemory(array).close()):
        gc.collect()
        assert pointer_attributes(array.ctypes.data).location == MemLocationType.UNREGISTERED, where


ON_THE_HOST: dict[str, tuple[Callable[[int], object], str, str]] = {
    "pinned": (PinnedBuffer, "aclrtMallocHost", "aclrtFreeHost"),
    "managed": (ManagedBuffer, "aclrtMemAllocManaged", "aclrtFree"),
}


@pytest.mark.parametrize(("make", "allocate", "free"), ON_THE_HOST.values(), ids=list(ON_THE_HOST))
def test_memory_of_the_host_is_freed(
    make: Callable[[int], object], allocate: str, free: str, device: Device, override: Any
) -> None:
    allocated, freed = [0], [0]

    def counting(function: str, number: list[int]) -> None:
        def call(*arguments: Any) -> int:
            number[0] += 1
            return int(in_c(*arguments))

        in_c = override(function, call)

    counting(allocate, allocated)
    counting(free, freed)
    for where in interruptions(lambda: make(PAGE)):
        gc.collect()
        device.synchronize()  # frees what was deferred
        assert freed == allocated, where
    assert allocated[0] > 0


EXISTING: dict[str, tuple[Callable[[], Any], tuple[Any, ...]]] = {
    "stream": (Stream, ()),
    "event": (Event, ()),
    "context": (lambda: Context(0), (0,)),
    "notify": (Notify, ()),
    "queue": (Queue, ()),
    "buffer": (lambda: Buffer(HUGE), (HUGE,)),
    "managed buffer": (lambda: ManagedBuffer(HUGE), (HUGE,)),
    "physical memory": (lambda: PhysicalMemory(HUGE, Device(0)), (HUGE,)),
    "virtual memory": (lambda: VirtualMemory(HUGE), (HUGE,)),
    "memory pool": (lambda: MemoryPool(Device(0)), (Device(0),)),
    "registered memory": (lambda: RegisteredMemory(ARRAY), (bytearray(HUGE),)),
}


@pytest.mark.parametrize(("make", "arguments"), EXISTING.values(), ids=list(EXISTING))
def test_an_object_that_exists_is_not_created_again(
    device: Device, make: Callable[[], Any], arguments: tuple[Any, ...]
) -> None:
    made = make()
    handle = made.handle
    with pytest.raises(WrongState, match="exists already"):
        made.__init__(*arguments)
    assert made.handle == handle
    made.close()
    assert made.is_closed


def test_a_stream_does_not_stay_in_capture(device: Device) -> None:
    stream, buffer = Stream(), Buffer(64)

    def capture() -> None:
        with stream.capture():
            fill_async(buffer, 1, stream)

    capture()  # imports what it needs: otherwise only lines of modules would be interrupted
    before = set(captures.graphs)  # captures of the C function, in a library that does not report their end
    for where in interruptions(capture):
        assert not lib.ascend_rt_captured_graph(stream._handle), where
        assert set(captures.graphs) == before, where
        copy(buffer, bytes(64))  # which a capture in the context would refuse
    stream.close()


def test_a_capture_that_is_interrupted_keeps_nothing(device: Device) -> None:
    stream, used = Stream(), []

    def capture() -> None:
        buffer = Buffer(64)
        used.append(weakref.ref(buffer))
        with stream.capture() as graph:
            fill_async(buffer, 0, stream)
        graph.close()

    for where in interruptions(capture):
        gc.collect()
        assert not [reference for reference in used if reference() is not None], where


def test_a_capture_that_was_there_before_goes_on(stream: Stream) -> None:
    with stream.capture(mode="relaxed"):
        graph = lib.ascend_rt_captured_graph(stream._handle)
        with pytest.raises(AclError), stream.capture():
            pass
        assert lib.ascend_rt_captured_graph(stream._handle) == graph


def block(place: Any) -> Callable[[Any], None]:
    def enter(unused: Any) -> None:
        with place:
            pass

    return enter


def stream_there() -> Stream:
    with Device(1):
        return Stream()


SWITCHES: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "a block of a device": (lambda: None, block(Device(1))),
    "a block of a context": (lambda: Context(1), lambda context: block(context)(None)),
    "a stream of another device is closed": (stream_there, Stream.close),
    "a context's default stream": (lambda: Context(1), lambda context: context.default_stream),
    "a device's default stream": (lambda: None, lambda unused: Device(1).default_stream),
    "another device is synchronized": (lambda: None, lambda unused: Device(1).synchronize()),
    "a device's memory": (lambda: None, lambda unused: Device(1).memory_info),
    "a context is created": (lambda: None, lambda unused: Context(1)),
    "a context is closed": (lambda: Context(1), Context.close),
    "memory of another device is closed": (lambda: RegisteredMemory(ARRAY), RegisteredMemory.close),
}


@pytest.mark.parametrize(("prepare", "call"), SWITCHES.values(), ids=list(SWITCHES))
def test_the_thread_stays_where_it_was(
    device: Device, prepare: Callable[[], Any], call: Callable[[Any], object]
) -> None:
    if Device.count() < 2:
        pytest.skip("needs two devices")
    current = Context.current()
    used = [prepare()]
    for where in interruptions(lambda: call(used[0])):
        assert Context.current() == current, where
        if used[0] is not None:
            used[0].close()
        used[0] = prepare()
    if used[0] is not None:
        used[0].close()


def test_a_stream_is_not_current_after_an_exception_at_the_begin_of_its_block(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupting:
        get, reset = streams._current.get, streams._current.reset

        def set(self, chosen: Stream | None) -> object:
            """Choose a stream; a signal handler raises an exception before the caller has the result."""
            token = chosen_by_block.set(chosen)
            if chosen is stream:
                raise Interruption
            return token

    before, chosen_by_block = Stream.current(), streams._current
    monkeypatch.setattr(streams, "_current", Interrupting())
    with pytest.raises(Interruption), stream.as_current():
        pass
    assert Stream.current() == before


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_interrupted_abort_leaves_events_that_release(device: Device, stream: Stream) -> None:
    event = Event()
    for where in interruptions(lambda: Stream().close(force=True)):
        buffer = Buffer(64)
        fill_async(buffer, 1, stream)
        kept = weakref.ref(buffer)
        del buffer
        event.record(stream)
        event.synchronize()
        assert kept() is None, where


def test_an_interrupted_record_leaves_an_event_that_releases(device: Device) -> None:
    recorded: list[Any] = [Event(), Stream()]
    with Stream() as other:
        for where in interruptions(lambda: recorded[0].record(stream=recorded[1])):
            buffer = Buffer(64)
            fill_async(buffer, 1, other)
            kept = weakref.ref(buffer)
            del buffer
            recorded[0].record(other)
            recorded[0].synchronize()
            gc.collect()
            assert kept() is None, where
            recorded[:] = Event(), Stream()


DISCARDED: dict[str, tuple[Callable[[], Any], Callable[[], int]]] = {
    name: KINDS[name] for name in ("stream", "context", "notify", "queue", "pool buffer")
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(("make", "count"), DISCARDED.values(), ids=list(DISCARDED))
def test_what_a_thread_without_a_context_discards_gives_it_none(
    device: Device, make: Callable[[], Any], count: Callable[[], int]
) -> None:
    gc.collect()
    device.synchronize()  # closes what others have left
    before, made = count(), [make()]

    def discard() -> Context | None:
        made.clear()
        return Context.current()

    assert in_thread(discard) is None
    device.synchronize()  # closes what the thread has left
    gc.collect()
    assert count() == before


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(("make", "count"), DISCARDED.values(), ids=list(DISCARDED))
def test_discarded_objects_are_closed_after_an_interrupted_attempt(
    device: Device, make: Callable[[], Any], count: Callable[[], int]
) -> None:
    gc.collect()
    device.synchronize()  # closes what others have left
    before, made = count(), [make()]

    def end() -> None:
        in_thread(made.clear)  # deferred, since the thread has no context
        lifecycle.close_deferred()

    for where in interruptions(end):
        lifecycle.close_deferred()
        assert count() == before, where
        made.append(make())
    assert count() == before
