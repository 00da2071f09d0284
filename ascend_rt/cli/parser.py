# SPDX-License-Identifier: Apache-2.0
"""A parser of arguments whose errors name the option, the value and the nearest known name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

_MOST_CHOICES = 10  # in an error


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of an error that offers the known name nearest to a wrong one, or ""."""
    import difflib  # only after a mistake

    nearest = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""


class Parser(argparse.ArgumentParser):
    """Reports each error as one line, with the usage of the command that the error is about.

    Parameters
    ----------
    prog : str
        The command, as the user types it.
    **settings
        As for the base class.
    """

    def __init__(self, prog: str, **settings: Any) -> None:
        # Abbreviated options would change their meaning when an option is added.
        super().__init__(prog, exit_on_error=False, allow_abbrev=False, **settings)
        self.misuse = 2  # the exit status

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; exit with an error if one is wrong or unknown."""
        try:
            namespace, unknown = super().parse_known_args(args, namespace)
        except argparse.ArgumentError as error:
            subject = f"{error.argument_name} " if error.argument_name else ""
            self.error(subject + error.message.replace("expected ", "expects "))
        if unknown:
            self._refuse(unknown[0])
        return namespace, unknown

    def error(self, message: str) -> NoReturn:
        """Print the message and the usage to standard error; exit with the status of a wrong command line."""
        command = self.prog.replace(" ", " help ", 1) if " " in self.prog else f"{self.prog} help"
        self.exit(
            self.misuse, f"{self.prog}: {message}\n\n{self.format_usage()}\nFor more information, run '{command}'.\n"
        )

    def _print_message(self, message: str, file: Any = None) -> None:
        if file is sys.stdout:
            file.write(message)  # the base class says nothing of a full disk
        else:
            super()._print_message(message, file)

    def _refuse(self, argument: str) -> NoReturn:
        name = argument.partition("=")[0]
        if not name.startswith("-"):
            self.error(f"unexpected argument '{argument}'")
        self.error(f"unknown option '{name}'{suggestion(name, self._option_string_actions)}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            self.error(f"unknown command '{value}'{suggestion(value, known)}")
        fault = f"expects one of {', '.join(known)}, got" if len(known) <= _MOST_CHOICES else "does not know"
        raise argparse.ArgumentError(action, f"{fault} '{value}'{suggestion(value, known)}")
