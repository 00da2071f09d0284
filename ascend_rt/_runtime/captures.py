# SPDX-License-Identifier: Apache-2.0
"""What the tasks of captures use, and which calls failed during those that the facade has begun."""

from __future__ import annotations

from typing import Any, NamedTuple

from ascend_rt._runtime import call_site, driver
from ascend_rt._runtime.driver import address, ffi, is_expected, lib, supports
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
        self.graph = 0  # its handle, once the capture has begun

    def begin(self, graph: int) -> None:
        """Watch the capture, which the facade has begun."""
        self.graph = graph
        _active[graph] = self
        driver.on_failure = _note_failure  # for ever: another thread may begin a capture while this one ends

    def end(self) -> None:
        """Watch it no longer."""
        _active.pop(self.graph, None)


_active: dict[int, Captured] = {}  # captures that the facade has begun, by the handle of the graph
kept: dict[int, list[object]] = {}  # what other graphs use, by their handles


def kept_with(stream: Any) -> list[object] | None:
    """Return what lives as long as the graph that a stream is being captured into; None if it is not.

    ``aclmdlRICaptureGetInfo``: the capture may be one of the C function, in Python or elsewhere.
    """
    graph = lib.ascend_rt_captured_graph(stream)
    if not graph:
        return None
    captured = _active.get(graph)
    return _kept_with_graph(graph) if captured is None else captured.kept


def has_task(stream: Any, before: list[object] | None, uses: object) -> bool:
    """Return whether a graph is sure to have the task that was just submitted to a stream.

    If another thread begins or ends a capture of the stream at the same time, nobody knows whether the task is in it:
    then the graph keeps what the task uses, and so must the stream.

    Parameters
    ----------
    stream : cdata
        The handle of the stream.
    before : list or None
        What :func:`kept_with` has returned before the submission; what the task uses is in it already.
    uses : object
        What the task uses.
    """
    after = kept_with(stream)
    if after is not None and after is not before:
        after.append(uses)
    return after is not None and after is before


def _kept_with_graph(graph: int) -> list[object]:
    """Return what lives until a graph is destroyed whose capture was begun by the C function."""
    if graph not in kept and supports("aclmdlRIDestroyRegisterCallback"):
        handle = ffi.cast("aclmdlRI", graph)
        # It fails if another thread was faster, or for the graph of a conditional task, whose end nothing tells: what
        # that uses stays, as with a runtime that has no such function.
        is_expected(lib.aclmdlRIDestroyRegisterCallback(handle, lib.ascend_rt_graph_destroyed_entry, handle))
    return kept.setdefault(graph, [])


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def ascend_rt_python_graph_destroyed(graph: Any) -> None:
    """Release what a graph has used; called when it is destroyed."""
    kept.pop(address(graph), None)


def _note_failure(error: AclError) -> None:
    if not _active:
        return
    failure = CaptureFailure(error, call_site.place() or "a thread of the runtime")
    for captured in list(_active.values()):
        captured.failures.append(failure)
