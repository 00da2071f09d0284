# SPDX-License-Identifier: Apache-2.0
"""Operators that PyTorch has for every device but the CPU: formulas, composed of operators of the device."""

from __future__ import annotations

import torch

from ascend_rt.torch import _batch_norm, _cells, _registration

_REGISTERED = torch.library.Library("aten", "IMPL")  # the registrations last as long as this
_KERNELS = _cells.KERNELS | _batch_norm.KERNELS
NAMES = frozenset(f"aten::{name}" for name in _KERNELS)


def install() -> None:
    """Register the formulas for the device, and for tensors without data where PyTorch has nothing for them."""
    for name, function in _KERNELS.items():
        _registration.replace(_REGISTERED, name, function, "PrivateUse1")
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "Meta"):
            _REGISTERED.impl(name, function, "Meta")
