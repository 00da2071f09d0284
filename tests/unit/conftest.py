# SPDX-License-Identifier: Apache-2.0
"""Small look-alikes of the vendor's library, and programs that run beside them."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

# A library with the few functions that the search asks; the macros give it its defects.
VENDOR = """\
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef CODE
#define CODE 0
#endif
#ifndef DEVICES
#define DEVICES 2
#endif
#ifndef AT_LOAD
#define AT_LOAD
#endif

__attribute__((constructor)) static void at_load(void) { AT_LOAD; }

int aclInit(const char *path) { (void)path; return CODE; }
int aclFinalize(void) { return CODE; }
int aclrtSetDevice(int32_t device) { (void)device; return CODE; }
int aclrtResetDevice(int32_t device) { (void)device; return CODE; }
int aclrtGetDeviceCount(uint32_t *count) { *count = DEVICES; return CODE; }
int aclrtGetVersion(int32_t *a, int32_t *b, int32_t *c) { *a = 1; *b = 2; *c = 3; return CODE; }
const char *aclrtGetSocName(void) { return "Ascend910X"; }
const char *aclGetRecentErrMsg(void) { return "the vendor's own words"; }
int aclrtDestroyEvent(void *event) { (void)event; return 107017; }
"""

Build = Callable[..., Path]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Return a function that compiles a look-alike of the vendor's library at a path, with the given macros."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")

    def compile_library(path: Path, *flags: str, source: str = VENDOR, **macros: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        code = tmp_path / f"{path.name}.c"
        code.write_text(source, encoding="utf-8")
        options = [f"-D{name}={value}" for name, value in macros.items()]
        subprocess.run([compiler, "-shared", "-fPIC", *options, str(code), "-o", str(path), *flags], check=True)
        return path

    return compile_library


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which nothing leads to an installation of CANN."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "VIRTUAL_ENV") if name in os.environ}
    return kept | {"HOME": str(home)}


@pytest.fixture
def run(tmp_path: Path, environment: dict[str, str]) -> Run:
    """Return a function that runs Python with arguments, in that environment and outside the source tree."""

    def run_python(*arguments: str, **variables: str | Path) -> subprocess.CompletedProcess[str]:
        added: Mapping[str, str] = {name: str(value) for name, value in variables.items()}
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, env=environment | added, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )

    return run_python


@pytest.fixture
def no_cann() -> None:
    """Skip where one of the known directories has a real installation."""
    if any(Path(root).exists() for root in ("/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit")):
        pytest.skip("CANN is installed here")


@pytest.fixture
def other_machine() -> int:
    """Return the ELF number of a machine type that this is not."""
    return 62 if platform.machine() == "aarch64" else 183
