# SPDX-License-Identifier: Apache-2.0
"""Errors that name the failed operator: it fails when the stream runs it, and a wait for the stream reports it.

torch_npu raises an error with only the runtime's code. The operators themselves, and copies to the host, add the cause
where they are implemented; this module adds it to functions that only wait.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import torch
import torch_npu

_TEXT_BYTES = 1 << 16


def watch(library: ctypes.CDLL) -> None:
    """Let every function that waits, or submits anything but an operator, report the operator that has failed."""

    def first_failure() -> str:
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        library.ascend_rt_torch_failure(text, ctypes.c_size_t(_TEXT_BYTES))
        return text.value.decode(errors="replace")

    watched = (
        (torch_npu.npu, "synchronize"),  # which is torch.npu
        (torch.accelerator, "synchronize"),
        (torch_npu.npu.Stream, "synchronize"),
        (torch_npu.npu.Event, "synchronize"),
        (torch_npu._C, "_npu_sleep"),
    )
    for owner, name in watched:
        setattr(owner, name, _with_cause(getattr(owner, name), first_failure))


def _with_cause(function: Callable[..., Any], first_failure: Callable[[], str]) -> Callable[..., Any]:
    @functools.wraps(function)
    def waits(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except RuntimeError as error:
            cause = first_failure()
            if not cause or cause in str(error):
                raise
            raise RuntimeError(f"{cause}\n{error}") from error

    return waits
