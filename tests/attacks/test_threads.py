# SPDX-License-Identifier: Apache-2.0
"""Threads that use, close and discard the same objects: errors with a text, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.effort import seeds

pytestmark = [pytest.mark.simulator("internals"), pytest.mark.full]

SCRIPT = """
before = left()
failed = []

def play():
    shared = {}  # which every thread reads and replaces
    makers = {
        "stream": Stream,
        "event": Event,
        "timed": lambda: Event(timing=True),
        "buffer": lambda: Buffer(1 << 12),
        "pinned": lambda: PinnedBuffer(1 << 12),
        "notify": Notify,
        "pool": lambda: MemoryPool(device),
    }
    for name, make in makers.items():
        shared[name] = make()
    start = threading.Barrier(6)

    def run(number):
        choose = random.Random(seed * 6 + number)
        device.set_current()
        operations = [
            lambda: shared["event"].record(shared["stream"]),
            lambda: shared["stream"].record(shared["timed"]),
            lambda: shared["stream"].wait(shared["event"], timeout=5),
            lambda: shared["stream"].synchronize(timeout=5),
            lambda: shared["event"].synchronize(timeout=5),
            lambda: shared["event"].is_done,
            lambda: fill_async(shared["buffer"], 3, shared["stream"]),
            lambda: copy_async(shared["buffer"], shared["pinned"], shared["stream"]),
            lambda: copy(shared["pinned"], shared["buffer"]),
            lambda: shared["buffer"][16:64][8:].nbytes,
            lambda: fill_async(shared["pool"].allocate(4096, shared["stream"]), 1, shared["stream"]),
            lambda: shared["stream"].launch_host_func(int),
            lambda: shared["notify"].record(shared["stream"]),
            lambda: shared["timed"].elapsed_time_since(shared["timed"]) if hasattr(Event, "elapsed_time_since") else 0,
            lambda: repr(shared["stream"]) + repr(shared["buffer"]) + repr(shared["event"]),
            gc.collect,
        ]
        start.wait()
        for step in range(400):
            try:
                if choose.random() < 0.1:
                    name = choose.choice(list(makers))
                    old, shared[name] = shared[name], makers[name]()
                    if choose.random() < 0.5:
                        old.close()
                else:
                    choose.choice(operations)()
            except AscendError as error:
                assert str(error)
            except BaseException as error:
                failed.append(error)
                raise

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for it in shared.values():
        with contextlib.suppress(AscendError):
            it.close()

play()
assert not failed
after = left()
assert after == before, (before, after)
"""


def test_threads_share_handles(attack: Callable[..., str]) -> None:
    for seed in seeds(4):
        assert attack(SCRIPT, seed) == ""
