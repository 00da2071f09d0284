# SPDX-License-Identifier: Apache-2.0
"""Parts of torch.nn.SyncBatchNorm, which PyTorch has for every device but the CPU.

Dimension 1 is that of the channels. Statistics of float16 and bfloat16 are float32, as on other devices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def _wide(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _others(x: Tensor) -> list[int]:
    return [dimension for dimension in range(x.dim()) if dimension != 1]


def _along(channels: Tensor, x: Tensor) -> Tensor:
    """Return a value for each channel in the shape that x can be combined with."""
    return channels.reshape([-1 if dimension == 1 else 1 for dimension in range(x.dim())])


def _stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    variance, mean = torch.var_mean(_wide(input), _others(input), correction=0)
    return mean, (variance + eps).rsqrt()


def combined(
    mean: Tensor,
    variance: Tensor,
    total: Tensor,
    running: tuple[Tensor | None, Tensor | None],
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """Update the running statistics with those of all processes; return the mean and the inverse deviation."""
    unbiased = variance * total / (total - 1)
    for statistic, new in zip(running, (mean, unbiased), strict=True):
        if statistic is not None:
            statistic.lerp_(new.to(statistic.dtype), momentum)
    return mean, (variance + eps).rsqrt()


def _gather_stats(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor | int,
) -> tuple[Tensor, Tensor]:
    """Combine the statistics of the processes, which have counts elements, or an equal number each."""
    if isinstance(counts, int):
        counts = mean.new_full((mean.shape[0],), counts)
    counts = counts.reshape(-1, 1).to(mean.dtype)
    total = counts.sum()
    all_mean = (mean * counts).sum(0) / total
    variances = invstd.reciprocal().square() - eps
    variance = ((variances + (mean - all_mean).square()) * counts).sum(0) / total
    return combined(all_mean, variance, total, (running_mean, running_var), momentum, eps)


def _elemt(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float
) -> Tensor:
    x = (_wide(input) - _along(mean, input)) * _along(invstd, input)
    if weight is not None:
        x = x * _along(weight, input)
    return (x if bias is None else x + _along(bias, input)).to(input.dtype)


def _backward_reduce(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor | None, ...]:
    grad, dimensions = _wide(grad_out), _others(input)
    sum_dy = grad.sum(dimensions)
    sum_dy_xmu = (grad * (_wide(input) - _along(mean, input))).sum(dimensions)
    dtype = sum_dy.dtype if weight is None else weight.dtype
    return (
        sum_dy if input_g else None,
        sum_dy_xmu if input_g else None,
        (sum_dy_xmu * invstd).to(dtype) if weight_g else None,
        sum_dy.to(dtype) if bias_g else None,
    )


def _backward_elemt(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    total = count.sum()
    along_mean = _along(sum_dy / total, input)
    along_slope = _along(sum_dy_xmu / total * invstd.square(), input)
    grad = _wide(grad_out) - along_mean - (_wide(input) - _along(mean, input)) * along_slope
    grad = grad * _along(invstd if weight is None else invstd * weight, input)
    return grad.to(input.dtype)


KERNELS: dict[str, Callable[..., Any]] = {
    "batch_norm_stats": _stats,
    "batch_norm_gather_stats": _gather_stats,
    "batch_norm_gather_stats_with_counts": _gather_stats,
    "batch_norm_elemt": _elemt,
    "batch_norm_backward_reduce": _backward_reduce,
    "batch_norm_backward_elemt": _backward_elemt,
}
