# SPDX-License-Identifier: Apache-2.0
"""Objects that tasks use live until the tasks are done, although the stream, its Python object or its device ends."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from typing import Any

import pytest
from support.retention import alive, fill_and_forget, interrupt

from ascend_rt import Buffer, Context, Device, Stream
from ascend_rt._runtime import lifecycle, retention
from ascend_rt.errors import AclError, AclWarning, OutOfMemory, Timeout
from ascend_rt.testing import Latch


def test_a_stream_whose_destruction_was_interrupted_is_not_destroyed_again(device: Device, after: Any) -> None:
    stream = Stream()
    after("aclrtDestroyStream", interrupt)
    with pytest.raises(KeyboardInterrupt):
        stream.close()
    assert stream.is_closed  # a new stream may have the handle


def test_null_is_the_default_stream_of_the_context_that_borrowed_it(device: Device) -> None:
    null = [Stream.from_handle(0)]
    with Latch(Stream.default()):
        kept = fill_and_forget(null[0])
        with Context(0) as elsewhere:
            assert not null[0].is_done
            with pytest.raises(Timeout):
                null[0].synchronize(timeout=0)
            null.clear()
            Device(0).synchronize()
            assert alive(kept) == [kept]
    elsewhere.close()
    device.synchronize()
    assert alive(kept) == []


def test_null_that_goes_in_a_thread_without_a_context(device: Device) -> None:
    null = [Stream.from_handle(0)]
    with Latch(Stream.default()):
        kept = fill_and_forget(null[0])
        thread = threading.Thread(target=null.clear)
        thread.start()
        thread.join()
        assert alive(kept) == [kept]
    device.synchronize()
    assert alive(kept) == []


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("borrows", [False, True])
def test_what_a_stream_uses_that_is_collected_as_a_cycle(borrows: bool, device: Device) -> None:
    owner = Stream()
    cycle: list[Any] = [Stream.from_handle(owner.handle) if borrows else owner]
    cycle.append(cycle)
    with Latch(owner):
        done = owner.record()
        kept = fill_and_forget(cycle[0])
        if not borrows:
            del owner
        del cycle
        assert alive(kept) == [kept]
        assert not done.is_done
    device.synchronize()
    assert alive(kept) == []


def test_a_garbage_collection_that_discards_a_stream_wherever_it_comes(device: Device, stream: Stream) -> None:
    kept: list[weakref.ref[Buffer]] = []

    def record_with_garbage() -> None:
        device.set_current()
        cycle: list[Any] = [Stream.from_handle(stream.handle)]
        cycle.append(cycle)
        kept.append(fill_and_forget(cycle[0]))
        end_batch, often = stream._retention.end_batch, gc.get_threshold()
        del cycle
        gc.set_threshold(1)  # the new batch is what makes Python collect
        end_batch()
        gc.set_threshold(*often)

    with Latch(stream):
        thread = threading.Thread(target=record_with_garbage, daemon=True)
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
        assert alive(*kept) == kept
        assert len(kept) == 1


def test_nothing_stays_of_streams_that_are_gone(device: Device) -> None:
    before = len(retention._used)
    for end in (Stream.close, Stream.synchronize, Stream.abort, lambda stream: stream.close(force=True)):
        stream = Stream()
        fill_and_forget(stream)
        end(stream)
        del stream
    gc.collect()
    assert len(retention._used) == before


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


@pytest.mark.simulator("deadly")
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


def test_what_a_stream_uses_that_cannot_be_destroyed_is_kept(stream: Stream, lib: Any) -> None:
    failing = Stream()
    handle = failing._handle
    with Latch(failing):
        kept = fill_and_forget(failing)
        with lib.override("aclrtDestroyStreamForce", lambda handle: 507899), pytest.raises(AclError, match="507899"):
            failing.close(force=True)
        assert not failing.is_done  # still open
        assert alive(kept) == [kept]
    failing.record().synchronize()
    with lib.override("aclrtDestroyStream", lambda handle: 507899), pytest.warns(AclWarning, match="507899"):
        del failing
    assert lib.aclrtDestroyStream(handle) == 0
    assert alive(kept) == []


def test_what_a_running_task_uses_is_kept_while_its_stream_is_destroyed(stream: Stream, lib: Any) -> None:
    ending, entered, gate = Stream(), threading.Event(), threading.Event()
    handle = ending._handle

    def destroy() -> None:
        Device(0).set_current()
        ending.close(force=True)
        Device(0).reset()

    kept = fill_and_forget(ending)
    ending.launch_host_func(lambda: (entered.set(), gate.wait()))
    entered.wait()
    thread = threading.Thread(target=destroy)
    thread.start()
    try:
        while lib.ascend_rt_stream_status(handle) >= 0:  # the handle goes first
            time.sleep(0.001)
        with pytest.raises(OutOfMemory):
            Buffer(1 << 50)
        assert alive(kept) == [kept]
    finally:
        gate.set()
        thread.join()
    assert alive(kept) == []


@pytest.mark.simulator("alone", "a reset ends streams of a second device")
def test_what_a_task_uses_is_kept_while_its_device_is_reset(device: Device, lib: Any) -> None:
    seen, called, gate = [], [], threading.Event()
    Device(1).set_current()
    Device(1).reset(force=True)  # left by other tests: the reset below must drop the last reference

    def reset(device_id: int) -> int:
        """Do what another thread may, while the tasks that it has submitted late are waited for."""
        stream.close()
        seen.append(alive(kept))
        gate.set()
        return real(device_id)

    with lib.override("aclrtResetDevice", reset) as real:
        Device(1).set_current()
        stream = Stream()
        stream.launch_host_func(gate.wait)  # an event that held it would end with the device, too
        kept = fill_and_forget(stream)
        stream.launch_host_func(called.append, 1)
        lifecycle.reset_device(1)
    device.set_current()
    device.reset()  # which leaves the fixture's
    assert seen == [[kept]]
    assert called == [1]
    assert alive(kept) == []


def test_what_a_discarded_stream_uses_is_kept_until_it_is_done(stream: Stream) -> None:
    discarded = Stream()
    with Latch(discarded):
        kept = fill_and_forget(discarded)
        done = discarded.record()
        with pytest.warns(ResourceWarning, match="discarded"):
            del discarded
        assert alive(kept) == [kept]
    done.synchronize()
    assert alive(kept) == []
    Stream().close()  # which destroys the other
