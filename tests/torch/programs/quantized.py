"""Quantized numbers and their products against formulas that are written here once more, with NumPy in float64."""

import math

import numpy as np
import pytest
import torch
import torch_npu
from formula_checks import npu, numbers, random, run, same, takes


def integers(*shape, low=-128, high=128, type=np.int8):
    return random.integers(low, high, shape).astype(type)


def within(found, expected, slack=0.501):
    """Compare integers with the numbers before rounding: nearest, or either one for what is almost a tie."""
    found = found.cpu().double().numpy()
    assert found.shape == np.shape(expected)
    assert np.abs(found - expected).max(initial=0) <= slack


def nibbles(words):
    """Return the eight integers of 4 bits in each int32, the one in the lowest bits first."""
    words = words.cpu().numpy().astype(np.int64) & 0xFFFFFFFF
    found = (words[..., None] >> np.arange(0, 32, 4)) & 15
    return np.where(found > 7, found - 16, found).reshape(*words.shape[:-1], -1)


def words_of(values):
    """Return int32 with eight integers of 4 bits each."""
    groups = (values.astype(np.int64) & 15).reshape(*values.shape[:-1], -1, 8)
    return (groups << np.arange(0, 32, 4)).sum(-1).astype(np.uint32).view(np.int32)


def halves(*shape, kind=torch.float16):
    """Return numbers of a type of 16 bits on the device, and the same in float64."""
    x = torch.from_numpy(numbers(*shape)).to(kind)
    return x.npu(), x.double().numpy()


def dynamic():
    for kind in (torch.float16, torch.bfloat16):
        x, exact = halves(2, 3, 16, kind=kind)
        smooth, exact_smooth = halves(16, kind=kind)
        for scales, given in ((None, exact), (smooth, exact * exact_smooth)):
            for type, largest, integers_of in ((None, 127, None), (torch.quint4x2, 7, nibbles)):
                found, scale = torch_npu.npu_dynamic_quant(x, smooth_scales=scales, dst_type=type)
                expected = np.abs(given).max(-1) / largest
                same(scale, expected)
                assert found.dtype == (torch.int32 if integers_of else torch.int8)
                values = torch.from_numpy(integers_of(found)) if integers_of else found
                within(values, given / expected[..., None])
    groups = np.array([0, 2, 6], np.int32)  # the first has no row
    rows = np.repeat([1, 2], [2, 4])
    several, exact_several = halves(3, 16, kind=torch.bfloat16)
    found, scale = torch_npu.npu_dynamic_quant(x, smooth_scales=several, group_index=npu(groups))
    given = exact * exact_several[rows].reshape(2, 3, 16)
    same(scale, np.abs(given).max(-1) / 127)
    within(found, given / (np.abs(given).max(-1, keepdims=True) / 127))
    for mode, axes in (("perchannel", -2), ("pertensor", None)):
        found, scale = torch_npu.npu_dynamic_quant(x, quant_mode=mode)
        expected = np.abs(exact).max(axes, keepdims=True) / 127
        same(scale, expected.reshape(1) if axes is None else expected.squeeze(-2))
        within(found, exact / expected)


def asymmetric():
    x, exact = halves(4, 16)
    smooth, exact_smooth = halves(16)
    for scales, given in ((None, exact), (smooth, exact * exact_smooth)):
        for type, largest, steps in ((None, 127, 255), (torch.quint4x2, 7, 15)):
            found, scale, offset = torch_npu.npu_dynamic_quant_asymmetric(x, smooth_scales=scales, dst_type=type)
            expected = (given.max(-1) - given.min(-1)) / steps
            same((scale, offset), (expected, largest - given.max(-1) / expected), 1e-4)
            values = torch.from_numpy(nibbles(found)) if type else found
            within(values, given / expected[:, None] + largest - (given.max(-1) / expected)[:, None])


