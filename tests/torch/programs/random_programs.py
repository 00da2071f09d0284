# SPDX-License-Identifier: Apache-2.0
"""Random programs with streams, devices, views, copies, frees and graphs, against a sequential model on the CPU.

``random_programs.py FIRST COUNT`` runs the programs with these seeds, two at a time on separate threads. A program
waits where it must, by an event for each use of a storage, and nowhere else; then every tensor is what the same calls
make of tensors of the CPU, one after the other. All numbers are whole and small, so that they are exact.
"""

from __future__ import annotations

import json
import random
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
import torch_npu  # noqa: F401  (registers the device)

DEVICES = 2
STREAMS = 3  # on each device
STEPS = 60
SHAPES = ((1, 1), (3, 5), (4, 64), (64, 4), (300, 64))

Tensor = torch.Tensor

# A device cannot be synchronized while one of its streams is captured, by whichever thread.
capturing = threading.Lock()


def synchronize(device: int) -> None:
    with capturing:
        torch.npu.synchronize(device)


@dataclass(eq=False)
class Place:
    """A stream, and the device that it is on."""

    device: int
    stream: torch.npu.Stream


@dataclass(eq=False)
class Storage:
    """Which uses of its memory the next one has to wait for."""

    written: tuple[Place, torch.npu.Event] | None = None
    read: list[tuple[Place, torch.npu.Event]] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)  # streams that have used it


@dataclass(eq=False)
class Variable:
    """A tensor on a device, and what it is in the model; None: on the host."""

    real: Tensor
    model: Tensor
    storage: Storage
    device: int | None


@dataclass(eq=False)
class Kept:
    """A graph, what it works on, and the same as a function of the model."""

    graph: torch.npu.NPUGraph
    inputs: list[Variable]
    outputs: list[Variable]
    steps: Callable[[], None]
    device: int


def small(x: Tensor) -> Tensor:
    return x.remainder_(97)


