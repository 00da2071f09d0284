# SPDX-License-Identifier: Apache-2.0
"""Kernel binaries: shared objects of this host, code for devices and for AI CPUs, and bad files."""

from __future__ import annotations

import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.codes import (
    INVALID_HANDLE,
    INVALID_PARAM,
    NO_CONTEXT,
    OK,
    RT_PARAM,
)
from support.handles import raw
from support.host_kernels import AICPU_EXCEPTION, INVALID_FUNCTION, function_of, words
from support.kernels import CUBE, VECTOR, compile_kernels, device_object, parameters

from ascend_rt import Binary, Buffer, Device, Stream, fill, sim
from ascend_rt.errors import AclError, InvalidArgument

pytestmark = pytest.mark.simulator("kernels")


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
    with Binary(device_object({"nothing": VECTOR}, code=b"\0")) as binary, Buffer(64) as memory:
        fill(memory, 7)
        binary["nothing"].launch(stream, 8, memory)
        stream.synchronize()
        assert set(words(memory, np.uint8)) == {7}


def test_metadata_reports_the_kind_and_the_parameters(lib: Any, ffi: Any, device: Device) -> None:
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
    assert codes == [NO_CONTEXT]  # this kind alone
    assert lib.aclrtBinaryUnLoad(binary[0]) == OK
    assert lib.aclrtBinaryUnLoad(binary[0]) == INVALID_HANDLE


# --- bad files -------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x7fELF", "reaches beyond the end of the file"),
        (b"text" * 64, "not an ELF file"),
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
    reported([codes, int(out[0])])
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


def test_threads_that_ask_for_a_large_binary_at_once_get_one_image(lib: Any, ffi: Any, device: Any) -> None:
    size = 64 << 20  # the threads let each other in while it is copied

    def ask(found: list[int]) -> None:
        assert lib.aclrtSetDevice(0) == OK
        out = ffi.new("void **")
        assert lib.aclrtBinaryGetGlobal(handle, b"numbers", out, ffi.NULL) == OK
        last = ffi.new("unsigned char[256]")
        assert lib.aclrtMemcpy(last, 256, out[0] + size - 256, 256, 2) == OK
        assert bytes(last) == bytes(range(256))
        found.append(int(ffi.cast("uintptr_t", out[0])))
        assert lib.aclrtResetDevice(0) == OK

    with Binary(device_object({"nothing": VECTOR}, {"numbers": size})) as binary:
        handle = ffi.cast("void *", binary.handle)
        found: list[int] = []
        threads = [threading.Thread(target=ask, args=(found,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4
        assert len(set(found)) == 1