def edges_of_dynamic():
    zeros = torch.zeros(2, 8, dtype=torch.float16).npu()
    found, scale = torch_npu.npu_dynamic_quant(zeros)
    same((found, scale), (np.zeros((2, 8)), np.zeros(2)))
    for shape in ((0, 8), (2, 0, 8)):
        found, scale = torch_npu.npu_dynamic_quant(torch.empty(shape, dtype=torch.float16).npu())
        assert (found.shape, scale.shape, found.dtype) == (shape, shape[:-1], torch.int8)
        _, _, offset = torch_npu.npu_dynamic_quant_asymmetric(torch.empty(shape, dtype=torch.float16).npu())
        assert offset.shape == shape[:-1]


def static():
    x, scale = numbers(3, 4, 8), np.abs(numbers(4)) + 0.1
    zero = integers(4, low=-9, high=9, type=np.int32)
    column, shift = scale[:, None].astype(np.float64), zero[:, None]
    for type, low, high in ((torch.qint8, -128, 127), (torch.quint8, 0, 255), (torch.qint32, -(2**31), 2**31 - 1)):
        found = torch_npu.npu_quantize(npu(x), npu(scale), npu(zero), type, 1)
        within(found, np.clip(x / column + shift, low, high))
    found = torch_npu.npu_quantize(npu(x * 1e9), npu(scale), None, torch.qint32, 1)
    within(found, np.clip((x * np.float32(1e9)) / column, -(2**31), 2**31 - 1), 300)  # float32 has steps of this size
    given, exact = halves(3, 16, kind=torch.bfloat16)
    factor, exact_factor = halves(16, kind=torch.bfloat16)
    move, exact_move = halves(16, kind=torch.bfloat16)
    found = torch_npu.npu_quantize(given, factor, move, torch.qint8, -1, False)
    within(found, np.clip(exact * exact_factor + exact_move, -128, 127))
    found = torch_npu.npu_quantize(given, factor[:3].reshape(3, 1), None, torch.quint4x2, -2, False)
    within(torch.from_numpy(nibbles(found)), np.clip(exact * exact_factor[:3, None], -8, 7))
    words = integers(4, 16, low=-8, high=8, type=np.int32)
    assert (nibbles(torch_npu.npu_convert_weight_to_int4pack(npu(words))) == words).all()
    offset = numbers(16)
    found = torch_npu.npu_anti_quant(npu(integers(4, 16)), npu(offset), offset=npu(offset), dst_dtype=torch.bfloat16)
    assert found.dtype == torch.bfloat16
    given = integers(4, 16)
    found = torch_npu.npu_anti_quant(npu(given), npu(offset), offset=npu(offset))
    same(found, (given + offset.astype(np.float64)) * offset, 1e-2)


def parameters():
    scale, offset = numbers(16), np.concatenate((numbers(14) * 100, [-1000, 1000])).astype(np.float32)
    bits = scale.view(np.uint32).astype(np.uint64)
    expected = (bits & 0xFFFFE000) | (1 << 46)
    assert (torch_npu.npu_trans_quant_param(npu(scale)).cpu().numpy().astype(np.uint64) == expected).all()
    packed = np.clip(np.rint(offset), -256, 255).astype(np.int64) & 0x1FF
    found = torch_npu.npu_trans_quant_param(npu(scale), npu(offset)).cpu().numpy()
    assert (found.astype(np.uint64) == (expected | (packed.astype(np.uint64) << np.uint64(37)))).all()
    rounded = torch_npu.npu_trans_quant_param(npu(scale), None, 1).cpu().numpy().astype(np.uint64)
    value = ((rounded & 0xFFFFFFFF).astype(np.uint32)).view(np.float32).astype(np.float64)
    assert (np.abs(value - scale) <= np.abs(scale) * 2.0**-11).all(), "to the nearest of 10 bits"
    assert torch_npu.npu_trans_quant_param(npu(scale[:1]), npu(offset)).shape == (16,)


