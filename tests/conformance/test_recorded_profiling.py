# SPDX-License-Identifier: Apache-2.0
"""Answers of the real runtime to the functions of profiles and dumps (``recorded_profiling.json``).

A group has ``files``, by name, and ``calls`` of one process: ``[function, case, arguments, code]``, and maybe the
values of the outputs, as ``ascend_rt_measure.verify.player`` takes them. ``null`` in place of a code proves nothing;
"fails" is any code but 0, or a pointer. Paths begin with ``recorded``, which becomes a directory of the test.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.recordings import MACHINE

DATA = Path(__file__).parents[1] / "data" / "recorded_profiling.json"
GROUPS: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
PLACE = "recorded"


def placed(arguments: list[Any], place: str) -> list[Any]:
    """Return the arguments with the directory of the test; a length behind a path that has it grows with it."""
    done: list[Any] = []
    longer = 0
    for argument in arguments:
        if isinstance(argument, str) and argument.startswith(f"text:{PLACE}"):
            longer = len(argument) - len("text:")
            done.append(argument.replace(PLACE, place, 1))
        elif longer and isinstance(argument, int) and argument >= longer:
            done.append(argument + len(place) - len(PLACE))
        else:
            done.append(argument)
    return done


def agrees(expected: list[Any], answer: list[Any]) -> bool:
    code, *outputs = expected
    if code is None:
        return True
    if code == "fails":
        return isinstance(answer[0], int) and answer[0] != 0
    return answer[0] == code and (not outputs or answer[1] == outputs[0])


@pytest.mark.simulator("products", "the recordings are of a 910B on an emulated driver")
@pytest.mark.parametrize("name", GROUPS)
def test_calls_are_answered_as_the_real_runtime_did(name: str, calls: Callable[..., list[Any]], tmp_path: Path) -> None:
    place = tmp_path / PLACE
    place.mkdir()
    for file, text in GROUPS[name].get("files", {}).items():
        (place / file).write_text(text.replace(f'"{PLACE}', f'"{place}'), encoding="utf-8")
    if name == "gE51_dump_config":
        (place / "none").mkdir()  # made by an earlier group of the recording, aclopStartDumpArgs
    rows = GROUPS[name]["calls"]
    answers = calls(
        [[function, *placed(arguments, str(place))] for function, _, arguments, *_ in rows],
        ASCEND_WORK_PATH=place,
        **MACHINE,
    )
    assert [
        f"{row[0]} [{row[1]}]: {answer}, not {row[3:]}"
        for row, answer in zip(rows, answers, strict=True)
        if not agrees(row[3:], answer)
    ] == []


def test_the_recordings_are_whole() -> None:
    rows = [row for group in GROUPS.values() for row in group["calls"]]
    assert len(rows) >= 460
    assert len({row[0].rpartition(" = ")[2] for row in rows}) >= 48
