# SPDX-License-Identifier: Apache-2.0
"""Random programs under the race check: it reports the races that a slow reference finds, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.effort import EFFORT, cases
from support.races import (
    EVENTS,
    MEMORIES,
    NOTIFIES,
    STREAMS,
    UNITS,
    Call,
    Deadlock,
    Reference,
    Runner,
    line_of,
    races_of,
    source_of,
)

pytestmark = [pytest.mark.simulator("race check"), pytest.mark.timeout(180 * EFFORT)]

streams, events = st.integers(0, STREAMS - 1), st.integers(0, EVENTS - 1)
memories = st.integers(0, len(MEMORIES) - 1)


@st.composite
def ranges(draw: st.DrawFn) -> tuple[int, int, int]:
    """Return where a target begins, where a source begins, and a number of units."""
    count = draw(st.integers(1, 4))
    return draw(st.integers(0, UNITS - count)), draw(st.integers(0, UNITS - count)), count


@st.composite
def transfers(draw: st.DrawFn) -> Call:
    name = draw(st.sampled_from(["fill", "fill", "copy", "copy", "copy", "copy_rows", "blocking_copy"]))
    stream, target, source = draw(streams), draw(memories), draw(memories)
    begin, from_, count = draw(ranges())
    if name == "fill":
        target %= 2
    elif target == source:  # a copy within one memory must not overlap itself
        source = (source + 1) % len(MEMORIES)
    return Call(name, stream, 0, target, source, begin, count, from_)


@st.composite
def host_accesses(draw: st.DrawFn) -> Call:
    name = draw(st.sampled_from(["host_read", "host_write", "host_function_read", "host_function_write"]))
    begin, from_, count = draw(ranges())
    return Call(name, draw(streams), 0, 2, 2, begin, count, from_)


@st.composite
def orders(draw: st.DrawFn) -> list[Call]:
    """Return something that brings order, or would with the rest of it."""
    one, other, event = draw(streams), draw(streams), draw(events)
    kind = draw(st.sampled_from(["hand over", "hand over", "record", "wait", "host", "host", "event", "renew", "free"]))
    if kind == "hand over":
        return [Call("record", one, event), Call("wait", other, event)]
    if kind == "host":
        return [Call(draw(st.sampled_from(["synchronize", "poll"])), one)]
    if kind == "event":
        return [Call("synchronize_event", other=event)]
    if kind == "renew":
        return [Call("renew_stream", one)]
    if kind == "free":
        # Not of pinned memory: a late host function would use what is at its address by then.
        return [Call("free", target=draw(st.integers(0, 1)))]
    return [Call(kind, one, event)]


@st.composite
def programs(draw: st.DrawFn) -> list[Call]:
    alone = st.one_of(transfers(), host_accesses()).map(lambda it: [it])
    parts = draw(st.lists(st.one_of(alone, alone, orders()), max_size=14))
    calls = [call for part in parts for call in part]
    for notify in range(NOTIFIES):
        if draw(st.booleans()):  # a wait may come before its record
            for name in ("notify", "await_notify"):
                calls.insert(draw(st.integers(0, len(calls))), Call(name, draw(streams), notify))
    numbers = draw(st.lists(st.integers(1, 2), max_size=4))
    counted = [Call("add", draw(streams), number) for number in numbers]
    if numbers:
        counted.append(Call("await_sum", draw(streams), draw(st.integers(1, sum(numbers)))))
    for call in counted:
        calls.insert(draw(st.integers(0, len(calls))), call)
    return calls


@pytest.fixture(
    scope="module",
    params=[("2", False), ("2", True), pytest.param(("1", False), marks=pytest.mark.full)],
    ids=["two workers", "a late stream", "one worker"],
)
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    workers, late = request.param
    running = Runner(late=late, ASCEND_RT_SIM_WORKERS=workers)
    yield running
    running.close()


def reference_of(calls: list[Call]) -> Reference:
    try:
        return Reference(calls)
    except Deadlock:
        assume(False)
        raise


@settings(max_examples=cases(250), deadline=None, suppress_health_check=list(HealthCheck))
@given(calls=programs())
def test_the_reported_races_are_those_of_the_reference(runner: Runner, calls: list[Call]) -> None:
    reference = reference_of(calls)
    assert races_of(runner.run(source_of(calls))) == reference.races, source_of(calls)


def repaired(calls: list[Call], finding: dict[str, Any]) -> tuple[list[Call], dict[int, int]]:
    """Return the program with the proposed repair, and the new number of each line."""
    fix = finding["fix"]
    added: dict[int, list[Call]] = {}  # behind each line
    if fix["case"] == "event":
        after, before = line_of(fix["record_after"]), line_of(fix["wait_before"])
        added.setdefault(after, []).append(replace(calls[after - 1], name="record", other=EVENTS))
        added.setdefault(before - 1, []).append(replace(calls[before - 1], name="wait", other=EVENTS))
    else:
        before = line_of(fix["before"])
        (racing,) = (finding[it] for it in ("first", "second") if finding[it]["stream"] is not None)
        added[before - 1] = [replace(calls[line_of(racing["frames"]) - 1], name="synchronize")]
    result = list(added.get(0, []))
    numbers: dict[int, int] = {}
    for line, call in enumerate(calls, 1):
        result.append(call)
        numbers[line] = len(result)
        result += added.get(line, [])
    return result, numbers


@settings(max_examples=cases(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(calls=programs())
def test_a_proposed_repair_silences_the_report(runner: Runner, calls: list[Call]) -> None:
    reference_of(calls)
    for finding in runner.run(source_of(calls)):
        if finding["kind"] != "race":
            continue
        mended, numbers = repaired(calls, finding)
        try:
            Reference(mended)
        except Deadlock:
            continue  # a wait for a later call: no place for the repair in this order of calls
        pair = sorted(numbers[line_of(finding[it]["frames"])] for it in ("first", "second"))
        assert tuple(pair) not in races_of(runner.run(source_of(mended))), (source_of(calls), source_of(mended))
