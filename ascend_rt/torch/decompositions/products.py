# SPDX-License-Identifier: Apache-2.0
"""Products of matrices, and convolutions."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ascend_rt.torch.decompositions._table import FLOATS, check, formula, refuse_given


@formula("npu_linear", *FLOATS)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.linear(input, weight, bias)


@formula("npu_bmmV2", *FLOATS)
def bmm(input: Tensor, mat2: Tensor, output_sizes: list[int]) -> Tensor:
    check(not output_sizes, "output_sizes is not supported on the simulator")
    return input.matmul(mat2)


@formula("npu_transpose_batchmatmul", *FLOATS)
def transpose_batchmatmul(
    input: Tensor,
    weight: Tensor,
    *,
    bias: Tensor | None = None,
    scale: Tensor | None = None,
    perm_x1: list[int] | None = None,
    perm_x2: list[int] | None = None,
    perm_y: list[int] | None = None,
    batch_split_factor: int | None = 1,
) -> Tensor:
    refuse_given(bias=bias, scale=scale)
    check(input.dim() == 3 and weight.dim() == 3, "the tensors must have 3 dimensions")
    check(perm_x1 in (None, [], [0, 1, 2], [1, 0, 2]), "perm_x1 must be [0, 1, 2] or [1, 0, 2]")
    check(perm_x2 in (None, [], [0, 1, 2], [0, 2, 1]), "perm_x2 must be [0, 1, 2] or [0, 2, 1]")
    check(perm_y in (None, [], [1, 0, 2]), "perm_y must be [1, 0, 2]")
    y = input.permute(perm_x1 or [0, 1, 2]).bmm(weight.permute(perm_x2 or [0, 1, 2])).permute(1, 0, 2)
    parts = batch_split_factor or 1
    rows, columns = y.size(0), y.size(1) * y.size(2)
    if parts == 1:
        return y.contiguous()
    check(parts > 0 and y.size(1) % parts == 0, f"{y.size(1)} products cannot be split in {parts}")
    return y.reshape(rows, parts, columns // parts).transpose(0, 1).contiguous()


@formula("npu_convolution", *FLOATS)
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
) -> Tensor:
    spatial = weight.dim() - 2
    check(spatial in (2, 3) and input.dim() == weight.dim(), "there are convolutions over 2 or 3 dimensions")
    return torch.convolution(input, weight, bias, stride, padding, dilation, False, [0] * spatial, groups)


formula("npu_conv2d", *FLOATS)(convolution)
formula("npu_conv3d", *FLOATS)(convolution)


@formula("npu_convolution_transpose", *FLOATS)
def convolution_transpose(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding: list[int],
    output_padding: list[int],
    stride: list[int],
    dilation: list[int],
    groups: int,
) -> Tensor:
    spatial = weight.dim() - 2
    check(spatial in (2, 3) and input.dim() == weight.dim(), "there are convolutions over 2 or 3 dimensions")
    return torch.convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)


formula("npu_conv_transpose2d", *FLOATS)(convolution_transpose)
