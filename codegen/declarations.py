# SPDX-License-Identifier: Apache-2.0
"""Read the ABI headers: the one source for the cffi module, the simulator, the generated Python files and the tests.

``acl.h`` lists the families in their order; a family header holds comments, ``#include``, ``#define NAME NUMBER`` and
plain C declarations. Marks inside comments carry what C cannot say:

- ``/* @flags Name: doc */`` and ``/* @enum Name: doc */`` open a group of constants that ends at the first blank line;
- ``/* @errors Group: advice */`` opens a group of error codes in the same way; a code has ``/* meaning | hint */``
  behind it, and without a hint the group's advice holds;
- a function has ``/* since VERSION, PRODUCTS */`` behind it; without a version it is in every release that is known
  (`OLDEST`), without products it is on all `PRODUCTS`; ``undocumented`` and ``none`` count as products as well;
- ``/* @library NAME: doc */`` names the library of the vendor that has the functions of a family which the runtime's
  own library does not have;
- ``/* @refused CASE, API reference PAGE: NAME, ... */`` names functions that the runtime refuses in a case, with the
  page that documents it; the first comment of a family below the licence names the pages of its functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pycparser import c_ast, c_generator, c_parser

HEADERS = Path(__file__).resolve().parents[1] / "backends" / "abi"

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_INCLUDE = re.compile(r'^#include "(\w+)\.h"$', re.MULTILINE)
_DEFINE = re.compile(r"^#define (\w+) (-?\d\w*)(?: /\* (.*) \*/)?$")
_BLOCK = re.compile(r"^/\* @(flags|enum|errors) ([^:]+): (.*) \*/$")
_REFUSED = re.compile(r"^/\* @refused ([^,]+), API reference ([\d-]+): (.*?) \*/$", re.DOTALL | re.MULTILINE)
_PAGES = re.compile(r"\A/\* SPDX.*\n/\*.*?\(API reference ([\d, -]+)\)\. \*/")
_LIBRARY = re.compile(r"^/\* @library (\S+): .* \*/$", re.MULTILINE)
_AVAILABILITY = re.compile(r"\b(acl\w+)\([^;{}]*\); /\* (?:since ([^\s,]+))?(?:, )?([\w ]*?) \*/")

# The products that functions are documented for, by the names of their chips: 910B is "Atlas A2" and 910C "Atlas A3" in
# the documents, 310B "Atlas 200I/500 A2".
PRODUCTS = ("910B", "910C", "310B", "310P", "910", "950")

# The oldest release whose headers are known; its functions may be older.
OLDEST = "8.1.RC1"

# The newest; the simulator plays it unless another is asked for.
NEWEST = "9.2.0-beta.1"

# Declarations of <stdbool.h>, <stddef.h> and <stdint.h>, for a parser that reads no system header.
_STANDARD_TYPES = ("bool", "size_t", *(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)))
_PRELUDE = "".join(f"typedef int {name};\n" for name in _STANDARD_TYPES)


@dataclass(frozen=True)
class Parameter:
    """One parameter; ``declaration`` is its C text, which is more than type and name for arrays and functions."""

    type: str
    name: str
    declaration: str


@dataclass(frozen=True)
class Function:
    """A declared function.

    ``prototype`` has no semicolon; ``since`` is the first release that has the function, or `OLDEST`, which also covers
    older ones; ``products`` are those that it is documented for, and None if no document says.
    """

    name: str
    family: str
    returns: str
    parameters: tuple[Parameter, ...]
    prototype: str
    is_variadic: bool
    since: str
    products: tuple[str, ...] | None


@dataclass(frozen=True)
class EnumType:
    """A C enumeration; ``members`` keeps the order of the header, aliases included."""

    name: str
    members: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class ConstantGroup:
    """Constants that belong together: ``kind`` is ``"flags"`` or ``"enum"``."""

    kind: str
    name: str
    doc: str
    members: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class ErrorConstant:
    """An error code."""

    name: str
    value: int
    group: str
    meaning: str
    hint: str


@dataclass(frozen=True)
class Declarations:
    """Declarations of a set of headers."""

    cdef: str
    functions: tuple[Function, ...]
    enums: tuple[EnumType, ...]
    constants: tuple[tuple[str, int], ...]
    groups: tuple[ConstantGroup, ...]
    errors: tuple[ErrorConstant, ...]
    libraries: dict[str, str]
    pages: dict[str, str]
    refusals: dict[str, tuple[str, str]]


def families() -> tuple[str, ...]:
    """Names of the families, in the order of ``acl.h``."""
    return tuple(_INCLUDE.findall((HEADERS / "acl.h").read_text(encoding="utf-8")))


def load() -> Declarations:
    """Read every family."""
    return parse((family, (HEADERS / f"{family}.h").read_text(encoding="utf-8")) for family in families())


def parse(headers: Iterable[tuple[str, str]], types: str = "") -> Declarations:
    """Read ``(family, text)`` pairs; a text may use ``types`` and the types of the texts before it."""
    headers = list(headers)
    text = "".join(header for _, header in headers)
    parsed = "".join(_for_parser(family, header) for family, header in headers)
    tree = c_parser.CParser().parse(_PRELUDE + types + parsed)
    nodes = [node for node in tree.ext if node.coord.file in dict(headers)]
    availability = {name: (since, products) for name, since, products in _AVAILABILITY.findall(text)}
    return Declarations(
        cdef="".join(_for_cffi(header) for _, header in headers),
        functions=tuple(_functions(nodes, availability)),
        enums=tuple(_enums(nodes)),
        constants=tuple((name, value) for name, value, _ in _defines(text)),
        groups=tuple(_groups(text)),
        errors=tuple(_errors(text)),
        libraries={family: match[1] for family, header in headers if (match := _LIBRARY.search(header))},
        pages={family: match[1] for family, header in headers if (match := _PAGES.search(header))},
        refusals={
            name: (case, page) for case, page, names in _REFUSED.findall(text) for name in re.findall(r"acl\w+", names)
        },
    )


def _for_cffi(header: str) -> str:
    """Return the header without comments and without what cffi does not know: directives, and a word of GNU C."""
    lines = _COMMENT.sub("", header).replace("__extension__ ", "").splitlines()
    return "".join(f"{line}\n" for line in lines if line.strip() and not line.startswith(("#include", "#pragma")))


def _for_parser(family: str, header: str) -> str:
    # The line directive makes pycparser report the family as the file, to know where a function was declared.
    declarations = "".join(f"{line}\n" for line in _for_cffi(header).splitlines() if not line.startswith("#"))
    return f'#line 1 "{family}"\n{declarations}'


def _functions(nodes: list[c_ast.Node], availability: dict[str, tuple[str, str]]) -> Iterator[Function]:
    for node in nodes:
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
            since, products = availability.get(node.name, ("", ""))
            nodes_of_parameters = node.type.args.params if node.type.args else []
            yield Function(
                node.name,
                node.coord.file,
                returns=_c(node.type.type),
                parameters=tuple(_parameters(nodes_of_parameters)),
                prototype=_c(node),
                is_variadic=any(isinstance(parameter, c_ast.EllipsisParam) for parameter in nodes_of_parameters),
                since=since or OLDEST,
                products=_products(products),
            )


def _products(text: str) -> tuple[str, ...] | None:
    if text == "undocumented":
        return None
    return tuple(product for product in PRODUCTS if product in text.split()) if text else PRODUCTS


def _parameters(nodes: list[c_ast.Node]) -> Iterator[Parameter]:
    for node in nodes:
        if isinstance(node, c_ast.Decl):  # not the (void) of an empty list, not an ellipsis
            yield Parameter(_c(_without_name(node.type)), node.name, _c(node))


def _without_name(node: c_ast.Node) -> c_ast.Node:
    """Copy a type without the parameter's name, which C keeps at the innermost type."""
    if isinstance(node, c_ast.PtrDecl):
        return c_ast.PtrDecl(node.quals, _without_name(node.type))
    if isinstance(node, c_ast.FuncDecl):
        return c_ast.FuncDecl(node.args, _without_name(node.type))
    if isinstance(node, c_ast.TypeDecl):
        return c_ast.TypeDecl(None, node.quals, node.align, node.type)
    raise TypeError(f"{node.coord}: a parameter of this type needs a typedef")


