# SPDX-License-Identifier: Apache-2.0
"""Graphs: work that was captured from streams and can be launched any number of times."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

from ascend_rt._native.handles import Batch, GraphHandle
from ascend_rt._native.in_c import in_c
from ascend_rt._runtime.driver import address, call, check, failure, ffi, is_expected, lib, usable
from ascend_rt._runtime.names import encoded
from ascend_rt._runtime.resource import Resource
from ascend_rt.context import Context
from ascend_rt.errors import CaptureError

if TYPE_CHECKING:
    from ascend_rt._runtime.captures import CaptureFailure
    from ascend_rt.enums import MdlRITaskType
    from ascend_rt.kernel import Kernel
    from ascend_rt.memory import Buffer
    from ascend_rt.stream import Stream

__all__ = ["Graph", "GraphTask", "KernelChange", "ValueWait", "ValueWrite"]

CaptureMode = Literal["global", "thread_local", "relaxed"]
_LONGEST_NAME = 4096
_ANOTHER_CONTEXT = (lib.ACL_ERROR_RT_CONTEXT_NULL, lib.ACL_ERROR_RT_MODEL_CONTEXT)


class KernelChange(NamedTuple):
    """A change for :meth:`~ascend_rt.Graph.update`: the task of a kernel launches this kernel with these arguments.

    Examples
    --------
    >>> from ascend_rt import sim
    >>> from ascend_rt.graph import KernelChange
    >>> kernel = Binary(sim.device_object("scale")).kernel("scale", ["float32[]", "float32"])
    >>> change = KernelChange(kernel, 4, (Buffer(4096), 0.5))  # for graph.update({task: change})
    >>> change.blocks
    4
    """

    kernel: Kernel
    blocks: int
    arguments: tuple[Any, ...]


class ValueWrite(NamedTuple):
    """A change for :meth:`~ascend_rt.Graph.update`: the task writes 8 bytes of device memory.

    Examples
    --------
    >>> from ascend_rt.graph import ValueWrite
    >>> change = ValueWrite(Buffer(8), 7)  # for graph.update({task: change})
    >>> change.value
    7
    """

    memory: Buffer
    value: int


class ValueWait(NamedTuple):
    """A change for :meth:`~ascend_rt.Graph.update`: the task waits for a value in 8 bytes of device memory.

    The flag is an ``ACL_STREAM_WAIT_VALUE_…``.

    Examples
    --------
    >>> from ascend_rt.graph import ValueWait
    >>> change = ValueWait(Buffer(8), 7, lib.ACL_STREAM_WAIT_VALUE_EQ)  # for graph.update({task: change})
    >>> change.value
    7
    """

    memory: Buffer
    value: int
    flag: int = 0


Change = KernelChange | ValueWrite | ValueWait | None


@in_c
class Graph(Resource, GraphHandle):
    """A captured graph; :meth:`Stream.capture` returns it.

    Notes
    -----
    ``aclmdlRIDestroy`` when it is closed or discarded; executions in progress go on, and the objects that they use stay
    alive until they are done. 910B, 910C, 950, 310P. API reference 15.

    Examples
    --------
    >>> source, buffer = PinnedBuffer(64), Buffer(64)
    >>> with stream.capture() as graph:
    ...     copy_async(buffer, source, stream)
    >>> for value in (1, 2):
    ...     source[:] = value
    ...     graph.launch(stream)
    ...     stream.synchronize()
    >>> out = bytearray(64)
    >>> copy(out, buffer)
    >>> out == bytes([2]) * 64
    True
    """

    __slots__ = ()
    _captured: Batch  # operands of the tasks since the capture
    _changed: dict[int, tuple[object, ...]] | None  # operands of tasks that were changed, by their handles
    _submitted: dict[int, tuple[object, ...]] | None  # their successors from the next successful update on
    _context_address: int
    _what = "graph"
    _needs_context = True

    def _new_batch(self) -> Batch:
        """Return a batch for the executions from now on; those that were launched before have their own."""
        batch = Batch()
        batch.previous = self._captured
        return batch

    def launch(self, stream: Stream | None = None) -> None:
        """Execute the graph in the order of a stream; later work of the stream waits for it.

        It may be launched again before it is done, on any stream: the executions run one after the other.

        Parameters
        ----------
        stream : Stream, optional
            Default :meth:`Stream.current`.

        Raises
        ------
        AclError
            The graph was changed and :meth:`update` has not succeeded since (507011).

        Notes
        -----
        ``aclmdlRIExecuteAsync``; enqueues only.
        """

    # --- what is in it -----------------------------------------------------------------------------------------------

    @property
    def id(self) -> int:
        """The runtime's number of the graph (``aclmdlRIGetId``; 9.1 and newer)."""
        out = ffi.new("uint32_t *")
        call("aclmdlRIGetId", self._handle, out)
        return int(out[0])

    @property
    def name(self) -> str:
        """The name in profiles and logs (``aclmdlRIGetName``, ``aclmdlRISetName``); initially empty."""
        out = ffi.new("char[]", _LONGEST_NAME)
        call("aclmdlRIGetName", self._handle, len(out), out)
        return str(ffi.string(out).decode(errors="replace"))

    @name.setter
    def name(self, name: str) -> None:
        call("aclmdlRISetName", self._handle, encoded(name))

    @property
    def tasks(self) -> tuple[GraphTask, ...]:
        """The tasks, stream by stream, each in the stream's order; they include tasks that the runtime has added.

        ``aclmdlRIGetStreams``, ``aclmdlRIGetTasksByStream``; 910B, 910C, 950, from 9.1 on.
        """
        found = []
        for place, stream in enumerate(_listed("aclrtStream", "aclmdlRIGetStreams", self._handle)):
            for task in _listed("aclmdlRITask", "aclmdlRIGetTasksByStream", stream):
                found.append(GraphTask(self, task, place))
        return tuple(found)

    def to_json(self, *, verbose: bool = False) -> str:
        """Return the tasks as events of a chrome trace.

        Parameters
        ----------
        verbose : bool, default False
            Include the parameters of the tasks.

        Returns
        -------
        str
            A JSON array.

        Notes
        -----
        ``aclmdlRIDebugJsonPrint``, by a temporary file. 910B, 910C, 310P, 950.
        """
        import tempfile

        flags = lib.ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE if verbose else lib.ACL_MDLRI_DEBUG_JSON_PRINT_SUMMARY
        with tempfile.TemporaryDirectory(prefix="ascend_rt-") as directory:
            path = os.path.join(directory, "graph.json")
            call("aclmdlRIDebugJsonPrint", self._handle, os.fsencode(path), flags)
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read()

    def to_dot(self) -> str:
        """Return the graph in Graphviz's DOT language: a node for each task, an edge where a task follows another.

        The order between streams is shown as far as the library reports it; the simulator reports all of it.
        """
        import json

        return _dot(json.loads(self.to_json()))

    # --- changing it -------------------------------------------------------------------------------------------------

    def update(self, changes: Mapping[GraphTask, Change] | None = None) -> None:
        """Change tasks; the changes apply to executions from now on.

        Parameters
        ----------
        changes : mapping, optional
            The new work of each task: :class:`~ascend_rt.graph.KernelChange` for the task of a kernel;
            :class:`~ascend_rt.graph.ValueWrite` or :class:`~ascend_rt.graph.ValueWait` for any task except those that
            the runtime has added; None to disable the task.

        Raises
        ------
        NotSupported
            The device does not keep its queues in software; with the simulator, ``ASCEND_RT_SIM_SOFTWARE_QUEUES=1``
            makes it do so.
        AclError
            The graph is being executed (107040). After any other error it can only be closed.

        Notes
        -----
        ``aclmdlRITaskSetParams``, ``aclmdlRITaskDisable``, ``aclmdlRIUpdate``; 910B, 910C, 950, from 9.1 on. Two
        threads must not call it for the same graph at the same time.
        """
        changes = changes or {}
        for task in changes:
            if task.graph is not self:
                raise ValueError("the task belongs to another graph")
        self._handle  # noqa: B018  (a closed graph says so)
        submitted = self._submitted = self._submitted or {}
        for task, change in changes.items():
            parameters, used = (None, ()) if change is None else _parameters(change)
            submitted[task.handle] = used
            self._retained.objects.append(used)  # another thread may be about to launch the graph with this batch
            if parameters is None:
                call("aclmdlRITaskDisable", task._handle)
            else:
                call("aclmdlRITaskSetParams", task._handle, parameters)
        call("aclmdlRIUpdate", self._handle)
        self._changed = (self._changed or {}) | submitted
        self._submitted = None
        batch = self._new_batch()
        batch.objects.extend(self._changed.values())
        self._retained = batch

    def _destroy(self, handle: Any) -> None:
        code = self._give_back(lib.aclmdlRIDestroy)
        if is_expected(code, *_ANOTHER_CONTEXT):
            code = Context._at(self._context_address)._call(self._give_back, lib.aclmdlRIDestroy)
        if code:
            check(code, "aclmdlRIDestroy")
        self._captured = self._retained = Batch()  # executions in progress have separate ones
        self._changed = self._submitted = None

    def _close_elsewhere(self) -> None:
        """Close a graph that has ended, or whose context the thread does not have."""
        Resource.close(self)


