# SPDX-License-Identifier: Apache-2.0
"""Keys and values in a cache of blocks, whose numbers a table has for each sequence.

A cache is of the shape (blocks, positions of a block, N, D). As FRACTAL_NZ, it is (blocks, N * D / n, positions, n):
n numbers of a position are side by side. The host waits for nothing here, so that all can be captured.
"""

from __future__ import annotations

from typing import Any

import torch
import torch_npu
from torch import Tensor
from torch._subclasses.fake_tensor import is_fake

from ascend_rt.torch.decompositions._table import check, formula, refuse_given

_FRACTAL_NZ = 29


def numbers(values: list[int], device: torch.device) -> Tensor:
    """Return a tensor of numbers that the host has, without a copy, which graphs could not capture."""
    if not values:
        return torch.zeros(0, dtype=torch.int64, device=device)
    return torch.cat([torch.full((1,), each, dtype=torch.int64, device=device) for each in values])


def on_device(lengths: Tensor, device: torch.device) -> Tensor:
    """Return lengths that a tensor of the host or the device has."""
    if lengths.device == device or is_fake(lengths):
        return lengths.to(device)
    return numbers(lengths.tolist(), device)


def beyond(lengths: Tensor, size: int) -> Tensor:
    """Return the positions behind the end of each sequence: (B, S)."""
    return torch.arange(size, device=lengths.device) >= lengths.unsqueeze(-1)


def is_nz(tensor: Tensor) -> bool:
    """Return whether the tensor has the tag of the format FRACTAL_NZ."""
    return not is_fake(tensor) and int(torch_npu.get_npu_format(tensor)) == _FRACTAL_NZ


def blocks_of(cache: Tensor, heads: int, block_size: int) -> Tensor:
    """Return (blocks, positions of a block, N, D) of a cache that attention is given."""
    if cache.dim() == 3:  # (blocks, positions, H)
        cache = cache.unflatten(-1, (heads, -1))
    elif cache.dim() == 4:  # (blocks, N, positions, D)
        cache = cache.transpose(1, 2)
    else:  # (blocks, N, D / n, positions, n)
        check(cache.dim() == 5, f"a cache has {cache.dim()} dimensions")
        cache = cache.permute(0, 3, 1, 2, 4).flatten(3)
    fits = block_size > 0 and cache.size(1) == block_size and cache.size(2) == heads
    check(fits, f"the cache has blocks of {cache.size(1)} positions and {cache.size(2)} heads")
    return cache


def sequences(pool: Tensor, table: Tensor, lengths: Tensor) -> Tensor:
    """Return the positions of each sequence, and zeros behind its end: (B, S, N, D)."""
    check(table.dim() == 2 and len(table) >= len(lengths), "block_table must have a row for each sequence")
    table, block_size = table[: len(lengths)], pool.size(1)
    begins = torch.arange(table.size(1), device=table.device) * block_size
    is_used = begins < lengths.unsqueeze(-1)  # other entries of the table have no meaning
    found = pool[torch.where(is_used, table, 0).long()].flatten(1, 2)
    return found.masked_fill(beyond(lengths, found.size(1)).reshape(*found.shape[:2], 1, 1), 0)


