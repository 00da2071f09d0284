# SPDX-License-Identifier: Apache-2.0
"""The declarations say what the public headers say.

``tests/data/acl_api.json`` holds the facts. Names, values and availability are compared as data; types, prototypes and
layouts by C compilers, for this machine and for aarch64: they get both in one source, as declarations that must agree
and as assertions of sizes and offsets.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.simulator("independent")

ROOT = Path(__file__).resolve().parents[3]
FACTS = json.loads((ROOT / "tests" / "data" / "acl_api.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def raw() -> Any:
    from ascend_rt import _aclrt

    return _aclrt


@pytest.fixture(scope="module")
def functions(declared: Any) -> dict[str, Any]:
    """Return the documented functions by name."""
    return {function.name: function for function in declared.functions if function.family != "aclsim"}


def normal(declaration: str) -> str:
    """Return a declaration in one spelling: spaces do not matter, and an empty list of parameters is (void)."""
    text = re.sub(r"\s*([*(),;])\s*", r" \1 ", declaration.rstrip("; \n"))
    text = re.sub(r"\(\s*\)", "( void )", text)
    return " ".join(text.split())


# --- as data ---------------------------------------------------------------------------------------------------------


def test_there_are_509_functions(functions: dict[str, Any]) -> None:
    assert len(functions) == len(FACTS["functions"]) == 509


def test_prototypes(functions: dict[str, Any]) -> None:
    published = {name: normal(fact["prototype"]) for name, fact in FACTS["functions"].items()}
    assert {name: normal(function.prototype) for name, function in functions.items()} == published


def test_parameters(functions: dict[str, Any]) -> None:
    for name, fact in FACTS["functions"].items():
        named = [(p["name"], normal(p["decl"])) for p in fact["params"] if p["name"] != "..."]
        assert [(p.name, normal(p.declaration)) for p in functions[name].parameters] == named
        assert functions[name].is_variadic == (len(named) < len(fact["params"]))


def test_return_types(functions: dict[str, Any]) -> None:
    published = {name: normal(fact["returns"]) for name, fact in FACTS["functions"].items()}
    assert {name: normal(function.returns) for name, function in functions.items()} == published


def test_availability(declarations: Any, functions: dict[str, Any]) -> None:
    for name, fact in FACTS["functions"].items():
        assert functions[name].since == fact["since"].removeprefix("<=")
        support = fact.get("support")
        products = support and tuple(product for product in declarations.PRODUCTS if support[product])
        assert functions[name].products == products, name


def test_enumerations(declared: Any) -> None:
    documented = [enum for enum in declared.enums if not enum.name.startswith("aclsim")]
    assert {enum.name: dict(enum.members) for enum in documented} == FACTS["enums"]


def test_constants_and_error_codes(declared: Any) -> None:
    assert dict(declared.constants) == FACTS["constants"] | FACTS["errors"]
    codes = {error.name for error in declared.errors}
    assert codes | {"ACL_ERROR_NONE", "ACL_RT_SUCCESS"} == set(FACTS["errors"]) | {"ACL_RT_SUCCESS", "ACL_SUCCESS"}


def test_every_error_code_has_a_group_a_meaning_and_advice(declared: Any) -> None:
    assert all(error.group and error.meaning and error.hint for error in declared.errors)
    values = [error.value for error in declared.errors]
    assert len(values) == len(set(values))


def test_constants_of_a_group_are_declared_and_not_in_two_groups(declared: Any) -> None:
    grouped = [name for group in declared.groups for name, _ in group.members]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) <= {name for name, _ in declared.constants}


def test_every_function_belongs_to_a_listed_family(declarations: Any, declared: Any) -> None:
    assert {function.family for function in declared.functions} <= set(declarations.families())


# --- by compilers ----------------------------------------------------------------------------------------------------


def fields(structure: str) -> list[str]:
    """Return the names of the members, those of an anonymous union included."""
    body = structure[structure.index("{") + 1 : structure.rindex("}")]
    named = re.sub(r"\bunion\b[^{;]*\{[^}]*\} (?=\w)", "int ", body)  # the name behind it is the member
    return re.findall(r"(\w+)(?:\[[^\]]*\])?;", named)


def ordered(names: list[str]) -> Iterator[str]:
    """Yield structures after those that they contain."""
    seen: set[str] = set()

    def visit(name: str) -> Iterator[str]:
        if name not in seen:
            seen.add(name)
            for word in re.findall(r"\w+", FACTS["structs"][name]["c"]):
                if word in FACTS["structs"] and word != name:
                    yield from visit(word)
            yield name

    for name in names:
        yield from visit(name)


def published_source() -> str:
    """Return C that compiles only if our headers and the published facts are the same."""
    lines = ['#include "acl.h"', ""]
    lines += [f"{typedef};" for typedef in FACTS["typedefs"].values()]
    lines += [fact["prototype"] for fact in FACTS["functions"].values()]
    mine = {name: f"published_{name}" for name in FACTS["structs"]}
    for name in ordered(list(mine)):
        structure = FACTS["structs"][name]
        body = re.sub(r"\w+", lambda word: mine.get(word[0], word[0]), structure["c"][structure["c"].index("{") :])
        body = re.sub(r"struct (published_\w+)", r"\1", body)
        body = re.sub(r"union \w+\s*\{", "union {", body)  # C has one name space for tags, whatever they are nested in
        lines.append(f"typedef {structure['kind']} {body} {mine[name]};")
        lines.append(f'_Static_assert(sizeof({name}) == sizeof({mine[name]}), "size of {name}");')
        for field in fields(structure["c"]):
            equal = [f"offsetof({name}, {field}) == offsetof({mine[name]}, {field})"]
            if f"{field}[0]" not in structure["c"]:  # no size is given
                equal.append(f"sizeof((({name} *)0)->{field}) == sizeof((({mine[name]} *)0)->{field})")
            lines += [f'_Static_assert({condition}, "{name}.{field}");' for condition in equal]
    return "\n".join(lines) + "\n"


def compilers() -> dict[str, list[str] | None]:
    """Return a command for each machine type; None where no compiler for it is at hand."""
    native = shutil.which("cc")
    cross = shutil.which("aarch64-linux-gnu-gcc")
    clang = shutil.which("clang")
    aarch64 = (
        [cross]
        if cross
        else [clang, "--target=aarch64-linux-gnu", "-ffreestanding"]
        if clang
        else [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-gnu"]
        if importlib.util.find_spec("ziglang")
        else None
    )
    return {"native": [native] if native else None, "aarch64": aarch64}


def compile_c(machine: str, source: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Compile a source against our headers; skip without a compiler."""
    compiler = compilers()[machine]
    if compiler is None:
        pytest.skip(f"needs a C compiler for {machine}")
    path = tmp_path / "source.c"
    path.write_text(source, encoding="utf-8")
    command = [*compiler, "-std=c11", "-Werror", "-I", str(ROOT / "backends" / "abi"), "-c", str(path)]
    return subprocess.run([*command, "-o", str(tmp_path / "source.o")], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("machine", ["native", "aarch64"])
def test_types_prototypes_and_layouts(machine: str, tmp_path: Path) -> None:
    source = published_source()
    assert source.count("offsetof") > 2 * len(FACTS["structs"])
    result = compile_c(machine, source, tmp_path)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("original", "wrong"),
    [
        ("typedef void *aclrtEvent;", "typedef int *aclrtEvent;"),
        ("aclError aclrtSetDevice(int32_t deviceId)", "aclError aclrtSetDevice(int64_t deviceId)"),
        ("uint32_t isHostArgs;", "uint64_t isHostArgs;"),
    ],
)
def test_the_compiler_would_report(original: str, wrong: str, tmp_path: Path) -> None:
    source = published_source()
    assert original in source
    result = compile_c("native", source.replace(original, wrong, 1), tmp_path)
    assert result.returncode != 0
    assert re.search(r"aclrtEvent|aclrtSetDevice|aclmdlRIKernelTaskParams", result.stderr)


