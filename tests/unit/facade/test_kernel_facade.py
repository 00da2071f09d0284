# SPDX-License-Identifier: Apache-2.0
"""Kernels in Python: how arguments are packed and refused, and functions that do the work of device code."""

from __future__ import annotations

import ctypes
import gc
import math
import re
import struct
import sys
import threading
import traceback
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.calls import called_in_python
from support.kernels import VECTOR, device_object, parameters

from ascend_rt import Binary, Buffer, Device, Kernel, Operand, Stream, callback, copy, fill, kernel, sim
from ascend_rt._kernels.parameters import offsets, parameter
from ascend_rt.errors import AclError, ClosedError, InvalidArgument, TaskFailed
from ascend_rt.kernel import _launch_config

pytestmark = pytest.mark.simulator("kernels")

ADD = {"x": "float32[count]", "y": "float32[count]", "sum": "float32[count]", "count": "uint32"}
TYPES = list(ADD.values())
COUNT = 100


@pytest.fixture
def binary(device: Device) -> Iterator[Binary]:
    """Code for a device, with kernels of every kind of metadata."""
    with Binary(
        device_object(
            {
                "add_custom": VECTOR,
                "sized": VECTOR + parameters(8, 4, 2, 1),
                "fails": VECTOR,
                "raw": VECTOR,
                "big": VECTOR,
            }
        )
    ) as binary:
        yield binary


@pytest.fixture
def packed() -> Iterator[list[bytes]]:
    """The blocks of arguments that kernels ``raw`` and ``sized`` get."""
    seen: list[bytes] = []

    def see(block: sim.Block, memory: Any) -> None:
        seen.append(memory.tobytes())

    with sim.kernel("raw")(see), sim.kernel("sized")(see):
        yield seen


def test_a_python_function_does_the_work_of_device_code(binary: Binary, stream: Stream) -> None:
    blocks_seen = []

    @sim.kernel("add_custom", ADD)
    def add_custom(block: sim.Block, x: Any, y: Any, sum: Any, count: Any) -> None:
        blocks_seen.append((block.name, block.index, block.count))
        part = slice(block.index, None, block.count)
        sum[part] = x[part] + y[part]

    x, y, out = np.arange(COUNT, dtype=np.float32), np.full(COUNT, 2, np.float32), np.empty(COUNT, np.float32)
    with add_custom, Buffer(4 * COUNT) as a, Buffer(4 * COUNT) as b, Buffer(4 * COUNT) as c:
        copy(a, x)
        copy(b, y)
        add = binary.kernel("add_custom", TYPES)
        add.launch(stream, 4, a, b, c, COUNT)
        add[3, stream](a, b, c, np.uint32(COUNT))
        add[2](a, b, c, COUNT)
        Stream.default().synchronize()
        stream.synchronize()
        copy(out, c)
    assert (out == x + 2).all()
    expected = [("add_custom", index, count) for count in (2, 3, 4) for index in range(count)]
    assert sorted(blocks_seen, key=lambda it: (it[2], it[1])) == expected


def test_a_function_gets_the_dimensions_of_a_simt_launch(child: Any, tmp_path: Path) -> None:
    (tmp_path / "raw.o").write_bytes(device_object({"raw": VECTOR}))
    script = """
    from ascend_rt import Binary, Device, Stream, sim
    Device(0).set_current()
    stream, seen = Stream(), []
    kernel = Binary(sys.argv[1])["raw"]
    with sim.kernel("raw")(lambda block, memory: seen.append((block.index, block.count, block.grid, block.threads))):
        on, function = ffi.cast("aclrtStream", stream.handle), ffi.cast("void *", kernel.handle)
        arguments = ((2, 1, 1), (32, 4, 2), 0, on, ffi.NULL, ffi.new("uint64_t *"), 8, ffi.NULL, 0)
        assert lib.aclrtLaunchSIMTKernelWithHostArgs(function, *arguments) == 0
        stream.synchronize()
        kernel.launch(stream, 3)
        stream.synchronize()
    reported(sorted(seen, key=lambda it: (it[1], it[0])))
    """
    simt = [[index, 2, [2, 1, 1], [32, 4, 2]] for index in range(2)]
    plain = [[index, 3, [3, 1, 1], [1, 1, 1]] for index in range(3)]
    assert child(script, tmp_path / "raw.o", ASCEND_RT_SIM_PRODUCT="950") == simt + plain


