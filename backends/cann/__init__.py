# SPDX-License-Identifier: Apache-2.0
"""Finding the vendor's library and checking it before it comes into this process.

`places` knows where CANN may be; `inspection` looks at a place, with the help of a child process that runs `probe`,
because a bad copy may crash or hang the process that loads it; `installation` finds the release of a library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ascend_rt.backends.cann.inspection import Attempt, cannot_open, examine, look
from ascend_rt.backends.cann.places import NAMES, Candidate, Gap, candidates, with_sibling

__all__ = ["NAMES", "WHERE_TO_LOOK", "Attempt", "Candidate", "Verdict", "cannot_open", "find", "look"]

WHERE_TO_LOOK = (
    "source the toolkit's set_env.sh (it sets ASCEND_HOME_PATH), or name the library in ASCEND_RT_LIBRARY, "
    "or choose the simulator with ASCEND_RT_BACKEND=sim"
)

# Returns the verdict of the probe on libraries that are in the process.
Verdict = Callable[[tuple[str, ...]], str]


def find(
    loaded: tuple[str, ...], verdict: Verdict, *, or_simulator: bool
) -> tuple[Candidate | None, tuple[Attempt, ...]]:
    """Look for a usable library of the vendor.

    Parameters
    ----------
    loaded : tuple of str
        Paths of the libraries that are in the process already. If there is one of the vendor, no other is looked for:
        two copies of a runtime in one process do not get along.
    verdict : callable
        Asks these libraries themselves: the program already uses them, so a child process would find nothing new.
    or_simulator : bool
        Whether to accept a simulator found in such a place, for instance on ``LD_LIBRARY_PATH``, may be the one.

    Returns
    -------
    Candidate or None
        The first that is usable.
    tuple of Attempt
        All places up to that one.
    """
    attempts: list[Attempt] = []
    for candidate, attempt in _examined(loaded, verdict):
        attempts.append(attempt)
        if attempt.outcome == "usable" or (or_simulator and attempt.outcome == "simulator"):
            return candidate, tuple(attempts)
    return None, tuple(attempts)


def _examined(loaded: tuple[str, ...], verdict: Verdict) -> Iterator[tuple[Candidate | None, Attempt]]:
    if loaded:
        said = next(filter(None, map(look, loaded)), None) or verdict(loaded)
        outcome = {"usable": "usable", "the simulator": "simulator"}.get(said, "refused")
        paths = dict.fromkeys((*loaded, *with_sibling(loaded[0])))
        source = "already in the process"
        yield Candidate(tuple(paths), source), Attempt(loaded[0], source, outcome, said)
        if outcome == "refused":
            return
    for place in candidates():
        if isinstance(place, Gap):
            yield None, Attempt(place.path, place.source, "absent", place.verdict)
        else:
            yield examine(place)
