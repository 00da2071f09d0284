# SPDX-License-Identifier: Apache-2.0
"""Choosing the library: what was asked for, what is there, and what to say when that does not work out."""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Callable
from typing import NamedTuple

from ascend_rt.backends import cann, check_backend, sim
from ascend_rt.backends.cann import Attempt, probe
from ascend_rt.errors import AclWarning, LibraryError


class Choice(NamedTuple):
    """The libraries to open, in the order in which a function is looked for in them."""

    backend: str
    paths: tuple[str, ...]
    reason: str
    attempts: tuple[Attempt, ...]


def choose(asked: str | None, loaded_path: Callable[[str], str | None]) -> Choice:
    """Choose by what `use` was told, by ``ASCEND_RT_BACKEND``, or as ``auto`` does.

    Parameters
    ----------
    asked : str or None
        What `use` was told.
    loaded_path : callable
        Returns the path of the library that is in the process under a file name, or None.

    Raises
    ------
    LibraryError
        CANN was asked for and is not there, or is there and cannot be used.
    """
    wanted = asked or os.environ.get("ASCEND_RT_BACKEND") or "auto"
    check_backend(wanted, "ASCEND_RT_BACKEND")
    if wanted == "sim":
        told = "use()" if asked else "ASCEND_RT_BACKEND"
        return Choice("sim", (str(sim.library_path()),), f"asked for by {told}", ())
    loaded = tuple(path for name in cann.NAMES if (path := loaded_path(name)))
    found, attempts = cann.find(loaded, _verdict, or_simulator=wanted == "auto")
    if found is not None:
        # A search path may lead to the simulator: then it is what is used, whatever was looked for.
        backend = "sim" if attempts[-1].outcome == "simulator" else "cann"
        return Choice(backend, found.paths, f"found by {found.source}", attempts)
    if wanted == "auto" and not any(attempt.outcome == "refused" for attempt in attempts):
        message = (
            "no CANN installation was found, so the simulator is used; "
            "say ASCEND_RT_BACKEND=sim to choose it, or =cann to be told what is missing"
        )
        warnings.warn(message, AclWarning, stacklevel=4)
        return Choice("sim", (str(sim.library_path()),), "no CANN installation was found", attempts)
    raise LibraryError(_explain(attempts), attempts)


def _verdict(paths: tuple[str, ...]) -> str:
    return probe.verdict([ctypes.CDLL(path) for path in paths])


def _explain(attempts: tuple[Attempt, ...]) -> str:
    tried = "\n".join(f"  {attempt.path} ({attempt.source}): {attempt.verdict}" for attempt in attempts)
    if not any(attempt.outcome == "refused" for attempt in attempts):
        return f"no CANN installation was found: {cann.WHERE_TO_LOOK}; tried:\n{tried}"
    return f"CANN is installed, but no library of it can be used:\n{tried}\nASCEND_RT_BACKEND=sim uses the simulator."
