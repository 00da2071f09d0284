# SPDX-License-Identifier: Apache-2.0
"""Data types, half floats, data buffers and the application's log."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.codes import GARBAGE_HANDLES, INVALID_PARAM

SIZES = {
    0: ["UNDEFINED", "STRING"],
    1: ["UINT1", "INT4", "BOOL", "INT8", "UINT8", "HIFLOAT8", "FLOAT8_E5M2", "FLOAT8_E4M3FN", "FLOAT8_E8M0"],
    2: ["INT16", "UINT16", "FLOAT16", "BF16"],
    4: ["FLOAT", "INT32", "UINT32", "COMPLEX32"],
    8: ["INT64", "UINT64", "DOUBLE", "COMPLEX64", "FLOAT6_E3M2", "FLOAT6_E2M3", "FLOAT4_E2M1", "FLOAT4_E1M2"],
    16: ["COMPLEX128"],
}


@pytest.mark.parametrize(("size", "name"), [(size, name) for size, names in SIZES.items() for name in names])
def test_data_type_sizes(size: int, name: str, lib: Any) -> None:
    value = lib.ACL_DT_UNDEFINED if name == "UNDEFINED" else getattr(lib, f"ACL_{name}")
    assert lib.aclDataTypeSize(value) == size


@pytest.mark.parametrize("value", [-2, 5, 14, 42, 2**31 - 1])
def test_data_types_that_do_not_exist_have_eight_bytes(value: int, lib: Any) -> None:
    assert lib.aclDataTypeSize(value) == 8


def test_every_half_becomes_its_float(lib: Any) -> None:
    halves = np.arange(0x10000, dtype=np.uint16)
    expected = halves.view(np.float16).astype(np.float32)
    special = (halves & 0x7C00) == 0x7C00
    mantissa = (halves & 0x3FF).astype(np.float32)
    sign = np.where(halves & 0x8000, np.float32(-1), np.float32(1))
    expected[special] = (sign * (65536 + 64 * mantissa))[special]  # as if the exponent were one like the others
    found = np.array([lib.aclFloat16ToFloat(int(half)) for half in halves], dtype=np.float32)
    assert np.array_equal(found.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize(
    ("half", "value"), [(0x7C00, 65536.0), (0xFC00, -65536.0), (0x7E00, 98304.0), (0x7BFF, 65504.0), (0x0001, 2**-24)]
)
def test_special_halves(half: int, value: float, lib: Any) -> None:
    assert lib.aclFloat16ToFloat(half) == value


@pytest.mark.parametrize(
    ("value", "half"),
    [
        (math.inf, 0x7BFF),
        (-math.inf, 0xFBFF),
        (math.nan, 0x7BFF),
        (65504.0, 0x7BFF),
        (65519.0, 0x7BFF),
        (65520.0, 0x7BFF),
        (1e30, 0x7BFF),
        (-1e30, 0xFBFF),
        (0.0, 0x0000),
        (-0.0, 0x8000),
        (1.0, 0x3C00),
        (-2.0, 0xC000),
        (2.0**-24, 0x0001),
        (2.0**-25, 0x0000),  # half way: to even
        (2.0**-25 * 1.5, 0x0001),
        (2.0**-24 * 1.5, 0x0002),
        (2.0**-14 - 2.0**-25, 0x0400),  # the largest denormal rounds to the smallest normal number
        (1 + 2.0**-11, 0x3C00),
        (1 + 3 * 2.0**-11, 0x3C02),
        (2 - 2.0**-12, 0x4000),  # the mantissa carries into the exponent
    ],
)
def test_floats_become_halves(value: float, half: int, lib: Any) -> None:
    assert lib.aclFloatToFloat16(value) == half


def test_floats_round_as_numpy_does_within_the_range(lib: Any) -> None:
    generator = np.random.default_rng(7)
    floats = generator.integers(0, 0x47800000, 20000, dtype=np.uint32).view(np.float32)
    floats = floats[floats <= 65504]
    expected = floats.astype(np.float16).view(np.uint16)
    found = [lib.aclFloatToFloat16(float(value)) for value in floats]
    assert found == expected.tolist()


def test_halves_survive_the_way_there_and_back(lib: Any) -> None:
    finite = [half for half in range(0x10000) if half & 0x7C00 != 0x7C00]
    assert [lib.aclFloatToFloat16(lib.aclFloat16ToFloat(half)) for half in finite] == finite


def asked(lib: Any, ffi: Any, buffer: Any) -> tuple[int, int, int]:
    address = int(ffi.cast("uintptr_t", lib.aclGetDataBufferAddr(buffer)))
    return address, lib.aclGetDataBufferSize(buffer), lib.aclGetDataBufferSizeV2(buffer)


@pytest.mark.parametrize(
    ("address", "size", "short"),
    [(0, 0, 0), (0x1000, 64, 64), (0, 64, 64), (0x1000, (1 << 32) + 3, 3), (0xFFFFFFFFFFFFFFFF, 1, 1)],
)
def test_data_buffers(address: int, size: int, short: int, lib: Any, ffi: Any) -> None:
    buffer = lib.aclCreateDataBuffer(ffi.cast("void *", address), size)
    assert buffer != ffi.NULL
    assert asked(lib, ffi, buffer) == (address, short, size)
    assert lib.aclUpdateDataBuffer(buffer, ffi.cast("void *", 0x2000), 7) == 0
    assert asked(lib, ffi, buffer) == (0x2000, 7, 7)
    assert lib.aclUpdateDataBuffer(buffer, ffi.NULL, 0) == 0
    assert asked(lib, ffi, buffer) == (0, 0, 0)
    assert lib.aclDestroyDataBuffer(buffer) == 0


def test_no_data_buffer(lib: Any, ffi: Any) -> None:
    assert lib.aclDestroyDataBuffer(ffi.NULL) == INVALID_PARAM
    assert lib.aclUpdateDataBuffer(ffi.NULL, ffi.NULL, 0) == INVALID_PARAM
    assert asked(lib, ffi, ffi.NULL) == (0, 0, 0)


@pytest.mark.simulator("deadly")
def test_bad_data_buffers(lib: Any, ffi: Any, stream: Any) -> None:
    destroyed = lib.aclCreateDataBuffer(ffi.NULL, 0)
    assert lib.aclDestroyDataBuffer(destroyed) == 0
    other = ffi.new("aclrtStream *")
    assert lib.aclrtCreateStream(other) == 0
    for bad in (*GARBAGE_HANDLES, destroyed, other[0]):
        buffer = ffi.cast("aclDataBuffer *", bad)
        assert lib.aclDestroyDataBuffer(buffer) == INVALID_PARAM
        assert lib.aclUpdateDataBuffer(buffer, ffi.NULL, 0) == INVALID_PARAM
        assert asked(lib, ffi, buffer) == (0, 0, 0)
    assert lib.aclrtDestroyStream(other[0]) == 0


LOG = """
from ascend_rt._runtime import driver
lib, ffi = driver.lib, driver.ffi
for level in (2**32 - 1, 0, 1, 2, 3, 4):
    lib.aclAppLog(level, b"work", b"main.c", 7, f"level {level} of 4, 100 %".encode())
