# SPDX-License-Identifier: Apache-2.0
"""The number of random cases: ``ASCEND_RT_TEST_EFFORT`` multiplies it, as ``.ci/long`` does."""

from __future__ import annotations

import os

EFFORT = int(os.environ.get("ASCEND_RT_TEST_EFFORT", "1"))


def cases(usual: int) -> int:
    """Return how many cases a test has that usually has this many."""
    return usual * EFFORT
