# SPDX-License-Identifier: Apache-2.0
"""The package's modules are in rooms: a module imports from its own floor or from those below."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.simulator("independent")

ROOT = Path(__file__).parents[3]

# From the lowest floor to the highest. Other modules are public.
FLOORS = (
    ("_aclrt", "_generated", "backends", "enums", "errors", "options"),
    ("_startup",),
    ("_native",),
    ("_runtime",),
    ("PUBLIC", "_kernels", "_memory"),
    ("_check",),
    ("pyacl", "testing", "torch"),
    ("cli",),
    ("__main__", "ascend_rt_measure"),
)
LEVELS = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}

# Imports inside of functions that point upward: module, what it imports, and when.
LATE = {
    ("_runtime.driver", "_check.at_exit"): "when the process is checked",
    ("_startup.acl_finder", "pyacl"): "when the program imports acl",
}

# Imports inside of functions that close a circle: most of one floor, and needed by some programs alone.
CIRCLES = {
    ("_runtime.driver", "_check.at_exit"),
    ("_runtime.driver", "_runtime.call_site"),
    ("_runtime.driver", "_runtime.override"),
    ("_runtime.driver", "_runtime.threads"),
    ("_runtime.driver", "_runtime.watchdog"),
    ("_runtime.driver", "_runtime.releases"),
    ("context", "stream"),  # default_stream
    ("device", "stream"),  # the same
}


class Import(NamedTuple):
    module: str
    imported: str
    is_late: bool


def room_of(module: str) -> str:
    first = module.split(".")[0]
    return first if first in LEVELS else "PUBLIC"


def imports_of(module: str, tree: ast.AST, names: set[str], is_late: bool = False) -> Iterator[Import]:
    """Yield what a module imports of the package when it runs; imports for type checkers alone have no floor."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ascend_rt":
            package = (node.module or "").removeprefix("ascend_rt").lstrip(".")
            for alias in node.names:
                inner = f"{package}.{alias.name}".lstrip(".")
                found = inner if inner in names else package
                if found:
                    yield Import(module, found, is_late)
        yield from imports_of(module, node, names, is_late or isinstance(node, ast.FunctionDef))


def imports_in(package: Path) -> list[Import]:
    """Return all imports of a package."""
    paths = {path: path.relative_to(package).with_suffix("").parts for path in sorted(package.rglob("*.py"))}
    modules = {path: ".".join(parts).removesuffix("__init__").rstrip(".") for path, parts in paths.items()}
    rooms = {path.name for path in package.iterdir() if path.is_dir()}
    names = {
        *modules.values(),
        *rooms,
        "_native.handles",
        "_aclrt",
        "pyacl._pyacl",
        "backends.cann",
        "backends.check",
        "backends.sim",
    }
    return [
        found
        for path, module in modules.items()
        for found in imports_of(module, ast.parse(path.read_text(encoding="utf-8")), names)
    ]


