# SPDX-License-Identifier: Apache-2.0
"""Kernels that take longer than their launch, or the program, allows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from support.codes import OK
from support.handles import raw
from support.kernels import VECTOR, device_object

from ascend_rt import Binary, Stream, sim

pytestmark = pytest.mark.simulator("kernels")

TIMEOUT, TIMEOUT_US = 7, 8
AICORE_TIMEOUT = 507014


class Slow:
    """Launches of a kernel each of whose blocks takes more than a millisecond."""

    def __init__(self, lib: Any, ffi: Any, binary: Binary, stream: Any) -> None:
        self._lib, self._ffi, self._stream = lib, ffi, stream
        self._function = ffi.new("aclrtFuncHandle *")
        assert lib.aclrtBinaryGetFunction(raw(ffi, binary), b"slow", self._function) == OK

    def launch(self, blocks: int = 1, **attribute: Any) -> None:
        attributes = self._ffi.new("aclrtLaunchKernelAttr[1]")
        config = self._ffi.new("aclrtLaunchKernelCfg *", [attributes, len(attribute)])
        for name, value in attribute.items():
            attributes[0].id = {"timeout": TIMEOUT, "timeoutUs": TIMEOUT_US}[name]
            setattr(attributes[0].value, name, value)
        arguments = self._ffi.new("char[8]")
        code = self._lib.aclrtLaunchKernelWithHostArgs(
            self._function[0], blocks, self._stream, config, arguments, 8, self._ffi.NULL, 0
        )
        assert code == OK

    def synchronize(self) -> int:
        return int(self._lib.aclrtSynchronizeStream(self._stream))


@pytest.fixture
def ran() -> list[int]:
    return []


@pytest.fixture
def slow(lib: Any, ffi: Any, stream: Stream, ran: list[int]) -> Iterator[Slow]:
    def work(block: Any, memory: Any) -> None:
        end = time.perf_counter() + 0.0015
        while time.perf_counter() < end:
            pass
        ran.append(block.index)

    with Binary(device_object({"slow": VECTOR})) as binary, sim.kernel("slow")(work):
        yield Slow(lib, ffi, binary, raw(ffi, stream))
        stream.synchronize()


def test_a_kernel_over_its_time_limit_is_a_device_task_error(slow: Slow, lib: Any, ffi: Any) -> None:
    slow.launch(timeoutUs=[1000, 0])
    assert slow.synchronize() == AICORE_TIMEOUT
    assert b"longer than the 1000 us" in ffi.string(lib.aclGetRecentErrMsg())


def test_blocks_that_had_not_begun_are_not_run(slow: Slow, ran: list[int]) -> None:
    slow.launch(1000, timeoutUs=[1000, 0])
    assert slow.synchronize() == AICORE_TIMEOUT
    assert len(ran) < 1000


@pytest.mark.parametrize(
    "attribute", [{}, {"timeout": 0}, {"timeout": 60}, {"timeoutUs": [0, 0]}, {"timeoutUs": [0, 1]}]
)
def test_no_limit_or_a_long_one(attribute: dict[str, Any], slow: Slow, ran: list[int]) -> None:
    slow.launch(2, **attribute)
    assert slow.synchronize() == OK
    assert sorted(ran) == [0, 1]
