# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt sim-path``: the directory of the simulator's library."""

from __future__ import annotations

import argparse

from ascend_rt.backends import sim

DESCRIPTION = (
    "Print the directory of the simulator's libascendcl.so and of the other libraries of CANN that it has. A program "
    "linked with them runs on the simulator when LD_LIBRARY_PATH begins with this directory."
)
EXAMPLES = ("LD_LIBRARY_PATH=$(ascend-rt sim-path) ./program",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""


def main(arguments: argparse.Namespace) -> int:
    """Run the command."""
    print(sim.library_directory())
    return 0
