# SPDX-License-Identifier: Apache-2.0
"""The samples in ``examples/pyacl`` run as they are, with ``import acl``, and misuse no memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.programs_in_forks import Ended, Programs

SAMPLES = Path(__file__).resolve().parents[3] / "examples" / "pyacl"
Launch = Callable[..., Ended]

# A sample with its arguments, and what it prints.
SHOWN = {
    "memcpy_sync.py": "4194304 bytes went to the device and came back",
    "memcpy_async.py": "1048576 bytes went to the device and came back",
    "two_threads.py": "2 threads sent and received 20 times 65536 bytes each",
    "multi_stream_timing.py 2": r"(8 x 4194304 bytes there and back, \d stream\(s\): \d+\.\d{3} ms\n?){2}",
    "callback_thread.py": (
        "first 0, first 1, first 2\nsecond 0, second 1, second 2\n"
        "a callback that the stream does not wait for has run, too"
    ),
    "synchronization.py": r"the event is complete\n1048576 bytes were sent in \d+\.\d{3} ms, and came back",
}
SHOWN["callback_thread.py threading"] = SHOWN["callback_thread.py"]


@pytest.fixture
def launch(programs: Programs, backend: str) -> Launch:
    """Return a function that runs a sample as users do."""

    def run(sample: str, **variables: str) -> Ended:
        name, *arguments = sample.split()
        command = ("-m", "ascend_rt", "run", "--backend", backend, "--pyacl", "ours", SAMPLES / name, *arguments)
        return programs.run(*command, directory=SAMPLES.parent, variables=variables)

    return run


@pytest.mark.parametrize("sample", sorted(SHOWN))
def test_sample_runs(sample: str, launch: Launch) -> None:
    done = launch(sample, ASCEND_RT_SIM_CHECK="memory")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(SHOWN[sample], done.stdout.strip()), done.stdout


def test_every_sample_is_run() -> None:
    assert {path.name for path in SAMPLES.glob("*.py")} == {"common.py", *(sample.split()[0] for sample in SHOWN)}


@pytest.mark.simulator("faults")
def test_a_sample_is_reported_of_a_failed_task(launch: Launch) -> None:
    done = launch("synchronization.py", ASCEND_RT_SIM_FAULTS="task:*:2=507015")
    reported = r"task \d+ of stream \d+ on device 0 failed with 507015, submitted by thread \d+\n"
    assert re.match(reported, done.stdout), done.stdout
    assert done.returncode == 1
    assert "failed with 507015" in done.stderr.strip().splitlines()[-1]


@pytest.mark.simulator("faults")
@pytest.mark.parametrize(
    "sample", [pytest.param(name, marks=pytest.mark.full) if "callback" in name else name for name in sorted(SHOWN)]
)
def test_a_sample_ends_with_an_error_wherever_a_call_fails(sample: str, launch: Launch) -> None:
    for function in ("aclrtMallocHost", "aclrtCreateStream", "aclrtSynchronizeStream", "aclrtResetDevice"):
        done = launch(sample, ASCEND_RT_SIM_FAULTS=f"call:{function}:1=207001")
        assert done.returncode in (0, 1), done.stderr  # 0 from samples that do not call it
        if done.returncode:
            assert "failed with 207001" in done.stderr
