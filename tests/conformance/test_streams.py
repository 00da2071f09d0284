# SPDX-License-Identifier: Apache-2.0
"""Streams, contexts and devices through the facade."""

from __future__ import annotations

import gc
import threading
from functools import partial
from typing import Any

import pytest
from support.threads import in_thread

from ascend_rt import Context, Device, Event, Stream
from ascend_rt.enums import StreamFlag
from ascend_rt.errors import AclError, ClosedError, InvalidArgument, InvalidHandle, NoContext, StreamAborted, Timeout
from ascend_rt.testing import Latch


def test_streams_are_independent(stream: Stream, other: Stream) -> None:
    with Latch(stream):
        other.record()
        other.synchronize()
        assert other.is_done
        assert not stream.is_done
    stream.synchronize()


def test_synchronize_with_a_limit_can_be_repeated(stream: Stream) -> None:
    with Latch(stream):
        for _ in range(2):
            with pytest.raises(Timeout):
                stream.synchronize(timeout=0.001)
    stream.synchronize(timeout=5)


@pytest.mark.parametrize("wrong", [None, 5])
def test_a_stream_waits_for_events_and_streams_only(wrong: Any, stream: Stream) -> None:
    with pytest.raises(TypeError, match=f"an Event, a Notify or a Stream to wait for, got {type(wrong).__name__}"):
        stream.wait(wrong)


@pytest.mark.parametrize("timeout", [-1, -0.001, float("-inf"), float("nan")])
def test_refused_limits(timeout: float, stream: Stream, device: Device) -> None:
    for wait in (stream.synchronize, stream.record().synchronize, device.synchronize, partial(stream.wait, stream)):
        with pytest.raises(ValueError, match="the timeout must be 0 or more seconds"):
            wait(timeout=timeout)


def test_the_device_waits_for_all_streams_of_the_context(device: Device, stream: Stream, other: Stream) -> None:
    latch = Latch(stream)
    with pytest.raises(Timeout):
        device.synchronize(timeout=0.001)
    latch.release()
    device.synchronize()
    assert stream.is_done
    assert other.is_done


def test_the_device_does_not_wait_for_a_stream_that_another_thread_destroys(child: Any) -> None:
    script = """
        assert lib.aclrtSetDevice(0) == 0
        context, stream, gate = ffi.new("aclrtContext *"), ffi.new("aclrtStream *"), ffi.new("aclrtEvent *")
        assert lib.aclrtGetCurrentContext(context) == lib.aclrtCreateStream(stream) == 0
        assert lib.aclrtCreateEventWithFlag(gate, lib.ACL_EVENT_SYNC) == 0
        assert lib.aclrtStreamWaitEvent(stream[0], gate[0]) == 0
        codes = []

        def destroy():
            assert lib.aclrtSetCurrentContext(context[0]) == 0
            codes.append(lib.aclrtDestroyStream(stream[0]))

        thread = threading.Thread(target=destroy)
        thread.start()
        status = ffi.new("aclrtStreamStatus *")
        while lib.aclrtStreamQuery(stream[0], status) == 0:
            pass  # waits until its handle is gone
        codes += [lib.aclrtSynchronizeDeviceWithTimeout(60_000), lib.aclrtSynchronizeDevice()]
        assert thread.is_alive()
        codes.append(lib.aclrtRecordEvent(gate[0], ffi.NULL))
        thread.join()
        reported([*codes, lib.aclrtSynchronizeDevice()])
    """
    assert child(script) == [0] * 5


def test_priorities_are_clamped(device: Device) -> None:
    with Stream(priority=3) as stream:
        assert stream.priority == 3
    for too_low in (100, 1 << 40):
        with Stream(priority=too_low) as stream:
            assert stream.priority == 7
    with Stream(priority=-1) as stream:
        assert stream.priority == 0


def test_flags_come_back(device: Device) -> None:
    with Stream(flags=StreamFlag.FAST_LAUNCH | StreamFlag.FAST_SYNC) as stream:
        assert stream.flags == StreamFlag.FAST_LAUNCH | StreamFlag.FAST_SYNC


def test_a_persistent_stream_keeps_its_tasks_and_nobody_waits_for_them(device: Device) -> None:
    with Stream(flags=StreamFlag.PERSISTENT) as stream:
        event = stream.record()
        stream.synchronize()
        assert stream.is_done
        assert not event.is_done
        with pytest.raises(InvalidArgument, match="persistent"):
            event.synchronize()


@pytest.fixture
def default(device: Device) -> Stream:
    """Return the default stream, where nothing is left of what failed in calls of the C functions."""
    default = Stream.default()
    default.synchronize()
    return default


def test_the_default_stream_is_borrowed_and_usable(default: Stream) -> None:
    default.record().synchronize()
    default.close()
    for stream in (Stream.default(), Stream.from_handle(0)):
        stream.record().synchronize()
        assert stream.is_done


def test_the_default_stream_does_not_wait_for_others(default: Stream, stream: Stream) -> None:
    with Latch(stream):
        default.record().synchronize(timeout=5)
        assert not stream.is_done


def test_a_closed_stream_says_so(device: Device) -> None:
    stream = Stream()
    stream.close()
    stream.close()
    assert "closed" in repr(stream)
    uses = (stream.record, stream.synchronize, stream.check, stream.abort, lambda: stream.is_done)
    for use in (*uses, lambda: stream.launch_host_func(print)):
        with pytest.raises(ClosedError, match="this stream is closed"):
            use()


def test_closing_waits_for_the_work(device: Device) -> None:
    ran = []
    with Stream() as stream:
        stream.launch_host_func(ran.append, 1)
    assert ran == [1]


