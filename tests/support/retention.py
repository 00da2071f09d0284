# SPDX-License-Identifier: Apache-2.0
"""Memory that only its pending tasks keep alive."""

from __future__ import annotations

import gc
import re
import weakref
from typing import NoReturn

from ascend_rt import Buffer, Stream, fill_async
from ascend_rt._runtime import retention

_RULE = re.compile(r"^(\w+) +(released|kept) +(released|kept|--) +(released|kept|--) +\S", re.MULTILINE)

RULES: dict[str, tuple[str, ...]] = {name: tuple(fates) for name, *fates in _RULE.findall(retention.__doc__ or "")}
"""What happens -> what becomes of a stream's own batch, and of those that it has waited for."""


def fill_and_forget(stream: Stream) -> weakref.ref[Buffer]:
    """Return a reference to memory that a task of the stream uses, and nothing else."""
    buffer = Buffer(64)
    fill_async(buffer, 1, stream)
    return weakref.ref(buffer)


def alive(*references: weakref.ref[Buffer]) -> list[weakref.ref[Buffer]]:
    gc.collect()
    return [reference for reference in references if reference() is not None]


def interrupt() -> NoReturn:
    raise KeyboardInterrupt
