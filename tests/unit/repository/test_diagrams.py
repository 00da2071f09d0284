# SPDX-License-Identifier: Apache-2.0
"""The diagrams of the guide are what their source draws, and each is in a page."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[3] / "docs"
COMMITTED = {path.stem: path.read_text(encoding="utf-8") for path in (DOCS / "diagrams").glob("*.svg")}


def test_the_files_are_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS / "diagrams")
    assert importlib.import_module("pictures").all_of_them() == COMMITTED, "run: python docs/diagrams"


def test_every_diagram_is_in_a_page() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    assert set(re.findall(r"\]\(diagrams/(\w+)\.svg\)", pages)) == set(COMMITTED)


def test_the_panel_has_a_colour_for_light_and_for_dark() -> None:
    for name, text in COMMITTED.items():
        light, _, dark = text.partition("@media (prefers-color-scheme:dark)")
        assert ".panel{fill:#ffffff" in light, name
        assert ".panel{fill:#17191c" in dark, name
