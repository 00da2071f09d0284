# SPDX-License-Identifier: Apache-2.0
"""The programs of ``ascend-rt verify`` that measure: what they print on the simulator, whatever a library lacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.programs_in_forks import Ended, Programs

from ascend_rt_measure.verify import latencies, limits

PROGRAMS = {"latencies": latencies.CASES, "limits": limits.CASES}
Results = Callable[..., dict[str, Any]]
Run = Callable[..., Ended]
SUMMARY = ["min", "p10", "p25", "p50", "p75", "p90", "p99", "p999", "max"]

# Runs a program after some changes to it.
CHANGED = """
import os, sys
from ascend_rt._runtime import driver
from ascend_rt_measure.verify import latencies, limits, measuring
sys.argv = sys.argv[1:]
{changes}
{program}.main()
"""


@pytest.fixture
def ended(tmp_path: Path, programs: Programs) -> Run:
    """Return a function that runs a program, in smoke mode."""

    def run_smoke(*command: str, **environment: str) -> Ended:
        return programs.run(*command, "--smoke", directory=tmp_path, variables=environment)

    return run_smoke


def results(printed: str) -> dict[str, Any]:
    """Return the result of each case; a line before it says that it begins."""
    lines = [json.loads(line) for line in printed.splitlines()]
    cases = [line.pop("case") for line in lines[1::2]]
    assert lines[::2] == [{"begin": case} for case in cases]
    return dict(zip(cases, lines[1::2], strict=True))


@pytest.fixture
def run(ended: Run) -> Results:
    """Return a function that runs one of the programs, which must succeed, and returns its results."""

    def run_program(program: str, *arguments: str, **environment: str) -> dict[str, Any]:
        done = ended("-m", f"ascend_rt_measure.verify.{program}", *arguments, **environment)
        assert (done.returncode, done.stderr) == (0, "")
        return results(done.stdout)

    return run_program


@pytest.fixture
def changed(ended: Run) -> Run:
    """Return a function that runs a program after some changes to it."""
    return lambda program, changes, *arguments: ended(
        "-c", CHANGED.format(program=program, changes=changes), program, *arguments
    )


def errors(found: dict[str, Any]) -> dict[str, Any]:
    return {case: result["error"] for case, result in found.items() if "error" in result}


def check_summary(summary: dict[str, float]) -> None:
    assert list(summary) == SUMMARY
    assert list(summary.values()) == sorted(summary.values())


def check_latency(case: str, result: dict[str, Any]) -> None:
    assert result["unit"] == "ns"
    assert result["count"] >= 1
    check_summary(result["host"])
    assert result["host"]["min"] > 0
    if "device" in result:
        check_summary(result["device"])
        assert result["device"]["min"] >= 0
    if "bytes" in result:
        assert case.endswith(f"_{result['bytes']}")


def test_latencies(run: Results) -> None:
    found = run("latencies")
    assert list(found) == list(latencies.CASES)
    assert errors(found) == {}
    for case, result in found.items():
        check_latency(case, result)
    assert {case for case, result in found.items() if "device" not in result} == set(latencies._ON_HOST)
    moved = {result["bytes"] for result in found.values() if "bytes" in result}
    assert moved == {64, 1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20}
    assert sum("bytes" in result for result in found.values()) == 4 * len(moved)


def test_the_time_between_two_events_contains_what_runs_between_them(run: Results) -> None:
    found = run("latencies", "--only", "elapsed_time")["elapsed_time"]
    assert found["count"] == latencies.SMOKE.intervals
    for name in ("host", "device", "difference", "ratio"):
        check_summary(found[name])
    assert found["host"]["min"] >= latencies._INTERVAL_S * 1e9
    # The stamps are taken before and after, on the same clock here, in ticks of 20 ns.
    assert found["difference"]["min"] >= -40


def test_limits(run: Results) -> None:
    found = run("limits")
    assert list(found) == list(limits.CASES)
    assert errors(found) == {}
    for result in found.values():
        by = result["by"]
        assert set(result) == {"value", "code", "by", "function"} | ({"ended"} if by != "asked" else set())
        assert (result["value"] is None) == (by == "asked" and result["code"] != 0)
        if by == "created":
            assert (result["value"], result["ended"]) == (limits.SMOKE.most_objects, "bound")


@pytest.mark.full
@pytest.mark.simulator("products")
@pytest.mark.parametrize(("product", "depth"), [("910B", 1792), ("910C", 1792), ("310B", 2010), ("950", 2014)])
def test_the_depth_of_a_queue(product: str, depth: int, run: Results) -> None:
    # The first task counts (hardware_seen.md section 2.1).
    found = run("limits", "--only", "queue_depth", ASCEND_RT_SIM_PRODUCT=product)["queue_depth"]
    assert (found["value"], found["code"], found["ended"]) == (depth, 0, "blocked")


@pytest.mark.simulator("products")
def test_creation_until_it_is_refused(changed: Run) -> None:
    done = changed("limits", "limits.SMOKE = limits.FULL", "--only", "streams", "notifies", "events_ex_sync")
    found = results(done.stdout)
    outcomes = {case: (result["value"], result["code"], result["ended"]) for case, result in found.items()}
    assert outcomes == {
        "streams": (1982, 207005, "refused"),
        "notifies": (8192, 207009, "refused"),
        "events_ex_sync": (limits.FULL.most_objects, 0, "bound"),
    }


@pytest.mark.full
@pytest.mark.simulator("products")
@pytest.mark.parametrize("product", ["910C", "310B", "310P", "910", "950"])
def test_other_products(product: str, run: Results) -> None:
    for program, cases in PROGRAMS.items():
        found = run(program, ASCEND_RT_SIM_PRODUCT=product)
        assert list(found) == list(cases)
        assert errors(found) == {}


MORE_FAILURES = [
    ("latencies", "aclrtQueryEventStatus", "query"),
    ("latencies", "aclrtLaunchHostFunc", "host_function_round_trip"),
    ("latencies", "aclrtSubscribeReport", "callback_round_trip"),
    ("latencies", "aclrtUnSubscribeReport", "callback_round_trip"),
    ("latencies", "aclrtEventElapsedTime", "empty_pair"),
    ("latencies", "aclrtMemcpyAsync", "copy_host_to_device_64"),
    ("latencies", "aclrtMallocHost", "copy_host_to_device_64"),
    ("latencies", "aclrtDestroyEvent", "query"),
    ("limits", "aclrtDestroyNotify", "notifies"),
]


@pytest.mark.simulator("faults")
@pytest.mark.parametrize(
    ("program", "function", "failing"),
    [
        ("latencies", "aclrtStreamWaitEvent", "wait"),
        ("limits", "aclrtMemsetAsync", "queue_depth"),
        *(pytest.param(*case, marks=pytest.mark.full) for case in MORE_FAILURES),
        pytest.param(
            *("limits", "aclrtGetCurrentContext", "queue_depth"),
            marks=[
                pytest.mark.full,
                pytest.mark.simulator("internals", "a library in front of it asks for contexts too"),
            ],
        ),
    ],
)
def test_a_function_that_fails_is_an_error_of_its_case_only(
    program: str, function: str, failing: str, run: Results
) -> None:
    found = run(program, ASCEND_RT_SIM_FAULTS=f"call:{function}:1=507899")
    assert errors(found) == {failing: {"function": function, "code": 507899}}


@pytest.mark.simulator("faults")
def test_the_first_of_several_failures_is_the_error(run: Results) -> None:
    faults = "call:aclrtStreamWaitEvent:1=507899;call:aclrtDestroyEvent:0=507000"
    found = run("latencies", "--only", "wait", ASCEND_RT_SIM_FAULTS=faults)
    assert errors(found) == {"wait": {"function": "aclrtStreamWaitEvent", "code": 507899}}


@pytest.mark.simulator("faults")
@pytest.mark.simulator("internals", "a library that fails at once is refused")
def test_what_a_refusal_is_to_a_limit(run: Results) -> None:
    faults = "call:aclrtGetDeviceCount:1=507899;call:aclrtCreateNotify:8=207009"
    found = run("limits", "--only", "devices", "notifies", ASCEND_RT_SIM_FAULTS=faults)
    assert found["devices"] == {"value": None, "code": 507899, "by": "asked", "function": "aclrtGetDeviceCount"}
    assert (found["notifies"]["value"], found["notifies"]["code"], found["notifies"]["ended"]) == (7, 207009, "refused")


@pytest.mark.simulator("faults")
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_task_that_fails(program: str, run: Results) -> None:
    # It is the first one of each stream, and the synchronization reports it.
    found = run(program, ASCEND_RT_SIM_FAULTS="task:*:1=507015")
    assert list(found) == list(PROGRAMS[program])
    assert errors(found)
    assert all(error["code"] == 507015 for error in errors(found).values())


@pytest.mark.simulator("faults")
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_device_that_cannot_be_set(program: str, run: Results) -> None:
    found = run(program, ASCEND_RT_SIM_FAULTS="call:aclrtSetDevice:0=507033")
    error = {"function": "aclrtSetDevice", "code": 507033}
    assert errors(found) == dict.fromkeys(PROGRAMS[program], error)


@pytest.mark.full
@pytest.mark.parametrize(
    ("program", "function", "failing"),
    [
        ("latencies", "aclrtLaunchHostFunc", {"host_function", "host_function_round_trip"}),
        ("latencies", "aclrtSubscribeReport", {"callback", "callback_round_trip"}),
        ("latencies", "aclrtMemsetAsync", {case for case in latencies.CASES if case.startswith("fill_")}),
        ("limits", "aclrtGetMemInfo", {case for case in limits.CASES if "memory_" in case}),
        ("limits", "aclrtCreateNotify", {"notifies", "notifies_device_use_only"}),
        ("limits", "aclrtLaunchHostFunc", set()),
    ],
)
def test_a_function_that_is_missing_is_named(program: str, function: str, failing: set[str], changed: Run) -> None:
    # As the loader treats a function that the library lacks. Without host functions, callbacks keep streams busy.
    changes = f"driver.load(); driver._stand_in({{{function!r}: driver._not_in_library({function!r})}})"
    done = changed(program, changes)
    assert (done.returncode, done.stderr) == (0, "")
    error = {"function": function, "code": 207000}
    assert errors(results(done.stdout)) == dict.fromkeys(failing, error)


@pytest.mark.full
@pytest.mark.simulator("held tasks")
@pytest.mark.parametrize(
    ("program", "finished", "hanging"), [("latencies", "empty_call", "query"), ("limits", "devices", "queue_depth")]
)
def test_a_case_that_hangs_ends_the_process(program: str, finished: str, hanging: str, changed: Run) -> None:
    changes = "measuring.CASE_LIMIT_S = 2; driver.lib.aclsimHold(1)"
    done = changed(program, changes, "--only", finished, hanging)
    assert (done.returncode, done.stderr) == (1, "")
    *before, last = done.stdout.splitlines()
    assert json.loads(last) == {"begin": hanging}
    assert list(results("\n".join(before))) == [finished]


def test_what_a_library_prints_is_not_among_the_results(tmp_path: Path, changed: Run) -> None:
    printing = "limits.CASES['devices'] = lambda held, effort: {'value': os.write(1, b'noise')}"
    done = changed("limits", printing, "--only", "devices")
    assert (done.returncode, done.stderr) == (0, "noise")
    assert results(done.stdout) == {"devices": {"value": 5}}
