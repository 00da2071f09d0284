# SPDX-License-Identifier: Apache-2.0
"""Graphs: work of streams that is captured once, and executed as one task as often as wanted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from ascend_rt import _capturing
from ascend_rt._driver import call, check, ffi, lib
from ascend_rt._resource import Resource
from ascend_rt.context import current_handle, home, switched
from ascend_rt.errors import AclError

if TYPE_CHECKING:
    from ascend_rt.enums import MdlRICaptureMode, MdlRITaskType
    from ascend_rt.stream import Stream

_GLOBAL = lib.ACL_MODEL_RI_CAPTURE_MODE_GLOBAL


class GraphTask(NamedTuple):
    """A task of a graph.

    Attributes
    ----------
    stream : int
        The number of the graph's stream that the task is in, from 0; 0 is the one that the capture was begun on.
    place : int
        Where in it the task is, from 0.
    type : MdlRITaskType
        What it is; DEFAULT is whatever has no type of its own, copies for instance.
    """

    stream: int
    place: int
    type: MdlRITaskType


class Graph(Resource):
    """Work that was captured by :meth:`Stream.capture`.

    Notes
    -----
    ``aclmdlRIDestroy``. 950, 910B, 910C, 310P. API reference 15. A graph keeps the functions, arguments and buffers
    alive that were submitted during its capture, also while launches go on after it was closed. Contents are read and
    written in each execution, not when they are captured.
    """

    __slots__ = ("_context", "_kept")
    _what = "graph"
    _context: Any
    _kept: _capturing.Keeper

    def launch(self, stream: Stream) -> None:
        """Execute the graph as one task of a stream.

        Executions of one graph come one after the other, also in several streams.

        Notes
        -----
        ``aclmdlRIExecuteAsync``; enqueues only.
        """
        check(lib.aclmdlRIExecuteAsync(self._handle, stream._handle), "aclmdlRIExecuteAsync")
        stream._in_flight.keep(self._kept)

    @property
    def id(self) -> int:
        """The runtime's number of the graph (``aclmdlRIGetId``)."""
        out = ffi.new("uint32_t *")
        call("aclmdlRIGetId", self._handle, out)
        return int(out[0])

    @property
    def tasks(self) -> list[GraphTask]:
        """The tasks in the order of each stream, with those of the runtime's own (``aclmdlRIGetTasksByStream``).

        950, 910B, 910C.
        """
        from ascend_rt.enums import MdlRITaskType

        tasks = []
        for number, stream in enumerate(_list("aclmdlRIGetStreams", "aclrtStream", self._handle)):
            for place, task in enumerate(_list("aclmdlRIGetTasksByStream", "aclmdlRITask", stream)):
                out = ffi.new("aclmdlRITaskType *")
                call("aclmdlRITaskGetType", task, out)
                tasks.append(GraphTask(number, place, MdlRITaskType(out[0])))
        return tasks

    def to_json(self, *, verbose: bool = False) -> str:
        """Return the tasks as the library prints them: events that ``chrome://tracing`` shows.

        ``aclmdlRIDebugJsonPrint``. With verbose, the library adds the tasks' parameters.
        """
        with TemporaryDirectory() as directory:
            path = Path(directory, "graph.json")
            call("aclmdlRIDebugJsonPrint", self._handle, str(path).encode(), int(verbose))
            return path.read_text(encoding="utf-8")

    def to_dot(self) -> str:
        """Return the tasks and their order in the language of Graphviz.

        The order between streams is known of graphs of the simulator alone.
        """
        lines = ["digraph {"]
        previous: dict[int, str] = {}
        for event in json.loads(self.to_json()):
            arguments = event["args"]
            name = _node(arguments["stream_id"], arguments["task_id"])
            lines.append(f'  {name} [label="{event["name"]}"];')
            before = previous.get(arguments["stream_id"])
            others = [_node(*arguments["after"])] if "after" in arguments else []
            lines += [f"  {other} -> {name};" for other in ([before] if before else []) + others]
            previous[arguments["stream_id"]] = name
        return "\n".join([*lines, "}"]) + "\n"

    def _destroy(self, handle: Any) -> None:
        code = lib.aclmdlRIDestroy(handle)
        if code in (lib.ACL_ERROR_RT_CONTEXT_NULL, lib.ACL_ERROR_RT_MODEL_CONTEXT):
            with switched(self._context):
                code = lib.aclmdlRIDestroy(handle)
        check(code, "aclmdlRIDestroy")


def _node(stream: int, task: int) -> str:
    return f"s{stream}_{task}"


def _list(function: str, item: str, of: Any) -> list[Any]:
    """Return what a function lists that fills an array and tells how much there is."""
    number = ffi.new("uint32_t *")
    call(function, of, ffi.NULL, number)
    array = ffi.new(f"{item}[]", max(number[0], 1))
    if number[0]:
        call(function, of, array, number)
    return list(array[0 : number[0]])


@contextmanager
def capture(stream: Stream, mode: MdlRICaptureMode | int = _GLOBAL) -> Iterator[Graph]:
    """Capture a stream for a block; see :meth:`Stream.capture`."""
    handle = stream._handle
    call("aclmdlRICaptureBegin", handle, int(mode))
    out = ffi.new("aclmdlRI *")
    graph = Graph.__new__(Graph)
    try:
        call("aclmdlRICaptureGetInfo", handle, ffi.NULL, out)
        graph._context = current_handle()
        graph._kept = _capturing.begin(out[0])
        graph._borrow(out[0])  # the capture's until it has ended
        yield graph
    except BaseException:
        if not lib.aclmdlRICaptureEnd(handle, out):
            lib.aclmdlRIDestroy(out[0])
        lib.aclGetRecentErrMsg()  # what is raised already is the cause
        _forget(graph)
        raise
    try:
        call("aclmdlRICaptureEnd", handle, out)
    except AclError:
        _forget(graph)
        raise
    _capturing.end(out[0])
    graph._own(out[0], home())


def _forget(graph: Graph) -> None:
    """Close a graph whose capture has failed, which has destroyed it."""
    handle = graph._take_handle()
    if handle is not None:
        _capturing.end(handle)
