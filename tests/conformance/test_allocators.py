# SPDX-License-Identifier: Apache-2.0
"""Allocators of the application: what a registration is, and what an operator does with it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.codes import (
    AICORE_EXCEPTION,
    GARBAGE_HANDLES,
    INVALID_HANDLE,
    INVALID_PARAM,
    NOT_COMPLETE,
    OK,
    OUT_OF_MEMORY,
    RT_PARAM,
    UNSUPPORTED,
)

from ascend_rt import Buffer, Device, Event, Stream, copy, fill, sim
from ascend_rt.errors import AclError, OutOfMemory
from ascend_rt.testing import Latch

SETTERS = ("Obj", "AllocFunc", "FreeFunc", "GetAddrFromBlockFunc", "AllocAdviseFunc")
WRITTEN = 0xA5  # the mark that an operator leaves in its workspace

pytestmark = pytest.mark.simulator(
    "unspecified", "the vendor's library follows garbage, and runs no operators on demand"
)


class Allocator:
    """An allocator over ordinary device memory, which remembers what was asked of it.

    ``on`` replaces a callback, by name.
    """

    def __init__(self, lib: Any, ffi: Any, **on: Callable[..., Any]) -> None:
        self.lib, self.ffi = lib, ffi
        self.said: list[str] = []
        self.blocks: dict[int, Buffer] = {}
        self.on = on
        self.object = ffi.new_handle(self)
        self.functions = {
            "Obj": self.object,
            "AllocFunc": ffi.callback("void *(void *, size_t)", self._alloc),
            "FreeFunc": ffi.callback("void (void *, void *)", self._free),
            "AllocAdviseFunc": ffi.callback("void *(void *, size_t, void *)", self._advise),
            "GetAddrFromBlockFunc": ffi.callback("void *(void *)", self._address),
        }
        self.desc = lib.aclrtAllocatorCreateDesc()
        for name, value in self.functions.items():
            assert getattr(lib, f"aclrtAllocatorSet{name}ToDesc")(self.desc, value) == OK

    def _alloc(self, owner: Any, size: int) -> Any:
        assert owner == self.object
        self.said.append(f"alloc {size}")
        if "alloc" in self.on:
            return self.on["alloc"](size)
        block = Buffer(size)
        fill(block, 0)  # a block that another test's operator has written may come back
        self.blocks[len(self.blocks) + 1] = block
        return self.ffi.cast("void *", len(self.blocks))

    def _address(self, block: Any) -> Any:
        number = int(self.ffi.cast("uintptr_t", block))
        self.said.append(f"address {number}")
        address = self.on["address"](number) if "address" in self.on else self.blocks[number].handle
        return self.ffi.cast("void *", address)

    def _free(self, owner: Any, block: Any) -> None:
        number = int(self.ffi.cast("uintptr_t", block))
        self.said.append(f"free {number}")
        if "free" in self.on:
            self.on["free"](number)

    def _advise(self, owner: Any, size: int, address: Any) -> Any:
        self.said.append("advise")
        return self.ffi.NULL

    def serve(self, *streams: Stream) -> Allocator:
        for stream in streams:
            assert self.lib.aclrtAllocatorRegister(self.ffi.cast("void *", stream.handle), self.desc) == OK
        return self

    def close(self) -> None:
        assert self.lib.aclrtAllocatorDestroyDesc(self.desc) in (OK, INVALID_PARAM)
        for block in self.blocks.values():
            block.close()


@pytest.fixture
def make(lib: Any, ffi: Any, device: Any) -> Iterator[Callable[..., Allocator]]:
    made: list[Allocator] = []

    def make(**on: Callable[..., Any]) -> Allocator:
        made.append(Allocator(lib, ffi, **on))
        return made[-1]

    yield make
    for allocator in made:
        allocator.close()


def code_of(function: Callable[..., Any], *arguments: Any) -> int:
    try:
        function(*arguments)
    except AclError as error:
        return error.code
    return OK


def bytes_of(buffer: Buffer) -> set[int]:
    host = np.zeros(buffer.nbytes, np.uint8)
    copy(host, buffer)
    return set(host.tolist())


# --- descriptors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", SETTERS)
def test_setters_check_the_descriptor_before_the_value(field: str, make: Any, lib: Any, ffi: Any, stream: Any) -> None:
    allocator = make()
    call = getattr(lib, f"aclrtAllocatorSet{field}ToDesc")
    gone = lib.aclrtAllocatorCreateDesc()
    assert lib.aclrtAllocatorDestroyDesc(gone) == OK
    value = allocator.functions[field]
    for desc in (*GARBAGE_HANDLES, 0, gone, stream.handle):
        assert call(ffi.cast("void *", desc), value) == INVALID_PARAM
        text = ffi.string(lib.aclGetRecentErrMsg()).decode()
        assert "allocatorDesc is NULL" in text if desc == 0 else "not a live allocator descriptor" in text
        assert call(ffi.cast("void *", desc), ffi.NULL) == INVALID_PARAM
    assert call(allocator.desc, ffi.NULL) == INVALID_PARAM  # nothing can be cleared, the advice neither
    assert call(allocator.desc, value) == OK


def test_a_descriptor_is_destroyed_once(lib: Any, ffi: Any, stream: Any) -> None:
    desc = lib.aclrtAllocatorCreateDesc()
    assert desc != ffi.NULL
    assert [lib.aclrtAllocatorDestroyDesc(desc) for _ in range(2)] == [OK, INVALID_PARAM]
    for bad in (*GARBAGE_HANDLES, 0, stream.handle):
        assert lib.aclrtAllocatorDestroyDesc(ffi.cast("void *", bad)) == INVALID_PARAM


def test_an_incomplete_descriptor_is_not_registered(make: Any, lib: Any, ffi: Any) -> None:
    functions = make().functions
    desc = lib.aclrtAllocatorCreateDesc()
    anything = ffi.cast("void *", 0x7000)
    for field in SETTERS[:4]:  # in the order of the checks; the advice may be missing
        assert lib.aclrtAllocatorRegister(anything, desc) == INVALID_PARAM
        text = ffi.string(lib.aclGetRecentErrMsg()).decode()
        assert f"call aclrtAllocatorSet{field}ToDesc first" in text
        assert getattr(lib, f"aclrtAllocatorSet{field}ToDesc")(desc, functions[field]) == OK
    assert lib.aclrtAllocatorRegister(anything, desc) == OK
    assert lib.aclrtAllocatorUnregister(anything) == OK
    assert lib.aclrtAllocatorDestroyDesc(desc) == OK


# --- registrations ---------------------------------------------------------------------------------------------------


class Registered:
    """Answers of aclrtAllocatorGetByStream."""

    def __init__(self, lib: Any, ffi: Any, stream: Any) -> None:
        types = ffi.typeof(lib.aclrtAllocatorGetByStream).args[1:]
        self.outs = [ffi.new(c_type) for c_type in types]
        self.outs[0][0] = ffi.cast("void *", 0x77)
        self.code = lib.aclrtAllocatorGetByStream(ffi.cast("void *", stream), *self.outs)

    @property
    def values(self) -> list[Any]:
        return [out[0] for out in self.outs]


def expected(allocator: Allocator) -> list[Any]:
    order = ("Obj", "AllocFunc", "FreeFunc", "AllocAdviseFunc", "GetAddrFromBlockFunc")
    return [allocator.desc, *(allocator.functions[name] for name in order)]


@pytest.mark.parametrize("arguments", ["0d", "s0", "00", "sg"])
def test_register_refuses_null_and_garbage(arguments: str, make: Any, lib: Any, ffi: Any, stream: Any) -> None:
    values = {"0": 0, "s": stream.handle, "d": make().desc, "g": 0x1234567800}
    stream_value, desc = (ffi.cast("void *", values[letter]) for letter in arguments)
    assert lib.aclrtAllocatorRegister(stream_value, desc) == INVALID_PARAM
    assert Registered(lib, ffi, stream.handle).code == INVALID_PARAM


def test_a_registration_is_a_copy_and_the_last_one_wins(make: Any, lib: Any, ffi: Any, stream: Any) -> None:
    first, second = make().serve(stream), make()
    assert Registered(lib, ffi, stream.handle).values == expected(first)
    assert lib.aclrtAllocatorSetObjToDesc(first.desc, ffi.cast("void *", 0x9)) == OK
    assert Registered(lib, ffi, stream.handle).values[1] == first.object
    second.serve(stream)
    assert Registered(lib, ffi, stream.handle).values == expected(second)
    second.close()  # a registration outlives its descriptor, whose handle it still gives
    assert Registered(lib, ffi, stream.handle).values == expected(second)


def test_a_registration_belongs_to_the_value_of_a_handle(make: Any, lib: Any, ffi: Any, device: Any) -> None:
    allocator = make()
    with Stream() as short:
        handle = short.handle
        allocator.serve(short)
    assert Registered(lib, ffi, handle).values == expected(allocator)  # not removed with the stream
    anything = ffi.cast("void *", 0xABC)
    assert lib.aclrtAllocatorRegister(anything, allocator.desc) == OK  # no look at the stream
    assert Registered(lib, ffi, 0xABC).code == OK
    for value in (ffi.cast("void *", handle), anything):
        assert [lib.aclrtAllocatorUnregister(value) for _ in range(2)] == [OK, OK]
        assert Registered(lib, ffi, value).code == INVALID_PARAM
    assert lib.aclrtAllocatorUnregister(ffi.NULL) == INVALID_PARAM


def test_what_is_not_registered_leaves_the_outputs_alone(lib: Any, ffi: Any, stream: Any) -> None:
    answer = Registered(lib, ffi, stream.handle)
    assert (answer.code, int(ffi.cast("uintptr_t", answer.values[0]))) == (INVALID_PARAM, 0x77)
    assert Registered(lib, ffi, 0).code == INVALID_PARAM


def test_other_outputs_may_be_left_out(make: Any, lib: Any, ffi: Any, stream: Any) -> None:
    allocator = make().serve(stream)
    on, out = ffi.cast("void *", stream.handle), ffi.new("aclrtAllocatorDesc *")
    assert lib.aclrtAllocatorGetByStream(on, out, *[ffi.NULL] * 5) == OK
    assert out[0] == allocator.desc
    assert lib.aclrtAllocatorGetByStream(on, *[ffi.NULL] * 6) == INVALID_PARAM


def test_none_of_this_is_remembered_as_the_last_error(lib: Any, ffi: Any, device: Any) -> None:
    lib.aclrtGetLastError(0)
    assert lib.aclrtAllocatorUnregister(ffi.NULL) == INVALID_PARAM
    assert lib.aclrtPeekAtLastError(0) == OK


@pytest.mark.parametrize("product", ["910B", "910C", "310B", "310P", "910", "950"])
def test_products(product: str, child: Any) -> None:
    script = """