# Each takes two tensors of one shape. The first makes a tensor, the second changes its first argument.
MAKING: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (
    lambda a, b: small(a + b),
    lambda a, b: small(a * 3 - b),
    lambda a, b: torch.where(a > b, a, b),
    lambda a, b: torch.cat([a, b])[: len(a)],
    lambda a, b: torch.stack([a, b]).sum(0).remainder(97),
    lambda a, _: small(a.cumsum(1)),
    lambda a, _: a.sort(1).values,
    lambda a, _: a.flip(1),
    lambda a, _: a.t().clone(memory_format=torch.contiguous_format).t(),
    lambda a, b: (a.long() ^ b.long()).to(a.dtype),
    lambda a, b: small(torch.add(a, b, out=torch.empty_like(a))),
    lambda a, _: a.argsort(dim=1, stable=True).to(a.dtype),
)
CHANGING: tuple[Callable[[Tensor, Tensor], Any], ...] = (
    lambda a, b: small(a.add_(b)),
    lambda a, _: small(a.mul_(5).add_(1)),
    lambda a, b: a.copy_(b),
    lambda a, _: a.zero_(),
    lambda a, _: a[::2].fill_(7),
    lambda a, b: a[:, 1:].copy_(b[:, :-1]) if a.data_ptr() != b.data_ptr() else a.fill_(3),
    lambda a, b: a.masked_fill_(b > 50, 11),
    lambda a, b: torch.sub(b, 1, out=a) if a.is_contiguous() else a.copy_(b),
    lambda a, b: torch._foreach_add_([a], [b.clone()]) or small(a),
    lambda a, _: small(a.index_add_(0, torch.zeros(1, dtype=torch.long, device=a.device), a[-1:].clone())),
)
VIEWING: tuple[Callable[[Tensor], Tensor], ...] = (
    lambda a: a[1:],
    lambda a: a[:, ::2],
    lambda a: a.t(),
    lambda a: a[: len(a) // 2 + 1],
    lambda a: a.view_as(a),
)


class Program:
    """One random program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.places = [
            Place(device, torch.npu.Stream(device=device)) for device in range(DEVICES) for _ in range(STREAMS)
        ]
        self.variables: list[Variable] = []
        self.graphs: list[Kept] = []
        self.log: list[str] = []
        self.steps: tuple[tuple[int, Callable[[], None]], ...] = (
            (3, self.create),
            (8, self.make),
            (10, self.change),
            (4, self.view),
            (6, self.free),
            (3, self.move),
            (3, self.send),
            (3, self.receive),
            (2, self.ask),
            (1, self.capture),
            (4, self.replay),
            (1, self.wait),
        )

    def run(self) -> None:
        weights = [weight for weight, _ in self.steps]
        for _ in range(STEPS):
            [(_, step)] = self.random.choices(self.steps, weights)
            self.log.append(step.__name__)
            step()
        for device in range(DEVICES):
            synchronize(device)
        for variable in self.variables:
            self.compare(variable.real, variable.model)
        for kept in tuple(self.graphs):
            self.drop(kept)

    # --- waiting where it must, and only there ---------------------------------------------------------------------

    def before(self, place: Place, reads: list[Variable], writes: list[Variable]) -> None:
        for variable in (*reads, *writes):
            storage = variable.storage
            earlier = [storage.written] if storage.written else []
            if any(variable is each for each in writes):
                earlier += storage.read
            for other, event in earlier:
                if other is not place:
                    place.stream.wait_event(event)

    def after(self, place: Place, reads: list[Variable], writes: list[Variable]) -> None:
        event = torch.npu.Event()
        event.record(place.stream)
        for variable in reads:
            variable.storage.read.append((place, event))
        for variable in writes:
            variable.storage.written = (place, event)
            variable.storage.read.clear()
        for variable in (*reads, *writes):
            if not any(place is each for each in variable.storage.places):
                variable.storage.places.append(place)
                if variable.device is not None:
                    variable.real.record_stream(place.stream)

    def on(self, place: Place, reads: list[Variable], writes: list[Variable], work: Callable[[], Any]) -> Any:
        """Do work in a stream, with the waits that it needs."""
        self.before(place, reads, writes)
        with torch.npu.stream(place.stream):
            result = work()
        self.after(place, reads, writes)
        return result

    def add(self, place: Place, real: Tensor, model: Tensor) -> Variable:
        variable = Variable(real, model, Storage(), place.device)
        self.after(place, [], [variable])
        self.variables.append(variable)
        return variable

    # --- what can be chosen ----------------------------------------------------------------------------------------

    def place(self, device: int | None = None) -> Place:
        return self.random.choice([each for each in self.places if device in (None, each.device)])

    def any(self) -> Variable | None:
        return self.random.choice(self.variables) if self.variables else None

    def like(self, variable: Variable) -> Variable:
        return self.random.choice(
            [
                each
                for each in self.variables
                if (each.device, each.real.shape, each.real.dtype)
                == (variable.device, variable.real.shape, variable.real.dtype)
            ]
        )

    def numbers(self) -> Tensor:
        seed = torch.Generator().manual_seed(self.random.randrange(1 << 30))
        kind = self.random.choice((torch.float32, torch.int64, torch.int16))
        return torch.randint(97, self.random.choice(SHAPES), generator=seed).to(kind)

    # --- steps -----------------------------------------------------------------------------------------------------

    def create(self) -> None:
        place, model = self.place(), self.numbers()
        with torch.npu.stream(place.stream):
            real = model.to(f"npu:{place.device}")
        self.add(place, real, model)

    def make(self) -> None:
        if (a := self.any()) is not None:
            place, b, function = self.place(a.device), self.like(a), self.random.choice(MAKING)
            real = self.on(place, [a, b], [], lambda: function(a.real, b.real))
            self.add(place, real, function(a.model, b.model))

    def change(self) -> None:
        if (a := self.any()) is not None:
            b, function = self.like(a), self.random.choice(CHANGING)
            if a is not b and a.storage is b.storage:
                b = a  # two views of one storage may overlap, which is an error in some of these
            self.on(self.place(a.device), [b], [a], lambda: function(a.real, b.real))
            function(a.model, b.model)

    def view(self) -> None:
        if (a := self.any()) is not None:
            function = self.random.choice(VIEWING)
            real = function(a.real)
            if real.numel():
                self.variables.append(Variable(real, function(a.model), a.storage, a.device))

    def free(self) -> None:
        if len(self.variables) > 6:
            self.variables.remove(self.random.choice(self.variables))

    def move(self) -> None:
        """Copy from one device to the other, or within one."""
        if (a := self.any()) is None:
            return
        source, target = self.place(a.device), self.place()
        self.before(source, [a], [])
        with ExitStack() as streams:
            for place in (target, source):
                streams.enter_context(torch.npu.stream(place.stream))
            if source.device == target.device:
                real = a.real.clone()
                target = source
            else:
                with torch.npu.device(target.device):
                    real = torch.empty_like(a.real, device=f"npu:{target.device}")
                real.copy_(a.real, non_blocking=True)
        self.after(source, [a], [])
        self.add(target, real, a.model.clone())

    def send(self) -> None:
        """Overwrite a tensor by one of pinned memory, which is given back at once."""
        if (a := self.any()) is not None:
            numbers = torch.randint_like(a.model, 97)
            pinned = numbers.pin_memory()
            self.on(self.place(a.device), [], [a], lambda: a.real.copy_(pinned, non_blocking=True))
            a.model.copy_(numbers)

    def receive(self) -> None:
        """Copy to pinned memory, and look at it when an event says that it is there."""
        if (a := self.any()) is not None:
            pinned = torch.empty_like(a.model, memory_format=torch.contiguous_format).pin_memory()
            place = self.place(a.device)
            self.on(place, [a], [], lambda: pinned.copy_(a.real, non_blocking=True))
            event = place.stream.record_event()
            event.synchronize()
            self.compare(pinned, a.model)

    def ask(self) -> None:
        """Call what the host waits for."""
        if (a := self.any()) is not None:
            total, places = self.on(
                self.place(a.device), [a], [], lambda: (a.real.sum().item(), (a.real > 40).nonzero().cpu())
            )
            assert total == a.model.sum().item(), self.log
            self.compare(places, (a.model > 40).nonzero())

    def capture(self) -> None:
        if (a := self.any()) is None or len(self.graphs) > 2:
            return
        place, b = self.place(a.device), self.like(a)
        if a is not b and a.storage is b.storage:
            b = a
        making, changing = self.random.choice(MAKING), self.random.choice(CHANGING)

        def steps(a: Tensor, b: Tensor) -> None:
            temporary = making(a, b)
            changing(a, b)
            a.copy_(temporary)
            small(a.add_(1))

        graph = torch.npu.NPUGraph()
        self.before(place, [b], [a])
        with torch.npu.stream(place.stream), capturing:
            graph.capture_begin(capture_error_mode="thread_local")
            steps(a.real, b.real)
            graph.capture_end()
        self.graphs.append(Kept(graph, [b], [a], lambda: steps(a.model, b.model), place.device))

    def replay(self) -> None:
        if self.graphs:
            kept = self.random.choice(self.graphs)
            place = self.place(kept.device)
            for _ in range(self.random.randrange(1, 4)):
                self.on(place, kept.inputs, kept.outputs, kept.graph.replay)
                kept.steps()
            if self.random.random() < 0.2:
                place.stream.synchronize()
                self.drop(kept)

    def drop(self, kept: Kept) -> None:
        """Destroy a graph, on its device."""
        with torch.npu.device(kept.device):
            kept.graph.reset()
        self.graphs.remove(kept)

    def wait(self) -> None:
        place = self.place()
        self.random.choice((place.stream.synchronize, lambda: synchronize(place.device)))()

    def compare(self, real: Tensor, model: Tensor) -> None:
        assert torch.equal(real.cpu(), model), (self.log, real.cpu(), model)


def run(seeds: range, failures: list[str]) -> None:
    for seed in seeds:
        torch.manual_seed(seed)
        try:
            Program(seed).run()
        except BaseException as error:  # reported by the main thread
            failures.append(f"seed {seed}: {type(error).__name__}: {error}")
            return


def main() -> None:
    first, count = map(int, sys.argv[1:3])
    failures: list[str] = []
    torch.npu.set_device(0)
    threads = [threading.Thread(target=run, args=(range(first + i, first + count, 2), failures)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("\n".join(failures))
    assert not failures
    print("answer:", json.dumps("random_programs"))


main()