def test_without_types_a_function_gets_the_block(binary: Binary, stream: Stream, packed: list[bytes]) -> None:
    class Shape(ctypes.Structure):
        _fields_ = (("rows", ctypes.c_uint16), ("scale", ctypes.c_double))

    pair = np.array((1, 2.5), np.dtype([("kind", np.uint8), ("value", np.float64)], align=True))[()]
    with Buffer(64) as buffer:
        launched = binary["raw"]
        launched.launch(stream, 1, np.int8(-1), buffer, np.float32(1.5), Shape(3, 0.5), pair)
        launched.launch(stream, 1)
        stream.synchronize()
        as_in_c = struct.unpack("<b7xQf4xH6xdB7xd", packed[0])  # gaps are undefined
        assert as_in_c == (-1, buffer.handle, 1.5, 3, 0.5, 1, 2.5)
        assert packed[1] == bytes(8)


def test_metadata_says_where_an_argument_is(binary: Binary, stream: Stream) -> None:
    seen: list[bytes] = []
    with sim.kernel("sized")(lambda block, memory: seen.append(memory.tobytes())), Buffer(8) as buffer:
        binary["sized"].launch(stream, 1, buffer, -2, 7, True)
        stream.synchronize()
        assert seen == [struct.pack("<QiHB", buffer.handle, -2, 7, 1)]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((), TypeError, "takes 4 arguments, got 0"),
        (("x", "x", "x", 1, 1), TypeError, "takes 4 arguments, got 5"),
        (
            ("x", "x", 5, 1),
            TypeError,
            r"argument 2 of kernel add_custom: expected a Buffer \(the address of an array\)",
        ),
        (
            ("x", "x", np.zeros(4, np.float32), 1),
            TypeError,
            r"expected a Buffer \(the address of an array\), got ndarray",
        ),
        (("x", "x", "x", "x"), TypeError, "argument 3 of kernel add_custom: expected uint32, got a Buffer"),
        (("x", "x", "x", 1.0), TypeError, "expected uint32, got a float"),
        (("x", "x", "x", np.uint64(1)), TypeError, "expected uint32, got uint64"),
        (("x", "x", "x", None), TypeError, "expected uint32, got NoneType"),
        (("x", "x", "x", -1), OverflowError, "-1 does not fit into uint32"),
        (("x", "x", "x", 2**32), OverflowError, "does not fit"),
    ],
)
def test_wrong_arguments_are_refused_before_the_launch(
    arguments: tuple[Any, ...], error: type[Exception], text: str, binary: Binary, stream: Stream
) -> None:
    with sim.kernel("add_custom")(lambda *_: pytest.fail("it was launched")), Buffer(8) as buffer:
        given = [buffer if isinstance(each, str) else each for each in arguments]
        with pytest.raises(error, match=text):
            binary.kernel("add_custom", TYPES).launch(stream, 1, *given)
        stream.synchronize()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((5,), "has no known layout"),
        ((1.5,), "has no known layout"),
        (("text",), "has no known layout"),
    ],
)
def test_what_nothing_reports_how_to_pack_is_refused(
    arguments: tuple[Any, ...], text: str, binary: Binary, stream: Stream
) -> None:
    with pytest.raises(TypeError, match=text):
        binary["add_custom"].launch(stream, 1, *arguments)


@pytest.mark.parametrize("value", [np.float64(1), 2**32, 1.5j, b"four"])
def test_an_argument_of_another_size_is_refused(value: Any, binary: Binary, stream: Stream) -> None:
    with Buffer(8) as buffer, pytest.raises((TypeError, OverflowError), match="argument 1 of kernel sized"):
        binary["sized"].launch(stream, 1, buffer, value, 1, 1)


def test_types_that_the_metadata_contradicts_are_refused(binary: Binary) -> None:
    with pytest.raises(TypeError, match=r"of \[8, 4, 2, 1\] bytes in its binary, but the types have \[8, 8\]"):
        binary.kernel("sized", ["float32[]", "float64"])


