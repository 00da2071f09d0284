# SPDX-License-Identifier: Apache-2.0
"""The checks of the simulator in tests: findings that a test causes make it fail."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ascend_rt._check import words
from ascend_rt._check.findings import Finding, Findings, merge
from ascend_rt._check.frames import innermost
from ascend_rt._check.ignores import KINDS, comments, separate
from ascend_rt._check.reading import read_file
from ascend_rt._runtime import driver
from ascend_rt._startup import host_threads

_CHECKS = "ASCEND_RT_SIM_CHECK"
_DIRECTORY = "ASCEND_RT_SIM_CHECK_DIRECTORY"
_KNOWN = ("races", "deadlocks", "memory")
_LONGEST_WAIT = 10  # seconds, for the devices after a test
_WAIT_WITH_DEADLOCK = 0.2  # the tasks that a deadlock holds up never end; this is for the others


def checks_in(text: str) -> tuple[str, ...]:
    """Return the names in a list with commas.

    Parameters
    ----------
    text : str
        Names of checks, separated by commas.

    Returns
    -------
    tuple of str
        The names.

    Raises
    ------
    ValueError
        One is not a check.
    """
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in _KNOWN:
            raise ValueError(f"'{name}' is not a check; the checks are {', '.join(_KNOWN)}")
    return names


def turn_on(checks: tuple[str, ...]) -> tempfile.TemporaryDirectory[str] | None:
    """Turn checks on for this process and those that it starts; return the directory if it was created for them.

    Raises
    ------
    ValueError
        It is too late: the library reads the environment when it is loaded.
    """
    on = list(filter(None, os.environ.get(_CHECKS, "").split(",")))
    missing = [check for check in checks if check not in on]
    if missing and driver._opened is not None:
        raise ValueError(f"the runtime was used before; run pytest with --ascend-check={','.join(missing)}")
    os.environ[_CHECKS] = ",".join([*on, *missing])
    if "races" in checks:
        host_threads.install()
    os.environ["ASCEND_RT_CHECK_EVERY_USE"] = "1"  # a test may cause what an earlier one has caused
    os.environ.setdefault("ASCEND_RT_SIM_DEADLOCK", "fail")  # else a deadlock ends the process, with all further tests
    if os.environ.get(_DIRECTORY):  # set by ascend-rt check, or by the process that started this one
        return None
    directory = tempfile.TemporaryDirectory(prefix="ascend_rt-check-", ignore_cleanup_errors=True)
    os.environ[_DIRECTORY] = directory.name
    return directory


class Watch:
    """The findings of this process from now on.

    Parameters
    ----------
    checks : tuple of str
        The checks whose findings count.
    """

    def __init__(self, checks: tuple[str, ...]) -> None:
        self._kinds = {kind for kind, check in KINDS.items() if check in checks}
        self._file = Path(os.environ[_DIRECTORY], f"{os.getpid()}.jsonl")
        self._size = 0
        self._found: list[Finding] = []
        self._before = _counts(self._read())

    def _read(self) -> list[Finding]:
        if driver._opened is not None and driver.supports("aclsimWriteCounts"):
            driver.call("aclsimWriteCounts")  # a test may cause what an earlier one has caused
        size = self._file.stat().st_size if self._file.exists() else 0
        if size != self._size:
            self._size, self._found = size, read_file(self._file)
        return self._found

    def new(self) -> list[Finding]:
        """Return the findings since the last call that no comment ignores, after the devices have done their work."""
        held_up = any(each.kind == "deadlock" for each in self._read())
        _synchronize(_WAIT_WITH_DEADLOCK if held_up else _LONGEST_WAIT)
        everything = self._read()
        before, self._before = self._before, _counts(everything)
        new = [each for each in everything if each.kind in self._kinds and each.count > before.get(_key(each), 0)]
        found = Findings(merge(new))
        files = {frame.file for each in new for frame in map(innermost, each.places) if frame is not None}
        separate(found, [comment for file in files for comment in comments(file)])
        return found.findings


def _key(finding: Finding) -> object:
    return finding.kind, finding.sort, finding.places


def _counts(found: list[Finding]) -> dict[object, int]:
    return {_key(each): each.count for each in found}


def _synchronize(limit: float) -> None:
    """Wait for the devices that were used: a finding may follow from a task that is not done."""
    if "ascend_rt.device" not in sys.modules:
        return
    from ascend_rt._runtime import lifecycle
    from ascend_rt.device import Device
    from ascend_rt.errors import AscendError

    for number in sorted(number for number in lifecycle.owners if number >= 0):
        with _left_to_test(AscendError):
            Device(number).synchronize(timeout=limit)


@contextmanager
def _left_to_test(error: type[Exception]) -> Iterator[None]:
    """Leave failed tasks and lost devices to the test itself, whose waits report them."""
    try:
        yield
    except error:
        return


def text_of(found: list[Finding]) -> str:
    """Return findings as text."""
    return "\n\n".join("\n".join(words.lines(each)) for each in found)
