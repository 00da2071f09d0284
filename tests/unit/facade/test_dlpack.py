# SPDX-License-Identifier: Apache-2.0
"""DLPack: what a buffer gives away, what it takes from others, and when each is let go of."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from support.memory import content

from ascend_rt import Buffer, Device, ManagedBuffer, copy, fill
from ascend_rt._memory import dlpack
from ascend_rt.errors import ClosedError

NPU, CPU = 12, 1  # kDLExtDev, kDLCPU
INT, UNSIGNED, FLOAT, BFLOAT = 0, 1, 2, 4


# The structures of DLPack 0.x once more, as its header has them: a mistake in the package's own would be seen here.
class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int),
        ("device_id", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
capsule_name = ctypes.pythonapi.PyCapsule_GetName
capsule_name.restype = ctypes.c_char_p
capsule_name.argtypes = (ctypes.py_object,)
set_capsule_name = ctypes.pythonapi.PyCapsule_SetName
set_capsule_name.argtypes = (ctypes.py_object, ctypes.c_char_p)
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = ctypes.c_void_p
capsule_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


class Consumer:
    """Takes a capsule as a library does, and gives the tensor back on demand."""

    def __init__(self, capsule: object) -> None:
        self.tensor = Tensor.from_address(capsule_pointer(capsule, b"dltensor"))
        set_capsule_name(capsule, b"used_dltensor")

    def let_go(self) -> None:
        Deleter(self.tensor.deleter)(ctypes.addressof(self.tensor))


class Producer:
    """Makes one capsule of device memory, as a library does, and counts how often the tensor is given back."""

    def __init__(
        self,
        memory: Buffer,
        shape: Sequence[int],
        strides: Sequence[int] | None = None,
        *,
        offset: int = 0,
        dtype: tuple[int, int, int] = (UNSIGNED, 8, 1),
        device: tuple[int, int] = (NPU, 0),
        name: bytes = b"dltensor",
        data: int | None = -1,
        has_deleter: bool = True,
    ) -> None:
        self.memory, self.given_back = memory, 0
        self.deleter = Deleter(self._delete)
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self.tensor = Tensor(
            memory.handle if data == -1 else data,
            *device,
            len(shape),
            *dtype,
            self.shape,
            self.strides,
            offset,
            None,
            ctypes.cast(self.deleter, ctypes.c_void_p) if has_deleter else None,
        )
        self.capsule = new_capsule(ctypes.addressof(self.tensor), name, None)
        self.name = name  # a capsule only has the address of its name

    def _delete(self, tensor: int) -> None:
        assert tensor == ctypes.addressof(self.tensor)
        self.given_back += 1

    def __dlpack_device__(self) -> tuple[int, int]:
        # Acts as torch does for tensors of a renamed back end, such as torch_npu's.
        raise ValueError("Unknown device type npu for Dlpack")

    def __dlpack__(self, **options: Any) -> object:
        return self.capsule


@pytest.fixture
def memory(device: Device) -> Any:
    with Buffer(4096) as memory:
        copy(memory, np.arange(4096).astype(np.uint8))
        yield memory


# --- export ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "stop"), [(0, 4096), (100, 4096), (5, 6)])
def test_a_buffer_is_a_tensor_of_bytes(start: int, stop: int, memory: Buffer) -> None:
    part = memory[start:stop]
    consumer = Consumer(part.__dlpack__())
    tensor = consumer.tensor
    assert (tensor.data + tensor.byte_offset, tensor.ndim, tensor.shape[0]) == (part.handle, 1, stop - start)
    assert (tensor.device_type, tensor.device_id) == part.__dlpack_device__() == (NPU, 0)
    assert (tensor.code, tensor.bits, tensor.lanes, bool(tensor.strides)) == (UNSIGNED, 8, 1, False)
    consumer.let_go()


def test_a_capsule_that_is_not_taken_lets_go_of_the_buffer(device: Device) -> None:
    buffer = Buffer(64)
    gone = weakref.ref(buffer)
    capsule = buffer.__dlpack__()
    del buffer
    gc.collect()
    assert gone() is not None
    assert capsule_name(capsule) == b"dltensor"
    del capsule
    assert gone() is None
    assert not dlpack._exported


def test_a_consumer_keeps_the_buffer(device: Device) -> None:
    gc.collect()
    free = device.memory_info.free
    buffer = Buffer(1 << 20)
    fill(buffer, 7)
    gone = weakref.ref(buffer)
    capsule = buffer.__dlpack__()
    consumer = Consumer(capsule)
    del buffer, capsule
    gc.collect()
    assert gone() is not None
    received = np.empty(64, np.uint8)
    copy(received, Buffer.from_handle(consumer.tensor.data, 64))
    assert set(received) == {7}
    consumer.let_go()
    assert gone() is None
    assert device.memory_info.free == free


def test_each_capsule_is_on_its_own(device: Device) -> None:
    buffer = Buffer(64)
    gone = weakref.ref(buffer)
    first, second = buffer.__dlpack__(), buffer.__dlpack__()
    del buffer
    consumer = Consumer(first)
    del first, second
    assert gone() is not None
    consumer.let_go()
    assert gone() is None


def test_a_capsule_may_die_while_an_exception_is_raised(memory: Buffer) -> None:
    # NumPy refuses the device after it has taken the capsule; the refusal must be what arrives.
    with pytest.raises((RuntimeError, BufferError), match="Unsupported device"):
        np.from_dlpack(memory)
    assert not dlpack._exported


def test_closing_the_buffer_takes_the_memory_away(device: Device) -> None:
    buffer = Buffer(64)
    consumer = Consumer(buffer.__dlpack__())
    buffer.close()
    consumer.let_go()
    assert not dlpack._exported
    for export in (buffer.__dlpack__, buffer.__dlpack_device__):
        with pytest.raises(ClosedError, match="this buffer is closed"):
            export()


@pytest.mark.parametrize(
    ("options", "is_refused"),
    [
        ({"stream": None}, False),
        ({"stream": 1, "max_version": (1, 0)}, False),
        ({"copy": False, "dl_device": (NPU, 0)}, False),
        ({"copy": None, "dl_device": None}, False),
        ({"copy": True}, True),
        ({"dl_device": (CPU, 0)}, True),
        ({"dl_device": (NPU, 1)}, True),
    ],
    ids=repr,
)
def test_options(options: dict[str, Any], is_refused: bool, memory: Buffer) -> None:
    if is_refused:
        with pytest.raises(BufferError, match=r"exported in place|stays on"):
            memory.__dlpack__(**options)
    else:
        assert capsule_name(memory.__dlpack__(**options)) == b"dltensor"
    assert not dlpack._exported


# --- import ----------------------------------------------------------------------------------------------------------


def test_a_buffer_taken_from_a_buffer_shares_its_memory(memory: Buffer) -> None:
    taken = Buffer.from_dlpack(memory[16:48])
    assert (taken.handle, taken.nbytes) == (memory.handle + 16, 32)
    copy(taken[:4], b"abcd")
    assert bytes(content(memory)[14:22]) == b"\x0e\x0fabcd\x14\x15"
    taken.close()
    assert content(memory)[20] == 20


def test_what_was_taken_keeps_the_memory(device: Device) -> None:
    buffer = Buffer(64)
    fill(buffer, 9)
    gone = weakref.ref(buffer)
    part = Buffer.from_dlpack(buffer)[32:]
    del buffer
    gc.collect()
    assert gone() is not None
    assert set(content(part)) == {9}
    del part
    gc.collect()
    assert gone() is None
    assert not dlpack._exported


LAYOUTS = {
    # shape, strides, dtype, byte offset -> size
    "bytes": (((10,), None), (UNSIGNED, 8, 1), 0, 10),
    "scalar": (((), None), (FLOAT, 64, 1), 0, 8),
    "matrix": (((3, 5), None), (FLOAT, 32, 1), 0, 60),
    "matrix with strides": (((3, 5), (5, 1)), (FLOAT, 32, 1), 0, 60),
    "bfloat16": (((2, 3, 4), (12, 4, 1)), (BFLOAT, 16, 1), 0, 48),
    "complex": (((2, 2), (2, 1)), (5, 128, 1), 0, 64),
    "vectors": (((3, 5), (5, 1)), (FLOAT, 32, 4), 0, 240),
    "vectors without strides": (((3,), None), (UNSIGNED, 8, 3), 0, 9),
    "packed": (((4, 6), (6, 1)), (INT, 4, 1), 0, 12),
    "packed vectors": (((4,), None), (INT, 4, 2), 0, 4),
    "stride of one row": (((1, 5), (99, 1)), (INT, 16, 1), 0, 10),
    "strides of single elements": (((1, 5, 1), (7, 1, 42)), (INT, 16, 1), 0, 10),
    "offset": (((8,), (1,)), (UNSIGNED, 8, 1), 24, 8),
}


@pytest.mark.parametrize(("layout", "dtype", "offset", "nbytes"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_contiguous_tensors_are_taken(layout: Any, dtype: Any, offset: int, nbytes: int, memory: Buffer) -> None:
    producer = Producer(memory, *layout, dtype=dtype, offset=offset)
    taken = Buffer.from_dlpack(producer)
    assert (taken.handle, taken.nbytes) == (memory.handle + offset, nbytes)
    assert list(content(taken)) == list(content(memory)[offset : offset + nbytes])
    assert capsule_name(producer.capsule) == b"used_dltensor"
    view = taken[:1]
    del taken
    gc.collect()
    assert producer.given_back == 0
    del view
    gc.collect()
    assert producer.given_back == 1


REFUSED: dict[str, tuple[Callable[[Buffer], Producer], str]] = {
    "columns": (lambda memory: Producer(memory, (3, 5), (1, 3)), "not C-contiguous"),
    "rows apart": (lambda memory: Producer(memory, (3, 5), (8, 1)), "not C-contiguous"),
    "every other": (lambda memory: Producer(memory, (5,), (2,)), "not C-contiguous"),
    "reversed": (lambda memory: Producer(memory, (5,), (-1,)), "not C-contiguous"),
    "repeated": (lambda memory: Producer(memory, (5, 2), (0, 1)), "not C-contiguous"),
    "columns of vectors": (
        lambda memory: Producer(memory, (3, 5), (20, 4), dtype=(FLOAT, 32, 4)),
        "not C-contiguous",
    ),
    "half a byte": (lambda memory: Producer(memory, (3,), dtype=(INT, 4, 1)), "not a multiple of 8 bits"),
    "empty": (lambda memory: Producer(memory, (3, 0)), "empty"),
    "empty without memory": (lambda memory: Producer(memory, (0,), data=None), "empty"),
    "on the host": (lambda memory: Producer(memory, (5,), device=(CPU, 0)), "DLPack type 1, not on an NPU"),
    "on another kind of device": (lambda memory: Producer(memory, (5,), device=(2, 0)), "DLPack type 2"),
    "taken": (lambda memory: Producer(memory, (5,), name=b"used_dltensor"), "consumed already"),
    "with a version": (lambda memory: Producer(memory, (5,), name=b"dltensor_versioned"), "'dltensor'"),
}


@pytest.mark.parametrize("other", [5, None, b"bytes"])
def test_what_has_no_capsule_is_no_tensor(other: Any) -> None:
    with pytest.raises(TypeError, match=rf"__dlpack__\(\), got {type(other).__name__}"):
        Buffer.from_dlpack(other)


@pytest.mark.parametrize(("make", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_a_refused_tensor_stays_the_producers(make: Callable[[Buffer], Producer], text: str, memory: Buffer) -> None:
    producer = make(memory)
    with pytest.raises(BufferError, match=text):
        Buffer.from_dlpack(producer)
    gc.collect()
    assert producer.given_back == 0
    assert capsule_name(producer.capsule) == producer.name


def test_an_address_of_no_device_is_given_back(memory: Buffer) -> None:
    producer = Producer(memory, (5,), data=0x1234)
    with pytest.raises(ValueError, match="not in a device's memory"):
        Buffer.from_dlpack(producer)
    gc.collect()
    assert producer.given_back == 1


def test_a_capsule_is_taken_once(memory: Buffer) -> None:
    producer = Producer(memory, (5,))
    taken = Buffer.from_dlpack(producer)
    with pytest.raises(BufferError, match="consumed already"):
        Buffer.from_dlpack(producer)
    taken.close()
    del taken
    gc.collect()
    assert producer.given_back == 1


def test_a_tensor_without_a_deleter(memory: Buffer) -> None:
    taken = Buffer.from_dlpack(Producer(memory, (5,), has_deleter=False))
    assert list(content(taken)) == list(range(5))


@pytest.mark.parametrize("given", [object(), None])
def test_a_producer_that_gives_no_capsule(given: object, memory: Buffer) -> None:
    class Strange:
        def __dlpack__(self) -> object:
            return given

    with pytest.raises(BufferError, match="returned no capsule"):
        Buffer.from_dlpack(Strange())


def test_arrays_of_the_host_are_refused(device: Device) -> None:
    with pytest.raises(BufferError, match="DLPack type 1, not on an NPU"):
        Buffer.from_dlpack(np.zeros(4))


def test_managed_memory_is_exported_as_the_devices(device: Device, managed: None) -> None:
    with ManagedBuffer(4096) as buffer:
        np.asarray(buffer)[:] = 8
        taken = Buffer.from_dlpack(buffer)
        assert taken.device == device
        assert set(content(taken[:64])) == {8}


# --- the end of the process ------------------------------------------------------------------------------------------

ENDS = {
    "an export that nobody took": "sys.kept = Buffer(64).__dlpack__()",
    "an export that was taken": """
kept = Buffer(64).__dlpack__()
ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(kept), b"used_dltensor")
""",
    "an import": "sys.kept = Buffer.from_dlpack(Buffer(64))",
    "both in a cycle": "cycle = [Buffer.from_dlpack(Buffer(64)), Buffer(64).__dlpack__()]; cycle.append(cycle)",
}


@pytest.mark.parametrize("script", ENDS.values(), ids=ENDS.keys())
def test_the_interpreter_ends_quietly(script: str, run: Any, under_test: dict[str, str]) -> None:
    start = """
import ctypes, sys, warnings
from ascend_rt import Buffer, Device
warnings.simplefilter("error")
Device(0).set_current()
"""
    ended = run("-c", start + script, **under_test)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