desc = lib.aclrtAllocatorCreateDesc()  # descriptors need no device, and no chip lacks them
one = ffi.cast("void *", 8)
setters = ["Obj", "AllocFunc", "FreeFunc", "GetAddrFromBlockFunc"]
def set_to(name):
    call = getattr(lib, f"aclrtAllocatorSet{name}ToDesc")
    return call(desc, ffi.cast(ffi.typeof(call).args[1], 8))
out = ffi.new("aclrtAllocatorDesc *")
codes = [lib.aclrtAllocatorRegister(one, desc), *map(set_to, setters)]
codes += [lib.aclrtAllocatorRegister(ffi.NULL, desc), lib.aclrtAllocatorRegister(one, desc)]
codes += [lib.aclrtAllocatorGetByStream(one, ffi.NULL, *[ffi.NULL] * 5)]
codes += [lib.aclrtAllocatorGetByStream(one, out, *[ffi.NULL] * 5)]
codes += [lib.aclrtAllocatorUnregister(ffi.NULL), lib.aclrtAllocatorUnregister(one)]
reported([*codes, lib.aclrtAllocatorDestroyDesc(desc)])
"""
    here = UNSUPPORTED if product == "310B" else OK
    assert child(script, ASCEND_RT_SIM_PRODUCT=product) == [
        *[INVALID_PARAM, OK, OK, OK, OK],
        *[INVALID_PARAM, here, INVALID_PARAM, here, INVALID_PARAM, here, OK],
    ]


# --- operators -------------------------------------------------------------------------------------------------------


def test_an_operator_takes_its_workspace_and_gives_it_back_while_it_is_pending(make: Any, stream: Stream) -> None:
    allocator = make().serve(stream)
    with Latch(stream):
        sim.run_operator(stream, 4096)
        assert allocator.said == ["alloc 4096", "address 1", "free 1"]
        assert bytes_of(allocator.blocks[1]) == {0}
    stream.synchronize()
    assert bytes_of(allocator.blocks[1]) == {WRITTEN}


def test_an_operator_without_workspace_calls_nobody(make: Any, stream: Stream) -> None:
    allocator = make().serve(stream)
    sim.run_operator(stream, 0)
    stream.synchronize()
    assert allocator.said == []


def test_without_an_allocator_the_workspace_is_the_devices_until_the_operator_is_done(stream: Stream) -> None:
    device, size = Device(0), 4 << 20
    free = device.memory_info.free
    with Latch(stream):
        sim.run_operator(stream, size)
        assert device.memory_info.free == free - size
    stream.synchronize()
    assert device.memory_info.free == free
    with pytest.raises(OutOfMemory, match="does not fit"):
        sim.run_operator(stream, 1 << 50)
    with Latch(stream):
        sim.run_operator(stream, size)
        stream_abort(stream)
    assert device.memory_info.free == free


def stream_abort(stream: Stream) -> None:
    from ascend_rt._runtime import driver

    assert driver.lib.aclrtStreamAbort(driver.ffi.cast("void *", stream.handle)) == OK


def test_an_unregistered_allocator_is_not_called(make: Any, lib: Any, ffi: Any, stream: Stream) -> None:
    allocator = make().serve(stream)
    assert lib.aclrtAllocatorUnregister(ffi.cast("void *", stream.handle)) == OK
    sim.run_operator(stream, 64)
    assert allocator.said == []


def test_an_unregistered_allocator_may_serve_another_stream(
    make: Any, lib: Any, ffi: Any, stream: Stream, other: Stream
) -> None:
    allocator = make().serve(stream)
    with Latch(stream):
        sim.run_operator(stream, 64)
        assert lib.aclrtAllocatorUnregister(ffi.cast("void *", stream.handle)) == OK
        allocator.serve(other)
        sim.run_operator(other, 64)  # it might be a new one at the address of the old one


def test_the_default_stream_has_a_handle_to_register(make: Any, lib: Any, ffi: Any, device: Any) -> None:
    out = ffi.new("aclrtStream *")
    assert lib.aclrtCtxGetCurrentDefaultStream(out) == OK
    allocator = make()
    assert lib.aclrtAllocatorRegister(out[0], allocator.desc) == OK
    sim.run_operator(None, 64)
    device.synchronize()
    assert lib.aclrtAllocatorUnregister(out[0]) == OK
    assert allocator.said == ["alloc 64", "address 1", "free 1"]


def test_an_allocator_without_memory(make: Any, ffi: Any, stream: Stream) -> None:
    allocator = make(alloc=lambda size: ffi.NULL).serve(stream)
    with pytest.raises(OutOfMemory, match="has no 4096 bytes of workspace: its callback returned NULL"):
        sim.run_operator(stream, 4096)
    assert allocator.said == ["alloc 4096"]
    assert stream.is_done


@pytest.mark.parametrize("wrong", ["null", "host", "freed", "small", "interior", "garbage", "pinned"])
def test_a_wrong_address_is_refused_and_the_block_given_back(wrong: str, make: Any, stream: Stream) -> None:
    from ascend_rt import PinnedBuffer

    host, pinned = np.zeros(4096, np.uint8), PinnedBuffer(4096)
    freed = Buffer(4096)
    freed.close()
    small = Buffer(256)
    large = Buffer(4096)
    addresses = {
        "null": 0,
        "host": host.ctypes.data,
        "pinned": pinned.handle,
        "freed": large.handle + (1 << 30),
        "small": small.handle,
        "interior": large.handle + 2048,
        "garbage": 0x1234567800,
    }
    allocator = make(address=lambda block: addresses[wrong]).serve(stream)
    with pytest.raises(AclError, match="is not live memory of device 0 with 4096 bytes") as caught:
        sim.run_operator(stream, 4096)
    assert caught.value.code == RT_PARAM
    assert allocator.said == ["alloc 4096", "address 1", "free 1"]
    stream.synchronize()


def test_memory_of_another_device_is_refused(child: Any) -> None:
    script = """
