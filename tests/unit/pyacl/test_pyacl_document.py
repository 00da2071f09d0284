# SPDX-License-Identifier: Apache-2.0
"""The table in ``docs/pyacl.md``: every function of ``acl.rt``, and names that exist."""

from __future__ import annotations

import inspect
import re
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

import ascend_rt
from ascend_rt import pyacl
from ascend_rt._generated.functions import FUNCTIONS

pytestmark = pytest.mark.simulator("independent")

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "pyacl.md"
ROWS = re.findall(r"^\| `(\w+)` \| (.*) \|$", DOCUMENT.read_text(encoding="utf-8").split("## Each function")[1], re.M)


def test_every_function_of_acl_rt_is_there_once() -> None:
    functions = {name for name in dir(pyacl.rt) if not name.startswith("_")}
    assert len(functions) == 190
    assert sorted(name for name, _ in ROWS) == sorted(functions)


def found(name: str) -> Any:
    return reduce(getattr, name.split("."), ascend_rt)


@pytest.mark.parametrize(("name", "replacement"), ROWS)
def test_what_takes_its_place_is_there(name: str, replacement: str) -> None:
    what, _, parameters = (
        replacement.partition(" with `") if not replacement.startswith("not") else (replacement, "", "")
    )
    names = re.findall(r"`([\w.]+)`", what)
    assert names
    for each in names:
        if each.startswith("lib."):
            assert each.removeprefix("lib.") in FUNCTIONS
            assert each.removeprefix("lib.aclrt").lower() == name.replace("_", "")
        elif each != "AclError.code":  # is set by the constructor
            found(each)
    for parameter in re.findall(r"\w+(?=`)", f"`{parameters}"):
        assert parameter in inspect.signature(found(names[0])).parameters
