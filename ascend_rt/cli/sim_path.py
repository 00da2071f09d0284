# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt sim-path``: where the simulator's library is."""

from __future__ import annotations

import argparse

from ascend_rt.backends import sim

DESCRIPTION = (
    "Print the directory of the simulator's libascendcl.so and libacl_rt.so. Programs that link either run on the "
    "simulator with this directory in LD_LIBRARY_PATH."
)
EXAMPLES = ("LD_LIBRARY_PATH=$(ascend-rt sim-path) ./program",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""


def main(arguments: argparse.Namespace) -> int:
    """Run the command."""
    print(sim.library_directory())
    return 0
