# SPDX-License-Identifier: Apache-2.0
"""Releases of CANN: the one in use, and the reason why it lacks a function."""

from __future__ import annotations

import functools

from ascend_rt._runtime.driver import ffi, is_expected, lib, library, supports

_VERSION_BYTES = 128  # aclsysGetVersionStr fills a buffer of this size (API reference 24)


def absence(name: str, fault: str) -> str:
    """Return the reason why a function is missing: the library, its release, and the release that has the function."""
    from ascend_rt._generated.functions import FUNCTIONS, OLDEST

    paths = " and ".join(library().paths)
    release = cann_version()
    text = f"{paths} ({f'CANN {release}' if release else 'a CANN of unknown version'}) has no such function"
    if fault:
        text += f", and the library that has it cannot be used: {fault}"
    if name not in FUNCTIONS:
        return f"{text}; only the simulator has it"
    first = FUNCTIONS[name][1]
    if FUNCTIONS[name][2] == "":
        return f"{text}; it is declared in CANN {first}, for products that this package does not know"
    return f"{text}; CANN has it since {first}{' or an earlier release' if first == OLDEST else ''}"


@functools.cache
def cann_version() -> str | None:
    """Return the release of the CANN in use, as reported by the library or by the files of its installation."""
    from ascend_rt.backends.cann import installation

    return package_version("runtime") or installation.cann_version(library().path)


def package_version(package: str) -> str | None:
    """Return the release of a package of CANN as reported by the library; None if it does not report it."""
    if not supports("aclsysGetVersionStr"):
        return None
    text = ffi.new("char[]", _VERSION_BYTES)
    code = lib.aclsysGetVersionStr(package.encode(), text)
    return None if is_expected(code) else ffi.string(text).decode(errors="replace") or None
