"""The benchmarks are complete: every layer has what the list says, and everything runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

DIRECTORY = Path(__file__).resolve().parents[2] / "benchmarks"

pytest.importorskip("pyperf")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a module of the benchmarks, which are programs and no package."""
    monkeypatch.syspath_prepend(str(DIRECTORY))
    return import_module


def ids_in_c() -> list[str]:
    text = (DIRECTORY / "c" / "bench.c").read_text(encoding="utf-8")
    table = re.search(r"benchmarks\[\] = \{(.*?)\};", text, re.DOTALL)
    assert table is not None
    return re.findall(r'\{"(\w+)", \w+, ', table[1])


def test_c_has_what_the_list_says(load: Any) -> None:
    assert ids_in_c() == load("ids").ids_of("c")


@pytest.mark.parametrize("layer", ["raw", "facade", "pyacl"])
def test_python_has_what_the_list_says(load: Any, layer: str) -> None:
    assert list(load(f"bench_{layer}").BENCHMARKS) == load("ids").ids_of(layer)


def test_goals_are_about_benchmarks_that_exist(load: Any) -> None:
    used = {benchmark for goal in load("results").GOALS for benchmark in (goal.over, goal.under) if benchmark}

    assert all(name in load("ids").ids_of(layer) for layer, name in used)


def test_readme_describes_every_benchmark(load: Any) -> None:
    described = re.findall(r"^\| `(\w+)`", (DIRECTORY / "README.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert described == [benchmark.id for benchmark in load("ids").BENCHMARKS]


def run(*command: str, directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, cwd=directory)


# Run in a process of its own: the raw layer initialises the runtime itself.
AUDIT = """
import json, re, sys
from importlib import import_module
from ascend_rt import pyacl
from ascend_rt._driver import lib, library

library()
lib.ascend_rt_prepare_waits(0, True)  # no thread is the main one, whose long waits another thread would make
calls = []

def recorded(name, function):
    def call(*arguments):
        calls.append(name)
        return function(*arguments)
    return call

for name, function in list(lib.__dict__.items()):
    if name.startswith(("aclrt", "aclmdlRI")) and callable(function):
        setattr(lib, name, recorded(name, function))
# The extension module makes these calls itself, to save Python the output, or a wait that Ctrl-C cannot end.
for name, helper in (
    ("aclrtQueryEventStatus", "ascend_rt_event_status"),
    ("aclrtSynchronizeEvent", "ascend_rt_synchronize_event"),
    ("aclrtSynchronizeStream", "ascend_rt_synchronize_stream"),
):
    setattr(lib, helper, recorded(name, getattr(lib, helper)))
# pyACL calls the library past lib; each of its functions names the C function that it calls.
for name, function in vars(pyacl.rt).items():
    if c_name := re.search("aclrt[A-Z][A-Za-z0-9]+", function.__doc__ or ""):
        setattr(pyacl.rt, name, recorded(c_name[0], function))
found = {}
for name in sys.argv[2:]:
    with import_module(sys.argv[1]).BENCHMARKS[name]() as timed:
        calls.clear()
        timed(2)
        found[name] = calls.copy()
print(json.dumps(found))
"""


@pytest.mark.parametrize("layer", ["raw", "facade", "pyacl"])
def test_an_iteration_makes_the_calls_that_the_list_says(
    load: Any, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    backend = pytestconfig.getoption("--backend")
    monkeypatch.setenv("ASCEND_RT_BACKEND", backend)

    ids = load("ids")

    found: dict[str, list[str]] = {}
    for product, names in ids.by_product(ids.ids_of(layer, backend)).items():
        monkeypatch.setenv("ASCEND_RT_SIM_PRODUCT", product)
        done = run("-c", AUDIT, f"bench_{layer}", *names, directory=DIRECTORY)
        assert done.returncode == 0, done.stderr
        found |= json.loads(done.stdout)

    expected = {name: ids.BY_ID[name] for name in ids.ids_of(layer, backend)}
    for name, calls in found.items() if layer == "facade" else ():
        found[name] = [call for call in calls if call not in expected[name].facade_also]
    assert found == {name: 2 * listed(benchmark.calls) for name, benchmark in expected.items()}


def listed(calls: str) -> list[str]:
    """Return the calls that a text names, those in parentheses as often as it says."""
    repeated = re.sub(r"(\d+) times \((.*?)\)", lambda match: int(match[1]) * f"{match[2]}; ", calls)
    return re.findall(r"acl(?:rt|mdlRI)[A-Z]\w+", repeated)


@pytest.mark.parametrize("wanted", [["event_record"], pytest.param(None, marks=pytest.mark.full)], ids=["one", "all"])
def test_smoke_run_has_a_result_for_every_benchmark(
    load: Any, pytestconfig: pytest.Config, tmp_path: Path, wanted: list[str] | None
) -> None:
    backend, output = pytestconfig.getoption("--backend"), tmp_path / "results.json"
    options = ["--ids", *wanted] if wanted else []

    done = run(
        *(str(DIRECTORY / "run.py"), "--smoke", "--backend", backend, "--output", str(output), *options),
        directory=tmp_path,
    )

    assert done.returncode == 0, done.stderr
    ids = load("ids")
    expected = {
        f"{layer}/{name}" for layer in ids.LAYERS for name in ids.ids_of(layer, backend) if not wanted or name in wanted
    }
    assert set(load("pyperf").BenchmarkSuite.load(str(output)).get_benchmark_names()) == expected
    summary = json.loads(output.read_text(encoding="utf-8"))["summary"]
    assert set(summary["benchmarks"]) == {name.partition("/")[2] for name in expected}


def test_smoke_run_of_the_bindings_has_a_result_for_every_contestant(load: Any, tmp_path: Path) -> None:
    output = tmp_path / "results.json"

    done = run(str(DIRECTORY / "binding.py"), "--smoke", "--output", str(output), directory=tmp_path)

    assert done.returncode == 0, done.stderr
    contestants, ids = load("bench_binding").CONTESTANTS, load("bench_binding").IDS
    names = load("pyperf").BenchmarkSuite.load(str(output)).get_benchmark_names()
    assert {f"{layer}/{name}" for layer in ("c", "facade") for name in ids} <= set(names)
    skipped = set(re.findall(r"^(\w+) is skipped: ", done.stderr, re.MULTILINE))
    assert {name.partition("/")[0] for name in names} == set(contestants) - skipped
    assert skipped <= {"cuda_core"}


def test_an_unusable_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")

    done = run(str(DIRECTORY / "run.py"), "--smoke", directory=tmp_path)

    assert done.returncode == 1
    assert "no-such-compiler" in done.stderr
    assert "Traceback" not in done.stderr
