# SPDX-License-Identifier: Apache-2.0
"""Captured graphs through the C functions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.codes import OK

from ascend_rt import Stream

GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
SYNC = 1  # the flag of an event that can be captured


class Graph:
    """A capture, and the graph that comes of it."""

    def __init__(self, lib: Any, ffi: Any) -> None:
        self._lib, self._ffi = lib, ffi
        self._streams: list[Stream] = []
        self._kept: list[Any] = []
        self.handle = ffi.NULL

    def stream(self) -> Any:
        """Return a new stream, as the C functions take it."""
        self._streams.append(Stream())
        return self._ffi.cast("aclrtStream", self._streams[-1].handle)

    def event(self) -> Any:
        """Return a new event that can be captured."""
        out = self._ffi.new("aclrtEvent *")
        assert self._lib.aclrtCreateEventExWithFlag(out, SYNC) == OK
        self._kept.append(out)
        return out[0]

    def call(self, stream: Any, function: Callable[[], object]) -> None:
        """Submit a host function."""

        @self._ffi.callback("void(void *)")
        def entry(_: Any) -> None:
            function()

        self._kept.append(entry)
        assert self._lib.aclrtLaunchHostFunc(stream, entry, self._ffi.NULL) == OK

    def begin(self, stream: Any, mode: int = RELAXED) -> None:
        """Capture the stream."""
        assert self._lib.aclmdlRICaptureBegin(stream, mode) == OK

    def order(self, first: Any, then: Any) -> Any:
        """Let a stream wait for another one; return the event."""
        event = self.event()
        assert self._lib.aclrtRecordEvent(event, first) == OK
        assert self._lib.aclrtStreamWaitEvent(then, event) == OK
        return event

    def end(self, stream: Any) -> int:
        """End the capture; return its code."""
        out = self._ffi.new("aclmdlRI *")
        code = int(self._lib.aclmdlRICaptureEnd(stream, out))
        self.handle = out[0]
        return code

    def launch(self, stream: Any) -> int:
        """Execute in a stream."""
        return int(self._lib.aclmdlRIExecuteAsync(self.handle, self._ffi.cast("aclrtStream", stream.handle)))

    def destroy(self) -> int:
        """Destroy the graph."""
        return int(self._lib.aclmdlRIDestroy(self.handle))

    def streams(self) -> list[Any]:
        """Return its hidden streams."""
        number = self._ffi.new("uint32_t *", 64)
        found = self._ffi.new("aclrtStream[64]")
        assert self._lib.aclmdlRIGetStreams(self.handle, found, number) == OK
        return list(found[0 : number[0]])

    def types(self, stream: Any) -> list[int]:
        """Return the types of the tasks of a hidden stream."""
        number = self._ffi.new("uint32_t *", 10000)
        found = self._ffi.new("aclmdlRITask[10000]")
        assert self._lib.aclmdlRIGetTasksByStream(stream, found, number) == OK
        types = []
        for task in found[0 : number[0]]:
            out = self._ffi.new("aclmdlRITaskType *")
            assert self._lib.aclmdlRITaskGetType(task, out) == OK
            types.append(int(out[0]))
        return types

    def printed(self, path: Path, verbose: bool = False) -> list[Any]:
        """Return what it prints."""
        assert self._lib.aclmdlRIDebugJsonPrint(self.handle, str(path).encode(), int(verbose)) == OK
        events: list[Any] = json.loads(path.read_text(encoding="utf-8"))
        return events

    def close(self) -> None:
        """Destroy the streams; the graph may be gone, or stay."""
        for stream in self._streams:
            stream.close()
