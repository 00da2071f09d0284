# SPDX-License-Identifier: Apache-2.0
"""``lib.override()``: a Python function replaces a C function, for all callers."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest
from support.threads import in_thread

from ascend_rt import Buffer, Device, Event, Stream, _aclrt, supports
from ascend_rt._runtime import driver
from ascend_rt.errors import AclError, OutOfMemory
from ascend_rt.pyacl import rt
from ascend_rt.testing import Latch


class Refused(Exception):
    pass


CALLERS: dict[str, Callable[[Any, Event, Stream], object]] = {
    "an object": lambda lib, event, stream: event.record(stream),
    "lib": lambda lib, event, stream: lib.aclrtRecordEvent(event._handle, stream._handle),
    "the extension module": lambda lib, event, stream: _aclrt.lib.aclrtRecordEvent(event._handle, stream._handle),
    "pyACL": lambda lib, event, stream: rt.record_event(event.handle, stream.handle),
}


@pytest.mark.parametrize("use", CALLERS.values(), ids=CALLERS)
def test_all_callers_get_the_function(use: Any, lib: Any, device: Device) -> None:
    calls: list[tuple[Any, ...]] = []

    def note(*handles: Any) -> int:
        calls.append(handles)
        return int(real(*handles))

    with Event() as event, Stream() as stream:
        with lib.override("aclrtRecordEvent", note) as real:
            use(lib, event, stream)
        use(lib, event, stream)
        assert calls == [(event._handle, stream._handle)]
        event.synchronize()


def test_threads_get_it_too(lib: Any, stream: Stream) -> None:
    threads: list[threading.Thread] = []

    def note(handle: Any, out: Any) -> int:
        threads.append(threading.current_thread())
        return int(real(handle, out))

    with stream.record() as event, lib.override("aclrtQueryEventStatus", note) as real:
        in_thread(lambda: event.is_done)
    assert len(threads) == 1
    assert threading.current_thread() not in threads


def test_a_code_is_an_error(lib: Any, device: Device) -> None:
    with lib.override("aclrtMalloc", lambda pointer, nbytes, policy: 207001), pytest.raises(OutOfMemory):
        Buffer(64)
    Buffer(64).close()


def test_an_exception_passes_to_the_caller(lib: Any, stream: Stream) -> None:
    def refuse(*arguments: object) -> int:
        raise Refused

    event = Event()
    uses: dict[str, Callable[[], object]] = {
        "aclrtRecordEvent": lambda: event.record(stream),
        "aclrtSynchronizeStream": stream.synchronize,
        "aclrtStreamWaitEvent": lambda: stream.wait(event),
        "aclrtQueryEventStatus": lambda: event.is_done,
        "aclrtGetEventId": lambda: event.id,
        "aclrtDestroyEvent": event.close,
    }
    for name, use in uses.items():
        with lib.override(name, refuse), pytest.raises(Refused):
            use()
    assert event.is_closed  # it may be destroyed


def test_an_exception_of_the_wait_leaves_a_stream_open(lib: Any, stream: Stream) -> None:
    def refuse(*arguments: object) -> int:
        raise Refused

    with lib.override("aclrtSynchronizeStream", refuse), pytest.raises(Refused):
        stream.close()
    assert not stream.is_closed


def test_a_stream_is_created_once_although_another_thread_creates_it_meanwhile(device: Device, lib: Any) -> None:
    def create(*arguments: object) -> int:
        with pytest.raises(RuntimeError, match="exists already"):
            stream.__init__()  # type: ignore[misc]
        return int(before(*arguments))

    stream = Stream.__new__(Stream)
    with lib.override("aclrtCreateStreamWithConfig", create) as before:
        stream.__init__()  # type: ignore[misc]
    stream.close()


def test_a_function_that_raises_after_the_launch_leaves_the_call_alive(lib: Any, stream: Stream) -> None:
    def launch(*arguments: Any) -> int:
        real(*arguments)
        raise Refused

    ran: list[int] = []
    with lib.override("aclrtLaunchHostFunc", launch) as real, Latch(stream), pytest.raises(Refused):
        stream.launch_host_func(ran.append, 1)
    gc.collect()
    stream.synchronize()
    assert ran == [1]


def close_with(lib: Any, function: str, stream: Stream, error: type[Exception] | None = None) -> None:
    """Close a stream while a function that it calls first raises; then raise another error, if one is given."""

    def refuse(*arguments: Any) -> int:
        raise Refused

    with lib.override(function, refuse):
        stream.close()
        if error is not None:
            raise error


@pytest.mark.parametrize("function", ["aclrtStreamQuery", "aclmdlRICaptureGetInfo"])
def test_an_exception_that_a_close_goes_past_is_raised_at_the_end_of_the_block(
    function: str, lib: Any, device: Device
) -> None:
    stream = Stream()
    with pytest.raises(Refused):
        close_with(lib, function, stream)
    assert stream.is_closed


def test_an_exception_of_the_block_comes_first(lib: Any, device: Device) -> None:
    with pytest.raises(KeyError):
        close_with(lib, "aclrtStreamQuery", Stream(), KeyError)
    assert not driver.raised


def test_blocks_may_be_nested(lib: Any, device: Device) -> None:
    with lib.override("aclrtGetDevice", lambda out: 507000):
        inside = lib.override("aclrtGetDevice", lambda out: outer(out) + 899)
        with inside as outer, pytest.raises(AclError, match="507899"):
            Device.current()
        with pytest.raises(AclError, match="507000"):
            Device.current()
    assert Device.current() == device


def test_a_function_that_the_library_lacks_can_be_played(lib: Any, device: Device, monkeypatch: Any) -> None:
    name = "aclrtGetEventId"
    with Event() as event, monkeypatch.context() as patch:
        patch.setitem(driver.stand_ins, name, driver._not_in_library(name))
        assert not supports(name)
        with lib.override(name, lambda handle, out: 0):
            assert supports(name)
            assert event.id == 0
        assert not supports(name)


def test_an_unknown_function_is_named(lib: Any) -> None:
    with pytest.raises(AttributeError, match="aclrtMakeCoffee"), lib.override("aclrtMakeCoffee", print):
        pass
