# SPDX-License-Identifier: Apache-2.0
"""Attention, with the layouts of CANN: B batch, N heads, S positions, D numbers of a head, H = N * D, T positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ascend_rt.torch.decompositions._table import FLOATS, check, formula, refuse_given, wide

_EVERYTHING = 2147483647
_COPIES = 8  # the results repeat the statistics of a row as often

# To (B, N, S, D), and back.
_LAYOUTS: dict[str, tuple[Callable[[Tensor, int], Tensor], Callable[[Tensor], Tensor]]] = {
    "BSH": (lambda x, n: x.unflatten(-1, (n, -1)).transpose(1, 2), lambda x: x.transpose(1, 2).flatten(2)),
    "SBH": (lambda x, n: x.unflatten(-1, (n, -1)).permute(1, 2, 0, 3), lambda x: x.permute(2, 0, 1, 3).flatten(2)),
    "BSND": (lambda x, n: x.transpose(1, 2), lambda x: x.transpose(1, 2)),
    "BNSD": (lambda x, n: x, lambda x: x),
}


class _Attended(NamedTuple):
    output: Tensor  # (B, N, S, D)
    maximum: Tensor  # (B, N, S, 1): of the scores
    total: Tensor  # (B, N, S, 1): of their exponentials


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    *,
    mask: Tensor | None = None,
    pse: Tensor | None = None,
    keep_prob: float = 1.0,
) -> _Attended:
    """Attend with (B, N, S, D); several heads of the query may share one of the key. The mask marks excluded pairs."""
    check(query.size(1) % key.size(1) == 0, f"{query.size(1)} heads cannot share {key.size(1)}")
    shared = query.size(1) // key.size(1)
    key, value = (wide(each).repeat_interleave(shared, 1) if shared > 1 else wide(each) for each in (key, value))
    scores = wide(query) @ key.transpose(-1, -2)
    if pse is not None:
        scores = scores + wide(pse)
    scores = scores * scale
    if mask is not None:
        scores = scores.masked_fill(mask, -torch.inf)
    maximum = scores.detach().amax(-1, keepdim=True).clamp(min=torch.finfo(torch.float32).min)
    weights = (scores - maximum).exp()
    total = weights.sum(-1, keepdim=True)
    # A row that is left out altogether gives zeros.
    weights = weights / total.masked_fill(total == 0, 1)
    if keep_prob < 1:
        weights = F.dropout(weights, 1 - keep_prob)
    return _Attended((weights @ value).to(query.dtype), maximum, total.detach())


def _mask(sparse_mode: int, atten_mask: Tensor | None, pre: int, next: int, rows: int, columns: int) -> Tensor | None:
    """Return the mask of excluded pairs: (..., S of the query, S of the key)."""
    check(sparse_mode in (0, 1, 2, 3), f"sparse_mode {sparse_mode} is not supported on the simulator")
    if atten_mask is None:
        check(sparse_mode == 0, f"sparse_mode {sparse_mode} needs atten_mask")
        return None
    if sparse_mode in (2, 3):  # the mask is a triangle of a fixed size, and means the one of the right size
        check(tuple(atten_mask.shape[-2:]) == (2048, 2048), "atten_mask must be a triangle of 2048 x 2048")
        everything = torch.ones(rows, columns, dtype=torch.bool, device=atten_mask.device)
        return everything.triu(1 if sparse_mode == 2 else columns - rows + 1)
    is_all = sparse_mode == 1 or (pre >= rows and next >= columns) or (pre >= rows and next == 0)
    check(is_all, "only a band that the mask contains altogether is supported on the simulator")
    check(atten_mask.shape[-2] >= rows and atten_mask.shape[-1] >= columns, "atten_mask does not fit the sequences")
    given = atten_mask.bool()[..., :rows, :columns]
    if sparse_mode == 0 and next == 0:  # elements above the diagonal are not computed, whatever the mask says
        given = given | torch.ones(rows, columns, dtype=torch.bool, device=given.device).triu(1)
    return given


@formula("npu_fusion_attention", *FLOATS)
def fusion_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    input_layout: str,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = _EVERYTHING,
    next_tockens: int = _EVERYTHING,
    inner_precise: int = 0,
    prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    seed: int = 0,
    offset: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor, int, int, int]:
    refuse_given(padding_mask=padding_mask, prefix=prefix, sink=sink, dropout_mask=dropout_mask)
    check(not softmax_layout, "softmax_layout is not supported on the simulator")
    check(query.dtype == key.dtype == value.dtype, "query, key and value differ in type")
    check(0 < keep_prob <= 1, f"keep_prob {keep_prob} is not in (0, 1]")
    check(
        pse is None or (pse.dim() == 4 and pse.size(1) == head_num), "only pse of (B or 1, N, S or 1, S) is supported"
    )
    nothing = query.new_zeros(0)
    if input_layout == "TND":
        check(pse is None, "pse is not supported with TND on the simulator")
        output, maximum, total = _attend_parts(
            query, key, value, scale, keep_prob, sparse_mode, atten_mask, actual_seq_qlen, actual_seq_kvlen
        )
        return output, maximum, total, nothing, 0, 0, 0
    check(input_layout in _LAYOUTS, f"the layout {input_layout!r} is not supported")
    split, joined = _LAYOUTS[input_layout]
    q = split(query, head_num)
    heads = head_num if input_layout in ("BSND", "BNSD") else key.size(-1) // q.size(-1)
    k, v = split(key, heads), split(value, heads)
    mask = _mask(sparse_mode, atten_mask, pre_tockens, next_tockens, q.size(2), k.size(2))
    found = _attend(q, k, v, scale, mask=mask, pse=pse, keep_prob=keep_prob)
    maximum, total = (each.expand(-1, -1, -1, _COPIES).contiguous() for each in (found.maximum, found.total))
    return joined(found.output).contiguous(), maximum, total, nothing, 0, 0, 0


def _attend_parts(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    keep_prob: float,
    sparse_mode: int,
    atten_mask: Tensor | None,
    query_ends: list[int] | None,
    key_ends: list[int] | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Attend within each of the concatenated sequences: (T, N, D)."""
    if not query_ends or not key_ends:
        query_ends = key_ends = []
    check(
        bool(query_ends) and len(query_ends) == len(key_ends), "TND needs actual_seq_qlen and actual_seq_kvlen, as ends"
    )
    check(query_ends[-1] == len(query) and key_ends[-1] == len(key), "the last ends must be the numbers of positions")
    parts = []
    for part in zip(_parts(query, query_ends), _parts(key, key_ends), _parts(value, key_ends), strict=True):
        q, k, v = (each.transpose(0, 1).unsqueeze(0) for each in part)
        mask = _mask(sparse_mode, atten_mask, _EVERYTHING, _EVERYTHING, q.size(2), k.size(2))
        parts.append(_attend(q, k, v, scale, mask=mask, keep_prob=keep_prob))
    output, maximum, total = (torch.cat([each[i].squeeze(0).transpose(0, 1) for each in parts]) for i in range(3))
    return output, maximum.expand(-1, -1, _COPIES).contiguous(), total.expand(-1, -1, _COPIES).contiguous()


