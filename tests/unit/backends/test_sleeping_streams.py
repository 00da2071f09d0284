# SPDX-License-Identifier: Apache-2.0
"""Streams that are kept busy for a number of the device's cycles. Each case has a separate process."""

from __future__ import annotations

import pytest
from support.programs import BEGINNING

pytestmark = pytest.mark.simulator("kernels")

# No test waits that long: four months.
LONG = "1 << 49"


def lines(run, code: str, **variables: str) -> list[str]:
    result = run("-c", BEGINNING + "stream, other = Stream(), Stream()\n" + code, ASCEND_RT_BACKEND="sim", **variables)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


@pytest.mark.parametrize(
    "end",
    [
        "stream.abort()",
        "lib.aclrtDeviceTaskAbort(0, 0)",
        "lib.aclrtResetDeviceForce(0)",
        "stream.close(force=True)",
    ],
)
def test_it_ends_with_what_drops_the_stream(run, end: str) -> None:
    code = f"""
from ascend_rt._runtime import lifecycle
lifecycle._WORK_MS = 100  # for the stream that waits for what was dropped
begin = stream.record()
sim.sleep(stream, {LONG})
event = stream.record()
other.wait(event)
print(begin.is_done, event.is_done, stream.is_done, other.is_done)
print(Stream().record().is_done)
{end}
"""
    assert lines(run, code) == ["True False False False", "True"]


@pytest.mark.parametrize(("product", "ticks"), [("910B", 50000), ("310B", 48000), ("950", 1000000)])
def test_it_takes_the_cycles_of_the_product(run, product: str, ticks: int) -> None:
    code = f"""
begin, end = Event(timing=True), Event(timing=True)
stream.record(begin)
sim.sleep(stream, {3 * ticks})
stream.record(end)
stream.synchronize()
print(begin.elapsed_time(end) >= 3.0)
"""
    assert lines(run, code, ASCEND_RT_SIM_PRODUCT=product) == ["True"]


def test_a_graph_sleeps_each_time(run) -> None:
    code = """
begin, end = Event(timing=True), Event(timing=True)
with stream.capture() as graph:
    sim.sleep(stream, 50000)
for _ in range(2):
    stream.record(begin)
    graph.launch(stream)
    stream.record(end)
    stream.synchronize()
    print(begin.elapsed_time(end) >= 1.0)
"""
    assert lines(run, code) == ["True", "True"]


def test_what_it_refuses(run) -> None:
    code = """
sim.sleep(None, 0)
print(Stream.default().is_done)
print(code_of(sim.sleep, None, 1), lib.aclsimSleep(ffi.cast("void *", 4096), 1))
try:
    sim.sleep(stream, -1)
except ValueError as error:
    print(error)
"""
    assert lines(run, code) == ["True", "0 107017", "the number of cycles must be 0 or more, got -1"]
