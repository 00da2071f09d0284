# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt check``: order between threads of the program and host functions, with and without ``--host-threads``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.simulator("race check")


def expect_status(status: int, run, tmp_path: Path, program: str, *options: str) -> None:
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", *options, "train.py")
    assert done.returncode == status, done.stderr


HAND_OVER = """\
import threading
from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async, fill_async

Device(0).set_current()


def main():
    a, b, memory, source, done = Stream(), Stream(), Buffer(4096), PinnedBuffer(4096), threading.Event()
    BEFORE
    a.launch_host_func(done.set)
    BEHIND
    assert done.wait(60)
    fill_async(memory, 1, b)
    a.synchronize()
    b.synchronize()
"""
COPY = "copy_async(memory, source, a)"


def test_a_thread_follows_a_host_function_that_it_waits_for(run, tmp_path: Path) -> None:
    ordered = HAND_OVER.replace("BEFORE", COPY).replace("BEHIND", "")
    late = HAND_OVER.replace("BEHIND", COPY).replace("BEFORE", "")
    for program, status in ((ordered, 0), (late, 1)):
        (tmp_path / "train.py").write_text(f"{program}\n\nmain()\n", encoding="utf-8")
        (tmp_path / "test_train.py").write_text(program.replace("def main", "def test_main"), encoding="utf-8")
        done = run("-m", "ascend_rt", "check", "--backend", "sim", "train.py")
        assert done.returncode == status, done.stderr
        tested = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "--ascend-check", ASCEND_RT_BACKEND="sim")
        assert tested.returncode == status, tested.stdout


GATE = """\
import queue, threading
from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async

Device(0).set_current()
stream, memory, pinned = Stream(), Buffer(4096), PinnedBuffer(4096)
event, items = threading.Event(), queue.Queue()
stream.launch_host_func(GATE)
copy_async(memory, pinned, stream)
BEFORE
event.set()
items.put(1)
BEHIND
stream.synchronize()
"""


@pytest.mark.parametrize("gate", ["event.wait", "lambda: items.get()"])
def test_what_follows_a_host_function_follows_what_it_waited_for(run, tmp_path: Path, gate: str) -> None:
    write = "pinned[:] = 1"
    program = GATE.replace("GATE", gate)
    ordered = program.replace("BEFORE", write).replace("BEHIND", "")
    late = program.replace("BEFORE", "").replace("BEHIND", write)
    # Without the option, a gate that the program opens late does not hide a missing wait.
    for text, options, status in ((ordered, ["--host-threads"], 0), (late, ["--host-threads"], 1), (ordered, [], 1)):
        expect_status(status, run, tmp_path, text, *options)


LOCKS = """\
import threading, time
from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async

Device(0).set_current()
stream, memory, pinned = Stream(), Buffer(4096), PinnedBuffer(4096)
lock, written = threading.Lock(), []


def use_lock():
    while not written:
        time.sleep(0)
    for _ in range(2):
        with lock:
            pass


stream.launch_host_func(use_lock)
copy_async(memory, pinned, stream)
pinned[:] = 1
written.append(True)
stream.synchronize()
"""


def test_a_host_function_that_is_late_knows_no_more_of_the_host(run, tmp_path: Path) -> None:
    expect_status(1, run, tmp_path, LOCKS)


# Pipes between the threads are not followed: only the stream orders what the other thread submits behind the wait.
WAIT_OF_ANOTHER_THREAD = """\
import os, threading
from ascend_rt import Buffer, Device, Event, Stream, fill_async

device = Device(0)
device.set_current()
first, second, third, event, memory = Stream(), Stream(), Stream(), Event(), Buffer(64)
goes, go = os.pipe()
opens, open_ = os.pipe()


def other():
    device.set_current()
    os.read(goes, 1)
    fill_async(memory, 2, first)


thread = threading.Thread(target=other)
thread.start()
BEFORE
event.record(second)
AFTER
fill_async(memory, 1, third)
third.synchronize()
first.wait(event)
os.write(go, b"g")
thread.join()
os.write(open_, b"o")
first.synchronize()
"""


