# SPDX-License-Identifier: Apache-2.0
"""An event that holds streams, also in models, which a latch cannot: it opens and shuts again."""

from __future__ import annotations

from typing import Any

from support.codes import OK


class Gate:
    """An event with a bit that lets waits pass while it is set."""

    def __init__(self, lib: Any, ffi: Any) -> None:
        self._lib, self._null = lib, ffi.NULL
        out = ffi.new("aclrtEvent *")
        assert lib.aclrtCreateEventWithFlag(out, lib.ACL_EVENT_SYNC) == OK
        self.handle = out[0]

    def hold(self, stream: Any) -> None:
        """Submit a wait."""
        assert self._lib.aclrtStreamWaitEvent(stream, self.handle) == OK

    def open(self) -> None:
        """Let waits pass."""
        assert self._lib.aclrtRecordEvent(self.handle, self._null) == OK

    def shut(self) -> None:
        """Hold them again."""
        assert self._lib.aclrtResetEvent(self.handle, self._null) == OK
        assert self._lib.aclrtSynchronizeStream(self._null) == OK
