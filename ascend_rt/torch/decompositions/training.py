# SPDX-License-Identifier: Apache-2.0
"""Losses and optimizers."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ascend_rt.torch.decompositions._table import FLOATS, check, formula, wide, wide_or_none


@formula("npu_cross_entropy_loss", *FLOATS)
def cross_entropy_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    lse_square_scale_for_zloss: float = 0.0,
    return_zloss: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    check(not return_zloss and not lse_square_scale_for_zloss, "zloss is not supported")  # neither by NPUs
    check(input.dim() == 2 and target.shape == input.shape[:1], "the shapes must be (N, C) and (N,)")
    logits = wide(input)
    loss = F.cross_entropy(
        logits,
        target,
        wide_or_none(weight),
        reduction=reduction,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
    )
    loss = loss.to(input.dtype) if reduction == "none" else loss.to(input.dtype).reshape(1)
    nothing = input.new_zeros(0)
    return loss, logits.log_softmax(-1).detach().to(input.dtype), nothing, nothing.clone()


@formula("npu_softmax_cross_entropy_with_logits", *FLOATS)
def softmax_cross_entropy_with_logits(input: Tensor, labels: Tensor) -> Tensor:
    check(input.shape == labels.shape and input.dim() == 2, "features and labels must be matrices of the same shape")
    return -(wide(labels) * wide(input).log_softmax(-1)).sum(-1).to(input.dtype)


@formula("npu_apply_adam.out")
def apply_adam(
    beta1_power: float,
    beta2_power: float,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: Tensor,
    use_locking: bool | None,
    use_nesterov: bool | None,
    *,
    out: list[Tensor],
) -> tuple[Tensor, Tensor, Tensor]:
    """Update the variable and its two moments, which are ``out``."""
    check(len(out) == 3, "out must be the variable, m and v")
    var, m, v = out
    with torch.no_grad():
        m.add_(grad - m, alpha=1 - beta1)
        v.add_(grad.square() - v, alpha=1 - beta2)
        step = lr * (1 - beta2_power) ** 0.5 / (1 - beta1_power)
        moved = m * beta1 + grad * (1 - beta1) if use_nesterov else m
        var.sub_(step * moved / (v.sqrt() + epsilon))
    return var, m, v


@formula("npu_apply_adam_w.out")
def apply_adam_w(
    beta1_power: float,
    beta2_power: float,
    lr: float,
    weight_decay: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: Tensor,
    max_grad_norm: Tensor | None,
    amsgrad: bool | None,
    maximize: bool | None,
    *,
    out: list[Tensor],
) -> tuple[Tensor, Tensor, Tensor]:
    """Update the variable and its two moments, which are ``out``; with amsgrad, the largest second moment as well."""
    check(len(out) == 3, "out must be the variable, m and v")
    check(not amsgrad or max_grad_norm is not None, "amsgrad needs max_grad_norm")
    var, m, v = out
    with torch.no_grad():
        gradient = -grad if maximize else grad
        m.mul_(beta1).add_(gradient, alpha=1 - beta1)
        v.mul_(beta2).add_(gradient.square(), alpha=1 - beta2)
        second = v
        if amsgrad and max_grad_norm is not None:
            second = torch.maximum(max_grad_norm, v, out=max_grad_norm)
        var.mul_(1 - lr * weight_decay)
        denominator = (second / (1 - beta2_power * beta2)).sqrt() + epsilon
        var.sub_(lr / (1 - beta1_power * beta1) * m / denominator)
    return var, m, v
