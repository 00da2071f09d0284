# SPDX-License-Identifier: Apache-2.0
"""The operators that are formulas, and what the formulas share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

FLOATS = (torch.float32, torch.float16, torch.bfloat16)

# By the operator's name, with the overload: "npu::npu_transpose.out".
TABLE: dict[str, Callable[..., Any]] = {}


class Refused(RuntimeError):
    """A case that the formula does not cover, or wrong arguments."""


def formula(name: str, *types: torch.dtype) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function for an operator, whose first argument has one of the types, or any."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(first: Any, *arguments: Any, **keywords: Any) -> Any:
            try:
                check(not types or first.dtype in types, f"the type {getattr(first, 'dtype', None)} is not supported")
                return function(first, *arguments, **keywords)
            except Refused as error:
                raise Refused(f"npu::{name}: {error}") from None

        TABLE[f"npu::{name}"] = checked
        return function

    return enter


def check(condition: bool, text: str) -> None:
    """Raise an error with the operator's name unless the condition holds."""
    if not condition:
        raise Refused(text)


def refuse_given(**arguments: Any) -> None:
    """Refuse arguments that the formula has no place for."""
    for name, value in arguments.items():
        check(value is None, f"{name} is not supported on the simulator")


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor in the type that is computed with."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def wide_or_none(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """Return the same for an argument that may be missing."""
    return None if tensor is None else wide(tensor)
