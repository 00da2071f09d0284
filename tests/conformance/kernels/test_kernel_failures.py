# SPDX-License-Identifier: Apache-2.0
"""Kernels that fail, and wrong arguments of the functions for kernels."""

from __future__ import annotations

import struct
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.codes import (
    AICORE_EXCEPTION,
    GARBAGE_HANDLES,
    INVALID_HANDLE,
    NO_CONTEXT,
    OK,
    RT_PARAM,
)
from support.handles import at, raw
from support.host_kernels import function_of
from support.kernels import compile_kernels

from ascend_rt import Binary, Buffer, Device, Stream, sim
from ascend_rt.errors import AclError

pytestmark = pytest.mark.simulator("kernels")


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


def test_a_callback_is_reported_the_function_and_the_arguments(
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


@pytest.mark.simulator("held tasks")
def test_arguments_that_were_freed_fail_the_task(lib: Any, ffi: Any, binary: Binary, stream: Stream) -> None:
    function = function_of(ffi, binary, "count_blocks")
    memory = Buffer(64)
    with sim.held():
        assert lib.aclrtLaunchKernel(function, 1, at(ffi, memory), 8, raw(ffi, stream)) == OK
        memory.close()
    with pytest.raises(AclError, match="argument block of kernel count_blocks is not live memory") as caught:
        stream.synchronize()
    assert caught.value.code == AICORE_EXCEPTION


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
