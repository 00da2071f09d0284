# SPDX-License-Identifier: Apache-2.0
"""The compiled part, which is built for the installed torch and torch_npu when it is first needed, and cached.

torch's C++ interface differs from release to release, so the package cannot include a compiled version.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import IO

import torch
import torch_npu

from ascend_rt import backends
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
    path = _directory() / f"operators-{_fingerprint()}.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_suffix(".lock").open("w") as lock:
            _lock(lock)
            if not path.exists():
                _build(path)
    return ctypes.CDLL(str(path))


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


def _lock(file: IO[str]) -> None:
    """Let one of several processes that begin together build."""
    # The lock belongs to the process: that of flock would stay with a forked child, which has the open file too, and
    # would wait for itself.
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        _say("waiting for another process that compiles the operators")
        fcntl.lockf(file, fcntl.LOCK_EX)


def _directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "ascend_rt" / "torch"


def _fingerprint() -> str:
    """Return what the compiled library depends on, in short."""
    known = hashlib.sha256(f"{torch.__version__} {torch_npu.__version__} {_TORCH} {_compiler()} {_OPTIONS}".encode())
    for source in sorted((*_SOURCES.iterdir(), _HEADERS / "abi" / "aclsim.h")):
        known.update(source.name.encode() + source.read_bytes())
    return known.hexdigest()[:16]


def _compiler() -> list[str]:
    command = shlex.split(os.environ.get("CXX", "c++"))
    if not command or shutil.which(command[0]) is None:
        raise LibraryError(
            f"no C++ compiler {command[0] if command else ''!r}, which builds the operators for torch "
            f"{torch.__version__}; install one, or name it in the variable CXX"
        )
    return command


def _build(path: Path) -> None:
    began = time.monotonic()
    _say(f"compiling the operators for torch {torch.__version__}, once; this takes a minute or two")
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        directory = Path(name)
        ours = directory / "ours.cpp"  # in one piece: most of the time goes into torch's headers
        ours.write_text(
            "".join(f'#include "{each}"\n' for each in sorted(_SOURCES.glob("*.cpp")) if each.name != _ADAPTER)
        )
        theirs = [f"-isystem{_TORCH_NPU / 'include'}", f"-isystem{_TORCH_NPU / 'include/third_party/acl/inc'}"]
        work = [(ours, [f"-I{_HEADERS}"]), (_SOURCES / _ADAPTER, theirs)]
        with ThreadPoolExecutor() as threads:
            parts = [threads.submit(_compiled, source, directory, include) for source, include in work]
            for done, part in enumerate(as_completed(parts), 1):
                part.result()
                _say(f"{done} of {len(parts)} parts compiled after {time.monotonic() - began:.0f} s")
        built = directory / "built.so"
        objects = [str(part.result()) for part in parts]
        _run([*_compiler(), "-shared", "-o", str(built), *objects, *_libraries()])
        os.replace(built, path)  # at once: other processes may look for it
    _say(f"ready after {time.monotonic() - began:.0f} s; kept in {path.parent}")


def _say(text: str) -> None:
    print(f"ascend_rt.torch: {text}", file=sys.stderr, flush=True)


def _compiled(source: Path, directory: Path, include: list[str]) -> Path:
    result = directory / f"{source.stem}.o"
    torch_headers = f"-isystem{_TORCH / 'include'}"
    _run([*_compiler(), *_OPTIONS, *include, torch_headers, "-c", str(source), "-o", str(result)])
    return result


def _libraries() -> list[str]:
    """Return the linker's arguments; all of these are in the process already when the library is loaded."""
    folders = (_TORCH / "lib", _TORCH_NPU / "lib", sim.library_directory())
    names = ("c10", "torch_cpu", "torch_npu", "ascendcl")
    return [*(f"-L{each}" for each in folders), *(f"-l{each}" for each in names), "-Wl,--allow-shlib-undefined"]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise LibraryError(f"failed with status {done.returncode}: {shlex.join(command)}\n{done.stderr}")
