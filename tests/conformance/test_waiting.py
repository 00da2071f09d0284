# SPDX-License-Identifier: Apache-2.0
"""Waiting: many streams that poll, limits that are not reached, a host without threads, the limit of operators."""

from __future__ import annotations

import sys
from typing import Any

import pytest

pytestmark = pytest.mark.simulator("internals", "a device looks at memory by itself")


# Values that another process or the host may change without a notice to the streams.
CROWDS = """
assert lib.aclrtSetDevice(0) == 0
memory, event, notify = ffi.new("void **"), ffi.new("aclrtEvent *"), ffi.new("aclrtNotify *")
assert lib.aclrtMalloc(memory, 64, 0) == lib.aclrtMemset(memory[0], 64, 0, 64) == 0
assert lib.aclrtCreateEventExWithFlag(event, lib.ACL_EVENT_SYNC) == 0
assert lib.aclrtCreateNotify(notify, 0) == 0
assert lib.aclrtNotifyGetExportKey(notify[0], ffi.new("char[65]"), 65, 0) == 0
waits = {
    "value": lambda stream: lib.aclrtValueWait(memory[0], 1, lib.ACL_STREAM_WAIT_VALUE_EQ, stream),
    "notify": lambda stream: lib.aclrtWaitAndResetNotify(notify[0], stream, 0),
}
streams = ffi.new("aclrtStream[1500]")
for i in range(1500):
    assert lib.aclrtCreateStream(streams + i) == 0
    assert waits[sys.argv[1]](streams[i]) == 0
"""


@pytest.mark.parametrize("kind", ["value", "notify"])
def test_a_crowd_that_polls_does_not_keep_others_from_the_runtime(child: Any, kind: str) -> None:
    # The process ends while they wait.
    records = "codes = {lib.aclrtRecordEvent(event[0], ffi.NULL) for _ in range(2000)}\n"
    reported = "reported([*codes, lib.aclrtSynchronizeStreamWithTimeout(streams[0], 50)])\n"
    assert child(CROWDS + records + reported, kind) == [0, 507046]


def test_a_crowd_passes_when_the_host_writes_the_value(child: Any) -> None:
    write = 'ffi.cast("uint64_t *", memory[0])[0] = 1\n'
    reported = "reported(sorted({lib.aclrtSynchronizeStream(stream) for stream in streams}))\n"
    assert child(CROWDS + write + reported, "value") == [0]


@pytest.mark.skipif(sys.platform != "linux", reason="limits threads the Linux way")
@pytest.mark.parametrize(
    ("wait", "code"),
    [
        ("lib.aclrtStreamWaitEventWithTimeout(stream[0], event[0], 1)", 207005),
        ("lib.aclrtStreamWaitEventWithTimeout(stream[0], event[0], 0)", 0),
        ("lib.aclrtWaitAndResetNotify(notify[0], stream[0], 1)", 207005),
        ("lib.aclrtWaitAndResetNotify(notify[0], stream[0], 0)", 0),
        ("lib.aclrtNotifyGetExportKey(notify[0], ffi.new('char[65]'), 65, 0)", 207005),
        ("lib.aclrtValueWait(memory[0], 1, 1, stream[0])", 207005),
        ("lib.aclsimDelayTasks(stream[0], 1)", 207005),
    ],
)
def test_a_host_without_threads_keeps_no_limits(child: Any, wait: str, code: int) -> None:
    script = """
    import resource
    assert lib.aclrtSetDevice(0) == 0
    stream, event, notify = ffi.new("aclrtStream *"), ffi.new("aclrtEvent *"), ffi.new("aclrtNotify *")
    memory = ffi.new("void **")
    assert lib.aclrtCreateStream(stream) == lib.aclrtCreateEventWithFlag(event, 1) == 0
    assert lib.aclrtCreateNotify(notify, 0) == 0
    assert lib.aclrtMalloc(memory, 64, 0) == lib.aclrtMemset(memory[0], 64, 0, 64) == 0
    if os.getuid() == 0:
        os.setuid(65534)  # the limit does not hold for root
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    code = eval(sys.argv[1])
    submitted = ffi.new("uint32_t *")
    lib.aclrtGetThreadLastTaskId(submitted)
    reported([code, submitted[0] == 0xFFFFFFFF])
    """
    assert child(script, wait) == [code, code != 0]


@pytest.mark.full
@pytest.mark.parametrize("product", ["910B", "910C"])
def test_synchronizing_a_device_ends_with_the_time_limit_of_operators(child: Any, product: str) -> None:
    # The shortest limit is 4.3 s. tests/native/operator_limit_test.cpp has a simulated clock, and the rules.
    script = """
    import time
    assert lib.aclrtSetDevice(0) == 0
    stream, notify, actual = ffi.new("aclrtStream *"), ffi.new("aclrtNotify *"), ffi.new("uint64_t *")
    assert lib.aclrtCreateStream(stream) == lib.aclrtCreateNotify(notify, 0) == 0
    assert lib.aclrtSetOpExecuteTimeOutV2(1, actual) == lib.aclrtWaitAndResetNotify(notify[0], stream[0], 0) == 0
    begin = time.monotonic()
    codes = [lib.aclrtSynchronizeDevice()]
    has_waited = time.monotonic() - begin >= actual[0] / 1_000_000
    codes += [lib.aclrtRecordNotify(notify[0], ffi.NULL), lib.aclrtSynchronizeDevice()]
    reported([codes, has_waited])
    """
    assert child(script, ASCEND_RT_SIM_PRODUCT=product) == [[507046, 0, 0], True]
