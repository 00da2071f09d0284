# SPDX-License-Identifier: Apache-2.0
"""Findings as text: the words, the columns, and the places."""

from __future__ import annotations

import io
import os
import re
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from support import fake_findings as fake

from ascend_rt._check import findings, names, reading, text, words
from ascend_rt._check.frames import Frame
from ascend_rt._check.outcome import Outcome, Program

pytestmark = pytest.mark.simulator("independent")


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the program, in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.py"
    path.write_text(fake.TRAIN, encoding="utf-8")
    return path


def read(path: Path, *lines: fake.Line, **changed: Any) -> findings.Findings:
    directory = path.parent / "findings"
    directory.mkdir()
    fake.write(directory, [fake.BEGIN, *lines, fake.END])
    return reading.read(directory)


def lines_of(path: Path, *lines: fake.Line) -> list[str]:
    found = read(path, *lines)
    return words.lines((found.findings + found.hints)[0])


def test_a_race_names_both_accesses_the_reason_and_the_fix(train: Path) -> None:
    assert lines_of(train, fake.race(train)) == [
        "race: 4096 bytes of Buffer 3 (allocated train.py:14), read after write, not ordered",
        "  write  stream 2, task 14  copy_async  train.py:6 in load ← 15 in <module>",
        "  read   stream 3, task 9   copy_async  train.py:11 in step ← 16 in <module>",
        "  the wait at 10 is bound to the record at 5, before the write",
        "  fix: record on stream 2 after line 6, wait on stream 3 before line 11",
    ]


def test_a_tensor_is_named_and_a_backward_pass_has_the_line_of_the_forward_one(train: Path) -> None:
    race = fake.race(train)
    race["memory"] |= {"name": "float32[64, 128]", "made": fake.frames(train, "load")}
    race["first"] |= {"backward": True, "kernel": "aten::mm"}
    first, write, *_ = lines_of(train, race)
    assert first == "race: 4096 bytes of tensor float32[64, 128] (made train.py:15), read after write, not ordered"
    assert write == "  write  stream 2, task 14  kernel aten::mm  backward of train.py:6 in load ← 15 in <module>"


@pytest.mark.parametrize(
    ("access", "case", "expected"),
    [
        ("first", "event", "record on stream 2 after the backward pass of line 6, wait on stream 3 before line 11"),
        ("second", "event", "record on stream 2 after line 6, wait on stream 3 before the backward pass of line 11"),
        ("second", "synchronize", "synchronize stream 2 before the backward pass of line 11"),
    ],
)
def test_a_fix_names_the_backward_pass_which_is_later_than_the_line_whose_gradient_it_computes(
    train: Path, access: str, case: str, expected: str
) -> None:
    race = fake.race(train)
    race[access] |= {"backward": True}
    if case == "synchronize":
        race["fix"] = {"case": case, "stream": 2, "before": race["second"]["frames"]}
    assert lines_of(train, race)[-1] == f"  fix: {expected}"


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        (
            "first",
            "let stream 3 wait for the collective of line 6, by wait() of its work or a later record, before line 11",
        ),
        ("second", "record on stream 2 after line 6, wait on the current stream before line 11"),
    ],
)
def test_a_fix_names_no_stream_on_which_pytorch_runs_a_collective(train: Path, access: str, expected: str) -> None:
    race = fake.race(train)
    race["memory"] |= {"name": "float32[16]", "made": fake.frames(train, "load")}
    race[access] |= {"function": "HcclAllReduce", "kernel": ""}
    assert lines_of(train, race)[-1] == f"  fix: {expected}"


def test_a_wait_of_a_library_is_no_reason(train: Path) -> None:
    race = fake.race(train)
    race["why"] |= {"wait": ["/venv/lib/python3.11/site-packages/torch_npu/lib/libtorch_npu.so+0x1bc7a00"]}
    assert lines_of(train, race)[-2] == "  nothing orders the read after the write"


