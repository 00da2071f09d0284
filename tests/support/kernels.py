# SPDX-License-Identifier: Apache-2.0
"""Kernel binaries for tests: shared objects of this host, compiled here, and device objects, written byte by byte."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

HEADERS = Path(__file__).resolve().parents[2] / "backends" / "abi"
NPU = 0x1029  # a machine that is not a host

# Records of a kernel's metadata.
VECTOR = struct.pack("<HHI", 1, 4, 3)
CUBE = struct.pack("<HHI", 1, 4, 2)

CODE = b"\x5a"  # kernels that are not empty


def compile_kernels(directory: Path, source: str, *, cplusplus: bool = False) -> Path:
    """Compile kernels to a shared object; skip the test where there is no compiler."""
    compiler = shutil.which("c++" if cplusplus else "cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    text = directory / ("kernels.cpp" if cplusplus else "kernels.c")
    text.write_text('#include "aclsim_kernel.h"\n' + source, encoding="utf-8")
    made = directory / "kernels.so"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}"]
    done = subprocess.run([compiler, *flags, str(text), "-o", str(made)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


def parameters(*sizes: int) -> bytes:
    """Return the records that list parameters, packed one behind the other."""
    records = struct.pack("<HHIQ", 16, 12, len(sizes), sum(sizes))
    for i, size in enumerate(sizes):
        records += struct.pack("<HHIIIIHHIIII", 17, 36, i, i, sum(sizes[:i]), size, 8, 0, 0, 0, 0, 0)
    return records


def device_object(
    kernels: Mapping[str, bytes], variables: Mapping[str, int] | None = None, code: bytes = CODE
) -> bytes:
    """Return an object for an NPU.

    Parameters
    ----------
    kernels : mapping of str to bytes
        The metadata of each kernel; its code is 64 times the byte ``code``.
    variables : mapping of str to int, optional
        The size of each variable.
    """
    variables = variables or {}
    names = _Names()
    symbols = [bytes(24)]
    for i, name in enumerate(kernels):
        symbols.append(struct.pack("<IBBHQQ", names.add(name), 0x12, 0, 1, 64 * i, 64))
    end = 0
    for name, size in variables.items():
        symbols.append(struct.pack("<IBBHQQ", names.add(name), 0x11, 0, 2, end, size))
        end += size
    sections = [
        (".text", 1, 6, code * 64 * max(1, len(kernels)), 0),
        (".data", 1, 3, bytes(range(256)) * (end // 256 + 1), 0),
        *((f".ascend.meta.{name}", 1, 0, records, 0) for name, records in kernels.items() if records),
    ]
    count = len(sections) + 4
    sections += [(".symtab", 2, 0, b"".join(symbols), count - 2), (".strtab", 3, 0, bytes(names.text), 0)]
    return _with_sections(sections, count)


class _Names:
    """A table of names."""

    def __init__(self) -> None:
        self.text = bytearray(1)

    def add(self, name: str) -> int:
        place = len(self.text)
        self.text += name.encode() + b"\0"
        return place


def _with_sections(sections: list[tuple[str, int, int, bytes, int]], count: int) -> bytes:
    names = _Names()
    places = [names.add(name) for name, *_ in sections]
    own = names.add(".shstrtab")
    body, headers = bytearray(64), [bytes(64)]
    for (_, kind, flags, content, link), place in zip(
        [*sections, (".shstrtab", 3, 0, bytes(names.text), 0)], [*places, own], strict=True
    ):
        body += bytes(-len(body) % 8)
        headers.append(struct.pack("<IIQQQQIIQQ", place, kind, flags, 0, len(body), len(content), link, 0, 8, 24))
        body += content
    body += bytes(-len(body) % 8)
    table = len(body)
    body[:64] = (
        b"\x7fELF\2\1\1"
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 2, NPU, 1, 0, 0, table, 0, 64, 0, 0, 64, count, count - 1)
    )
    return bytes(body) + b"".join(headers)
