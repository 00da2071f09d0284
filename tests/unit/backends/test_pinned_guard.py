# SPDX-License-Identifier: Apache-2.0
"""Programs behave the same while the race check protects pinned memory, whether they wait for tasks or not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_rt.backends.sim import library_directory

pytestmark = [
    pytest.mark.simulator("independent"),
    pytest.mark.skipif(sys.platform != "linux", reason="pages are protected on Linux"),
]

COMMON = """
import ctypes, faulthandler, io, mmap, os, socket, sys, threading
import numpy as np
from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy_async, fill
from ascend_rt.testing import Latch

N = 3 * mmap.PAGESIZE + 100

def show(*values):
    print(*values, flush=True)

def prepared():
    pinned, buffer = PinnedBuffer.from_array(np.arange(N, dtype=np.uint16).view(np.uint8)[:N]), Buffer(N)
    fill(buffer, 9)
    return pinned, buffer

file = open(sys.argv[1], "w+b", buffering=0)
file.write(bytes(range(256)) * (N // 256 + 1))
"""

CORRECT = """
with Device(0), Stream() as stream:
    pinned, buffer = prepared()
    for _ in range(3):
        copy_async(buffer, pinned, stream)
        show(bytes(pinned[:4]), memoryview(pinned)[7], np.asarray(pinned).sum(), file.write(pinned))  # both read
        stream.synchronize()
        file.seek(0)
        show(file.readinto(pinned), pinned[:3].tolist())
        copy_async(pinned, buffer, stream)
        event = stream.record()
        event.synchronize()
        show(np.asarray(pinned).sum(), file.write(pinned))
        pinned[:] = 1
    saved = []
    copy_async(pinned, buffer, stream)
    stream.launch_host_func(lambda: saved.append(os.pwrite(file.fileno(), pinned, 0)))
    stream.synchronize()
    show(saved)
    copy_async(pinned, buffer, stream)
    if (child := os.fork()) == 0:
        os._exit(0)
    show(os.waitpid(child, 0)[1])
    stream.synchronize()
    child = os.fork()
    if child == 0:
        show("child", pinned[:2].tolist())
        pinned[:] = 77
        os._exit(0)
    os.waitpid(child, 0)
    show(pinned[:2].tolist())
"""

RACING = """
with Device(0), Stream() as stream:
    pinned, buffer = prepared()
    plain, address = np.asarray(pinned), pinned.handle
    def use():
        show(memoryview(pinned)[5], plain[6], ctypes.string_at(address + 7, 2), bytes(plain[-3:]))
        plain[10:20] = 3
        ctypes.memset(address + 100, 4, 10)
        show(pinned[8:22].tolist(), plain[98:112].tolist(), int(plain.sum()))
    for to, source in ((buffer, pinned), (pinned, buffer)):
        with Latch(stream):
            copy_async(to, source, stream)
            use()
            copy_async(to, source, stream)
            thread = threading.Thread(target=use)
            thread.start()
            thread.join()
        stream.synchronize()
        show(plain[:3].tolist())
    with Latch(stream):
        copy_async(buffer, pinned, stream)
        faulthandler.enable()
        copy_async(buffer, pinned, stream)
        use()
    del pinned, plain
"""

SYSTEM_CALLS = """
with Device(0), Stream() as stream:
    pinned, buffer = prepared()
    here, there = socket.socketpair()
    with Latch(stream):
        copy_async(pinned, buffer, stream)
        file.seek(0)
        show(file.readinto(pinned), file.tell())
        copy_async(pinned, buffer, stream)
        show(os.pwrite(file.fileno(), pinned, 0))
        copy_async(pinned, buffer, stream)
        show(there.send(b"abc"), here.recv_into(pinned), pinned[:4].tolist())
        copy_async(pinned, buffer, stream)
        show(os.preadv(file.fileno(), [pinned], 5))
"""


def output(program: str, path: Path, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "ASCEND_RT_SIM_CHECK"} | variables
    command = [sys.executable, "-c", COMMON + program, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
    return done.stdout


@pytest.mark.parametrize("program", [CORRECT, RACING], ids=["correct", "racing"])
def test_a_program_behaves_as_without_the_check(program: str, tmp_path: Path) -> None:
    plain = output(program, tmp_path / "file")
    assert len(plain.splitlines()) >= 7
    assert output(program, tmp_path / "file", ASCEND_RT_SIM_CHECK="races") == plain


def test_preloaded_wrappers_let_system_calls_use_the_memory_of_tasks(tmp_path: Path) -> None:
    plain = output(SYSTEM_CALLS, tmp_path / "file")
    wrappers = str(library_directory() / "libascend_rt_system_calls.so")
    assert output(SYSTEM_CALLS, tmp_path / "file", ASCEND_RT_SIM_CHECK="races", LD_PRELOAD=wrappers) == plain


def test_other_faults_are_those_of_the_program(tmp_path: Path) -> None:
    program = """
with Device(0), Stream() as stream:
    pinned, buffer = prepared()
    faulthandler.enable()
    with Latch(stream):
        copy_async(buffer, pinned, stream)
        ctypes.string_at(8)
"""
    command = [sys.executable, "-c", COMMON + program, str(tmp_path / "file")]
    environment = os.environ | {"ASCEND_RT_SIM_CHECK": "races"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == -11
    assert done.stderr.count("Fatal Python error: Segmentation fault") == 1
