# SPDX-License-Identifier: Apache-2.0
"""Python has no memory at some moment of an operation: a MemoryError or success, nothing is lost, nothing crashes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = [pytest.mark.simulator("internals"), pytest.mark.full]

# One allocation of Python fails, or several in a row, ever later, until the operation needs no more. If the pointer of
# what was borrowed cannot be found, the object counts as closed.
SCRIPT = """
from _testcapi import remove_mem_hooks, set_nomemory

warnings.simplefilter("ignore")
memory, host, event, other = Buffer(4096), PinnedBuffer(4096), Event(), Stream()

def busy():
    stream = Stream()
    fill_async(memory, 1, stream)
    return stream

def with_a_function():
    stream = busy()
    stream.launch_host_func(int)
    return stream

def borrow(stream):
    with contextlib.suppress(ClosedError), Stream.from_handle(stream.handle) as borrowed:
        fill_async(memory, 1, borrowed)

OPERATIONS = {
    "create": (busy, lambda stream: Stream(priority=3)),
    "create memory": (busy, lambda stream: PhysicalMemory(2 << 20, device)),
    "close": (busy, Stream.close),
    "close with a function": (with_a_function, Stream.close),
    "force": (busy, lambda stream: stream.close(force=True)),
    "exit": (busy, lambda stream: stream.__exit__(None, None, None)),
    "exit with an error": (busy, lambda stream: stream.__exit__(ValueError, ValueError(), None)),
    "record": (busy, Stream.record),
    "record an event": (busy, lambda stream: event.record(stream)),
    "borrow": (busy, borrow),
    "borrow the default": (busy, lambda stream: Stream.from_handle(0)),
    "synchronize": (busy, Stream.synchronize),
    "ask": (busy, lambda stream: stream.is_done),
    "check": (busy, Stream.check),
    "show": (busy, repr),
    "wait": (busy, lambda stream: other.wait(stream)),
    "fill for the first time": (Stream, lambda stream: fill_async(memory, 1, stream)),
    "fill": (busy, lambda stream: fill_async(memory, 1, stream)),
    "copy": (busy, lambda stream: copy_async(memory, host, stream)),
    "launch": (busy, lambda stream: stream.launch_host_func(int)),
    "discard": (busy, lambda stream: Stream().record() and None),
}
ClosedError = rt.errors.ClosedError
ROUNDS_WITHOUT_ERROR, MOST = 10, 200

def attempt(begin, operation, first, count):
    stream, made = begin(), None
    set_nomemory(first, first + count)
    try:
        made = operation(stream)
        is_done = True
    except MemoryError:
        is_done = False
    finally:
        remove_mem_hooks()
    stream.close()
    if isinstance(made, (Stream, Event, PhysicalMemory)):
        made.close()
    return is_done

for name, (begin, operation) in OPERATIONS.items():
    for count in (1, 2, 5):
        attempt(begin, operation, MOST * MOST, 1)
        before, successes, first = left(), 0, 0
        while successes < ROUNDS_WITHOUT_ERROR and first < MOST:
            successes = successes + 1 if attempt(begin, operation, first, count) else 0
            first += 1
        assert successes == ROUNDS_WITHOUT_ERROR, (name, count, first)  # enough allocations were reached
        other.synchronize()
        after = left()
        assert after == before, (name, count, before, after)
"""


def test_nothing_is_lost_without_memory(attack: Callable[..., str]) -> None:
    pytest.importorskip("_testcapi")
    assert attack(SCRIPT, 1) == ""
