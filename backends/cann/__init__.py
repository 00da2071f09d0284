# SPDX-License-Identifier: Apache-2.0
"""Finding the vendor's library and checking it before it comes into this process.

The search is a list of steps; each yields the places it knows. A place is looked at with plain file operations first
and then opened in a child process, because a bad copy may crash or hang whoever loads it.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

WHERE_TO_LOOK = (
    "source the toolkit's set_env.sh (it sets ASCEND_HOME_PATH), or name the library in ASCEND_RT_LIBRARY, "
    "or choose the simulator with ASCEND_RT_BACKEND=sim"
)

# The historic umbrella library and the runtime's own, as newer releases split it.
NAMES = ("libascendcl.so", "libacl_rt.so")

_HOME_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_KNOWN_HOMES = (
    "/usr/local/Ascend/cann",
    "/usr/local/Ascend/ascend-toolkit/latest",
    "/usr/local/Ascend/latest",
    "~/Ascend/cann",
    "~/Ascend/ascend-toolkit/latest",
)
_SIMULATOR = "the simulator"  # what probe.py says of one
_PROBE = Path(__file__).with_name("probe.py")
_DEFAULT_PROBE_SECONDS = 30.0

# e_machine of the ELF header.
_MACHINES = {"x86_64": 62, "aarch64": 183, "arm64": 183}
_MACHINE_NAMES = {62: "x86_64", 183: "aarch64"}


@dataclass(frozen=True)
class Candidate:
    """A library and the step of the search that knows it; a bare file name is for the dynamic loader to find."""

    path: str
    source: str


@dataclass(frozen=True)
class Attempt:
    """What came of a place: ``is_there`` tells an installation that is broken from one that does not exist."""

    path: str
    source: str
    verdict: str
    is_there: bool = True


# Of a file name: the path of the library that is in the process under it, and whether that is the simulator.
InProcess = Callable[[str], "tuple[str, bool] | None"]


def find(in_process: InProcess, *, or_simulator: bool) -> tuple[Candidate | None, tuple[Attempt, ...]]:
    """Look for a usable library of the vendor.

    Parameters
    ----------
    in_process : callable
        Tells, of a file name, the path of the library that is in the process under it and whether that is the
        simulator; or None.
    or_simulator : bool
        Whether a simulator that stands in such a place, for instance on ``LD_LIBRARY_PATH``, may be the one.

    Returns
    -------
    Candidate or None
        The first that is usable.
    tuple of Attempt
        All places up to that one.
    """
    attempts: list[Attempt] = []
    for candidate, attempt in _examined(in_process):
        attempts.append(attempt)
        if attempt.verdict == "usable" or (or_simulator and attempt.verdict == _SIMULATOR):
            return candidate, tuple(attempts)
    return None, tuple(attempts)


# --- the steps of the search, in their order ------------------------------------------------------------------------


def _examined(in_process: InProcess) -> Iterator[tuple[Candidate, Attempt]]:
    for name in NAMES:
        if found := in_process(name):
            path, is_simulator = found
            candidate = Candidate(path, "already in the process")
            # No probe: the process is using it.
            yield (
                candidate,
                Attempt(candidate.path, candidate.source, _SIMULATOR if is_simulator else "usable", not is_simulator),
            )
    for candidate in _candidates():
        yield candidate, _examine(candidate)


def _candidates() -> Iterator[Candidate]:
    if explicit := os.environ.get("ASCEND_RT_LIBRARY"):
        yield Candidate(explicit, "ASCEND_RT_LIBRARY")
        return  # who names a library wants that one and no other
    for variable in _HOME_VARIABLES:
        if home := os.environ.get(variable):
            yield from _in_home(home, variable)
    for home in _KNOWN_HOMES:
        if (directory := Path(home).expanduser()).is_dir():
            yield from _in_home(str(directory), "a known directory")
    for name in NAMES:
        yield Candidate(name, "the dynamic loader")


def _in_home(home: str, source: str) -> Iterator[Candidate]:
    directories = (Path(home, "lib64"), Path(home, f"{platform.machine()}-linux", "lib64"))
    there = [str(d / name) for d in directories for name in NAMES if (d / name).exists()]
    yield from (Candidate(path, source) for path in there or [str(directories[0] / NAMES[0])])


# --- looking at a place ----------------------------------------------------------------------------------------------


def _examine(candidate: Candidate) -> Attempt:
    is_for_loader = os.sep not in candidate.path
    verdict = (None if is_for_loader else _look(Path(candidate.path))) or probe(candidate.path)
    is_there = verdict != _SIMULATOR and not (is_for_loader and verdict == "not there")
    return Attempt(candidate.path, candidate.source, verdict, is_there)


def _look(path: Path) -> str | None:
    """Tell what is wrong with a file, as far as its name and first bytes say."""
    if any(part in ("devlib", "stub", "stubs") for part in path.parts):
        return "a link-time stub directory"
    try:
        with path.open("rb") as file:
            header = file.read(20)
    except OSError as error:
        return (error.strerror or str(error)).lower()
    if sys.platform == "linux":
        return _look_at_elf(header)
    return None


def _look_at_elf(header: bytes) -> str | None:
    if header[:4] != b"\x7fELF" or len(header) < 20:
        return "not a shared library"
    if header[4] != 2:
        return "a 32-bit library"
    machine = int.from_bytes(header[18:20], "little")
    if machine != _MACHINES.get(platform.machine(), machine):
        return f"for another machine type ({_MACHINE_NAMES.get(machine, machine)}, this is {platform.machine()})"
    return None


@functools.cache
def probe(path: str) -> str:
    """Open a library in a child process, ask for its devices, and say ``"usable"`` or what is wrong."""
    seconds = _probe_seconds()
    # A file, not a pipe: a process that the library leaves behind would hold a pipe open.
    with tempfile.TemporaryFile() as file:
        command = [sys.executable, "-I", "-S", str(_PROBE), path, str(file.fileno())]
        null = subprocess.DEVNULL
        try:
            child = subprocess.run(
                command, pass_fds=(file.fileno(),), stdin=null, stdout=null, stderr=null, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return f"did not answer within {seconds:g} s"
        file.seek(0)
        answer = file.read()
    if answer:
        return str(json.loads(answer))
    if child.returncode < 0:
        return f"crashed with {signal.Signals(-child.returncode).name} when it was loaded"
    return f"ended the process that loaded it (exit status {child.returncode})"


def _probe_seconds() -> float:
    text = os.environ.get("ASCEND_RT_PROBE_SECONDS") or str(_DEFAULT_PROBE_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise ValueError(f"ASCEND_RT_PROBE_SECONDS={text}: the time limit is a number of seconds above 0")
    return seconds
