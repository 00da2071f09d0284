# SPDX-License-Identifier: Apache-2.0
"""Every function of pyACL with arguments of wrong types, numbers and values: a code or an error, never a crash.

The development mode of Python and its debugging allocator look on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.effort import FIRST_SEED, cases

pytestmark = pytest.mark.simulator("unspecified", "the vendor's runtime takes handles for what they claim to be")

SIGNATURES = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "pyacl" / "signatures.json").read_text(encoding="utf-8")
)

# They use addresses of the host, or wait: they get no numbers.
WITHOUT_NUMBERS = {
    *(f"acl.rt.{name}" for name in ("memcpy", "memcpy2d", "memcpy_async", "memset", "memset_async", "process_report")),
    "acl.rt.binary_load_from_data",
    *(f"acl.util.{name}" for name in ("ptr_to_bytes", "ptr_to_numpy", "start_thread")),
}

CHILD = """
import faulthandler, json, os, random, sys, warnings
import ascend_rt.pyacl as acl

faulthandler.enable()
warnings.simplefilter("ignore")
signatures, without_numbers, seed, cases = map(json.loads, sys.argv[1:5])
progress = open(sys.argv[5], "w")

class Index:
    def __init__(self, value): self.value = value
    def __index__(self): return self.value

class Interrupts:
    def __index__(self): raise KeyboardInterrupt

NUMBERS = [0, 1, -1, 255, 1024, *(sign * 2**bits + by for bits in (31, 32, 63, 64, 200)
                                  for sign in (1, -1) for by in (-1, 0))]
TEXTS = ["", "x", "k" * 2000, "\\u00e4", "\\ud800", "a\\0b"]
OBJECTS = [None, 1.5, float("nan"), b"x", bytearray(2), (), (1,), (-1,), (2**63,), [], [1], [-1], [2**64], ["x"],
           [None], [[]], [{}], [{"type": 1, "value": -1}], [{"id": 2**70}], [{"addr": -1}], [{"reserved": [1] * 99}],
           {}, {1: 2}, {"attrs": [{}], "numAttrs": 1}, {"attrs": [5], "numAttrs": 1}, {"attrs": ()},
           {"attrs": [{"attr": -1, "value": {"rsv": [1] * 50}}], "numAttrs": 1}, {"location": []},
           {"location": {"id": 2**70}}, {"handleType": 2**70, "memAttr": "x"}, {"reserved": [1] * 9},
           {"overflowSwitch": -5}, len, int, object(), Index(3), Index(-1), Index(2**70), Interrupts(), ...]
WRONG = TEXTS + OBJECTS

def fresh_handles():
    acl.rt.reset_device_force(0)  # streams that the function before has blocked
    acl.init()
    acl.rt.set_device(0)
    values = [acl.rt.get_context(), acl.rt.create_stream(), acl.rt.create_event(), acl.rt.create_notify(0),
              acl.rt.malloc(4096, 0), acl.rt.malloc_host(4096), (acl.rt.allocator_create_desc(), 0)]
    assert [code for _, code in values] == [0] * len(values)
    return [value for value, _ in values]

def argument(letter, numbers, draw):
    if letter == "O":
        return draw.choice(OBJECTS if draw.random() < 0.8 else WRONG + numbers)
    if letter == "s":
        return draw.choice(TEXTS if draw.random() < 0.8 else WRONG + numbers)
    return draw.choice(numbers if numbers and draw.random() < 0.85 else WRONG)

for name, letters in signatures.items():
    function = acl
    for part in name.split(".")[1:]:
        function = getattr(function, part)
    letters, draw = letters.replace("|", ""), random.Random(f"{seed} {name}")
    handles = fresh_handles()
    numbers = [] if name in without_numbers else NUMBERS + handles + handles
    for _ in range(cases):
        count = len(letters) if draw.random() < 0.9 else draw.randrange(len(letters) + 3)
        given = [argument(letter, numbers, draw) for letter in letters.ljust(count, "O")[:count]]
        print(name, repr(given)[:2000], file=progress, flush=True)
        try:
            function(*given)
        except (TypeError, ValueError, KeyError, RuntimeError, MemoryError) as error:
            assert str(error) or isinstance(error, MemoryError), "an error without a text"
        acl.rt.set_context(handles[0])
print("done", flush=True)
os._exit(0)  # what the calls have left in the streams may never be done
"""


@pytest.mark.parametrize("part", range(6))
def test_garbage_is_answered(part: int, tmp_path: Path) -> None:
    names = sorted(SIGNATURES)[part::6]
    progress = tmp_path / "calls"
    signatures = {name: SIGNATURES[name] for name in names}
    arguments = map(json.dumps, (signatures, sorted(WITHOUT_NUMBERS), FIRST_SEED, cases(40)))
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", CHILD, *arguments, progress],
        env=os.environ | {"PYTHONMALLOC": "debug", "ASCEND_RT_SIM_DEVICES": "2"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    last = progress.read_text(encoding="utf-8", errors="replace").splitlines()[-1]
    assert (done.returncode, done.stdout) == (0, "done\n"), f"ASCEND_RT_TEST_SEED={FIRST_SEED}: {last}\n{done.stderr}"
