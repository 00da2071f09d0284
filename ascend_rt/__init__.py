# SPDX-License-Identifier: Apache-2.0
"""The CANN runtime of Ascend NPUs for Python, with a simulator for machines without one.

Importing loads no library; the first call does. ``ascend_rt.use("sim")`` or ``ASCEND_RT_BACKEND`` chooses it.
"""

from __future__ import annotations

from ascend_rt import _source_tree

_source_tree.explain_if_uninstalled()

from ascend_rt._driver import Library, ffi, lib, library, supports, use  # noqa: E402  (only an installed one has it)
from ascend_rt.context import Context  # noqa: E402
from ascend_rt.device import Device, MemoryInfo  # noqa: E402
from ascend_rt.event import Event  # noqa: E402
from ascend_rt.memory import Buffer, PinnedBuffer, copy, copy_async, fill  # noqa: E402
from ascend_rt.stream import Stream  # noqa: E402
from ascend_rt.versions import Version, version  # noqa: E402

__version__ = "0.1.0"

__all__ = [
    "Buffer",
    "Context",
    "Device",
    "Event",
    "Library",
    "MemoryInfo",
    "PinnedBuffer",
    "Stream",
    "Version",
    "__version__",
    "copy",
    "copy_async",
    "ffi",
    "fill",
    "lib",
    "library",
    "supports",
    "use",
    "version",
]
