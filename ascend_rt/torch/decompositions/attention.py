# SPDX-License-Identifier: Apache-2.0
"""Attention, with the layouts of CANN: B batch, N heads, S positions, D numbers of a head, H = N * D, T positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch._subclasses.fake_tensor import is_fake

from ascend_rt.torch.decompositions._table import FLOATS, check, formula, refuse_given, wide

EVERYTHING = 2147483647
_COPIES = 8  # the results repeat the statistics of a row as often

# To (B, N, S, D), and back.
LAYOUTS: dict[str, tuple[Callable[[Tensor, int], Tensor], Callable[[Tensor], Tensor]]] = {
    "BSH": (lambda x, n: x.unflatten(-1, (n, -1)).transpose(1, 2), lambda x: x.transpose(1, 2).flatten(2)),
    "SBH": (lambda x, n: x.unflatten(-1, (n, -1)).permute(1, 2, 0, 3), lambda x: x.permute(2, 0, 1, 3).flatten(2)),
    "BSND": (lambda x, n: x.transpose(1, 2), lambda x: x.transpose(1, 2)),
    "BNSD": (lambda x, n: x, lambda x: x),
}


class Attended(NamedTuple):
    """The result of attention, and its statistics, for each row."""

    output: Tensor  # (B, N, S, D)
    maximum: Tensor  # (B, N, S, 1): of the scores
    total: Tensor  # (B, N, S, 1): of their exponentials


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    *,
    mask: Tensor | None = None,
    pse: Tensor | None = None,
    pse_is_scaled: bool = True,
    sink: Tensor | None = None,
    keep_prob: float = 1.0,
    random: torch.Generator | None = None,
) -> Attended:
    """Attend with (B, N, S, D); several heads of the query may share one of the key.

    The mask marks excluded pairs. A sink is one more score of each head, without a value.
    """
    check(pse is None or pse.size(-2) in (1, query.size(2)), "a compressed pse is not supported on the simulator")
    check(key.size(1) > 0 and query.size(1) % key.size(1) == 0, f"{query.size(1)} heads cannot share {key.size(1)}")
    shared = query.size(1) // key.size(1)
    key, value = (wide(each).repeat_interleave(shared, 1) if shared > 1 else wide(each) for each in (key, value))
    scores = wide(query) @ key.transpose(-1, -2)
    if pse is not None and pse_is_scaled:
        scores = scores + wide(pse)
    scores = scores * scale
    if pse is not None and not pse_is_scaled:
        scores = scores + wide(pse)
    if mask is not None:
        scores = scores.masked_fill(mask, -torch.inf)
    least = torch.finfo(torch.float32).min
    if scores.size(-1) == 0:
        maximum = scores.new_full((*scores.shape[:-1], 1), least)
    else:
        maximum = scores.detach().amax(-1, keepdim=True).clamp(min=least)
    if sink is not None:
        sink = sink.reshape(-1, 1, 1)
        maximum = torch.maximum(maximum, sink.detach())
    weights = (scores - maximum).exp()
    total = weights.sum(-1, keepdim=True)
    if sink is not None:
        total = total + (sink - maximum).exp()
    # A row that is left out altogether gives zeros.
    weights = weights / total.masked_fill(total == 0, 1)
    if keep_prob < 1 and random is None:
        weights = F.dropout(weights, 1 - keep_prob)
    elif keep_prob < 1:
        kept = torch.rand(weights.shape, generator=random, device=weights.device) < keep_prob
        weights = weights * kept / keep_prob
    return Attended((weights @ value).to(query.dtype), maximum, total.detach())


def _outside(rows: int, columns: int, before: int, after: int, begin: int, device: torch.device) -> Tensor:
    """Return the pairs outside a band, whose diagonal begins at a column of the first row."""
    distance = torch.arange(columns, device=device) - torch.arange(rows, device=device).unsqueeze(-1) - begin
    return (distance > after) | (distance < -before)


def excluded(
    sparse_mode: int, atten_mask: Tensor | None, before: int, after: int, rows: int, columns: int
) -> Tensor | None:
    """Return the mask of excluded pairs: (..., S of the query, S of the key)."""
    check(sparse_mode in (0, 1, 2, 3, 4), f"sparse_mode {sparse_mode} is not supported on the simulator")
    if atten_mask is None:
        check(sparse_mode == 0, f"sparse_mode {sparse_mode} needs atten_mask")
        return None
    if sparse_mode in (2, 3, 4):  # the mask is a triangle of a fixed size, and means the one of the right size
        check(tuple(atten_mask.shape[-2:]) == (2048, 2048), "atten_mask must be a triangle of 2048 x 2048")
        if sparse_mode < 4:
            before, after = EVERYTHING, 0
        return _outside(rows, columns, before, after, 0 if sparse_mode == 2 else columns - rows, atten_mask.device)
    check(atten_mask.shape[-2] >= rows and atten_mask.shape[-1] >= columns, "atten_mask does not fit the sequences")
    given = atten_mask.bool()[..., :rows, :columns]
    if sparse_mode == 1 or (before >= rows and after >= columns):
        return given
    return given | _outside(rows, columns, before, after, 0, given.device)


class _Options(NamedTuple):
    """Arguments of `npu_fusion_attention` and its later versions."""

    scale: float
    keep_prob: float
    before: int
    after: int
    sparse_mode: int
    atten_mask: Tensor | None
    pse: Tensor | None = None
    pse_type: int = 1
    sink: Tensor | None = None
    softmax_layout: str = ""
    random: torch.Generator | None = None


_Statistics = tuple[Tensor, Tensor, Tensor]


def _random(query: Tensor, keep_prob: float, seed: int, offset: int) -> torch.Generator | None:
    """Return the source of a dropout that the program has given a seed."""
    if keep_prob == 1 or (seed == 0 and offset == 0):
        return None
    check(not torch.npu.is_current_stream_capturing(), "a seed is not supported in a graph")
    return torch.Generator(query.device).manual_seed((seed + (offset << 32)) % (1 << 63))


def _count_of_dropout(query: Tensor, key: Tensor, head_num: int, layout: str, options: _Options) -> int:
    """Return the number of pairs for which it is drawn."""
    if options.keep_prob == 1 or layout not in LAYOUTS:
        return 0
    split = LAYOUTS[layout][0]
    batch, _, rows, _ = split(query, head_num).shape
    count: int = batch * head_num * rows * split(key, 1).size(2)
    return count


def _attend_with(options: _Options, q: Tensor, k: Tensor, v: Tensor) -> Attended:
    mask = None
    if options.atten_mask is not None:  # otherwise all pairs count, whatever the mode
        mask = excluded(options.sparse_mode, options.atten_mask, options.before, options.after, q.size(2), k.size(2))
    return attend(
        q,
        k,
        v,
        options.scale,
        mask=mask,
        pse=options.pse,
        pse_is_scaled=options.pse_type == 1,
        sink=options.sink,
        keep_prob=options.keep_prob,
        random=options.random,
    )


def _fusion(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    layout: str,
    options: _Options,
    query_ends: list[int] | None,
    key_ends: list[int] | None,
) -> _Statistics:
    """Return the output, and the statistics of each row: (B, N, S, 8), or (T, N, 8)."""
    check(query.dtype == key.dtype == value.dtype, "query, key and value differ in type")
    check(0 < options.keep_prob <= 1, f"keep_prob {options.keep_prob} is not in (0, 1]")
    check(
        options.softmax_layout == "" or (options.softmax_layout == layout == "TND"),
        f"softmax_layout {options.softmax_layout!r} is not supported for {layout}",
    )
    check(options.pse_type in (0, 1), f"pse_type {options.pse_type} is not supported on the simulator")
    pse, sink = options.pse, options.sink
    check(
        pse is None or (pse.dim() == 4 and pse.size(1) == head_num), "only pse of (B or 1, N, S or 1, S) is supported"
    )
    check(sink is None or sink.numel() == head_num, f"sink must have {head_num} numbers")
    if layout == "TND":
        check(pse is None, "pse is not supported with TND on the simulator")
        return _attend_parts(query, key, value, options, query_ends, key_ends)
    check(layout in LAYOUTS, f"the layout {layout!r} is not supported")
    split, joined = LAYOUTS[layout]
    q = split(query, head_num)
    heads = head_num if layout in ("BSND", "BNSD") else key.size(-1) // q.size(-1)
    found = _attend_with(options, q, split(key, heads), split(value, heads))
    maximum, total = (each.expand(-1, -1, -1, _COPIES).contiguous() for each in (found.maximum, found.total))
    return joined(found.output).contiguous(), maximum, total


def _attend_parts(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    options: _Options,
    query_ends: list[int] | None,
    key_ends: list[int] | None,
) -> _Statistics:
    """Attend within each of the concatenated sequences: (T, N, D)."""
    if not query_ends or not key_ends:
        query_ends = key_ends = []
    check(
        bool(query_ends) and len(query_ends) == len(key_ends), "TND needs actual_seq_qlen and actual_seq_kvlen, as ends"
    )
    check(query_ends[-1] == len(query) and key_ends[-1] == len(key), "the last ends must be the numbers of positions")
    parts = []
    for part in zip(parts_of(query, query_ends), parts_of(key, key_ends), parts_of(value, key_ends), strict=True):
        q, k, v = (each.transpose(0, 1).unsqueeze(0) for each in part)
        parts.append(_attend_with(options, q, k, v))
    output, *statistics = (torch.cat([each[i].squeeze(0).transpose(0, 1) for each in parts]) for i in range(3))
    if not options.softmax_layout:  # in the memory of a sequence, one head comes after the other
        shapes = [each.shape for each in statistics]
        ordered = (torch.cat([each[i].flatten() for each in parts]) for i in (1, 2))
        statistics = [each.reshape(shape) for each, shape in zip(ordered, shapes, strict=True)]
    maximum, total = (each.expand(-1, -1, _COPIES).contiguous() for each in statistics)
    return output, maximum, total


def parts_of(tensor: Tensor, ends: list[int]) -> tuple[Tensor, ...]:
    """Return the sequences of a tensor by their ends."""
    return tuple(tensor.split([end - begin for begin, end in zip([0, *ends], ends, strict=False)]))


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
    pre_tockens: int = EVERYTHING,
    next_tockens: int = EVERYTHING,
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
    refuse_given(padding_mask=padding_mask, prefix=prefix, dropout_mask=dropout_mask)
    random = _random(query, keep_prob, seed, offset)
    band = pre_tockens, next_tockens, sparse_mode
    options = _Options(scale, keep_prob, *band, atten_mask, pse, 1, sink, softmax_layout, random)
    found = _fusion(query, key, value, head_num, input_layout, options, actual_seq_qlen, actual_seq_kvlen)
    return *found, query.new_zeros(0), seed, offset, _count_of_dropout(query, key, head_num, input_layout, options)


@formula("npu_fusion_attention_v2", *FLOATS)
def fusion_attention_v2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    input_layout: str,
    *,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tokens: int = EVERYTHING,
    next_tokens: int = EVERYTHING,
    inner_precise: int = 0,
    prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    pse_type: int = 1,
    q_start_idx: list[int] | None = None,
    kv_start_idx: list[int] | None = None,
    softmax_layout: str = "",
    sink: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    seed: int = 0,
    offset: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor, int, int, int]:
    refuse_given(padding_mask=padding_mask, prefix=prefix, dropout_mask=dropout_mask)
    refuse_given(q_start_idx=q_start_idx, kv_start_idx=kv_start_idx)
    random = _random(query, keep_prob, seed, offset)
    band = pre_tokens, next_tokens, sparse_mode
    options = _Options(scale, keep_prob, *band, atten_mask, pse, pse_type, sink, softmax_layout, random)
    if query_rope is not None or key_rope is not None:
        check(query_rope is not None and key_rope is not None, "query_rope and key_rope belong together")
        check(input_layout == "TND" and keep_prob == 1, "query_rope needs the layout TND, and no dropout")
        query, key = torch.cat((query, query_rope), -1), torch.cat((key, key_rope), -1)
    found = _fusion(query, key, value, head_num, input_layout, options, actual_seq_qlen, actual_seq_kvlen)
    return *found, query.new_zeros(0), seed, offset, _count_of_dropout(query, key, head_num, input_layout, options)


def _ends_in(given: Tensor | None, total: int) -> list[int] | None:
    if given is None:
        return None
    ends: list[int] = [total] if is_fake(given) else given.tolist()  # one sequence has the same shapes as several
    return ends


@formula("npu_fusion_attention_v3", *FLOATS)
def fusion_attention_v3(
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
    pre_tockens: int = EVERYTHING,
    next_tockens: int = EVERYTHING,
    inner_precise: int = 0,
    prefix: list[int] | None = None,
    actual_seq_qlen: Tensor | None = None,
    actual_seq_kvlen: Tensor | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: Tensor | None = None,
) -> tuple[Tensor, ...]:
    refuse_given(padding_mask=padding_mask, prefix=prefix)
    band = pre_tockens, next_tockens, sparse_mode
    options = _Options(scale, keep_prob, *band, atten_mask, pse, 1, sink, softmax_layout)
    ends = _ends_in(actual_seq_qlen, len(query)), _ends_in(actual_seq_kvlen, len(key))
    found = _fusion(query, key, value, head_num, input_layout, options, *ends)
    # Seed and offset of the dropout are on the device in graphs, and otherwise on the host.
    place = query.device if torch.npu.is_current_stream_capturing() else torch.device("cpu")
    numbers = (torch.zeros(1, dtype=torch.int64, device=place) for _ in range(2))
    return *found, query.new_zeros(0), *numbers
