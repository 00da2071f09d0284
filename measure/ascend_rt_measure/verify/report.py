# SPDX-License-Identifier: Apache-2.0
"""The report of ``ascend-rt verify``: one JSON file that names no host, no path and no user."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from ascend_rt import __version__
from ascend_rt_measure.verify.cases import RECORDED_ON, Call, Group, groups
from ascend_rt_measure.verify.strict_json import NOT_FINITE, dumps, loads

_FORMAT = 1
# Chips by their names, and the product that the simulator has for each; the first that fits.
_PRODUCTS = (
    (r"Ascend910B\d", "910B"),
    (r"Ascend910_93", "910C"),
    (r"Ascend310B", "310B"),
    (r"Ascend310P", "310P"),
    (r"Ascend950", "950"),
    (r"Ascend910", "910"),
)
# Only names of chips and numbers of versions are kept of a library's texts: no path, no host.
_VERSION = re.compile(r"V?\d[\w.+-]{0,63}", re.ASCII)
_PUBLIC = {"soc": re.compile(r"Ascend[\w-]{1,32}", re.ASCII), "cann": _VERSION, "api": _VERSION, "driver": _VERSION}


@dataclass
class Played:
    """How a group went: ``state`` and ``detail`` as of its process, and ``[code, outputs]`` of the calls that returned.

    A group that was not played is ``"skipped"``, and ``detail`` says why.
    """

    state: str
    answers: list[list[Any]] = field(default_factory=list)
    fingerprint: str = ""  # a digest of its calls
    detail: str = ""

    def ended_early(self, name: str) -> str:
        """Return in words how the process of that group ended, if it did so by itself; else ""."""
        if self.state in ("done", "skipped"):
            return ""
        calls, at = groups()[name].calls, len(self.answers)
        where = calls[at].name if at < len(calls) else "the end of the process"
        return f"{name}: {self.state} in {where}{f' ({self.detail})' if self.detail else ''}"


@dataclass
class Report:
    """The findings of one run."""

    library: dict[str, Any]  # see about.py
    devices: int  # number of devices that were named
    allow_reset: bool = False
    groups: dict[str, Played] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    latencies: dict[str, Any] = field(default_factory=dict)
    complete: bool = False

    @property
    def product(self) -> str | None:
        """The product that the simulator has for the chip, for instance ``"910B"``."""
        soc = self.library.get("soc") or ""
        return next((product for pattern, product in _PRODUCTS if re.match(pattern, soc)), None)

    def is_known(self, group: Group) -> bool:
        """Return whether it is known what a group answers on this library."""
        if group.section == "recordings":
            return self.product == product_of(RECORDED_ON)
        return group.release in (None, self.library.get("cann"))

    def played(self) -> Iterator[tuple[Group, Played]]:
        """Yield the groups that were played, of those that this version of the package has, with the same calls."""
        known = groups()
        for name, played in self.groups.items():
            if played.state != "skipped" and name in known and played.fingerprint == known[name].fingerprint():
                yield known[name], played

    def surprises(self, group: Group, played: Played) -> list[tuple[Call, list[Any]]]:
        """Return the calls of a group whose answers are not the known ones, each with its answer."""
        if not self.is_known(group):
            return []
        pairs = zip(group.calls, played.answers)  # noqa: B905  (a crash leaves calls without an answer)
        return [(call, answer) for call, answer in pairs if not self.lacks(call) and not call.agrees(answer)]

    def lacks(self, call: Call) -> bool:
        """Return whether the library does not have a function."""
        return call.name in self.library["missing"]

    def missed(self) -> list[str]:
        """Return the functions that were to be called, but that a real library does not have."""
        if self.library["backend"] == "sim":
            return []  # functions that are not simulated are in the table of coverage
        return sorted({call.name for group, _ in self.played() for call in group.calls if self.lacks(call)})

    def save(self, path: str | Path) -> None:
        """Write the report; the file is there as a whole or not at all."""
        content = {
            "ascend_rt_report": _FORMAT,
            "package": __version__,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "date": date.today().isoformat(),
            **asdict(self),
            "library": {name: value if _is_public(name, value) else None for name, value in self.library.items()},
            "product": self.product,
        }
        write_json(path, content)


def product_of(soc: str) -> str | None:
    """Return the product of a chip."""
    return Report({"soc": soc}, 1).product


def _is_public(name: str, value: Any) -> bool:
    if name not in _PUBLIC or value is None:
        return True
    return isinstance(value, str) and bool(_PUBLIC[name].fullmatch(value))


def write_json(path: str | Path, content: dict[str, Any]) -> None:
    """Write a file, which is there as a whole or not at all, with one line for each thing of the second level."""
    lines = []
    for name, value in content.items():
        if isinstance(value, dict) and value:
            inner = ",\n".join(f"  {dumps(key)}: {dumps(each)}" for key, each in value.items())
            lines.append(f" {dumps(name)}: {{\n{inner}\n }}")
        else:
            lines.append(f" {dumps(name)}: {dumps(value)}")
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # such as /dev/null, which must not be replaced
        target.write_text(text, encoding="utf-8")
        return
    new = target.with_name(f"{target.name}.{os.getpid()}.new")
    try:
        new.write_text(text, encoding="utf-8")
        os.replace(new, target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()  # in the lines that a comparison prints


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < 2**64  # which NaN is not


def _is_answer(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[1], list):
        return False
    code, outputs = value
    are_numbers = all(isinstance(each, int | float) or each in NOT_FINITE for each in outputs)
    return are_numbers and (isinstance(code, int) or _is_text(code))


# The types of the members of a report that can be compared: objects with these members, or with any members (``str``),
# or a function that accepts the member, or None if there is none.
_SHAPE = {
    "library": {"backend": _is_text, "missing": lambda it: isinstance(it, list) and all(map(_is_text, it))}
    | {name: partial(_is_public, name) for name in _PUBLIC},
    "devices": lambda it: isinstance(it, int) and 1 <= it <= 64,
    "allow_reset": lambda it: isinstance(it, bool),
    "complete": lambda it: isinstance(it, bool),
    "groups": {
        str: {
            "state": _is_text,
            "answers": lambda it: isinstance(it, list) and all(map(_is_answer, it)),
            "fingerprint": _is_text,
            "detail": _is_text,
        }
    },
    "limits": {str: {"value": lambda it: it is None or _is_number(it)}},
    "latencies": {
        str: {
            "bytes": lambda it: it is None or _is_number(it),
            "device": lambda it: it is None or _fits(it, {"p50": _is_number}),
        }
    },
}


def _fits(value: Any, shape: Any) -> bool:
    if not isinstance(shape, dict):
        return bool(shape(value))
    if not isinstance(value, dict):
        return False
    return all(
        all(_is_text(key) and _fits(each, inner) for key, each in value.items())
        if name is str
        else _fits(value.get(name), inner)
        for name, inner in shape.items()
    )


def read(path: str | Path) -> dict[str, Any]:
    """Return all that is in the file of a report.

    Raises
    ------
    ValueError
        The file is not a report, or one of a version that this package does not know.
    """
    try:
        content = loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a report of 'ascend-rt verify': {error}") from None
    if not isinstance(content, dict) or "ascend_rt_report" not in content:
        raise ValueError(f"{path} is not a report of 'ascend-rt verify'")
    if content["ascend_rt_report"] != _FORMAT:
        raise ValueError(f"{path} has format {content['ascend_rt_report']}, and this version reads format {_FORMAT}")
    wrong = [name for name, shape in _SHAPE.items() if not _fits(content.get(name), shape)]
    if wrong:
        raise ValueError(f"{path} differs from what 'ascend-rt verify' writes, in {', '.join(wrong)}")
    return content


def load(path: str | Path) -> Report:
    """Read a report; raise as :func:`read`."""
    content = read(path)
    members = {name: content[name] for name in _SHAPE}
    kept = ("state", "answers", "fingerprint", "detail")
    played = {name: Played(**{each: entry[each] for each in kept}) for name, entry in content["groups"].items()}
    return Report(**members | {"groups": played})
