# SPDX-License-Identifier: Apache-2.0
"""What copies use lives until they are done, whatever else happens at the same time, and not much longer."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from ascend_rt import Buffer, Context, Device, PinnedBuffer, Stream, fill_async
from ascend_rt._in_flight import _BATCH
from ascend_rt.errors import AclError, AclWarning, OutOfMemory
from ascend_rt.testing import Latch


def fill_and_forget(stream: Stream) -> weakref.ref[Buffer]:
    buffer = Buffer(64)
    fill_async(buffer, 1, stream)
    return weakref.ref(buffer)


def alive(*references: weakref.ref[Buffer]) -> list[weakref.ref[Buffer]]:
    gc.collect()
    return [reference for reference in references if reference() is not None]


@pytest.fixture
def after(monkeypatch: pytest.MonkeyPatch, lib: Any) -> Callable[..., None]:
    """Return a function that does something once, right after the next call of a C function, as another thread may."""

    def do_after(name: str, action: Callable[[], object]) -> None:
        real = getattr(lib, name)

        def once(*arguments: Any) -> Any:
            monkeypatch.setattr(lib, name, real)
            result = real(*arguments)
            action()
            return result

        monkeypatch.setattr(lib, name, once)

    return do_after


def interrupt() -> None:
    raise KeyboardInterrupt


def test_an_interrupted_synchronization_drops_nothing(stream: Stream, after: Any) -> None:
    with Latch(stream):
        kept = fill_and_forget(stream)
        after("ascend_rt_synchronize_stream_within", interrupt)
        with pytest.raises(KeyboardInterrupt):
            stream.synchronize(timeout_ms=1)
        assert alive(kept) == [kept]
    stream.synchronize()
    assert alive(kept) == []


def test_an_event_tells_only_of_what_was_submitted_before(stream: Stream, after: Any) -> None:
    latches: list[Latch] = []
    kept: list[weakref.ref[Buffer]] = []

    def submit() -> None:
        stream.record().synchronize()
        latches.append(Latch(stream))
        kept.append(fill_and_forget(stream))

    after("aclrtRecordEvent", submit)
    try:
        for _ in range(2 * _BATCH):
            fill_and_forget(stream)
        assert alive(*kept) == kept != []
    finally:
        latches[0].release()
    stream.synchronize()
    assert alive(*kept) == []


def test_two_threads_that_find_the_same_batch_done_drop_it_once(stream: Stream, after: Any) -> None:
    def fill_batch() -> list[weakref.ref[Buffer]]:
        return [fill_and_forget(stream) for _ in range(_BATCH)]

    with Latch(stream):
        first = fill_batch()
        done = stream.record()
    done.synchronize()
    with Latch(stream):
        after("ascend_rt_event_status", fill_batch)
        second = fill_batch()
        assert alive(*first, *second) == second
    stream.synchronize()
    assert alive(*second) == []


WAYS = {
    "query": lambda stream: stream.is_done,
    "another object of the stream": lambda stream: Stream.from_handle(stream.handle).synchronize(),
    "full memory": lambda stream: exhaust(Buffer),
    "full memory of the host": lambda stream: exhaust(PinnedBuffer),
}


def exhaust(kind: type[Buffer | PinnedBuffer]) -> None:
    with pytest.raises(OutOfMemory):
        kind(1 << 50)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_is_done_is_let_go(way: Callable[[Stream], object], stream: Stream, other: Stream) -> None:
    with Latch(other):
        pending = fill_and_forget(other)
        with Latch(stream):
            kept = fill_and_forget(stream)
            done = stream.record()
            assert not stream.is_done
            assert alive(kept) == [kept]
        done.synchronize()
        way(stream)
        assert alive(kept, pending) == [pending]


@pytest.mark.parametrize("timeout_ms", [None, 60_000])
def test_a_synchronized_device_lets_go(timeout_ms: int | None, device: Device, stream: Stream, other: Stream) -> None:
    kept = [fill_and_forget(stream), fill_and_forget(other), fill_and_forget(device.default_stream)]
    with Context(0) as elsewhere, Latch(elsewhere.default_stream):
        kept.append(fill_and_forget(elsewhere.default_stream))
        device.set_current()
        device.synchronize(timeout_ms)
        assert alive(*kept) == kept[3:]
        elsewhere.set_current()
    elsewhere.default_stream.synchronize()
    elsewhere.close()
    assert alive(*kept) == []


def test_the_default_stream_lets_go_whoever_synchronizes_it(device: Device) -> None:
    with Latch(Stream.default()):
        kept = [fill_and_forget(Stream.default()) for _ in range(5)]
        assert alive(*kept) == kept
    Stream.default().synchronize()
    assert alive(*kept) == []


def test_a_borrower_that_goes_in_a_thread_without_a_context(stream: Stream) -> None:
    with Latch(stream):
        borrowed = [Stream.from_handle(stream.handle)]
        kept = fill_and_forget(borrowed[0])
        thread = threading.Thread(target=borrowed.clear)
        thread.start()
        thread.join()
        assert alive(kept) == [kept]
    stream.synchronize()
    assert alive(kept) == []


def test_a_borrower_that_goes_after_its_stream(device: Device, lib: Any) -> None:
    lent = Stream()
    borrowed = Stream.from_handle(lent.handle)
    latch = Latch(lent)
    kept = fill_and_forget(borrowed)
    latch.release()
    lib.aclrtDestroyStream(lent._handle)  # as another library does
    assert alive(kept) == [kept]
    del borrowed
    assert alive(kept) == []


def test_a_blocked_stream_holds_no_other_back(stream: Stream, other: Stream) -> None:
    with Latch(stream):
        blocked = fill_and_forget(Stream.from_handle(stream.handle))
        with Latch(other):
            kept = fill_and_forget(Stream.from_handle(other.handle))
            done = other.record()
        done.synchronize()
        fill_and_forget(Stream.from_handle(stream.handle))
        assert alive(blocked, kept) == [blocked]


def test_what_a_stream_uses_that_cannot_be_destroyed_is_kept(
    stream: Stream, lib: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = Stream()
    handle = failing._handle
    with Latch(failing):
        kept = fill_and_forget(failing)
        with monkeypatch.context() as patch:
            patch.setattr("ascend_rt.stream._DISCARD_MS", 1)
            for name in ("aclrtDestroyStream", "aclrtDestroyStreamForce"):
                patch.setattr(lib, name, lambda handle: 507899)
            with pytest.raises(AclError, match="507899"):
                failing.close(force=True)
            assert not failing.is_done  # still open
            assert alive(kept) == [kept]
            with pytest.warns(AclWarning) as told:
                del failing
        assert "507899" in str(told[-1].message)
        assert alive(kept) == [kept]
    assert lib.aclrtDestroyStream(handle) == 0
    Stream.from_handle(stream.handle).close()  # looks after what others have left
    assert alive(kept) == []
