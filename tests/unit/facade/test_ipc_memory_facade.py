# SPDX-License-Identifier: Apache-2.0
"""Memory that two processes share, in Python: export, opening, and the order of release."""

from __future__ import annotations

import gc
import itertools
import os
import threading
from ast import literal_eval
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.codes import NOT_PERMITTED

from ascend_rt import (
    Buffer,
    Device,
    ImportedBuffer,
    IpcMemory,
    MappedBuffer,
    PhysicalMemory,
    Stream,
    VirtualMemory,
    copy,
    copy_async,
    fill,
    fill_async,
)
from ascend_rt.errors import AclError, ClosedError, InvalidArgument
from ascend_rt.testing import Latch

SIZE = 4 << 20

# The messages to the second process.
OPEN = "(memory := rt.IpcMemory.open({!r}, 4 << 20)) and None"
MAY_OPEN = "code_of(lambda: rt.IpcMemory.open({!r}, 4 << 20).close())"
READ = "rt.copy(b := bytearray({size}), memory[{at}:{at} + {size}]) or bytes(b)"
WRITE = "rt.copy(memory[{at}:], {data!r})"
EXPORT = "(exported := rt.IpcMemory(block := rt.Buffer(4 << 20))) and exported.key"
PID = "[p := ffi.new('int32_t *'), lib.aclrtDeviceGetBareTgid(p), p[0]][-1]"

pytestmark = pytest.mark.usefixtures("no_device_memory_is_left", "no_shared_memory_is_left")


@pytest.fixture
def buffer(device: Device) -> Iterator[Buffer]:
    with Buffer(SIZE) as buffer:
        fill(buffer, 0)
        yield buffer


def read(buffer: Buffer) -> bytes:
    host = bytearray(buffer.nbytes)
    copy(host, buffer)
    return bytes(host)


# --- two processes ---------------------------------------------------------------------------------------------------


def test_the_other_process_opens_memory(buffer: Buffer, process: Any) -> None:
    with IpcMemory(buffer) as memory:
        copy(buffer, b"from here")
        assert process(OPEN.format(memory.key)) == "None"
        assert process("(type(memory).__name__, memory.nbytes)") == f"('ImportedBuffer', {SIZE})"
        assert process(READ.format(at=0, size=9)) == "b'from here'"
        assert process(WRITE.format(at=SIZE - 5, data=b"there")) == "None"
        assert read(buffer[-5:]) == b"there"
        assert process("rt.fill_async(memory[4096:8192], 7, stream) or stream.synchronize()") == "None"
        assert read(buffer[4095:8193]) == b"\0" + b"\x07" * 4096 + b"\0"
        assert process("memory.close() or memory.close() or memory.is_closed") == "True"
    assert process(MAY_OPEN.format(memory.key)) == "107000"  # the export is over
    assert read(buffer[-5:]) == b"there"


def test_this_process_opens_memory(device: Device, stream: Stream, process: Any) -> None:
    key = literal_eval(process(EXPORT))
    assert isinstance(key, bytes)
    assert process("rt.copy(block, b'from there')") == "None"
    with IpcMemory.open(key, SIZE) as memory:
        assert isinstance(memory, ImportedBuffer)
        assert (memory.nbytes, memory.base, memory.device) == (SIZE, None, device)
        assert read(memory[:10]) == b"from there"
        with Latch(stream):
            copy_async(memory[5:], np.frombuffer(b"here!", np.uint8), stream, snapshot=True)
            assert read(memory[:10]) == b"from there"
        stream.synchronize()
        assert process("rt.copy(b := bytearray(10), block[:10]) or bytes(b)") == "b'from here!'"
        assert repr(memory) == f"<ascend_rt.ImportedBuffer {memory.handle:#x} on device 0, {SIZE} bytes>"
    with pytest.raises(ClosedError, match="this imported buffer is closed"):
        read(memory)
    assert process("exported.close() or block.close()") == "None"