class GraphTask:
    """A task of a graph; :attr:`Graph.tasks` returns them. Unusable after the graph is closed.

    Attributes
    ----------
    graph : Graph
        Kept alive by the task.
    stream : int
        The index of the graph's internal stream that has the task, from 0.

    Examples
    --------
    >>> with stream.capture() as graph:
    ...     stream.launch_host_func(print, "hello")
    >>> {task.stream for task in graph.tasks}
    {0}
    """

    __slots__ = ("_handle", "graph", "stream")

    def __init__(self, graph: Graph, handle: Any, stream: int) -> None:
        self.graph = graph
        self._handle = handle
        self.stream = stream

    @property
    def type(self) -> MdlRITaskType:
        """The kind of task; ``TASK_DEFAULT`` for tasks that cannot be changed (``aclmdlRITaskGetType``)."""
        from ascend_rt.enums import MdlRITaskType

        self.graph._handle  # noqa: B018  (a closed graph says so)
        out = ffi.new("aclmdlRITaskType *")
        call("aclmdlRITaskGetType", self._handle, out)
        return MdlRITaskType(out[0])

    @property
    def sequence_id(self) -> int:
        """The number of the task in its stream (``aclmdlRITaskGetSeqId``)."""
        self.graph._handle  # noqa: B018
        out = ffi.new("uint32_t *")
        call("aclmdlRITaskGetSeqId", self._handle, out)
        return int(out[0])

    @property
    def handle(self) -> int:
        """The runtime's handle as an integer."""
        return address(self._handle)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphTask) and self.handle == other.handle and self.graph is other.graph

    def __hash__(self) -> int:
        return hash(self.handle)

    def __repr__(self) -> str:
        return f"<ascend_rt.GraphTask {self.handle:#x} of {self.graph!r}>"


