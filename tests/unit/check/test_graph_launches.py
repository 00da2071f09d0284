# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt check``: a graph that is launched behind pending work has its accesses when it is launched."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.simulator("race check")

PROGRAM = """\
import ctypes, threading
from ascend_rt import Buffer, Device, Event, MemoryPool, PinnedBuffer, Stream, copy_async, fill_async

device = Device(0)
device.set_current()
a, b, early, gate = Stream(), Stream(), Event(), threading.Event()
memory, pinned, pool = Buffer(4096), PinnedBuffer(4096), MemoryPool(device)
pooled = pool.allocate(4096, a)
b.wait(a)
with a.capture() as graph:
    fill_async(memory, 5, a)
    fill_async(pooled, 5, a)
    copy_async(memory, pinned, a)
early.record(a)
if not BUSY:
    gate.set()
a.launch_host_func(gate.wait)
if not BUSY:
    a.synchronize()
graph.launch(a)
USE
gate.set()
a.synchronize()
b.synchronize()
"""

USES = {
    "another stream": (
        "copy_async(pinned, memory, b)",
        "record on stream 2 after line 20, wait on stream 3 before line 21",
    ),
    "a wait for an early record": (
        "b.wait(early); fill_async(memory, 6, b)",
        "record on stream 2 after line 20, wait on stream 3 before line 21",
    ),
    "the host, by numpy": ("pinned[:] = 1", "synchronize stream 2 before line 21"),
    "the host, in C": ("ctypes.memset(int(pinned.ctypes.data), 1, 4096)", "synchronize stream 2 before line 21"),
    "a free in another stream": (
        "pooled.close(b)",
        "record on stream 2 after line 20, wait on stream 3 before line 21",
    ),
}


QUICK = ("another stream", "the host, by numpy")


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.full) for name in USES if name not in QUICK)]
)
def test_the_report_is_that_of_an_idle_stream(run, tmp_path: Path, name: str) -> None:
    use, fix = USES[name]
    reports = []
    for busy in ("False", "True"):
        (tmp_path / "train.py").write_text(PROGRAM.replace("USE", use).replace("BUSY", busy), encoding="utf-8")
        done = run("-m", "ascend_rt", "check", "--backend", "sim", "train.py")
        assert done.returncode == 1, done.stderr
        reports.append(done.stderr.partition("\n\n")[0])
    assert reports[0].endswith(f"  fix: {fix}")
    assert reports[0] == reports[1]


LAUNCHED_TWICE = """\
import threading
from ascend_rt import Buffer, Device, Stream, fill_async

Device(0).set_current()
a, b, gate, memory = Stream(), Stream(), threading.Event(), Buffer(4096)
with a.capture() as graph:
    fill_async(memory, 5, a)
    fill_async(memory, 6, a)
a.launch_host_func(gate.wait)
graph.launch(a)
graph.launch(b)  # runs first
b.synchronize()
graph.launch(b)
gate.set()
a.synchronize()
b.synchronize()
"""


def test_executions_of_a_graph_follow_each_other(run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LAUNCHED_TWICE, encoding="utf-8")
    done = run("-m", "ascend_rt", "check", "--backend", "sim", "train.py")
    assert done.returncode == 0, done.stderr
