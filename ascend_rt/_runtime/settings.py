# SPDX-License-Identifier: Apache-2.0
"""The environment variables of the package, and a warning of misspelt ones."""

from __future__ import annotations

import os

_PREFIX = "ASCEND_RT_"

OF_USERS = (
    "ASCEND_RT_BACKEND",
    "ASCEND_RT_CHECK_AT_EXIT",
    "ASCEND_RT_CHECK_EVERY_USE",
    "ASCEND_RT_CHECK_HOST_THREADS",
    "ASCEND_RT_CHECK_LIBRARY",
    "ASCEND_RT_CHECK_WATCHDOG",
    "ASCEND_RT_CHECK_WRAPS",
    "ASCEND_RT_HCCL_SHARED_MEMORY",
    "ASCEND_RT_LIBRARY",
    "ASCEND_RT_PROBE_SECONDS",
    "ASCEND_RT_PYACL",
    "ASCEND_RT_SIM_CANN_VERSION",
    "ASCEND_RT_SIM_CARDS",
    "ASCEND_RT_SIM_CHECK",
    "ASCEND_RT_SIM_CHECK_DIRECTORY",
    "ASCEND_RT_SIM_DEADLOCK",
    "ASCEND_RT_SIM_DEVICES",
    "ASCEND_RT_SIM_FAULTS",
    "ASCEND_RT_SIM_GROUPS",
    "ASCEND_RT_SIM_PRODUCT",
    "ASCEND_RT_SIM_PROFILE",
    "ASCEND_RT_SIM_QUEUES",
    "ASCEND_RT_SIM_SOFTWARE_QUEUES",
    "ASCEND_RT_SIM_STALL_MS",
    "ASCEND_RT_SIM_STRICT",
    "ASCEND_RT_SIM_STRICT_LOG",
    "ASCEND_RT_SIM_WORKERS",
    "ASCEND_RT_VISIBLE_DEVICES",  # defined by CANN
)
"""Variables that the package, the simulator or CANN reads."""

OF_TESTS = (
    "ASCEND_RT_DOUBLE_EXCEPTION_DELAY",
    "ASCEND_RT_DOUBLE_FAIL",
    "ASCEND_RT_DOUBLE_LOG",
    "ASCEND_RT_DOUBLE_PLAIN",
    "ASCEND_RT_DOUBLE_SLOW",
    "ASCEND_RT_TEST_EFFORT",
    "ASCEND_RT_TEST_SEED",
)
"""Variables that only the tests of the package read."""


def unknown() -> str:
    """Return a text about unknown variables with the package's prefix, or ""."""
    names = {name for name in os.environ if name.startswith(_PREFIX)}.difference(OF_USERS, OF_TESTS)
    return "; ".join(map(_described, sorted(names)))


def _described(name: str) -> str:
    from difflib import get_close_matches  # large, and few programs need it

    nearest = get_close_matches(name, OF_USERS, 1, 0.8)
    return f"the environment variable {name} is unknown" + (f"; did you mean {nearest[0]}?" if nearest else "")


def looks_for_deadlocks() -> bool:
    """Return whether the simulator looks for deadlocks with the places of all waits."""
    return _simulator_checks("deadlocks")


def looks_for_races() -> bool:
    """Return whether the simulator looks for races, or a library before the vendor's does."""
    return simulator_looks_for_races() or bool(os.environ.get("ASCEND_RT_CHECK_WRAPS"))


def simulator_looks_for_races() -> bool:
    """Return whether the simulator looks for races."""
    return _simulator_checks("races")


def _simulator_checks(name: str) -> bool:
    return name in os.environ.get("ASCEND_RT_SIM_CHECK", "").split(",")
