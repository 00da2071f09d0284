# SPDX-License-Identifier: Apache-2.0
"""Choosing the library: the request, the installed libraries, and the error if none of them can be used."""

from __future__ import annotations

import os

from ascend_rt.backends import check_backend, sim
from ascend_rt.errors import LibraryError

TYPE_CHECKING = False  # importing typing takes longer than the first use of the simulator
if TYPE_CHECKING:
    from collections.abc import Callable

    from ascend_rt.backends.cann import Attempt

    LoadedPath = Callable[[str], str | None]


class BackendSelection:
    """The libraries to open, in the order in which a function is looked for in them."""

    def __init__(
        self, backend: str, paths: tuple[str, ...], reason: str, attempts: tuple[Attempt, ...] = (), warning: str = ""
    ) -> None:
        self.backend = backend
        self.paths = paths
        self.reason = reason
        self.attempts = attempts
        self.warning = warning  # for programs that have not said what they want


def choose(asked: tuple[str, str] | None, loaded_path: LoadedPath) -> BackendSelection:
    """Choose as a caller asks, by ``ASCEND_RT_BACKEND``, or as ``auto`` does.

    Parameters
    ----------
    asked : tuple of str or None
        The backend that a caller of `driver.choose` asks for, and the name of that caller, if there is one.
    loaded_path : callable
        Returns the path of the library that is in the process under a file name, or None.

    Raises
    ------
    LibraryError
        CANN was asked for and is not there, or is there and cannot be used.
    """
    wanted, by = asked or (os.environ.get("ASCEND_RT_BACKEND") or "auto", "ASCEND_RT_BACKEND")
    check_backend(wanted, f"{by}={wanted}")
    if wanted == "sim":
        return _simulator(f"chosen by {by}")
    return _search(loaded_path, "" if wanted == "auto" else f"chosen by {by}, ")


def _simulator(reason: str, attempts: tuple[Attempt, ...] = (), warning: str = "") -> BackendSelection:
    return BackendSelection("sim", (sim.find(),), reason, attempts, warning)


def _search(loaded_path: LoadedPath, chosen_by: str) -> BackendSelection:
    from ascend_rt.backends import cann  # imports much of the standard library, which the simulator does not need

    or_simulator = not chosen_by
    loaded = tuple(path for name in cann.NAMES if (path := loaded_path(name)))
    found, attempts = cann.find(loaded, _verdict, or_simulator=or_simulator)
    if found is not None:
        # A search path may lead to the simulator: then it is what is used, whatever was looked for.
        backend = "sim" if attempts[-1].outcome == "simulator" else "cann"
        return BackendSelection(backend, found.paths, f"{chosen_by}found by {found.source}", attempts)
    if or_simulator and not any(attempt.outcome == "refused" for attempt in attempts):
        reason = "no CANN installation was found"
        advice = "set ASCEND_RT_BACKEND=sim to choose it, or =cann for an error that says what is missing"
        return _simulator(reason, attempts, f"{reason}, so the simulator is used; {advice}")
    raise LibraryError(_explain(attempts, cann.WHERE_TO_LOOK), attempts)


def _verdict(paths: tuple[str, ...]) -> str:
    import ctypes

    from ascend_rt.backends.cann import probe

    return probe.verdict([ctypes.CDLL(path) for path in paths])


def _explain(attempts: tuple[Attempt, ...], where_to_look: str) -> str:
    tried = "\n".join(f"  {attempt.path} ({attempt.source}): {attempt.verdict}" for attempt in attempts)
    if not any(attempt.outcome == "refused" for attempt in attempts):
        return f"no CANN installation was found: {where_to_look}; tried:\n{tried}"
    return f"no library of CANN can be used; tried:\n{tried}\nASCEND_RT_BACKEND=sim uses the simulator."
