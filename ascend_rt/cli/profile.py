# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt profile``: the files of a profile as a table, and as one time line."""

from __future__ import annotations

import argparse

from ascend_rt.cli import terminal
from ascend_rt.profiling import _in_a_line, read_profile

DESCRIPTION = "Print a profile that aclprofStop or ascend_rt.profile() wrote: times of tasks, ranges and marks."
EXAMPLES = (
    "ascend-rt profile prof",
    "ascend-rt profile prof/PROF_000001_20260101120000_4711 --top 20",
    "ascend-rt profile prof --trace trace.json",
)
_HEAD = ("name", "kind", "number", "total us", "mean us", "longest us")


@terminal.argument("a number of entries, from 1")
def _number(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument(
        "directory", metavar="DIRECTORY", help="a directory PROF_..., or one that contains such directories"
    )
    parser.add_argument("--top", type=_number, metavar="NUMBER", help="print only the entries with the longest times")
    parser.add_argument("--trace", metavar="FILE", help="write the time line, for Perfetto and chrome://tracing")


def main(arguments: argparse.Namespace) -> int:
    """Run the command."""
    with terminal.explained(f"read {arguments.directory}"):
        profile = read_profile(arguments.directory)
    rows = profile.table()[: arguments.top]
    terminal.print_columns(
        _HEAD,
        [
            (_in_a_line(name), _in_a_line(kind), str(number), *(f"{time:.3f}" for time in times))
            for name, kind, number, *times in rows
        ],
    )
    if arguments.trace is not None:
        with terminal.explained(f"write {arguments.trace}"):
            profile.write_trace(arguments.trace)
    return 0
