# SPDX-License-Identifier: Apache-2.0
"""Allocators in Python: whom operators ask, what goes wrong there, and the one that caches."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ascend_rt import Allocator, Buffer, CachingAllocator, Context, Device, Event, Stream, callback, copy, sim
from ascend_rt.allocator import _registered, registered
from ascend_rt.errors import AclError, ClosedError, InvalidArgument, OutOfMemory
from ascend_rt.testing import Latch

NOT_COMPLETE, CORE_EXCEPTION = 507004, 507015
MIB = 1 << 20
WRITTEN = 0xA5  # what an operator leaves in its workspace


@pytest.fixture
def operators(backend: str) -> None:
    """Skip where nobody plays operators."""
    if backend != "sim":
        pytest.skip("the vendor's library has nobody that plays operators")


@pytest.fixture(autouse=True)
def nothing_is_left(device: Device) -> Iterator[None]:
    gc.collect()
    free, before = device.memory_info.free, set(_registered)
    yield
    gc.collect()
    assert device.memory_info.free == free
    assert set(_registered) == before


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Return what ``sys.unraisablehook`` is told."""
    told: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", told.append)
    yield told
    told.clear()  # tracebacks keep buffers


class Recording(Allocator):
    """Its constructor knows nothing of the base class's."""

    def __init__(self, *, returns: Callable[[int], Any] = Buffer) -> None:
        self.said: list[tuple[Any, ...]] = []
        self.returns = returns

    def allocate(self, nbytes: int) -> Buffer:
        buffer = self.returns(nbytes)
        self.said.append(("allocate", nbytes, buffer))
        return buffer

    def free(self, buffer: Buffer) -> None:
        self.said.append(("free", buffer))


def call(stream: Stream, lib: Any, ffi: Any, nbytes: int, near: int | None = None) -> tuple[int, Callable[[], None]]:
    """Allocate as the runtime does, through what is registered; return the address and how to free it."""
    types = ffi.typeof(lib.aclrtAllocatorGetByStream).args[1:]
    outs = [ffi.new(c_type) for c_type in types]
    assert lib.aclrtAllocatorGetByStream(ffi.cast("aclrtStream", stream.handle), *outs) == 0
    _, owner, allocate, free, allocate_near, address_of = (out[0] for out in outs)
    block = allocate(owner, nbytes) if near is None else allocate_near(owner, nbytes, ffi.cast("void *", near))
    at = 0 if block == ffi.NULL else int(ffi.cast("uintptr_t", address_of(block)))
    return at, lambda: free(owner, block)


# --- whom operators ask ----------------------------------------------------------------------------------------------


def test_an_operator_allocates_and_frees_while_it_is_pending(stream: Stream, operators: None) -> None:
    allocator = Recording()
    allocator.register(stream)
    with Latch(stream):
        sim.run_operator(stream, 4096)
        (_, _, buffer), (_, freed) = allocator.said
        assert allocator.said == [("allocate", 4096, buffer), ("free", buffer)]
        assert freed is buffer
        assert allocator.live_buffers == 0
    stream.synchronize()
    host = np.zeros(4096, np.uint8)
    copy(host, buffer)
    assert set(host.tolist()) == {WRITTEN}


def test_live_buffers_are_those_that_the_runtime_has(stream: Stream, lib: Any, ffi: Any) -> None:
    allocator = Recording()
    allocator.register(stream)
    given_out = [call(stream, lib, ffi, 256 * (i + 1)) for i in range(3)]
    assert allocator.live_buffers == 3
    assert [at for at, _ in given_out] == [it[2].handle for it in allocator.said]
    allocator.said.clear()
    gc.collect()  # the buffers are kept by the allocator alone
    for i, (at, free) in enumerate(given_out):
        free()
        assert allocator.said[-1][1].handle == at
        assert allocator.live_buffers == 2 - i


