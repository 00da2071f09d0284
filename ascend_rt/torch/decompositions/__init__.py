# SPDX-License-Identifier: Apache-2.0
"""Operators of torch_npu whose documentation gives a plain formula, composed of PyTorch's operators.

Each is a function with the operator's arguments. It runs above autograd, so that gradients are those of the formula,
and it calls operators of the device, which are tasks of the current stream. float16 and bfloat16 are computed in
float32 and rounded once, at the end. Cases that the formula does not cover are refused with the operator's name.
"""

from __future__ import annotations

from ascend_rt.torch.decompositions import (
    activations,
    atb,
    attention,
    caches,
    experts,
    inference,
    microscaling,
    norms,
    products,
    quantization,
    quantized_products,
    tensors,
    training,
)
from ascend_rt.torch.decompositions._table import TABLE

__all__ = [
    "TABLE",
    "activations",
    "atb",
    "attention",
    "caches",
    "experts",
    "inference",
    "microscaling",
    "norms",
    "products",
    "quantization",
    "quantized_products",
    "tensors",
    "training",
]
