#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time collective operations between processes on simulated devices against PyTorch's "gloo" on the CPU.

    ascend-rt run --backend sim benchmarks/collectives.py
    ascend-rt run --backend sim benchmarks/collectives.py --smoke   # once, as a check

Each size runs in turns: on the CPU with gloo, on devices whose processes read each other's memory ("memory"), and on
devices whose processes only have sockets, as on two machines ("sockets"). A time begins at a moment on which the ranks
agree, and ends when all is done on rank 0. It is that of one operation, or of ten in a row, each of which is awaited as
in a program, divided by ten. An operation of the same kind that is not timed comes before, so that no way to
communicate runs on caches that another one has left. The table shows medians. The goals: memory at most half of gloo
from 1 MiB on, sockets at most 1.1 times gloo; below, at most 150 us more than gloo. It needs the extra "torch".
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch_npu  # noqa: F401  (registers the device)

SIZES = {"1 KiB": 1 << 10, "1 MiB": 1 << 20, "64 MiB": 64 << 20}
REPEATS = {"1 KiB": 100, "1 MiB": 40, "64 MiB": 4}
NUMBERS = {"alone": 1, "in a row": 10}
START = 0.0003  # seconds in which all ranks learn when to begin

Call = Callable[[], object]


def operations(size: int, device: str, group: dist.ProcessGroup) -> dict[str, Call]:
    """Return calls on tensors of that size in bytes; for a gather or a scatter, that of all ranks together."""
    ranks, count = dist.get_world_size(), size // 4
    whole, part = torch.ones(count, device=device), torch.ones(count // ranks, device=device)
    return {
        "all_reduce": lambda: dist.all_reduce(whole, group=group),
        "all_gather": lambda: dist.all_gather_into_tensor(whole, part, group=group),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole, group=group),
    }


class Meeting:
    """A page that the ranks share, on which they agree on a moment.

    They leave a barrier up to half a millisecond after each other, and an operation of gloo here would warm the caches
    for gloo alone.
    """

    def __init__(self, page: str) -> None:
        words = np.memmap(page, dtype=np.float64, mode="r+")
        self._moment, self._turns = words[:1], words[1 : 1 + dist.get_world_size()]
        self._turn = 0

    def begin(self) -> float:
        """Return the time of a clock that all ranks have, when it is the same for all of them."""
        before = self._moment[0]
        self._turn += 1
        self._turns[dist.get_rank()] = self._turn
        if dist.get_rank() == 0:
            while self._turns.min() < self._turn:
                os.sched_yield()
            self._moment[0] = time.perf_counter() + START
        while self._moment[0] == before:
            os.sched_yield()
        while time.perf_counter() < self._moment[0]:
            os.sched_yield()  # to a rank on the same processor
        return float(self._moment[0])


def do(call: Call, number: int, is_on_device: bool) -> None:
    """Do a number of operations, each of which is awaited."""
    for _ in range(number):
        call()
        if is_on_device:
            torch.npu.synchronize()


def time_of(call: Call, number: int, is_on_device: bool, meeting: Meeting) -> float:
    """Return the seconds until an operation is done on this rank, of a number of them in a row."""
    do(call, 1, is_on_device)
    begin = meeting.begin()
    do(call, number, is_on_device)
    return (time.perf_counter() - begin) / number


def new_groups() -> dict[str, tuple[str, dist.ProcessGroup]]:
    """Return a group for each way to communicate, with the device of its tensors."""
    groups = {"gloo": ("cpu", dist.new_group(backend="gloo"))}
    for name, shared in (("memory", "1"), ("sockets", "0")):
        os.environ["ASCEND_RT_HCCL_SHARED_MEMORY"] = shared
        group = dist.new_group(backend="hccl")
        dist.all_reduce(torch.ones(1, device="npu"), group=group)  # connects the ranks
        groups[name] = ("npu", group)
    return groups


def rank(page: str, smoke: bool) -> None:
    """Run as one of the ranks; the first one prints the rows."""
    dist.init_process_group("gloo")
    torch.npu.set_device(dist.get_rank())
    torch.set_num_threads(1)
    groups, meeting = new_groups(), Meeting(page)
    for name, size in SIZES.items():
        calls = {way: operations(size, device, group) for way, (device, group) in groups.items()}
        for operation, (manner, number) in itertools.product(calls["gloo"], NUMBERS.items()):
            times: dict[str, list[float]] = {way: [] for way in groups}
            for repeat in range(2 if smoke else REPEATS[name] + 2):
                for way, (device, _) in groups.items():
                    took = time_of(calls[way][operation], number, device == "npu", meeting)
                    if repeat >= 2 or smoke:
                        times[way].append(1e6 * took)
            if dist.get_rank() == 0:
                medians = {way: statistics.median(each) for way, each in times.items()}
                print(row(f"{operation:15} {name:>7}  {manner:8}", medians), flush=True)
    dist.destroy_process_group()


def row(measured: str, medians: dict[str, float]) -> str:
    """Return a line of the table."""
    gloo = medians["gloo"]
    text = f"{dist.get_world_size()} ranks  {measured}  gloo {gloo:9.0f} us"
    for way in ("memory", "sockets"):
        text += f"   {way} {medians[way]:9.0f} us, {medians[way] / gloo:5.2f} x, {medians[way] - gloo:+7.0f} us"
    return text


def main() -> None:
    """Start the ranks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="two of each, as a check")
    parser.add_argument("--ranks", type=int, nargs="*", default=[2, 4], help="numbers of ranks (default: 2 4)")
    parser.add_argument("--page", help=argparse.SUPPRESS)  # makes the process one of the ranks
    arguments = parser.parse_args()
    if arguments.page is not None:
        rank(arguments.page, arguments.smoke)
        return
    with tempfile.TemporaryDirectory() as directory:
        for ranks in arguments.ranks:
            page = Path(directory, str(ranks))
            page.write_bytes(bytes(8 * (1 + ranks)))
            command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", __file__]
            subprocess.run([*command, f"--page={page}", *(["--smoke"] if arguments.smoke else [])], check=True)


if __name__ == "__main__":
    main()
