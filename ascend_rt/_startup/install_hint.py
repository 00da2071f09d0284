# SPDX-License-Identifier: Apache-2.0
"""How messages say what to install: no package index has ascend_rt, a checkout has."""

from __future__ import annotations

FORM = "pip install '.[{extra}]' in a checkout of ascend_rt"


def install_hint(extra: str) -> str:
    """Return how to install an extra."""
    return FORM.format(extra=extra)
