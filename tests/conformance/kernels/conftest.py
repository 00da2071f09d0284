# SPDX-License-Identifier: Apache-2.0
"""Kernels of this host, compiled, loaded, and with operands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.host_kernels import SOURCE, Sum
from support.kernels import compile_kernels

from ascend_rt import Binary, Device


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_kernels(tmp_path_factory.mktemp("kernels"), SOURCE)


@pytest.fixture
def binary(path: Path, device: Device) -> Iterator[Binary]:
    with Binary(path) as binary:
        yield binary


@pytest.fixture
def operands(ffi: Any, device: Device) -> Sum:
    return Sum(ffi)