@pytest.mark.parametrize("name", sorted(FACTS["structs"]))
def test_cffi_sees_the_layout_of_the_compiler(raw: Any, name: str) -> None:
    # cffi compares its own layout with the compiler's when a type is first used, and raises if they differ.
    members = [field for field, _ in raw.ffi.typeof(name).fields if field]  # an anonymous union has no name
    assert raw.ffi.sizeof(name) > 0
    assert members
    assert set(members) <= set(fields(FACTS["structs"][name]["c"]))


# --- the extension module --------------------------------------------------------------------------------------------


def test_the_module_has_every_declared_function(raw: Any, declared: Any) -> None:
    count = raw.lib.ascend_rt_symbol_count()
    names = [raw.ffi.string(raw.lib.ascend_rt_symbol_name(i)).decode() for i in range(count)]
    assert names == [function.name for function in declared.functions]
    assert all(callable(getattr(raw.lib, name)) for name in names)


def test_the_module_has_every_constant(raw: Any) -> None:
    values = FACTS["constants"] | {name: value for enum in FACTS["enums"].values() for name, value in enum.items()}
    assert {name: getattr(raw.lib, name) for name in values} == values


def test_stubs_name_every_function_with_its_parameters(functions: dict[str, Any]) -> None:
    text = (ROOT / "ascend_rt" / "_aclrt.pyi").read_text(encoding="utf-8")
    stubbed = dict(re.findall(r"def (acl\w+)\(self(.*?)\) ->", text))
    for name, function in functions.items():
        named = re.findall(r"(\w+): ", stubbed[name])
        assert named == [parameter.name for parameter in function.parameters]