@pytest.mark.parametrize("blocks", [0, -1, 2**16])
def test_a_launch_has_a_number_of_blocks(blocks: int, binary: Binary, stream: Stream) -> None:
    with pytest.raises(ValueError, match="1 to 65535 blocks"):
        binary["raw"].launch(stream, blocks)


def test_a_launch_takes_a_time_limit_and_a_schedule(binary: Binary, stream: Stream, packed: list[bytes]) -> None:
    binary["raw"].launch(stream, 1, timeout=8192.0, batch=True)
    binary["raw"].launch(stream, 1, timeout=math.inf)
    stream.synchronize()
    assert len(packed) == 2


@pytest.mark.parametrize(
    ("timeout", "limit"),
    [(1e-9, 1), (0.5, 500_000), (8192, 8_192_000_000), (math.inf, 0)],  # to C 0 means forever
)
def test_a_time_limit_is_passed_in_microseconds(timeout: float, limit: int) -> None:
    _, (configuration, _) = _launch_config(timeout, None)
    value = configuration.attrs[0].value.timeoutUs
    assert value.timeoutHigh << 32 | value.timeoutLow == limit


@pytest.mark.parametrize("timeout", [0, -1, -0.5, math.nan, -math.inf])
def test_a_time_limit_is_positive(timeout: float, binary: Binary, stream: Stream, packed: list[bytes]) -> None:
    with pytest.raises(ValueError, match="seconds"):
        binary["raw"].launch(stream, 1, timeout=timeout)
    stream.synchronize()
    assert not packed


@pytest.mark.simulator("held tasks")
def test_buffers_live_until_the_kernel_is_done(binary: Binary, stream: Stream) -> None:
    seen = []

    @sim.kernel("add_custom", ["uint32[1]"])
    def add_custom(block: sim.Block, numbers: Any) -> None:
        seen.append(int(numbers[0]))

    with add_custom:
        buffer = Buffer(4)
        fill(buffer, 1)
        with sim.held():
            binary["add_custom"].launch(stream, 1, buffer)
            del buffer
            fill(Buffer(4), 2)  # it would get the address
        stream.synchronize()
    assert seen == [0x01010101]


@pytest.mark.simulator("held tasks")
def test_a_binary_lives_until_its_kernel_is_done(stream: Stream, packed: list[bytes]) -> None:
    with sim.held():
        binary = Binary(device_object({"raw": VECTOR}))
        seen = weakref.ref(binary)
        binary["raw"].launch(stream, 1)
        del binary
        assert seen() is not None
    stream.synchronize()
    assert seen() is None
    assert len(packed) == 1


# --- what fails ------------------------------------------------------------------------------------------------------


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """The exceptions that were reported."""
    errors: list[BaseException] = []
    monkeypatch.setattr(callback, "on_error", lambda error, function: errors.append(error))
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    return errors


def test_an_exception_shows_in_the_next_synchronization(
    binary: Binary, stream: Stream, reported: list[BaseException]
) -> None:
    @sim.kernel("fails")
    def fails(block: sim.Block, memory: Any) -> None:
        raise ValueError("the tile has an odd width")

    with fails:
        binary["fails"].launch(stream, 1)
        with pytest.raises(AclError, match=r"block 0 of 1 of kernel fails .*ValueError: .*odd width") as caught:
            stream.synchronize()
    assert caught.value.code == 507015
    assert [str(error) for error in reported] == ["the tile has an odd width"]


