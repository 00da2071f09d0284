# SPDX-License-Identifier: Apache-2.0
"""Blocks of small floating-point numbers with a shared power of two: the formats MX of the Open Compute Project."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ascend_rt.torch.decompositions._table import FLOATS, check, formula, wide

_BIAS = 127  # exponents of float32, and scales, are above the real ones by it
_NOT_A_NUMBER = 255  # as a scale


class _Element(NamedTuple):
    type: torch.dtype | None  # None: two numbers of 4 bits in a byte
    exponent: int  # belongs to the largest power of two
    largest: float


_E5M2 = _Element(torch.float8_e5m2, 15, 57344.0)
_E4M3 = _Element(torch.float8_e4m3fn, 8, 448.0)
_E2M1 = _Element(None, 2, 6.0)
_E1M2 = _Element(None, 0, 1.75)
_ELEMENTS = {23: _E5M2, 291: _E5M2, 24: _E4M3, 292: _E4M3, 296: _E2M1, 297: _E1M2}


def _exponent(x: Tensor) -> Tensor:
    """Return the biased exponent of float32; 255 for infinity and NaN."""
    return (x.contiguous().view(torch.int32) >> 23) & 255


def _power(biased: Tensor) -> Tensor:
    """Return powers of two by biased exponents; exactly, also if they are subnormal."""
    return ((biased.long() - _BIAS + 1023) << 52).view(torch.float64)


def _scales(largest: Tensor, element: _Element, algorithm: int) -> Tensor:
    """Return the biased exponent of the scale of each block, by the largest number in it."""
    if algorithm == 0:  # rounded down, so that the largest number may be beyond the type's
        found = (_exponent(largest) - element.exponent).clamp(min=0)
    else:  # rounded up, so that all are in the range of the type
        quotient = largest / element.largest
        fraction = quotient.contiguous().view(torch.int32) & 0x7FFFFF
        exponent = _exponent(quotient)
        is_more = torch.where(exponent == 0, fraction > 1 << 22, (exponent < 254) & (fraction > 0))
        found = exponent + is_more.int()
    return found.masked_fill(~largest.isfinite(), _NOT_A_NUMBER)


def _rounded(x: Tensor, mode: str) -> Tensor:
    if mode == "rint":
        return x.round()
    return x.floor() if mode == "floor" else (x.abs() + 0.5).floor().copysign(x)


def _bytes(x: Tensor, element: _Element, mode: str) -> Tensor:
    """Return numbers of 4 bits, two to a byte, the first one lower: sign, and position in the order of all."""
    steps = torch.full_like(x, 4.0)
    if element is _E2M1:  # half, one or two, by the power of two below
        steps = torch.where(x.abs() < 2, 2.0, torch.where(x.abs() < 4, 1.0, 0.5))
    values = (_rounded(x * steps, mode) / steps).clamp(-element.largest, element.largest)
    codes = values.abs() * 4
    if element is _E2M1:  # 0, 1/2, 1, 3/2, 2, 3, 4, 6
        v = values.abs()
        codes = torch.where(v < 2, v * 2, torch.where(v < 4, v + 2, v / 2 + 4))
    codes = codes.to(torch.uint8) | (values.signbit().to(torch.uint8) << 3)
    return codes[..., ::2] | (codes[..., 1::2] << 4)


def _check(element: _Element | None, round_mode: str, algorithm: int | None, block_size: int) -> None:
    check(element is not None, "dst_type is not supported")
    allowed = ("rint", "floor", "round") if element in (_E2M1, _E1M2) else ("rint",)
    check(round_mode in allowed, f"round_mode {round_mode!r} is not supported with this type")
    check(block_size % 32 == 0 and 0 < block_size <= 1024, "block_size must be a multiple of 32, and at most 1024")
    check(
        algorithm in (0, None) or (algorithm == 1 and element in (_E5M2, _E4M3)),
        f"scale_alg {algorithm} with this type is not supported on the simulator",
    )


@formula("npu_dynamic_mx_quant", *FLOATS)
def dynamic_mx_quant(
    input: Tensor,
    *,
    axis: int = -1,
    round_mode: str = "rint",
    dst_type: int = 296,
    block_size: int = 32,
    scale_alg: int | None = 0,
    dst_type_max: float = 0.0,
    max_low_bound: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Divide each block along the axis by a power of two. A block with infinity or NaN becomes zeros, its scale NaN."""
    element = _ELEMENTS.get(dst_type)
    _check(element, round_mode, scale_alg, block_size)
    assert element is not None
    check(not dst_type_max, "dst_type_max is not supported on the simulator")
    check(max_low_bound == 0 or (scale_alg == 1 and max_low_bound > 0), "max_low_bound must be 0, or needs scale_alg 1")
    check(-input.dim() <= axis < input.dim(), f"there is no dimension {axis} in {tuple(input.shape)}")
    check(element.type is not None or input.size(-1) % 2 == 0, "the last dimension is odd, for numbers of 4 bits")
    x = wide(input).movedim(axis, -1)
    count = x.size(-1)
    blocks = F.pad(x, (0, -count % block_size)).unflatten(-1, (-(-count // block_size), block_size))
    largest = blocks.abs().amax(-1) if blocks.numel() else blocks.sum(-1)
    scales = _scales(largest.clamp(min=max_low_bound) if max_low_bound else largest, element, scale_alg or 0)
    is_lost = (scales == _NOT_A_NUMBER).unsqueeze(-1)
    values = (blocks.double() / _power(scales).unsqueeze(-1)).masked_fill(is_lost, 0.0).float()
    values = values.flatten(-2)[..., :count].movedim(-1, axis)
    pairs = F.pad(scales, (0, scales.size(-1) % 2)).unflatten(-1, (-1, 2)).movedim(-2, axis % input.dim())
    if element.type is None:
        return _bytes(values, element, round_mode), pairs.to(torch.uint8).contiguous()
    values = values.clamp(-element.largest, element.largest).contiguous()
    return values.to(element.type), pairs.to(torch.uint8).contiguous()
