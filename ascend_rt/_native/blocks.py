# SPDX-License-Identifier: Apache-2.0
"""Generators as context managers that no signal keeps from ending; ``blocks.c`` says how."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, TypeVar

from ascend_rt._native import handles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import ParamSpec

    _Parameters = ParamSpec("_Parameters")

_Yielded = TypeVar("_Yielded")


def block(generator: Callable[_Parameters, Iterator[_Yielded]]) -> Callable[_Parameters, handles.Block[_Yielded]]:
    """Make a function of a generator that yields once, as :func:`contextlib.contextmanager` does."""

    @wraps(generator)
    def begin(*arguments: _Parameters.args, **keywords: _Parameters.kwargs) -> handles.Block[_Yielded]:
        return handles.block(generator(*arguments, **keywords))

    return begin
