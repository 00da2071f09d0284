# SPDX-License-Identifier: Apache-2.0
"""The package's logger, ``logging.getLogger("ascend_rt")``.

INFO tells which library was chosen, and why; DEBUG what happens rarely and matters when something is wrong. Nothing is
logged on hot paths, nor while a lock of the package is held: handlers have locks of their own, and a finalizer that
runs inside a handler may want ours.
"""

from __future__ import annotations

import logging

log = logging.getLogger("ascend_rt")
log.addHandler(logging.NullHandler())
