"""Functions of the programs that compare torch_npu's own operators with formulas."""

import functools
import json
import sys
from pathlib import Path

import numpy as np
import torch
import torch_npu
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map_only
from torch_npu.op_plugin.atb._atb_ops import _register_atb_extensions

from ascend_rt.torch import decompositions as known

RELEASE = tuple(int(number) for number in torch_npu.__version__.split(".")[:2])
torch.npu.set_device(0)
torch.manual_seed(0)
random = np.random.default_rng(0)


def numbers(*shape):
    return random.standard_normal(shape).astype(np.float32)


def same(result, expected, tolerance=2e-5):
    if isinstance(expected, (tuple, list)):
        assert len(result) == len(expected)
        for a, b in zip(result, expected, strict=True):
            same(a, b, tolerance)
        return
    assert result.device.type == "npu", result.device
    found = result.detach().cpu()
    assert tuple(found.shape) == np.shape(expected), (found.shape, np.shape(expected))
    np.testing.assert_allclose(found.double().numpy(), expected, rtol=tolerance, atol=tolerance)


def npu(*arrays):
    moved = [torch.from_numpy(np.ascontiguousarray(each)).npu() for each in arrays]
    return moved[0] if len(moved) == 1 else moved


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attended(q, k, v, scale, left_out=None, bias=0.0):
    """Return the result, the largest score, the sum and its logarithm: (B, N, S, D); a row of nothing is zero."""
    k, v = (each.astype(np.float64).repeat(q.shape[1] // each.shape[1], 1) for each in (k, v))
    scores = q.astype(np.float64) @ k.swapaxes(-1, -2) * scale + bias
    if left_out is not None:
        scores = np.where(left_out, -np.inf, scores)
    peak = scores.max(-1, keepdims=True, initial=-1e300)
    weights = np.exp(scores - np.where(peak == -1e300, 0, peak))
    total = weights.sum(-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, weights @ v / total, 0), np.where(total > 0, peak + np.log(total), np.inf)


def takes(name, *arguments):
    """Return whether the release's operator has the arguments; from 2.12 on, all that the programs use are there."""
    overloads = getattr(torch.ops.npu, name, None) or getattr(torch.ops.atb, name, None)
    known = {each.name for each in overloads.default._schema.arguments} if overloads else set()
    has_all = bool(known) and known.issuperset(arguments)
    assert has_all or RELEASE < (2, 12), (name, arguments)
    return has_all


def in_graph(name, function, refused):
    """Return a function that captures the call while the tensors are full of zeros, and replays it."""

    @functools.wraps(function)
    def call(*arguments, **keywords):
        leaves = tree_leaves((arguments, keywords))
        tensors = [each for each in leaves if isinstance(each, torch.Tensor) and each.device.type == "npu"]
        if torch.npu.is_current_stream_capturing() or not tensors or any(each.requires_grad for each in tensors):
            return function(*arguments, **keywords)
        numbers = [each.clone() for each in tensors]
        for each in tensors:
            each.zero_()
        torch.npu.synchronize()
        graph = torch.npu.NPUGraph()
        try:
            with torch.npu.graph(graph):
                results = function(*arguments, **keywords)
        except RuntimeError as error:
            graph.reset()
            if "cannot be captured" in str(error):
                refused.add(name)
            results = None
        for to, from_ in zip(tensors, numbers, strict=True):
            to.copy_(from_)
        if results is None:
            return function(*arguments, **keywords)  # or what it refuses in any case
        graph.replay()
        kept.append(graph)  # its memory has the results
        return results

    kept = []
    return call


def with_shapes(function):
    """Return a function that also calls it with tensors that have shapes alone, and compares the results."""

    @functools.wraps(function)
    def call(*arguments, **keywords):
        with FakeTensorMode() as mode:
            given = tree_map_only(torch.Tensor, mode.from_tensor, (arguments, keywords))
            announced = function(*given[0], **given[1])
        results = function(*arguments, **keywords)
        for found, fake in zip(tree_leaves(results), tree_leaves(announced), strict=True):
            if isinstance(found, torch.Tensor):
                assert (found.shape, found.dtype) == (fake.shape, fake.dtype), (function, found, fake)
        return results

    return call


def run(*functions):
    """Call the functions, with the operators in graphs if the program's argument is ``captured``.

    The answer is a list of the operators that cannot be captured, or the name of the program.
    """
    _register_atb_extensions()
    not_captured = set()
    for full_name in known.TABLE:
        name = full_name.partition("::")[2].partition(".")[0]
        for place in (torch_npu, torch_npu.atb):
            function = getattr(place, name, None)
            if function is not None:
                in_graphs = sys.argv[1:] == ["captured"]
                setattr(place, name, in_graph(name, function, not_captured) if in_graphs else with_shapes(function))
    for each in functions:
        each()
    print("answer:", json.dumps(sorted(not_captured) if sys.argv[1:] else Path(sys.argv[0]).stem))
