# SPDX-License-Identifier: Apache-2.0
"""Types, shapes and parts of tensors. A result is new memory, contiguous, and never a view."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import torch_npu
from torch import Tensor
from torch._subclasses.fake_tensor import is_fake

from ascend_rt.torch.decompositions._table import FLOATS, TYPES, check, formula, refuse_given, wide


@formula("npu_dtype_cast")
def dtype_cast_by_number(input: Tensor, dtype: int, input_dtype: int | None = None) -> Tensor:
    check(dtype in TYPES and input_dtype is None, f"the type {dtype} is not one of PyTorch's")
    return input.to(TYPES[dtype], copy=True)


@formula("_npu_dtype_cast")
def dtype_cast(input: Tensor, dtype: torch.dtype) -> Tensor:
    return input.to(dtype, copy=True)


@formula("npu_dtype_cast_")
def dtype_cast_(input: Tensor, src: Tensor) -> Tensor:
    return input.copy_(src)


# Formats by their numbers: NCHW, ND, FRACTAL_NZ and NCDHW. Memory is in the order of ND in all of them.
_FORMATS = (0, 2, 29, 30)


@formula("_npu_format_cast")
def format_cast(input: Tensor, acl_format: int) -> Tensor:
    """Return a copy with the tag of a format."""
    check(acl_format in _FORMATS, f"the format {acl_format} orders memory as NPUs do, which is not supported")
    if is_fake(input):  # has no memory, and no tag
        return input.clone(memory_format=torch.contiguous_format)
    tagged = torch_npu.empty_with_format(
        input.size(), dtype=input.dtype, device=input.device, acl_format=2 if input.dim() < 2 else acl_format
    )
    return tagged.copy_(input)


def _has_format(tensor: Tensor, acl_format: int) -> bool:
    return not is_fake(tensor) and int(torch_npu.get_npu_format(tensor)) == acl_format


@formula("npu_format_cast")
def format_cast_or_same(
    input: Tensor, acl_format: int, *, customize_dtype: int | None = None, input_dtype: int | None = None
) -> Tensor:
    refuse_given(customize_dtype=customize_dtype, input_dtype=input_dtype)
    return input if _has_format(input, acl_format) else format_cast(input, acl_format)


@formula("npu_format_cast.Tensor")
def format_cast_as(
    input: Tensor, dst: Tensor, *, customize_dtype: int | None = None, input_dtype: int | None = None
) -> Tensor:
    acl_format = 2 if is_fake(dst) else int(torch_npu.get_npu_format(dst))
    return format_cast_or_same(input, acl_format, customize_dtype=customize_dtype, input_dtype=input_dtype)


@formula("npu_format_cast_.acl_format")
def format_cast_(
    input: Tensor, acl_format: int, *, customize_dtype: int | None = None, input_dtype: int | None = None
) -> Tensor:
    refuse_given(customize_dtype=customize_dtype, input_dtype=input_dtype)
    if is_fake(input) or _has_format(input, acl_format):
        return input
    with torch.no_grad():
        return input.set_(format_cast(input, acl_format))


@formula("npu_transpose")
def transpose(input: Tensor, perm: list[int], require_contiguous: bool = True) -> Tensor:
    return input.permute(perm).clone(memory_format=torch.contiguous_format)


@formula("npu_broadcast")
def broadcast(input: Tensor, size: list[int]) -> Tensor:
    return input.expand(size).clone(memory_format=torch.contiguous_format)


@formula("npu_slice")
def slice(input: Tensor, offsets: list[int], size: list[int]) -> Tensor:
    check(len(offsets) == len(size) == input.dim(), "there must be an offset and a size for each dimension")
    for dim, (offset, length) in enumerate(zip(offsets, size, strict=True)):
        check(
            offset >= 0 and length >= 0 and offset + length <= input.size(dim),
            f"{length} elements from {offset} are not in dimension {dim} of {tuple(input.shape)}",
        )
        input = input.narrow(dim, offset, length)
    return input.clone(memory_format=torch.contiguous_format)


@formula("npu_pad")
def pad(input: Tensor, paddings: list[int]) -> Tensor:
    """Pad with zeros: before and after each dimension, from the first on."""
    check(len(paddings) == 2 * input.dim(), "there must be two numbers for each dimension")
    pairs = [paddings[2 * dim : 2 * dim + 2] for dim in reversed(range(input.dim()))]
    return F.pad(input, [number for pair in pairs for number in pair])


@formula("npu_confusion_transpose")
def confusion_transpose(input: Tensor, perm: list[int], shape: list[int], transpose_first: bool) -> Tensor:
    result = input.permute(perm).reshape(shape) if transpose_first else input.reshape(shape).permute(perm)
    return result.clone(memory_format=torch.contiguous_format)


@formula("npu_view_copy")
def view_copy(input: Tensor, other: Tensor, non_blocking: bool) -> Tensor:
    return input.copy_(other, non_blocking)


@formula("one_")
def one_(input: Tensor) -> Tensor:
    return input.fill_(1)


@formula("npu_one_hot")
def one_hot(input: Tensor, num_classes: int = -1, depth: int = 1, on_value: float = 1, off_value: float = 0) -> Tensor:
    check(num_classes == -1, "num_classes is not supported on the simulator")
    is_class = input.unsqueeze(-1) == torch.arange(depth, device=input.device)
    values = torch.tensor([off_value, on_value], dtype=torch.float32)
    return torch.where(is_class, values[1], values[0])


@formula("npu_max.dim", *FLOATS)
def max(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    values, indices = input.max(dim, keepdim)
    return values, indices.int()


@formula("npu_min.dim", *FLOATS)
def min(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    values, indices = input.min(dim, keepdim)
    return values, indices.int()


@formula("npu_sort_v2", *FLOATS)
def sort(input: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    check(dim in (-1, input.dim() - 1), "only the last dimension is supported")
    return input.sort(dim=dim, descending=descending).values


@formula("npu_scatter_nd_update_")
def scatter_nd_update_(input: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    check(input.dtype == updates.dtype, f"updates are of {updates.dtype}, the input is of {input.dtype}")
    check(indices.dtype in (torch.int32, torch.int64), f"indices are of {indices.dtype}")
    check(0 < indices.size(-1) <= input.dim(), "the last dimension of indices does not fit the input")
    return input.index_put_(tuple(indices.long().unbind(-1)), updates)


@formula("npu_scatter_nd_update")
def scatter_nd_update(input: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    return scatter_nd_update_(input.clone(), indices, updates)


@formula("npu_sim_exponential_", *FLOATS)
def sim_exponential_(input: Tensor, lambd: float = 1.0, *, generator: torch.Generator | None = None) -> Tensor:
    return input.exponential_(lambd, generator=generator)


def _rotated(x: Tensor, mode: str) -> Tensor:
    check(mode in ("half", "interleave"), f"the mode of rotation {mode!r} is not supported")
    check(x.size(-1) % 2 == 0, f"the last dimension of {tuple(x.shape)} has no pairs")
    if mode == "half":
        first, second = x.chunk(2, -1)
        return torch.cat((-second, first), -1)
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


@formula("npu_rotary_mul", *FLOATS)
def rotary_mul(
    input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half", rotate: Tensor | None = None
) -> Tensor:
    x = wide(input)
    rotated = _rotated(x, rotary_mode) if rotate is None else x @ wide(rotate)
    return (x * wide(r1) + rotated * wide(r2)).to(input.dtype)


@formula("npu_rotary_mul_backward", *FLOATS)
def rotary_mul_backward(
    grad: Tensor, input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half"
) -> tuple[Tensor, ...]:
    with torch.enable_grad():
        leaves = [each.detach().requires_grad_() for each in (input, r1, r2)]
        result = torch.autograd.grad(rotary_mul(*leaves, rotary_mode), leaves, grad)
    return tuple(result)


@formula("npu_interleave_rope", torch.float16, torch.bfloat16)
def interleave_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    check(x.dim() == 4 and x.size(-1) % 2 == 0, f"the shape {tuple(x.shape)} is not (B, N, S, D) with an even D")
    return rotary_mul(x.unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2), cos, sin)


@formula("npu_apply_rotary_pos_emb", *FLOATS)
def apply_rotary_pos_emb(
    query: Tensor, key: Tensor, cos: Tensor, sin: Tensor, layout: str = "BSND", rotary_mode: str = "half"
) -> tuple[Tensor, Tensor]:
    """Rotate both in place, and return them."""
    check(layout in ("BSND", "TND") and rotary_mode == "half", "this layout or mode is not supported")
    for each in (query, key):
        each.copy_(rotary_mul(each, cos, sin))
    return query, key