def test_functions_make_an_allocator(stream: Stream, lib: Any, ffi: Any) -> None:
    said: list[Any] = []

    def allocate(nbytes: int) -> Buffer:
        said.append(nbytes)
        return Buffer(nbytes)

    for near, expected in ((None, [64, 65]), (lambda nbytes, at: Buffer(nbytes + at), [64])):
        allocator = Allocator.from_functions(allocate, said.append, near)
        allocator.register(stream)
        first, free_first = call(stream, lib, ffi, 64)
        assert first
        second, free_second = call(stream, lib, ffi, 65, near=1000)
        assert said == expected
        free_first()
        free_second()
        sizes = [buffer.nbytes for buffer in said[len(expected) :]]
        assert sizes == [64, 65 if near is None else 1065]
        said.clear()
        assert second


def test_a_suggested_address(stream: Stream, lib: Any, ffi: Any) -> None:
    class Near(Recording):
        def allocate_near(self, nbytes: int, near: int) -> Buffer:
            self.said.append(("near", near))
            return self.allocate(nbytes)

    plain, near = Recording(), Near()
    for allocator, expected in ((plain, ["allocate", "free"]), (near, ["near", "allocate", "free"])):
        allocator.register(stream)
        at, free = call(stream, lib, ffi, 64, near=0x123456789000)
        free()
        assert at
        assert [it[0] for it in allocator.said] == expected
    assert near.said[0] == ("near", 0x123456789000)


@pytest.mark.usefixtures("operators")
def test_an_operator_needs_a_stream(device: Device) -> None:
    with Stream() as closed, pytest.raises(OverflowError):
        sim.run_operator(closed, 1 << 64)
    with pytest.raises(ClosedError, match="this stream is closed"):
        sim.run_operator(closed, 64)


def test_an_abstract_allocator_is_none() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Allocator()  # type: ignore[abstract]


# --- registrations ---------------------------------------------------------------------------------------------------


def test_the_last_registration_counts(stream: Stream, other: Stream, operators: None) -> None:
    first, second = Recording(), Recording()
    assert registered(stream) is None
    first.register(stream)
    first.register(stream)
    first.register(other)
    second.register(stream)
    assert (registered(stream), registered(other)) == (second, first)
    first.unregister(stream)  # it is not registered there any more
    assert registered(stream) is second
    sim.run_operator(stream, 64)
    assert (len(first.said), len(second.said)) == (0, 2)
    for _ in range(2):
        second.unregister(stream)
        assert registered(stream) is None
    sim.run_operator(stream, 64)
    assert (len(first.said), len(second.said)) == (0, 2)
    assert registered(other) is first


def test_a_closed_stream_has_no_allocator(device: Device) -> None:
    allocator = Recording()
    for ends in (Stream.close, lambda stream: stream.close(force=True), Stream.__del__):
        stream = Stream()
        allocator.register(stream)
        handle = stream.handle
        ends(stream)
        assert handle not in _registered
        assert registered(stream) is None
        allocator.unregister(stream)
        with pytest.raises(ClosedError, match="this stream is closed"):
            allocator.register(stream)


def test_a_borrowed_stream_keeps_its_allocator(stream: Stream) -> None:
    allocator = Recording()
    with Stream.from_handle(stream.handle) as borrowed:
        allocator.register(borrowed)
    assert registered(stream) is allocator
    allocator.unregister(stream)


def test_the_default_stream(device: Device, operators: None) -> None:
    allocator = Recording()
    allocator.register(device.default_stream)
    sim.run_operator(None, 64)
    device.synchronize()
    assert [it[0] for it in allocator.said] == ["allocate", "free"]
    allocator.unregister(device.default_stream)


def test_a_registration_keeps_the_allocator_and_no_longer(stream: Stream) -> None:
    allocator = Recording()
    gone = weakref.ref(allocator)
    allocator.register(stream)
    del allocator
    gc.collect()
    kept = registered(stream)
    assert kept is gone()
    assert kept is not None
    kept.unregister(stream)
    del kept
    gc.collect()
    assert gone() is None


