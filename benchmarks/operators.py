# SPDX-License-Identifier: Apache-2.0
"""Compare PyTorch on the CPU with PyTorch on the simulator: ``ascend-rt run --backend sim benchmarks/operators.py``.

The same calls are made with tensors of the CPU and of the device, in turns, from the first call until all of them are
done. One thread computes in either case. The exit status never depends on a time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

import torch
import torch_npu  # noqa: F401

from ascend_rt_measure.bench.quiet import PATIENCE, Watch

SIZES = (1, 65_536, 1_048_576)
DEVICES = ("cpu", "npu:0")
ROUNDS, SAMPLE_S = 25, 0.03
LIMIT = 1.3  # ratio of medians, device to CPU, from 65,536 elements on

Call = Callable[[], object]


@dataclass(frozen=True)
class Figures:
    """Seconds per call on the CPU and on the device: a pair for each round."""

    name: str
    size: int
    pairs: list[tuple[float, float]]

    def row(self) -> list[str]:
        """Return the line of the table."""
        cpu, device = (statistics.median(column) * 1e6 for column in zip(*self.pairs, strict=True))
        best = [min(column) for column in zip(*self.pairs, strict=True)]
        ratios = sorted(on_device / on_cpu for on_cpu, on_device in self.pairs)
        tail = ratios[int(0.9 * (len(ratios) - 1))]
        figures = (f"{cpu:.1f}", f"{device:.1f}", *(f"{ratio:.2f}" for ratio in (self.ratio, best[1] / best[0], tail)))
        return [self.name, f"{self.size:,}", *figures]

    @property
    def ratio(self) -> float:
        """Of the medians."""
        cpu, device = (statistics.median(column) for column in zip(*self.pairs, strict=True))
        return device / cpu


def operators(size: int, device: str) -> dict[str, Call]:
    """Return calls of operators that work on tensors of that size; each has separate tensors."""

    def tensors(count: int) -> list[torch.Tensor]:
        return [torch.rand(size).to(device) for _ in range(count)]

    (a, b), (c, d), (e,), (f,), (g, h, i) = map(tensors, (2, 2, 1, 1, 3))
    return {
        "a + b": lambda: a + b,
        "a.add_(b)": lambda: c.add_(d),
        "a.exp()": lambda: e.exp(),
        "a.sum()": lambda: f.sum(),
        "torch.mul(a, b, out=c)": lambda: torch.mul(g, h, out=i),
    }


def training_step(device: str) -> Call:
    """Return a step of a perceptron's training: batches of 256, three layers of up to 512 features, Adam."""
    torch.manual_seed(0)
    widths = ((512, 512), (512, 512), (512, 10))
    layers = [layer for width in widths for layer in (torch.nn.Linear(*width), torch.nn.ReLU())][:-1]
    model = torch.nn.Sequential(*layers).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    inputs, labels = torch.randn(256, 512).to(device), torch.randint(0, 10, (256,)).to(device)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()

    return step


def seconds(call: Call, device: str, count: int) -> float:
    """Return how long a call takes of so many in a row."""
    begin = perf_counter()
    for _ in range(count):
        call()
    if device != "cpu":
        torch.npu.synchronize()
    return (perf_counter() - begin) / count


class Session:
    """Rounds of all benchmarks, with new tensors in each: where they are in memory makes a difference, too."""

    def __init__(self, sample_s: float, patience: float) -> None:
        self._sample_s = sample_s
        self._patience = patience
        self._counts: dict[tuple[str, int], int] = {}
        self.figures: dict[tuple[str, int], Figures] = {}

    def round(self, sizes: Sequence[int]) -> None:
        """Measure everything once."""
        for size in sizes:
            self._measure(size, [operators(size, device) for device in DEVICES])
        self._measure(512 * 512, [{"a step of training": training_step(device)} for device in DEVICES])

    def _measure(self, size: int, calls: Sequence[dict[str, Call]]) -> None:
        watch = Watch(self._patience)
        for name in calls[0]:
            of_devices = [(made[name], device) for made, device in zip(calls, DEVICES, strict=True)]
            for call, device in of_devices:
                seconds(call, device, 2)
            if (name, size) not in self._counts:
                self._counts[name, size] = self._calibrated(calls[0][name])
            count = self._counts[name, size]
            cpu, npu = (watch.sample(partial(seconds, call, device, count)) for call, device in of_devices)
            self.figures.setdefault((name, size), Figures(name, size, [])).pairs.append((cpu, npu))

    def _calibrated(self, call: Call) -> int:
        return max(2, int(self._sample_s / seconds(call, DEVICES[0], 10)))


def table(figures: Sequence[Figures]) -> str:
    """Return a line per operator and size."""
    rows = [["float32", "elements", "cpu", "device", "ratio", "of bests", "9 of 10"], *(it.row() for it in figures)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        row[0].ljust(widths[0]) + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        for row in rows
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Compare PyTorch's speed on the CPU and on the simulator.")
    parser.add_argument("--smoke", action="store_true", help="run everything once, to see that it works")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the seconds of all rounds as JSON")
    options = parser.parse_args()
    torch.set_num_threads(1)
    session = Session(0, 0) if options.smoke else Session(SAMPLE_S, PATIENCE)
    rounds = 1 if options.smoke else ROUNDS
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
        session.round(SIZES[:2] if options.smoke else SIZES)
    figures = list(session.figures.values())
    print(f"microseconds per call, medians of {len(figures[0].pairs)} rounds\n\n{table(figures)}\n")
    worst = max((it for it in figures if it.size >= SIZES[1]), key=lambda it: it.ratio)
    is_met = "a smoke run: the times mean nothing" if options.smoke else "met" if worst.ratio <= LIMIT else "not met"
    print(f"goal: at most {LIMIT} x the CPU's median from {SIZES[1]:,} elements on; {worst.ratio:.2f}: {is_met}")
    if options.output:
        options.output.write_text(json.dumps([{"name": it.name, "size": it.size, "s": it.pairs} for it in figures]))


if __name__ == "__main__":
    main()
