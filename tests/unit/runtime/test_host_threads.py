# SPDX-License-Identifier: Apache-2.0
"""The race check follows order between Python threads, and assumes none where there is none."""

from __future__ import annotations

import _thread
import asyncio
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ascend_rt
from ascend_rt import Device, lib
from ascend_rt._runtime.driver import address
from ascend_rt._startup import host_threads


class Order:
    """The order of steps, by the handovers that were noted."""

    def __init__(self) -> None:
        self.known: dict[int, set[str]] = {}  # by thread
        self.handed: dict[int, set[str]] = {}  # by key

    def release(self, key: Any) -> int:
        self.handed.setdefault(address(key), set()).update(self.mine())
        return 0

    def acquire(self, key: Any) -> int:
        self.mine().update(self.handed.get(address(key), ()))
        return 0

    def mine(self) -> set[str]:
        return self.known.setdefault(_thread.get_ident(), set())

    def note(self, step: str) -> None:
        self.mine().add(step)

    def knows(self, step: str) -> bool:
        return step in self.mine()


@pytest.fixture
def order(device: Device) -> Iterator[Order]:
    it = Order()
    with (
        lib.override("aclsimNoteHostRelease", it.release),
        lib.override("aclsimNoteHostAcquire", it.acquire),
    ):
        host_threads.install()
        try:
            yield it
        finally:
            host_threads.uninstall()


def in_raw_thread(*steps: Callable[[], Any]) -> Any:
    """Run steps in a thread that nothing orders, and return the result of the last."""
    done = _thread.allocate_lock()
    done.acquire()
    results: list[Any] = []

    def target() -> None:
        try:
            results.extend(step() for step in steps)
        finally:
            done.release()

    _thread.start_new_thread(target, ())
    done.acquire()
    return results[-1]


def test_a_thread_comes_after_its_start_and_before_its_join(order: Order) -> None:
    order.note("start")
    seen: list[bool] = []

    def run() -> None:
        seen.append(order.knows("start"))
        order.note("run")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [True]
    assert order.knows("run")


def test_a_thread_that_is_not_joined_is_not_before(order: Order) -> None:
    go, thread = _thread.allocate_lock(), threading.Thread(target=lambda: order.note("run"))
    go.acquire()
    thread.start()
    in_raw_thread(thread.join)  # another thread has joined it
    assert not order.knows("run")
    assert not thread.is_alive()
    assert order.knows("run")


def by_lock(make: Callable[[], Any]) -> Callable[[Order], None]:
    def run(order: Order) -> None:
        lock = make()

        def first() -> None:
            with lock:
                order.note("first")

        in_raw_thread(first)
        assert not order.knows("first")
        assert lock.acquire()
        assert order.knows("first")
        lock.release()

    return run


def by_semaphore(order: Order) -> None:
    semaphore = threading.Semaphore(0)
    in_raw_thread(lambda: order.note("first"), semaphore.release)
    semaphore.acquire()


def by_event(order: Order) -> None:
    event = threading.Event()
    in_raw_thread(lambda: order.note("first"), event.set)
    assert event.is_set()


def by_waiting_for_an_event(order: Order) -> None:
    event = threading.Event()
    in_raw_thread(lambda: order.note("first"), event.set)
    assert event.wait()


def by_condition(order: Order) -> None:
    condition, steps = threading.Condition(), []

    def first() -> None:
        with condition:
            order.note("first")
            steps.append(1)
            condition.notify()

    with condition:
        _thread.start_new_thread(first, ())
        condition.wait_for(lambda: steps)


def by_barrier(order: Order) -> None:
    barrier = threading.Barrier(2)

    def first() -> None:
        order.note("first")
        barrier.wait()

    _thread.start_new_thread(first, ())
    barrier.wait()


def by_queue(make: Callable[[], Any]) -> Callable[[Order], None]:
    def run(order: Order) -> None:
        items = make()
        in_raw_thread(lambda: order.note("first"), lambda: items.put(object()))
        items.get()

    return run


