# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt check``: run a program, and report missing waits, deadlocks and wrong uses of memory."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ascend_rt import __version__
from ascend_rt._check import child, ignores, json_report, page, reading, sarif, text, words
from ascend_rt._check.outcome import Outcome, Program
from ascend_rt._runtime import driver
from ascend_rt._startup.install_hint import install_hint
from ascend_rt.backends import check as check_library
from ascend_rt.backends import python_program
from ascend_rt.backends.sim import library_directory
from ascend_rt.cli import run, terminal

DESCRIPTION = (
    "Run a program on the simulator and report what is wrong in it although it may look right: accesses to the same "
    "memory that no wait orders, with the wait that is missing, and waits that can never end. A file that ends with "
    ".py is a Python script; behind -- another program can be named. Exit status: 0 no findings; 1 findings; 2 the "
    "program failed, with or without findings, because such a program has not shown all of its behaviour; 3 the check "
    "could not be made, or the command line is wrong."
)
EXAMPLES = (
    "ascend-rt check train.py --epochs 3",
    "ascend-rt check --memory --leaks -m pytest tests",
    "ascend-rt check --format sarif --output check.sarif train.py",
    "ascend-rt check -- ./program input.bin",
)


class _Check(NamedTuple):
    is_default: bool
    help: str


CHECKS = {
    "races": _Check(True, "look for accesses to the same memory that nothing orders"),
    "deadlocks": _Check(True, "look for waits that can never end"),
    "memory": _Check(False, "look for wrong uses of memory, such as accesses past its end"),
    "leaks": _Check(False, "look for objects that functions leave open to the end (Python)"),
    "host-threads": _Check(False, "look for missing order between threads of the host, too (Python)"),
    "every-use": _Check(False, "watch all uses of pinned memory, not a sample behind the first 100 of each line"),
}

_OF_SIMULATOR = ("races", "deadlocks", "memory")
_OF_RACES = ("host-threads", "every-use")  # how to look for races: alone they find nothing

_SUSPICIOUS_WAIT = "60"  # seconds; the vendor's library does not know what a wait waits for

FORMATS: dict[str, Callable[[Outcome], str]] = {
    "text": text.text,
    "json": json_report.report,
    "sarif": lambda outcome: sarif.report(outcome, __version__),
    "html": lambda outcome: page.report(outcome, __version__),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    terminal.add_backend(parser)
    forms = ("SCRIPT ARGS...", "-m MODULE ARGS...", "-c CODE ARGS...", "-- PROGRAM ARGS...")
    parser.usage = "\n       ".join(f"ascend-rt check [OPTIONS] {form}" for form in forms)
    for name, check in CHECKS.items():
        text_of_default = " (default)" if check.is_default else ""
        parser.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, help=check.help + text_of_default)
    parser.add_argument("--hints", action="store_true", help="show waits that could be left out or replaced, too")
    parser.add_argument("--format", choices=tuple(FORMATS), default="text", help="the form of the report: %(choices)s")
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="write the report to this file (default: text to standard error, others to output)",
    )


def main(arguments: argparse.Namespace) -> int:
    """Run the command."""
    command = command_of(arguments.program)
    shown = arguments.program[arguments.program[:1] == ["--"] :]  # as the user wrote it
    checks = [name for name in CHECKS if _is_on(arguments, name)]
    if set(checks) <= set(_OF_RACES):
        raise terminal.UsageError("has nothing to do: all checks are off")
    if arguments.format == "html" and find_spec("jinja2") is None:
        raise terminal.CommandError(f"--format html needs jinja2: {install_hint('check')}")
    if arguments.output is None and (sys.__stderr__ if arguments.format == "text" else sys.__stdout__) is None:
        raise terminal.CommandError("the report has nowhere to go: name a file with --output")
    if arguments.output is not None and not Path(arguments.output).is_fifo():  # its reader would see the end
        with terminal.explained(f"write {arguments.output}"), open(arguments.output, "a"):
            pass  # before the program starts, which may take hours
    environment, backend = run.environment_for("check")
    with tempfile.TemporaryDirectory(prefix="ascend_rt-check-", ignore_cleanup_errors=True) as directory:
        environment |= variables(checks, directory) if backend == "sim" else variables_of_vendor(checks, directory)
        sys.stdout.flush()
        with terminal.explained(f"start {command[0]}"):
            returncode = child.run(command, environment)
        found = reading.read(Path(directory))
    ignores.apply(found, {*found.files, *_script(command)}, checks)
    outcome = Outcome(Program(shown, returncode), found, arguments.hints)
    _write(outcome, arguments.format, arguments.output)
    return outcome.status