@pytest.mark.parametrize("is_pending", [True, False])
def test_a_wait_brings_what_its_thread_knew_whether_its_record_is_over(run, tmp_path: Path, is_pending: bool) -> None:
    before, after = (
        ("second.launch_host_func(lambda: os.read(opens, 1))", "") if is_pending else ("", "event.synchronize()")
    )
    program = WAIT_OF_ANOTHER_THREAD.replace("BEFORE", before).replace("AFTER", after)
    expect_status(0, run, tmp_path, program, "--host-threads")


OLD_RECORD = """\
import os, threading
from ascend_rt import Buffer, Device, Event, PinnedBuffer, Stream, fill_async

device = Device(0)
device.set_current()
stream, event, pinned, memory = Stream(), Event(), PinnedBuffer(4096), Buffer(64)
goes, go = os.pipe()


def other():
    device.set_current()
    pinned[:] = 1
    event.record(stream)
    for _ in range(1100):  # more than are remembered
        fill_async(memory, 0, stream)
    os.write(go, b"g")


thread = threading.Thread(target=other)
thread.start()
os.read(goes, 1)
event.synchronize()
pinned[:] = 2
thread.join()
"""


def test_a_record_may_have_many_tasks_behind_it(run, tmp_path: Path) -> None:
    expect_status(0, run, tmp_path, OLD_RECORD, "--host-threads")


CLOSED_BY_A_THREAD = """\
import os, threading
from ascend_rt import Buffer, Device, Event, PinnedBuffer, Stream, copy_async, fill_async

device = Device(0)
device.set_current()
b, filled, buffer, out = Stream(), Event(), Buffer(4096), PinnedBuffer(4096)
recorded, waits = threading.Event(), threading.Event()
is_closed, closes = os.pipe()  # orders nothing that the check follows


def produce():
    device.set_current()
    with Stream() as a:
        fill_async(buffer, 1, a)
        filled.record(a)
        recorded.set()
        waits.wait()
    os.write(closes, b"1")


thread = threading.Thread(target=produce)
thread.start()
recorded.wait()
b.wait(filled)
waits.set()
os.read(is_closed, 1)
copy_async(out, buffer, b)
b.synchronize()
thread.join()
"""


def test_a_wait_is_bound_to_a_record_of_a_stream_that_another_thread_has_closed(run, tmp_path: Path) -> None:
    expect_status(0, run, tmp_path, CLOSED_BY_A_THREAD, "--host-threads")


WAIT_FOR_A_CLOSED_STREAM = """\
import os, threading
from ascend_rt import Buffer, Device, Event, PinnedBuffer, Stream, copy_async, fill_async

device = Device(0)
device.set_current()
b, filled, own, of_another = Stream(), Event(), Buffer(4096), Buffer(4096)
source, target = PinnedBuffer(4096), Buffer(4096)
is_closed, closes = os.pipe()  # orders nothing that the check follows


def produce():
    device.set_current()
    with Stream() as a, Stream() as other:
        fill_async(of_another, 1, other)
        a.wait(other)
        source[:] = 1
        fill_async(own, 1, a)
        filled.record(a)
    os.write(closes, b"1")


thread = threading.Thread(target=produce)
thread.start()
os.read(is_closed, 1)
b.wait(filled)
for memory in (own, of_another, source):
    copy_async(target, memory, b)
b.synchronize()
thread.join()
"""


def test_the_record_of_a_stream_that_a_thread_has_closed_brings_all_before_it(run, tmp_path: Path) -> None:
    expect_status(0, run, tmp_path, WAIT_FOR_A_CLOSED_STREAM, "--host-threads")


NEXT_TASK = """\
import os, threading
from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async, fill_async

device = Device(0)
device.set_current()
pinned, memory, other = PinnedBuffer(4096), Buffer(4096), Buffer(4096)
stream = Stream()
goes, go = os.pipe()  # orders nothing that the check follows


def work():
    device.set_current()
    pinned[:] = 1
    fill_async(other, 1, stream)
    os.write(go, b"1")


thread = threading.Thread(target=work)
thread.start()
os.read(goes, 1)
copy_async(memory, pinned, stream)
stream.synchronize()
thread.join()
"""


def test_a_task_follows_what_the_thread_knew_that_submitted_the_former_one(run, tmp_path: Path) -> None:
    expect_status(0, run, tmp_path, NEXT_TASK, "--host-threads")


