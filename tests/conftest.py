# SPDX-License-Identifier: Apache-2.0
"""What every test needs: the library under test, and the declarations."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = "the library under test: the simulator (default) or the vendor's"
    parser.addoption("--backend", choices=("sim", "cann"), default="sim", help=help_text)


def pytest_configure(config: pytest.Config) -> None:
    # In the environment too: programs that tests start have the same library under test.
    os.environ["ASCEND_RT_BACKEND"] = config.getoption("--backend")


@pytest.fixture(scope="session")
def backend(pytestconfig: pytest.Config) -> str:
    """Return the name of the library under test."""
    return str(pytestconfig.getoption("--backend"))


@pytest.fixture(scope="session")
def ffi() -> Any:
    """Return the ``ffi`` object of the raw layer."""
    from ascend_rt import _driver

    return _driver.ffi


@pytest.fixture(scope="session")
def lib() -> Any:
    """Return the C functions of the library under test."""
    from ascend_rt import _driver

    return _driver.lib


@pytest.fixture(scope="session")
def declarations() -> ModuleType:
    """Return the module that reads the ABI headers; it is part of the build, not of the package."""
    path = ROOT / "backends" / "abi" / "declarations.py"
    spec = importlib.util.spec_from_file_location("abi_declarations", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def declared(declarations: ModuleType) -> Any:
    """Return everything that the ABI headers declare."""
    return declarations.load()


@pytest.fixture
def device() -> Any:
    """Return the first device, current in the test's thread."""
    from ascend_rt import Device

    device = Device(0)
    device.set_current()
    return device


@pytest.fixture
def stream(device: Any) -> Iterator[Any]:
    """Return a stream that is destroyed after the test."""
    from ascend_rt import Stream

    with Stream() as stream:
        yield stream


@pytest.fixture
def other(device: Any) -> Iterator[Any]:
    """Return a second stream."""
    from ascend_rt import Stream

    with Stream() as stream:
        yield stream
