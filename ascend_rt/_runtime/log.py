# SPDX-License-Identifier: Apache-2.0
"""The package's logger, ``logging.getLogger("ascend_rt")``.

INFO reports the library and the reason for its choice; DEBUG reports rare events that matter when something is wrong.
Nothing is logged on hot paths, nor while a lock of the package is held: handlers take other locks, and a finalizer that
runs inside a handler may need ours.

A program that has not imported ``logging`` does not listen, so the package does not import it either: that would take
longer than the first use of the simulator.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing typing takes longer than the first use of the simulator
if TYPE_CHECKING:
    from logging import Logger


def _logger() -> Logger:
    import logging

    return logging.getLogger("ascend_rt")


def info(message: str, *arguments: object) -> None:
    if "logging" in sys.modules:
        _logger().info(message, *arguments, stacklevel=2)


def debug(message: str, *arguments: object) -> None:
    if "logging" in sys.modules:
        _logger().debug(message, *arguments, stacklevel=2)
