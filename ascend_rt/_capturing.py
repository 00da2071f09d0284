# SPDX-License-Identifier: Apache-2.0
"""What captures keep alive: Python objects that a graph's tasks use in each of its replays.

A task of a stream uses its objects once, and they are released when it is done. What is submitted to a stream that is
being captured belongs to the graph, which has a list for them here while the capture lasts.
"""

from __future__ import annotations

from typing import Any

from ascend_rt._driver import address, ffi, lib

Keeper = list[object]

_keepers: dict[int, Keeper] = {}  # by the handles of the graphs that are being captured


def begin(graph: Any) -> Keeper:
    """Return what a graph keeps from now on."""
    return _keepers.setdefault(address(graph), [])


def end(graph: Any) -> None:
    """Forget a graph whose capture is over, however it ended."""
    _keepers.pop(address(graph), None)


def keeper_of(stream: Any) -> Keeper | None:
    """Return where objects go that are submitted to the stream; None: the stream is not being captured."""
    if not _keepers or not stream:  # the default stream is never captured
        return None
    out = ffi.new("aclmdlRI *")
    if lib.aclmdlRICaptureGetInfo(stream, ffi.NULL, out):
        lib.aclGetRecentErrMsg()  # the text of a failure that the call itself will report
        return None
    return _keepers.get(address(out[0]))
