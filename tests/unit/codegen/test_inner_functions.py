# SPDX-License-Identifier: Apache-2.0
"""The table of the runtime's inner functions fits the headers and the list of names."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.simulator("independent")

ROOT = Path(__file__).resolve().parents[3]
HEADERS = ROOT / "backends" / "include" / "runtime"
COMPANIONS = ROOT / "backends" / "companions" / "src"


def names(text: str) -> list[str]:
    return re.findall(r"^(?:rtError_t|void|uint32_t) (rt\w+)\(", text, re.MULTILINE)


def test_every_name_is_declared_or_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    from codegen import runtime

    declared = [name for header in HEADERS.glob("*.h") for name in names(header.read_text(encoding="utf-8"))]
    listed = re.findall(r"^rt\w+$", (COMPANIONS / "runtime_names.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(declared + listed) == len({*declared, *listed})
    assert listed == sorted(listed)
    assert runtime.CALLS.keys() <= set(declared)
    assert runtime.REASONS.keys() <= set(declared)
    assert not runtime.CALLS.keys() & runtime.REASONS.keys()
