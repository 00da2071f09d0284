# SPDX-License-Identifier: Apache-2.0
"""``ASCEND_RT_SIM_CHECK=memory`` and kernels: their declared accesses are checked, and nothing else is guessed."""

from __future__ import annotations

import pytest
from support.memory_check import FREED, GIVEN, Run

pytestmark = pytest.mark.simulator("memory check")

KERNELS = """
from ascend_rt import AclError, Binary, Buffer, Operand

binary = Binary(sim.device_object("scale"))
s = Stream()
memory = Buffer.from_handle(int(ffi.cast("uintptr_t", malloc(4096))), 4096)
pointer = ffi.cast("void *", memory.handle)
"""
USED = (
    FREED.replace("100", "4096")
    + "\n  while task N of stream S, which aclrtLaunchKernelWithHostArgs at use submitted, still uses it; "
    "synchronize first"
)

FREE_BENEATH = """
with sim.held():
    {launch}
    ok(lib.aclrtFree(pointer))  # free
    s.abort()  # the kernel must not run with freed memory
"""

DECLARED = {
    "words of the kernel's types": ("", 'binary.kernel("scale", ["inout float32[]"]).launch(s, 1, memory)  # use'),
    "words of a registered function": (
        'sim.kernel("scale", {"values": "out float32[n]", "n": "uint32"})(lambda block, values, n: None)',
        'binary.kernel("scale", ["float32[]", "uint32"]).launch(s, 1, memory, 8)  # use',
    ),
    "reads": ("", 'binary.kernel("scale", ["float32[]"]).launch(s, 1, memory, reads=[memory[:64]])  # use'),
    "an operand": (
        "",
        'binary.kernel("scale", ["float32[]"]).launch(s, 1, memory, writes=[Operand(memory, "f4", 8, [64])])  # use',
    ),
}
"""Name -> (what comes before, the launch)."""

UNKNOWN = {
    "types without words": 'binary.kernel("scale", ["float32[]"]).launch(s, 1, memory)',
    "no types": 'binary["scale"].launch(s, 1, memory)',
    "nothing": 'binary["scale"].launch(s, 1, memory, reads=[], writes=[])',
}

PRELUDE = (
    KERNELS
    + """
registered = sim.kernel("scale")(lambda block, arguments: None)
"""
)


@pytest.mark.parametrize("name", DECLARED)
def test_memory_of_a_declared_operand_is_freed_too_early(run_checked: Run, name: str) -> None:
    before, launch = DECLARED[name]
    program = run_checked(PRELUDE + before + FREE_BENEATH.format(launch=launch))
    assert program.reports == [USED]


@pytest.mark.parametrize("name", UNKNOWN)
def test_nothing_is_guessed(run_checked: Run, name: str) -> None:
    assert run_checked(PRELUDE + FREE_BENEATH.format(launch=UNKNOWN[name])).reports == []


def test_an_operand_past_the_end(run_checked: Run) -> None:
    program = run_checked(
        PRELUDE
        + """
borrowed = Buffer.from_handle(int(ffi.cast("uintptr_t", malloc(100))), 104)
binary.kernel("scale", ["in float32[]"]).launch(s, 1, borrowed)  # use
s.synchronize()
"""
    )
    assert len(program.reports) == 1
    assert "uses 104 bytes at P (operand),\n  4 of them past the end of " + GIVEN in program.reports[0]


def test_a_launch_that_fails_declares_nothing_for_the_next(run_checked: Run) -> None:
    refused = """
sim.fail_call("aclrtLaunchKernelWithHostArgs", 207008)
try:
    binary.kernel("scale", ["in float32[]"]).launch(s, 1, memory)
except AclError as error:
    print(error.code)
"""
    program = run_checked(PRELUDE + refused + FREE_BENEATH.format(launch='binary["scale"].launch(s, 1, memory)'))
    assert (program.output, program.reports) == ("207008\n", [])


def test_a_declared_length_that_exceeds_the_buffer(run_checked: Run) -> None:
    program = run_checked(
        PRELUDE
        + """
whole = Buffer.from_handle(int(ffi.cast("uintptr_t", malloc(100))), 100)
binary.kernel("scale", ["in float32[26]"]).launch(s, 1, whole)  # use
s.synchronize()
"""
    )
    assert len(program.reports) == 1
    assert "uses 104 bytes at P (operand),\n  4 of them past the end of " + GIVEN in program.reports[0]
