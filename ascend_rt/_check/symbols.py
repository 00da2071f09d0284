# SPDX-License-Identifier: Apache-2.0
"""Lines of C programs: offsets in binaries are looked up by ``addr2line``, where it is installed."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections import defaultdict
from collections.abc import Iterable

from ascend_rt._check.frames import Frame

_EXECUTABLE = 2  # ELF: addresses are absolute; those of other files are relative to where they are loaded
_LOADED = 1  # ELF: a part that is loaded


def resolved(frames: Iterable[Frame]) -> dict[Frame, Frame]:
    """Return the lines of places that are offsets; those that are unknown are left out.

    One process is started for each binary.
    """
    tool = shutil.which("addr2line")
    by_file = defaultdict(list)
    for frame in dict.fromkeys(frames):
        if frame.offset is not None:
            by_file[frame.file].append(frame)
    found: dict[Frame, Frame] = {}
    for file, offsets in by_file.items() if tool is not None else ():
        first = _first_address(file)
        addresses = [f"{first + (frame.offset or 0):#x}" for frame in offsets]
        answer = subprocess.run([str(tool), "-Cfe", file, *addresses], capture_output=True, text=True, check=False)
        lines = answer.stdout.splitlines()
        for frame, function, place in zip(offsets, lines[::2], lines[1::2], strict=False):
            source, _, number = place.partition(" (")[0].rpartition(":")
            if number.isdecimal() and int(number) and source != "??":
                name = frame.function if function == "??" else function.partition("(")[0]
                found[frame] = Frame(source, int(number), name)
    return found


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
