# SPDX-License-Identifier: Apache-2.0
"""The table of environment variables has those that the sources read, and the documents explain each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_rt._runtime import settings

pytestmark = pytest.mark.simulator("independent")

ROOT = Path(__file__).parents[3]
READ = re.compile(
    r"(?:getenv\(|environ(?:\.get\(|\.setdefault\(|\[)|environment\(|read_(?:number|switch)\(config, |= )"
    r'"(ASCEND_RT_[A-Z_]*[A-Z])"'
)


def sources() -> Iterator[Path]:
    for room in ("ascend_rt", "backends", "measure", "tests"):
        for path in (ROOT / room).rglob("*"):
            if path.suffix in (".py", ".c", ".cpp", ".h") and path.name not in ("settings.py", "test_settings.py"):
                yield path


def test_the_table_has_every_variable_that_is_read() -> None:
    known = {*settings.OF_USERS, *settings.OF_TESTS}
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sources()]
    read = {name for text in texts for name in READ.findall(text)}
    assert read <= known
    assert [name for name in known if not any(f'"{name}"' in text for text in texts)] == []


def test_every_variable_of_users_is_documented() -> None:
    documents = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    assert [name for name in settings.OF_USERS if f"`{name}" not in documents] == []
