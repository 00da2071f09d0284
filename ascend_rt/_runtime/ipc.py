# SPDX-License-Identifier: Apache-2.0
"""Keys of objects that processes share, and the processes that may open them."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from ascend_rt._runtime.driver import ffi

if TYPE_CHECKING:
    from collections.abc import Iterable

KEY_SIZE = 65
"""Bytes of a key of memory or of a notify, with the terminator."""


def check_key(key: bytes) -> bytes:
    """Return a key that a caller has given; ValueError if C would take only the beginning of it."""
    if isinstance(key, bytes) and b"\0" in key:
        raise ValueError(f"a key must not contain a zero byte, got {key!r}")
    return key


def process_numbers(processes: Iterable[int]) -> Any:
    """Return the numbers of processes that are named as C takes them."""
    pids = ffi.new("int32_t[]", [index(process) for process in processes])
    if not len(pids):
        raise ValueError("the list of processes is empty; pass None to allow every process")
    return pids
