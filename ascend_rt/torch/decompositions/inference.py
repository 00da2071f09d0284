# SPDX-License-Identifier: Apache-2.0
"""Attention of inference: sequences of several lengths, and keys and values in a cache of blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ascend_rt.torch.decompositions import caches
from ascend_rt.torch.decompositions._table import FLOATS, check, formula, no_workspace, refuse_given
from ascend_rt.torch.decompositions.attention import EVERYTHING, LAYOUTS, Attended, attend, excluded, parts_of

# From (B, N, S, D), and from (T, N, D).
_RESULTS: dict[str, Callable[[Tensor], Tensor]] = {
    "BSH": lambda x: x.transpose(1, 2).flatten(2),
    "BSND": lambda x: x.transpose(1, 2),
    "BNSD": lambda x: x,
    "NBSD": lambda x: x.transpose(0, 1),
    "TND": lambda x: x,
    "NTD": lambda x: x.transpose(0, 1),
}
_LAYOUTS = {
    **{name: (name, name) for name in ("BSH", "BSND", "BNSD", "TND", "NTD")},
    **{name: tuple(name.split("_")) for name in ("BNSD_BSND", "BSH_BNSD", "BSND_BNSD", "TND_NTD", "NTD_TND")},
    **{name: tuple(name.split("_")) for name in ("BSH_NBSD", "BSND_NBSD", "BNSD_NBSD")},
}


class _Call(NamedTuple):
    """Arguments that `npu_fused_infer_attention_score` and its second version share."""

    layout: str
    heads: int
    key_heads: int
    scale: float
    sparse_mode: int
    before: int
    after: int
    mask: Tensor | None
    pse: Tensor | None
    query_lengths: list[int] | None
    key_lengths: list[int] | None
    block_table: Tensor | None
    block_size: int
    query_rope: Tensor | None
    key_rope: Tensor | None
    with_lse: bool
    mode_of_one: bool = False  # makes sparse_mode count for a query of one position


def _lengths(given: list[int] | None, batch: int, longest: int) -> list[int]:
    """Return the length of each sequence; one may be for all, and there may be more than needed."""
    lengths = [longest] * batch if not given else list(given) * batch if len(given) == 1 else list(given)
    check(len(lengths) >= batch, f"there are {len(lengths)} lengths for {batch} sequences")
    check(all(0 <= each <= longest for each in lengths[:batch]), "a length is not in the sequence")
    return lengths[:batch]


def _masks(call: _Call, query_lengths: list[int], key_lengths: list[int], rows: int, columns: int) -> Tensor | None:
    """Return the mask of each sequence in a batch; of one, if all sequences are equal."""
    if rows == 1 and call.query_rope is None and not call.mode_of_one:
        if call.mask is None or call.sparse_mode > 1:
            return None
        mask = call.mask.bool()
        return (mask[:, None, None, :] if mask.dim() == 2 else mask.reshape(-1, 1, 1, mask.size(-1)))[..., :columns]
    if call.sparse_mode < 3:
        mask = None if call.mask is None and call.sparse_mode == 0 else _excluded(call, rows, columns)
        return mask.unsqueeze(1) if mask is not None and mask.dim() == 3 else mask
    # The last row and column are those of the sequence, not of the tensor.
    each = [_excluded(call, a, b) for a, b in zip(query_lengths, key_lengths, strict=True)]
    padded = [torch.nn.functional.pad(m, (0, columns - m.size(-1), 0, rows - m.size(-2)), value=True) for m in each]
    return torch.stack(padded).unsqueeze(1)


def _excluded(call: _Call, rows: int, columns: int) -> Tensor:
    mask = excluded(call.sparse_mode, call.mask, call.before, call.after, rows, columns)
    assert mask is not None
    return mask


def _dense(call: _Call, query: Tensor, key: Tensor, value: Tensor, layout: str) -> Attended:
    """Attend with a tensor that has a place for each position of the longest sequence."""
    split, _ = LAYOUTS[layout]
    q = _with_rope(split(query, call.heads), call.query_rope, lambda rope: split(rope, call.heads))
    if call.block_table is None:
        k = _with_rope(split(key, call.key_heads), call.key_rope, lambda rope: split(rope, call.key_heads))
        v = split(value, call.key_heads)
    else:
        check(bool(call.key_lengths), "block_table needs the lengths of the keys")
        k, v = _from_blocks(call, key, value, len(q))
    query_lengths = _lengths(call.query_lengths if q.size(2) > 1 else None, len(q), q.size(2))
    key_lengths = _lengths(call.key_lengths, len(q), k.size(2))
    mask = _masks(call, query_lengths, key_lengths, q.size(2), k.size(2))
    for lengths, size, dim in ((query_lengths, q.size(2), -2), (key_lengths, k.size(2), -1)):
        if set(lengths) != {size}:
            beyond = caches.beyond(caches.numbers(lengths, q.device), size)
            beyond = beyond.reshape(len(q), 1, 1, size).transpose(-1, dim)
            mask = beyond if mask is None else mask | beyond
    return attend(q, k, v, call.scale, mask=mask, pse=call.pse)


def _with_rope(x: Tensor, rope: Tensor | None, split: Callable[[Tensor], Tensor]) -> Tensor:
    """Return heads with the part that has rotary positions behind the part that has none."""
    return x if rope is None else torch.cat((x, split(rope)), -1)


def _pools(call: _Call, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Return the blocks of keys and values: (blocks, positions of a block, N, D)."""

    def blocks(cache: Tensor) -> Tensor:
        return caches.blocks_of(cache, call.key_heads, call.block_size)

    return _with_rope(blocks(key), call.key_rope, blocks), blocks(value)


