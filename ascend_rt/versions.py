# SPDX-License-Identifier: Apache-2.0
"""The releases in use, and the first release that has a C function."""

from __future__ import annotations

import functools
from typing import NamedTuple

from ascend_rt._runtime.driver import ffi, is_expected, lib, library, supports

__all__ = ["Version", "since", "version"]

_VERSION_BYTES = 128  # aclsysGetVersionStr fills a buffer of this size (API reference 24)


class Version(NamedTuple):
    """The releases in use.

    Attributes
    ----------
    package : str
        The version of ascend_rt.
    cann : str or None
        The release of CANN, for instance ``"8.1.RC1"``; None with the simulator, or if it is unknown.
    api : str or None
        The version of the runtime's C interface (``aclrtGetVersion``), for instance ``"1.17.0"``.
    driver : str or None
        The version of the NPU driver; None with the simulator, or if it is unknown.

    Examples
    --------
    >>> version().package
    '0.1.0'
    >>> version().cann is None  # with the simulator
    True
    """

    package: str
    cann: str | None
    api: str | None
    driver: str | None


def version() -> Version:
    """Return the versions of the package, of CANN and of the driver; loads the library, needs no device.

    Returns
    -------
    Version
        The releases of CANN and of the driver come from ``aclsysGetVersionStr`` or, if it does not report them, from
        the files of the installation that the library belongs to.

    Examples
    --------
    >>> print(version().api)
    1.17.0
    """
    from ascend_rt import __version__
    from ascend_rt.backends.cann import installation

    is_vendor = library().backend == "cann"
    return Version(
        __version__,
        cann_version() if is_vendor else None,
        _api_version(),
        _package_version("driver") or installation.driver_version() if is_vendor else None,
    )


def since(name: str) -> str | None:
    """Return the first release of CANN that has a C function; None if there is no such function.

    The oldest known release is 8.1.RC1: functions in it may be older.

    Parameters
    ----------
    name : str
        The name of the function, such as ``aclrtMalloc``.

    Returns
    -------
    str or None
        The release.

    Examples
    --------
    >>> from ascend_rt.versions import since
    >>> since("aclrtCreateStreamWithConfig")
    '8.1.RC1'
    """
    from ascend_rt._generated.functions import FUNCTIONS

    return FUNCTIONS[name][1] if name in FUNCTIONS else None


def absence(name: str, fault: str) -> str:
    """Return the reason why a function is missing: the library, its release, and the release that has the function."""
    from ascend_rt._generated.functions import FUNCTIONS, OLDEST

    paths = " and ".join(library().paths)
    release = cann_version()
    text = f"{paths} ({f'CANN {release}' if release else 'a CANN of unknown version'}) has no such function"
    if fault:
        text += f", and the library that has it cannot be used: {fault}"
    first = since(name)
    if name not in FUNCTIONS:
        return f"{text}; only the simulator has it"
    if FUNCTIONS[name][2] == "":
        return f"{text}; it is declared in CANN {first}, for products that this package does not know"
    return f"{text}; CANN has it since {first}{' or an earlier release' if first == OLDEST else ''}"


@functools.cache
def cann_version() -> str | None:
    """Return the release of the CANN in use, as reported by the library or by the files of its installation."""
    from ascend_rt.backends.cann import installation

    return _package_version("runtime") or installation.cann_version(library().path)


def _package_version(package: str) -> str | None:
    if not supports("aclsysGetVersionStr"):
        return None
    text = ffi.new("char[]", _VERSION_BYTES)
    code = lib.aclsysGetVersionStr(package.encode(), text)
    return None if is_expected(code) else ffi.string(text).decode(errors="replace") or None


def _api_version() -> str | None:
    if not supports("aclrtGetVersion"):
        return None
    parts = [ffi.new("int32_t *") for _ in range(3)]
    return None if is_expected(lib.aclrtGetVersion(*parts)) else ".".join(str(part[0]) for part in parts)
