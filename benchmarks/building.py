# SPDX-License-Identifier: Apache-2.0
"""What is compiled for the benchmarks: the C program, and the kernel that is launched."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ascend_rt import backends

SOURCES = Path(__file__).resolve().parent / "c"
HEADERS = Path(backends.__file__).parent


class BenchmarkError(Exception):
    """A benchmark is broken, or cannot be built."""


def compile_program(library: Path, program: Path) -> None:
    """Compile bench.c against the declarations of the package and link it to the library under test."""
    where = library.parent
    options = ["-std=c11", "-Wall", "-Wextra", f"-L{where}", f"-Wl,-rpath,{where}", "-lascendcl", "-ldl", "-pthread"]
    _compile(SOURCES / "bench.c", program, HEADERS, options)


def compile_kernel(binary: Path) -> None:
    """Compile empty_kernel.c, which the simulator takes for a kernel binary."""
    _compile(SOURCES / "empty_kernel.c", binary, HEADERS / "abi", ["-shared", "-fPIC"])


@cache
def empty_kernel() -> bytes:
    """Return the kernel's binary."""
    with tempfile.TemporaryDirectory() as directory:
        binary = Path(directory) / "empty_kernel.so"
        compile_kernel(binary)
        return binary.read_bytes()


def output_of(command: list[str], environment: Mapping[str, str] | None = None) -> str:
    """Run a command with more environment variables and return what it prints; BenchmarkError if it fails."""
    env = {**os.environ, **(environment or {})}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise BenchmarkError(f"failed with status {done.returncode}: {shlex.join(command)}\n{done.stderr}{done.stdout}")
    return done.stdout


def _compile(source: Path, output: Path, headers: Path, options: list[str]) -> None:
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if not compiler or shutil.which(compiler[0]) is None:
        name = compiler[0] if compiler else ""
        raise BenchmarkError(f"there is no C compiler {name!r}; install one (cc), or name it in the variable CC")
    output_of([*compiler, "-O2", f"-I{headers}", "-o", str(output), str(source), *options])
