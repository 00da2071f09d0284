# SPDX-License-Identifier: Apache-2.0
"""Logging: rare and decisive events, nothing on hot calls."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from ascend_rt import Buffer, Context, Device, OutOfMemory, PinnedBuffer, Stream, copy_async, sim


@pytest.fixture
def messages(device: Device, caplog: pytest.LogCaptureFixture) -> Any:
    """Return a function that returns what was logged since it was called last."""
    caplog.set_level(logging.DEBUG, "ascend_rt")
    caplog.clear()

    def since() -> list[str]:
        logged = [record.getMessage() for record in caplog.records if record.name == "ascend_rt"]
        caplog.clear()
        return logged

    return since


def test_devices_and_contexts(messages: Any) -> None:
    with Device(0), Context(0) as context:
        pass
    assert messages() == ["aclrtSetDevice: device 0", "aclrtCreateContext: device 0", "aclrtResetDevice: device 0"]
    context.close()
    assert messages() == ["aclrtDestroyContext: device 0"]


def test_the_last_reference_to_a_device() -> None:
    lines = lines_of("from ascend_rt import Device; Device(0).set_current(); Device(0).reset()")
    assert "DEBUG aclrtResetDevice: device 0, the last reference" in lines


@pytest.mark.simulator("faults")
def test_an_allocation_that_is_tried_again(messages: Any, stream: Stream, lib: Any, ffi: Any) -> None:
    to, source = Buffer(64), PinnedBuffer(64)
    copy_async(to, source, stream)
    stream.record()
    assert lib.aclrtSynchronizeStream(ffi.cast("aclrtStream", stream.handle)) == 0  # which releases nothing
    with sim.faults():
        sim.fail_call("aclrtMallocHost", 207001)
        PinnedBuffer(64).close()
    assert [it for it in messages() if "again" in it] == [
        "aclrtMallocHost is called again: there was too little memory, and completed tasks have released some"
    ]
    with sim.faults():
        sim.fail_call("aclrtMallocHost", 207001, nth=0)
        with pytest.raises(OutOfMemory):
            PinnedBuffer(64)
    assert messages() == []


def test_nothing_on_hot_calls(messages: Any, stream: Stream) -> None:
    with Buffer(64) as to:
        source = PinnedBuffer(64)
        messages()
        copy_async(to, source, stream)
        event = stream.record()
        stream.wait(event)
        stream.launch_host_func(int)
        event.synchronize()
        stream.synchronize()
        assert event.is_done
        assert stream.is_done
        assert messages() == []


def lines_of(script: str) -> list[str]:
    """Return what a process logs from its beginning to its end."""
    program = "import logging, sys; logging.basicConfig(level='DEBUG', format='%(levelname)s %(message)s')\n"
    command = [sys.executable, "-c", program + textwrap.dedent(script)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == ""
    return ended.stderr.splitlines()


def test_the_whole_life_of_a_process(backend: str) -> None:
    first, *others = lines_of("import ascend_rt; ascend_rt.Device(0).set_current()")
    assert first.startswith("INFO the library is ")
    assert f"({backend}): " in first
    assert others == [
        "DEBUG aclInit: initialised",
        "DEBUG aclrtSetDevice: device 0",
        "DEBUG the runtime was given back",
    ]


def test_what_the_exit_cannot_give_back() -> None:
    lines = lines_of(
        """
        from ascend_rt import Device, Event, Stream
        from ascend_rt._runtime import lifecycle
        import warnings
        warnings.simplefilter("ignore")
        lifecycle._WORK_MS = 100
        Device(0).set_current()
        stream = Stream()
        stream.wait(Event(manual_reset=True))
        """
    )
    assert lines[-1] == "DEBUG the runtime was given back; but work is still pending on device 0"


def test_without_a_handler_nothing_is_printed() -> None:
    command = [sys.executable, "-c", "import ascend_rt; ascend_rt.Device(0).set_current()"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert (ended.stdout, ended.stderr) == ("", "")