def by_joining_a_queue(order: Order) -> None:
    items: queue.Queue[int] = queue.Queue()
    items.put(1)
    in_raw_thread(items.get, lambda: order.note("first"), items.task_done)
    items.join()


def by_future(order: Order) -> None:
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(order.note, "first")
        future.result()
        assert order.knows("first")


def by_future_that_is_done(order: Order) -> None:
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(order.note, "first")
        in_raw_thread(future.result)
        assert not order.knows("first")
        assert future.done()
        assert order.knows("first")


def by_event_loop(order: Order) -> None:
    async def main() -> None:
        await asyncio.get_running_loop().run_in_executor(None, order.note, "first")
        assert order.knows("first")

    asyncio.run(main())


def by_call_into_an_event_loop(order: Order) -> None:
    loop = asyncio.new_event_loop()
    in_raw_thread(lambda: order.note("first"), lambda: loop.call_soon_threadsafe(loop.stop))
    loop.run_forever()
    loop.close()


HANDOVERS: dict[str, Callable[[Order], None]] = {
    "lock": by_lock(lambda: threading.Lock()),
    "rlock": by_lock(lambda: threading.RLock()),
    "condition as a lock": by_lock(lambda: threading.Condition()),
    "semaphore": by_semaphore,
    "event": by_event,
    "event wait": by_waiting_for_an_event,
    "condition": by_condition,
    "barrier": by_barrier,
    "queue": by_queue(lambda: queue.Queue()),
    "last in, first out": by_queue(lambda: queue.LifoQueue()),
    "simple queue": by_queue(lambda: queue.SimpleQueue()),
    "queue join": by_joining_a_queue,
    "future": by_future,
    "done future": by_future_that_is_done,
    "event loop": by_event_loop,
    "call_soon_threadsafe": by_call_into_an_event_loop,
}


@pytest.mark.parametrize("hand_over", HANDOVERS.values(), ids=HANDOVERS)
def test_a_handover_orders(order: Order, hand_over: Callable[[Order], None]) -> None:
    assert not order.knows("first")
    hand_over(order)
    assert order.knows("first")


@pytest.mark.parametrize("make", [lambda: queue.Queue(), lambda: queue.SimpleQueue()], ids=["queue", "simple"])
def test_a_queue_orders_by_its_items(order: Order, make: Callable[[], Any]) -> None:
    items = make()
    in_raw_thread(lambda: items.put(object()))
    in_raw_thread(lambda: order.note("second"), lambda: items.put(object()))
    items.get()
    assert not order.knows("second")
    items.get()
    assert order.knows("second")


def test_the_lock_of_an_executor_orders_nothing(order: Order) -> None:
    with ThreadPoolExecutor(1) as pool:
        in_raw_thread(lambda: order.note("other"), lambda: pool.submit(int))
        pool.submit(int)
        assert not order.knows("other")


def test_locks_behave_as_those_of_python(order: Order) -> None:
    lock = threading.Lock()
    assert lock.acquire(timeout=1)
    assert lock.locked()
    assert not lock.acquire(blocking=False)
    lock.release()
    with pytest.raises(RuntimeError):
        lock.release()
    nested = threading.RLock()
    with nested, nested:
        assert not in_raw_thread(lambda: nested.acquire(blocking=False))


def test_everything_is_put_back() -> None:
    names = [(threading, "Lock"), (threading, "RLock"), (queue, "SimpleQueue"), (threading.Thread, "start")]
    before = [getattr(*name) for name in names]
    host_threads.install()
    assert [getattr(*name) for name in names] != before
    host_threads.uninstall()
    assert [getattr(*name) for name in names] == before


def test_a_program_starts_with_it() -> None:
    site = Path(ascend_rt.__file__).parent / "_startup" / "site"
    program = (
        "import sys, threading; print(type(threading.Lock()).__module__, 'ascend_rt' in sys.modules); "
        "t = threading.Thread(target=print, args=('ran',)); t.start(); t.join()"
    )
    environment = os.environ | {"PYTHONPATH": str(site), "ASCEND_RT_SIM_CHECK": "races"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["ascend_rt._startup.host_threads False", "ran"]
    assert done.stderr == ""
