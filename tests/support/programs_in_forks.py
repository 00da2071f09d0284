# SPDX-License-Identifier: Apache-2.0
"""Programs that start quickly: a process that has imported what they need forks for each of them.

Importing takes most of the time of a short program. The package is not used before the fork, so that every program
chooses, loads and gives back the library by itself. Only a process with one thread forks safely, so numpy gets no more.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


class Programs:
    """The process that forks; it starts with the first program.

    Parameters
    ----------
    *modules : str
        What the process imports before it forks.
    """

    def __init__(self, *modules: str) -> None:
        self._modules = modules
        self._server: subprocess.Popen[str] | None = None

    def run(self, script: Path, variables: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Run a script in its directory, with more environment variables; return its exit status and what it wrote."""
        if self._server is None:
            command, environment = (
                [sys.executable, __file__, *self._modules],
                {**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )
            self._server = subprocess.Popen(
                command, stdin=-1, stdout=-1, text=True, env=environment, start_new_session=True
            )
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        try:
            job = json.dumps({"script": str(script), "environment": os.environ | (variables or {})})
            print(job, file=self._server.stdin, flush=True)
            status = int(self._server.stdout.readline())
        except BaseException:  # of a time limit: the program may still run
            self.close()
            raise
        return status, script.with_suffix(".out").read_text(encoding="utf-8")

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


def _next_script() -> Path | None:
    """Return a script in a child for each line, and in the parent None at the end."""
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if not child:
            _end_with_parent()
            os.environ.clear()
            os.environ.update(job["environment"])
            return Path(job["script"])
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    return None


def _become(script: Path) -> None:
    os.chdir(script.parent)
    with open(os.devnull, "rb") as nothing, script.with_suffix(".out").open("wb") as output:
        os.dup2(nothing.fileno(), 0)
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    sys.argv[:] = [str(script)]
    sys.path[0] = str(script.parent)
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    _end_with_parent()
    del sys.path[0]  # its neighbours are no modules of the programs
    sys.path.insert(0, "")
    for name in sys.argv[1:]:
        importlib.import_module(name)
    found = _next_script()
    if found is not None:
        _become(found)  # and end as every program does
