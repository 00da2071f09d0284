# SPDX-License-Identifier: Apache-2.0
"""Which threads may call the runtime: the simulator asks before it says that a wait can never end.

Threads of other libraries, as those of OpenBLAS, are not named: they sleep until they get work. A thread that
Python does not know, but that uses the runtime, is known to the simulator by its calls.
"""

from __future__ import annotations

import sys
from _thread import get_ident

from ascend_rt._driver import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

_waits: dict[int, tuple[CodeType, Any]] = {}  # thread -> the function in which it waits, the call that it waits for


def install() -> None:
    """Register the provider."""
    lib.aclsimSetThreadProvider(lib.ascend_rt_threads_entry)


def begin_wait(function: CodeType, call: Any) -> None:
    """Note that the calling thread does nothing but wait for another one while that is in the call.

    As long as it runs the function itself: a signal handler that interrupts it may do anything.
    """
    _waits[get_ident()] = function, call


def end_wait() -> None:
    """Note that the calling thread waits no longer."""
    _waits.pop(get_ident(), None)


def _is_waiting(thread: int, function: CodeType) -> bool:
    awaited = _waits.get(thread)
    return awaited is not None and awaited[0] is function and awaited[1].is_under_way


@ffi.def_extern(error=0)  # type: ignore[untyped-decorator, unused-ignore]
def ascend_rt_python_threads(threads: Any, capacity: int) -> int:
    """Name the threads of Python."""
    frames = sys._current_frames()
    for place, (thread, frame) in zip(range(capacity), frames.items(), strict=False):
        threads[place].thread = thread
        threads[place].isWaiting = _is_waiting(thread, frame.f_code)
    return len(frames)
