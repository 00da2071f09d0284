# SPDX-License-Identifier: Apache-2.0
"""Comments that ignore findings: ``# ascend-rt: ignore[race] reason``, on a line that a finding names.

A comment that ignored nothing, and one without a reason, are findings themselves.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ascend_rt._check.findings import Finding, Findings, IgnoreFault
from ascend_rt._check.frames import Frame, innermost, is_file_of_user

KINDS = {"race": "races", "memory": "memory", "leak": "leaks", "deadlock": "deadlocks"}
"""Kinds of findings that can be ignored, each with the check that reports it."""

_BEGIN = r"(?:#|//|/\*)\s*ascend-rt:\s*ignore\["
_COMMENT = re.compile(rf"{_BEGIN}([^\]]*)\](.*?)(?=$|{_BEGIN})", re.MULTILINE)

# Comments of C, and literals, which may look like comments; the quote in 1'000 begins no literal.
_IN_C = re.compile(r'"(?:\\.|[^"\\\n])*"|(?<![\da-fA-F])\'(?:\\.|[^\'\\\n])*\'|(?P<comment>//.*|/\*(?:.|\n)*?\*/)')

# Suffixes of languages that are not Python; a script of Python may have any other name.
_NOT_PYTHON = frozenset((".c", ".cc", ".cpp", ".cu", ".cxx", ".h", ".hh", ".hpp", ".inc"))


class Ignore(NamedTuple):
    """A comment."""

    file: str
    line: int
    kinds: tuple[str, ...]
    reason: str
    statement: range
    """Lines of the statement that it is in."""

    @property
    def frames(self) -> tuple[Frame]:
        """Its place."""
        return (Frame(self.file, self.line),)


def comments(file: str) -> Iterator[Ignore]:
    """Yield the comments of a file that ignore findings; none if it cannot be read."""
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:  # it was removed, or is not a file, such as <stdin>
        return
    if "ascend-rt:" not in text:
        return
    of_language = _comments_of_c if Path(file).suffix in _NOT_PYTHON else _python_comments
    for line, comment, statement in of_language(text):
        for found in _COMMENT.finditer(comment):
            kinds = tuple(kind.strip() for kind in found[1].split(","))
            yield Ignore(file, line, kinds, found[2].removesuffix("*/").strip(), statement)


def _comments_of_c(text: str) -> Iterator[tuple[int, str, range]]:
    """Yield the comments with their lines and those of the statements that they are in or behind."""
    found = [each for each in _IN_C.finditer(text) if "ascend-rt:" in (each["comment"] or "")]
    code = _IN_C.sub(lambda each: "\n" * each[0].count("\n") if each["comment"] else each[0], text)
    statements = _statements_of_c(code)
    for each in found:
        line = text.count("\n", 0, each.start()) + 1
        yield line, each["comment"], statements.get(line, range(line, line + 1))


def _statements_of_c(code: str) -> dict[int, range]:
    """Return the lines of the statement for each line that has a part of one; ends within a line do not count."""
    statements: dict[int, range] = {}
    begin = None
    for number, line in enumerate(map(str.strip, code.split("\n")), 1):
        begin = begin or (number if line else None)
        if begin and (line.startswith("#") or line.endswith((";", "{", "}"))):
            lines = range(begin, number + 1)
            statements |= dict.fromkeys(lines, lines)
            begin = None
    return statements


def _python_comments(text: str) -> Iterator[tuple[int, str, range]]:
    """Yield the comments with their lines and those of the statements that they are in or behind."""
    begin, comments_of_statement = None, list[tuple[int, str]]()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            line = token.start[0]
            if token.type == tokenize.COMMENT and begin is None:
                yield line, token.string, range(line, line + 1)
            elif token.type == tokenize.COMMENT:
                comments_of_statement.append((line, token.string))
            elif token.type == tokenize.NEWLINE:
                for number, comment in comments_of_statement:
                    yield number, comment, range(begin or line, line + 1)
                begin, comments_of_statement = None, []
            elif begin is None and token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
                begin = line
    except (tokenize.TokenError, SyntaxError):  # a file for another Python: its beginning counts
        return


def apply(found: Findings, files: Iterable[str], checks: Iterable[str]) -> None:
    """Move ignored findings to their list, and add the faults of comments.

    Parameters
    ----------
    found : Findings
        What was found; it is changed.
    files : iterable of str
        The files of the program, beside those that findings name.
    checks : iterable of str
        The checks that were on: a comment for another one is not unused.
    """
    named = {frame.file for each in found.findings for frame in map(innermost, each.places) if frame is not None}
    ignores = [each for file in sorted({*files, *named}) if is_file_of_user(file) for each in comments(file)]
    used = separate(found, ignores)
    on = {kind for kind, check in KINDS.items() if check in set(checks)}
    found.findings += [
        IgnoreFault(fault, each.frames) for each in ignores for fault in _faults(each, used.get(each, set()), on)
    ]


def separate(found: Findings, ignores: Iterable[Ignore]) -> dict[Ignore, set[str]]:
    """Move ignored findings to their list; return the comments that ignored some, with the kinds."""
    by_place: dict[tuple[str, int], list[Ignore]] = {}
    for each in ignores:
        for line in each.statement:
            by_place.setdefault((each.file, line), []).append(each)
    used: dict[Ignore, set[str]] = {}
    kept: list[Finding] = []
    for finding in found.findings:
        frames = [frame for frame in map(innermost, finding.places) if frame is not None]
        at = [ignore for frame in frames for ignore in by_place.get((frame.file, frame.line), ())]
        matching = [ignore for ignore in at if finding.kind in ignore.kinds]
        for ignore in matching:
            used.setdefault(ignore, set()).add(finding.kind)
        (found.ignored if matching else kept).append(finding)
    found.findings = kept
    return used


def _faults(ignore: Ignore, used: set[str], on: set[str]) -> Iterator[str]:
    for kind in ignore.kinds:
        written = f"ignore[{kind}]"
        if kind not in KINDS:
            yield f"{written} is unknown; the kinds are {', '.join(KINDS)}"
        elif kind in on and kind not in used:
            yield f"{written} ignored nothing in this run; remove it"
    if not ignore.reason:
        yield f"ignore[{', '.join(ignore.kinds)}] has no reason; write it after the bracket"
