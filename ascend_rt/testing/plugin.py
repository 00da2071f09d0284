# SPDX-License-Identifier: Apache-2.0
"""The plug-in for pytest: ``@pytest.mark.no_leaks`` for a test, ``--no-leaks`` for all; separate simulated cards."""

from __future__ import annotations

import os
import sys

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("ascend_rt")
    group.addoption("--no-leaks", action="store_true", help="fail tests that leave objects of ascend_rt open")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Give each process separate simulated cards, unless the environment decides.

    Tests count streams and free memory, and several processes run tests at the same time. A ``conftest.py`` may use the
    simulator, which reads the environment at its first call.
    """
    os.environ.setdefault("ASCEND_RT_SIM_CARDS", "separate")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "no_leaks: fail if the test leaves streams, events or memory open")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Run the test itself, without its fixtures, under :func:`ascend_rt.testing.no_leaks`.

    The call is wrapped and not the hook: the wrappers of today's hooks are unknown to releases before pytest 7.4, which
    would not start in any environment that has this package.
    """
    if item.config.getoption("--no-leaks") or item.get_closest_marker("no_leaks") is not None:
        from ascend_rt.testing.leaks import no_leaks  # only now: most sessions in this environment do not ask for it

        item.runtest = no_leaks()(item.runtest)  # type: ignore[method-assign]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Hide the frames of the package in tracebacks; ``--full-trace`` shows them."""
    if call.excinfo is not None:
        package = __name__.partition(".")[0]
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == package:
                vars(module).setdefault("__tracebackhide__", True)