def test_a_fix_of_a_graph_with_a_backward_pass_goes_behind_the_launch(train: Path) -> None:
    race = fake.race(train)
    race["first"] |= {"backward": True, "launched": fake.frames(train, "load")}
    assert lines_of(train, race)[-1] == "  fix: record on stream 2 after line 6, wait on stream 3 before line 11"


def at(path: Path, name: str) -> dict[str, Any]:
    return {"frames": fake.frames(path, name)}


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("no_wait", "nothing orders the read after the write"),
        ("unbound_wait", "the wait at 10 is for an event that had no record, so it orders nothing"),
        ("ignored_wait", "the wait at 10 is ignored by the product, so it orders nothing"),
        ("not_synchronized", "the host did not synchronize with stream 2"),
        ("threads", "nothing orders the two threads of the host"),
        ("freed", "the call that frees the memory comes first"),
        ("reused", "the tensor was freed, and its memory given out again at 10, while stream 2 still used it"),
    ],
)
def test_every_reason_has_a_sentence(train: Path, case: str, expected: str) -> None:
    place = fake.frames(train, "wait")
    race = fake.race(train, why={"case": case, "wait": place, "given_out": place})
    assert lines_of(train, race)[3] == f"  {expected}"
    assert {"late_record", case} <= set(words.WHY)


@pytest.mark.parametrize(
    ("fix", "expected"),
    [
        ({"case": "synchronize", "stream": 2}, "synchronize stream 2 before line 16"),
        (
            {"case": "threads"},
            "let one thread wait for the other before line 16: by a join, a queue or an event",
        ),
        (
            {"case": "record_stream", "stream": 2},
            "call the tensor's record_stream, with stream 2, before it is freed",
        ),
        ({"case": "free_later", "stream": 2}, "synchronize stream 2 before the free at 16, or free later"),
        (
            {"case": "free_later", "stream": 2, "other_thread": True},
            "synchronize stream 2 before the free at 16, there or in a thread for which that one waits, or free later",
        ),
        (
            {"case": "synchronize", "stream": 2, "other_thread": True},
            "synchronize stream 2 before line 16, there or in a thread for which that one waits",
        ),
        (
            {"case": "free_after", "stream": 3, "device": 1},
            "free the memory after line 16, in stream 3 of device 1 or in one that waits for it",
        ),
        ({"case": "free_after"}, "free the memory after line 16"),
        (
            {"case": "notify", "record_stream": 3, "wait_stream": 2},
            "record a notify on stream 3 after line 16, let stream 2 wait for it before line 16, "
            "each time but the first",
        ),
    ],
)
def test_every_fix_has_a_sentence(train: Path, fix: dict[str, Any], expected: str) -> None:
    place = fake.frames(train, "step")
    found = lines_of(
        train, fake.race(train, fix=fix | dict.fromkeys(("before", "after", "record_after", "wait_before"), place))
    )
    assert found[-1] == f"  fix: {expected}"


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([{"record_stream": 3}, {"record_stream": 2}], "record on streams 2 and 3 after line 6, wait on stream 3"),
        ([{"wait_stream": 5}, {"wait_stream": 4}], "record on stream 2 after line 6, wait on streams 3, 4 and 5"),
        (
            [{"record_stream": 2, "record_device": 1}],
            "record on stream 2 and stream 2 of device 1 after line 6, wait on stream 3",
        ),
        (
            [{"record_stream": number} for number in range(4, 9)],
            "record on stream 2, stream 4, stream 5, stream 6 and others after line 6, wait on stream 3",
        ),
    ],
)
def test_a_fix_names_all_streams_that_have_the_race(train: Path, others: list[dict[str, Any]], expected: str) -> None:
    race = fake.race(train)
    counts = [{"kind": "count", "id": 1, "count": n, "fix": race["fix"] | it} for n, it in enumerate(others, 2)]
    assert lines_of(train, race | {"id": 1}, *counts)[-1] == f"  fix: {expected} before line 11"


