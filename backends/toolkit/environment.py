# SPDX-License-Identifier: Apache-2.0
"""Environment variables by which build files, compilers, linkers and the dynamic loader find a toolkit.

``set_env.sh`` sets the same in a shell, and ``PYTHONPATH``, on which it puts the module ``acl``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from ascend_rt.backends import sim
from ascend_rt.backends.toolkit import is_simulated
from ascend_rt.backends.toolkit.directory import home

LOADER_PATH = "DYLD_LIBRARY_PATH" if sys.platform == "darwin" else "LD_LIBRARY_PATH"

HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")

# Variables, and the directories of a toolkit that they name or search.
_PLACES = {
    **dict.fromkeys((*HOMES, "ASCEND_AICPU_PATH"), ""),
    "ASCEND_OPP_PATH": "opp",
    "TOOLCHAIN_HOME": "toolkit",
}
_SEARCH_PATHS = {
    "PATH": "bin",
    # Not CPATH, which precedes -isystem: builds for torch_npu name its copies of the headers by that.
    "C_INCLUDE_PATH": "include",
    "CPLUS_INCLUDE_PATH": "include",
    "LIBRARY_PATH": "lib64",
    LOADER_PATH: "lib64",
}


def installation(environment: Mapping[str, str]) -> str | None:
    """Return the installation of CANN that an environment names, if it names one that is not a simulated toolkit."""
    named = next(filter(None, map(environment.get, HOMES)), None)
    return None if named is None or is_simulated(named) else named


def without_simulator(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables that lead children of a program on the simulator there."""
    kept = {name: value for name, value in environment.items() if not (name in _PLACES and _is_simulated(value))}
    for name in {*_SEARCH_PATHS, "PYTHONPATH"} & kept.keys():
        entries = kept[name].split(os.pathsep)
        others = [entry for entry in entries if not _is_simulated(entry)]
        if others != entries:
            kept[name] = os.pathsep.join(others)
    return kept


def with_simulator(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment that leads to the simulator; the variables of another installation stay as they are."""
    directory = home()
    changed = without_simulator(environment)
    if not any(map(changed.get, HOMES)):
        changed.update({name: os.path.join(directory, place).rstrip("/") for name, place in _PLACES.items()})
    for name, place in _SEARCH_PATHS.items():
        known = changed.get(name) or (os.defpath if name == "PATH" else "")
        changed[name] = prepended(os.path.join(directory, place), known)
    return changed


def prepended(directory: str, search_path: str) -> str:
    """Return a search path that begins with a directory, and has it once and no empty entry."""
    others = [entry for entry in search_path.split(os.pathsep) if entry not in ("", directory)]
    return os.pathsep.join([directory, *others])


def _is_simulated(path: str) -> bool:
    """Return whether a path is a simulated toolkit, a directory in one, or has the simulator's libraries."""
    directories = (str(sim.library_directory()), str(sim.companion_directory()))
    parents = (path, os.path.dirname(path), os.path.dirname(os.path.dirname(path)))
    return bool(path) and (path in directories or any(map(is_simulated, parents)))
