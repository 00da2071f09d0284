"""Routing to experts against loops that are written here once more, with NumPy in float64."""

import numpy as np
import pytest
import torch
import torch_npu
from formula_checks import npu, numbers, random, run, same, softmax, takes


def gated(x, k, bias, k_group, count, mode, norm, factor):
    """Return the weights of the chosen experts, the experts, and all weights."""
    x = x.astype(np.float64)
    normal = softmax(x) if norm == 0 else 1 / (1 + np.exp(-x))
    by = normal + (0 if bias is None else bias)
    results, experts = [], []
    for row, weights in zip(by, normal, strict=True):
        groups = row.reshape(count, -1)
        best = groups.max(-1) if mode == 0 else np.sort(groups, -1)[:, -2:].sum(-1)
        kept = sorted(range(count), key=lambda group: (-best[group], group))[:k_group]
        size = groups.shape[1]
        names = [group * size + i for group in sorted(kept) for i in range(size)]
        chosen = sorted(names, key=lambda expert: (-row[expert], expert))[:k]
        y = weights[chosen]
        experts.append(chosen)
        results.append((y / (y.sum() + 1e-20) if norm == 1 else y) * factor)
    return np.array(results), np.array(experts), normal


def gating():
    x, bias = numbers(5, 24), numbers(24)
    for count, k_group in ((1, 1), (4, 2), (8, 8)):
        for mode in (0, 1):
            for norm in (0, 1):
                for given in (None, bias):
                    found = torch_npu.npu_moe_gating_top_k(
                        npu(x),
                        6,
                        bias=None if given is None else npu(given),
                        k_group=k_group,
                        group_count=count,
                        group_select_mode=mode,
                        norm_type=norm,
                        out_flag=True,
                        routed_scaling_factor=2.5,
                    )
                    same(found, gated(x, 6, given, k_group, count, mode, norm, 2.5))
    same_scores = np.zeros((2, 8), np.float32)  # the first of equal ones
    y, experts, normal = torch_npu.npu_moe_gating_top_k(npu(same_scores), 3)
    same((y, experts, normal), (np.full((2, 3), 0.125), np.tile([0, 1, 2], (2, 1)), np.zeros((2, 8))))
    half = torch.from_numpy(x).bfloat16()
    y, _, normal = torch_npu.npu_moe_gating_top_k(half.npu(), 3, norm_type=1, out_flag=True)
    assert (y.dtype, normal.dtype) == (torch.bfloat16, torch.float32)
    assert torch_npu.npu_moe_gating_top_k(npu(x[:0]), 3)[0].shape == (0, 3)
    row = np.full((1, 8), -np.inf, np.float32)
    row[0, 3] = 0
    y, experts, _ = torch_npu.npu_moe_gating_top_k(npu(row), 2)
    same((y, experts), ([[1, 0]], [[3, 0]]))


def gradients():
    x = torch.from_numpy(numbers(5, 24))
    on_device, on_cpu = x.npu().requires_grad_(), x.clone().requires_grad_()
    seed = torch.from_numpy(numbers(5, 4))
    y, experts, _ = torch_npu.npu_moe_gating_top_k(on_device, 4, norm_type=1, routed_scaling_factor=2.0)
    chosen = on_cpu.sigmoid().gather(1, experts.cpu().long())
    expected = torch.autograd.grad(chosen / chosen.sum(-1, keepdim=True) * 2, on_cpu, seed)
    same(torch.autograd.grad(y, on_device, seed.npu()), [each.numpy() for each in expected])


def routed(expert_idx, first, last):
    """Return the pairs of active experts, in the order of experts, and all others behind them."""
    flat = expert_idx.reshape(-1)
    active = sorted((e, i) for i, e in enumerate(flat) if first <= e < last)
    return [i for _, i in active], [e for e, _ in active]


