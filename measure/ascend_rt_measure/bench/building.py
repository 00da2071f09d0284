# SPDX-License-Identifier: Apache-2.0
"""Compiling the programs of the benchmarks, and running them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from ascend_rt import backends
from ascend_rt.cli.terminal import CommandError

SOURCES = Path(__file__).resolve().parent / "c"
HEADERS = Path(backends.__file__).parent

_BENCH = (
    "bench.c",
    "channels.c",
    "crowds.c",
    "events.c",
    "floors.c",
    "graphs.c",
    "kernels.c",
    "memory.c",
    "profiles.c",
)
_VARIABLES = {".c": ("CC", "cc"), ".cpp": ("CXX", "c++")}
_STANDARDS = {".c": "-std=gnu11", ".cpp": "-std=c++17"}


class BenchmarkError(CommandError):
    """A benchmark is broken, or cannot be built."""


class MissingCompiler(BenchmarkError):
    """There is no compiler."""


def compile_program(source: str, program: Path) -> None:
    """Compile a program of the package that needs no library."""
    compiled([SOURCES / source], program, HEADERS, ["-Wall", "-Wextra", "-pthread"])


def compile_bench(program: Path, libraries: Sequence[str], missing: Iterable[str]) -> None:
    """Compile bench.c and its parts, and link them to the libraries under test.

    The functions that they do not have get a body, so that the program links; it is not asked to call them.
    """
    bodies = program.with_suffix(".missing.c")
    bodies.write_text("".join(f"int {name}(void) {{ return -1; }}\n" for name in missing), encoding="utf-8")
    where = [f"-Wl,-rpath,{Path(library).parent}" for library in libraries]
    linker = "-Wl,--allow-shlib-undefined"  # the loader finds the driver's libraries later
    options = ["-Wall", "-Wextra", linker, *libraries, *where, "-ldl", "-pthread"]
    compiled([*(SOURCES / name for name in _BENCH), bodies], program, HEADERS, options)


def compile_kernel(binary: Path) -> None:
    """Compile empty_kernel.c, which the simulator takes for a kernel binary."""
    compiled([SOURCES / "empty_kernel.c"], binary, HEADERS / "abi", ["-shared", "-fPIC"])


@cache
def empty_kernel() -> bytes:
    """Return the kernel's binary."""
    with tempfile.TemporaryDirectory() as directory:
        binary = Path(directory) / "empty_kernel.so"
        compile_kernel(binary)
        return binary.read_bytes()


def compiler(source: str = ".c") -> list[str]:
    """Return the command of the compiler for files that end like this; MissingCompiler if there is none."""
    variable, default = _VARIABLES[Path(source).suffix or source]
    command = shlex.split(os.environ.get(variable, default))
    if not command or shutil.which(command[0]) is None:
        name = command[0] if command else ""
        raise MissingCompiler(f"there is no compiler {name!r}; install one, or name it in the variable {variable}")
    return command


def compiled(sources: Sequence[Path], output: Path, headers: Path, options: Sequence[str]) -> None:
    """Compile and link files of one language."""
    suffix = sources[0].suffix
    command = [*compiler(suffix), _STANDARDS[suffix], "-O2", f"-I{headers}", "-o", str(output)]
    output_of([*command, *map(str, sources), *options])


def output_of(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Run a command with more environment variables and return what it prints; BenchmarkError if it fails."""
    return "".join(lines_of(command, environment))


def lines_of(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield what a command prints, line by line while it runs; BenchmarkError if it fails."""
    env = {**os.environ, **(environment or {})}
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env) as child,
    ):
        assert child.stdout is not None
        try:
            yield from child.stdout
        except BaseException:  # such as Ctrl-C
            child.kill()
            raise
        if child.wait():
            errors.seek(0)
            raise BenchmarkError(f"failed with status {child.returncode}: {shlex.join(command)}\n{errors.read()}")
