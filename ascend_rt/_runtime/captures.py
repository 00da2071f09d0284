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
        The error of the call.
    place : str
        The place in the program, as ``file:line in function``.
    """

    error: AclError
    place: str


class Capture(handles.Capture):
    """A ``with`` block in which a stream is captured; its value is the graph."""

    __slots__ = ()


active: dict[int, list[CaptureFailure]] = {}
"""Failures during the captures that the facade has begun and not ended, by the handles of their graphs.

C changes the dictionary (``captures.c``).
"""


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
    if not active:
        return
    failure = CaptureFailure(error, call_site.place() or "a thread of the runtime")
    for failures in list(active.values()):
        failures.append(failure)


driver.on_failure = _note_failure