def _is_on(arguments: argparse.Namespace, name: str) -> bool:
    asked: bool | None = getattr(arguments, name.replace("-", "_"))
    return CHECKS[name].is_default if asked is None else asked


def command_of(program: list[str]) -> list[str]:
    """Return the command line of the program that the arguments name: Python's, or another program's behind ``--``."""
    is_other = program[:1] == ["--"]
    command = program[is_other:]
    if not command:
        raise terminal.UsageError("expects a script, -m and a module, or -- and a program")
    first = command[0]
    if is_other and not first.startswith("-") and not first.endswith(".py"):
        if shutil.which(first) is None:
            raise terminal.UsageError(f"cannot run {first}: no such program; check the path and its permissions")
        return command
    return [python_program(), *run.python_arguments(command)]


def variables(checks: list[str], directory: str) -> dict[str, str]:
    """Return the environment variables that turn checks on, and let them write into a directory."""
    found = {
        "ASCEND_RT_SIM_CHECK": ",".join(name for name in checks if name in _OF_SIMULATOR),
        "ASCEND_RT_SIM_CHECK_DIRECTORY": directory,
        "ASCEND_RT_CHECK_AT_EXIT": "files,leaks" if "leaks" in checks else "files",
        "ASCEND_RT_CHECK_HOST_THREADS": "1" if "host-threads" in checks else "",
        "ASCEND_RT_CHECK_EVERY_USE": "1" if "every-use" in checks else "",
    }
    system_calls = library_directory() / "libascend_rt_system_calls.so"
    if "races" in checks and system_calls.exists():  # for pinned memory that a program gives to read() and the like
        found["LD_PRELOAD"] = os.pathsep.join(filter(None, (str(system_calls), os.environ.get("LD_PRELOAD"))))
    return found


def variables_of_vendor(checks: list[str], directory: str) -> dict[str, str]:
    """Return the same for the vendor's library, where a library before it looks for races.

    Raises
    ------
    CommandError
        None of the checks is possible there, or the library is not installed.
    """
    for name in ("memory", "every-use"):
        if name in checks:
            raise terminal.CommandError(f"--{name} needs the simulator: --backend sim")
    if "races" not in checks:
        raise terminal.CommandError("--no-races leaves nothing that can be seen on the vendor's library")
    wrappers = check_library.library_path()
    if not os.path.exists(wrappers):
        raise terminal.CommandError(f"the check of the vendor's library is not installed: {wrappers}")
    watchdog = os.environ.get("ASCEND_RT_CHECK_WATCHDOG") or _SUSPICIOUS_WAIT
    return variables(checks, directory) | {
        "ASCEND_RT_SIM_CHECK": "",
        "ASCEND_RT_CHECK_WATCHDOG": watchdog if "deadlocks" in checks else "",
        "ASCEND_RT_CHECK_WRAPS": os.pathsep.join(driver.choice().paths),
        driver.WRAPPERS: wrappers,
        "LD_PRELOAD": os.pathsep.join(filter(None, (wrappers, os.environ.get("LD_PRELOAD")))),
    }


def _script(command: list[str]) -> list[str]:
    return [os.path.abspath(each) for each in command[:2] if each.endswith(".py")]


def _write(outcome: Outcome, form: str, output: str | None) -> None:
    report = FORMATS[form](outcome)
    errors = "surrogateescape" if form == "text" else "backslashreplace"  # programs read UTF-8
    if output is not None:
        with (
            terminal.explained(f"write {output}"),
            open(output, "w", encoding="utf-8", errors=errors) as file,
        ):
            file.write(report)
    elif form == "text":
        text.write(report, sys.stderr)
    else:
        sys.stdout.write(report)
    if output is not None or form != "text":
        terminal.say(f"ascend-rt check: {words.summary(outcome.found, shows_hints=False)}")
