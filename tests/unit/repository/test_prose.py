# SPDX-License-Identifier: Apache-2.0
"""Documents, comments, docstrings and messages are plain English: a table of patterns keeps out those that are not."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.simulator("independent")

ROOT = Path(__file__).resolve().parents[3]
TREES = (
    *(".ci", ".github"),
    *("ascend_rt", "backends", "benchmarks", "codegen", "docs", "examples", "measure", "tests", "tools"),
)
WITH_HASHES = (".build", ".sh", ".toml", ".yml")  # files whose comments begin with a hash, as those of .ci do
SUFFIXES = (".c", ".cpp", ".h", ".in", ".md", ".py", ".rst", *WITH_HASHES)

# Patterns, and the words to write instead. They are matched in a unit of text: a comment, a string or a paragraph.
PATTERNS = {
    r"(?<!there )\b(is|are|was|were|be) no\b(?! (greater|later|less|longer|more)\b)": "is not a, has no",
    r"(?<!people )(?<!users )\b(who|whoever|whom)\b": "the thread, process or caller that",
    r"\b(nobody|somebody|anybody|everybody|no one)\b": "no thread, another process",
    r"\b(tells?|told|telling)\b(?!<)": "says, reports, returns, is called with",
    r"\bof (its|their|his) own\b": "separate, one for each",
    r"\b(stand|stands|stood)\b(?!-| alone| still)": "is, means, replaces, precedes, follows",
    r"\bin (the|whose|its|their) place( of)?\b|\b(take|takes|took|taking) the place\b": "instead of, replaces",
    r"((\A|(?<=[.?!] ))(What|Whether)|(?<=; )(what|whether|who))\b(?![^.]*\?)": "a noun as the subject",
    r"\Acomment: (what|whether|who|that|those|of)\b": "a comment that begins with a noun or a verb",
    r"\botherwise than\b": "differently from, other than",
    r"\bfor ever\b": "forever",
    r"\b(is|are) wanted, not\b": "expected, got",
}

# Comments, and the strings in which a hash begins none; a tokenizer would take twelve times as long.
PYTHON = re.compile(r"""("{3}|'{3})(?:\\.|.)*?\1|(["'])(?:\\.|(?!\2).)*\2|#[^\n]*""", re.DOTALL)
C = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def units(path: Path) -> Iterator[str]:
    """Yield the units of text in a file."""
    text = path.read_text(encoding="utf-8").replace("SPDX-License-Identifier: Apache-2.0", "")
    if path.suffix in (".md", ".rst"):
        text = re.sub(r"^```.*?^```|`+[^`\n]*`+", "x", text, flags=re.DOTALL | re.MULTILINE)
        yield from re.split(r"\n\s*\n|^[-*#>|\d.]+ |\|", text, flags=re.MULTILINE)
    elif path.suffix == ".py":
        yield from comments_in_python(text)
        # Other strings of tests are programs.
        yield from strings_in_python(text, only_docstrings="tests" in path.relative_to(ROOT).parts)
    elif path.suffix in (*WITH_HASHES, ""):
        yield from comments_with_hashes(text)
        yield from (it for it in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text) if it.count(" ") > 1)
    else:
        yield from comments_in_c(text)
        yield from (it for it in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text) if it.count(" ") > 1)


def comments_with_hashes(text: str) -> Iterator[str]:
    found = ((number, re.search(r"(?:^|\s)(#+ .*)", line)) for number, line in enumerate(text.splitlines(), 1))
    yield from joined((number, comment.start(1), comment[1]) for number, comment in found if comment)


def comments_in_python(text: str) -> Iterator[str]:
    yield from joined(each for each in places(PYTHON, text) if each[2].startswith("#"))


def comments_in_c(text: str) -> Iterator[str]:
    yield from joined(places(C, text))


def places(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int, str]]:
    """Yield what matches: the line, the column and the text."""
    for found in pattern.finditer(text):
        start = found.start()
        yield text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start), found[0]


def joined(comments: Iterator[tuple[int, int, str]]) -> Iterator[str]:
    """Yield comments; those in the same column of successive lines are one."""
    parts: list[str] = []
    expected = (0, 0)
    for line, column, comment in comments:
        if (line, column) != expected and parts:
            yield f"comment: {' '.join(parts)}"
            parts = []
        parts.append(comment.strip("/*#:! \n"))
        expected = (line + 1, column)
    if parts:
        yield f"comment: {' '.join(parts)}"


def strings_in_python(text: str, *, only_docstrings: bool) -> Iterator[str]:
    nodes = list(ast.walk(ast.parse(text)))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, documented)]
    if not only_docstrings:
        found += [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    for each in dict.fromkeys(map(inspect.cleandoc, found)):
        if each.count(" ") > 1:
            yield from re.split(r"\n\s*\n", re.sub(r"`+[^`]*`+", "x", each))


def findings(unit: str) -> Iterator[str]:
    """Yield the patterns in a unit of text, with their surroundings."""
    words = re.sub(r"\s+([*#] )?", " ", unit)
    for pattern, instead in PATTERNS.items():
        for found in re.finditer(pattern, words, 0 if "What" in pattern else re.IGNORECASE):
            around = words[max(0, found.start() - 50) : found.end() + 50]
            yield f"'{found[0].strip()}' in '…{around}…': write {instead}"


def sources() -> Iterator[Path]:
    trees = [ROOT.glob("*"), *((ROOT / tree).rglob("*") for tree in TREES)]
    found = [path for tree in trees for path in tree if path.suffix in SUFFIXES or path.parent == ROOT / ".ci"]
    return (path for path in sorted(found) if path != Path(__file__))


def test_texts_are_plain_english() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {finding}"
        for path in sources()
        for unit in units(path)
        for finding in findings(unit)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("unit", "count"),
    [
        ("a handle that is no address", 1),
        ("there is no address, and the stream is no longer idle", 0),
        ("the thread who waits; users who wait", 1),
        ("Return the function that is told. Each has a stream of its own.", 2),
        ("NULL stands for all; it takes the place of a list", 2),
        ("comment: of the newest task", 1),
        ("comment: What waits is woken.", 1),
        ("Frees memory. What is pending stays. What is pending?", 1),
        ("a Stream is wanted, not int", 1),
    ],
)
def test_a_planted_pattern_is_found(unit: str, count: int) -> None:
    assert len(list(findings(unit))) == count


def test_every_kind_of_text_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    texts = {
        "a.rst": "# A title\n\nOne `two` three.\n\n```\ncode\n```\n",
        "a.py": '"""A docstring of it."""\n# one\n# comment\nx = 1  # another\ny = "a longer string # here"\n',
        "a.h": '/* one\n * comment */\nint x; // another\nconst char *y = "a longer string here";\n',
        "a.toml": '# one\n# comment\nx = "a longer string here"  # another\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    read = {name: [" ".join(it.split()) for it in units(tmp_path / name) if it.strip()] for name in texts}
    assert read == {
        "a.rst": ["A title", "One x three.", "x"],
        "a.py": ["comment: one comment", "comment: another", "A docstring of it.", "a longer string # here"],
        "a.h": ["comment: one * comment", "comment: another", "a longer string here"],
        "a.toml": ["comment: one comment", "comment: another", "a longer string here"],
    }
