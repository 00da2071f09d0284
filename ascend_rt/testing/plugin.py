# SPDX-License-Identifier: Apache-2.0
"""The plug-in for pytest: leaks and findings fail tests; separate simulated cards.

``@pytest.mark.no_leaks`` and ``@pytest.mark.ascend(check="races")`` are for a test, ``--no-leaks`` and
``--ascend-check`` for all.
"""

from __future__ import annotations

import os
import sys
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from ascend_rt._runtime import outsiders

if TYPE_CHECKING:
    from ascend_rt.testing.checks import Watch

_ALL = "races,deadlocks"  # the checks of --ascend-check without a value
_OPTION = "--ascend-check"

_directory: list[TemporaryDirectory[str]] = []  # for findings; of this process
_watches: dict[pytest.Item, Watch] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("ascend_rt")
    text = "fail tests that cause findings of these checks of the simulator: races, deadlocks, memory (default: {})"
    group.addoption(_OPTION, nargs="?", const=_ALL, metavar="CHECKS", help=text.format(_ALL))
    group.addoption("--no-leaks", action="store_true", help="fail tests that leave objects of ascend_rt open")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Give each process separate simulated cards, unless the environment decides; turn on the checks.

    Tests count streams and free memory, and several processes run tests at the same time. A ``conftest.py`` may use the
    simulator, which reads the environment at its first call.
    """
    os.environ.setdefault("ASCEND_RT_SIM_CARDS", "separate")
    if "PYTEST_XDIST_WORKER" in os.environ:
        outsiders.note_others()
    checks = early_config.known_args_namespace.ascend_check
    if checks is not None:
        if os.path.exists(checks.partition("::")[0]):
            raise pytest.UsageError(f"{_OPTION} takes '{checks}' for its value; write {_OPTION}={_ALL} {checks}")
        _turn_on(checks, _OPTION)


def _turn_on(checks: str, by: str) -> None:
    from ascend_rt.testing import checks as findings

    try:
        directory = findings.turn_on(findings.checks_in(checks))
    except ValueError as error:
        raise pytest.UsageError(f"{by}: {error}") from None
    if directory is not None:
        _directory.append(directory)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers."""
    config.addinivalue_line("markers", "no_leaks: fail if the test leaves streams, events or memory open")
    text = "ascend(check): fail if the test causes findings of these checks; False: findings do not fail it"
    config.addinivalue_line("markers", text)


def pytest_unconfigure() -> None:
    """Remove the directory of the findings."""
    while _directory:
        _directory.pop().cleanup()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Turn on the checks that markers name; the simulator reads the environment at its first call."""
    for checks in sorted({checks for item in items if isinstance(checks := _marked(item), str)}):
        _turn_on(checks, f"@pytest.mark.ascend(check={checks!r})")


def _marked(item: pytest.Item) -> str | bool | None:
    marker = item.get_closest_marker("ascend")
    if marker is None:
        return None
    checks = marker.kwargs.get("check", *(marker.args[:1] or [_ALL]))
    if isinstance(checks, (list, tuple)) and all(isinstance(each, str) for each in checks):
        return ",".join(checks)
    if checks is None or isinstance(checks, (str, bool)):
        return checks
    raise pytest.UsageError(f"@pytest.mark.ascend(check={checks!r}): name checks, as in check={_ALL!r}, or False")


def _checks_of(item: pytest.Item) -> str | None:
    marked = _marked(item)
    if marked is None or marked is True:
        return str(item.config.getoption(_OPTION) or "") or (_ALL if marked else None)
    return marked or None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Watch the findings of a checked test; run the test itself under :func:`ascend_rt.testing.no_leaks`.

    The call is wrapped and not the hook: the wrappers of today's hooks are unknown to releases before pytest 7.4, which
    would not start in any environment that has this package.
    """
    if item.config.getoption("--no-leaks") or item.get_closest_marker("no_leaks") is not None:
        from ascend_rt.testing.leaks import no_leaks  # only now: most sessions in this environment do not ask for it

        item.runtest = no_leaks()(item.runtest)  # type: ignore[method-assign]
    if checks := _checks_of(item):
        from ascend_rt.testing import checks as findings

        _watches[item] = findings.Watch(findings.checks_in(checks))


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Fail a test that has caused findings; one that fails anyway gets them when it is torn down."""
    _fail_if_found(item)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Fail a test whose fixtures have caused findings at its end."""
    _fail_if_found(item)
    _watches.pop(item, None)


def _fail_if_found(item: pytest.Item) -> None:
    __tracebackhide__ = False  # else pytest says below the text that it hides a traceback
    from_test = _watches[item].new() if item in _watches else []
    if from_test:
        from ascend_rt.testing import checks as findings

        pytest.fail(findings.text_of(from_test), pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Hide the frames of the package in tracebacks; ``--full-trace`` shows them."""
    if call.excinfo is not None:
        package = __name__.partition(".")[0]
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == package:
                vars(module).setdefault("__tracebackhide__", True)
