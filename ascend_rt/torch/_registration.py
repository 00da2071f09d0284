# SPDX-License-Identifier: Apache-2.0
"""Registering a Python function as the kernel of an operator."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

# torch 2.7 has no such argument, and needs none.
_CAN_OVERRIDE = "allow_override" in inspect.signature(torch.library.Library.impl).parameters
_OVERRIDING = {"allow_override": True} if _CAN_OVERRIDE else {}


def replace(library: torch.library.Library, name: str, function: Callable[..., Any], key: str) -> None:
    """Register a function for an operator and a dispatch key, whether or not there is a kernel.

    Parameters
    ----------
    library : torch.library.Library
        The registration lasts as long as this.
    name : str
        The operator in the library's namespace, such as ``"npu_quant_matmul"``.
    """
    library.impl(name, function, key, **_OVERRIDING)
