# SPDX-License-Identifier: Apache-2.0
"""Libraries that misbehave: calls that fail, are slow or never return, and callbacks that come late, at random.

A program on such a library may get errors. It ends, and is not killed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.effort import seeds

pytestmark = [
    pytest.mark.simulator("independent"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the double is an ELF library"),
    pytest.mark.full,
]

# It stays in a call that never returns, so another thread makes the calls.
SCRIPT = """
def work():
    device = Device(0)
    device.set_current()
    a, b, memory, host = Stream(), Stream(), Buffer(1 << 16), PinnedBuffer(1 << 16)
    steps = [
        lambda: copy_async(memory, host, a), lambda: b.wait(a.record()), lambda: copy_async(host, memory, b),
        lambda: fill_async(memory[16:64], 1, stream=b), lambda: a.launch_host_func(int),
        lambda: b.synchronize(timeout=5),
        a.synchronize, lambda: Event(timing=True).record(a), lambda: device.memory_info, lambda: device.synchronize(),
        lambda: Buffer(1 << 20).close(), lambda: Stream().close(), lambda: MemoryPool(device).allocate(4096, a),
        lambda: copy(host, memory), lambda: Notify().close(), lambda: b.record().is_done, gc.collect,
    ]
    for step in range(150):
        with contextlib.suppress(AscendError):
            choose.choice(steps)()

def guarded():
    with contextlib.suppress(AscendError):
        work()
    ended.append(True)

ended = []
thread = threading.Thread(target=guarded, daemon=True)
thread.start()
thread.join(3 if NEVER else 90)
assert NEVER or (ended == [True]), "the work has raised, or has not ended"
print("end", flush=True)
"""
CODES = (107000, 107003, 207000, 207001, 507000, 507015, 507899, 507901, -1, 2**31 - 1)
CALLED = [
    "aclrtCreateStream",
    "aclrtCreateStreamWithConfig",
    "aclrtCreateEventExWithFlag",
    "aclrtMalloc",
    "aclrtMallocHost",
    "aclrtFree",
    "aclrtFreeHost",
    "aclrtMemcpyAsync",
    "aclrtMemsetAsync",
    "aclrtRecordEvent",
    "aclrtStreamWaitEvent",
    "aclrtSynchronizeStream",
    "aclrtSynchronizeStreamWithTimeout",
    "aclrtStreamQuery",
    "aclrtQueryEventStatus",
    "aclrtDestroyStream",
    "aclrtDestroyEvent",
    "aclrtLaunchHostFunc",
    "aclrtSynchronizeDevice",
    "aclrtGetMemInfo",
    "aclrtSetDevice",
    "aclrtGetCurrentContext",
    "aclrtMemcpy",
    "aclrtCreateNotify",
    "aclrtDestroyNotify",
    "aclrtMemPoolCreate",
    "aclrtMemPoolMallocAsync",
    "aclrtResetDevice",
    "aclFinalize",
    "*",
]


def rules(choose: random.Random, values: Callable[[], int], most: int) -> str:
    chosen = [(choose.choice(CALLED), choose.choice((0, 1, 2, 7, 40)), values()) for _ in range(choose.randrange(most))]
    return ";".join(f"{name}:{max(nth, 1) if name == '*' else nth}={value}" for name, nth, value in chosen)


def test_a_program_ends(attack: Callable[..., str], double: Path) -> None:
    for seed in seeds(12):
        choose = random.Random(seed)
        is_never = seed % 4 == 3
        slow = rules(choose, lambda: choose.choice((1, 20)), 4)  # noqa: B023
        never = f"{choose.choice(CALLED[:-1])}:{choose.choice((1, 2, 7))}=-1;" if is_never else ""
        variables: dict[str, Any] = {
            "ASCEND_RT_BACKEND": "cann",
            "ASCEND_RT_LIBRARY": double,
            "ASCEND_RT_DOUBLE_FAIL": rules(choose, lambda: choose.choice(CODES), 4),  # noqa: B023
            "ASCEND_RT_DOUBLE_SLOW": (never + slow).strip(";"),
            "ASCEND_RT_DOUBLE_EXCEPTION_DELAY": choose.choice((0, 300)),
        }
        script = f"NEVER = {is_never}\n" + SCRIPT
        assert attack(script, seed, device=False, **variables).endswith("end\n"), (seed, variables)
