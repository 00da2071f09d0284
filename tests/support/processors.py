# SPDX-License-Identifier: Apache-2.0
"""Processors that the tests may use."""

from __future__ import annotations

import os


def workers(for_each_two: int) -> int | None:
    """Return how many workers ``pytest -n auto`` starts; None if the user has chosen a number.

    Parameters
    ----------
    for_each_two : int
        Workers for two processors.
    """
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(count * for_each_two // 2, 1)