# Each function lets another thread run a function, and waits for that by other means.
HANDOVERS = """\
import asyncio, queue, threading
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async

device = Device(0)
device.set_current()
memory, out, streams = Buffer(4096), PinnedBuffer(4096), []


def by_lock(run):
    lock, runs = threading.Lock(), []
    def work():
        with lock:
            runs.append(1)
    run(work)
    while True:
        with lock:
            if runs:
                return


def by_condition(run):
    condition, runs = threading.Condition(), []
    def work():
        with condition:
            runs.append(1)
            condition.notify()
    run(work)
    with condition:
        assert condition.wait_for(lambda: runs, 60)


def by_semaphore(run):
    semaphore = threading.Semaphore(0)
    run(semaphore.release)
    assert semaphore.acquire(timeout=60)


def by_barrier(run):
    barrier = threading.Barrier(2)
    run(barrier.wait)
    barrier.wait(60)


def by_event(run):
    event = threading.Event()
    run(event.set)
    assert event.wait(60)


def by_future(run):
    future = Future()
    run(lambda: future.set_result(1))
    assert future.result(60)


def by_polled_future(run):
    future = Future()
    run(lambda: future.set_result(1))
    while not future.done():
        pass


def by_polled_event(run):
    event = threading.Event()
    run(event.set)
    while not event.is_set():
        pass


def by_queue(run):
    items = queue.Queue()
    run(lambda: items.put([1]))
    items.get()


def by_simple_queue(run):
    items = queue.SimpleQueue()
    run(lambda: items.put([1]))
    items.get()


def by_end_of_queue(run):
    items = queue.Queue()
    items.put([1])
    run(items.task_done)
    items.join()


def by_event_loop(run):
    async def wait_for_call():
        loop, called = asyncio.get_running_loop(), asyncio.Event()
        run(lambda: loop.call_soon_threadsafe(called.set))
        await called.wait()
    asyncio.run(wait_for_call())


ways = [by_lock, by_condition, by_semaphore, by_event, by_future, by_polled_future, by_polled_event]
ways += [by_queue, by_simple_queue, by_end_of_queue, by_event_loop]
"""

OF_HOST_FUNCTIONS = """

stream = Stream()
for hand_over in ways:
    copy_async(out, memory, stream)
    hand_over(stream.launch_host_func)
    out[:] = 1
"""

OF_THREADS = """

def fetch():
    device.set_current()
    streams.append(Stream())
    copy_async(out, memory, streams[-1])
    streams[-1].synchronize()


def start(then):
    def work():
        fetch()
        then()
    threads.append(threading.Thread(target=work))
    threads[-1].start()


threads = []


def by_end(run):
    run(lambda: None)
    threads[-1].join()


def by_polled_end(run):
    run(lambda: None)
    while threads[-1].is_alive():
        pass


for hand_over in (*ways, by_barrier, by_end, by_polled_end):
    hand_over(start)
    out[:] = 1
with ThreadPoolExecutor(1) as pool:
    for waits in (wait, lambda them: list(as_completed(them)), lambda them: them[0].result()):
        waits([pool.submit(fetch)])
        out[:] = 1
    list(pool.map(lambda _: fetch(), range(1)))
    out[:] = 1
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize(
    ("program", "options"),
    [(OF_HOST_FUNCTIONS, ()), (OF_THREADS, ("--host-threads",))],
    ids=["host functions", "threads"],
)
def test_what_python_orders_threads_by_is_followed(run, tmp_path: Path, program: str, options: tuple[str, ...]) -> None:
    (tmp_path / "train.py").write_text(HANDOVERS + program, encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", *options, "train.py")
    assert (done.returncode, done.stderr.splitlines()[-1][:11]) == (0, "no findings"), done.stderr


UNORDERED_THREADS = """\
import os, threading
from ascend_rt import Buffer, Device, Stream, fill_async

device = Device(0)
device.set_current()
memory = Buffer(4096)
has_filled, fills = os.pipe()  # orders nothing that the check follows


def work():
    device.set_current()
    with Stream() as stream:
        fill_async(memory, 1, stream)  # first
        stream.synchronize()
    os.write(fills, b"1")


