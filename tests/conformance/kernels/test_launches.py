# SPDX-License-Identifier: Apache-2.0
"""Launches of kernels: every form of them, blocks, argument lists, workspace, and what lives how long."""

from __future__ import annotations

import struct
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.codes import (
    GARBAGE_HANDLES,
    INVALID_HANDLE,
    INVALID_PARAM,
    OK,
    RT_PARAM,
    UNSUPPORTED,
)
from support.handles import at, raw
from support.host_kernels import COUNT, INVALID_FUNCTION, Sum, function_of, words
from support.kernels import VECTOR, device_object

from ascend_rt import Binary, Buffer, Device, Stream, copy, fill, sim

pytestmark = pytest.mark.simulator("kernels")


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


@pytest.mark.parametrize("size", [1, 16, 63])
def test_a_list_is_not_final_without_room_for_the_runtimes_own_parameters(
    size: int, lib: Any, ffi: Any, binary: Binary
) -> None:
    function, needed = function_of(ffi, binary, "add_custom"), ffi.new("size_t *")
    assert lib.aclrtKernelArgsGetHandleMemSize(function, needed) == OK
    handle, memory, parameter = ffi.new("char[]", needed[0]), ffi.new("char[64]"), ffi.new("aclrtParamHandle *")
    assert lib.aclrtKernelArgsInitByUserMem(function, handle, memory, size) == OK
    assert lib.aclrtKernelArgsAppend(handle, ffi.new("uint32_t *"), 4, parameter) == RT_PARAM
    assert lib.aclrtKernelArgsFinalize(handle) == RT_PARAM
    assert "aclrtKernelArgsGetMemSize" in ffi.string(lib.aclGetRecentErrMsg()).decode()
    assert lib.aclrtKernelArgsInitByUserMem(function, handle, memory, 64) == OK
    assert lib.aclrtKernelArgsFinalize(handle) == OK


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


@pytest.mark.simulator("held tasks")
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


@pytest.mark.parametrize("is_captured", [False, True])
def test_workspace_comes_from_the_allocator_of_the_stream(
    is_captured: bool, lib: Any, ffi: Any, binary: Binary, stream: Stream
) -> None:
    said: list[str] = []
    with Buffer(8192) as memory, Buffer(8) as out:
        fill(out, 0)
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
        if is_captured:
            with stream.capture() as graph:
                binary["note_workspace"].launch(stream, 1, out)
            assert words(out, np.uint64)[0] == 0
            graph.launch(stream)
        else:
            binary["note_workspace"].launch(stream, 1, out)
        stream.synchronize()
        assert lib.aclrtAllocatorUnregister(raw(ffi, stream)) == OK
        assert lib.aclrtAllocatorDestroyDesc(desc) == OK
        assert said == ["alloc 4096", "address", "free"]
        assert words(out, np.uint64)[0] == memory.handle


# --- life ------------------------------------------------------------------------------------------------------------


@pytest.mark.simulator("held tasks")
def test_a_launch_outlives_its_binary(path: Path, stream: Stream, operands: Sum) -> None:
    with sim.held(), Binary(path) as binary:
        binary["add_custom"].launch(stream, 4, *operands.buffers, COUNT)
    operands.check(stream)


@pytest.mark.simulator("held tasks")
def test_a_registered_function_lives_as_long_as_its_launches(stream: Stream) -> None:
    seen: list[int] = []
    released = threading.Event()

    def note(block: sim.Block, memory: Any) -> None:
        seen.append(block.index)

    weakref.finalize(note, released.set)
    with Binary(device_object({"late": VECTOR})) as binary:
        kernel = binary["late"]
        with sim.held():
            with sim.kernel("late")(note):
                kernel.launch(stream, 2)
            del note
            assert not released.is_set()
        stream.synchronize()
        assert sorted(seen) == [0, 1]
        assert released.wait(60)  # by the worker that has run the last block


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


# --- symbols of the host ---------------------------------------------------------------------------------------------


@pytest.mark.simulator("held tasks")
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
