# SPDX-License-Identifier: Apache-2.0
"""The libraries that use the runtime: how they are found, their functions, and that they share one runtime."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path

import pytest

from ascend_rt import Buffer, Device, Stream, ffi, profile
from ascend_rt._startup.install_hint import install_hint
from ascend_rt.backends import sim

pytestmark = [
    pytest.mark.simulator("internals"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="they are found by the dynamic loader of Linux"),
]

# The libraries that PyTorch's adapter 2.13.0 is linked with, beside libascendcl.so, and those of the functions that it
# binds at its start which are not the runtime's.
LIBRARIES = ["hccl", "acl_op_compiler", "ge_runner", "graph", "acl_tdt_channel"]
BOUND = [
    "MsprofGetHashId",
    "MsprofRegisterCallback",
    "MsprofReportAdditionalInfo",
    "MsprofReportApi",
    "MsprofReportCompactInfo",
    "MsprofSysCycleTime",
    "aclCreateTensorDesc",
    "aclDestroyTensorDesc",
    "aclGetTensorDescDimV2",
    "aclGetTensorDescFormat",
    "aclGetTensorDescNumDims",
    "aclGetTensorDescType",
    "aclSetTensorDescName",
    "aclSetTensorFormat",
    "aclSetTensorPlaceMent",
    "aclSetTensorShape",
    "aclopCompileAndExecute",
    "aclopCreateAttr",
    "aclopDestroyAttr",
    "aclopSetAttrBool",
    "aclopSetAttrDataType",
    "aclopSetAttrFloat",
    "aclopSetAttrInt",
    "aclopSetAttrListBool",
    "aclopSetAttrListFloat",
    "aclopSetAttrListInt",
    "aclopSetAttrListListInt",
    "aclopSetAttrString",
    "rtDevBinaryRegister",
    "rtFunctionRegister",
    "rtGetC2cCtrlAddr",
    "rtKernelLaunch",
]
# Functions that it looks up on demand, and cannot do without.
LOOKED_UP = ["aclSetCompileopt", "aclGetCompileopt", "aclGetCompileoptSize", "aclrtCtxSetSysParamOpt"]

SHOW = """
import json, os
print(json.dumps({name: os.environ.get(name) for name in ("LD_LIBRARY_PATH", "TASK_QUEUE_ENABLE")}))
"""


def library(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(sim.companion_directory() / f"lib{name}.so"))


def address(function: object) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value


def test_what_the_adapter_binds_is_there() -> None:
    everything = [library(name) for name in LIBRARIES]
    missing = [name for name in BOUND if not any(hasattr(each, name) for each in everything)]
    assert missing == []
    compiler = library("acl_op_compiler")
    assert [name for name in LOOKED_UP if not hasattr(compiler, name)] == []


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_look_through_each_leads_to_the_runtime(name: str) -> None:
    runtime = ctypes.CDLL(str(sim.library_path()))
    assert address(library(name).aclrtSetDevice) == address(runtime.aclrtSetDevice)


def test_a_refusal_has_a_text_and_is_no_warning() -> None:
    compiler = library("acl_op_compiler")
    nothing = [None] * 8
    assert compiler.aclopCompileAndExecute(b"Add", 0, None, *nothing) == 200001
    compiler.aclGetRecentErrMsg.restype = ctypes.c_char_p
    assert compiler.aclGetRecentErrMsg() == b"aclopCompileAndExecute: the simulator has no operators of CANN: Add()"


def test_a_collective_operation_is_one_row_of_a_profile(device: Device, stream: Stream) -> None:
    hccl, communicator = library("hccl"), ctypes.c_void_p()
    assert hccl.HcclCommInitAll(1, (ctypes.c_int32 * 1)(device.id), ctypes.byref(communicator)) == 0
    with Buffer(4096) as memory:
        data, on = (ctypes.c_void_p(int(ffi.cast("uintptr_t", it.handle))) for it in (memory, stream))
        with profile() as seen:
            for _ in range(3):
                assert hccl.HcclAllReduce(data, data, ctypes.c_uint64(1024), 4, 0, communicator, on) == 0
            stream.synchronize()
        assert hccl.HcclCommDestroy(communicator) == 0
    assert [(name, kind, number) for name, kind, number, *_ in seen.table()] == [("HcclAllReduce", "OPERATION", 3)]
    assert [task.name for task in seen.tasks] == ["HcclAllReduce"] * 3


def toolkit_of(run) -> str:
    printed: str = run("-m", "ascend_rt", "toolkit-path").stdout.strip()
    return printed


def shown(result) -> dict[str, str | None]:
    assert result.returncode == 0, result.stderr
    found: dict[str, str | None] = json.loads(result.stdout)
    return found


def test_run_puts_them_on_the_path(run, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SHOW, encoding="utf-8")
    directories = [str(sim.library_directory()), str(sim.companion_directory())]
    toolkit = os.path.join(toolkit_of(run), "lib64")
    start = ("-m", "ascend_rt", "run", "--backend", "sim", str(tmp_path / "script.py"))
    found = shown(
        run(*start, LD_LIBRARY_PATH=os.pathsep.join(["/mine", *reversed(directories)]), TASK_QUEUE_ENABLE="1")
    )
    assert found == {"LD_LIBRARY_PATH": os.pathsep.join([toolkit, "/mine"]), "TASK_QUEUE_ENABLE": "0"}


HOME = """
import os, ascend_rt
print(os.environ.get("ASCEND_HOME_PATH"), os.path.isdir(os.environ.get("ASCEND_OPP_PATH", "")), ascend_rt.version())
"""


def test_run_names_a_home_that_the_simulator_takes_for_none(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("ASCEND_HOME_PATH", raising=False)
    (tmp_path / "script.py").write_text(HOME, encoding="utf-8")
    script = str(tmp_path / "script.py")
    plain, below = run(script, ASCEND_RT_BACKEND="sim"), run("-m", "ascend_rt", "run", "--backend", "sim", script)
    assert (plain.returncode, below.returncode) == (0, 0), plain.stderr + below.stderr
    versions = plain.stdout.removeprefix("None False ")
    assert below.stdout == f"{toolkit_of(run)} True {versions}"
    mine = run("-m", "ascend_rt", "run", "--backend", "sim", script, ASCEND_HOME_PATH=tmp_path)
    assert mine.stdout.startswith(f"{tmp_path} False ")


def test_run_lets_the_linker_find_the_simulator(run, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import os; print(os.environ['LIBRARY_PATH'])", encoding="utf-8")
    start = ("-m", "ascend_rt", "run", "--backend", "sim", str(tmp_path / "script.py"))
    own = os.path.join(toolkit_of(run), "lib64")
    for given in ("/mine", os.pathsep.join(["/mine", own, ""])):
        assert run(*start, LIBRARY_PATH=given).stdout == os.pathsep.join([own, "/mine\n"])


def test_the_vendors_library_does_not_get_to_see_them(run, build, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SHOW, encoding="utf-8")
    vendor = build(tmp_path / "home" / "lib64" / "libascendcl.so", "-Wl,-soname,libascendcl.so")
    simulated = os.pathsep.join([str(sim.companion_directory()), "/mine"])
    start = ("-m", "ascend_rt", "run", "--backend", "cann", str(tmp_path / "script.py"))
    found = shown(run(*start, ASCEND_RT_LIBRARY=vendor, LD_LIBRARY_PATH=simulated))
    assert found == {"LD_LIBRARY_PATH": os.pathsep.join([str(vendor.parent), "/mine"]), "TASK_QUEUE_ENABLE": None}


@pytest.mark.parametrize(
    ("code", "reported"),
    [
        (
            "import torch_npu",
            [f"ascend-rt run: to have PyTorch with its adapter for NPUs: {install_hint('torch')}"],
        ),
        ("try:\n    import torch_npu\nexcept ImportError:\n    pass", []),
        ("import importlib.util; assert importlib.util.find_spec('torch_npu') is None", []),
    ],
)
def test_a_program_that_lacks_the_adapter_is_shown_what_to_install(run, code: str, reported: list[str]) -> None:
    # Hides it if it is installed.
    hide = "import sys; sys.path[:] = [path for path in sys.path if not path.endswith('site-packages')]\n"
    result = run("-m", "ascend_rt", "run", "--backend", "sim", "-c", hide + code)
    assert (result.returncode != 0) == bool(reported), result.stderr
    assert [line for line in result.stderr.splitlines() if line.startswith("ascend-rt")] == reported
