# SPDX-License-Identifier: Apache-2.0
"""The simulator's reports of long waits, for programs that must know that another thread is inside a call.

``ASCEND_RT_SIM_STALL_MS`` must be small.
"""

from __future__ import annotations

import os
import select
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

_LOOK_S = 0.005


class Reports:
    """Capture standard error for a ``with`` block, and wait for reports."""

    def __enter__(self) -> Self:
        self._standard_error = os.dup(2)
        self._read, write = os.pipe()
        os.dup2(write, 2)
        os.close(write)
        self._text = ""
        return self

    def __exit__(self, *_: object) -> None:
        os.dup2(self._standard_error, 2)
        os.close(self._standard_error)
        os.close(self._read)

    def come(self, report: str, *, or_the_end_of: threading.Thread | None = None) -> bool:
        """Wait for a report, which is then forgotten; return False if the thread ends without it."""
        while True:
            is_over = or_the_end_of is not None and not or_the_end_of.is_alive()
            while select.select([self._read], [], [], 0 if is_over else _LOOK_S)[0]:
                self._text += os.read(self._read, 4096).decode()
            _, found, rest = self._text.partition(report)
            if found:
                self._text = rest
            if found or is_over:
                return bool(found)

    def forget(self) -> None:
        """Forget all reports so far."""
        while select.select([self._read], [], [], 0)[0]:
            os.read(self._read, 4096)
        self._text = ""
