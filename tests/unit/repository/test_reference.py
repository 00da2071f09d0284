# SPDX-License-Identifier: Apache-2.0
"""The pages of the reference have every public name once, and every class and function there has an example."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules, resolve_name
from types import ModuleType

import pytest

import ascend_rt

pytestmark = pytest.mark.simulator("independent")

PAGES = Path(__file__).resolve().parents[3] / "docs" / "reference"
ONLY_WITH_TORCH = "torch"  # has no names: importing it changes PyTorch
# All names of these are public, or none.
WITHOUT_LIST = {f"ascend_rt.{name}" for name in ("backends", "cli", "enums", "pyacl")}
DIRECTIVE = re.compile(r"^\.\. (currentmodule|automodule|auto\w+|py:data):: (\S+)", re.MULTILINE)


def canonical(name: str) -> str:
    """Return the name of an object where it is defined, which several modules may offer."""
    found = resolve_name(name)
    is_defined = inspect.isclass(found) or inspect.isroutine(found)
    return f"{found.__module__}.{found.__qualname__}" if is_defined else name


def public_modules() -> list[ModuleType]:
    names = [each.name for each in iter_modules(ascend_rt.__path__) if not each.name.startswith(("_", ONLY_WITH_TORCH))]
    return [ascend_rt, *(import_module(f"ascend_rt.{name}") for name in names)]


def public() -> Iterator[str]:
    """Return the names in ``__all__`` of the package and of its public modules."""
    for module in public_modules():
        for name in getattr(module, "__all__", ()):
            yield canonical(f"{module.__name__}.{name}")


def documented() -> dict[str, list[str]]:
    """Return the names that the pages document, with their pages."""
    pages = defaultdict(list)
    for page in sorted(PAGES.glob("*.rst")):
        module = ""
        for directive, name in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            if directive in ("currentmodule", "automodule"):
                module = name
            else:
                full_name = name if name.startswith("ascend_rt.") else f"{module}.{name}"
                pages[canonical(full_name)].append(page.stem)
    return pages


DOCUMENTED = documented()
CLASSES_AND_FUNCTIONS = [name for name in DOCUMENTED if callable(resolve_name(name))]


def test_every_public_module_lists_its_names() -> None:
    without = [module.__name__ for module in public_modules() if not hasattr(module, "__all__")]
    assert set(without) <= WITHOUT_LIST


def test_every_public_name_is_on_a_page() -> None:
    assert set(public()) - set(DOCUMENTED) == set()


def test_no_name_is_on_two_pages() -> None:
    assert {name: pages for name, pages in DOCUMENTED.items() if len(pages) > 1} == {}


def test_what_is_on_a_page_is_public_or_a_base_of_it() -> None:
    classes = [found for found in map(resolve_name, public()) if inspect.isclass(found)]
    bases = {f"{base.__module__}.{base.__qualname__}" for each in classes for base in each.__mro__}
    assert set(DOCUMENTED) - set(public()) - bases == set()


@pytest.mark.parametrize("name", CLASSES_AND_FUNCTIONS)
def test_a_name_has_an_example(name: str) -> None:
    text = inspect.cleandoc(resolve_name(name).__doc__ or "")
    _, _, example = text.partition("\nExamples\n--------\n")
    assert ">>> " in example
