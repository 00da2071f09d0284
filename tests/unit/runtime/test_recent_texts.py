# SPDX-License-Identifier: Apache-2.0
"""An attempt that may fail leaves no text of the runtime behind, which a later failure would report."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from ascend_rt import Buffer, Context, Device, Event, Graph, IpcMemory, Notify, Stream, fill_async
from ascend_rt._runtime.driver import is_expected
from ascend_rt.testing import Latch


@dataclass
class Objects:
    """The context of a thread that has set none."""

    stream: Stream
    event: Event
    notify: Notify
    graph: Graph
    context: Context
    export: IpcMemory
    exported: Buffer
    latch: Latch


@pytest.fixture
def objects(device: Device) -> Any:
    context = Context(0)
    device.set_current()
    with Stream() as stream, Buffer(2 << 20) as exported, Notify() as notify:
        with stream.capture() as graph:
            fill_async(exported, 1, stream)
        with Latch(stream) as latch:
            yield Objects(stream, stream.record(), notify, graph, context, IpcMemory(exported), exported, latch)


def end_export(export: IpcMemory, exported: Buffer) -> None:
    exported.close()
    export.close()


ATTEMPTS: dict[str, Callable[[Objects], object]] = {
    "text of a stream": lambda it: repr(it.stream),
    "text of an event": lambda it: repr(it.event),
    "hash": lambda it: hash(it.stream),
    "query": lambda it: it.event.is_done,
    "no context": lambda it: Context.current(),
    "device block": lambda it: Device(0).__enter__().__exit__(None, None, None),
    "wait for an event": lambda it: it.event.synchronize(),
    "wait of asyncio": lambda it: asyncio.run(it.event.done()),
    "end of a notify": lambda it: it.notify.close(),
    "end of a graph": lambda it: it.graph.close(),
    "end of an event": lambda it: it.event.close(),
    "end of a context": lambda it: it.context.close(),
    "end of an export": lambda it: end_export(it.export, it.exported),
    "end of a stream": lambda it: it.stream.close(),
}


def text(lib: Any, ffi: Any) -> str:
    found = lib.aclGetRecentErrMsg()
    return "" if found == ffi.NULL else ffi.string(found).decode()


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_nothing_is_left_in_a_thread_without_a_context(
    attempt: Callable[[Objects], object], objects: Objects, lib: Any, ffi: Any
) -> None:
    def left_by_it() -> str:
        attempt(objects)
        return text(lib, ffi)

    with ThreadPoolExecutor(1) as pool:
        left = pool.submit(left_by_it)
        objects.latch.release()
        assert left.result() == ""


def test_a_wait_of_the_main_thread_leaves_nothing(run: Any, under_test: dict[str, str]) -> None:
    done = run(
        "-c",
        """
import threading
from ascend_rt import Device, Event, Stream, ffi, lib
from ascend_rt._runtime import threads

made = []
def make():
    Device(0).set_current()
    made.extend([Stream(), Event(manual_reset=True)])
    made[0].wait(made[1])
    made.append(made[0].record())

def release():
    Device(0).set_current()
    while not threads._waiters:
        pass
    made[1].record(Stream())

maker, releaser = threading.Thread(target=make), threading.Thread(target=release)
maker.start()
maker.join()
releaser.start()
made[2].synchronize()
releaser.join()
assert lib.aclGetRecentErrMsg() == ffi.NULL
""",
        **under_test,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_failure_is_expected_with_its_codes_alone(lib: Any, ffi: Any, device: Device) -> None:
    code = lib.aclrtSetDevice(-1)
    assert code
    assert not is_expected(0)
    assert not is_expected(code, code + 1)
    said = text(lib, ffi)
    assert lib.aclrtSetDevice(-1) == code
    assert is_expected(code, code + 1, code)
    assert (bool(said), text(lib, ffi)) == (True, "")
