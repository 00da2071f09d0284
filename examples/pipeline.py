# SPDX-License-Identifier: Apache-2.0
"""Copies that overlap with kernels: two sets of buffers, three streams, and events between them.

    copy in    chunk 0 | chunk 1 | chunk 2 | ...
    compute              chunk 0 | chunk 1 | ...
    copy out                       chunk 0 | ...

A stream does its work in order, and events order the streams: a kernel waits for its input, and a copy in waits until
the kernel that last used the same buffer has read it. The host waits once, at the end. On the simulator the kernel is
a Python function; for an NPU, give the binary that its compiler has made with --binary.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np

from ascend_rt import Binary, Buffer, Device, Event, Kernel, PinnedBuffer, Stream, copy_async, sim

SETS = 2
STAGES = ("copy in", "compute", "copy out")
BLOCKS = 2


def scale(block: sim.Block, source: np.ndarray, result: np.ndarray, factor: np.float32, n: np.uint32) -> None:
    part = slice(block.index * len(source) // block.count, (block.index + 1) * len(source) // block.count)
    np.multiply(source[part], factor, out=result[part])


def load_kernel(path: str | None) -> Kernel:
    """Load the binary; without one, let the simulator call the function above."""
    if path is None:
        types = {"source": "float32[n]", "result": "float32[n]", "factor": "float32", "n": "uint32"}
        sim.kernel("scale_custom", types)(scale)
    binary = Binary(path or sim.device_object("scale_custom"))
    return binary.kernel("scale_custom", ["float32[]", "float32[]", "float32", "uint32"])


class Span:
    """One stage of one chunk, timed by two events."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.begin, self.end = Event(timing=True), Event(timing=True)

    def __enter__(self) -> Span:
        self.begin.record(self.stream)
        return self

    def __exit__(self, *error: object) -> None:
        self.end.record(self.stream)

    def times(self, origin: Event) -> tuple[float, float]:
        return origin.elapsed_time(self.begin), origin.elapsed_time(self.end)


class BufferSet(NamedTuple):
    """Device memory for one chunk."""

    source: Buffer
    result: Buffer


def run(sent: PinnedBuffer, received: PinnedBuffer, chunks: int, kernel: Kernel, factor: float) -> list[list[Span]]:
    """Enqueue all chunks, wait for them, and return the spans of each chunk."""
    nbytes = sent.nbytes // chunks
    inward, compute, outward = streams = [Stream() for _ in STAGES]
    sets = [BufferSet(Buffer(nbytes), Buffer(nbytes)) for _ in range(SETS)]
    spans: list[list[Span]] = []
    for chunk in range(chunks):
        part = slice(chunk * nbytes, (chunk + 1) * nbytes)
        source, result = sets[chunk % SETS]
        arriving, computing, leaving = chunk_spans = [Span(stream) for stream in streams]
        if chunk >= SETS:  # an earlier chunk may still use these buffers
            inward.wait(spans[chunk - SETS][1].end)
            compute.wait(spans[chunk - SETS][2].end)
        with arriving:
            copy_async(source, sent[part], inward)
        compute.wait(arriving.end)
        with computing:
            kernel.launch(compute, BLOCKS, source, result, factor, nbytes // 4)
        outward.wait(computing.end)
        with leaving:
            copy_async(received[part], result, outward)
        spans.append(chunk_spans)
    outward.synchronize()
    for stream in streams:
        stream.close()
    return spans


def overlap(spans: list[list[Span]]) -> tuple[float, float]:
    """Return the time during which any stage ran, and the sum of the times of all stages, in milliseconds."""
    origin = spans[0][0].begin
    times = sorted(span.times(origin) for chunk in spans for span in chunk)
    busy, reached = 0.0, 0.0
    for begin, end in times:
        busy += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return busy, sum(end - begin for begin, end in times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=16, help="number of chunks (default: 16)")
    parser.add_argument("--numbers", type=int, default=1 << 20, help="32-bit numbers in a chunk (default: 1048576)")
    parser.add_argument("--binary", metavar="FILE.o", help="binary of scale_custom for an NPU (default: simulate it)")
    arguments = parser.parse_args()

    Device(0).set_current()
    nbytes = 4 * arguments.chunks * arguments.numbers
    sent, received = PinnedBuffer(nbytes), PinnedBuffer(nbytes)
    sent.view(np.float32)[:] = np.arange(nbytes // 4) % 1000
    spans = run(sent, received, arguments.chunks, load_kernel(arguments.binary), 2.0)

    assert np.array_equal(received.view(np.float32), 2 * sent.view(np.float32))
    busy, total = overlap(spans)
    print(f"{arguments.chunks} chunks of {4 * arguments.numbers} bytes went through {len(STAGES)} streams")
    print(f"{total:.3f} ms of work in {busy:.3f} ms: {total / busy:.2f} stages ran at the same time on average")
    print("every number is twice what was sent")


if __name__ == "__main__":
    main()
