# SPDX-License-Identifier: Apache-2.0
"""Constants of the copy functions."""

from __future__ import annotations

H2H, H2D, D2H, D2D, DEFAULT, BUFFERED, INNER = range(7)  # aclrtMemcpyKind
HOST, DEVICE, UNREGISTERED, NUMA = 0, 1, 2, 4  # aclrtMemLocationType
NONE, UNTOUCHED = 2**64 - 1, 77  # failIndex: no copy has failed; the value before the call
SIZE = 4096
GIB = 1 << 30
