# SPDX-License-Identifier: Apache-2.0
"""Tasks of asyncio wait for events and streams while the event loop goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from typing import Any

import pytest

from ascend_rt import Device, Event, Stream, StreamAborted, TaskFailed, sim
from ascend_rt.errors import ClosedError
from ascend_rt.testing import Latch

WAITS: dict[str, Callable[[Stream, Event], Awaitable[None]]] = {
    "event": lambda stream, event: event,
    "event.done": lambda stream, event: event.done(),
    "stream.done": lambda stream, event: stream.done(),
}


@pytest.fixture(params=WAITS.values(), ids=WAITS)
def wait(request: pytest.FixtureRequest) -> Callable[[Stream, Event], Awaitable[None]]:
    return request.param


async def wait_for(awaited: Awaitable[None]) -> None:
    await awaited


def test_the_loop_goes_on_until_the_work_is_done(wait, stream: Stream) -> None:
    async def main() -> list[str]:
        happened = []
        latch = Latch(stream)
        event = stream.record()
        task = asyncio.create_task(wait_for(wait(stream, event)))
        task.add_done_callback(lambda _: happened.append("done"))
        await asyncio.sleep(0)
        happened.append("released" if not task.done() else "too early")
        latch.release()
        await task
        return happened

    assert asyncio.run(main()) == ["released", "done"]


def test_what_is_done_is_not_waited_for(wait, stream: Stream) -> None:
    threads = threading.active_count()

    async def main() -> None:
        event = stream.record()
        stream.synchronize()
        task = asyncio.create_task(wait_for(wait(stream, event)))
        await asyncio.sleep(0)
        assert task.done()

    asyncio.run(main())
    assert threading.active_count() == threads


def test_work_that_comes_between_the_look_and_the_wait_is_waited_for(stream: Stream, override: Any) -> None:
    latches: list[Latch] = []
    looks: list[int] = []

    def look(handle: Any, status: Any) -> int:
        code = query(handle, status)
        looks.append(code)
        if len(looks) == 1:
            latches.append(Latch(stream))  # as another thread may
        return int(code)

    async def main() -> None:
        task = asyncio.create_task(stream.done())
        await asyncio.sleep(0)
        assert not task.done()
        latches[0].release()
        await task
        assert stream.is_done

    query = override("aclrtStreamQuery", look)
    asyncio.run(main())


def test_many_wait_at_the_same_time(wait, stream: Stream, other: Stream) -> None:
    async def main() -> None:
        with Latch(stream):
            event = stream.record()
            tasks = [asyncio.create_task(wait_for(wait(stream, event))) for _ in range(50)]
            await asyncio.sleep(0)
            assert not any(task.done() for task in tasks)
        assert await asyncio.gather(*tasks) == [None] * 50

    asyncio.run(main())


def test_a_cancelled_wait_leaves_the_stream_usable(wait, stream: Stream) -> None:
    async def main() -> None:
        with Latch(stream):
            event = stream.record()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(wait(stream, event), 0.001)
        await wait(stream, event)

    asyncio.run(main())
    stream.synchronize()


def test_an_event_that_was_never_recorded_is_not_waited_for(device: Device) -> None:
    async def main() -> None:
        with Event() as event:
            task = asyncio.create_task(wait_for(event))
            await asyncio.sleep(0)
            assert task.done()

    asyncio.run(main())


@pytest.mark.simulator("faults")
def test_a_failed_task_is_raised(wait, stream: Stream) -> None:
    async def main() -> None:
        with Latch(stream):
            sim.fail_task(507015, stream)
            stream.record()
            event = stream.record()
            task = asyncio.create_task(wait_for(wait(stream, event)))
            await asyncio.sleep(0)
        with pytest.raises(TaskFailed, match="507015"):
            await task

    with sim.faults():
        asyncio.run(main())
        with nullcontext() if wait is WAITS["stream.done"] else pytest.raises(TaskFailed):  # the stream reports it once
            stream.synchronize()


@pytest.mark.simulator("faults")
def test_a_failure_that_a_cancelled_wait_was_reported_is_raised_by_the_next(stream: Stream) -> None:
    async def main() -> None:
        latch = Latch(stream)
        sim.fail_task(507015, stream)
        stream.record()
        task = asyncio.create_task(stream.done())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        latch.release()

    def synchronize_again_and_again() -> None:
        while True:
            stream.synchronize()

    with sim.faults():
        asyncio.run(main())
        with pytest.raises(TaskFailed, match="507015"):
            synchronize_again_and_again()  # the abandoned thread may receive it first, and report it late


def test_an_abort_ends_the_wait(wait, stream: Stream) -> None:
    async def main() -> None:
        latch = Latch(stream)
        event = stream.record()
        task = asyncio.create_task(wait_for(wait(stream, event)))
        await asyncio.sleep(0)
        stream.abort()
        with suppress(StreamAborted):  # unless the abort was first
            await asyncio.wait_for(task, 60)
        assert task.done()
        assert stream.is_done
        latch.release()

    asyncio.run(main())


def test_closed_objects_are_refused(device: Device) -> None:
    async def main() -> None:
        stream, event = Stream(), Event()
        stream.close()
        event.close()
        for awaited in (stream.done(), event.done()):
            with pytest.raises(ClosedError):
                await awaited

    asyncio.run(main())
