# SPDX-License-Identifier: Apache-2.0
"""What the tasks of captures use, and which calls failed meanwhile: the facade's captures that are under way."""

from __future__ import annotations

from typing import Any, NamedTuple

from ascend_rt import _call_site, _driver
from ascend_rt._driver import address, ffi, lib
from ascend_rt.errors import AclError


class CaptureFailure(NamedTuple):
    """A call that failed while a stream was being captured.

    Attributes
    ----------
    error : AclError
        What it failed with.
    place : str
        Where in the program, as ``file:line in function``.
    """

    error: AclError
    place: str


class Captured:
    """What belongs to one capture."""

    def __init__(self) -> None:
        self.kept: list[object] = []  # what the tasks use: it lives as long as the graph, and as its executions
        self.failures: list[CaptureFailure] = []


active: dict[int, Captured] = {}  # by the handle of the graph; empty nearly always, which hot paths test first


def begin(graph: Any) -> Captured:
    """Watch a capture that has just begun."""
    captured = active[address(graph)] = Captured()
    _driver.on_failure = _note_failure
    return captured


def end(graph: int) -> None:
    """Watch it no longer."""
    active.pop(graph, None)
    if not active:
        _driver.on_failure = None


def graph_of(stream: Any) -> Any:
    """Return the graph that a stream is being captured into, or NULL."""
    out, status = ffi.new("aclmdlRI *"), ffi.new("aclmdlRICaptureStatus *")
    code = lib.aclmdlRICaptureGetInfo(stream, status, out)
    if code:
        lib.aclGetRecentErrMsg()  # discard the text: NULL, or a destroyed stream, is no failure here
    return ffi.NULL if code else out[0]


def kept_with(stream: Any) -> list[object] | None:
    """Return what lives as long as the graph that a stream is being captured into; None if it is not.

    Not worth a call unless :data:`active` has something.
    """
    captured = active.get(address(graph_of(stream)))
    return None if captured is None else captured.kept


def _note_failure(error: AclError) -> None:
    failure = CaptureFailure(error, _call_site.place() or "a thread of the runtime")
    for captured in tuple(active.values()):
        captured.failures.append(failure)
