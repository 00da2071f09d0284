# SPDX-License-Identifier: Apache-2.0
"""The current stream, which calls without a stream use."""

from __future__ import annotations

import asyncio
import sys

import pytest
from support.threads import in_thread

from ascend_rt import Context, Device, Event, Stream
from ascend_rt.errors import ClosedError, NoContext
from ascend_rt.testing import Latch


def test_it_is_the_default_stream_at_first(device: Device) -> None:
    assert Stream.current() == Stream.default() == device.default_stream
    assert Stream.current() is Stream.current()


def test_blocks_nest(stream: Stream, other: Stream) -> None:
    with stream.as_current() as entered:
        assert entered is stream is Stream.current()
        with other.as_current():
            assert Stream.current() is other
        assert Stream.current() is stream
        with pytest.raises(KeyError), other.as_current():
            raise KeyError
        assert Stream.current() is stream
    assert Stream.current() == Stream.default()
    assert not stream.is_closed


def test_an_event_is_recorded_there(stream: Stream) -> None:
    event = Event()
    with stream.as_current():
        event.record()
    assert event._window is stream._retention.window


def test_a_record_without_a_stream_follows_the_context(device: Device) -> None:
    event, context = Event(), Context(0)
    device.set_current()
    with Latch(Stream.default()):
        event.record()
        assert not event.is_done
        with context:
            event.record()  # on the default stream of the other context, which is idle
            event.synchronize()
        event.record()
        assert not event.is_done
    event.synchronize()
    context.close()


def test_a_record_in_a_block_whose_context_was_left_is_on_the_default_stream(device: Device, stream: Stream) -> None:
    event, context = Event(), Context(0)
    device.set_current()
    with stream.as_current(), Latch(stream):
        event.record()
        assert not event.is_done
        with context:
            event.record()
            event.synchronize()
    context.close()


def test_its_context_is_current_with_it(device: Device) -> None:
    with Context(1) as elsewhere:
        stream = Stream()
    assert Device.current() == device
    with stream.as_current():
        assert Device.current() == Device(1)
        assert Context.current() == elsewhere
        with device:
            assert Stream.current() == device.default_stream
        assert Stream.current() is stream
    assert Device.current() == device
    stream.close()
    elsewhere.close()


@pytest.mark.skipif(
    getattr(sys.flags, "thread_inherit_context", 0), reason="in this Python a thread begins with what its starter has"
)
def test_other_threads_have_their_own(device: Device, stream: Stream) -> None:
    def current() -> bool:
        device.set_current()
        return Stream.current() == Stream.default()

    with stream.as_current():
        assert in_thread(current)


def test_tasks_of_asyncio_have_their_own(stream: Stream, other: Stream) -> None:
    async def main() -> None:
        met = asyncio.Event()

        async def first() -> None:
            with stream.as_current():
                await met.wait()
                assert Stream.current() is stream

        async def second() -> None:
            with other.as_current():
                met.set()
                await asyncio.sleep(0)
                assert Stream.current() is other

        await asyncio.gather(first(), second())

    asyncio.run(main())


def test_a_thread_without_a_context_has_none(device: Device) -> None:
    def no_context() -> bool:
        with pytest.raises(NoContext):
            Stream.current()
        return True

    assert in_thread(no_context)


def test_a_closed_stream_is_no_current_one(device: Device) -> None:
    stream = Stream()
    with stream.as_current():
        stream.close()
        with pytest.raises(ClosedError):
            Event().record()
    with pytest.raises(ClosedError), stream.as_current():
        raise AssertionError("entered")
