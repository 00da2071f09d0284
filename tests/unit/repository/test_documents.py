# SPDX-License-Identifier: Apache-2.0
"""The examples in the documents run, and links between documents lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.programs_in_forks import Programs

ROOT = Path(__file__).resolve().parents[3]
OURS = "https://github.com/ascend-rt/ascend_rt/blob/main/"
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *(ROOT / path / "README.md" for path in ("benchmarks", "examples")),
    *sorted(path for room in (".", "ascend_rt") for path in (ROOT / room).glob("*/DESIGN.*")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def examples() -> Iterator[object]:
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for found in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            line = text[: found.start()].count("\n") + 1
            yield pytest.param(found[1], id=f"{document.name}:{line}")


@pytest.mark.parametrize("example", list(examples()))
def test_example_runs(example: str, backend: str, programs: Programs, tmp_path: Path) -> None:
    if backend != "sim" and "sim" in example:
        pytest.skip("the example is about the simulator")
    script = tmp_path / "example.py"
    script.write_text(example, encoding="utf-8")
    if example.startswith("import acl\n"):  # pyACL's programs are run as users of it run them
        ended = programs.run("-m", "ascend_rt", "run", script, directory=tmp_path)
    else:
        ended = programs.run(script)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        directory = ROOT if target.startswith(OURS) else document.parent
        path, _, heading = target.removeprefix(OURS).partition("#")
        if "://" in path:
            continue
        file = (directory / path).resolve() if path else document
        assert file.is_relative_to(ROOT), f"{document.name} links {target}, which is outside the repository"
        assert file.exists(), f"{document.name} links {target}"
        if heading:
            titles = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
