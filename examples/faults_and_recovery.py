# SPDX-License-Identifier: Apache-2.0
"""Recovery from failures: a task is repeated, a stream replaced, less memory allocated, a lost device reset.

The simulator causes the failures; the recovery is the same on an NPU.
"""

from __future__ import annotations

import argparse
from queue import Queue

import numpy as np

from ascend_rt import (
    Buffer,
    Device,
    DeviceLost,
    FailedTask,
    OutOfMemory,
    PinnedBuffer,
    Stream,
    TaskFailed,
    copy,
    copy_async,
    on_task_failed,
    sim,
)

AICORE_EXCEPTION = 507015


def send_with_retries(memory: Buffer, source: PinnedBuffer, stream: Stream, attempts: int) -> None:
    """Copy, and copy again if the task fails: the stream can be used after a failure."""
    for attempt in range(1, attempts + 1):
        copy_async(memory, source, stream)
        try:
            stream.synchronize()
        except TaskFailed as error:
            print(f"attempt {attempt}: {error.name}, {error.task}")
        else:
            print(f"attempt {attempt}: done")
            return
    raise SystemExit(f"{attempts} attempts failed")


def read_back(memory: Buffer) -> np.ndarray:
    received = np.empty(memory.nbytes, np.uint8)
    copy(received, memory)
    return received


def retry_a_task(source: PinnedBuffer, failures: int) -> None:
    print("-- a task fails: the failure is reported, and the stream goes on")
    failed: Queue[FailedTask] = Queue()
    with Stream() as stream, Buffer(source.nbytes) as memory, on_task_failed(failed.put):
        for nth in range(1, failures + 1):
            sim.fail_task(AICORE_EXCEPTION, stream, nth=nth)
        send_with_retries(memory, source, stream, attempts=failures + 1)
        tasks = [failed.get(timeout=10) for _ in range(failures)]
        assert [task.stream for task in tasks] == [stream.id] * failures
        assert np.array_equal(read_back(memory), source)
    print(f"the callback received {len(tasks)} failed tasks")


def replace_a_stream(source: PinnedBuffer) -> None:
    print("-- a stream is closed after a failure and replaced")
    with Buffer(source.nbytes) as memory:
        broken = Stream()
        sim.fail_task(AICORE_EXCEPTION, broken)
        copy_async(memory, source, broken)
        try:
            broken.close()  # raises the failure, because nothing has reported it; the stream is closed nevertheless
        except TaskFailed as error:
            print(f"closed after {error.name}")
        assert broken.is_closed
        with Stream() as stream:
            copy_async(memory, source, stream)
        assert np.array_equal(read_back(memory), source)


def allocate_less(nbytes: int) -> None:
    print("-- an allocation fails, so the program allocates less")
    while True:
        try:
            buffer = Buffer(nbytes)
        except OutOfMemory as error:
            print(error.message)
            nbytes //= 2
        else:
            break
    with buffer:
        print(f"allocated {buffer.nbytes} bytes")


def recover_a_device(device: Device, source: PinnedBuffer) -> None:
    print("-- the device is lost: reset it, and create everything on it again")
    stream, memory = Stream(), Buffer(source.nbytes)
    sim.lose_device(device)
    try:
        copy_async(memory, source, stream)
        stream.synchronize()
    except DeviceLost as error:
        print(f"lost: {error.name}")
    else:
        raise SystemExit("the loss was not reported")
    stream.close(force=True)  # does not raise the failure again
    memory.close()
    device.reset(force=True)
    device.set_current()
    with Stream() as stream, Buffer(source.nbytes) as memory:
        copy_async(memory, source, stream)
        stream.synchronize()
        assert np.array_equal(read_back(memory), source)
    print("the device works again")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=int, default=1 << 20, help="size of the copies (default: 1 MiB)")
    parser.add_argument("--failures", type=int, default=2, help="how many times the task fails (default: 2)")
    arguments = parser.parse_args()

    device = Device(0)
    device.set_current()
    source = PinnedBuffer(arguments.bytes)
    source[:] = np.arange(arguments.bytes) % 251
    retry_a_task(source, arguments.failures)
    replace_a_stream(source)
    allocate_less(2 * device.memory_info.total)
    recover_a_device(device, source)


if __name__ == "__main__":
    main()
