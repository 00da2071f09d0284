# SPDX-License-Identifier: Apache-2.0
"""Two processes share a ring of chunks in device memory: the producer fills it, the consumer empties it.

The processes exchange keys at the beginning and a digest at the end. In between, notifies order their streams: the
producer's stream waits until a slot is free, the consumer's until one is full, and neither host waits for the other.
Each notify is created by the process whose stream waits for it.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

import numpy as np

from ascend_rt import Buffer, Device, Event, IpcMemory, Notify, PinnedBuffer, Stream, copy_async

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIB = 1 << 20
PATIENCE_S = 10.0  # time limit of a wait for the other process, which may have been killed


@dataclass(frozen=True)
class Options:
    """The command line."""

    chunks: int
    chunk_mib: int
    slots: int
    producer_device: int
    consumer_device: int

    @property
    def chunk_nbytes(self) -> int:
        """The size of a chunk."""
        return self.chunk_mib * MIB

    @property
    def ring_nbytes(self) -> int:
        """The size of all slots; memory that is shared by key must have more than one MiB."""
        return max(self.slots * self.chunk_nbytes, 2 * MIB)

    def of_ring(self, ring: Buffer) -> list[Buffer]:
        """Return the slots."""
        return [ring[i * self.chunk_nbytes : (i + 1) * self.chunk_nbytes] for i in range(self.slots)]

    def host_arrays(self) -> list[NDArray[np.uint8]]:
        """Return one pinned array for each slot."""
        return [np.asarray(PinnedBuffer(self.chunk_nbytes)) for _ in range(self.slots)]


def produce(pipe: Connection, options: Options) -> float:
    """Send random chunks and check the digest of what arrived; return the seconds that it took."""
    Device(options.producer_device).set_current()
    digest, random = hashlib.blake2b(), np.random.default_rng(13)
    with ExitStack() as stack:
        stream = stack.enter_context(Stream())
        ring = stack.enter_context(Buffer(options.ring_nbytes))
        shared = stack.enter_context(IpcMemory(ring))
        free = [stack.enter_context(Notify()) for _ in range(options.slots)]
        pipe.send((shared.key, [notify.export() for notify in free]))
        full = [stack.enter_context(Notify.open(key)) for key in pipe.recv()]
        sent = [stack.enter_context(Event()) for _ in range(options.slots)]
        slots, host = options.of_ring(ring), options.host_arrays()

        begin = time.perf_counter()
        for i in range(options.chunks):
            slot = i % options.slots
            sent[slot].synchronize()  # until the previous copy from this array is done
            host[slot][:] = np.frombuffer(random.bytes(options.chunk_nbytes), np.uint8)
            digest.update(host[slot].data)
            if i >= options.slots:
                free[slot].wait(stream, PATIENCE_S)
            copy_async(slots[slot], host[slot], stream)
            full[slot].record(stream)
            sent[slot].record(stream)
        stream.synchronize()

        if pipe.recv() != digest.digest():  # the consumer closes what is shared before it sends
            raise SystemExit("the consumer received something else than was sent")
        return time.perf_counter() - begin


def consume(pipe: Connection, options: Options) -> None:
    """Receive all chunks and send their digest."""
    Device(options.consumer_device).set_current()
    digest = hashlib.blake2b()
    with ExitStack() as stack:
        stream = stack.enter_context(Stream())
        full = [stack.enter_context(Notify()) for _ in range(options.slots)]
        key, keys = pipe.recv()
        pipe.send([notify.export() for notify in full])
        ring = stack.enter_context(IpcMemory.open(key, options.ring_nbytes))
        free = [stack.enter_context(Notify.open(key)) for key in keys]
        # Not every product copies between another process's memory and the host.
        own = stack.enter_context(Buffer(options.ring_nbytes))
        received = [stack.enter_context(Event()) for _ in range(options.slots)]
        slots, copies, host = options.of_ring(ring), options.of_ring(own), options.host_arrays()

        for i in range(options.chunks + options.slots):
            slot = i % options.slots
            if options.slots <= i:
                received[slot].synchronize()
                digest.update(host[slot].data)
            if i < options.chunks:
                full[slot].wait(stream, PATIENCE_S)
                copy_async(copies[slot], slots[slot], stream)
                free[slot].record(stream)
                copy_async(host[slot], copies[slot], stream)
                received[slot].record(stream)
        stream.synchronize()
    pipe.send(digest.digest())


def at_least_one(text: str) -> int:
    """Return a positive number from the command line."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def main() -> None:
    """Run both processes, check the result, and print the rate."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=at_least_one, default=64, help="number of chunks (default: %(default)s)")
    parser.add_argument("--chunk-mib", type=at_least_one, default=4, help="size of a chunk (default: %(default)s MiB)")
    parser.add_argument("--slots", type=at_least_one, default=4, help="chunks in the ring (default: %(default)s)")
    parser.add_argument("--producer-device", type=int, default=0, metavar="N", help="default: %(default)s")
    parser.add_argument("--consumer-device", type=int, default=0, metavar="N", help="default: %(default)s")
    options = Options(**vars(parser.parse_args()))

    spawn = get_context("spawn")  # the runtime does not survive a fork
    here, there = spawn.Pipe()
    consumer = spawn.Process(target=consume, args=(there, options), daemon=True)
    consumer.start()
    there.close()  # otherwise the pipe stays open when the consumer ends
    try:
        seconds = produce(here, options)
    except (EOFError, ConnectionResetError):
        raise SystemExit("the consumer ended early") from None
    consumer.join()
    mib = options.chunks * options.chunk_mib
    print(f"{options.chunks} chunks of {options.chunk_mib} MiB arrived unchanged")
    print(f"{mib} MiB in {seconds:.3f} s: {mib / seconds:.0f} MiB/s, including random bytes and digests")


if __name__ == "__main__":
    main()