def test_a_launch_whose_blocks_fail_is_reported_once_and_is_the_cause(
    binary: Binary, stream: Stream, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    meeting = threading.Barrier(2)  # both blocks are under way when one fails

    @sim.kernel("fails")
    def fails(block: sim.Block, memory: Any) -> None:
        meeting.wait()
        raise ValueError("odd width")

    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    with fails:
        for _ in range(2):  # the second launch is another failure
            binary["fails"].launch(stream, 2)
            with pytest.raises(TaskFailed) as caught:
                stream.synchronize()
            cause = caught.value.__cause__
            assert isinstance(cause, ValueError)
            assert [frame.name for frame in traceback.extract_tb(cause.__traceback__)] == ["fails"]
            shown = capsys.readouterr().err
            assert re.match(r"Exception in kernel fails, block [01] of 2:\nTraceback", shown)
            assert shown.count("Exception in") == 1
            assert "ascend_rt/" not in shown.replace(str(Path(__file__).parents[3]), "")


def test_the_cause_of_a_failure_keeps_no_variables(
    binary: Binary, stream: Stream, reported: list[BaseException]
) -> None:
    class Thing:
        pass

    seen: list[weakref.ref[Thing]] = []

    @sim.kernel("fails")
    def fails(block: sim.Block, memory: Any) -> None:
        thing = Thing()
        seen.append(weakref.ref(thing))
        raise ValueError

    with fails:
        binary["fails"].launch(stream, 1)
        with pytest.raises(TaskFailed) as caught:
            stream.synchronize()
    assert caught.value.__cause__ is reported[0]
    gc.collect()
    assert seen[0]() is None


def test_a_function_may_return_the_code_of_its_error(binary: Binary, stream: Stream) -> None:
    with sim.kernel("fails")(lambda block, memory: 507014):
        binary["fails"].launch(stream, 1)
        with pytest.raises(AclError) as caught:
            stream.synchronize()
    assert caught.value.code == 507014


@pytest.mark.parametrize(
    ("types", "arguments", "text"),
    [
        (["uint32[4]"], [np.uint64(0x1000)], "the 16 bytes at 0x1000 are not live memory of the runtime"),
        ({"x": "uint8[n]", "n": "uint64"}, ["buffer", np.uint64(2**40)], "are not live memory"),
        (["float64", "float64"], [np.float64(1)], "passes 8 bytes of arguments, but the kernel needs 16"),
    ],
)
def test_wrong_addresses_and_sizes_fail_the_kernel(
    types: Any, arguments: list[Any], text: str, binary: Binary, stream: Stream, reported: list[BaseException]
) -> None:
    with sim.kernel("fails", types)(lambda *_: pytest.fail("it was called")), Buffer(8) as buffer:
        binary["fails"].launch(stream, 1, *(buffer if isinstance(it, str) else it for it in arguments))
        with pytest.raises(AclError, match=text):
            stream.synchronize()


@pytest.mark.parametrize("bad", ["float32[n]", "float32[]", "nothing", object, "V0", 3.5])
def test_types_that_say_too_little_are_refused(bad: Any) -> None:
    with pytest.raises(TypeError):
        sim.kernel("refused", [bad])(lambda *_: None)


def test_the_blocks_share_a_workspace(binary: Binary, stream: Stream) -> None:
    sizes, met = [], threading.Lock()

    @sim.kernel("big", workspace=1024)
    def big(block: sim.Block, memory: Any) -> None:
        with met:
            sizes.append((len(block.workspace), block.workspace.ctypes.data))

    with big:
        binary["big"].launch(stream, 3)
        stream.synchronize()
    assert len(sizes) == 3
    assert {size for size, _ in sizes} == {1024}
    assert len(set(sizes)) == 1


def test_registering_a_name_again_replaces_the_function(binary: Binary, stream: Stream) -> None:
    seen = []
    first = sim.kernel("raw")(lambda *_: seen.append("first"))
    with sim.kernel("raw")(lambda *_: seen.append("second")):
        binary["raw"].launch(stream, 1)
        stream.synchronize()
    assert seen == ["second"]
    with pytest.raises(AclError, match="no function is registered for kernel raw"):
        first.unregister()


# --- binaries --------------------------------------------------------------------------------------------------------


def test_a_closed_binary_refuses_launches(device: Device, stream: Stream) -> None:
    binary = Binary(device_object({"k": VECTOR}))
    k = binary["k"]
    binary.close()
    with pytest.raises(ClosedError):
        k.launch(stream, 1)
    with pytest.raises(ClosedError):
        binary["k"]


def test_a_file_is_loaded_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: Device) -> None:
    (tmp_path / "k.o").write_bytes(device_object({"k": VECTOR}))
    monkeypatch.chdir(tmp_path)
    for path in ("k.o", tmp_path / "k.o"):
        with Binary(path, lazy=True) as binary:
            assert repr(binary["k"]) == "<ascend_rt.Kernel k>"