# --- the reader ------------------------------------------------------------------------------------------------------


def test_parts_of_a_parameter(declarations: Any) -> None:
    text = "int32_t f(const char **names, int32_t * const out, const uint32_t n);\nvoid g(void);\n"
    first, second = declarations.parse([("family", text)]).functions
    assert [(p.type, p.name) for p in first.parameters] == [
        ("const char **", "names"),
        ("int32_t * const", "out"),
        ("const uint32_t", "n"),
    ]
    assert (first.returns, second.returns, second.parameters) == ("int32_t", "void", ())


def test_a_function_as_parameter_and_more_arguments(declarations: Any) -> None:
    text = "void f(int (*const callback)(const char *, int), int flag, ...);\n"
    (function,) = declarations.parse([("family", text)]).functions
    assert [(p.type, p.name) for p in function.parameters] == [
        ("int (* const)(const char *, int)", "callback"),
        ("int", "flag"),
    ]
    assert function.is_variadic


@pytest.mark.parametrize(
    ("comment", "since", "products"),
    [
        ("", "8.1.RC1", ("910B", "910C", "310B", "310P", "910", "950")),
        (" /* since 8.5.0-beta.1 */", "8.5.0-beta.1", ("910B", "910C", "310B", "310P", "910", "950")),
        (" /* since 9.1.0.pre, 950 910B */", "9.1.0.pre", ("910B", "950")),
        (" /* 310P */", "8.1.RC1", ("310P",)),
        (" /* since 8.5.0, undocumented */", "8.5.0", None),
        (" /* none */", "8.1.RC1", ()),
    ],
)
def test_availability_is_behind_the_prototype(declarations: Any, comment: str, since: str, products: Any) -> None:
    (function,) = declarations.parse([("family", f"void aclX(\n    int a, int b);{comment}\n")]).functions
    assert (function.since, function.products) == (since, products)


def test_a_group_ends_at_the_first_blank_line(declarations: Any) -> None:
    text = "/* @flags Colour: what is seen */\n#define RED 0x1\n#define BLUE 2\n\n#define SIZE 7\n"
    parsed = declarations.parse([("family", text)])
    assert [(g.kind, g.name, g.doc, g.members) for g in parsed.groups] == [
        ("flags", "Colour", "what is seen", (("RED", 1), ("BLUE", 2)))
    ]
    assert dict(parsed.constants) == {"RED": 1, "BLUE": 2, "SIZE": 7}


def test_an_error_code_has_its_own_advice_or_that_of_its_group(declarations: Any) -> None:
    text = "/* @errors my fault: look here */\n#define A 1 /* it broke | mend it */\n#define B 2 /* it broke */\n"
    parsed = declarations.parse([("family", text)])
    assert [(e.name, e.value, e.group, e.meaning, e.hint) for e in parsed.errors] == [
        ("A", 1, "my fault", "it broke", "mend it"),
        ("B", 2, "my fault", "it broke", "look here"),
    ]
    assert parsed.groups == ()


def test_a_family_may_have_a_library_of_its_own(declarations: Any) -> None:
    parsed = declarations.parse([("a", "/* @library libx.so: why */\nvoid f(void);\n"), ("b", "void g(void);\n")])
    assert parsed.libraries == {"a": "libx.so"}