def _parts(tensor: Tensor, ends: list[int]) -> tuple[Tensor, ...]:
    return tuple(tensor.split([end - begin for begin, end in zip([0, *ends], ends, strict=False)]))


def _infer(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    layout: str,
    heads: int,
    key_heads: int,
    scale: float,
    mask: Tensor | None,
    key_lengths: list[int] | None,
    others: dict[str, object],
) -> Tensor:
    for name, given in others.items():
        check(given is None, f"{name} is not supported on the simulator")
    check(layout in ("BSH", "BSND", "BNSD"), f"the layout {layout!r} is not supported on the simulator")
    check(query.dtype == key.dtype == value.dtype, "query, key and value differ in type")
    split, joined = _LAYOUTS[layout]
    q, k, v = split(query, heads), split(key, key_heads or heads), split(value, key_heads or heads)
    if mask is not None and mask.dim() == 3:
        mask = mask.unsqueeze(1)
    if key_lengths:
        check(len(key_lengths) in (1, len(q)), "there must be one length, or one for each of the batch")
        check(all(0 <= each <= k.size(2) for each in key_lengths), "a length is not in the sequence")
        lengths = torch.tensor(key_lengths, device=q.device).view(-1, 1, 1, 1)
        beyond = torch.arange(k.size(2), device=q.device) >= lengths
        mask = beyond if mask is None else mask | beyond
    return joined(_attend(q, k, v, scale, mask=mask).output).contiguous()


@formula("npu_prompt_flash_attention", *FLOATS)
def prompt_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    atten_mask: Tensor | None = None,
    actual_seq_lengths: list[int] | None = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    pre_tokens: int = _EVERYTHING,
    next_tokens: int = 0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    actual_seq_lengths_kv: list[int] | None = None,
    sparse_mode: int = 0,
    **others: object,
) -> Tensor:
    split = _LAYOUTS[input_layout][0] if input_layout in _LAYOUTS else _LAYOUTS["BSH"][0]
    rows = split(query, num_heads).size(2)
    columns = split(key, num_key_value_heads or num_heads).size(2)
    check(
        not actual_seq_lengths or set(actual_seq_lengths) == {rows},
        "shorter queries are not supported on the simulator",
    )
    mask = _mask(sparse_mode, atten_mask, pre_tokens, next_tokens, rows, columns)
    return _infer(
        query,
        key,
        value,
        input_layout,
        num_heads,
        num_key_value_heads,
        scale_value,
        mask,
        actual_seq_lengths_kv,
        others,
    )


@formula("npu_incre_flash_attention", *FLOATS)
def incre_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    atten_mask: Tensor | None = None,
    actual_seq_lengths: list[int] | None = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    block_size: int = 0,
    inner_precise: int = 1,
    **others: object,
) -> Tensor:
    """Attend from one new position to the cached positions."""
    mask = None if atten_mask is None else atten_mask.bool()
    if mask is not None and mask.dim() == 2:  # (B, S of the key)
        mask = mask[:, None, None, :]
    return _infer(
        query,
        key,
        value,
        input_layout,
        num_heads,
        num_key_value_heads,
        scale_value,
        mask,
        actual_seq_lengths,
        others,
    )
