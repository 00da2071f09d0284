# SPDX-License-Identifier: Apache-2.0
"""The operators that are formulas, and what the formulas share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

FLOATS = (torch.float32, torch.float16, torch.bfloat16)

# Types as the adapter counts them in arguments that are numbers.
TYPES = {
    0: torch.uint8,
    1: torch.int8,
    2: torch.int16,
    3: torch.int32,
    4: torch.int64,
    5: torch.float16,
    6: torch.float32,
    7: torch.float64,
    9: torch.complex64,
    10: torch.complex128,
    11: torch.bool,
    15: torch.bfloat16,
}

# By the operator's name, with the overload: "npu::npu_transpose.out".
TABLE: dict[str, Callable[..., Any]] = {}


class Refused(RuntimeError):
    """A case that the formula does not cover, or wrong arguments."""


def formula(name: str, *types: torch.dtype) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function for an operator of ``npu`` or of the namespace in the name.

    Its first argument has one of the types, or any.
    """
    full_name = name if "::" in name else f"npu::{name}"

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(first: Any, *arguments: Any, **keywords: Any) -> Any:
            try:
                check(not types or first.dtype in types, f"the type {getattr(first, 'dtype', None)} is not supported")
                return function(first, *arguments, **keywords)
            except Refused as error:
                raise Refused(f"{full_name}: {error}") from None
            except (IndexError, RuntimeError, ValueError) as error:
                if type(error) not in (IndexError, RuntimeError, ValueError):
                    raise  # such as one of memory, by which programs know it
                raise Refused(f"{full_name}: {error}") from error  # an operator in the formula has failed

        TABLE[full_name] = checked
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


def wide(tensor: Tensor) -> Tensor:
    """Return a tensor in the type that is computed with."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def wide_or_none(tensor: Tensor | None) -> Tensor | None:
    """Return the same for an argument that may be missing."""
    return None if tensor is None else wide(tensor)


def no_workspace(first: Tensor, *_: object, **__: object) -> Tensor:
    """Return the memory that an operator needs beside its results: none."""
    return first.new_empty(0, dtype=torch.uint8)
