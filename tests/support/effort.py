# SPDX-License-Identifier: Apache-2.0
"""Random cases: ``ASCEND_RT_TEST_EFFORT`` multiplies their number, as ``.ci/long`` does.

``ASCEND_RT_TEST_SEED`` is where their seeds begin: with the seed of a failure, and ``-k`` for its test, the first case
is the one that failed.
"""

from __future__ import annotations

import os

EFFORT = int(os.environ.get("ASCEND_RT_TEST_EFFORT", "1"))
FIRST_SEED = int(os.environ.get("ASCEND_RT_TEST_SEED", "0"))


def cases(usual: int) -> int:
    """Return how many cases a test has that usually has this many."""
    return usual * EFFORT


def seeds(usual: int) -> range:
    """Return the seeds of that many cases."""
    return range(FIRST_SEED, FIRST_SEED + cases(usual))
