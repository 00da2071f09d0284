# SPDX-License-Identifier: Apache-2.0
"""Copies and fills that are aborted, and copies on a lost device."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from support.codes import INVALID_PARAM, OK, STREAM_ABORT, TASK_ABORT
from support.copies import D2D, GIB, H2D
from support.handles import at, raw

from ascend_rt import Buffer, Stream, copy, fill

LARGE, MARK = 4 * GIB, 256 << 20


class LargeCopy:
    """A copy of 4 GiB, whose memory costs nothing until it is copied."""

    def __init__(self, lib: Any, ffi: Any, stream: Any) -> None:
        self.source, self.target = Buffer(LARGE), Buffer(LARGE)
        for place in (0, MARK, LARGE - 1):
            fill(self.source[place : place + 1], 1)
            fill(self.target[place : place + 1], 0)
        to, source = at(ffi, self.target), at(ffi, self.source)
        assert lib.aclrtMemcpyAsync(to, LARGE, source, LARGE, D2D, stream) == OK

    def has_reached(self, place: int) -> bool:
        found = np.zeros(1, np.uint8)
        copy(found, self.target[place : place + 1])
        return bool(found[0] == 1)

    def reach(self, place: int) -> None:
        deadline = time.monotonic() + 60
        while not self.has_reached(place):
            assert time.monotonic() < deadline

    def close(self) -> None:
        self.source.close()
        self.target.close()


@pytest.mark.parametrize(
    ("function", "code"),
    [
        ("aclrtStreamAbort", STREAM_ABORT),
        pytest.param("aclrtDestroyStreamForce", STREAM_ABORT, marks=pytest.mark.full),
        pytest.param("aclrtDeviceTaskAbort", TASK_ABORT, marks=pytest.mark.full),
    ],
)
@pytest.mark.simulator("internals", "about the pieces in which the simulator copies")
def test_an_abort_ends_a_large_copy(function: str, code: int, lib, ffi, device) -> None:
    out = ffi.new("aclrtStream *")
    assert lib.aclrtCreateStream(out) == OK
    handle = out[0]
    large = LargeCopy(lib, ffi, handle)
    large.reach(0)
    codes: list[int] = []

    def abort() -> None:
        device.set_current()
        large.reach(MARK)  # by then the other thread is blocked
        codes.append(getattr(lib, function)(*((0, 0) if function == "aclrtDeviceTaskAbort" else (handle,))))

    thread = threading.Thread(target=abort)
    thread.start()
    # The copy was not completed, and the synchronization says so.
    assert lib.aclrtSynchronizeStream(handle) == code
    thread.join()
    assert codes == [OK]
    assert not large.has_reached(LARGE - 1)
    if function != "aclrtDestroyStreamForce":  # the stream can be used again
        assert lib.aclrtMemcpyAsync(at(ffi, large.target), 1, at(ffi, large.source, 1), 1, D2D, handle) == OK
        assert lib.aclrtSynchronizeStream(handle) == OK
        assert not large.has_reached(0)
        assert lib.aclrtDestroyStream(handle) == OK
    large.close()


@pytest.mark.simulator("internals", "about the pieces in which the simulator fills")
def test_an_abort_ends_a_large_fill(lib, ffi, device) -> None:
    with Stream() as stream, Buffer(LARGE) as memory:
        for place in (0, LARGE - 1):
            fill(memory[place : place + 1], 0)
        assert lib.aclrtMemsetAsync(at(ffi, memory), LARGE, 1, LARGE, raw(ffi, stream)) == OK
        found = np.zeros(1, np.uint8)
        while found[0] == 0:
            copy(found, memory[:1])
        assert lib.aclrtStreamAbort(raw(ffi, stream)) == OK
        copy(found, memory[LARGE - 1 :])
        assert found[0] == 0


def test_no_synchronous_copy_while_the_device_is_aborted(lib, ffi, device, memory) -> None:
    host, codes = ffi.new("char[16]"), []

    @ffi.callback("int32_t(int32_t, aclrtDeviceTaskAbortStage, uint32_t, void *)")
    def callback(_device: int, _stage: int, _timeout: int, _arguments: Any) -> int:
        codes.append(lib.aclrtMemcpy(at(ffi, memory), 16, host, 16, H2D))
        codes.append(lib.aclrtMemcpy(ffi.NULL, 16, host, 16, H2D))  # pointers are checked before the abort
        codes.append(lib.aclrtMemset(at(ffi, memory), 16, 0, 16))
        codes.append(lib.aclrtMemset(at(ffi, memory), 15, 0, 16))  # the size is checked after it
        codes.append(lib.aclrtMemsetD32(at(ffi, memory), 16, 0, 4))
        codes.append(lib.aclrtMemcpyAsync(at(ffi, memory), 16, host, 16, H2D, ffi.NULL))
        return 0

    assert lib.aclrtSetDeviceTaskAbortCallback(b"copies", callback, ffi.NULL) == OK
    assert lib.aclrtDeviceTaskAbort(0, 0) == OK
    assert lib.aclrtSetDeviceTaskAbortCallback(b"copies", ffi.NULL, ffi.NULL) == OK
    assert codes == [TASK_ABORT, INVALID_PARAM, TASK_ABORT, TASK_ABORT, TASK_ABORT, TASK_ABORT] * 2


@pytest.mark.simulator("faults")
def test_no_copy_to_a_lost_device(child) -> None:
    script = """
    pointer, host = ffi.new("void **"), ffi.new("char[64]")
    codes = [lib.aclrtSetDevice(0), lib.aclrtMalloc(pointer, 64, 0), lib.aclsimLoseDevice(0, 507010)]
    codes.append(lib.aclrtMemcpy(pointer[0], 64, host, 64, 1))
    codes.append(lib.aclrtMemcpy2d(pointer[0], 8, host, 8, 8, 8, 1))
    codes.append(lib.aclrtMemcpyAsync(pointer[0], 64, host, 64, 1, ffi.NULL))
    codes.append(lib.aclrtMemset(pointer[0], 64, 0, 64))
    reported(codes)
    """
    assert child(script, ASCEND_RT_BACKEND="sim") == [OK] * 3 + [507010] * 4
