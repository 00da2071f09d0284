# SPDX-License-Identifier: Apache-2.0
"""``torch.npu._sleep``, with which tests keep a stream busy."""

from __future__ import annotations

from typing import Any

import torch_npu

from ascend_rt import Stream, sim


def install() -> None:
    """Replace the function that calls an operator of CANN, ``aclnnSleep``."""
    torch_npu._C._npu_sleep = _sleep


def _sleep(cycles: Any) -> None:
    if not isinstance(cycles, int):
        raise RuntimeError("torch.npu._sleep(): expected 'int'")
    if cycles <= 0:
        raise RuntimeError(f"torch.npu._sleep(): expected positive cycles, got {cycles}")
    sim.sleep(Stream.from_handle(torch_npu.npu.current_stream().npu_stream), cycles)