lib.aclAppLog(3, ffi.NULL, ffi.NULL, 0, b"x" * 3000)
"""


@pytest.mark.parametrize(
    ("environment", "levels"),
    [
        ({}, []),
        ({"ASCEND_SLOG_PRINT_TO_STDOUT": "0"}, []),
        ({"ASCEND_SLOG_PRINT_TO_STDOUT": "1"}, ["ERROR"]),
        ({"ASCEND_SLOG_PRINT_TO_STDOUT": "1", "ASCEND_GLOBAL_LOG_LEVEL": "x"}, ["ERROR"]),
        ({"ASCEND_SLOG_PRINT_TO_STDOUT": "1", "ASCEND_GLOBAL_LOG_LEVEL": "4"}, []),
        ({"ASCEND_SLOG_PRINT_TO_STDOUT": "1", "ASCEND_GLOBAL_LOG_LEVEL": "2"}, ["WARNING", "ERROR"]),
        ({"ASCEND_SLOG_PRINT_TO_STDOUT": "1", "ASCEND_GLOBAL_LOG_LEVEL": "0"}, ["DEBUG", "INFO", "WARNING", "ERROR"]),
    ],
)
@pytest.mark.simulator("internals")
def test_the_log(environment: dict[str, str], levels: list[str], backend: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND_")}
    kept["ASCEND_RT_BACKEND"] = backend
    done = subprocess.run(
        [sys.executable, "-c", LOG],
        env=kept | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=Path(__file__).parent,
    )
    lines = done.stdout.splitlines()
    assert [line.split("]")[0].lstrip("[") for line in lines] == levels + (["ERROR"] if levels else [])
    if levels:
        assert lines[-2].endswith("[main.c:7] work: level 3 of 4, 100 %")
        assert lines[-1].count("x") == 1024
