# SPDX-License-Identifier: Apache-2.0
"""Files of dumps (docs/semantics/dumps.md, section 4): where they are, and their contents."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ascend_rt._runtime.driver import ffi, is_expected, lib, usable
from ascend_rt.errors import NotSupported

MAGIC = b"ASCDUMP1"
_LENGTH = 8
_LONGEST_PATH = 4096
_LONGEST_END = 64 << 20
_SHOWN_WORDS = 8


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[bytes]]:
    """Return the description in a dump file, and the stored bytes of each piece.

    Raises
    ------
    ValueError
        The file is not a dump, or was not finished.
    """
    place = Path(path)
    contents = place.read_bytes()
    end = len(contents) - len(MAGIC) - _LENGTH
    if end < 0 or contents[-len(MAGIC) :] != MAGIC:
        raise ValueError(f"{place} is not a dump of a failed kernel, or was not finished")
    length = int.from_bytes(contents[end : end + _LENGTH], "little")
    try:
        if length > min(end, _LONGEST_END):
            raise ValueError("its description is longer than the file")
        description = json.loads(contents[end - length : end])
        sizes = [int(piece["stored"]) for piece in description["pieces"]]
        if min(sizes, default=0) < 0 or sum(sizes) != end - length:
            raise ValueError("its pieces are not as long as the file")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{place} is a damaged dump: {error}") from error
    pieces, begin = [], 0
    for size in sizes:
        pieces.append(contents[begin : begin + size])
        begin += size
    return description, pieces


def of_task(device: int, stream: int, task: int) -> Path | None:
    """Return the newest dump of a failed task; None if there is none, or if kernels that fail are not dumped."""
    room = ffi.new("char[]", _LONGEST_PATH)
    try:
        if not usable() or is_expected(lib.acldumpGetExceptionInfoPath(room, _LONGEST_PATH)):
            return None
    except NotSupported:
        return None
    directory = Path(os.fsdecode(ffi.string(room))).parent / str(device)
    found = list(directory.glob(f"*.{stream}.{task}.*"))
    return max(found, key=lambda file: file.name.rpartition(".")[2], default=None)


def note(device: int, stream: int, task: int) -> str:
    """Return what the dump of a failed task shows, for the text of its exception; "" if there is no dump."""
    path = of_task(device, stream, task)
    if path is None:
        return ""
    try:
        arguments = read(path)[1][0]
    except (OSError, ValueError, IndexError) as error:
        return f"dumped to {path}, which cannot be read: {error}"
    words = [arguments[at : at + 8] for at in range(0, len(arguments), 8)]
    shown = " ".join(f"{int.from_bytes(word, 'little'):#x}" for word in words[:_SHOWN_WORDS])
    more = " …" if len(words) > _SHOWN_WORDS else ""
    return f"arguments ({len(arguments)} bytes): {shown}{more}\ndumped to {path}"
