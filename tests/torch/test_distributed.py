# SPDX-License-Identifier: Apache-2.0
"""``torch.distributed`` with the backend "hccl": ranks on simulated devices, compared with "gloo" on the CPU."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.torch_release import before, release

pytestmark = pytest.mark.simulator("independent")

PROGRAMS = Path(__file__).resolve().parent / "programs" / "distributed"
ON_SIMULATOR = ("-m", "ascend_rt", "run", "--backend", "sim")

# It ends the process when a communicator has failed, as on a server, perhaps before the program has seen the error.
WITHOUT_WATCHDOG = {"HCCL_ASYNC_ERROR_HANDLING": "0"}

Run = Callable[..., Any]
Require = Callable[..., None]


def torchrun(ranks: int, *options: str) -> list[str]:
    return ["-m", "torch.distributed.run", f"--nproc-per-node={ranks}", *options]


def line_of(name: str, comment: str) -> str:
    """Return where a program has the comment, as errors write it."""
    lines = (PROGRAMS / name).read_text(encoding="utf-8").splitlines()
    [number] = [number for number, line in enumerate(lines, 1) if line.endswith(f"# {comment}")]
    return f"{name}:{number}"


def ways() -> int:
    """Return in how many ways training.py trains."""
    return {(2, 7): 15, (2, 8): 15, (2, 9): 16}.get(release(), 17)


def environment(**settings: str) -> dict[str, str]:
    return {"OMP_NUM_THREADS": "1", **os.environ, **settings}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that starts a program on as many ranks, and returns the answer that one of them prints."""

    def start(ranks: int, name: str, *arguments: str, options: tuple[str, ...] = (), **settings: str) -> Any:
        launcher = torchrun(ranks, "--standalone", *options)
        command = [sys.executable, *ON_SIMULATOR, *launcher, str(PROGRAMS / name), *arguments]
        env = environment(PYTHONPATH=str(PROGRAMS.parent), **settings)  # for modules of programs with one process
        done = subprocess.run(command, capture_output=True, text=True, timeout=170, env=env, cwd=tmp_path, check=False)
        answers = re.findall("^answer: (.*)$", done.stdout, re.MULTILINE)
        assert answers, done.stdout + done.stderr
        return json.loads(answers[0])

    return start


@pytest.mark.parametrize("ranks", [2, *(pytest.param(each, marks=pytest.mark.full) for each in (3, 8))])
def test_all_operations_and_types(run: Run, ranks: int) -> None:
    # Four shapes. Seven types are reduced, of which int16 by one function alone, and two of which are not multiplied;
    # nine are moved.
    assert run(ranks, "collectives.py") == 4 * (5 * 4 * 4 + 3 * 4 + 3 + 9 * 9)


@pytest.mark.parametrize(
    ("ranks", "shared"),
    [(2, "1"), *(pytest.param(*each, marks=pytest.mark.full) for each in ((2, "0"), (4, "1"), (8, "0")))],
)
def test_training_is_that_of_gloo(run: Run, ranks: int, shared: str) -> None:
    assert run(ranks, "training.py", ASCEND_RT_HCCL_SHARED_MEMORY=shared) == ways()


@pytest.mark.full
@pytest.mark.parametrize("ranks", [2, 4])
def test_further_training_is_that_of_gloo(run: Run, ranks: int) -> None:
    assert run(ranks, "parallel.py") == 14


@pytest.mark.parametrize(
    ("library", "function"),
    [
        pytest.param(  # the Trainer of transformers, which uses accelerate
            "accelerate",
            "trainer_fsdp2",
            marks=before(2, 8, "PyTorch loads the state of an optimizer on the CPU, for which there is no backend"),
        ),
        *(
            pytest.param(*each, marks=pytest.mark.full)
            for each in (
                ("accelerate", "trainer"),
                ("accelerate", "trainer_fsdp1"),
                ("accelerate", "accelerate"),
                ("lightning", "lightning"),
            )
        ),
    ],
    ids=lambda each: each,
)
def test_libraries_train_as_with_gloo(run: Run, require: Require, library: str, function: str) -> None:
    require("transformers", library)
    on_device, on_cpu = (run(2, "libraries.py", device, function, HF_HUB_OFFLINE="1") for device in ("npu", "cpu"))
    assert on_device == on_cpu


@pytest.mark.parametrize("name", ["sync_norm", "graph", "again"])
def test_with_two_ranks(run: Run, name: str) -> None:
    assert run(2, f"{name}.py") == name


