# SPDX-License-Identifier: Apache-2.0
"""Integers with scales. Eight integers of 4 bits are an int32, the first one in the lowest bits."""

from __future__ import annotations

import torch
from torch import Tensor

from ascend_rt.torch.decompositions._table import FLOATS, check, formula, wide

_HALVES = (torch.float16, torch.bfloat16)
_INT4 = 16  # the number of torch.quint4x2, which means 4 bits with a sign here
_QUANTIZED = {1: torch.int8, 12: torch.int8, 0: torch.uint8, 13: torch.uint8, 3: torch.int32, 14: torch.int32}


def nearest(x: Tensor, type: torch.dtype) -> Tensor:
    """Return the nearest integers of the type; even ones for ties, and zero for NaN."""
    limits = torch.iinfo(type)
    if type == torch.int32:  # has limits between numbers of float32
        x = x.double()
    return x.round().nan_to_num(0.0).clamp(limits.min, limits.max).to(type)


def packed(x: Tensor) -> Tensor:
    """Return the nearest integers of 4 bits, eight to an int32 along the last dimension."""
    check(x.size(-1) % 8 == 0, f"the last dimension of {tuple(x.shape)} is not a multiple of 8, for int4")
    integers = x.round().nan_to_num(0.0).clamp(-8, 7).long() & 15
    shifts = torch.arange(0, 32, 4, device=x.device)
    return (integers.unflatten(-1, (-1, 8)) << shifts).sum(-1).int()


def unpacked(x: Tensor, dim: int = -1) -> Tensor:
    """Return the integers of 4 bits that a dimension has, as int8."""
    shifts = torch.arange(0, 32, 4, device=x.device)
    integers = (x.movedim(dim, -1).unsqueeze(-1) >> shifts) & 15
    return torch.where(integers > 7, integers - 16, integers).to(torch.int8).flatten(-2).movedim(-1, dim)


def _quantized(x: Tensor, dst_type: int | None) -> Tensor:
    return packed(x) if dst_type == _INT4 else nearest(x, torch.int8)


def _smoothed(x: Tensor, smooth_scales: Tensor | None, group_index: Tensor | None, mode: str) -> Tensor:
    """Return the numbers to quantize: times the vector of their column, or of the group of their row."""
    check(x.dim() > 1, f"x has {x.dim()} dimensions instead of 2 or more")
    if smooth_scales is None:
        check(group_index is None, "group_index needs smooth_scales")
        return wide(x)
    if mode == "perchannel":
        check(smooth_scales.numel() == x.size(-2), "smooth_scales must have a number for each row")
        check(group_index is None, "group_index is not supported with perchannel")
        return wide(x) * wide(smooth_scales).reshape(-1, 1)
    if group_index is None:
        check(smooth_scales.shape == x.shape[-1:], "smooth_scales must have a number for each column")
        return wide(x) * wide(smooth_scales)
    check(smooth_scales.shape == (len(group_index), x.size(-1)), "smooth_scales must have a row for each group")
    rows = torch.arange(x.shape[:-1].numel(), device=x.device, dtype=group_index.dtype)
    groups = torch.searchsorted(group_index, rows, right=True)
    return wide(x) * wide(smooth_scales)[groups].reshape(x.shape)


def _axes(x: Tensor, mode: str) -> list[int]:
    """Return the dimensions that have one scale."""
    check(mode in ("pertoken", "pertensor", "perchannel"), f"quant_mode {mode!r} is not supported")
    return {"pertoken": [-1], "perchannel": [-2], "pertensor": list(range(x.dim()))}[mode]


def _shaped(scale: Tensor, mode: str) -> Tensor:
    return scale.reshape(1) if mode == "pertensor" else scale.squeeze(-1 if mode == "pertoken" else -2)


def _check_type(dst_type: int | None, dst_type_max: float) -> None:
    check(dst_type in (None, 1, _INT4), f"dst_type {dst_type} is not supported on the simulator")
    check(not dst_type_max, "dst_type_max is not supported on the simulator")


