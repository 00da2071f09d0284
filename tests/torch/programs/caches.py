"""Caches of blocks, and the operators of ATB that use them, against loops that are written here once more."""

import numpy as np
import pytest
import torch
import torch_npu
from formula_checks import attended, npu, numbers, random, run, same, takes

FRACTAL_NZ = torch_npu.Format.FRACTAL_NZ


def stored(rows, cache, slots, size):
    """Return a cache with rows at their slots; negative ones are padding."""
    cache = cache.copy()
    for row, slot in zip(rows, slots, strict=True):
        if slot >= 0:
            cache[slot // size, slot % size] = row.reshape(cache.shape[2:])
    return cache


def as_nz(cache, width):
    """Return (blocks, N * D / n, positions, n) of (blocks, positions, N, D)."""
    blocks, size = cache.shape[:2]
    return np.ascontiguousarray(cache.reshape(blocks, size, -1, width).transpose(0, 2, 1, 3))


def storing():
    key, value = numbers(5, 2, 16), numbers(5, 2, 32)
    caches = numbers(3, 4, 2, 16), numbers(3, 4, 2, 32)
    for slots in ([7, -1, 0, 11, 4], [-1] * 5, [3, 2, 1, 0, 8], [-1, -1, -1, 5, -1]):
        expected = [stored(a, b, slots, 4) for a, b in zip((key, value), caches, strict=True)]
        for kind in (np.int32, np.int64):
            given = npu(np.array(slots, kind))
            found = npu(*caches)
            torch_npu._npu_reshape_and_cache(*npu(key, value), *found, given)
            same(found, expected, 0)
            found = npu(*caches)
            torch_npu._npu_reshape_and_cache_siso(npu(key), found[0], given)
            same(found, (expected[0], caches[1]), 0)
            for mode in ("Norm", None):
                found = npu(*caches)
                torch_npu.npu_scatter_pa_kv_cache(*npu(key, value), *found, given, cache_mode=mode)
                same(found, expected, 0)
            changed = torch_npu.npu_scatter_pa_kv_cache_functional(
                *npu(key, value), *npu(*caches), given, cache_mode="Norm"
            )
            same(changed, expected, 0)
            found = npu(*(as_nz(each, 16) for each in caches))
            torch_npu.npu_scatter_pa_kv_cache(*npu(key, value), *found, given)
            same(found, [as_nz(each, 16) for each in expected], 0)
    found = [torch_npu.npu_format_cast(npu(as_nz(each, 16)), FRACTAL_NZ) for each in caches]
    torch_npu._npu_reshape_and_cache(*npu(key, value), *found, given)
    same(found, [as_nz(each, 16) for each in expected], 0)
    assert [torch_npu.get_npu_format(each) for each in found] == [FRACTAL_NZ, FRACTAL_NZ]
    found = npu(*caches)
    torch_npu._npu_reshape_and_cache(*npu(key[:0], value[:0]), *found, given[:0])
    same(found, caches, 0)
    small = npu(random.integers(-128, 128, (3, 4, 2, 16)).astype(np.int8))
    torch_npu._npu_reshape_and_cache_siso(torch.full((1, 2, 16), 7, dtype=torch.int8).npu(), small, npu(np.array([5])))
    assert (small[1, 1].cpu() == 7).all()


def gathered(cache, table, lengths, into, starts=None):
    """Return the rows of the sequences, and what is left of the tensor; missing blocks are zeros."""
    result, row = into.copy(), 0
    for number, length in enumerate(lengths):
        for position in range(length):
            if row == len(result):
                return result
            column = position // cache.shape[1] + (0 if starts is None else starts[number] // cache.shape[1])
            block = table[number, column] if column < table.shape[1] else -1
            is_there = 0 <= block < len(cache)
            result[row] = cache[block, position % cache.shape[1]] if is_there else 0
            row += 1
    return result


def gathering():
    caches = numbers(5, 4, 2, 16), numbers(5, 4, 2, 32)
    table = np.array([[4, 0, 9], [1, -1, 2], [3, 3, 3]], np.int32)
    starts = np.array([4, 0, 8], np.int32)
    for lengths in ([5, 0, 3], [12, 9, 2], [0, 0, 0]):
        for offset in (None, starts):
            into = numbers(15, 2, 16), numbers(15, 2, 32)
            expected = [gathered(a, table, lengths, b, offset) for a, b in zip(caches, into, strict=True)]
            options = {} if offset is None else {"seq_offset": npu(offset)}
            sums = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
            for given, is_sum in ((np.array(lengths, np.int32), False), (sums, True)):
                found = npu(*into)
                flag = {"is_seq_lens_cumsum": is_sum}
                torch_npu.npu_gather_pa_kv_cache(*npu(*caches, table, given), *found, **options, **flag)
                same(found, expected, 0)
                found = torch_npu.npu_gather_pa_kv_cache_functional(
                    *npu(*caches, table, given), *npu(*into), **options, **flag
                )
                same(found, expected, 0)
    lengths = [5, 0, 3]
    into = np.zeros((8, 2, 16), np.float32), np.zeros((8, 2, 32), np.float32)
    expected = [gathered(a, table, lengths, b) for a, b in zip(caches, into, strict=True)]
    given = torch.tensor(lengths, dtype=torch.int32)
    found = torch.ops.atb.npu_paged_cache_load(*npu(*caches, table), given)
    same(found, expected, 0)
    tagged = [torch_npu.npu_format_cast(npu(as_nz(each, 16)), FRACTAL_NZ) for each in caches]
    found = npu(*into)
    torch_npu.npu_gather_pa_kv_cache(*tagged, *npu(table, np.array(lengths, np.int32)), *found)
    same(found, expected, 0)


def paged():
    """Attend to caches whose unused parts are NaN; a sequence without a position gives zeros."""
    table, lengths = np.array([[3, 1], [0, 77], [88, 99]], np.int32), np.array([6, 3, 0], np.int32)
    caches = numbers(4, 4, 2, 24), numbers(4, 4, 2, 16)
    for each in caches:
        each[2], each[1, 2:], each[0, 3:] = np.nan, np.nan, np.nan
    q = numbers(3, 4, 24)
    expected = np.zeros((3, 4, 16))
    latent = np.zeros((3, 4, 8))
    for i, length in enumerate(lengths[:2]):
        rows = table[i, : -(-length // 4)]
        k, v = (each[rows].reshape(-1, 2, each.shape[-1])[None, :length].swapaxes(1, 2) for each in caches)
        expected[i] = attended(q[None, i : i + 1].swapaxes(1, 2), k, v, 0.3)[0][0, :, 0]
        latent[i] = attended(q[None, i : i + 1].swapaxes(1, 2), k, k[..., :8], 0.3)[0][0, :, 0]
    for given in (torch.from_numpy(lengths), npu(lengths)):
        out = npu(np.ones((3, 4, 16), np.float32))
        workspace = torch_npu._npu_paged_attention_get_workspace(*npu(q, *caches), 2, 4, 0.3, npu(table), given, out)
        torch_npu._npu_paged_attention(*npu(q, *caches), 2, 4, 0.3, npu(table), given, out, workspace=workspace)
        same(out, expected)
    out = npu(np.ones((3, 4, 16), np.float32))
    options = {"value_cache": npu(caches[1]), "num_kv_heads": 2, "num_heads": 4, "scale_value": 0.3}
    torch_npu.atb._npu_paged_attention_v2(*npu(q, caches[0], table), lengths.tolist(), **options, out=out)
    same(out, expected)
    out = npu(np.ones((3, 4, 8), np.float32))
    torch_npu._npu_paged_attention_mla(*npu(q, caches[0]), 2, 4, 0.3, npu(table), torch.from_numpy(lengths), 8, out)
    same(out, latent)
    tagged = [torch_npu.npu_format_cast(npu(as_nz(each, 8)), FRACTAL_NZ) for each in caches]
    out = npu(np.ones((3, 4, 16), np.float32))
    torch_npu._npu_paged_attention(npu(q), *tagged, 2, 4, 0.3, npu(table), torch.from_numpy(lengths), out)
    same(out, expected)


def sequences():
    lengths = np.array([2, 0, 3], np.int32)
    q, k, v = numbers(5, 4, 16), numbers(5, 2, 16), numbers(5, 2, 8)
    mask = np.triu(np.full((3, 3), -10000, np.float32), 1)
    plain, masked = [], []
    for a, b in ((0, 2), (2, 5)):
        parts = [each[None, a:b].swapaxes(1, 2) for each in (q, k, v)]
        plain.append(attended(*parts, 0.3)[0][0].swapaxes(0, 1))
        masked.append(attended(*parts, 0.3, None, mask[: b - a, : b - a])[0][0].swapaxes(0, 1))
    tail = torch.from_numpy(lengths), 0.3, 4, 2
    for given in (mask, mask[None], np.stack([mask] * 3)):
        out = npu(np.ones((5, 4, 8), np.float32))
        torch_npu._npu_flash_attention(*npu(q, k, v, given), *tail, out)
        same(out, np.concatenate(masked))
    out = npu(np.ones((5, 4, 8), np.float32))
    torch_npu._npu_flash_attention_unpad(*npu(q, k, v), *tail, out)
    same(out, np.concatenate(plain))
    if not takes("_npu_flash_attention_unpad_v2"):
        return
    out = npu(np.ones((5, 4, 8), np.float32))
    torch_npu._npu_flash_attention_unpad_v2(*npu(q, k, v), *tail, kernel_type=0, out=out)
    same(out, np.concatenate(plain))


def prefixes():
    """Attend from the last positions of sequences to a cache that has all positions."""
    table, sizes, lengths = np.array([[3, 1], [0, 2]], np.int32), [3, 1], [6, 4]
    caches = numbers(4, 4, 2, 16), numbers(4, 4, 2, 16)
    q = numbers(4, 4, 16)
    expected, rows, begin = [], [], 0
    for i, (size, length) in enumerate(zip(sizes, lengths, strict=True)):
        k, v = (each[table[i]].reshape(-1, 2, 16)[None, :length].swapaxes(1, 2) for each in caches)
        later = np.arange(8) > np.arange(size)[:, None] + length - size
        part = q[None, begin : begin + size].swapaxes(1, 2)
        expected.append(attended(part, k, v, 0.3, later[:, :length])[0][0].swapaxes(0, 1))
        rows.append(np.where(later, -10000, 0).astype(np.float32))
        begin += size
    given = torch.tensor(sizes, dtype=torch.int32), torch.tensor(lengths, dtype=torch.int32)
    triangle = npu(np.triu(np.full((128, 128), -10000, np.float32), 1))
    out = npu(np.ones_like(q))
    torch_npu._npu_flash_attention_qlens(*npu(q, *caches, table), triangle, *given, 2, 4, 0.3, out)
    same(out, np.concatenate(expected))
    out = npu(np.ones_like(q))
    mask = npu(np.concatenate(rows))
    torch_npu._npu_paged_attention_splitfuse(*npu(q, *caches, table), given[1], mask, given[0], 2, 4, 0.3, out)
    same(out, np.concatenate(expected))


def rotations():
    table, positions = numbers(9, 16), np.array([[3, 8], [0, 3]])
    cos, sin = (each[positions.flatten()][:, None] for each in np.split(table, 2, -1))
    query, key = numbers(4, 64), numbers(4, 32)
    for is_neox in (True, False):
        found = npu(query, key)
        torch_npu._npu_rotary_embedding(npu(positions), *found, 16, npu(table), is_neox)
        for given, result in zip((query, key), found, strict=True):
            x = given.reshape(4, -1, 16).astype(np.float64)
            a, b = (x[..., :8], x[..., 8:]) if is_neox else (x[..., ::2], x[..., 1::2])
            pair = a * cos - b * sin, b * cos + a * sin
            expected = np.concatenate(pair, -1) if is_neox else np.stack(pair, -1).reshape(x.shape)
            same(result, expected.reshape(given.shape))
    half = npu(query).half()
    torch_npu._npu_rotary_embedding(npu(positions), half, half.clone(), 16, npu(table), True)
    assert half.dtype == torch.float16


def others():
    x, scale, zero = numbers(2, 3, 8), np.abs(numbers(3, 8)) + 0.1, random.integers(-9, 9, (3, 8)).astype(np.int8)
    y = torch.zeros(2, 3, 8, dtype=torch.int8).npu()
    torch_npu._npu_quantize_per_tensor(*npu(x, scale, zero), y)
    assert np.abs(y.cpu().numpy() - (x / scale.astype(np.float64) + zero)).max() <= 0.501
    a, b, c = numbers(5, 4), numbers(5, 6), numbers(4, 6)
    found = npu(c)
    torch_npu._npu_matmul_add_fp32(*npu(a, b), found)
    same(found, c + a.T @ b)
    scores = numbers(3, 12)
    found = npu(scores)
    torch_npu._npu_group_topk(found, k=2, group_num=4, n=2)
    groups = scores.reshape(3, 4, 3)
    order = np.argsort(-np.sort(groups, -1)[..., 1:].sum(-1), kind="stable")
    for row, kept in enumerate(order):
        groups[row, kept[2:]] = 0
    same(found, groups.reshape(3, 12))


def refusals():
    x, table = npu(numbers(2, 4, 16)), npu(np.zeros((2, 2), np.int32))
    cache = npu(numbers(3, 4, 4, 16))
    lengths = torch.tensor([1, 1], dtype=torch.int32)
    for function, arguments, options, text in (
        (torch_npu.npu_scatter_pa_kv_cache, (x, x, cache, cache, table[0]), {"seq_lens": table}, "seq_lens"),
        (torch_npu.npu_scatter_pa_kv_cache, (x, x, cache, cache, table), {"cache_mode": "Norm"}, "4 slots for 2 rows"),
        (torch_npu.npu_scatter_pa_kv_cache, (x.half(), x, cache, cache, table[0]), {}, "torch.float16"),
        (torch_npu._npu_rotary_embedding, (table, x, x, 8, x[0], True), {}, "cos_sin_cache"),
        (torch_npu._npu_paged_attention, (x, cache, cache, 4, 4, 1.0, table, lengths[:1], x), {}, "1 lengths"),
        (torch_npu._npu_paged_attention_mla, (x, cache, 4, 4, 1.0, table, lengths, 17, x), {}, "mla_vheadsize"),
        (torch_npu._npu_flash_attention_unpad, (x, x, x, lengths[:1], 1.0, 4, 4, x), {}, "seq_len"),
        (torch_npu._npu_group_topk, (x[0],), {"k": 5, "group_num": 4}, "4 groups"),
    ):
        name = function.__name__ if hasattr(function, "__name__") else str(function)
        with pytest.raises(RuntimeError, match=f"::{name}.*{text}"):
            function(*arguments, **options)
    # An operator without a formula is refused by name, whatever it is given.
    with pytest.raises(RuntimeError, match="atb::_npu_quant_rms_norm"):
        torch_npu._npu_quant_rms_norm(x, x, x, x, x, x)
    with pytest.raises(RuntimeError, match="atb::npu_ring_mla"):
        torch_npu.atb.npu_ring_mla(x, x, x, x, x, x, table, 4, 4)
    same(x + 0, x.cpu().numpy())  # the device is as it was


run(storing, gathering, paged, sequences, prefixes, rotations, others, refusals)
