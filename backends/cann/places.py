# SPDX-License-Identifier: Apache-2.0
"""Where CANN may be: what the environment says, the directories that it is installed to, the dynamic loader.

Layouts: up to 8.3 ``<root>/ascend-toolkit/<version>`` with a link ``latest``, from 8.5 on ``<root>/cann-<version>``
with a link ``cann``; in either the libraries are in ``lib64`` and ``<arch>-linux/lib64``.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ascend_rt.backends.toolkit import is_simulated

# The runtime's own library, and the older one that held everything and is kept for programs that link it. A function is
# taken from the first that has it.
NAMES = ("libacl_rt.so", "libascendcl.so")

NAMED = "ASCEND_RT_LIBRARY"  # the variable that names a library
_HOME_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_ROOTS = ("/usr/local/Ascend", "~/Ascend", "/opt/Ascend")
_KNOWN = "a known directory"
_LINKS = ("latest", "cann", "ascend-toolkit/latest", "nnrt/latest")
_PARENTS_OF_VERSIONS = (".", "ascend-toolkit", "nnrt")

_MACHINES = ("aarch64", "x86_64")  # for which there are toolkits

_VERSION = re.compile(r"(?:cann-)?(\d+(?:\.\w+)+(?:-\w+(?:\.\w+)*)?)")


@dataclass(frozen=True)
class Candidate:
    """Libraries that belong together, in the order in which a function is looked for in them.

    A bare file name is for the dynamic loader to find.
    """

    paths: tuple[str, ...]
    source: str


@dataclass(frozen=True)
class Gap:
    """A place without a library; errors about a missing CANN list it."""

    path: str
    source: str
    verdict: str


def candidates() -> Iterator[Candidate | Gap]:
    """Yield every place in the order of preference; one that is named explicitly is the only one."""
    if explicit := os.environ.get(NAMED):
        yield Candidate(with_sibling(explicit), NAMED)
        return
    for variable in _HOME_VARIABLES:
        if (home := os.environ.get(variable)) and is_simulated(home):
            yield Candidate((os.path.join(home, "lib64", NAMES[1]),), f"{variable}, a simulated toolkit")
        elif home:
            usual = Candidate((os.path.join(home, "lib64", NAMES[0]),), variable)
            yield from list(_below(home, variable)) or [_of_other_machine(home, variable) or usual]
        else:
            yield Gap(variable, "the environment", "not set")
    for root in map(os.path.expanduser, _ROOTS):
        found = list(_below(root, _KNOWN))
        yield from found
        if not found:
            yield _gap(root)
    yield Candidate(NAMES, "the dynamic loader")


def _gap(root: str) -> Gap:
    if other := _of_other_machine(root, _KNOWN):
        return Gap(other.paths[0], _KNOWN, f"for another machine type (this is {platform.machine()})")
    return Gap(root, _KNOWN, f"no {' or '.join(NAMES)} below it" if os.path.lexists(root) else "no such directory")


def with_sibling(path: str) -> tuple[str, ...]:
    """Return a library and, from the same directory, the other one that an installation may have."""
    directory, name = os.path.split(path)
    others = [os.path.join(directory, other) for other in NAMES if directory and name in NAMES and other != name]
    return (path, *filter(os.path.lexists, others))


def version_in(name: str) -> str | None:
    """Return the version in the name of a directory, such as ``cann-8.5.0`` or ``8.1.RC1``."""
    match = _VERSION.fullmatch(name)
    return match[1] if match else None


def _of_other_machine(home: str, source: str) -> Candidate | None:
    others = (machine for machine in _MACHINES if machine != platform.machine())
    return next((found for machine in others for found in _below(home, source, machine)), None)


def _below(home: str, source: str, machine: str | None = None) -> Iterator[Candidate]:
    seen: set[str] = set()  # "latest" is a link to one of the versions
    for toolkit in (home, *(os.path.join(home, link) for link in _LINKS), *_versions(home)):
        for directory in (
            os.path.join(toolkit, "lib64"),
            os.path.join(toolkit, f"{machine or platform.machine()}-linux", "lib64"),
        ):
            # A link that leads nowhere is there, and is reported.
            paths = tuple(filter(os.path.lexists, (os.path.join(directory, name) for name in NAMES)))
            if paths and (real := os.path.realpath(paths[0])) not in seen:
                seen.add(real)
                yield Candidate(paths, source)


def _versions(home: str) -> list[str]:
    """Return the directories of versions, the newest first."""
    found = []
    for parent in (os.path.join(home, parent) for parent in _PARENTS_OF_VERSIONS):
        try:
            names = os.listdir(parent)
        except OSError:
            continue  # most of them do not exist
        found += [(_order(version), os.path.join(parent, name)) for name in names if (version := version_in(name))]
    return [path for _, path in sorted(found, reverse=True)]


def _order(version: str) -> tuple[tuple[int, ...], ...]:
    """Return a key: 8.5.0 > 8.5.0-beta.2 > 8.5.0-beta.1, 8.1.RC2 > 8.1.RC1, 8.10 > 8.9."""
    release, *_ = re.split(r"-|\.(?=[A-Za-z])", version, maxsplit=1)
    rest = version[len(release) :]
    return tuple(map(int, re.findall(r"\d+", release))), (not rest, *map(int, re.findall(r"\d+", rest)))