def test_descriptors_are_destroyed(device: Device, lib: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Counted here: nothing else tells how many there are.
    count = {"aclrtAllocatorCreateDesc": 0, "aclrtAllocatorDestroyDesc": 0}
    for name in count:
        function = getattr(lib, name)

        def counting(*arguments: Any, name: str = name, function: Any = function) -> Any:
            count[name] += 1
            return function(*arguments)

        monkeypatch.setattr(lib, name, counting)
    allocators = [Recording(), Recording()]
    with Stream() as stream:
        for i in range(4):
            allocators[i % 2].register(stream)
        allocators[1].unregister(stream)
        allocators[0].register(stream)
    with pytest.raises(ClosedError):
        allocators[0].register(stream)
    assert count == {"aclrtAllocatorCreateDesc": 5, "aclrtAllocatorDestroyDesc": 5}


@pytest.mark.usefixtures("operators")
def test_a_failed_registration_leaves_what_there_was(stream: Stream) -> None:
    first, second = Recording(), Recording()
    first.register(stream)
    with sim.faults():
        sim.fail_call("aclrtAllocatorRegister", 100000)
        with pytest.raises(InvalidArgument):
            second.register(stream)
    assert registered(stream) is first
    sim.run_operator(stream, 64)
    assert (len(first.said), len(second.said)) == (2, 0)


# --- what goes wrong in them -----------------------------------------------------------------------------------------


def fails(nbytes: int) -> Any:
    raise LookupError(f"no {nbytes} bytes")


WRONG = {
    "an exception": (fails, LookupError, "no 4096 bytes"),
    "an exit": (lambda nbytes: exec("raise SystemExit(3)"), SystemExit, "3"),
    "nothing": (lambda nbytes: None, TypeError, "allocate returned None, which is no Buffer"),
    "an address": (lambda nbytes: 0x1000, TypeError, "which is no Buffer"),
    "too small a buffer": (lambda nbytes: Buffer(nbytes - 1), ValueError, "4095 bytes>, but 4096 are needed"),
}


@pytest.mark.parametrize(("returns", "error", "text"), WRONG.values(), ids=WRONG)
@pytest.mark.usefixtures("operators")
def test_a_failed_allocation_fails_the_operator(
    returns: Any, error: Any, text: str, stream: Stream, unraisable: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked: list[Any] = []
    monkeypatch.setattr(callback, "on_error", lambda *arguments: hooked.append(arguments))
    allocator = Recording(returns=returns)
    allocator.register(stream)
    with pytest.raises(OutOfMemory, match="its callback returned NULL"):
        sim.run_operator(stream, 4096)
    assert allocator.live_buffers == 0
    assert [type(it.exc_value) for it in unraisable] == [error]
    assert text in str(unraisable[0].exc_value)
    assert hooked == [(unraisable[0].exc_value, allocator.allocate)]
    allocator.returns = Buffer
    sim.run_operator(stream, 4096)  # the stream is none the worse
    stream.synchronize()
    hooked.clear()


def test_memory_is_given_out_once(stream: Stream, unraisable: list[Any], lib: Any, ffi: Any) -> None:
    buffer = Buffer(4096)
    allocator = Recording(returns=lambda nbytes: buffer)
    allocator.register(stream)
    first, free = call(stream, lib, ffi, 4096)
    assert (first, call(stream, lib, ffi, 4096)[0]) == (buffer.handle, 0)
    assert "which is in use already" in str(unraisable[0].exc_value)
    free()
    assert call(stream, lib, ffi, 4096)[0] == buffer.handle
    buffer.close()


def test_a_closed_buffer(stream: Stream, unraisable: list[Any], lib: Any, ffi: Any) -> None:
    buffer = Buffer(4096)
    buffer.close()
    allocator = Recording(returns=lambda nbytes: buffer)
    allocator.register(stream)
    assert call(stream, lib, ffi, 4096)[0] == 0
    assert isinstance(unraisable[0].exc_value, ClosedError)


def test_a_failed_suggestion_names_its_function(
    stream: Stream, unraisable: list[Any], lib: Any, ffi: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    named: list[Any] = []
    monkeypatch.setattr(callback, "on_error", lambda error, function: named.append(function))
    allocator = Allocator.from_functions(Buffer, print, lambda nbytes, near: fails(nbytes))
    allocator.register(stream)
    assert call(stream, lib, ffi, 4096, near=4096)[0] == 0
    assert named == [allocator.allocate_near]


@pytest.mark.usefixtures("operators")
def test_a_failed_free_is_told_and_the_operator_runs(stream: Stream, unraisable: list[Any]) -> None:
    def free(buffer: Buffer) -> None:
        kept.append(buffer)
        raise LookupError("it stays with me")

    kept: list[Buffer] = []
    allocator = Allocator.from_functions(Buffer, free)
    allocator.register(stream)
    sim.run_operator(stream, 4096)
    stream.synchronize()
    assert [str(it.exc_value) for it in unraisable] == ["it stays with me"]
    assert allocator.live_buffers == 0
    host = np.zeros(4096, np.uint8)
    copy(host, kept[0])
    assert set(host.tolist()) == {WRITTEN}


@pytest.mark.usefixtures("operators")
def test_an_allocator_that_could_not_be_unregistered_lives_on(stream: Stream) -> None:
    allocator = Recording()
    alive = weakref.ref(allocator)
    allocator.register(stream)
    with sim.faults():
        sim.fail_call("aclrtAllocatorUnregister", 507899)
        with pytest.raises(AclError, match="507899"):
            allocator.unregister(stream)
    del allocator
    gc.collect()
    assert registered(stream) is alive() is not None
    sim.run_operator(stream, 4096)
    stream.synchronize()


def test_what_was_not_given_out_is_not_freed(
    stream: Stream, other: Stream, unraisable: list[Any], lib: Any, ffi: Any
) -> None:
    allocator = Recording()
    allocator.register(stream)
    _, free = call(stream, lib, ffi, 64)
    free()
    free()
    assert [type(it.exc_value) for it in unraisable] == [KeyError]
    assert [it[0] for it in allocator.said] == ["allocate", "free"]


@pytest.mark.usefixtures("operators")
def test_memory_that_is_given_back_too_early(stream: Stream) -> None:
    allocator = Allocator.from_functions(Buffer, Buffer.close)
    allocator.register(stream)
    with Latch(stream):
        sim.run_operator(stream, 4096)
    with pytest.raises(AclError) as caught:
        stream.synchronize()
    assert caught.value.code == CORE_EXCEPTION


# --- streams that share one ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("operators")
@pytest.mark.parametrize("make", [Recording, CachingAllocator])
def test_streams_that_share_an_allocator_take_turns(make: Any, stream: Stream, other: Stream) -> None:
    allocator = make()
    allocator.register(stream)
    allocator.register(other)
    sim.run_operator(stream, 4096)
    with pytest.raises(AclError, match=f"serves stream {stream.id}") as caught:
        sim.run_operator(other, 4096)
    assert caught.value.code == NOT_COMPLETE
    stream.synchronize()
    sim.run_operator(other, 4096)
    other.synchronize()
    if isinstance(allocator, CachingAllocator):
        assert allocator.statistics[-2:] == (1, 1)
        allocator.empty_cache()


# --- the one that caches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nbytes", "size"),
    [
        (1, 512),
        (512, 512),
        (513, 1024),
        (MIB - 1, MIB),
        (MIB, MIB),
        (MIB + 1, 2 * MIB),
        (2 * MIB, 2 * MIB),
        (2 * MIB + 1, 4 * MIB),
    ],
)
def test_sizes_are_rounded(nbytes: int, size: int) -> None:
    allocator = CachingAllocator()
    buffer = allocator.allocate(nbytes)
    assert buffer.nbytes == size
    assert allocator.statistics == (size, size, size, size, 0, 1)
    allocator.free(buffer)
    assert allocator.statistics == (0, size, size, size, 0, 1)


@pytest.mark.parametrize("nbytes", [0, -1])
def test_a_size_is_positive(nbytes: int) -> None:
    with pytest.raises(ValueError, match=f"must be positive, not {nbytes}"):
        CachingAllocator().allocate(nbytes)


def test_what_was_freed_is_given_out_again() -> None:
    allocator = CachingAllocator()
    small, large = allocator.allocate(1024), allocator.allocate(4096)
    allocator.free(large)
    allocator.free(small)
    assert allocator.allocate(1000) is small  # the smallest that is large enough
    again = allocator.allocate(2048)
    assert again is large  # half of it is wasted, and no more
    allocator.free(again)
    missed = allocator.allocate(1536)
    assert missed is not large
    assert allocator.statistics._asdict() == {
        "used": 1024 + 1536,
        "used_peak": 1024 + 4096,
        "reserved": 1024 + 4096 + 1536,
        "reserved_peak": 1024 + 4096 + 1536,
        "hits": 2,
        "misses": 3,
    }


def test_the_limit_empties_the_cache_first(device: Device) -> None:
    allocator = CachingAllocator(8 * MIB)
    cached, used = allocator.allocate(2 * MIB), allocator.allocate(2 * MIB)
    allocator.free(cached)
    kept = allocator.allocate(6 * MIB)
    assert cached.is_closed
    assert allocator.statistics[:4] == (8 * MIB, 8 * MIB, 8 * MIB, 8 * MIB)
    with pytest.raises(OutOfMemory, match="512 bytes more than the 8388608 in use exceed the limit of 8388608"):
        allocator.allocate(1)
    allocator.free(kept)
    with pytest.raises(OutOfMemory):
        allocator.allocate(8 * MIB)
    assert (kept.is_closed, used.is_closed) == (True, False)
    assert allocator.statistics == (2 * MIB, 8 * MIB, 2 * MIB, 8 * MIB, 0, 3)


def test_an_exhausted_device_empties_the_cache_first(device: Device, operators: None) -> None:
    allocator = CachingAllocator()
    with sim.faults():
        sim.limit("memory", device.memory_info.total - device.memory_info.free + 8 * MIB)
        cached = allocator.allocate(4 * MIB)
        allocator.free(cached)
        needed = allocator.allocate(6 * MIB)
        assert cached.is_closed
        with pytest.raises(OutOfMemory):
            allocator.allocate(6 * MIB)
        assert allocator.statistics == (6 * MIB, 6 * MIB, 6 * MIB, 6 * MIB, 0, 2)
        allocator.free(needed)


def test_only_what_is_in_use_is_freed() -> None:
    allocator, foreign = CachingAllocator(), Buffer(512)
    buffer = allocator.allocate(512)
    allocator.free(buffer)
    for wrong in (buffer, foreign):
        with pytest.raises(ValueError, match="is not in use from this allocator"):
            allocator.free(wrong)
    assert allocator.statistics == (0, 512, 512, 512, 0, 1)
    allocator.empty_cache()
    with pytest.raises(ClosedError):
        allocator.free(buffer)


def test_an_emptied_cache(device: Device) -> None:
    allocator = CachingAllocator()
    allocator.empty_cache()
    buffers = [allocator.allocate(size) for size in (512, 512, 4096)]
    free = device.memory_info.free
    for buffer in buffers[1:]:
        allocator.free(buffer)
    allocator.empty_cache()
    allocator.empty_cache()
    assert [buffer.is_closed for buffer in buffers] == [False, True, True]
    assert allocator.statistics[:3] == (512, 512 + 512 + 4096, 512)
    allocator.free(buffers[0])
    allocator.empty_cache()
    assert allocator.statistics.reserved == 0
    assert device.memory_info.free >= free


@pytest.mark.usefixtures("operators")
def test_emptying_waits_for_the_streams(device: Device, stream: Stream, other: Stream) -> None:
    allocator = CachingAllocator()
    allocator.register(stream)
    latch = Latch(stream)
    sim.run_operator(stream, 4096)
    Latch(other)  # a stream that has another allocator, or none, is not waited for
    started = threading.Event()

    def empty() -> None:
        device.set_current()
        started.set()
        allocator.empty_cache()
        device.reset()

    thread = threading.Thread(target=empty)
    thread.start()
    started.wait()
    assert allocator.live_buffers == 0
    assert not stream.is_done
    latch.release()
    thread.join(60)
    assert not thread.is_alive()
    assert stream.is_done
    stream.synchronize()  # nothing failed: the memory was there to the end
    assert allocator.statistics.reserved == 0
    other.abort()


def test_what_the_streams_run_may_free_while_emptying_waits(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    from ascend_rt import allocator as module

    def about_to_wait(*arguments: Any) -> None:
        waits.set()
        through(*arguments)

    def free_late() -> None:
        waits.wait()
        allocator.free(late)

    waits, through, allocator = threading.Event(), module.call, CachingAllocator()
    allocator.register(stream)
    cached, late = allocator.allocate(512), allocator.allocate(4096)
    allocator.free(cached)
    monkeypatch.setattr(module, "call", about_to_wait)
    stream.launch_host_func(free_late)
    allocator.empty_cache()
    assert (cached.is_closed, late.is_closed) == (True, False)
    assert allocator.statistics[::2] == (0, 4096, 0)
    assert allocator.allocate(4096) is late
    allocator.free(late)


@pytest.mark.usefixtures("operators")
def test_a_failed_stream_leaves_the_cache_as_it_is(stream: Stream) -> None:
    allocator = CachingAllocator()
    allocator.register(stream)
    cached = allocator.allocate(512)
    allocator.free(cached)
    with sim.faults():
        sim.fail_task(CORE_EXCEPTION, stream)
        sim.run_operator(stream, 0)
        with pytest.raises(AclError) as caught:
            allocator.empty_cache()
    assert caught.value.code == CORE_EXCEPTION
    assert allocator.statistics == (0, 512, 512, 512, 0, 1)
    assert allocator.allocate(512) is cached
    allocator.free(cached)
    allocator.empty_cache()
    assert cached.is_closed


@pytest.mark.usefixtures("operators")
def test_operators_hit_the_cache(stream: Stream) -> None:
    allocator = CachingAllocator()
    allocator.register(stream)
    with Latch(stream):
        for nbytes in (4096, 4000, 3000, 4096):
            sim.run_operator(stream, nbytes)
    stream.synchronize()
    assert allocator.statistics == (0, 4096, 4096, 4096, 3, 1)


@pytest.mark.usefixtures("operators")
def test_a_limit_fails_the_operator(stream: Stream, unraisable: list[Any]) -> None:
    allocator = CachingAllocator(MIB)
    allocator.register(stream)
    with pytest.raises(OutOfMemory):
        sim.run_operator(stream, 2 * MIB)
    assert "exceed the limit of 1048576" in str(unraisable[0].exc_value)
    sim.run_operator(stream, MIB)


def test_threads_share_an_allocator(device: Device) -> None:
    allocator = CachingAllocator()
    threads, rounds = 4, 150
    together = threading.Barrier(threads)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            device.set_current()
            together.wait()
            held: list[Buffer] = []
            for i in range(rounds):
                held.append(allocator.allocate(512 * (1 + (i * 7 + number) % 5)))
                if i % 3 == 2:
                    allocator.free(held.pop(i % len(held)))
                if i % 50 == 49:
                    allocator.empty_cache()
            addresses = {buffer.handle for buffer in held}
            assert len(addresses) == len(held)
            with lock:
                assert not addresses & everyones
                everyones.update(addresses)
            together.wait()
            for buffer in held:
                allocator.free(buffer)
            device.reset()
        except BaseException as error:
            failures.append(error)
            together.abort()

    lock, everyones = threading.Lock(), set[int]()
    running = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert failures == []
    statistics = allocator.statistics
    assert statistics.hits + statistics.misses == threads * rounds
    assert statistics.used == 0
    assert statistics.used_peak <= statistics.reserved_peak
    allocator.empty_cache()
    assert allocator.statistics.reserved == 0


class Door:
    """A lock that tells who comes to it."""

    def __init__(self, lock: Any, told: Callable[[threading.Thread], object]) -> None:
        self._lock, self._told = lock, told

    def __enter__(self) -> None:
        self._told(threading.current_thread())
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


def test_the_limit_is_not_reached_while_another_thread_empties_the_cache(
    device: Device, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ascend_rt import allocator as module

    def about_to_wait(*arguments: Any) -> None:
        second.start()
        moved.wait()
        through(*arguments)

    def allocate() -> None:
        device.set_current()
        try:
            made.append(allocator.allocate(2 * MIB))
        finally:
            moved.set()
            device.reset()

    through, moved, made = module.call, threading.Event(), list[Buffer]()
    second = threading.Thread(target=allocate)
    allocator = CachingAllocator(8 * MIB)
    allocator._emptying = Door(threading.RLock(), lambda who: moved.set() if who is second else None)  # type: ignore
    allocator.register(stream)
    allocator.free(allocator.allocate(8 * MIB))
    monkeypatch.setattr(module, "call", about_to_wait)
    made.append(allocator.allocate(2 * MIB))
    monkeypatch.undo()
    second.join()
    assert len(made) == 2
    assert allocator.statistics.reserved == 4 * MIB


LEAVING = {
    "unregistered": lambda allocator, stream: allocator.unregister(stream),
    "replaced": lambda allocator, stream: CachingAllocator().register(stream),
    "unregistered in another context": lambda allocator, stream: elsewhere(lambda: allocator.unregister(stream)),
}


def elsewhere(function: Callable[[], object]) -> None:
    with Context(0):
        function()


@pytest.mark.usefixtures("operators")
@pytest.mark.parametrize("leave", LEAVING.values(), ids=LEAVING.keys())
def test_a_stream_that_has_left_still_uses_the_memory(
    leave: Any, device: Device, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(event: Event) -> None:
        moved.set()
        through(event)

    def empty() -> None:
        device.set_current()
        try:
            allocator.empty_cache()
        finally:
            moved.set()
            device.reset()

    through, moved, allocator = Event.synchronize, threading.Event(), CachingAllocator()
    allocator.register(stream)
    with Latch(stream):
        sim.run_operator(stream, 4096)
        leave(allocator, stream)
        monkeypatch.setattr(Event, "synchronize", wait)
        thread = threading.Thread(target=empty)
        thread.start()
        moved.wait()
        assert allocator.statistics.reserved == 4096
    thread.join()
    assert allocator.statistics.reserved == 0
    stream.synchronize()


@pytest.mark.usefixtures("operators")
def test_memory_that_a_stream_uses_outlives_its_allocator(stream: Stream) -> None:
    allocator = CachingAllocator()
    allocator.register(stream)
    alive = weakref.ref(allocator)
    with Latch(stream):
        sim.run_operator(stream, 4096)
        allocator.unregister(stream)
        del allocator
        gc.collect()
        assert alive() is not None
    stream.synchronize()
    gc.collect()
    assert alive() is None


def test_each_device_has_its_own_cache(device: Device) -> None:
    last = Device(Device.count() - 1)
    if last == device:
        pytest.skip("needs a second device")
    allocator = CachingAllocator()
    here = allocator.allocate(4096)
    allocator.free(here)
    with last:
        there = allocator.allocate(4096)
        assert there.device == last
        allocator.free(there)
    assert allocator.allocate(4096) is here
    allocator.empty_cache()
    assert (here.is_closed, there.is_closed) == (False, True)


def test_what_a_reset_took_is_not_given_out(child: Any) -> None:
    script = """
        from ascend_rt import CachingAllocator, Device, Stream, copy
        device, allocator = Device(0), CachingAllocator(8192)
        device.set_current()
        stream = Stream()
        allocator.register(stream)
        allocator.free(allocator.allocate(4096))
        device.reset()
        device.set_current()
        memory = allocator.allocate(4096)
        copy(memory[:5], b"stays")
        allocator.free(memory)
        allocator.unregister(stream)
        allocator.empty_cache()
        told(allocator.statistics)
    """
    assert child(script) == [0, 4096, 0, 8192, 0, 2]


def test_closing_a_buffer_is_told_to_its_allocator(device: Device) -> None:
    allocator = CachingAllocator()
    with allocator.allocate(4096):
        cached = allocator.allocate(512)
        allocator.free(cached)
    assert allocator.statistics[::2] == (0, 512, 0)
    cached.close()
    assert allocator.allocate(512) is not cached
    assert allocator.statistics.reserved == 0  # it was discarded at once


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("allocate"), st.sampled_from([1, 512, 600, 2048, 5000, MIB, MIB + 1, 5 * MIB])),
        st.tuples(st.just("free"), st.integers(0, 20)),
        st.tuples(st.just("empty")),
    ),
    max_size=40,
)


class Model:
    """What a caching allocator is to do, without memory: sizes that are given out, and sizes that are cached."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.live: list[int] = []
        self.cached: list[int] = []
        self.used_peak = self.reserved_peak = self.hits = self.misses = 0

    @property
    def reserved(self) -> int:
        return sum(self.live) + sum(self.cached)

    def allocate(self, nbytes: int) -> int | None:
        step = 512 if nbytes <= MIB else 2 * MIB
        size = (nbytes + step - 1) // step * step
        fitting = [it for it in self.cached if size <= it <= 2 * size]
        if fitting:
            size = min(fitting)
            self.cached.remove(size)
            self.hits += 1
        else:
            if self.reserved + size > self.limit:
                self.cached.clear()
            if self.reserved + size > self.limit:
                return None
            self.misses += 1
        self.live.append(size)
        self.used_peak = max(self.used_peak, sum(self.live))
        self.reserved_peak = max(self.reserved_peak, self.reserved)
        return size

    def free(self, which: int) -> None:
        self.cached.append(self.live.pop(which))

    @property
    def statistics(self) -> tuple[int, ...]:
        return sum(self.live), self.used_peak, self.reserved, self.reserved_peak, self.hits, self.misses


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, limit=st.sampled_from([4096, 3 * MIB, 12 * MIB, 1 << 40]))
def test_random_sequences_agree_with_a_model(steps: list[tuple[Any, ...]], limit: int, device: Device) -> None:
    allocator, model = CachingAllocator(limit), Model(limit)
    live: list[Buffer] = []
    for name, *arguments in steps:
        if name == "allocate":
            size = model.allocate(*arguments)
            if size is None:
                with pytest.raises(OutOfMemory):
                    allocator.allocate(*arguments)
            else:
                live.append(allocator.allocate(*arguments))
                assert live[-1].nbytes == size
        elif name == "free" and live:
            which = arguments[0] % len(live)
            model.free(which)
            allocator.free(live.pop(which))
        elif name == "empty":
            model.cached.clear()
            allocator.empty_cache()
        assert allocator.statistics == model.statistics
    assert len({buffer.handle for buffer in live}) == len(live)


# --- other contexts and products -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("operators")
def test_a_stream_of_another_context(device: Device) -> None:
    allocator = CachingAllocator()
    with Context(0) as context:
        stream = Stream()
        allocator.register(stream)
        sim.run_operator(stream, 64)
        device.set_current()
        allocator.empty_cache()  # waits there all the same
        assert allocator.statistics.reserved == 0
        context.set_current()
        stream.synchronize()
        stream.close()
        device.set_current()


@pytest.mark.usefixtures("operators")
def test_310b_has_none(child: Any) -> None:
    script = """
        from ascend_rt import CachingAllocator, Device, Stream, errors
        from ascend_rt.allocator import registered
        Device(0).set_current()
        stream = Stream()
        try:
            CachingAllocator().register(stream)
        except errors.NotSupported as error:
            told([error.code, str(error), registered(stream)])
    """
    code, text, found = child(script, ASCEND_RT_SIM_PRODUCT="310B")
    assert (code, found) == (207000, None)
    assert "aclrtAllocatorRegister" in text
