# SPDX-License-Identifier: Apache-2.0
"""Programs in processes of their own: a library that crashes or hangs ends none but one of them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

_SECONDS_TO_DIE = 10.0  # a process that is killed inside the driver may take long to end


_running: set[subprocess.Popen[str]] = set()


@dataclass(frozen=True)
class Outcome:
    """What a child has printed, and how it ended.

    ``state`` is ``"done"``, ``"crashed"``, ``"hung"`` (it was killed after its time limit) or ``"failed"``: it ended by
    itself with an error, which ``errors`` tells. ``detail`` is the name of the signal of a crash, or the kind of the
    error, whose text may have names in it.
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
        Its name in ``ascend_rt.verify``.
    arguments : sequence of str
        Its command line.
    environment : mapping
        All of its environment.
    seconds : float
        How long it may take.
    given : object, optional
        What it reads as JSON from its standard input.
    """
    command = [sys.executable, "-m", f"ascend_rt.verify.{module}", *arguments]
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment,
        start_new_session=True,  # so that all that it starts can be killed with it
    )
    _running.add(child)
    try:
        output, errors = child.communicate(json.dumps(given), seconds)
        hung = False
    except subprocess.TimeoutExpired:
        output, errors = _kill(child)
        hung = True
    except BaseException:  # such as Ctrl-C
        _kill(child)
        raise
    finally:
        _running.discard(child)
    lines = [json.loads(line) for line in output.splitlines(keepends=True) if line.endswith("\n")]
    if hung:
        return Outcome("hung", lines)
    if child.returncode < 0:
        return Outcome("crashed", lines, signal.Signals(-child.returncode).name)
    if child.returncode > 0:
        last = (errors.strip().splitlines() or [""])[-1]
        return Outcome("failed", lines, last.partition(":")[0], errors)
    return Outcome("done", lines)


def kill_all() -> None:
    """End all children, those of other threads too."""
    for child in tuple(_running):
        _signal(child)


def results() -> IO[str]:
    """In the child: return standard output, for the lines alone; what others print there goes to standard error."""
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return out


def _kill(child: subprocess.Popen[str]) -> tuple[str, str]:
    """End a child and all that it has started; return what it had printed."""
    _signal(child)
    try:
        return child.communicate(timeout=_SECONDS_TO_DIE)
    except subprocess.TimeoutExpired as error:
        return _text(error.stdout), _text(error.stderr)


def _signal(child: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _text(output: bytes | str | None) -> str:
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""
