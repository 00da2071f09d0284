# SPDX-License-Identifier: Apache-2.0
"""Activation functions, and their gradients where they are operators as well."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from ascend_rt.torch.decompositions._table import FLOATS, check, formula, refuse_given, wide


def _halves(tensor: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    check(-tensor.dim() <= dim < tensor.dim(), f"there is no dimension {dim} in {tuple(tensor.shape)}")
    check(tensor.size(dim) % 2 == 0, f"the dimension {dim} of {tuple(tensor.shape)} has no two halves")
    first, second = wide(tensor).chunk(2, dim)
    return first, second


def _gradient(function: Callable[[Tensor], Tensor], input: Tensor, grad: Tensor) -> Tensor:
    with torch.enable_grad():
        leaf = input.detach().requires_grad_()
        [result] = torch.autograd.grad(function(leaf), [leaf], grad)
    return result


@formula("npu_swiglu", *FLOATS)
def swiglu(input: Tensor, dim: int = -1) -> Tensor:
    gate, value = _halves(input, dim)
    return (F.silu(gate) * value).to(input.dtype)


@formula("npu_swiglu_backward", *FLOATS)
def swiglu_backward(grad_output: Tensor, input: Tensor, dim: int = -1) -> Tensor:
    return _gradient(lambda x: swiglu(x, dim), input, grad_output)


@formula("npu_clipped_swiglu", *FLOATS)
def clipped_swiglu(
    x: Tensor,
    *,
    group_index: Tensor | None = None,
    dim: int = -1,
    alpha: float = 1.702,
    limit: float = 7.0,
    bias: float = 1.0,
    interleaved: bool = True,
) -> Tensor:
    refuse_given(group_index=group_index)
    check(dim in (-1, x.dim() - 1), "only the last dimension is supported on the simulator")
    gate, value = _halves(x, dim)
    if interleaved:
        gate, value = wide(x)[..., ::2], wide(x)[..., 1::2]
    gate = gate.clamp(max=limit)
    return (gate * (alpha * gate).sigmoid() * (value.clamp(-limit, limit) + bias)).to(x.dtype)


@formula("fast_gelu", *FLOATS)
@formula("npu_fast_gelu", *FLOATS)
def fast_gelu(input: Tensor) -> Tensor:
    x = wide(input)
    return (x * (1.702 * x).sigmoid()).to(input.dtype)


@formula("npu_fast_gelu_backward", *FLOATS)
def fast_gelu_backward(grad: Tensor, input: Tensor) -> Tensor:
    return _gradient(fast_gelu, input, grad)


@formula("npu_gelu", *FLOATS)
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    check(approximate in ("none", "tanh"), f"approximate must be 'none' or 'tanh', not {approximate!r}")
    return F.gelu(wide(input), approximate=approximate).to(input.dtype)


@formula("npu_gelu_backward", *FLOATS)
def gelu_backward(grad_output: Tensor, input: Tensor, *, approximate: str = "none") -> Tensor:
    return _gradient(lambda x: gelu(x, approximate=approximate), input, grad_output)


@formula("npu_gelu_mul", *FLOATS)
def gelu_mul(input: Tensor, *, approximate: str = "none") -> Tensor:
    first, second = _halves(input, -1)
    return (gelu(first, approximate=approximate) * second).to(input.dtype)


@formula("npu_geglu", *FLOATS)
def geglu(input: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False) -> tuple[Tensor, Tensor]:
    check(approximate in (0, 1), f"approximate must be 0 or 1, not {approximate}")
    left, right = _halves(input, dim)
    activated, other = (left, right) if activate_left else (right, left)
    activated = gelu(activated, approximate="tanh" if approximate else "none")
    return (activated * other).to(input.dtype), activated.to(input.dtype)


@formula("npu_silu", *FLOATS)
def silu(input: Tensor) -> Tensor:
    return F.silu(input)


@formula("npu_silu_", *FLOATS)
def silu_(input: Tensor) -> Tensor:
    return F.silu(input, inplace=True)


@formula("npu_silu_backward", *FLOATS)
def silu_backward(grad_output: Tensor, x0: Tensor, x1: Tensor) -> Tensor:
    return _gradient(F.silu, x0, grad_output)


@formula("npu_mish", *FLOATS)
def mish(input: Tensor) -> Tensor:
    return F.mish(input)


@formula("npu_mish_backward", *FLOATS)
def mish_backward(grad: Tensor, input: Tensor) -> Tensor:
    return _gradient(F.mish, input, grad)


@formula("npu_scaled_masked_softmax", *FLOATS)
def scaled_masked_softmax(x: Tensor, mask: Tensor, scale: float = 1, fixed_triu_mask: bool = False) -> Tensor:
    check(mask.dtype == torch.bool, f"the mask has the type {mask.dtype} instead of torch.bool")
    check(not fixed_triu_mask, "fixed_triu_mask is not supported")  # neither by the adapter's documentation
    return (wide(x) * scale).masked_fill(mask, -10000.0).softmax(-1).to(x.dtype)


@formula("npu_scaled_masked_softmax_backward", *FLOATS)
def scaled_masked_softmax_backward(
    y_grad: Tensor, y: Tensor, mask: Tensor, scale: float, fixed_triu_mask: bool
) -> Tensor:
    check(not fixed_triu_mask, "fixed_triu_mask is not supported")
    product = wide(y_grad) * wide(y)
    return ((product - wide(y) * product.sum(-1, keepdim=True)) * scale).masked_fill(mask, 0.0).to(y.dtype)
