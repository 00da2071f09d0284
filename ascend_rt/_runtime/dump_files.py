# SPDX-License-Identifier: Apache-2.0
"""Files of dumps (docs/semantics/dumps.md, section 4): where they are, and their contents."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ascend_rt._runtime.driver import ffi, is_expected, lib, usable
from ascend_rt.errors import NotSupported

MAGIC = b"ASCDUMP1"
_LENGTH = 8
_LONGEST_PATH = 4096
_LONGEST_END = 64 << 20
_LONGEST_PIECE = 64 << 20
_SHOWN_WORDS = 8


class Description(NamedTuple):
    """The text at the end of a dump file.

    Attributes
    ----------
    members : dict
        Those of the JSON object.
    places : list of tuple of int
        The first byte of each piece, and the number of bytes that were stored.
    """

    members: dict[str, Any]
    places: list[tuple[int, int]]


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[bytes]]:
    """Return the description in a dump file, and the stored bytes of each piece.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        The file is not a dump, or was not finished.
    """
    with _opened(path) as file:
        members, places = _describe(file)
        return members, [_piece(file, *place) for place in places]


def _opened(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file, and nothing that blocks or has no end."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError(f"{os.fspath(path)} is not a dump of a failed kernel: it is not a regular file")
    return open(path, "rb")


def _describe(file: BinaryIO) -> Description:
    """Read the end of a file alone: its pieces may be large."""
    end = file.seek(0, os.SEEK_END) - _LENGTH - len(MAGIC)
    if end >= 0:
        file.seek(end)
    last = file.read(_LENGTH + len(MAGIC))
    if end < 0 or last[_LENGTH:] != MAGIC:
        raise ValueError(f"{file.name} is not a dump of a failed kernel, or was not finished")
    length = int.from_bytes(last[:_LENGTH], "little")
    try:
        if length > min(end, _LONGEST_END):
            raise ValueError("its description is longer than the file")
        file.seek(end - length)
        members = json.loads(file.read(length))
        sizes = [int(piece["stored"]) for piece in members["pieces"]]
        if min(sizes, default=0) < 0 or sum(sizes) != end - length:
            raise ValueError("its pieces are not as long as the file")
        if max(sizes, default=0) > _LONGEST_PIECE:
            raise ValueError(f"a piece is longer than {_LONGEST_PIECE} bytes")
    except (ArithmeticError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{file.name} is a damaged dump: {error}") from error
    return Description(members, list(zip(accumulate(sizes, initial=0), sizes, strict=False)))


def _piece(file: BinaryIO, begin: int, size: int) -> bytes:
    file.seek(begin)
    return file.read(size)


def _of_task(device: int, stream: int, task: int) -> Iterator[Path]:
    """Yield the files whose names are those of a failed task, the newest first; none if kernels are not dumped."""
    room = ffi.new("char[]", _LONGEST_PATH)
    try:
        if not usable() or is_expected(lib.acldumpGetExceptionInfoPath(room, _LONGEST_PATH)):
            return
    except NotSupported:
        return
    directory = Path(os.fsdecode(ffi.string(room))).parent / str(device)
    found = directory.glob(f"*.{stream}.{task}.*")
    yield from sorted(found, key=lambda file: file.name.rpartition(".")[2], reverse=True)


def note(device: int, stream: int, task: int) -> str:
    """Return the summary of a failed task's dump for the text of its exception, or "" without a dump.

    The files of another process have the same names.
    """
    for path in _of_task(device, stream, task):
        try:
            with _opened(path) as file:
                members, places = _describe(file)
                if (members.get("process"), members.get("stream"), members.get("task")) != (os.getpid(), stream, task):
                    continue
                arguments = _piece(file, *places[0])
        except (OSError, ValueError, IndexError) as error:
            return f"dumped to {path}, which cannot be read: {error}"
        return f"arguments ({len(arguments)} bytes): {_in_words(arguments)}\ndumped to {path}"
    return ""


def _in_words(arguments: bytes) -> str:
    words = [arguments[at : at + 8] for at in range(0, len(arguments), 8)]
    shown = " ".join(f"{int.from_bytes(word, 'little'):#x}" for word in words[:_SHOWN_WORDS])
    return shown + (" …" if len(words) > _SHOWN_WORDS else "")
