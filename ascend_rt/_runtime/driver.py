# SPDX-License-Identifier: Apache-2.0
"""The seam between the table of functions and the library behind it. Only this module opens a library.

``lib`` has every declared C function. The first access to a function loads the library; from then on the functions are
plain attributes, exactly as cffi made them, so that the seam adds no cost to a call. A function that cannot be called
is replaced by one that raises: :class:`NotSupported` for a function that the library lacks; for all functions,
:class:`ForkedProcess` in a forked child and :class:`RuntimeClosed` when the interpreter is about to exit. C code finds
a default in the table instead, which returns a code, and :func:`failure` raises the same exception for it.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from importlib import import_module

from ascend_rt import _aclrt
from ascend_rt._runtime import locks, log, settings
from ascend_rt._runtime.error_classes import error_for
from ascend_rt.backends import check_backend
from ascend_rt.errors import (
    AclError,
    AclWarning,
    ConfigurationError,
    ForkedProcess,
    LibraryError,
    NotSupported,
    RuntimeClosed,
    WrongState,
)

if settings.looks_for_deadlocks():  # now: the program is about to make locks
    from ascend_rt._runtime import checked_locks

    checked_locks.install()

if settings.looks_for_races():
    from ascend_rt._startup import host_threads

    host_threads.install()

TYPE_CHECKING = False  # importing typing takes longer than the first use of the simulator
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any, NoReturn

    from ascend_rt._aclrt import Lib
    from ascend_rt._runtime.failures import FailedTask
    from ascend_rt._runtime.library import Library
    from ascend_rt._runtime.selection import BackendSelection


def _require_main_interpreter() -> None:
    """Refuse another one: the table is the process's, and callbacks from any thread enter the main interpreter."""
    try:
        interpreters: Any = import_module("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
    except ImportError:
        return
    if interpreters.get_current() != interpreters.get_main():
        raise ImportError("ascend_rt does not support subinterpreters; import it in the main interpreter")


_require_main_interpreter()

ffi: Any = _aclrt.ffi
_raw: Any = _aclrt.lib
_POINTER = ffi.typeof("void *")

WRAPPERS = "ASCEND_RT_CHECK_LIBRARY"
"""The variable with the path of a library before the vendor's, by which ``ascend-rt check`` sees the calls."""
# Variables that make a library report places in the program.
_SHOWING_PLACES = {"sim": ("ASCEND_RT_SIM_CHECK", "ASCEND_RT_SIM_STRICT"), "cann": (WRAPPERS,)}

_lock = locks.new_lock()
_asked: tuple[str, str] | None = None  # the backend that was chosen, and by what: "use()", or an option
_opened: BackendSelection | None = None
_is_usable = True
warn_of_simulator = True
"""True if a program is warned that it gets the simulator without having asked; the command line says so itself."""
_side_libraries: dict[str, str] = {}  # library that was tried -> its fault, or ""
_elsewhere: set[str] = set()  # functions of side libraries that were not tried


def override(name: str, function: Callable[..., Any]) -> AbstractContextManager[Callable[..., Any]]:
    """Replace a C function by a Python function for a ``with`` block, for instance in a test.

    The replacement applies to all callers in all threads: the objects of this package, calls of ``lib``, and
    :mod:`acl`.

    Parameters
    ----------
    name : str
        The C function.
    function : callable
        Takes the arguments as cffi passes them to callbacks, and returns the result. If the C function returns an
        ``aclError``, an exception is passed on to the caller; or, if that goes on whatever the answer, it is raised at
        the end of the block.

    Returns
    -------
    context manager
        Its value is the replaced function, for the new one to call.

    Raises
    ------
    AttributeError
        There is no such C function.

    Examples
    --------
    >>> from ascend_rt import lib
    >>> with lib.override("aclrtMalloc", lambda pointer, size, policy: 207001):
    ...     try:
    ...         Buffer(64)
    ...     except OutOfMemory as error:
    ...         error.code
    207001
    """
    from ascend_rt._runtime.override import override as replace

    return replace(name, function)


def _load_first(name: str) -> Any:
    """Return an attribute of `lib` that the table lacks, as it does before the library is loaded."""
    if not hasattr(_raw, name):
        raise absent(name)
    if not name.startswith("acl"):
        return getattr(_raw, name)  # constants, and the helpers of the extension module itself
    load()
    return _table.__dict__[name]


def absent(name: str) -> AttributeError:
    """Return the error for a C function or a constant that is not declared."""
    from difflib import get_close_matches  # large, and only failures need it

    nearest = [] if name.startswith("__") else get_close_matches(name, dir(_raw))  # quick for what introspects
    cure = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
    return AttributeError(f"{name!r} is not a declared C function or constant{cure}")


# A module, because Python finds its attributes faster than those of any other object with a `__getattr__`.
_table: Any = type(sys)("ascend_rt.lib", "The functions of the loaded library, and all constants.")
_table.__getattr__, _table.__dir__, _table.override = _load_first, lambda: ["override", *dir(_raw)], override
if TYPE_CHECKING:

    class _Functions(Lib):
        override = staticmethod(override)


lib: _Functions = _table
stand_ins: dict[str, Callable[..., NoReturn]] = {}
"""Functions that raise, by the names of the functions that they replace: calls from C get a code instead."""
raised: dict[int, BaseException] = {}
"""Exceptions of functions in Python that C called, by the codes that C got instead."""


def use(backend: str) -> None:
    """Choose the library before it is first used.

    Parameters
    ----------
    backend : {"auto", "cann", "sim"}
        ``"cann"`` is the vendor's library, ``"sim"`` the simulator. ``"auto"`` is the vendor's library if it is
        installed, and otherwise the simulator, with a warning. The argument overrides ``ASCEND_RT_BACKEND``.

    Raises
    ------
    ConfigurationError
        The name is none of these.
    WrongState
        Another library is loaded already.

    Examples
    --------
    >>> use("sim")
    >>> library().backend
    'sim'
    >>> try:
    ...     use("cann")
    ... except RuntimeError as error:
    ...     print(error)
    /.../libascendcl.so is loaded already; call use('cann') before the first call
    """
    choose(backend, "use()")


def choose(backend: str, by: str) -> None:
    """Choose the library as :func:`use` does, with a name for what has chosen it."""
    global _asked
    check_backend(backend, f"use({backend!r})" if by == "use()" else f"{by} {backend}")
    with _lock:
        if _opened is not None and backend not in ("auto", _opened.backend):
            raise WrongState(f"{_opened.paths[0]} is loaded already; call use({backend!r}) before the first call")
        _asked = backend, by


def library() -> Library:
    """Return the library in use; loads it if necessary.

    Examples
    --------
    >>> found = library()
    >>> print(f"{found.path}: {found.reason}")
    /.../libascendcl.so: chosen by ASCEND_RT_BACKEND
    """
    from ascend_rt._runtime.library import Library

    opened = load()
    return Library(opened.backend, opened.paths, opened.reason, opened.attempts)


def choice() -> BackendSelection:
    """Return which library would be opened, without opening it."""
    from ascend_rt._runtime import selection

    return selection.choose(_asked, _loaded_path)


def supports(name: str) -> bool:
    """Return True if the library in use has a C function; loads the library if necessary.

    Returns
    -------
    bool
        False if the library is too old or too new for the function, or if there is no such function. If True, the
        function may still be refused: on some products with 207000, on a host with 200006 (``ascend-rt coverage``).

    Examples
    --------
    >>> supports("aclrtCreateStreamWithConfig")
    True
    >>> supports("aclrtMakeCoffee")
    False
    """
    opened = load()
    if not (str.isascii(name) and name.startswith("acl") and hasattr(_raw, name)):
        return False
    if opened.backend == "cann" and name in _elsewhere:
        _open_side_library(_side_library_of(name) or "")
    if name in stand_ins or name in _elsewhere:
        return False
    return opened.backend == "cann" or bool(_raw.aclsimIsSimulated(name.encode()))


def providers() -> dict[str, str]:
    """Return, of every declared function that is there, the path of the library that has it; opens all of them."""
    from ascend_rt._generated.functions import LIBRARIES

    if load().backend == "cann":
        for file_name in LIBRARIES.values():
            _open_side_library(file_name)
    present = {i: name for i, name in enumerate(_declared()) if _raw.ascend_rt_symbol_present(i)}
    return {name: os.fsdecode(ffi.string(_raw.ascend_rt_symbol_library(i))) for i, name in present.items()}


def shared_parts() -> int:
    """Return the address of what ``_pyacl`` and ``_handles`` share with ``_aclrt``, such as the table of functions."""
    return address(_raw.ascend_rt_shared_parts())


def provide(name: str) -> None:
    """Load the library that has a C function, for calls below :data:`lib`.

    If no library has it, the function in the table answers 207000, as a runtime does that does not support it.

    Raises
    ------
    LibraryError
        There is no library.
    ForkedProcess, RuntimeClosed
        The library may not be called any more.
    """
    load()
    check_usable(name)
    if side_library := _side_library_of(name):
        _open_side_library(side_library)


on_failure: Callable[[AclError], object] | None = None
"""Called with the error of every failed call, before it is raised; the first capture sets it."""


def usable() -> bool:
    """Return whether the library may be called: not after the end, and not in a child of a process that used it."""
    return _is_usable


def check_usable(function: str) -> None:
    """Raise what calls of a function raise, if the library may not be called any more."""
    if not _is_usable:
        stand_ins[function]()


def check(code: int, function: str) -> None:
    """Raise the exception for a failed call. On hot paths ask ``if code:`` first."""
    if code:
        raise failure(code, function)  # no variable: with the traceback it would be a cycle


def failure(code: int, function: str, task: FailedTask | None = None, message: str | None = None) -> AclError:
    """Return the exception for a failed call, with the runtime's text for it: by default that of this thread.

    If the C function was replaced by one that raises, its exception is raised; and if the simulator refuses a setting,
    :class:`ConfigurationError`.
    """
    raise_kept(code)
    if function in stand_ins:
        stand_ins[function]()
    text = recent_message() if message is None else message
    if code == _raw.ACL_ERROR_RT_INTERNAL_ERROR and AclError._cause_in(text).startswith("ASCEND_RT_"):
        raise ConfigurationError(AclError._cause_in(text))
    error = error_for(code, function, text, task)
    if on_failure is not None:
        on_failure(error)
    return error


def raise_kept(code: Any) -> None:
    """Raise the exception of a function in Python if C got this code instead of it."""
    if raised and code in raised:
        raise raised.pop(code)


def recent_message() -> str:
    """Return the runtime's text for what has failed in this thread, and discard it (``aclGetRecentErrMsg``)."""
    text = _raw.aclGetRecentErrMsg()  # NULL from a library without it
    return "" if text == ffi.NULL else ffi.string(text).decode(errors="replace").strip()


def is_expected(code: int, *codes: int) -> bool:
    """Return whether an attempt has failed as it may, with one of the codes, or with any if none is named.

    The runtime's text for that is discarded: it was expected, and must not go with a later failure.
    """
    is_so = bool(code) and (not codes or code in codes)
    if is_so:
        _raw.aclGetRecentErrMsg()
    return is_so


class AskingQuietly:
    """Queries on behalf of this package: a check for races does not count the program as having asked."""

    def __enter__(self) -> None:
        if supports("aclsimAskQuietly"):
            lib.aclsimAskQuietly(1)

    def __exit__(self, *_: object) -> None:
        if supports("aclsimAskQuietly"):
            lib.aclsimAskQuietly(0)


def address(handle: Any) -> int:
    """Return a handle or a pointer as a number."""
    return int(ffi.cast("uintptr_t", handle))


def pointer(number: int) -> Any:
    """Return a handle or a pointer that is given as a number."""
    return ffi.cast(_POINTER, number)


def check_address(number: int) -> int:
    """Return a handle or an address that a caller has given as a number; a C cast would take it modulo 2 ** 64.

    Raises
    ------
    TypeError
        It is not an integer, or it is a bool.
    ValueError
        It does not fit into 64 bits.
    """
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise TypeError(f"expected an int (a handle or an address), got {type(number).__name__}")
    number = number.__index__()
    if not 0 <= number < 2**64:
        raise ValueError(f"a handle or an address must be at least 0 and less than 2 ** 64, got {number}")
    return number


def call(function: str, *arguments: Any) -> None:
    """Call a C function that returns an ``aclError`` and raise the exception if it fails; not for hot paths."""
    code = getattr(lib, function)(*arguments)
    if code:
        check(code, function)


# --- loading ---------------------------------------------------------------------------------------------------------


def load() -> BackendSelection:
    """Choose and open the library once."""
    global _opened
    if _opened is not None:
        return _opened
    with _lock:
        if _opened is not None:
            return _opened
        if not _is_usable:
            raise ForkedProcess("the runtime cannot be loaded: the process is exiting, or was forked meanwhile")
        chosen = choice()
        chosen.paths = _open(chosen)
        _opened = chosen
        if any(map(os.environ.get, _SHOWING_PLACES[chosen.backend])):
            from ascend_rt._runtime import call_site

            call_site.install()
        if chosen.backend == "sim":
            from ascend_rt._runtime import threads

            lib.aclsimSetInterruptCheck(lib.ascend_rt_interrupt_entry)
            if sys.__stderr__ is None:  # it was closed when the program started
                lib.aclsimSetMessages(0)
            threads.install()
        if os.environ.get("ASCEND_RT_CHECK_AT_EXIT"):
            from ascend_rt._check import at_exit

            at_exit.install()
    if os.environ.get("ASCEND_RT_CHECK_WATCHDOG"):
        from ascend_rt._runtime import watchdog

        watchdog.start()
    log.info("the library is %s (%s): %s", ", ".join(chosen.paths), chosen.backend, chosen.reason)
    if chosen.warning and warn_of_simulator:
        _warn(chosen.warning)
    if text := settings.unknown():
        _warn(text)
    return chosen


def _warn(text: str) -> None:
    import warnings

    from ascend_rt._runtime import call_site

    warnings.warn(text, AclWarning, stacklevel=call_site.stack_level())


def _open(choice: BackendSelection) -> tuple[str, ...]:
    """Open the files and fill the table; return where they are."""
    _raw.ascend_rt_forget()  # the remains of an attempt that failed half-way
    _raw.ascend_rt_prepare_waits(_main_thread(), choice.backend == "sim")
    for path in choice.paths:
        _open_file(path)
    if choice.backend == "cann" and (wrappers := os.environ.get(WRAPPERS)):
        _open_file(wrappers, _raw.ascend_rt_wrap)
    _table.__dict__.update(_raw.__dict__)
    missing = _missing()
    _elsewhere.update(name for name in missing if _side_library_of(name))
    _table.__dict__.update({name: _in_side_library(name) for name in _elsewhere})
    _stand_in({name: _not_in_library(name) for name in missing if name not in _elsewhere})
    # A bare name was the dynamic loader's to find; only now is it known where.
    return tuple(path if os.sep in path else _loaded_path(path) or path for path in choice.paths)


def _stand_in(functions: dict[str, Callable[..., NoReturn]]) -> None:
    """Replace C functions by functions that raise."""
    stand_ins.update(functions)
    _table.__dict__.update(functions)


def _main_thread() -> int | None:
    """Return the identifier of the thread that Ctrl-C interrupts; without threading it is the one that asks."""
    if "threading" not in sys.modules:
        return get_ident()
    from threading import main_thread

    return main_thread().ident


def _open_file(path: str, open_library: Callable[..., int] = _raw.ascend_rt_open) -> None:
    error = ffi.new("char[]", 1024)
    if open_library(os.fsencode(path), error, len(error)):
        text = ffi.string(error).decode(errors="replace")
        raise LibraryError(f"{path} cannot be loaded: {text}")


def _declared() -> list[str]:
    return [_symbol(i) for i in range(_raw.ascend_rt_symbol_count())]


def _missing() -> list[str]:
    return [_symbol(i) for i in range(_raw.ascend_rt_symbol_count()) if not _raw.ascend_rt_symbol_present(i)]


def _symbol(i: int) -> str:
    name: bytes = ffi.string(_raw.ascend_rt_symbol_name(i))
    return name.decode()


def _loaded_path(name: str) -> str | None:
    path = _raw.ascend_rt_loaded_path(name.encode())
    return None if path == ffi.NULL else os.fsdecode(ffi.string(path))


# --- functions that the runtime's own library does not have ----------------------------------------------------------


def _side_library_of(name: str) -> str | None:
    """Return the file name of the library that a family of functions has for itself, such as the profiler's."""
    from ascend_rt._generated.functions import FUNCTIONS, LIBRARIES

    return LIBRARIES.get(FUNCTIONS[name][0]) if name in FUNCTIONS else None


def _in_side_library(name: str) -> Callable[..., Any]:
    def open_first(*arguments: Any) -> Any:
        _open_side_library(_side_library_of(name) or "")
        return _table.__dict__[name](*arguments)

    open_first.__name__ = name
    return open_first


def _open_side_library(file_name: str) -> None:
    """Open a library of that kind once, and put its functions, or functions that raise, into the table."""
    with _lock:
        if file_name not in _side_libraries and _is_usable:
            _side_libraries[file_name] = fault = _try_side_library(file_name)
            missing = set(_missing())
            for name in _declared():
                if _side_library_of(name) == file_name:
                    _table.__dict__[name] = getattr(_raw, name)
                    _elsewhere.discard(name)
                    if name in missing:
                        _stand_in({name: _not_in_library(name, fault)})


def _try_side_library(file_name: str) -> str:
    """Open the library beside the runtime's own, or where the dynamic loader knows it; return what is wrong, or ""."""
    from ascend_rt.backends import cann

    beside = os.path.join(os.path.dirname(load().paths[0]), file_name)
    path = _loaded_path(file_name) or (beside if os.path.lexists(beside) else file_name)
    if path != _loaded_path(file_name) and (fault := cann.look(path) or cann.cannot_open(path)):
        return f"{path}: {fault}"
    try:
        _open_file(path)
    except LibraryError as error:
        return str(error)
    return ""


def _not_in_library(name: str, fault: str = "") -> Callable[..., NoReturn]:
    def missing(*arguments: object) -> NoReturn:
        from ascend_rt._runtime.releases import absence

        raise NotSupported(207000, name, absence(name, fault))

    missing.__name__ = name
    return missing


# --- the end: fork and exit ------------------------------------------------------------------------------------------


def refuse_calls() -> None:
    """Let every call raise :class:`RuntimeClosed` from now on, in all threads, and finalizers do nothing.

    Only :func:`call_within` still reaches the library, until :func:`shutdown`.
    """
    _refuse(_after_the_end)


def call_within(limit_ms: int, function: str, argument: int = 0) -> None:
    """Make one of the calls that give the runtime back, on a thread that may be left behind if it does not return.

    Parameters
    ----------
    limit_ms : int
        How long to wait for it. If that was too short, no further call is made.
    function : str
        The C function; which ones there are: ``limited_calls`` in ``aclrt_support.c``.
    argument : int
        A number of a device, a number of milliseconds, or the address of a context.

    Raises
    ------
    AclError
        The call failed.
    TimeoutError
        It has not returned.
    """
    text = ffi.new("char[]", 512)
    code = _raw.ascend_rt_call_within(limit_ms, function.encode(), argument, text, len(text))
    if code < 0:
        raise TimeoutError(f"{function} did not return within {limit_ms} ms")
    if code:
        raise error_for(code, function, ffi.string(text).decode(errors="replace").strip())


def shutdown() -> None:
    """Cut the library off, for the extension module too: the interpreter is about to end."""
    _retire(_after_the_end)


def _finish_imports() -> None:
    if _is_usable and _opened is not None:
        from ascend_rt._runtime import late_imports

        late_imports.import_all()


def _forget_in_child() -> None:
    # The runtime's threads do not exist in the child; a call there would never return.
    is_loading = locks.is_held_elsewhere(_lock)
    locks.renew()
    _raw.ascend_rt_renew_locks()
    if is_loading or _opened is not None:
        _retire(_after_fork)


def _retire(refusal: Callable[[str], Callable[..., NoReturn]]) -> None:
    """Refuse calls, those with a time limit too: nothing reaches a library any more."""
    _refuse(refusal)
    _raw.ascend_rt_forget()


# Calls that the extension module combines.
_CALLERS = (
    "ascend_rt_captured_graph",
    "ascend_rt_create_channel",
    "ascend_rt_event_status",
    "ascend_rt_receive",
    "ascend_rt_send",
    "ascend_rt_stream_status",
    "ascend_rt_synchronize_device",
    "ascend_rt_synchronize_event",
    "ascend_rt_synchronize_stream",
    "ascend_rt_wait_for_device",
    "ascend_rt_wait_for_event",
    "ascend_rt_wait_for_stream",
)


def _refuse(refusal: Callable[[str], Callable[..., NoReturn]]) -> None:
    global _is_usable
    # All at once, and before objects close without a call: a thread that goes on must not create what it cannot close.
    _stand_in({name: refusal(name) for name in (*_declared(), *_CALLERS)})
    _raw.ascend_rt_refuse_calls()
    _is_usable = False


def _after_the_end(name: str) -> Callable[..., NoReturn]:
    def refuse(*arguments: object) -> NoReturn:
        raise RuntimeClosed(f"{name}: the interpreter is exiting and the runtime was released")

    return refuse


def _after_fork(name: str) -> Callable[..., NoReturn]:
    def refuse(*arguments: object) -> NoReturn:
        raise ForkedProcess(
            f"{name}: the process was forked after its parent had used the runtime; start children with "
            "multiprocessing's 'spawn' method, or use the runtime only after the fork"
        )

    return refuse


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish_imports, after_in_child=_forget_in_child)
