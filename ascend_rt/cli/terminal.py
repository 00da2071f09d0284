# SPDX-License-Identifier: Apache-2.0
"""What commands have in common: options, and how they print for people.

That is by rich, where it is installed and the output is a terminal, or else as plain text. rich knows the width of the
terminal, and of ``NO_COLOR`` and ``FORCE_COLOR``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from ascend_rt.backends import BACKENDS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID


_Value = TypeVar("_Value")


class CommandError(Exception):
    """What a command cannot do, and its user can change."""


def add_backend(parser: argparse.ArgumentParser) -> None:
    """Declare the choice of the library."""
    parser.add_argument(
        "--backend", choices=BACKENDS, help="which library to use (default: ASCEND_RT_BACKEND, or auto)"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declare the choice of JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def argument(wanted: str) -> Callable[[Callable[[str], _Value]], Callable[[str], _Value]]:
    """Let a function for an argument of the command line raise ValueError, for which argparse says what is wanted."""

    def decorate(convert: Callable[[str], _Value]) -> Callable[[str], _Value]:
        def converted(text: str) -> _Value:
            try:
                return convert(text)
            except ValueError:
                raise argparse.ArgumentTypeError(f"{wanted}, not {text!r}") from None

        return converted

    return decorate


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
    _print_columns(head, body[:-1], body[-1])


def print_columns(head: Sequence[str], body: Sequence[Sequence[str]]) -> None:
    """Print a table without a total."""
    _print_columns(head, body, None)


def _print_columns(head: Sequence[str], body: Sequence[Sequence[str]], total: Sequence[str] | None) -> None:
    console = _console()
    if console is None:
        lines = [head, *body, *([] if total is None else [total])]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for first, *others in lines:
            numbers = (f"  {text:>{width}}" for text, width in zip(others, widths[1:], strict=True))
            print(first.ljust(widths[0]) + "".join(numbers))
        return
    from rich import box
    from rich.table import Table

    look = {"padding": (0, 1, 0, 0), "pad_edge": False, "header_style": "bold cyan"}
    table = Table(box=box.SIMPLE_HEAD, show_footer=total is not None, **look)  # type: ignore[arg-type]
    for number, title in enumerate(head):
        foot = "" if total is None else total[number]
        table.add_column(title, foot, justify="right" if number else "left", no_wrap=True)
    for line in body:
        table.add_row(*line)
    console.print(table)


class Progress:
    """Shows how far a command is: bars on a terminal, else a line on standard error for what has ended."""

    def __init__(self) -> None:
        self.faults: list[str] = []  # that were printed
        self._ended: set[str] = set()
        self._bars: dict[str, TaskID] = {}
        console = _console()
        if console is None:
            self._rich = None
            return
        from rich import progress

        columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn())
        self._rich = progress.Progress(*columns, progress.TimeElapsedColumn(), console=console, transient=True)

    def __enter__(self) -> Progress:
        if self._rich is not None:
            self._rich.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._rich is not None:
            self._rich.stop()

    def show(self, what: str, done: int, total: int, fault: str = "") -> None:
        """Move the bar with that label, and print a fault, which stays."""
        if fault:
            self.faults.append(fault)
        if self._rich is None:
            if fault:
                print(fault, flush=True)
            if done == total and what not in self._ended:
                self._ended.add(what)
                print(f"{what}: {done} of {total}", file=sys.stderr, flush=True)
            return
        if fault:
            self._rich.console.print(fault, markup=False)
        if what not in self._bars:
            self._bars[what] = self._rich.add_task(what, total=total)
        self._rich.update(self._bars[what], completed=done, total=total)