def _from_blocks(call: _Call, key: Tensor, value: Tensor, batch: int) -> tuple[Tensor, Tensor]:
    assert call.block_table is not None
    longest = call.block_table.size(1) * call.block_size
    lengths = caches.numbers(_lengths(call.key_lengths, batch, longest), call.block_table.device)
    keys, values = (caches.sequences(pool, call.block_table, lengths) for pool in _pools(call, key, value))
    return keys.transpose(1, 2), values.transpose(1, 2)


def _packed(call: _Call, query: Tensor, key: Tensor, value: Tensor) -> Attended:
    """Attend with sequences one behind the other: (T, N, D)."""
    check(bool(call.query_lengths) and bool(call.key_lengths), "TND needs the ends of queries, and those of the keys")
    assert call.query_lengths is not None
    assert call.key_lengths is not None
    check(call.pse is None, "pse_shift is not supported with TND on the simulator")
    query = _with_rope(query, call.query_rope, lambda rope: rope)
    check(call.query_lengths[-1] == len(query), "the last end must be the number of positions")
    queries = parts_of(query, call.query_lengths)
    check(len(call.key_lengths) == len(queries), "there must be as many ends of keys as of queries")
    if call.block_table is None:
        check(call.key_lengths[-1] == len(key), "the last end must be the number of positions")
        key = _with_rope(key, call.key_rope, lambda rope: rope)
        keys, values = parts_of(key, call.key_lengths), parts_of(value, call.key_lengths)
    else:
        pools = _pools(call, key, value)
        pages = [
            (row[: -(-length // call.block_size)], length)
            for row, length in zip(call.block_table, call.key_lengths, strict=True)
        ]
        keys, values = (tuple(pool[row.long()].flatten(0, 1)[:length] for row, length in pages) for pool in pools)
    found = []
    for q, k, v in zip(queries, keys, values, strict=True):
        mask = excluded(call.sparse_mode, call.mask, call.before, call.after, len(q), len(k))
        q, k, v = (each.transpose(0, 1).unsqueeze(0) for each in (q, k, v))
        found.append(attend(q, k, v, call.scale, mask=mask))
    return Attended(*(torch.cat([each[i].squeeze(0).transpose(0, 1) for each in found]) for i in range(3)))


def _fused(query: Tensor, key: Tensor, value: Tensor, call: _Call) -> tuple[Tensor, Tensor]:
    check(query.dtype == key.dtype == value.dtype, "query, key and value differ in type")
    check((call.query_rope is None) == (call.key_rope is None), "query_rope and key_rope belong together")
    check(call.layout in _LAYOUTS, f"the layout {call.layout!r} is not supported on the simulator")
    given, wanted = _LAYOUTS[call.layout]
    if given in ("TND", "NTD"):
        if given == "NTD":
            check(call.block_table is None, "block_table is not supported with NTD on the simulator")
            query, key, value = (each.transpose(0, 1) for each in (query, key, value))
            if call.query_rope is not None and call.key_rope is not None:
                call = call._replace(query_rope=call.query_rope.transpose(0, 1), key_rope=call.key_rope.transpose(0, 1))
        found = _packed(call, query, key, value)
    else:
        found = _dense(call, query, key, value, given)
    output = _RESULTS[wanted](found.output).contiguous()
    if not call.with_lse:
        return output, output.new_zeros(0, dtype=torch.float32)
    lse = found.maximum + found.total.log()
    return output, lse.masked_fill(found.total == 0, torch.inf)  # marks a row that attends to nothing


@formula("npu_fused_infer_attention_score", *FLOATS)
def fused_infer_attention_score(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    pse_shift: Tensor | None = None,
    atten_mask: Tensor | None = None,
    actual_seq_lengths: list[int] | None = None,
    actual_seq_lengths_kv: list[int] | None = None,
    block_table: Tensor | None = None,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    num_heads: int = 1,
    scale: float = 1.0,
    pre_tokens: int = EVERYTHING,
    next_tokens: int = EVERYTHING,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    sparse_mode: int = 0,
    inner_precise: int = 0,
    block_size: int = 0,
    softmax_lse_flag: bool = False,
    mode_of_one: bool = False,
    **others: object,
) -> tuple[Tensor, Tensor]:
    for name, given in others.items():  # modes are numbers, and zero by default
        check(given is None or (isinstance(given, int) and given == 0), f"{name} is not supported on the simulator")
    call = _Call(
        layout=input_layout,
        heads=num_heads,
        key_heads=num_key_value_heads or num_heads,
        scale=scale,
        sparse_mode=sparse_mode,
        before=pre_tokens,
        after=next_tokens,
        mask=atten_mask,
        pse=pse_shift,
        query_lengths=actual_seq_lengths,
        key_lengths=actual_seq_lengths_kv,
        block_table=block_table,
        block_size=block_size,
        query_rope=query_rope,
        key_rope=key_rope,
        with_lse=softmax_lse_flag,
        mode_of_one=mode_of_one,
    )
    return _fused(query, key, value, call)


@formula("npu_fused_infer_attention_score_v2", *FLOATS)
def fused_infer_attention_score_v2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    num_query_heads: int = 1,
    softmax_scale: float = 1.0,
    return_softmax_lse: bool = False,
    **others: Any,
) -> tuple[Tensor, Tensor]:
    output, lse = fused_infer_attention_score(
        query,
        key,
        value,
        actual_seq_lengths=actual_seq_qlen,
        actual_seq_lengths_kv=actual_seq_kvlen,
        num_heads=num_query_heads,
        scale=softmax_scale,
        softmax_lse_flag=return_softmax_lse,
        **others,
    )
    return output, lse


def _written(function: Callable[..., tuple[Tensor, Tensor]]) -> Callable[..., tuple[Tensor, Tensor]]:
    """Return the form of an operator that writes its results into the tensors of a list."""

    def write(
        *arguments: Any, out: list[Tensor], workspace: Tensor | None = None, **keywords: Any
    ) -> tuple[Tensor, Tensor]:
        results = function(*arguments, **keywords)
        check(len(out) == len(results), f"there must be {len(results)} tensors in out")
        for to, result in zip(out, results, strict=True):
            if result.numel():
                check(to.shape == result.shape, f"out is of {tuple(to.shape)} instead of {tuple(result.shape)}")
                to.copy_(result)
        return out[0], out[1]

    return write


formula("npu_fused_infer_attention_score.out", *FLOATS)(_written(fused_infer_attention_score))
formula("npu_fused_infer_attention_score_v2.out", *FLOATS)(_written(fused_infer_attention_score_v2))
formula("_npu_fused_infer_attention_score_get_max_workspace")(no_workspace)
formula("_npu_fused_infer_attention_score_v2_get_max_workspace")(no_workspace)


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
    pre_tokens: int = EVERYTHING,
    next_tokens: int = 0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    actual_seq_lengths_kv: list[int] | None = None,
    sparse_mode: int = 0,
    **others: object,
) -> Tensor:
    refuse_given(**others)
    check(input_layout in ("BSH", "BSND", "BNSD"), f"the layout {input_layout!r} is not supported on the simulator")
    return fused_infer_attention_score(
        query,
        key,
        value,
        atten_mask=atten_mask,
        actual_seq_lengths=actual_seq_lengths,
        actual_seq_lengths_kv=actual_seq_lengths_kv,
        num_heads=num_heads,
        scale=scale_value,
        pre_tokens=pre_tokens,
        next_tokens=next_tokens,
        input_layout=input_layout,
        num_key_value_heads=num_key_value_heads,
        sparse_mode=sparse_mode,
        mode_of_one=True,
    )[0]


@formula("npu_incre_flash_attention", *FLOATS)
def incre_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    atten_mask: Tensor | None = None,
    pse_shift: Tensor | None = None,
    actual_seq_lengths: list[int] | None = None,
    block_table: Tensor | None = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    block_size: int = 0,
    inner_precise: int = 1,
    **others: object,
) -> Tensor:
    """Attend from one new position to the cached positions."""
    refuse_given(**others)
    check(input_layout in ("BSH", "BSND", "BNSD"), f"the layout {input_layout!r} is not supported on the simulator")
    check(LAYOUTS[input_layout][0](query, num_heads).size(2) == 1, "the query must have one position")
    return fused_infer_attention_score(
        query,
        key,
        value,
        pse_shift=pse_shift,
        atten_mask=atten_mask,
        actual_seq_lengths_kv=actual_seq_lengths,
        block_table=block_table,
        num_heads=num_heads,
        scale=scale_value,
        input_layout=input_layout,
        num_key_value_heads=num_key_value_heads,
        block_size=block_size,
    )[0]
