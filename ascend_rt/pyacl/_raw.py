# SPDX-License-Identifier: Apache-2.0
"""Calls of C functions without exceptions, for the functions that are written in Python."""

from __future__ import annotations

from typing import Any

from ascend_rt._runtime.driver import address, ffi, lib
from ascend_rt.errors import NotSupported


def call(function: str, *arguments: Any) -> int:
    """Call a C function and return its error code: 207000 if the library does not have it."""
    try:
        return int(getattr(lib, function)(*arguments))
    except NotSupported as error:
        return error.code


def create(function: str, *arguments: Any) -> int:
    """Call a C function that returns a handle and return it: 0 if the library does not have the function."""
    try:
        return address(getattr(lib, function)(*arguments))
    except NotSupported:
        return 0


def pointer(number: int) -> Any:
    """Return a handle or an address for C."""
    return ffi.cast("void *", number)


def text(characters: Any) -> str:
    """Return the text in an array of characters."""
    return str(ffi.string(characters).decode(errors="replace"))


def unsigned(value: int) -> int:
    """Check a number that C takes as unsigned."""
    if not 0 <= value < 2**64:
        raise ValueError("PyLong_AsUnsignedLong failed")
    return value
