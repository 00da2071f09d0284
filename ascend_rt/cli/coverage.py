# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt coverage``: which of library, simulator, facade and products have each declared function.

The page ``docs/coverage.md`` is this module's Markdown for the simulator.
"""

from __future__ import annotations

import argparse
import ctypes
import json
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ascend_rt._generated.functions import FUNCTIONS, PAGES, PRODUCTS, REFUSALS
from ascend_rt._runtime.driver import library, providers
from ascend_rt.backends import IN_WORDS, sim
from ascend_rt.cli import terminal

# The columns other than the products', their meanings, and their short heads for a terminal.
_MEANINGS = {
    "declared": "documented, declared, and callable as ascend_rt.lib.aclX(...)",
    "exported": "present in the library in use",
    "simulated": "simulated with the behaviour of the runtime",
    "refused": "refused in a case where the runtime refuses it, too",
    "facade": "used by the Python classes",
}
_SHORT = {"declared": "all", "exported": "here", "simulated": "sim", "refused": "no", "facade": "facade"}
_COLUMNS = (*_MEANINGS, *PRODUCTS)

_INTRODUCTION = """\
# Coverage

The tables of this page list every declared function, with its availability in the simulator, in CANN releases and on
products. `ascend-rt coverage --backend sim --format markdown` generates the page.

- *Exported*: the library in use has the function; here it is the simulator, which has all of them.
- *Simulated*: the function behaves in the simulator as in the runtime.
- *Refused*: the runtime refuses the function in this case, and so does the simulator; the number is the page of CANN's
  API reference that documents it. [On a host](semantics/queues.md#1-on-a-host-and-on-a-device) the code is 200006;
  without a virtual instance of a 910, `acltdtCreateChannel` returns NULL.
- *Facade*: the Python classes use the function. All other functions can be called as `ascend_rt.lib.aclX(…)`.
- *Since*: the first release of CANN that has the function; 8.1.RC1 is the oldest known release and can also mean an
  older one.
- Products: ✓ if the function is documented for the product, `?` if the documents do not mention products. On a product
  without a mark the simulator answers as the code of the runtime does: most functions return
  `ACL_ERROR_RT_FEATURE_NOT_SUPPORT` (207000), or NULL, or their objects cannot be created; `aclGetRecentErrMsg` gives
  the reason. Each table names the pages of the API reference that list the products.

<div class="table-filter"></div>
"""


DESCRIPTION = (
    "Count the documented functions, by family, that the library, the simulator, the Python classes and each product "
    "have. JSON and Markdown also list every function."
)
EXAMPLES = ("ascend-rt coverage --backend sim", "ascend-rt coverage --format json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    terminal.add_backend(parser)
    parser.add_argument("--format", choices=tuple(FORMATS), default="text", help="the output format (default: text)")


def main(arguments: argparse.Namespace) -> int:
    """Run the command."""
    FORMATS[arguments.format](rows())
    return 0


class Row(NamedTuple):
    """Facts about one function.

    ``products`` is None if undocumented; ``provider`` is the path of the library that has it, or None; ``refused`` is
    the case in which the runtime refuses it, with the page of the API reference, or "".
    """

    name: str
    family: str
    since: str
    products: tuple[str, ...] | None
    provider: str | None
    simulated: bool
    refused: str
    facade: bool


def rows() -> list[Row]:
    """Load the library, with those that are opened on first use, and describe every declared function."""
    where = providers()
    # The simulator answers for itself, also where the vendor's library is in use.
    is_simulated = ctypes.CDLL(str(sim.library_path())).aclsimIsSimulated
    return [
        Row(
            name,
            family,
            since,
            products=None if products is None else tuple(products.split()),
            provider=where.get(name),
            simulated=bool(is_simulated(name.encode())),
            refused=": ".join(REFUSALS.get(name, ())),
            facade=facade,
        )
        for name, (family, since, products, facade) in FUNCTIONS.items()
    ]


def by_family(table: Iterable[Row]) -> dict[str, dict[str, int]]:
    """Count, for each family and in total, the functions of each column."""
    counts: dict[str, dict[str, int]] = {}
    for row in table:
        for name in (row.family, "total"):
            count = counts.setdefault(name, dict.fromkeys(_COLUMNS, 0))
            for column in _columns_of(row):
                count[column] += 1
    counts["total"] = counts.pop("total")  # to the end
    return counts


def _columns_of(row: Row) -> Iterable[str]:
    yield "declared"
    yield from (("exported",) if row.provider else ())
    yield from (("simulated",) if row.simulated else ())
    yield from (("refused",) if row.refused else ())
    yield from (("facade",) if row.facade else ())
    yield from row.products or ()


# --- the three formats -----------------------------------------------------------------------------------------------


def as_json(table: Sequence[Row]) -> str:
    """Return the counts and every function."""
    content = {
        "backend": library().backend,
        "families": by_family(table),
        "functions": {row.name: {k: v for k, v in row._asdict().items() if k != "name"} for row in table},
    }
    return json.dumps(content, indent=1)


def _print_text(table: Sequence[Row]) -> None:
    lines = [(name, *map(str, count.values())) for name, count in by_family(table).items()]
    terminal.print_table(("family", *_SHORT.values(), *PRODUCTS), lines)
    for column, short in _SHORT.items():
        print(f"{short:>6}: {_MEANINGS[column]}")
    print("The products: functions documented for them.")
    print(f"The library in use: {IN_WORDS[library().backend]}, {library().reason}.")


def as_markdown(table: Sequence[Row]) -> str:
    """Return a document: the counts by family, then the functions of each family."""
    counts = [(name, *map(str, count.values())) for name, count in by_family(table).items()]
    parts = [_INTRODUCTION, _markdown_table(("family", *_COLUMNS), counts)]
    for family in dict.fromkeys(row.family for row in table):
        cells = [_cells(row) for row in table if row.family == family]
        head = ("function", "since", "exported", "simulated", "refused", "facade", *PRODUCTS)
        parts += [f"## {family}\n", f"API reference {PAGES[family]}.\n", _markdown_table(head, cells)]
    return "\n".join(parts)


def _cells(row: Row) -> tuple[str, ...]:
    products = ["?" if row.products is None else _mark(product in row.products) for product in PRODUCTS]
    marks = (_mark(row.provider is not None), _mark(row.simulated), row.refused, _mark(row.facade))
    return (f"`{row.name}`", row.since, *marks, *products)


def _mark(is_so: bool) -> str:
    return "✓" if is_so else ""


def _markdown_table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    rule = ["---", *["---:" if head[0] == "family" else ":---:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *body))


FORMATS: dict[str, Callable[[Sequence[Row]], None]] = {
    "text": _print_text,
    "json": lambda table: print(as_json(table)),
    "markdown": lambda table: print(as_markdown(table), end=""),
}