def test_order_is_not_what_a_use_of_freed_memory_lacks(train: Path) -> None:
    race = fake.race(train, conflict="write after free", why={"case": "freed"})
    race["first"]["mode"] = "free"
    assert lines_of(train, race)[0] == "race: 4096 bytes of Buffer 3 (allocated train.py:14), write after free"


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("failed_wait", "without a limit that may be reached"),
        ("not_reset", "and reset the event before it is recorded again"),
    ],
)
def test_a_fix_names_what_order_needs_besides(train: Path, case: str, expected: str) -> None:
    race = fake.race(
        train, why={"case": case, "wait": fake.frames(train, "wait"), "record": fake.frames(train, "load")}
    )
    assert (
        lines_of(train, race)[-1]
        == f"  fix: record on stream 2 after line 6, wait on stream 3 before line 11, {expected}"
    )


def test_what_a_later_detector_adds_is_left_out(train: Path) -> None:
    race = fake.race(train, why={"case": "new"}, fix={"case": "new"}, more=1)
    found = read(train, {"kind": "new"}, race)
    assert len(words.lines(found.findings[0])) == 3


def test_an_access_of_the_host_names_its_thread(train: Path) -> None:
    host = {"mode": "read", "stream": None, "task": None, "thread": 4711, **at(train, "step")}
    assert (
        lines_of(train, fake.race(train, second=host))[2]
        == "  read   host, thread 4711  read        train.py:16 in <module>"
    )


def test_a_fix_is_where_two_calls_of_one_helper_differ(train: Path) -> None:
    helper = fake.frames(train, "write")
    race = fake.race(train)
    race["fix"] |= {
        "record_after": helper + fake.frames(train, "load"),
        "wait_before": helper + fake.frames(train, "step"),
    }
    assert lines_of(train, race)[-1] == "  fix: record on stream 2 after line 15, wait on stream 3 before line 16"


def test_a_fix_at_the_end_of_a_block_names_the_free(train: Path) -> None:
    """The line is that of the allocation, too."""
    race = fake.race(train)
    end = fake.frames(train, "allocation")
    race["second"] |= {"mode": "free", "frames": end}
    race["fix"]["wait_before"] = end
    assert lines_of(train, race)[-1] == "  fix: record on stream 2 after line 6, wait on stream 3 before the free at 14"


def test_frames_that_call_main_and_unknown_ones_are_left_out(train: Path) -> None:
    frames = ["an unknown place", "./program+0x1 in work", "./program+0x2 in main", "./start.c+0x3 in start"]
    race = fake.race(train)
    race["first"]["frames"] = frames
    assert lines_of(train, race)[1].endswith("  ./program+0x1 in work ← ./program+0x2 in main")


@pytest.mark.parametrize(
    ("starter", "lines"), [("/lib/multiprocessing/spawn.py", 1), ("/lib/site-packages/execnet/gateway_base.py", 2)]
)
def test_code_that_starts_a_process_is_left_out(train: Path, starter: str, lines: int) -> None:
    race = fake.race(train)
    started = [f"{starter}:7 in serve", *(f"<string>:{line} in <module>" for line in range(lines, 0, -1))]
    race["first"]["frames"] = [*fake.frames(train, "load"), *started]
    assert lines_of(train, race)[1].endswith("  train.py:15 in <module>")


def test_a_kernel_is_named(train: Path) -> None:
    race = fake.race(train)
    race["first"] |= {"function": "aclrtLaunchKernelWithHostArgs", "kernel": "vector_add"}
    assert lines_of(train, race)[1].startswith("  write  stream 2, task 14  kernel vector_add  train.py:6 in load")


def test_places_in_two_files_are_named_in_full(train: Path) -> None:
    other = train.parent / "other.py"
    other.write_text(fake.TRAIN, encoding="utf-8")
    second = fake.race(other)["second"]
    second["frames"].append(fake.frames(train, "step")[0])
    found = lines_of(train, fake.race(train, second=second))
    assert found[2].endswith("other.py:11 in step ← 16 in <module> ← train.py:16 in <module>")
    assert found[3] == "  the wait at train.py:10 is bound to the record at train.py:5, before the write"
    assert found[4].endswith("after train.py:6, wait on stream 3 before train.py:11")