def test_work_keeps_what_it_uses_open(device: Device, stream: Stream, process: Any) -> None:
    key = literal_eval(process(EXPORT))
    with Latch(stream):
        fill_async(IpcMemory.open(key, SIZE), 9, stream)
        gc.collect()
    stream.synchronize()
    assert process("rt.copy(b := bytearray(4 << 20), block) or set(b)") == "{9}"
    with pytest.raises(AclError):
        process_import_closes(key)


def process_import_closes(key: bytes) -> None:
    """Close an import that there must not be."""
    from ascend_rt._runtime import driver

    driver.call("aclrtIpcMemClose", key)


def test_named_processes(buffer: Buffer, process: Any) -> None:
    pid = int(process(PID))
    for processes, code in (([os.getpid()], NOT_PERMITTED), ([1, pid], 0), (iter([pid]), 0), (None, 0)):
        with IpcMemory(buffer, processes) as memory:
            assert process(MAY_OPEN.format(memory.key)) == str(code)


def test_not_being_named_is_said(device: Device, process: Any) -> None:
    key = literal_eval(process(EXPORT.replace("<< 20)", "<< 20), [1]")))
    with pytest.raises(AclError, match="has not named process") as caught:
        IpcMemory.open(key, SIZE)
    assert caught.value.code == NOT_PERMITTED
    assert process("exported.close()") == "None"


@pytest.mark.parametrize("end", ["exported.close()", "block.close()", "globals().pop('exported') and None"])
def test_a_closed_export(end: str, device: Device, process: Any) -> None:
    key = literal_eval(process(EXPORT))
    IpcMemory.open(key, SIZE).close()
    assert process(end) == "None"
    with pytest.raises(InvalidArgument):
        IpcMemory.open(key, SIZE)


# --- opening several times -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_closing_one_of_several_leaves_the_others(order: tuple[int, ...], device: Device, process: Any) -> None:
    key = literal_eval(process(EXPORT))
    opened: list[Any] = [IpcMemory.open(key, SIZE) for _ in range(3)]
    assert len({it.handle for it in opened}) == 3
    for step, i in enumerate(order):
        opened[i].close()
        for still_open in (opened[j] for j in order[step + 1 :]):
            fill(still_open, step)
            assert process("rt.copy(b := bytearray(2), block[:2]) or list(b)") == f"[{step}, {step}]"
    with pytest.raises(InvalidArgument):
        process_import_closes(key)
    with IpcMemory.open(key, SIZE) as again:
        fill(again, 77)


def test_a_cycle_lets_go_of_memory(device: Device, process: Any) -> None:
    key = literal_eval(process(EXPORT))
    cycle: list[Any] = [IpcMemory.open(key, SIZE), IpcMemory.open(key, SIZE)[4096:]]
    cycle.append(cycle)
    del cycle
    gc.collect()
    with pytest.raises(InvalidArgument):
        process_import_closes(key)


def test_memory_outlives_the_process_that_exports_it(device: Device, process: Any) -> None:
    with IpcMemory.open(literal_eval(process(EXPORT)), SIZE) as memory:
        process.end()
        fill(memory, 5)
        assert set(read(memory)) == {5}


# --- the export ------------------------------------------------------------------------------------------------------


def test_an_export_keeps_its_buffer(device: Device, process: Any) -> None:
    buffer = Buffer(SIZE)
    memory = IpcMemory(buffer)
    copy(buffer, b"kept")
    free = device.memory_info.free
    del buffer
    gc.collect()
    assert device.memory_info.free == free
    assert process(OPEN.format(memory.key)) == "None"
    assert process(READ.format(at=0, size=4)) == "b'kept'"
    assert process("memory.close()") == "None"
    memory.close()
    gc.collect()
    assert device.memory_info.free >= free + SIZE


def test_closing_the_buffer_ends_the_export(device: Device) -> None:
    buffer = Buffer(SIZE)
    memory = IpcMemory(buffer)
    buffer.close()
    memory.close()
    memory.close()
    assert memory.is_closed


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_objects_of_a_cycle_may_be_discarded_in_any_order(order: tuple[int, ...], device: Device) -> None:
    cycle: list[Any] = [Buffer(SIZE)]
    cycle.append(IpcMemory(cycle[0]))
    for i in order:
        cycle[i].__del__()
    assert all(it.is_closed for it in cycle)