def _enums(nodes: list[c_ast.Node]) -> Iterator[EnumType]:
    for node in nodes:
        inner = getattr(getattr(node, "type", None), "type", None)
        if isinstance(node, c_ast.Typedef) and isinstance(inner, c_ast.Enum):
            yield EnumType(node.name, tuple((member.name, _number(_c(member.value))) for member in inner.values))


def _defines(text: str) -> Iterator[tuple[str, int, str]]:
    for line in text.splitlines():
        if match := _DEFINE.match(line):
            yield match[1], _number(match[2]), match[3] or ""


def _blocks(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, name, doc and body of the marked blocks; a blank line ends a block."""
    lines = iter(text.splitlines())
    for line in lines:
        if match := _BLOCK.match(line):
            yield (*match.groups(), "\n".join(iter(lambda: next(lines, "").strip(), "")))


def _groups(text: str) -> Iterator[ConstantGroup]:
    for kind, name, doc, body in _blocks(text):
        if kind != "errors":
            yield ConstantGroup(kind, name, doc, tuple((constant, n) for constant, n, _ in _defines(body)))


def _errors(text: str) -> Iterator[ErrorConstant]:
    for kind, group, advice, body in _blocks(text):
        if kind == "errors":
            for name, value, comment in _defines(body):
                meaning, _, hint = comment.partition("|")
                yield ErrorConstant(name, value, group, meaning.strip(), hint.strip() or advice)


def _number(text: str) -> int:
    return int(text.replace(" ", "").rstrip("uUlL"), 0)


def _c(node: c_ast.Node) -> str:
    return str(c_generator.CGenerator().visit(node)).strip()
