# SPDX-License-Identifier: Apache-2.0
"""The report as text: the same words in pipes and on terminals, where ``rich`` colours them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from ascend_rt._check import words

if TYPE_CHECKING:
    from rich.console import Console

    from ascend_rt._check.outcome import Outcome

# Patterns and the styles of what they match.
_STYLES = (
    (r"(?m)^(race|deadlock|memory|leak|ignore)(?=:)", "bold red"),
    (r"(?m)^(hint|note|unseen)(?=:)", "bold yellow"),
    (r"(?m)^  (write|read|free|allocation)\b", "bold"),
    (r"(?m)^  fix: .*", "green"),
    (r"\S+:\d+(?= in )", "cyan"),
    (r"(?m)^no findings.*", "green"),
)


def text(outcome: Outcome) -> str:
    """Return the report."""
    found = outcome.found
    shown = [*found.findings, *(found.hints if outcome.shows_hints else ())]
    blocks = ["\n".join(words.lines(each)) for each in shown]
    ends = [*(f"note: {remark}" for remark in outcome.remarks), *(f"unseen: {each}" for each in found.unseen)]
    ends.append(words.summary(found, shows_hints=outcome.shows_hints))
    return "\n\n".join([*blocks, "\n".join(ends)]) + "\n"


def write(report: str, stream: TextIO) -> None:
    """Print a report, with colours if the stream is a terminal and ``rich`` is installed."""
    console = _console(stream)
    if console is None:
        stream.write(report)
        return
    from rich.text import Text

    styled = Text(report)
    for pattern, style in _STYLES:
        styled.highlight_regex(pattern, style)
    console.print(styled, end="", soft_wrap=True)


def _console(stream: TextIO) -> Console | None:
    if not stream.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(file=stream, highlight=False)
