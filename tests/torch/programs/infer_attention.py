"""Attention of inference and training against a formula that is written here once more, with NumPy in float64."""

import numpy as np
import pytest
import torch
import torch_npu
from formula_checks import attended, npu, numbers, random, run, same, softmax

TRIANGLE = np.triu(np.ones((2048, 2048), bool), 1)


def layouts(q, k, v):
    """Return the layout's name, the arguments in it, and the way to the result."""

    def bsnd(x):
        return x.transpose(0, 2, 1, 3)

    def bsh(x):
        return bsnd(x).reshape(*bsnd(x).shape[:2], -1)

    ways = {"BSH": bsh, "BSND": bsnd, "BNSD": lambda x: x, "NBSD": lambda x: x.swapaxes(0, 1)}
    names = ("BSH", "BSND", "BNSD", "BNSD_BSND", "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD", "BSH_BNSD", "BSND_BNSD")
    for name in names:
        given, _, wanted = name.partition("_")
        yield name, [ways[given](each) for each in (q, k, v)], ways[wanted or given]


def call(q, k, v, **options):
    return torch_npu.npu_fused_infer_attention_score(*npu(q, k, v), num_heads=4, scale=0.3, **options)


def dense():
    q, k, v = numbers(2, 4, 3, 16), numbers(2, 2, 5, 16), numbers(2, 2, 5, 16)
    mask = random.random((2, 1, 3, 5)) < 0.4
    mask[0, 0, 1] = True  # leaves out a row
    expected, lse = attended(q, k, v, 0.3, mask)
    for name, given, way in layouts(q, k, v):
        options = {"input_layout": name, "num_key_value_heads": 2, "atten_mask": npu(mask)}
        found = call(*given, **options, softmax_lse_flag=True)
        same(found, (way(expected), lse))
        assert call(*given, **options)[1].shape == (0,)
    found, _ = torch_npu.npu_fused_infer_attention_score_v2(
        *npu(q, k, v), num_query_heads=4, num_key_value_heads=2, softmax_scale=0.3, input_layout="BNSD"
    )
    same(found, attended(q, k, v, 0.3)[0])
    half = torch.from_numpy(q).bfloat16()
    found, _ = torch_npu.npu_fused_infer_attention_score(
        half.npu(), half.npu(), half.npu(), num_heads=4, scale=0.3, input_layout="BNSD"
    )
    assert found.dtype == torch.bfloat16
    exact = half.double().numpy()
    same(found, attended(exact, exact, exact, 0.3)[0], 1e-2)
    found = call(q, k[:, :, :0], v[:, :, :0], input_layout="BNSD", num_key_value_heads=2, softmax_lse_flag=True)
    same(found, (np.zeros(q.shape), np.full((2, 4, 3, 1), np.inf)))
    found, _ = call(q[:0], k[:0], v[:0], input_layout="BNSD", num_key_value_heads=2)
    assert found.shape == (0, 4, 3, 16)


def modes():
    q, k, v = numbers(2, 4, 3, 16), numbers(2, 4, 5, 16), numbers(2, 4, 5, 16)
    row, column = np.arange(3)[:, None], np.arange(5)
    for mode, left_out in (
        (2, column > row),
        (3, column > row + 2),
        (4, (column > row + 2 + 1) | (column < row + 2 - 1)),
    ):
        found, _ = call(
            q, k, v, input_layout="BNSD", atten_mask=npu(TRIANGLE), sparse_mode=mode, pre_tokens=1, next_tokens=1
        )
        same(found, attended(q, k, v, 0.3, left_out)[0])
    given = random.random((3, 5)) < 0.3
    for mode, left_out in ((0, given | (column > row) | (column < row - 1)), (1, given)):
        found, _ = call(
            q, k, v, input_layout="BNSD", atten_mask=npu(given), sparse_mode=mode, pre_tokens=1, next_tokens=0
        )
        same(found, attended(q, k, v, 0.3, left_out)[0])
    # The last row is that of the sequence, and rows behind it are zero.
    rows, columns = [2, 3], [4, 3]
    found, lse = call(
        q,
        k,
        v,
        input_layout="BNSD",
        atten_mask=npu(TRIANGLE),
        sparse_mode=3,
        actual_seq_lengths=rows,
        actual_seq_lengths_kv=columns,
        softmax_lse_flag=True,
    )
    left_out = np.stack(
        [(column > row + b - a) | (row >= a) | (column >= b) for a, b in zip(rows, columns, strict=True)]
    )
    same((found, lse), attended(q, k, v, 0.3, left_out[:, None]))
    pse = numbers(1, 4, 3, 5)
    found, _ = call(q, k, v, input_layout="BNSD", pse_shift=npu(pse))
    same(found, attended(q, k, v, 0.3, None, pse * 0.3)[0])


