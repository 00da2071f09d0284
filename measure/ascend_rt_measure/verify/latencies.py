# SPDX-License-Identifier: Apache-2.0
"""In a separate process: measure the latencies of calls on device 0, with the library in use.

``python -m ascend_rt_measure.verify.latencies [--smoke] [--only CASE ...]`` prints of each case

- ``unit``, ``"ns"``, and ``count``, the number of samples;
- ``host``: what the calls took the caller, as minimum, maximum and percentiles;
- ``device``: the time on the device between two timed events around the calls, for what is submitted to a stream;
- ``bytes`` that a sample copies or fills.

Nothing is subtracted from a time: ``empty_call`` shows what measuring costs on the host, and ``empty_pair`` what two
events with nothing between them show. A sample begins with an idle stream, into which the first of the two events goes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ascend_rt._runtime.driver import call, check, ffi, lib
from ascend_rt_measure.verify.measuring import Call, Latch, Resources, Result, bound, perform, run

_SIZES = tuple(64 << 4 * step for step in range(6))  # 64 bytes to 64 MiB
_INTERVAL_S = 0.02


class Effort(NamedTuple):
    """How long a case may be measured."""

    budget_ns: int
    most_samples: int
    least_samples: int
    intervals: int  # the host's, to compare the device's clock with


FULL = Effort(150_000_000, 10_000, 5, 10)
SMOKE = Effort(2_000_000, 20, 1, 2)


# --- samples ---------------------------------------------------------------------------------------------------------


def summary(values: Sequence[float]) -> Result:
    """Return minimum, maximum and percentiles, each of them one of the values."""
    ordered = sorted(values)
    shares = {"min": 0.0, "p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "p999": 0.999}
    found = {name: ordered[int(share * len(ordered))] for name, share in shares.items()}
    return {**found, "max": ordered[-1]}


# --- cases that make the same calls again and again ------------------------------------------------------------------

Prepare = Callable[[Resources, Any], list[Call]]  # for a stream


def _record(held: Resources, stream: Any) -> list[Call]:
    return [bound("aclrtRecordEvent", held.event(), stream)]


def _recorded(held: Resources, stream: Any) -> Any:
    """Return an event that is complete."""
    event = held.event()
    call("aclrtRecordEvent", event, stream)
    call("aclrtSynchronizeStream", stream)
    return event


def _wait(held: Resources, stream: Any) -> list[Call]:
    return [bound("aclrtStreamWaitEvent", stream, _recorded(held, stream))]


def _query(held: Resources, stream: Any) -> list[Call]:
    return [bound("aclrtQueryEventStatus", _recorded(held, stream), ffi.new("aclrtEventRecordedStatus *"))]


def _synchronize_event(held: Resources, stream: Any) -> list[Call]:
    return [bound("aclrtSynchronizeEvent", _recorded(held, stream))]


def _synchronize_stream(held: Resources, stream: Any) -> list[Call]:
    return [bound("aclrtSynchronizeStream", stream)]


def _record_synchronize(held: Resources, stream: Any) -> list[Call]:
    event = held.event()
    return [bound("aclrtRecordEvent", event, stream), bound("aclrtSynchronizeEvent", event)]


def _host_function(held: Resources, stream: Any) -> list[Call]:
    return [held.host_function(lambda: None, stream)]


def _callback(held: Resources, stream: Any) -> list[Call]:
    return [held.reported_callback(lambda: None, stream)]


def _then_synchronize(prepare: Prepare) -> Prepare:
    return lambda held, stream: [*prepare(held, stream), bound("aclrtSynchronizeStream", stream)]


_MEMORY = {
    "host_to_device": (Resources.device_memory, Resources.pinned_memory, lib.ACL_MEMCPY_HOST_TO_DEVICE),
    "device_to_host": (Resources.pinned_memory, Resources.device_memory, lib.ACL_MEMCPY_DEVICE_TO_HOST),
    "device_to_device": (Resources.device_memory, Resources.device_memory, lib.ACL_MEMCPY_DEVICE_TO_DEVICE),
}


def _copy(direction: str, size: int, held: Resources, stream: Any) -> list[Call]:
    destination, source, kind = _MEMORY[direction]
    return [bound("aclrtMemcpyAsync", destination(held, size), size, source(held, size), size, kind, stream)]


def _fill(size: int, held: Resources, stream: Any) -> list[Call]:
    return [bound("aclrtMemsetAsync", held.device_memory(size), size, 1, size, stream)]


class _Device:
    """Two timed events around what is submitted."""

    def __init__(self, held: Resources, stream: Any) -> None:
        begin, end = (held.event(lib.ACL_EVENT_SYNC | lib.ACL_EVENT_TIME_LINE) for _ in range(2))
        self.begin, self.end = (bound("aclrtRecordEvent", event, stream) for event in (begin, end))
        self._out = ffi.new("float *")
        self._elapsed = bound("aclrtEventElapsedTime", self._out, begin, end)

    def elapsed_ns(self) -> int:
        """Return the time between the events, which must be complete."""
        perform(self._elapsed)
        return round(float(self._out[0]) * 1e6)


def _sampled(prepare: Prepare, is_timed: bool, size: int | None, held: Resources, effort: Effort) -> Result:
    """Measure calls one after the other, on the device too if they are timed."""
    stream = held.stream()
    calls = prepare(held, stream)
    device = _Device(held, stream) if is_timed else None
    held.drained(stream)
    synchronize = bound("aclrtSynchronizeStream", stream)

    def sample() -> tuple[int, int]:
        if device:
            perform(device.begin)
        begin = time.perf_counter_ns()
        for function, arguments in calls:
            code = function(*arguments)
            if code:
                check(code, function.__name__)
        end = time.perf_counter_ns()
        if device:
            perform(device.end)
        perform(synchronize)
        return end - begin, device.elapsed_ns() if device else 0

    sample()  # the first one allocates, and touches memory
    samples: list[tuple[int, int]] = []
    deadline = time.perf_counter_ns() + effort.budget_ns
    while len(samples) < effort.least_samples or (
        len(samples) < effort.most_samples and time.perf_counter_ns() < deadline
    ):
        samples.append(sample())
    host, on_device = zip(*samples, strict=True)
    result = {"unit": "ns", "count": len(samples), "host": summary(host)}
    if is_timed:
        result["device"] = summary(on_device)
    if size is not None:
        result["bytes"] = size
    return result


# --- the clock of the device -----------------------------------------------------------------------------------------


def _elapsed_time(held: Resources, effort: Effort) -> Result:
    """Compare the time between two events with that of a function of the host which runs between them.

    ``difference`` is the device's time less the host's, ``ratio`` the device's divided by the host's.
    """
    stream = held.stream()
    device = _Device(held, stream)
    latch = Latch(held, stream)
    pairs = []
    for _ in range(effort.intervals):
        perform(device.begin)
        latch.close()
        perform(device.end)
        time.sleep(_INTERVAL_S)
        latch.open()
        call("aclrtSynchronizeStream", stream)
        pairs.append((latch.ended_ns - latch.began_ns, device.elapsed_ns()))
    host, on_device = zip(*pairs, strict=True)
    return {
        "unit": "ns",
        "count": len(pairs),
        "host": summary(host),
        "device": summary(on_device),
        "difference": summary([there - here for here, there in pairs]),
        "ratio": summary([round(there / here, 6) for here, there in pairs]),
    }


# --- all of them -----------------------------------------------------------------------------------------------------

_ON_HOST: dict[str, Prepare] = {
    "empty_call": lambda held, stream: [bound("ascend_rt_no_op", ffi.NULL, ffi.NULL)],
    "query": _query,
    "event_synchronize": _synchronize_event,
    "stream_synchronize": _synchronize_stream,
    "record_synchronize": _record_synchronize,
    "host_function_round_trip": _then_synchronize(_host_function),
    "callback_round_trip": _then_synchronize(_callback),
}
_SUBMITTED: dict[str, Prepare] = {
    "empty_pair": lambda held, stream: [],
    "record": _record,
    "wait": _wait,
    "host_function": _host_function,
    "callback": _callback,
}
_MOVED: dict[str, Callable[[int, Resources, Any], list[Call]]] = {
    **{f"copy_{direction}": partial(_copy, direction) for direction in _MEMORY},
    "fill": _fill,
}
CASES: dict[str, Callable[[Resources, Effort], Result]] = {
    **{name: partial(_sampled, prepare, False, None) for name, prepare in _ON_HOST.items()},
    **{name: partial(_sampled, prepare, True, None) for name, prepare in _SUBMITTED.items()},
    **{
        f"{name}_{size}": partial(_sampled, partial(prepare, size), True, size)
        for name, prepare in _MOVED.items()
        for size in _SIZES
    },
    "elapsed_time": _elapsed_time,
}


def main() -> None:
    """Measure."""
    run("Measure what calls cost on device 0.", CASES, FULL, SMOKE)


if __name__ == "__main__":
    main()
