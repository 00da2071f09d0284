# SPDX-License-Identifier: Apache-2.0
"""Options that commands share, their errors, and how they print for people.

Rich prints, where it is installed and the output is a terminal; otherwise the output is plain text. Rich finds the
width of the terminal, and follows ``NO_COLOR`` and ``FORCE_COLOR``.
"""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from ascend_rt.backends import BACKENDS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID


_Value = TypeVar("_Value")


class CommandError(Exception):
    """A failure of a command that its user can mend."""


class UsageError(Exception):
    """Arguments that do not go together."""


_CURES = {
    errno.EACCES: "check the permissions",
    errno.EISDIR: "name a file",
    errno.EMFILE: "raise the limit (ulimit -n), or close files",
    errno.ENOENT: "check the path",
    errno.ENOSPC: "free some space, or write to another disk",
    errno.ENOTDIR: "check the path",
    errno.EPERM: "check the permissions",
    errno.EROFS: "write to another disk",
}
_WITHOUT_FILE = {errno.EMFILE: "this process", errno.ENFILE: "this machine"}
_CURES_OF_WRITING = _CURES | {errno.ENOENT: "create the directory first"}


def in_words(error: OSError, doing: str = "") -> str:
    """Return the message of an error of the system: the file, what was to be done with it, the reason and the cure.

    Parameters
    ----------
    error : OSError
        The error.
    doing : str, optional
        The action and its object, such as "read notes.txt".
    """
    if error.strerror is None:  # raised with a text, not by the system
        return str(error)
    number = error.errno or 0
    if doing:
        place = f"cannot {doing}"
    elif error.filename is not None:
        place = os.fspath(error.filename)
    else:
        place = _WITHOUT_FILE.get(number, "standard output")
    reason = error.strerror[:1].lower() + error.strerror[1:]
    cure = (_CURES_OF_WRITING if doing.startswith("write") else _CURES).get(number)
    return f"{place}: {reason}{f'; {cure}' if cure else ''}"


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """Raise an error of the system as one for people, with the action that failed."""
    try:
        yield
    except OSError as error:
        raise CommandError(in_words(error, doing)) from None


def say(text: str) -> None:
    """Print a note for people on standard error. The command goes on if that is full."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def add_backend(parser: argparse.ArgumentParser) -> None:
    """Declare the choice of the library."""
    parser.add_argument("--backend", choices=BACKENDS, help="the library to use (default: ASCEND_RT_BACKEND, or auto)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declare the choice of JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def argument(wanted: str) -> Callable[[Callable[[str], _Value]], Callable[[str], _Value]]:
    """Let the ValueError of a function that converts an argument become an error that names the expected value."""

    def decorate(convert: Callable[[str], _Value]) -> Callable[[str], _Value]:
        def converted(text: str) -> _Value:
            try:
                return convert(text)
            except ValueError:
                raise argparse.ArgumentTypeError(f"expects {wanted}, got '{text}'") from None

        return converted

    return decorate


def _console() -> Console | None:
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(highlight=False)
    return console if console.is_terminal else None


def width() -> float:
    """Return how many characters a line may have: unlimited, unless the output is a terminal."""
    if not sys.stdout.isatty():
        return float("inf")
    return shutil.get_terminal_size().columns


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print labels, each with a text; a label that repeats is printed once."""
    previous, rows = "", []
    for label, text in facts:
        rows.append(("" if label == previous else label, text))
        previous = label
    console = _console()
    if console is None:
        longest = max((len(label) for label, _ in rows), default=0)
        print("\n".join(f"{label:<{max(12, longest)}} {text}" for label, text in rows))
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
    """Print the columns that fit a line, then the others below them; the first column is in every part."""
    lines = [head, *body, *([] if total is None else [total])]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    console = _console()
    for number, columns in enumerate(_parts(widths)):
        if number:
            print()
        part = [[line[column] for column in columns] for line in lines]
        if console is None:
            _print_plain(part, [widths[column] for column in columns])
        else:
            _print_rich(console, part, has_total=total is not None)


def _parts(widths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the columns of each part."""
    columns, used = [0], widths[0]
    for column, wanted in enumerate(widths[1:], 1):
        if len(columns) > 1 and used + 2 + wanted > width():
            yield columns
            columns, used = [0], widths[0]
        columns.append(column)
        used += 2 + wanted
    yield columns


def _print_plain(lines: Sequence[Sequence[str]], widths: Sequence[int]) -> None:
    for first, *others in lines:
        numbers = (f"  {text:>{width}}" for text, width in zip(others, widths[1:], strict=True))
        print(first.ljust(widths[0]) + "".join(numbers))


def _print_rich(console: Console, lines: Sequence[Sequence[str]], *, has_total: bool) -> None:
    from rich import box
    from rich.table import Table

    head, *body = lines
    total = body.pop() if has_total else [""] * len(head)
    table = Table(
        box=box.SIMPLE_HEAD, show_footer=has_total, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold cyan"
    )
    for number, (title, foot) in enumerate(zip(head, total, strict=True)):
        look = {"justify": "right", "no_wrap": True} if number else {"overflow": "fold"}
        table.add_column(title, foot, **look)
    for line in body:
        table.add_row(*line)
    console.print(table)


class Progress:
    """Shows the progress of a command: bars on a terminal, otherwise a line on standard error for each part done."""

    def __init__(self) -> None:
        self.faults: list[str] = []  # printed so far
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
                say(f"{what}: {done} of {total}")
            return
        if fault:
            self._rich.console.print(fault, markup=False)
        if what not in self._bars:
            self._bars[what] = self._rich.add_task(what, total=total)
        self._rich.update(self._bars[what], completed=done, total=total)
