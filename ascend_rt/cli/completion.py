# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt completion``: a script with which a shell completes commands, options and their values."""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from ascend_rt.cli.terminal import CommandError

SHELLS = ("bash", "zsh", "fish", "tcsh")

DESCRIPTION = (
    "Print a script for the shell that completes commands, options and their values. Write it where the shell looks "
    "for completions, or evaluate it when the shell starts."
)
EXAMPLES = (
    "ascend-rt completion bash > ~/.local/share/bash-completion/completions/ascend-rt",
    "ascend-rt completion zsh > ~/.zfunc/_ascend-rt",
    "ascend-rt completion fish > ~/.config/fish/completions/ascend-rt.fish",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.usage = f"ascend-rt completion {{{','.join(SHELLS)}}}"
    parser.add_argument("shell", choices=SHELLS, help="the shell: %(choices)s", metavar="SHELL")


def main(arguments: argparse.Namespace) -> int:
    """Run the command."""
    try:
        import shtab
    except ImportError:
        raise CommandError("'completion' needs shtab: pip install shtab") from None
    from ascend_rt.cli import COMMANDS, parsers_of

    parser, commands = parsers_of(*(name for name, command in COMMANDS.items() if _is_installed(command.module)))
    for name in ("run", "check"):
        commands[name].add_argument("program", nargs="?", metavar="FILE", help="the script to run")
    commands["help"].add_argument("of", nargs="?", choices=tuple(COMMANDS), help="the command to show the help of")
    for command in commands.values():
        for action in command._actions:
            if "FILE" in str(action.metavar):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, arguments.shell))
    return 0


def _is_installed(module: str) -> bool:
    return find_spec(module.split(".")[0]) is not None
