# SPDX-License-Identifier: Apache-2.0
"""The command line: one module a command, which is imported when that command is given.

A command's module has its ``DESCRIPTION`` and ``EXAMPLES`` for the help, ``add_arguments()``, and ``main()``, which
gets the arguments and returns the exit status.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from types import ModuleType
from typing import NamedTuple, TextIO

from ascend_rt import __version__
from ascend_rt._runtime import driver
from ascend_rt._runtime.error_texts import in_full
from ascend_rt.cli.parser import Parser, suggestion
from ascend_rt.cli.terminal import CommandError, UsageError, in_words, say
from ascend_rt.errors import AclError, AclWarning, LibraryError

# Errors that a user can cause and correct; anything else is a bug and keeps its traceback.
_USER_ERRORS = (AclError, CommandError, LibraryError, ValueError)


class _Command(NamedTuple):
    module: str
    help: str
    failure: int = 1  # the exit status
    misuse: int = 2  # the exit status for a wrong command line


COMMANDS = {
    "demo": _Command("ascend_rt.cli.demo", "send bytes through a device and back, and measure"),
    "info": _Command("ascend_rt.cli.info", "show which library is used, and why"),
    "coverage": _Command("ascend_rt.cli.coverage", "count the functions of library, simulator and products"),
    "verify": _Command("ascend_rt_measure.verify.command", "test and measure a card, and write a report"),
    "bench": _Command("ascend_rt_measure.bench.command", "measure calls in C, cffi, the facade and pyACL"),
    "run": _Command("ascend_rt.cli.run", "run a Python script with the chosen library"),
    "check": _Command("ascend_rt.cli.check", "find missing waits and deadlocks of a program", failure=3, misuse=3),
    "profile": _Command("ascend_rt.cli.profile", "print a profile as a table, and write its time line"),
    "sim-path": _Command("ascend_rt.cli.sim_path", "print the simulator's directory, for LD_LIBRARY_PATH"),
    "include-path": _Command("ascend_rt.cli.include_path", "print the directory of the C headers"),
    "toolkit-path": _Command("ascend_rt.cli.toolkit_path", "print the simulated toolkit, for ASCEND_HOME_PATH"),
    "completion": _Command("ascend_rt.cli.completion", "print a completion script for a shell"),
}

_WITH_VALUES = ("--backend", "--format", "--output", "--pyacl")  # options of run and check

_EXIT_STATUS = "Exit status: 0 success, 1 failure, 2 wrong command line."


class _Help(argparse.HelpFormatter):
    """Keeps the lines of examples apart; other texts are wrapped."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


def parsers_of(*commands: str) -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of the program and those of its commands.

    Those of the named commands have their arguments; for that, their modules are imported.
    """
    parser = Parser(
        "ascend-rt",
        usage="ascend-rt [-h] [-V] COMMAND ...",
        description="Call the CANN runtime of Ascend NPUs, or its simulator, from Python.",
        epilog=f"'ascend-rt help COMMAND' shows options and examples. {_EXIT_STATUS}",
    )
    parser.add_argument("-V", "--version", action="version", version=f"ascend_rt {__version__}")
    parsers = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND [OPTIONS]", prog="ascend-rt")
    parsers.add_parser("help", help="show the help of a command", add_help=False)
    for name, command in COMMANDS.items():
        usage = f"ascend-rt {name} [OPTIONS]"
        added = parsers.add_parser(name, usage=usage, help=command.help, formatter_class=_Help)
        added.misuse = command.misuse
        if name in commands:
            module = _imported(name, command.module)
            added.description = module.DESCRIPTION
            added.epilog = "\n".join(("examples:", *(f"  {example}" for example in module.EXAMPLES)))
            added.set_defaults(main=module.main, parser=added, backend=None)
            module.add_arguments(added)
    return parser, dict(parsers.choices)


def _imported(command: str, name: str) -> ModuleType:
    """Return a command's module, which may be in a distribution that is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.split(".")[0]
        if error.name != package:
            raise
        text = f"'{command}' is part of {package}, which is not installed: pip install ./measure in a checkout"
        raise CommandError(text) from None


def help_of(command: str) -> str:
    """Return the help of a command, for the reference."""
    return parsers_of(command)[1][command].format_help()


def split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return our own arguments and, of ``run`` and ``check``, those of the program, which argparse must not touch.

    ``check`` gets the two dashes too, because they may precede a program that is not Python's.
    """
    if arguments[:1] == ["help"]:
        return [*arguments[1:2], "--help"], []
    if arguments[:1] not in (["run"], ["check"]):
        return arguments, []
    end = 1
    while end < len(arguments) and arguments[end].startswith(("--", "-h")) and arguments[end] != "--":
        end += 2 if arguments[end] in _WITH_VALUES else 1
    is_separated = arguments[0] == "run" and arguments[end : end + 1] == ["--"]
    return arguments[:end], arguments[end + is_separated :]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0 is success, 1 a failure, 2 a wrong command line.

    Those of ``check`` differ.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    known = COMMANDS.get(given[0]) if given else None
    failure = 1 if known is None else known.failure
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed at the start, and the next file may get its number
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  (to the end)
    try:
        try:
            return _main(given)
        finally:
            sys.stdout.flush()  # while an error can still be reported
    except BrokenPipeError:  # the reader of the output has closed it
        _give_up(sys.stdout)
        return 128 + signal.SIGPIPE
    except _USER_ERRORS as error:
        return _failed(in_full(error), failure)
    except OSError as error:
        return _failed(in_words(error), failure)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        _give_up(sys.stderr)


def _failed(message: str, status: int) -> int:
    _give_up(sys.stdout)
    say(f"ascend-rt: {message}")
    return status


def _main(arguments: list[str]) -> int:
    own, program = split(arguments)
    parser, _ = parsers_of(*own[:1])
    if own and own[0].startswith("-") and own[0] not in ("-h", "--help", "-V", "--version"):
        cure = suggestion(own[0], ("--help", "--version")) or "; the options of a command follow its name"
        parser.error(f"unknown option '{own[0]}'{cure}")
    parsed = parser.parse_args(own, argparse.Namespace(program=program))
    if parsed.command is None:
        print(parser.format_help(), end="")
        return 0
    # A path may have bytes that are not text in this locale; they are printed escaped.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    driver.warn_of_simulator = False  # each command says which library it uses, and why
    if parsed.backend:
        driver.choose(parsed.backend, "--backend")
    try:
        with nullcontext() if parsed.command == "run" else _warnings_without_places():
            return int(parsed.main(parsed))
    except UsageError as error:
        command: Parser = parsed.parser
        command.error(str(error))


@contextmanager
def _warnings_without_places() -> Iterator[None]:
    """Print warnings of the package like errors: the line of source that Python shows is not one of the user's."""
    show = warnings.showwarning

    def print_warning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, AclWarning):
            say(f"ascend-rt: warning: {message}")
        else:
            show(message, category, filename, lineno, file, line)

    warnings.showwarning = print_warning
    try:
        yield
    finally:
        warnings.showwarning = show


def _give_up(stream: TextIO) -> None:
    """Discard output that cannot be written; at its end the interpreter would try again, and report an error."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
