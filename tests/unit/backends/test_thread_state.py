# SPDX-License-Identifier: Apache-2.0
"""The libraries have no thread_local object with a destructor: threads call them until their very end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.simulator("independent")

BACKENDS = Path(__file__).parents[3] / "backends"

DECLARED = re.compile(r"^[^/\n]*\bthread_local\s+(?P<type>[^=;{(]+?)\s*\b(?P<name>\w+)\s*(?:=|;|\{|\()", re.MULTILINE)
SCALAR = re.compile(r"(const )?(bool|std::u?int(\d+|ptr)_t|aclError|aclmdlRICaptureMode|\w+ \*)|T \*|void \*")
# Types of which the sources assert that they need no destructor.
ASSERTED = re.compile(r"static_assert\(std::is_trivially_destructible_v<(\w+)>")


def declarations(text: str) -> list[tuple[str, str]]:
    """Return type and name of the thread_local objects that a source declares."""
    return [(match["type"].strip(), match["name"]) for match in DECLARED.finditer(text)]


def with_destructor(text: str) -> list[str]:
    """Return the names of those that may need a destructor."""
    asserted = ASSERTED.findall(text)
    return [name for type_, name in declarations(text) if not SCALAR.fullmatch(type_) and type_ not in asserted]


@pytest.mark.parametrize("library", ["sim", "companions"])
def test_no_thread_local_object_has_a_destructor(library: str) -> None:
    sources = [it for it in (BACKENDS / library / "src").rglob("*") if it.suffix in (".h", ".cpp", ".c")]
    texts = {path: path.read_text(encoding="utf-8") for path in sources}
    assert any(map(declarations, texts.values()))
    for path, text in texts.items():
        count = len(re.findall(r"^[^/\n]*\bthread_local\s", text, re.MULTILINE))
        assert len(declarations(text)) == count, path
        assert with_destructor(text) == [], f"{path}: support/thread_state.h holds state that needs a destructor"


def test_an_object_with_a_destructor_is_found() -> None:
    text = """
thread_local std::vector<int> t_list;  // of something
static inline thread_local std::string t_text{"a"};
thread_local bool t_flag = false;
inline thread_local Plain t_plain;
thread_local Rich t_rich;
    thread_local void *t_handle = nullptr;
static_assert(std::is_trivially_destructible_v<Plain>);
"""
    assert with_destructor(text) == ["t_list", "t_text", "t_rich"]
