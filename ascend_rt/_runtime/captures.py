# SPDX-License-Identifier: Apache-2.0
"""Captures: the batches of their graphs, and which calls failed during those that the facade has begun."""

from __future__ import annotations

from typing import Any, NamedTuple

from ascend_rt._native import handles
from ascend_rt._native.handles import Batch
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
    """One capture: its batch, and the calls that failed."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch  # of the graph
        self.failures: list[CaptureFailure] = []
        self.graph = 0  # its handle, once the capture has begun

    def begin(self, graph: int) -> None:
        """Watch the capture, which the facade has begun."""
        self.graph = graph
        _active[graph] = self  # first, and last to go: a signal handler may raise in between
        if (faster := graphs.setdefault(graph, self._batch)) is not self._batch:
            self._batch.objects.append((faster,))  # another thread has submitted a task already
        driver.on_failure = _note_failure  # for ever: another thread may begin a capture while this one ends

    def end(self) -> None:
        """Watch it no longer."""
        if _active.get(self.graph) is self:
            graphs.pop(self.graph, None)
            _active.pop(self.graph, None)


_active: dict[int, Captured] = {}  # captures that the facade has begun, by the handle of the graph


class _Graphs(dict[int, Batch]):
    def __missing__(self, graph: int) -> Batch:
        """Begin the batch of a graph whose capture was begun by the C function; the graph's end ends it."""
        if supports("aclmdlRIDestroyRegisterCallback"):
            handle = ffi.cast("aclmdlRI", graph)
            # It fails if another thread was faster, or for the graph of a conditional task, whose end is not
            # reported: its operands stay, as with a runtime that has no such function.
            is_expected(lib.aclmdlRIDestroyRegisterCallback(handle, lib.ascend_rt_graph_destroyed_entry, handle))
        return self.setdefault(graph, Batch())


graphs = _Graphs()
"""Batches of the graphs that are being captured, or whose end is reported, by their handles; C looks here too."""

handles.note_graphs(graphs)


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def ascend_rt_python_graph_destroyed(graph: Any) -> None:
    """Release what a graph has used; called when it is destroyed."""
    graphs.pop(address(graph), None)


def _note_failure(error: AclError) -> None:
    if not _active:
        return
    failure = CaptureFailure(error, call_site.place() or "a thread of the runtime")
    for captured in list(_active.values()):
        captured.failures.append(failure)
