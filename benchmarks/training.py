# SPDX-License-Identifier: Apache-2.0
"""Measure what the race check costs a step of training: ``ascend-rt run --backend sim benchmarks/training.py``.

Two processes make the same steps, one of them with ``ASCEND_RT_SIM_CHECK=races``, in turns: one computes while the
other waits. One thread computes in either case. The exit status never depends on a time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

from ascend_rt_measure.bench.quiet import PATIENCE, Watch

ROUNDS, SAMPLE_S = 25, 0.3
LIMIT = 2.0  # ratio of medians, with the check to without
CHECKS = ("", "races")

Step = Callable[[], None]


# --- in the processes that compute -----------------------------------------------------------------------------------


def train_mlp() -> Step:
    """A perceptron of three layers of 512 features, batches of 64, Adam."""
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)).npu()
    optimizer = torch.optim.Adam(model.parameters())
    inputs, labels = torch.randn(64, 512).npu(), torch.randint(0, 10, (64,)).npu()

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()

    return step


def train_transformer() -> Step:
    """An encoder of two layers of 128 features with four heads, batches of 8 sequences of 64, AdamW."""
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(128, 4, dim_feedforward=512, dropout=0.1, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    model = nn.Sequential(nn.Embedding(1000, 128), encoder, nn.Linear(128, 1000)).npu()
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(0, 1000, (8, 65)).npu()

    def step() -> None:
        optimizer.zero_grad()
        predicted = model(tokens[:, :-1])
        nn.functional.cross_entropy(predicted.flatten(0, 1), tokens[:, 1:].flatten()).backward()
        optimizer.step()

    return step


def train_small() -> Step:
    """A perceptron of three layers of 32 features, batches of 8, SGD: its operators are shorter than their calls."""
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10)).npu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, labels = torch.randn(8, 32).npu(), torch.randint(0, 10, (8,)).npu()

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()

    return step


MODELS: dict[str, Callable[[], Step]] = {
    "train_mlp": train_mlp,
    "train_transformer": train_transformer,
    "train_small": train_small,
}


def compute(name: str) -> None:
    """Read numbers of steps, and write the seconds that a step took on the clock and of processors."""
    import torch
    import torch_npu  # noqa: F401

    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = MODELS[name]()
    for line in sys.stdin:
        count = int(line)
        begin, used = perf_counter(), process_time()
        for _ in range(count):
            step()
        torch.npu.synchronize()
        print(json.dumps([(perf_counter() - begin) / count, (process_time() - used) / count]), flush=True)


# --- in the process that compares ------------------------------------------------------------------------------------


class Process:
    """A process that makes steps when it is asked to."""

    def __init__(self, name: str, checks: str) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "ASCEND_RT_SIM_CHECK": checks}
        command = [sys.executable, __file__, "--compute", name]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        self.used: list[float] = []  # seconds of processors, for each sample

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.communicate()

    def seconds(self, count: int) -> float:
        """Return how long a step takes of so many in a row."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(count, file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"benchmarks: a process ended with status {self._process.wait()}")
        taken, used = json.loads(line)
        self.used.append(used)
        return float(taken)


def measure(name: str, rounds: int, sample_s: float, patience: float) -> dict[str, list[tuple[float, float]]]:
    """Return the seconds per step, without the check and with it: on the clock, and of processors."""
    with ExitStack() as running:
        processes = [running.enter_context(Process(name, checks)) for checks in CHECKS]
        for process in processes:
            process.seconds(10 if sample_s else 1)
        count = max(1, int(sample_s / processes[0].seconds(3 if sample_s else 1)))
        watch = Watch(patience)
        clock, used = [], []
        for _ in range(rounds):
            plain, checked = (watch.sample(partial(process.seconds, count)) for process in processes)
            clock.append((plain, checked))
            used.append((processes[0].used[-1], processes[1].used[-1]))
    return {"clock": clock, "processors": used}


def medians(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return those of the columns."""
    plain, checked = (statistics.median(column) for column in zip(*pairs, strict=True))
    return plain, checked


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Compare training with and without the race check.")
    parser.add_argument("--smoke", action="store_true", help="run everything once, to see that it works")
    parser.add_argument("--ids", nargs="+", choices=[f"{it}_checked" for it in MODELS], metavar="ID", help="only these")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the seconds of all rounds as JSON")
    parser.add_argument("--compute", choices=MODELS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compute:
        return compute(options.compute)
    found = {}
    for name in MODELS:
        if options.ids and f"{name}_checked" not in options.ids:
            continue
        found[name] = measure(name, *((1, 0, 0) if options.smoke else (ROUNDS, SAMPLE_S, PATIENCE)))
        for kind, pairs in found[name].items():
            plain, checked = medians(pairs)
            ratios = sorted(with_check / without for without, with_check in pairs)
            spread = f"pairs {ratios[len(ratios) // 10]:.2f} to {ratios[int(0.9 * (len(ratios) - 1))]:.2f}"
            times = f"{plain * 1e3:.2f} ms, with the check {checked * 1e3:.2f} ms"
            print(f"{name}_checked, {kind}: {times}, {checked / plain:.2f} x, {spread}", flush=True)
        plain, checked = medians(found[name]["clock"])
        is_met = "met" if checked <= LIMIT * plain else "not met"
        verdict = "a smoke run: the times mean nothing" if options.smoke else f"{checked / plain:.2f}: {is_met}"
        print(f"goal: race check / without, {name}: at most {LIMIT}; {verdict}", flush=True)
    if options.output:
        options.output.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
