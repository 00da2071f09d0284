# SPDX-License-Identifier: Apache-2.0
"""Kernels on the host: every form of a launch, what runs, what fails and what is told of it."""

from __future__ import annotations

import struct
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.codes import (
    AICORE_EXCEPTION,
    GARBAGE_HANDLES,
    INVALID_HANDLE,
    INVALID_PARAM,
    NO_CONTEXT,
    OK,
    RT_PARAM,
    UNSUPPORTED,
)
from support.handles import at, raw
from support.kernels import CUBE, VECTOR, compile_kernels, device_object, parameters

from ascend_rt import Binary, Buffer, Device, Stream, copy, fill, sim
from ascend_rt.errors import AclError, InvalidArgument

INVALID_FUNCTION = 107044
AICPU_EXCEPTION = 507018
COUNT = 1000

pytestmark = pytest.mark.simulator("kernels on the host")

SOURCE = """
typedef struct { const float *x, *y; float *sum; uint32_t count; } Arguments;
ACLSIM_KERNEL(add_custom) {
    const Arguments *a = (const Arguments *)arguments;
    for (uint32_t i = block_index; i < a->count; i += block_count) a->sum[i] = a->x[i] + a->y[i];
}
ACLSIM_PARAMETERS(add_custom, 8, 8, 8, 4)

/* Each block is done when all have begun, or gives up. */
typedef struct { uint32_t begun, met; } Meeting;
ACLSIM_KERNEL(meet) {
    Meeting *meeting = *(Meeting **)arguments;
    __atomic_add_fetch(&meeting->begun, 1, __ATOMIC_SEQ_CST);
    for (uint64_t i = 0; i < 20000000000; ++i) {
        if (__atomic_load_n(&meeting->begun, __ATOMIC_SEQ_CST) == block_count) {
            __atomic_add_fetch(&meeting->met, 1, __ATOMIC_SEQ_CST);
            return;
        }
    }
}

typedef struct { uint32_t *count; } CountArguments;
ACLSIM_KERNEL(count_blocks) { __atomic_add_fetch(((CountArguments *)arguments)->count, 1, __ATOMIC_SEQ_CST); }

typedef struct { uint64_t *out; } WorkspaceArguments;
ACLSIM_KERNEL(note_workspace) {
    ((WorkspaceArguments *)arguments)->out[block_index] = (uint64_t)workspace;
    ((uint8_t *)workspace)[4095] = 1;
}
ACLSIM_WORKSPACE(note_workspace, 4096)

/* The placeholder at 8 is the address of the numbers behind it. */
typedef struct { uint32_t *sum; const uint32_t *numbers; } HolderArguments;
ACLSIM_KERNEL(sum_numbers) {
    const HolderArguments *a = (const HolderArguments *)arguments;
    *a->sum = a->numbers[0] + a->numbers[1];
}
ACLSIM_BEGIN ACLSIM_EXPORT uint32_t shared_number = 41; ACLSIM_END
ACLSIM_KERNEL(next_number) { **(uint32_t **)arguments = ++shared_number; }
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_kernels(tmp_path_factory.mktemp("kernels"), SOURCE)


@pytest.fixture
def binary(path: Path, device: Device) -> Iterator[Binary]:
    with Binary(path) as binary:
        yield binary


@pytest.mark.parametrize(
    ("at", "value", "text"),
    [
        (32, b"\xff" * 8, "table of segments"),
        (54, b"\x01\x00", "table of segments"),
        (64, b"\x07", "no segment"),  # the first segment is none that is loaded
        (64 + 32, b"\xff" * 6, "a segment"),  # more than the file has
        (64 + 40, bytes(8), "more bytes in the file than in memory"),
    ],
)
def test_a_shared_object_with_damaged_segments(path: Path, device: Device, at: int, value: bytes, text: str) -> None:
    damaged = bytearray(path.read_bytes())
    assert damaged[64:68] == b"\1\0\0\0"  # the table of segments is behind the header, and begins with one to load
    damaged[at : at + len(value)] = value
    with pytest.raises(InvalidArgument, match=text):
        Binary(damaged)


class Sum:
    """Operands of ``add_custom``, and what comes out."""

    def __init__(self, ffi: Any) -> None:
        self._ffi = ffi
        self.x, self.y = np.arange(COUNT, dtype=np.float32), np.ones(COUNT, np.float32)
        self.buffers = [Buffer(4 * COUNT) for _ in range(3)]
        copy(self.buffers[0], self.x)
        copy(self.buffers[1], self.y)
        fill(self.buffers[2], 0)

    def block(self) -> Any:
        """Return the block of arguments."""
        return self._ffi.new("char[]", struct.pack("<QQQI", *(each.handle for each in self.buffers), COUNT))

    def check(self, stream: Stream) -> None:
        stream.synchronize()
        out = np.empty(COUNT, np.float32)
        copy(out, self.buffers[2])
        assert (out == self.x + self.y).all()


@pytest.fixture
def operands(ffi: Any, device: Device) -> Sum:
    return Sum(ffi)


def function_of(ffi: Any, binary: Binary, name: str) -> Any:
    return ffi.cast("aclrtFuncHandle", binary[name].handle)


Form = Callable[[Any, Any, Any, Any, Sum], int]


def in_memory(lib: Any, ffi: Any, function: Any, stream: Any, operands: Sum) -> int:
    block = operands.block()
    memory = Buffer(len(block))
    copy(memory, np.frombuffer(ffi.buffer(block), np.uint8))
    operands.memory = memory  # type: ignore[attr-defined]  # read when the kernel runs
    return int(lib.aclrtLaunchKernel(function, 4, at(ffi, memory), len(block), stream))


def in_memory_with_config(lib: Any, ffi: Any, function: Any, stream: Any, operands: Sum) -> int:
    block = operands.block()
    memory = Buffer(len(block))
    copy(memory, np.frombuffer(ffi.buffer(block), np.uint8))
    operands.memory = memory  # type: ignore[attr-defined]
    attributes = ffi.new("aclrtLaunchKernelAttr[]", [{"id": 1, "value": {"schemMode": 1}}])
    config = ffi.new("aclrtLaunchKernelCfg *", (attributes, 1))
    return int(lib.aclrtLaunchKernelV2(function, 4, at(ffi, memory), len(block), config, stream))


def host_arguments(lib: Any, ffi: Any, function: Any, stream: Any, operands: Sum) -> int:
    block = operands.block()
    code = lib.aclrtLaunchKernelWithHostArgs(function, 4, stream, ffi.NULL, block, len(block), ffi.NULL, 0)
    ffi.memmove(block, bytes(len(block)), len(block))  # it was copied
    return int(code)


def arguments_array(lib: Any, ffi: Any, function: Any, stream: Any, operands: Sum) -> int:
    pointers = [ffi.new("uint64_t *", each.handle) for each in operands.buffers]
    count = ffi.new("uint32_t *", COUNT)
    array = ffi.new("void *[]", [*pointers, count])
    return int(lib.aclrtLaunchKernelWithArgsArray(function, 4, stream, ffi.NULL, array))


def argument_list(lib: Any, ffi: Any, function: Any, stream: Any, operands: Sum) -> int:
    handle, parameter = ffi.new("aclrtArgsHandle *"), ffi.new("aclrtParamHandle *")
    assert lib.aclrtKernelArgsInit(function, handle) == OK
    for each in operands.buffers:
        assert lib.aclrtKernelArgsAppend(handle[0], ffi.new("uint64_t *", each.handle), 8, parameter) == OK
    assert lib.aclrtKernelArgsAppend(handle[0], ffi.new("uint32_t *", COUNT), 4, parameter) == OK
    assert lib.aclrtKernelArgsFinalize(handle[0]) == OK
    return int(lib.aclrtLaunchKernelWithConfig(function, 4, stream, ffi.NULL, handle[0], ffi.NULL))


def list_in_user_memory(lib: Any, ffi: Any, function: Any, stream: Any, operands: Sum) -> int:
    size = ffi.new("size_t *")
    assert lib.aclrtKernelArgsGetHandleMemSize(function, size) == OK
    handle = ffi.new("char[]", size[0])
    assert lib.aclrtKernelArgsGetMemSize(function, 28, size) == OK
    memory, parameter = ffi.new("char[]", size[0]), ffi.new("aclrtParamHandle *")
    assert lib.aclrtKernelArgsInitByUserMem(function, handle, memory, size[0]) == OK
    for each in operands.buffers:
        assert lib.aclrtKernelArgsAppend(handle, ffi.new("uint64_t *", each.handle), 8, parameter) == OK
    assert lib.aclrtKernelArgsAppend(handle, ffi.new("uint32_t *", 1), 4, parameter) == OK
    assert lib.aclrtKernelArgsParaUpdate(handle, parameter[0], ffi.new("uint32_t *", COUNT), 4) == OK
    assert lib.aclrtKernelArgsAppend(handle, ffi.new("uint32_t *"), 4, parameter) == RT_PARAM  # all four are there
    assert lib.aclrtKernelArgsFinalize(handle) == OK
    return int(lib.aclrtLaunchKernelWithConfig(function, 4, stream, ffi.NULL, handle, ffi.NULL))


FORMS = [in_memory, in_memory_with_config, host_arguments, arguments_array, argument_list, list_in_user_memory]


@pytest.mark.parametrize("launch", FORMS, ids=lambda form: form.__name__)
def test_every_form_of_a_launch_does_the_work(
    launch: Form, lib: Any, ffi: Any, binary: Binary, stream: Stream, operands: Sum
) -> None:
    assert launch(lib, ffi, function_of(ffi, binary, "add_custom"), raw(ffi, stream), operands) == OK
    operands.check(stream)


def test_blocks_run_at_the_same_time(binary: Binary, stream: Stream) -> None:
    blocks = min(sim.info().workers, 4)
    with Buffer(8) as meeting:
        fill(meeting, 0)
        binary["meet"].launch(stream, blocks, meeting)
        stream.synchronize()
        assert list(words(meeting)) == [blocks, blocks]


def words(buffer: Buffer, dtype: Any = np.uint32) -> np.ndarray[Any, Any]:
    out = np.empty(buffer.nbytes // np.dtype(dtype).itemsize, dtype)
    copy(out, buffer)
    return out


@pytest.mark.parametrize("blocks", [1, 7, 65535])
def test_every_block_runs_once(blocks: int, binary: Binary, stream: Stream) -> None:
    with Buffer(4) as count:
        fill(count, 0)
        binary["count_blocks"].launch(stream, blocks, count)
        stream.synchronize()
        assert words(count)[0] == blocks


def test_the_number_of_blocks_keeps_16_bits_as_on_the_chip(lib: Any, ffi: Any, binary: Binary, stream: Stream) -> None:
    function = function_of(ffi, binary, "count_blocks")
    with Buffer(4) as count:
        fill(count, 0)
        block = ffi.new("char[]", struct.pack("<Q", count.handle))
        for blocks in (65536, 65539):
            arguments = (function, blocks, raw(ffi, stream), ffi.NULL, block, len(block), ffi.NULL, 0)
            assert lib.aclrtLaunchKernelWithHostArgs(*arguments) == OK
        stream.synchronize()
        assert words(count)[0] == 3


def test_placeholders_become_addresses_of_the_copied_data(
    lib: Any, ffi: Any, binary: Binary, stream: Stream, device: Device
) -> None:
    function = function_of(ffi, binary, "sum_numbers")
    with Buffer(4) as out:
        block = ffi.new("char[]", struct.pack("<QQII", out.handle, 0, 30, 12))
        holders = ffi.new("aclrtPlaceHolderInfo[]", [(8, 16)])
        arguments = (function, 1, raw(ffi, stream), ffi.NULL, block, 24, holders, 1)
        with sim.held():
            assert lib.aclrtLaunchKernelWithHostArgs(*arguments) == OK
            ffi.memmove(block, bytes(24), 24)
        stream.synchronize()
        assert words(out)[0] == 42


@pytest.mark.parametrize(("slot", "data"), [(24, 16), (17, 16), (8, 24), (0xFFFFFFFF, 0), (0, 0xFFFFFFFF)])
def test_placeholders_outside_the_arguments_are_refused(
    slot: int, data: int, lib: Any, ffi: Any, binary: Binary, stream: Stream
) -> None:
    holders = ffi.new("aclrtPlaceHolderInfo[]", [(slot, data)])
    function = function_of(ffi, binary, "sum_numbers")
    arguments = (function, 1, raw(ffi, stream), ffi.NULL, ffi.new("char[24]"), 24, holders, 1)
    assert lib.aclrtLaunchKernelWithHostArgs(*arguments) == RT_PARAM


def test_a_placeholder_of_a_list_points_to_its_buffer(lib: Any, ffi: Any, binary: Binary, stream: Stream) -> None:
    function = function_of(ffi, binary, "sum_numbers")
    handle, parameter, data = ffi.new("aclrtArgsHandle *"), ffi.new("aclrtParamHandle *"), ffi.new("void **")
    with Buffer(4) as out:
        assert lib.aclrtKernelArgsInit(function, handle) == OK
        assert lib.aclrtKernelArgsAppend(handle[0], ffi.new("uint64_t *", out.handle), 8, parameter) == OK
        assert lib.aclrtKernelArgsAppendPlaceHolder(handle[0], parameter) == OK
        assert lib.aclrtKernelArgsGetPlaceHolderBuffer(handle[0], parameter[0], 8, data) == OK
        ffi.memmove(data[0], struct.pack("<II", 40, 2), 8)
        assert lib.aclrtKernelArgsFinalize(handle[0]) == OK
        assert lib.aclrtLaunchKernelWithConfig(function, 1, raw(ffi, stream), ffi.NULL, handle[0], ffi.NULL) == OK
        stream.synchronize()
        assert words(out)[0] == 42


def test_a_thread_has_one_list_of_its_own(lib: Any, ffi: Any, binary: Binary) -> None:
    function = function_of(ffi, binary, "add_custom")
    here, there = ffi.new("aclrtArgsHandle[]", 2), ffi.new("aclrtArgsHandle *")
    for i in range(2):
        assert lib.aclrtKernelArgsInit(function, here + i) == OK
    thread = threading.Thread(target=lambda: lib.aclrtKernelArgsInit(function, there))
    thread.start()
    thread.join()
    assert here[0] == here[1] != there[0] != ffi.NULL


def test_a_parameter_names_nothing_after_its_list_was_begun_again(lib: Any, ffi: Any, binary: Binary) -> None:
    function, value = function_of(ffi, binary, "add_custom"), ffi.new("uint32_t *", 1)
    handle, parameter, newer = ffi.new("aclrtArgsHandle *"), ffi.new("aclrtParamHandle *"), ffi.new("void **")
    assert lib.aclrtKernelArgsInit(function, handle) == OK
    assert lib.aclrtKernelArgsAppend(handle[0], value, 4, parameter) == OK
    assert lib.aclrtKernelArgsInit(function, handle) == OK
    assert lib.aclrtKernelArgsAppend(handle[0], value, 4, newer) == OK
    assert lib.aclrtKernelArgsParaUpdate(handle[0], parameter[0], value, 4) == INVALID_HANDLE
    assert lib.aclrtKernelArgsParaUpdate(handle[0], newer[0], value, 4) == OK
    for garbage in GARBAGE_HANDLES:
        assert lib.aclrtKernelArgsParaUpdate(handle[0], ffi.cast("void *", garbage), value, 4) == INVALID_HANDLE


# --- workspace -------------------------------------------------------------------------------------------------------


def test_the_blocks_of_a_launch_share_a_workspace(binary: Binary, stream: Stream) -> None:
    with Buffer(32) as out:
        binary["note_workspace"].launch(stream, 4, out)
        stream.synchronize()
        seen = words(out, np.uint64)
        assert len(set(seen)) == 1
        assert seen[0] != 0


def test_workspace_comes_from_the_allocator_of_the_stream(lib: Any, ffi: Any, binary: Binary, stream: Stream) -> None:
    said: list[str] = []
    with Buffer(8192) as memory, Buffer(8) as out:
        owner = ffi.new_handle(said)

        def alloc(_: Any, size: int) -> Any:
            said.append(f"alloc {size}")
            return ffi.cast("void *", 1)

        callbacks = {
            "AllocFunc": ffi.callback("void *(void *, size_t)", alloc),
            "FreeFunc": ffi.callback("void (void *, void *)", lambda *_: said.append("free")),
            "GetAddrFromBlockFunc": ffi.callback("void *(void *)", lambda _: said.append("address") or at(ffi, memory)),
        }
        desc = lib.aclrtAllocatorCreateDesc()
        assert lib.aclrtAllocatorSetObjToDesc(desc, owner) == OK
        for name, callback in callbacks.items():
            assert getattr(lib, f"aclrtAllocatorSet{name}ToDesc")(desc, callback) == OK
        assert lib.aclrtAllocatorRegister(raw(ffi, stream), desc) == OK
        binary["note_workspace"].launch(stream, 1, out)
        stream.synchronize()
        assert lib.aclrtAllocatorUnregister(raw(ffi, stream)) == OK
        assert lib.aclrtAllocatorDestroyDesc(desc) == OK
        assert said == ["alloc 4096", "address", "free"]
        assert words(out, np.uint64)[0] == memory.handle


# --- what fails ------------------------------------------------------------------------------------------------------


THROWS = """
#include <stdexcept>
typedef struct { uint32_t which; } Arguments;
ACLSIM_KERNEL(throws) {
    if (block_index == 2) throw std::runtime_error("the tile has an odd width");
}
ACLSIM_KERNEL(throws_a_number) { throw 42; }
"""


@pytest.fixture(scope="module")
def throwing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_kernels(tmp_path_factory.mktemp("throwing"), THROWS, cplusplus=True)


def test_an_exception_fails_the_task_and_says_what_it_was(throwing: Path, stream: Stream) -> None:
    with Binary(throwing) as binary:
        binary["throws"].launch(stream, 4)
        with pytest.raises(AclError, match=r"block 2 of 4 of kernel throws .*the tile has an odd width") as caught:
            stream.synchronize()
        assert caught.value.code == AICORE_EXCEPTION
        stream.synchronize()
        binary["throws_a_number"].launch(stream, 1)
        with pytest.raises(AclError, match="kernel throws_a_number threw an exception"):
            stream.synchronize()


def test_a_callback_is_told_the_function_and_the_arguments(
    throwing: Path, lib: Any, ffi: Any, stream: Stream, device: Device
) -> None:
    seen: list[Any] = []

    @ffi.callback("void(aclrtExceptionInfo *, void *)")
    def callback(info: Any, data: Any) -> None:
        function, arguments, size = ffi.new("aclrtFuncHandle *"), ffi.new("void **"), ffi.new("uint32_t *")
        codes = (
            lib.aclrtGetFuncHandleFromExceptionInfo(info, function),
            lib.aclrtGetArgsFromExceptionInfo(info, arguments, size),
        )
        block = bytes(ffi.buffer(arguments[0], size[0]))
        numbers = [
            getattr(lib, f"aclrtGet{name}FromExceptionInfo")(info) for name in ("ErrorCode", "ThreadId", "StreamId")
        ]
        seen.append((codes, function[0], block, numbers, ffi.from_handle(data)))

    owner = object()
    handle = ffi.new_handle(owner)
    with Binary(throwing) as binary:
        kernel = binary["throws"]
        raw_binary = ffi.cast("aclrtBinHandle", binary.handle)
        assert lib.aclrtBinarySetExceptionCallback(raw_binary, callback, handle) == OK
        kernel.launch(stream, 4, np.uint64(77))
        with pytest.raises(AclError):
            stream.synchronize()
        [(codes, function, block, numbers, data)] = seen
        assert codes == (OK, OK)
        assert int(ffi.cast("uintptr_t", function)) == kernel.handle
        assert block == struct.pack("<Q", 77)
        assert numbers == [AICORE_EXCEPTION, threading.get_native_id(), stream.id]
        assert data is owner


def test_in_stop_mode_a_kernel_that_fails_stops_the_context(throwing: Path, lib: Any, ffi: Any, device: Device) -> None:
    from ascend_rt import Context

    with Context(0):
        stream = Stream()
        with Binary(throwing) as binary:
            assert lib.aclrtSetStreamFailureMode(raw(ffi, stream), 1) == OK
            binary["throws"].launch(stream, 4)
            with pytest.raises(AclError) as caught:
                stream.synchronize()
            assert caught.value.code == AICORE_EXCEPTION
            with pytest.raises(AclError) as caught:
                binary["throws"].launch(stream, 1)
            assert caught.value.code == AICORE_EXCEPTION
        stream.close()


def test_arguments_that_were_freed_fail_the_task(lib: Any, ffi: Any, binary: Binary, stream: Stream) -> None:
    function = function_of(ffi, binary, "count_blocks")
    memory = Buffer(64)
    with sim.held():
        assert lib.aclrtLaunchKernel(function, 1, at(ffi, memory), 8, raw(ffi, stream)) == OK
        memory.close()
    with pytest.raises(AclError, match="argument block of kernel count_blocks is no live memory") as caught:
        stream.synchronize()
    assert caught.value.code == AICORE_EXCEPTION


# --- device objects --------------------------------------------------------------------------------------------------


def test_code_for_a_device_needs_a_function_of_the_host(stream: Stream) -> None:
    with Binary(device_object({"only_npu": VECTOR})) as binary:
        kernel = binary["only_npu"]
        with pytest.raises(AclError) as caught:
            kernel.launch(stream, 1)
        assert caught.value.code == INVALID_FUNCTION
        for part in ("only_npu", 'aclsimRegisterKernel("only_npu"', '@ascend_rt.sim.kernel("only_npu")'):
            assert part in str(caught.value)
        with sim.kernel("only_npu")(lambda block, memory: None):
            kernel.launch(stream, 1)
        with pytest.raises(AclError):
            kernel.launch(stream, 1)
        stream.synchronize()


def test_a_kernel_without_an_instruction_does_nothing(stream: Stream) -> None:
    with Binary(device_object({"nothing": VECTOR}, code=b"\0")) as binary:
        binary["nothing"].launch(stream, 8)
        stream.synchronize()


def test_metadata_tells_the_kind_and_the_parameters(lib: Any, ffi: Any, device: Device) -> None:
    content = device_object({"vector": VECTOR + parameters(8, 4, 2), "cube": CUBE, "tile_7": VECTOR, "plain": b""})
    with Binary(content) as binary:
        assert [(each.offset, each.nbytes) for each in binary["vector"].parameters or ()] == [(0, 8), (8, 4), (12, 2)]
        assert binary["cube"].parameters is None
        value = ffi.new("int64_t *")
        kinds = []
        for name in ("vector", "cube", "plain"):
            assert lib.aclrtGetFunctionAttribute(function_of(ffi, binary, name), 1, value) == OK
            kinds.append(value[0])
        assert kinds == [2, 1, 0]
        found = ffi.new("aclrtFuncHandle *")
        handle = ffi.cast("aclrtBinHandle", binary.handle)
        assert lib.aclrtBinaryGetFunctionByEntry(handle, 7, found) == OK
        assert found[0] == function_of(ffi, binary, "tile_7")


def test_each_device_has_its_own_variables(lib: Any, ffi: Any, device: Device) -> None:
    pointer, size = ffi.new("void **"), ffi.new("size_t *")
    with Binary(device_object({"any": VECTOR}, {"first": 16, "second": 8})) as binary:
        handle = ffi.cast("aclrtBinHandle", binary.handle)
        addresses = []
        for number in (0, 1):
            Device(number).set_current()
            assert lib.aclrtBinaryGetGlobal(handle, b"second", pointer, size) == OK
            out = np.empty(8, np.uint8)
            assert lib.aclrtMemcpy(ffi.from_buffer(out), 8, pointer[0], 8, lib.ACL_MEMCPY_DEVICE_TO_HOST) == OK
            assert list(out) == list(range(16, 24))
            assert size[0] == 8
            addresses.append(pointer[0])
        assert addresses[0] != addresses[1]
    Device(1).reset()
    device.set_current()


def test_the_variable_of_a_shared_object_is_its_own(lib: Any, ffi: Any, binary: Binary, stream: Stream) -> None:
    pointer = ffi.new("void **")
    handle = ffi.cast("aclrtBinHandle", binary.handle)
    assert lib.aclrtBinaryGetGlobal(handle, b"shared_number", pointer, ffi.NULL) == OK
    ffi.cast("uint32_t *", pointer[0])[0] = 6
    with Buffer(4) as out:
        binary["next_number"].launch(stream, 1, out)
        stream.synchronize()
        assert words(out)[0] == 7


def test_two_copies_of_a_shared_object_are_apart(path: Path, stream: Stream) -> None:
    with Binary(path) as one, Binary(path.read_bytes()) as other, Buffer(4) as out:
        for binary, expected in ((one, 42), (one, 43), (other, 42)):
            binary["next_number"].launch(stream, 1, out)
            stream.synchronize()
            assert words(out)[0] == expected


def test_the_older_way_describes_a_binary_and_loads_it(lib: Any, ffi: Any, device: Device) -> None:
    content, function = ffi.from_buffer(device_object({"k": VECTOR})), ffi.new("aclrtFuncHandle *")
    binary, address, size = ffi.new("aclrtBinHandle *"), ffi.new("void **"), ffi.new("size_t *")
    assert lib.aclrtCreateBinary(ffi.NULL, 8) == ffi.NULL
    empty, zeros = lib.aclrtCreateBinary(content, 0), lib.aclrtCreateBinary(ffi.new("char[64]"), 64)
    described = lib.aclrtCreateBinary(content, len(content))
    assert lib.aclrtBinaryLoad(described, ffi.NULL) == INVALID_PARAM
    assert lib.aclrtBinaryLoad(empty, binary) == RT_PARAM
    assert lib.aclrtBinaryLoad(zeros, binary) == RT_PARAM
    assert lib.aclrtBinaryLoad(described, binary) == OK
    for each in (empty, zeros, described):
        assert lib.aclrtDestroyBinary(each) == OK
        assert lib.aclrtDestroyBinary(each) == INVALID_HANDLE
    assert lib.aclrtBinaryGetFunction(binary[0], b"k", function) == OK
    assert lib.aclrtBinaryGetDevAddress(binary[0], address, size) == OK
    assert address[0] != ffi.NULL
    assert size[0] == 64 + 256
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(lib.aclrtBinaryUnLoad(binary[0])))
    thread.start()
    thread.join()
    assert codes == [NO_CONTEXT]  # of this kind alone
    assert lib.aclrtBinaryUnLoad(binary[0]) == OK
    assert lib.aclrtBinaryUnLoad(binary[0]) == INVALID_HANDLE


# --- life ------------------------------------------------------------------------------------------------------------


def test_a_launch_outlives_its_binary(path: Path, stream: Stream, operands: Sum) -> None:
    with sim.held(), Binary(path) as binary:
        binary["add_custom"].launch(stream, 4, *operands.buffers, COUNT)
    operands.check(stream)


def test_a_registered_function_lives_as_long_as_its_launches(stream: Stream) -> None:
    seen: list[int] = []
    with Binary(device_object({"late": VECTOR})) as binary:
        kernel = binary["late"]
        with sim.held():
            with sim.kernel("late")(lambda block, memory: seen.append(block.index)):
                kernel.launch(stream, 2)
            gone = len(sim._kernels)
        stream.synchronize()
        assert sorted(seen) == [0, 1]
        assert len(sim._kernels) == gone - 1


def test_a_model_runs_a_kernel_again_and_again(lib: Any, ffi: Any, binary: Binary, stream: Stream) -> None:
    model, kept = ffi.new("aclmdlRI *"), ffi.new("aclrtStream *")
    function = function_of(ffi, binary, "count_blocks")
    with Buffer(4) as count, Buffer(8) as block:
        fill(count, 0)
        copy(block, np.array([count.handle], np.uint64))
        assert lib.aclmdlRIBuildBegin(model, 0) == OK
        assert lib.aclrtCreateStreamWithConfig(kept, 0, 4) == OK
        assert lib.aclmdlRIBindStream(model[0], kept[0], 0) == OK
        assert lib.aclrtLaunchKernel(function, 5, at(ffi, block), 8, kept[0]) == OK
        assert lib.aclmdlRIEndTask(model[0], kept[0]) == OK
        assert lib.aclmdlRIBuildEnd(model[0], ffi.NULL) == OK
        for _ in range(3):
            assert lib.aclmdlRIExecuteAsync(model[0], raw(ffi, stream)) == OK
        stream.synchronize()
        assert words(count)[0] == 15
        assert lib.aclmdlRIDestroy(model[0]) == OK
        assert lib.aclrtDestroyStream(kept[0]) == OK


# --- bad input -------------------------------------------------------------------------------------------------------

# By function: its arguments, in which BINARY, FUNCTION, LIST are replaced by handles that are wrong.
WITH_HANDLES: list[tuple[str, tuple[Any, ...]]] = [
    ("aclrtBinaryGetFunction", ("BINARY", "name", "out")),
    ("aclrtBinaryGetFunctionByEntry", ("BINARY", 0, "out")),
    ("aclrtBinaryGetDevAddress", ("BINARY", "out", "size")),
    ("aclrtBinaryGetGlobal", ("BINARY", "name", "out", "size")),
    ("aclrtBinarySetExceptionCallback", ("BINARY", "function", "NULL")),
    ("aclrtBinaryUnLoad", ("BINARY",)),
    ("aclrtRegisterCpuFunc", ("BINARY", "name", "name", "out")),
    ("aclrtBinaryLoad", ("BINARY", "out")),
    ("aclrtDestroyBinary", ("BINARY",)),
    ("aclrtGetFunctionAddr", ("FUNCTION", "out", "out")),
    ("aclrtGetFunctionSize", ("FUNCTION", "size", "size")),
    ("aclrtGetFunctionName", ("FUNCTION", 8, "memory")),
    ("aclrtGetFunctionAttribute", ("FUNCTION", 1, "number")),
    ("aclrtFunctionGetBinary", ("FUNCTION", "out")),
    ("aclrtFunctionGetParamCount", ("FUNCTION", "size")),
    ("aclrtFunctionGetParamInfo", ("FUNCTION", 0, "size", "size")),
    ("aclrtFunctionGetAvailDynUbufPerBlock", ("FUNCTION", 0, "size")),
    ("aclrtKernelArgsInit", ("FUNCTION", "out")),
    ("aclrtKernelArgsGetHandleMemSize", ("FUNCTION", "size")),
    ("aclrtKernelArgsGetMemSize", ("FUNCTION", 8, "size")),
    ("aclrtKernelArgsInitByUserMem", ("FUNCTION", "memory", "memory", 8)),
    ("aclrtKernelArgsAppend", ("LIST", "memory", 8, "out")),
    ("aclrtKernelArgsAppendPlaceHolder", ("LIST", "out")),
    ("aclrtKernelArgsGetPlaceHolderBuffer", ("LIST", "memory", 8, "out")),
    ("aclrtKernelArgsParaUpdate", ("LIST", "memory", "memory", 8)),
    ("aclrtKernelArgsFinalize", ("LIST",)),
    ("aclrtLaunchKernel", ("FUNCTION", 1, "memory", 8, "NULL")),
    ("aclrtLaunchKernelV2", ("FUNCTION", 1, "memory", 8, "NULL", "NULL")),
    ("aclrtLaunchKernelWithConfig", ("FUNCTION", 1, "NULL", "NULL", "memory", "NULL")),
    ("aclrtLaunchKernelWithHostArgs", ("FUNCTION", 1, "NULL", "NULL", "memory", 8, "NULL", 0)),
    ("aclrtLaunchKernelWithArgsArray", ("FUNCTION", 1, "NULL", "NULL", "NULL")),
]


@pytest.mark.parametrize(("function", "arguments"), WITH_HANDLES, ids=[name for name, _ in WITH_HANDLES])
def test_wrong_handles_are_refused(
    function: str, arguments: tuple[Any, ...], lib: Any, ffi: Any, path: Path, stream: Stream
) -> None:
    with Binary(path) as binary:
        kernel = binary["add_custom"]
        destroyed = [binary.handle, kernel.handle]
    memory = ffi.new("char[]", 64)
    values = {
        "NULL": ffi.NULL,
        "name": ffi.new("char[]", b"add_custom"),
        "out": ffi.new("void **"),
        "size": ffi.new("size_t *"),
        "number": ffi.new("int64_t *"),
        "memory": memory,
        "function": ffi.callback("void(aclrtExceptionInfo *, void *)", lambda *_: None),
    }
    target = getattr(lib, function)
    for wrong in (*GARBAGE_HANDLES, *destroyed, stream.handle, int(ffi.cast("uintptr_t", memory))):
        replaced = ffi.cast("void *", wrong)
        given = [values.get(it, replaced) if isinstance(it, str) else it for it in arguments]
        assert target(*given) == INVALID_HANDLE, hex(wrong)


@pytest.mark.parametrize("form", ["aclrtLaunchKernel", "aclrtLaunchKernelWithHostArgs"])
def test_no_blocks_and_no_bytes_are_refused(form: str, lib: Any, ffi: Any, binary: Binary, stream: Stream) -> None:
    function, memory = function_of(ffi, binary, "add_custom"), ffi.new("char[64]")
    for blocks, size in ((0, 8), (1, 0), (0, 0)):
        arguments = (function, blocks, memory, size, raw(ffi, stream))
        if form.endswith("HostArgs"):
            arguments = (function, blocks, raw(ffi, stream), ffi.NULL, memory, size, ffi.NULL, 0)
        assert getattr(lib, form)(*arguments) == RT_PARAM


def test_without_a_context_a_launch_is_refused(lib: Any, ffi: Any, binary: Binary, stream: Stream) -> None:
    function, codes = function_of(ffi, binary, "add_custom"), []
    memory = ffi.new("char[64]")

    def launch() -> None:
        codes.append(lib.aclrtLaunchKernel(function, 1, memory, 8, raw(ffi, stream)))

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    assert codes == [NO_CONTEXT]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x7fELF", "reaches beyond the end of the file"),
        (b"text" * 64, "no ELF file"),
        (device_object({"a": VECTOR})[:200], "the table of sections reaches beyond the end"),
        (device_object({}), "contains no kernel"),
        (device_object({"a": VECTOR + b"\1\0\xff\xff"}), "ends inside a record"),
    ],
)
def test_bad_files_are_refused_with_a_reason(content: bytes, reason: str, device: Device) -> None:
    with pytest.raises(AclError, match=reason) as caught:
        Binary(content)
    assert caught.value.code == RT_PARAM


def test_an_object_of_the_host_that_is_not_linked_is_refused(tmp_path: Path, device: Device) -> None:
    with pytest.raises(AclError, match="link it with -shared"):
        Binary(Path(sys.executable).read_bytes() if not _is_shared(sys.executable) else _relocatable(tmp_path))


def _is_shared(path: str) -> bool:
    with open(path, "rb") as file:
        return struct.unpack("<H", file.read(18)[16:])[0] == 3


def _relocatable(directory: Path) -> bytes:
    shared = bytearray(compile_kernels(directory, "ACLSIM_KERNEL(k) {}").read_bytes())
    shared[16] = 1
    return bytes(shared)


def test_a_shared_object_that_lacks_a_symbol_is_refused_with_the_loaders_text(tmp_path: Path, device: Device) -> None:
    made = compile_kernels(tmp_path, "void nowhere(void);\nACLSIM_KERNEL(k) { nowhere(); }")
    with pytest.raises(AclError, match="undefined symbol: nowhere"):
        Binary(made)


@pytest.mark.parametrize("name", ["malloc", "nope", "", "shared_number"])
def test_only_functions_of_the_object_itself_are_kernels(name: str, binary: Binary) -> None:
    with pytest.raises(AclError, match="the binary has no kernel") as caught:
        binary[name]
    assert caught.value.code == RT_PARAM


def test_simt_launches_are_for_one_product(child: Callable[..., Any], path: Path) -> None:
    script = """
    from ascend_rt import Binary, Buffer, Device, Stream, copy, fill
    import numpy as np, sys
    Device(0).set_current()
    stream = Stream()
    raw = ffi.cast("aclrtStream", stream.handle)
    binary = Binary(sys.argv[1])
    function = ffi.cast("void *", binary["count_blocks"].handle)
    count = Buffer(4)
    fill(count, 0)
    block = ffi.new("uint64_t *", count.handle)
    codes = []
    for grid in ((2, 3, 4), (0, 1, 1), (65536, 65536, 1)):
        codes.append(lib.aclrtLaunchSIMTKernelWithHostArgs(
            function, grid, (32, 1, 1), 0, raw, ffi.NULL, block, 8, ffi.NULL, 0))
    stream.synchronize()
    out = np.empty(1, np.uint32)
    copy(out, count)
    told([codes, int(out[0])])
    """
    assert child(script, path, ASCEND_RT_SIM_PRODUCT="950") == [[OK, RT_PARAM, RT_PARAM], 24]
    assert child(script, path, ASCEND_RT_SIM_PRODUCT="910B") == [[RT_PARAM] * 3, 0]


# --- AI CPUs ---------------------------------------------------------------------------------------------------------

CPU_SOURCE = """
typedef struct { uint32_t *out; uint32_t status; } Arguments;
ACLSIM_BEGIN ACLSIM_EXPORT uint32_t run_operator(void *arguments); ACLSIM_END
uint32_t run_operator(void *arguments) {
    const Arguments *a = (const Arguments *)arguments;
    *a->out = 7;
    return a->status;
}
"""


def test_a_function_for_ai_cpus_is_called_with_its_arguments(
    tmp_path: Path, lib: Any, ffi: Any, stream: Stream, device: Device
) -> None:
    content = compile_kernels(tmp_path, CPU_SOURCE).read_bytes()
    (tmp_path / "kernels.json").write_text('{"AddCpu": {"opInfo": {"functionName": "run_operator"}}}')
    options = ffi.new("aclrtBinaryLoadOption[]", [{"type": 3, "value": {"cpuKernelMode": 2}}])
    wanted = ffi.new("aclrtBinaryLoadOptions *", (options, 1))
    binary, function = ffi.new("aclrtBinHandle *"), ffi.new("aclrtFuncHandle *")

    def launch(status: int) -> None:
        block = ffi.new("char[]", struct.pack("<QI", out.handle, status))
        arguments = (function[0], 1, raw(ffi, stream), ffi.NULL, block, 12, ffi.NULL, 0)
        assert lib.aclrtLaunchKernelWithHostArgs(*arguments) == OK

    with Buffer(4) as out:
        assert lib.aclrtBinaryLoadFromData(content, len(content), wanted, binary) == OK
        assert lib.aclrtRegisterCpuFunc(binary[0], b"run_operator", b"AddCpu", function) == OK
        launch(0)
        stream.synchronize()
        assert words(out)[0] == 7
        launch(3)
        with pytest.raises(AclError, match="kernel AddCpu reported an error") as caught:
            stream.synchronize()
        assert caught.value.code == AICPU_EXCEPTION
        assert lib.aclrtBinaryUnLoad(binary[0]) == OK
        # The same by a description of operators, with the library beside it.
        options[0].value.cpuKernelMode = 1
        path = str(tmp_path / "kernels.json").encode()
        assert lib.aclrtBinaryLoadFromFile(path, wanted, binary) == OK
        assert lib.aclrtBinaryGetFunction(binary[0], b"AddCpu", function) == OK
        fill(out, 0)
        launch(0)
        stream.synchronize()
        assert words(out)[0] == 7
        assert lib.aclrtRegisterCpuFunc(binary[0], b"run_operator", b"Other", function) == RT_PARAM
        assert lib.aclrtBinaryUnLoad(binary[0]) == OK


# --- symbols of the host ---------------------------------------------------------------------------------------------


def test_a_symbol_stands_for_a_kernel_until_its_binary_is_unloaded(
    lib: Any, ffi: Any, path: Path, stream: Stream, operands: Sum
) -> None:
    symbol, function = ffi.new("char *"), ffi.new("aclrtFuncHandle *")
    assert lib.aclrtGetFuncBySymbol(symbol, function) == INVALID_FUNCTION
    with Binary(path) as binary:
        handle = ffi.cast("aclrtBinHandle", binary.handle)
        assert lib.aclsimRegisterKernelSymbol(symbol, handle, b"add_custom") == OK
        assert lib.aclsimRegisterKernelSymbol(symbol, handle, b"meet") == INVALID_FUNCTION
        assert lib.aclrtGetFuncBySymbol(symbol, function) == OK
        assert function[0] == function_of(ffi, binary, "add_custom")
        assert arguments_array(lib, ffi, symbol, raw(ffi, stream), operands) == OK
        operands.check(stream)
    assert lib.aclrtGetFuncBySymbol(symbol, function) == INVALID_FUNCTION
    assert lib.aclrtGetFuncBySymbol(ffi.NULL, function) == INVALID_PARAM


def test_functions_of_a_binary_that_prints_are_not_supported(
    tmp_path: Path, lib: Any, ffi: Any, device: Device
) -> None:
    (tmp_path / "k.o").write_bytes(device_object({"k": VECTOR}))
    (tmp_path / "k.json").write_text('{"debugOptions": "printf"}')
    assert lib.aclrtBinaryLoadFromFile(str(tmp_path / "k.o").encode(), ffi.NULL, ffi.new("void **")) == UNSUPPORTED
