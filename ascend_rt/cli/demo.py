# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt demo``: send bytes through a device and back on two streams, and compare them.

Slots, used in turn, make it a pipeline; each has pinned memory of the host and memory of the device:

    stream A: host -> device, record          (and, one chunk later) wait, device -> host
    stream B:                         wait, device -> device, record

While the device works on some slots the host fills another one and compares what came back from it. For comparison,
the same is then done one step after the other.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ascend_rt._runtime.driver import library
from ascend_rt.backends import IN_WORDS
from ascend_rt.cli import modelled_card, terminal, timeline
from ascend_rt.device import Device
from ascend_rt.errors import AclError, TaskFailed, Timeout
from ascend_rt.event import Event
from ascend_rt.memory import Buffer
from ascend_rt.pinned_memory import PinnedBuffer
from ascend_rt.stream import Stream
from ascend_rt.transfer import copy, copy_async

STAGES = ("host to device", "device to device", "device to host")

_SLOTS = 3
_LATENCY_ROUNDS = 2000
_LOOK_S = 0.1  # how often a wait looks for tasks that have failed
_DEFAULT_BYTES = 256 << 20
_COMPARED_BYTES = 64 << 20  # how much of it goes one step after the other, too
_LONG = 64 << 20  # from here on a progress bar is worth it
_RANDOM_BLOCK = (4 << 20) - 4099  # no divisor of a chunk
_DRAWN_CHUNKS = 8


DESCRIPTION = "Send bytes through a device and back on two streams, compare every byte, and measure."
EXAMPLES = ("ascend-rt demo", "ascend-rt demo --backend sim --chunk-mib 16 weights.bin")


@terminal.argument("an integer from 1 to 1024")
def _chunk(text: str) -> int:
    size = int(text)
    if not 1 <= size <= 1024:
        raise ValueError
    return size


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.usage = "ascend-rt demo [OPTIONS] [FILE]"
    terminal.add_backend(parser)
    terminal.add_json(parser)
    parser.add_argument("file", nargs="?", metavar="FILE", help="the file to send (default: 256 MiB of random bytes)")
    parser.add_argument(
        "--chunk-mib", type=_chunk, default=4, metavar="N", help="the size of a copy in MiB (default: 4)"
    )
    parser.add_argument("--trace", metavar="FILE", help="write the times of all copies, for Perfetto")


def main(arguments: argparse.Namespace) -> int:
    """Run the command; 1: what came back differs, or a task has failed."""
    chunk_bytes = arguments.chunk_mib << 20
    return run(arguments.file, as_json=arguments.json, chunk_bytes=chunk_bytes, trace=arguments.trace)