@pytest.mark.parametrize(
    ("name", "error"), [("nowhere.o", FileNotFoundError), (".", IsADirectoryError), ("k.o/k.o", NotADirectoryError)]
)
def test_a_file_that_cannot_be_opened_raises_what_python_raises(
    tmp_path: Path, name: str, error: type[OSError], device: Device
) -> None:
    (tmp_path / "k.o").write_bytes(device_object({"k": VECTOR}))
    with pytest.raises(error) as raised:
        Binary(tmp_path / name)
    assert raised.value.filename == str(tmp_path / name)


def test_the_runtime_refuses_a_file_of_another_kind(tmp_path: Path, device: Device) -> None:
    (tmp_path / "notes.o").write_text("notes", encoding="utf-8")
    with pytest.raises(InvalidArgument, match="aclrtBinaryLoadFromFile"):
        Binary(tmp_path / "notes.o")


def test_a_magic_number_reports_the_cores(device: Device, lib: Any, ffi: Any) -> None:
    kind = ffi.new("int64_t *")
    with Binary(device_object({"k": b""}), magic=lib.ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE) as binary:
        assert lib.aclrtGetFunctionAttribute(ffi.cast("void *", binary["k"].handle), 1, kind) == 0
    assert kind[0] == 2
    with pytest.raises(InvalidArgument):
        Binary(device_object({"k": b""}), magic=1)


def test_offsets_are_those_of_a_c_structure() -> None:
    fields = [("a", ctypes.c_uint8), ("b", ctypes.c_double), ("c", ctypes.c_uint16), ("d", ctypes.c_void_p)]
    structure = type("Structure", (ctypes.Structure,), {"_fields_": fields})
    reported = offsets([parameter(it) for it in ("uint8", "float64", "uint16", "float32[]")])
    assert reported[:-1] == [getattr(structure, name).offset for name, _ in fields]
    assert reported[-1] == ctypes.sizeof(structure)
    assert kernel.parameter("int8[3]").nbytes == 8


def test_an_object_without_code_runs_python_functions(stream: Stream) -> None:
    with (
        sim.kernel("one", {"out": "uint32[4]"})(lambda block, out: out.fill(1)),
        sim.kernel("two", {"out": "uint32[4]"})(lambda block, out: out.fill(2)),
        Binary(sim.device_object("one", "two")) as binary,
        Buffer(16) as memory,
    ):
        for name, number in (("one", 1), ("two", 2)):
            binary.kernel(name, ["uint32[4]"]).launch(stream, 1, memory)
            stream.synchronize()
            out = np.empty(4, np.uint32)
            copy(out, memory)
            assert (out == number).all()
        with pytest.raises(AclError, match="three"):
            binary.kernel("three")


def test_with_another_library_a_registered_function_does_nothing(run: Any, build: Any, tmp_path: Path) -> None:
    code = """
from ascend_rt import sim

@sim.kernel("double", ["float32[4]"])
def double(block, values):
    return values * 2

print(double(None, 3))
double.unregister()
"""
    result = run("-c", code, ASCEND_RT_LIBRARY=build(tmp_path / "libascendcl.so"))
    assert (result.returncode, result.stdout, result.stderr) == (0, "6\n", "")


# --- declared accesses -----------------------------------------------------------------------------------------------


def test_operands_are_arrays_in_buffers(device: Device) -> None:
    buffer = Buffer(4096)
    assert Operand(buffer).shape == (4096,)
    assert Operand(buffer, np.float32).shape == (1024,)
    assert Operand(buffer[96:], np.float32, (10, 25), (400, 4)).shape == (10, 25)
    assert Operand(buffer, np.float32, (0, 5000)).shape == (0, 5000)
    with pytest.raises(ValueError, match=r"ends at byte 4004, past the end of the buffer \(4000 bytes\)"):
        Operand(buffer[96:], np.float32, (10, 101), (400, 4))
    with pytest.raises(ValueError, match="one stride of 0 or more per dimension"):
        Operand(buffer, np.float32, (10, 10), (4,))
    with pytest.raises(ValueError, match="one stride of 0 or more per dimension"):
        Operand(buffer, np.float32, 10, (-4,))
    with pytest.raises(ValueError, match="at most 16 dimensions, got 17"):
        Operand(buffer, np.uint8, (1,) * 17)
    with pytest.raises(TypeError, match="expected a Buffer or an Operand of one, got ndarray"):
        Operand(np.zeros(4))  # type: ignore[arg-type]


