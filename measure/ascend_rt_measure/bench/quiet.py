# SPDX-License-Identifier: Apache-2.0
"""Samples of quiet moments.

The same code takes up to twice as long while another thread, or another machine on the same host, uses the other half
of the core. Loads, multiplications and whole interpreters suffer from it, a chain of dependent instructions does not:
ratios of two benchmarks are wrong, too. A probe before and after each sample detects this.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from time import perf_counter

PATIENCE = 2.0  # seconds per benchmark and process that are spent on waiting for quiet moments
_LIMIT = 1.15  # times the fastest probe; a disturbed one is seen at 1.5 and more
_PROBES = 3000  # a third of a second, to know what a quiet moment is
_BYTES = bytes(range(256)) * 64


class Watch:
    """Take samples while nothing else uses the processor, as long as the patience lasts.

    Parameters
    ----------
    patience : float
        Seconds; with 0 a sample is taken as it comes.
    """

    def __init__(self, patience: float) -> None:
        self._fastest = min(map(_probe, range(_PROBES))) if patience else 0.0
        self._deadline = perf_counter() + patience

    def sample(self, timed: Callable[[], float]) -> float:
        """Return what the function returns, which has run in a quiet moment if there was one."""
        if not self._fastest:
            return timed()
        while True:
            self._wait()
            taken = timed()
            if self._is_quiet() or perf_counter() > self._deadline:
                return taken

    def _wait(self) -> None:
        while not self._is_quiet() and perf_counter() < self._deadline:
            time.sleep(0.001)

    def _is_quiet(self) -> bool:
        found = _probe(0)
        self._fastest = min(found, self._fastest)
        return found <= _LIMIT * self._fastest


def _probe(_: int) -> float:
    """Return how long a fixed piece of work takes, in seconds: loads, which share the core with others."""
    return min(map(_translate, range(3)))  # a timer may interrupt one of them


def _translate(_: int) -> float:
    begin = perf_counter()
    _BYTES.translate(_BYTES[:256])
    return perf_counter() - begin
