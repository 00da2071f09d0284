# SPDX-License-Identifier: Apache-2.0
"""Programs that start quickly: a process that has imported what they need forks for each of them.

Importing takes most of the time of a short program. The package is not used before the fork, so that every program
chooses, loads and gives back the library by itself. Only a process with one thread forks safely, so numpy gets no more.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_WRITTEN = (".out", ".err")  # beside the script


@dataclass(frozen=True)
class Ended:
    """How a program has ended: its number and status, and what it wrote."""

    pid: int
    status: int
    output: str
    errors: str


class Programs:
    """The process that forks; it starts with the first program.

    Parameters
    ----------
    *modules : str
        What the process imports before it forks.
    directory : Path, optional
        Where the process and its programs run, and find modules; without it each program does in that of its script.
    """

    def __init__(self, *modules: str, directory: Path | None = None) -> None:
        self._modules, self._directory = modules, directory
        self._server: subprocess.Popen[str] | None = None

    def run(
        self, script: Path, variables: Mapping[str, str] | None = None, *arguments: str, standard_input: str = ""
    ) -> Ended:
        """Run a script with more environment variables."""
        if self._server is None:
            command = [sys.executable, __file__, *self._modules]
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
            self._server = subprocess.Popen(
                command, stdin=-1, stdout=-1, text=True, env=environment, cwd=self._directory, start_new_session=True
            )
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        job = {
            "script": str(script),
            "directory": str(self._directory or script.parent),
            "arguments": arguments,
            "environment": os.environ | (variables or {}),
            "input": standard_input,
        }
        try:
            print(json.dumps(job), file=self._server.stdin, flush=True)
            pid, status = map(int, self._server.stdout.readline().split())
        except BaseException:  # a time limit, for instance: the program may still run
            self.close()
            raise
        output, errors = (
            script.with_suffix(suffix).read_text(encoding="utf-8", errors="backslashreplace") for suffix in _WRITTEN
        )
        return Ended(pid, status, output, errors)

    def close(self) -> None:
        """End the process, and a program that may still run."""
        if self._server is not None:
            os.killpg(self._server.pid, signal.SIGKILL)
            self._server.wait()
            self._server = None


def _end_with_parent() -> None:
    """Let the kernel kill this process when its parent ends, be it by a signal: a program may hang."""
    if sys.platform == "linux":
        set_signal_of_parents_death = 1
        ctypes.CDLL(None).prctl(set_signal_of_parents_death, signal.SIGKILL)


def _next_job() -> dict[str, Any] | None:
    """Return a job in a child for each line, and in the parent None at the end."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _end_with_parent()
            return dict(json.loads(line))
        print(child, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    return None


def _become(job: dict[str, Any]) -> None:
    os.environ.clear()
    os.environ.update(job["environment"])
    os.chdir(job["directory"])
    script = Path(job["script"])
    with tempfile.TemporaryFile() as given:
        given.write(job["input"].encode())
        given.seek(0)
        os.dup2(given.fileno(), 0)
    for number, suffix in enumerate(_WRITTEN, 1):
        with script.with_suffix(suffix).open("wb") as written:
            os.dup2(written.fileno(), number)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115  (the other one has read lines of more jobs)
    sys.argv[:] = [str(script), *job["arguments"]]
    sys.path[0] = job["directory"]
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    _end_with_parent()
    del sys.path[0]  # its neighbours are not modules of the programs
    sys.path.insert(0, "")
    for name in sys.argv[1:]:
        importlib.import_module(name)
    gc.freeze()  # no program looks through what is imported, and copies its pages
    found = _next_job()
    if found is not None:
        _become(found)  # and end as every program does
