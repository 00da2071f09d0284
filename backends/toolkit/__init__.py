# SPDX-License-Identifier: Apache-2.0
"""The simulated toolkit: a directory that is laid out like an installation of CANN, for build files that search one.

`layout` says what is in it, `directory` makes it, `environment` leads programs to it.
"""

from __future__ import annotations

import os

# A file that no installation of CANN has. The simulator looks for it, too, and then reads no versions there.
MARKER = "simulated"


def is_simulated(directory: str) -> bool:
    """Return whether a directory is a simulated toolkit."""
    return os.path.isfile(os.path.join(directory, MARKER))
