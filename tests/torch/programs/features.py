# SPDX-License-Identifier: Apache-2.0
"""Features above operators: torch.compile without a compiler, autocast, ranges in a profile."""

from __future__ import annotations

import json

import torch
import torch_npu
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile, record_function


def compile_with_the_backend_eager() -> None:
    function = torch.compile(lambda a, b: torch.nn.functional.gelu(a @ b).sum(), backend="eager")
    a, b = torch.randn(32, 32), torch.randn(32, 32)
    gradients = []
    for device in ("cpu", "npu"):
        on_device = a.to(device, copy=True).requires_grad_()
        function(on_device, b.to(device)).backward()
        gradients.append(on_device.grad.cpu())
    torch.testing.assert_close(*gradients)


def attention_without_data() -> None:
    """torch.compile follows programs with tensors without data, which attention chooses its kernel by."""
    for heads in (4, 2):
        shapes = (2, 4, 12, 8), (2, heads, 12, 8), (2, heads, 12, 8)
        with FakeTensorMode():
            queries = [torch.empty(shape, device="npu") for shape in shapes]
            assert attend(*queries, heads != 4).shape == shapes[0]
        queries = [torch.randn(shape) for shape in shapes]
        for options in ({}, {"dynamic": True}):
            torch._dynamo.reset()
            compiled = torch.compile(attend, backend="eager", fullgraph=True, **options)
            found = compiled(*[each.npu() for each in queries], heads != 4)
            torch.testing.assert_close(found.cpu(), attend(*queries, heads != 4))


def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, is_grouped: bool) -> torch.Tensor:
    return scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=is_grouped)


def autocast() -> None:
    layer = torch.nn.Linear(16, 16).npu()
    x = torch.randn(4, 16, device="npu")
    with torch.autocast("npu", dtype=torch.bfloat16):
        y = layer(x)
    assert y.dtype == torch.bfloat16
    y.float().sum().backward()
    assert layer.weight.grad.dtype == torch.float32
    torch.testing.assert_close(y.float(), layer(x), rtol=0.02, atol=0.02)


def profile_ranges() -> None:
    x = torch.randn(16, 16, device="npu")
    with profile(activities=[ProfilerActivity.CPU]) as profiled, record_function("multiply"):
        x @ x
    assert {"multiply", "aten::mm"} <= {each.key for each in profiled.key_averages()}
    with profile() as profiled:
        x @ x
    assert [each.count for each in profiled.key_averages() if each.key == "aten::mm"] == [1]


def traces_of_convolutions() -> None:
    """They compute: a trace without the operator would give the result of its example."""
    for layer, shape in (
        (torch.nn.Conv1d(2, 3, 3), (1, 2, 8)),
        (torch.nn.Conv2d(2, 3, 3), (1, 2, 8, 8)),
        (torch.nn.ConvTranspose2d(2, 3, 3), (1, 2, 8, 8)),
    ):
        traced = torch.jit.trace(layer.npu(), torch.randn(shape).npu())
        assert "aten::_convolution" in {node.kind() for node in traced.graph.nodes()}
        x = torch.randn(3, *shape[1:]).npu()
        assert torch.equal(traced(x).cpu(), layer(x).cpu())


def statistics_that_get_their_size() -> None:
    from torch.ao.quantization import FusedMovingAvgObsFakeQuantize, MovingAveragePerChannelMinMaxObserver

    def found(device: str) -> list[torch.Tensor]:
        observed = FusedMovingAvgObsFakeQuantize(
            MovingAveragePerChannelMinMaxObserver,
            quant_min=-128,
            quant_max=127,
            dtype=torch.qint8,
            qscheme=torch.per_channel_symmetric,
        ).to(device)
        results = [observed(torch.arange(6.0, device=device).reshape(2, 3) * factor) for factor in (1, 3)]
        return [each.cpu() for each in (*results, observed.scale, observed.zero_point)]

    for expected, result in zip(found("cpu"), found("npu"), strict=True):
        assert torch.equal(expected, result), (expected, result)


def linear_cross_entropy_in_bfloat16() -> None:
    """torch chooses the type of its sums by the device's name; with the CPU's choice, the results are the CPU's."""
    from torch.nn.functional import linear_cross_entropy
    from torch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions

    x, weight = torch.randn(8, 16, dtype=torch.bfloat16), torch.randn(32, 16, dtype=torch.bfloat16)
    target = torch.randint(32, (8,))
    options = LinearCrossEntropyOptions(acc_policy="accurate", chunking_method="aspect_ratio", acc_dtype=torch.float32)
    for reduction in ("none", "mean"):
        on_cpu, on_device = (
            linear_cross_entropy(x.to(d), weight.to(d), target.to(d), reduction=reduction, options=options).cpu()
            for d in ("cpu", "npu")
        )
        assert torch.equal(on_cpu, on_device), (on_cpu, on_device)


torch.manual_seed(0)
if hasattr(torch.nn.functional, "linear_cross_entropy"):  # from torch 2.13 on
    linear_cross_entropy_in_bfloat16()
compile_with_the_backend_eager()
attention_without_data()
autocast()
profile_ranges()
traces_of_convolutions()
statistics_that_get_their_size()
torch_npu.npu.synchronize()
print("answer:", json.dumps("features"))
