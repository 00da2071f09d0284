"""torch_npu's own operators against formulas that are written here once more, with NumPy in float64.

``formulas.py captured`` calls each of them in a graph, which is captured with other numbers in the tensors; and prints
the names of those that cannot be captured.
"""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import torch_npu
from formula_checks import npu, numbers, run, same, softmax, takes

erf = np.vectorize(math.erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def activations():
    x = numbers(3, 4, 6)
    a, b = x[..., :3], x[..., 3:]
    same(torch_npu.npu_swiglu(npu(x)), a * sigmoid(a) * b)
    same(torch_npu.npu_swiglu(npu(x), 1), x[:, :2] * sigmoid(x[:, :2]) * x[:, 2:])
    gate, value = np.minimum(x[..., ::2], 0.5), np.clip(x[..., 1::2], -0.5, 0.5)
    same(torch_npu.npu_clipped_swiglu(npu(x), alpha=1.5, limit=0.5), gate * sigmoid(1.5 * gate) * (value + 1))
    same(torch_npu.npu_fast_gelu(npu(x)), x * sigmoid(1.702 * x))
    same(torch_npu.fast_gelu(npu(x)), x * sigmoid(1.702 * x))
    same(torch_npu.npu_gelu(npu(x)), gelu(x))
    same(torch_npu.npu_gelu(npu(x), approximate="tanh"), gelu_tanh(x))
    same(torch_npu.npu_gelu_mul(npu(x)), gelu(a) * b)
    same(torch_npu.npu_geglu(npu(x)), (a * gelu_tanh(b), gelu_tanh(b)))
    same(torch_npu.npu_geglu(npu(x), -1, 0, True), (gelu(a) * b, gelu(a)))
    same(torch_npu.npu_silu(npu(x)), x * sigmoid(x))
    same(torch_npu.npu_mish(npu(x)), x * np.tanh(np.log1p(np.exp(x))))
    mask = x > 0.3
    expected = softmax(np.where(mask, -10000, 2 * x))
    same(torch_npu.npu_scaled_masked_softmax(npu(x), npu(mask), 2.0), expected)
    in_place = npu(x)
    assert torch_npu.npu_silu_(in_place) is in_place
    same(in_place, x * sigmoid(x))


def norms():
    x, y, gamma, beta = numbers(2, 4, 6), numbers(2, 4, 6), numbers(6), numbers(6)

    def rms(x, gamma, axes=(-1,)):
        rstd = 1 / np.sqrt((x.astype(np.float64) ** 2).mean(axes, keepdims=True) + 1e-6)
        return x * rstd * gamma, rstd

    def layer(x, epsilon):
        mean, var = x.mean(-1, keepdims=True, dtype=np.float64), x.var(-1, keepdims=True, dtype=np.float64)
        return (x - mean) / np.sqrt(var + epsilon) * gamma + beta, mean, 1 / np.sqrt(var + epsilon)

    same(torch_npu.npu_rms_norm(*npu(x, gamma)), rms(x, gamma))
    two = numbers(4, 6)
    same(torch_npu.npu_rms_norm(*npu(x, two)), rms(x, two, (-2, -1)))
    same(torch_npu.npu_gemma_rms_norm(*npu(x, gamma)), rms(x, 1 + gamma))
    same(torch_npu.npu_add_rms_norm(*npu(x, y, gamma)), (*rms(x + y, gamma), x + y))
    same(torch_npu.npu_layer_norm_eval(npu(x), [6], *npu(gamma, beta)), layer(x, 1e-5)[0])
    same(torch_npu.npu_add_layer_norm(*npu(x, y, gamma, beta), 1e-5, True), (*layer(x + y, 1e-5), x + y))
    half = x.astype(np.float16)
    y_of_both, *_, given = torch_npu.npu_add_layer_norm(*npu(half, y, gamma, beta), 1e-5, True)
    same(y_of_both, layer(half + y, 1e-5)[0])
    assert (y_of_both.dtype, given.dtype) == (torch.float32, torch.float32), "the wider of two types"
    deep, mean, rstd = layer(np.float32(0.3) * x + y, 1e-6)
    same(torch_npu.npu_deep_norm(*npu(x, y, beta, gamma)), (mean, rstd, deep))
    weight, bias = numbers(4), numbers(4)
    groups = x.reshape(2, 2, 12).astype(np.float64)
    mean, rstd = groups.mean(-1), 1 / np.sqrt(groups.var(-1) + 1e-5)
    normal = ((groups - mean[..., None]) * rstd[..., None]).reshape(x.shape) * weight[:, None] + bias[:, None]
    same(torch_npu.npu_group_norm_silu(*npu(x, weight, bias), 2), (normal * sigmoid(normal), mean, rstd))
    flat = numbers(3, 4)
    groups = flat.reshape(3, 2, 2).astype(np.float64)
    normal_of_flat = (groups - groups.mean(-1)[..., None]) / np.sqrt(groups.var(-1) + 1e-5)[..., None]
    found = torch_npu.npu_group_norm_silu(*npu(flat, np.ones(4, np.float32), np.zeros(4, np.float32)), 2)[0]
    same(found, (normal_of_flat * sigmoid(normal_of_flat)).reshape(3, 4))
    swish = normal * sigmoid(1.5 * normal)
    same(torch_npu.npu_group_norm_swish(npu(x), 2, *npu(weight, bias), swish_scale=1.5), (swish, mean, rstd))


def norms_of_processes():
    x, mean, var = numbers(2, 3, 5, 1, 4), numbers(5), np.abs(numbers(5))  # two processes
    axes, sums = (0, 2, 3), []
    for part in x:
        sums.append(torch_npu.batch_norm_reduce(npu(part), 1e-5))
        same(sums[-1], (part.sum(axes), np.square(part).sum(axes)))
    gathered = [torch.stack(each) for each in zip(*sums, strict=True)]
    running = npu(mean.copy(), var.copy())
    counts = torch.full((2,), 12.0, device="npu")
    results = torch_npu.batch_norm_gather_stats_update(npu(x[0]), *gathered, *running, 0.25, 1e-5, counts)
    whole = x.astype(np.float64)
    all_mean, all_var = whole.mean((0, 1, 3, 4)), whole.var((0, 1, 3, 4))
    same(results, (all_mean, 1 / np.sqrt(all_var + 1e-5)))
    same(running, (0.75 * mean + 0.25 * all_mean, 0.75 * var + 0.25 * all_var * 24 / 23))
    stats = zip(*(torch.batch_norm_stats(npu(part), 1e-5) for part in x), strict=True)
    gathered = [torch.stack(each) for each in stats]
    results = torch.batch_norm_gather_stats(npu(x[0]), *gathered, None, None, 0.25, 1e-5, 12)
    same(results, (all_mean, 1 / np.sqrt(all_var + 1e-5)))


def shapes():
    x = numbers(2, 4, 6)
    same(torch_npu.npu_transpose(npu(x), (2, 0, 1)), x.transpose(2, 0, 1))
    assert torch_npu.npu_transpose(npu(x), (2, 0, 1)).is_contiguous()
    same(torch_npu.npu_broadcast(npu(x[:1]), (3, 4, 6)), np.broadcast_to(x[:1], (3, 4, 6)))
    same(torch_npu.npu_slice(npu(x), (0, 1, 2), (2, 2, 3)), x[:, 1:3, 2:5])
    same(torch_npu.npu_pad(npu(x[0]), (1, 0, 2, 3)), np.pad(x[0], ((1, 0), (2, 3))))
    same(torch_npu.npu_confusion_transpose(npu(x), (1, 0, 2), (4, 12), True), x.transpose(1, 0, 2).reshape(4, 12))
    same(torch_npu.npu_confusion_transpose(npu(x), (1, 0), (8, 6), False), x.reshape(8, 6).T)
    same(torch_npu.one_(npu(x)), np.ones_like(x))
    classes = np.array([5, 3, 0], np.int32)
    same(torch_npu.npu_one_hot(npu(classes), depth=5, on_value=2, off_value=1), 1 + np.eye(6)[classes][:, :5])
    same(torch_npu.npu_max(npu(x), 1), (x.max(1), x.argmax(1)))
    same(torch_npu.npu_min(npu(x), 1, True), (x.min(1, keepdims=True), x.argmin(1, keepdims=True)))
    same(torch_npu.npu_sort_v2(npu(x), descending=True), -np.sort(-x))
    for kind in (torch.float16, torch.bfloat16, torch.int32, torch.float64):
        cast = torch_npu.npu_dtype_cast(npu(x), kind)
        assert torch.equal(cast.cpu(), torch.from_numpy(x).to(kind))
    same(torch_npu.npu_format_cast(npu(x[None]), 2), x[None])
    expected = x.copy()
    expected[[1, 0], [2, 3]] = 7
    places = np.array([[1, 2], [0, 3]])
    given = npu(x)
    same(torch_npu.npu_scatter_nd_update(given, *npu(places, np.full((2, 6), 7, np.float32))), expected)
    same(given, x)
    torch_npu.npu_scatter_nd_update_(given, *npu(places, np.full((2, 6), 7, np.float32)))
    same(given, expected)


def rotations():
    x, cos, sin = numbers(1, 3, 2, 8), numbers(1, 3, 1, 8), numbers(1, 3, 1, 8)
    half = np.concatenate((-x[..., 4:], x[..., :4]), -1)
    interleaved = np.stack((-x[..., 1::2], x[..., ::2]), -1).reshape(x.shape)
    same(torch_npu.npu_rotary_mul(*npu(x, cos, sin)), x * cos + half * sin)
    same(torch_npu.npu_rotary_mul(*npu(x, cos, sin), "interleave"), x * cos + interleaved * sin)
    query, key = npu(x, x[:, :, :1])
    torch_npu.npu_apply_rotary_pos_emb(query, key, *npu(cos, sin))
    same(query, x * cos + half * sin)
    same(key, (x * cos + half * sin)[:, :, :1])
    sorted_pairs = np.concatenate((x[..., ::2], x[..., 1::2]), -1).astype(np.float64)
    half = np.concatenate((-sorted_pairs[..., 4:], sorted_pairs[..., :4]), -1)
    result = torch_npu.npu_interleave_rope(*(each.half() for each in npu(x, cos, sin)))
    same(result, sorted_pairs * cos + half * sin, 1e-2)


def products():
    a, b, c = numbers(3, 4, 5), numbers(3, 5, 6), numbers(6)
    same(torch_npu.npu_linear(npu(a[0]), *npu(b[0].T, c)), a[0] @ b[0] + c)
    same(torch_npu.npu_bmmV2(*npu(a, b), []), a @ b)
    same(torch_npu.npu_transpose_batchmatmul(*npu(a, b)), (a @ b).transpose(1, 0, 2))
    split = torch_npu.npu_transpose_batchmatmul(*npu(a, b), batch_split_factor=3)
    same(split, (a @ b).transpose(1, 0, 2).reshape(4, 3, 6).transpose(1, 0, 2))
    [grouped] = torch_npu.npu_grouped_matmul(
        [npu(a.reshape(12, 5))], [npu(b)], group_list=npu(np.array([2, 7, 12])), split_item=3, group_type=0
    )
    rows = a.reshape(12, 5)
    same(grouped, np.concatenate([rows[:2] @ b[0], rows[2:7] @ b[1], rows[7:] @ b[2]]))
    image, kernel = numbers(1, 2, 5, 5), numbers(3, 2, 3, 3)
    expected = F.conv2d(torch.from_numpy(image), torch.from_numpy(kernel), stride=2, padding=1).numpy()
    same(torch_npu.npu_conv2d(*npu(image, kernel), None, [2, 2], [1, 1], [1, 1], 1), expected)


def attended(q, k, v, scale, left_out=None):
    scores = q.astype(np.float64) @ k.swapaxes(-1, -2) * scale
    if left_out is not None:
        scores = np.where(left_out, -np.inf, scores)
    return softmax(scores) @ v, scores.max(-1), np.exp(scores - scores.max(-1, keepdims=True)).sum(-1)


def attention():
    q, k, v = numbers(2, 4, 3, 8), numbers(2, 2, 5, 8), numbers(2, 2, 5, 8)
    k4, v4 = (each.repeat(2, 1) for each in (k, v))
    mask = np.triu(np.ones((3, 5), bool), 2)
    expected, maximum, total = attended(q, k4, v4, 0.3, mask)
    bsh = [each.transpose(0, 2, 1, 3).reshape(2, each.shape[2], -1) for each in (q, k, v)]
    for layout, given, back in (
        ("BNSD", (q, k, v), expected),
        ("BSND", [each.transpose(0, 2, 1, 3) for each in (q, k, v)], expected.transpose(0, 2, 1, 3)),
        ("BSH", bsh, expected.transpose(0, 2, 1, 3).reshape(2, 3, -1)),
        ("SBH", [each.transpose(1, 0, 2) for each in bsh], expected.transpose(2, 0, 1, 3).reshape(3, 2, -1)),
    ):
        found = torch_npu.npu_fusion_attention(*npu(*given), 4, layout, atten_mask=npu(mask), scale=0.3)
        same(found[0], back)
        same(found[1], np.repeat(maximum[..., None], 8, -1))
        same(found[2], np.repeat(total[..., None], 8, -1))
    triangle = npu(np.triu(np.ones((2048, 2048), bool), 1))
    for mode, diagonal in ((2, 1), (3, 3)):
        left_out = np.triu(np.ones((3, 5), bool), diagonal)
        found = torch_npu.npu_fusion_attention(
            *npu(q, k, v), 4, "BNSD", atten_mask=triangle, scale=0.3, sparse_mode=mode
        )
        same(found[0], attended(q, k4, v4, 0.3, left_out)[0])
    rows, kv = numbers(5, 2, 8), numbers(6, 2, 8)
    found = torch_npu.npu_fusion_attention(
        *npu(rows, kv, kv), 2, "TND", scale=0.3, actual_seq_qlen=[2, 5], actual_seq_kvlen=[4, 6]
    )
    first, second = ((rows[a:b].swapaxes(0, 1), kv[c:d].swapaxes(0, 1)) for a, b, c, d in ((0, 2, 0, 4), (2, 5, 4, 6)))
    parts = [attended(x, y, y, 0.3) for x, y in (first, second)]
    same(found[0], np.concatenate([each[0].swapaxes(0, 1) for each in parts]))
    for number in (1, 2):  # statistics: in the memory of a sequence, one head after the other
        ordered = np.concatenate([each[number].flatten() for each in parts]).reshape(5, 2)
        same(found[number], np.repeat(ordered[..., None], 8, -1))
    if takes("npu_fusion_attention", "softmax_layout"):
        found = torch_npu.npu_fusion_attention(
            *npu(rows, kv, kv),
            2,
            "TND",
            scale=0.3,
            actual_seq_qlen=[2, 5],
            actual_seq_kvlen=[4, 6],
            softmax_layout="TND",
        )
        for number in (1, 2):
            ordered = np.concatenate([each[number].swapaxes(0, 1) for each in parts])
            same(found[number], np.repeat(ordered[..., None], 8, -1))
    if takes("npu_fusion_attention", "seed"):
        dropped = [
            torch_npu.npu_fusion_attention(*npu(q, k, v), 4, "BNSD", keep_prob=0.5, seed=seed, offset=3)
            for seed in (7, 7, 8)
        ]
        assert torch.equal(dropped[0][0], dropped[1][0]), "a seed decides the dropout"
        assert not torch.equal(dropped[0][0], dropped[2][0])
        assert dropped[0][4:] == (7, 3, 2 * 4 * 3 * 5)

    same(
        torch_npu.npu_prompt_flash_attention(
            *npu(*bsh),
            num_heads=4,
            num_key_value_heads=2,
            scale_value=0.3,
            atten_mask=npu(mask),
            next_tokens=2147483647,
        ),
        expected.transpose(0, 2, 1, 3).reshape(2, 3, -1),
    )
    lengths = np.arange(5) >= np.array([2, 5]).reshape(2, 1, 1, 1)
    found = torch_npu.npu_incre_flash_attention(
        *npu(q[:, :, :1], k, v),
        num_heads=4,
        num_key_value_heads=2,
        scale_value=0.3,
        input_layout="BNSD",
        actual_seq_lengths=[2, 5],
    )
    same(found, attended(q[:, :, :1], k4, v4, 0.3, lengths)[0])


def experts():
    x = numbers(6, 5)
    values, chosen, rows = torch_npu.npu_moe_gating_top_k_softmax(npu(x), k=2)
    order = np.argsort(-softmax(x.astype(np.float64)), -1, kind="stable")[:, :2]
    same(values, np.take_along_axis(softmax(x.astype(np.float64)), order, -1))
    same((chosen, rows), (order, np.arange(12).reshape(2, 6).T))
    expanded, places, sorted_experts = torch_npu.npu_moe_init_routing(npu(x), rows, chosen, 6)
    by_expert = np.argsort(order.reshape(-1), kind="stable")
    sources = np.arange(12).reshape(2, 6).T.reshape(-1)[by_expert]
    same((expanded, sorted_experts), (x[sources % 6], np.sort(order.reshape(-1))))
    back = np.empty(12, int)
    back[sources] = np.arange(12)
    same(places, back)
    ends = torch_npu.npu_moe_compute_expert_tokens(sorted_experts, 5)
    same(ends, np.cumsum(np.bincount(order.reshape(-1), minlength=5)))
    skipped, bias = numbers(6, 5), numbers(5, 5)
    total = torch_npu.npu_moe_finalize_routing(expanded, npu(skipped), None, npu(bias), values, places, chosen)
    weights = np.take_along_axis(softmax(x.astype(np.float64)), order, -1)
    same(total, skipped + sum(weights[:, j, None] * (x + bias[order[:, j]]) for j in range(2)))
    permuted, indices = torch_npu.npu_moe_token_permute(npu(x), chosen)
    same(permuted, x[by_expert // 2])
    same(torch_npu.npu_moe_token_unpermute(permuted, indices, values), x * weights.sum(-1, keepdims=True))


def training():
    x, classes = numbers(4, 5), np.array([1, 4, 0, 2])
    log_prob = np.log(softmax(x.astype(np.float64)))
    loss, found, _, _ = torch_npu.npu_cross_entropy_loss(*npu(x, classes))
    same((loss, found), ([-log_prob[range(4), classes].mean()], log_prob))
    labels = softmax(numbers(4, 5))
    same(torch_npu.npu_softmax_cross_entropy_with_logits(*npu(x, labels)), -(labels * log_prob).sum(-1))
    var, m, v, grad = (np.abs(numbers(5)).astype(np.float64) for _ in range(4))
    given = npu(*(each.astype(np.float32) for each in (var, m, v, grad)))
    torch_npu.npu_apply_adam(0.81, 0.9, 0.1, 0.9, 0.95, 1e-3, given[3], False, False, out=tuple(given[:3]))
    m1, v1 = 0.9 * m + 0.1 * grad, 0.95 * v + 0.05 * grad**2
    step = 0.1 * math.sqrt(1 - 0.9) / (1 - 0.81)
    same(given[:3], [var - step * m1 / (np.sqrt(v1) + 1e-3), m1, v1])
    given = npu(*(each.astype(np.float32) for each in (var, m, v, grad)))
    torch_npu.npu_apply_adam_w(
        0.9, 0.95, 0.1, 0.01, 0.9, 0.95, 1e-3, given[3], None, False, False, out=tuple(given[:3])
    )
    denominator = np.sqrt(v1 / (1 - 0.95**2)) + 1e-3
    same(given[:3], [var * (1 - 0.1 * 0.01) - 0.1 * m1 / (1 - 0.9**2) / denominator, m1, v1])


def gradients():
    """Those of the same formulas on the CPU, and of the operators for gradients."""
    x, gamma = torch.randn(3, 8), torch.randn(8)

    def gradient(function, *given):
        leaves = [each.clone().requires_grad_() for each in given]
        result = function(*leaves)
        result = result[0] if isinstance(result, tuple) else result
        return [each.cpu() for each in torch.autograd.grad(result.square().sum(), leaves)]

    def check(name, plain, *given):
        found = gradient(getattr(torch_npu, name), *(each.npu() for each in given))
        for a, b in zip(found, gradient(plain, *given), strict=True):
            torch.testing.assert_close(a, b)

    check("npu_rms_norm", lambda a, g: F.rms_norm(a, (8,), g, 1e-6), x, gamma)
    check("npu_swiglu", lambda a: F.silu(a[:, :4]) * a[:, 4:], x)
    check("npu_fast_gelu", lambda a: a * (1.702 * a).sigmoid(), x)
    q = torch.randn(1, 2, 3, 4)
    found = gradient(lambda a: torch_npu.npu_fusion_attention(a, a, a, 2, "BNSD", scale=0.5), q.npu())
    for a, b in zip(found, gradient(lambda a: F.scaled_dot_product_attention(a, a, a), q), strict=True):
        torch.testing.assert_close(a, b)
    a, g, dy = x.clone().requires_grad_(), gamma.clone().requires_grad_(), torch.randn(3, 8)
    expected = torch.autograd.grad(F.rms_norm(a, (8,), g, 1e-6), [a, g], dy)
    _, rstd = torch_npu.npu_rms_norm(x.npu(), gamma.npu())
    found = torch.ops.npu.npu_rms_norm_backward(dy.npu(), x.npu(), gamma.npu(), rstd)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a.cpu(), b)


def half_and_refusals():
    x = torch.randn(4, 8).bfloat16()
    found = torch_npu.npu_swiglu(x.npu())
    assert torch.equal(found.cpu(), (F.silu(x.float()[:, :4]) * x.float()[:, 4:]).bfloat16()), "rounded once"
    for function, arguments, text in (
        (torch_npu.npu_swiglu, (x[:, :7].npu(),), "npu::npu_swiglu.*no two halves"),
        (torch_npu.npu_swiglu, (x.long().npu(),), "npu::npu_swiglu.*torch.int64"),
        (torch_npu.npu_format_cast, (x.npu(), 3), "npu::npu_format_cast.*3"),
        (torch_npu.npu_rms_norm, (x.npu(), x.npu()[:, :3]), "npu::npu_rms_norm.*gamma"),
        (torch_npu.npu_bmmV2, (x.npu(), x.npu(), [1]), "npu::npu_bmmV2.*output_sizes"),
        (torch_npu.npu_grouped_matmul, ([x.npu()], [x.npu()]), "npu::npu_grouped_matmul"),  # by PyTorch's product
    ):
        with pytest.raises(RuntimeError, match=text):
            function(*arguments)


def captured():
    x = torch.zeros(2, 8, device="npu")
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = torch_npu.npu_swiglu(x)
    x.fill_(1)
    graph.replay()
    same(y, np.full((2, 4), sigmoid(np.ones(1))[0]))


run(
    activations,
    norms,
    norms_of_processes,
    shapes,
    rotations,
    products,
    attention,
    experts,
    training,
    gradients,
    half_and_refusals,
    captured,
)
