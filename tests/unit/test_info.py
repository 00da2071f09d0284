# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt info`` tells what a bug report needs; what a user can mend is one message and an exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_json(run) -> None:
    result = run("-m", "ascend_rt", "info", "--json", "--backend", "sim", ASCEND_RT_SIM_DEVICES="3")
    assert result.returncode == 0, result.stderr
    info = json.loads(result.stdout)
    assert info["backend"] == "sim"
    assert Path(info["library"]).name == "libascendcl.so"
    assert info["devices"] == 3
    assert info["product"].startswith("Ascend")
    assert info["symbols_missing"] == []
    assert info["symbols_present"] > 100
    assert info["environment"]["ASCEND_RT_SIM_DEVICES"] == "3"


@pytest.mark.usefixtures("no_cann")
def test_text_says_what_was_tried_and_why(run) -> None:
    result = run("-m", "ascend_rt", "info")
    assert result.returncode == 0, result.stderr
    assert "no CANN installation" in result.stdout
    assert "tried" in result.stdout
    assert "libascendcl.so" in result.stdout


def test_the_vendors_library_with_missing_functions(run, build, tmp_path: Path) -> None:
    vendor = build(tmp_path / "libascendcl.so")
    result = run("-m", "ascend_rt", "info", "--json", ASCEND_RT_LIBRARY=vendor)
    assert result.returncode == 0, result.stderr
    info = json.loads(result.stdout)
    assert (info["backend"], info["library"], info["devices"]) == ("cann", str(vendor), 2)
    assert info["product"] == "Ascend910X"
    assert info["api_version"] == "1.2.3"
    assert info["symbols_present"] == 9  # what the look-alike defines
    assert "aclrtRecordEvent" in info["symbols_missing"]
    assert not any(name.startswith("aclsim") for name in info["symbols_missing"])


def expect_message(result, status: int, *words: str) -> None:
    """The program ends with a message, a status and no traceback."""
    assert result.returncode == status, result.stderr
    assert "Traceback" not in result.stderr
    assert all(word in result.stderr for word in words), result.stderr


def test_an_unknown_backend(run) -> None:
    expect_message(run("-m", "ascend_rt", "info", "--backend", "cuda"), 2, "cuda", "auto", "cann", "sim")
    expect_message(run("-m", "ascend_rt", "info", ASCEND_RT_BACKEND="cuda"), 1, "cuda", "auto", "cann", "sim")


def test_a_broken_library_path(run, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a library", encoding="utf-8")
    for path in (text, tmp_path / "missing.so", tmp_path):
        expect_message(run("-m", "ascend_rt", "info", ASCEND_RT_LIBRARY=path), 1, str(path))


def test_a_wrong_command_line(run) -> None:
    expect_message(run("-m", "ascend_rt"), 2, "COMMAND")
    expect_message(run("-m", "ascend_rt", "dance"), 2, "dance")


@pytest.fixture
def source_tree(tmp_path: Path) -> None:
    """Put the package's Python files, without the compiled one, where Python looks first."""
    package = tmp_path / "ascend_rt"
    package.mkdir()
    for file in (ROOT / "ascend_rt").glob("*.py"):
        (package / file.name).write_bytes(file.read_bytes())


# Without site-packages: an editable install would find the compiled module all the same.
@pytest.mark.usefixtures("source_tree")
def test_the_source_tree_is_explained(run) -> None:
    as_program = run("-S", "-m", "ascend_rt", "info")
    expect_message(as_program, 1, "pip install")
    assert len(as_program.stderr.strip().splitlines()) == 1
    imported = run("-S", "-c", "import ascend_rt")
    assert imported.returncode == 1
    assert imported.stderr.strip().splitlines()[-1].startswith("ImportError: ")
    assert "pip install" in imported.stderr
