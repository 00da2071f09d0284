# SPDX-License-Identifier: Apache-2.0
"""Comments that ignore findings, and those that are faulty."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import fake_findings as fake

from ascend_rt._check import findings, ignores, reading, words

pytestmark = pytest.mark.simulator("independent")

REASON = "the reader takes any value"


def checked(directory: Path, comment: str, place: str = "read", name: str = "train.py") -> findings.Findings:
    """Return the findings of a program with a race, and with a comment at one of its places."""
    path = directory / name
    path.write_text(fake.TRAIN.replace(f"# {place}", f"{comment}  # {place}"), encoding="utf-8")
    reports = directory / "findings"
    reports.mkdir()
    fake.write(reports, [fake.BEGIN, fake.race(path), fake.END])
    found = reading.read(reports)
    ignores.apply(found, [str(path)], ["races", "deadlocks"])
    return found


def said(found: findings.Findings) -> list[str]:
    return [words.headline(each) for each in found.findings if each.kind == "ignore"]


@pytest.mark.parametrize("place", ["write", "read"])
@pytest.mark.parametrize("kinds", ["race", "memory, race"])
def test_a_comment_at_either_place_ignores_a_race(tmp_path: Path, place: str, kinds: str) -> None:
    found = checked(tmp_path, f"# ascend-rt: ignore[{kinds}] {REASON}", place)
    assert ([each.kind for each in found.ignored], found.findings) == (["race"], [])
    assert words.summary(found, shows_hints=False) == "no findings in 1 process; 1 ignored"


@pytest.mark.parametrize("comment", ["// ascend-rt: ignore[race] any value", "/* ascend-rt: ignore[race] any value */"])
def test_comments_of_c_count_in_c(tmp_path: Path, comment: str) -> None:
    assert checked(tmp_path, comment, name="program.c").findings == []


def test_a_string_is_not_a_comment(tmp_path: Path) -> None:
    found = checked(tmp_path, f'+ "# ascend-rt: ignore[race] {REASON}"')
    assert [each.kind for each in found.findings] == ["race"]


def test_a_string_is_not_a_comment_in_a_script_with_any_name(tmp_path: Path) -> None:
    found = checked(tmp_path, f'+ "# ascend-rt: ignore[race] {REASON}"', name="train")
    assert [each.kind for each in found.findings] == ["race"]
    (tmp_path / "other").mkdir()
    assert checked(tmp_path / "other", f"# ascend-rt: ignore[race] {REASON}", name="train").findings == []


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("named", range(4))
def test_a_comment_is_for_all_lines_of_its_statement(tmp_path: Path, at: int, named: int) -> None:
    lines = ["copy(", "    one,", '    """other', '    text""",', ")", "copy()"]
    places = [0, 1, 3, 4]  # where a comment may be; there is none within the text
    lines[places[at]] += f"  # ascend-rt: ignore[race] {REASON}"
    path = tmp_path / "train.py"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    [ignore] = ignores.comments(str(path))
    assert (ignore.line, places[named] + 1 in ignore.statement, 6 in ignore.statement) == (places[at] + 1, True, False)


STATEMENTS_OF_C = [
    "#include <acl/acl.h>",
    "void f(void) {",
    '    copy("; // no comment", 1\'000,',
    "         /* two",
    "            lines; */ two);",
    "    copy(); copy();",
    "}",
]


@pytest.mark.parametrize("at", [0, 1, 2, 4, 5, 6])
def test_a_comment_is_for_all_lines_of_its_statement_in_c(tmp_path: Path, at: int) -> None:
    lines = STATEMENTS_OF_C.copy()
    lines[at] += f"  // ascend-rt: ignore[race] {REASON}"
    path = tmp_path / "program.c"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    expected = range(3, 6) if at in (2, 4) else range(at + 1, at + 2)
    assert [(it.line, it.statement) for it in ignores.comments(str(path))] == [(at + 1, expected)]


def test_a_string_is_not_a_comment_in_c(tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text('puts("// ascend-rt: ignore[race] a");\nputs("/*"); /* ascend-rt: ignore[race] b */\n')
    assert [(it.line, it.reason) for it in ignores.comments(str(path))] == [(2, "b")]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("train.py", "f()  # ascend-rt: ignore[memory] one # ascend-rt: ignore[race] two"),
        ("a.c", "f();  // ascend-rt: ignore[memory] one // ascend-rt: ignore[race] two"),
        ("b.c", "f();  /* ascend-rt: ignore[memory] one */ /* ascend-rt: ignore[race] two */"),
    ],
)
def test_each_comment_of_a_line_counts(tmp_path: Path, name: str, line: str) -> None:
    path = tmp_path / name
    path.write_text(f"{line}\n", encoding="utf-8")
    found = [(it.kinds, it.reason) for it in ignores.comments(str(path))]
    assert found == [(("memory",), "one"), (("race",), "two")]


def test_a_comment_without_a_reason_ignores_and_is_a_finding(tmp_path: Path) -> None:
    text = fake.TRAIN.replace("  # read", "  # ascend-rt: ignore[race]")
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    (tmp_path / "findings").mkdir()
    fake.write(tmp_path / "findings", [fake.BEGIN, fake.race(tmp_path / "train.py"), fake.END])
    found = reading.read(tmp_path / "findings")
    ignores.apply(found, [], ["races"])
    assert len(found.ignored) == 1
    assert said(found) == ["ignore: ignore[race] has no reason; write it after the bracket"]


@pytest.mark.parametrize(
    ("kind", "place", "expected"),
    [
        ("race", "load", ["ignore: ignore[race] ignored nothing in this run; remove it"]),
        ("deadlock", "read", ["ignore: ignore[deadlock] ignored nothing in this run; remove it"]),
        ("memory", "read", []),  # its check was off
        ("rase", "read", ["ignore: ignore[rase] is unknown; the kinds are race, memory, leak, deadlock"]),
    ],
)
def test_an_unused_or_unknown_comment_is_a_finding(tmp_path: Path, kind: str, place: str, expected: list[str]) -> None:
    found = checked(tmp_path, f"# ascend-rt: ignore[{kind}] {REASON}", place)
    assert said(found) == expected
    assert found.findings[0].kind == "race"


def test_files_that_are_installed_are_not_searched(tmp_path: Path) -> None:
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "module.py").write_text(f"x = 1  # ascend-rt: ignore[race] {REASON}\n", encoding="utf-8")
    found = findings.Findings()
    ignores.apply(found, [str(installed / "module.py"), str(tmp_path / "missing.py")], ["races"])
    assert found.findings == []