def store(rows: Tensor, cache: Tensor, slots: Tensor, as_nz: bool) -> None:
    """Write each row into its position; negative ones belong to padding, and are left out."""
    check(slots.numel() == len(rows), f"there are {slots.numel()} slots for {len(rows)} rows")
    if len(rows) == 0 or is_fake(cache):  # which has no format
        return
    places = cache.transpose(1, 2) if as_nz else cache  # (blocks, positions, ...)
    rows = rows.reshape(len(rows), *places.shape[2:]).to(cache.dtype)
    slots = slots.reshape(-1).long()
    # A row of padding does what the first other one does, once more; or it writes what is there.
    is_row = slots >= 0
    first = is_row.int().argmax().reshape(1)
    slot = slots[first].clamp(min=0)
    row = torch.where(is_row.any(), rows[first], places[slot // places.size(1), slot % places.size(1)])
    rows = torch.where(is_row.reshape(-1, *[1] * (rows.dim() - 1)), rows, row)
    slots = torch.where(is_row, slots, slot)
    places.index_put_((slots // places.size(1), slots % places.size(1)), rows)


@formula("npu_scatter_pa_kv_cache")
def scatter_pa_kv_cache(
    key: Tensor,
    value: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    slot_mapping: Tensor,
    *,
    compress_lens: Tensor | None = None,
    compress_seq_offsets: Tensor | None = None,
    seq_lens: Tensor | None = None,
    cache_mode: str | None = "PA_NZ",
) -> None:
    refuse_given(compress_lens=compress_lens, compress_seq_offsets=compress_seq_offsets, seq_lens=seq_lens)
    check(key.dim() == value.dim() == 3, "only keys and values of (positions, N, D) are supported on the simulator")
    check(cache_mode in (None, "Norm", "PA_NZ"), f"cache_mode {cache_mode!r} is not supported")
    for rows, cache in ((key, key_cache), (value, value_cache)):
        check(rows.dtype == cache.dtype, f"the cache is of {cache.dtype}, what is to be written of {rows.dtype}")
        store(rows, cache, slot_mapping, cache_mode == "PA_NZ")


@formula("npu_scatter_pa_kv_cache_functional")
def scatter_pa_kv_cache_functional(
    key: Tensor, value: Tensor, key_cache: Tensor, value_cache: Tensor, slot_mapping: Tensor, **options: Any
) -> tuple[Tensor, Tensor]:
    caches = key_cache.clone(), value_cache.clone()
    scatter_pa_kv_cache(key, value, *caches, slot_mapping, **options)
    return caches


def _load(
    pool: Tensor, table: Tensor, lengths: Tensor, starts: Tensor | None, is_cumulative: bool, into: Tensor
) -> Tensor:
    """Return the rows that sequences have in a cache, one sequence behind the other; and zeros for missing blocks.

    Rows of the last tensor behind the last sequence are kept.
    """
    total = len(into)
    lengths = lengths.long()
    ends = lengths[1:] if is_cumulative else lengths.cumsum(0)
    if total == 0 or len(ends) == 0 or table.size(1) == 0 or is_fake(into):  # which has no format
        return into
    row = torch.arange(total, device=into.device)
    sequence = torch.searchsorted(ends, row, right=True)
    is_loaded = sequence < len(ends)
    sequence = sequence.clamp(max=len(ends) - 1)
    begins = torch.cat((ends.new_zeros(1), ends[:-1]))
    position = row - begins[sequence]
    column = position // pool.size(1)
    if starts is not None:  # at a block
        column = column + starts.long()[sequence] // pool.size(1)
    block = table[sequence, column.clamp(0, table.size(1) - 1)].long()
    is_there = (column < table.size(1)) & (block >= 0) & (block < len(pool))
    found = pool[torch.where(is_there, block, 0), (position % pool.size(1)).clamp(min=0)]
    found = found.masked_fill(~is_there.reshape(-1, *[1] * (found.dim() - 1)), 0).reshape(into.shape)
    return torch.where(is_loaded.reshape(-1, *[1] * (into.dim() - 1)), found, into)


def pool_of(cache: Tensor) -> Tensor:
    """Return (blocks, positions of a block, ...) of a cache in either format."""
    return cache.transpose(1, 2) if is_nz(cache) else cache


@formula("npu_gather_pa_kv_cache_functional")
def gather_pa_kv_cache_functional(
    key_cache: Tensor,
    value_cache: Tensor,
    block_tables: Tensor,
    seq_lens: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    seq_offset: Tensor | None = None,
    is_seq_lens_cumsum: bool = False,
) -> tuple[Tensor, Tensor]:
    key, value = key.clone(), value.clone()
    gather_pa_kv_cache(
        key_cache,
        value_cache,
        block_tables,
        seq_lens,
        key,
        value,
        seq_offset=seq_offset,
        is_seq_lens_cumsum=is_seq_lens_cumsum,
    )
    return key, value


@formula("npu_gather_pa_kv_cache")
def gather_pa_kv_cache(
    key_cache: Tensor,
    value_cache: Tensor,
    block_tables: Tensor,
    seq_lens: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    seq_offset: Tensor | None = None,
    is_seq_lens_cumsum: bool = False,
) -> None:
    for cache, into in ((key_cache, key), (value_cache, value)):
        into.copy_(_load(pool_of(cache), block_tables, seq_lens, seq_offset, is_seq_lens_cumsum, into))
