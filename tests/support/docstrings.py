# SPDX-License-Identifier: Apache-2.0
"""The examples in docstrings and on pages of the reference: finding them, and running them in this process."""

from __future__ import annotations

import doctest
import re
import sys
from collections.abc import Collection
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROMPT = re.compile(r"^ *>>> ", re.MULTILINE)


def examples_in(source: Path) -> list[doctest.DocTest]:
    """Return the docstrings of a module that have examples, or the page if it has some."""
    text = source.read_text(encoding="utf-8")
    if source.suffix == ".rst":
        return [doctest.DocTestParser().get_doctest(text, {}, source.stem, str(source), 0)]
    name = ".".join(source.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    return [found for found in doctest.DocTestFinder().find(import_module(name)) if found.examples]


def sets_environment(example: doctest.DocTest) -> bool:
    """Return whether an example is about another simulated machine, so that it needs a separate process."""
    return "os.environ[" in (example.docstring or "")


def run(source: Path, names: Collection[str]) -> None:
    """Run examples by their names, and end the process with status 1 if one prints something else than it says."""
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in examples_in(source):
        if example.name in names:
            _run(runner, example)
    sys.exit(bool(runner.summarize(verbose=False).failed))


def _run(runner: doctest.DocTestRunner, example: doctest.DocTest) -> None:
    if sets_environment(example):
        runner.run(example)
        return
    import numpy

    import ascend_rt
    from ascend_rt import Device, Stream, sim

    names = {name: getattr(ascend_rt, name) for name in ascend_rt.__all__}
    Device(0).set_current()  # whatever the example before has done
    example.globs = {"np": numpy, "stream": Stream(), **names}
    with sim.faults():
        runner.run(example)
