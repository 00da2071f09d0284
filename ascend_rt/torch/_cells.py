# SPDX-License-Identifier: Apache-2.0
"""Cells of recurrent networks, which PyTorch computes by one operator on every device but the CPU.

The formulas are those of torch.nn.LSTMCell and torch.nn.GRUCell. A workspace keeps the gates for the gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def _with(gates: Tensor, bias: Tensor | None) -> Tensor:
    return gates if bias is None else gates + bias


def _lstm_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    gates = _with(hidden_gates, hidden_bias) + _with(input_gates, input_bias)
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat((i, f, g, o), 1)


def _lstm_cell_backward(
    grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    if grad_hy is None and grad_cy is None:
        return None, None, None
    i, f, g, o = workspace.chunk(4, 1)
    grad_hy = torch.zeros_like(cy) if grad_hy is None else grad_hy
    activated = cy.tanh()
    of_cell = grad_hy * o * (1 - activated * activated)
    if grad_cy is not None:
        of_cell = of_cell + grad_cy
    parts = (
        of_cell * g * i * (1 - i),
        of_cell * cx * f * (1 - f),
        of_cell * i * (1 - g * g),
        grad_hy * activated * o * (1 - o),
    )
    gates = torch.cat(parts, 1)
    return gates, of_cell * f, gates.sum(0) if has_bias else None


def _gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    input_r, input_z, input_n = _with(input_gates, input_bias).chunk(3, 1)
    hidden_r, hidden_z, hidden_n = _with(hidden_gates, hidden_bias).chunk(3, 1)
    r, z = (hidden_r + input_r).sigmoid(), (hidden_z + input_z).sigmoid()
    n = (input_n + r * hidden_n).tanh()
    return (hx - n) * z + n, torch.cat((r, z, n, hx, hidden_n), 1)


def _gru_cell_backward(
    grad_hy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    r, z, n, hx, hidden_n = workspace.chunk(5, 1)
    of_n = grad_hy * (1 - z) * (1 - n * n)
    of_z = grad_hy * (hx - n) * z * (1 - z)
    of_r = of_n * hidden_n * r * (1 - r)
    of_input = torch.cat((of_r, of_z, of_n), 1)
    of_hidden = torch.cat((of_r, of_z, of_n * r), 1)
    biases = (of_input.sum(0), of_hidden.sum(0)) if has_bias else (None, None)
    return of_input, of_hidden, grad_hy * z, *biases


KERNELS: dict[str, Callable[..., Any]] = {
    "_thnn_fused_lstm_cell": _lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_cell_backward,
    "_thnn_fused_gru_cell": _gru_cell,
    "_thnn_fused_gru_cell_backward": _gru_cell_backward,
}
