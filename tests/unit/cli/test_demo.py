# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt demo`` as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.programs_in_forks import Ended, Programs

from ascend_rt.cli import demo, modelled_card, timeline
from ascend_rt.cli.terminal import CommandError

RunDemo = Callable[..., Ended]


@pytest.fixture
def run_demo(programs: Programs) -> RunDemo:
    """Return a function that runs the command in a directory."""

    def run(*arguments: str, cwd: Path, **environment: str) -> Ended:
        return programs.run("-m", "ascend_rt", "demo", *arguments, directory=cwd, variables=environment)

    return run


SIZES = [4095, (1 << 20) - 1, 1 << 20, (1 << 20) + 1]


@pytest.mark.parametrize("size", [1, (5 << 20) + 17, *(pytest.param(size, marks=pytest.mark.full) for size in SIZES)])
def test_any_file_comes_back(size: int, tmp_path: Path, backend: str, run_demo: RunDemo) -> None:
    file = tmp_path / "any"
    file.write_bytes(os.urandom(size))
    ended = run_demo(str(file), "--backend", backend, "--json", "--chunk-mib", "1", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    report = json.loads(ended.stdout)
    assert report["passed"]
    assert report["bytes"] == size
    assert report["chunks"] == -(-size // (1 << 20))
    assert set(report["stage_ms"]) == set(demo.STAGES)
    assert set(report["latency_us"]) == {"record", "wait", "synchronize"}
    assert report["backend"] == backend


def test_the_default_file_and_the_text(tmp_path: Path, run_demo: RunDemo) -> None:
    ended = run_demo(cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    for part in ("library", "device", "moved", "device to device", "median", "PASS"):
        assert part in ended.stdout
    assert "268435456 bytes" in ended.stdout
    assert ended.stderr == ""


def test_a_wrong_byte_is_a_failure_that_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "any"
    file.write_bytes(bytes(3 << 20))

    class Broken(demo._Slot):
        def first_difference(self) -> int | None:
            if self.offset == 1 << 20:
                self.received[5] = 99
            return super().first_difference()

    monkeypatch.setattr(demo, "_Slot", Broken)
    printed: list[str] = []
    monkeypatch.setattr("builtins.print", printed.append)
    assert demo.run(str(file), chunk_bytes=1 << 20) == 1
    assert f"FAIL      the byte at {(1 << 20) + 5} came back different" in printed[0]


# The copies of the stages, their records, and the tasks of the latency's measurement behind them.
@pytest.mark.parametrize("nth", [1, 500, *(pytest.param(nth, marks=pytest.mark.full) for nth in range(2, 14))])
@pytest.mark.simulator("faults")
def test_a_task_that_fails_is_named_and_not_waited_for(nth: int, tmp_path: Path, run_demo: RunDemo) -> None:
    file = tmp_path / "any"
    file.write_bytes(bytes(4096))
    ended = run_demo(str(file), "--backend", "sim", cwd=tmp_path, ASCEND_RT_SIM_FAULTS=f"task:*:{nth}=507015")
    assert ended.returncode == 1
    assert "PASS" not in ended.stdout
    assert "507015 ACL_ERROR_RT_AICORE_EXCEPTION" in ended.stderr
    assert "failed: task" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_trace_has_every_copy_in_its_order(tmp_path: Path, run_demo: RunDemo) -> None:
    file, trace = tmp_path / "any", tmp_path / "trace.json"
    file.write_bytes(os.urandom(5 << 20))
    ended = run_demo(str(file), "--backend", "sim", "--chunk-mib", "1", "--trace", str(trace), cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    events = [event for event in json.loads(trace.read_text(encoding="utf-8"))["traceEvents"] if event["ph"] == "X"]
    for number in range(5):
        steps = [event for event in events if event["name"] == f"chunk {number}"]
        assert [step["cat"] for step in steps] == list(demo.STAGES)
        assert all(step["dur"] >= 0 for step in steps)
        ends = [step["ts"] + step["dur"] for step in steps]
        assert all(later["ts"] >= end - 1 for end, later in zip(ends, steps[1:], strict=False))  # a clock of 20 ns


def test_no_chunk_looks_like_the_one_before() -> None:
    source, chunks = demo._RandomBytes(9 << 20), [bytearray(4 << 20) for _ in range(3)]
    assert [source.readinto(memoryview(chunk)) for chunk in chunks] == [4 << 20, 4 << 20, 1 << 20]
    assert len({bytes(chunk[: 1 << 20]) for chunk in chunks}) == 3


def test_the_picture_shows_who_works_when() -> None:
    chunks = [
        [timeline.Span("in", 0, 10), timeline.Span("out", 10, 20)],
        [timeline.Span("in", 10, 20), timeline.Span("out", 20, 64)],
    ]
    first, second, ruler = timeline.draw(chunks)
    assert first.split("|")[1] == "0" * 10 + "1" * 10 + " " * 44
    assert second.split("|")[1] == " " * 10 + "0" * 10 + "1" * 44
    assert ruler.endswith("64.0 ms")


@pytest.mark.parametrize("columns", [40, 60])
def test_the_picture_fits_a_narrow_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_rt.cli.terminal.width", lambda: columns)
    lines = timeline.draw([[timeline.Span("device to device", 0, 10), timeline.Span("device to host", 10, 20)]])
    assert max(map(len, lines)) == columns


def test_a_picture_of_one_short_copy() -> None:
    assert timeline.draw([[timeline.Span("in", 1, 1)]])[0].split("|")[1][0] == "0"


def test_bad_files(tmp_path: Path, run_demo: RunDemo) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "directory").mkdir()
    for name, message in {
        "missing": "does not exist; name an existing file",
        "empty": "is empty",
        "directory": "is a directory; name a file",
    }.items():
        ended = run_demo(str(tmp_path / name), "--backend", "sim", cwd=tmp_path)
        assert ended.returncode == 1
        assert message in ended.stderr
        assert "Traceback" not in ended.stderr


def test_a_trace_in_a_directory_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no such directory; create .*nodir$"):
        demo.run(None, trace=str(tmp_path / "nodir" / "trace.json"))


@pytest.mark.parametrize(("backend", "cause"), [("sim", "share processors and memory bandwidth"), ("cann", "a link")])
def test_no_overlap_is_explained_before_its_figure(backend: str, cause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASCEND_RT_SIM_PROFILE", raising=False)
    monkeypatch.setattr(modelled_card, "run", lambda: 1.25)
    first, second = demo._overlap(0.87, backend)
    more = demo._modelled(0.87, backend)
    assert [line.split()[:4] for line in more[:1]] == ([["modelled", "at", "most", "1.25"]] if backend == "sim" else [])
    assert demo._modelled(1.5, backend) == []
    monkeypatch.setenv("ASCEND_RT_SIM_PROFILE", "report.json")  # the figure is that of a profile
    assert demo._modelled(0.87, backend) == []
    assert first.startswith("overlap   none: ")
    assert cause in first
    assert "0.87" in second
    assert demo._overlap(1.5, backend) == ["overlap   1.50 times as fast as one step after the other"]


@pytest.mark.simulator("internals", "about a profile of the simulator")
def test_copies_to_a_modelled_card_take_what_the_model_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_RT_SIM_FAULTS", "task:*:1=507015")  # not for this run
    monkeypatch.setattr(modelled_card, "_SECONDS", 120)
    reports: list[dict[str, Any]] = []
    monkeypatch.setattr(modelled_card, "_read", reports.append)
    modelled_card.run()
    cost_ms = reports[0]["bytes"] / (modelled_card.CARD_BYTES_PER_US / modelled_card.SLOWDOWN) / 1e3
    assert all(reports[0]["stage_ms"][stage] > 0.99 * cost_ms for stage in ("host to device", "device to host"))


@pytest.mark.parametrize(("slower", "kept_up"), [(1.0, True), (1.2, True), (1.3, False)])
def test_the_model_counts_if_its_copies_took_what_they_cost(slower: float, kept_up: bool) -> None:
    cost_ms = 1e9 / (modelled_card.CARD_BYTES_PER_US // modelled_card.SLOWDOWN) / 1e3
    copies = {"host to device": slower * cost_ms, "device to host": slower * cost_ms}
    stages = {**copies, "device to device": slower * cost_ms / 4}
    gain = modelled_card._read({"bytes": 10**9, "chunks": 10, "stage_ms": stages})  # 2.25 / (1 + 1.25 / 10)
    assert gain == (pytest.approx(2.0) if kept_up else None)
    first, *_ = modelled_card.in_words(gain)
    assert ("2.00 times" in first) == kept_up
    assert ("too busy" in first) != kept_up


def test_a_host_that_cannot_finish_the_model_is_too_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modelled_card, "_SECONDS", 0.001)
    assert modelled_card.run() is None


def test_a_modelled_run_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modelled_card, "profile", lambda: {"profile": {"format": 99}})
    with pytest.raises(CommandError, match=r"the run on a modelled card failed: .*format"):
        modelled_card.run()


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may read anything, so the answer of the system is what is replaced.
    file = tmp_path / "secret"
    file.write_bytes(b"x")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="cannot be read; check its permissions"):
        demo.run(str(file))


@pytest.mark.parametrize(
    ("arguments", "environment", "message"),
    [
        (("--backend", "gpu"), {}, "--backend expects one of auto, cann, sim, got 'gpu'"),
        (("--chunk-mib", "0"), {}, "--chunk-mib expects an integer from 1 to 1024, got '0'"),
        ((), {"ASCEND_RT_BACKEND": "gpu"}, "ASCEND_RT_BACKEND=gpu is not one of auto, cann, sim"),
        (
            (),
            {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": "/nowhere/libascendcl.so"},
            "no such directory: /nowhere",
        ),
        ((), {"ASCEND_RT_SIM_PRODUCT": "A100"}, "ASCEND_RT_SIM_PRODUCT=A100 is not one of 910B"),
        ((), {"ASCEND_RT_SIM_DEVICES": "many"}, "ASCEND_RT_SIM_DEVICES=many is not a whole number"),
    ],
)
@pytest.mark.simulator("internals")
def test_bad_settings(
    arguments: tuple[str, ...], environment: dict[str, str], message: str, tmp_path: Path, run_demo: RunDemo
) -> None:
    ended = run_demo(*arguments, cwd=tmp_path, **environment)
    assert ended.returncode in (1, 2)
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_source_tree_gets_a_sentence(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[3]
    copy = tmp_path / "ascend_rt"
    copy.mkdir()
    (copy / "_startup").mkdir()
    for name in ("__init__.py", "__main__.py", "_startup/__init__.py", "_startup/source_tree.py"):
        (copy / name).write_bytes((root / "ascend_rt" / name).read_bytes())
    # -S: the hook of an editable install would find the package all the same.
    command = [sys.executable, "-S", "-m", "ascend_rt", "demo"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert ended.returncode == 1
    assert "is the source of ascend_rt, not the installed package" in ended.stderr
    assert "Traceback" not in ended.stderr
