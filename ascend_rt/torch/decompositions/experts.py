# SPDX-License-Identifier: Apache-2.0
"""Routing tokens to experts, and back."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ascend_rt.torch.decompositions import quantization
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


@formula("npu_moe_gating_top_k", *FLOATS)
def gating_top_k(
    x: Tensor,
    k: int,
    *,
    bias: Tensor | None = None,
    input_ids: Tensor | None = None,
    tid2eid: Tensor | None = None,
    k_group: int = 1,
    group_count: int = 1,
    group_select_mode: int = 0,
    renorm: int = 0,
    norm_type: int = 0,
    out_flag: bool = False,
    routed_scaling_factor: float = 1.0,
    eps: float = 1e-20,
) -> tuple[Tensor, Tensor, Tensor]:
    """Choose groups of experts by their best ones, and then experts; the bias counts for the choice alone."""
    refuse_given(input_ids=input_ids, tid2eid=tid2eid)
    check(x.dim() == 2 and group_count > 0 and x.size(1) % group_count == 0, "the experts have no such groups")
    check(0 < k_group <= group_count and 0 < k <= x.size(1) // group_count * k_group, f"there are no {k} experts")
    check(group_select_mode in (0, 1), f"group_select_mode {group_select_mode} is not supported")
    check(norm_type in (0, 1) and renorm == 0, f"norm_type {norm_type} with renorm {renorm} is not supported")
    normal = wide(x).softmax(-1) if norm_type == 0 else wide(x).sigmoid()
    chosen_by = normal if bias is None else normal + wide(bias)
    if group_count > 1:
        groups = chosen_by.unflatten(1, (group_count, -1))
        check(group_select_mode == 0 or groups.size(-1) > 1, "a group has no two experts")
        best = groups.amax(-1) if group_select_mode == 0 else groups.topk(2).values.sum(-1)
        kept = best.sort(dim=-1, descending=True, stable=True).indices[:, :k_group]
        is_kept = torch.zeros_like(best, dtype=torch.bool).scatter(1, kept, True)
        chosen_by = groups.masked_fill(~is_kept.unsqueeze(-1), -torch.inf).flatten(1)
    experts = chosen_by.sort(dim=-1, descending=True, stable=True).indices[:, :k]
    y = normal.gather(1, experts)
    if norm_type == 1:
        y = y / (y.sum(-1, keepdim=True) + eps)
    normal = normal if out_flag else torch.zeros_like(normal)
    return (y * routed_scaling_factor).to(x.dtype), experts.int(), normal.float()


class _Routes(NamedTuple):
    """The pairs of a row and an expert, in the order of experts."""

    order: Tensor  # the pairs
    experts: Tensor  # their experts
    ends: Tensor  # the number of pairs up to each active expert
    is_active: Tensor  # true for a pair of an active expert


class _Places(NamedTuple):
    """The places of pairs."""

    pair: Tensor  # one in each place, or -1
    expert: Tensor  # numbers of places, from the first active one on
    of_pair: Tensor  # the place of each pair, or -1; in the order of rows


def _routes(expert_idx: Tensor, first: int, last: int) -> _Routes:
    flat = expert_idx.reshape(-1).long()
    is_active = (flat >= first) & (flat < last)
    experts, order = torch.where(is_active, flat, last).sort(stable=True)
    known = torch.arange(first, last, device=flat.device)
    return _Routes(order, experts, torch.searchsorted(experts, known, right=True), experts < last)


def _in_order(routes: _Routes, first: int, last: int, total: int) -> _Places:
    """Put the pairs one behind the other."""
    pair = torch.where(routes.is_active, routes.order, -1)
    numbers = torch.where(routes.is_active, torch.arange(len(pair), device=pair.device), -1)
    of_pair = torch.empty_like(pair).scatter_(0, routes.order, numbers)
    return _Places(pair[:total], routes.experts[:total].clamp(max=last - 1) - first, of_pair)


def _up_to(routes: _Routes, expert_num: int, capacity: int) -> _Places:
    """Put as many pairs into the places of each expert as it has; the others are dropped."""
    total = expert_num * capacity
    rank = torch.arange(len(routes.order), device=routes.order.device)
    rank = rank - torch.searchsorted(routes.experts, routes.experts)
    is_kept = routes.is_active & (rank < capacity)
    places = torch.where(is_kept, routes.experts * capacity + rank, total)
    pair = places.new_full((total + 1,), -1).index_put((places,), routes.order)[:total]
    of_pair = torch.empty_like(places).scatter_(0, routes.order, torch.where(is_kept, places, -1))
    return _Places(pair, torch.arange(total, device=pair.device) // capacity, of_pair)


def _counts(routes: _Routes, first: int, expert_num: int, kind: int) -> Tensor:
    """Return the numbers of pairs: sums, counts, or pairs of an expert that has some and its count."""
    counts = routes.ends.diff(prepend=routes.ends.new_zeros(1))
    if kind < 2:
        return counts if kind else routes.ends
    is_used = counts > 0
    place = torch.where(is_used, is_used.cumsum(0) - 1, expert_num)
    pairs = torch.stack((torch.arange(first, first + len(counts), device=counts.device), counts), -1)
    return counts.new_zeros(expert_num + 1, 2).index_put((place,), pairs)[:expert_num]


def _expanded(
    x: Tensor, places: _Places, per_row: int, scale: Tensor | None, offset: Tensor | None, quant_mode: int
) -> tuple[Tensor, Tensor]:
    """Return the rows of all places, and their scales; a place without a row is zero."""
    is_empty = places.pair < 0
    if len(x) == 0:  # all places are without a row; programs may pass scales that are as empty
        x, scale = x.new_zeros(1, *x.shape[1:]), scale if quant_mode == 0 else None
    rows = places.pair.clamp(min=0) // per_row
    expanded = x[rows].masked_fill(is_empty.unsqueeze(-1), 0)
    if quant_mode == -1:
        nothing = x.new_zeros(len(rows), dtype=torch.float32)
        return expanded, nothing if scale is None else scale[rows].masked_fill(is_empty, 0)
    numbers = wide(expanded)
    if quant_mode == 0 and scale is not None and offset is not None:
        result = quantization.nearest(numbers * scale + offset, torch.int8)
        return result.masked_fill(is_empty.unsqueeze(-1), 0), x.new_zeros((), dtype=torch.float32)
    if scale is not None:
        numbers = numbers * (scale if len(scale) == 1 else scale[places.expert])
    scales = numbers.abs().amax(-1) / 127
    return quantization.nearest(numbers / scales.unsqueeze(-1), torch.int8), scales


@formula("npu_moe_init_routing_v2", *FLOATS)
def init_routing_v2(
    x: Tensor,
    expert_idx: Tensor,
    *,
    scale: Tensor | None = None,
    offset: Tensor | None = None,
    active_num: int = -1,
    expert_capacity: int = -1,
    expert_num: int = -1,
    drop_pad_mode: int = 0,
    expert_tokens_num_type: int = 0,
    expert_tokens_num_flag: bool = False,
    quant_mode: int = -1,
    active_expert_range: list[int] | None = None,
    row_idx_type: int = 0,
    x_dtype: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sort the rows by expert, all of them or up to a capacity of each; places without a row are zeros."""
    refuse_given(x_dtype=x_dtype)
    check(x.dim() == expert_idx.dim() == 2 and len(x) == len(expert_idx), "x and expert_idx must have the same rows")
    check(quant_mode in (-1, 0, 1), f"quant_mode {quant_mode} is not supported on the simulator")
    check(quant_mode != 0 or (scale is not None and offset is not None), "quant_mode 0 needs scale and offset")
    check(quant_mode == 0 or offset is None, "offset is for quant_mode 0")
    check(expert_tokens_num_type in (0, 1, 2), f"expert_tokens_num_type {expert_tokens_num_type} is not supported")
    check(expert_num > 0, "expert_num must be given")
    first, last = active_expert_range or (0, expert_num)
    check(0 <= first < last <= expert_num, f"there are no experts {first} to {last}")
    routes, shape = _routes(expert_idx, first, last), [-1]
    if drop_pad_mode == 0:
        places = _in_order(routes, first, last, expert_idx.numel() if active_num <= 0 else active_num)
    else:
        check(drop_pad_mode == 1, f"drop_pad_mode {drop_pad_mode} is not supported")
        check(expert_capacity > 0 and (first, last) == (0, expert_num), "drop_pad_mode 1 needs expert_capacity")
        places, shape = _up_to(routes, expert_num, expert_capacity), [expert_num, expert_capacity]
        row_idx_type, expert_tokens_num_type = 0, 1
    expanded, scales = _expanded(x, places, expert_idx.size(1), scale, offset, quant_mode)
    row_idx = routes.order if row_idx_type == 1 else places.of_pair
    counts = _counts(routes, first, expert_num, expert_tokens_num_type)
    return expanded.unflatten(0, shape), row_idx.int(), counts, scales
