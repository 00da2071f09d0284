# SPDX-License-Identifier: Apache-2.0
"""The command line: ``ascend-rt`` and ``python -m ascend_rt``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from ascend_rt import __version__
from ascend_rt._driver import BACKENDS, use
from ascend_rt.errors import AclError, LibraryError

# What a user can cause and mend; anything else is a bug and keeps its traceback.
_USER_ERRORS = (AclError, LibraryError, OSError, ValueError)


def _demo(arguments: argparse.Namespace) -> int:
    from ascend_rt import demo

    return demo.run(arguments.file, as_json=arguments.json, chunk_bytes=arguments.chunk_mib << 20)


def _info(arguments: argparse.Namespace) -> int:
    from ascend_rt import info

    collected = info.collect()
    print(json.dumps(collected, indent=2) if arguments.json else info.as_text(collected))
    return 0


def _chunk(text: str) -> int:
    size = int(text)
    if not 1 <= size <= 1024:
        raise argparse.ArgumentTypeError("a chunk is 1 to 1024 MiB")
    return size


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ascend-rt", description="Python on the CANN runtime, or on its simulator.")
    parser.add_argument("--version", action="version", version=f"ascend_rt {__version__}")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--backend", choices=BACKENDS, help="which library to use (default: ASCEND_RT_BACKEND, or auto)"
    )
    common.add_argument("--json", action="store_true", help="print JSON")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", parents=[common], help="stream a file through a device and back")
    demo.add_argument("file", nargs="?", default=sys.executable, help="any file (default: the Python interpreter)")
    demo.add_argument("--chunk-mib", type=_chunk, default=4, metavar="N", help="bytes per copy, in MiB (default: 4)")
    demo.set_defaults(run=_demo)

    info = commands.add_parser("info", parents=[common], help="tell which library is used, and why")
    info.set_defaults(run=_info)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0 is success, 1 a failure, 2 a wrong command line."""
    parsed = _parser().parse_args(arguments)
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
