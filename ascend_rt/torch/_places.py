# SPDX-License-Identifier: Apache-2.0
"""Lines of the program, named by the errors of operators and collectives: the calls return long before those fail."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Callable
from typing import Any

import torch
import torch_npu
import typing_extensions

from ascend_rt._runtime import call_site
from ascend_rt._runtime.driver import ffi, lib


def _libraries() -> str:
    """Return how places begin that are not the program's: in PyTorch, in code of torch.fx, and in decorators."""
    packages = [f"{os.path.dirname(each.__file__)}{os.sep}" for each in (torch, torch_npu)]
    decorators = [f"{each.__file__}:" for each in (contextlib, functools, typing_extensions)]
    return "\n".join([*packages, "<eval_with_key>", *decorators])


def _noted(library: ctypes.CDLL, run_backward: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with a note of the call: threads of the pass run no code of the program."""

    @functools.wraps(run_backward)
    def noted(*arguments: Any, **keywords: Any) -> Any:
        library.ascend_rt_torch_begin_pass()
        try:
            return run_backward(*arguments, **keywords)
        finally:
            library.ascend_rt_torch_end_pass()

    return noted


@functools.cache  # pinned memory may need it before a device does
def install(library: ctypes.CDLL) -> None:
    """Give the library the functions that note and name lines of Python."""
    call_site.set_libraries()
    functions = (lib.ascend_rt_capture_frames_entry, lib.ascend_rt_name_frame_entry)
    addresses = [ctypes.c_void_p(int(ffi.cast("uintptr_t", each))) for each in functions]
    library.ascend_rt_torch_places(*addresses, os.fsencode(_libraries()))
    torch.autograd.graph._engine_run_backward = torch.autograd._engine_run_backward = _noted(
        library, torch.autograd.graph._engine_run_backward
    )
    # Only the library of the simulator has the function.
    set_provider = getattr(ctypes.CDLL("libhccl.so"), "ascend_rt_hccl_set_line_provider", None)
    if set_provider is not None:
        set_provider(library.ascend_rt_torch_line)