@formula("npu_dynamic_quant", *_HALVES)
def dynamic_quant(
    input: Tensor,
    *,
    smooth_scales: Tensor | None = None,
    group_index: Tensor | None = None,
    dst_type: int | None = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Divide each row by a scale that makes its largest number the largest integer. A row of zeros stays zeros."""
    _check_type(dst_type, dst_type_max)
    axes = _axes(input, quant_mode)
    x = _smoothed(input, smooth_scales, group_index, quant_mode)
    scale = _largest(x.abs(), axes) / (7 if dst_type == _INT4 else 127)
    return _quantized(x / scale, dst_type), _shaped(scale, quant_mode)


@formula("npu_dynamic_quant_asymmetric", *_HALVES)
def dynamic_quant_asymmetric(
    input: Tensor,
    *,
    smooth_scales: Tensor | None = None,
    group_index: Tensor | None = None,
    dst_type: int | None = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor]:
    _check_type(dst_type, dst_type_max)
    axes = _axes(input, quant_mode)
    x = _smoothed(input, smooth_scales, group_index, quant_mode)
    largest, steps = (7, 15) if dst_type == _INT4 else (127, 255)
    maximum = _largest(x, axes)
    scale = (maximum + _largest(-x, axes)) / steps
    offset = largest - maximum / scale
    return _quantized(x / scale + offset, dst_type), _shaped(scale, quant_mode), _shaped(offset, quant_mode)


def _largest(x: Tensor, axes: list[int]) -> Tensor:
    if x.numel() == 0:  # has no largest number; a scale without a number is zero
        return x.sum(axes, keepdim=True)
    return x.amax(axes, keepdim=True)


@formula("npu_quantize", *FLOATS)
def quantize(
    input: Tensor, scales: Tensor, zero_points: Tensor | None, dtype: int, axis: int = 1, div_mode: bool = True
) -> Tensor:
    known = _QUANTIZED if div_mode else {1: torch.int8, 12: torch.int8, _INT4: torch.int32}
    check(dtype in known, f"dtype {dtype} is not supported on the simulator")
    if not div_mode:  # as the documentation has it: the last dimension but one, or the last
        axis = -2 if axis == -2 else -1
    check(-input.dim() <= axis < input.dim(), f"there is no dimension {axis} in {tuple(input.shape)}")

    def along(tensor: Tensor) -> Tensor:
        shape = [1] * input.dim()
        shape[axis] = -1
        return wide(tensor) if tensor.dim() == input.dim() else wide(tensor).reshape(shape)

    check(all(each is None or each.dim() in (1, input.dim()) for each in (scales, zero_points)), "scales has no axis")
    x = wide(input) / along(scales) if div_mode else wide(input) * along(scales)
    if zero_points is not None:
        x = x + along(zero_points)
    return packed(x) if dtype == _INT4 else nearest(x, known[dtype])


@formula("npu_trans_quant_param", torch.float32)
def trans_quant_param(scale: Tensor, offset: Tensor | None = None, round_mode: int | None = 0) -> Tensor:
    """Pack the upper 19 bits of each scale, and its offset of 9 bits, into an int64."""
    check(round_mode in (0, 1, None), f"round_mode {round_mode} is not supported")
    bits = scale.contiguous().view(torch.int32).long()
    if round_mode == 1:  # to the nearest, and the even one of two
        bits = bits + 0xFFF + ((bits >> 13) & 1)
    result = (bits & 0xFFFFE000) | 1 << 46
    if offset is None:
        return result
    return result | ((offset.round().clamp(-256, 255).long() & 0x1FF) << 37)


def scale_of(param: Tensor) -> Tensor:
    """Return the scale in a result of `trans_quant_param`."""
    return (param & 0xFFFFFFFF).int().view(torch.float32)


def offset_of(param: Tensor) -> Tensor:
    """Return the offset in a result of `trans_quant_param`."""
    offset = (param >> 37) & 0x1FF
    return torch.where(offset > 255, offset - 512, offset).float()


@formula("npu_convert_weight_to_int4pack", torch.int32)
def convert_weight_to_int4pack(weight: Tensor, inner_k_tiles: int = 0) -> Tensor:
    check(inner_k_tiles == 0, "inner_k_tiles is not supported on the simulator")
    return packed(weight.double())


@formula("npu_anti_quant", torch.int8, torch.int32)
def anti_quant(
    x: Tensor,
    scale: Tensor,
    *,
    offset: Tensor | None = None,
    dst_dtype: int | None = None,
    src_dtype: int | None = None,
) -> Tensor:
    check(dst_dtype in (None, 5, 15), f"dst_dtype {dst_dtype} is not supported")
    check(src_dtype in (None, _INT4 if x.dtype == torch.int32 else 1), f"src_dtype {src_dtype} is not supported")
    integers = (unpacked(x) if x.dtype == torch.int32 else x).float()
    if offset is not None:
        integers = integers + wide(offset)
    return (integers * wide(scale)).to(torch.bfloat16 if dst_dtype == 15 else torch.float16)
