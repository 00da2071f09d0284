# SPDX-License-Identifier: Apache-2.0
"""The declarations say what the public headers say: names, types, values, sizes and offsets.

``tests/data/acl_api_subset.json`` holds the facts: prototypes and values as published, sizes and offsets as a C
compiler computes them from the published structures.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

FACTS = json.loads((Path(__file__).parents[1] / "data" / "acl_api_subset.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def raw() -> Any:
    from ascend_rt import _aclrt

    return _aclrt


def normal(prototype: str) -> str:
    """Return a prototype in one spelling: spaces are no matter, and an empty list of parameters is (void)."""
    text = re.sub(r"\s*([*(),;])\s*", r" \1 ", prototype.rstrip("; \n"))
    text = re.sub(r"\(\s*\)", "( void )", text)
    return " ".join(text.split())


def test_prototypes_are_the_published_ones(declared: Any) -> None:
    declared_prototypes = {f.name: normal(f.prototype) for f in declared.functions if f.family != "aclsim"}
    assert declared_prototypes == {name: normal(text) for name, text in FACTS["functions"].items()}


def test_every_function_belongs_to_a_listed_family(declarations: Any, declared: Any) -> None:
    assert {f.family for f in declared.functions} <= set(declarations.families())


def test_enumerations_have_the_published_values(declared: Any) -> None:
    assert {enum.name: dict(enum.members) for enum in declared.enums} == FACTS["enums"]


def test_constants_have_the_published_values(declared: Any) -> None:
    assert dict(declared.constants) == FACTS["constants"]


def test_constants_of_a_group_are_declared_and_not_in_two_groups(declared: Any) -> None:
    grouped = [name for group in declared.groups for name, _ in group.members]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) <= {name for name, _ in declared.constants}


@pytest.mark.parametrize("name", sorted(FACTS["structs"]))
def test_structures_have_the_published_layout(raw: Any, name: str) -> None:
    offsets = {field: raw.ffi.offsetof(name, field) for field, _ in raw.ffi.typeof(name).fields}
    assert {"size": raw.ffi.sizeof(name), "offsets": offsets} == FACTS["structs"][name]


def test_the_module_has_every_declared_function(raw: Any, declared: Any) -> None:
    count = raw.lib.ascend_rt_symbol_count()
    names = [raw.ffi.string(raw.lib.ascend_rt_symbol_name(i)).decode() for i in range(count)]
    assert names == [function.name for function in declared.functions]
    assert all(callable(getattr(raw.lib, name)) for name in names)


def test_parts_of_a_parameter(declarations: Any) -> None:
    text = "int32_t f(const char **names, int32_t * const out, const uint32_t n);\nvoid g(void);\n"
    first, second = declarations.parse([("family", text)]).functions
    assert [(p.type, p.name) for p in first.parameters] == [
        ("const char **", "names"),
        ("int32_t * const", "out"),
        ("const uint32_t", "n"),
    ]
    assert (first.returns, second.returns, second.parameters) == ("int32_t", "void", ())


def test_a_group_ends_at_the_first_blank_line(declarations: Any) -> None:
    text = "/* @flags Colour: what is seen */\n#define RED 0x1\n#define BLUE 2\n\n#define SIZE 7\n"
    parsed = declarations.parse([("family", text)])
    assert [(g.kind, g.name, g.doc, g.members) for g in parsed.groups] == [
        ("flags", "Colour", "what is seen", (("RED", 1), ("BLUE", 2)))
    ]
    assert dict(parsed.constants) == {"RED": 1, "BLUE": 2, "SIZE": 7}


def test_an_error_code_has_a_meaning_and_may_have_a_hint(declarations: Any) -> None:
    parsed = declarations.parse([("family", "#define A 1 /* it broke | mend it */\n#define B 2 /* it broke */\n")])
    assert [(e.name, e.value, e.meaning, e.hint) for e in parsed.errors] == [
        ("A", 1, "it broke", "mend it"),
        ("B", 2, "it broke", ""),
    ]
