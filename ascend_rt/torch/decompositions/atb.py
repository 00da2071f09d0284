# SPDX-License-Identifier: Apache-2.0
"""Operators of the library of transformer operators (ATB): ``torch_npu._npu_*`` and ``torch_npu.atb``.

Each writes its result into an argument. Masks are added to the scores. Lengths are tensors of the host.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import is_fake

from ascend_rt.torch.decompositions import caches, quantization
from ascend_rt.torch.decompositions._table import FLOATS, check, formula, no_workspace, refuse_given, wide
from ascend_rt.torch.decompositions.attention import attend
from ascend_rt.torch.decompositions.tensors import rotary_mul


@formula("atb::_npu_reshape_and_cache")
def reshape_and_cache(key: Tensor, value: Tensor, key_cache: Tensor, value_cache: Tensor, slot_indices: Tensor) -> None:
    as_nz = caches.is_nz(key_cache) and caches.is_nz(value_cache)
    caches.store(key, key_cache, slot_indices, as_nz)
    caches.store(value, value_cache, slot_indices, as_nz)


@formula("atb::_npu_reshape_and_cache_siso")
def reshape_and_cache_siso(key: Tensor, key_cache: Tensor, slot_indices: Tensor) -> None:
    caches.store(key, key_cache, slot_indices, as_nz=False)


@formula("atb::_npu_rotary_embedding")
def rotary_embedding(
    positions: Tensor, query: Tensor, key: Tensor, head_size: int, cos_sin_cache: Tensor, is_neox_style: bool
) -> None:
    """Rotate the heads of each position in place: halves, or pairs of neighbours."""
    check(cos_sin_cache.size(-1) == head_size, f"cos_sin_cache must have {head_size} numbers for a position")
    cos, sin = cos_sin_cache[positions.flatten()].chunk(2, -1)
    cos, sin = (torch.cat((each, each), -1) if is_neox_style else each.repeat_interleave(2, -1) for each in (cos, sin))
    for each in (query, key):
        heads = each.reshape(len(cos), -1, head_size)
        mode = "half" if is_neox_style else "interleave"
        each.copy_(rotary_mul(heads, cos.unsqueeze(1), sin.unsqueeze(1), mode).reshape(each.shape))


def _pool(cache: Tensor, heads: int) -> Tensor:
    pool = caches.pool_of(cache)
    return pool if cache is pool else pool.flatten(2).unflatten(-1, (heads, -1))


def _write_from_cache(
    out: Tensor,
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor | int,
    num_kv_heads: int,
    num_heads: int,
    scale: float,
    table: Tensor,
    lengths: Tensor,
) -> None:
    """Attend from one new position of each sequence to the cache. Values may be the first numbers of the keys."""
    check(len(lengths) == len(query), f"there are {len(lengths)} lengths for {len(query)} positions")
    if is_fake(out):  # the format of a cache is unknown, and nothing is written
        return
    keys = _pool(key_cache, num_kv_heads)
    if isinstance(value_cache, int):
        check(0 < value_cache <= keys.size(-1), f"mla_vheadsize {value_cache} is not in the heads of the keys")
        values = keys[..., :value_cache]
    else:
        values = _pool(value_cache, num_kv_heads)
    q = query.reshape(len(query), num_heads, 1, keys.size(-1))
    lengths = caches.on_device(lengths, query.device)
    k, v = (caches.sequences(pool, table, lengths).transpose(1, 2) for pool in (keys, values))
    mask = caches.beyond(lengths, k.size(2)).reshape(len(q), 1, 1, -1)
    out.copy_(attend(q, k, v, scale, mask=mask).output.reshape(out.shape))


@formula("atb::_npu_paged_attention", *FLOATS)
def paged_attention(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    num_kv_heads: int,
    num_heads: int,
    scale_value: float,
    block_table: Tensor,
    context_lens: Tensor,
    out: Tensor,
    *,
    workspace: Tensor | None = None,
) -> None:
    _write_from_cache(
        out, query, key_cache, value_cache, num_kv_heads, num_heads, scale_value, block_table, context_lens
    )


@formula("atb::_npu_paged_attention_mla", *FLOATS)
def paged_attention_mla(
    query: Tensor,
    key_cache: Tensor,
    num_kv_heads: int,
    num_heads: int,
    scale_value: float,
    block_table: Tensor,
    context_lens: Tensor,
    mla_vheadsize: int,
    out: Tensor,
) -> None:
    _write_from_cache(
        out, query, key_cache, mla_vheadsize, num_kv_heads, num_heads, scale_value, block_table, context_lens
    )


@formula("atb::_npu_paged_attention_v2.out", *FLOATS)
def paged_attention_v2(
    query: Tensor,
    key_cache: Tensor,
    block_table: Tensor,
    context_lens: list[int],
    *,
    value_cache: Tensor | None = None,
    mask: Tensor | None = None,
    num_kv_heads: int = 0,
    num_heads: int = 0,
    scale_value: float = 1.0,
    mask_type: int = 0,
    workspace: Tensor | None = None,
    out: Tensor,
) -> Tensor:
    refuse_given(mask=mask)
    check(mask_type == 0, f"mask_type {mask_type} is not supported on the simulator")
    check(value_cache is not None, "value_cache must be given on the simulator")
    assert value_cache is not None
    key_heads, lengths = num_kv_heads or num_heads, caches.numbers(context_lens, query.device)
    _write_from_cache(out, query, key_cache, value_cache, key_heads, num_heads, scale_value, block_table, lengths)
    return out


formula("atb::_npu_paged_attention_get_workspace")(no_workspace)
formula("atb::_npu_paged_attention_v2_get_workspace")(no_workspace)


def _heads(x: Tensor, heads: int) -> Tensor:
    """Return (1, N, S, D) of positions."""
    return x.reshape(len(x), heads, x.shape[1:].numel() // heads).transpose(0, 1).unsqueeze(0)


def _write_within(
    out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    lengths: Tensor,
    scale: float,
    heads: int,
    key_heads: int,
) -> None:
    """Attend within each of the concatenated sequences; the mask may have a part for each."""
    if is_fake(out):  # lengths are unknown, and nothing is written
        return
    sizes = lengths.flatten().tolist()
    check(sum(sizes) == len(query) == len(key), "seq_len does not fit the positions")
    if mask is not None:
        mask = wide(mask).reshape(-1, *mask.shape[-2:])
        check(len(mask) in (1, len(sizes)), f"there are {len(mask)} masks for {len(sizes)} sequences")
    found = []
    for number, (q, k, v) in enumerate(zip(*(each.split(sizes) for each in (query, key, value)), strict=True)):
        bias = None if mask is None else mask[number % len(mask), : len(q), : len(q)]
        q, k, v = _heads(q, heads), _heads(k, key_heads), _heads(v, key_heads)
        found.append(attend(q, k, v, scale, pse=bias, pse_is_scaled=False).output.squeeze(0).transpose(0, 1))
    out.copy_(torch.cat(found).reshape(out.shape))


@formula("atb::_npu_flash_attention", *FLOATS)
def flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    seq_len: Tensor,
    scale_value: float,
    num_heads: int,
    num_kv_heads: int,
    out: Tensor,
) -> None:
    _write_within(out, query, key, value, mask, seq_len, scale_value, num_heads, num_kv_heads)


@formula("atb::_npu_flash_attention_unpad", *FLOATS)
def flash_attention_unpad(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    seq_len: Tensor,
    scale_value: float,
    num_heads: int,
    num_kv_heads: int,
    out: Tensor,
) -> None:
    _write_within(out, query, key, value, None, seq_len, scale_value, num_heads, num_kv_heads)


@formula("atb::_npu_flash_attention_unpad_v2", *FLOATS)
def flash_attention_unpad_v2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    seq_len: Tensor,
    scale_value: float,
    num_heads: int,
    num_kv_heads: int,
    *,
    kernel_type: int | None = 0,
    out: Tensor,
) -> None:
    check(kernel_type in (None, 0, 2), f"kernel_type {kernel_type} is not supported")
    flash_attention_unpad(query, key, value, seq_len, scale_value, num_heads, num_kv_heads, out)


def _write_of_sequences(
    out: Tensor,
    query: Tensor,
    cached: tuple[Tensor, Tensor, Tensor],
    seq_len: Tensor,
    context_lens: Tensor,
    heads: tuple[int, int],
    scale: float,
    bias: Tensor | None = None,
) -> None:
    """Attend from the last positions of sequences to a cache with all of them; without later ones, or with a mask."""
    if is_fake(out):  # the format of a cache is unknown, and nothing is written
        return
    sizes, lengths = seq_len.flatten().tolist(), context_lens.flatten().tolist()
    check(sum(sizes) == len(query) and len(sizes) == len(lengths), "seq_len does not fit the positions")
    *pools, table = (*(_pool(each, heads[1]) for each in cached[:2]), cached[2])
    found = []
    rows = [None] * len(sizes) if bias is None else bias.split(sizes)
    for q, row, length, added in zip(query.split(sizes), table, lengths, rows, strict=True):
        blocks = row[: -(-length // pools[0].size(1))].long()
        k, v = (pool[blocks].flatten(0, 1)[:length].transpose(0, 1).unsqueeze(0) for pool in pools)
        mask = None
        if added is None:
            mask = torch.ones(len(q), length, dtype=torch.bool, device=q.device).triu(length - len(q) + 1)
        else:
            added = added[:, :length]
        result = attend(_heads(q, heads[0]), k, v, scale, mask=mask, pse=added, pse_is_scaled=False)
        found.append(result.output.squeeze(0).transpose(0, 1))
    out.copy_(torch.cat(found).reshape(out.shape))


@formula("atb::_npu_flash_attention_qlens", *FLOATS)
def flash_attention_qlens(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    block_table: Tensor,
    mask: Tensor,
    seq_len: Tensor,
    context_lens: Tensor,
    num_kv_heads: int,
    num_heads: int,
    scale_value: float,
    out: Tensor,
) -> None:
    check(mask.size(-1) == mask.size(-2), "mask must be a triangle")  # means the one of the right size
    cached, heads = (key_cache, value_cache, block_table), (num_heads, num_kv_heads)
    _write_of_sequences(out, query, cached, seq_len, context_lens, heads, scale_value)


@formula("atb::_npu_paged_attention_splitfuse", *FLOATS)
def paged_attention_splitfuse(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    block_table: Tensor,
    context_lens: Tensor,
    mask: Tensor,
    seq_len: Tensor,
    num_kv_heads: int,
    num_heads: int,
    scale_value: float,
    out: Tensor,
) -> None:
    check(mask.dim() == 2 and len(mask) == len(query), "mask must have a row for each position of the query")
    cached, heads = (key_cache, value_cache, block_table), (num_heads, num_kv_heads)
    _write_of_sequences(out, query, cached, seq_len, context_lens, heads, scale_value, mask)


@formula("atb::npu_paged_cache_load.out")
def paged_cache_load_out(
    key_cache: Tensor,
    value_cache: Tensor,
    block_table: Tensor,
    context_lens: Tensor,
    *,
    seq_starts: Tensor | None = None,
    cumsum: bool = False,
    key: Tensor,
    value: Tensor,
) -> tuple[Tensor, Tensor]:
    lengths = caches.on_device(context_lens, key.device)
    caches.gather_pa_kv_cache(
        key_cache, value_cache, block_table, lengths, key, value, seq_offset=seq_starts, is_seq_lens_cumsum=cumsum
    )
    return key, value


@formula("atb::npu_paged_cache_load")
def paged_cache_load(
    key_cache: Tensor,
    value_cache: Tensor,
    block_table: Tensor,
    context_lens: Tensor,
    *,
    seq_starts: Tensor | None = None,
    cumsum: bool = False,
) -> tuple[Tensor, Tensor]:
    total = int(context_lens[-1] if cumsum else context_lens.sum())
    key, value = (each.new_zeros(total, *each.shape[2:]) for each in (key_cache, value_cache))
    paged_cache_load_out(
        key_cache, value_cache, block_table, context_lens, seq_starts=seq_starts, cumsum=cumsum, key=key, value=value
    )
    return key, value


@formula("atb::_npu_quantize_per_tensor", *FLOATS)
def quantize_per_tensor(x: Tensor, scale: Tensor, zero_point: Tensor, y: Tensor) -> None:
    quotient = (wide(x) / wide(scale)).round()
    y.copy_(quantization.nearest(quotient + zero_point if zero_point.numel() else quotient, torch.int8))


@formula("atb::_npu_matmul_add_fp32", *FLOATS)
def matmul_add_fp32(x: Tensor, weight: Tensor, C: Tensor) -> None:
    """Add the product of the transposed first matrix and the second one."""
    check(C.dtype == torch.float32, f"C is of {C.dtype} instead of torch.float32")
    C.add_(wide(x).t() @ wide(weight))


@formula("atb::_npu_group_topk", *FLOATS)
def group_topk(self: Tensor, k: int = 0, group_num: int = 1, n: int = 1) -> None:
    """Keep the groups with the largest sums of their n largest numbers, and fill the others with zeros."""
    fits = self.dim() == 2 and group_num > 0 and self.size(1) % group_num == 0
    check(fits and 0 < k <= group_num, f"{group_num} groups of {tuple(self.shape)} cannot be reduced to {k}")
    groups = wide(self).unflatten(1, (group_num, -1))
    check(0 < n <= groups.size(-1), f"a group has no {n} numbers")
    sums = groups.topk(n).values.sum(-1)
    kept = sums.sort(dim=-1, descending=True, stable=True).indices[:, :k]
    is_kept = torch.zeros_like(sums, dtype=torch.bool).scatter_(1, kept, True)
    self.copy_(groups.masked_fill(~is_kept.unsqueeze(-1), 0).flatten(1))
