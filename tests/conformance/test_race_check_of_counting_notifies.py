# SPDX-License-Identifier: Apache-2.0
"""``ASCEND_RT_SIM_CHECK=races``: which records of a counting notify bring order to a wait, in any schedule.

The form of the reports is described in support/race_check.py.
"""

from __future__ import annotations

import pytest
from support.race_check import RACE, READ, WRITE, races_of

pytestmark = pytest.mark.simulator("race check")


def found_in(program: str) -> list[str]:
    return races_of(program, {"ASCEND_RT_SIM_PRODUCT": "950"})  # the product with counting notifies


def test_a_counting_notify_orders_behind_no_more_than_its_wait_needs() -> None:
    program = "n = CountingNotify()\nn.record(1, a, operation='add')\n" + WRITE + "n.record(1, a, operation='add')\n"
    for number, races in ((2, []), (1, RACE)):
        assert found_in(f"{program}n.wait({number}, b)\n{READ}") == races


@pytest.mark.parametrize(("number", "adds"), [(0, 1), (1, 200)])
def test_a_counting_notify_orders_behind_nothing_that_its_wait_does_not_need(number: int, adds: int) -> None:
    program = (
        "n = CountingNotify()\nn.record(1, a, operation='add')\n"
        + WRITE
        + f"for i in range({adds}): n.record(1, a, operation='add')\n"
        + f"n.wait({number}, b)\n"
        + READ
    )
    assert found_in(program) == RACE


def test_a_counting_notify_orders_behind_all_that_have_added_to_it() -> None:
    parts = {
        stream: f"copy_async({memory}, p, {stream})  # write\nn.record(1, {stream}, operation='add')\n"
        for stream, memory in (("a", "x"), ("c", "z"))
    }
    program = "n = CountingNotify()\n" + parts["a"] + parts["c"] + "n.wait(2, b)\n" + READ + "copy_async(y, z, b)\n"
    assert found_in(program) == []
    early = program.replace("n.wait(2, b)", "n.wait(1, b)")
    assert len(found_in(early.replace(parts["c"], "") + parts["c"])) == 1


