# SPDX-License-Identifier: Apache-2.0
"""Small look-alikes of the vendor's library, programs that run beside them, and objects that many tests make."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.programs_in_forks import Ended, Programs

ABI = Path(__file__).resolve().parents[2] / "backends" / "abi"

# Look-alikes of the vendor's library are made from the declarations: every function returns CODE, or 0 of its type, but
# for those below. Macros give a library its defects.
_HEAD = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acl.h"

#ifndef CODE
#define CODE 0
#endif
#ifndef DEVICES
#define DEVICES 2
#endif
#ifndef SOC
#define SOC "Ascend910X"
#endif
#ifndef AT_LOAD
#define AT_LOAD
#endif
#ifndef VERSION_CODE
#define VERSION_CODE 100003
#endif

__attribute__((constructor)) static void at_load(void) { AT_LOAD; }
"""

_BODIES = {
    "aclFinalize": 'if (getenv("TRACE")) { puts("finalized"); fflush(stdout); } return CODE;',
    "aclGetRecentErrMsg": 'return "the vendor\'s own words";',
    "aclrtDestroyEvent": "return 107017;",
    "aclrtGetDeviceCount": "*count = DEVICES; return CODE;",
    "aclrtGetMemInfo": "*free = 3ull << 30; *total = 4ull << 30; return CODE;",
    "aclrtGetSocName": "return SOC;",
    "aclrtGetVersion": "*majorVersion = 1; *minorVersion = 2; *patchVersion = 3; return CODE;",
    "aclsysGetVersionStr": 'strcpy(versionStr, "9.1.0"); return VERSION_CODE;',
}

Source = Callable[[Callable[[Any], bool]], str]
Build = Callable[..., Path]
Run = Callable[..., "Ended | subprocess.CompletedProcess[str]"]


def _definition(function: Any) -> str:
    result = {"aclError": "return CODE;", "void": ""}.get(function.returns, "return 0;")
    return f"{function.prototype} {{ {_BODIES.get(function.name, result)} }}"


@pytest.fixture(scope="session")
def vendor_source(declared: Any) -> Source:
    """Return a function that writes the C source of a look-alike with the documented functions that are selected."""

    def write(select: Callable[[Any], bool]) -> str:
        functions = [f for f in declared.functions if f.family != "aclsim" and select(f)]
        return _HEAD + "\n".join(map(_definition, functions)) + "\n"

    return write


