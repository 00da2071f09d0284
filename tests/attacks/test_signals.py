# SPDX-License-Identifier: Apache-2.0
"""Random operations under a timer whose signal handler raises: nothing is lost, and nothing is released early."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.effort import seeds

pytestmark = [pytest.mark.simulator("internals"), pytest.mark.full]

# The handler raises only while an operation is made, be it in C or in Python, and also at its very end: what it has
# returned may then be lost, and is discarded.
SCRIPT = """
class Interruption(Exception):
    pass

armed, interruptions = False, 0

def handler(number, frame):
    global armed
    if armed:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise Interruption

signal.signal(signal.SIGALRM, handler)

def interrupted(operation):
    global armed, interruptions
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, choose.choice([2e-6, 1e-5, 3e-5, 1e-4]))
        try:
            return operation()
        except AscendError as error:
            assert str(error)
        finally:
            armed = False
    except Interruption:
        interruptions += 1
    return None

before = left()

def play():
    streams, memory = [Stream() for _ in range(3)], [Buffer(1 << 12) for _ in range(3)]
    busy, gate, opener = Stream(), Event(manual_reset=True), Stream()
    busy.wait(gate, timeout=float("inf"))
    host, kept, pending = PinnedBuffer(1 << 12), [], []

    def submit():
        buffer = Buffer(1 << 12)
        fill_async(buffer, 1, busy)
        return buffer

    def context():
        with Context(0) as inner:
            Stream().record()
        inner.close()

    def capture():
        with Stream() as stream, stream.capture() as graph:
            fill_async(memory[0], 1, stream)
        graph.close()

    def current():
        with Stream() as stream, stream.as_current():
            fill_async(memory[0], 1)

    operations = [
        Stream, Event, lambda: Event(timing=True), Notify, lambda: Buffer(2 << 20), lambda: PinnedBuffer(4096),
        lambda: Buffer.from_array(np.zeros(4096, np.uint8)), lambda: PhysicalMemory(2 << 20, device),
        lambda: Stream().close(), lambda: Buffer(1 << 20).close(), lambda: Event().close(),
        lambda: MemoryPool(device).allocate(1 << 16, choose.choice(streams)),
        lambda: choose.choice(streams).record(), lambda: choose.choice(streams).wait(choose.choice(streams).record()),
        lambda: choose.choice(streams).synchronize(), lambda: choose.choice(streams).synchronize(timeout=1),
        lambda: choose.choice(streams).record().synchronize(),
        lambda: copy_async(choose.choice(memory), host, choose.choice(streams)),
        lambda: fill_async(choose.choice(memory)[8:64], 7, stream=choose.choice(streams)),
        lambda: copy(choose.choice(memory), host), lambda: choose.choice(streams).launch_host_func(int),
        context, capture, current,
    ]
    for step in range(300):
        if choose.random() < 0.1:
            buffer = interrupted(submit)
            if buffer is not None:
                pending.append(weakref.ref(buffer))
            del buffer
        else:
            operation = choose.choice(operations)
            kept.append(interrupted(operation))
        if len(kept) > 20:
            del kept[choose.randrange(20)]
        assert all(reference() is not None for reference in pending), "released before its task was done"
    signal.setitimer(signal.ITIMER_REAL, 0)
    gate.record(opener)
    busy.synchronize()
    gc.collect()
    assert not any(reference() is not None for reference in pending), "kept after its task was done"

play()
after = left()
assert after == before, (before, after)
assert interruptions > 10, interruptions  # else nothing was tried
"""


def test_nothing_is_lost_and_nothing_released_early(attack: Callable[..., str]) -> None:
    for seed in seeds(6):
        assert attack(SCRIPT, seed) == ""