OPEN = "gate.set()\n"  # lets a late stream begin
WRITE_D = "copy_async(x, p, d)  # write\n"
FOLLOW = "e.record(d); a.wait(e)\n"
ADDS = {stream: f"n.record(1, {stream}, operation='add')\n" for stream in "acd"}
BITS = "n.record(1, d, operation='or'); n.record(2, a, operation='or'); n.record(4, c, operation='or')\n"
ROUND = "n.record(1, a, operation='add'); n.record(1, d, operation='add')\n"
AGAIN = "e.record(b); a.wait(e); d.wait(e)\n"
ADD_ALL = "".join(ADDS.values())
COUNTED = {
    "any two of three": (WRITE_D + ADD_ALL + "n.wait(2, b)\n" + READ, RACE),
    "all of three": (WRITE_D + ADD_ALL + "n.wait(3, b)\n" + READ, []),
    "more than two": (WRITE_D + ADD_ALL + "n.wait(2, b, condition='>')\n" + READ, []),
    "two of three that follow": (WRITE_D + FOLLOW + ADD_ALL + "n.wait(2, b)\n" + READ, []),
    "one of two that follow and another": (WRITE_D + FOLLOW + ADD_ALL + "n.wait(1, b)\n" + READ, RACE),
    "one that adds enough alone": (WRITE_D + ADD_ALL + "n.record(2, c, operation='add')\nn.wait(2, b)\n" + READ, RACE),
    "one that adds more than is to spare": (
        WRITE_D + "n.record(3, d, operation='add')\n" + ADDS["a"] + ADDS["c"] + "n.wait(3, b)\n" + READ,
        [],
    ),
    "surplus behind the wait": (
        "k = Notify(); k.wait(c)\n" + WRITE_D + ADD_ALL + "n.wait(2, b)\n" + READ + "k.record(b)\n",
        [],
    ),
    "surplus behind a wait for the exact number": (
        "k = Notify(); k.wait(c)\n" + WRITE_D + ADD_ALL + "n.wait(2, b, condition='==')\n" + READ + "k.record(b)\n",
        [],
    ),
    "surplus behind a synchronization": (
        "k = Notify(); k.wait(c)\n"
        + WRITE_D
        + ADD_ALL
        + "n.wait(2, b)\n"
        + OPEN
        + "b.synchronize()\n"
        + READ
        + "k.record(a)\n",
        [],
    ),
    "wait that is called first": ("n.wait(2, b)\n" + READ + WRITE_D + ADDS["d"] + ADDS["a"] + "n.wait(2, c)\n", []),
    "second round": (
        "for i in range(2):\n    "
        + WRITE_D
        + "    "
        + ROUND
        + "    n.wait(2, b, clear=True)\n    "
        + READ
        + "    "
        + AGAIN,
        [],
    ),
    "second round of three": (
        ROUND + "n.wait(2, b, clear=True)\n" + AGAIN + "c.wait(e)\n" + WRITE_D + ADD_ALL + "n.wait(2, b)\n" + READ,
        RACE,
    ),
    "second round of a number that grows": (
        ROUND + "n.wait(2, b)\n" + AGAIN + WRITE_D + ROUND + "n.wait(4, b)\n" + READ,
        [],
    ),
    "bits": (WRITE_D + BITS + "n.wait(5, b, condition='&')\n" + READ, []),
    "bits of others": (WRITE_D + BITS + "n.wait(6, b, condition='&')\n" + READ, RACE),
    "set by any": (WRITE_D + "n.record(1, a); n.record(1, d); n.wait(1, b)\n" + READ, RACE),
    "set by any that follows": (WRITE_D + FOLLOW + "n.record(1, d); n.record(1, a); n.wait(1, b)\n" + READ, []),
    "set again after a reset": (
        "n.record(1, b); n.wait(1, b); n.record(0, b)\n" + AGAIN + WRITE_D + "n.record(1, d); n.wait(1, b)\n" + READ,
        [],
    ),
    "added to after a reset": (
        "n.record(7, b); n.record(0, b)\n" + AGAIN + WRITE_D + ROUND + "n.wait(2, b)\n" + READ,
        [],
    ),
    "taken away": (
        WRITE_D
        + "n.record(3, d)\n"
        + FOLLOW
        + "n.record(1, a, operation='and')\nn.wait(1, b, condition='==')\n"
        + READ,
        [],
    ),
    "taken away until the number is exact": (
        "n.record(2, d, operation='add')\n"
        + WRITE_D
        + "n.record(1, b, operation='add'); n.wait(2, b, condition='==')\n"
        + READ
        + "n.record(2**32 - 1, d, operation='add')\n",
        [],
    ),
    "sum that wraps below the number": (
        WRITE_D
        + "n.record(2, d, operation='add')\n"
        + "n.record(2**32 - 1, b, operation='add'); n.wait(3, b, condition='<')\n"
        + READ,
        [],
    ),
    "record behind the wait in its stream": (
        "n.wait(1, b)\n" + READ + "n.record(1, b, operation='add')\n" + WRITE_D + ADDS["d"],
        [],
    ),
    "records behind waits for each other": (
        "k = CountingNotify()\n"
        + WRITE_D
        + "n.wait(1, d); k.wait(1, b)\n"
        + READ
        + "n.record(1, b, operation='add'); k.record(3, d, operation='add')\n"
        + ADDS["a"],
        [],
    ),
    "set behind a wait, and added to": (
        "n.wait(1, d); n.record(1, d)\n" + WRITE_D + ADDS["a"] + "n.wait(2, b, condition='==')\n" + READ + ADDS["d"],
        [],
    ),
    "bit that a sum contains": (
        WRITE_D
        + "n.record(3, d, operation='add')\n"
        + "n.record(1, b, operation='add'); n.record(1, b, operation='or'); n.wait(2, b)\n"
        + READ,
        [],
    ),
    "cleared by another wait": (
        WRITE_D + "n.wait(1, d, clear=True)\nn.record(1, b, operation='add'); n.wait(0, b, condition='==')\n" + READ,
        [],
    ),
    "reset for a wait that is called first": (
        "n.record(1, b, operation='add'); n.wait(0, b, condition='==')\n" + READ + WRITE_D + "n.reset(d)\n",
        [],
    ),
    "cleared for a wait behind another one": (
        ADDS["d"]
        + "n.wait(3, b)\n"
        + ADDS["d"]
        + "n.wait(1, b, clear=True)\n"
        + READ
        + ADDS["d"]
        + WRITE_D
        + "n.record(2, d, operation='add')\n",
        ["write after read: read, write"],
    ),
    "many": (
        f"for i in range(700): {ADDS['c']}" + WRITE_D + ADDS["d"] + "n.wait(701, b)\n" + READ,
        [],
    ),
    "one of two that another one needs, in a wait that is called first": (
        "n.wait(3, b)\n"
        + READ
        + WRITE_D
        + ADDS["d"]
        + "end, begin = os.pipe(); c.launch_host_func(os.read, end, 1)\n"
        + ADDS["c"]
        + "n.record(2, a, operation='add')\n"
        + OPEN
        + "os.write(begin, b'.')\n",
        ["write after read: read, write"],
    ),
    "late one behind two functions that wait for the same": (
        "n.wait(3, b)\n"
        + READ
        + WRITE_D
        + ADDS["d"]
        + "c.launch_host_func(gate.wait); c.launch_host_func(gate.wait)\n"
        + ADDS["c"]
        + "n.record(2, a, operation='add')\n",
        ["write after read: read, write"],
    ),
    "number that an add has made zero": (
        "n.record(1, a); e.record(a); b.wait(e); d.wait(e)\n"
        + WRITE_D
        + "n.record((1 << 32) - 1, d, operation='add'); n.wait(0, b, condition='==')\n"
        + READ,
        [],
    ),
}


@pytest.mark.parametrize("late", ["", "d", *(pytest.param(name, marks=pytest.mark.full) for name in "ac")])
@pytest.mark.parametrize(("program", "races"), COUNTED.values(), ids=COUNTED)
def test_a_counting_notify_orders_behind_what_its_wait_needs_in_any_schedule(
    program: str, races: list[str], late: str
) -> None:
    begin = "n, d, gate = CountingNotify(), Stream(), threading.Event()\n"
    if late:
        begin += f"{late}.launch_host_func(gate.wait)\n"
    assert found_in(f"{begin}{program}{OPEN}d.synchronize()\n") == races
