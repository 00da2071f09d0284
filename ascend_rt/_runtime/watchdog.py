# SPDX-License-Identifier: Apache-2.0
"""A watchdog for the vendor's library, which does not say what a wait waits for: it lists what is pending.

``ASCEND_RT_CHECK_WATCHDOG=60`` starts it with the library. When a wait of the main thread has lasted for a minute, it
writes to standard error, once for the wait: where each thread of Python is, and which streams have work left.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from _thread import get_ident
from time import monotonic

from ascend_rt._runtime import program_waits, report, threads
from ascend_rt.errors import ClosedError, ConfigurationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ascend_rt.stream import Stream

VARIABLE = "ASCEND_RT_CHECK_WATCHDOG"


def seconds() -> float | None:
    """Return the time after which a wait is suspicious; None if the watchdog is off.

    Raises
    ------
    ConfigurationError
        The variable is not a positive number.
    """
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    try:
        limit = float(text)
    except ValueError:
        limit = 0
    if not 0 < limit < threading.TIMEOUT_MAX:
        raise ConfigurationError(f"{VARIABLE}={text} is not a positive number of seconds")
    return limit


def start() -> None:
    """Start the watchdog, if the environment asks for it."""
    if limit := seconds():
        threading.Thread(target=_watch, args=(limit,), name="ascend_rt watchdog", daemon=True).start()


def _watch(limit: float) -> None:
    """Look at the main thread's wait, four times in the limit."""
    pause = threading.Event()
    seen, since = None, 0.0
    while not pause.wait(limit / 4):
        waiter = threads.waiter_of(program_waits.get_main())
        if waiter is not seen:
            seen, since = waiter, monotonic()
        elif waiter is not None and monotonic() - since >= limit:
            _report(pending(limit))
            since = float("inf")


def _report(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    report.write(text)
    if directory := os.environ.get("ASCEND_RT_SIM_CHECK_DIRECTORY"):
        line = json.dumps({"kind": "note", "text": text}) + "\n"
        file = os.open(os.path.join(directory, f"{os.getpid()}.jsonl"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)


def pending(limit: float) -> list[str]:
    """Return lines about everything that is under way."""
    lines = [f"ascend_rt: the main thread has waited for more than {limit:g} s; pending are"]
    for thread in sys._current_frames():
        if thread != get_ident():
            lines += _about_thread(thread)
    return lines + _about_streams()


def _about_thread(thread: int) -> list[str]:
    name, function, awaited, *places = program_waits.describe(thread) or ["", "", ""]
    waiter = threads.waiter_of(thread)
    doing = f" in {waiter.function}" if waiter else f" in {function}, {awaited}" if function else ""
    return [f"  {name}{doing}", *(f"    at {place}" for place in places)] if places else []


def _about_streams() -> list[str]:
    """Return a line for each stream that has work left: a query, which changes nothing."""
    module = sys.modules.get("ascend_rt.stream")
    kind = getattr(module, "Stream", ())  # without the module there are no streams
    streams = [it for it in gc.get_objects() if isinstance(it, kind)]
    return [f"  {stream!r} has work left" for stream in streams if _has_work(stream)]


def _has_work(stream: Stream) -> bool:
    try:
        return stream._is_busy()
    except ClosedError:
        return False
