# SPDX-License-Identifier: Apache-2.0
"""Programs with callbacks under way end at any moment, in any way, without a crash and soon."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.simulator("unspecified", "the vendor's runtime does not promise it")

PROGRAM = """
import atexit, os, random, sys, threading
import ascend_rt.pyacl as acl

draw, end = random.Random(int(sys.argv[1])), sys.argv[2]
acl.init()
acl.rt.set_device(0)
context = acl.rt.get_context()[0]
streams = [acl.rt.create_stream()[0] for _ in range(3)]
event = acl.rt.create_event()[0]

class Data(list):
    def __del__(self):
        try:
            acl.rt.get_device_count()
        except (RuntimeError, AttributeError, TypeError):  # after the end of the runtime, or of the module
            return

def call_back(data):
    chance = draw.random()
    if chance < 0.1:
        raise ValueError("of a callback")
    if chance < 0.3:
        acl.rt.launch_callback(call_back, Data(data), 0, draw.choice(streams))
    if chance > 0.95 and end == "inside a callback":
        os._exit(0)

def process(arguments):
    acl.rt.set_context(context)
    while True:
        try:
            acl.rt.process_report(draw.choice((1, 10, -1)))
        except SystemError as error:
            assert isinstance(error.__cause__, ValueError)

def submit():
    acl.rt.set_context(context)
    for _ in range(100):  # not as many as fill a queue: callbacks that wait for a place in one would be a deadlock
        acl.rt.launch_callback(call_back, Data([1]), draw.randrange(2), draw.choice(streams))
        acl.rt.record_event(event, draw.choice(streams))

for number, stream in enumerate(streams):
    if number % 2:
        thread = acl.util.start_thread(process, [])[0]
    else:
        started = threading.Thread(target=process, args=([],), daemon=True)
        started.start()
        thread = started.ident
    acl.rt.subscribe_report(thread, stream)
sys.unraisablehook = lambda unraisable: None
threading.excepthook = lambda arguments: None  # the end of the runtime is an error in the threads that use it
for _ in range(draw.randrange(3)):
    threading.Thread(target=submit, daemon=True).start()
for _ in range(draw.randrange(100)):
    acl.rt.launch_callback(call_back, Data([2]), draw.randrange(2), draw.choice(streams))
{end}
"""

ENDS = {
    "the last line": "",
    "sys.exit": "sys.exit(0)",
    "os._exit": "os._exit(0)",
    "inside a callback": "",
    "a reset": "acl.rt.reset_device_force(0)",
    "destroyed streams": "for stream in streams: acl.rt.destroy_stream_force(stream)",
    "finalize": "acl.finalize()",
    "an exit hook that waits": "atexit.register(acl.rt.synchronize_stream_with_timeout, streams[0], 50)",
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_program_ends(end: str, seed: int, tmp_path: Path) -> None:
    program = PROGRAM.replace("{end}", ENDS[end])
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program, str(seed), end],
        env=os.environ | {"ASCEND_RT_SIM_STALL_MS": "0"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Fatal" not in done.stderr
