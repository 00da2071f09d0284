# SPDX-License-Identifier: Apache-2.0
"""The plug-in for pytest: ``@pytest.mark.no_leaks`` for a test, ``--no-leaks`` for all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("ascend_rt")
    group.addoption("--no-leaks", action="store_true", help="fail tests that leave objects of ascend_rt open")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "no_leaks: fail if the test leaves streams, events or memory open")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run the test itself, without its fixtures, under :func:`ascend_rt.testing.no_leaks`."""
    if not item.config.getoption("--no-leaks") and item.get_closest_marker("no_leaks") is None:
        yield
        return
    from ascend_rt.testing.leaks import no_leaks  # only now: most sessions in this environment do not ask for it

    with no_leaks():
        yield