thread = threading.Thread(target=work)
thread.start()
os.read(has_filled, 1)
with Stream() as stream:
    fill_async(memory, 2, stream)  # second
    stream.synchronize()
thread.join()
"""


def test_a_stream_that_another_thread_has_closed_orders_nothing_for_this_one(run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(UNORDERED_THREADS, encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", "--host-threads", "--format", "json", "train.py")
    (found,) = json.loads(done.stdout)["findings"]
    assert found["conflict"] == "write after write"
    assert found["why"]["case"] == "no_wait"


MESSAGES = """\
import asyncio, os, threading
from ascend_rt import Buffer, Channel, Device, PinnedBuffer, Queue, Stream, copy_async

device = Device(0)
device.set_current()
stream, other, memory, source, out = Stream(), Stream(), Buffer(4096), PinnedBuffer(4096), PinnedBuffer(4096)
link = MAKE
may_send, send = os.pipe()  # orders nothing that the check follows
has_sent, sent = os.pipe()


def work():
    copy_async(memory, source, stream)
    stream.synchronize()


def produce():
    device.set_current()
    os.read(may_send, 1)
    EARLY
    link.SEND([1])
    LATE
    link.SEND([2])
    os.write(sent, b"1")


def let_send():
    os.write(send, b"1")
    os.read(has_sent, 1)


def receive():
    let_send()
    link.RECEIVE()


async def receive_async():
    let_send()
    await link.RECEIVE_async()


async def wait_async():
    message = asyncio.create_task(link.RECEIVE_async())
    await asyncio.sleep(0)
    let_send()
    await message


thread = threading.Thread(target=produce)
thread.start()
BY
copy_async(out, memory, other)
other.synchronize()
thread.join()
"""
LINKS = {
    "channel": {"MAKE": 'Channel("a", capacity=4)', "SEND": "send", "RECEIVE": "receive"},
    "queue": {"MAKE": "Queue(depth=4)", "SEND": "put", "RECEIVE": "get"},
}


WAYS = ("receive()", "asyncio.run(receive_async())", "asyncio.run(wait_async())")
QUICK = [("channel", WAYS[0]), ("queue", WAYS[1]), ("channel", WAYS[2])]  # each link and each way
MORE_WAYS = [(link, by) for link in LINKS for by in WAYS if (link, by) not in QUICK]


@pytest.mark.parametrize(("link", "by"), [*QUICK, *(pytest.param(*way, marks=pytest.mark.full) for way in MORE_WAYS)])
def test_a_message_brings_what_its_sender_knew_and_nothing_later(run, tmp_path: Path, link: str, by: str) -> None:
    for early, late, status in (("work()", "", 0), ("", "work()", 1)):
        program = MESSAGES
        for name, text in (LINKS[link] | {"EARLY": early, "LATE": late, "BY": by}).items():
            program = program.replace(name, text)
        expect_status(status, run, tmp_path, program, "--host-threads")


UNDER_A_LOCK = """\
import os, threading
from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async

device = Device(0)
device.set_current()
source, memory, lock = PinnedBuffer(4096), Buffer(4096), threading.Lock()
has_come, come = os.pipe()  # orders nothing that the check follows
has_written, written = os.pipe()


def work():
    device.set_current()
    stream = Stream()
    with lock:
        copy_async(memory, source, stream)  # first
    BEFORE
    stream.close()
    AFTER


thread = threading.Thread(target=work)
thread.start()
os.read(has_come, 1)
with lock:
    source[:] = 1  # second
os.write(written, b"1")
thread.join()
"""


def test_the_text_is_the_same_whether_the_other_thread_has_closed_its_stream_or_not(run, tmp_path: Path) -> None:
    come = 'os.write(come, b"1")'
    texts = set()
    for before, after in ((f"{come}; os.read(has_written, 1)", "pass"), ("pass", come)):
        text = UNDER_A_LOCK.replace("BEFORE", before).replace("AFTER", after)
        (tmp_path / "train.py").write_text(text, encoding="utf-8")
        texts.add(run("-m", "ascend_rt", "check", "--backend", "sim", "--host-threads", "train.py").stderr)
    (text,) = texts
    assert "  the host did not synchronize with stream 2\n" in text
    assert "  fix: synchronize stream 2 before line 25, there or in a thread for which that one waits\n" in text
