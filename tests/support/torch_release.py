# SPDX-License-Identifier: Apache-2.0
"""The release of PyTorch's adapter that is installed: older ones lack functions that tests use."""

from __future__ import annotations

from importlib import metadata

import pytest


def before(major: int, minor: int, reason: str) -> pytest.MarkDecorator:
    """Return the mark that skips a test with an adapter that is older than the release."""
    return pytest.mark.skipif(release() < (major, minor), reason=reason)


def release() -> tuple[int, ...]:
    """Return its first two numbers, zeros without an adapter."""
    try:
        version = metadata.version("torch_npu")
    except metadata.PackageNotFoundError:
        return (0, 0)
    return tuple(int(part) for part in version.split(".")[:2])
