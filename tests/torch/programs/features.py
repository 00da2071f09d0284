# SPDX-License-Identifier: Apache-2.0
"""Features above operators: torch.compile without a compiler, autocast, ranges in a profile."""

from __future__ import annotations

import json

import torch
import torch_npu
from torch.nn.functional import linear_cross_entropy
from torch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions
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


def linear_cross_entropy_in_bfloat16() -> None:
    """torch chooses the type of its sums by the device's name; with the CPU's choice, the results are the CPU's."""
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
linear_cross_entropy_in_bfloat16()
compile_with_the_backend_eager()
autocast()
profile_ranges()
torch_npu.npu.synchronize()
print("answer:", json.dumps("features"))
