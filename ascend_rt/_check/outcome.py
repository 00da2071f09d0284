# SPDX-License-Identifier: Apache-2.0
"""The result of a check: how the program ended, what was found, and the exit status that follows."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ascend_rt._check.findings import Findings

CLEAN, FOUND, FAILED, UNABLE = range(4)
"""Exit statuses. A program that failed has not shown all of its behaviour, so ``FAILED`` precedes ``FOUND``."""


_AT_DEADLOCK = 86  # the status of a process that the simulator has ended at a deadlock


class Program(NamedTuple):
    """A program that has ended."""

    command: Sequence[str]
    returncode: int  # negative: the signal that ended it

    @property
    def ending(self) -> str:
        """How it failed, for people; "" if it did not."""
        if self.returncode == 0:
            return ""
        if self.returncode > 0:
            return f"the program failed with status {self.returncode}"
        known = {int(each): each.name for each in signal.Signals}
        return f"the program was ended by {known.get(-self.returncode, f'signal {-self.returncode}')}"


@dataclass(frozen=True)
class Outcome:
    """The contents of a report."""

    program: Program
    found: Findings
    shows_hints: bool = False

    @property
    def ended_at_deadlock(self) -> bool:
        """True if the check has ended the program, and not the program itself."""
        found = self.found.findings + self.found.ignored
        return self.program.returncode == _AT_DEADLOCK and any(each.kind == "deadlock" for each in found)

    @property
    def status(self) -> int:
        """The exit status."""
        if self.program.returncode and not self.ended_at_deadlock:
            return FAILED
        return FOUND if self.found.findings else CLEAN

    @property
    def remarks(self) -> list[str]:
        """Sentences about the check as a whole."""
        remarks = list(self.found.notes)
        if self.ended_at_deadlock:
            remarks.append("the check ended the program at the deadlock; findings of its rest are missing")
        elif self.program.ending:
            remarks.append(f"{self.program.ending}; findings of its rest are missing")
        elif self.found.unfinished:
            count = self.found.unfinished
            processes = "1 process" if count == 1 else f"{count} processes"
            remarks.append(f"{processes} ended without the usual steps; all that was found before is here")
        if not self.found.processes:
            remarks.append("the program did not use the runtime, so there was nothing to check")
        return remarks
