# SPDX-License-Identifier: Apache-2.0
"""How commands print for people: by rich, where it is installed and the output is a terminal, or else as plain text.

rich knows the width of the terminal, and of ``NO_COLOR`` and ``FORCE_COLOR``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def _console() -> Console | None:
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(highlight=False)
    return console if console.is_terminal else None


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print labels and what there is to say under them; a label that repeats stands once."""
    previous, rows = "", []
    for label, text in facts:
        rows.append(("" if label == previous else label, text))
        previous = label
    console = _console()
    if console is None:
        print("\n".join(f"{label:<12} {text}" for label, text in rows))
        return
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in rows:
        grid.add_row(label, Text(text, style="bold red" if label == "error" else ""))
    console.print(grid)


def print_table(head: Sequence[str], body: Sequence[Sequence[str]]) -> None:
    """Print a table: its first column is text, the others are numbers, its last line is their total."""
    console = _console()
    if console is None:
        widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
        for first, *others in (head, *body):
            numbers = (f"  {text:>{width}}" for text, width in zip(others, widths[1:], strict=True))
            print(first.ljust(widths[0]) + "".join(numbers))
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_footer=True, header_style="bold cyan")
    *lines, total = body
    for number, (title, foot) in enumerate(zip(head, total, strict=True)):
        table.add_column(title, foot, justify="right" if number else "left", no_wrap=True)
    for line in lines:
        table.add_row(*line)
    console.print(table)
