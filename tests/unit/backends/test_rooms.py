# SPDX-License-Identifier: Apache-2.0
"""The simulator's sources are in rooms: what a file includes is in its own room or in one below."""

from __future__ import annotations

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.simulator("independent")

SIM = Path(__file__).parents[3] / "backends" / "sim"
# From the lowest to the highest.
ROOMS = ["support", "engine", "races", "machine", "memory", "tasks", "observe", "control", "api"]
LEVELS = {room: level for level, room in enumerate(ROOMS)}
OUTSIDE = "abi"  # the headers of the ABI, which every room may include
GENERATED = "function_ids.h"  # by the build, from the ABI: its only reader is support/function.h

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]*)"', re.MULTILINE)
LISTED = re.compile(r"'src/([^']+)'")


def include_problems(name: str, included: str, names: set[str]) -> Iterator[str]:
    """Yield what is wrong with one include of a file."""
    room, target = name.split("/")[0], included.split("/")[0]
    if target == OUTSIDE or (included == GENERATED and name == "support/function.h"):
        return
    if target not in LEVELS or target == included:
        yield f'{name}: include "{included}" does not name a room'
    elif included not in names:
        yield f'{name}: include "{included}": there is no such file'
    elif LEVELS[target] > LEVELS.get(room, -1):
        yield f'{name}: include "{included}" points upward, from {room} to {target}'


def problems(sim: Path) -> list[str]:
    """Return what is wrong with the sources of a simulator: one line each."""
    src = sim / "src"
    includes = {
        path.relative_to(src).as_posix(): INCLUDE.findall(path.read_text(encoding="utf-8"))
        for path in sorted(src.rglob("*"))
        if path.is_file()
    }
    listed = LISTED.findall((sim / "meson.build").read_text(encoding="utf-8"))
    found = [f"{name}: is in no room" for name in includes if name.count("/") != 1 or name.split("/")[0] not in LEVELS]
    for name in sorted(set(listed) | {name for name in includes if name.endswith(".cpp")}):
        if name not in includes:
            found.append(f"{name}: meson.build lists it, and it does not exist")
        elif listed.count(name) != 1:
            found.append(f"{name}: meson.build lists it {listed.count(name)} times")
    names = set(includes)
    for name, included in includes.items():
        found += [problem for include in included for problem in include_problems(name, include, names)]
    try:
        TopologicalSorter(includes).prepare()
    except CycleError as error:
        found.append(f"a cycle of includes: {' -> '.join(reversed(error.args[1]))}")
    return found


def test_includes_point_downward() -> None:
    assert len(list(SIM.rglob("*.h"))) > len(ROOMS)
    assert problems(SIM) == []


SOUND = {
    "support/text.h": "#include <string>\n",
    "engine/core.h": '#include "abi/acl.h"\n#include "support/text.h"\n',
    "engine/core.cpp": '#include "engine/core.h"\n',
    "machine/machine.h": '#include "engine/core.h"\n',
}


def plant(sim: Path, files: dict[str, str], listed: list[str]) -> list[str]:
    for name, text in files.items():
        path = sim / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (sim / "meson.build").write_text("".join(f"    'src/{name}',\n" for name in listed), encoding="utf-8")
    return problems(sim)


def test_a_sound_tree_has_no_problems(tmp_path: Path) -> None:
    assert plant(tmp_path, SOUND, ["engine/core.cpp"]) == []


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (
            {"support/text.h": '#  include "machine/machine.h"\n', "engine/core.h": "", "machine/machine.h": ""},
            'support/text.h: include "machine/machine.h" points upward, from support to machine',
        ),
        (
            {"engine/core.cpp": '#include "machine/machine.h"\n'},
            'engine/core.cpp: include "machine/machine.h" points upward, from engine to machine',
        ),
        ({"engine/core.cpp": '#include "core.h"\n'}, 'engine/core.cpp: include "core.h" does not name a room'),
        (
            {"engine/core.cpp": '#include "../engine/core.h"\n'},
            'engine/core.cpp: include "../engine/core.h" does not name a room',
        ),
        (
            {"engine/core.cpp": '#include "engine/gone.h"\n'},
            'engine/core.cpp: include "engine/gone.h": there is no such file',
        ),
        (
            {"engine/stream.h": '#include "engine/core.h"\n', "engine/core.h": '#include "engine/stream.h"\n'},
            "a cycle of includes: engine/core.h -> engine/stream.h -> engine/core.h",
        ),
        ({"loose.h": ""}, "loose.h: is in no room"),
        ({"cellar/wine.h": ""}, "cellar/wine.h: is in no room"),
        ({"engine/parts/gear.h": ""}, "engine/parts/gear.h: is in no room"),
    ],
)
def test_a_planted_problem_in_a_file_is_found(tmp_path: Path, changed: dict[str, str], problem: str) -> None:
    assert plant(tmp_path, SOUND | changed, ["engine/core.cpp"]) == [problem]


@pytest.mark.parametrize(
    ("listed", "problem"),
    [
        ([], "engine/core.cpp: meson.build lists it 0 times"),
        (["engine/core.cpp"] * 2, "engine/core.cpp: meson.build lists it 2 times"),
        (
            ["engine/core.cpp", "engine/gone.cpp"],
            "engine/gone.cpp: meson.build lists it, and it does not exist",
        ),
    ],
)
def test_a_planted_problem_in_the_list_is_found(tmp_path: Path, listed: list[str], problem: str) -> None:
    assert plant(tmp_path, SOUND, listed) == [problem]
