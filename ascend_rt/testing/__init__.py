# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests of programs that use streams and events."""

from ascend_rt.testing.latch import Latch

__all__ = ["Latch"]
