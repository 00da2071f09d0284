# SPDX-License-Identifier: Apache-2.0
"""Refusals of what needs other libraries of CANN than the runtime: they name the function and the reason."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.profiler import ProfilerActivity


def install() -> None:
    """Replace functions that would fail while they load a library that is not there."""
    torch.autograd._supported_activities = _of_host(torch.autograd._supported_activities)
    profiler = torch.profiler.profiler._KinetoProfile
    profiler.__init__ = _without_device(profiler.__init__)


def _of_host(supported: Callable[[], set[ProfilerActivity]]) -> Callable[[], set[ProfilerActivity]]:
    """Return what a profile has that names no activities."""
    return lambda: supported() - {ProfilerActivity.PrivateUse1}


def _without_device(create: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(create)
    def creates(self: Any, *arguments: Any, **keywords: Any) -> None:
        create(self, *arguments, **keywords)
        if ProfilerActivity.PrivateUse1 in self.activities:
            raise NotImplementedError(
                "torch.profiler: the activity PrivateUse1 needs libmspti.so, which the simulator does not have; "
                "ProfilerActivity.CPU has the operators of the host"
            )

    return creates
