# SPDX-License-Identifier: Apache-2.0
"""The package's logger, ``logging.getLogger("ascend_rt")``.

INFO tells which library was chosen, and why; DEBUG what happens rarely and matters when something is wrong. Nothing is
logged on hot paths, nor while a lock of the package is held: handlers have locks of their own, and a finalizer that
runs inside a handler may want ours.

A program that has not imported ``logging`` listens to nothing of that, so the package does not import it either: that
would take longer than the first use of the simulator.
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
