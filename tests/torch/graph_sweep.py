# SPDX-License-Identifier: Apache-2.0
"""Captures operators in graphs, replays them with other numbers in the inputs, and compares with the CPU.

``graph_sweep.py NUMBER`` does it for each operator of torch's database whose place is a multiple of the number, and
``graph_sweep.py NAME ...`` for these entries. It prints, as JSON, which ones cannot be captured, and why: what the host
has to wait for. Every other difference is an error.
"""

from __future__ import annotations

import gc
import itertools
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from operator_sweep import DATABASE, UNDEFINED, copied, difference, on_device, sets_seed, tensors
from torch.testing._internal import common_methods_invocations
from torch.utils._pytree import tree_map

SAMPLES = 2
# They give their input another size, or other strides, which a replay does not.
RESHAPE = ("as_strided", "as_strided:partial_views", "resize_", "resize_as_", "squeeze", "squeeze:multiple", "t")
RESHAPE += ("transpose", "swapaxes", "unsqueeze")
RANDOM = {name for name, entry in DATABASE.items() if sets_seed(entry.op)}

Arguments = tuple[Any, Any, Any]


def call(operator: Callable[..., Any], arguments: Arguments) -> Any:
    first, others, keywords = arguments
    return operator(first, *others, **keywords)


def succeeds(operator: Callable[..., Any], arguments: Arguments) -> Any:
    """Return the result on copies, or None."""
    try:
        return call(operator, copied(arguments))
    except (AssertionError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return None


def others(arguments: Arguments, first: list[torch.Tensor], operator: Callable[..., Any]) -> Iterator[Any]:
    """Yield arguments with other numbers that the operator takes, and its results."""
    changes: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
        lambda x: x.flatten().flip(0).reshape(x.shape),
        lambda x: x * 0.75 if x.is_floating_point() else x.clone(),
        torch.zeros_like,
    )
    for change in changes:
        changed = tree_map(lambda leaf, how=change: how(leaf.detach()) if is_plain(leaf) else leaf, arguments)
        result = succeeds(operator, changed)
        if result is not None and [each.shape for each in tensors(result)] == [each.shape for each in first]:
            yield changed, tensors(result)


def is_plain(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided


def captured(name: str, operator: Callable[..., Any], arguments: Arguments) -> str:
    """Return why the operator cannot be captured, or nothing."""
    result = succeeds(operator, arguments)
    if result is None:
        return ""
    first = tensors(result)
    again = tensors(succeeds(operator, arguments))
    is_random = name in RANDOM or name in UNDEFINED or difference(first, again) != ""
    choices = list(others(arguments, first, operator))
    moved = on_device(arguments)
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    try:
        with torch.npu.graph(graph):
            outputs = call(operator, moved)
    except (NotImplementedError, RuntimeError) as error:
        graph.reset()
        return str(error).strip().splitlines()[0]
    # Entries that change the result go first.
    choices.sort(key=lambda choice: difference(first, choice[1]) == "")
    for changed, expected in choices[:1]:
        for _ in range(2):  # in-place operators have changed what they were given
            for to, from_ in zip(tensors(moved), tensors(changed), strict=True):
                if is_plain(to):
                    to.copy_(from_)
            graph.replay()
            text = difference(expected, tensors(outputs), values=not is_random)
            assert text == "", (name, text)
    graph.reset()
    return ""


def refusals(names: list[str]) -> dict[str, str]:
    found = {}
    for name in names:
        entry = DATABASE[name]
        if torch.float32 not in entry.dtypes:
            continue
        torch.manual_seed(0)
        samples = itertools.islice(entry.sample_inputs("cpu", torch.float32, requires_grad=False), SAMPLES)
        for sample in samples:
            for operator in (entry.op, None if name in RESHAPE else entry.inplace_variant):
                if operator is not None:
                    text = captured(name, operator, (sample.input, sample.args, sample.kwargs))
                    if text:
                        found[name] = text
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    torch.npu.set_device(0)
    gc.disable()  # each capture would collect
    # The seed cannot be set in a capture.
    common_methods_invocations.wrapper_set_seed = lambda op, *arguments, **keywords: op(*arguments, **keywords)
    names = list(DATABASE)[:: int(sys.argv[1])] if sys.argv[1].isdecimal() else sys.argv[1:]
    with torch.no_grad():
        found = refusals(names)
    torch.npu.synchronize()
    print("answer:", json.dumps(found))


main()
