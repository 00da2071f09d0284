# SPDX-License-Identifier: Apache-2.0
"""Waits that Ctrl-C ends at once: Python handles signals only after torch_npu's function has returned.

The wait itself is that of this package. torch_npu's function follows, which then only looks, and reports failures.
Kernels that wait, for instance those of ``item()`` and of copies to the host, call the operator ``ascend_rt::wait``
before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch_npu

from ascend_rt._runtime import blocking
from ascend_rt._runtime.driver import ffi, is_expected, lib
from ascend_rt._runtime.failures import FailureLog
from ascend_rt._runtime.timeouts import FOR_EVER

_DEFINED = torch.library.Library("ascend_rt", "DEF")  # the operator lasts as long as this


def install() -> None:
    """Let what waits be interrupted."""
    _DEFINED.define("wait(int stream) -> ()")
    _DEFINED.impl("wait", _wait_for_stream, "CompositeExplicitAutograd")
    streams, npu = torch_npu.npu.streams, torch_npu._C
    for kind in (streams.Stream, streams.SyncLaunchStream):
        kind.synchronize = _after(lambda stream: _wait_for_stream(stream.npu_stream), kind.synchronize)
    streams.Event.synchronize = _after(lambda event: _wait_for_event(event.npu_event), streams.Event.synchronize)
    npu._npu_synchronize = _after(_wait_for_device, npu._npu_synchronize)
    torch.accelerator.synchronize = _after(torch_npu.npu.synchronize, torch.accelerator.synchronize)


def _after(wait: Callable[..., None], function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def waits(*arguments: Any) -> Any:
        wait(*arguments)
        return function(*arguments)

    return waits


def _wait_for_stream(stream: int) -> None:
    handle, log = ffi.cast("aclrtStream", stream), FailureLog()
    code = lib.ascend_rt_synchronize_stream(handle, FOR_EVER, log.into)
    if code == blocking.WOULD_WAIT:
        code, _ = blocking.wait("aclrtSynchronizeStream", FOR_EVER, handle, log=log)
    is_expected(code)  # torch_npu's function reports what has failed


def _wait_for_event(event: int) -> None:
    if not event:  # which was never recorded
        return
    handle = ffi.cast("aclrtEvent", event)
    code = lib.ascend_rt_synchronize_event(handle, FOR_EVER)
    if code == blocking.WOULD_WAIT:
        code, _ = blocking.wait("aclrtSynchronizeEvent", FOR_EVER, handle)
    is_expected(code)


def _wait_for_device() -> None:
    code, _ = blocking.wait_for_context(FailureLog())
    is_expected(code)
