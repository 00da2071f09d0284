# SPDX-License-Identifier: Apache-2.0
"""Every spelling of a hot call is one call: C parses it as Python does, and answers odd arguments as Python would."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.calls import called_in_python
from support.threads import in_thread

from ascend_rt import (
    Buffer,
    Context,
    Device,
    Event,
    MemoryPool,
    PinnedBuffer,
    Stream,
    copy_async,
    fill_async,
    sim,
)
from ascend_rt._runtime.error_texts import in_full
from ascend_rt.errors import AclError, AclWarning, ClosedError


class Things:
    """Arguments of the calls; they are closed at the end."""

    def __init__(self, device: Device) -> None:
        self.stream, self.other, self.event = Stream(), Stream(), Event()
        self.buffer, self.pinned = Buffer(64), PinnedBuffer(64)
        self.pool = MemoryPool(device)
        with self.other.capture() as self.graph:
            fill_async(self.buffer, 1, self.other)

    def close(self) -> None:
        for each in (self.graph, self.stream, self.other, self.event, self.buffer, self.pool):
            each.close()


Use = Callable[[Things], object]


@pytest.fixture
def it(device: Device) -> Iterator[Things]:
    things = Things(device)
    yield things
    device.synchronize()
    things.close()


SPELLINGS: dict[str, Use] = {
    "event.record(stream)": lambda it: it.event.record(it.stream),
    "event.record(stream=)": lambda it: it.event.record(stream=it.stream),
    "event.record()": lambda it: it.event.record(),
    "event.record(None)": lambda it: it.event.record(None),
    "stream.record(event)": lambda it: it.stream.record(it.event),
    "stream.record(event=)": lambda it: it.stream.record(event=it.event),
    "stream.record()": lambda it: it.stream.record(),
    "wait(event)": lambda it: it.other.wait(it.event),
    "wait(other=)": lambda it: it.other.wait(other=it.event),
    "wait(event, 1)": lambda it: it.other.wait(it.event, 1),
    "wait(timeout=)": lambda it: it.other.wait(timeout=0.25, other=it.event),
    "wait(record())": lambda it: it.other.wait(it.stream.record()),
    "wait(stream)": lambda it: it.other.wait(it.stream),
    "wait(other=stream)": lambda it: it.other.wait(other=it.stream),
    "stream.synchronize()": lambda it: it.stream.synchronize(),
    "stream.synchronize(1)": lambda it: it.stream.synchronize(1),
    "stream.synchronize(timeout=)": lambda it: it.stream.synchronize(timeout=0.5),
    "event.synchronize()": lambda it: it.event.synchronize(),
    "event.synchronize(timeout=)": lambda it: it.event.synchronize(timeout=60),
    "copy_async(stream)": lambda it: copy_async(it.buffer, it.pinned, it.stream),
    "copy_async(stream=)": lambda it: copy_async(it.buffer, it.pinned, stream=it.stream),
    "copy_async()": lambda it: copy_async(it.buffer, it.pinned),
    "copy_async(dst=, src=)": lambda it: copy_async(src=it.pinned, dst=it.buffer, snapshot=False),
    "copy_async(slices)": lambda it: copy_async(it.buffer[8:16], it.pinned[:8], it.stream),
    "fill_async(stream)": lambda it: fill_async(it.buffer, 7, it.stream),
    "fill_async(stream=)": lambda it: fill_async(it.buffer, 7, stream=it.stream),
    "fill_async()": lambda it: fill_async(it.buffer, 7),
    "fill_async(slice)": lambda it: fill_async(it.buffer[4:], value=7),
    "graph.launch(stream)": lambda it: it.graph.launch(it.stream),
    "graph.launch(stream=)": lambda it: it.graph.launch(stream=it.stream),
    "graph.launch()": lambda it: it.graph.launch(),
    "pool.allocate(stream)": lambda it: it.pool.allocate(64, it.stream).close(),
    "pool.allocate(stream), discarded": lambda it: it.pool.allocate(64, it.stream),
    "pool.allocate(stream=)": lambda it: it.pool.allocate(nbytes=64, stream=it.stream).close(),
}


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS)
def test_no_spelling_does_anything_in_python(spelled: Use, it: Things) -> None:
    spelled(it)  # from now on handles and the default stream are known
    it.event.synchronize()
    assert called_in_python(lambda: spelled(it)) == []


def test_a_block_chooses_the_current_stream_without_python(it: Things) -> None:
    def current() -> list[str]:
        return called_in_python(lambda: (it.event.record(), fill_async(it.buffer, 1)))

    with it.stream.as_current():
        assert current() == []
        assert it.event._window is it.stream._retention.window
        with it.other.as_current():
            it.event.record()
            assert it.event._window is it.other._retention.window
    it.event.record()
    assert it.event._window is Stream.default()._retention.window


def test_a_stream_that_a_block_has_chosen_is_not_used_in_another_context(it: Things) -> None:
    with it.stream.as_current(), Context(0) as context, Event() as inside:
        inside.record()
        assert inside._window is context.default_stream._retention.window
    context.close()


def test_each_context_has_its_default_stream(it: Things) -> None:
    with Context(0) as context, Event() as event:
        for _ in range(2):
            event.record()
            assert event._window is context.default_stream._retention.window
    context.close()
    it.event.record()
    assert it.event._window is Stream.default()._retention.window


def closed(thing: Any) -> Any:
    thing.close()
    return thing


class Derived(Event):
    def record(self, stream: Stream | None = None) -> None:
        raise LookupError("the method of the derived class")


def read_only(pinned: Any) -> Any:
    pinned.flags.writeable = False
    return pinned


def shown(value: object) -> str:
    """Return an argument as the names of calls have it, whatever the release of numpy."""
    return re.sub(r"np\.\w+\(([^()]*)\)", r"\1", repr(value))


ODD: dict[str, Any] = {
    "record str": lambda it: it.event.record("x"),
    "record int": lambda it: it.event.record(5),
    "record event": lambda it: it.event.record(it.event),
    "record two": lambda it: it.event.record(it.stream, 1),
    "record twice": lambda it: it.event.record(it.stream, stream=it.stream),
    "record unknown": lambda it: it.event.record(to=it.stream),
    "record self by name": lambda it: it.event.record(self=it.event),
    "record closed event": lambda it: closed(Event()).record(it.stream),
    "record closed event, current": lambda it: closed(Event()).record(),
    "record closed stream": lambda it: it.event.record(closed(Stream())),
    "record unborn": lambda it: Event.__new__(Event).record(it.stream),
    "record wrong self": lambda it: Event.record(it.stream, it.stream),
    "record without a context": lambda it: in_thread(it.event.record),
    "stream records str": lambda it: it.stream.record("a"),
    "stream records stream": lambda it: it.stream.record(it.stream),
    "stream records derived": lambda it: it.stream.record(Derived()),
    "stream records unknown": lambda it: it.stream.record(events=it.event),
    "closed stream records": lambda it: closed(Stream()).record(),
    "unborn stream records": lambda it: Stream.__new__(Stream).record(),
    "wait for nothing": lambda it: it.stream.wait(),
    "wait for None": lambda it: it.stream.wait(None),
    "wait for itself": lambda it: it.stream.wait(it.stream),
    "wait for closed": lambda it: it.stream.wait(closed(Event())),
    "wait for closed stream": lambda it: it.stream.wait(closed(Stream())),
    "wait, three": lambda it: it.stream.wait(it.event, 1, 2),
    **{
        f"wait {shown(limit)}": lambda it, limit=limit: it.stream.wait(it.event, limit)
        for limit in (0, -1, math.nan, math.inf, "a", True, 1e-12, 1 << 40, 1e40, np.float32(0.5), Decimal(1), [1])
    },
    **{
        f"synchronize {shown(limit)}": lambda it, limit=limit: it.stream.synchronize(timeout=limit)
        for limit in (0, -1, -0.0, math.nan, math.inf, "a", True, 1e-12, 1 << 80, 1e40, np.float64(0.5), Decimal(1), ())
    },
    "synchronize event for ever": lambda it: it.event.synchronize(math.inf),
    "synchronize, two": lambda it: it.stream.synchronize(1, 2),
    "synchronize closed": lambda it: closed(Stream()).synchronize(),
    "synchronize closed event": lambda it: closed(Event()).synchronize(timeout=1),
    "is_done closed": lambda it: closed(Stream()).is_done,
    "is_done closed event": lambda it: closed(Event()).is_done,
    "new event 5": lambda it: Event(5),
    "new event unknown": lambda it: Event(loud=1),
    "new event options": lambda it: Event(options=None),
    "close event with": lambda it: Event().close(1),
    "close event twice": lambda it: closed(Event()).close(),
    **{
        f"buffer {shown(size)}": lambda it, size=size: Buffer(size).close()
        for size in (0, -1, 2**70, 2**50, True, np.int64(64), 1.5, "a", None)
    },
    "buffer unknown": lambda it: Buffer(size=8),
    "copy host to host": lambda it: copy_async(it.pinned, PinnedBuffer(64), it.stream),
    "copy too much": lambda it: copy_async(Buffer(4), it.pinned, it.stream),
    "copy to closed": lambda it: copy_async(closed(Buffer(4)), it.pinned, it.stream),
    "copy from closed": lambda it: copy_async(it.buffer, closed(PinnedBuffer(4)), it.stream),
    "copy on closed": lambda it: copy_async(it.buffer, it.pinned, closed(Stream())),
    "copy on event": lambda it: copy_async(it.buffer, it.pinned, it.event),
    "copy int": lambda it: copy_async(5, it.pinned, it.stream),
    "copy list": lambda it: copy_async(it.buffer, [1], it.stream),
    "copy to read-only": lambda it: copy_async(read_only(PinnedBuffer(64)), it.buffer, it.stream),
    "copy from read-only": lambda it: copy_async(it.buffer, read_only(PinnedBuffer(64)), it.stream),
    "copy transposed": lambda it: copy_async(it.buffer, it.pinned.reshape(8, 8).T, it.stream),
    "copy reversed": lambda it: copy_async(it.buffer, it.pinned[::-1], it.stream),
    "copy nothing": lambda it: copy_async(it.buffer, it.pinned[:0], it.stream),
    "copy one argument": lambda it: copy_async(it.buffer),
    "copy four": lambda it: copy_async(it.buffer, it.pinned, it.stream, True),
    "copy snapshot": lambda it: copy_async(it.buffer, it.pinned, it.stream, snapshot=True),
    "copy without a context": lambda it: in_thread(lambda: copy_async(it.buffer, it.pinned)),
    **{
        f"fill {shown(value)}": lambda it, value=value: fill_async(it.buffer, value, it.stream)
        for value in (256, -1, True, 1.0, "1", None, np.uint8(3), 1 << 80)
    },
    "fill pinned": lambda it: fill_async(it.pinned, 1, it.stream),
    "fill closed": lambda it: fill_async(closed(Buffer(4)), 1),
    "fill words": lambda it: fill_async(it.buffer, 1 << 20, it.stream, itemsize=4),
    "fill of size 3": lambda it: fill_async(it.buffer, 1, it.stream, itemsize=3),
    **{
        f"slice {shown(part)}": lambda it, part=part: repr(it.buffer[part])
        for part in (
            slice(None),
            slice(-8, None),
            slice(0, 1 << 80),
            slice(5, 2),
            slice(0, 8, 2),
            slice(0, 0),
            slice(8, 0, -1),
            slice("a", 2),
            slice(0, np.int64(4)),
            slice(0, 1.5),
            slice(0, 4, 0),
            5,
            ...,
            (slice(0, 1),),
        )
    },
    "slice closed": lambda it: closed(Buffer(8))[:4],
    "slice of a slice": lambda it: [repr(each) for each in (it.buffer[8:][8:16][1:2], it.buffer[8:][8:].base)],
    "launch on str": lambda it: it.graph.launch("s"),
    "launch, two": lambda it: it.graph.launch(it.stream, it.stream),
    **{
        f"allocate {shown(size)}": lambda it, size=size: it.pool.allocate(size, it.stream).close()
        for size in (0, -1, 1 << 80, True, np.int32(64), 2.5, "a", 1 << 50)
    },
    "allocate on str": lambda it: it.pool.allocate(8, "s"),
    "allocate on borrowed": lambda it: it.pool.allocate(8, Stream.from_handle(it.stream.handle)).close(),
    "allocate of closed": lambda it: closed(MemoryPool(Device(0))).allocate(8, it.stream),
    "free twice": lambda it: closed(it.pool.allocate(8, it.stream)).close(),
    "free on another": lambda it: it.pool.allocate(8, it.stream).close(it.other),
    "free with two": lambda it: it.pool.allocate(8, it.stream).close(it.other, 1),
    "free on closed": lambda it: (lambda on: (it.pool.allocate(8, on), on.close())[0].close())(Stream()),
}


def outcome(use: Use, it: Things) -> tuple[str, str]:
    """Return the result of a call or its error, without what differs from call to call."""
    try:
        kind, text = "result", repr(use(it))
    except Exception as error:
        kind, text = type(error).__name__, in_full(error)
    kind = "ValueError" if kind == "BufferError" else kind  # numpy's, by its version
    text = re.sub(r"\. Did you mean .*", "", text)  # by the version of Python
    text = re.sub(r".* is read-only|.* is not writable", "…", text)
    return kind, re.sub(r"0x[0-9a-f]+|\d{9,}|stream \d+|<ascend_rt\.(Event|Stream) [^>]*>", "…", text)


# Recorded from methods in Python, before C had the only body.
ANSWERS = json.loads((Path(__file__).parents[2] / "data" / "odd_calls.json").read_text(encoding="utf-8"))


@pytest.mark.simulator("internals")
@pytest.mark.parametrize("name", ODD)
def test_odd_arguments_are_answered_as_by_python(name: str, it: Things) -> None:
    assert list(outcome(ODD[name], it)) == ANSWERS[name]


class Index:
    """An integer whose value is asked for once."""

    def __init__(self, act: Callable[[], int]) -> None:
        self._act = act

    def __index__(self) -> int:
        return self._act()


def test_what_an_index_of_a_slice_raises_is_not_lost(it: Things) -> None:
    def interrupt() -> int:
        asked.append(1)
        raise KeyboardInterrupt

    asked: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        it.buffer[Index(interrupt) : 9]  # type: ignore[misc]
    assert asked == [1]


def test_a_buffer_that_an_index_closes_has_no_view() -> None:
    with Buffer(64) as buffer, pytest.raises(ClosedError):
        buffer[Index(lambda: buffer.close() or 0) : 9]  # type: ignore[func-returns-value, misc]


class Limit:
    """A number of seconds that acts when it is asked for its value."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act

    def __float__(self) -> float:
        self._act()
        return 1.0


