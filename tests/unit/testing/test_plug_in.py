# SPDX-License-Identifier: Apache-2.0
"""The plug-in for pytest: simulated cards of each process's own. ``test_leaks.py`` has the rest of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_rt.testing import plugin

pytestmark = pytest.mark.simulator("independent")

CONFTEST = """\
import os
cards = os.environ.get("ASCEND_RT_SIM_CARDS")  # what the simulator would see if it were used here
"""


@pytest.mark.parametrize(("before", "seen"), [({}, "separate"), ({"ASCEND_RT_SIM_CARDS": "shared"}, "shared")])
def test_cards_are_separate_unless_the_environment_decides(
    run, environment: dict[str, str], tmp_path: Path, before: dict[str, str], seen: str
) -> None:
    environment.pop("ASCEND_RT_SIM_CARDS", None)
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_it.py").write_text(f"import conftest\ndef test_it(): assert conftest.cards == {seen!r}\n")
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", **before)
    assert done.returncode == 0, done.stdout


def test_tracebacks_hide_the_package_unless_they_are_to_be_full(run, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "from ascend_rt import Device\ndef test_it():\n    Device(99).set_current()\n", encoding="utf-8"
    )
    hidden, full = (
        run("-m", "pytest", "-q", "-p", "no:cacheprovider", *option, ASCEND_RT_BACKEND="sim").stdout
        for option in ([], ["--full-trace"])
    )
    assert "device 99 does not exist" in hidden
    assert "test_it.py:3: InvalidArgument" in hidden
    assert "driver.py" not in hidden
    assert "driver.py" in full


def test_no_hook_is_a_wrapper_of_the_kind_that_older_releases_do_not_know() -> None:
    hooks = {name: hook for name, hook in vars(plugin).items() if name.startswith("pytest_")}
    options = {name: getattr(hook, "pytest_impl", {}) for name, hook in hooks.items()}
    assert len(hooks) >= 4
    assert [name for name, found in options.items() if found.get("wrapper")] == []
