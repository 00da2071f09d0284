# SPDX-License-Identifier: Apache-2.0
"""Compares operators on the simulated device with the CPU, for the samples of torch's own database of operators.

Reads names of the database from standard input, one on each line, and writes a line of JSON for each: the name, and for
each type what came of it: "run", or why not. A type may be followed by the way in which the operator was called, for
instance "float32, compiled"; there, calls that the CPU refuses do not count. Stops after an operator that has failed in
its stream: the device is of no use then, as on hardware; the parent starts this program again for the rest. With
``--names`` it prints the names of the database, with ``--refused`` the operators without a kernel for the CPU, with
``--formula`` those that have a formula. With a number it calls each operator whose place is a multiple of the number,
and prints as its answer what does not run.
"""

from __future__ import annotations

import itertools
import json
import sys
import unittest
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import SampleInput
from torch.utils._pytree import tree_map

from ascend_rt.torch import _operators

TYPES = (torch.float32, torch.bfloat16, torch.int64)
SAMPLES = 3
# Their results have no defined values.
UNDEFINED = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")
# Their samples are views into memory that is moved with them only on the CPU.
VIEWS_OF_MORE = ("as_strided:partial_views",)
DATABASE = {f"{each.name}:{each.variant_test_name}".rstrip(":"): each for each in op_db}