def _listed(element: str, function: str, owner: Any) -> list[Any]:
    """Return the items that a function lists, after a first call for their number."""
    number = ffi.new("uint32_t *")
    call(function, owner, ffi.NULL, number)
    found = ffi.new(f"{element}[]", number[0])
    if found:
        call(function, owner, found, number)
    return list(found)


def _parameters(change: KernelChange | ValueWrite | ValueWait) -> tuple[Any, tuple[Any, ...]]:
    """Return the parameters of a change in C, and the objects that must live as long as they are used."""
    parameters = ffi.new("aclmdlRITaskParams *")
    if isinstance(change, KernelChange):
        block = ffi.from_buffer("char[]", change.kernel._pack(change.arguments))
        parameters.type = lib.ACL_MODEL_RI_TASK_KERNEL
        kernel = parameters.kernelTaskParams
        kernel.funcHandle, kernel.numBlocks = change.kernel._function, change.blocks
        kernel.args, kernel.argsSize, kernel.isHostArgs = block, len(block), 1
        return parameters, (block, change)
    is_wait = isinstance(change, ValueWait)
    parameters.type = lib.ACL_MODEL_RI_TASK_VALUE_WAIT if is_wait else lib.ACL_MODEL_RI_TASK_VALUE_WRITE
    value = parameters.valueWaitTaskParams if is_wait else parameters.valueWriteTaskParams
    value.devAddr, value.value = ffi.cast("void *", change.memory.handle), change.value
    if isinstance(change, ValueWait):
        value.flag = change.flag
    return parameters, (change,)


def _dot(events: list[dict[str, Any]]) -> str:
    import json

    nodes, edges = [], []
    last: dict[Any, str] = {}  # by stream
    for event in events:
        if event.get("ph") != "X":
            continue
        about = event["args"]
        stream, task = about["stream_id"], about["task_id"]
        node = f"s{stream}_{task}"
        nodes.append(f"  {node} [label={json.dumps(event['name'])}];")
        if stream in last:
            edges.append(f"  {last[stream]} -> {node};")
        if "after" in about:
            edges.append(f"  s{about['after'][0]}_{about['after'][1]} -> {node};")
        last[stream] = node
    return "\n".join(["digraph graph_of_tasks {", *nodes, *edges, "}", ""])


# --- capturing -------------------------------------------------------------------------------------------------------


def _refuse_broken(code: int, failures: list[CaptureFailure]) -> NoReturn:
    """Raise the error of a capture that ended without a graph."""
    error = failure(code, "aclmdlRICaptureEnd")
    raise CaptureError(error.code, error.function, error.message, failures=tuple(failures))


def _give_up(stream: Stream) -> None:
    """End the capture after an exception, which is the error that the caller sees."""
    if not stream._is_open or not usable():
        return
    out = ffi.new("aclmdlRI *")
    if not is_expected(lib.aclmdlRICaptureEnd(stream._handle, out)):  # the block's exception says more
        is_expected(lib.aclmdlRIDestroy(out[0]))
