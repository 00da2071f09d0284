# SPDX-License-Identifier: Apache-2.0
"""Places in a program: how findings write them, which of them are the user's, and how reports show them."""

from __future__ import annotations

import linecache
import os
import re
import sysconfig
from collections.abc import Sequence
from typing import NamedTuple

_PYTHON = re.compile(r"(?P<file>.+):(?P<line>\d+) in (?P<function>.+)", re.DOTALL)
_IN_TEXT = re.compile(r"\S+\+0x[0-9a-f]+(?: in [\w:~]+)?")
_NATIVE = re.compile(r"(?P<file>.+)\+0x(?P<offset>[0-9a-f]+)(?: in (?P<function>.+))?", re.DOTALL)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_STANDARD = tuple(
    os.path.realpath(path) + os.sep for path in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
)
_INSTALLED = re.compile(r"[/\\](site|dist)-packages[/\\]")
_OF_C = (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp")
# They start a process of Python by code on its command line, and then run the program: execnet for pytest-xdist.
_STARTERS = (os.path.join("multiprocessing", "spawn.py"), os.path.join("execnet", "gateway_base.py"))
_GENERATED = ("<frozen ", "<eval_with_key>", "<attrs generated ")  # by Python, torch.fx and attrs
_SYSTEM = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/include/")


class Frame(NamedTuple):
    """A place in a program: a line of a file or, where that is unknown, an offset in a binary."""

    file: str
    line: int = 0  # 0: unknown
    function: str = ""
    offset: int | None = None  # in a binary

    @property
    def path(self) -> str:
        """The file, relative to the working directory if it is below that."""
        relative = os.path.relpath(self.file) if os.path.isabs(self.file) else self.file
        return self.file if relative.startswith(os.pardir) else relative

    @property
    def place(self) -> str:
        """The place for people: ``train.py:41``, or ``program+0x1234``."""
        if self.offset is not None:
            return f"{self.path}+{self.offset:#x}"
        return f"{self.path}:{self.line}" if self.line else self.path

    @property
    def source(self) -> str:
        """The text of the line without its indentation, or ""."""
        return linecache.getline(self.file, self.line).strip() if self.line else ""


Frames = tuple[Frame, ...]


def parse(text: str) -> Frame:
    """Return the place that a finding has written; a text of another form becomes the name of a file."""
    if found := _PYTHON.fullmatch(text):
        return Frame(found["file"], int(found["line"]), found["function"])
    if found := _NATIVE.fullmatch(text):
        return Frame(found["file"], 0, found["function"] or "", int(found["offset"], 16))
    return Frame(text)


def of_user(frames: Sequence[Frame]) -> Frames:
    """Return the places in the user's program; all if there are none.

    Those that call ``main`` in C, and the code by which :mod:`multiprocessing` or execnet starts a process, are left
    out.
    """
    main = next(
        (number for number, frame in enumerate(frames, 1) if frame.function == "main" and is_native(frame)), None
    )
    if main is None:
        end = len(frames)
        while end > 0 and frames[end - 1].file == "<string>":
            end -= 1
        main = end if end > 0 and frames[end - 1].file.endswith(_STARTERS) else None
    return tuple(filter(is_of_user, frames[:main])) or tuple(frames)


def is_native(frame: Frame) -> bool:
    """Return whether a place is in C or C++."""
    return frame.offset is not None or frame.file.endswith(_OF_C)


def is_of_user(frame: Frame) -> bool:
    """Return whether a place is known, and neither in this package, nor in the standard library, nor installed."""
    return (frame.line > 0 or frame.offset is not None) and is_file_of_user(frame.file)


def apart(first: Frames, second: Frames) -> tuple[Frames, Frames]:
    """Return two stacks without the innermost places that they share, unless they are the same."""
    first, second = of_user(first), of_user(second)
    for shared, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return first[shared:], second[shared:]
    return first, second


def is_file_of_user(file: str) -> bool:
    """Return whether a file is neither of this package, nor of the standard library, nor installed."""
    if file.startswith("<"):
        return not file.startswith(_GENERATED)
    full = os.path.realpath(file)
    return not (full.startswith((_PACKAGE, *_STANDARD, *_SYSTEM)) or _INSTALLED.search(full))


def stack(frames: Sequence[Frame]) -> str:
    """Return places as one line, innermost first; the file is repeated only where it changes."""
    parts, previous = [], ""
    for frame in of_user(frames):
        place = str(frame.line) if frame.line and frame.file == previous else frame.place
        parts.append(f"{place} in {frame.function}" if frame.function else place)
        previous = frame.file
    return " ← ".join(parts)


def innermost(frames: Sequence[Frame]) -> Frame | None:
    """Return the innermost place in the user's program."""
    return next(iter(of_user(frames)), None)


def native_in(text: str) -> dict[str, Frame]:
    """Return the places in binaries that a text names, by how it names them."""
    return {found: parse(found) for found in _IN_TEXT.findall(text)}
