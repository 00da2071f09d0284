# SPDX-License-Identifier: Apache-2.0
"""One thread for each device: they take pieces of the work from one queue, until nothing is left.

A context belongs to a thread, so each thread sets its device first; streams, buffers and events are made, used and
closed there. Waiting releases the GIL, so the threads do wait at the same time.
"""

from __future__ import annotations

import argparse
import threading
from queue import Empty, SimpleQueue

import numpy as np

from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async

Pieces = SimpleQueue[int]


def work(device: Device, pieces: Pieces, data: np.ndarray, results: np.ndarray) -> int:
    """Send pieces through a device until the queue is empty; return how many."""
    device.set_current()
    done = 0
    length = data.shape[1]
    with Stream() as stream, Buffer(length) as memory:
        sent, received = PinnedBuffer(length), PinnedBuffer(length)
        while True:
            try:
                piece = pieces.get_nowait()
            except Empty:
                break
            sent[:] = data[piece]
            copy_async(memory, sent, stream)
            copy_async(received, memory, stream)
            stream.synchronize()
            results[piece] = received
            done += 1
    device.reset()
    return done


def share(devices: list[Device], data: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Return what came back, and how many pieces each device had; an exception in a thread is raised here."""
    pieces: Pieces = SimpleQueue()
    for piece in range(len(data)):
        pieces.put(piece)
    results, counts = np.zeros_like(data), [0] * len(devices)
    errors: list[BaseException] = []

    def run(index: int) -> None:
        try:
            counts[index] = work(devices[index], pieces, data, results)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(devices))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results, counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, help="how many devices (default: all, at most 4)")
    parser.add_argument("--pieces", type=int, default=64, help="pieces of work (default: 64)")
    parser.add_argument("--bytes", type=int, default=1 << 20, help="size of a piece (default: 1 MiB)")
    arguments = parser.parse_args()

    devices = Device.all()[: arguments.devices or 4]
    data = np.random.default_rng(0).integers(0, 256, (arguments.pieces, arguments.bytes), np.uint8)
    results, counts = share(devices, data)

    for device, count in zip(devices, counts, strict=True):
        print(f"device {device.id}: {count} pieces")
    assert sum(counts) == arguments.pieces
    assert np.array_equal(results, data)
    print(f"{arguments.pieces} pieces of {arguments.bytes} bytes came back the same")


if __name__ == "__main__":
    main()
