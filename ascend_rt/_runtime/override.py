# SPDX-License-Identifier: Apache-2.0
"""Replacement of C functions by Python functions for all callers, in the slots of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from ascend_rt._native.blocks import block
from ascend_rt._runtime import driver
from ascend_rt._runtime.driver import ffi, lib, load, raise_kept, raised, stand_ins

_raw: Any = driver._raw
_codes = count(int(_raw.ASCEND_RT_RAISED))
_callbacks: list[Any] = []  # kept forever: another thread may be about to call one


@block
def override(name: str, function: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Replace a C function; see :func:`ascend_rt._runtime.driver.override`."""
    load()
    place = lib.ascend_rt_place_of(name.encode())
    if not place:
        raise driver.absent(name)
    kind, functions = ffi.typeof(getattr(_raw, name)), vars(lib)
    before, attribute, stand_in = place[0], functions[name], stand_ins.pop(name, None)
    codes: list[int] = []  # each identifies an exception that was raised

    def keep(kind: object, error: BaseException, traceback: object) -> int:
        """Keep an exception that was raised in a call from C; return the code that identifies it."""
        code = next(_codes)
        raised[code] = error
        codes.append(code)
        return code

    callback = ffi.callback(kind, function, onerror=keep if kind.result.kind == "primitive" else None)
    _callbacks.append(callback)
    functions[name] = _raising(getattr(_raw, name))
    lib.ascend_rt_exchange(place, before, ffi.cast("void *", callback))
    try:
        yield _raising(ffi.cast(kind, before))
    finally:
        lib.ascend_rt_exchange(place, ffi.cast("void *", callback), before)
        functions[name] = attribute
        if stand_in is not None:
            stand_ins[name] = stand_in
        unseen = [raised.pop(code) for code in codes if code in raised]
    if unseen:  # C took the code for an answer, as that of a query
        raise unseen[0]


def _raising(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that raises the exception of a replacement that C has called inside of it."""

    def call(*arguments: Any) -> Any:
        result = function(*arguments)
        raise_kept(result)
        return result

    return call
