# SPDX-License-Identifier: Apache-2.0
"""Lines of C programs: offsets in binaries are looked up by ``addr2line``, where it is installed."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence

from ascend_rt._check.frames import Frame, Frames

_EXECUTABLE = 2  # ELF: addresses are absolute; those of other files are relative to where they are loaded
_LOADED = 1  # ELF: a part that is loaded
_QUALIFIERS = re.compile(r"( const| volatile| ?&&?| \[(clone|abi:)[^]]*\])+$")  # behind the parameters of a function
_ADDRESS = re.compile(r"0x[0-9a-f]+")


def resolved(frames: Iterable[Frame]) -> dict[Frame, Frames]:
    """Return the lines of places that are offsets; those that are unknown are left out.

    A place has several lines, innermost first, where the compiler has put functions into their callers. One process is
    started for each binary.
    """
    tool = shutil.which("addr2line")
    by_file = defaultdict(list)
    for frame in dict.fromkeys(frames):
        if frame.offset is not None:
            by_file[frame.file].append(frame)
    found: dict[Frame, Frames] = {}
    for file, offsets in by_file.items() if tool is not None else ():
        first = _first_address(file)
        addresses = [f"{first + (frame.offset or 0):#x}" for frame in offsets]
        command = [str(tool), "-aCfie", file, *addresses]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        for frame, lines in zip(offsets, _by_address(answer.stdout), strict=False):
            if places := _places(lines, frame.function):
                found[frame] = places
    return found


def _by_address(answer: str) -> list[list[str]]:
    """Return the lines that follow each address in the tool's answer."""
    parts: list[list[str]] = []
    for line in answer.splitlines():
        if _ADDRESS.fullmatch(line):
            parts.append([])
        elif parts:
            parts[-1].append(line)
    return parts


def _places(lines: Sequence[str], name: str) -> Frames:
    """Return places from lines by turns with a function and with a place; none if the innermost one is unknown."""
    places = []
    for function, place in zip(lines[::2], lines[1::2], strict=False):
        source, _, number = place.partition(" (")[0].rpartition(":")
        if not number.isdecimal() or not int(number) or source == "??":
            break
        places.append(Frame(source, int(number), name if function == "??" else _without_parameters(function)))
    return _with_names_of_callers(places)


def _with_names_of_callers(places: list[Frame]) -> Frames:
    """Return places without a name for the innermost one, where the tool has given it that of the function around all.

    For C++ it does, which has more of the name: ``main::{lambda()#1}::_FUN`` instead of ``_FUN``.
    """
    if len(places) > 1 and f"::{places[0].function}".endswith(f"::{places[-1].function}"):
        outermost = places[-1]._replace(function=places[0].function)
        return (places[0]._replace(function=""), *places[1:-1], outermost)
    return tuple(places)


def _without_parameters(function: str) -> str:
    """Return the name of a function of C++: names of lambdas and of unnamed namespaces have parentheses, too."""
    name = _QUALIFIERS.sub("", function)
    if not name.endswith(")") or name.endswith("operator()"):
        return function
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(name[at], 0)
        if depth == 0:
            return name[:at]
    return name


def _first_address(file: str) -> int:
    """Return the address at which a binary wants to be loaded; 0 for one that can be anywhere."""
    try:
        with open(file, "rb") as binary:
            head = binary.read(64)
            if head[:5] != b"\x7fELF\x02" or struct.unpack_from("<H", head, 16)[0] != _EXECUTABLE:
                return 0
            start, size, number = (*struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54))
            binary.seek(start)
            table = binary.read(size * number)
    except OSError:  # it was removed meanwhile
        return 0
    parts = (struct.unpack_from("<IIQQ", table, size * index) for index in range(number))
    return min((address for kind, _, _, address in parts if kind == _LOADED), default=0)
