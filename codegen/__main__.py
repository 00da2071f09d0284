# SPDX-License-Identifier: Apache-2.0
"""Write what follows from the ABI headers.

``python -m codegen`` writes the Python files that are committed; ``--check`` only says which of them are stale. The
build calls the other generators: ``python codegen pyacl OUTPUT``, for instance. The module ``ascend_rt._aclrt`` is
cffi's to write (``build_ffi.py``).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # the directory itself, when the build starts it by its path

from codegen import companions, declarations, pyacl, python_files, simulator  # noqa: E402  (found through that)


def check() -> int:
    """Name the committed files that are stale; the exit status is 1 if there are any."""
    stale = [path for path, text in python_files.generated().items() if not _has(path, text)]
    for path in stale:
        print(f"{path.relative_to(ROOT)} is stale; run python -m codegen")
    return 1 if stale else 0


def write() -> int:
    """Write the committed files that are stale."""
    for path, text in python_files.generated().items():
        if not _has(path, text):
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return 0


def _has(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


# Generators that the build calls -> the text of their file, from the headers that it is given.
GENERATORS = {
    "pyacl": lambda _: pyacl.source(pyacl.entries()),
    "function-ids": lambda _: simulator.ids(declarations.load().functions),
    "unsupported": lambda _: simulator.unsupported(declarations.load().functions),
    "forwarders": lambda _: simulator.forward(declarations.load().functions),
    "companion": companions.definitions,
}


def main() -> int:
    """Do what the command line asks for and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m codegen", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only name the committed files that are stale")
    parser.add_argument("generator", nargs="?", choices=GENERATORS, help="write this one's file alone, for the build")
    parser.add_argument("output", nargs="?", type=Path)
    parser.add_argument("headers", nargs="*", type=Path, help="of a companion library, or lists of names")
    asked = parser.parse_args()
    if asked.generator is None:
        return check() if asked.check else write()
    if asked.output is None:
        parser.error(f"{asked.generator}: name the file to write")
    asked.output.write_text(GENERATORS[asked.generator](asked.headers), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
