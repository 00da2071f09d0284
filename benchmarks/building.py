# SPDX-License-Identifier: Apache-2.0
"""What is compiled for the benchmarks: the C program, the kernel that is launched, and libraries that do nothing."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from cffi import FFI
from cffi.recompiler import make_c_source

from ascend_rt import backends

SOURCES = Path(__file__).resolve().parent / "c"
HEADERS = Path(backends.__file__).parent

# Of the comparison of bindings.
ACL, CUDA, FLOOR = "libascendcl.so", "libcuda.so.1", "libfloor.so"
API_MODULE, FLOOR_MODULE = "cffi_api_mode", "floor_python"
DECLARED = """\
int aclrtRecordEvent(void *, void *);
int aclrtStreamWaitEvent(void *, void *);
int aclrtQueryEventStatus(void *, void *);
int aclrtSynchronizeStream(void *);
int aclmdlRIExecuteAsync(void *, void *);
"""


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


def compile_nothing(directory: Path) -> None:
    """Compile the libraries that do nothing, the loops over them in C, and a cffi module that calls them."""
    shared = ["-shared", "-fPIC"]
    linked = [f"-L{directory}", f"-Wl,-rpath,{directory}", "-lascendcl"]
    _compile(SOURCES / "nothing.c", directory / ACL, HEADERS, [*shared, f"-Wl,-soname,{ACL}"])
    _compile(SOURCES / "nothing_cuda.c", directory / CUDA, HEADERS, [*shared, f"-Wl,-soname,{CUDA}"])
    _compile(SOURCES / "floor.c", directory / FLOOR, HEADERS, [*shared, *linked])
    ffi = FFI()
    ffi.cdef(DECLARED)
    ffi.set_source(API_MODULE, DECLARED)
    source = directory / f"{API_MODULE}.c"
    make_c_source(ffi, API_MODULE, DECLARED, str(source))
    include, suffix = Path(sysconfig.get_paths()["include"]), sysconfig.get_config_var("EXT_SUFFIX")
    _compile(source, directory / f"{API_MODULE}{suffix}", include, [*shared, *linked])
    _compile(SOURCES / "floor_python.c", directory / f"{FLOOR_MODULE}{suffix}", include, shared)


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
