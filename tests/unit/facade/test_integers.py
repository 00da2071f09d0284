# SPDX-License-Identifier: Apache-2.0
"""Numbers for the fields of structures and for arrays in C: one with a fraction is refused, and not cut."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from ascend_rt import Buffer, Device, IpcMemory, Notify, Operand, Queue
from ascend_rt.random import Generator

HUGE = 2 << 20

USES: dict[str, Callable[[Any], object]] = {
    "depth of a queue": lambda number: Queue(number).close(),
    "process of a notify": lambda number: Notify().export([number]),
    "process of memory": lambda number: IpcMemory(Buffer(HUGE), processes=[number]).close(),
    "stride of an operand": lambda number: Operand(Buffer(64), np.uint8, (2,), (number,)),
    "seed": Generator,
}


@pytest.mark.parametrize("use", USES.values(), ids=list(USES))
@pytest.mark.parametrize("number", [Decimal("2.9"), 2.9, "2"], ids=str)
def test_what_is_no_integer_is_refused(use: Callable[[Any], object], number: Any, device: Device) -> None:
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        use(number)


@pytest.mark.parametrize("use", USES.values(), ids=list(USES))
def test_an_integer_of_numpy_is_one(use: Callable[[Any], object], device: Device) -> None:
    use(np.int64(2))
