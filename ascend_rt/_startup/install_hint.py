# SPDX-License-Identifier: Apache-2.0
"""The text with which messages name an installation: from a checkout, because no package index has ascend_rt."""

from __future__ import annotations

FORM = "pip install '.[{extra}]' in a checkout of ascend_rt"


def install_hint(extra: str) -> str:
    """Return how to install an extra."""
    return FORM.format(extra=extra)