def test_frames_of_libraries_are_left_out_where_the_user_has_some(train: Path) -> None:
    standard = f"{sysconfig.get_path('stdlib')}/threading.py:1 in run"
    inside = f"{Path(words.__file__).parents[1]}/stream.py:1 in wait"
    installed = f"{sysconfig.get_path('purelib')}/package/module.py:1 in call"
    race = fake.race(train)
    generated = ["<eval_with_key>.1:6 in forward", "<attrs generated init train.Loader>:3 in __init__"]
    header = "/usr/include/c++/12/bits/stl_numeric.h:141 in accumulate"
    race["first"]["frames"][:0] = [inside, installed, header, *generated]
    race["second"]["frames"] = [standard]
    found = lines_of(train, race)
    assert found[1].endswith("  copy_async        train.py:6 in load ← 15 in <module>")
    assert found[2].endswith("threading.py:1 in run")


@pytest.mark.parametrize(
    ("kind", "python", "native"),
    [
        ("device", "Buffer 3", "device memory 3"),
        ("pinned", "PinnedBuffer 3", "pinned memory 3"),
        ("pool", "PoolBuffer 3", "pool memory 3"),
        ("managed", "ManagedBuffer 3", "managed memory 3"),
        ("shared", "IpcMemory 3", "shared memory 3"),
        ("other", "other memory 3", "other memory 3"),
    ],
)
def test_names_of_memory(train: Path, kind: str, python: str, native: str) -> None:
    assert names.of_memory(kind, 3, in_python=True) == python
    assert names.of_memory(kind, 3, in_python=False) == native


def test_a_c_program_has_names_of_c_and_places_as_they_came(train: Path) -> None:
    race = fake.race(train)
    for part in ("memory", "first", "second"):
        race[part]["frames"] = [f"{train.parent}/program+0x1a2 in work", f"{train.parent}/program+0x2b3"]
    found = lines_of(train, race)
    assert found[0].startswith("race: 4096 bytes of device memory 3 (allocated program+0x1a2), ")
    assert found[1] == "  write  stream 2, task 14  aclrtMemcpyAsync  program+0x1a2 in work ← program+0x2b3"


def test_the_facades_name_is_used_where_the_line_has_it(train: Path) -> None:
    frame = Frame(str(train), fake.line_of("read"))
    assert names.of_call("aclrtMemcpyAsync", frame) == "copy_async"
    assert names.of_call("aclrtMemsetAsync", frame) == "aclrtMemsetAsync"
    assert names.of_call("aclrtMemcpyAsync", None) == "aclrtMemcpyAsync"
    assert names.of_call("aclsimNoteHostAccess", frame) == "numpy"


def test_a_deadlock_lists_its_waits(train: Path) -> None:
    assert lines_of(train, fake.deadlock(train)) == [
        "deadlock: 2 waits can never end",
        "  thread 4711                   waits for stream 2 of device 0  train.py:15 in <module>",
        "  stream 2 of device 0, task 5  waits for event 7               train.py:10 in step ← 16 in <module>",
    ]


def test_a_stream_that_runs_code_is_not_said_to_wait_for_it(train: Path) -> None:
    deadlock = fake.deadlock(train)
    deadlock["waits"][1]["waits_for"] = "runs a host function"
    assert "  stream 2 of device 0, task 5  runs a host function            train.py:10" in lines_of(train, deadlock)[2]


def test_the_chain_of_a_deadlock_is_not_said_twice(train: Path) -> None:
    said = "aclrtSynchronizeStream waits forever\n  stream 2 of device 0 waits\n  which waits for itself: a deadlock"
    found = lines_of(train, fake.deadlock(train, text=said))
    assert (found[0], found[3:]) == (
        "deadlock: aclrtSynchronizeStream waits forever",
        ["  which waits for itself: a deadlock"],
    )