@pytest.mark.parametrize("words", ["reads", "writes"])
def test_an_operand_that_is_none_is_refused_before_the_launch(
    binary: Binary, stream: Stream, packed: list[bytes], words: str
) -> None:
    with pytest.raises(TypeError, match="expected a Buffer or an Operand of one, got int"):
        binary["raw"].launch(stream, 1, np.uint64(5), **{words: [5]})  # type: ignore[arg-type]
    stream.synchronize()
    assert packed == []


def test_an_array_that_is_only_read_cannot_be_written(binary: Binary, stream: Stream, unraisable: list[Any]) -> None:
    @sim.kernel("add_custom", {"x": "in float32[4]"})
    def add_custom(block: sim.Block, x: Any) -> None:
        x[0] = 1

    with add_custom, Buffer(16) as x:
        binary.kernel("add_custom", ["in float32[]"]).launch(stream, 1, x)
        with pytest.raises(AclError, match="read-only"):
            stream.synchronize()
    assert len(unraisable) == 1


NUMBERS: list[Any] = [
    *(0, 1, -1, 127, 128, 255, -128, -129, 65535, 1 << 31, -(1 << 31) - 1, (1 << 53) + 1, 1 << 63, -(1 << 63), 1 << 64),
    *(True, 0.1, -0.0, 1e300, math.inf, math.nan, 3e38, np.uint8(7), np.int32(-7), np.float16(0.5), np.float32(1.5)),
    *(np.float64(2.5), np.longlong(9), np.bool_(True), np.complex64(1j), "1", None, b"1"),
]
KINDS = [
    "int8",
    "uint8",
    "int16",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bool",
    ">i4",
    "in int8[]",
]


def launched(kernel: Any, stream: Stream, packed: list[bytes], *arguments: Any) -> Any:
    """Return the block of arguments of a launch, or its error."""
    packed.clear()
    try:
        with np.errstate(over="ignore"):  # numbers beyond float32 go through numpy
            kernel.launch(stream, 1, *arguments)
    except Exception as error:
        return type(error), str(error)
    stream.synchronize()
    return packed.copy()


def packed_in_python(kernel: Any, arguments: tuple[Any, ...]) -> Any:
    try:
        with np.errstate(over="ignore"):
            return [bytes(kernel._pack(arguments))]
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("kind", [None, *KINDS, "sized"])
def test_a_launch_packs_arguments_as_python_does(
    kind: str | None, binary: Binary, stream: Stream, packed: list[bytes]
) -> None:
    types = None if kind in (None, "sized") else [kind, "uint8", kind]
    kernel = binary.kernel("sized" if kind == "sized" else "raw", types)
    with Buffer(64) as memory:
        for number in [*NUMBERS, memory, memory[8:]]:
            sized = [(number, 1, 2, 3), (1, number, 2, 3), (1, 2, number, 3), (1, 2, 3, number)]
            for arguments in sized if kind == "sized" else [(number, 1, number), (number, np.uint8(1), memory), ()]:
                assert launched(kernel, stream, packed, *arguments) == packed_in_python(kernel, arguments), arguments


def test_a_kernel_without_its_binary_is_no_crash(binary: Binary, stream: Stream) -> None:
    kernel = binary.kernel("raw", ["uint8"])
    kernel.binary = 5  # type: ignore[assignment]
    for made in (kernel, Kernel.__new__(Kernel)):
        with pytest.raises(AttributeError):
            made.launch(stream, 1, 1)


def test_a_launch_does_nothing_in_python(binary: Binary, stream: Stream, packed: list[bytes]) -> None:
    kernel = binary.kernel("raw", ["float32[]", "uint32", "float64"])
    Stream.current()  # known from now on
    with Buffer(64) as memory:
        entered = called_in_python(lambda: kernel.launch(stream, 1, memory, 3, 0.5))
        stream.synchronize()
        entered += called_in_python(lambda: kernel.launch(None, 1, memory, np.uint32(3), np.float64(1)))
        Stream.current().synchronize()
        assert packed == [struct.pack("@PId", memory.handle, 3, value) for value in (0.5, 1.0)]
    assert [name for name in entered if not name.endswith("<lambda>")] == []
