# SPDX-License-Identifier: Apache-2.0
"""Models that are built by binding streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.codes import OK

HEAD, ACTIVATED = 0, 0x7FFFFFFF  # flags of a bound stream
PERSISTENT = 4  # a flag of a stream


class Model:
    """A model of two streams that are destroyed with it."""

    def __init__(self, lib: Any, ffi: Any, flags: tuple[int, ...] = (HEAD, HEAD)) -> None:
        self._lib, self._ffi = lib, ffi
        self.handle = self._new("aclmdlRI *", lib.aclmdlRIBuildBegin, 0)
        self.streams = [self._new("aclrtStream *", lib.aclrtCreateStreamWithConfig, 0, PERSISTENT) for _ in flags]
        for stream, flag in zip(self.streams, flags, strict=True):
            assert lib.aclmdlRIBindStream(self.handle, stream, flag) == OK
        self._functions: list[Any] = []

    def _new(self, out_type: str, create: Any, *arguments: int) -> Any:
        out = self._ffi.new(out_type)
        assert create(out, *arguments) == OK
        return out[0]

    def call(self, stream: int, function: Callable[[], object]) -> None:
        """Submit a host function."""

        @self._ffi.callback("void(void *)")
        def entry(_: Any) -> None:
            function()

        self._functions.append(entry)
        assert self._lib.aclrtLaunchHostFunc(self.streams[stream], entry, self._ffi.NULL) == OK

    def build(self, end: int = 0) -> None:
        """Put the end task into a stream, and build."""
        assert self._lib.aclmdlRIEndTask(self.handle, self.streams[end]) == OK
        assert self._lib.aclmdlRIBuildEnd(self.handle, self._ffi.NULL) == OK

    def execute(self, timeout_ms: int = -1) -> int:
        """Execute, and wait."""
        return int(self._lib.aclmdlRIExecute(self.handle, timeout_ms))

    def launch(self, stream: Any) -> int:
        """Execute in a stream."""
        return int(self._lib.aclmdlRIExecuteAsync(self.handle, self._ffi.cast("aclrtStream", stream.handle)))

    def close(self) -> None:
        """Destroy everything."""
        assert self._lib.aclmdlRIDestroy(self.handle) == OK
        assert [self._lib.aclrtDestroyStream(stream) for stream in self.streams] == [OK] * len(self.streams)
