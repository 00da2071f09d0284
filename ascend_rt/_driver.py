# SPDX-License-Identifier: Apache-2.0
"""The seam: which library stands behind the table of functions. Nobody else opens one.

``lib`` has every declared C function. The first access to one loads the library; from then on the functions are plain
attributes, exactly as cffi made them, so that the seam costs nothing per call. A function that the library lacks is
replaced by one that raises :class:`NotSupported`.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ascend_rt import _aclrt
from ascend_rt.errors import AclWarning, ForkedProcess, LibraryError, NotSupported, error_for

# The search imports a good part of the standard library; only the first call into the runtime pays for it.
if TYPE_CHECKING:
    from ascend_rt.backends.cann import Attempt, Candidate

BACKENDS = ("auto", "cann", "sim")

ffi: Any = _aclrt.ffi
_raw: Any = _aclrt.lib

_lock = threading.RLock()
_wanted: str | None = None  # by use()
_library: Library | None = None
_is_usable = True


class Library(NamedTuple):
    """The library in use and how it was found.

    Attributes
    ----------
    backend : str
        ``"cann"`` or ``"sim"``.
    path : str
        Where the library is.
    reason : str
        Why it was chosen.
    attempts : tuple of Attempt
        Every place that was looked at, and what came of it.
    missing : tuple of str
        Declared functions that the library does not have.
    present : int
        How many declared functions it has.
    """

    backend: str
    path: str
    reason: str
    attempts: tuple[Attempt, ...]
    missing: tuple[str, ...]
    present: int


class _Loaded:
    """The functions of the loaded library, and all constants, as attributes; see the module's docstring."""


class _NotLoaded(_Loaded):
    """The same before the library is loaded.

    Loading changes the object's class: attributes are found faster in a class without ``__getattr__``.
    """

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("acl"):
            return getattr(_raw, name)  # constants, and the helpers of the extension module itself
        if not hasattr(_raw, name):
            raise AttributeError(f"there is no declared C function {name!r}")
        load()
        return self.__dict__[name]


lib: Any = _NotLoaded()


def use(backend: str) -> None:
    """Choose the library before it is first used.

    Parameters
    ----------
    backend : {"auto", "cann", "sim"}
        ``"cann"`` is the vendor's library, ``"sim"`` the simulator. ``"auto"`` takes the vendor's where it is
        installed, and the simulator, with a warning, where there is none. Overrides ``ASCEND_RT_BACKEND``.

    Raises
    ------
    ValueError
        The name is none of these.
    RuntimeError
        Another library is loaded already.
    """
    global _wanted
    _check_backend(backend, "use()")
    with _lock:
        if _library is not None and backend not in ("auto", _library.backend):
            raise RuntimeError(f"{_library.path} is loaded already; choose {backend!r} before the first call")
        _wanted = backend


def library() -> Library:
    """Return what is known of the library in use; loads it if that has not happened."""
    return load()


def supports(name: str) -> bool:
    """Tell whether the library in use has a C function; loads it if that has not happened."""
    load()
    return hasattr(_raw, name) and name.startswith("acl") and name not in load().missing


def usable() -> bool:
    """Tell whether the library may be called: not after the end, and not in a child of a process that used it."""
    return _is_usable


def shutdown() -> None:
    """Say that the interpreter is about to end: finalizers do nothing from now on."""
    global _is_usable
    _is_usable = False


def check(code: int, function: str) -> None:
    """Raise the exception for a failed call; the runtime's text is read at once, on the same thread.

    On hot paths ask ``if code:`` first.
    """
    if code:
        text = lib.aclGetRecentErrMsg() if supports("aclGetRecentErrMsg") else ffi.NULL
        message = "" if text == ffi.NULL else ffi.string(text).decode(errors="replace").strip()
        raise error_for(code, function, message)


def address(handle: Any) -> int:
    """Return a handle or a pointer as a number."""
    return int(ffi.cast("uintptr_t", handle))


def call(function: str, *arguments: Any) -> None:
    """Call a C function that returns an ``aclError`` and raise the exception if it fails; not for hot paths."""
    code = getattr(lib, function)(*arguments)
    if code:
        check(code, function)


# --- loading ---------------------------------------------------------------------------------------------------------


def load() -> Library:
    """Choose and open the library once."""
    global _library
    if _library is None:
        with _lock:
            if _library is None:
                if not _is_usable:
                    raise ForkedProcess("the runtime cannot be loaded: the process is ending, or was forked meanwhile")
                _library = _open(*_choose())
    return _library


def _check_backend(backend: str, source: str) -> None:
    if backend not in BACKENDS:
        raise ValueError(f"{source}: unknown backend {backend!r}; it is one of {', '.join(BACKENDS)}")


