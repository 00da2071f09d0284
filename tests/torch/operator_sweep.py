# SPDX-License-Identifier: Apache-2.0
"""Compares operators on the simulated device with the CPU, for the samples of torch's own database of operators.

Reads names of the database from standard input, one on each line, and writes a line of JSON for each: the name, and for
each type what came of it: "run", or why not. Stops after an operator that has failed in its stream: the device is of no
use then, as on hardware; the parent starts this program again for the rest. With ``--names`` it prints the names of
the database, with ``--refused`` the operators without a kernel for the CPU, with ``--formula`` torch_npu's own that
have a formula.
"""

from __future__ import annotations

import itertools
import json
import sys
import warnings
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
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
            if leaf.layout == torch.strided and leaf.dim() and moved.stride() != leaf.stride():
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


def called(operator: Any, sample: Any, place: Any) -> Any:
    try:
        return operator(place(sample.input), *place(sample.args), **place(sample.kwargs))
    except (AssertionError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        return error


def compare(entry: Any, kind: torch.dtype) -> str:
    """Return "run", "untested", or what is different."""
    if kind not in entry.dtypes or f"{entry.name}:{entry.variant_test_name}" in VIEWS_OF_MORE:
        return "untested"
    torch.manual_seed(0)
    samples = list(itertools.islice(entry.sample_inputs("cpu", kind, requires_grad=False), SAMPLES))
    compared = 0
    for sample in samples:
        expected, another = (seeded(seed, entry.op, sample) for seed in (0, 1))
        results = called(entry.op, sample, on_device)
        if isinstance(expected, Exception) or isinstance(results, Exception):
            if isinstance(expected, Exception) and isinstance(results, Exception):
                continue
            return f"{type(results).__name__}: {results}".splitlines()[0][:200]
        is_random = (
            entry.name in UNDEFINED or sets_seed(entry.op) or difference(tensors(expected), tensors(another)) != ""
        )
        text = difference(tensors(expected), tensors(results), values=not is_random)
        if text:
            return text
        compared += 1
    return "run" if compared else "untested"


def sets_seed(operator: Any) -> bool:
    """Return whether the database's entry sets the seed of both devices, whose numbers differ."""
    return "wrapper_set_seed" in getattr(getattr(operator, "__code__", None), "co_names", ())


def seeded(seed: int, operator: Any, sample: Any) -> Any:
    """Return the CPU's result for a sample, with random numbers from a seed: two seeds show whether they matter."""
    torch.manual_seed(seed)
    return called(operator, sample, copied)


def copied(tree: Any) -> Any:
    return tree_map(lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf, tree)


def difference(expected: list[torch.Tensor], results: list[torch.Tensor], *, values: bool = True) -> str:
    """Return in words how two lists of tensors differ, or nothing."""
    if len(expected) != len(results):
        return f"{len(results)} results instead of {len(expected)}"
    for a, b in zip(expected, results, strict=True):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"{b.dtype} {tuple(b.shape)} instead of {a.dtype} {tuple(a.shape)}"
        if a.layout != torch.strided or not values:
            continue
        try:
            torch.testing.assert_close(b.detach().cpu(), a.detach(), equal_nan=True)
        except AssertionError as error:
            return str(error).splitlines()[0][:200]
    return ""


def main() -> None:
    if sys.argv[1:] == ["--names"]:
        print(json.dumps(list(DATABASE)))
        return
    if sys.argv[1:] in (["--refused"], ["--formula"]):
        print(json.dumps([name for kind, name in _operators.kinds() if f"--{kind}" == sys.argv[1]]))
        return
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        entry = DATABASE[line.strip()]
        found = {}
        for kind in TYPES:
            try:
                found[str(kind).removeprefix("torch.")] = compare(entry, kind)
                torch.npu.synchronize()
            except RuntimeError as error:
                found[str(kind).removeprefix("torch.")] = str(error).splitlines()[0][:200]
                print(json.dumps([line.strip(), found]), flush=True)
                return
        print(json.dumps([line.strip(), found]), flush=True)


if __name__ == "__main__":
    main()
