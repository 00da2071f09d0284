# SPDX-License-Identifier: Apache-2.0
"""Messages of channels and queues, none of which is lost or repeated, however waits end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ascend_rt import Channel, Device, EndOfSequence, Queue
from ascend_rt.errors import ClosedError, Timeout
from ascend_rt.testing import no_leaks

COUNT = 2000


class Kind:
    """A channel or a queue, with one array per message."""

    def __init__(self, source: Channel | Queue) -> None:
        self.source = source
        is_channel = isinstance(source, Channel)
        self.put: Callable[..., None] = source.send if is_channel else source.put
        self.receive: Callable[..., Any] = source.receive if is_channel else source.get
        self.put_async: Callable[..., Any] = source.send_async if is_channel else source.put_async
        self.receive_async: Callable[..., Any] = source.receive_async if is_channel else source.get_async
        self.end = source.end if is_channel else source.put_end


def number_of(message: Any) -> int:
    return int(message[0] if isinstance(message, tuple) else message)


@pytest.fixture(params=["channel", "queue"])
def kind(request: pytest.FixtureRequest, device: Device) -> Iterator[Kind]:
    with Channel("of a test", 4) if request.param == "channel" else Queue(4) as source:
        yield Kind(source)


class Interrupt(Exception):
    pass


@pytest.fixture
def interruptions() -> Iterator[Callable[[float], None]]:
    """Return a function that lets a signal handler raise after so many seconds, once or, with 0, not any more."""
    is_armed = False

    def interrupt(*_: object) -> None:
        if is_armed:  # the handler of a signal that has come may run behind the call that disarms
            raise Interrupt

    def arm(seconds: float) -> None:
        nonlocal is_armed
        is_armed = seconds > 0
        signal.setitimer(signal.ITIMER_REAL, seconds)

    before = signal.signal(signal.SIGALRM, interrupt)
    yield arm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_signals_that_raise_lose_no_message(kind: Kind, interruptions: Callable[[float], None]) -> None:
    def produce() -> None:
        Device(0).set_current()
        for number in range(COUNT):
            kind.put(number)

    producer = threading.Thread(target=produce)
    producer.start()
    received: list[int] = []
    interrupted = 0
    while len(received) < COUNT:
        held: list[Any] = []
        try:
            interruptions(1e-6 * (len(received) + interrupted) % 150e-6 + 1e-6)
            held.extend(map(kind.receive, (None,)))  # one step: the message is received and held
            interruptions(0)
        except Interrupt:
            interrupted += 1
        received.extend(map(number_of, held))
    producer.join()
    assert received == list(range(COUNT))
    assert interrupted > 0
    with pytest.raises(Timeout):
        kind.receive(0)


def test_signals_that_raise_leave_nothing(device: Device, interruptions: Callable[[float], None]) -> None:
    with no_leaks():
        for number in range(200):
            for make in (lambda: Channel("interrupted", 2), lambda: Queue(2)):
                source: Any = None
                with contextlib.suppress(Interrupt, Timeout):
                    source = make()
                    kind = Kind(source)
                    interruptions(1e-6 * (number % 100 + 1))
                    kind.put(np.zeros(2000))
                    kind.put(1)
                    kind.receive()
                    kind.receive()
                    kind.receive(0.002)
                with contextlib.suppress(Interrupt):
                    interruptions(0)
                source.close()
                assert source.is_closed


def test_cancelled_tasks_lose_no_message(kind: Kind) -> None:
    async def main() -> list[int]:
        received: list[int] = []

        async def produce() -> None:
            for number in range(100):
                await kind.put_async(number)
                await asyncio.sleep(0.0001 * (number % 7))

        producing = asyncio.ensure_future(produce())
        while len(received) < 100:
            with contextlib.suppress(asyncio.TimeoutError):
                received.append(number_of(await asyncio.wait_for(kind.receive_async(), 0.0003)))
        await producing
        return received

    assert sorted(asyncio.run(main())) == list(range(100))


def test_the_end_of_a_sequence(kind: Kind) -> None:
    kind.put(1)
    kind.end()
    assert [number_of(message) for message in kind.source] == [1]
    kind.end()
    with pytest.raises(EndOfSequence, match="ended the sequence"):
        kind.receive()


def test_what_has_arrived_ends_with_the_object(kind: Kind) -> None:
    async def leave() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(kind.receive_async(), 0.001)
        kind.put(1)

    asyncio.run(leave())
    kind.source.close()
    with pytest.raises(ClosedError):
        kind.receive(0)


@pytest.mark.parametrize("size", [0, 1, 95, 96, 4095, 4096, 4097, 1 << 22], ids=str)
def test_any_size_arrives(kind: Kind, size: int) -> None:
    sent = np.arange(size, dtype=np.uint8)
    for _ in range(2):  # the second time with the room that the first needed
        kind.put(sent)
        message = kind.receive(0)
        received = message[0] if isinstance(message, tuple) else message
        np.testing.assert_array_equal(received, sent)
        received[...] = 0  # it is a new array
