# SPDX-License-Identifier: Apache-2.0
"""The headline figures at the beginning of a report, and the file of all its figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator

from ascend_rt_measure.bench.ids import BY_ID, LAYERS, PEERS
from ascend_rt_measure.bench.results import Results, Table, ratio, time

CALLS = (  # in every layer, and the most frequent ones in programs
    "event_create_destroy",
    "event_record",
    "stream_wait_event",
    "event_query_complete",
    "event_synchronize_complete",
    "record_wait_synchronize",
)
_MIB = 1 << 20


def where(results: Results) -> str:
    """Return the library and the machine in a few words; charts have them in their titles."""
    machine = results.machine
    library = "simulator" if results.backend == "sim" else machine.get("library", "CANN")
    count = machine.get("processors", "").partition(",")[0]
    return ", ".join(filter(None, (library, machine.get("processor", ""), count and f"{count} processors")))


def headlines(results: Results) -> Table:
    """Return five figures; without those that were not measured."""
    found = ((text, make(results)) for text, make in _HEADLINES)
    return ["", ""], [[text, figure] for text, figure in found if figure]


def _in_python_and_c(name: str) -> Callable[[Results], str]:
    def figure(results: Results) -> str:
        python, c = results.median("facade", name), results.median("c", name)
        return f"{time(python)}, in C {time(c)}" if python is not None and c is not None else ""

    return figure


def _added(results: Results) -> str:
    """Return how much longer the facade takes for a single call; a row of three calls counts per call."""
    added = []
    for name in CALLS:
        python, c = results.median("facade", name), results.median("c", name)
        if python is not None and c is not None:
            added.append((python - c) / len(BY_ID[name].functions()))
    return f"{time(min(added))} to {time(max(added))}" if added else ""


def _bandwidth(results: Results) -> str:
    copy, plain = results.median("c", "copy_async_64MiB"), results.median("c", "memcpy_64MiB")
    if copy is None or plain is None:
        return ""
    return f"{64 * _MIB / copy / 1e9:.1f} GB/s, memcpy {64 * _MIB / plain / 1e9:.1f} GB/s"


def _peer(results: Results) -> str:
    name = "record_wait_synchronize"
    times = ratio(results.median, ("pocl", name), ("facade", name))
    return f"{times:.0f} times as long as with ascend_rt from Python" if times is not None else ""


_HEADLINES: tuple[tuple[str, Callable[[Results], str]], ...] = (
    ("a record, from Python", _in_python_and_c("event_record")),
    ("record, wait on a second stream, synchronize, from Python", _in_python_and_c("record_wait_synchronize")),
    ("additional time of the facade for a call in C", _added),
    ("an asynchronous copy of 64 MiB", _bandwidth),
    ("record, wait, synchronize with OpenCL on the processor (PoCL)", _peer),
)


def figures(results: Results) -> str:
    """Return every figure as a row of a CSV file; times are nanoseconds."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("benchmark", "layer", "median_ns", "p99_ns", "best_ns", "values"))
    writer.writerows(_rows(results))
    return out.getvalue()


def _rows(results: Results) -> Iterator[tuple[str, ...]]:
    for name in results.names():
        for who in LAYERS + PEERS:
            if values := results.values(who, name):
                three = (results.median(who, name), results.p99(who, name), values[0])
                yield name, who, *(f"{1e9 * (value or 0):.4g}" for value in three), str(len(values))
    for name, found in results.latencies.items():
        for side in ("host", "device"):
            if times := found.get(side):
                yield f"latency_{name}", side, *(f"{times[share]:.4g}" for share in ("p50", "p99", "min")), ""
