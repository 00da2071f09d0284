# SPDX-License-Identifier: Apache-2.0
"""Processes that are killed at any moment, end at any moment, or find no resources: nothing hangs, and nothing is lost.

A program under attack may fail with an error. It must not be killed by a signal of the kernel or by ``abort()``.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.effort import cases

pytestmark = [pytest.mark.simulator("attacks on the simulator"), pytest.mark.long]

CARD = str(63 - int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]))  # which no other test uses
SHARED = {"ASCEND_RT_SIM_CARDS": "shared", "ASCEND_RT_SIM_DEVICES": "64", "ASCEND_RT_VISIBLE_DEVICES": CARD}
LONGEST_S = 60

# Uses everything that processes of one card share, and says so before the first call of each kind.
BUSY = """
import random, sys, threading
import ascend_rt as rt
from ascend_rt import Buffer, Device, Event, EventOptions, IpcMemory, MemoryPool, Notify, Stream

random.seed(int(sys.argv[1]))
device = Device(0)
print("ready", flush=True)

def play():
    device.set_current()
    kept, stream = [], Stream()
    makers = [
        lambda: Buffer(random.randrange(1, 1 << 22)),
        Stream,
        lambda: Notify(),
        lambda: IpcMemory(Buffer(1 << 21)),
        lambda: stream.record(),
        lambda: stream.launch_host_func(int, 0),
        lambda: rt.fill_async(Buffer(1 << 16), 7, stream),
        stream.synchronize,
    ]
    while True:
        kept.append(random.choice(makers)())
        if len(kept) > 20:
            kept.pop(random.randrange(len(kept)))

threads = [threading.Thread(target=play, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
"""

FREE = """
from ascend_rt import Device, ffi, lib
Device(0).set_current()
streams = ffi.new("uint32_t *")
lib.aclrtGetStreamAvailableNum(streams)
print(Device(0).memory_info.free, streams[0])
"""


def start(script: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    return subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def answer(script: str, *arguments: str, **environment: str) -> str:
    process = start(script, *arguments, **environment)
    out, err = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 0, err
    return out


@pytest.fixture
def files() -> Iterator[None]:
    """Check that nothing of the shared card stays in shared memory: the next process removes what it finds."""
    yield
    answer(FREE, **SHARED)
    assert list(Path("/dev/shm").glob(f"ascend_rt-card*-{CARD}")) == []


def test_killed_processes_give_everything_back(files: None) -> None:
    before = answer(FREE, **SHARED)
    choose = random.Random(1)
    for seed in range(cases(5)):
        busy = [start(BUSY + "threading.Event().wait()", str(seed * 10 + i), **SHARED) for i in range(4)]
        for process in choose.sample(busy, len(busy)):
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(choose.random() * 0.2)  # anywhere in its work
            process.kill()
        for process in busy:
            process.communicate(timeout=LONGEST_S)
        assert answer(FREE, **SHARED) == before


ENDS = {
    "the main thread returns": ("", 0),
    "sys.exit": ("sys.exit(3)", 3),
    "an exception": ("raise SystemExit(4)", 4),
    "os._exit": ("import os; os._exit(5)", 5),
    "SIGTERM": ("import os, signal; os.kill(os.getpid(), signal.SIGTERM); signal.pause()", -signal.SIGTERM),
    "SIGINT": (
        "import os, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT);"
        " signal.pause()",
        -signal.SIGINT,
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_process_ends_with_its_status_whatever_its_threads_do(end: str, files: None) -> None:
    statement, code = ENDS[end]
    for seed in range(cases(3)):
        wait = f"\nimport time; time.sleep({random.Random(seed).random() * 0.3}); {statement}"
        process = start(BUSY + wait, str(seed), **SHARED)
        _, err = process.communicate(timeout=LONGEST_S)
        assert process.returncode == code, (seed, err)


# --- resources that are not there ------------------------------------------------------------------------------------

STARVED = """
import ctypes, os, resource, sys
limit = int(sys.argv[1])
kind = sys.argv[2]
if kind == "threads":
    if os.getuid() == 0:
        os.setuid(65534)
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
elif kind == "files":
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
elif kind == "file size":
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit << 12, limit << 12))
import ascend_rt as rt
try:
    with rt.Device(0), rt.Stream() as stream, rt.Buffer(1 << 20) as buffer:
        rt.fill_async(buffer, 7, stream)
        stream.launch_host_func(int, 0)
        rt.Notify().close()
        stream.synchronize(timeout=20)
except (rt.errors.AscendError, OSError, MemoryError) as error:
    assert str(error)
"""


@pytest.mark.parametrize("kind", ["threads", "files", "file size"])
def test_without_resources_calls_fail_with_a_text(kind: str) -> None:
    for limit in range(cases(4)):
        process = start(STARVED, str(limit if kind != "files" else limit + 5), kind)
        _, err = process.communicate(timeout=LONGEST_S)
        assert process.returncode >= 0, (kind, limit, err)


PLACES = {"/proc": "size=4k", "/dev/shm": "size=64k", "/tmp": "size=4k", "/sys": "size=4k"}


@pytest.mark.parametrize("place", PLACES)
def test_without_a_file_system(place: str) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this process may not have mounts of its own")
    hidden = (
        f"mount -t tmpfs -o {PLACES[place]} none {place} && exec '{sys.executable}' -m ascend_rt demo --backend sim"
    )
    done = subprocess.run(
        [unshare, "-m", "sh", "-c", hidden], capture_output=True, text=True, timeout=LONGEST_S, check=False
    )
    assert done.returncode in (0, 1, 2), done.stderr
    assert done.returncode == 0 or done.stderr.strip(), "fails without a word"
