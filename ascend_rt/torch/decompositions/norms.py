# SPDX-License-Identifier: Apache-2.0
"""Normalizations. Statistics are in float32, with 1 for each dimension that is normalized."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from ascend_rt.torch._batch_norm import combined
from ascend_rt.torch.decompositions._table import FLOATS, check, formula, wide, wide_or_none


def _normalized(x: Tensor, gamma: Tensor) -> tuple[int, ...]:
    """Return the dimensions that the weight has."""
    rank = gamma.dim()
    check(
        0 < rank <= x.dim() and x.shape[-rank:] == gamma.shape,
        f"gamma has the shape {tuple(gamma.shape)}, the input {tuple(x.shape)}",
    )
    return tuple(range(-rank, 0))


def _rms_norm(x: Tensor, gamma: Tensor, weight: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    rstd = (x.square().mean(_normalized(x, gamma), keepdim=True) + epsilon).rsqrt()
    return x * rstd * weight, rstd


@formula("npu_rms_norm", *FLOATS)
def rms_norm(input: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    y, rstd = _rms_norm(wide(input), gamma, wide(gamma), epsilon)
    return y.to(input.dtype), rstd.detach()


@formula("npu_rms_norm_backward", *FLOATS)
def rms_norm_backward(dy: Tensor, input: Tensor, gamma: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor]:
    dims = _normalized(input, gamma)
    grad, normal = wide(dy), wide(input) * rstd
    scaled = grad * wide(gamma)
    dx = (scaled - normal * (scaled * normal).mean(dims, keepdim=True)) * rstd
    others = tuple(range(input.dim() - gamma.dim()))
    dgamma = (grad * normal).sum(others) if others else grad * normal
    return dx.to(input.dtype), dgamma.float()


@formula("npu_gemma_rms_norm", *FLOATS)
def gemma_rms_norm(input: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    y, rstd = _rms_norm(wide(input), gamma, 1 + wide(gamma), epsilon)
    return y.to(input.dtype), rstd.detach()


@formula("npu_add_rms_norm", *FLOATS)
def add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor, Tensor]:
    check(x1.shape == x2.shape and x1.dtype == x2.dtype, "x1 and x2 differ in shape or type")
    x = x1 + x2
    y, rstd = rms_norm(x, gamma, epsilon)
    return y, rstd, x


def _layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    check(gamma.shape == beta.shape, "gamma and beta differ in shape")
    dims = _normalized(x, gamma)
    mean = x.mean(dims, keepdim=True)
    rstd = ((x - mean).square().mean(dims, keepdim=True) + epsilon).rsqrt()
    return (x - mean) * rstd * wide(gamma) + wide(beta), mean, rstd


@formula("npu_layer_norm_eval", *FLOATS)
def layer_norm_eval(
    input: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    y = F.layer_norm(wide(input), normalized_shape, wide_or_none(weight), wide_or_none(bias), eps)
    return y.to(input.dtype)


@formula("npu_add_layer_norm", *FLOATS)
def add_layer_norm(
    x1: Tensor, x2: Tensor, gamma: Tensor, beta: Tensor, epsilon: float = 1e-5, additional_output: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    check(x1.shape == x2.shape, "x1 and x2 differ in shape")
    x = x1 + x2  # in the wider of the types
    y, mean, rstd = _layer_norm(wide(x1) + wide(x2), gamma, beta, epsilon)
    given = x if additional_output else torch.zeros_like(x)
    return y.to(x.dtype), mean.detach(), rstd.detach(), given


@formula("npu_deep_norm", *FLOATS)
def deep_norm(
    x: Tensor, gx: Tensor, beta: Tensor, gamma: Tensor, alpha: float = 0.3, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    check(x.shape == gx.shape and x.dtype == gx.dtype, "x and gx differ in shape or type")
    y, mean, rstd = _layer_norm(alpha * wide(x) + wide(gx), gamma, beta, epsilon)
    return mean.detach(), rstd.detach(), y.to(x.dtype)


def _group_norm(
    input: Tensor, groups: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    check(
        input.dim() >= 2 and groups > 0 and input.size(1) % groups == 0, f"no {groups} groups in {tuple(input.shape)}"
    )
    x = wide(input).reshape(*input.shape[:2], math.prod(input.shape[2:])).unflatten(1, (groups, -1)).flatten(2)
    mean = x.mean(-1)
    rstd = ((x - mean.unsqueeze(-1)).square().mean(-1) + eps).rsqrt()
    y = F.group_norm(wide(input), groups, wide_or_none(weight), wide_or_none(bias), eps)
    return y, mean.detach().to(input.dtype), rstd.detach().to(input.dtype)


@formula("npu_group_norm_silu", *FLOATS)
def group_norm_silu(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, group: int, eps: float = 1e-5
) -> tuple[Tensor, Tensor, Tensor]:
    y, mean, rstd = _group_norm(input, group, weight, bias, eps)
    return F.silu(y).to(input.dtype), mean, rstd


@formula("npu_group_norm_swish", *FLOATS)
def group_norm_swish(
    input: Tensor,
    num_groups: int,
    weight: Tensor,
    bias: Tensor,
    eps: float | None = 1e-5,
    swish_scale: float | None = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    y, mean, rstd = _group_norm(input, num_groups, weight, bias, 1e-5 if eps is None else eps)
    scale = 1.0 if swish_scale is None else swish_scale
    return (y * (scale * y).sigmoid()).to(input.dtype), mean, rstd


@formula("batch_norm_reduce", *FLOATS)
def batch_norm_reduce(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    x, others = wide(input), [dimension for dimension in range(input.dim()) if dimension != 1]
    return x.sum(others), x.square().sum(others)


@formula("batch_norm_gather_stats_update", *FLOATS)
def batch_norm_gather_stats_update(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """Combine the sums and the sums of squares of all processes, which are the arguments mean and invstd."""
    total = counts.sum()
    all_mean = mean.sum(0) / total
    variance = invstd.sum(0) / total - all_mean.square()
    return combined(all_mean, variance, total, (running_mean, running_var), momentum, eps)