@pytest.fixture(scope="session")
def build(vendor_source: Source, declarations: Any, declared: Any, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Return a function that compiles a look-alike at a path, with the given flags and macros.

    By default it is one of CANN 8.1: the functions of that release, except families with a separate library, in one
    file.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    usual = vendor_source(lambda f: f.since == declarations.OLDEST and f.family not in declared.libraries)
    directory = tmp_path_factory.mktemp("source")
    objects: dict[tuple[str, ...], Path] = {}  # compiling takes nine tenths of the time, linking the rest

    def compile_library(path: Path, *flags: str, source: str = usual, **macros: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        options = [f"-D{name}={value}" for name, value in macros.items()]
        compiled = objects.setdefault((source, *options), directory / f"lookalike-{len(objects)}.o")
        if not compiled.exists():
            code = compiled.with_suffix(".c")
            code.write_text(source, encoding="utf-8")
            subprocess.run(
                [compiler, "-c", "-fPIC", "-w", "-I", str(ABI), *options, str(code), "-o", str(compiled)], check=True
            )
        subprocess.run([compiler, "-shared", str(compiled), "-o", str(path), *flags], check=True)
        return path

    return compile_library


@pytest.fixture
def environment(tmp_path: Path, installation: dict[str, str]) -> dict[str, str]:
    """Return a small environment, which leads to CANN if the vendor's library is under test, and else nowhere."""
    home = tmp_path / "home"
    home.mkdir()
    names = ("PATH", "LANG", "VIRTUAL_ENV", "OPENBLAS_NUM_THREADS", "ASCEND_RT_SIM_CARDS")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return kept | installation | {"HOME": str(home)}


@pytest.fixture(scope="session")
def runs_of_pytest() -> Iterator[Programs]:
    """Return a process that forks for each run of pytest."""
    programs = Programs("numpy", "ascend_rt.transfer", "_pytest.pytester", "pdb", "hypothesis", "xdist.plugin")
    yield programs
    programs.close()


@pytest.fixture(scope="session")
def runs_of_check() -> Iterator[Programs]:
    """Return a process that forks for each ``ascend-rt check``."""
    programs = Programs("pickle", "platform", "statistics", "traceback", "ascend_rt.cli.check", "ascend_rt.cli.run")
    yield programs
    programs.close()


@pytest.fixture
def run(
    tmp_path: Path,
    environment: dict[str, str],
    programs: Programs,
    runs_of_pytest: Programs,
    runs_of_check: Programs,
) -> Run:
    """Return a function that runs a program in that environment and outside the source tree.

    The arguments are those of Python; it runs in a fork of a process that has imported the package, or pytest.
    """

    def run_program(*arguments: str | Path, **variables: str | Path) -> Ended:
        added = {name: str(value) for name, value in variables.items()}
        server = programs
        if arguments[:2] == ("-m", "pytest"):
            server = runs_of_pytest
        elif arguments[:3] == ("-m", "ascend_rt", "check"):
            server = runs_of_check
        return server.run(*arguments, directory=tmp_path, environment=environment, variables=added)

    return run_program


@pytest.fixture
def interpreter(tmp_path: Path, environment: dict[str, str]) -> Run:
    """Return a function that does the same with a new interpreter, for what depends on how Python starts."""

    def run_python(
        *arguments: str, before: Sequence[str] = (), **variables: str | Path
    ) -> subprocess.CompletedProcess[str]:
        added: Mapping[str, str] = {name: str(value) for name, value in variables.items()}
        command = [*before, sys.executable, *arguments]
        return subprocess.run(
            command, env=environment | added, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )

    return run_python


@pytest.fixture
def no_cann(environment: dict[str, str], installation: dict[str, str]) -> None:
    """Let nothing in the environment lead to CANN; skip where one of the known directories has a real installation."""
    for name in installation:
        del environment[name]
    if any(Path(root).exists() for root in ("/usr/local/Ascend", "/opt/Ascend")):
        pytest.skip("CANN is installed here")


@pytest.fixture
def other_machine() -> int:
    """Return the ELF number of a machine type that this is not."""
    return 62 if platform.machine() == "aarch64" else 183


@pytest.fixture
def managed(backend: str) -> None:
    """Skip where the product has no managed memory."""
    from ascend_rt import sim

    if backend == "sim" and sim.info().product != "910B":
        pytest.skip("the product has no managed memory")


@pytest.fixture(params=[False, True], ids=["at once", "in order"])
def stream_or_none(request: pytest.FixtureRequest, stream: Any) -> Any:
    """Return None, then a stream: the two forms of calls that take an optional stream."""
    return stream if request.param else None


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Return the list of what ``sys.unraisablehook`` receives."""
    received: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", received.append)
    yield received
    received.clear()  # their tracebacks keep buffers alive


@pytest.fixture
def no_allocator_is_left(no_device_memory_is_left: None) -> Iterator[None]:
    """Compare the registered allocators, and the free memory of the device, before and after the test."""
    from ascend_rt._memory.allocator_registry import registrations

    before = set(registrations)
    yield
    assert set(registrations) == before


@pytest.fixture
def while_called(override: Any) -> Callable[..., None]:
    """Return a function that does things once before and after the next call of a C function, as another thread may."""

    def do_while(name: str, before: Callable[[], object], after: Callable[[], object]) -> None:
        left = [(before, after)]

        def once(*arguments: Any) -> Any:
            actions, left[:] = left.copy(), []
            for before, _ in actions:
                before()
            result = real(*arguments)
            for _, after in actions:
                after()
            return result

        real = override(name, once)

    return do_while


@pytest.fixture
def after(while_called: Callable[..., None]) -> Callable[..., None]:
    """Return a function that does something once, right after the next call of a C function, as another thread may."""
    return lambda name, action: while_called(name, lambda: None, action)
