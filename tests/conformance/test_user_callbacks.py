# SPDX-License-Identifier: Apache-2.0
"""Callbacks on threads that the user subscribed: what may be subscribed and ended when, and what is dropped."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from support.codes import OK

from ascend_rt.testing import Latch

pytestmark = pytest.mark.simulator("unspecified", "the runtime deadlocks where the simulator refuses")

SUBSCRIBED, NO_THREAD, TIMED_OUT = 107011, 107015, 507012


class Callbacks:
    """Launches of one function on a stream that the calling thread is subscribed to."""

    def __init__(self, lib: Any, ffi: Any, stream: Any) -> None:
        self.lib = lib
        self.stream = ffi.cast("aclrtStream", stream.handle)
        self.user_data = ffi.NULL
        self.ran = 0

        @ffi.callback("void(void *)")
        def function(_: Any) -> None:
            self.ran += 1

        self.function = function

    def subscribe(self) -> int:
        return int(self.lib.aclrtSubscribeReport(threading.get_ident(), self.stream))

    def unsubscribe(self) -> int:
        return int(self.lib.aclrtUnSubscribeReport(threading.get_ident(), self.stream))

    def launch(self, *, blocks: bool) -> int:
        kind = self.lib.ACL_CALLBACK_BLOCK if blocks else self.lib.ACL_CALLBACK_NO_BLOCK
        return int(self.lib.aclrtLaunchCallback(self.function, self.user_data, kind, self.stream))

    def process(self) -> int:
        return int(self.lib.aclrtProcessReport(100))


@pytest.fixture
def callbacks(lib: Any, ffi: Any, stream: Any) -> Any:
    made = Callbacks(lib, ffi, stream)
    assert made.subscribe() == OK
    return made


@pytest.mark.parametrize("is_behind", [False, True])
def test_a_stream_with_a_blocking_callback_stays_subscribed(stream, callbacks, is_behind: bool) -> None:
    latch = Latch(stream)
    if not is_behind:
        latch.release()
    assert callbacks.launch(blocks=True) == OK
    assert callbacks.unsubscribe() == SUBSCRIBED
    latch.release()
    assert callbacks.unsubscribe() == SUBSCRIBED
    assert callbacks.process() == OK
    stream.synchronize()
    assert callbacks.ran == 1
    assert callbacks.unsubscribe() == OK


def test_an_aborted_callback_keeps_nobody_subscribed(stream, callbacks) -> None:
    with Latch(stream):
        assert callbacks.launch(blocks=True) == OK
        stream.abort()
    assert callbacks.unsubscribe() == OK


def test_a_callback_cannot_end_its_own_subscription(lib, ffi, stream, callbacks) -> None:
    codes = []

    @ffi.callback("void(void *)")
    def function(_: Any) -> None:
        codes.append(callbacks.unsubscribe())

    assert lib.aclrtLaunchCallback(function, ffi.NULL, lib.ACL_CALLBACK_BLOCK, callbacks.stream) == OK
    assert callbacks.process() == OK
    assert codes == [SUBSCRIBED]
    assert callbacks.unsubscribe() == OK


def test_callbacks_that_block_nobody_are_dropped_with_the_subscription(stream, callbacks) -> None:
    assert callbacks.launch(blocks=False) == OK
    stream.synchronize()
    assert callbacks.unsubscribe() == OK
    assert callbacks.subscribe() == OK
    assert callbacks.process() == TIMED_OUT
    assert callbacks.ran == 0
    assert callbacks.unsubscribe() == OK
    assert callbacks.launch(blocks=False) == NO_THREAD


def test_a_device_has_so_many_threads_for_callbacks(child: Any) -> None:
    code = """
    assert lib.aclrtSetDevice(0) == 0
    streams = ffi.new("aclrtStream[1026]")
    assert {lib.aclrtCreateStream(streams + i) for i in range(1026)} == {0}
    first = {lib.aclrtSubscribeReport(1 + i, streams[i]) for i in range(1024)}
    more = [lib.aclrtSubscribeReport(thread, streams[1024]) for thread in (9999, 1)]
    codes = [*first, *more, lib.aclrtUnSubscribeReport(2, streams[1]), lib.aclrtSubscribeReport(9999, streams[1025])]
    reported(codes)
    """
    assert child(code) == [0, 507000, 0, 0, 0]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("lib.aclrtLaunchCallback(callback, ffi.NULL, 1, stream[0])", 107015),
        ("lib.aclrtStreamWaitEvent(stream[0], complete[0])", 0),
    ],
)
def test_what_needs_no_place_in_a_full_queue(child: Any, call: str, code: int) -> None:
    script = """
    assert lib.aclrtSetDevice(0) == 0
    stream, gate, complete = ffi.new("aclrtStream *"), ffi.new("aclrtEvent *"), ffi.new("aclrtEvent *")
    callback = ffi.callback("void(void *)", lambda _: None)
    assert lib.aclrtCreateStream(stream) == lib.aclrtCreateEventWithFlag(gate, 1) == 0
    assert lib.aclrtCreateEventExWithFlag(complete, 1) == lib.aclrtRecordEvent(complete[0], ffi.NULL) == 0
    assert {lib.aclrtStreamWaitEvent(stream[0], gate[0]) for _ in range(1792)} == {0}
    thread_code = []
    call = threading.Thread(target=lambda: (lib.aclrtSetDevice(0), thread_code.append(eval(sys.argv[1]))), daemon=True)
    call.start()
    call.join(20)
    reported(thread_code)
    sys.stdout.flush()
    os._exit(0)
    """
    assert child(script, call, ASCEND_RT_SIM_PRODUCT="910B") == [code]
