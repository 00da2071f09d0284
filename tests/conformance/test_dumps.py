# SPDX-License-Identifier: Apache-2.0
"""Switches and configurations of dumps (dumps.md), in a new process each: a configuration is the process's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

REFUSED, REPEATED, INTERNAL, FAILURE = 100009, 100002, 500000, 500001

SET = """
    import json, os

    os.chdir(sys.argv[1])
    lib.aclInit(ffi.NULL)
    lib.aclmdlInitDump()
    codes = []
    for text in json.loads(sys.argv[2]):
        with open("dump.json", "w") as file:
            file.write(text)
        codes.append(lib.aclmdlSetDump(b"dump.json"))
    reported(codes)
"""

PLACE = {"dump_path": "."}
MODEL = {**PLACE, "dump_list": [{"model_name": "m"}]}

ACCEPTED = [
    {},
    {"dump": {}},
    {"dump": {**PLACE, "dump_list": [{}], "dump_op_switch": "on", "dump_data": "stats", "dump_stats": ["Max", "Nan"]}},
    {"dump": {**MODEL, "dump_mode": "input", "dump_level": "op", "dump_step": "0|3-5|7"}},
    {"dump": {**MODEL, "dump_path": "127.0.0.1:/somewhere"}},
    {"dump": {**MODEL, "dump_kernel_data": "printf,assert"}},
    {"dump": {"dump_scene": "lite_exception", "dump_path": "/not/there"}},
    {"dump": {**PLACE, "dump_scene": "watcher", "dump_list": [{"watcher_nodes": ["C"], "layer": ["A"]}]}},
    {"dump": {**PLACE, "dump_level": "op", "dump_list": [{"optype_blacklist": [{"name": "x", "pos": ["input0"]}]}]}},
    {
        "dump": {
            **PLACE,
            "dump_level": "op",
            "dump_list": [{"model_name": "m", "opname_range": [{"begin": "a", "end": "b"}]}],
        }
    },
]
NOT_ACCEPTED = [
    {"dump": []},
    {"dump": {"dump_list": []}},
    {"dump": {**MODEL, "dump_path": ""}},
    {"dump": {**MODEL, "dump_path": "./dump.json"}},
    {"dump": {**MODEL, "dump_path": "x" * 513}},
    {"dump": {**MODEL, "dump_path": "300.0.0.1:/x"}},
    {"dump": {**MODEL, "dump_mode": 1}},
    {"dump": {**MODEL, "dump_mode": ""}},
    {"dump": {**MODEL, "dump_kernel_data": "printf,x"}},
    {"dump": {**MODEL, "dump_step": "a"}},
    {"dump": {**MODEL, "dump_step": "5-3"}},
    {"dump": {**MODEL, "dump_step": "1-2-3"}},
    {"dump": {**MODEL, "dump_step": "|".join("1" for _ in range(101))}},
    {"dump": {**MODEL, "dump_stats": ["Max"]}},
    {"dump": {**MODEL, "dump_stats": [], "dump_data": "stats"}},
    {"dump": {**MODEL, "dump_debug": "on", "dump_op_switch": "on"}},
    {"dump": {"dump_scene": "aic_err_brief_dump", "dump_op_switch": "on"}},
    {"dump": {**PLACE, "dump_scene": "watcher"} | {"dump_mode": "input"}},
    {"dump": {**PLACE, "dump_list": {}}},
    {"dump": {**PLACE, "dump_list": ["m"]}},
    {"dump": {**PLACE, "dump_list": [{"model_name": ""}]}},
    {"dump": {**PLACE, "dump_list": [{"layer": []}]}},
    {"dump": {**PLACE, "dump_list": [{"layer": [1]}]}},
    {"dump": {**PLACE, "dump_list": [{"watcher_nodes": ["C"]}]}},
    {"dump": {**PLACE, "dump_scene": "watcher", "dump_list": [{"model_name": "m", "watcher_nodes": ["C"]}]}},
    {"dump": {**PLACE, "dump_list": [{"optype_blacklist": [{"name": "x"}]}]}},
    {"dump": {**PLACE, "dump_level": "op", "dump_list": [{"opname_blacklist": [{}] * 101}]}},
    {"dump": {**PLACE, "dump_level": "op", "dump_list": [{"opname_range": [{"begin": "a", "end": "b"}]}]}},
    {"dump": {**PLACE, "dump_level": "op", "dump_list": [{"model_name": "m", "opname_range": [{"begin": "a"}]}]}},
]


@pytest.mark.parametrize(
    ("configurations", "code"), [(ACCEPTED, 0), (NOT_ACCEPTED, REFUSED)], ids=["accepted", "refused"]
)
def test_configurations(child: Any, tmp_path: Path, configurations: list[Any], code: int) -> None:
    codes = child(SET, tmp_path, json.dumps([json.dumps(each) for each in configurations]))
    differing = [(each, got) for each, got in zip(configurations, codes, strict=True) if got != code]
    assert differing == []


def test_the_configuration_of_aclinit(child: Any, tmp_path: Path) -> None:
    configuration = tmp_path / "acl.json"
    script = """
        room = ffi.new("char[4096]")
        answers = [lib.aclInit(sys.argv[1].encode()), lib.aclrtSetDevice(0)]
        path = lib.acldumpGetPath(lib.DATA_DUMP)
        answers += ["" if path == ffi.NULL else ffi.string(path).decode(), lib.aclmdlInitDump()]
        answers += [lib.acldumpGetExceptionInfoPath(room, 4096), ffi.string(room).decode()]
        reported(answers)
    """
    for section, answers in (
        ({**PLACE, "dump_path": str(tmp_path), "dump_debug": "on"}, [0, 0, f"{tmp_path}/", INTERNAL, FAILURE, ""]),
        (
            {"dump_scene": "aic_err_norm_dump", "dump_path": str(tmp_path)},
            [0, 0, "", 0, 0, f"{tmp_path}/extra-info/data-dump/0"],
        ),
        ({"dump_scene": "x"}, [REFUSED, 0, "", 100001, FAILURE, ""]),
    ):
        configuration.write_text(json.dumps({"dump": section}))
        got = child(script, configuration)
        got[2] = got[2].rstrip("0123456789")  # the time
        assert got == answers


def test_the_environment_turns_dumps_on(child: Any, tmp_path: Path) -> None:
    script = """
        room = ffi.new("char[4096]")
        lib.aclInit(ffi.NULL)
        codes = [lib.aclmdlInitDump(), lib.aclmdlFinalizeDump()]
        no_device = lib.acldumpGetExceptionInfoPath(room, 4096)
        lib.aclrtSetDevice(0)
        short = lib.acldumpGetExceptionInfoPath(room, 8)
        reported([*codes, no_device, short, lib.acldumpGetExceptionInfoPath(room, 4096), ffi.string(room).decode()])
    """
    expected = [0, 0, FAILURE, 100000, 0, f"{tmp_path}/extra-info/data-dump/0"]
    assert child(script, ASCEND_DUMP_SCENE="aic_err_brief_dump", ASCEND_DUMP_PATH=tmp_path) == expected
    assert child(script, NPU_COLLECT_PATH=tmp_path) == expected
    assert child(script, ASCEND_DUMP_SCENE="x", ASCEND_WORK_PATH=tmp_path)[4] == FAILURE
