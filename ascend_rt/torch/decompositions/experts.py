# SPDX-License-Identifier: Apache-2.0
"""Routing tokens to experts, and back."""

from __future__ import annotations

import torch
from torch import Tensor

from ascend_rt.torch.decompositions._table import FLOATS, check, formula, refuse_given, wide


@formula("npu_moe_gating_top_k_softmax", *FLOATS)
def gating_top_k_softmax(x: Tensor, finished: Tensor | None = None, k: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    check(x.dim() in (2, 3) and 0 < k <= x.size(-1), f"no {k} of the shape {tuple(x.shape)}")
    values, experts = wide(x).softmax(-1).sort(dim=-1, descending=True, stable=True)
    values, experts = values[..., :k].to(x.dtype), experts[..., :k].int()
    if finished is not None:  # such a row goes to no expert
        experts = experts.masked_fill(finished.reshape(*x.shape[:-1], 1), x.size(-1))
    rows = x.shape[:-1].numel()
    numbers = torch.arange(rows * k, dtype=torch.int32, device=x.device).reshape(k, rows).t().reshape(experts.shape)
    return values.contiguous(), experts.contiguous(), numbers.contiguous()


@formula("npu_moe_init_routing", *FLOATS)
def init_routing(x: Tensor, row_idx: Tensor, expert_idx: Tensor, active_num: int) -> tuple[Tensor, Tensor, Tensor]:
    check(x.dim() == 2 and row_idx.shape == expert_idx.shape, "x must be a matrix, and there must be a row per expert")
    rows, per_row = x.size(0), expert_idx.size(-1)
    experts, order = expert_idx.reshape(-1).sort(dim=0, stable=True)
    sources = row_idx.reshape(-1)[order].long()
    places = torch.empty_like(sources).scatter_(0, sources, torch.arange(len(sources), device=x.device))
    active = min(active_num, rows) * per_row
    return x[sources[:active] % rows], places.int(), experts.int()


@formula("npu_moe_compute_expert_tokens", torch.int32)
def compute_expert_tokens(sorted_expert_for_source_row: Tensor, num_expert: int) -> Tensor:
    """Return the number of rows before the end of each expert's."""
    numbers = torch.arange(num_expert, dtype=torch.int32, device=sorted_expert_for_source_row.device)
    return torch.searchsorted(sorted_expert_for_source_row, numbers, right=True, out_int32=True)


@formula("npu_moe_finalize_routing", *FLOATS)
def finalize_routing(
    expanded_permuted_rows: Tensor,
    skip1: Tensor | None,
    skip2: Tensor | None,
    bias: Tensor | None,
    scales: Tensor | None,
    expanded_src_to_dst_row: Tensor,
    export_for_source_row: Tensor | None,
    drop_pad_mode: int | None = 0,
    k: int | None = 1,
) -> Tensor:
    check(drop_pad_mode in (0, None), f"drop_pad_mode {drop_pad_mode} is not supported on the simulator")
    check(bias is None or export_for_source_row is not None, "bias needs export_for_source_row")
    per_row = scales.size(1) if scales is not None else 1
    source = expanded_src_to_dst_row.reshape(per_row, -1).t().long()  # (rows, experts of a row)
    rows = wide(expanded_permuted_rows)[source]
    if bias is not None and export_for_source_row is not None:
        rows = rows + wide(bias)[export_for_source_row.long()]
    if scales is not None:
        rows = rows * wide(scales).unsqueeze(-1)
    total = rows.sum(1)
    for skipped in (skip1, skip2):
        total = total if skipped is None else total + wide(skipped)
    return total.to(expanded_permuted_rows.dtype)


@formula("npu_moe_token_permute", *FLOATS)
def token_permute(
    tokens: Tensor, indices: Tensor, num_out_tokens: int | None = None, padded_mode: bool = False
) -> tuple[Tensor, Tensor]:
    check(not padded_mode, "padded_mode is not supported on the simulator")
    check(num_out_tokens in (None, 0, indices.numel()), "num_out_tokens is not supported on the simulator")
    per_token = indices.size(1) if indices.dim() == 2 else 1
    order = indices.reshape(-1).argsort(stable=True)
    return tokens[order // per_token], order.argsort(stable=True).int()


@formula("npu_moe_token_unpermute", *FLOATS)
def token_unpermute(
    permuted_tokens: Tensor,
    sorted_indices: Tensor,
    probs: Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: list[int] | None = None,
) -> Tensor:
    check(not padded_mode, "padded_mode is not supported on the simulator")
    refuse_given(restore_shape=restore_shape)
    check(len(permuted_tokens) == len(sorted_indices), "there must be one index for each token")
    rows = permuted_tokens[sorted_indices.long()]
    if probs is None:
        return rows
    weighted = rows.unflatten(0, (-1, probs.size(1))) * probs.unsqueeze(-1)
    return weighted.sum(1).to(permuted_tokens.dtype)
