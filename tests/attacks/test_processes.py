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
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.effort import cases

pytestmark = [pytest.mark.simulator("internals"), pytest.mark.long]

CARD = str(63 - int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]))  # which no other test uses
SHARED = {"ASCEND_RT_SIM_CARDS": "shared", "ASCEND_RT_SIM_DEVICES": "64", "ASCEND_RT_VISIBLE_DEVICES": CARD}
LONGEST_S = 60
FOR_EVER = "threading.Event().wait()"

# Three threads use everything that the processes of a card share. After that many steps the program says so.
BUSY = """
import os, random, sys, threading
import ascend_rt as rt
from ascend_rt import Buffer, Device, Event, IpcMemory, MemoryPool, Notify, Stream

seed, steps = map(int, sys.argv[1:])
device = Device(0)
stepped = threading.Semaphore(0)

def play(number):
    choose = random.Random(seed * 3 + number)
    device.set_current()
    kept, stream, pool = [], Stream(), MemoryPool(device)
    makers = [
        lambda: Buffer(choose.randrange(1, 1 << 22)),
        lambda: pool.allocate(choose.randrange(1, 1 << 22), stream),
        lambda: IpcMemory(Buffer(1 << 21)),
        lambda: stream.record(Event(ipc=True)),
        lambda: stream.launch_host_func(int, 0),
        lambda: rt.fill_async(Buffer(1 << 16), 7, stream),
        Stream,
        Notify,
        stream.record,
        stream.synchronize,
    ]
    try:
        while True:
            kept.append(choose.choice(makers)())
            if len(kept) > 20:
                kept.pop(choose.randrange(len(kept)))
            stepped.release()
    except rt.RuntimeClosed:  # the process ends
        return
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(99)

for number in range(3):
    threading.Thread(target=play, args=(number,), daemon=True).start()
for _ in range(steps):
    stepped.acquire()
print("ready", flush=True)
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
        busy = [start(BUSY + FOR_EVER, str(seed * 10 + i), str(choose.randrange(300)), **SHARED) for i in range(4)]
        for process in choose.sample(busy, len(busy)):
            assert process.stdout is not None
            said = process.stdout.readline()
            process.kill()  # anywhere in its work
            _, err = process.communicate(timeout=LONGEST_S)
            assert said == "ready\n", err
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
        process = start(BUSY + statement, str(seed), str(random.Random(seed).randrange(300)), **SHARED)
        _, err = process.communicate(timeout=LONGEST_S)
        assert process.returncode == code, (seed, err)


# --- resources that are not there ------------------------------------------------------------------------------------

USE = """
try:
    with rt.Device(0), rt.Stream() as stream, rt.Buffer(1 << 20) as buffer:
        rt.fill_async(buffer, 7, stream)
        rt.Notify().close()
        stream.synchronize(timeout=20)
except (rt.AscendError, OSError, MemoryError) as error:
    assert str(error)
"""
MODULES = "import sys; import ascend_rt as rt" + USE + "print(*sys.modules)"

# Loads first what another user may not be able to read: the limit of processes does not hold for root.
STARVED = (
    """
import importlib, os, resource, sys
import ascend_rt as rt

kind, limit, *modules = sys.argv[1:]
for name in modules:
    if name != "__main__":
        importlib.import_module(name)
rt.version()
if kind == "NPROC" and os.getuid() == 0:
    os.setuid(65534)
resource.setrlimit(getattr(resource, f"RLIMIT_{kind}"), (int(limit), int(limit)))
"""
    + USE
)
LIMITS = {"NPROC": range(0, 8), "NOFILE": range(4, 24), "FSIZE": range(0, 1 << 16, 1 << 13)}


@pytest.mark.parametrize("kind", LIMITS)
def test_without_resources_calls_work_or_fail_with_a_text(kind: str) -> None:
    modules = answer(MODULES).split()
    for limit in LIMITS[kind]:
        process = start(STARVED, kind, str(limit), *modules)
        _, err = process.communicate(timeout=LONGEST_S)
        assert process.returncode == 0, (kind, limit, err)


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
