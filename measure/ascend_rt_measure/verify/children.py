# SPDX-License-Identifier: Apache-2.0
"""Programs in separate processes: a library that crashes or hangs ends only one of them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from ascend_rt.backends import python_program
from ascend_rt_measure.verify.strict_json import dumps, loads

_SECONDS_TO_DIE = 10.0  # a process that is killed inside the driver may take long to end
# A child finds modules where this process does: with -m it would look into the working directory first. It ends with
# the thread that waits for it, which may be killed (prctl, PR_SET_PDEATHSIG).
_PROGRAM = """
import sys
sys.path = {path}
import ctypes, os, runpy, signal
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() == {parent}:
    runpy.run_module({module!r}, run_name='__main__', alter_sys=True)
"""
_EXCEPTION = re.compile(r"[\w.]*(Error|Exception)")  # Python's, in the last line that a child prints

_running: set[subprocess.Popen[bytes]] = set()


@dataclass(frozen=True)
class Outcome:
    """The output of a child, and how it ended.

    ``state`` is ``"done"``, ``"crashed"``, ``"hung"`` (it was killed after its time limit) or ``"failed"``: it ended by
    itself with an error, which is in ``errors``. ``detail`` is the name of the signal of a crash, or the kind of the
    error: its text, and what else the library prints, may have names in it.
    """

    state: str
    lines: list[Any]
    detail: str = ""
    errors: str = ""


def run(
    module: str, arguments: Sequence[str], environment: Mapping[str, str], seconds: float, given: Any = None
) -> Outcome:
    """Run a module of this package, which prints lines of JSON, and wait for it.

    Parameters
    ----------
    module : str
        Its name in ``ascend_rt_measure.verify``.
    arguments : sequence of str
        Its command line.
    environment : mapping
        All of its environment.
    seconds : float
        How long it may take.
    given : object, optional
        What it reads as JSON from its standard input.
    """
    program = _PROGRAM.format(path=sys.path, parent=os.getpid(), module=f"ascend_rt_measure.verify.{module}")
    # Files, because at the other end of a pipe may be a process that the library has begun, and that does not end.
    with tempfile.TemporaryFile() as rows, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        rows.write(dumps(given).encode())
        rows.seek(0)
        child = subprocess.Popen(
            [python_program(), "-c", program, *arguments],
            stdin=rows,
            stdout=output,
            stderr=errors,
            env=environment,
            start_new_session=True,  # so that all that it starts can be killed with it
        )
        _running.add(child)
        hung = False
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            hung = True
        finally:  # also after Ctrl-C
            _running.discard(child)
            _kill(child)
        lines = list(_parsed(_content(output)))
        text = _content(errors)
    if hung:
        return Outcome("hung", lines)
    if child.returncode < 0:
        return Outcome("crashed", lines, _signal_name(-child.returncode))
    if child.returncode > 0:
        kind = text.strip().rpartition("\n")[2].partition(":")[0]
        return Outcome("failed", lines, kind if _EXCEPTION.fullmatch(kind) else f"status {child.returncode}", text)
    return Outcome("done", lines)


def kill_all() -> None:
    """End all children, those of other threads too."""
    for child in tuple(_running):
        _kill_group(child)


def results() -> IO[str]:
    """In the child: return standard output, for the lines alone; other output to it goes to standard error."""
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return out


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End a child, if it has not ended, and all that it has started."""
    _kill_group(child)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(_SECONDS_TO_DIE)


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _parsed(output: str) -> Iterator[Any]:
    """Yield what was printed, up to a line that is not whole or not of the child's making."""
    for line in output.split("\n")[:-1]:
        try:
            yield loads(line)
        except ValueError:
            return


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most of those for real time have no name
        return f"signal {number}"
