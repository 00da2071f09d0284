# SPDX-License-Identifier: Apache-2.0
"""The examples in docstrings, and on the pages of the reference, run and print what they say.

Each docstring has a namespace of its own, with all of ``ascend_rt``, ``np``, and a ``stream`` of device 0, which is
set. One that sets ``os.environ``, for another simulated machine, has a new process, in which nothing is set up.
"""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy
import pytest

import ascend_rt
from ascend_rt import Device, Stream, sim

ROOT = Path(__file__).resolve().parents[2]
PROMPT = re.compile(r"^ *>>> ", re.MULTILINE)
SOURCES = [
    path
    for path in sorted([*(ROOT / "ascend_rt").rglob("*.py"), *(ROOT / "docs" / "reference").glob("*.rst")])
    if PROMPT.search(path.read_text(encoding="utf-8"))
]


def examples_in(source: Path) -> list[doctest.DocTest]:
    text = source.read_text(encoding="utf-8")
    if source.suffix == ".rst":
        return [doctest.DocTestParser().get_doctest(text, {}, source.stem, str(source), 0)]
    name = ".".join(source.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    return [found for found in doctest.DocTestFinder().find(import_module(name)) if found.examples]


@pytest.mark.simulator("the examples cause failures and stand in for kernels")
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_run(source: Path, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = examples_in(source)
    assert sum(len(each.examples) for each in found) == len(PROMPT.findall(source.read_text(encoding="utf-8")))
    for each in found:
        if "os.environ[" in (each.docstring or ""):
            run_alone(each, tmp_path)
        else:
            run_here(each, device)


def run_here(example: doctest.DocTest, device: Device) -> None:
    names = {name: getattr(ascend_rt, name) for name in ascend_rt.__all__}
    device.set_current()  # whatever the example before has done
    example.globs = {"np": numpy, "stream": Stream(), **names}
    output: list[str] = []
    with sim.faults():
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=output.append)
    assert result.failed == 0, "".join(output)


def run_alone(example: doctest.DocTest, directory: Path) -> None:
    text = directory / "example.txt"
    text.write_text(example.docstring or "", encoding="utf-8")
    command = [sys.executable, "-m", "doctest", "-o", "ELLIPSIS", text.name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory)
    assert done.returncode == 0, done.stdout + done.stderr
