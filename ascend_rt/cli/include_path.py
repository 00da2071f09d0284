# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt include-path``: the directory of the headers for C programs."""

from __future__ import annotations

import argparse

from ascend_rt import backends

DESCRIPTION = "Print the directory of acl/acl.h, for the -I option of a C compiler."
EXAMPLES = (
    "cc -I$(ascend-rt include-path) program.c -L$(ascend-rt sim-path) -lascendcl",
    "PKG_CONFIG_PATH=$(ascend-rt include-path --pkg-config) pkg-config --cflags --libs ascend_rt",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument(
        "--pkg-config", action="store_true", help="print the directory of ascend_rt.pc, for PKG_CONFIG_PATH"
    )


def main(arguments: argparse.Namespace) -> int:
    """Run the command."""
    print(backends.pkg_config_directory() if arguments.pkg_config else backends.include_directory())
    return 0
