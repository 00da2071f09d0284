# SPDX-License-Identifier: Apache-2.0
"""The command line: ``ascend-rt`` and ``python -m ascend_rt``."""

from __future__ import annotations

import sys

from ascend_rt.cli import main

if __name__ == "__main__":
    sys.exit(main())
