# SPDX-License-Identifier: Apache-2.0
"""Every citation of a rule leads to it: docs/semantics/README.md says how comments and pages cite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.simulator("independent")

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "semantics"
TREES = [
    "ascend_rt",
    "backends/abi",
    "backends/cann",
    "backends/check",
    "backends/sim",
    "benchmarks",
    "docs/semantics",
    "tests",
    "tools",
]
SUFFIXES = {".c", ".cpp", ".h", ".py", ".md"}

COMMENT = re.compile(r"^([ \t]*)(//|#)", re.MULTILINE)  # a citation may go on in the next line
NUMBER = r"(?:\d+|[A-E]\d*)(?:\.\d+)*(?!\w)"
SECTION = rf"\bsections?\s+(?P<numbers>{NUMBER}(?:(?:,|\s+and|\s+to)\s+{NUMBER})*)(?:,\s+(?P<function>acl\w+))?"
PAGE = r"(?<![\w./-])(?P<page>[\w./-]*\w\.md)\b"
CITATION = re.compile(rf"(?:{PAGE},?\s+)?{SECTION}")
NO_SECTION = re.compile(rf"{PAGE},?\s+{NUMBER}")
OBSERVED = re.compile(r"\[obs\b[^\]]*\]")


@cache
def sections(page: str) -> dict[str, str]:
    """Return the text of every section of a page by its number, that of the sections inside it included.

    Items of numbered lists and rows of tables that begin with a number count as sections.
    """
    found: dict[str, str] = {}
    current = ""
    for line in (PAGES / page).read_text(encoding="utf-8").splitlines(keepends=True):
        if heading := re.match(rf"#+ (?:Part )?({NUMBER})\.? ", line):
            current = heading[1]
        if item := re.match(r"(\d+)\. ", line):
            found.setdefault(f"{current}.{item[1]}", line)
        if row := re.match(r"\| (\d+\.\d+) \|", line):
            found[row[1]] = line
        for number in {current, *re.findall(r"^[A-E]|^\d+", current)} - {""}:
            found[number] = found.get(number, "") + line
    return found


def problems(path: Path, text: str) -> Iterator[str]:
    """Yield what is wrong with the citations in a file."""
    text = COMMENT.sub(lambda leader: leader[1] + " " * len(leader[2]), text)
    pages = [page for name in re.findall(PAGE, text) if (PAGES / (page := Path(name).name)).is_file()]
    if path.parent == PAGES and sections(path.name):
        pages.insert(0, path.name)

    def at(found: re.Match[str]) -> str:
        return f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, found.start()) + 1}: {' '.join(found[0].split())}"

    for found in re.finditer(PAGE, text):
        places = [PAGES / found[0], ROOT / found[0], ROOT / "docs" / found[0], path.parent / found[0]]
        if not any(place.is_file() for place in places):
            yield f"{at(found)}: there is no such page"
    for found in NO_SECTION.finditer(text):
        yield f"{at(found)}: the word 'section' is missing"
    for found in CITATION.finditer(text):
        page = Path(found["page"] or next(iter(pages), "")).name
        if not page:
            yield f"{at(found)}: of which page?"
        elif (PAGES / page).is_file():
            numbers = re.findall(NUMBER, found["numbers"])
            yield from (f"{at(found)}: {page} has no {number}" for number in numbers if number not in sections(page))
            if (found["function"] or "") not in sections(page).get(numbers[-1], found[0]):
                yield f"{at(found)}: it says nothing of this function"
    for found in OBSERVED.finditer(text) if path.suffix != ".md" else ():
        if found[0] not in ("[obs]", "[obs*]") or not re.search(rf"{SECTION}\s+$", text[: found.start()]):
            yield f"{at(found)}: not of the form 'section N [obs]'"


@pytest.mark.full
@pytest.mark.parametrize("tree", TREES)
def test_every_citation_has_a_target(tree: str) -> None:
    files = [path for path in sorted((ROOT / tree).rglob("*")) if path.suffix in SUFFIXES and path != Path(__file__)]
    assert files
    found = [problem for path in files for problem in problems(path, path.read_text(encoding="utf-8"))]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "// Events (events_streams_sync.md section 2).",
        "// Events (events_streams_sync.md sections 0.1, 2 and 14.3), asynchronous (section 1 [obs]).",
        "// Events of any kind (events_streams_sync.md\n    // section 0.1).",
        "# graphs_kernels.md section B2.4, and hardware_seen.md section 2.1",
        "// Copies (memory_cmo_allocator.md section 3, aclrtMemcpyAsync).",
        "// See docs/simulator.md.",
    ],
)
def test_right_citations_pass(text: str) -> None:
    assert list(problems(ROOT / "tests" / "file.cpp", text)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("// (no_such_page.md section 2)", "there is no such page"),
        ("// (events_streams_sync.md section 99)", "events_streams_sync.md has no 99"),
        ("// (events_streams_sync.md sections 2 and 2.99)", "events_streams_sync.md has no 2.99"),
        ("// events_streams_sync.md\n// (section B1)", "events_streams_sync.md has no B1"),
        ("// (memory_cmo_allocator.md section 3, aclrtRecordEvent)", "it says nothing of this function"),
        ("// (events_streams_sync.md 0.1)", "the word 'section' is missing"),
        ("// (section 2)", "of which page?"),
        ("// events_streams_sync.md: seen so [obs]", "not of the form 'section N [obs]'"),
        ("// (events_streams_sync.md section 2 [obs: seen])", "not of the form 'section N [obs]'"),
    ],
)
def test_wrong_citations_are_found(text: str, expected: str) -> None:
    found = list(problems(ROOT / "tests" / "file.cpp", text))
    assert len(found) == 1
    assert found[0].endswith(expected)
