# SPDX-License-Identifier: Apache-2.0
"""Clients in the styles of public projects are built against the simulated toolkit and run on the simulator.

Each directory of ``tests/clients`` is a client, whose ``run.sh`` builds it and runs it. The toolkit is found by the
variables of its ``set_env.sh``. Those by which compilers find it without options are unset, so that a client succeeds
by what it does itself.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CLIENTS = Path(__file__).resolve().parents[2] / "clients"
# They start many programs, which takes seconds.
SLOW = ("cmake-variables", "meson", "npu-smi", "scikit-build")

pytestmark = [
    pytest.mark.simulator("internals", "the toolkit is the simulator's"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="CANN is for Linux, and so are its clients"),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a toolkit for all clients."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}
    command = [sys.executable, "-m", "ascend_rt", "toolkit-path"]
    return Path(subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.strip())


def build_and_run(client: str, home: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Run a client's script after ``set_env.sh``, with a directory for what it makes."""
    out.mkdir()
    script = (
        f". {shlex.quote(str(home))}/set_env.sh; unset C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH; set -e;"
        f". {shlex.quote(str(CLIENTS / client / 'run.sh'))}"
    )
    own = {"CLIENTS": str(CLIENTS), "OUT": str(out), "PYTHON": sys.executable, "ASCEND_RT_SIM_DEVICES": "3"}
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # meson and ninja
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND")}
    environment = {**kept, **own, "PATH": programs}
    return subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, cwd=out, check=False)


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(path.parent.name, marks=pytest.mark.full if path.parent.name in SLOW else ())
        for path in sorted(CLIENTS.glob("*/run.sh"))
    ],
)
def test_a_client_is_built_and_copies(client: str, home: Path, tmp_path: Path) -> None:
    needed = re.findall(r"^# needs: (.*)$", (CLIENTS / client / "run.sh").read_text(encoding="utf-8"), re.MULTILINE)
    missing = [tool for tool in " ".join(needed).split() if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    done = build_and_run(client, home, tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "3 devices, 4096 bytes came back"
