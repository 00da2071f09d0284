# SPDX-License-Identifier: Apache-2.0
"""Reports of ``ascend-rt verify``: where they go, and files that are none."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from support.verification import Verify

from ascend_rt_measure.verify.report import Report, load, write_json

pytestmark = pytest.mark.simulator("independent")


def test_a_report_replaces_the_file_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    write_json(tmp_path / "link", {"one": 1})
    assert (tmp_path / "link").is_symlink()
    assert json.loads((tmp_path / "file").read_text(encoding="utf-8")) == {"one": 1}


def test_a_report_replaces_no_device_or_pipe(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDWR)
    try:
        write_json(fifo, {"one": 1})
        assert json.loads(os.read(reader, 1000)) == {"one": 1}
        assert stat.S_ISFIFO(fifo.stat().st_mode)
    finally:
        os.close(reader)


def test_a_report_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_json(tmp_path / "directory", {"one": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["directory"]


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("soc", "Ascend910B4-1", "Ascend910B4-1"),
        ("soc", "Ascend910B1 /home/alice", None),
        ("soc", "node17.example.com", None),
        ("soc", "\ufffdAscend910B1", None),
        ("cann", "9.2.0-beta.1", "9.2.0-beta.1"),
        ("driver", "24.1.rc2.b030", "24.1.rc2.b030"),
        ("driver", "alice", None),
        ("cann", None, None),
    ],
)
def test_what_a_report_keeps_of_what_the_library_says(name: str, value: Any, kept: Any, tmp_path: Path) -> None:
    Report({name: value}, 1).save(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["library"] == {name: kept}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "not a report"),
        ("[1]", "not a report"),
        ('{"profile": {}}', "not a report"),
        ('{"ascend_rt_report": 7}', "format 7"),
        ("[" * 100_000, "not a report"),
        ('{"ascend_rt_report": NaN}', "NaN is not a number"),
        ('{"ascend_rt_report": 1e999}', "1e999 is not a number"),
        ('{"ascend_rt_report": 1}', "differs from what"),
        ('{"ascend_rt_report": 1, "groups": {"g02_init": {"stat": 1}}}', "differs from what"),
    ],
)
def test_a_file_that_is_no_report(verify: Verify, tmp_path: Path, content: str, text: str) -> None:
    (tmp_path / "it.json").write_text(content, encoding="utf-8")
    ended = verify("--compare", "it.json")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert text in ended.stderr
    assert "Traceback" not in ended.stderr


WHOLE = {
    "ascend_rt_report": 1,
    "library": {"backend": "cann", "cann": None, "api": None, "driver": None, "soc": None, "missing": []},
    "devices": 1,
    "allow_reset": False,
    "complete": True,
    "groups": {"g02_init": {"state": "done", "answers": [[0, []]], "fingerprint": "", "detail": ""}},
    "limits": {"streams": {"value": 1}},
    "latencies": {"fill_64": {"bytes": 64, "device": {"p50": 1}}},
}


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "ascend_rt_report"])
@pytest.mark.parametrize("value", [None, "x", 10**400, -1, [1], {"x": 1}])
def test_a_member_of_a_wrong_type(name: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"in {name}$"):
        load_of(WHOLE | {name: value}, tmp_path)


@pytest.mark.parametrize(
    ("name", "member", "value"),
    [
        ("library", "soc", 5),
        ("library", "cann", "8.5.0\0"),
        ("library", "missing", [5]),
        ("groups", "answers", [[0]]),
        ("groups", "answers", [[None, []]]),
        ("groups", "answers", [[0, ["x"]]]),
        ("groups", "answers", [["\033[2J", []]]),
        ("groups", "detail", "\ud800"),
        ("limits", "value", "nan"),
        ("latencies", "bytes", "64"),
        ("latencies", "device", {"p50": None}),
    ],
)
def test_a_wrong_type_further_down(name: str, member: str, value: Any, tmp_path: Path) -> None:
    content = json.loads(json.dumps(WHOLE))
    assert load_of(content, tmp_path).devices == 1
    owner = content[name] if name == "library" else next(iter(content[name].values()))
    owner[member] = value
    with pytest.raises(ValueError, match=f"in {name}$"):
        load_of(content, tmp_path)


@pytest.mark.parametrize("name", ["\ud800", "\033[2J"])
def test_a_name_that_cannot_be_printed(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"in limits$"):
        load_of(WHOLE | {"limits": {name: {"value": 1}}}, tmp_path)


def load_of(content: Any, directory: Path) -> Report:
    (directory / "it.json").write_text(json.dumps(content), encoding="utf-8")
    return load(directory / "it.json")
