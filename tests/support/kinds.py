# SPDX-License-Identifier: Apache-2.0
"""The kinds of ``@pytest.mark.simulator(kind, reason)``: why a test cannot run as it is on the vendor's library."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest


@dataclass(frozen=True)
class Kind:
    """A requirement of a test.

    Attributes
    ----------
    reason : str
        Why it is skipped, unless the mark itself says so.
    provided_by : str
        A function of the simulator's control: a library with the vendor's names that has it, as the double does, can
        run the test.
    """

    reason: str
    provided_by: str = ""


DEADLY = "deadly"
INDEPENDENT = "independent"

KINDS = {
    "alone": Kind("other programs may use a card meanwhile", "aclsimGetInfo"),
    "faults": Kind("fails, delays and runs short on demand", "aclsimFailTask"),
    "kernels": Kind("runs kernels and operators on the host", "aclsimRunOperator"),
    "products": Kind("plays a product, or a machine, that is not here", "aclsimGetInfo"),
    "held tasks": Kind("holds tasks back", "aclsimHold"),
    "memory check": Kind("the memory check is the simulator's"),
    "race check": Kind("the race check is the simulator's"),
    "internals": Kind("about the simulator's settings, files and texts"),
    "unspecified": Kind("documents leave open what the official library does"),
    # The two that are not skipped: run in a process that may die, and left out of the session.
    DEADLY: Kind("uses handles or memory that do not live, which the official library follows"),
    INDEPENDENT: Kind("the library under test does not matter"),
}


def marks_of(item: pytest.Item) -> Iterator[tuple[str, str]]:
    """Yield the kind and the reason of each mark of a test.

    Raises
    ------
    pytest.UsageError
        There is no such kind.
    """
    for marker in item.iter_markers("simulator"):
        kind, *reason = marker.args
        if kind not in KINDS:
            raise pytest.UsageError(f"{item.nodeid}: simulator({kind!r}): the kinds are {', '.join(KINDS)}")
        yield kind, reason[0] if reason else KINDS[kind].reason


def is_of(item: pytest.Item, kind: str) -> bool:
    """Return whether a test has a mark of this kind."""
    return any(its_kind == kind for its_kind, _ in marks_of(item))


@cache
def is_provided(kind: str) -> bool:
    """Return whether the vendor's library, or what has taken its name, has what tests of this kind need."""
    from ascend_rt import supports

    return bool(KINDS[kind].provided_by) and supports(KINDS[kind].provided_by)