def test_a_report_of_the_memory_check_has_relative_places(train: Path) -> None:
    said = f"aclrtMemset at {train}:6 in load uses 110 bytes (dst),\n  10 of them past the end"
    assert lines_of(train, {"kind": "memory", "id": 1, "text": said, "frames": fake.frames(train, "write")}) == [
        "memory: aclrtMemset at train.py:6 in load uses 110 bytes (dst),\n  10 of them past the end",
        "  at train.py:6 in load",
    ]


def test_a_hint_for_the_host_names_no_stream(train: Path) -> None:
    hint = fake.hint(train) | {"hint": "host_wait", "function": "aclrtSynchronizeStream", "stream": None}
    assert lines_of(train, hint)[1].startswith("  host  aclrtSynchronizeStream  train.py:10")


def outcome(found: findings.Findings, status: int = 0, hints: bool = False) -> Outcome:
    return Outcome(Program(["python", "train.py"], status), found, hints)


def test_a_whole_report(train: Path) -> None:
    note, unseen = {"kind": "note", "text": "a note"}, {"kind": "unseen", "text": "kernels without declared accesses"}
    found = read(train, fake.race(train), fake.hint(train), note, note, unseen, {"kind": "count", "id": 1, "count": 12})
    race = "\n".join(words.lines(found.findings[0]))
    assert race.startswith(
        "race: 4096 bytes of Buffer 3 (allocated train.py:14), read after write, not ordered, seen 12 times\n"
    )
    assert text.text(outcome(found)) == (
        f"{race}\n\nnote: a note\nunseen: kernels without declared accesses\n"
        "1 race in 1 process; 1 hint (--hints shows them)\n"
    )
    shown = text.text(outcome(found, hints=True)).split("\n\n")
    assert shown[1] == (
        "hint: the stream was ordered after this record already; the wait can be left out\n"
        "  stream 3  wait  train.py:10 in step"
    )
    assert shown[2].endswith("1 race in 1 process; 1 hint\n")


@pytest.mark.parametrize(
    ("status", "sentence"), [(3, "the program failed with status 3"), (-9, "the program was ended by SIGKILL")]
)
def test_the_end_of_a_failed_program_is_said(train: Path, status: int, sentence: str) -> None:
    report = text.text(outcome(read(train), status))
    assert report == f"note: {sentence}; findings of its rest are missing\nno findings in 1 process\n"


def test_a_deadlock_that_ends_the_program_is_a_finding_and_no_failure(train: Path) -> None:
    found = read(train, fake.deadlock(train))
    at_deadlock = outcome(found, 86)
    assert at_deadlock.status == 1
    assert "\nnote: the check ended the program at the deadlock; findings of its rest are missing\n" in text.text(
        at_deadlock
    )
    assert (outcome(found, 1).status, outcome(findings.Findings(), 86).status) == (2, 2)


def test_a_deadlock_that_is_ignored_is_no_failure_either(train: Path) -> None:
    found = read(train, fake.deadlock(train))
    found.findings, found.ignored = [], found.findings
    at_deadlock = outcome(found, 86)
    assert at_deadlock.status == 0
    assert at_deadlock.remarks == ["the check ended the program at the deadlock; findings of its rest are missing"]


def test_a_program_without_the_runtime(tmp_path: Path) -> None:
    assert text.text(outcome(reading.read(tmp_path))) == (
        "note: the program did not use the runtime, so there was nothing to check\nno findings\n"
    )


class Terminal(io.StringIO):
    """A terminal in a test."""

    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_alone(train: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    report = text.text(outcome(read(train, fake.race(train))))
    pipe, terminal = io.StringIO(), Terminal()
    text.write(report, pipe)
    text.write(report, terminal)
    assert pipe.getvalue() == report
    coloured = terminal.getvalue()
    assert "\x1b[1;31mrace\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == report


def test_the_text_is_the_same_without_rich(train: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    terminal = Terminal()
    text.write("a report\n", terminal)
    assert terminal.getvalue() == "a report\n"


def test_paths_above_the_working_directory_are_absolute(train: Path) -> None:
    assert Frame(str(train), 1).place == "train.py:1"
    assert Frame(os.path.dirname(train.parent) + "/x.py", 1).place == os.path.dirname(train.parent) + "/x.py:1"
