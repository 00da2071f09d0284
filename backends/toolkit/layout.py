# SPDX-License-Identifier: Apache-2.0
"""Content of a simulated toolkit: the places in which build files look, for older and newer releases of CANN."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Iterator, Mapping

from ascend_rt.backends import include_directory, python_program, sim
from ascend_rt.backends.toolkit import MARKER

_ARCH = f"{platform.machine()}-linux"

_PACKAGES = ("compiler", "hccl", "opp", "runtime", "toolkit")

# Directories in which older and newer releases have the headers of the inner runtime.
_INNER_RUNTIME = ("include/experiment/runtime", "pkg_inc/runtime", f"{_ARCH}/pkg_inc/runtime")

# Directories in which others have headers and libraries, too; build files name them.
_PARENTS = (_ARCH, "acllib", "compiler", "fwkacllib", "runtime")
_OTHER_NAMES = {
    "bin/setenv.bash": "set_env.sh",
    "devlib": "lib64",
    "lib": "lib64",
    f"{_ARCH}/devlib": "lib64",
    **{f"{parent}/{name}": name for parent in _PARENTS for name in ("include", "lib64")},
}

DIRECTORIES = (
    "bin",
    "include/experiment/msprof",
    "lib64/stub",
    "opp/vendors",
    "python/site-packages/acl",
    "tools",
    *_INNER_RUNTIME,
    *_PARENTS,
    *_PACKAGES,
    *(f"share/info/{package}" for package in _PACKAGES),
)

# Module acl for Pythons that a shell starts. Below ``ascend-rt run`` a finder gives the module.
_PYACL = """\
# pyACL on the simulator: imports load ascend_rt.pyacl, in a Python that has ascend_rt.
try:
    from ascend_rt._startup.acl_finder import replace
except ModuleNotFoundError as error:
    text = f"acl of the simulated toolkit needs ascend_rt in this Python, {__import__('sys').executable}"
    raise ModuleNotFoundError(text, name=error.name) from error

replace(__name__)
"""

_VERSION_FILES = (
    "version.info",
    *(f"{parent}{package}/version.info" for package in _PACKAGES for parent in ("", "share/info/")),
)


def links() -> Iterator[tuple[str, str]]:
    """Yield each link with its target."""
    headers = include_directory()
    for name in sorted(os.listdir(headers)):
        yield f"include/{name}", os.path.join(headers, name)
    for place in _INNER_RUNTIME:
        yield f"{place}/runtime", os.path.join(headers, "runtime")
    for library in libraries():
        for directory in ("lib64", "lib64/stub"):
            yield f"{directory}/{os.path.basename(library)}", library
    for name, target in _OTHER_NAMES.items():
        yield name, os.path.relpath(target, os.path.dirname(name))


def libraries() -> list[str]:
    """Return the paths of the simulator's libraries."""
    directories = {sim.library_directory(), sim.companion_directory()}
    return sorted(str(path) for directory in directories for path in directory.glob("lib*.so"))


def texts(directory: str, release: str, variables: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
    """Yield the name, the mode and the content of each file.

    Parameters
    ----------
    directory : str
        Of the toolkit.
    release : str
        Of CANN, that it plays.
    variables : mapping of str to str
        Environment variables that the simulator needs to play it.
    """
    yield MARKER, 0o644, "A simulated toolkit of ascend_rt, not an installation of CANN.\n"
    for name in _VERSION_FILES:
        yield name, 0o644, f"Version={release}\nversion_dir={release}\n"
    cfg = "".join(f"{package}_running_version=[{release}:{release}]\n" for package in _PACKAGES)
    yield "version.cfg", 0o644, f"# version: 1.0\n{cfg}"
    install = {"package_name": "ascend_rt", "version": release, "arch": platform.machine(), "path": directory}
    yield f"{_ARCH}/ascend_toolkit_install.info", 0o644, "".join(f"{key}={text}\n" for key, text in install.items())
    yield "set_env.sh", 0o644, _set_env(directory, variables)
    yield "python/site-packages/acl/__init__.py", 0o644, _PYACL
    yield "bin/npu-smi", 0o755, f'#!/bin/sh\nexec {shlex.quote(python_program())} -m ascend_rt.cli.npu_smi "$@"\n'


def _set_env(directory: str, variables: Mapping[str, str]) -> str:
    """Return a script that begins with its directory: sh cannot find out which file it reads."""
    with open(os.path.join(os.path.dirname(__file__), "set_env.sh"), encoding="utf-8") as file:
        script = file.read()
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    return f"_ascend_rt_home={shlex.quote(directory)}\n{exports}{script}"
