# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt toolkit-path``: a directory that is laid out like an installation of CANN."""

from __future__ import annotations

import argparse

from ascend_rt.backends.toolkit.directory import home

DESCRIPTION = (
    "Print the directory of the simulated toolkit, in which build files find headers and libraries as in an "
    "installation of CANN. Source its set_env.sh, or start the build with 'ascend-rt run --backend sim'."
)
EXAMPLES = (
    '. "$(ascend-rt toolkit-path)/set_env.sh"',
    'cmake -S . -B build -DASCEND_HOME_PATH="$(ascend-rt toolkit-path)"',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""


def main(arguments: argparse.Namespace) -> int:
    """Run the command."""
    print(home())
    return 0