@pytest.mark.parametrize("closing", ["stream", "event"])
def test_what_a_limit_closes_is_not_used(closing: str, it: Things) -> None:
    limit: Any = Limit(getattr(it, closing).close)
    with pytest.raises(ClosedError):
        it.stream.wait(it.event, limit)


def test_what_its_own_limit_closes_is_not_waited_for(it: Things) -> None:
    for each in (it.stream, it.event):
        limit: Any = Limit(each.close)
        with pytest.raises(ClosedError):
            each.synchronize(limit)


def test_a_part_of_more_than_half_of_all_addresses(it: Things) -> None:
    huge = Buffer.from_handle(it.buffer.handle, 2**63 + 5)
    assert repr(huge[0:8]) == repr(it.buffer[:8])
    assert (huge[0:-1].nbytes, huge[8:-1].offset) == (2**63 + 4, 8)


def test_a_stream_whose_record_is_replaced_is_asked_for_it(it: Things) -> None:
    class Recording(Stream):
        count = 0

        def record(self, event: Event | None = None) -> Event:
            self.count += 1
            return super().record(event)

    with Recording() as stream:
        it.stream.wait(stream)
        assert stream.count == 1


@pytest.mark.simulator("faults")
@pytest.mark.parametrize("function", ["aclrtMemPoolFreeAsync", "aclrtFree", "aclrtDestroyEvent"])
def test_what_cannot_be_given_back_is_tried_once(function: str, it: Things) -> None:
    made: dict[str, Callable[[], Any]] = {
        "aclrtMemPoolFreeAsync": lambda: it.pool.allocate(64, it.stream),
        "aclrtFree": lambda: Buffer(64),
        "aclrtDestroyEvent": Event,
    }
    closed_twice, discarded = made[function](), made[function]()
    sim.fail_call(function, 507899)
    with pytest.raises(AclError, match="507899"):
        closed_twice.close()
    sim.clear()
    closed_twice.close()
    sim.fail_call(function, 507899)
    with pytest.warns(AclWarning, match="507899"):
        del discarded
    sim.clear()


def test_memory_of_a_pool_that_a_thread_without_a_context_discards_is_freed(it: Things, device: Device) -> None:
    left = [it.pool.allocate(64, it.stream)]
    in_thread(left.clear)
    device.synchronize()
    assert it.pool.statistics.used == 0


def test_a_stream_is_not_created_again(it: Things) -> None:
    with pytest.raises(RuntimeError, match="create a new object"):
        it.stream.__init__()  # type: ignore[misc]
    closed(it.other)
    with pytest.raises(RuntimeError, match="create a new object"):
        it.other.__init__()  # type: ignore[misc]
