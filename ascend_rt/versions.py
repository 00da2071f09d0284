# SPDX-License-Identifier: Apache-2.0
"""The releases in use, and the first release that has a C function."""

from __future__ import annotations

from typing import NamedTuple

from ascend_rt._runtime.driver import ffi, is_expected, lib, library, supports
from ascend_rt._runtime.releases import cann_version, package_version

__all__ = ["Version", "since", "version"]


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
        package_version("driver") or installation.driver_version() if is_vendor else None,
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


def _api_version() -> str | None:
    if not supports("aclrtGetVersion"):
        return None
    parts = [ffi.new("int32_t *") for _ in range(3)]
    return None if is_expected(lib.aclrtGetVersion(*parts)) else ".".join(str(part[0]) for part in parts)