def of_19_bits(scale):
    return (scale.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


def products():
    a, b = integers(2, 5, 32), integers(32, 24)
    sums = a.astype(np.int64) @ b.astype(np.int64)
    scale, token, whole = np.abs(numbers(24)) * 1e-3, np.abs(numbers(5)), integers(24, type=np.int32, high=999)
    bias = numbers(24)
    call = torch_npu.npu_quant_matmul
    x, y = npu(a, b)
    found = call(x, y, npu(scale), bias=npu(whole))
    assert found.dtype == torch.int8
    within(found, np.clip((sums + whole) * of_19_bits(scale), -128, 127))
    offset = numbers(24) * 9
    for given in (
        {"scale": npu(scale), "offset": npu(offset)},
        {"scale": torch_npu.npu_trans_quant_param(npu(scale), npu(offset))},
        {"scale": torch_npu.npu_trans_quant_param(npu(scale), npu(offset)), "offset": npu(offset)},
    ):
        within(call(x, y, **given), np.clip(sums * of_19_bits(scale) + np.rint(offset), -128, 127))
    found = call(x, y, npu(scale[:1]), output_dtype=torch.float16)
    same(found, sums * of_19_bits(scale[:1]), 1e-3)
    found = call(x[0], y, npu(scale), pertoken_scale=npu(token), bias=npu(bias), output_dtype=torch.bfloat16)
    assert found.dtype == torch.bfloat16
    same(found, sums[0] * scale.astype(np.float64) * token[:, None] + bias, 1e-2)
    found = call(x[0], y, npu(scale), pertoken_scale=npu(token), bias=npu(whole), output_dtype=torch.float16)
    same(found, (sums[0] + whole) * scale.astype(np.float64) * token[:, None], 2e-3)
    found = call(x, y, npu(scale).bfloat16(), output_dtype=torch.bfloat16)
    same(found, sums * npu(scale).bfloat16().cpu().double().numpy(), 1e-2)
    found = call(x, y, npu(scale), bias=npu(whole), output_dtype=torch.int32)
    assert found.dtype == torch.int32
    same(found, sums + whole, 0)
    three = integers(2, 1, 24, type=np.int32)
    found = call(x, y.repeat(2, 1, 1), npu(scale), bias=npu(three))
    within(found, np.clip((sums + three) * of_19_bits(scale), -128, 127))
    row = torch.full((1, 60000), -128, dtype=torch.int8).npu()  # float32 does not have the sum
    found = call(row, torch.full((60000, 1), -127, dtype=torch.int8).npu(), npu(scale[:1]), output_dtype=torch.int32)
    same(found, [[60000 * 128 * 127]], 0)
    assert call(x[:, :0], y, npu(scale)).shape == (2, 0, 24)


def products_of_4_bits():
    a, b = integers(5, 32, low=-8, high=8), integers(32, 24, low=-8, high=8)
    sums = a.astype(np.int64) @ b.astype(np.int64)
    scale, token = np.abs(numbers(24)) * 1e-2, np.abs(numbers(5))
    turned = npu(words_of(b.T.copy())).t()
    for second in (npu(words_of(b)), turned):
        found = torch_npu.npu_quant_matmul(npu(words_of(a)), second, npu(scale), output_dtype=torch.float16)
        same(found, sums * of_19_bits(scale), 1e-3)
        found = torch_npu.npu_quant_matmul(
            npu(words_of(a)), second, npu(scale), pertoken_scale=npu(token), output_dtype=torch.bfloat16
        )
        same(found, sums * scale.astype(np.float64) * token[:, None], 1e-2)


def groups():
    sizes = np.array([2, 0, 5, 3])
    x, w = integers(10, 16), integers(4, 16, 8)
    scale, token = np.abs(numbers(4, 8)) * 1e-3, np.abs(numbers(10))
    whole, bias = integers(4, 8, type=np.int32, high=999), numbers(4, 8)
    of = np.repeat(np.arange(4), sizes)
    sums = np.stack([row.astype(np.int64) @ w[group] for row, group in zip(x, of, strict=True)])
    columns = scale.astype(np.float64)[of]

    def call(first=None, *, ends=None, kind=1, **others):
        [found] = torch_npu.npu_grouped_matmul(
            [npu(x)] if first is None else first,
            others.pop("weight", [npu(w)]),
            group_list=npu(sizes if ends is None else ends),
            split_item=others.pop("split_item", 2),
            group_type=0,
            group_list_type=kind,
            **others,
        )
        return found

    found = call(scale=[npu(scale)], per_token_scale=[npu(token)], bias=[npu(whole)], output_dtype=torch.float16)
    assert found.dtype == torch.float16
    same(found, (sums + whole[of]) * columns * token[:, None], 2e-3)
    found = call(ends=np.cumsum(sizes), kind=0, scale=[npu(scale)], bias=[npu(bias)], output_dtype=torch.bfloat16)
    same(found, sums * columns + bias[of], 1e-2)
    found = call(
        weight=[npu(each) for each in w],
        scale=[npu(each).bfloat16() for each in scale],
        per_token_scale=[npu(token)],
        output_dtype=torch.bfloat16,
    )
    same(found, sums * npu(scale).bfloat16().cpu().double().numpy()[of] * token[:, None], 1e-2)
    same(call(output_dtype=torch.int32), sums, 0)
    param = torch_npu.npu_trans_quant_param(npu(scale))
    within(call(scale=[param]), np.clip(sums * of_19_bits(scale)[of], -128, 127))
    order = np.array([[2, 4], [0, 1], [1, 0], [3, 5]])
    expected = np.concatenate(
        [x[:4].astype(np.int64) @ w[2], x[4:5].astype(np.int64) @ w[0], x[5:].astype(np.int64) @ w[3]]
    )
    same(call(ends=order, kind=2, output_dtype=torch.int32), expected, 0)
    silu = call(scale=[npu(scale)], per_token_scale=[npu(token)], act_type=5, output_dtype=torch.float16)
    before = sums * columns * token[:, None]
    same(silu, before / (1 + np.exp(-before)), 2e-3)


def groups_of_integers_and_floats():
    """Multiply float16 by weights of 8 and 4 bits, with one scale for a column, or for a part of it."""
    x, exact = halves(6, 16)
    w = integers(2, 16, 8, low=-8, high=8)
    scale, exact_scale = halves(2, 8)
    offset, exact_offset = halves(2, 8)
    sizes = npu(np.array([4, 2]))
    dequantized = (w + exact_offset[:, None]) * exact_scale[:, None]
    expected = np.concatenate([exact[:4] @ dequantized[0], exact[4:] @ dequantized[1]])
    for weight in (npu(w), npu(words_of(w))):
        [found] = torch_npu.npu_grouped_matmul(
            [x], [weight], antiquant_scale=[scale], antiquant_offset=[offset], group_list=sizes, split_item=3,
            group_type=0, group_list_type=1,
        )  # fmt: skip
        same(found, expected, 2e-2)
    parts, exact_parts = halves(2, 4, 8)
    dequantized = w.reshape(2, 4, 4, 8) * exact_parts[:, :, None]
    [found] = torch_npu.npu_grouped_matmul(
        [x], [npu(words_of(w))], antiquant_scale=[parts], group_list=sizes, split_item=3, group_type=0,
        group_list_type=1,
    )  # fmt: skip
    dequantized = dequantized.reshape(2, 16, 8)
    same(found, np.concatenate([exact[:4] @ dequantized[0], exact[4:] @ dequantized[1]]), 2e-2)


def groups_of_floats():
    """Multiply groups of rows or columns, and separate tensors; with the gradients of the products."""
    x, w, bias = numbers(6, 4), numbers(2, 4, 3), numbers(2, 3)
    both = npu(x), npu(w)
    for tensor in both:
        tensor.requires_grad_()
    [found] = torch_npu.npu_grouped_matmul(
        [both[0]], [both[1]], bias=[npu(bias)], group_list=npu(np.array([2, 6])), split_item=3, group_type=0
    )
    same(found, np.concatenate([x[:2] @ w[0] + bias[0], x[2:] @ w[1] + bias[1]]))
    seed = numbers(6, 3)
    grad_x, grad_w = torch.autograd.grad(found, both, npu(seed))
    same(grad_x, np.concatenate([seed[:2] @ w[0].T, seed[2:] @ w[1].T]))
    same(grad_w, np.stack([x[:2].T @ seed[:2], x[2:].T @ seed[2:]]))
    [found] = torch_npu.npu_grouped_matmul(
        [npu(x.T)], [npu(seed)], group_list=npu(np.array([2, 4])), split_item=3, group_type=2, group_list_type=1
    )
    same(found, np.stack([x[:2].T @ seed[:2], x[2:].T @ seed[2:]]))
    found = torch_npu.npu_grouped_matmul([npu(x)], [npu(w[0]), npu(w[1])], group_list=[2, 6], split_item=0)
    same(found, [x[:2] @ w[0], x[2:] @ w[1]])
    several = numbers(2, 3, 4), numbers(5, 2, 4)
    found = torch_npu.npu_grouped_matmul(
        [npu(each) for each in several], [npu(w[0]), npu(w[1])], split_item=0, group_type=-1
    )
    same(found, [several[0] @ w[0], several[1] @ w[1]])
    [found] = torch_npu.npu_grouped_matmul([npu(x[:2]), npu(x[2:])], [npu(w[0]), npu(w[1])], split_item=3, group_type=0)
    same(found, np.concatenate([x[:2] @ w[0], x[2:] @ w[1]]))


SMALL = {  # the exponent of the largest power of two, the bits after it, the smallest exponent, the largest number
    torch.float8_e5m2: (15, 2, -14, 57344),
    torch.float8_e4m3fn: (8, 3, -6, 448),
    torch_npu.float4_e2m1fn_x2: (2, 1, 0, 6),
    torch_npu.float4_e1m2fn_x2: (0, 2, 0, 1.75),
}
ROUNDED = {"rint": np.rint, "floor": np.floor, "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x)}


def blocks_of(x, size):
    """Return the blocks of the last dimension, the last one with zeros at its end."""
    width = -(-x.shape[-1] // size) * size
    filled = np.zeros((*x.shape[:-1], width))
    filled[..., : x.shape[-1]] = x
    return filled.reshape(*x.shape[:-1], -1, size)


def microscaled(x, type, size, mode, algorithm=0, least=0):
    """Return numbers and the exponents of their blocks along the last dimension."""
    top, bits, smallest, largest = SMALL[type]
    exponents, results = [], []
    for block in blocks_of(x, size).reshape(-1, size):
        limit = max(np.abs(block).max(), least)
        if limit == 0:
            exponent = -127
        elif algorithm == 0:
            exponent = max(math.frexp(limit)[1] - 1 - top, -127)
        else:
            fraction, exponent = math.frexp(np.float32(limit) / np.float32(largest))
            exponent = max(exponent - 1 if fraction == 0.5 else exponent, -127)
        for number in block / 2.0**exponent:
            step = 2.0 ** (max(math.frexp(number)[1] - 1 if number else smallest, smallest) - bits)
            results.append(np.clip(ROUNDED[mode](number / step) * step, -largest, largest))
        exponents.append(exponent)
    values = np.reshape(results, (*x.shape[:-1], -1))[..., : x.shape[-1]]
    return values, np.reshape(exponents, (*x.shape[:-1], -1))


def of_4_bits(found, type):
    """Return the numbers in bytes with two each."""
    table = [0, 0.5, 1, 1.5, 2, 3, 4, 6] if type == torch_npu.float4_e2m1fn_x2 else np.arange(8) / 4
    both = np.concatenate((table, -np.asarray(table)))
    raw = found.cpu().numpy()
    return np.stack((both[raw & 15], both[raw >> 4]), -1).reshape(*raw.shape[:-1], -1)


def microscaling():
    x, exact = halves(3, 70, kind=torch.bfloat16)
    x[0, :32], exact[0, :32] = 0, 0
    scaled = torch.from_numpy(np.exp(numbers(3, 1) * 9)).bfloat16()
    x, exact = x * scaled.npu(), (x.cpu() * scaled).double().numpy()
    for type in SMALL:
        is_small = type in (torch.float8_e5m2, torch.float8_e4m3fn)
        for mode in ("rint",) if is_small else ("rint", "floor", "round"):
            for size in (32, 64):
                found, scales = torch_npu.npu_dynamic_mx_quant(x, dst_type=type, round_mode=mode, block_size=size)
                values, exponents = microscaled(exact, type, size, mode)
                same(found.float() if is_small else found, values if is_small else found.cpu().numpy(), 0)
                assert is_small or (of_4_bits(found, type) == values).all()
                padded = np.pad(exponents + 127, ((0, 0), (0, exponents.shape[1] % 2)))
                same(scales, padded.reshape(3, -1, 2), 0)
        found, scales = torch_npu.npu_dynamic_mx_quant(x, dst_type=type, axis=0)
        values, exponents = microscaled(exact.T, type, 32, "rint")
        assert not is_small or (found.cpu().double().numpy() == values.T).all()
        assert is_small or (of_4_bits(found, type) == values.T).all()
        same(scales, np.stack((exponents[:, 0] + 127, np.zeros(70)), -1)[None], 0)
    for type in (torch.float8_e5m2, torch.float8_e4m3fn):
        for least in (0.0, 2.0) if takes("npu_dynamic_mx_quant", "max_low_bound") else (0.0,):
            options = {"max_low_bound": least} if least else {}
            found, scales = torch_npu.npu_dynamic_mx_quant(x, dst_type=type, scale_alg=1, **options)
            values, exponents = microscaled(exact, type, 32, "rint", 1, least)
            assert (found.cpu().double().numpy() == values).all()
            same(scales.reshape(3, 4)[:, :3], exponents + 127, 0)
    lost = torch.ones(1, 32, dtype=torch.float16)
    lost[0, 3] = math.inf
    found, scales = torch_npu.npu_dynamic_mx_quant(lost.npu(), dst_type=torch.float8_e5m2)
    assert not found.cpu().float().any()
    assert scales.cpu().tolist() == [[[255, 0]]]
    found, scales = torch_npu.npu_dynamic_mx_quant(x[:0], dst_type=torch.float8_e5m2)
    assert (found.shape, scales.shape) == ((0, 70), (0, 2, 2))


def refusals():
    x, y, scale = (
        torch.ones(2, 8, dtype=torch.int8).npu(),
        torch.ones(8, 4, dtype=torch.int8).npu(),
        torch.ones(4).npu(),
    )
    half = torch.ones(2, 8, dtype=torch.float16).npu()
    for name, arguments, keywords, text in (
        ("npu_quant_matmul", (x, y, scale), {"group_sizes": [1, 128, 128]}, "group_sizes"),
        ("npu_quant_matmul", (x, y, scale), {"y_scale": scale}, "y_scale"),
        ("npu_quant_matmul", (x, y, scale.repeat(2, 1)), {}, "scale for groups"),
        ("npu_quant_matmul", (x, y[:7], scale), {}, "cannot be multiplied"),
        ("npu_quant_matmul", (x, y, scale), {"pertoken_scale": scale[:2]}, "pertoken_scale"),
        ("npu_quant_matmul", (x, y, scale), {"output_dtype": torch.float32}, "output_dtype"),
        ("npu_dynamic_quant", (half,), {"dst_type": torch.float8_e5m2}, "dst_type"),
        ("npu_dynamic_quant", (half.float(),), {}, "torch.float32"),
        ("npu_dynamic_quant", (half,), {"group_index": scale.int()}, "group_index"),
        ("npu_dynamic_mx_quant", (half,), {"scale_alg": 2}, "scale_alg 2"),
        ("npu_dynamic_mx_quant", (half,), {"dst_type_max": 7.0}, "dst_type_max"),
        ("npu_grouped_matmul", ([x], [y]), {"offset": [scale], "group_type": -1}, "offset"),
        ("npu_grouped_matmul", ([x], [y]), {"group_type": -1, "act_type": 1}, "act_type"),
        ("npu_grouped_matmul", ([half], [y]), {"group_type": -1}, "antiquant_scale"),
        ("npu_quantize", (half, scale, None, torch.float16), {}, "dtype"),
    ):
        if takes(name, *keywords):
            with pytest.raises(RuntimeError, match=f"npu::{name}.*{text}"):
                getattr(torch_npu, name)(*arguments, **keywords)
    same(x + 1, np.full((2, 8), 2))  # the device is as it was


run(
    dynamic,
    asymmetric,
    edges_of_dynamic,
    static,
    parameters,
    products,
    products_of_4_bits,
    groups,
    groups_of_integers_and_floats,
    groups_of_floats,
    microscaling,
    refusals,
)
