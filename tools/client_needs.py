# SPDX-License-Identifier: Apache-2.0
"""List what a client of CANN needs, and which of it ascend_rt lacks.

``client_needs.py CHECKOUT`` reads the sources and build files of a client's checkout: headers that it includes and does
not have itself, libraries that it links or loads, functions that it calls or looks up by name, functions of pyACL,
variables that name places, paths in a toolkit, and questions to ``npu-smi``. It prints those that are missing here.
``--json`` prints all needs with the number of places that have each, which ``client_table.py`` reads.

It searches texts and runs nothing of the client. Names that are put together at run time are not found, and code that
the client never compiles counts like the rest.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import io
import json
import platform
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

# Longest files of sources; generated ones and data are longer.
_MAX_BYTES = 1 << 20

_C = {".asc", ".c", ".cc", ".cce", ".cpp", ".cu", ".cxx", ".h", ".hh", ".hpp", ".inl", ".cuh"}
_BUILD = {".bazel", ".build", ".bzl", ".cfg", ".cmake", ".go", ".in", ".lua", ".mk", ".rs", ".sh", ".toml"}
_BUILD_NAMES = ("BUILD", "CMakeLists.txt", "Makefile", "Dockerfile")
_TEXTS = {".py", ".pyi", *_BUILD}

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)

# Directories of the toolkit's headers, and headers directly in it.
_HEADER = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*[<\"]((?:acl|aclnn|aclnnop|atb|base|dcmi|driver|exe_graph|experiment|external|ge|"
    r"graph|hccl|kernel_tiling|lib|metadef|mmpa|platform|profiling|register|runtime|tiling|toolchain|mstx|tikicpulib)/[\w./-]+|"
    r"(?:acl|acl_base|acl_rt|ascend_hal|dcmi_interface_api|kernel_operator|securec|hccl|runtime)\.h)[>\"]",
    re.MULTILINE,
)
# Directories that other projects have, too.
_HEADER_OF_ANOTHER = re.compile(r"^(?:lib|base|driver|graph|platform|profiling|register|runtime|tiling|external)/")
_HEADER_OF_CANN = re.compile(
    r"^(?:base/(?:err_mgr|err_msg|registry)|external/(?:acl|ge|graph|hccl|register|runtime)/|graph/(?:types|tensor|graph|"
    r"operator|ascend_string|utils|ge_error_codes|attr_value|gnode|inference_context|compute_graph)|platform/platform_inf|"
    r"profiling/prof|register/(?:op_def|op_impl|register|tilingdata|graph_opt|scope)|runtime/(?:rt|base|mem|event|stream|"
    r"dev|kernel|context|config)|tiling/(?:tiling_api|platform)|driver/(?:ascend|dcmi|dsmi)|lib/(?:matmul|activation|"
    r"normalization|matrix|math|tiling)|lib/hccl)"
)

_PREFIXES = (
    r"(?:acl(?:rt|mdl|op|prof|dump|sys|tdt|nn|blas|dvpp|mdlRI)?[A-Z]|acldvpp|rt[A-Z]|hal[A-Z]|Hccl[A-Z]|dcmi_|drv[A-Z])"
)
_FUNCTION = rf"(?:{_PREFIXES}\w+)"
_CALL = re.compile(rf"(?<![\w.>:]){_FUNCTION}(?=\s*\()|(?<=[^:]::){_FUNCTION}(?=\s*\()")
_SECURE = re.compile(
    r"(?<![\w.>:])(?:(?:mem(?:cpy|move|set)|str(?:cpy|ncpy|cat|ncat|tok)|v?s(?:n|w)?printf|v?f?scanf|v?sscanf|gets)_s)"
    r"(?=\s*\()"
)
_BY_NAME = re.compile(rf"[\"']({_FUNCTION})[\"']")
_OF_OBJECT = re.compile(rf"\.({_FUNCTION})\b")
_LOOKS_UP = re.compile(r"\bdlsym\b|\bctypes\b|GetProcAddress|DynamicLibrary|cffi")
_DEFINED = re.compile(
    rf"^(?:[A-Za-z_][\w:<>*&, \t]*[\s*&])({_FUNCTION})\s*\([^;{{}}]*\)\s*(?:noexcept\s*)?\{{|"
    rf"#[ \t]*define[ \t]+({_FUNCTION})",
    re.MULTILINE,
)

_KNOWN = json.loads(Path(__file__).with_name("client_names.json").read_text(encoding="utf-8"))
# Libraries of the toolkit and the driver, and of packages that are installed with them.
LIBRARIES = frozenset(" ".join(_KNOWN["libraries"]).split())
# Names that mean CANN's library only where the build says that it is one.
_LINKED = re.compile(
    r"(?:target_link_libraries|link_libraries|find_library|add_links|add_syslinks|find_package_handle_standard_args)\s*\("
    r"([^()]*(?:\([^()]*\)[^()]*)*)\)|\blibraries\s*=?\s*[\[(]([^\])]*)[\])]|find_library\(([^)]*)\)|"
    r"rustc-link-lib=(?:dylib=|static=)?(\w+)",
    re.IGNORECASE,
)
_LIBRARY = re.compile(r"(?:-l|\blib)(\w+?)(?:\.so\b|(?=[\s\"',;)\]]|$))", re.MULTILINE)

# Variables that name an installation: those that the vendor's set_env.sh sets, and those that builds ask users for.
_VARIABLE = "|".join(" ".join(_KNOWN["variables"]).split())
_VARIABLES = re.compile(
    rf"(?:getenv|GetEnv|Getenv|environ(?:\.get)?|env::var|env)\s*[(\[{{]\s*[\"']?({_VARIABLE})\b|\$(?:ENV)?[{{(]?({_VARIABLE})\b"
)

_PLACE = (
    rf"(?:\$(?:ENV)?[{{(]?(?:{_VARIABLE})(?::-[^}}]*)?[}})]?|/usr/local/Ascend/(?:ascend-toolkit/latest|cann|latest))"
)
_PATH = re.compile(rf"{_PLACE}[\"']?((?:/(?:[\w.+-]|\$[{{(][\w -]+[}})])+)+)")
_ARCH = re.compile(r"(?:\$[{(][^})]*[})]|\$\w+|aarch64|x86_64|arm64)-linux")

_PYACL_IMPORTED = re.compile(r"^[ \t]*(?:import acl\b|from acl\b)", re.MULTILINE)
_PYACL = re.compile(r"(?<![\w.])acl((?:\.[a-z_]\w*){1,2})(?=\s*\()")

_BETWEEN = r"[\"',\s]+"
_NPU_SMI = re.compile(
    rf"npu-smi{_BETWEEN}(-v\b|info(?:{_BETWEEN}(?:-t{_BETWEEN}[a-z][\w-]*|-[ic]{_BETWEEN}[^\s\"',|)]+|-[lm]\b))*)"
)

# A file without any of these needs nothing.
_MENTIONED = re.compile(r"acl|ascend|cann|ddk|hccl|dcmi|npu|securec|runtime/|\bdrv", re.IGNORECASE)

# Names of types, which look like calls in casts.
_TYPES = frozenset(" ".join(_KNOWN["types"]).split())


@dataclass
class Needs:
    """Needs of a client: of each kind, names with the number of places that have them.

    Attributes
    ----------
    headers, libraries, functions, pyacl, variables, paths, questions : Counter
        Names. Functions of single operators (``aclnn…``) are not among them.
    operators : Counter
        Single operators, by their names.
    """

    headers: Counter[str] = field(default_factory=Counter)
    libraries: Counter[str] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)
    operators: Counter[str] = field(default_factory=Counter)
    pyacl: Counter[str] = field(default_factory=Counter)
    variables: Counter[str] = field(default_factory=Counter)
    paths: Counter[str] = field(default_factory=Counter)
    questions: Counter[str] = field(default_factory=Counter)


KINDS = tuple(each.name for each in fields(Needs))


def needs_of(checkout: Path) -> Needs:
    """Return what the files of a checkout need.

    Raises
    ------
    NotADirectoryError
        There is no such directory.
    """
    if not checkout.is_dir():
        raise NotADirectoryError(f"{checkout} is not a directory with a client's checkout")
    needs = Needs()
    defined: set[str] = set()
    own: set[str] = set()
    for path in sorted(checkout.rglob("*")):
        if path.suffix in _C:
            own.update(_endings(path.relative_to(checkout)))
    for path, text in _texts(checkout):
        if path.suffix in _C:
            defined.update(name for match in _DEFINED.findall(text) for name in match if name)
            _read_source(_COMMENT.sub(" ", text), needs)
        else:
            _read_script(path, text, needs)
        _read_any(text, needs)
    for name in own & needs.headers.keys():
        del needs.headers[name]
    for name in defined & needs.functions.keys():
        del needs.functions[name]
    return needs


def _texts(checkout: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(checkout.rglob("*")):
        wanted = path.suffix in _C | _TEXTS or path.name.startswith(_BUILD_NAMES)
        if not wanted or ".git" in path.parts or not path.is_file() or path.stat().st_size > _MAX_BYTES:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if _MENTIONED.search(text):
            yield path, text


def _endings(path: Path) -> Iterator[str]:
    """Yield each name by which an include directory of the checkout may make a header known."""
    for start in range(len(path.parts)):
        yield "/".join(path.parts[start:])


def _read_source(text: str, needs: Needs) -> None:
    headers = [name for name in _HEADER.findall(text) if _is_of_cann(name)]
    needs.headers.update(headers)
    calls = _CALL.findall(text)
    if headers:
        needs.functions.update(_SECURE.findall(text))
    else:
        # Others have functions with these prefixes.
        calls = [name for name in calls if not name.startswith(("rt", "hal", "drv"))]
    _count_functions(calls + (_BY_NAME.findall(text) if _LOOKS_UP.search(text) else []), needs)


def _is_of_cann(header: str) -> bool:
    return not _HEADER_OF_ANOTHER.match(header) or bool(_HEADER_OF_CANN.match(header))


def _count_functions(names: Iterable[str], needs: Needs) -> None:
    for name in names:
        if re.match("aclnn[A-Z]", name):
            needs.operators[name.removesuffix("GetWorkspaceSize")] += 1
        elif name not in _TYPES:
            needs.functions[name] += 1


def _read_script(path: Path, text: str, needs: Needs) -> None:
    if path.suffix == ".py":
        if _LOOKS_UP.search(text):
            _count_functions(_BY_NAME.findall(text) + _OF_OBJECT.findall(text), needs)
        if _PYACL_IMPORTED.search(text):
            needs.pyacl.update(name[1:] for name in _PYACL.findall(text))
    if path.suffix != ".py" or path.name == "setup.py":
        words = re.findall(r"\w+", " ".join(part for match in _LINKED.findall(text) for part in match))
        names = [word.removeprefix("lib") if word.removeprefix("lib") in LIBRARIES else word for word in words]
        needs.libraries.update(name for name in names if name in LIBRARIES)


def _read_any(text: str, needs: Needs) -> None:
    needs.libraries.update(name for name in _LIBRARY.findall(text) if name in LIBRARIES)
    needs.variables.update(name for match in _VARIABLES.findall(text) for name in match if name)
    needs.paths.update(filter(None, map(_path, _PATH.findall(text))))
    needs.questions.update(map(_question, _NPU_SMI.findall(text)))


def _path(found: str) -> str:
    """Return a path in a toolkit up to its first part that is not known, with one name for all architectures."""
    parts = _ARCH.sub("<arch>-linux", found.strip("/")).split("/")
    known = [index for index, part in enumerate(parts) if "$" in part]
    return "/".join(parts[: known[0]] if known else parts).rstrip(".")


def _question(found: str) -> str:
    """Return the options of a call of npu-smi in one form, with N for the numbers of devices."""
    words = re.split(_BETWEEN, found)
    return " ".join(
        "N" if previous in ("-i", "-c") else word for previous, word in zip(["", *words[:-1]], words, strict=True)
    )


# --- what is here ----------------------------------------------------------------------------------------------------


class Here:
    """Headers, libraries, functions and the rest that ascend_rt has."""

    def __init__(self) -> None:
        from ascend_rt.backends import include_directory
        from ascend_rt.backends.toolkit import layout
        from ascend_rt.backends.toolkit.directory import home
        from ascend_rt.backends.toolkit.environment import with_simulator
        from ascend_rt.cli import npu_smi

        self._include = Path(include_directory())
        self._home = Path(home())
        self._variables = with_simulator({}).keys()
        self._parser = npu_smi.parser()
        self._names = {Path(path).name.removeprefix("lib").removesuffix(".so") for path in layout.libraries()}
        self._loaded = [ctypes.CDLL(path) for path in layout.libraries()]
        self._tests: dict[str, Callable[[str], bool]] = {
            "headers": self._has_header,
            "libraries": self._names.__contains__,
            "functions": self._has_function,
            "operators": lambda name: False,
            "pyacl": self._has_pyacl,
            "variables": self._variables.__contains__,
            "paths": self._has_path,
            "questions": self._answers,
        }

    def missing(self, needs: Mapping[str, Mapping[str, int]]) -> dict[str, list[str]]:
        """Return the missing names of each kind, most frequent first."""
        return {
            kind: sorted((name for name in names if not self._tests[kind](name)), key=lambda name: (-names[name], name))
            for kind, names in needs.items()
        }

    def _has_header(self, name: str) -> bool:
        return (self._include / name).is_file()

    def _has_function(self, name: str) -> bool:
        return any(hasattr(library, name) for library in self._loaded)

    def _has_pyacl(self, name: str) -> bool:
        from ascend_rt import pyacl

        found: object = pyacl
        for part in name.split("."):
            found = getattr(found, part, None)
        return found is not None

    def _has_path(self, name: str) -> bool:
        return (self._home / name.replace("<arch>", platform.machine())).exists()

    def _answers(self, question: str) -> bool:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            try:
                self._parser.parse_args(question.replace("N", "0").split())
            except SystemExit as ended:
                return ended.code == 0
        return True


def main() -> int:
    """Run the program; return 1 if something is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path, metavar="CHECKOUT", help="directory with the client's sources")
    parser.add_argument("--json", action="store_true", help="print all needs, and the number of places of each")
    arguments = parser.parse_args()
    try:
        needs = vars(needs_of(arguments.checkout))
    except NotADirectoryError as error:
        parser.error(str(error))
    if arguments.json:
        json.dump({kind: dict(sorted(needs[kind].items())) for kind in KINDS}, sys.stdout, indent=1)
        print()
        return 0
    missing = Here().missing(needs)
    for kind in KINDS:
        print(f"{kind}: {len(needs[kind]) - len(missing[kind])} of {len(needs[kind])} are here")
        for name in missing[kind]:
            print(f"    {name} (in {needs[kind][name]} places)")
    return int(any(missing.values()))


if __name__ == "__main__":
    sys.exit(main())
