# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt run``: start Python with the chosen library, also for other code that it loads and starts."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from typing import NoReturn

from ascend_rt._runtime import driver
from ascend_rt._startup import acl_finder, torch_environment
from ascend_rt.backends import python_program
from ascend_rt.backends.toolkit.environment import LOADER_PATH, installation, prepended, without_simulator
from ascend_rt.cli import terminal

DESCRIPTION = (
    "Run a Python script as 'python SCRIPT ARGS...' does. ascend_rt, and code that loads the library by its name, use "
    "the library chosen here, and 'import acl' works."
)
EXAMPLES = ("ascend-rt run --backend sim train.py --epochs 3", "ascend-rt run torchrun --nproc-per-node 4 train.py")

_STARTUP = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_startup", "site")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    terminal.add_backend(parser)
    forms = ("SCRIPT ARGS...", "-m MODULE ARGS...", "-c CODE ARGS...", "-")
    parser.usage = "\n       ".join(f"ascend-rt run [OPTIONS] {form}" for form in forms)
    parser.add_argument(
        "--pyacl",
        choices=acl_finder.CHOICES,
        help="the module that 'import acl' loads: the vendor's, ascend_rt.pyacl (ours), or ours where the vendor's is "
        "not installed (auto); default: ASCEND_RT_PYACL, or auto",
    )


def main(arguments: argparse.Namespace) -> NoReturn:
    """Run the command; does not return."""
    if not arguments.program:
        raise terminal.UsageError("expects a script, or -m and a module")
    run(python_arguments(arguments.program), arguments.pyacl)


def python_arguments(program: Sequence[str]) -> list[str]:
    """Return the arguments of Python for a program, which is named as on its command line.

    Raises
    ------
    UsageError
        There is no such script, or ``-m`` or ``-c`` has no value.
    """
    first, *others = program
    if first in ("-m", "-c") and not others:
        raise terminal.UsageError(f"{first} expects {'a module' if first == '-m' else 'code'} after it")
    return [_script(first), *others]


def _script(name: str) -> str:
    """Return the script that the first argument names: a file, or a command in Python such as ``torchrun``."""
    if name.startswith("-"):
        return name
    if os.path.exists(name):
        if _first_bytes(name) == b"\x7fELF":
            raise terminal.UsageError(
                f"cannot run {name}: it is not a Python script; start it with LD_LIBRARY_PATH=$(ascend-rt sim-path)"
            )
        return name
    path = os.pathsep.join((os.path.dirname(python_program()), os.environ.get("PATH", os.defpath)))
    found = shutil.which(name, path=path) if os.path.basename(name) == name else None
    if found is not None and _is_python(found):
        return found
    raise terminal.UsageError(f"cannot run {name}: no such file; check the path, or name a module with -m")


def _first_bytes(path: str) -> bytes:
    if not os.path.isfile(path):  # a directory with __main__.py, or a pipe
        return b""
    with open(path, "rb") as file:
        return file.read(4)


def _is_python(path: str) -> bool:
    with open(path, "rb") as file:
        first = file.readline(256)
    return first.startswith(b"#!") and b"python" in first


def run(arguments: Sequence[str], pyacl: str | None = None) -> NoReturn:
    """Become the Python program that the arguments name, as after ``python``; does not return.

    Parameters
    ----------
    arguments : sequence of str
        The arguments after ``python`` on a command line.
    pyacl : {"auto", "ours", "vendor"}, optional
        The module that ``import acl`` loads; by default the value of ``ASCEND_RT_PYACL``, or ``"auto"``.
    """
    environment, _ = environment_for("run", pyacl)
    sys.stdout.flush()
    python = python_program()
    os.execve(python, [python, *arguments], environment)


def environment_for(command: str, pyacl: str | None = None) -> tuple[dict[str, str], str]:
    """Choose the library; return the environment of a program that is to use it, and ``"sim"`` or ``"cann"``.

    Parameters
    ----------
    command : str
        Our command, for messages.
    pyacl : {"auto", "ours", "vendor"}, optional
        As for :func:`run`.

    Notes
    -----
    The library is chosen once. The choice reaches ascend_rt in the program by ``ASCEND_RT_BACKEND`` and
    ``ASCEND_RT_LIBRARY``, and C code and other packages, which load the library by its name, by the search path of the
    dynamic loader; on the simulator, compilers and build files find the simulated toolkit. ``import acl`` is decided
    when the program does it, by a finder that Python's ``site`` module installs when it starts, there and in the
    processes that the program starts. On the simulator another such finder lets :mod:`ascend_rt.torch` follow
    torch_npu.
    """
    chosen = driver.choice()
    path, backend = chosen.paths[0], chosen.backend
    if chosen.warning:
        terminal.say(f"ascend-rt {command}: {chosen.reason}, so the program runs on the simulator")
    environment = {**os.environ, "ASCEND_RT_BACKEND": backend, "ASCEND_RT_PYACL": pyacl or acl_finder.asked()}
    # An empty entry, which Python reads as the current directory, stays, unlike in a loader's path.
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (_STARTUP, os.environ.get("PYTHONPATH"))))
    if backend == "sim":
        if other := installation(environment):
            said = f"builds use {other}, which the environment names; programs run on the simulator"
            terminal.say(f"ascend-rt {command}: {said}")
        environment = torch_environment.added_to(environment)
    elif directory := os.path.dirname(path):
        environment = without_simulator(environment)
        environment["ASCEND_RT_LIBRARY"] = path
        environment[LOADER_PATH] = prepended(directory, environment.get(LOADER_PATH, ""))
    return environment, backend
