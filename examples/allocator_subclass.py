# SPDX-License-Identifier: Apache-2.0
"""A custom allocator that cuts blocks from one buffer, and what happens when an allocator fails.

Operators take their workspace from the allocator that is registered for their stream. On a device these are the
operators of CANN; here ``sim.run_operator`` replaces one, so the program runs on the simulator only.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass

import ascend_rt
from ascend_rt import AclError, Allocator, Buffer, Device, Stream, callback, sim

SMALLEST = 512  # every block begins at a multiple of this


@dataclass
class Statistics:
    """Statistics of an arena: numbers of blocks, and bytes in use."""

    cut: int = 0
    reused: int = 0
    in_use: int = 0
    in_use_peak: int = 0


class Arena(Allocator):
    """Cuts blocks of powers of two from one buffer, and reuses a freed block for the next request of its size.

    Immediate reuse is correct only in the order of one stream, so each stream needs its own arena.
    """

    def __init__(self, nbytes: int) -> None:
        self.statistics = Statistics()
        self._memory = Buffer(nbytes)
        self._end = 0  # end of the part that has been cut
        self._free: defaultdict[int, list[Buffer]] = defaultdict(list)  # by size

    def allocate(self, nbytes: int) -> Buffer:
        """Return a block of at least that size; called by the thread that launches the operator."""
        size = max(SMALLEST, 1 << (nbytes - 1).bit_length())
        block = self._reuse(size) or self._cut(size)
        self.statistics.in_use += size
        self.statistics.in_use_peak = max(self.statistics.in_use_peak, self.statistics.in_use)
        return block

    def free(self, buffer: Buffer) -> None:
        """Take a block back. Its operator may still be running; the next one in the stream starts after it."""
        self._free[buffer.nbytes].append(buffer)
        self.statistics.in_use -= buffer.nbytes

    def _reuse(self, size: int) -> Buffer | None:
        if not self._free[size]:
            return None
        self.statistics.reused += 1
        return self._free[size].pop()

    def _cut(self, size: int) -> Buffer:
        begin, end = self._end, self._end + size
        if end > self._memory.nbytes:
            raise MemoryError(f"{size} bytes do not fit behind the {begin} of {self._memory.nbytes} that are cut")
        self._end = end
        self.statistics.cut += 1
        return self._memory[begin:end]


class Wrong(Allocator):
    """Returns memory of the host, which is not a Buffer."""

    def allocate(self, nbytes: int) -> Buffer:
        """Return what no operator can use."""
        return bytearray(nbytes)  # type: ignore[return-value]

    def free(self, buffer: Buffer) -> None:
        """Never called: the allocation fails."""


def failure_of(stream: Stream, nbytes: int) -> tuple[BaseException, AclError]:
    """Run an operator whose allocation fails; return the allocator's error, and the one that the caller gets."""
    errors: list[BaseException] = []
    callback.on_error = lambda error, function: errors.append(error)  # the runtime calls the allocator and cannot raise
    sys.unraisablehook = lambda unraisable: None  # the default prints a traceback
    try:
        sim.run_operator(stream, nbytes)
    except AclError as refused:
        return errors[0], refused
    finally:
        callback.on_error, sys.unraisablehook = None, sys.__unraisablehook__
    raise AssertionError("the operator did not fail")


def main() -> None:
    """Run operators with an arena, then with an allocator that is wrong."""
    formatter = argparse.RawDescriptionHelpFormatter
    argparse.ArgumentParser(description=__doc__, formatter_class=formatter).parse_args()

    ascend_rt.use("sim")
    Device(0).set_current()
    with Stream() as stream:
        arena = Arena(1 << 20)
        arena.register(stream)
        for nbytes in (4096, 3000, 100_000, 4096):
            sim.run_operator(stream, nbytes)
        print(arena.statistics)
        assert arena.statistics == Statistics(cut=2, reused=2, in_use=0, in_use_peak=131072)

        exhausted, refused = failure_of(stream, 1 << 20)
        print(f"exhausted: {type(exhausted).__name__}: {exhausted}; the operator failed with {refused.code}")
        assert str(exhausted) == "1048576 bytes do not fit behind the 135168 of 1048576 that are cut"

        stream.synchronize()  # before the arena and its memory are replaced
        Wrong().register(stream)
        error, refused = failure_of(stream, 16)
        print(f"wrong: {type(error).__name__}: {error}; the operator failed with {refused.code}")
        assert type(error) is TypeError
        assert str(error) == f"Wrong.allocate must return a Buffer, but returned {bytearray(16)!r}"
        assert refused.code == 207001


if __name__ == "__main__":
    main()
