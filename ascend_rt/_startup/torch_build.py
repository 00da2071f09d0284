# SPDX-License-Identifier: Apache-2.0
"""Builds of C++ sources for the installed torch: each is made when it is first needed, and cached.

torch's C++ interface differs from release to release, and its types are those of the compiler's C++ library, so the
package cannot include compiled versions.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from ascend_rt.errors import LibraryError


def library(name: str, inputs: Iterable[str | Path], build: Callable[[Path], Path]) -> Path:
    """Return a library's path, after building it unless that was done before with the same inputs.

    Parameters
    ----------
    name : str
        What its file begins with.
    inputs : iterable of str and Path
        What it depends on beside the compiler: texts, and files with their contents.
    build : callable
        Is given an empty directory and returns the path of the library there.

    Raises
    ------
    LibraryError
        There is no compiler, or it fails.
    """
    known = hashlib.sha256(f"{compiler()}".encode())
    for each in inputs:
        known.update(each.encode() if isinstance(each, str) else each.name.encode() + each.read_bytes())
    path = _directory() / f"{name}-{known.hexdigest()[:16]}.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_suffix(".lock").open("w") as lock:
            _lock(lock)
            if not path.exists():
                with tempfile.TemporaryDirectory(dir=path.parent) as directory:
                    os.replace(build(Path(directory)), path)  # at once: other processes may look for it
    return path


def compiler() -> list[str]:
    """Return the command of the C++ compiler, from the variable CXX.

    Raises
    ------
    LibraryError
        There is none.
    """
    command = shlex.split(os.environ.get("CXX", "c++"))
    if not command or shutil.which(command[0]) is None:
        raise LibraryError(
            f"no C++ compiler {command[0] if command else ''!r}, which builds the operators for torch; install one, or "
            "name it in the variable CXX"
        )
    return command


def run(command: list[str]) -> None:
    """Run a command of a build.

    Raises
    ------
    LibraryError
        It fails; with its output.
    """
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise LibraryError(
            "the C++ part for torch cannot be built; the variable CXX can name another compiler. "
            f"Status {done.returncode} of {shlex.join(command)}:\n{done.stderr}"
        )


def say(text: str) -> None:
    """Print a line about a build that takes long."""
    print(f"ascend_rt.torch: {text}", file=sys.stderr, flush=True)


def _lock(file: IO[str]) -> None:
    """Let one of several processes that begin together build."""
    # The lock belongs to the process: that of flock would stay with a forked child, which has the open file too, and
    # would wait for itself.
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        say("waiting for another process that compiles the operators")
        fcntl.lockf(file, fcntl.LOCK_EX)


def _directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "ascend_rt" / "torch"
