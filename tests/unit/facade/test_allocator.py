# SPDX-License-Identifier: Apache-2.0
"""Allocators in Python: registration, what operators call, and errors in the callbacks."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.codes import AICORE_EXCEPTION, NOT_COMPLETE
from support.interruptions import Interruption

from ascend_rt import Allocator, Buffer, CachingAllocator, Device, Stream, callback, copy, sim
from ascend_rt._memory.allocator_registry import registered, registrations
from ascend_rt.errors import AclError, ClosedError, InvalidArgument, OutOfMemory
from ascend_rt.testing import Latch

WRITTEN = 0xA5  # the value that simulated operators write to their workspace

pytestmark = pytest.mark.usefixtures("no_allocator_is_left")


class Recording(Allocator):
    """An allocator that records its calls; its constructor does not call the one of the base class."""

    def __init__(self, *, returns: Callable[[int], Any] = Buffer) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.returns = returns

    def allocate(self, nbytes: int) -> Buffer:
        buffer = self.returns(nbytes)
        self.calls.append(("allocate", nbytes, buffer))
        return buffer

    def free(self, buffer: Buffer) -> None:
        self.calls.append(("free", buffer))


def call(stream: Stream, lib: Any, ffi: Any, nbytes: int, near: int | None = None) -> tuple[int, Callable[[], None]]:
    """Allocate as the runtime does, through what is registered; return the address and how to free it."""
    types = ffi.typeof(lib.aclrtAllocatorGetByStream).args[1:]
    outs = [ffi.new(c_type) for c_type in types]
    assert lib.aclrtAllocatorGetByStream(ffi.cast("aclrtStream", stream.handle), *outs) == 0
    _, owner, allocate, free, allocate_near, address_of = (out[0] for out in outs)
    block = allocate(owner, nbytes) if near is None else allocate_near(owner, nbytes, ffi.cast("void *", near))
    at = 0 if block == ffi.NULL else int(ffi.cast("uintptr_t", address_of(block)))
    return at, lambda: free(owner, block)


# --- what operators call ---------------------------------------------------------------------------------------------


@pytest.mark.simulator("kernels")
def test_an_operator_allocates_and_frees_while_it_is_pending(stream: Stream) -> None:
    allocator = Recording()
    allocator.register(stream)
    with Latch(stream):
        sim.run_operator(stream, 4096)
        (_, _, buffer), (_, freed) = allocator.calls
        assert allocator.calls == [("allocate", 4096, buffer), ("free", buffer)]
        assert freed is buffer
        assert allocator.live_buffers == 0
    stream.synchronize()
    host = np.zeros(4096, np.uint8)
    copy(host, buffer)
    assert set(host.tolist()) == {WRITTEN}


@pytest.mark.simulator("kernels")
def test_a_subclass_chooses_its_names_freely(stream: Stream) -> None:
    class Pool(Recording):
        _live = _handle = _left = _blocks = _free = _allocate = None

    pool = Pool()
    pool.register(stream)
    sim.run_operator(stream, 64)
    Recording().register(stream)  # which replaces the other
    stream.synchronize()
    assert [name for name, *_ in pool.calls] == ["allocate", "free"]
    assert pool.live_buffers == 0


def test_live_buffers_counts_the_allocations_of_the_runtime(stream: Stream, lib: Any, ffi: Any) -> None:
    allocator = Recording()
    allocator.register(stream)
    given_out = [call(stream, lib, ffi, 256 * (i + 1)) for i in range(3)]
    assert allocator.live_buffers == 3
    assert [at for at, _ in given_out] == [it[2].handle for it in allocator.calls]
    allocator.calls.clear()
    gc.collect()  # the buffers are kept by the allocator alone
    for i, (at, free) in enumerate(given_out):
        free()
        assert allocator.calls[-1][1].handle == at
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
            self.calls.append(("near", near))
            return self.allocate(nbytes)

    plain, near = Recording(), Near()
    for allocator, expected in ((plain, ["allocate", "free"]), (near, ["near", "allocate", "free"])):
        allocator.register(stream)
        at, free = call(stream, lib, ffi, 64, near=0x123456789000)
        free()
        assert at
        assert [it[0] for it in allocator.calls] == expected
    assert near.calls[0] == ("near", 0x123456789000)


@pytest.mark.simulator("kernels")
def test_an_operator_needs_a_stream(device: Device) -> None:
    with Stream() as closed, pytest.raises(OverflowError):
        sim.run_operator(closed, 1 << 64)
    with pytest.raises(ClosedError, match="this stream is closed"):
        sim.run_operator(closed, 64)


def test_the_base_class_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Allocator()  # type: ignore[abstract]


# --- registrations ---------------------------------------------------------------------------------------------------


@pytest.mark.simulator("kernels")
def test_the_last_registration_wins(stream: Stream, other: Stream) -> None:
    first, second = Recording(), Recording()
    assert registered(stream) is None
    first.register(stream)
    first.register(stream)
    first.register(other)
    second.register(stream)
    assert (registered(stream), registered(other)) == (second, first)
    first.unregister(stream)  # does nothing: another allocator is registered there
    assert registered(stream) is second
    sim.run_operator(stream, 64)
    assert (len(first.calls), len(second.calls)) == (0, 2)
    for _ in range(2):
        second.unregister(stream)
        assert registered(stream) is None
    sim.run_operator(stream, 64)
    assert (len(first.calls), len(second.calls)) == (0, 2)
    assert registered(other) is first


def test_a_closed_stream_has_no_allocator(device: Device) -> None:
    allocator = Recording()
    for ends in (Stream.close, lambda stream: stream.close(force=True), Stream.__del__):
        stream = Stream()
        allocator.register(stream)
        handle = stream.handle
        ends(stream)
        assert handle not in registrations
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


@pytest.mark.simulator("kernels")
def test_the_default_stream(device: Device) -> None:
    allocator = Recording()
    allocator.register(device.default_stream)
    sim.run_operator(None, 64)
    device.synchronize()
    assert [it[0] for it in allocator.calls] == ["allocate", "free"]
    allocator.unregister(device.default_stream)


def test_a_registration_keeps_the_allocator_alive(stream: Stream) -> None:
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


@pytest.mark.parametrize("is_done", [False, True], ids=["before the call", "after the call"])
def test_what_the_runtime_may_call_lives_after_an_interrupted_registration(
    is_done: bool, stream: Stream, override: Any, lib: Any, ffi: Any
) -> None:
    allocators = [Recording(), Recording()]
    references = [weakref.ref(it) for it in allocators]
    allocators[0].register(stream)

    def interrupted(*arguments: Any) -> int:
        if is_done:
            in_c(*arguments)
        raise Interruption

    in_c = override("aclrtAllocatorRegister", interrupted)
    with pytest.raises(Interruption):
        allocators[1].register(stream)
    del allocators
    gc.collect()
    at, free = call(stream, lib, ffi, 64)
    assert at
    free()
    called = references[is_done]()
    assert called is not None
    assert [name for name, *_ in called.calls] == ["allocate", "free"]
    assert references[1] is not None
    references[1]().unregister(stream)  # type: ignore[union-attr]


def test_descriptors_are_destroyed(device: Device, override: Any) -> None:
    # The calls are counted: the runtime does not report how many descriptors exist.
    count = {"aclrtAllocatorCreateDesc": 0, "aclrtAllocatorDestroyDesc": 0}
    functions: dict[str, Any] = {}
    for name in count:

        def counting(*arguments: Any, name: str = name) -> Any:
            count[name] += 1
            return functions[name](*arguments)

        functions[name] = override(name, counting)
    allocators = [Recording(), Recording()]
    with Stream() as stream:
        for i in range(4):
            allocators[i % 2].register(stream)
        allocators[1].unregister(stream)
        allocators[0].register(stream)
    with pytest.raises(ClosedError):
        allocators[0].register(stream)
    assert count == {"aclrtAllocatorCreateDesc": 5, "aclrtAllocatorDestroyDesc": 5}


@pytest.mark.simulator("kernels")
def test_a_failed_registration_changes_nothing(stream: Stream) -> None:
    first, second = Recording(), Recording()
    first.register(stream)
    with sim.faults():
        sim.fail_call("aclrtAllocatorRegister", 100000)
        with pytest.raises(InvalidArgument):
            second.register(stream)
    assert registered(stream) is first
    sim.run_operator(stream, 64)
    assert (len(first.calls), len(second.calls)) == (2, 0)


# --- errors in callbacks ---------------------------------------------------------------------------------------------


def fails(nbytes: int) -> Any:
    raise LookupError(f"no {nbytes} bytes")


WRONG = {
    "an exception": (fails, LookupError, "no 4096 bytes"),
    "an exit": (lambda nbytes: exec("raise SystemExit(3)"), SystemExit, "3"),
    "nothing": (lambda nbytes: None, TypeError, "allocate must return a Buffer, but returned None"),
    "an address": (lambda nbytes: 0x1000, TypeError, "must return a Buffer, but returned 4096"),
    "too small a buffer": (
        lambda nbytes: Buffer(nbytes - 1),
        ValueError,
        "4095 bytes>, which is smaller than 4096 bytes",
    ),
}


@pytest.mark.parametrize(("returns", "error", "text"), WRONG.values(), ids=WRONG)
@pytest.mark.simulator("kernels")
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
    sim.run_operator(stream, 4096)  # the stream can be used again
    stream.synchronize()
    hooked.clear()


def test_a_buffer_that_is_in_use_is_rejected(stream: Stream, unraisable: list[Any], lib: Any, ffi: Any) -> None:
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


@pytest.mark.simulator("kernels")
def test_a_failed_free_is_reported_and_the_operator_runs(stream: Stream, unraisable: list[Any]) -> None:
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


@pytest.mark.simulator("kernels")
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


def test_a_second_free_of_the_same_block_is_reported(
    stream: Stream, other: Stream, unraisable: list[Any], lib: Any, ffi: Any
) -> None:
    allocator = Recording()
    allocator.register(stream)
    _, free = call(stream, lib, ffi, 64)
    free()
    free()
    assert [type(it.exc_value) for it in unraisable] == [KeyError]
    assert [it[0] for it in allocator.calls] == ["allocate", "free"]


@pytest.mark.simulator("kernels")
@pytest.mark.simulator("deadly", "memory is freed under a queued task")
def test_memory_that_is_freed_while_the_operator_uses_it(stream: Stream) -> None:
    allocator = Allocator.from_functions(Buffer, Buffer.close)
    allocator.register(stream)
    with Latch(stream):
        sim.run_operator(stream, 4096)
    with pytest.raises(AclError) as caught:
        stream.synchronize()
    assert caught.value.code == AICORE_EXCEPTION


# --- streams that share an allocator ---------------------------------------------------------------------------------


@pytest.mark.simulator("kernels")
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


@pytest.mark.simulator("kernels")
def test_310b_has_none(child: Any) -> None:
    script = """
        from ascend_rt import CachingAllocator, Device, Stream, errors
        from ascend_rt._memory.allocator_registry import registered
        Device(0).set_current()
        stream = Stream()
        try:
            CachingAllocator().register(stream)
        except errors.NotSupported as error:
            reported([error.code, str(error), registered(stream)])
    """
    code, text, found = child(script, ASCEND_RT_SIM_PRODUCT="310B")
    assert (code, found) == (207000, None)
    assert "aclrtAllocatorRegister" in text