def _choose() -> tuple[Candidate, tuple[Attempt, ...], str]:
    """Return the library to open, everything that was tried, and why it is this one."""
    from ascend_rt.backends import cann, sim
    from ascend_rt.backends.cann import Candidate

    wanted = _wanted or os.environ.get("ASCEND_RT_BACKEND") or "auto"
    _check_backend(wanted, "ASCEND_RT_BACKEND")
    asked = "use()" if _wanted else "ASCEND_RT_BACKEND" if "ASCEND_RT_BACKEND" in os.environ else "the default"
    if wanted == "sim":
        return Candidate(str(sim.library_path()), "sim"), (), f"asked for by {asked}"
    found, attempts = cann.find(_in_process, or_simulator=wanted == "auto")
    if found is not None:
        return found, attempts, f"found by {found.source}"
    if wanted == "auto" and not any(attempt.is_there for attempt in attempts):
        message = (
            "no CANN installation was found, so the simulator is used; "
            "say ASCEND_RT_BACKEND=sim to choose it, or =cann to be told what is missing"
        )
        warnings.warn(message, AclWarning, stacklevel=2)
        return Candidate(str(sim.library_path()), "sim"), attempts, "no CANN installation was found"
    raise LibraryError(_explain(attempts, cann.WHERE_TO_LOOK))


def _explain(attempts: tuple[Attempt, ...], where_to_look: str) -> str:
    tried = "\n".join(f"  {attempt.path} ({attempt.source}): {attempt.verdict}" for attempt in attempts)
    if not any(attempt.is_there for attempt in attempts):
        return f"no CANN installation was found: {where_to_look}; tried:\n{tried}"
    return f"CANN is installed, but no library of it can be used:\n{tried}\nASCEND_RT_BACKEND=sim uses the simulator."


def _open(candidate: Candidate, attempts: tuple[Attempt, ...], reason: str) -> Library:
    error = ffi.new("char[]", 1024)
    if _raw.ascend_rt_open(os.fsencode(candidate.path), error, len(error)):
        text = ffi.string(error).decode(errors="replace")
        raise LibraryError(f"{candidate.path} cannot be loaded: {text}")
    # A bare name was the dynamic loader's to find; only now is it known where.
    path = candidate.path if os.sep in candidate.path else _loaded_path(candidate.path) or candidate.path
    names = _declared_names()
    present = {name for i, name in enumerate(names) if _raw.ascend_rt_symbol_present(i)}
    missing = tuple(name for name in names if name not in present and not name.startswith("aclsim"))
    # A search path may lead to the simulator: then it is what is used, whatever was looked for.
    backend = "sim" if "aclsimHold" in present else "cann"
    opened = Library(backend, path, reason, attempts, missing, len(present))
    absent = set(names) - present
    for name in dir(_raw):
        lib.__dict__[name] = _not_in_library(name, path) if name in absent else getattr(_raw, name)
    lib.__class__ = _Loaded
    return opened


def _declared_names() -> list[str]:
    return [ffi.string(_raw.ascend_rt_symbol_name(i)).decode() for i in range(_raw.ascend_rt_symbol_count())]


def _not_in_library(name: str, path: str) -> Callable[..., NoReturn]:
    def missing(*arguments: object) -> NoReturn:
        raise NotSupported(207000, name, f"{path} has no such function; it is newer than this library")

    missing.__name__ = name
    return missing


def _in_process(name: str) -> tuple[str, bool] | None:
    """Return the path of a library that is in the process, and whether it is the simulator."""
    path = _loaded_path(name)
    return None if path is None else (path, bool(_raw.ascend_rt_loaded_has(name.encode(), b"aclsimHold")))


def _loaded_path(name: str) -> str | None:
    path = _raw.ascend_rt_loaded_path(name.encode())
    return None if path == ffi.NULL else os.fsdecode(ffi.string(path))


# --- fork ------------------------------------------------------------------------------------------------------------


def _forget_in_child() -> None:
    # The runtime's threads are not in the child; whoever calls it there waits for ever.
    global _is_usable, _lock
    is_loading = not _lock.acquire(blocking=False)  # by a thread that the child does not have
    _lock = threading.RLock()
    if is_loading or _library is not None:
        _is_usable = False
        names = (*_declared_names(), "ascend_rt_event_status", "ascend_rt_stream_status")
        lib.__dict__.update({name: _after_fork(name) for name in names})


def _after_fork(name: str) -> Callable[..., NoReturn]:
    def refuse(*arguments: object) -> NoReturn:
        raise ForkedProcess(
            f"{name}: the process was forked after the runtime had been used; start children with "
            "multiprocessing's 'spawn' method, or use the runtime only after the fork"
        )

    return refuse


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