def test_closing_by_force_drops_what_waits(device: Device) -> None:
    never = Event(manual_reset=True)
    stream = Stream()
    stream.wait(never)
    stream.close(force=True)
    assert stream.is_closed


def test_abort_drops_the_work_and_keeps_the_stream(stream: Stream) -> None:
    never = Event(manual_reset=True)
    stream.wait(never)
    event = stream.record()
    stream.abort()
    assert stream.is_done
    assert not event.is_done
    with pytest.raises(StreamAborted):
        event.synchronize(timeout=1)
    stream.record().synchronize()


def test_abort_releases_a_thread_that_waits(device: Device, stream: Stream) -> None:
    never = Event(manual_reset=True)
    stream.wait(never)
    waits = threading.Event()
    outcome: list[str] = []

    def synchronize() -> None:
        device.set_current()
        waits.set()
        try:
            while True:  # returns at once after an abort that came before
                stream.synchronize()
        except StreamAborted:
            outcome.append("aborted")
        device.reset()

    thread = threading.Thread(target=synchronize)
    thread.start()
    waits.wait()
    while thread.is_alive():  # an abort before the thread waits does not meet it: then a later one does
        stream.wait(never)
        thread.join(timeout=0.05)  # spent in the wait, not in synchronizing a stream that is empty
        stream.abort()
    assert outcome == ["aborted"]


def test_a_new_thread_has_no_context(device: Device, stream: Stream) -> None:
    def use() -> None:
        stream.record()

    with pytest.raises(NoContext, match="107002"):
        in_thread(use)


def test_a_thread_that_sets_the_device_shares_its_context(device: Device, stream: Stream) -> None:
    def use() -> None:
        device.set_current()
        event = stream.record()
        event.synchronize()
        device.reset()
        assert event.is_done

    in_thread(use)
    assert Device.current() == device


def test_a_stream_of_another_context_is_refused(device: Device, stream: Stream) -> None:
    context = Context(0)
    stream.record().synchronize()  # creating a context does not change the current one
    with context:
        with pytest.raises(NoContext, match="107003"):
            stream.record()
        stream.synchronize()  # waiting for it is allowed
    with Latch(stream):
        with context, pytest.raises(Timeout):
            stream.synchronize(timeout=0.001)
        stream.launch_host_func(int)
    with context:
        stream.synchronize()
        assert stream.is_done
    context.close()
    with pytest.raises(ClosedError, match="this context is closed"):
        context.set_current()


def test_a_stream_keeps_its_context(device: Device) -> None:
    context = Context(0)
    with context:
        stream = Stream()
    del context
    gc.collect()
    stream.synchronize()  # InvalidHandle if the context had gone
    assert stream.is_done
    stream.close()


def test_the_previous_context_comes_back(device: Device) -> None:
    before = Context.current()
    assert before is not None
    with Device(1):
        assert Device.current() == Device(1)
    after = Context.current()
    assert after is not None
    assert after.handle == before.handle
    assert Device.current() == device


def test_a_stream_can_be_closed_from_another_context(device: Device) -> None:
    with Device(1):
        stream = Stream()
    assert Device.current() == device
    stream.close()
    assert Device.current() == device


@pytest.mark.parametrize("device_id", [-1, 64, 1_000_000])
def test_unknown_devices(device_id: int, device: Device) -> None:
    with pytest.raises(InvalidArgument, match="107001"):
        Device(device_id).set_current()


def test_streams_of_a_reset_device_are_dead(device: Device) -> None:
    def use() -> None:
        last = Device(Device.count() - 1)
        last.set_current()
        stream = Stream()
        last.reset()
        last.set_current()
        with pytest.raises(InvalidHandle):
            stream.synchronize()
        last.reset()
        stream.close()  # there is nothing left to destroy

    in_thread(use)


def test_a_device_that_is_not_current_is_synchronized(device: Device) -> None:
    last = Device(Device.count() - 1)
    if last == device:
        pytest.skip("needs a second device")
    with last:
        stream = Stream()
        latch = Latch(stream)
    with pytest.raises(Timeout):
        last.synchronize(0.01)
    assert Device.current() == device
    device.synchronize(10_000)
    with last:
        latch.release()
    last.synchronize()
    with last:
        assert stream.is_done
        stream.close()
    last.reset()  # other tests want to be the only ones that have set it


def test_a_device_is_synchronized_in_an_explicit_context_of_it(device: Device, stream: Stream) -> None:
    with Latch(stream), Context(0):
        device.synchronize(10_000)  # not the primary context's streams
        assert not stream.is_done


def test_stream_exhaustion_names_the_limit(device: Device) -> None:
    streams: list[Stream] = []
    with pytest.raises(AclError, match=r"20700[58]"):
        streams.extend(Stream() for _ in range(5000))
    streams.clear()
    Stream().close()


PRIORITIES = """
assert lib.aclrtSetDevice(0) == 0
streams = {}
for name, flags in (("plain", 0), ("cpu", 0x10)):
    out = ffi.new("aclrtStream *")
    assert lib.aclrtCreateStreamWithConfig(out, 0, flags) == 0
    streams[name] = out[0]
streams |= {"NULL": ffi.NULL, "garbage": ffi.cast("void *", 4096)}
value = ffi.new("aclrtStreamAttrValue *")
value.streamPriority = 3
reported([[function(stream, lib.ACL_STREAM_ATTR_PRIORITY, value)
       for function in (lib.aclrtSetStreamAttribute, lib.aclrtGetStreamAttribute)] for stream in streams.values()])
"""


@pytest.mark.simulator("deadly")
def test_the_priority_as_an_attribute(child: Any) -> None:
    expected = {"plain": [0, 0], "cpu": [207000, 207000], "NULL": [107000, 107000], "garbage": [107017, 107017]}
    assert child(PRIORITIES) == list(expected.values())
