# SPDX-License-Identifier: Apache-2.0
"""Programs without standard files, such as services: their numbers are not given to the library's files.

Whatever any library prints to standard error would be written into such a file.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.simulator("independent"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="descriptors are listed in /proc"),
]

# Finds the library, and makes what needs a file: shared cards, memory, memory and events for other processes.
PROGRAM = """
import os, sys
import ascend_rt as rt

rt.Device(0).set_current()
stream, buffer = rt.Stream(), rt.Buffer(2 << 20)
rt.fill_async(buffer, 1, stream)
stream.synchronize()
shared = rt.IpcMemory(buffer)
event = rt.Event(ipc=True)
event.record(stream)
handle = event.export()


def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


there = [number for number in range(3) if is_open(number)]
with open(sys.argv[1], "w") as file:
    print(rt.library().backend, there, file=file)
"""


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (1, 2), (0, 1, 2)])
def test_their_numbers_stay_free(tmp_path: Path, closed: tuple[int, ...]) -> None:
    answer = tmp_path / "answer"
    redirections = "".join(f" {number}>&-" for number in closed)
    environment = {name: value for name, value in os.environ.items() if name != "ASCEND_RT_BACKEND"}
    command = ["sh", "-c", f'exec "$@"{redirections}', "sh", sys.executable, "-c", PROGRAM, str(answer)]
    subprocess.run(command, env=environment | {"ASCEND_RT_SIM_CARDS": "shared"}, check=True)
    assert answer.read_text(encoding="utf-8") == f"sim {sorted({0, 1, 2} - {*closed})}\n"


# The program's first file gets the number of standard error.
WRITER = """
import sys

data = open(sys.argv[1], "wb", buffering=0)
assert data.fileno() == 2
from ascend_rt import Buffer, Device, Notify, Stream, ffi, fill_async, lib

Device(0).set_current()
first, second, buffer = Stream(), Stream(), Buffer(64)
PART
"""


@pytest.mark.parametrize(
    ("variable", "value", "part"),
    [
        ("ASCEND_RT_SIM_CHECK", "deadlocks", "first.wait(Notify()); first.synchronize()"),
        ("ASCEND_RT_SIM_CHECK", "races", "fill_async(buffer, 1, first); fill_async(buffer, 2, second)"),
        ("ASCEND_RT_SIM_CHECK", "memory", "lib.aclrtMemset(ffi.cast('void *', 64), 64, 0, 64)"),
        ("ASCEND_RT_SIM_STRICT", "1", "lib.aclrtDestroyStream(ffi.cast('void *', 12345))"),
        ("ASCEND_RT_SIM_STALL_MS", "1", "first.wait(Notify()); first.synchronize(timeout=0.1)"),
    ],
)
def test_no_message_is_written_to_a_file_of_the_program(tmp_path: Path, variable: str, value: str, part: str) -> None:
    data = tmp_path / "data"
    environment = os.environ | {"ASCEND_RT_BACKEND": "sim", variable: value}
    program = WRITER.replace("PART", part)
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-c", program, str(data)]
    subprocess.run(command, env=environment, check=False)
    assert data.read_bytes() == b""
