# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt demo``: a file travels through a device on two streams, and comes back the same.

Two slots, used in turn, make it a pipeline; each has pinned memory of the host and memory of the device:

    stream A: host -> device, record          (and, one chunk later) wait, device -> host
    stream B:                         wait, device -> device, record

While the device works on one slot the host reads the file into the other and compares what came back from it.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np

from ascend_rt._driver import library
from ascend_rt.device import Device
from ascend_rt.errors import AclError, TaskFailed, Timeout
from ascend_rt.event import Event
from ascend_rt.memory import Buffer, PinnedBuffer
from ascend_rt.stream import Stream
from ascend_rt.transfer import copy_async

STAGES = ("host to device", "device to device", "device to host")

_SLOTS = 2
_LATENCY_ROUNDS = 2000
_LOOK_MS = 100  # how often a wait looks for tasks that have failed
_LONG_FILE = 256 << 20  # from here on a progress bar is worth it


@dataclass
class Report:
    """What the demo found out."""

    library_path: str
    backend: str
    reason: str
    device: str
    product: str
    file: str
    bytes: int
    chunks: int
    seconds: float
    stage_ms: dict[str, float] = field(default_factory=dict)
    latency_us: dict[str, dict[str, float]] = field(default_factory=dict)
    first_difference: int | None = None
    passed: bool = False


class _Stage:
    """One copy of the pipeline, between two events that time it."""

    def __init__(self) -> None:
        self._begin = Event(timing=True)
        self.done = Event(timing=True)
        self.total_ms = 0.0
        self._is_counted = True

    def copy(self, dst: Any, src: Any, stream: Stream) -> None:
        self._begin.record(stream)
        copy_async(dst, src, stream)
        self.done.record(stream)
        self._is_counted = False

    def count(self) -> None:
        """Add the time of the newest copy; its end must have been synchronized."""
        if not self._is_counted:
            self.total_ms += self._begin.elapsed_time(self.done)
            self._is_counted = True


class _Slot:
    """Memory for one chunk, and where it is on its way."""

    def __init__(self, nbytes: int) -> None:
        self.sent, self.received = PinnedBuffer(nbytes), PinnedBuffer(nbytes)
        self._arriving, self._leaving = Buffer(nbytes), Buffer(nbytes)
        self.stages = [_Stage() for _ in STAGES]
        self.offset = 0
        self.nbytes = 0  # 0: nothing is on its way

    def read(self, file: BinaryIO, offset: int) -> int:
        self.offset = offset
        self.nbytes = file.readinto(self.sent)  # type: ignore[attr-defined]
        return self.nbytes

    def send(self, a: Stream, b: Stream) -> None:
        to_device, inside, _ = self.stages
        to_device.copy(self._arriving, self.sent[: self.nbytes], a)
        b.wait(to_device.done)
        inside.copy(self._leaving, self._arriving[: self.nbytes], b)

    def fetch(self, a: Stream) -> None:
        if self.nbytes:
            _, inside, to_host = self.stages
            a.wait(inside.done)
            to_host.copy(self.received[: self.nbytes], self._leaving[: self.nbytes], a)

    def first_difference(self, streams: tuple[Stream, ...]) -> int | None:
        """Wait for the chunk; return the offset in the file of the first byte that came back wrong."""
        if not self.nbytes:
            return None
        _wait(self.stages[-1].done, streams)
        _check(streams)
        for stage in self.stages:
            stage.count()
        sent, received = self.sent[: self.nbytes], self.received[: self.nbytes]
        self.nbytes = 0
        if np.array_equal(sent, received):
            return None
        return self.offset + int(np.flatnonzero(sent != received)[0])


def _wait(awaited: Event | Stream, streams: tuple[Stream, ...]) -> None:
    """Wait, but not for what will never come because a task has failed, such as a record that another stream awaits."""
    while True:
        try:
            awaited.synchronize(timeout_ms=_LOOK_MS)
            return
        except Timeout:
            _check(streams)


def _check(streams: tuple[Stream, ...]) -> None:
    for stream in streams:
        stream.check()


@contextmanager
def _streams() -> Iterator[tuple[Stream, Stream]]:
    """Open two streams; after an error their work is dropped, because it may wait for something that never comes."""
    streams = a, b = Stream(), Stream()
    try:
        yield a, b
        a.close()
        b.close()
    except TaskFailed:
        raise
    except AclError:  # it may be the consequence of a task that has failed, such as the record of an event
        for stream in streams:
            with suppress(Timeout):
                stream.synchronize(timeout_ms=_LOOK_MS)
        raise
    finally:
        for stream in streams:
            stream.close(force=True)


