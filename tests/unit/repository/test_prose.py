# SPDX-License-Identifier: Apache-2.0
"""Documents, comments, docstrings and messages are plain English: a table of patterns that are not."""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.simulator("independent")

ROOT = Path(__file__).resolve().parents[3]
TREES = ("ascend_rt", "backends", "benchmarks", "codegen", "docs", "examples", "measure", "tests", "tools")

# A pattern, and the words to write instead. A unit of text is a comment, a string, or a paragraph.
PATTERNS = {
    r"(?<!there )\b(is|are|was|were|be) no\b(?! (longer|more|less|later)\b)": "is not a …, has no …",
    r"(?<!people )(?<!users )\b(who|whoever|whom)\b": "the thread, process or caller that …",
    r"\b(nobody|somebody|anybody|everybody|no one)\b": "no thread, another process, …",
    r"\b(tells?|told|telling)\b": "says, reports, returns, is called with",
    r"\bof (its|their|his) own\b": "separate, a … for each",
    r"\b(stand|stands|stood)\b(?!-| alone)": "is, represents, precedes, follows",
    r"\bin (the|whose|its|their) place( of)?\b|\b(take|takes|took|taking) the place\b": "instead of, replaces",
    r"(\A|(?<=[.;?!] ))(What|Whether)\b(?![^.]*\?)": "a noun as the subject",
    r"\Acomment: (what|whether|who|that|those|of)\b": "begin with a noun or a verb",
    r"\botherwise than\b": "differently from, other than",
    r"\bfor ever\b": "forever",
    r"\b(is|are) wanted, not\b": "expected …, got …",
}

# Trees that have not been reviewed, with the number of findings that are left.
LEFT: dict[str, int] = {}


def units(path: Path) -> Iterator[str]:
    """Yield the units of text in a file."""
    text = path.read_text(encoding="utf-8").replace("SPDX-License-Identifier: Apache-2.0", "")
    if path.suffix == ".md":
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "x", text, flags=re.DOTALL | re.MULTILINE)
        yield from re.split(r"\n\s*\n|^[-*#|>\d.]+ |\|", text, flags=re.MULTILINE)
    elif path.suffix == ".py":
        comments = [
            each for each in tokenize.generate_tokens(io.StringIO(text).readline) if each.type == tokenize.COMMENT
        ]
        yield from _joined([(each.start[0], each.start[1], each.string.lstrip("#: ")) for each in comments])
        nodes = list(ast.walk(ast.parse(text)))
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        texts = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, documented)]
        if "tests" not in path.relative_to(ROOT).parts:  # whose other strings are programs
            texts += [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        for each in dict.fromkeys(texts):
            if each.count(" ") > 1:
                yield from re.split(r"\n\s*\n", re.sub(r"`+[^`]*`+", "x", inspect.cleandoc(each)))
    else:
        comments = re.finditer(r"//+[!<]*([^\n]*)|/\*+[!<]*(.*?)\*/", text, re.DOTALL)
        lines = [
            (text.count("\n", 0, it.start()), it.start() - text.rfind("\n", 0, it.start()), it[1] or it[2] or "")
            for it in comments
        ]
        yield from _joined(lines)
        yield from (it for it in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text) if it.count(" ") > 1)


def _joined(comments: list[tuple[int, int, str]]) -> Iterator[str]:
    """Yield comments; those in the same column of successive lines are one."""
    text, next_place = "", (0, 0)
    for line, column, comment in comments:
        if (line, column) != next_place and text:
            yield f"comment: {text}"
            text = ""
        text, next_place = f"{text} {comment.strip(' *#')}".strip(), (line + 1, column)
    if text:
        yield f"comment: {text}"


def findings(text: str) -> Iterator[str]:
    """Yield what is wrong with a unit."""
    words = " ".join(text.split())
    for pattern, instead in PATTERNS.items():
        for found in re.finditer(pattern, words, re.IGNORECASE if "What|" not in pattern else 0):
            yield f"{found[0].strip()!r} in {words[max(0, found.start() - 60) : found.end() + 60]!r}; better: {instead}"


def sources() -> Iterator[Path]:
    yield from ROOT.glob("*.md")
    for tree in TREES:
        for path in sorted((ROOT / tree).rglob("*")):
            if path.suffix in (".md", ".py", ".h", ".c", ".cpp", ".hpp") and path != Path(__file__):
                yield path
