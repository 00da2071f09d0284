# SPDX-License-Identifier: Apache-2.0
"""Time limits: seconds become the units of C, rounded up."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from ascend_rt._runtime.timeouts import FOR_EVER, microseconds, milliseconds, whole_seconds


@pytest.mark.parametrize(
    ("convert", "timeout", "in_units"),
    [
        (milliseconds, None, FOR_EVER),
        (milliseconds, 0, 1),  # the runtime refuses 0
        (milliseconds, 1e-9, 1),
        (milliseconds, 1, 1000),
        (milliseconds, 1.0001, 1001),
        (milliseconds, np.float32(0.5), 500),
        (milliseconds, np.float16(66), 66_000),
        (milliseconds, np.uint8(1), 1000),
        (milliseconds, np.int32(2**31 - 1), FOR_EVER),
        (milliseconds, Decimal("0.5"), 500),
        (milliseconds, Fraction(1, 4), 250),
        (milliseconds, 10**400, FOR_EVER),
        (milliseconds, True, 1000),
        (milliseconds, 2**31 / 1000 - 0.001, 2**31 - 1),
        (milliseconds, 2**31 / 1000, FOR_EVER),
        (milliseconds, math.inf, FOR_EVER),
        (whole_seconds, 0.001, 1),
        (whole_seconds, 1, 1),
        (whole_seconds, np.float16(0.5), 1),
        (whole_seconds, 1.5, 2),
        (whole_seconds, 2**31 - 1, 2**31 - 1),
        (whole_seconds, 2**31, 0),
        (whole_seconds, math.inf, 0),
        (microseconds, 1e-9, 1),
        (microseconds, 8589.934592, 2**33),
        (microseconds, math.inf, 0),
    ],
)
def test_conversion(convert: Callable[[float | None], int], timeout: float | None, in_units: int) -> None:
    assert convert(timeout) == in_units


@pytest.mark.parametrize("convert", [milliseconds, whole_seconds, microseconds])
@pytest.mark.parametrize("timeout", [-1, -1e-9, -math.inf, math.nan, Decimal("NaN")])
def test_what_is_no_limit(convert: Callable[[float], int], timeout: float) -> None:
    with pytest.raises(ValueError, match="the timeout must be 0 or more seconds"):
        convert(timeout)


@pytest.mark.parametrize("convert", [whole_seconds, microseconds])
def test_the_device_cannot_take_no_time(convert: Callable[[float], int]) -> None:
    with pytest.raises(ValueError, match=r"greater than 0 seconds; math\.inf"):
        convert(0)


@pytest.mark.parametrize("convert", [milliseconds, whole_seconds, microseconds])
def test_a_text_is_refused(convert: Callable[[object], int]) -> None:
    with pytest.raises(TypeError):
        convert("1")
