#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time models on the simulated device against the CPU: training of a CNN and a transformer, and generation.

    ascend-rt run --backend sim benchmarks/models.py
    ascend-rt run --backend sim benchmarks/models.py --smoke   # once, as a check

The same model makes a step on the CPU and on the device in turns, with one thread each. The table shows the medians and
their ratio; the goal is at most 1.15. It needs the extra "torch".
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from collections.abc import Callable

import torch
import torch_npu  # noqa: F401  (registers the device)
from torch import Tensor, nn
from torch.nn import functional as F

GOAL = 1.15
STEPS, WARM_UP = 30, 3

Step = Callable[[], object]


class Decoder(nn.Module):
    """A transformer that predicts the next token, with a cache of keys and values."""

    def __init__(self, width: int = 256, layers: int = 4, heads: int = 4, words: int = 1000) -> None:
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm": nn.LayerNorm(width),
                    "qkv": nn.Linear(width, 3 * width),
                    "out": nn.Linear(width, width),
                    "mlp": nn.Sequential(
                        nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
                    ),
                }
            )
            for _ in range(layers)
        )
        self.head = nn.Linear(width, words)

    def forward(self, tokens: Tensor, cache: list[tuple[Tensor, Tensor] | None] | None = None) -> Tensor:
        """Return the logits of each place; with a cache, keys and values are appended to it."""
        x = self.embedding(tokens)
        for i, layer in enumerate(self.layers):
            qkv = layer["qkv"](layer["norm"](x)).unflatten(-1, (3, self.heads, -1))
            query, key, value = (each.transpose(1, 2) for each in qkv.unbind(2))
            if cache is not None:
                past = cache[i]
                if past is not None:
                    key, value = torch.cat((past[0], key), 2), torch.cat((past[1], value), 2)
                cache[i] = (key, value)
            causal = query.shape[2] > 1
            x = x + layer["out"](
                F.scaled_dot_product_attention(query, key, value, is_causal=causal).transpose(1, 2).flatten(2)
            )
            x = x + layer["mlp"](x)
        return self.head(x)


def convolutions() -> nn.Module:
    """Return a network of three convolutions for images of 32 x 32."""
    layers: list[nn.Module] = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 64)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 10))


def training(model: nn.Module, inputs: Tensor, targets: Tensor) -> Step:
    """Return a step of training; it ends when the loss is there."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> float:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs).flatten(0, -2), targets.flatten())
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def generation(model: Decoder, prompt: Tensor, count: int) -> Step:
    """Return a step that generates tokens one by one."""

    @torch.no_grad()
    def step() -> list[list[int]]:
        cache: list[tuple[Tensor, Tensor] | None] = [None] * len(model.layers)
        token, made = prompt, []
        for _ in range(count):
            token = model(token, cache)[:, -1:].argmax(-1)
            made.append(token)
        answer: list[list[int]] = torch.cat(made, 1).tolist()
        return answer

    return step


def pairs() -> dict[str, tuple[Step, Step]]:
    """Return each step for the CPU and for the device, on the same weights."""
    torch.manual_seed(0)
    images, classes = torch.randn(32, 3, 32, 32), torch.randint(10, (32,))
    tokens = torch.randint(1000, (4, 64))
    models: dict[str, tuple[nn.Module, Callable[[nn.Module, str], Step]]] = {
        "cnn, training": (convolutions(), lambda model, on: training(model, images.to(on), classes.to(on))),
        "transformer, training": (
            Decoder(),
            lambda model, on: training(model, tokens[:, :-1].to(on), tokens[:, 1:].contiguous().to(on)),
        ),
        "768 wide, 32 tokens": (Decoder(768), lambda model, on: generation(model, tokens[:1, :16].to(on), 32)),
        "256 wide, 32 tokens": (Decoder(256), lambda model, on: generation(model, tokens[:1, :16].to(on), 32)),
    }
    return {
        name: (made(copy.deepcopy(model), "cpu"), made(copy.deepcopy(model).to("npu"), "npu"))
        for name, (model, made) in models.items()
    }


def compare(steps: tuple[Step, Step], count: int, warm_up: int) -> list[float]:
    """Return the medians in seconds; both must have the same results."""
    times: list[list[float]] = [[], []]
    for number in range(warm_up + count):
        results = []
        for own, step in zip(times, steps, strict=True):
            begin = time.perf_counter()
            results.append(step())
            if number >= warm_up:
                own.append(time.perf_counter() - begin)
        torch.testing.assert_close(*(torch.tensor(each) for each in results), rtol=1e-3, atol=1e-4)
    return [statistics.median(each) for each in times]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="two steps of each, as a check")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    print(f"{'':24} {'CPU':>10} {'device':>10} {'ratio':>7}")
    for name, steps in pairs().items():
        cpu, device = compare(steps, 1 if smoke else STEPS, 1 if smoke else WARM_UP)
        met = "" if smoke else f"  goal {GOAL:.2f}: {'met' if device / cpu <= GOAL else 'not met'}"
        print(f"{name:24} {1000 * cpu:7.1f} ms {1000 * device:7.1f} ms {device / cpu:6.2f}x{met}")


if __name__ == "__main__":
    main()
