# SPDX-License-Identifier: Apache-2.0
"""Objects for an NPU that have kernels but no code: ELF, as the compiler writes it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

_NPU = 0x1029  # the machine
_PROGRAM_BITS, _SYMBOL_TABLE, _STRING_TABLE = 1, 2, 3  # types of sections
_ALLOCATED_CODE = 6
_GLOBAL_FUNCTION = 0x12
_CODE_SIZE = 64
_CODE = b"\x5a"  # not zero, because zero would be a kernel that does nothing
_FOR_VECTOR_CORES = struct.pack("<HHI", 1, 4, 3)  # the metadata of a kernel: type, length, kind of core


class _Section(NamedTuple):
    name: str
    type: int
    content: bytes
    flags: int = 0
    link: int = 0
    entry_size: int = 0


class _Names:
    """A table of names."""

    def __init__(self) -> None:
        self.text = b"\0"

    def add(self, name: str) -> int:
        place = len(self.text)
        self.text += name.encode() + b"\0"
        return place


def device_object(kernels: Sequence[str]) -> bytes:
    """Return an object for an NPU that has kernels of these names, without code."""
    names = _Names()
    symbols = bytes(24)
    for i, name in enumerate(kernels):
        symbols += struct.pack("<IBBHQQ", names.add(name), _GLOBAL_FUNCTION, 0, 1, _CODE_SIZE * i, _CODE_SIZE)
    sections = [
        _Section("", 0, b""),
        _Section(".text", _PROGRAM_BITS, _CODE * _CODE_SIZE * len(kernels), _ALLOCATED_CODE),
        *(_Section(f".ascend.meta.{name}", _PROGRAM_BITS, _FOR_VECTOR_CORES) for name in kernels),
    ]
    sections += [
        _Section(".symtab", _SYMBOL_TABLE, symbols, link=len(sections) + 1, entry_size=24),
        _Section(".strtab", _STRING_TABLE, names.text),
    ]
    return _elf(sections)


def _elf(sections: list[_Section]) -> bytes:
    names = _Names()
    places = [names.add(section.name) for section in sections]
    last = names.add(".shstrtab")
    all_sections = [*sections, _Section(".shstrtab", _STRING_TABLE, names.text)]
    content, table = b"", b""
    for place, section in zip((*places, last), all_sections, strict=True):
        entry = (place, section.type, section.flags, 0, 64 + len(content), len(section.content), section.link, 0, 8)
        table += struct.pack("<IIQQQQIIQQ", *entry, section.entry_size)
        content += section.content + bytes(-len(section.content) % 8)
    identification = b"\x7fELF\2\1\1" + bytes(9)
    sizes = (64, 0, 0, 64, len(all_sections), len(all_sections) - 1)
    header = struct.pack("<HHIQQQIHHHHHH", 1, _NPU, 1, 0, 0, 64 + len(content), 0, *sizes)
    return identification + header + content + table
