# SPDX-License-Identifier: Apache-2.0
"""Build the double, laid out as an installation of CANN: ``python tests/double/build.py DIRECTORY``.

``DIRECTORY/lib64`` has ``libacl_rt.so`` and the libraries beside it, as the vendor divides them. The double has what
the simulator simulates; options leave more functions out, as older releases do.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE.parent)]

from double import generate  # noqa: E402

from codegen import declarations  # noqa: E402  (of the checkout)
from codegen.declarations import Function  # noqa: E402

# The libraries of the runtime: since 8.5 there are two names for the same functions.
_RUNTIME = ("libacl_rt.so", "libascendcl.so")
_ONE_NAME_BEFORE = "8.5.0-beta.1"
_RULES = "libunforgiving.so"

# Functions of the simulator's control that cause failures and replace kernels, so that their tests run too. With
# aclsimHold the double would be taken for the simulator; the others are agreements of the simulator with the facade.
_CONTROL = re.compile(
    "aclsim(FailCall|FailTask|DelayTasks|LoseDevice|PoisonDevice|TakeDownDevice|LimitResource|ClearFaults|GetInfo|Sleep"
    "|RunOperator|IsLive|(Unr|R)egister(Kernel|Symbol))"
)

_FLAGS = ("-std=c++17", "-O1", "-g1", "-fPIC", "-pthread", "-Wall", "-Wextra", "-Werror")
# A thread may be inside the library when the last reference to it is closed.
_LINK = ("-shared", "-pthread", "-Wl,-z,nodelete", "-Wl,-z,defs")
_EXPORTS = "{\n    global: acl*;\n    local: *;\n};\n"


def release_key(release: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return a key that puts releases in their order: 8.1.RC1, 8.5.0-beta.1, 8.5.0, 9.1.0.pre, master-2026-08."""
    if release.startswith("master"):
        return (sys.maxsize,), ()
    number, _, stage = re.fullmatch(r"(\d+(?:\.\d+)*)([-.](.*))?", release).groups()  # type: ignore[union-attr]
    return tuple(map(int, number.split("."))), (1,) if stage is None else (0, *map(int, re.findall(r"\d+", stage)))


def _selected(
    functions: Collection[Function], simulator: Path, release: str | None, without: Collection[str]
) -> Iterator[Function]:
    is_simulated = ctypes.CDLL(str(simulator)).aclsimIsSimulated
    for function in functions:
        if function.family == "aclsim":
            is_there = _CONTROL.fullmatch(function.name) is not None
        else:
            is_new = (
                release is not None and function.since != declarations.OLDEST and not _is_in(function.since, release)
            )
            is_there = not is_new and is_simulated(function.name.encode())
        if is_there and function.name not in without:
            yield function


def _is_in(since: str, release: str) -> bool:
    return release_key(since) <= release_key(release)


def _write_sources(directory: Path, parts: dict[str, list[Function]]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "engine_table.h").write_text(generate.table(declarations.load().functions), encoding="utf-8")
    (directory / "exports.map").write_text(_EXPORTS, encoding="utf-8")
    for name, functions in parts.items():
        (directory / f"{name}.cpp").write_text(generate.forwarders(functions), encoding="utf-8")


def build(directory: Path, simulator: Path, release: str | None = None, without: Collection[str] = ()) -> Path:
    """Compile the double in front of a simulator; return the library of the runtime."""
    declared = declarations.load()
    parts: dict[str, list[Function]] = {name: [] for name in ("runtime", *declared.libraries.values())}
    for function in _selected(declared.functions, simulator, release, without):
        parts[declared.libraries.get(function.family, "runtime")].append(function)
    generated, libraries = directory / "generated", directory / "lib64"
    _write_sources(generated, parts)
    libraries.mkdir(exist_ok=True)
    defines = [f'-DSIMULATOR="{simulator}"', f'-DRELEASE="{release or ""}"']
    includes = [f"-I{path}" for path in (HERE / "src", generated, ROOT / "backends")]

    def compiled(source: Path) -> Path:
        target = generated / f"{source.name}.o"
        subprocess.run(["c++", *_FLAGS, *defines, *includes, "-c", str(source), "-o", str(target)], check=True)
        return target

    def linked(name: str, objects: list[Path], *flags: str) -> Path:
        # First beside, then in place: a process that has the old one open keeps it.
        target, new = libraries / name, generated / name
        subprocess.run(["c++", *_LINK, f"-Wl,-soname,{name}", *map(str, objects), *flags, "-o", str(new)], check=True)
        new.replace(target)
        return target

    rules = sorted((HERE / "src").glob("*.cpp"))
    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compiled, [*(generated / f"{name}.cpp" for name in parts), *rules]))
    core = linked(_RULES, objects[len(parts) :], "-ldl")
    common = [str(core), "-Wl,-rpath,$ORIGIN", f"-Wl,--version-script={generated / 'exports.map'}"]
    for name, part in zip(parts, objects, strict=False):
        if name != "runtime":
            linked(name, [part], *common)
    is_old = release is not None and not _is_in(_ONE_NAME_BEFORE, release)
    first, *others = _RUNTIME[1:] if is_old else _RUNTIME
    for name in others:
        linked(name, objects[:1], *common)
    return linked(first, objects[:1], *common)


def fingerprint(simulator: Path, *options: object) -> str:
    """Return what changes with everything that the double is made from."""
    trees = (HERE, HERE.parent / "data" / "double", ROOT / "backends" / "abi")
    files = [file for tree in trees for file in sorted(tree.rglob("*.*")) if file.suffix != ".pyc"]
    content = hashlib.sha256(json.dumps([str(simulator), simulator.stat().st_mtime_ns, *options]).encode())
    for file in files:
        content.update(file.read_bytes())
    return content.hexdigest()


def main() -> None:
    """Build what the arguments ask for, unless it is there, and print the path of the library."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--simulator", type=Path, required=True, help="libascendcl.so of ascend_rt")
    parser.add_argument("--release", help="leave out what is newer, for instance 8.5.0")
    parser.add_argument("--without", default="", help="functions to leave out, separated by commas")
    given = parser.parse_args()
    directory, simulator = given.directory.resolve(), given.simulator.resolve()
    stamp = directory / "stamp"
    made_from = fingerprint(simulator, given.release, given.without)
    known, _, library = stamp.read_text().partition(" ") if stamp.exists() else ("", "", "")
    if known != made_from:
        library = str(build(directory, simulator, given.release, given.without.split(",")))
        stamp.write_text(f"{made_from} {library}")
    print(library)


if __name__ == "__main__":
    main()