def new_position():
    q, k, v = numbers(2, 4, 1, 16), numbers(2, 2, 5, 16), numbers(2, 2, 5, 16)
    left_out = np.arange(5) >= np.array([2, 5]).reshape(2, 1, 1, 1)
    mask = random.random((2, 5)) < 0.4
    options = {"input_layout": "BNSD", "num_key_value_heads": 2, "actual_seq_lengths_kv": [2, 5]}
    same(call(q, k, v, **options)[0], attended(q, k, v, 0.3, left_out)[0])
    found, _ = call(q, k, v, atten_mask=npu(mask), **options)
    same(found, attended(q, k, v, 0.3, left_out | mask[:, None, None])[0])
    found, _ = call(q, k, v, atten_mask=npu(TRIANGLE), sparse_mode=2, **options)  # the mode has no effect
    same(found, attended(q, k, v, 0.3, left_out)[0])
    table, pool_k, pool_v = npu(np.array([[1, 7], [2, 0]], np.int32)), numbers(3, 4, 32), numbers(3, 4, 32)
    found = torch_npu.npu_incre_flash_attention(
        *npu(q, pool_k, pool_v),
        num_heads=4,
        num_key_value_heads=2,
        scale_value=0.3,
        input_layout="BNSD",
        actual_seq_lengths=[3, 6],
        block_table=table,
        block_size=4,
    )
    k, v = (np.stack([pool[[1, 1]].reshape(8, 2, 16), pool[[2, 0]].reshape(8, 2, 16)]) for pool in (pool_k, pool_v))
    left_out = np.arange(8) >= np.array([3, 6]).reshape(2, 1, 1, 1)
    same(found, attended(q, k.swapaxes(1, 2), v.swapaxes(1, 2), 0.3, left_out)[0])


