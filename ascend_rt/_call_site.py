# SPDX-License-Identifier: Apache-2.0
"""Where in the program a call of the runtime comes from: for the simulator's memory check, and for captures."""

from __future__ import annotations

import os
import sys
from typing import Any

from ascend_rt._driver import ffi, lib

_PACKAGE = os.path.dirname(__file__) + os.sep


def install() -> None:
    """Register the provider; only with ``ASCEND_RT_SIM_CHECK``, because it is called for every C function."""
    lib.aclsimSetCallSiteProvider(lib.ascend_rt_call_site_entry)


def stack_level() -> int:
    """Return the ``stacklevel`` with which a warning of the caller shows the innermost place outside this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


def place() -> str | None:
    """Return the innermost place outside this package, as ``file:line in function``; None on a thread without one."""
    frame = sys._getframe().f_back
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"


@ffi.def_extern(error=-1)  # type: ignore[untyped-decorator, unused-ignore]
def ascend_rt_python_call_site(text: Any, size: int) -> int:
    """Write the place of the call."""
    found = place()
    if found is None:
        return -1  # a thread of the runtime
    encoded = os.fsencode(found)[-(size - 1) :]
    ffi.memmove(text, encoded + b"\0", len(encoded) + 1)
    return 0
