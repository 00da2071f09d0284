# SPDX-License-Identifier: Apache-2.0
"""Damaged kernel binaries: each one is refused, or loaded and can be used."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.codes import OK, RT_PARAM
from support.effort import cases
from support.kernels import CUBE, VECTOR, device_object, parameters

from ascend_rt import Device, ffi, lib

pytestmark = pytest.mark.simulator("kernels", "the vendor's library may crash")

SOUND = device_object(
    {"vector": VECTOR + parameters(8, 4), "cube": CUBE, "mix_mix_aic": b"", "mix_mix_aiv": b"", "tile_12": VECTOR},
    {"first": 16, "second": 300},
)
NAMES = (b"vector", b"cube", b"mix", b"tile_12", b"first", b"")
EDGES = (0, 1, 0x7F, 0x80, 0xFF, 2**31, 2**32 - 1, 2**63, 2**64 - 1)


def use(content: bytes) -> int:
    """Load a binary, ask everything of it, unload it; return what loading answered."""
    Device(0).set_current()
    binary, function, size, pointers = (
        ffi.new("aclrtBinHandle *"),
        ffi.new("aclrtFuncHandle *"),
        ffi.new("size_t[2]"),
        ffi.new("void *[2]"),
    )
    code = int(lib.aclrtBinaryLoadFromData(content, len(content), ffi.NULL, binary))
    if code != OK:
        return code
    for name in NAMES:
        if lib.aclrtBinaryGetFunction(binary[0], name, function) == OK:
            ask(function[0], size, pointers)
        lib.aclrtBinaryGetGlobal(binary[0], name, pointers, size)
    assert lib.aclrtBinaryGetDevAddress(binary[0], pointers, size) == OK
    assert lib.aclrtBinaryUnLoad(binary[0]) == OK
    return code


def ask(function: Any, size: Any, pointers: Any) -> None:
    name, value = ffi.new("char[64]"), ffi.new("int64_t *")
    assert lib.aclrtGetFunctionName(function, 64, name) == OK
    assert lib.aclrtGetFunctionSize(function, size, size + 1) == OK
    assert lib.aclrtGetFunctionAddr(function, pointers, pointers + 1) == OK
    for attribute in (1, 2, 3):
        assert lib.aclrtGetFunctionAttribute(function, attribute, value) == OK
    if lib.aclrtFunctionGetParamCount(function, size) == OK:
        for i in range(min(size[0], 200)):
            assert lib.aclrtFunctionGetParamInfo(function, i, size, size + 1) == OK
    assert lib.aclrtKernelArgsInit(function, pointers) == OK


def test_a_sound_file_is_loaded() -> None:
    assert use(SOUND) == OK


@settings(max_examples=cases(300), deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_refused(content: bytes) -> None:
    if content:
        assert use(content) == RT_PARAM
    assert use(b"\x7fELF" + content) == RT_PARAM


@pytest.mark.parametrize("end", range(1, len(SOUND), 37))
def test_a_file_that_ends_early_is_refused(end: int) -> None:
    assert use(SOUND[:end]) == RT_PARAM


@settings(max_examples=cases(1500), deadline=None)
@given(st.integers(0, len(SOUND) - 8), st.sampled_from([1, 2, 4, 8]), st.sampled_from(EDGES))
def test_one_wrong_number_does_no_harm(place: int, width: int, number: int) -> None:
    content = bytearray(SOUND)
    content[place : place + width] = (number % 2 ** (8 * width)).to_bytes(width, "little")
    assert use(bytes(content)) in (OK, RT_PARAM)


@pytest.mark.parametrize("seed", range(cases(20)))
def test_many_wrong_bytes_do_no_harm(seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(100):
        content = bytearray(SOUND)
        for _ in range(choose.randrange(1, 12)):
            # Mostly in the header, the table of sections and the table of symbols.
            content[choose.choice((choose.randrange(64), choose.randrange(len(content))))] = choose.randrange(256)
        assert use(bytes(content)) in (OK, RT_PARAM)
