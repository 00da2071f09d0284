# SPDX-License-Identifier: Apache-2.0
"""The command line: ``ascend-rt`` and ``python -m ascend_rt``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import NoReturn

from ascend_rt import __version__
from ascend_rt._acl_finder import CHOICES
from ascend_rt._driver import use
from ascend_rt.backends import BACKENDS
from ascend_rt.errors import AclError, LibraryError

# What a user can cause and correct; anything else is a bug and keeps its traceback.
_USER_ERRORS = (AclError, LibraryError, OSError, ValueError)


def _demo(arguments: argparse.Namespace) -> int:
    from ascend_rt import demo

    chunk_bytes = arguments.chunk_mib << 20
    return demo.run(arguments.file, as_json=arguments.json, chunk_bytes=chunk_bytes, trace=arguments.trace)


def _info(arguments: argparse.Namespace) -> int:
    from ascend_rt import info

    collected = info.collect()
    print(json.dumps(collected, indent=2) if arguments.json else info.as_text(collected))
    return 1 if "error" in collected else 0


def _coverage(arguments: argparse.Namespace) -> int:
    from ascend_rt import coverage

    text = coverage.FORMATS[arguments.format](coverage.rows())
    print(text.rstrip("\n"))
    return 0


def _run(arguments: argparse.Namespace) -> NoReturn:
    from ascend_rt import launch

    launch.run(arguments.program, arguments.pyacl)


def _sim_path(arguments: argparse.Namespace) -> int:
    from ascend_rt.backends import sim

    print(sim.library_directory())
    return 0


def _chunk(text: str) -> int:
    size = int(text)
    if not 1 <= size <= 1024:
        raise argparse.ArgumentTypeError("a chunk is 1 to 1024 MiB")
    return size


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ascend-rt", description="Python on the CANN runtime, or on its simulator.")
    parser.add_argument("--version", action="version", version=f"ascend_rt {__version__}")
    backend = argparse.ArgumentParser(add_help=False)
    backend.add_argument(
        "--backend", choices=BACKENDS, help="which library to use (default: ASCEND_RT_BACKEND, or auto)"
    )
    as_json = argparse.ArgumentParser(add_help=False)
    as_json.add_argument("--json", action="store_true", help="print JSON")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", parents=[backend, as_json], help="stream a file through a device and back")
    demo.add_argument("file", nargs="?", help="any file (default: 256 MiB of random bytes)")
    demo.add_argument("--chunk-mib", type=_chunk, default=4, metavar="N", help="bytes per copy, in MiB (default: 4)")
    demo.add_argument("--trace", metavar="OUT.json", help="write the times of all copies for Perfetto")
    demo.set_defaults(run=_demo)

    info = commands.add_parser("info", parents=[backend, as_json], help="tell what a bug report needs to tell")
    info.set_defaults(run=_info)

    coverage = commands.add_parser("coverage", parents=[backend], help="count who has which functions")
    coverage.add_argument("--format", choices=("text", "json", "markdown"), default="text", help="(default: text)")
    coverage.set_defaults(run=_coverage)

    run = commands.add_parser(
        "run",
        parents=[backend],
        usage="ascend-rt run [-h] [--backend {auto,cann,sim}] [--pyacl {auto,ours,vendor}] "
        "SCRIPT ARGS... | -m MODULE ARGS... | -c CODE ARGS... | -",
        help="run a Python script on the library that is chosen",
        description="Run a Python script as 'python SCRIPT ARGS...' does. ascend_rt in it, and programs that load the "
        "library by its name, take the library that is chosen here; 'import acl' works in it.",
    )
    run.add_argument(
        "--pyacl",
        choices=CHOICES,
        help="what 'import acl' gives: the vendor's module, ours, or the vendor's where it is installed and else ours "
        "(default: ASCEND_RT_PYACL, or auto)",
    )
    run.set_defaults(run=_run)

    sim_path = commands.add_parser("sim-path", help="print the simulator's directory, for LD_LIBRARY_PATH")
    sim_path.set_defaults(run=_sim_path, backend=None)
    return parser


def _split(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return our own arguments and, of the command ``run``, those of the program, which argparse must not touch."""
    if arguments[:1] != ["run"]:
        return arguments, ()
    end = 1
    while end < len(arguments) and arguments[end].startswith(("--", "-h")):
        end += 2 if arguments[end] in ("--backend", "--pyacl") else 1
    return arguments[:end], arguments[end:]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0 is success, 1 a failure, 2 a wrong command line."""
    own, program = _split(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    parsed = parser.parse_args(own, argparse.Namespace(program=program))
    if parsed.command == "run" and not program:
        parser.error("run: name a script, or -m and a module")
    # A path may have bytes that are no text in this locale; what is printed for people shows them escaped.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        if parsed.backend:
            use(parsed.backend)
        return int(parsed.run(parsed))
    except _USER_ERRORS as error:
        print(f"ascend-rt: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
