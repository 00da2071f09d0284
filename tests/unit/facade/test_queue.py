# SPDX-License-Identifier: Apache-2.0
"""Queues of arrays: order, types, limits of time, asyncio, routes, and several processes."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ascend_rt import Device, Queue
from ascend_rt.errors import AclError, ClosedError, InvalidArgument, NotSupported, Timeout

NO_QUEUE = 507899
ON_DEVICE = {"ASCEND_RT_SIM_QUEUES": "device"}


@pytest.fixture
def queue(device: Device) -> Iterator[Queue]:
    with Queue(depth=4) as queue:
        yield queue


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=np.float32).reshape(3, 4),
        np.arange(12, dtype=">i2").reshape(3, 4)[:, ::2],
        np.array(7),
        np.array([1 + 2j]),
        np.zeros((1,) * 30, np.bool_),
        np.zeros((3, 0, 2), np.int8),
        np.array([], np.float64),
        np.arange(300_000),
        [[1, 2], [3, 4]],
    ],
    ids=lambda array: str(np.asarray(array).dtype) + str(np.asarray(array).ndim),
)
def test_an_array_arrives_as_it_was_put(queue: Queue, array: Any) -> None:
    queue.put(array)
    got = queue.get()
    assert got.dtype == np.asarray(array).dtype.newbyteorder("=")
    assert got.shape == np.shape(array)
    assert np.array_equal(got, array)
    got[...] = got  # may be changed


@pytest.mark.parametrize(
    ("array", "error"),
    [
        (np.array([object()]), TypeError),
        (np.zeros(2, "i4,f8"), TypeError),
        (np.array(["2026-08-01"], "datetime64[D]"), TypeError),
        (np.zeros((1,) * 60), ValueError),
    ],
)
def test_arrays_that_cannot_be_messages(queue: Queue, array: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        queue.put(array)
    with pytest.raises(Timeout):
        queue.get(0)


@pytest.mark.parametrize("depth", [0, 1, 8193])
def test_a_depth_has_limits(device: Device, depth: int) -> None:
    with pytest.raises(InvalidArgument):
        Queue(depth)


def test_a_name_has_limits(device: Device) -> None:
    Queue(2, "n" * 127).close()
    with pytest.raises(ValueError, match="at most 127 bytes"):
        Queue(2, "n" * 128)
    with pytest.raises(TypeError, match="expected a name of type str, got int"):
        Queue(2, 1)
    with pytest.raises(TypeError, match="expected a Queue, got int"), Queue(2) as queue:
        queue.forward_to(1)


def test_limits_of_time(queue: Queue) -> None:
    with pytest.raises(Timeout, match="no message"):
        queue.get(0.03)
    for number in range(4):
        queue.put(number, timeout=0)
    with pytest.raises(Timeout, match="no room"):
        queue.put(4, timeout=0.03)
    assert [int(queue.get()) for _ in range(4)] == [0, 1, 2, 3]
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match="timeout"):
            queue.get(wrong)


def test_iteration_ends_at_the_mark(queue: Queue) -> None:
    def produce() -> None:
        Device(0).set_current()
        for number in range(20):
            queue.put(number)
        queue.put_end()

    producer = threading.Thread(target=produce)
    producer.start()
    assert [int(array) for array in queue] == list(range(20))
    producer.join()
    queue.put_end()
    with pytest.raises(EOFError):
        queue.get()


def test_bytes_without_a_description(lib: Any, ffi: Any, queue: Queue) -> None:
    for user_data in (b"", b"what|ever", b"0|3,-1", b"|1", b"0|2", b"99|1", b"-1|", b"0|9" * 10):
        assert lib.acltdtEnqueueData(queue.number, b"data", 4, user_data or ffi.NULL, len(user_data), 0, 0) == 0
        assert queue.get().tolist() == list(b"data")


def test_asyncio(queue: Queue) -> None:
    async def produce() -> None:
        for number in range(20):
            await queue.put_async(number)
        await queue.put_end_async()

    async def consume() -> list[int]:
        producing = asyncio.ensure_future(produce())
        numbers = [int(array) async for array in queue]
        await producing
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(queue.get_async(), 0.01)
        await queue.put_async(99)
        return [*numbers, int(await queue.get_async())]

    assert asyncio.run(consume()) == [*range(20), 99]


def test_ctrl_c_ends_a_wait(queue: Queue) -> None:
    class Interrupt(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    timer = threading.Timer(0.05, signal.pthread_kill, (threading.main_thread().ident, signal.SIGUSR1))
    timer.start()
    try:
        with pytest.raises(Interrupt):
            queue.get()
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    queue.put(1)
    assert queue.get() == 1


def test_a_closed_queue(device: Device) -> None:
    queue = Queue()
    assert not queue.is_closed
    queue.close()
    queue.close()
    assert queue.is_closed
    for use in (queue.get, lambda: queue.put(1), lambda: queue.number, queue.put_end, lambda: queue.forward_to(queue)):
        with pytest.raises(ClosedError):
            use()
    assert "closed" in repr(queue)


def test_a_wait_ends_with_the_queue(device: Device) -> None:
    queue = Queue()
    errors: list[AclError | ClosedError] = []
    begins = threading.Event()

    def wait() -> None:
        Device(0).set_current()
        begins.set()
        try:
            queue.get()
        except (AclError, ClosedError) as error:
            errors.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    begins.wait()
    queue.close()
    waiting.join()
    assert [type(error) for error in errors] in ([AclError], [ClosedError])


def test_routes(device: Device) -> None:
    with Queue() as source, Queue() as left, Queue() as right:
        source.forward_to(left, right)
        source.put([1, 2])
        for queue in (left, right):
            assert queue.get(0).tolist() == [1, 2]
        with pytest.raises(AclError, match="cycle"):
            left.forward_to(source)
        with pytest.raises(AclError, match="route"):
            left.close()
        source.stop_forwarding(left)
        source.put(3)
        assert right.get(0) == 3
        with pytest.raises(Timeout):
            left.get(0)
        source.stop_forwarding(right, left)  # the second time, too


@pytest.mark.simulator("products", "a host is recorded")
def test_a_host_has_no_rights(queue: Queue) -> None:
    for call in (
        lambda: queue.grant(os.getpid(), put=True),
        lambda: Queue.attach(queue.number, 0),
        lambda: queue.rights,
    ):
        with pytest.raises(NotSupported):
            call()


# --- processes -------------------------------------------------------------------------------------------------------


@pytest.fixture
def owner(new_process: Callable[..., Any]) -> Any:
    owner = new_process(**ON_DEVICE)
    owner("objects.update(np=__import__('numpy'), q=rt.Queue(depth=4))")
    return owner


@pytest.fixture
def user(new_process: Callable[..., Any]) -> Any:
    user = new_process(**ON_DEVICE)
    user("objects.update(np=__import__('numpy'))")
    return user


@pytest.mark.simulator("products", "the program runs on a host")
def test_processes_share_a_queue(owner: Any, user: Any) -> None:
    number = owner("objects['q'].number")
    process = user("__import__('os').getpid()")
    assert user(f"code_of(lambda: rt.Queue.attach({number}, 0))") == "207006"
    assert owner(f"objects['q'].grant({process}, get=True)") == "None"
    assert user(f"objects.update(q=rt.Queue.attach({number}))") == "None"
    assert user("sorted(objects['q'].rights)") == "['get']"
    assert owner("objects['q'].put(objects['np'].arange(6).reshape(2, 3))") == "None"
    assert owner("objects['q'].put(objects['np'].ones(100_000))") == "None"
    assert user("objects['q'].get().tolist()") == "[[0, 1, 2], [3, 4, 5]]"
    assert user("objects['q'].get().sum()") == "100000.0"
    assert user("code_of(lambda: objects['q'].put(1))") == "207006"
    assert owner(f"objects['q'].grant({process}, put=True)") == "None"
    assert user("objects['q'].put([7])") == "None"
    assert owner("objects['q'].get().tolist()") == "[7]"
    assert owner("objects['q'].close()") == "None"
    assert user("code_of(lambda: objects['q'].put(1))") == str(NO_QUEUE)
    assert user("objects['q'].close()") == "None"


@pytest.mark.simulator("products", "the program runs on a host")
def test_a_killed_process_is_a_code(owner: Any, user: Any) -> None:
    number, process = owner("objects['q'].number"), user("__import__('os').getpid()")
    assert owner(f"objects['q'].grant({process}, put=True)") == "None"
    assert user(f"objects.update(q=rt.Queue.attach({number})) or objects['q'].put([1])") == "None"
    user.kill()
    assert owner("objects['q'].get().tolist()") == "[1]"
    wait = "lib.acltdtDequeueData({0}, ffi.new('char[8]'), 8, ffi.new('size_t *'), ffi.NULL, 0, {1})"
    assert owner("code_of(objects['q'].get)") == str(NO_QUEUE)
    assert owner(wait.format(number, 1)) == "207013"  # said once


@pytest.mark.simulator("products", "the program runs on a host")
def test_a_killed_process_ends_a_wait_of_asyncio(owner: Any, user: Any) -> None:
    number, process = owner("objects['q'].number"), user("__import__('os').getpid()")
    assert owner(f"objects['q'].grant({process}, put=True)") == "None"
    assert user(f"objects.update(q=rt.Queue.attach({number}))") == "None"
    user.kill()
    assert owner("code_of(lambda: __import__('asyncio').run(objects['q'].get_async()))") == str(NO_QUEUE)
