# SPDX-License-Identifier: Apache-2.0
"""The benchmarks are complete: every layer has what the list says, and everything runs."""

from __future__ import annotations

import json
import platform
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from support.programs_in_forks import Ended, Programs

pytestmark = pytest.mark.simulator("independent")

pyperf = pytest.importorskip("pyperf")

from ascend_rt.backends import sim  # noqa: E402
from ascend_rt_measure.bench import building, comparison, headlines, ids, machine, report, results, spellings  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
DIRECTORY = ROOT / "benchmarks"
Run = Callable[..., Ended]
PYTHON = [who for who in ids.LAYERS + ids.PEERS if who not in ("c", "threads_cpp")]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a module of the benchmarks, which are programs and no package."""
    monkeypatch.syspath_prepend(str(DIRECTORY))
    return import_module


@pytest.mark.parametrize(("who", "source"), [("c", "bench.c"), ("threads_cpp", "threads.cpp")])
def test_compiled_program_has_what_the_list_says(who: str, source: str) -> None:
    text = (building.SOURCES / source).read_text(encoding="utf-8")
    table = re.search(r"benchmarks\[\] = \{(.*?)\};", text, re.DOTALL)

    assert table is not None
    assert re.findall(r'\{"(\w+)", [^"]+, ', table[1]) == ids.ids_of(who)


@pytest.mark.parametrize("who", PYTHON)
def test_python_has_what_the_list_says(who: str) -> None:
    assert list(import_module(f"ascend_rt_measure.bench.{who}").BENCHMARKS) == ids.ids_of(who)


def test_goals_are_about_benchmarks_that_exist() -> None:
    used = {benchmark for goal in results.GOALS for benchmark in (goal.over, goal.under) if benchmark}

    assert all(name in ids.ids_of(who) for who, name in used)


def test_readme_describes_every_benchmark(load: Any) -> None:
    described = re.findall(r"^\| `(\w+)`", (DIRECTORY / "README.md").read_text(encoding="utf-8"), re.MULTILINE)

    of_training = [f"{name}_checked" for name in load("training").MODELS]
    assert described == [benchmark.id for benchmark in ids.BENCHMARKS] + of_training


@pytest.fixture
def run(programs: Programs, tmp_path: Path) -> Run:
    """Return a function that runs Python with arguments."""
    return lambda *command: programs.run(*command, directory=tmp_path)


@pytest.fixture
def bench(run: Run) -> Run:
    """Return a function that runs the command."""
    return lambda *options: run("-m", "ascend_rt", "bench", *options)


# Run in a separate process: the raw layer initialises the runtime itself.
AUDIT = """
import json, sys
from contextlib import ExitStack
from importlib import import_module
from ascend_rt._runtime.driver import lib, library

library()
lib.ascend_rt_prepare_waits(0, True)  # no thread is the main one, whose long waits another thread would make
calls = []
overridden = ExitStack()
# Of each submission is asked if the stream is captured, and of streams if they are busy.
QUESTIONS = "aclmdlRICaptureGetInfo", "aclrtStreamQuery"

def record(name):
    def call(*arguments):
        if name == "aclrtSynchronizeEvent" and calls[-1:] == ["aclrtQueryEventStatus"]:
            calls.pop()  # which has seen that the wait is not a long one
        calls.append(name)
        return original(*arguments)
    original = overridden.enter_context(lib.override(name, call))

for name, function in list(vars(lib).items()):
    if name.startswith(("aclrt", "aclmdlRI", "aclprof", "acltdt")) and callable(function) and name not in QUESTIONS:
        record(name)
found = {}
for name in sys.argv[2:]:
    with import_module(sys.argv[1]).BENCHMARKS[name]() as timed:
        calls.clear()
        timed(2)
        found[name] = calls.copy()
