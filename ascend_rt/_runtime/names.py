# SPDX-License-Identifier: Apache-2.0
"""Names that callers give, as C takes them."""

from __future__ import annotations


def encoded(name: str, longest: int | None = None) -> bytes:
    """Return a name in UTF-8, of at most ``longest`` bytes; C would take only the beginning of one with a zero byte."""
    if not isinstance(name, str):
        raise TypeError(f"expected a name of type str, got {type(name).__name__}")
    text = name.encode()
    if b"\0" in text or (longest is not None and len(text) > longest):
        most = "" if longest is None else f"at most {longest} bytes and "
        raise ValueError(f"a name has {most}no character 0, got {len(text)} bytes: {name[:40]!r}")
    return text
