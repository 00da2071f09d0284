# SPDX-License-Identifier: Apache-2.0
"""One thread for each device: the threads take pieces of work from one queue until it is empty.

Every thread sets its device first, and creates and closes its own stream and memory. Waiting releases the GIL, so the
devices work at the same time.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue

import numpy as np

from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async

Pieces = SimpleQueue[int]


def work(device: Device, pieces: Pieces, data: np.ndarray, results: np.ndarray) -> int:
    """Send pieces through a device until the queue is empty; return their number."""
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
    """Return the data that came back, and the number of pieces that each device had."""
    pieces: Pieces = SimpleQueue()
    for piece in range(len(data)):
        pieces.put(piece)
    results = np.zeros_like(data)
    with ThreadPoolExecutor(len(devices)) as pool:
        futures = [pool.submit(work, device, pieces, data, results) for device in devices]
    return results, [future.result() for future in futures]  # raises what a thread raised


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, help="number of devices (default: all, at most 4)")
    parser.add_argument("--pieces", type=int, default=64, help="number of pieces (default: 64)")
    parser.add_argument("--bytes", type=int, default=1 << 20, help="size of a piece (default: 1 MiB)")
    arguments = parser.parse_args()

    devices = Device.all()[: arguments.devices or 4]
    data = np.random.default_rng(0).integers(0, 256, (arguments.pieces, arguments.bytes), np.uint8)
    results, counts = share(devices, data)

    for device, count in zip(devices, counts, strict=True):
        print(f"device {device.id}: {count} pieces")
    assert sum(counts) == arguments.pieces
    assert np.array_equal(results, data)
    print(f"{arguments.pieces} pieces of {arguments.bytes} bytes came back unchanged")


if __name__ == "__main__":
    main()
