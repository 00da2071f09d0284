# SPDX-License-Identifier: Apache-2.0
"""torch_npu's own operators whose documentation gives a plain formula, made of PyTorch's operators.

Each is a function with the operator's arguments. It runs above autograd, so that gradients are those of the formula,
and what it calls are operators of the device: tasks of the current stream. float16 and bfloat16 are computed in float32
and rounded once, at the end. Cases that the formula does not cover are refused by the operator's name.
"""

from __future__ import annotations

from ascend_rt.torch.decompositions import activations, attention, experts, norms, products, tensors, training
from ascend_rt.torch.decompositions._table import TABLE

__all__ = ["TABLE", "activations", "attention", "experts", "norms", "products", "tensors", "training"]
