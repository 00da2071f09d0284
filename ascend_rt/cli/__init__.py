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
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from ascend_rt import __version__
from ascend_rt._runtime import driver
from ascend_rt.cli.terminal import CommandError
from ascend_rt.errors import AclError, LibraryError, in_full

# What a user can cause and correct; anything else is a bug and keeps its traceback.
_USER_ERRORS = (AclError, CommandError, LibraryError, OSError, ValueError)


class _Command(NamedTuple):
    module: str
    help: str


COMMANDS = {
    "demo": _Command("ascend_rt.cli.demo", "stream bytes through a device and back"),
    "info": _Command("ascend_rt.cli.info", "show which library is used, and why"),
    "coverage": _Command("ascend_rt.cli.coverage", "count the functions of library, simulator and products"),
    "verify": _Command(
        "ascend_rt_measure.verify.command", "play known calls on a card, measure it, and write a report"
    ),
    "bench": _Command(
        "ascend_rt_measure.bench.command", "measure what calls cost in C, through cffi, the facade and pyACL"
    ),
    "run": _Command("ascend_rt.cli.run", "run a Python script with the chosen library"),
    "sim-path": _Command("ascend_rt.cli.sim_path", "print the simulator's directory, for LD_LIBRARY_PATH"),
    "include-path": _Command("ascend_rt.cli.include_path", "print the directory of the C headers"),
}


class _Help(argparse.HelpFormatter):
    """Keeps the lines of examples apart; other texts are wrapped."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


def parser_of(*commands: str) -> argparse.ArgumentParser:
    """Return the parser of all commands, with the arguments of these; their modules are imported."""
    parser = argparse.ArgumentParser(
        prog="ascend-rt",
        description="Python on the CANN runtime, or on its simulator.",
        epilog="'ascend-rt COMMAND --help' has details and examples.",
    )
    parser.add_argument("--version", action="version", version=f"ascend_rt {__version__}")
    parsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, command in COMMANDS.items():
        added = parsers.add_parser(name, help=command.help, formatter_class=_Help)
        if name in commands:
            module = _imported(name, command.module)
            added.description = module.DESCRIPTION
            added.epilog = "\n".join(("examples:", *(f"  {example}" for example in module.EXAMPLES)))
            added.set_defaults(main=module.main, backend=None)
            module.add_arguments(added)
    return parser


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
    parser = parser_of(command)
    commands = next(action.choices for action in parser._actions if isinstance(action.choices, dict))
    return str(commands[command].format_help())


def split(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return our own arguments and, of the command ``run``, those of the program, which argparse must not touch."""
    if arguments[:1] != ["run"]:
        return arguments, ()
    end = 1
    while end < len(arguments) and arguments[end].startswith(("--", "-h")) and arguments[end] != "--":
        end += 2 if arguments[end] in ("--backend", "--pyacl") else 1
    return arguments[:end], arguments[end + (arguments[end : end + 1] == ["--"]) :]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0 is success, 1 a failure, 2 a wrong command line."""
    if sys.stdout is None:  # it was closed at the start, and the next file that is opened would take its place
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (to the end)
    try:
        try:
            return _main(sys.argv[1:] if arguments is None else arguments)
        finally:
            sys.stdout.flush()  # at its end the interpreter could not say what went wrong
    except BrokenPipeError:  # who reads the output has seen enough
        _give_up_output()
        return 128 + signal.SIGPIPE
    except _USER_ERRORS as error:
        _give_up_output()
        print(f"ascend-rt: {in_full(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _main(arguments: Sequence[str]) -> int:
    own, program = split(arguments)
    parser = parser_of(*own[:1])
    parsed = parser.parse_args(own, argparse.Namespace(program=program))
    if parsed.command is None:
        print(parser.format_help(), end="")
        return 0
    if parsed.command == "run" and not program:
        parser.error("run: name a script, or -m and a module")
    # A path may have bytes that are no text in this locale; what is printed for people shows them escaped.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    driver.warn_of_simulator = False  # each command says which library it uses, and why
    if parsed.backend:
        driver.use(parsed.backend)
    return int(parsed.main(parsed))


def _give_up_output() -> None:
    """Let what cannot be written go; the interpreter would try again at its end, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
