# SPDX-License-Identifier: Apache-2.0
"""Time limits: the facade takes seconds, and C other units, in which some numbers mean "for ever"."""

from __future__ import annotations

import math

# Fits every type that C takes limits in, and is no number with a meaning of its own: 68 years.
_LONGEST = 2**31 - 1


def whole_seconds(timeout: float) -> int:
    """Return a time limit in whole seconds, rounded up; 0, which is "for ever" in C, if it is infinite.

    Raises
    ------
    ValueError
        The limit is not positive.
    """
    if not timeout > 0:  # not "<=": NaN is none either
        raise ValueError(f"a time limit of work in a stream must be positive, not {timeout}; None waits for ever")
    return 0 if timeout == math.inf else min(math.ceil(timeout), _LONGEST)
