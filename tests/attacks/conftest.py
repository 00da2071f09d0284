# SPDX-License-Identifier: Apache-2.0
"""Random programs, each in a process that must not be killed by a signal, hang or leave anything behind."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# A program that ended early would have tried nothing.
_END_SAID = "tried all\n"

# `choose` draws what the seed decides. A program that hangs shows where its threads are, and fails.
_BEGINNING = """
import contextlib, faulthandler, gc, os, random, signal, sys, threading, warnings, weakref
import numpy as np
import ascend_rt as rt
from ascend_rt import *

seed = int(sys.argv[1])
choose = random.Random(seed)
faulthandler.enable()
faulthandler.dump_traceback_later(100, exit=True)
warnings.simplefilter("ignore")
sys.unraisablehook = lambda unraisable: None  # a finalizer has no caller

def say_that_all_was_tried():
    print("tried all", flush=True)

def counted(function):
    out = ffi.new("uint32_t *")
    assert getattr(lib, function)(out) == 0
    return out[0]

def left():
    gc.collect()
    device.synchronize()  # closes what was deferred
    gc.collect()
    return device.memory_info.free, counted("aclrtGetStreamAvailableNum"), counted("aclrtGetEventAvailNum")
"""

_END = "\nsay_that_all_was_tried()\n"

_DEVICE = """
device = Device(0)
device.set_current()
"""

Attack = Callable[..., str]


@pytest.fixture
def attack(programs: Any, tmp_path: Path) -> Attack:
    """Return a function that runs a program with a seed, and returns what it prints; first the device is set."""

    def run(script: str, seed: int, *, device: bool = True, **variables: object) -> str:
        path = tmp_path / f"seed_{seed}.py"
        path.write_text(_BEGINNING + _DEVICE * device + textwrap.dedent(script) + _END, encoding="utf-8")
        ended = programs.run(path, str(seed), variables={name: str(value) for name, value in variables.items()})
        said = f"{ended.stdout}{ended.stderr}"
        assert ended.returncode == 0, f"ASCEND_RT_TEST_SEED={seed}: status {ended.returncode}\n{said}"
        assert ended.stdout.endswith(_END_SAID), f"ASCEND_RT_TEST_SEED={seed}: ended early\n{said}"
        return str(ended.stdout.removesuffix(_END_SAID))

    return run
