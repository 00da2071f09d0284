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
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple


class Ended(NamedTuple):
    """How a program has ended: its number, and the rest as :class:`subprocess.CompletedProcess` names it."""

    pid: int
    returncode: int
    stdout: str
    stderr: str


class Started(NamedTuple):
    """A program that may still run: its parent, and its number."""

    server: subprocess.Popen[str]
    pid: int


CHECKS = ("ASCEND_RT_SIM_CHECK", "ASCEND_RT_CHECK_WRAPS", "ASCEND_RT_CHECK_HOST_THREADS")  # replace locks at import


def facade() -> list[str]:
    """Return the modules of all that ``from ascend_rt import *`` brings."""
    from ascend_rt import _MODULE_OF

    return sorted({f"ascend_rt.{name}" for name in _MODULE_OF.values()})


class Programs:
    """The process that forks; it starts with the first program.

    Parameters
    ----------
    *modules : str
        What the process imports before it forks.
    directory : Path, optional
        Where the process and its programs run, and find modules; without it each program does in that of its script.
    imports_depend_on : sequence of str, optional
        Environment variables: the programs have one process for each combination of their values.
    """

    def __init__(self, *modules: str, directory: Path | None = None, imports_depend_on: Sequence[str] = ()) -> None:
        self._modules, self._directory, self._imports_depend_on = modules, directory, imports_depend_on
        self._servers: dict[tuple[str, ...], subprocess.Popen[str]] = {}
        self._files = tempfile.TemporaryDirectory(prefix="ascend_rt-")  # for the files of programs

    def run(
        self,
        *arguments: str | Path,
        variables: Mapping[str, str] | None = None,
        environment: Mapping[str, str] = os.environ,
        directory: Path | None = None,
        standard_input: str = "",
    ) -> Ended:
        """Run what ``python`` runs with these arguments: a script, ``-c`` or ``-m``; with more variables."""
        files = [Path(self._files.name, name) for name in ("input", "output", "errors")]
        files[0].write_text(standard_input, encoding="utf-8")
        started = self.start(
            *arguments, files=files, environment={**environment, **(variables or {})}, directory=directory
        )
        code = self.wait(started)
        output, errors = (file.read_text(encoding="utf-8", errors="backslashreplace") for file in files[1:])
        return Ended(started.pid, code, output, errors)

    def start(
        self,
        *arguments: str | Path,
        files: Sequence[Path],
        environment: Mapping[str, str] = os.environ,
        directory: Path | None = None,
    ) -> Started:
        """Start a program whose standard input, output and errors are these files."""
        server = self._server(environment)
        of_script = None if arguments[0] in ("-c", "-m") else Path(arguments[0]).parent
        directory = directory or self._directory or of_script
        job = {
            "arguments": [str(each) for each in arguments],
            "directory": str(directory),
            "path": str(self._directory or of_script or directory),
            "environment": dict(environment),
            "files": [str(file) for file in files],
        }
        return Started(server, self._ask(server, job))

    def wait(self, started: Started) -> int:
        """Wait until the program has ended, and return its code."""
        return self._ask(started.server, started.pid)

    def _ask(self, server: subprocess.Popen[str], request: object) -> int:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            print(json.dumps(request), file=server.stdin, flush=True)
            return int(server.stdout.readline())
        except BaseException:  # a time limit, for instance: the program may still run
            self.close()
            raise

    def _server(self, environment: Mapping[str, str]) -> subprocess.Popen[str]:
        values = tuple(environment.get(name, "") for name in self._imports_depend_on)
        if values not in self._servers:
            command = [sys.executable, __file__, *self._modules]
            env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **dict(zip(self._imports_depend_on, values, strict=True))}
            self._servers[values] = subprocess.Popen(
                command, stdin=-1, stdout=-1, text=True, env=env, cwd=self._directory, start_new_session=True
            )
        return self._servers[values]

    def close(self) -> None:
        """End the process, and a program that may still run."""
        while self._servers:
            _, server = self._servers.popitem()
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _end_with_parent() -> None:
    """Let the kernel kill this process when its parent ends, be it by a signal: a program may hang."""
    if sys.platform == "linux":
        set_signal_of_parents_death = 1
        ctypes.CDLL(None).prctl(set_signal_of_parents_death, signal.SIGKILL)


def _next_job() -> dict[str, Any] | None:
    """Return each job in a child, and in the parent None at the end; a number is of a child to be waited for."""
    for request in map(json.loads, sys.stdin):
        if isinstance(request, int):
            answer = os.waitstatus_to_exitcode(os.waitpid(request, 0)[1])
        elif not (answer := os.fork()):
            _end_with_parent()
            return dict(request)
        print(answer, flush=True)
    return None


_variables: dict[str, Any] = {}  # keeps those of the program until the interpreter ends, as any other program does


def _become(job: dict[str, Any]) -> None:
    os.environ.clear()
    os.environ.update(job["environment"])
    os.chdir(job["directory"])
    reads, writes = os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, (file, flags) in enumerate(zip(job["files"], (reads, writes, writes), strict=True)):
        opened = os.open(file, flags)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  (the other one has read lines of more jobs)
    first, *rest = job["arguments"]
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:1] = [job["path"], *filter(None, path)]
    if first == "-c":
        code, *given = rest
        sys.argv[:] = ["-c", *given]
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(code, "<string>", "exec"), main.__dict__)
    elif first == "-m":
        module, *given = rest
        sys.argv[:] = [module, *given]
        _variables.update(runpy.run_module(module, run_name="__main__", alter_sys=True))
    else:
        sys.argv[:] = [first, *rest]
        _variables.update(runpy.run_path(first, run_name="__main__"))


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