print(json.dumps(found))
"""


@pytest.mark.full
@pytest.mark.parametrize("layer", ["raw", "facade", "pyacl"])
def test_an_iteration_makes_the_calls_that_the_list_says(
    pytestconfig: pytest.Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: str, run: Run
) -> None:
    backend = pytestconfig.getoption("--backend")
    monkeypatch.setenv("ASCEND_RT_BACKEND", backend)

    found: dict[str, list[str]] = {}
    for environment, names in ids.by_environment(ids.ids_of(layer, backend)):
        with monkeypatch.context() as context:
            for name, value in environment.items():
                context.setenv(name, value)
            done = run("-c", AUDIT, f"ascend_rt_measure.bench.{layer}", *names)
        assert done.returncode == 0, done.stderr
        found |= json.loads(done.stdout)

    expected = {name: ids.BY_ID[name] for name in ids.ids_of(layer, backend)}
    for name, calls in found.items() if layer == "facade" else ():
        found[name] = [call for call in calls if call not in expected[name].facade_also]
    assert found == {name: 2 * benchmark.functions() for name, benchmark in expected.items()}


@pytest.mark.parametrize(
    "wanted", [["record_wait_synchronize"], pytest.param(None, marks=pytest.mark.full)], ids=["one", "all"]
)
def test_smoke_run_has_a_result_for_every_benchmark(
    pytestconfig: pytest.Config, tmp_path: Path, wanted: list[str] | None, bench: Run
) -> None:
    backend, output = pytestconfig.getoption("--backend"), tmp_path / "results.json"
    options = ["--ids", *wanted] if wanted else []

    done = bench("--smoke", "--backend", backend, "--output", str(output), *options)

    assert done.returncode == 0, done.stderr
    found = results.read(output)
    assert set(found.skipped) <= {"pocl"}  # with the reason; it is not everywhere
    expected = {
        (who, name)
        for who in ids.LAYERS + ids.PEERS
        for name in ids.ids_of(who, backend)
        if who not in found.skipped and (not wanted or name in wanted)
    }
    assert found.runs.keys() == expected
    assert bool(found.latencies) is not bool(wanted)
    summary = json.loads(output.read_text(encoding="utf-8"))["summary"]
    assert set(summary["benchmarks"]) == {name for _, name in expected}


@pytest.mark.full
def test_smoke_run_of_the_bindings_has_a_result_for_every_contestant(load: Any, tmp_path: Path, run: Run) -> None:
    output = tmp_path / "results.json"

    done = run(str(DIRECTORY / "binding.py"), "--smoke", "--output", str(output))

    assert done.returncode == 0, done.stderr
    contestants, ids = load("bench_binding").CONTESTANTS, load("bench_binding").IDS
    names = pyperf.BenchmarkSuite.load(str(output)).get_benchmark_names()
    assert {f"{layer}/{name}" for layer in ("c", "facade") for name in ids} <= set(names)
    skipped = set(re.findall(r"^(\w+) is skipped: ", done.stderr, re.MULTILINE))
    assert {name.partition("/")[0] for name in names} == set(contestants) - skipped
    assert skipped <= {"cuda_core"}


def test_smoke_run_of_the_first_use_has_a_time_for_every_step(load: Any, tmp_path: Path, run: Run) -> None:
    done = run(str(DIRECTORY / "first_use.py"), "--smoke")

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.rpartition(": ")[0] for line in lines] == [step for step, _ in load("first_use").STEPS]
    assert all(float(line.rpartition(": ")[2].split()[0]) > 0 for line in lines)


@pytest.mark.full
def test_what_needs_a_compiler_is_left_out_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bench: Run
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setenv("CXX", "no-such-compiler++")
    output = tmp_path / "results.json"

    done = bench(
        *("--smoke", "--backend", "sim", "--output", str(output)),
        *("--ids", "record_wait_synchronize", "launch_kernel"),
    )

    assert done.returncode == 0, done.stderr
    found = results.read(output)
    left_out = {"c": "'no-such-compiler'", "threads_cpp": "'no-such-compiler++'", "raw/launch_kernel": "variable CC"}
    assert {what for what, text in left_out.items() if text in found.skipped[what]} == set(left_out)
    assert {("raw", "record_wait_synchronize"), ("threads_python", "record_wait_synchronize")} <= found.runs.keys()
    assert not {who for who, _ in found.runs} & {"c", "threads_cpp"}


@pytest.mark.full
def test_a_program_that_fails_is_named_with_what_it_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bench: Run
) -> None:
    (tmp_path / "cc").write_text("#!/bin/sh\necho out of order >&2\nexit 7\n", encoding="utf-8")
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("CC", str(tmp_path / "cc"))

    done = bench("--smoke", "--backend", "sim", "--ids", "event_record")

    assert done.returncode == 1
    assert re.search(rf"^c: failed with status 7: {tmp_path}/cc .*\nout of order$", done.stdout, re.MULTILINE)
    assert done.stderr == "ascend-rt: no result: c/event_record\n"


@pytest.mark.full
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the look-alike is an ELF library")
def test_what_the_library_does_not_have_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bench: Run
) -> None:
    content = sim.library_path().read_bytes()
    for name in (b"aclsim", b"aclrtMemPoolMallocAsync\0"):  # without the first ones it is not a simulator
        content = content.replace(b"\0" + name, b"\0b" + name[1:])
    (tmp_path / "libascendcl.so").write_bytes(content)
    monkeypatch.setenv("ASCEND_RT_LIBRARY", str(tmp_path / "libascendcl.so"))

    done = bench(
        *("--smoke", "--backend", "cann", "--output", "results.json"),
        *("--ids", "event_record", "pool_malloc_free_4MiB"),
    )

    assert done.returncode == 0, done.stderr
    found = results.read(tmp_path / "results.json")
    assert found.runs.keys() == {(who, "event_record") for who in ids.LAYERS}
    reason = "the library has no aclrtMemPoolMallocAsync"
    assert found.skipped == {f"{who}/pool_malloc_free_4MiB": reason for who in ("c", "raw", "facade")}


# --- files and comparisons -------------------------------------------------------------------------------------------


def measured(**values: list[float]) -> results.Results:
    found = results.Results("sim")
    for name, seconds in values.items():
        found.add("c", name, 1000, seconds)
    return found


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    written = measured(event_record=[3e-8, 1e-8, 2e-8])
    written.latencies = {"record": {"host": {"p50": 100}}}
    written.machine = {"processor": "fast"}
    written.warnings = ["turbo is on"]
    written.skipped = {"pocl": "not there"}

    results.write(written, tmp_path / "results.json")
    read = results.read(tmp_path / "results.json")

    assert read.values("c", "event_record") == [1e-8, 2e-8, 3e-8]
    assert (read.latencies, read.machine, read.warnings, read.skipped) == (
        written.latencies,
        written.machine,
        written.warnings,
        written.skipped,
    )


@pytest.mark.parametrize(
    ("calm", "disturbed", "counted"), [([1.0] * 2, [9.0] * 8, [1.0] * 2), ([1.0], [9.0] * 8, [1.0, *[9.0] * 8])]
)
def test_disturbed_samples_count_where_there_are_hardly_any_others(
    calm: list[float], disturbed: list[float], counted: list[float]
) -> None:
    found = results.Results("sim")
    found.add("c", "event_record", 1000, calm, disturbed)

    assert found.values("c", "event_record") == counted
    assert (found.disturbed, found.left_out) == ((8, 0) if 9.0 in counted else (0, 8))
    (noise,) = (section for section in report.sections(found) if section.heading == "Noise")
    assert noise.items[0].startswith(f"of {len(calm) + 8} samples in C and C++, {found.left_out} were disturbed")


def test_a_file_does_not_name_the_host(tmp_path: Path) -> None:
    results.write(measured(event_record=[1e-8]), tmp_path / "results.json")

    assert platform.node() not in (tmp_path / "results.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["{}", "[]", "no JSON"])
def test_another_file_is_refused(tmp_path: Path, text: str, bench: Run) -> None:
    (tmp_path / "other.json").write_text(text, encoding="utf-8")

    done = bench("--read", "other.json")

    assert done.returncode == 1
    assert done.stderr.startswith("ascend-rt: other.json ")


def test_a_difference_is_noise_while_the_middle_halves_overlap() -> None:
    before = measured(event_record=[1, 2, 3, 4], stream_wait_event=[1, 2, 3, 4], call_floor=[1, 1, 1, 1])
    after = measured(event_record=[2, 3, 4, 5], stream_wait_event=[4, 5, 6, 7], copy_async_1MiB=[1, 1, 1, 1])

    found = {it.name: (it.ratio, it.is_noise) for it in comparison.differences(before, after)}

    assert found == {"c/event_record": (1.4, True), "c/stream_wait_event": (2.2, False)}


def test_compare_prints_ratios_and_succeeds_whatever_they_are(tmp_path: Path, bench: Run) -> None:
    results.write(measured(event_record=[1e-8] * 4), tmp_path / "before.json")
    results.write(measured(event_record=[4e-8] * 4), tmp_path / "after.json")

    done = bench("--compare", "before.json", "after.json")

    assert done.returncode == 0, done.stderr
    assert re.search(r"c/event_record +10 ns +40 ns +4.00 +slower", done.stdout)


def test_report_has_a_plot_for_what_was_measured(tmp_path: Path, bench: Run) -> None:
    pytest.importorskip("matplotlib")
    names = {f"task_{n}_stream{'s' * (n > 1)}": [n * 1e-8] * 4 for n in ids.STREAMS}
    results.write(measured(**names), tmp_path / "results.json")
    outputs = [
        word for name in ("performance.md", "performance.html", "performance.png") for word in ("--output", name)
    ]

    done = bench("--read", "results.json", *outputs)

    assert done.returncode == 0, done.stderr
    page = (tmp_path / "performance.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\((performance/\w+\.svg)\)", page))
    assert shown == {"performance/medians.svg", "performance/streams.svg"}
    written = {str(path.relative_to(tmp_path)) for path in (tmp_path / "performance").iterdir()}
    assert written == {*shown, "performance/figures.csv"}
    assert (tmp_path / "performance.html").read_text(encoding="utf-8").count("<svg") == len(shown)
    assert (tmp_path / "performance.png").read_bytes().startswith(b"\x89PNG")


def test_performance_page_is_made_from_its_figures() -> None:
    docs = ROOT / "docs"
    plots = {path.stem: path.name for path in (docs / "performance").glob("*.svg")}

    found = results.read(docs / "performance.json")
    made = report.markdown(found, plots, "performance")

    again = "ascend-rt bench --read docs/performance.json --output docs/performance.md"
    assert (docs / "performance.md").read_text(encoding="utf-8") == made, again
    assert (docs / "performance" / "figures.csv").read_text(encoding="utf-8") == headlines.figures(found), again


def test_the_page_begins_with_five_figures_and_a_chart() -> None:
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    begin, _, _ = page.partition("\n## ")
    assert len(re.findall(r"^\| \w", begin, re.MULTILINE)) == 5
    assert begin.rstrip().endswith("![calls](performance/calls.svg)")


def test_every_chart_names_the_library_and_follows_the_theme() -> None:
    charts = list((ROOT / "docs" / "performance").glob("*.svg"))
    assert {chart.stem for chart in charts} == {
        *("calls", "medians", "latencies", "streams", "threads", "batches", "sizes")
    }
    for chart in charts:
        text = chart.read_text(encoding="utf-8")
        assert ">simulator, AMD EPYC, 2 processors<" in text, chart
        assert "@media (prefers-color-scheme:dark)" in text, chart
        assert "fill: #ffffff" not in text, chart


def test_figures_have_a_row_for_each_layer_and_latency() -> None:
    found = measured(event_record=[1e-8, 2e-8, 4e-8])
    found.latencies = {"record": {"host": {"p50": 100, "p99": 200, "min": 90}}}

    assert headlines.figures(found).splitlines() == [
        "benchmark,layer,median_ns,p99_ns,best_ns,values",
        "event_record,c,20,40,10,3",
        "latency_record,host,100,200,90,",
    ]


@pytest.mark.parametrize(
    ("name", "quick", "slow"),
    [
        ("spell_record_keyword", 129e-9, 136e-9),  # 100 ns, and 35 more
        ("spell_copy_keyword", 259e-9, 261e-9),  # 1.3 times 200 ns
        ("spell_record_new", 249e-9, 251e-9),
        ("spell_copy_slices", 369e-9, 371e-9),  # ready parts, and 150 ns
    ],
)
def test_a_spelling_has_the_goal_of_what_it_does(name: str, quick: float, slow: float) -> None:
    def verdict(seconds: float) -> str:
        found = results.Results("sim")
        times = {"spell_record_position": 100e-9, "spell_copy_position": 200e-9, "spell_copy_parts": 220e-9}
        for each, value in {**times, name: seconds}.items():
            found.add("facade", each, 1000, [value])
        rows = {row[0]: row[-1] for row in results.spellings_table(found)[1]}
        return rows[f"`{next(each.code for each in results.SPELLINGS if each.id == name)}`"]

    assert [verdict(quick), verdict(slow)] == ["met", "not met"]


def test_every_goal_of_a_spelling_is_of_one_that_exists() -> None:
    names = {each.id for each in spellings.SPELLINGS}
    assert set(spellings._GOALS) <= names
    assert {f"{each.operation}_{each.goal.than or each.name}" for each in spellings.SPELLINGS} <= names


def test_the_headlines_are_those_that_were_measured() -> None:
    found = measured(event_record=[2e-8])
    found.add("facade", "event_record", 1000, [7e-8])

    assert headlines.headlines(found)[1] == [
        ["a record, from Python", "70 ns, in C 20 ns"],
        ["additional time of the facade for a call in C", "50 ns to 50 ns"],
    ]


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path: Path, bench: Run) -> None:
    done = bench("--smoke", "--backend", "sim", "--output", "nowhere/results.json")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("ascend-rt: cannot write nowhere/results.json: ")


# --- the machine -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text", "warning"),
    [
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n", "the frequency governor is powersave"),
        ("sys/devices/system/cpu/cpufreq/boost", "1\n", "turbo is on"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n", "turbo is on"),
        ("proc/cpuinfo", "processor : 0\nflags\t\t: fpu hypervisor vme\n", "this is a virtual machine"),
    ],
)
def test_a_noisy_setting_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, text: str, warning: str
) -> None:
    monkeypatch.setattr(machine, "_processors", lambda: 2)
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(text, encoding="utf-8")

    assert [found.startswith(warning) for found in machine.warnings(tmp_path, load=0)] == [True]


@pytest.mark.parametrize(("processors", "load", "count"), [(1, 0.0, 1), (2, 0.0, 0), (2, 1.9, 1), (64, 1.9, 0)])
def test_few_processors_and_other_work_are_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: int, load: float, count: int
) -> None:
    monkeypatch.setattr(machine, "_processors", lambda: processors)

    assert len(machine.warnings(tmp_path, load)) == count


# --- counts of instructions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("counted", "is_far"), [(1050, False), (1051, True), (950, False), (949, True)])
def test_a_count_may_be_five_percent_away(load: Any, counted: int, is_far: bool) -> None:
    far = load("instructions").compare({"c": {"event_record": counted}}, {"c": {"event_record": 1000}})

    assert far == ([f"c: event_record 1000 -> {counted}"] if is_far else [])


def test_a_compiler_without_recorded_counts_is_reported_and_not_compared(
    load: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert load("instructions").compare({"c, cc 99": {"event_record": 1}}, {"c, cc 12": {"event_record": 1000}}) == []
    assert "c, cc 99: nothing is recorded" in capsys.readouterr().out


def test_all_paths_are_recorded(load: Any) -> None:
    instructions = load("instructions")
    recorded = json.loads(instructions.RECORDED.read_text(encoding="utf-8"))

    assert {where.partition(",")[0] for where in recorded} == {"c", "facade"}
    assert all(list(counts) == list(instructions.PATHS) for counts in recorded.values())
