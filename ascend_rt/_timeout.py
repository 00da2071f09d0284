# SPDX-License-Identifier: Apache-2.0
"""Time limits: seconds for programs, the units of C for the runtime, rounded up."""

from __future__ import annotations

import math


def microseconds(timeout: float) -> int:
    """Return a time limit in microseconds."""
    if not timeout >= 0:  # NaN neither
        raise ValueError(f"a time limit is a number of seconds, 0 or more, not {timeout}")
    return math.ceil(timeout * 1_000_000)
