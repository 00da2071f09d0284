# SPDX-License-Identifier: Apache-2.0
"""Sizes in bytes that callers give."""

from __future__ import annotations

from operator import index


def check_size(nbytes: int) -> int:
    """Return a size that C can take; the runtime itself refuses 0."""
    nbytes = index(nbytes)  # a narrow integer of numpy would wrap in what is calculated from it
    if nbytes < 0:
        raise ValueError(f"the size must not be negative, got {nbytes}")
    return nbytes


def check_positive(nbytes: int) -> int:
    """Return the size of something that the runtime does not check."""
    nbytes = index(nbytes)
    if nbytes <= 0:
        raise ValueError(f"the size must be greater than 0, got {nbytes}")
    return nbytes
