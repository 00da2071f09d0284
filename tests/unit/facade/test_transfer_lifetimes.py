# SPDX-License-Identifier: Apache-2.0
"""Objects that a pending copy keeps alive, and for how long."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from support.memory import content, note_freed, pattern
from support.threads import in_threads

from ascend_rt import (
    Buffer,
    Device,
    PinnedBuffer,
    Stream,
    copy_2d_async,
    copy_async,
    copy_batch_async,
    fill_async,
    sim,
)
from ascend_rt.errors import ClosedError, InvalidArgument, ResourceExhausted
from ascend_rt.testing import Latch


class Array(np.ndarray):
    """An array that can have weak references."""


def referable(n: int) -> Array:
    return pattern(n).view(Array)


Submit = Callable[[Buffer, PinnedBuffer, Stream], object]
SUBMISSIONS: dict[str, Submit] = {
    "copy_async": lambda memory, pinned, stream: copy_async(memory, pinned, stream),
    "copy_async back": lambda memory, pinned, stream: copy_async(pinned, memory, stream),
    "copy_async of views": lambda memory, pinned, stream: copy_async(memory[8:][8:], pinned[:8], stream),
    "copy_2d": lambda memory, pinned, stream: copy_2d_async(memory, pinned, stream, width=4, height=4),
    "copy_2d of a matrix": lambda memory, pinned, stream: copy_2d_async(
        memory, pinned.reshape(8, 8)[:, 2:6], stream, width=4, height=8
    ),
    "copy_batch": lambda memory, pinned, stream: copy_batch_async([(memory[:8], pinned[8:16])], stream),
}


@pytest.mark.parametrize("submit", SUBMISSIONS.values(), ids=SUBMISSIONS.keys())
def test_both_sides_live_until_the_copy_is_done(submit: Submit, stream: Stream) -> None:
    memory, pinned = Buffer(64), PinnedBuffer(64)
    references = [weakref.ref(memory), weakref.ref(pinned)]
    with Latch(stream):
        submit(memory, pinned, stream)
        del memory, pinned
        gc.collect()
        assert all(reference() is not None for reference in references)
    stream.synchronize()
    gc.collect()
    assert all(reference() is None for reference in references)


@pytest.mark.parametrize("submit", SUBMISSIONS.values(), ids=SUBMISSIONS.keys())
@pytest.mark.parametrize("times", [1, 2])
def test_a_pinned_buffer_that_gets_other_memory_keeps_what_copies_use(
    submit: Submit, times: int, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed = note_freed(monkeypatch)
    memory, pinned = Buffer(64), PinnedBuffer.from_array(pattern(64))
    reference = weakref.ref(pinned)
    with Latch(stream):
        submit(memory, pinned, stream)
        for _ in range(times):
            pinned.__setstate__((1, (4,), pinned.dtype, False, b"here"))
        assert pinned.tobytes() == b"here"
        del pinned
        gc.collect()
        assert freed == []
    stream.synchronize()
    gc.collect()
    assert reference() is None
    assert len(freed) == 1


def test_closing_a_pinned_buffer_does_not_end_a_copy_from_it(stream: Stream) -> None:
    with Buffer(64) as memory:
        with Latch(stream):
            with PinnedBuffer(64) as pinned:
                pinned[:] = 5
                copy_async(memory, pinned, stream)
            del pinned
            gc.collect()
        stream.synchronize()
        assert set(content(memory)) == {5}


def test_a_snapshot_is_taken_when_the_call_returns(stream: Stream) -> None:
    with Buffer(64) as memory:
        source, whole, pinned, gone = bytearray(b"a" * 16), bytearray(b"c" * 16), PinnedBuffer(64), referable(64)
        reference, expected = weakref.ref(gone), bytes(gone)
        pinned[:] = 98
        with Latch(stream):
            copy_async(memory[:16], source, stream, snapshot=True)
            source[:] = bytes(16)
            copy_async(memory[16:32], whole, stream, snapshot=True)
            whole.clear()  # not even its size is locked
            copy_async(memory[32:48], pinned[:16], stream, snapshot=True)
            pinned[:] = 0
            copy_async(memory[48:], gone[:16], stream, snapshot=True)
            del gone
            gc.collect()
            assert reference() is None
        stream.synchronize()
        assert bytes(content(memory)) == b"a" * 16 + b"c" * 16 + b"b" * 16 + expected[:16]


def test_the_destination_of_a_snapshot_lives_on(stream: Stream) -> None:
    memory = Buffer(64)
    reference = weakref.ref(memory)
    with Latch(stream):
        copy_async(memory, bytes(64), stream, snapshot=True)
        del memory
        gc.collect()
        assert reference() is not None
    stream.synchronize()
    assert reference() is None


def test_a_bytearray_keeps_its_size_while_a_copy_may_use_it(stream: Stream) -> None:
    received = bytearray(64)
    with Buffer(64) as memory:
        copy_async(received, memory, stream)
        with pytest.raises(BufferError):
            received.clear()
        stream.synchronize()
        received.clear()


def test_a_copy_that_is_refused_keeps_nothing_alive(stream: Stream) -> None:
    memory, pinned = Buffer(8), PinnedBuffer(64)
    references = [weakref.ref(memory), weakref.ref(pinned)]
    kept = len(stream._retention)
    with pytest.raises(InvalidArgument):
        copy_async(memory, pinned, stream)
    assert len(stream._retention) == kept
    del memory, pinned
    gc.collect()
    assert all(reference() is None for reference in references)


def test_a_closed_stream_takes_no_copies(device: Device) -> None:
    stream = Stream()
    stream.close()
    with Buffer(8) as memory:
        for submit in (
            lambda: copy_async(memory, bytes(8), stream),
            lambda: copy_2d_async(memory, bytes(8), stream, width=8, height=1),
            lambda: copy_batch_async([(memory, bytes(8))], stream),
            lambda: fill_async(memory, 1, stream),
        ):
            with pytest.raises(ClosedError, match="this stream is closed"):
                submit()


@pytest.mark.simulator("faults")
def test_operands_are_kept_alive_though_no_event_is_left(stream: Stream) -> None:
    with PinnedBuffer(64) as pinned:
        with Latch(stream):
            references = []
            with sim.faults():
                sim.limit("events", 0)
                with pytest.raises(ResourceExhausted):
                    stream.record()
                for _ in range(300):
                    memory = Buffer(64)
                    references.append(weakref.ref(memory))
                    copy_async(memory, pinned, stream)
            del memory
            gc.collect()
            assert all(reference() is not None for reference in references)
        stream.synchronize()
        gc.collect()
        assert all(reference() is None for reference in references)


def test_threads_copy_on_one_stream(stream: Stream, device: Device) -> None:
    n = 4096

    def work(value: int) -> None:
        with device, Buffer(n) as memory, PinnedBuffer(n) as sent, PinnedBuffer(n) as received:
            for i in range(50):
                stream.synchronize()
                sent[:] = value + i
                copy_async(memory, sent, stream)
                copy_async(received, memory, stream)
                stream.record().synchronize()
                assert set(received) == {value + i}

    in_threads(*(partial(work, value) for value in (0, 60, 120)))
    stream.synchronize()
    assert len(stream._retention) == 0
