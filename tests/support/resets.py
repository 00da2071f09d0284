# SPDX-License-Identifier: Apache-2.0
"""Remains of objects that a reset of their device has ended."""

from __future__ import annotations

from collections.abc import Callable

from ascend_rt import InvalidHandle

INVALID_HANDLE = 107017


def is_refused(use: Callable[[], object], device: int = 1) -> bool:
    """Return True if the use of an object is refused because its device was reset."""
    try:
        use()
    except InvalidHandle as error:
        return error.code == INVALID_HANDLE and f"because device {device} was reset" in error.message
    return False
