# SPDX-License-Identifier: Apache-2.0
"""Documents and messages say how to install what there is: a checkout or a wheel file, no name of an index."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ascend_rt._startup import framework_finder
from ascend_rt._startup.install_hint import FORM, install_hint

pytestmark = pytest.mark.simulator("independent")

ROOT = Path(__file__).resolve().parents[3]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
EXTRAS = set(re.findall(r"^([\w-]+) = \[", PYPROJECT.partition("[project.optional-dependencies]")[2], re.MULTILINE))
TEXTS = {".c", ".cff", ".cpp", ".h", ".in", ".json", ".md", ".py", ".rst", ".toml", ".yaml", ".yml", ""}
EXEMPT = {".ci/run", ".ci/long", "tests/unit/repository/test_install_texts.py"}  # CI adds extras to what is installed

INSTALL = re.compile(r"\b(?:pip3?|uv pip|pipx|uv tool) install\b([^\n`]*)")
NAME = re.compile(r"(?<![\w./-])ascend[_-]rt(?![\w./-])")


def wrong(text: str) -> list[str]:
    """Return the instructions that name a package which no index has."""
    return [found[0] for found in INSTALL.finditer(text) if NAME.search(found[1].partition(" in a checkout")[0])]


def texts() -> dict[str, str]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("git lists the texts of the project")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    paths = [path for path in listed if Path(path).suffix in TEXTS and path not in EXEMPT and (ROOT / path).is_file()]
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in paths}


def test_no_text_installs_from_an_index() -> None:
    assert {path: found for path, text in texts().items() if (found := wrong(text))} == {}


def test_every_extra_that_a_text_names_exists() -> None:
    for path, text in texts().items():
        for found in INSTALL.finditer(text):
            for extras in re.findall(r"\.\[([\w,-]+)\]", found[1]):
                assert set(extras.split(",")) <= EXTRAS, f"{path}: {found[0]}"


def test_messages_have_one_form() -> None:
    assert wrong(FORM) == []
    assert framework_finder._MISSING.endswith(install_hint("torch"))
    for path in ("measure/ascend_rt_measure/bench/pocl.py", "measure/ascend_rt_measure/bench/command.py"):
        source = (ROOT / path).read_text(encoding="utf-8")
        assert "install_hint(" in source
        assert not INSTALL.search(source)


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("pip install ascend_rt", True),
        ("pip install 'ascend_rt[torch]'", True),
        ("pip install --quiet ascend-rt", True),
        ("pip install '.[torch]' in a checkout of ascend_rt", False),
        ("pip install ./ascend_rt-0.1.0-cp310-abi3-manylinux_2_28_x86_64.whl", False),
        ("pip install dist/ascend_rt_measure-0.1.0-py3-none-any.whl", False),
    ],
)
def test_what_counts_as_wrong(text: str, is_wrong: bool) -> None:
    assert bool(wrong(text)) == is_wrong
