# SPDX-License-Identifier: Apache-2.0
"""Errors that name the failed operator: it fails when the stream runs it, and a wait for the stream reports it.

torch_npu raises an error with only the runtime's code. The operators themselves, and copies to the host, add the cause
where they are implemented; this module adds it to functions that only wait. ``torch.npu.restart_device`` ends the
failure of a device.
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

    def failures() -> str:
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
        setattr(owner, name, _with_cause(getattr(owner, name), failures))
    torch_npu._C._npu_restart_device = _forgetting(torch_npu._C._npu_restart_device, library)


def _with_cause(function: Callable[..., Any], failures: Callable[[], str]) -> Callable[..., Any]:
    @functools.wraps(function)
    def waits(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except RuntimeError as error:
            cause = failures()
            if not cause or cause in str(error):
                raise
            raise RuntimeError(f"{cause}\n{error}") from error

    return waits


def _forgetting(restart: Callable[[int], Any], library: ctypes.CDLL) -> Callable[[int], Any]:
    @functools.wraps(restart)
    def restarts(device: int) -> Any:
        result = restart(device)
        library.ascend_rt_torch_forget(ctypes.c_int32(device))
        return result

    return restarts