def blocks():
    """Compare caches of blocks in each of their layouts; unused blocks have NaN, and entries without a meaning."""
    table = np.array([[3, 1, -1], [0, 2, 5], [99, 99, 99]], np.int32)
    lengths = [6, 9, 0]
    pool_k, pool_v = numbers(6, 4, 2, 16), numbers(6, 4, 2, 16)
    pool_k[4], pool_v[4] = np.nan, np.nan
    pool_k[1, 2:], pool_v[1, 2:] = np.nan, np.nan
    q = numbers(3, 4, 2, 16)
    expected = np.zeros(q.shape)
    for i, length in enumerate(lengths):
        if length:
            rows = table[i, : -(-length // 4)]
            k, v = (pool[rows].reshape(-1, 2, 16)[None, :length].swapaxes(1, 2) for pool in (pool_k, pool_v))
            later = np.arange(length) > np.arange(2)[:, None] + length - 2
            expected[i] = attended(q[i : i + 1], k, v, 0.3, later)[0]
    for form in (
        lambda x: x.reshape(6, 4, 32),
        lambda x: x.transpose(0, 2, 1, 3),
        lambda x: x.reshape(6, 4, 2, 2, 8).transpose(0, 2, 3, 1, 4),
    ):
        found, lse = call(
            q,
            form(pool_k),
            form(pool_v),
            input_layout="BNSD",
            num_key_value_heads=2,
            atten_mask=npu(TRIANGLE),
            sparse_mode=3,
            actual_seq_lengths_kv=lengths,
            block_table=npu(table),
            block_size=4,
            softmax_lse_flag=True,
        )
        same(found, expected)
        assert torch.isinf(lse[2]).all()
    packed = np.concatenate([q[0].swapaxes(0, 1), q[1, :, :1].swapaxes(0, 1)])
    found, _ = call(
        packed,
        pool_k.reshape(6, 4, 32),
        pool_v.reshape(6, 4, 32),
        input_layout="TND",
        num_key_value_heads=2,
        atten_mask=npu(TRIANGLE),
        sparse_mode=3,
        actual_seq_lengths=[2, 3],
        actual_seq_lengths_kv=lengths[:2],
        block_table=npu(table[:2]),
        block_size=4,
    )
    k, v = (pool[table[1]].reshape(-1, 2, 16)[None, :9].swapaxes(1, 2) for pool in (pool_k, pool_v))
    last = attended(q[1:2, :, :1], k, v, 0.3)[0][0].swapaxes(0, 1)
    same(found, np.concatenate([expected[0].swapaxes(0, 1), last]))


def packed():
    q, k, v = numbers(5, 4, 16), numbers(6, 2, 16), numbers(6, 2, 16)
    q_rope, k_rope = numbers(5, 4, 8), numbers(6, 2, 8)
    ends = [2, 2, 5], [4, 4, 6]  # one sequence is empty
    parts, logs = [], []
    for a, b, c, d in ((0, 2, 0, 4), (2, 5, 4, 6)):
        whole = (np.concatenate((q[a:b], q_rope[a:b]), -1), np.concatenate((k[c:d], k_rope[c:d]), -1), v[c:d])
        result, lse = attended(*(each[None].swapaxes(1, 2) for each in whole), 0.3)
        parts.append(result[0].swapaxes(0, 1))
        logs.append(lse[0].swapaxes(0, 1))
    expected, lse = np.concatenate(parts), np.concatenate(logs)
    for layout, turn, back in (
        ("TND", lambda x: x, lambda x: x),
        ("NTD", lambda x: x.swapaxes(0, 1), lambda x: x.swapaxes(0, 1)),
        ("TND_NTD", lambda x: x, lambda x: x.swapaxes(0, 1)),
        ("NTD_TND", lambda x: x.swapaxes(0, 1), lambda x: x),
    ):
        found = call(
            turn(q),
            turn(k),
            turn(v),
            input_layout=layout,
            num_key_value_heads=2,
            query_rope=npu(turn(q_rope)),
            key_rope=npu(turn(k_rope)),
            actual_seq_lengths=ends[0],
            actual_seq_lengths_kv=ends[1],
            softmax_lse_flag=True,
        )
        same(found, (back(expected), lse))


def latent():
    """Compare attention with rotary parts of the heads: one for the query, one for the key."""
    q, k, v = numbers(2, 4, 3, 16), numbers(2, 1, 5, 16), numbers(2, 1, 5, 16)
    q_rope, k_rope = numbers(2, 4, 3, 8), numbers(2, 1, 5, 8)
    expected = attended(np.concatenate((q, q_rope), -1), np.concatenate((k, k_rope), -1), v, 0.3)[0]
    for (name, given, way), (_, ropes, _) in zip(layouts(q, k, v), layouts(q_rope, k_rope, k_rope), strict=True):
        found, _ = call(
            *given,
            input_layout=name,
            num_key_value_heads=1,
            query_rope=npu(ropes[0]),
            key_rope=npu(ropes[1]),
        )
        same(found, way(expected))


def into_given_tensors():
    q, k = numbers(2, 4, 3, 16), numbers(2, 4, 5, 16)
    out, lse = npu(np.zeros_like(q), np.zeros((2, 4, 3, 1), np.float32))
    arguments = npu(q, k, k)
    options = {"num_heads": 4, "scale": 0.3, "input_layout": "BNSD", "softmax_lse_flag": True}
    workspace = torch_npu._npu_fused_infer_attention_score_get_max_workspace(*arguments, **options)
    torch.ops.npu.npu_fused_infer_attention_score.out(*arguments, **options, workspace=workspace, out=[out, lse])
    same((out, lse), attended(q, k, k, 0.3))


def training():
    """Compare the versions of attention for training, and their gradients with those of PyTorch's on the CPU."""
    q, k, v = numbers(2, 4, 3, 16), numbers(2, 4, 5, 16), numbers(2, 4, 5, 16)
    pse, sink = numbers(1, 4, 3, 5), numbers(4)
    for kind, bias in ((0, pse), (1, pse * 0.3)):
        found = torch_npu.npu_fusion_attention_v2(*npu(q, k, v), 4, "BNSD", pse=npu(pse), scale=0.3, pse_type=kind)
        same(found[0], attended(q, k, v, 0.3, None, bias)[0])
    mask = random.random((3, 5)) < 0.4
    mask[1] = True
    left_out = np.broadcast_to(mask, (2, 4, 3, 5))
    scores = np.where(left_out, -np.inf, q.astype(np.float64) @ k.swapaxes(-1, -2) * 0.3)
    with_sink = np.concatenate((scores, np.broadcast_to(sink[:, None, None], (2, 4, 3, 1))), -1)
    peak = with_sink.max(-1)
    for name in ("npu_fusion_attention", "npu_fusion_attention_v2", "npu_fusion_attention_v3"):
        found = getattr(torch_npu, name)(*npu(q, k, v), 4, "BNSD", atten_mask=npu(mask), scale=0.3, sink=npu(sink))
        same(found[0], softmax(with_sink)[..., :5] @ v)
        same(found[1], np.repeat(peak[..., None], 8, -1))
        same(found[2], np.repeat(np.exp(with_sink - peak[..., None]).sum(-1, keepdims=True), 8, -1))
    rows, kv = numbers(5, 2, 16), numbers(6, 2, 16)
    rope, key_rope = numbers(5, 2, 8), numbers(6, 2, 8)
    ends = [2, 5], [4, 6]
    expected = [
        attended(*(each[None].swapaxes(1, 2) for each in (np.concatenate((rows[a:b], rope[a:b]), -1), *both)), 0.3)[0][
            0
        ].swapaxes(0, 1)
        for a, b, both in (
            (0, 2, (np.concatenate((kv[:4], key_rope[:4]), -1), kv[:4])),
            (2, 5, (np.concatenate((kv[4:], key_rope[4:]), -1), kv[4:])),
        )
    ]
    found = torch_npu.npu_fusion_attention_v2(
        *npu(rows, kv, kv),
        2,
        "TND",
        query_rope=npu(rope),
        key_rope=npu(key_rope),
        scale=0.3,
        actual_seq_qlen=ends[0],
        actual_seq_kvlen=ends[1],
    )
    same(found[0], np.concatenate(expected))
    found = torch_npu.npu_fusion_attention_v3(
        *npu(rows, kv, kv),
        2,
        "TND",
        scale=0.3,
        actual_seq_qlen=torch.tensor(ends[0]),
        actual_seq_kvlen=torch.tensor(ends[1]),
    )
    parts = [
        attended(*(each[None].swapaxes(1, 2) for each in (rows[a:b], kv[c:d], kv[c:d])), 0.3)[0][0].swapaxes(0, 1)
        for a, b, c, d in ((0, 2, 0, 4), (2, 5, 4, 6))
    ]
    same(found[0], np.concatenate(parts))
    on_device, on_cpu = [npu(each).requires_grad_() for each in (q, k, v)], [torch.from_numpy(e) for e in (q, k, v)]
    for each in on_cpu:
        each.requires_grad_()
    plain = torch.nn.functional.scaled_dot_product_attention(*on_cpu, attn_mask=torch.from_numpy(~mask), scale=0.3)
    seed = torch.from_numpy(numbers(2, 4, 3, 16))
    seed[:, :, 1] = 0  # a row of nothing, which PyTorch fills with NaN
    expected = torch.autograd.grad(plain[:, :, [0, 2]], on_cpu, seed[:, :, [0, 2]])
    for name in ("npu_fusion_attention_v2", "npu_fusion_attention_v3"):
        result = getattr(torch_npu, name)(*on_device, 4, "BNSD", atten_mask=npu(mask), scale=0.3)[0]
        found = torch.autograd.grad(result, on_device, seed.npu())
        same(found, [each.nan_to_num().numpy() for each in expected])


def refusals():
    x = npu(numbers(2, 4, 3, 16))
    one = torch.ones(1).npu()
    for name, arguments, options, text in (
        ("npu_fused_infer_attention_score", (), {"quant_scale2": one}, "quant_scale2"),
        ("npu_fused_infer_attention_score", (), {"key_antiquant_mode": 1}, "key_antiquant_mode"),
        ("npu_fused_infer_attention_score", (), {"kv_padding_size": one}, "kv_padding_size"),
        ("npu_fused_infer_attention_score", (), {"input_layout": "SBH"}, "SBH"),
        ("npu_fused_infer_attention_score", (), {"query_rope": x}, "query_rope and key_rope"),
        ("npu_fused_infer_attention_score", (), {"actual_seq_lengths_kv": [4]}, "a length is not in the sequence"),
        ("npu_fused_infer_attention_score_v2", (), {"learnable_sink": one}, "learnable_sink"),
        ("npu_fusion_attention_v2", (4, "BNSD"), {"q_start_idx": [0]}, "q_start_idx"),
        ("npu_fusion_attention_v2", (4, "BNSD"), {"pse_type": 2}, "pse_type 2"),
        ("npu_fusion_attention_v3", (4, "BNSD"), {"softmax_layout": "TND"}, "softmax_layout"),
    ):
        if not arguments:
            heads = "num_query_heads" if name.endswith("v2") else "num_heads"
            options = {"input_layout": "BNSD", heads: 4, **options}
        with pytest.raises(RuntimeError, match=f"npu::{name}.*{text}"):
            getattr(torch_npu, name)(x, x, x, *arguments, **options)
    same(x + 0, x.cpu().numpy())  # the device is as it was


run(dense, modes, new_position, blocks, packed, latent, into_given_tensors, training, refusals)
