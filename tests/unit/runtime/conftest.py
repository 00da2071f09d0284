# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of the runtime."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ascend_rt import Device
from ascend_rt._runtime import lifecycle


@pytest.fixture
def second(lib: Any) -> Iterator[Device]:
    """Return a device that no other test has left open; it is current, and open once."""
    if Device.count() < 2:
        pytest.skip("needs two devices")
    device = Device(1)
    device.set_current()
    device.reset(force=True)
    device.set_current()
    yield device
    if lifecycle.references_to(1):
        device.reset(force=True)
    Device(0).set_current()
    Device(0).reset()
