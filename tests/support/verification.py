# SPDX-License-Identifier: Apache-2.0
"""Helpers of the tests of ``ascend-rt verify``."""

from __future__ import annotations

from collections.abc import Callable

from support.programs_in_forks import Ended

Verify = Callable[..., Ended]
FEW = "g02_init,g10_device,g40_event_create_arguments,g50_notify_arguments,fact_1.25,fact_4.6"
