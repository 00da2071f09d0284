# SPDX-License-Identifier: Apache-2.0
"""Looking at libraries without trusting them: first their files, then, in a child process, the libraries themselves."""

from __future__ import annotations

import fcntl
import functools
import json
import os
import platform
import signal
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ascend_rt.backends import python_program
from ascend_rt.backends.cann import probe
from ascend_rt.backends.cann.places import NAMED, Candidate

_DEFAULT_SECONDS = 30.0
_NOT_FOUND = "not where the dynamic loader looks; give its directory too, or add that to LD_LIBRARY_PATH"
_CHECKED = "ASCEND_RT_SIM_CHECK_DIRECTORY"  # the child is not part of the program that is checked
_STUB_DIRECTORIES = ("devlib", "stub", "stubs")

# e_machine of the ELF header.
_MACHINES = {"x86_64": 62, "aarch64": 183, "arm64": 183}
_MACHINE_NAMES = {62: "x86_64", 183: "aarch64"}


@dataclass(frozen=True)
class Attempt:
    """The result of the search in one place.

    Attributes
    ----------
    path : str
        The library; of several that belong together, the first.
    source : str
        The step of the search that knows it.
    outcome : {"usable", "simulator", "refused", "absent"}
        ``"refused"`` is an installation that is broken, ``"absent"`` one that does not exist.
    verdict : str
        The same in words.
    """

    path: str
    source: str
    outcome: str
    verdict: str


def examine(candidate: Candidate) -> tuple[Candidate, Attempt]:
    """Return the libraries of a candidate that can be used, and what came of it."""
    faults = {path: fault for path in candidate.paths if (fault := look(path))}
    sound = tuple(path for path in candidate.paths if path not in faults)
    verdict, left_out = probe_in_child(sound) if sound else (faults[candidate.paths[0]], {})
    faults.update({path: why for path, why in left_out.items() if why != probe.ABSENT})
    used = tuple(path for path in sound if path not in left_out)
    if verdict == probe.USABLE and faults:
        verdict += "".join(f"; left out {path}: {fault}" for path, fault in faults.items())
    path = (used or candidate.paths)[0]
    if verdict == probe.ABSENT and candidate.source == NAMED:
        verdict = _NOT_FOUND
    return Candidate(used, candidate.source), Attempt(path, candidate.source, _outcome(path, verdict), verdict)


def _outcome(path: str, verdict: str) -> str:
    if verdict == probe.SIMULATOR:
        return "simulator"
    if verdict == probe.ABSENT and not os.path.dirname(path):
        return "absent"  # for the dynamic loader; a configured path or name should exist
    return "usable" if verdict.startswith(probe.USABLE) else "refused"


def look(path: str) -> str | None:
    """Return the fault of a file, as far as its name, its kind and its first bytes show it."""
    if not os.path.dirname(path):
        return None  # for the dynamic loader
    if any(part in _STUB_DIRECTORIES for part in Path(path).parts):
        return "in a directory of link-time stubs"
    try:
        # A FIFO would keep open() waiting.
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            return "a directory: name the library in it"
        if not stat.S_ISREG(mode):
            return "not a regular file"
        with open(path, "rb") as file:
            header = file.read(20)
    except FileNotFoundError:
        missing = [str(parent) for parent in Path(path).parents if not parent.exists()]
        return f"no such directory: {missing[-1]}" if missing else "no such file"
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return _look_at_elf(header) if sys.platform == "linux" else None


def _look_at_elf(header: bytes) -> str | None:
    if header[:4] != b"\x7fELF" or len(header) < 20:
        return "not a shared library"
    if header[4] != 2:
        return "a 32-bit library"
    machine = int.from_bytes(header[18:20], "little")
    if machine != _MACHINES.get(platform.machine(), machine):
        return f"for another machine type ({_MACHINE_NAMES.get(machine, machine)}, this is {platform.machine()})"
    return None


def cannot_open(path: str) -> str | None:
    """Return the fault of a library that need not be a runtime; None if it can be opened."""
    verdict, _ = probe_in_child((path,), "open")
    return None if verdict == probe.USABLE else verdict


@functools.cache
def probe_in_child(paths: tuple[str, ...], question: str = "devices") -> tuple[str, dict[str, str]]:
    """Open libraries in a child process, which may crash or hang, and ask them for their devices.

    Parameters
    ----------
    paths : tuple of str
        Libraries that belong together.
    question : {"devices", "open"}
        ``"open"`` does not ask.

    Returns
    -------
    str
        ``"usable"``, ``"the simulator"``, ``"not there"``, or what is wrong.
    dict
        What is wrong with those that cannot be opened.
    """
    seconds = _seconds()
    # A file, not a pipe: a process that the library leaves behind would hold a pipe open.
    with tempfile.TemporaryFile() as file:
        try:
            status = _run(question, paths, file, seconds)
        except subprocess.TimeoutExpired:
            return f"did not answer within {seconds:g} s", {}
        except FileNotFoundError as error:  # no program that runs Python
            return f"cannot be examined: {error}", {}
        file.seek(0)
        answer = file.read()
    if answer:
        verdict, left_out = json.loads(answer)
        return verdict, left_out
    if status < 0:
        return f"crashed with {signal.Signals(-status).name} when it was loaded", {}
    return f"ended the process that loaded it (exit status {status})", {}


def _run(question: str, paths: tuple[str, ...], file: IO[bytes], seconds: float) -> int:
    # If a standard file is closed, this one may have its number, which the child uses for the null device.
    answers = fcntl.fcntl(file.fileno(), fcntl.F_DUPFD_CLOEXEC, 3)
    command = [python_program(), "-I", "-S", probe.__file__, str(answers), question, *paths]
    null = subprocess.DEVNULL
    try:
        child = subprocess.run(
            command,
            env={name: value for name, value in os.environ.items() if name != _CHECKED},
            pass_fds=(answers,),
            stdin=null,
            stdout=null,
            stderr=null,
            timeout=seconds,
            check=False,
        )
    finally:
        os.close(answers)
    return child.returncode


def _seconds() -> float:
    text = os.environ.get("ASCEND_RT_PROBE_SECONDS") or str(_DEFAULT_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise ValueError(f"ASCEND_RT_PROBE_SECONDS={text} is not a number of seconds greater than 0")
    return seconds
