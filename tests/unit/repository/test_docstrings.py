# SPDX-License-Identifier: Apache-2.0
"""The examples in docstrings, and on the pages of the reference, run and print what they say.

Each docstring has a separate namespace, with all of ``ascend_rt``, ``np``, and a ``stream`` of device 0, which is
set. One that sets ``os.environ``, for another simulated machine, has a new process, in which nothing is set up. The
others of a module share a process.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.docstrings import PROMPT, ROOT, examples_in, sets_environment
from support.programs_in_forks import Programs

SOURCES = [
    path
    for path in sorted([*(ROOT / "ascend_rt").rglob("*.py"), *(ROOT / "docs" / "reference").glob("*.rst")])
    if PROMPT.search(path.read_text(encoding="utf-8"))
]

# Modules whose examples are about the simulator itself.
ITS_OWN = ("driver.py", "library.py", "sim.py", "versions.py")


@pytest.mark.simulator("faults", "the examples cause failures and replace kernels")
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_run(source: Path, programs: Programs, tmp_path: Path, backend: str) -> None:
    if backend != "sim" and source.name in ITS_OWN:
        pytest.skip("about the simulator")
    found = examples_in(source)
    assert sum(len(each.examples) for each in found) == len(PROMPT.findall(source.read_text(encoding="utf-8")))
    together = [each.name for each in found if not sets_environment(each)]
    alone = [[each.name] for each in found if sets_environment(each)]
    for number, names in enumerate([together, *alone]):
        script = tmp_path / f"examples_{number}.py"
        lines = [
            "import sys",
            "from pathlib import Path",
            f"sys.path.append({str(ROOT / 'tests')!r})",
            "from support.docstrings import run",
            f"run(Path({str(source)!r}), {names})",
        ]
        script.write_text("\n".join(lines), encoding="utf-8")
        ended = programs.run(script)
        assert ended.returncode == 0, ended.stderr