def sorting():
    x, k, expert_num = numbers(6, 8), 3, 10
    chosen = np.stack([random.permutation(expert_num)[:k] for _ in range(6)]).astype(np.int32)
    scale = np.abs(numbers(6))
    for first, last in ((0, 10), (2, 7)):
        pairs, experts = routed(chosen, first, last)
        counts = np.bincount(experts, minlength=expert_num)[first:last]
        of_pairs = np.zeros((expert_num, 2))
        used = [(e, n) for e, n in zip(range(first, last), counts, strict=True) if n]
        of_pairs[: len(used)] = used
        for kind, wanted in ((0, np.cumsum(counts)), (1, counts), (2, of_pairs)):
            for active in (-1, 0, 5, 99):
                total = 18 if active <= 0 else min(active, 18)
                expected = np.zeros((total, 8))
                scales = np.zeros(total)
                for place, pair in enumerate(pairs[:total]):
                    expected[place], scales[place] = x[pair // k], scale[pair // k]
                back = np.full(18, -1)
                back[pairs] = np.arange(len(pairs))
                found = torch_npu.npu_moe_init_routing_v2(
                    npu(x),
                    npu(chosen),
                    scale=npu(scale),
                    active_num=active,
                    expert_num=expert_num,
                    expert_tokens_num_type=kind,
                    expert_tokens_num_flag=True,
                    active_expert_range=[first, last],
                )
                same(found, (expected, back, wanted, scales))
                assert (found[1].dtype, found[2].dtype) == (torch.int32, torch.int64)
        _, rows, _, _ = torch_npu.npu_moe_init_routing_v2(
            npu(x), npu(chosen), expert_num=expert_num, active_expert_range=[first, last], row_idx_type=1
        )
        same(rows[: len(pairs)], pairs)
    found = torch_npu.npu_moe_init_routing_v2(
        npu(x[:0]), npu(chosen[:0]), expert_num=10, expert_tokens_num_flag=True, expert_tokens_num_type=1
    )
    same((found[0], found[2]), (x[:0], np.zeros(10)))


def quantizing():
    x, k = numbers(6, 8), 3
    chosen = np.stack([random.permutation(10)[:k] for _ in range(6)]).astype(np.int32)
    pairs, experts = routed(chosen, 2, 7)
    rows = x[np.array(pairs) // k].astype(np.float64)
    several, one = np.abs(numbers(5, 8)), np.abs(numbers(1, 8))
    options = {"expert_num": 10, "active_expert_range": [2, 7]}
    for scale, factors in ((None, 1), (one, one), (several, several[np.array(experts) - 2])):
        given = {} if scale is None else {"scale": npu(scale)}
        found, _, _, scales = torch_npu.npu_moe_init_routing_v2(npu(x), npu(chosen), **given, quant_mode=1, **options)
        wanted = np.abs(rows * factors).max(-1) / 127
        same(scales, np.concatenate((wanted, np.zeros(18 - len(wanted)))))
        assert found.dtype == torch.int8
        assert np.abs(found.cpu().numpy()[: len(rows)] - rows * factors / wanted[:, None]).max() <= 0.501
        assert not found[len(rows) :].any()
    scale, offset = np.array([20], np.float32), np.array([3], np.float32)
    found = torch_npu.npu_moe_init_routing_v2(
        npu(x), npu(chosen), scale=npu(scale), offset=npu(offset), quant_mode=0, **options
    )[0]
    assert np.abs(found.cpu().numpy()[: len(rows)] - np.clip(rows * 20 + 3, -128, 127)).max() <= 0.501
    assert not found[len(rows) :].any()


def capacities():
    """Route up to two rows to each expert; the others are dropped."""
    x, k, expert_num, capacity = numbers(7, 8), 2, 4, 2
    chosen = np.stack([random.permutation(expert_num)[:k] for _ in range(7)]).astype(np.int32)
    pairs, experts = routed(chosen, 0, expert_num)
    scale = np.abs(numbers(7))
    expected, scales = np.zeros((expert_num, capacity, 8)), np.zeros(expert_num * capacity)
    back, taken = np.full(14, -1), [0] * expert_num
    for pair, expert in zip(pairs, experts, strict=True):
        if taken[expert] < capacity:
            place = expert * capacity + taken[expert]
            expected[expert, taken[expert]], scales[place], back[pair] = x[pair // k], scale[pair // k], place
            taken[expert] += 1
    options = {
        "expert_num": expert_num,
        "expert_capacity": capacity,
        "drop_pad_mode": 1,
        "expert_tokens_num_flag": True,
        "expert_tokens_num_type": 1,
    }
    found = torch_npu.npu_moe_init_routing_v2(npu(x), npu(chosen), scale=npu(scale), **options)
    same(found, (expected, back, np.bincount(experts, minlength=expert_num), scales))
    factors = np.abs(numbers(expert_num, 8))
    found, _, _, scales = torch_npu.npu_moe_init_routing_v2(
        npu(x), npu(chosen), scale=npu(factors), quant_mode=1, **options
    )
    wanted = np.abs(expected * factors[:, None]).max(-1) / 127
    same(scales, wanted.reshape(-1))
    with np.errstate(invalid="ignore"):
        quotient = np.nan_to_num(expected * factors[:, None] / wanted[..., None])
    assert np.abs(found.cpu().numpy() - quotient).max() <= 0.501
    for given, rows in (({"expert_num": expert_num, "active_expert_range": [0, expert_num]}, 0), (options, 8)):
        for scale, mode in ((None, 1), (torch.zeros(0).npu(), 1), (torch.zeros(0).npu(), -1), (None, -1)):
            found = torch_npu.npu_moe_init_routing_v2(
                npu(numbers(0, 8)), npu(np.zeros((0, 2), np.int32)), scale=scale, quant_mode=mode, **given
            )
            assert (found[0].numel(), len(found[3].flatten())) == (rows * 8, rows), (given, mode)
            assert not any(each.cpu().any() for each in found)


def refusals():
    x, chosen, one = npu(numbers(4, 8)), npu(np.zeros((4, 2), np.int32)), torch.ones(1).npu()
    for name, arguments, options, text in (
        ("npu_moe_gating_top_k", (x, 2), {"input_ids": chosen[:, 0], "tid2eid": chosen}, "input_ids"),
        ("npu_moe_gating_top_k", (x, 9), {}, "9 experts"),
        ("npu_moe_gating_top_k", (x, 2), {"renorm": 1}, "renorm 1"),
        ("npu_moe_gating_top_k", (x, 2), {"group_count": 3}, "no such groups"),
        ("npu_moe_init_routing_v2", (x, chosen), {"expert_num": 4, "quant_mode": 2}, "quant_mode 2"),
        ("npu_moe_init_routing_v2", (x, chosen), {"expert_num": 4, "offset": one}, "offset"),
        ("npu_moe_init_routing_v2", (x, chosen), {"expert_num": 4, "drop_pad_mode": 1}, "expert_capacity"),
        ("npu_moe_init_routing_v2", (x, chosen), {}, "expert_num"),
    ):
        if takes(name, *options):
            with pytest.raises(RuntimeError, match=f"npu::{name}.*{text}"):
                getattr(torch_npu, name)(*arguments, **options)
    same(x + 0, x.cpu().numpy())  # the device is as it was


run(gating, gradients, sorting, quantizing, capacities, refusals)
