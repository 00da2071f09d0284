# SPDX-License-Identifier: Apache-2.0
"""Cases of ``ascend-rt verify``: groups of calls with their known answers, as data of this package.

``recordings.json`` has what the real runtime answered, playing an Ascend910B1 without a device behind it. By the name
of its group:

- ``calls``: ``[function, case, arguments, code]`` as the player takes them, and maybe a list of what the outputs are: a
  number, ``[lowest, highest]`` with null for no bound, or null for any. A code that is null proves nothing;
- ``environment`` that the calls need, ``devices`` if one does not suffice, ``disturbs``: why it is not for a device
  that others use, ``garbage``: true if a call has a handle or an address that never was one, which the real runtime
  follows until the process ends.

``hardware_facts.json`` has what devices have shown (docs/semantics/hardware_seen.md), one row in a line:

- ``fact``: its number there, ``grade`` and ``source``, the thread that shows it, ``says``;
- ``products`` that it was seen on, the ``release`` if it depends on that;
- ``calls`` as above without ``case``, where the code ``"fails"`` is any but 0; ``environment``, ``devices`` and
  ``disturbs`` as above;
- instead of calls ``tried_by``: a test of what calls of one process cannot try, or ``untried``: why it is not tried.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

RECORDED_ON = "Ascend910B1"


@dataclass(frozen=True)
class Call:
    """One call of a group, and its known answer."""

    function: str  # as the player takes it, with its prefix
    case: str
    arguments: list[Any]
    code: int | str | None
    outputs: list[Any] | None = None

    @property
    def name(self) -> str:
        """The C function's name."""
        return self.function.removeprefix("thread:").rpartition(" x ")[2].rpartition(" = ")[2]

    def agrees(self, answer: Sequence[Any]) -> bool:
        """Return whether ``[code, outputs]`` is the known answer."""
        code, outputs = answer
        if self.code == "fails":
            return isinstance(code, int) and code != 0
        return self.code is None or (code == self.code and self.has_right(outputs))

    def has_right(self, outputs: Sequence[Any]) -> bool:
        """Return whether the outputs are the known ones."""
        if self.outputs is None:
            return True
        return len(outputs) == len(self.outputs) and all(map(_is_within, outputs, self.outputs))


def _is_within(value: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        low, high = expected
        value = float(value) if isinstance(value, str) else value  # such as "nan"
        return (low is None or value >= low) and (high is None or value <= high)
    return expected is None or bool(value == expected)


@dataclass(frozen=True)
class Group:
    """Calls of one process, in their order."""

    name: str
    section: str  # "recordings" or "facts"
    calls: tuple[Call, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    devices: int = 1
    disturbs: str | None = None  # effect on other processes
    garbage: bool = False  # plays handles that never were any
    products: tuple[str, ...] = ()  # where a fact was seen
    release: str | None = None  # where a fact was seen, if other releases differ

    def rows(self) -> list[list[Any]]:
        """Return the calls as the player takes them."""
        return [[call.function, *call.arguments] for call in self.calls]

    def fingerprint(self) -> str:
        """Return a digest, which differs if another version of this package has other calls."""
        return hashlib.sha256(json.dumps(self.rows()).encode()).hexdigest()[:16]

    def needs_simulator(self) -> bool:
        """Return whether the calls, or what they need around them, are the simulator's."""
        return any(name.startswith("ASCEND_RT_SIM_") for name in self.environment) or any(
            call.name.startswith("aclsim") for call in self.calls
        )


def _read(name: str) -> Any:
    return json.loads(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))


@functools.cache
def facts() -> list[dict[str, Any]]:
    """Return the rows of ``hardware_facts.json``."""
    return list(_read("hardware_facts.json"))


@functools.cache
def groups() -> dict[str, Group]:
    """Return all groups by name: first the recordings, then the facts that are calls."""
    found = [_recorded(name, entry) for name, entry in _read("recordings.json").items()]
    numbers: Counter[str] = Counter()
    for row in facts():
        if "calls" in row:
            numbers[row["fact"]] += 1
            found.append(_fact(row, numbers[row["fact"]]))
    return {group.name: group for group in found}


def _recorded(name: str, entry: dict[str, Any]) -> Group:
    calls = tuple(Call(*row) for row in entry["calls"])
    return Group(name, "recordings", calls, **{key: value for key, value in entry.items() if key != "calls"})


def _fact(row: dict[str, Any], number: int) -> Group:
    name = f"fact_{row['fact']}" + (f"_{number}" if number > 1 else "")
    calls = tuple(Call(function, row["says"], *rest) for function, *rest in row["calls"])
    around = {key: row[key] for key in ("environment", "devices", "disturbs", "release") if key in row}
    return Group(name, "facts", calls, products=tuple(row["products"]), **around)