def problems(imports: list[Import]) -> list[str]:
    """Return what is wrong with the imports of a package: one line each."""
    found = [
        f"{each.module} imports {each.imported}, which is above it"
        for each in imports
        if LEVELS[room_of(each.imported)] > LEVELS[room_of(each.module or "__main__")]
        and not (each.is_late and (each.module, each.imported) in LATE)
    ]
    graph: dict[str, set[str]] = {}
    for each in imports:
        if not each.is_late:
            graph.setdefault(each.module, set()).add(each.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found.append(f"a cycle of imports: {' -> '.join(reversed(error.args[1]))}")
    return found


def circles(imports: list[Import]) -> set[tuple[str, str]]:
    """Return the imports inside of functions whose module is imported by what they import."""
    graph: dict[str, set[str]] = {}
    for each in imports:
        if not each.is_late:
            graph.setdefault(each.module, set()).add(each.imported)

    def reaches(module: str, end: str) -> bool:
        seen, left = {module}, [module]
        while left:
            new = graph.get(left.pop(), set()) - seen
            seen |= new
            left += new
        return end in seen

    return {(it.module, it.imported) for it in imports if it.is_late and reaches(it.imported, it.module)}


def test_few_late_imports_close_a_circle() -> None:
    assert circles(imports_in(ROOT / "ascend_rt")) == CIRCLES


def test_imports_point_downward() -> None:
    imports = imports_in(ROOT / "ascend_rt")
    assert {each.module for each in imports} > {"event", "_runtime.driver", "cli.info"}
    assert problems(imports) == []


def test_no_exception_is_left_over() -> None:
    late = {(each.module, each.imported) for each in imports_in(ROOT / "ascend_rt") if each.is_late}
    assert set(LATE) <= late


@pytest.mark.parametrize("name", ["captures", "failures", "lifecycle", "retention"])
def test_what_all_objects_use_knows_them_by_protocols_alone(name: str) -> None:
    text = (ROOT / "ascend_rt" / "_runtime" / f"{name}.py").read_text(encoding="utf-8")
    imported = re.findall(r"^\s*from ascend_rt\.([\w.]+) import", text, re.MULTILINE)  # for type checkers too
    assert imported
    assert not [module for module in imported if room_of(module) == "PUBLIC" or module == "_runtime.resource"]


def test_only_public_modules_are_at_the_top() -> None:
    private = [path.name for path in (ROOT / "ascend_rt").glob("_*.*") if not path.name.startswith("__")]
    assert private == ["_aclrt.pyi"]  # beside the compiled module


def definitions(body: list[ast.AST]) -> Iterator[str]:
    """Yield the names of the functions and classes that a module has, also of those under a condition."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        else:
            for inner in ("body", "orelse", "finalbody", "handlers"):
                yield from definitions(getattr(node, inner, []))


def internal_definitions(text: str) -> list[str]:
    """Return what a public module defines without being public, although no underscore says so."""
    body = ast.parse(text).body
    lists = [node.value for node in body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"]
    public = {name for value in lists for name in ast.literal_eval(value)}
    return [name for name in definitions([*body]) if not name.startswith("_") and name not in public]


def test_public_modules_define_public_names_alone() -> None:
    modules = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "ascend_rt").glob("*.py")}
    assert modules.keys() > {"__init__", "errors", "memory"}
    assert all("\n__all__ = [" in text for name, text in modules.items() if name not in ("__main__", "enums"))
    found = {name: internal_definitions(text) for name, text in modules.items()}
    del found["enums"]  # generated: all of its classes are public
    assert {name: internal for name, internal in found.items() if internal} == {}


@pytest.mark.parametrize(
    ("text", "internal"),
    [
        ('__all__ = ["f"]\ndef f(): ...\ndef _g(): ...\nclass _C: ...', []),
        ('__all__ = ["f"]\ndef f(): ...\ndef g(): ...\nclass C: ...', ["g", "C"]),
        ("def f(): ...", ["f"]),
        ("__all__ = []\nif CONDITION:\n    def f(): ...\nelse:\n    def g(): ...", ["f", "g"]),
        ("__all__ = []\ntry:\n    class C: ...\nexcept ImportError:\n    def f(): ...", ["C", "f"]),
        ("__all__ = []\nfrom ascend_rt._memory.sizes import check_size", []),
    ],
)
def test_a_planted_internal_definition_is_found(text: str, internal: list[str]) -> None:
    assert internal_definitions(text) == internal


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("from ascend_rt.stream import Stream", "_runtime.new imports stream, which is above it"),
        ("def f():\n    from ascend_rt.event import Event", "_runtime.new imports event, which is above it"),
        ("from ascend_rt import cli", "_runtime.new imports cli, which is above it"),
        ("if TYPE_CHECKING:\n    from ascend_rt.stream import Stream", None),
        ("from ascend_rt.errors import AclError", None),
    ],
)
def test_a_planted_problem_is_found(text: str, problem: str | None) -> None:
    names = {"stream", "event", "cli", "errors"}
    found = problems(list(imports_of("_runtime.new", ast.parse(text), names)))
    assert found == ([] if problem is None else [problem])


def test_a_planted_cycle_is_found() -> None:
    imports = [Import("event", "stream", False), Import("stream", "event", False)]
    assert problems(imports)[0].startswith("a cycle of imports: ")