def test_every_export_has_a_key(device: Device) -> None:
    with Buffer(SIZE) as first, Buffer(SIZE) as second, IpcMemory(first) as one, IpcMemory(second) as other:
        assert one.key != other.key
        assert all(isinstance(it.key, bytes) and 0 < len(it.key) < 65 for it in (one, other))
    assert one.key  # it is a valid key, but opens nothing
    assert "closed" in repr(one)


def test_what_is_exported_is_a_whole_allocation(buffer: Buffer, device: Device) -> None:
    for view in (buffer[4096:], buffer[:4096], buffer[:]):
        with pytest.raises(ValueError, match="a view cannot be exported; export the whole allocation"):
            IpcMemory(view)
    with VirtualMemory(SIZE) as virtual, virtual.map(PhysicalMemory(SIZE, device)) as mapped:
        assert isinstance(mapped, MappedBuffer)
        with pytest.raises(InvalidArgument):
            IpcMemory(mapped)
    with pytest.raises(InvalidArgument):
        IpcMemory(Buffer.from_handle(buffer.handle + 4096, 4096))
    closed = Buffer(SIZE)
    closed.close()
    with pytest.raises(ClosedError):
        IpcMemory(closed)


def test_bad_processes(buffer: Buffer) -> None:
    with pytest.raises(ValueError, match="pass None to allow every process"):
        IpcMemory(buffer, [])
    with pytest.raises(OverflowError):
        IpcMemory(buffer, [1 << 40])
    IpcMemory(buffer, [1]).close()


@pytest.mark.parametrize("key", [b"", b"no key at all", b"/ascend_rt-1.1", b"x" * 64, b"x" * 1000])
def test_what_is_no_key(key: bytes, device: Device) -> None:
    with pytest.raises(InvalidArgument):
        IpcMemory.open(key, SIZE)


def test_a_key_does_not_end_early(device: Device, process: Any) -> None:
    key = literal_eval(process(EXPORT))
    with pytest.raises(ValueError, match="a key must not contain a zero byte"):
        IpcMemory.open(key + b"\0more", SIZE)
    with pytest.raises(TypeError, match="key"):
        IpcMemory.open(key.decode(), SIZE)  # type: ignore[arg-type]


@pytest.mark.parametrize("nbytes", [0, -5])
def test_a_size_is_positive(nbytes: int, device: Device) -> None:
    with pytest.raises(ValueError, match=f"the size must be greater than 0, got {nbytes}"):
        IpcMemory.open(b"key", nbytes)
    with pytest.raises(ValueError, match=f"the size must be greater than 0, got {nbytes}"):
        PhysicalMemory.from_shareable(1, nbytes, device)


def test_a_thread_without_a_context_lets_go(device: Device, buffer: Buffer, process: Any) -> None:
    key = literal_eval(process(EXPORT))
    held: list[Any] = [IpcMemory(buffer), IpcMemory.open(key, SIZE)]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    device.synchronize()  # the thread left it to one that has a context
    with pytest.raises(InvalidArgument):
        process_import_closes(key)
    IpcMemory(buffer).close()


def test_the_exporter_does_not_open_its_own(buffer: Buffer) -> None:
    with IpcMemory(buffer) as memory, pytest.raises(InvalidArgument):
        IpcMemory.open(memory.key, SIZE)


@pytest.mark.simulator("products")
def test_310b_has_none(child: Any) -> None:
    script = """
        from ascend_rt import Buffer, Device, IpcMemory, errors
        Device(0).set_current()
        def code_of(function, *arguments):
            try:
                function(*arguments)
            except errors.NotSupported as error:
                return error.code
        reported([code_of(IpcMemory, Buffer(4 << 20)), code_of(IpcMemory.open, b"/ascend_rt-1.1", 4 << 20)])
    """
    assert child(script, ASCEND_RT_SIM_PRODUCT="310B") == [207000, 207000]
