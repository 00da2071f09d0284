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
    def status(self) -> int:
        """The exit status."""
        if self.program.returncode:
            return FAILED
        return FOUND if self.found.findings else CLEAN

    @property
    def remarks(self) -> list[str]:
        """Sentences about the check as a whole."""
        remarks = list(self.found.notes)
        if self.program.ending:
            remarks.append(f"{self.program.ending}; findings of its rest are missing")
        elif self.found.unfinished:
            count = self.found.unfinished
            processes = "1 process" if count == 1 else f"{count} processes"
            remarks.append(f"{processes} ended without the usual steps; all that was found before is here")
        if not self.found.processes:
            remarks.append("the program did not use the runtime, so there was nothing to check")
        return remarks
