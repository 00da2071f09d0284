# SPDX-License-Identifier: Apache-2.0
"""The spellings of the facade's hot calls: by position, by keyword, on the current stream, with parts of memory.

The first spelling of an operation is the shortest way. Every other one is compared with it, except those that do more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class SpellingGoal:
    """The most that a spelling may take.

    Attributes
    ----------
    text : str
        The goal as the table shows it.
    more : float
        Seconds.
    than : str
        The name of the spelling that these are on top of; "" for none.
    times : float
        It may take that many times as long as the other one instead.
    """

    text: str
    more: float
    than: str = "position"
    times: float = 1.0

    def limit(self, time_of: Callable[[str], float | None]) -> float | None:
        """Return the seconds; None if the other spelling was not measured."""
        other = time_of(self.than) if self.than else 0.0
        return None if other is None else max(other + self.more, other * self.times)


AS_THE_FIRST = SpellingGoal("1.3 times the first, or 35 ns more", 35e-9, times=1.3)
_GOALS = {
    "spell_record_new": SpellingGoal("250 ns", 250e-9, than=""),  # with an event that is created and destroyed
    "spell_copy_slices": SpellingGoal("150 ns more than ready parts", 150e-9, than="parts"),
}


@dataclass(frozen=True)
class Spelling:
    """One way to write an operation.

    Attributes
    ----------
    operation : str
        What is done; the benchmark's id begins with it.
    name : str
        How it is written.
    code : str
        One iteration, with the names that ``facade.spelled()`` makes.
    calls : str
        The C functions of the operation.
    also : tuple of str
        The C functions that the spelling calls besides.
    """

    operation: str
    name: str
    code: str
    calls: str
    also: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The name of the benchmark."""
        return f"{self.operation}_{self.name}"

    @property
    def goal(self) -> SpellingGoal:
        """The most that it may take."""
        return _GOALS.get(self.id, AS_THE_FIRST)


_CURRENT = ("aclrtCtxGetCurrentDefaultStream", "aclrtGetCurrentContext")

# Operation, its calls, and (name, code, what the spelling calls besides) of each spelling.
_OPERATIONS: tuple[tuple[str, str, tuple[tuple[str, str, tuple[str, ...]], ...]], ...] = (
    (
        "spell_record",
        "aclrtRecordEvent",
        (
            ("position", "event.record(a)", ()),
            ("keyword", "event.record(stream=a)", ()),
            ("current", "event.record()", _CURRENT),
            ("stream", "a.record(event)", ()),
            ("stream_keyword", "a.record(event=event)", ()),
            ("new", "a.record()", ("aclrtCreateEventExWithFlag", "aclrtDestroyEvent", "aclrtGetDevice")),
        ),
    ),
    (
        "spell_wait",
        "aclrtStreamWaitEvent",
        (("position", "b.wait(event)", ()), ("keyword", "b.wait(other=event)", ())),
    ),
    (
        "spell_wait_limit",
        "aclrtStreamWaitEventWithTimeout",
        (
            ("position", "b.wait(event, 1)", ()),
            ("keyword", "b.wait(event, timeout=1)", ()),
            ("float", "b.wait(event, timeout=0.5)", ()),
        ),
    ),
    (
        "spell_copy",
        "aclrtMemcpyAsync",
        (
            ("position", "copy_async(buffer, pinned, a)", ()),
            ("keyword", "copy_async(buffer, pinned, stream=a)", ()),
            ("current", "copy_async(buffer, pinned)", _CURRENT),
            ("parts", "copy_async(part, pinned_part, a)", ()),
            ("slices", "copy_async(buffer[64:128], pinned[64:128], a)", ()),
        ),
    ),
    (
        "spell_fill",
        "aclrtMemsetAsync",
        (
            ("position", "fill_async(buffer, 1, a)", ()),
            ("keyword", "fill_async(buffer, 1, stream=a)", ()),
            ("current", "fill_async(buffer, 1)", _CURRENT),
        ),
    ),
    (
        "spell_synchronize",
        "aclrtSynchronizeStream",
        (("position", "a.synchronize()", ()), ("keyword", "a.synchronize(timeout=None)", ())),
    ),
    (
        "spell_synchronize_limit",
        "aclrtSynchronizeStreamWithTimeout",
        (("position", "a.synchronize(1)", ()), ("keyword", "a.synchronize(timeout=1)", ())),
    ),
)

SPELLINGS = tuple(
    Spelling(operation, name, code, calls, also) for operation, calls, ways in _OPERATIONS for name, code, also in ways
)
