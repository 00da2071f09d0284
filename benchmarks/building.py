# SPDX-License-Identifier: Apache-2.0
"""Compiling for the comparison of bindings: libraries that do nothing, and a cffi module."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from cffi import FFI
from cffi.recompiler import make_c_source

from ascend_rt_measure.bench.building import HEADERS, compiled

SOURCES = Path(__file__).resolve().parent / "c"

ACL, CUDA, FLOOR = "libascendcl.so", "libcuda.so.1", "libfloor.so"
API_MODULE, FLOOR_MODULE = "cffi_api_mode", "floor_python"
DECLARED = """\
int aclrtRecordEvent(void *, void *);
int aclrtStreamWaitEvent(void *, void *);
int aclrtQueryEventStatus(void *, void *);
int aclrtSynchronizeStream(void *);
int aclmdlRIExecuteAsync(void *, void *);
"""


def compile_nothing(directory: Path) -> None:
    """Compile the libraries that do nothing, the loops over them in C, and a cffi module that calls them."""
    shared = ["-shared", "-fPIC"]
    linked = [f"-L{directory}", f"-Wl,-rpath,{directory}", "-lascendcl"]
    compiled([SOURCES / "nothing.c"], directory / ACL, HEADERS, [*shared, f"-Wl,-soname,{ACL}"])
    compiled([SOURCES / "nothing_cuda.c"], directory / CUDA, HEADERS, [*shared, f"-Wl,-soname,{CUDA}"])
    compiled([SOURCES / "floor.c"], directory / FLOOR, HEADERS, [*shared, *linked])
    ffi = FFI()
    ffi.cdef(DECLARED)
    ffi.set_source(API_MODULE, DECLARED)
    source = directory / f"{API_MODULE}.c"
    make_c_source(ffi, API_MODULE, DECLARED, str(source))
    include, suffix = Path(sysconfig.get_paths()["include"]), sysconfig.get_config_var("EXT_SUFFIX")
    compiled([source], directory / f"{API_MODULE}{suffix}", include, [*shared, *linked])
    compiled([SOURCES / "floor_python.c"], directory / f"{FLOOR_MODULE}{suffix}", include, shared)
