# SPDX-License-Identifier: Apache-2.0
"""A subinterpreter is refused, and leaves the main interpreter as it was."""

from __future__ import annotations

import sys

import pytest

from tests.unit.conftest import Run

PROGRAM = """
import ascend_rt
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

ATTEMPT = '''
try:
    import ascend_rt
    ascend_rt.{use}
except ImportError as error:
    print("refused:", error)
'''

def work():
    ascend_rt.Device(0).set_current()
    with ascend_rt.Stream() as stream, ascend_rt.Event() as event:
        event.record(stream)
        event.synchronize()

{first}
for use in ("lib.aclInit", "Stream()"):
    other = interpreters.create()
    interpreters.run_string(other, ATTEMPT.format(use=use))
    interpreters.destroy(other)
work()
print("the main interpreter works")
"""


@pytest.mark.parametrize("first", ["pass", "work()"], ids=["before the first use", "after it"])
def test_a_subinterpreter_is_refused(run: Run, first: str) -> None:
    done = run("-c", PROGRAM.replace("{first}", first), ASCEND_RT_BACKEND="sim")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["refused", "refused", "the main interpreter works"]
    if sys.version_info < (3, 12):  # newer ones may refuse the extension modules themselves
        assert all("does not support subinterpreters" in line for line in lines[:2])