def on_device(tree: Any) -> Any:
    def move(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            moved = leaf.detach().to("npu")
            # As it is on the CPU, strides included.
            if leaf.layout == torch.strided and not leaf.is_nested and leaf.dim() and moved.stride() != leaf.stride():
                moved = torch.empty_strided(leaf.size(), leaf.stride(), dtype=leaf.dtype, device="npu").copy_(moved)
            return moved.requires_grad_(leaf.requires_grad)
        if isinstance(leaf, torch.device) or leaf == "cpu":
            return torch.device("npu")
        return leaf

    return tree_map(move, tree)


def tensors(tree: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    tree_map(lambda leaf: found.append(leaf) if isinstance(leaf, torch.Tensor) else None, tree)
    return found


REFUSALS = (
    AssertionError,
    DataDependentOutputException,
    DynamicOutputShapeException,
    IndexError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)


def called(operator: Any, sample: Any, place: Any) -> Any:
    try:
        return operator(place(sample.input), *place(sample.args), **place(sample.kwargs))
    except REFUSALS as error:
        return error


class Way(NamedTuple):
    """One way to call operators: how a sample is changed, which both devices get, and how the operator is called."""

    samples: Callable[[Any, torch.dtype], Iterator[Any]]
    call: Callable[[Any, Any, Any], Any]  # the operator, the sample, and what moves it to the device
    has_values: bool = True


def dense_samples(entry: Any, kind: torch.dtype) -> Iterator[Any]:
    return itertools.islice(entry.sample_inputs("cpu", kind, requires_grad=False), SAMPLES)


def first_sample(entry: Any, kind: torch.dtype) -> Iterator[Any]:
    return itertools.islice(dense_samples(entry, kind), 1)


def is_dense(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided and not leaf.is_nested


def samples_in_channels_last(entry: Any, kind: torch.dtype) -> Iterator[Any]:
    for sample in entry.sample_inputs("cpu", kind, requires_grad=False):
        if any(is_dense(leaf) and leaf.dim() == 4 for leaf in tensors(sample.input)):
            yield sample.transform(
                lambda leaf: leaf.to(memory_format=torch.channels_last) if is_dense(leaf) and leaf.dim() == 4 else leaf
            )
            return


def nested_samples(entry: Any, kind: torch.dtype) -> Iterator[Any]:
    for sample in first_sample(entry, kind):
        if is_dense(sample.input) and sample.input.dim() > 1:
            parts = [sample.input.detach(), sample.input.detach()[:1]]
            sample.input = torch.nested.nested_tensor(parts)
            yield sample


def sparse_samples(layout: torch.layout) -> Callable[[Any, torch.dtype], Iterator[Any]]:
    """Return a function that yields the database's samples, or makes one of a dense sample."""

    def samples(entry: Any, kind: torch.dtype) -> Iterator[Any]:
        try:
            found = list(
                itertools.islice(entry.sample_inputs_sparse(layout, "cpu", kind, requires_grad=False), SAMPLES)
            )
        except (*REFUSALS, unittest.SkipTest):  # the database has none
            found = []
        yield from found or made(entry, kind)

    def made(entry: Any, kind: torch.dtype) -> Iterator[Any]:
        for sample in first_sample(entry, kind):
            if is_dense(sample.input) and sample.input.dim() == 2:
                sample.input = sample.input.detach().to_sparse(layout=layout)
                yield sample

    return samples


def call_fake(operator: Any, sample: Any, place: Any) -> Any:
    mode = FakeTensorMode()
    first, others, keywords = (fake(mode, place(each)) for each in (sample.input, sample.args, sample.kwargs))
    with mode:
        return called(operator, SampleInput(first, args=others, kwargs=keywords), lambda tree: tree)


def fake(mode: FakeTensorMode, tree: Any) -> Any:
    return tree_map(lambda leaf: mode.from_tensor(leaf) if isinstance(leaf, torch.Tensor) else leaf, tree)


def call_compiled(operator: Any, sample: Any, place: Any) -> Any:
    torch._dynamo.reset()
    return called(torch.compile(operator, backend="eager"), sample, place)


def call_with_autocast(operator: Any, sample: Any, place: Any) -> Any:
    with torch.autocast("cpu" if place is copied else "npu", dtype=torch.bfloat16):
        return called(operator, sample, place)


WAYS = {
    "fake": Way(first_sample, call_fake, has_values=False),
    "compiled": Way(first_sample, call_compiled),
    "autocast": Way(first_sample, call_with_autocast, has_values=False),
    "channels_last": Way(samples_in_channels_last, called),
    "nested": Way(nested_samples, called),
    "sparse_coo": Way(sparse_samples(torch.sparse_coo), called),
    "sparse_csr": Way(sparse_samples(torch.sparse_csr), called),
}
EAGER = Way(dense_samples, called)


def compare(entry: Any, kind: torch.dtype, way: Way = EAGER) -> str:
    """Return "run", "untested", or what is different."""
    if kind not in entry.dtypes or f"{entry.name}:{entry.variant_test_name}" in VIEWS_OF_MORE:
        return "untested"
    torch.manual_seed(0)
    compared = 0
    for sample in list(way.samples(entry, kind)):
        expected = seeded(0, way, entry.op, sample)
        results = way.call(entry.op, sample, on_device)
        if isinstance(expected, Exception):
            if way is EAGER and not isinstance(results, Exception) and not counts_integers(entry, kind):
                return f"runs, but not on the CPU: {type(expected).__name__}: {expected}".splitlines()[0][:200]
            continue
        if isinstance(results, Exception):
            return f"{type(results).__name__}: {results}".splitlines()[0][:200]
        has_values = way.has_values and not is_random(entry, way, sample, expected)
        text = difference(
            tensors(expected), tensors(results), values=has_values, types=way.call is not call_with_autocast
        )
        if text:
            return text
        compared += 1
    return "run" if compared else "untested"


def counts_integers(entry: Any, kind: torch.dtype) -> bool:
    """Return whether devices take what the CPU refuses: programs count integers there."""
    return entry.name == "histc" and not kind.is_floating_point


def is_random(entry: Any, way: Way, sample: Any, result: Any) -> bool:
    if entry.name in UNDEFINED or sets_seed(entry.op):
        return True
    return difference(tensors(result), tensors(seeded(1, way, entry.op, sample))) != ""


def sets_seed(operator: Any) -> bool:
    """Return whether the database's entry sets the seed of both devices, whose numbers differ."""
    return "wrapper_set_seed" in getattr(getattr(operator, "__code__", None), "co_names", ())


def seeded(seed: int, way: Way, operator: Any, sample: Any) -> Any:
    """Return the CPU's result for a sample, with random numbers from a seed: two seeds show whether they matter."""
    torch.manual_seed(seed)
    return way.call(operator, sample, copied)


def copied(tree: Any) -> Any:
    return tree_map(lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf, tree)


def difference(
    expected: list[torch.Tensor], results: list[torch.Tensor], *, values: bool = True, types: bool = True
) -> str:
    """Return in words how two lists of tensors differ, or nothing."""
    if len(expected) != len(results):
        return f"{len(results)} results instead of {len(expected)}"
    for a, b in zip(expected, results, strict=True):
        if a.is_nested != b.is_nested or a.layout != b.layout:
            return f"{b.layout} instead of {a.layout}"
        if a.is_nested:
            text = difference(list(a.unbind()), list(b.unbind()), values=values, types=types)
            if text:
                return text
            continue
        if a.shape != b.shape or (types and a.dtype != b.dtype):
            return f"{b.dtype} {tuple(b.shape)} instead of {a.dtype} {tuple(a.shape)}"
        if not values:
            continue
        try:
            torch.testing.assert_close(b.detach().cpu(), a.detach(), equal_nan=True)
        except AssertionError as error:
            return str(error).splitlines()[0][:200]
    return ""


def outcomes(entry: Any) -> Iterator[tuple[str, str]]:
    """Yield what comes of each type and way, and last of all a failure of the device."""
    calls = [(kind, "", EAGER) for kind in TYPES] + [(torch.float32, f", {name}", way) for name, way in WAYS.items()]
    for kind, name, way in calls:
        key = str(kind).removeprefix("torch.") + name
        try:
            result = compare(entry, kind, way)
            torch.npu.synchronize()
        except RuntimeError as error:
            yield key, str(error).splitlines()[0][:200]
            return
        yield key, result


def problems(found: dict[str, str]) -> dict[str, str]:
    return {kind: text for kind, text in found.items() if text not in ("run", "untested")}


def main() -> None:
    if sys.argv[1:] == ["--names"]:
        print(json.dumps(list(DATABASE)))
        return
    if sys.argv[1:] in (["--refused"], ["--formula"]):
        print(json.dumps([name for kind, name in _operators.kinds() if f"--{kind}" == sys.argv[1]]))
        return
    warnings.simplefilter("ignore")
    if sys.argv[1:]:
        chosen = {name: dict(outcomes(DATABASE[name])) for name in list(DATABASE)[:: int(sys.argv[1])]}
        print("answer:", json.dumps({name: problems(found) for name, found in chosen.items() if problems(found)}))
        return
    for line in sys.stdin:
        print(json.dumps([line.strip(), dict(outcomes(DATABASE[line.strip()]))]), flush=True)
        try:
            torch.npu.synchronize()
        except RuntimeError:  # the device is of no use
            return


if __name__ == "__main__":
    main()
