# SPDX-License-Identifier: Apache-2.0
"""The double: a library with the vendor's names that ends the process where the official one may (``tests/double``)."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
NEWEST = "newest"
LOG = "ASCEND_RT_SIM_STRICT_LOG"


def build(release: str = NEWEST, without: str = "") -> Path:
    """Build the double unless it is up to date; return its library of the runtime.

    Parameters
    ----------
    release : str, optional
        Functions that came later are left out.
    without : str, optional
        More functions to leave out, separated by commas.
    """
    from ascend_rt.backends import sim

    directory = ROOT / "build-double" / "-without-".join(filter(None, (release, without)))
    directory.mkdir(parents=True, exist_ok=True)
    script = ROOT / "tests" / "double" / "build.py"
    command = [sys.executable, str(script), str(directory), "--simulator", str(sim.library_path())]
    command += ["--without", without] + ([] if release == NEWEST else ["--release", release])
    with (directory / "lock").open("w") as lock:  # of the processes of one session, one builds
        fcntl.flock(lock, fcntl.LOCK_EX)
        built = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Path(built.stdout.strip())


# Features of the simulator that the double has too, in the words of the marks of tests.
_STANDS_IN = frozenset(
    {
        "a real device would have to fail",
        "a reset ends streams of a second device",
        "failures on demand are the simulator's",
        "faults are the simulator's",
        "faults on demand",
        "injects a fault",
        "kernels in Python",
        "kernels on the host",
        "limits of simulated products",
        "limits of the simulated 910B",
        "needs a task that fails on demand",
        "on a device other programs would take part",
        "only the simulator can be out of events on demand",
        "only the simulator delays tasks on demand",
        "only the simulator fails on demand",
        "only the simulator fails tasks on demand",
        "only the simulator injects faults",
        "only the simulator is scarce on demand",
        "only the simulator limits the events of a device",
        "only the simulator plays other products",
        "only the simulator runs an operator on demand",
        "only the simulator runs operators on demand",
        "other processes may use the memory of a real device meanwhile",
        "simulated products",
        "the vendor's library may crash",
        "tasks that fail on demand show which stream they are on",
        "the examples cause failures and stand in for kernels",
        "the number of devices is known",
        "the product is chosen",
        "the programs fail and measure on the simulator",
    }
)


class Session:
    """A session of pytest on the double: it fails if a process has died, whether or not a test has noticed."""

    def __init__(self, config: pytest.Config) -> None:
        self._is_first = not hasattr(config, "workerinput")
        if self._is_first:
            config.option.maxworkerrestart = config.option.maxworkerrestart or "1000"  # a death may end a worker
            os.environ["ASCEND_RT_LIBRARY"] = str(build(config.getoption("--double-release") or NEWEST))
            file, os.environ[LOG] = tempfile.mkstemp(prefix="ascend_rt-double-", suffix=".log")
            os.close(file)

    @staticmethod
    def stands_in(reason: str) -> bool:
        """Return whether the double can run tests that are marked as the simulator's for this reason."""
        return reason in _STANDS_IN

    @staticmethod
    def skip_unless_harmless(item: pytest.Item) -> None:
        """Skip a test of garbage."""
        arguments = item.callspec.params.get("arguments") if hasattr(item, "callspec") else None
        if isinstance(arguments, tuple) and any(isinstance(it, str) and it == "garbage" for it in arguments):
            pytest.skip("the vendor's library follows garbage")

    def _deaths(self) -> list[str]:
        return Path(os.environ[LOG]).read_text(encoding="utf-8").splitlines() if self._is_first else []

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a session whose tests have passed in spite of a death."""
        if self._deaths() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the calls."""
        deaths = self._deaths()
        if deaths:
            terminalreporter.section("processes that the official library would have ended")
            for line in deaths:
                terminalreporter.line(line)

    def pytest_unconfigure(self) -> None:
        """Remove the log."""
        if self._is_first:
            Path(os.environ.pop(LOG)).unlink()
