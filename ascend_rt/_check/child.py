# SPDX-License-Identifier: Apache-2.0
"""The program that is checked, as a child process that gets the signals."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

_FORWARDED = (signal.SIGTERM, signal.SIGHUP)


class _Signals:
    """Lets signals end the program and not this process, which still has to report.

    A terminal sends Ctrl-C to both, so this process only survives it. Handlers do not pass to the program, whereas a
    signal that is ignored, as below ``nohup``, is ignored there too.
    """

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []

    def started(self, process: subprocess.Popen[bytes]) -> None:
        """Forward the signals that came before the program was there."""
        self.process = process
        for number in self._early:
            process.send_signal(number)

    def forward(self, number: int, _: FrameType | None) -> None:
        """Handle a signal to this process alone."""
        if self.process is None:
            self._early.append(number)
        else:
            self.process.send_signal(number)

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Have the handlers in a block."""
        handlers = {signal.SIGINT: lambda *_: None, **dict.fromkeys(_FORWARDED, self.forward)}
        former = {number: signal.getsignal(number) for number in handlers}
        changed = [number for number in handlers if former[number] is not signal.SIG_IGN]
        for number in changed:
            signal.signal(number, handlers[number])
        try:
            yield
        finally:
            for number in changed:
                signal.signal(number, former[number])


def run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a program to its end, with the standard files of this process.

    Returns
    -------
    int
        Its exit status; negative: the signal that ended it.

    Raises
    ------
    OSError
        It cannot be started.
    """
    signals = _Signals()
    with signals.handled():
        process = subprocess.Popen(command, env=environment)
        signals.started(process)
        return process.wait()
