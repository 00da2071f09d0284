# SPDX-License-Identifier: Apache-2.0
"""Findings are read from lines: of all processes, merged by their places, also from a file that was cut off."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support import fake_findings as fake

from ascend_rt._check import findings, reading, symbols
from ascend_rt._check.frames import Frame, of_user, parse

pytestmark = pytest.mark.simulator("independent")


def test_the_newest_count_counts(tmp_path: Path) -> None:
    counts = [{"kind": "count", "id": 1, "count": count} for count in (2, 128)]
    fake.write(tmp_path, [fake.BEGIN, fake.race("train.py"), *counts, {"kind": "count", "id": 7, "count": 3}])
    assert [each.count for each in reading.read(tmp_path).findings] == [128]


def test_processes_are_merged_by_the_places_of_their_findings(tmp_path: Path) -> None:
    memory = fake.race("train.py")["memory"] | {"number": 8}
    fake.write(tmp_path, [fake.BEGIN, fake.race("train.py"), fake.END], 11)
    fake.write(tmp_path, [fake.BEGIN, fake.race("train.py", memory=memory, count=4), fake.END], 9)
    fake.write(
        tmp_path, [fake.BEGIN, fake.race("train.py", conflict="write after read"), fake.race("other.py", id=2)], 12
    )
    found = reading.read(tmp_path)
    assert [(each.pid, each.count) for each in found.findings] == [(9, 5), (12, 1), (12, 1)]
    assert (found.processes, found.unfinished) == (3, 1)


def test_a_program_that_executes_another_one_keeps_its_findings(tmp_path: Path) -> None:
    first = [fake.BEGIN, fake.race("train.py"), {"kind": "count", "id": 1, "count": 3}]
    fake.write(tmp_path, [*first, fake.BEGIN, fake.race("other.py"), {"kind": "count", "id": 1, "count": 2}, fake.END])
    found = reading.read(tmp_path)
    assert [each.count for each in found.findings] == [3, 2]
    assert (found.processes, found.unfinished) == (1, 0)


def test_a_line_that_was_cut_off_is_a_note(tmp_path: Path) -> None:
    fake.write(tmp_path, [fake.BEGIN, fake.race("train.py")])
    with open(tmp_path / "1.jsonl", "a", encoding="utf-8") as file:
        file.write('{"kind":"race","id":2,"confl')
    found = reading.read(tmp_path)
    assert len(found.findings) == 1
    assert found.notes == ["a line of process 1 was cut off: perhaps the disk is full"]


def test_a_line_of_another_form_is_a_note(tmp_path: Path) -> None:
    fake.write(tmp_path, [fake.BEGIN, {"kind": "race", "id": 1}, fake.race("train.py", id=2, first=None), fake.END])
    found = reading.read(tmp_path)
    assert (found.findings, found.notes) == ([], ["a line of process 1 has another form than this release knows"])


def test_files_without_the_runtime_are_not_processes(tmp_path: Path) -> None:
    fake.write(tmp_path, [{"kind": "files", "files": ["/a.py"]}])
    found = reading.read(tmp_path)
    assert (found.processes, found.files) == (0, {"/a.py"})


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("/a b/c:d.py:12 in f", Frame("/a b/c:d.py", 12, "f")),
        ("<string>:1 in <module>", Frame("<string>", 1, "<module>")),
        ("/bin/x+0x1f in work", Frame("/bin/x", 0, "work", 0x1F)),
        ("/bin/x+0x1f", Frame("/bin/x", 0, "", 0x1F)),
        ("nothing known", Frame("nothing known")),
    ],
)
def test_every_form_of_a_place_is_read(text: str, frame: Frame) -> None:
    assert parse(text) == frame


PROGRAM = """\
int answer = 41;
__attribute__((noinline)) int work(int x) {
    return x + answer;
}
int main(void) { return work(1) != 42; }
"""


@pytest.mark.parametrize("kind", ["-pie", "-no-pie"])
def test_offsets_in_a_c_program_become_lines(tmp_path: Path, kind: str) -> None:
    compiler, tool, table = map(shutil.which, ("cc", "addr2line", "nm"))
    if not (compiler and tool and table):
        pytest.skip("needs a C compiler, addr2line and nm")
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM, encoding="utf-8")
    options = ["-g", "-O0", "-fpie" if kind == "-pie" else "-fno-pie", kind]
    subprocess.run([str(compiler), *options, source, "-o", program], check=True)
    listed = subprocess.run([str(table), program], capture_output=True, text=True, check=True).stdout
    address = next(int(line.split()[0], 16) for line in listed.splitlines() if line.endswith(" T work"))
    offset = address - symbols._first_address(str(program))
    assert (symbols._first_address(str(program)) > 0) == (kind == "-no-pie")
    frame = Frame(str(program), 0, "", offset)
    unknown = Frame(str(program), 0, "", 1)
    line = {"kind": "memory", "id": 1, "text": f"aclrtMemset at {program}+{offset:#x} in work uses", "frames": []}
    fake.write(tmp_path, [fake.BEGIN, line])
    (found,) = reading.read(tmp_path).findings
    assert isinstance(found, findings.MemoryMistake)
    assert found.text == f"aclrtMemset at {source}:2 in work uses"
    assert symbols.resolved([frame, unknown, Frame("train.py", 3, "f")]) == {frame: (Frame(str(source), 2, "work"),)}


def test_without_the_tool_offsets_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert symbols.resolved([Frame("/bin/sh", 0, "", 16)]) == {}


INLINED = """\
int answer = 41;
__attribute__((noinline)) int add(int x) { return x + answer; }
__attribute__((always_inline)) static inline int twice(int x) {
    return add(x) + add(x + 1);
}
int main(void) {
    return twice(1) != 85;
}
"""


@pytest.mark.parametrize(("suffix", "inner"), [("c", {"twice"}), ("cpp", {"twice", ""})])
def test_a_place_in_a_function_that_was_put_into_its_caller_has_both_lines(
    tmp_path: Path, suffix: str, inner: set[str]
) -> None:
    """Otherwise ``main`` is not seen, and the code that calls it is taken for the program's.

    Of C++, some releases of the tool report no name of the inner function.
    """
    compiler, tool, lister = map(shutil.which, ("c++" if suffix == "cpp" else "cc", "addr2line", "objdump"))
    if not (compiler and tool and lister):
        pytest.skip("needs a compiler, addr2line and objdump")
    source, program = tmp_path / f"program.{suffix}", tmp_path / "program"
    source.write_text(INLINED, encoding="utf-8")
    subprocess.run([str(compiler), "-g", "-O1", "-fpie", "-pie", source, "-o", program], check=True)
    code = subprocess.run([str(lister), "-d", program], capture_output=True, text=True, check=True).stdout
    calls = [int(line.partition(":")[0], 16) for line in code.splitlines() if re.search(r"\b(call|bl)\b.*add", line)]
    stack = [f"{program}+{calls[0]:#x} in main", f"{program}+0x1 in _start"]
    fake.write(tmp_path, [fake.BEGIN, {"kind": "memory", "id": 1, "text": "wrong", "frames": stack}])
    (found,) = reading.read(tmp_path).findings
    (frames,) = found.places
    assert [(frame.path, frame.line) for frame in of_user(frames)] == [(str(source), 4), (str(source), 7)]
    assert of_user(frames)[0].function in inner
    assert of_user(frames)[1].function == "main"


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("main", "main"),
        ("work(int)", "work"),
        ("(anonymous namespace)::work(void*)", "(anonymous namespace)::work"),
        ("Queue::push(void (*)(int), int) const", "Queue::push"),
        ("main::{lambda(void*)#1}::operator()(void*) const", "main::{lambda(void*)#1}::operator()"),
        ("operator()", "operator()"),
        ("work(int) [clone .constprop.0]", "work"),
        ("cut off)", "cut off)"),
    ],
)
def test_functions_of_cpp_are_named_without_their_parameters(function: str, name: str) -> None:
    assert symbols._without_parameters(function) == name
