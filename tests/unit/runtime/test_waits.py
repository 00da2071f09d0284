# SPDX-License-Identifier: Apache-2.0
"""Long waits of the main thread and of asyncio, for which another thread makes the call."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from ascend_rt import Device, Event, Stream
from ascend_rt.testing import Latch

Waits = Callable[[Device, Stream, Event], object]

WAITS: dict[str, tuple[str, Waits]] = {
    "stream": ("ascend_rt_wait_for_stream", lambda device, stream, event: stream.synchronize()),
    "stream with a limit": ("ascend_rt_wait_for_stream", lambda device, stream, event: stream.synchronize(timeout=60)),
    "stream of asyncio": ("ascend_rt_wait_for_stream", lambda device, stream, event: asyncio.run(stream.done())),
    "event": ("ascend_rt_wait_for_event", lambda device, stream, event: event.synchronize()),
    "event with a limit": ("ascend_rt_wait_for_event", lambda device, stream, event: event.synchronize(timeout=60)),
    "event of asyncio": ("ascend_rt_wait_for_event", lambda device, stream, event: asyncio.run(event.done())),
    "device": ("ascend_rt_wait_for_device", lambda device, stream, event: device.synchronize()),
    "device with a limit": ("ascend_rt_wait_for_device", lambda device, stream, event: device.synchronize(timeout=60)),
}


class Refused(Exception):
    pass


@pytest.mark.parametrize(("function", "wait"), WAITS.values(), ids=WAITS)
def test_what_the_call_raises_ends_the_wait(
    function: str, wait: Waits, device: Device, stream: Stream, lib: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[weakref.ref[Refused]] = []

    def refuse(*arguments: object) -> NoReturn:
        error = Refused(function)
        raised.append(weakref.ref(error))
        raise error

    with Latch(stream):
        event = stream.record()
        monkeypatch.setattr(lib, function, refuse)
        with pytest.raises(Refused, match=function):
            wait(device, stream, event)
        monkeypatch.undo()
    stream.synchronize()
    gc.collect()
    assert [error() for error in raised] == [None]


@pytest.mark.simulator("unspecified", "the vendor's library is asked in slices of the limit")
def test_a_function_that_was_replaced_is_called(stream: Stream, lib: Any) -> None:
    def refuse(handle: object, limit: int) -> int:
        if threading.current_thread() is threading.main_thread():
            return int(lib.ACL_ERROR_RT_STREAM_SYNC_TIMEOUT)
        raise Refused(f"after {limit} ms")

    overridden = lib.override("aclrtSynchronizeStreamWithTimeout", refuse)
    with Latch(stream), overridden, pytest.raises(Refused, match="after 60000 ms"):
        stream.synchronize(timeout=60)
