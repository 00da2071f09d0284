# SPDX-License-Identifier: Apache-2.0
"""Where in the program a call of the runtime comes from: for the simulator's memory check, and for captures."""

from __future__ import annotations

import os
import sys

from ascend_rt._runtime.driver import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


def is_inside(frame: FrameType) -> bool:
    """Return whether a frame is of this package."""
    return frame.f_code.co_filename.startswith(PACKAGE)


def set_libraries() -> None:
    """Set the directories whose lines are not the program's; before frames are noted."""
    lib.ascend_rt_set_libraries(os.fsencode(PACKAGE), os.fsencode(os.path.dirname(os.__file__) + os.sep))


def install() -> None:
    """Register the provider of places (``call_frames.c``); only where the simulator reports places."""
    set_libraries()
    lib.aclsimSetPlaceProvider(lib.ascend_rt_capture_frames_entry, lib.ascend_rt_name_frame_entry)


def stack_level() -> int:
    """Return the ``stacklevel`` with which a warning of the caller shows the innermost place outside this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and is_inside(frame):
        level, frame = level + 1, frame.f_back
    return level


def place() -> str | None:
    """Return the innermost place outside this package, as ``file:line in function``; None on a thread without one."""
    frame = sys._getframe().f_back
    while frame is not None and is_inside(frame):
        frame = frame.f_back
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