class _RandomBytes(io.RawIOBase):
    """A source of random bytes, one block repeated, for a demo without a file."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._position = 0
        self._block = np.frombuffer(np.random.default_rng().bytes(_RANDOM_BLOCK), np.uint8)

    def readinto(self, buffer: Any) -> int:
        count, done = min(len(buffer), self._left), 0
        while done < count:  # where the last one ended: no chunk looks like the one before
            part = self._block[self._position :][: count - done]
            buffer[done : done + len(part)] = part
            done += len(part)
            self._position = (self._position + len(part)) % _RANDOM_BLOCK
        self._left -= count
        return count


@dataclass
class Report:
    """The results of the demo."""

    library_path: str
    backend: str
    reason: str
    device: str
    product: str
    file: str
    bytes: int
    chunks: int
    seconds: float
    seconds_per_gb: float = 0.0
    seconds_per_gb_one_by_one: float = 0.0
    stage_ms: dict[str, float] = field(default_factory=dict)
    latency_us: dict[str, dict[str, float]] = field(default_factory=dict)
    first_difference: int | None = None
    passed: bool = False


class _Stage:
    """One copy of the pipeline, between two events that time it."""

    def __init__(self) -> None:
        self._begin = Event(timing=True)
        self.done = Event(timing=True)

    def copy(self, dst: Any, src: Any, stream: Stream) -> None:
        self._begin.record(stream)
        copy_async(dst, src, stream)
        self.done.record(stream)

    def span(self, origin: Event) -> tuple[float, float]:
        """Return begin and end of the newest copy, in milliseconds; the end must have been synchronized."""
        return origin.elapsed_time(self._begin), origin.elapsed_time(self.done)


class _Pipeline(NamedTuple):
    """Two streams, and the event at which the time of the pipeline begins."""

    a: Stream
    b: Stream
    origin: Event


class _Slot:
    """Memory for one chunk, and where it is on its way."""

    def __init__(self, nbytes: int) -> None:
        self.sent, self.received = PinnedBuffer(nbytes), PinnedBuffer(nbytes)
        self._arriving, self._leaving = Buffer(nbytes), Buffer(nbytes)
        self.stages = [_Stage() for _ in STAGES]
        for dst, src in ((self._arriving, self.sent), (self._leaving, self._arriving), (self.received, self._leaving)):
            copy(dst, src)  # takes the pages from the host, which is not to be measured
        self.offset = 0
        self.nbytes = 0  # 0: nothing is on its way

    def fill(self, source: io.RawIOBase, offset: int) -> int:
        self.offset = offset
        self.nbytes = source.readinto(memoryview(self.sent)) or 0
        return self.nbytes

    def send(self, line: _Pipeline) -> None:
        to_device, inside, _ = self.stages
        to_device.copy(self._arriving, self.sent[: self.nbytes], line.a)
        line.b.wait(to_device.done)
        inside.copy(self._leaving, self._arriving[: self.nbytes], line.b)

    def fetch(self, line: _Pipeline) -> None:
        if self.nbytes:
            _, inside, to_host = self.stages
            line.a.wait(inside.done)
            to_host.copy(self.received[: self.nbytes], self._leaving[: self.nbytes], line.a)

    def wait(self, line: _Pipeline) -> list[timeline.Span]:
        """Wait for the chunk to come back; return when its copies were made."""
        _wait(self.stages[-1].done, (line.a, line.b))
        _check((line.a, line.b))
        return [timeline.Span(name, *stage.span(line.origin)) for name, stage in zip(STAGES, self.stages, strict=True)]

    def first_difference(self) -> int | None:
        """Return the offset, among all bytes, of the first one of the chunk that came back wrong."""
        sent, received = self.sent[: self.nbytes], self.received[: self.nbytes]
        if np.array_equal(sent, received):
            return None
        return self.offset + int(np.flatnonzero(sent != received)[0])


def _wait(awaited: Event | Stream, streams: tuple[Stream, ...]) -> None:
    """Wait, but not for a record that never comes because a task has failed."""
    while True:
        try:
            awaited.synchronize(timeout=_LOOK_S)
            return
        except Timeout:
            _check(streams)


def _check(streams: tuple[Stream, ...]) -> None:
    for stream in streams:
        stream.check()


@contextmanager
def _streams() -> Iterator[tuple[Stream, Stream]]:
    """Open two streams; after an error their work is dropped, because it may wait for a record that never comes."""
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
                stream.synchronize(timeout=_LOOK_S)
        raise
    finally:
        for stream in streams:
            stream.close(force=True)


def run(path: str | None, *, as_json: bool = False, chunk_bytes: int = 4 << 20, trace: str | None = None) -> int:
    """Run the demo and print its report; return the exit status, 0 if the bytes came back unchanged.

    Parameters
    ----------
    path : str or None
        The file to send; None sends random bytes.
    as_json : bool, default False
        Print the report as JSON.
    chunk_bytes : int, default 4 MiB
        How much one copy moves.
    trace : str, optional
        A file for the times of all copies, in the format of Perfetto and chrome://tracing.
    """
    if trace is not None and not os.path.isdir(directory := os.path.dirname(trace) or "."):
        raise terminal.CommandError(f"cannot write {trace}: no such directory; create {directory}")
    size = _DEFAULT_BYTES if path is None else _size_of(path)
    chunk_bytes = min(chunk_bytes, size)
    device = Device(0)
    with device, _open(path, size) as source:
        report = _describe(path, device)
        with _progress(size, quiet=as_json or size < _LONG or not sys.stderr.isatty()) as advance:
            chunks = _stream(source, chunk_bytes, report, advance)
        report.seconds_per_gb_one_by_one = _measure_one_by_one(chunk_bytes, min(size, _COMPARED_BYTES))
        report.latency_us = measure_latency()
    report.passed = report.first_difference is None and report.bytes == size
    if trace is not None:
        timeline.write(trace, chunks)
    print(json.dumps(asdict(report), indent=2) if as_json else _as_text(report, size, chunks))
    return 0 if report.passed else 1


def _size_of(path: str) -> int:
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory; name a file")
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist; name an existing file, or none for random bytes") from None
    if size == 0:
        raise ValueError(f"{path} is empty (or no regular file); name a file with at least one byte")
    if not os.access(path, os.R_OK):
        raise PermissionError(f"{path} cannot be read; check its permissions")
    return size


def _open(path: str | None, size: int) -> io.RawIOBase:
    return _RandomBytes(size) if path is None else open(path, "rb", buffering=0)


def _describe(path: str | None, device: Device) -> Report:
    used = library()
    return Report(
        library_path=used.path,
        backend=used.backend,
        reason=used.reason,
        device=f"{device.id} of {Device.count()}",
        product=device.name,
        file=path or "random bytes",
        bytes=0,
        chunks=0,
        seconds=0.0,
    )


def _stream(
    source: io.RawIOBase, chunk_bytes: int, report: Report, advance: Callable[[int], None]
) -> list[list[timeline.Span]]:
    """Send everything; return the times of the copies of each chunk."""
    slots = [_Slot(chunk_bytes) for _ in range(_SLOTS)]
    chunks: list[list[timeline.Span]] = []

    def finish(slot: _Slot, line: _Pipeline) -> None:
        if not slot.nbytes:
            return
        chunks.append(slot.wait(line))
        difference = slot.first_difference()
        if report.first_difference is None:
            report.first_difference = difference
        report.bytes += slot.nbytes
        advance(slot.nbytes)
        slot.nbytes = 0

    begin = time.perf_counter()
    with _streams() as (a, b), Event(timing=True) as origin:
        line = _Pipeline(a, b, a.record(origin))
        offset = 0
        while True:
            slot, previous = slots[report.chunks % _SLOTS], slots[(report.chunks - 1) % _SLOTS]
            finish(slot, line)
            if not slot.fill(source, offset):
                break
            slot.send(line)
            previous.fetch(line)
            offset += slot.nbytes
            report.chunks += 1
        previous.fetch(line)
        for slot in slots[report.chunks % _SLOTS :] + slots[: report.chunks % _SLOTS]:
            finish(slot, line)
    report.seconds = time.perf_counter() - begin
    report.seconds_per_gb = report.seconds / report.bytes * 1e9
    for name in STAGES:
        report.stage_ms[name] = sum(it.end_ms - it.begin_ms for chunk in chunks for it in chunk if it.stage == name)
    return chunks


def _measure_one_by_one(chunk_bytes: int, size: int) -> float:
    """Return the seconds per 10 ** 9 bytes if every step waits for the one before."""
    slot = _Slot(chunk_bytes)
    source = _RandomBytes(size)
    begin = time.perf_counter()
    with _streams() as (a, b), Event(timing=True) as origin:
        line = _Pipeline(a, b, a.record(origin))
        while slot.fill(source, 0):
            slot.send(line)
            slot.fetch(line)
            slot.wait(line)
            slot.first_difference()
    return (time.perf_counter() - begin) / size * 1e9


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


def _overlap(gain: float, backend: str) -> list[str]:
    """Return what the pipeline gains, and if that is nothing, first of all why."""
    if gain >= 1:
        return [f"overlap   {gain:.2f} times as fast as one step after the other"]
    shared = "processors and memory bandwidth of this host" if backend == "sim" else "a link"
    return [
        f"overlap   none: the copies share {shared}",
        f"          {gain:.2f} times as fast as one step after the other",
    ]


def _modelled(gain: float, backend: str) -> list[str]:
    """Return what a card would gain, if the simulator gains nothing and models no card already."""
    is_wanted = gain < 1 and backend == "sim" and "ASCEND_RT_SIM_PROFILE" not in os.environ
    return modelled_card.in_words(modelled_card.run()) if is_wanted else []


def _as_text(report: Report, size: int, chunks: list[list[timeline.Span]]) -> str:
    rate = report.bytes / report.seconds / 1e6 if report.seconds else 0.0
    gain = report.seconds_per_gb_one_by_one / report.seconds_per_gb
    lines = [
        f"library   {IN_WORDS[report.backend]}: {report.library_path}",
        f"          {report.reason}",
        f"device    {report.device}, {report.product}",
        f"sent      {report.file}",
        f"moved     {report.bytes} bytes in {report.chunks} chunks, {report.seconds:.3f} s, {rate:.0f} MB/s",
        *(f"          {name:<17}{ms:10.3f} ms" for name, ms in report.stage_ms.items()),
        *_overlap(gain, report.backend),
        *timeline.draw(chunks[:_DRAWN_CHUNKS]),
        *_modelled(gain, report.backend),
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
