# SPDX-License-Identifier: Apache-2.0
"""Streams and events of other packages."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from ascend_rt import Buffer, Event, Stream, fill_async
from ascend_rt.errors import InvalidHandle
from ascend_rt.testing import Latch


class WithProtocol:
    def __init__(self, stream: Stream, version: int = 0) -> None:
        self._answer = version, stream.handle

    def __ascend_stream__(self) -> tuple[int, int]:
        return self._answer


class Torch:
    """Has its handle where torch_npu's streams and events have theirs."""

    def __init__(self, of: Stream | Event) -> None:
        if isinstance(of, Stream):
            self.npu_stream = of.handle
        else:
            self.npu_event = of.handle


@pytest.mark.parametrize("kind", [WithProtocol, Torch, lambda stream: stream])
def test_it_is_the_same_stream(kind: Any, stream: Stream) -> None:
    borrowed = Stream.from_foreign(kind(stream))
    assert borrowed == stream
    assert borrowed.device == stream.device
    assert borrowed.context == stream.context
    with Latch(borrowed):
        assert not stream.is_done
    borrowed.close()
    stream.synchronize()  # the stream itself is open
    assert stream.is_done


def test_its_object_lives_as_long(stream: Stream) -> None:
    foreign = WithProtocol(stream)
    reference = weakref.ref(foreign)
    borrowed = Stream.from_foreign(foreign)
    del foreign
    gc.collect()
    assert reference() is not None
    del borrowed
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("kind", [WithProtocol, Torch])
def test_a_stream_waits_for_it(kind: Any, stream: Stream, other: Stream) -> None:
    with Latch(stream):
        other.wait(kind(stream))
        assert not other.is_done
    other.synchronize()


def test_a_stream_waits_for_an_event(stream: Stream, other: Stream) -> None:
    with Latch(stream):
        event = stream.record()
        other.wait(Torch(event))
        assert not other.is_done
    other.synchronize()
    assert not event.is_closed


@pytest.mark.parametrize("wrong", [None, 7, object(), type("Text", (), {"npu_stream": "7"})()])
def test_what_is_no_stream(wrong: object, stream: Stream) -> None:
    with pytest.raises(TypeError, match=f"{type(wrong).__name__} has neither"):
        Stream.from_foreign(wrong)
    with pytest.raises(TypeError, match=f"to wait for, got {type(wrong).__name__}"):
        stream.wait(wrong)


@pytest.mark.parametrize("answer", [(1, 7), (0, 7, 8), 7, None])
def test_another_protocol_is_refused(answer: Any, stream: Stream) -> None:
    foreign = WithProtocol(stream)
    foreign._answer = answer
    with pytest.raises(TypeError, match="WithProtocol"):
        Stream.from_foreign(foreign)


def test_integers_of_numpy_are_handles_too(stream: Stream, other: Stream) -> None:
    recorded = stream.record()
    foreign, event = Torch(stream), Torch(recorded)
    foreign.npu_stream, event.npu_event = np.uint64(foreign.npu_stream), np.uint64(event.npu_event)
    assert Stream.from_foreign(foreign) == stream
    other.wait(event)
    other.synchronize()


@pytest.mark.simulator("deadly")
def test_a_destroyed_stream_is_refused(stream: Stream) -> None:
    gone = Stream()
    foreign = Torch(gone)
    gone.close()
    with pytest.raises(InvalidHandle):
        stream.wait(foreign)


def test_we_have_the_protocol_too(stream: Stream) -> None:
    assert stream.__ascend_stream__() == (0, stream.handle)


def test_what_a_borrowed_stream_uses_is_released_with_it(stream: Stream) -> None:
    memory = Buffer(64)
    kept = weakref.ref(memory)
    fill_async(memory, 0, Stream.from_foreign(Torch(stream)))
    del memory
    stream.synchronize()
    gc.collect()
    assert kept() is None
