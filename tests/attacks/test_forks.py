# SPDX-License-Identifier: Apache-2.0
"""Forks while threads are anywhere in the package: the child gets an error and ends, and the parent goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.effort import seeds

pytestmark = [pytest.mark.simulator("internals"), pytest.mark.full]

SCRIPT = """
faulthandler.register(signal.SIGALRM, chain=True)
stop, ready = threading.Event(), threading.Semaphore(0)
stream, memory = Stream(), Buffer(1 << 12)

def busy(number):
    choose = random.Random(seed * 4 + number)
    device.set_current()
    mine = Stream()
    operations = [
        lambda: memory[choose.randrange(64) :].nbytes,
        lambda: Buffer(1 << 12).close(),
        lambda: Stream().record().synchronize(),
        lambda: fill_async(memory, 1, mine),
        lambda: mine.synchronize(timeout=5),
        lambda: MemoryPool(device).allocate(4096, mine),
        lambda: device.memory_info,
        lambda: mine.launch_host_func(int),
        lambda: Event.from_handle(mine.record().handle),
        lambda: rt.supports("aclInit") and rt.version(),
    ]
    for operation in operations:  # an import is Python's own lock, which a child does not renew
        operation()
    ready.release()
    while not stop.is_set():
        choose.choice(operations)()

def child():
    used = [
        lambda: stream.record(), lambda: Stream(), lambda: memory[8:16], lambda: Buffer(64), lambda: copy(memory, b"x"),
        lambda: stream.synchronize(timeout=1), lambda: Device(0).synchronize(), lambda: lib.aclrtSetDevice(0),
        lambda: rt.version(), lambda: stream.close(), lambda: memory.close(), gc.collect,
    ]
    for use in choose.sample(used, len(used)):
        with contextlib.suppress(AscendError):
            use()
    os._exit(0)

threads = [threading.Thread(target=busy, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    ready.acquire()
try:
    for _ in range(25):
        pid = os.fork()
        if not pid:
            signal.alarm(30)  # shows where a child that hangs waits, and ends it
            child()
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert status == 0, status
finally:
    stop.set()
    for thread in threads:
        thread.join()
stream.synchronize()
"""


def test_children_end_and_the_parent_goes_on(attack: Callable[..., str]) -> None:
    for seed in seeds(4):
        assert attack(SCRIPT, seed) == ""
