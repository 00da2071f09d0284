# SPDX-License-Identifier: Apache-2.0
"""JSON as its standard has it, which knows neither NaN nor infinities: here those are the texts of ``NOT_FINITE``."""

from __future__ import annotations

import json
import math
from typing import Any

NOT_FINITE = ("nan", "inf", "-inf")


def number(value: float) -> float | str:
    """Return what stands for a number."""
    return value if math.isfinite(value) else str(value)


def dumps(value: Any) -> str:
    """Return JSON on one line."""
    return json.dumps(value, allow_nan=False)


def loads(text: str) -> Any:
    """Read JSON.

    Raises
    ------
    ValueError
        It is none, or has a number that is too large for one.
    """
    return json.loads(text, parse_float=_finite, parse_constant=_finite)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a number in JSON")
    return value
