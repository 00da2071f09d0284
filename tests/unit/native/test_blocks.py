# SPDX-License-Identifier: Apache-2.0
"""Generators as context managers: as contextlib's, and a signal finds the generator at work."""

from __future__ import annotations

import contextlib
import gc
import signal
import traceback
import weakref
from collections.abc import Iterator

import pytest

from ascend_rt import Buffer, Device, Stream, fill_async
from ascend_rt._native.blocks import block

pytestmark = pytest.mark.simulator("internals")


@block
def steps(log: list[str], *, instead: Exception | None = None, swallows: bool = False) -> Iterator[str]:
    log.append("begun")
    try:
        yield "yielded"
    except ValueError:
        log.append("seen")
        if instead is not None:
            raise instead from None
        if not swallows:
            raise
    finally:
        log.append("ended")


def test_a_block_begins_and_ends() -> None:
    log: list[str] = []
    with steps(log) as entered:
        log.append(entered)
    assert log == ["begun", "yielded", "ended"]


def test_the_exception_of_a_block_goes_through_the_generator_as_it_was() -> None:
    log: list[str] = []
    error = ValueError("of the block")
    with pytest.raises(ValueError, match="of the block") as raised, steps(log):
        raise error
    assert raised.value is error
    assert [line.name for line in traceback.extract_tb(error.__traceback__)] == [
        "test_the_exception_of_a_block_goes_through_the_generator_as_it_was"
    ]
    assert log == ["begun", "seen", "ended"]


def test_a_generator_may_end_or_replace_an_exception() -> None:
    with steps([], swallows=True):
        raise ValueError
    with pytest.raises(KeyError) as raised, steps([], instead=KeyError("another")):
        raise ValueError("first")
    assert isinstance(raised.value.__context__, ValueError)


@pytest.mark.parametrize("kind", [StopIteration, StopAsyncIteration, GeneratorExit, KeyboardInterrupt])
def test_exceptions_that_generators_treat_otherwise_go_on(kind: type[BaseException]) -> None:
    log: list[str] = []
    error = kind()
    with pytest.raises(kind) as raised, steps(log):
        raise error
    assert raised.value is error
    assert log[-1] == "ended"


def test_a_generator_yields_once_and_is_entered_once() -> None:
    @block
    def twice() -> Iterator[None]:
        with contextlib.suppress(ValueError):
            yield
        yield

    with pytest.raises(RuntimeError, match="goes on after its end"), twice():
        pass
    with pytest.raises(RuntimeError, match="goes on after its end"), twice():
        raise ValueError
    used = steps([])
    with used:
        pass
    with pytest.raises(RuntimeError, match="entered already"), used:
        pass
    with pytest.raises(TypeError, match="expected a generator, got"):
        block(lambda: 7)()  # type: ignore[arg-type,return-value]


def test_a_block_that_refers_to_itself_is_collected() -> None:
    kept: list[object] = []
    made = steps(kept)  # type: ignore[arg-type]
    kept.append(made)

    class Seen:
        pass

    seen = Seen()
    kept.append(seen)
    reference = weakref.ref(seen)
    del made, kept, seen
    gc.collect()
    assert reference() is None


def interrupted_capture(memory: Buffer) -> None:
    with Stream() as stream, stream.capture():
        fill_async(memory, 1, stream)
        signal.raise_signal(signal.SIGUSR1)


def test_a_signal_inside_a_capture_ends_it(device: Device) -> None:
    class Interruption(Exception):
        pass

    def interrupt(number: int, frame: object) -> None:
        raise Interruption

    memory = Buffer(64)
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(Interruption):
            interrupted_capture(memory)
        device.synchronize()  # fails while anything is captured
    finally:
        signal.signal(signal.SIGUSR1, before)