@pytest.mark.full
def test_ranks_of_a_table(run: Run, tmp_path: Path) -> None:
    """Each communicator is from the table: HCCL has no others beside them, and the refusal would end the program."""
    devices = [{"device_id": str(each), "rank_id": str(each)} for each in range(4)]
    table = tmp_path / "table.json"
    table.write_text(json.dumps({"server_list": [{"server_id": "127.0.0.1", "device": devices}]}), encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert run(4, "by_table.py", RANK_TABLE_FILE=str(table), HCCL_IF_BASE_PORT=str(port)) == "by_table.py"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("operation", "rank 1 calls HcclAllGather, 1000 float32 as number 2, this rank HcclAllReduce, sum of 1000"),
        *(
            pytest.param(*each, marks=pytest.mark.full)
            for each in (
                ("size", "rank 1 calls HcclAllReduce, sum of 999 float32 as number 2, this rank HcclAllReduce"),
                ("type", "rank 1 calls HcclAllReduce, sum of 1000 int32"),
                ("reduction", "rank 1 calls HcclAllReduce, max of 1000 float32"),
            )
        ),
    ],
)
def test_ranks_that_disagree(run: Run, kind: str, text: str) -> None:
    error, _ = run(2, "failing.py", kind, **WITHOUT_WATCHDOG)
    assert "507015" in error
    assert text in error
    assert line_of("failing.py", "the others' line") in error
    if kind == "operation":
        assert line_of("failing.py", "its line") in error


@pytest.mark.parametrize("kind", ["killed", pytest.param("ends", marks=pytest.mark.full)])
def test_a_rank_that_ends(run: Run, kind: str) -> None:
    error, _ = run(3, "failing.py", kind, **WITHOUT_WATCHDOG, HCCL_EXEC_TIMEOUT="150")
    assert "507015" in error
    assert "rank 1 has ended, or its connection was lost" in error


def test_a_rank_that_raises_is_named_as_the_cause() -> None:
    """Its exit handlers destroy the communicator well before the process ends."""
    command = [sys.executable, *ON_SIMULATOR, *torchrun(3, "--standalone"), str(PROGRAMS / "raising.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=170, env=environment(), check=False)
    assert done.returncode == 1
    cause = done.stderr.partition("Root Cause")[2]
    assert re.search(r"^ *rank +: 1 .*\n *exitcode +: 1 ", cause, re.MULTILINE), done.stderr


def test_a_rank_that_never_calls(run: Run) -> None:
    error, seconds = run(2, "failing.py", "waits", **WITHOUT_WATCHDOG, HCCL_EXEC_TIMEOUT="2")
    assert "507015" in error
    assert re.search(
        r"timed out; rank 1 is in no collective since [\d.]+ s, when it left HcclAllReduce number 1", error
    )
    assert seconds >= 2


def test_a_job_that_is_restarted(run: Run) -> None:
    assert run(3, "restarted.py", options=("--max-restarts=2",)) == 1


@pytest.mark.parametrize("waits", [False, pytest.param(True, marks=pytest.mark.full)])
def test_the_race_check_sees_collectives(tmp_path: Path, waits: bool) -> None:
    report = tmp_path / "report.json"
    check = ["-m", "ascend_rt", "check", "--backend", "sim", "--format", "json", "--output", str(report)]
    program = [str(PROGRAMS / "unfinished.py"), *(["waits"] if waits else [])]
    command = [sys.executable, *check, *torchrun(2, "--standalone"), *program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=170, env=environment(), check=False)
    assert done.returncode == (0 if waits else 1), done.stdout + done.stderr
    found = json.loads(report.read_text(encoding="utf-8"))["findings"]
    if waits:
        assert found == []
        return
    [race] = found
    places = [f"unfinished.py:{race[each]['frames'][0]['line']}" for each in ("first", "second")]
    assert places == [line_of("unfinished.py", "written here"), line_of("unfinished.py", "read here")]


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("ip") is None, reason="needs root and iproute2")
def test_two_hosts(tmp_path: Path) -> None:
    """Two network namespaces, between which there is one cable."""
    spaces = [f"ascend-rt-{os.getpid()}-{number}" for number in (0, 1)]
    cable = [f"art{os.getpid() % 100000}{end}" for end in "ab"]

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    try:
        for space in spaces:
            ip("netns", "add", space)
        ip("link", "add", cable[0], "type", "veth", "peer", "name", cable[1])
        for number, space in enumerate(spaces):
            ip("link", "set", cable[number], "netns", space)
            ip("-n", space, "addr", "add", f"10.77.0.{number + 1}/24", "dev", cable[number])
            for device in (cable[number], "lo"):
                ip("-n", space, "link", "set", device, "up")
        hosts = []
        for number, space in enumerate(spaces):
            place = ("--nnodes=2", f"--node-rank={number}", "--master-addr=10.77.0.1", "--master-port=29577")
            command = [sys.executable, *ON_SIMULATOR, *torchrun(2, *place), str(PROGRAMS / "training.py")]
            hosts.append(
                subprocess.Popen(
                    ["ip", "netns", "exec", space, *command],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    env=environment(GLOO_SOCKET_IFNAME=cable[number]),  # gloo takes 127.0.0.1 otherwise
                    cwd=tmp_path,
                )
            )
        outputs = [host.communicate(timeout=170)[0] for host in hosts]
        assert f"answer: {ways()}" in outputs[0], "\n".join(outputs)
    finally:
        for space in spaces:
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)
