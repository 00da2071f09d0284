# SPDX-License-Identifier: Apache-2.0
"""Boxes, arrows and text as SVG; one file for light and dark pages, because each drawing has a background panel."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

Point = tuple[float, float]

LINE = 17  # height of a line of text
LIGHT = {
    "panel": ("#ffffff", "#d5d9de"),
    "plain": ("#f2f4f7", "#8a94a1"),
    "blue": ("#dfeafd", "#3b73c9"),
    "green": ("#dff3e4", "#2f8a4c"),
    "amber": ("#fdf0d2", "#b57d08"),
    "red": ("#fde2e0", "#c23b32"),
}
DARK = {
    "panel": ("#17191c", "#3a3f46"),
    "plain": ("#25292e", "#7f8893"),
    "blue": ("#1b2f4d", "#6ea3f0"),
    "green": ("#183522", "#63bd80"),
    "amber": ("#3d2f0d", "#dda83a"),
    "red": ("#451f1d", "#ef7b73"),
}


def _colours(kinds: dict[str, tuple[str, str]], ink: str, faint: str) -> str:
    fills = "".join(f".{kind}{{fill:{fill};stroke:{edge}}}" for kind, (fill, edge) in kinds.items())
    return f"{fills}text{{fill:{ink}}}.note{{fill:{faint}}}.line{{stroke:{faint}}}.head{{fill:{faint}}}"


STYLE = (
    "text{font:13px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}"
    ".code{font:12px ui-monospace,SFMono-Regular,Menlo,'DejaVu Sans Mono',monospace}"
    ".title{font-weight:600}.line{fill:none;stroke-width:1.5}.dashed{stroke-dasharray:5 4}"
    + _colours(LIGHT, "#1c2126", "#59636e")
    + f"@media (prefers-color-scheme:dark){{{_colours(DARK, '#e8eaed', '#a3adb8')}}}"
)


class Drawing:
    """A picture that grows by calls; later calls are drawn over earlier ones."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._size, self._title = (width, height), title
        self._parts = [f'<rect class="panel" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>']

    def text(self, x: float, y: float, text: str, style: str = "", anchor: str = "start") -> None:
        """Write a line whose middle is at height `y`; `style` is any of "code", "title" and "note"."""
        self._parts.append(
            f'<text x="{x:g}" y="{y + 4.5:g}" text-anchor="{anchor}" class="{style}">{escape(text)}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, text: str = "", kind: str = "plain") -> None:
        """Draw a box with lines of text in its middle; a line in backquotes is code, and one after ``#`` a title."""
        self._parts.append(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"/>')
        lines = text.split("\n") if text else []
        top = y + height / 2 - LINE * (len(lines) - 1) / 2
        for number, line in enumerate(lines):
            style = "code" if line.startswith("`") else "title" if line.startswith("#") else ""
            self.text(x + width / 2, top + LINE * number, line.strip("`#"), style, "middle")

    def diamond(self, x: float, y: float) -> None:
        """Draw a diamond around a point: a record."""
        corners = f"{x - 9:g},{y:g} {x:g},{y - 9:g} {x + 9:g},{y:g} {x:g},{y + 9:g}"
        self._parts.append(f'<polygon class="amber" points="{corners}"/>')

    def line(self, *points: Point, dashed: bool = False) -> None:
        """Join points."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._parts.append(f'<polyline class="line{" dashed" if dashed else ""}" points="{path}"/>')

    def arrow(self, *points: Point, dashed: bool = False) -> None:
        """Join points with a head at the last one; the last part is horizontal or vertical."""
        self.line(*points, dashed=dashed)
        (x0, y0), (x, y) = points[-2:]
        self._parts.append(f'<polygon class="head" points="{_head(x, y, x - x0, y - y0)}"/>')

    def lanes(self, names: Sequence[str], x: float, y: float, end: float, step: float) -> list[float]:
        """Draw a line of time for each name, from `x` to `end`, and return their heights."""
        heights = [y + step * number for number in range(len(names))]
        for name, height in zip(names, heights, strict=True):
            self.text(x - 12, height, name, "title", "end")
            self.arrow((x, height), (end, height))
        return heights

    def svg(self) -> str:
        """Return the file's text."""
        width, height = self._size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        )
        parts = "\n".join(self._parts)
        return f'{head} role="img">\n<title>{escape(self._title)}</title>\n<style>{STYLE}</style>\n{parts}\n</svg>\n'


def _head(x: float, y: float, dx: float, dy: float) -> str:
    length = max(abs(dx), abs(dy))
    across, along = dx / length, dy / length
    left = (x - 8 * across - 4 * along, y - 8 * along + 4 * across)
    right = (x - 8 * across + 4 * along, y - 8 * along - 4 * across)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in ((x, y), left, right))
