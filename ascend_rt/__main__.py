# SPDX-License-Identifier: Apache-2.0
"""The command line: ``ascend-rt`` and ``python -m ascend_rt``."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from ascend_rt import __version__, _driver, _terminal
from ascend_rt._acl_finder import CHOICES
from ascend_rt.backends import BACKENDS
from ascend_rt.bench import command as bench_command
from ascend_rt.bench.building import BenchmarkError
from ascend_rt.errors import AclError, LibraryError
from ascend_rt.verify import command as verify_command

# What a user can cause and correct; anything else is a bug and keeps its traceback.
_USER_ERRORS = (AclError, BenchmarkError, LibraryError, OSError, ValueError)


def _demo(arguments: argparse.Namespace) -> int:
    from ascend_rt import demo

    chunk_bytes = arguments.chunk_mib << 20
    return demo.run(arguments.file, as_json=arguments.json, chunk_bytes=chunk_bytes, trace=arguments.trace)


def _info(arguments: argparse.Namespace) -> int:
    from ascend_rt import info

    collected = info.collect()
    if arguments.json:
        print(json.dumps(collected, indent=2))
    else:
        _terminal.print_facts(info.facts(collected, verbose=arguments.verbose))
    return 1 if "error" in collected else 0


def _coverage(arguments: argparse.Namespace) -> int:
    from ascend_rt import coverage

    coverage.FORMATS[arguments.format](coverage.rows())
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    return verify_command.run(arguments)


def _bench(arguments: argparse.Namespace) -> int:
    return bench_command.run(arguments)


def _run(arguments: argparse.Namespace) -> NoReturn:
    from ascend_rt import launch

    launch.run(arguments.program, arguments.pyacl)


def _sim_path(arguments: argparse.Namespace) -> int:
    from ascend_rt.backends import sim

    print(sim.library_directory())
    return 0


def _include_path(arguments: argparse.Namespace) -> int:
    from ascend_rt import backends

    print(backends.pkg_config_directory() if arguments.pkg_config else backends.include_directory())
    return 0


@_terminal.argument("a chunk is 1 to 1024 MiB")
def _chunk(text: str) -> int:
    size = int(text)
    if not 1 <= size <= 1024:
        raise ValueError
    return size


# What each command's help ends with.
_EXAMPLES = {
    "demo": ("ascend-rt demo", "ascend-rt demo --backend sim --chunk-mib 16 weights.bin"),
    "info": ("ascend-rt info", "ascend-rt info --backend cann --verbose", "ascend-rt info --json"),
    "coverage": ("ascend-rt coverage --backend sim", "ascend-rt coverage --format json"),
    "verify": (
        "ascend-rt verify --device 0,1",
        "ascend-rt verify --compare ascend_rt-report.json --profile card.json",
        "ASCEND_RT_SIM_PROFILE=card.json ascend-rt run --backend sim train.py",
    ),
    "bench": (
        "ascend-rt bench --backend sim --output results.json --output results.html",
        "ascend-rt bench --backend cann --output card.json",
        "ascend-rt bench --compare before.json after.json",
        "ascend-rt bench --ids event_record call_table call_floor",
    ),
    "run": ("ascend-rt run --backend sim train.py --epochs 3", "ascend-rt run -m pytest"),
    "sim-path": ("LD_LIBRARY_PATH=$(ascend-rt sim-path) ./program",),
    "include-path": (
        "cc -I$(ascend-rt include-path) program.c -L$(ascend-rt sim-path) -lascendcl",
        "PKG_CONFIG_PATH=$(ascend-rt include-path --pkg-config) pkg-config --cflags --libs ascend_rt",
    ),
}


class _Help(argparse.HelpFormatter):
    """Keeps the lines of examples apart; other texts are wrapped."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ascend-rt",
        description="Python on the CANN runtime, or on its simulator.",
        epilog="'ascend-rt COMMAND --help' has details and examples.",
    )
    parser.add_argument("--version", action="version", version=f"ascend_rt {__version__}")
    backend = argparse.ArgumentParser(add_help=False)
    backend.add_argument(
        "--backend", choices=BACKENDS, help="which library to use (default: ASCEND_RT_BACKEND, or auto)"
    )
    as_json = argparse.ArgumentParser(add_help=False)
    as_json.add_argument("--json", action="store_true", help="print JSON")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    demo = commands.add_parser(
        "demo",
        parents=[backend, as_json],
        help="stream bytes through a device and back",
        description="Stream bytes through a device and back on two streams, compare all of them, and measure.",
    )
    demo.add_argument("file", nargs="?", help="any file (default: 256 MiB of random bytes)")
    demo.add_argument("--chunk-mib", type=_chunk, default=4, metavar="N", help="bytes per copy, in MiB (default: 4)")
    demo.add_argument("--trace", metavar="OUT.json", help="write the times of all copies for Perfetto")
    demo.set_defaults(run=_demo)

    info = commands.add_parser(
        "info",
        parents=[backend, as_json],
        help="show which library is used, and why",
        description="Show which library is used, why, and which devices it has. A bug report needs --verbose or "
        "--json: files, places that were tried, functions by family, environment.",
    )
    info.add_argument("--verbose", action="store_true", help="show everything")
    info.set_defaults(run=_info)

    coverage = commands.add_parser(
        "coverage",
        parents=[backend],
        help="count the functions of library, simulator and products",
        description="Count, by family, the documented functions that the library, the simulator, the Python classes "
        "and each product have. JSON and Markdown list every function.",
    )
    coverage.add_argument("--format", choices=("text", "json", "markdown"), default="text", help="(default: text)")
    coverage.set_defaults(run=_coverage)

    verify = commands.add_parser(
        "verify",
        parents=[backend],
        help="play known calls on a card, measure it, and write a report",
        description="Play known calls on a device, each group in a process of its own, measure latencies and limits, "
        "and write a report, which can be compared with the simulator. The guide's page 'Verify your card' says what "
        "is run and what it may disturb.",
    )
    verify_command.add_arguments(verify)
    verify.set_defaults(run=_verify)

    bench = commands.add_parser(
        "bench",
        parents=[backend],
        help="measure what calls cost in C, through cffi, the facade and pyACL",
        description="Measure what the same calls cost in C, through cffi, the facade and pyACL, on device 0 of the "
        "library, what PoCL and threads take for the same, and the latencies of single calls on host and device. "
        "The layer of C needs a compiler. It takes a quarter of an hour, twice that on a busy machine.",
    )
    bench_command.add_arguments(bench)
    bench.set_defaults(run=_bench)

    run = commands.add_parser(
        "run",
        parents=[backend],
        usage="ascend-rt run [-h] [--backend {auto,cann,sim}] [--pyacl {auto,ours,vendor}] "
        "SCRIPT ARGS... | -m MODULE ARGS... | -c CODE ARGS... | -",
        help="run a Python script with the chosen library",
        description="Run a Python script like 'python SCRIPT ARGS...'. ascend_rt, and programs that load the library "
        "by its name, use the library that is chosen here; 'import acl' works.",
    )
    run.add_argument(
        "--pyacl",
        choices=CHOICES,
        help="what 'import acl' gives: the vendor's module, ascend_rt.pyacl (ours), or ours where the vendor's is not "
        "installed (default: ASCEND_RT_PYACL, or auto)",
    )
    run.set_defaults(run=_run)

    sim_path = commands.add_parser(
        "sim-path",
        help="print the simulator's directory, for LD_LIBRARY_PATH",
        description="Print the directory of the simulator's libascendcl.so and libacl_rt.so. Programs that link either "
        "run on the simulator with this directory in LD_LIBRARY_PATH.",
    )
    sim_path.set_defaults(run=_sim_path, backend=None)

    include_path = commands.add_parser(
        "include-path",
        help="print the directory of the C headers",
        description="Print the directory for the compiler's -I, so that C programs find acl/acl.h.",
    )
    include_path.add_argument(
        "--pkg-config", action="store_true", help="print the directory of ascend_rt.pc, for PKG_CONFIG_PATH"
    )
    include_path.set_defaults(run=_include_path, backend=None)

    for name, command in commands.choices.items():
        command.formatter_class = _Help
        command.epilog = "\n".join(("examples:", *(f"  {example}" for example in _EXAMPLES[name])))
    return parser


