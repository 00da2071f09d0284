# SPDX-License-Identifier: Apache-2.0
"""Profiles of the facade: tables, time lines, ranges and marks."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.interruptions import interruptions

from ascend_rt import AclError, Buffer, Device, Event, Stream, WrongState, fill_async, lib, mark, profile, profiling
from ascend_rt.profiling import Profile, read_profile

pytestmark = pytest.mark.simulator("internals", "a device's profile is raw data, which msprof makes these files of")


def test_a_profile_has_tasks_ranges_and_marks(device: Device, stream: Stream) -> None:
    memory = Buffer(64)
    with profile() as seen:
        with profiling.range("outer"), profiling.range("inner"):
            fill_async(memory, 1, stream)
        mark("loaded")
        mark("computed", stream)
    assert [task.kind for task in seen.tasks] == ["MEMSET"]
    assert [task.device for task in seen.tasks] == [device.id]
    ranges = {part.name: part for part in seen.ranges}
    assert {name: part.kind for name, part in ranges.items()} == {
        "outer": "push/pop",
        "inner": "push/pop",
        "loaded": "marker",
        "computed": "marker_ex",
    }
    assert ranges["outer"].start_us <= ranges["inner"].start_us
    assert ranges["outer"].duration_us >= ranges["inner"].duration_us > ranges["loaded"].duration_us == 0
    assert (ranges["computed"].stream, ranges["computed"].thread) == (stream.id, None)
    assert ranges["inner"].thread == threading.get_native_id()
    kinds = {event["name"]: event["ph"] for event in seen.trace}
    assert kinds["aclrtMemsetAsync"] == kinds["inner"] == kinds["MEMSET"] == "X"
    assert kinds["loaded"] == kinds["computed"] == "i"


def test_the_end_waits_for_the_work(stream: Stream) -> None:
    with profile(calls=False) as seen:
        for _ in range(3):
            fill_async(Buffer(1 << 20), 1, stream)
    assert [task.kind for task in seen.tasks].count("MEMSET") == 3
    assert not [event for event in seen.trace if event["pid"] == -1]


def test_the_table_has_the_longest_first(stream: Stream) -> None:
    with profile() as seen, profiling.range("all"):
        for _ in range(2):
            fill_async(Buffer(64), 1, stream)
    rows = {row[0]: row for row in seen.table()}
    assert rows["MEMSET"][1:3] == ("MEMSET", 2)
    totals = [row[3] for row in seen.table()]
    assert totals == sorted(totals, reverse=True)
    lines = str(seen).splitlines()
    assert lines[0].split()[:3] == ["name", "kind", "number"]
    assert len(lines) == 1 + len(rows)
    assert len({len(line) for line in lines}) == 1


def test_the_files_stay_where_they_are_wanted(stream: Stream, tmp_path: Path) -> None:
    with profile(tmp_path / "prof") as seen:
        fill_async(Buffer(64), 1, stream)
    assert read_profile(tmp_path / "prof").tasks == seen.tasks
    (directory,) = (tmp_path / "prof").glob("PROF_*")
    assert read_profile(directory).trace == seen.trace
    seen.write_trace(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text(encoding="utf-8")) == seen.trace


def test_nothing_of_a_temporary_profile_is_left(stream: Stream, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with profile():
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_error_in_the_block_ends_the_profile(stream: Stream) -> None:
    with pytest.raises(KeyError), profile():
        raise KeyError
    with profile() as seen:
        pass
    assert isinstance(seen, Profile)


def test_there_is_one_profile_at_a_time(stream: Stream, tmp_path: Path) -> None:
    with profile(), pytest.raises(WrongState), profile(tmp_path):
        pass
    with profile(tmp_path):  # the refused one has ended nothing that is in its way
        pass


def test_other_devices_are_profiled_if_they_are_named(device: Device) -> None:
    with profile(devices=[device, Device(1)]) as seen, Device(1), Stream() as second:
        fill_async(Buffer(64), 1, second)
        second.synchronize()
    assert {task.device for task in seen.tasks} == {1}


def test_outside_of_a_profile_ranges_and_marks_do_nothing(stream: Stream) -> None:
    part = profiling.range("part")
    with part, part:
        mark("x")
        mark("x", stream)
    with profile() as seen:
        pass
    assert seen.ranges == []


def test_a_range_that_outlives_its_profile_is_left_out(stream: Stream) -> None:
    part = profiling.range("part")
    with profile() as seen:
        part.__enter__()
    part.__exit__(None, None, None)
    with profile() as again, part:
        pass
    assert seen.ranges == []
    assert [each.name for each in again.ranges] == ["part"]


def test_a_range_may_be_entered_in_several_threads(device: Device) -> None:
    part = profiling.range("part")

    def work() -> None:
        for _ in range(20):
            with profiling.range("own"), part:
                pass

    with profile(calls=False) as seen:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    names = [each.name for each in seen.ranges]
    assert (names.count("part"), names.count("own")) == (80, 80)


def test_a_range_that_began_before_the_profile_is_not_mixed_up_with_that_of_another_thread(device: Device) -> None:
    part = profiling.range("part")
    entered, profiling_began, left = threading.Event(), threading.Event(), threading.Event()

    def early() -> None:
        with part:
            entered.set()
            profiling_began.wait()

    def late() -> None:
        with profiling.range("outer"), part:
            profiling_began.set()
            left.wait()

    threads = [threading.Thread(target=early), threading.Thread(target=late)]
    threads[0].start()
    entered.wait()
    with profile(calls=False) as seen:
        threads[1].start()
        threads[0].join()
        left.set()
        threads[1].join()
    assert sorted(each.name for each in seen.ranges) == ["outer", "part"]


def test_a_range_whose_begin_is_interrupted_is_not_open(device: Device, override: Any) -> None:
    stamps: list[Any] = []
    pushed: list[Any] = []

    def noting(function: str, note: Any) -> None:
        def call(*arguments: Any) -> Any:
            result = in_c(*arguments)
            note(result, *arguments)
            return result

        in_c = override(function, call)

    noting("aclprofCreateStamp", lambda stamp: stamps.append(stamp))
    noting("aclprofDestroyStamp", lambda _, stamp: stamps.remove(stamp))
    noting("aclprofPush", lambda code, stamp: pushed.append(stamp))
    noting("aclprofPop", lambda code: pushed.pop())
    named = profiling.range("begun")
    with profile():
        for where in interruptions(named.__enter__):
            assert not stamps, where
            assert not pushed, where
        named.__exit__(None, None, None)
    assert not stamps


@pytest.mark.parametrize("name", ["x" * 127, "é" * 64, "a\0b"])
def test_a_name_that_a_range_cannot_have_is_named(name: str) -> None:
    with pytest.raises(ValueError, match="a name has at most 126 bytes and no character 0, got"):
        profiling.range(name)
    with pytest.raises(ValueError, match="a name has at most 126 bytes"):
        mark(name)


def test_a_mark_of_a_stream_needs_a_name_and_the_stream(stream: Stream) -> None:
    with pytest.raises(ValueError, match="needs a name"):
        mark("", stream)
    mark("x" * 155, stream)
    with pytest.raises(ValueError, match="at most 155"):
        mark("x" * 156, stream)
    other = Stream()
    with profile():
        with Event() as event:
            event.record(stream)
        Device(1).set_current()
        try:
            with pytest.raises(AclError, match="aclprofMarkEx"):
                mark("x", other)
        finally:
            Device(0).set_current()


def test_a_directory_without_a_profile_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no tables of a profile in .*: it has no directory PROF_"):
        read_profile(tmp_path)
    (tmp_path / "PROF_000001_x").mkdir()
    with pytest.raises(FileNotFoundError, match="msprof --export=on"):
        read_profile(tmp_path)


def test_a_damaged_file_is_named(tmp_path: Path, stream: Stream) -> None:
    with profile(tmp_path):
        fill_async(Buffer(64), 1, stream)
    (table,) = tmp_path.glob("PROF_*/*/task_time_*.csv")
    table.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="is not one of a profile: KeyError"):
        read_profile(tmp_path)


HEAD = "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)\n"


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """Return the directory for the files of a profile."""
    directory = tmp_path / "PROF_000001_x" / "mindstudio_profiler_output"
    directory.mkdir(parents=True)
    return directory


FOREIGN = {
    "bytes 0": ("task_time_1.csv", b"\0" * 100),
    "not text": ("task_time_1.csv", b"\xff\xfe" * 100),
    "an empty table": ("task_time_1.csv", b""),
    "a short row": ("task_time_1.csv", HEAD.encode() + b"0,a,b\n"),
    "a word for a number": ("task_time_1.csv", HEAD.encode() + b"0,a,b,x,1,1,1,1\n"),
    "a long field": ("task_time_1.csv", HEAD.encode() + b"0," + b"a" * 200_000 + b",b,1,1,1,1,1\n"),
    "an open quote": ("task_time_1.csv", HEAD.encode() + b'0,"a' * 70_000),
    "a short row of marks": ("msprof_tx_1.csv", b"message\nx\n"),
    "an empty time line": ("msprof_1.json", b""),
    "an object": ("msprof_1.json", b"{}"),
    "a string": ("msprof_1.json", b'"text"'),
    "events that are numbers": ("msprof_1.json", b"[1]"),
    "deep lists": ("msprof_1.json", b"[" * 100_000),
    "a time line that is not text": ("msprof_1.json", b"\xff" * 10),
}


@pytest.mark.parametrize(("name", "contents"), FOREIGN.values(), ids=list(FOREIGN))
def test_a_file_that_is_not_one_of_a_profile_is_refused(
    exported: Path, tmp_path: Path, name: str, contents: bytes
) -> None:
    (exported / name).write_bytes(contents)
    with pytest.raises(ValueError, match="is not one of a profile"):
        read_profile(tmp_path)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_refused_or_read(tmp_path_factory: pytest.TempPathFactory, contents: bytes) -> None:
    place = tmp_path_factory.getbasetemp() / "random profile"
    exported = place / "PROF_1" / "mindstudio_profiler_output"
    exported.mkdir(parents=True, exist_ok=True)
    (exported / "task_time_1.csv").write_bytes(HEAD.encode() + contents)
    (exported / "msprof_1.json").write_bytes(contents)
    with contextlib.suppress(ValueError):
        assert len(str(read_profile(place))) < 10_000


def test_what_has_no_end_is_not_read(exported: Path, tmp_path: Path) -> None:
    os.mkfifo(exported / "task_time_1.csv")
    (exported / "msprof_1.json").symlink_to("/dev/zero")
    assert read_profile(tmp_path).tasks == []


def test_a_name_does_not_disturb_the_table(exported: Path, tmp_path: Path) -> None:
    rows = "".join(f'0,"{name}",b,1,1,1,1,1\n' for name in ("a\x1b[2Jb", "c\nd", "e" * 100_000, "算子"))
    (exported / "task_time_1.csv").write_text(HEAD + rows, encoding="utf-8")
    lines = str(read_profile(tmp_path)).splitlines()
    assert len(lines) == 5
    assert {line.split()[0] for line in lines[1:]} == {"a\\x1b[2Jb", "c\\nd", "e" * 99 + "…", "算子"}
    assert max(map(len, lines)) < 200


def test_a_mark_may_have_any_bytes(stream: Stream) -> None:
    with profile() as seen:
        stamp = lib.aclprofCreateStamp()
        assert lib.aclprofSetStampTraceMessage(stamp, b"\xff\xfe", 2) == 0
        assert lib.aclprofMark(stamp) == 0
        lib.aclprofDestroyStamp(stamp)
    assert [part.name for part in seen.ranges] == ["fffe"]


def test_a_profile_has_nothing_of_earlier_ones_in_its_directory(stream: Stream, tmp_path: Path) -> None:
    for name in ("first", "second"):
        with profile(tmp_path) as seen, profiling.range(name):
            pass
        assert [part.name for part in seen.ranges] == [name]
    assert {part.name for part in read_profile(tmp_path).ranges} == {"first", "second"}


def test_the_program_may_change_its_directory(stream: Stream, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    with profile("prof") as seen, profiling.range("part"):
        os.chdir("other")
    assert [part.name for part in seen.ranges] == ["part"]
    assert read_profile(tmp_path / "prof").ranges == seen.ranges


def test_a_directory_may_have_any_name(stream: Stream, tmp_path: Path) -> None:
    with profile(os.fsdecode(bytes(tmp_path) + b"/\xff")) as seen, profiling.range("part"):
        pass
    assert [part.name for part in seen.ranges] == ["part"]


def test_a_directory_that_vanishes_is_named(stream: Stream, tmp_path: Path) -> None:
    with pytest.raises(AclError, match="cannot write") as caught, profile(tmp_path / "prof"):
        shutil.rmtree(tmp_path / "prof")
    assert caught.value.code == lib.ACL_ERROR_INVALID_FILE
    with profile():
        pass


def test_an_exception_of_a_signal_handler_leaves_nothing_started(
    device: Device, stream: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # an exception in the removal of a directory leaves it

    def profiled() -> None:
        with profile(), profiling.range("part"):
            pass

    profiled()
    for where in interruptions(profiled):
        assert lib.aclprofInit(b"/tmp", 4) == 0, where
        assert lib.aclprofFinalize() == 0


def test_a_path_that_is_a_file_is_refused(tmp_path: Path, stream: Stream) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AclError, match="cannot make the directory") as caught, profile(tmp_path / "file"):
        pass
    assert caught.value.code == lib.ACL_ERROR_INVALID_FILE
    with profile(tmp_path / "other"):
        pass
