# SPDX-License-Identifier: Apache-2.0
"""The compiled part, which is built for the installed torch and torch_npu when it is first needed, and cached."""

from __future__ import annotations

import ctypes
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import torch
import torch_npu

from ascend_rt import backends
from ascend_rt._startup import torch_build
from ascend_rt.backends import sim
from ascend_rt.errors import LibraryError

_SOURCES = Path(__file__).resolve().parent / "c"
_HEADERS = Path(backends.__file__).resolve().parent
_TORCH = Path(torch.__file__).resolve().parent
_TORCH_NPU = Path(torch_npu.__file__).resolve().parent
_RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])
_OPTIONS = (
    *("-std=c++20", "-O1", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"),  # as torch itself is built
    f"-DASCEND_RT_TORCH={_RELEASE[0] * 100 + _RELEASE[1]}",  # 213 for 2.13
)
# torch_npu's headers bring the vendor's acl.h, which declares the same as ours: no file sees both.
_ADAPTER = "adapter.cpp"


def load() -> ctypes.CDLL:
    """Return the library, after building it if that is necessary.

    Raises
    ------
    LibraryError
        torch_npu runs on another library than the simulator, or there is no compiler, or it fails.
    """
    require_simulator()
    versions = f"{torch.__version__} {torch_npu.__version__} {_TORCH} {_OPTIONS}"
    sources = sorted((*_SOURCES.iterdir(), _HEADERS / "abi" / "aclsim.h"))
    return ctypes.CDLL(str(torch_build.library("operators", [versions, *sources], _build)))


def require_simulator() -> None:
    """Raise LibraryError unless the runtime that torch_npu has loaded is the simulator."""
    try:
        # Return the library in the process under this name, or the one that is found as torch_npu has found it.
        runtime = ctypes.CDLL("libascendcl.so")
    except OSError as error:
        raise LibraryError(f"torch_npu has loaded no libascendcl.so: {error}") from error
    if not hasattr(runtime, "aclsimGetInfo"):
        raise LibraryError(
            "torch_npu runs on the vendor's library, which has its own operators; ascend_rt.torch needs the "
            "simulator: 'ascend-rt run --backend sim'"
        )


def _build(directory: Path) -> Path:
    began = time.monotonic()
    torch_build.say(f"compiling the operators for torch {torch.__version__}, once; this takes a minute or two")
    ours = directory / "ours.cpp"  # in one piece: most of the time goes into torch's headers
    ours.write_text("".join(f'#include "{each}"\n' for each in sorted(_SOURCES.glob("*.cpp")) if each.name != _ADAPTER))
    theirs = [f"-isystem{_TORCH_NPU / 'include'}", f"-isystem{_TORCH_NPU / 'include/third_party/acl/inc'}"]
    work = [(ours, [f"-I{_HEADERS}"]), (_SOURCES / _ADAPTER, theirs)]
    with ThreadPoolExecutor() as threads:
        parts = [threads.submit(_compiled, source, directory, include) for source, include in work]
        for done, part in enumerate(as_completed(parts), 1):
            part.result()
            torch_build.say(f"{done} of {len(parts)} parts compiled after {time.monotonic() - began:.0f} s")
    built = directory / "built.so"
    objects = [str(part.result()) for part in parts]
    torch_build.run([*torch_build.compiler(), "-shared", "-o", str(built), *objects, *_libraries()])
    torch_build.say(f"ready after {time.monotonic() - began:.0f} s; kept in {directory.parent}")
    return built


def _compiled(source: Path, directory: Path, include: list[str]) -> Path:
    result = directory / f"{source.stem}.o"
    torch_headers = f"-isystem{_TORCH / 'include'}"
    torch_build.run([*torch_build.compiler(), *_OPTIONS, *include, torch_headers, "-c", str(source), "-o", str(result)])
    return result


def _libraries() -> list[str]:
    """Return the linker's arguments; all of these are in the process already when the library is loaded."""
    folders = (_TORCH / "lib", _TORCH_NPU / "lib", sim.library_directory())
    names = ("c10", "torch_cpu", "torch_npu", "ascendcl")
    return [*(f"-L{each}" for each in folders), *(f"-l{each}" for each in names), "-Wl,--allow-shlib-undefined"]