device = ffi.new("void **")
assert lib.aclrtSetDevice(1) == 0 and lib.aclrtMalloc(device, 4096, 0) == 0 and lib.aclrtSetDevice(0) == 0
keep = [ffi.callback("void *(void *, size_t)", lambda o, n: o),
        ffi.callback("void (void *, void *)", lambda o, b: None),
        ffi.callback("void *(void *)", lambda b: device[0])]
desc, stream = lib.aclrtAllocatorCreateDesc(), ffi.new("aclrtStream *")
assert lib.aclrtCreateStream(stream) == 0
lib.aclrtAllocatorSetObjToDesc(desc, ffi.cast("void *", 8))
lib.aclrtAllocatorSetAllocFuncToDesc(desc, keep[0])
lib.aclrtAllocatorSetFreeFuncToDesc(desc, keep[1])
lib.aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, keep[2])
assert lib.aclrtAllocatorRegister(stream[0], desc) == 0
reported([lib.aclsimRunOperator(stream[0], 64), text()])
"""
    code, text = child(script, ASCEND_RT_SIM_DEVICES=2)
    assert code == RT_PARAM
    assert "not live memory of device 0" in text


def test_memory_that_is_freed_before_the_operator_ran_makes_it_fail(make: Any, stream: Stream) -> None:
    allocator = make()
    allocator.on["free"] = lambda block: allocator.blocks[block].close()  # without a synchronization
    allocator.serve(stream)
    with Latch(stream):
        sim.run_operator(stream, 4096)
    assert code_of(stream.synchronize) == AICORE_EXCEPTION
    assert code_of(stream.synchronize) == OK


def test_callbacks_may_use_the_library(make: Any, stream: Stream) -> None:
    allocator = make()

    def release(block: int) -> None:
        stream.synchronize()
        assert bytes_of(allocator.blocks[block]) == {WRITTEN}
        allocator.blocks[block].close()

    allocator.on["free"] = release
    allocator.serve(stream)
    for _ in range(3):
        sim.run_operator(stream, 4096)
    assert [block.is_closed for block in allocator.blocks.values()] == [True] * 3


def test_texts_name_the_operator_after_callbacks_that_used_the_library(make: Any, stream: Stream) -> None:
    allocator = make(address=lambda block: Device(0).memory_info.free * 0)
    allocator.serve(stream)
    with pytest.raises(AclError, match="aclsimRunOperator"):
        sim.run_operator(stream, 4096)


def test_a_callback_cannot_run_an_operator(make: Any, ffi: Any, stream: Stream, other: Stream) -> None:
    codes: list[int] = []

    def alloc(size: int) -> Any:
        codes.append(code_of(sim.run_operator, other, 64))
        return ffi.NULL

    make(alloc=alloc).serve(stream)
    assert code_of(sim.run_operator, stream, 64) == OUT_OF_MEMORY
    assert codes == [UNSUPPORTED]
    sim.run_operator(other, 64)


def test_a_stream_that_a_callback_destroys(make: Any, device: Any) -> None:
    stream = Stream()
    allocator = make()
    allocator.on["address"] = lambda block: (stream.close(), allocator.blocks[block].handle)[1]
    allocator.serve(stream)
    handle = Stream.from_handle(stream.handle)
    with pytest.raises(
        AclError, match="was destroyed, or its capture ended, while its allocator was at work"
    ) as caught:
        sim.run_operator(handle, 64)
    assert caught.value.code == INVALID_HANDLE
    assert allocator.said == ["alloc 64", "address 1", "free 1"]


def test_a_bad_stream_is_found_before_anybody_is_called(make: Any, lib: Any, ffi: Any, stream: Stream) -> None:
    allocator = make()
    for bad in GARBAGE_HANDLES:
        assert lib.aclrtAllocatorRegister(ffi.cast("void *", bad), allocator.desc) == OK
        assert lib.aclsimRunOperator(ffi.cast("void *", bad), 64) == INVALID_HANDLE
        assert lib.aclrtAllocatorUnregister(ffi.cast("void *", bad)) == OK
    assert allocator.said == []
    with pytest.raises(ValueError, match="0 or more bytes"):
        sim.run_operator(stream, -1)


def test_an_operator_can_fail_on_demand(make: Any, stream: Stream) -> None:
    allocator = make().serve(stream)
    with sim.faults():
        sim.fail_task(AICORE_EXCEPTION, stream)
        sim.run_operator(stream, 64)
        assert code_of(stream.synchronize) == AICORE_EXCEPTION
    assert allocator.said == ["alloc 64", "address 1", "free 1"]


# --- one allocator for several streams -------------------------------------------------------------------------------


def by_stream(first: Stream, second: Stream) -> None:
    first.synchronize()


def by_device(first: Stream, second: Stream) -> None:
    Device(0).synchronize()


def by_event(first: Stream, second: Stream) -> None:
    first.record().synchronize()


def by_abort(first: Stream, second: Stream) -> None:
    stream_abort(first)


def by_query(first: Stream, second: Stream) -> None:
    while not first.is_done:
        pass


def in_the_device(first: Stream, second: Stream) -> None:
    second.wait(first.record())


def by_an_older_event(first: Stream, second: Stream) -> None:
    OLD[0].synchronize()


OLD: list[Event] = []


@pytest.mark.parametrize(
    ("let_go", "code"),
    [
        (by_stream, OK),
        (by_device, OK),
        (by_event, OK),
        (by_abort, OK),
        (by_query, NOT_COMPLETE),
        (in_the_device, NOT_COMPLETE),
        (by_an_older_event, NOT_COMPLETE),
    ],
)
def test_the_previous_stream_is_synchronized_before_the_next(
    let_go: Any, code: int, make: Any, stream: Stream, other: Stream
) -> None:
    allocator = make().serve(stream, other)
    OLD[:] = [stream.record()]
    sim.run_operator(stream, 64)
    said = list(allocator.said)
    with pytest.raises(AclError) as caught:
        sim.run_operator(other, 64)
    assert caught.value.code == NOT_COMPLETE
    assert f"serves stream {stream.id}" in str(caught.value)
    assert f"before stream {other.id} runs" in str(caught.value)
    assert allocator.said == said  # no callback was called
    let_go(stream, other)
    assert code_of(sim.run_operator, other, 64) == code
    stream.synchronize()
    assert code_of(sim.run_operator, other, 64) == OK


def test_the_previous_stream_may_be_destroyed(make: Any, other: Stream) -> None:
    allocator = make()
    with Stream() as short:
        allocator.serve(short, other)
        sim.run_operator(short, 64)
    assert code_of(sim.run_operator, other, 64) == OK


def test_operators_of_one_stream_and_of_other_allocators_need_no_synchronization(
    make: Any, stream: Stream, other: Stream
) -> None:
    make().serve(stream)
    make().serve(other)
    with Latch(stream), Latch(other):
        codes = [code_of(sim.run_operator, on, 64) for on in (stream, other) * 3]
        assert codes == [OK] * 6
    stream.synchronize()
    other.synchronize()


def test_callbacks_of_one_allocator_are_never_called_concurrently(make: Any, stream: Stream) -> None:
    inside, most, allocator = [0], [0], make()

    def address(block: int) -> int:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        with Stream() as busy:  # lets other threads run
            busy.synchronize()
        inside[0] -= 1
        return int(allocator.blocks[block].handle)

    allocator.on["address"] = address
    allocator.serve(stream)

    def work() -> None:
        Device(0).set_current()
        for _ in range(20):
            sim.run_operator(stream, 64)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stream.synchronize()
    assert most == [1]
    assert [line.split()[0] for line in allocator.said] == ["alloc", "address", "free"] * 80