def _split(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return our own arguments and, of the command ``run``, those of the program, which argparse must not touch."""
    if arguments[:1] != ["run"]:
        return arguments, ()
    end = 1
    while end < len(arguments) and arguments[end].startswith(("--", "-h")) and arguments[end] != "--":
        end += 2 if arguments[end] in ("--backend", "--pyacl") else 1
    return arguments[:end], arguments[end + (arguments[end : end + 1] == ["--"]) :]


def help_of(command: str) -> str:
    """Return the help of a command, for the reference."""
    commands = next(action.choices for action in _parser()._actions if isinstance(action.choices, dict))
    return str(commands[command].format_help())


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
        print(f"ascend-rt: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _main(arguments: Sequence[str]) -> int:
    own, program = _split(arguments)
    parser = _parser()
    parsed = parser.parse_args(own, argparse.Namespace(program=program))
    if parsed.command is None:
        print(parser.format_help(), end="")
        return 0
    if parsed.command == "run" and not program:
        parser.error("run: name a script, or -m and a module")
    # A path may have bytes that are no text in this locale; what is printed for people shows them escaped.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    _driver.warn_of_simulator = False  # each command tells which library it uses, and why
    if parsed.backend:
        _driver.use(parsed.backend)
    return int(parsed.run(parsed))


def _give_up_output() -> None:
    """Let what cannot be written go; the interpreter would try again at its end, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