def run(path: str, *, as_json: bool = False, chunk_bytes: int = 4 << 20) -> int:
    """Run the demo and print its report; the exit status tells whether the bytes came back the same."""
    size = _size_of(path)
    device = Device(0)
    with device, open(path, "rb", buffering=0) as file:
        report = _describe(path, device)
        with _progress(size, quiet=as_json or size < _LONG_FILE) as advance:
            _stream_file(file, min(chunk_bytes, size), report, advance)
        report.latency_us = measure_latency()
    report.passed = report.first_difference is None and report.bytes == size
    print(json.dumps(report.__dict__, indent=2) if as_json else _as_text(report, size))
    return 0 if report.passed else 1


def _size_of(path: str) -> int:
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory; name a file")
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist; name an existing file, or none for the default") from None
    if size == 0:
        raise ValueError(f"{path} is empty (or no regular file); name a file with at least one byte")
    if not os.access(path, os.R_OK):
        raise PermissionError(f"{path} cannot be read; check its permissions")
    return size


def _describe(path: str, device: Device) -> Report:
    used = library()
    return Report(
        library_path=used.path,
        backend=used.backend,
        reason=used.reason,
        device=f"{device.id} of {Device.count()}",
        product=device.product,
        file=path,
        bytes=0,
        chunks=0,
        seconds=0.0,
    )


def _stream_file(file: BinaryIO, chunk_bytes: int, report: Report, advance: Callable[[int], None]) -> None:
    slots = [_Slot(chunk_bytes) for _ in range(_SLOTS)]

    def finish(slot: _Slot) -> None:
        nbytes = slot.nbytes
        difference = slot.first_difference((a, b))
        if report.first_difference is None:
            report.first_difference = difference
        report.bytes += nbytes
        advance(nbytes)

    begin = time.perf_counter()
    with _streams() as (a, b):
        offset = 0
        while True:
            slot, previous = slots[report.chunks % _SLOTS], slots[(report.chunks - 1) % _SLOTS]
            finish(slot)
            if not slot.read(file, offset):
                break
            slot.send(a, b)
            previous.fetch(a)
            offset += slot.nbytes
            report.chunks += 1
        slots[(report.chunks - 1) % _SLOTS].fetch(a)
        for slot in slots:
            finish(slot)
    report.seconds = time.perf_counter() - begin
    report.stage_ms = {name: sum(slot.stages[i].total_ms for slot in slots) for i, name in enumerate(STAGES)}


# --- latency ---------------------------------------------------------------------------------------------------------


def measure_latency(rounds: int = _LATENCY_ROUNDS) -> dict[str, dict[str, float]]:
    """Return median and 99th percentile, in microseconds, of record, wait and synchronize on idle streams."""
    with _streams() as (a, b), Event() as event:
        steps: dict[str, Callable[[], object]] = {
            "record": lambda: event.record(a),
            "wait": lambda: b.wait(event),
            "synchronize": lambda: _wait(b, (a, b)),
        }
        times: dict[str, list[int]] = {name: [] for name in steps}
        for _ in range(rounds):
            for name, step in steps.items():
                begin = time.perf_counter_ns()
                step()
                times[name].append(time.perf_counter_ns() - begin)
    return {
        name: {"median": statistics.median(t) / 1e3, "p99": statistics.quantiles(t, n=100)[98] / 1e3}
        for name, t in times.items()
    }


# --- output ----------------------------------------------------------------------------------------------------------


@contextmanager
def _progress(size: int, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar if there is something to wait for and rich is installed."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn
    except ImportError:
        quiet = True
    if quiet:
        yield lambda nbytes: None
        return
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("demo", total=size)
        yield lambda nbytes: bar.advance(task, nbytes)


def _as_text(report: Report, size: int) -> str:
    rate = report.bytes / report.seconds / 1e6 if report.seconds else 0.0
    backend = {"cann": "the vendor's library", "sim": "the simulator"}[report.backend]
    lines = [
        f"library   {backend}: {report.library_path}",
        f"          {report.reason}",
        f"device    {report.device}, {report.product}",
        f"file      {report.file}",
        f"moved     {report.bytes} bytes in {report.chunks} chunks, {report.seconds:.3f} s, {rate:.0f} MB/s",
        *(f"          {name:<17}{ms:10.3f} ms" for name, ms in report.stage_ms.items()),
        "latency   " + " ".join(f"{word:>12}" for word in ("", "median us", "p99 us")),
        *(f"          {name:>12} {t['median']:12.2f} {t['p99']:12.2f}" for name, t in report.latency_us.items()),
    ]
    if report.first_difference is not None:
        lines.append(f"FAIL      the byte at {report.first_difference} came back different")
    elif report.bytes != size:
        lines.append(f"FAIL      {report.bytes} of {size} bytes were read; did the file change?")
    else:
        lines.append("PASS      every byte came back as it was sent")
    return "\n".join(lines)
