# SPDX-License-Identifier: Apache-2.0
"""Products of quantized matrices, and of matrices in groups. Products of integers are exact."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch._subclasses.fake_tensor import is_fake

from ascend_rt.torch.decompositions import quantization
from ascend_rt.torch.decompositions._table import FLOATS, TYPES, check, formula, refuse_given, wide

_INTEGERS = (torch.int8, torch.int32)
_RESULTS = (torch.int8, torch.int32, torch.float16, torch.bfloat16)


def _product(a: Tensor, b: Tensor, bias: Tensor | None) -> Tensor:
    """Return sums of products of integers. float64 has all of them, and a fast product."""
    sums = a.double() @ b.double()
    return sums + bias if bias is not None and bias.dtype == torch.int32 else sums


def _scaled(sums: Tensor, scale: Tensor, token_scale: Tensor | None, bias: Tensor | None) -> Tensor:
    if scale.dtype == torch.int64:
        scale = quantization.scale_of(scale)
    result = sums.float() * wide(scale)
    if token_scale is not None:
        result = result * token_scale.reshape(-1, 1)
    return result + wide(bias) if bias is not None and bias.dtype != torch.int32 else result


def _integers(x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
    """Return both as int8. Eight numbers of 4 bits are side by side in x1, and in either direction in x2."""
    check(x1.dtype == x2.dtype and x1.dtype in _INTEGERS, f"x1 is of {x1.dtype}, x2 of {x2.dtype}")
    check(x1.dim() > 1 and x2.dim() > 1, "x1 and x2 must have 2 dimensions or more")
    if x1.dtype == torch.int32:
        x1 = quantization.unpacked(x1)
        x2 = quantization.unpacked(x2, -1 if x2.size(-2) == x1.size(-1) else -2)
    check(x1.size(-1) == x2.size(-2), f"{tuple(x1.shape)} cannot be multiplied by {tuple(x2.shape)}")
    return x1, x2


def _check_numbers(scale: Tensor, offset: Tensor | None, token_scale: Tensor | None, rows: int, columns: int) -> None:
    for name, given in (("scale", scale), ("offset", offset)):
        one_row = given is None or given.dim() < 2 or (given.dim() == 2 and len(given) == 1)
        check(one_row, f"{name} for groups along k is not supported on the simulator")
        check(given is None or given.numel() in (1, columns), f"{name} must have one number, or {columns}")
    check(token_scale is None or token_scale.numel() == rows, f"pertoken_scale must have {rows} numbers")


@formula("npu_quant_matmul", *_INTEGERS)
def quant_matmul(
    x1: Tensor,
    x2: Tensor,
    scale: Tensor,
    *,
    offset: Tensor | None = None,
    pertoken_scale: Tensor | None = None,
    bias: Tensor | None = None,
    output_dtype: int | None = None,
    x1_dtype: int | None = None,
    x2_dtype: int | None = None,
    pertoken_scale_dtype: int | None = None,
    scale_dtype: int | None = None,
    group_sizes: list[int] | None = None,
    y_scale: Tensor | None = None,
) -> Tensor:
    refuse_given(x1_dtype=x1_dtype, x2_dtype=x2_dtype, pertoken_scale_dtype=pertoken_scale_dtype, y_scale=y_scale)
    refuse_given(scale_dtype=scale_dtype)
    check(not any(group_sizes or ()), "group_sizes is not supported on the simulator")
    type = torch.int8 if output_dtype is None else TYPES.get(output_dtype)
    check(type in _RESULTS, f"output_dtype {output_dtype} is not supported")
    assert type is not None
    x1, x2 = _integers(x1, x2)
    _check_numbers(scale, offset, pertoken_scale, x1.size(-2), x2.size(-1))
    check(offset is None or type == torch.int8, "offset is for results of int8")
    check(pertoken_scale is None or type in (torch.float16, torch.bfloat16), "pertoken_scale needs a result of floats")
    sums = _product(x1, x2, bias)
    if type == torch.int32:  # the sums, for a later operator that has the scale
        check(bias is None or bias.dtype == torch.int32, "bias must be of int32 for results of int32")
        return sums.to(torch.int32)
    if scale.dtype == torch.float32 and pertoken_scale is None and type != torch.bfloat16:
        scale = quantization.trans_quant_param(scale)  # as the adapter does, so that the lower bits are lost
    result = _scaled(sums, scale, pertoken_scale, bias)
    if type != torch.int8:
        return result.to(type)
    if offset is not None:  # has 9 bits
        result = result + offset.round().clamp(-256, 255)
    elif scale.dtype == torch.int64:
        result = result + quantization.offset_of(scale)
    return quantization.nearest(result, torch.int8)


class _Group(NamedTuple):
    """The weight of a group of rows, and its other tensors."""

    weight: Tensor
    bias: Tensor | None
    scale: Tensor | None
    antiquant_scale: Tensor | None
    antiquant_offset: Tensor | None


_ACTIVATIONS: dict[int, Callable[[Tensor], Tensor]] = {
    1: F.relu,
    2: lambda x: F.gelu(x, approximate="tanh"),
    4: lambda x: x * (1.702 * x).sigmoid(),
    5: F.silu,
}


def _dequantized(group: _Group) -> Tensor:
    """Return a weight of integers in float32; a scale and an offset may be those of several parts along k."""
    weight, scale, offset = group.weight, group.antiquant_scale, group.antiquant_offset
    check(scale is not None and weight.dtype in _INTEGERS, f"weight is of {weight.dtype}, and needs antiquant_scale")
    assert scale is not None
    if weight.dtype == torch.int32:
        weight = quantization.unpacked(weight)
    parts = weight.float().unflatten(0, (len(scale) if scale.dim() == 2 else 1, -1))
    if offset is not None:
        parts = parts + wide(offset).reshape(len(parts), 1, -1)
    return (parts * wide(scale).reshape(len(parts), 1, -1)).flatten(0, 1)


def _multiplied(
    x: Tensor, group: _Group, token_scale: Tensor | None, activation: int, type: torch.dtype | None
) -> Tensor:
    """Multiply the rows of a group."""
    type = type or x.dtype
    if x.dtype in FLOATS:
        check(group.scale is None and token_scale is None, "scale and per_token_scale are for x of int8")
        check(type == x.dtype, f"output_dtype {type} is not supported for x of {x.dtype}")
        weight = wide(group.weight) if group.weight.dtype in FLOATS else _dequantized(group)
        result = wide(x) @ weight
        return (result if group.bias is None else result + wide(group.bias)).to(type)
    check(x.dtype == torch.int8 == group.weight.dtype, f"x is of {x.dtype}, weight of {group.weight.dtype}")
    sums = _product(x, group.weight, group.bias)
    if type == torch.int32:
        check(group.scale is None and token_scale is None, "scale is not for results of int32")
        return sums.to(type)
    check(group.scale is not None, f"results of {type} need scale")
    assert group.scale is not None
    result = _scaled(sums, group.scale, token_scale, group.bias)
    if activation:
        result = _ACTIVATIONS[activation](result)
    return quantization.nearest(result, torch.int8) if type == torch.int8 else result.to(type)


def _each(given: list[Tensor] | None, is_one: bool, count: int) -> list[Tensor | None]:
    """Return the tensor of each group: one of the list, or a part of its only one."""
    if not given:
        return [None] * count
    parts = list(given[0].unbind()) if is_one and len(given) == 1 else list(given)
    check(len(parts) == count, f"there are {count} groups, and {len(parts)} tensors for them")
    return list(parts)


def _sizes(x: list[Tensor], group_list: Tensor | list[int], kind: int, count: int, axis: int) -> list[list[int]]:
    """Return the number of each group, and its size along the axis."""
    check(kind in (0, 1, 2), f"group_list_type {kind} is not supported")
    check(len(group_list) == count, f"group_list has {len(group_list)} entries for {count} groups")
    total = sum(each.size(axis) for each in x)
    if isinstance(group_list, Tensor) and is_fake(group_list):  # has a shape alone, as the result has
        return [[number, 0 if number else total] for number in range(count)]
    given: list[Any] = group_list.tolist() if isinstance(group_list, Tensor) else group_list
    if kind == 0:
        given = [end - begin for begin, end in zip([0, *given], given, strict=False)]
    pairs = given if kind == 2 else [[number, size] for number, size in enumerate(given)]
    is_possible = all(0 <= number < count and size >= 0 for number, size in pairs)
    check(is_possible and sum(size for _, size in pairs) <= total, "group_list does not fit the tensors")
    return pairs


def _parts(x: list[Tensor], sizes: list[list[int]], axis: int) -> list[Tensor]:
    """Return the part of each group: a tensor of the list, or some rows or columns of its only one."""
    if len(x) == 1:
        return [x[0].narrow(axis, end - size, size) for size, end in _ends(sizes)]
    check([each.size(axis) for each in x] == [size for _, size in sizes], "group_list does not fit the tensors")
    return x


def _ends(sizes: list[list[int]]) -> list[tuple[int, int]]:
    return list(zip((size for _, size in sizes), itertools.accumulate(size for _, size in sizes), strict=True))


def _joined(parts: list[Tensor], rows: int) -> Tensor:
    """Return the parts in one tensor, with zeros in the rows that belong to no group."""
    found = torch.cat(parts)
    return torch.cat([found, found.new_zeros(rows - len(found), found.size(1))]) if rows > len(found) else found


def _along_k(
    x: list[Tensor], weight: list[Tensor], group_list: Tensor | list[int] | None, kind: int, type: torch.dtype | None
) -> Tensor:
    """Return a product for each group of columns of x and rows of the weight."""
    check(len(x) == len(weight) == 1, "groups along k need one x and one weight")
    check(group_list is not None and kind in (0, 1), "group_list must be given, as ends or as sizes")
    assert group_list is not None
    sizes = _sizes(x, group_list, kind, len(group_list), 1)
    pairs = zip(_parts(x, sizes, 1), _parts(weight, sizes, 0), strict=True)
    return torch.stack([_multiplied(a, _Group(b, None, None, None, None), None, 0, type) for a, b in pairs])


def _groups(weight: list[Tensor], *others: list[Tensor] | None) -> list[_Group]:
    is_one = len(weight) == 1 and weight[0].dim() == 3
    weights = list(weight[0].unbind()) if is_one else list(weight)
    columns = zip(*(_each(each, is_one, len(weights)) for each in others), strict=True)
    return [_Group(each, *column) for each, column in zip(weights, columns, strict=True)]


def _token_scales(given: list[Tensor] | None, x: list[Tensor], parts: list[Tensor]) -> list[Tensor | None]:
    if not given:
        return [None] * len(parts)
    check(len(given) == len(x), "per_token_scale must have a tensor for each of x")
    return list(_parts(list(given), [[0, len(each)] for each in parts], 0))


def _grouped(
    x: list[Tensor],
    weight: list[Tensor],
    type: torch.dtype | None,
    *,
    bias: list[Tensor] | None = None,
    scale: list[Tensor] | None = None,
    antiquant_scale: list[Tensor] | None = None,
    antiquant_offset: list[Tensor] | None = None,
    per_token_scale: list[Tensor] | None = None,
    group_list: Tensor | list[int] | None = None,
    split_item: int | None = 0,
    group_type: int | None = None,
    group_list_type: int | None = 0,
    act_type: int | None = 0,
    tuning_config: list[int] | None = None,
    **others: object,
) -> list[Tensor]:
    """Multiply each tensor, or each group of rows or columns of one tensor, by its weight."""
    for name, value in others.items():
        check(value is None or value == [], f"{name} is not supported on the simulator")
    check(split_item in (0, 1, 2, 3, None), f"split_item {split_item} is not supported")
    check(group_type in (None, -1, 0, 2), f"group_type {group_type} is not supported")
    check(not act_type or (act_type in _ACTIVATIONS and bool(per_token_scale)), f"act_type {act_type} is not supported")
    if group_type == 2:
        check(split_item in (2, 3), "groups along k have one result: split_item must be 2 or 3")
        check(not (bias or scale or antiquant_scale or per_token_scale), "groups along k have neither bias nor scales")
        return [_along_k(x, weight, group_list, group_list_type or 0, type)]
    groups = _groups(weight, bias, scale, antiquant_scale, antiquant_offset)
    check(group_list is not None or len(x) == len(groups), f"{len(x)} tensors need group_list for {len(groups)} groups")
    sizes = [[number, len(each)] for number, each in enumerate(x)]
    if group_list is not None:
        sizes = _sizes(x, group_list, group_list_type or 0, len(groups), 0)
    parts = x if group_list is None else _parts(x, sizes, 0)
    results = [
        _multiplied(part, groups[number], token_scale, act_type or 0, type)
        for part, (number, _), token_scale in zip(parts, sizes, _token_scales(per_token_scale, x, parts), strict=True)
    ]
    return [_joined(results, sum(map(len, x)))] if split_item in (2, 3) else results


@formula("npu_grouped_matmul")
def grouped_matmul(
    x: list[Tensor], weight: list[Tensor], *, output_dtype: int | None = None, **arguments: Any
) -> list[Tensor]:
    check(output_dtype is None or TYPES.get(output_dtype) is not None, f"output_dtype {output_dtype} is not supported")
    return _grouped(x, weight, None if output_dtype is None else TYPES[output_dtype], **arguments)


@formula("npu_grouped_matmul.List")
def grouped_matmul_of_list(
    x: list[Tensor], weight: list[Tensor], *, output_dtype: torch.dtype | None = None, **arguments: Any
) -> list[Tensor]:
    return _grouped(x, weight, output_dtype, **arguments)
