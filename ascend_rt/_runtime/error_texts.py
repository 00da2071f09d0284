# SPDX-License-Identifier: Apache-2.0
"""Texts of exceptions where they are not raised: in warnings, logs and on the command line."""

from __future__ import annotations


def in_full(error: BaseException) -> str:
    """Return the text of an exception with its notes, for warnings and logs."""
    return "\n".join((str(error), *getattr(error, "__notes__", ())))
