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
