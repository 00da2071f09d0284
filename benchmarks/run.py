# SPDX-License-Identifier: Apache-2.0
"""The same as ``ascend-rt bench``: ``python benchmarks/run.py``."""

import sys

from ascend_rt.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["bench", *sys.argv[1:]]))
