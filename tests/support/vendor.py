# SPDX-License-Identifier: Apache-2.0
"""Sessions on the vendor's library: they outlive deaths, and distinguish how tests have ended (docs/testing.md).

Tests run in a process of pytest-xdist, one at least. One that dies fails its test, and another process goes on.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support import kinds
from support.programs_in_forks import Programs

# Variables of the double: the file to which it adds deaths; the variables of the simulator that it may look at, and
# beside them it has nothing that the official library lacks.
LOG = "ASCEND_RT_DOUBLE_LOG"
PLAIN = "ASCEND_RT_DOUBLE_PLAIN"
UNNOTICED = {LOG: ""}  # for a program that may die


@dataclass(frozen=True)
class _Outcome:
    letter: str
    title: str


# Ways in which a test ends besides those of pytest, and those that the summary puts beside them.
NOT_SUPPORTED, DIED, MAY_DIE = "not supported", "died", "died as allowed"
_OUTCOMES = {
    NOT_SUPPORTED: _Outcome("n", "not supported by this card or this release"),
    MAY_DIE: _Outcome("d", "died of handles or memory that do not live, as they may"),
    DIED: _Outcome("D", "died"),
    "failed": _Outcome("F", "differ"),
    "error": _Outcome("E", "differ before or after the test"),
}

# Assertions about the end of a program, whose traceback they show, and about the code of a call.
_DIED = re.compile(r"^assert -(\d+) == 0\n.*(?:returncode|Ended\()", re.MULTILINE)
_NOT_SUPPORTED = re.compile(r"errors\.NotSupported: (?P<text>(?P<function>\w+): \[\d+[^\n]*?)(?:\\n|$)", re.MULTILINE)
_CODE = re.compile(
    r"^assert (?P<text>200001|200006|207000) == .*(?:\n.*where \d+ = .*?(?P<function>acl\w+))?", re.MULTILINE
)


_JUDGEMENT = pytest.StashKey[tuple[str, str]]()


class MayDie(Exception):
    """A process has died of handles or memory that do not live."""


class Apart:
    """Runs tests each in a process that may die."""

    def __init__(self) -> None:
        self._programs = Programs("pytest", "numpy")
        self._directory = Path(tempfile.mkdtemp(prefix="ascend_rt-"))

    def run(self, item: pytest.Item) -> None:
        """Run a test; raise :class:`MayDie`, or what pytest raises for a failure and a skipped test."""
        root, name = item.config.rootpath, item.nodeid.partition("::")[2]
        options = [f"--rootdir={root}", f"--config-file={item.config.inipath}", "--timeout=60", "-s", "-rs"]
        options += ["--backend=cann", "--in-process", "--full", "--long", "-p", "no:xdist", "-p", "no:cacheprovider"]
        script = self._directory / "test.py"
        script.write_text(f"import pytest\nraise SystemExit(pytest.main({[*options, f'{item.path}::{name}']!r}))\n")
        ended = self._programs.run(script, variables=UNNOTICED)
        status, output = ended.returncode, ended.stdout + ended.stderr
        require_alive(status, output)
        if "+ Timeout +" in output:
            raise MayDie("it did not end")
        if died := re.search(f"{_OUTCOMES[MAY_DIE].title} =+\n(.*)", output):  # a program of the test
            raise MayDie(died[1])
        if status:
            pytest.fail(output, pytrace=False)
        if skipped := re.search(r"^SKIPPED \[1\] \S+ (.*)", output, re.MULTILINE):
            pytest.skip(skipped[1])

    def close(self) -> None:
        """End the process that starts the others."""
        self._programs.close()
        shutil.rmtree(self._directory)


def require_alive(status: int, output: str) -> None:
    """Raise :class:`MayDie` for a program that was ended by a signal."""
    if status < 0:
        raise MayDie(_last_words(output, -status))


def _last_words(output: str, signal_number: int) -> str:
    says = re.search(r"(double|strict): .*?(?=\\n|$)", output, re.MULTILINE)
    return says[0] if says else signal.strsignal(signal_number) or str(signal_number)


def judge(error: BaseException, *, may_die: bool = False) -> tuple[str, str] | None:
    """Return the outcome of a test that raised this, and the reason, if that is not a failure."""
    if isinstance(error, MayDie):
        return MAY_DIE, str(error)
    if may_die and (match := _DIED.search(str(error))):
        return MAY_DIE, _last_words(str(error), int(match[1]))
    function, text = _unsupported(error)
    return None if not text or function.startswith("aclsim") else (NOT_SUPPORTED, text)


def _unsupported(error: BaseException) -> tuple[str, str]:
    """Return the function that is not supported, if it is known, and what says so."""
    from ascend_rt import NotSupported

    if isinstance(error, NotSupported):
        return error.function, str(error)
    text = str(error) if isinstance(error, AssertionError) else ""
    match = _NOT_SUPPORTED.search(text) or _CODE.search(text)
    if match:
        return match["function"] or "", match["text"]
    return "", "a function is missing" if "'missing'" in text else ""  # as the player of calls says it


def _may_die(item: pytest.Item) -> bool:
    """Return whether a test is marked as deadly, or has garbage among its arguments."""
    arguments = item.callspec.params.get("arguments") if hasattr(item, "callspec") else None
    has_garbage = isinstance(arguments, tuple) and any(isinstance(it, str) and it == "garbage" for it in arguments)
    return has_garbage or kinds.is_of(item, kinds.DEADLY)


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def distribute(config: pytest.Config) -> None:
    """Let processes of pytest-xdist run the tests, unless the options say otherwise, and end those that hang."""
    option = config.option
    option.timeout_method = "thread"  # ends a process also where no signal would reach Python
    if _is_worker(config) or option.in_process or option.usepdb or not config.pluginmanager.has_plugin("xdist"):
        return
    if option.numprocesses is None:
        option.numprocesses, option.tx, option.dist = 1, ["popen"], "load"
    option.maxworkerrestart = option.maxworkerrestart or "1000"


class Session:
    """The hooks of such a session."""

    def __init__(self, config: pytest.Config) -> None:
        self._apart = Apart()
        self._in_process = config.option.in_process
        self._is_first = not _is_worker(config) and not self._in_process
        self._variables = ",".join(name for name in os.environ if name.startswith("ASCEND_RT_SIM_"))
        if self._is_first:
            file, os.environ[LOG] = tempfile.mkstemp(prefix="ascend_rt-double-", suffix=".log")
            os.close(file)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip what this library cannot run; without a mark the double is plain."""
        marks = list(kinds.marks_of(item))
        for kind, reason in marks:
            if kind != kinds.DEADLY and not kinds.is_provided(kind):
                pytest.skip(reason)
        if any(kinds.KINDS[kind].provided_by for kind, _ in marks):
            os.environ.pop(PLAIN, None)
        else:
            os.environ[PLAIN] = self._variables

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Run a test apart that may die."""
        if self._in_process or not _may_die(pyfuncitem):
            return None
        self._apart.run(pyfuncitem)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Record an outcome that is not a failure here."""
        report: Any = yield
        error = call.excinfo.value if report.failed and call.excinfo is not None else None
        judgement = judge(error, may_die=_may_die(item)) if error is not None else None
        if judgement is None and error is not None and call.when == "teardown":
            judgement = item.stash.get(_JUDGEMENT, None)  # the test may have left objects that it could not end
        if error is not None and _unsupported(error)[0].startswith("aclsim"):
            report.sections.append(("mark", "the function is the simulator's: the test needs the mark simulator(kind)"))
        if judgement is not None:
            item.stash[_JUDGEMENT] = judgement
            report.outcome, report.verdict = "skipped", judgement[0]
            report.longrepr = (str(item.path), item.location[1], judgement[1])
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Count apart what has an outcome of ours; pytest-xdist reports the test of a dead process as of no phase."""
        outcome = DIED if report.when == "???" else getattr(report, "verdict", None)
        return None if outcome is None else (outcome, _OUTCOMES[outcome].letter, outcome.upper())

    def _deaths(self) -> list[str]:
        return Path(os.environ[LOG]).read_text(encoding="utf-8").splitlines() if self._is_first else []

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a session whose tests have passed in spite of a death."""
        if self._deaths() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List the tests by their outcomes, those that need attention last."""
        for name, outcome in _OUTCOMES.items():
            tests = defaultdict(list)
            for report in terminalreporter.stats.get(name, ()):
                tests[report.longrepr[2] if isinstance(report.longrepr, tuple) else ""].append(report.nodeid)
            if tests:
                terminalreporter.section(f"{sum(map(len, tests.values()))} {outcome.title}")
            for reason in sorted(tests):
                if reason:
                    terminalreporter.line(reason)
                for test in tests[reason]:
                    terminalreporter.line(f"  {test}")
        if deaths := self._deaths():
            terminalreporter.section("processes that the official library would have ended")
            for line in deaths:
                terminalreporter.line(line)

    def pytest_unconfigure(self) -> None:
        """End the process for tests that may die, and remove the log."""
        self._apart.close()
        if self._is_first:
            Path(os.environ.pop(LOG)).unlink()
