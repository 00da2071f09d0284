# SPDX-License-Identifier: Apache-2.0
"""The states of a failure, by the table of ``ascend_rt._runtime.failures``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import pytest

from ascend_rt import Stream, sim
from ascend_rt._runtime import failures
from ascend_rt._runtime.driver import lib
from ascend_rt._runtime.timeouts import FOR_EVER
from ascend_rt.errors import TaskFailed

pytestmark = pytest.mark.simulator("faults")

CODE = 507015


def states() -> dict[str, str]:
    """Return what ends each state, by the rows of the table."""
    _, heading, rows, *_ = re.split(r"^=[= ]+\n", inspect.getdoc(failures) or "", flags=re.MULTILINE)
    last = heading.splitlines()[0].index("the next state")
    found: dict[str, str] = {}
    for line in rows.splitlines():
        name = line.split("  ")[0] if line[:1].strip() else list(found)[-1]
        found[name] = f"{found.get(name, '')} {line[last:].strip()}".strip()
    return found


def call_in_c(stream: Stream) -> None:
    log = stream._retention.failures
    assert lib.ascend_rt_synchronize_stream(stream._handle, FOR_EVER, log.into) == CODE


def synchronize(stream: Stream) -> None:
    with pytest.raises(TaskFailed):
        stream.synchronize()


def close(stream: Stream) -> None:
    with pytest.raises(TaskFailed):
        stream.close()


ENDS: dict[str, tuple[Callable[[Stream], None], ...]] = {
    "a call of the C function reports it": (call_in_c,),
    "a synchronization or ``close`` raises it": (synchronize, close),
    "--": (),
}


def state(stream: Stream, begun: object) -> str:
    """Return the state of the failure of a stream whose error window was given."""
    if stream._retention.failures.code == CODE:
        return "deferred"
    return "unseen" if stream._retention.window is begun else "reported"


def test_the_table_has_these_states_and_ends() -> None:
    assert list(states()) == ["unseen", "deferred", "reported"]
    assert set(states().values()) == set(ENDS)


@pytest.mark.parametrize("last", [synchronize, close])
def test_a_failure_goes_through_the_states(last: Callable[[Stream], None], stream: Stream) -> None:
    with sim.faults(), Stream() as used:
        window = used._retention.window
        sim.fail_task(CODE, used)
        before = used.record()
        passed = []
        for name, end in states().items():
            assert state(used, window) == name
            passed.append(name)
            with pytest.raises(TaskFailed):  # an event that was recorded before knows it in each
                before.synchronize()
            for act in ENDS[end]:
                if act in (call_in_c, last):
                    act(used)
        assert passed == list(states())
        if last is synchronize:
            used.synchronize()  # reported once
