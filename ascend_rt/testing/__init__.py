# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests of programs that use streams and events."""

from ascend_rt.testing.latch import Latch
from ascend_rt.testing.leaks import Leak, no_leaks

__all__ = ["Latch", "Leak", "no_leaks"]
